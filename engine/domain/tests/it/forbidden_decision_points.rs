//! Property E2 for decision points: an event that the rules forbid is kept, is found under its
//! rule, and leaves every decision point as it was.

use crate::forbidden::{
    ENTROPY, about, asked, asked_of_two, assert_envelope_forbidden, assert_forbidden,
    assert_genuine, beginnings, genuine, guidance, is_beginning, new_id, overdue, recorded,
    refining, reminded, resolved, room, vote, would,
};
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{
    ActionBinding, DecisionPointCancelled, DecisionPointCommand, DecisionPointEvent,
    DecisionPointRefined, DecisionPointResolved, DecisionPointState, DecisionPointSuperseded,
    GuidanceGiven, LateResponseRecorded, OnTimeout, Proposal, Response, RoundOpened, Terms,
};
use holdpoint_domain::{ActorId, Command, Envelope, Event, Time};
use holdpoint_testing::story::points::{
    agent, binding, every_corner, option, person, program, two_people,
};
use holdpoint_testing::story::{Story, envelope};

/// What the other tests forge is genuine before: of every kind there is one.
#[test]
fn every_kind_is_accepted_where_the_rules_make_it() {
    let mut kinds: Vec<u16> = Vec::new();
    for (story, event, _) in genuine() {
        kinds.push(event.kind().kind);
        assert_genuine(&story, event);
    }
    kinds.sort_unstable();
    assert_eq!(kinds, (192..=210).collect::<Vec<u16>>());
}

#[test]
fn nothing_happens_to_a_decision_point_that_nobody_asked() {
    for (story, event, rule) in genuine().into_iter().filter(|(_, event, _)| !is_beginning(event)) {
        let long = "x".repeat(5_000);
        for unknown in ["", "DP-1", &new_id(), "LOOP-1", "DP-\u{202e}\n", &long] {
            assert_forbidden(&story, about(&event, unknown), rule);
        }
    }
}

#[test]
fn nobody_speaks_in_the_name_of_another() {
    let timed = |event: &Event| {
        let by =
            ["default_taken", "aborted", "approval_lapsed", "released", "round_opened", "warned"];
        by.iter().any(|name| event.kind().name.ends_with(name))
    };
    for (story, event, rule) in genuine().into_iter().filter(|(_, event, _)| !timed(event)) {
        let own = envelope(event.clone()).actor;
        let other_kind = if own.kind == Actor::Human { Actor::Agent } else { Actor::Human };
        for actor in [
            ActorId { id: "mallory".into(), ..own.clone() },
            ActorId { kind: other_kind, ..own.clone() },
            ActorId { kind: Actor::System, ..own },
        ] {
            let forged = Envelope { actor, ..envelope(event.clone()) };
            assert_envelope_forbidden(&story, forged, rule);
        }
    }
}

/// Whatever ended a round, no event that needs an open one happens to it any more.
#[test]
fn a_second_terminal_event_is_found_whatever_the_first_was() {
    use DecisionPointState::{Aborted, Cancelled, Expired, Iterated, Resolved, Superseded};
    let mut corners = Story::new();
    every_corner(&mut corners);
    for state in [Aborted, Cancelled, Expired, Iterated, Resolved, Superseded] {
        let ended = corners.world.closed_decision_points().find(|point| point.state == state);
        let ended = ended.unwrap().decision_id.to_string();
        for (_, event, rule) in genuine() {
            let follows_an_end = matches!(
                event,
                Event::DecisionPoint(DecisionPointEvent::LateResponseRecorded(_))
                    | Event::DecisionPoint(DecisionPointEvent::ApprovalConsumed(_))
                    | Event::DecisionPoint(DecisionPointEvent::ApprovalLapsed(_))
                    | Event::DecisionPoint(DecisionPointEvent::DependentsReleased(_))
                    | Event::DecisionPoint(DecisionPointEvent::OutcomeReported(_))
                    | Event::DecisionPoint(DecisionPointEvent::ApprovalRevoked(_))
            );
            if !is_beginning(&event) && !follows_an_end {
                assert_forbidden(&corners, about(&event, &ended), rule);
            }
        }
    }
}

#[test]
fn an_end_that_somebody_forges_once_more_is_found() {
    for (mut story, event, rule) in genuine() {
        let repeats = ["reminded", "escalated", "late_response"];
        if repeats.iter().any(|name| event.kind().name.ends_with(name)) {
            continue;
        }
        assert_eq!(story.record(event.clone()), []);
        assert_forbidden(&story, event, rule);
    }
}

#[test]
fn malformed_and_repeated_ids_of_questions_are_found() {
    let (story, event, rule) = beginnings().remove(0);
    let upper = format!("DP-{}", ENTROPY.to_uppercase());
    let (short, long) = (format!("DP-{}", &ENTROPY[1..]), format!("DP-{ENTROPY}0"));
    for id in ["", "DP-", ENTROPY, &upper, &short, &long, &format!("REQ-{ENTROPY}")] {
        assert_forbidden(&story, about(&event, id), rule);
    }
    let mut corners = Story::new();
    every_corner(&mut corners);
    for taken in room(&corners.world).0 {
        let (_, event, _) = beginnings().remove(0);
        assert_forbidden(&corners, about(&event, &taken.decision_id), Rule::DecisionPointTerms);
    }
}

#[test]
fn terms_that_nobody_may_agree_on_are_found() {
    type Change = fn(&mut Terms);
    let changes: [Change; 13] = [
        |terms| terms.proposal.prompt = " \u{200b}".into(),
        |terms| terms.proposal.prompt = "x".repeat(4_097).into(),
        |terms| {
            terms.proposal.options =
                terms.proposal.options.iter().cycle().take(6).cloned().collect()
        },
        |terms| terms.proposal.default_option = Some("none of them".into()),
        |terms| terms.issue_id = Some("".into()),
        |terms| terms.max_iterations = 0,
        |terms| terms.max_iterations = 21,
        |terms| terms.expires_at = Some(Time::from_nanoseconds(1)),
        |terms| terms.round_timeout_ms = Some(0),
        |terms| terms.valid_for_ms = u64::MAX,
        |terms| {
            terms.on_timeout = OnTimeout::Default;
            terms.proposal.default_option = None;
        },
        |terms| {
            terms.policy = Some(two_people());
            terms.policy.as_mut().unwrap().quorum = 4;
        },
        |terms| terms.binding = Some(ActionBinding { tool: "\n".into(), ..binding() }),
    ];
    let story = Story::new();
    let question =
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(story.question().into()));
    let created = would!(story, question => DecisionPointCreated);
    for change in changes {
        let mut forged = created.clone();
        change(&mut forged.terms);
        assert_forbidden(&story, forged, Rule::DecisionPointTerms);
    }
}

#[test]
fn rounds_that_no_guidance_led_to_are_found() {
    let (story, event, rule) = beginnings().remove(2);
    let Event::DecisionPoint(DecisionPointEvent::RoundOpened(opened)) = event else {
        panic!("a round")
    };
    let (asked, first) = asked();
    assert_forbidden(&asked, RoundOpened { prior_id: first.into(), ..opened.clone() }, rule);
    let other = Text::from("DP-00000000000000000000000000000001");
    assert_forbidden(&story, RoundOpened { decision_id: other.clone(), ..opened.clone() }, rule);
    assert_forbidden(&story, RoundOpened { prior_id: other, ..opened.clone() }, rule);
    for iteration in [0, 1, 3, u8::MAX] {
        assert_forbidden(&story, RoundOpened { iteration, ..opened.clone() }, rule);
    }
    for expires_at in [None, Some(story.now)] {
        assert_forbidden(&story, RoundOpened { expires_at, ..opened.clone() }, rule);
    }
}

/// A round with a time of its own ends when the terms say, counted from its record.
#[test]
fn rounds_with_another_time_than_the_terms_give_are_found() {
    let mut story = Story::new();
    let first = story.asks_with(|c| c.timeout_per_round = true);
    let given = guidance(&first, person("alice"));
    assert_eq!(story.record(given.into()), []);
    let opened = |after_ns: u64| RoundOpened {
        decision_id: new_id(),
        prior_id: first.as_str().into(),
        iteration: 2,
        expires_at: Some(Time::from_nanoseconds(story.now.nanoseconds() + after_ns)),
    };
    assert_genuine(&story, opened(60_000_000_000));
    assert_forbidden(&story, opened(59_000_000_000), Rule::DecisionPointRound);
    assert_forbidden(&story, opened(600_000_000_000), Rule::DecisionPointRound);
}

#[test]
fn proposals_out_of_turn_or_that_cannot_be_answered_are_found() {
    let (story, second) = refining();
    let refined = would!(story, story.refines(&second) => DecisionPointRefined);
    let rule = Rule::DecisionPointRound;
    let stranger = DecisionPointRefined { by: program("other"), ..refined.clone() };
    assert_forbidden(&story, stranger, rule);
    assert_genuine(&story, DecisionPointRefined { by: person("alice"), ..refined.clone() });
    let proposing = |change: fn(&mut Proposal)| {
        let mut proposal = refined.proposal.clone();
        change(&mut proposal);
        DecisionPointRefined { proposal, ..refined.clone() }
    };
    assert_forbidden(&story, proposing(|p| p.prompt = "".into()), rule);
    assert_forbidden(&story, proposing(|p| p.default_option = Some("none".into())), rule);
    assert_forbidden(&story, proposing(|p| p.context = Some("x".repeat(65_537).into())), rule);
    let mut late = story.clone();
    late.wait(60_000);
    assert_forbidden(&late, refined.clone(), rule);
    let (asked, first) = asked();
    let early = DecisionPointRefined {
        decision_id: first.into(),
        by: agent(),
        proposal: proposing(|_| {}).proposal,
    };
    assert_forbidden(&asked, early, rule);
}

/// By the rules of before, who asked for a default at the deadline did not lose it with a new
/// proposal.
#[test]
fn proposals_that_drop_the_default_of_the_terms_are_found_before_the_rules_allow_them() {
    for (mut story, is_allowed) in [(Story::new(), false), (Story::adopted(), true)] {
        let first = story.asks_with(|c| c.on_timeout = Some(OnTimeout::Default));
        let second = story.guides(&first);
        let mut refined = would!(story, story.refines(&second) => DecisionPointRefined);
        assert_genuine(&story, refined.clone());
        refined.proposal.default_option = None;
        let (_, findings) = recorded(&story, envelope(refined.into()));
        let rules: Vec<Rule> = findings.iter().map(|found| found.rule).collect();
        assert_eq!(rules, vec![Rule::DecisionPointRound; usize::from(!is_allowed)]);
    }
}

#[test]
fn guidance_that_leads_nowhere_is_found() {
    let rule = Rule::DecisionPointRound;
    let (story, first) = asked();
    let given = |next_id: &str| GuidanceGiven {
        next_id: next_id.into(),
        ..guidance(&first, person("alice"))
    };
    for next_id in [first.as_str(), "", "DP-1", "DP-\u{7}"] {
        assert_forbidden(&story, given(next_id), rule);
    }
    for words in ["", "\u{202e}", &"x".repeat(32_769)] {
        assert_forbidden(
            &story,
            GuidanceGiven { guidance: words.into(), ..given(&new_id()) },
            rule,
        );
    }
    let mut last = Story::new();
    let only = last.asks_with(|c| c.max_iterations = Some(1));
    assert_forbidden(&last, guidance(&only, person("alice")), rule);
    let (refining, second) = refining();
    assert_forbidden(&refining, guidance(&second, person("alice")), rule);
    let (voted, id) = asked_of_two();
    assert_forbidden(&voted, guidance(&id, person("mallory")), rule);
    let (overdue, id) = overdue(OnTimeout::Abort);
    assert_forbidden(&overdue, guidance(&id, person("alice")), rule);
}

#[test]
fn answers_that_the_round_does_not_take_are_found() {
    let rule = Rule::DecisionPointAnswer;
    let mut story = Story::new();
    let id = story.asks_with(|c| c.allow_text = Some(false));
    for response in [
        option("none of them"),
        Response::Option("".into()),
        Response::Option("_accept".into()),
        Response::Text("half".into()),
        Response::Accept,
        Response::Guidance("less".into()),
    ] {
        assert_forbidden(&story, resolved(&id, person("alice"), response), rule);
    }
    let (story, id) = asked();
    for words in ["", "\u{200b}", &"x".repeat(32_769)] {
        let text = Response::Text(words.into());
        assert_forbidden(&story, resolved(&id, person("alice"), text), rule);
    }
    let comment = Some("x".repeat(32_769).into());
    let wordy = DecisionPointResolved { comment, ..resolved(&id, person("a"), option("go")) };
    assert_forbidden(&story, wordy, rule);
    let (refining, second) = refining();
    assert_forbidden(&refining, resolved(&second, person("alice"), option("go")), rule);
    // By the rules of before, the guidance was accepted, and was no text.
    assert_genuine(&refining, resolved(&second, person("alice"), Response::Accept));
    let words = refining.world.decision_point(&second).unwrap().guidance.clone().unwrap();
    assert_found(&refining, resolved(&second, person("alice"), Response::Text(words)), rule);
}

#[test]
fn acceptances_of_something_else_than_the_proposal_are_found() {
    let rule = Rule::DecisionPointAnswer;
    let mut story = Story::adopted();
    let first = story.asks_with(|_| {});
    let of = |id: &str, response| resolved(id, person("alice"), response);
    assert_forbidden(&story, of(&first, Response::Proposal(None)), rule);
    let second = story.guides(&first);
    let point = story.world.decision_point(&second).unwrap().clone();
    let default = point.terms.proposal.default_option;
    let others = [Some("go".into()), Some("none of them".into()), None];
    for other in others.into_iter().filter(|other| *other != default) {
        assert_forbidden(&story, of(&second, Response::Proposal(other)), rule);
    }
    assert_genuine(&story, of(&second, Response::Proposal(default)));
    assert_genuine(&story, of(&second, Response::Text(point.guidance.unwrap())));
    assert_forbidden(&story, of(&second, Response::Text("other words".into())), rule);
    assert_found(&story, of(&second, Response::Accept), rule);
}

/// By the rules of its time an event is forbidden, though it counts by those of another.
#[track_caller]
fn assert_found(story: &Story, event: DecisionPointResolved, rule: Rule) {
    let (_, findings) = recorded(story, envelope(event.into()));
    let [found] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(found.rule, rule, "{found:?}");
}

/// The time of an answer is that of its record: nobody gets it in after the deadline.
#[test]
fn answers_after_the_deadline_are_found_though_nobody_recorded_the_end() {
    let rule = Rule::DecisionPointAnswer;
    for on_timeout in [OnTimeout::Abort, OnTimeout::Default] {
        let (story, id) = overdue(on_timeout);
        assert_forbidden(&story, resolved(&id, person("alice"), option("go")), rule);
        let (decision_id, by) = (|| Text::from(id.as_str()), agent);
        let reason = None;
        let cancelled = DecisionPointCancelled { decision_id: decision_id(), by: by(), reason };
        assert_forbidden(&story, cancelled, rule);
        assert_forbidden(&story, reminded(&id), rule);
    }
    let (story, id) = overdue(OnTimeout::Hold);
    assert_genuine(&story, resolved(&id, person("alice"), option("go")));
}

#[test]
fn votes_of_those_who_may_not_are_found() {
    let rule = Rule::DecisionPointAnswer;
    let (story, id) = asked_of_two();
    let unproven = Principal { authenticated_by: Authentication::None, ..person("alice") };
    for by in [person("mallory"), agent(), program("alice"), unproven] {
        assert_forbidden(&story, vote(&id, by, option("go")), rule);
    }
    for response in [option("none"), Response::Text("half".into()), Response::Accept] {
        assert_forbidden(&story, vote(&id, person("alice"), response), rule);
    }
    assert_forbidden(&story, vote(&id, person("alice"), Response::Guidance("less".into())), rule);
    let mut voted = story.clone();
    voted.given(voted.responds(&id, person("alice"), option("go")));
    assert_forbidden(&voted, vote(&id, person("alice"), option("go")), rule);
    assert_forbidden(&voted, vote(&id, person("alice"), option("stop")), rule);
    let (plain, id) = asked();
    assert_forbidden(&plain, vote(&id, person("alice"), option("go")), rule);
    let mut own = Story::new();
    let id = own.asks_with(|c| {
        c.by = person("alice");
        c.policy = Some(two_people());
    });
    assert_forbidden(&own, vote(&id, person("alice"), option("go")), rule);
}

#[test]
fn an_end_without_a_quorum_is_found() {
    let rule = Rule::DecisionPointAnswer;
    let (mut story, id) = asked_of_two();
    assert_forbidden(&story, resolved(&id, person("alice"), option("go")), rule);
    assert_forbidden(&story, resolved(&id, person("alice"), option("stop")), rule);
    story.given(story.responds(&id, person("alice"), option("go")));
    story.given(story.responds(&id, person("carol"), option("wait")));
    for (by, chosen) in [("alice", "go"), ("carol", "wait"), ("bob", "go"), ("mallory", "go")] {
        assert_forbidden(&story, resolved(&id, person(by), option(chosen)), rule);
    }
    assert_eq!(story.record(vote(&id, person("bob"), option("go")).into()), []);
    for (by, chosen) in [("bob", "wait"), ("mallory", "go"), ("carol", "go")] {
        assert_forbidden(&story, resolved(&id, person(by), option(chosen)), rule);
    }
    let by_agent = resolved(&id, program("bob"), option("go"));
    assert_forbidden(&story, by_agent, rule);
    assert_genuine(&story, resolved(&id, person("bob"), option("go")));
    story.wait(60_000);
    assert_forbidden(&story, resolved(&id, person("bob"), option("go")), rule);
}

#[test]
fn taking_back_what_somebody_else_asked_is_found() {
    let (story, id) = asked();
    let cancelled = would!(story, story.cancels(&id) => DecisionPointCancelled);
    let forged = DecisionPointCancelled { by: program("other"), ..cancelled.clone() };
    assert_forbidden(&story, forged, Rule::DecisionPointAnswer);
    assert_genuine(&story, DecisionPointCancelled { by: person("bob"), ..cancelled });
}

#[test]
fn a_successor_that_does_not_say_so_is_found() {
    let rule = Rule::DecisionPointAnswer;
    let (story, event) = genuine()
        .into_iter()
        .find_map(|(story, event, _)| match event {
            Event::DecisionPoint(DecisionPointEvent::DecisionPointSuperseded(body)) => {
                Some((story, body))
            }
            _ => None,
        })
        .unwrap();
    let by = program("other");
    assert_forbidden(&story, DecisionPointSuperseded { by, ..event.clone() }, rule);
    let mut story = story;
    let unrelated = story.asks_with(|_| {});
    for other in [unrelated.as_str(), &event.decision_id, &new_id(), "", "DP-\u{1b}[2J"] {
        let superseded_by = other.into();
        assert_forbidden(&story, DecisionPointSuperseded { superseded_by, ..event.clone() }, rule);
    }
    assert_genuine(&story, event);
}

#[test]
fn an_answer_that_is_called_late_while_it_would_count_is_found() {
    let rule = Rule::DecisionPointAnswer;
    let late = |decision_id: &str, response| {
        let (decision_id, by) = (decision_id.into(), person("alice"));
        LateResponseRecorded { decision_id, by, response, comment: None }
    };
    for (story, id) in [asked(), asked_of_two(), refining(), overdue(OnTimeout::Hold)] {
        assert_forbidden(&story, late(&id, option("go")), rule);
    }
    let (mut story, id) = asked();
    story.given(story.cancels(&id));
    for response in [Response::Text("".into()), Response::Option("_accept".into())] {
        assert_forbidden(&story, late(&id, response), rule);
    }
    assert_genuine(&story, late(&id, option("go")));
}
