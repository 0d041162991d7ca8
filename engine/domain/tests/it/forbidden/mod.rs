//! Events of decision points that the rules made, to be forged one thing at a time.

use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::clocks::EndedBy;
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalConsumed, ApprovalLapsed, ApprovalRevoked, DecisionPoint,
    DecisionPointAborted, DecisionPointCancelled, DecisionPointCommand, DecisionPointCreated,
    DecisionPointEscalated, DecisionPointEvent, DecisionPointRefined, DecisionPointReminded,
    DecisionPointResolved, DecisionPointSuperseded, DecisionPointWarned, DefaultTaken,
    DependentsReleased, GuidanceGiven, LateResponseRecorded, OnTimeout, OutcomeReported, Response,
    RoundOpened, VoteCast,
};
use holdpoint_domain::world::Due;
use holdpoint_domain::{Command, Envelope, Event, ForbiddenEvent, Time, World};
use holdpoint_testing::story::points::{agent, binding, option, person, two_people};
use holdpoint_testing::story::{Story, envelope, rebuilt};

/// The body of this kind that a command leads to, before it is recorded.
macro_rules! would {
    ($story:expr, $command:expr => $Body:ident) => {{
        let events = holdpoint_domain::decide(&$story.world, &$command, $story.now).unwrap();
        let mut bodies = events.into_iter().filter_map(|event| match event {
            Event::DecisionPoint(holdpoint_domain::decision_point::DecisionPointEvent::$Body(
                body,
            )) => Some(body),
            _ => None,
        });
        bodies.next().unwrap()
    }};
}
pub(crate) use would;

/// Everything that the world knows about decision points.
pub(crate) type Room = (Vec<DecisionPoint>, Vec<Due>, Vec<String>);

pub(crate) fn room(world: &World) -> Room {
    let points = world.live_decision_points().chain(world.closed_decision_points());
    let action = binding();
    let bound = world.decisions_bound_to(&action).map(|point| point.decision_id.to_string());
    (points.cloned().collect(), world.due(Time::from_nanoseconds(u64::MAX)), bound.collect())
}

/// What is found about an event, and what comes of it. The log replays to the same.
pub(crate) fn recorded(story: &Story, envelope: Envelope) -> (Story, Vec<ForbiddenEvent>) {
    let mut story = story.clone();
    let findings = story.record_envelope(envelope);
    let hot = rebuilt(&story.records, World::default());
    assert_eq!(hot.fingerprint(), story.world.fingerprint());
    (story, findings)
}

#[track_caller]
pub(crate) fn assert_envelope_forbidden(story: &Story, envelope: Envelope, rule: Rule) {
    let shown = format!("{envelope:?}");
    let (after, findings) = recorded(story, envelope);
    let [found] = findings.as_slice() else { panic!("{shown}: {findings:?}") };
    assert_eq!(found.rule, rule, "{shown}: {found:?}");
    assert!(!found.expected.is_empty(), "{found:?}");
    assert!(!found.found.contains(char::is_control) && found.found.len() < 1_000, "{found:?}");
    assert_eq!(room(&after.world), room(&story.world), "{shown}");
}

/// The event breaks this rule and changes nothing.
#[track_caller]
pub(crate) fn assert_forbidden(story: &Story, event: impl Into<Event>, rule: Rule) {
    assert_envelope_forbidden(story, envelope(event.into()), rule);
}

/// The event breaks no rule and changes something: what is forged of it differs in one thing.
#[track_caller]
pub(crate) fn assert_genuine(story: &Story, event: impl Into<Event>) {
    let (after, findings) = recorded(story, envelope(event.into()));
    assert_eq!(findings, []);
    assert_ne!(room(&after.world), room(&story.world));
}

pub(crate) const ENTROPY: &str = "ffeeddccbbaa99887766554433221100";

pub(crate) fn new_id() -> Text {
    format!("DP-{ENTROPY}").into()
}

pub(crate) fn resolved(
    decision_id: &str,
    by: Principal,
    response: Response,
) -> DecisionPointResolved {
    DecisionPointResolved { decision_id: decision_id.into(), by, response, comment: None }
}

pub(crate) fn vote(decision_id: &str, by: Principal, response: Response) -> VoteCast {
    VoteCast { decision_id: decision_id.into(), by, response, comment: None }
}

pub(crate) fn guidance(decision_id: &str, by: Principal) -> GuidanceGiven {
    let (guidance, next_id) = ("smaller".into(), new_id());
    GuidanceGiven { decision_id: decision_id.into(), by, guidance, comment: None, next_id }
}

pub(crate) fn consumed(decision_id: &str, binding: ActionBinding) -> ApprovalConsumed {
    ApprovalConsumed { decision_id: decision_id.into(), by: agent(), binding }
}

pub(crate) fn aborted(story: &Story, decision_id: &str) -> DecisionPointAborted {
    let expires_at = story.point(decision_id).terms.expires_at.unwrap_or_default();
    DecisionPointAborted {
        decision_id: decision_id.into(),
        expires_at,
        ended_by: Some(EndedBy::Both),
        steady: None,
    }
}

pub(crate) fn default_taken(story: &Story, decision_id: &str) -> DefaultTaken {
    let expires_at = story.point(decision_id).terms.expires_at.unwrap_or_default();
    DefaultTaken { decision_id: decision_id.into(), option_id: "wait".into(), expires_at }
}

pub(crate) fn released(decision_id: &str) -> DependentsReleased {
    let blocks = [Text::from("job")].into_iter().collect();
    DependentsReleased { decision_id: decision_id.into(), blocks }
}

/// A question is open.
pub(crate) fn asked() -> (Story, String) {
    let mut story = Story::new();
    let decision_id = story.asks_with(|c| c.blocks = vec!["job".into()]);
    (story, decision_id)
}

/// A question that two of three people have to answer alike is open.
pub(crate) fn asked_of_two() -> (Story, String) {
    let mut story = Story::new();
    let decision_id = story.asks_with(|c| c.policy = Some(two_people()));
    (story, decision_id)
}

/// Guidance was given: the second round waits for its requester.
pub(crate) fn refining() -> (Story, String) {
    let (mut story, first) = asked();
    let second = story.guides(&first);
    (story, second)
}

/// An approval waits to be spent.
pub(crate) fn approved() -> (Story, String) {
    let mut story = Story::new();
    let decision_id = story.asks_with(|c| {
        c.binding = Some(binding());
        c.valid_for_ms = Some(1_000);
    });
    story.given(story.responds(&decision_id, person("alice"), option("go")));
    (story, decision_id)
}

/// A question with this way to end whose time is over, and nobody recorded it.
pub(crate) fn overdue(on_timeout: OnTimeout) -> (Story, String) {
    let mut story = Story::new();
    let decision_id = story.asks_with(|c| c.on_timeout = Some(on_timeout));
    story.wait(60_000);
    (story, decision_id)
}

/// An event that the rules made, of each kind, where it happened, and the rule that forbids it
/// elsewhere.
pub(crate) fn genuine() -> Vec<(Story, Event, Rule)> {
    let mut all = beginnings();
    let (story, id) = asked();
    let by = agent;
    let answer = |event: Event| (story.clone(), event, Rule::DecisionPointAnswer);
    all.push(answer(resolved(&id, person("bob"), option("go")).into()));
    all.push(answer(would!(story, story.cancels(&id) => DecisionPointCancelled).into()));
    all.push(answer(would!(story, story.reminds(&id) => DecisionPointReminded).into()));
    all.push(answer(would!(story, story.escalates(&id) => DecisionPointEscalated).into()));
    let (voted, id) = asked_of_two();
    let cast = vote(&id, person("bob"), option("go"));
    all.push((voted, cast.into(), Rule::DecisionPointAnswer));
    let (mut story, old) = asked();
    let superseded_by = story.question().decision_id().into();
    let question = story.question();
    let supersedes = Some(old.clone());
    let question = Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(
        holdpoint_domain::decision_point::CreateDecisionPoint { supersedes, ..question }.into(),
    ));
    let created = would!(story, question => DecisionPointCreated);
    assert_eq!(story.record(created.into()), []);
    let decision_id = Text::from(old);
    let superseded = DecisionPointSuperseded { decision_id, by: by(), superseded_by };
    all.push((story, superseded.into(), Rule::DecisionPointAnswer));
    all.extend(by_time_and_after());
    all
}

pub(crate) fn beginnings() -> Vec<(Story, Event, Rule)> {
    let story = Story::new();
    let question =
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(story.question().into()));
    let created = would!(story, question => DecisionPointCreated);
    let (asked, first) = asked();
    let given = guidance(&first, person("alice"));
    let mut guided = asked.clone();
    assert_eq!(guided.record(given.clone().into()), []);
    let opened = RoundOpened {
        decision_id: new_id(),
        prior_id: first.into(),
        iteration: 2,
        expires_at: guided.world.live_decision_points().next().and_then(|p| p.terms.expires_at),
    };
    let opened = RoundOpened { expires_at: end_of(&asked).or(opened.expires_at), ..opened };
    let (refining, second) = refining();
    let refined = would!(refining, refining.refines(&second) => DecisionPointRefined);
    vec![
        (story, created.into(), Rule::DecisionPointTerms),
        (asked, given.into(), Rule::DecisionPointRound),
        (guided, opened.into(), Rule::DecisionPointRound),
        (refining, refined.into(), Rule::DecisionPointRound),
    ]
}

fn end_of(story: &Story) -> Option<Time> {
    story.world.live_decision_points().find_map(|point| point.terms.expires_at)
}

pub(crate) fn by_time_and_after() -> Vec<(Story, Event, Rule)> {
    let (taken, id) = overdue(OnTimeout::Default);
    let default = default_taken(&taken, &id).into();
    let (ended, id) = overdue(OnTimeout::Abort);
    let abort = aborted(&ended, &id).into();
    let (mut story, id) = asked();
    assert_eq!(story.record(resolved(&id, person("bob"), option("go")).into()), []);
    let release = released(&id).into();
    let late = would!(story, story.responds(&id, person("carol"), option("stop"))
        => LateResponseRecorded);
    let (spendable, id) = approved();
    let consume: Event = consumed(&id, binding()).into();
    let mut spent = spendable.clone();
    assert_eq!(spent.record(consume.clone()), []);
    let reported = would!(spent, spent.reports(&id) => OutcomeReported);
    let revoked = would!(spendable, spendable.revokes(&id) => ApprovalRevoked);
    let mut unspent = spendable.clone();
    unspent.wait(1_000);
    let lapsed = would!(unspent, unspent.lets_expire(&id) => ApprovalLapsed);
    let mut warned = Story::new();
    let id = warned.asks_with(|c| c.on_timeout = Some(OnTimeout::Abort));
    let due_at = warned.world.next_due().unwrap();
    warned.wait(due_at.nanoseconds_since(warned.now) / 1_000_000);
    let warning = would!(warned, warned.lets_expire(&id) => DecisionPointWarned);
    vec![
        (warned, warning.into(), Rule::DecisionPointExpiry),
        (taken, default, Rule::DecisionPointExpiry),
        (ended, abort, Rule::DecisionPointExpiry),
        (unspent, lapsed.into(), Rule::DecisionPointExpiry),
        (story.clone(), release, Rule::DecisionPointApproval),
        (spendable.clone(), revoked.into(), Rule::DecisionPointApproval),
        (spendable, consume, Rule::DecisionPointApproval),
        (spent, reported.into(), Rule::DecisionPointApproval),
        (story, late.into(), Rule::DecisionPointAnswer),
    ]
}

/// The requester reminds whoever is asked.
pub(crate) fn reminded(id: &str) -> DecisionPointReminded {
    DecisionPointReminded { decision_id: id.into(), by: agent() }
}

/// The same event about another decision point.
pub(crate) fn about(event: &Event, decision_id: &str) -> Event {
    macro_rules! renamed {
        ($($Body:ident)+) => {
            match event.clone() {
                $(Event::DecisionPoint(DecisionPointEvent::$Body(body)) => {
                    $Body { decision_id: decision_id.into(), ..body }.into()
                })+
                other => panic!("{other:?}"),
            }
        };
    }
    renamed! {
        DecisionPointCreated DecisionPointRefined GuidanceGiven RoundOpened VoteCast
        DecisionPointResolved DefaultTaken DecisionPointAborted DecisionPointCancelled
        DecisionPointSuperseded DecisionPointReminded DecisionPointEscalated LateResponseRecorded
        ApprovalConsumed ApprovalLapsed DependentsReleased OutcomeReported ApprovalRevoked
        DecisionPointWarned
    }
}

pub(crate) fn is_beginning(event: &Event) -> bool {
    matches!(
        event,
        Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(_))
            | Event::DecisionPoint(DecisionPointEvent::RoundOpened(_))
    )
}
