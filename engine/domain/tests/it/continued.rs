//! A log that is short of its HEAD is continued by a person at a terminal, when all that was open
//! has ended.

use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::decision_point::{DecisionPointEvent, DecisionPointState};
use holdpoint_domain::log::LogContinued;
use holdpoint_domain::{ActorId, Envelope, Event, Proof, WriterCommand, decide_for_writer};
use holdpoint_testing::story::{Story, envelope};

use crate::points::{action, choice, person};

fn ada() -> Principal {
    Principal { authenticated_by: Authentication::Terminal, ..person("ada") }
}

fn continued(story: &Story) -> LogContinued {
    let newest = story.world.totals().last_sequence;
    LogContinued {
        by: ada(),
        source_log: "000102030405060708090a0b0c0d0e0f".into(),
        stated_sequence: newest + 3,
        stated_link: None,
        kept_sequence: newest,
        kept_link: Digest::from_bytes([1; 32]),
    }
}

fn command(story: &mut Story) -> WriterCommand {
    let ids: Vec<String> = story.world.live_loops().map(|it| it.loop_id().to_string()).collect();
    let lost = ids.into_iter().map(|id| (id, story.entropy())).collect();
    WriterCommand::ContinueLog { body: Box::new(continued(story)), lost }
}

fn by_holdpoint(event: Event) -> Envelope {
    let actor = ActorId { kind: Actor::System, id: "holdpoint".into() };
    Envelope { actor, ..envelope(event) }
}

fn by_ada(event: Event) -> Envelope {
    let proof = Some(Proof { user: 1000, by: Authentication::Terminal });
    Envelope { actor: ada().actor(), proof, ..envelope(event) }
}

/// A run whose question is open, an open question, and an approval that nobody spent.
fn open() -> (Story, [String; 2]) {
    let mut story = Story::asked();
    let asked = story.asks_with(|_| {});
    let approved = story.asks_with(|c| c.binding = Some(action("rm")));
    story.given(story.responds(&approved, person("bob"), choice("go")));
    (story, [asked, approved])
}

#[test]
fn what_is_open_ends_in_the_batch_in_which_a_person_continues_the_log() {
    let (mut story, [asked, approved]) = open();
    let command = command(&mut story);
    let mut events = decide_for_writer(&story.world, &command, story.moment()).unwrap();
    let last = events.pop().unwrap();
    for event in events {
        assert_eq!(story.record_envelope(by_holdpoint(event)), []);
    }
    assert_eq!(story.record_envelope(by_ada(last)), []);
    assert_eq!(story.point(&asked).state, DecisionPointState::Cancelled);
    assert!(story.point(&approved).revoked.is_some());
    assert_eq!(story.world.live_loops().count(), 0);
    assert_eq!(story.world.open_requests().count(), 0);
    assert_eq!(story.world.lost_before(), Some(story.world.totals().last_sequence));
    assert_eq!(story.world.segment_indexes().iter().count(), 0);
}

#[test]
fn a_log_is_not_continued_that_is_whole_or_while_something_stays_open() {
    let (mut story, _) = open();
    let refused = |story: &Story, command: &WriterCommand| {
        decide_for_writer(&story.world, command, story.moment()).unwrap_err().code()
    };
    let WriterCommand::ContinueLog { body, lost } = command(&mut story) else { unreachable!() };
    let none = WriterCommand::ContinueLog { body: body.clone(), lost: Vec::new() };
    assert_eq!(refused(&story, &none), "CONTRADICTS_LOG");
    let whole = LogContinued { stated_sequence: body.kept_sequence, ..(*body).clone() };
    let whole = WriterCommand::ContinueLog { body: Box::new(whole), lost: lost.clone() };
    assert_eq!(refused(&story, &whole), "CONTRADICTS_LOG");
    let other = LogContinued { kept_sequence: body.kept_sequence - 1, ..(*body).clone() };
    let other = WriterCommand::ContinueLog { body: Box::new(other), lost };
    assert_eq!(refused(&story, &other), "CONTRADICTS_LOG");
}

#[test]
fn a_continuation_that_no_person_made_or_that_leaves_something_open_is_found() {
    let forbidden = |story: &Story, said: Envelope| {
        let found = story.clone().record_envelope(said);
        let rules: Vec<Rule> = found.iter().map(|it| it.rule).collect();
        assert!(rules.contains(&Rule::LogContinuation), "{found:?}");
    };
    let (story, _) = open();
    forbidden(&story, by_ada(continued(&story).into()));
    let story = Story::adopted();
    assert_eq!(story.clone().record_envelope(by_ada(continued(&story).into())), []);
    let genuine = || by_ada(continued(&story).into());
    forbidden(&story, Envelope { proof: None, ..genuine() });
    let os_user = Some(Proof { user: 1000, by: Authentication::OsUser });
    forbidden(&story, Envelope { proof: os_user, ..genuine() });
    forbidden(&story, by_holdpoint(continued(&story).into()));
    let lie = |change: fn(&mut LogContinued)| {
        let mut body = continued(&story);
        change(&mut body);
        by_ada(body.into())
    };
    forbidden(&story, lie(|body| body.stated_sequence = body.kept_sequence));
    forbidden(&story, lie(|body| body.kept_sequence += 1));
}

/// What nobody but Holdpoint itself does, where nothing was continued, is no way to answer.
#[test]
fn an_end_by_holdpoint_itself_takes_what_is_open_and_nothing_else() {
    let (mut story, [asked, _]) = open();
    let command = command(&mut story);
    let events = decide_for_writer(&story.world, &command, story.moment()).unwrap();
    let is_end = |event: &&Event| {
        matches!(
            event,
            Event::DecisionPoint(
                DecisionPointEvent::DecisionPointCancelled(_)
                    | DecisionPointEvent::ApprovalRevoked(_)
            )
        )
    };
    let ends: Vec<Event> = events.iter().filter(is_end).cloned().collect();
    assert_eq!(ends.len(), 2);
    for event in &ends {
        assert_ne!(story.clone().record_envelope(by_ada(event.clone())), [], "in another name");
        assert_eq!(story.record_envelope(by_holdpoint(event.clone())), []);
        assert_ne!(story.record_envelope(by_holdpoint(event.clone())), [], "twice");
    }
    assert!(!story.point(&asked).is_open());
}
