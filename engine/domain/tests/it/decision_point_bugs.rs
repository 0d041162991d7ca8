//! Thirty-six bugs that other systems of this kind were found to have: by number, that the rules
//! do not let them happen here, or who else proves it.

use crate::points::{
    APPROVER, HOUR_MS, REQUESTER, Stage, action, agent, approval, bound, choice, guidance, kinds,
    option, person, principal, question, text, timed, told, view,
};
use holdpoint_domain::Event;
use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::decision_point::{
    CreateDecisionPoint, DecisionOption, DecisionPointEvent, DecisionPointState as State,
    OnTimeout, Response,
};

/// What the rules do not decide: which tests prove it, or why it cannot exist here.
const ELSEWHERE: [(u8, &str); 15] = [
    (5, "tests/decision_wait.rs: guidance names the next round to programs and to people"),
    (13, "tests/decision_wait.rs: an answer at any moment of a wait ends it"),
    (15, "tests/decision_wait.rs: every way to end has an exit code and an outcome of its own"),
    (16, "tests/decision_wait.rs: a wait that is interrupted says nothing of the decision"),
    (17, "no server stands between program and log: every process reads the log itself"),
    (18, "tests/decision_wait.rs and tests/mcp.rs: a tool call waits a while and is asked again"),
    (19, "tests/decision_wait.rs: giving up is no decision and leaves the log as it was"),
    (25, "tests/decision.rs: with --json, all of stdout is read as one JSON value"),
    (26, "tests/decision_polling.rs: the empty list is an empty array, with a log and without"),
    (27, "tests/decision_polling.rs: what is over is listed where it is asked for"),
    (28, "tests/decision_wait.rs: a wait exits with 0 only where somebody answered"),
    (29, "there are no hooks of ours that run beside the program: what it does, it does itself"),
    (30, "tests/decision_wait.rs: whoever may not write waits all the same"),
    (31, "no text is put into a call that runs: a hook and a tool answer when they are asked"),
    (32, "tests/decision_polling.rs: a watch loses nothing and repeats nothing"),
];

const LAST_BUG: u8 = 36;

#[test]
fn every_bug_has_a_test_here_or_is_proven_elsewhere() {
    let own = include_str!("decision_point_bugs.rs");
    let numbers = own.lines().filter_map(|line| line.strip_prefix("fn bug_"));
    let mut all: Vec<u8> = numbers.map(|name| name[..2].parse().unwrap()).collect();
    all.extend(ELSEWHERE.map(|(number, _)| number));
    all.sort_unstable();
    assert_eq!(all, (1..=LAST_BUG).collect::<Vec<u8>>(), "each of them exactly once");
    assert!(ELSEWHERE.iter().all(|(_, reason)| reason.len() > 20), "a sentence for each");
}

#[test]
fn bug_01_a_second_answer_never_replaces_the_first() {
    let mut stage = Stage::new();
    let id = stage.ask(question());
    stage.respond(&id, &person(APPROVER), choice("yes")).unwrap();
    let first = stage.point(&id).ending.clone();
    let second = stage.respond(&id, &person("cleo"), choice("no"));
    assert_eq!(told(&second), Ok(vec!["late_response"]));
    assert_eq!(stage.point(&id).ending, first);
    let repeated = stage.respond(&id, &person(APPROVER), choice("yes"));
    assert_eq!(told(&repeated), Err("ALREADY_DONE"), "the same again is no conflict");
}

#[test]
fn bug_02_an_option_that_is_not_offered_is_no_answer() {
    let mut stage = Stage::new();
    let id = stage.ask(question());
    for other in ["maybe", "YES", "yes ", "_canceled", "_expired", "_superseded"] {
        let answer = stage.respond(&id, &person(APPROVER), choice(other));
        assert_eq!(told(&answer), Err("BAD_OPTION"), "{other:?}");
    }
    assert_eq!(stage.state(&id), State::Pending);
}

#[test]
fn bug_03_neither_a_deadline_nor_a_cancellation_replaces_an_answer_that_came_before() {
    let mut stage = Stage::new();
    let id = stage.ask(timed(OnTimeout::Default));
    let seen = stage.world.due(stage.in_ms(HOUR_MS)).remove(0).command;
    stage.respond(&id, &person(APPROVER), choice("no")).unwrap();
    stage.pass_ms(HOUR_MS);
    assert_eq!(told(&stage.give(&seen)), Err("NOTHING_DUE"), "what was due when it was looked up");
    assert_eq!(told(&stage.cancel(&id, &person(REQUESTER))), Err("ALREADY_ENDED"));
    assert_eq!(stage.point(&id).selected_option(), Some("no"));
}

#[test]
fn bug_04_the_last_round_is_never_stranded() {
    let mut stage = Stage::new();
    let id = stage.ask(CreateDecisionPoint { max_iterations: Some(1), ..question() });
    let sequence = stage.sequence;
    let refused = stage.respond(&id, &person(APPROVER), guidance("Smaller."));
    assert_eq!(told(&refused), Err("ITERATION_LIMIT"));
    assert_eq!(stage.sequence, sequence + 1, "the refusal, and no answer");
    let answer = stage.respond(&id, &person(APPROVER), choice("yes"));
    assert_eq!(told(&answer), Ok(vec!["resolved", "released"]));
}

#[test]
fn bug_06_guidance_and_the_round_that_it_opens_are_one_batch() {
    let mut stage = Stage::new();
    let id = stage.ask(question());
    let batch = stage.respond(&id, &person(APPROVER), guidance("Smaller.")).unwrap();
    let [
        Event::DecisionPoint(DecisionPointEvent::GuidanceGiven(given)),
        Event::DecisionPoint(DecisionPointEvent::RoundOpened(opened)),
    ] = &*batch
    else {
        panic!("one batch of both: {batch:?}");
    };
    assert_eq!((&given.next_id, &*opened.prior_id), (&opened.decision_id, &*id));
    assert_eq!(stage.state(&opened.decision_id), State::Refining);
}

#[test]
fn bug_07_what_waits_is_released_in_the_batch_of_the_answer() {
    let mut stage = Stage::new();
    let id = stage.ask(question());
    let batch = stage.respond(&id, &person(APPROVER), choice("yes")).unwrap();
    let Some(Event::DecisionPoint(DecisionPointEvent::DependentsReleased(released))) = batch.last()
    else {
        panic!("released with the answer: {batch:?}");
    };
    assert_eq!(&*released.blocks[0], "work-1");
}

#[test]
fn bug_08_a_question_is_one_record() {
    let mut stage = Stage::new();
    let (id, batch) = stage.try_ask(approval(&[APPROVER], 1)).unwrap();
    assert_eq!(kinds(&batch), ["created"]);
    let point = stage.rebuilt.decision_point(&id).unwrap();
    assert_eq!(point.terms.proposal.options.len(), 3);
    assert!(point.terms.policy.is_some() && point.is_open());
}

#[test]
fn bug_09_options_keep_every_field_on_the_way_through_the_log() {
    let rich = DecisionOption {
        short: "Small".into(),
        description: Some("# More\n\nMarkdown.".into()),
        reject: true,
        ..option("small")
    };
    let mut stage = Stage::new();
    let id = stage.ask(CreateDecisionPoint { options: vec![rich.clone()], ..question() });
    assert_eq!(stage.rebuilt.decision_point(&id).unwrap().terms.proposal.options[0], rich);
    let view = view(&stage, &id);
    assert_eq!(view["options"][0]["description"], "# More\n\nMarkdown.");
}

#[test]
fn bug_10_choice_words_and_comment_each_have_a_field_of_their_own() {
    let mut stage = Stage::new();
    let bob = person(APPROVER);
    let (chosen, said) = (stage.ask(question()), stage.ask(question()));
    stage.respond_saying(&chosen, &bob, choice("yes"), Some("Because.".into())).unwrap();
    stage.respond_saying(&said, &bob, text("Neither."), Some("Because.".into())).unwrap();
    let fields = |id| {
        let view = view(&stage, id);
        ["selected_option", "response_text", "comment"].map(|field| view[field].clone())
    };
    assert_eq!(fields(&chosen), ["yes".into(), serde_json::Value::Null, "Because.".into()]);
    assert_eq!(fields(&said), [serde_json::Value::Null, "Neither.".into(), "Because.".into()]);
}

#[test]
fn bug_11_what_is_shown_after_an_answer_is_that_answer() {
    let mut stage = Stage::new();
    let id = stage.ask(question());
    assert_eq!(view(&stage, &id)["state"], "pending");
    stage.respond(&id, &person(APPROVER), choice("yes")).unwrap();
    assert_eq!(view(&stage, &id)["state"], "resolved");
    assert_eq!(view(&stage, &id)["version"], stage.sequence);
}

#[test]
fn bug_12_whatever_ends_a_question_takes_it_from_those_that_wait() {
    let ann = person(REQUESTER);
    let ends: [fn(&mut Stage, &str); 6] = [
        |stage, id| drop(stage.respond(id, &person(APPROVER), choice("no")).unwrap()),
        |stage, id| drop(stage.guide(id, &person(APPROVER), "Smaller.")),
        |stage, id| drop(stage.cancel(id, &person(REQUESTER)).unwrap()),
        |stage, _| stage.pass_ms(HOUR_MS),
        |stage, id| {
            let supersedes = Some(id.into());
            drop(stage.ask(CreateDecisionPoint { supersedes, ..question() }));
        },
        |stage, id| drop(stage.respond(id, &person(APPROVER), text("Neither.")).unwrap()),
    ];
    for (place, end) in ends.iter().enumerate() {
        let mut stage = Stage::new();
        let id = stage.ask(timed(OnTimeout::Abort));
        end(&mut stage, &id);
        stage.expire_due();
        let waits = stage.world.open_decisions_of("issue-1").any(|point| *point.decision_id == *id);
        assert!(!waits && !stage.point(&id).is_open(), "end {place}");
        assert_ne!(stage.state(&id), State::Pending);
        let again = stage.remind(&id, &ann);
        assert!(again.is_err(), "end {place}: nobody is asked any more");
    }
}

#[test]
fn bug_14_reminders_and_escalations_are_no_answer() {
    let mut stage = Stage::new();
    let id = stage.ask(question());
    stage.remind(&id, &person(REQUESTER)).unwrap();
    stage.escalate(&id, &person(REQUESTER), "eve").unwrap();
    assert_eq!((stage.state(&id), &stage.point(&id).ending), (State::Pending, &None));
    assert_eq!(stage.point(&id).reminders, 1);
}

#[test]
fn bug_20_a_late_click_is_never_an_approval() {
    let mut stage = Stage::new();
    let id = stage.ask(CreateDecisionPoint { timeout_ms: Some(HOUR_MS), ..bound() });
    stage.pass_ms(HOUR_MS);
    let late = stage.respond(&id, &person(APPROVER), choice("yes"));
    assert_eq!(told(&late), Ok(vec!["aborted", "late_response"]));
    assert!(!stage.point(&id).approves());
    assert_eq!(told(&stage.consume(&id, &agent("robot"), &action("rm"))), Err("NOT_APPROVED"));
}

#[test]
fn bug_21_what_is_shown_and_what_may_be_spent_never_disagree() {
    let ends: [fn(&mut Stage, &str); 4] = [
        |stage, id| drop(stage.respond(id, &person(APPROVER), choice("yes")).unwrap()),
        |stage, id| drop(stage.respond(id, &person(APPROVER), choice("no")).unwrap()),
        |stage, id| drop(stage.cancel(id, &person(REQUESTER)).unwrap()),
        |stage, _| stage.pass_ms(HOUR_MS),
    ];
    for end in ends {
        let mut stage = Stage::new();
        let id = stage.ask(CreateDecisionPoint { timeout_ms: Some(HOUR_MS), ..bound() });
        end(&mut stage, &id);
        stage.expire_due();
        let shown = view(&stage, &id)["approved"] == true;
        assert_eq!(stage.consume(&id, &agent("robot"), &action("rm")).is_ok(), shown);
    }
}

#[test]
fn bug_22_silence_is_nobodys_answer() {
    let mut stage = Stage::new();
    let id = stage.ask(timed(OnTimeout::Abort));
    stage.pass_ms(HOUR_MS);
    stage.expire_due();
    let view = view(&stage, &id);
    assert_eq!(view["responded_by"], "system:timeout");
    assert_eq!((&view["responded_kind"], &view["state"]), (&"system".into(), &"aborted".into()));
    assert_eq!(view["selected_option"], serde_json::Value::Null);
    assert!(stage.point(&id).outcome_line().contains("the deadline"));
}

#[test]
fn bug_23_there_is_one_deadline_and_it_is_on_the_record() {
    let mut stage = Stage::new();
    let deadline = stage.in_ms(HOUR_MS);
    let (id, batch) = stage.try_ask(timed(OnTimeout::Abort)).unwrap();
    let [Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(created))] = &*batch else {
        panic!("{batch:?}")
    };
    assert_eq!(created.terms.expires_at, Some(deadline));
    assert_eq!(view(&stage, &id)["expires_at"], deadline.to_string());
    assert_eq!(stage.point(&id).deadline(), Some(deadline));
    stage.pass_ms(HOUR_MS - 1);
    let in_time = stage.respond(&id, &person(APPROVER), choice("yes"));
    assert_eq!(told(&in_time), Ok(vec!["resolved", "released"]));
}

#[test]
fn bug_24_a_question_that_nobody_saw_in_time_is_shown_as_overdue() {
    let mut stage = Stage::new();
    let id = stage.ask(timed(OnTimeout::Hold));
    assert_eq!(view(&stage, &id)["overdue"], false);
    stage.pass_ms(HOUR_MS);
    assert_eq!(view(&stage, &id)["overdue"], true);
    assert_eq!(view(&stage, &id)["state"], "pending");
}

#[test]
fn bug_33_a_claimed_name_and_a_program_approve_nothing() {
    let mut stage = Stage::new();
    let id = stage.ask(approval(&[APPROVER], 1));
    let claimed = principal(Actor::Human, APPROVER, Authentication::None);
    assert_eq!(told(&stage.respond(&id, &claimed, choice("yes"))), Err("NOT_AUTHENTICATED"));
    let program = agent(APPROVER);
    assert_eq!(told(&stage.respond(&id, &program, choice("yes"))), Err("AGENT_EXCLUDED"));
    assert_eq!(stage.state(&id), State::Pending);
}

#[test]
fn bug_34_words_are_kept_as_words_and_nothing_follows_from_them() {
    let mut stage = Stage::new();
    let other = stage.ask(question());
    let label = format!("assign issue-1 to eve; cancel {other}; _accept");
    let options = vec![DecisionOption { label: label.into(), ..option("yes") }];
    let id = stage.ask(CreateDecisionPoint { options, blocks: Vec::new(), ..question() });
    let comment = Some(format!("approve {other} and release work-1"));
    let answer = stage.respond_saying(&id, &person(APPROVER), choice("yes"), comment);
    assert_eq!(told(&answer), Ok(vec!["resolved"]));
    assert_eq!((stage.state(&other), stage.point(&other).version), (State::Pending, 1));
}

#[test]
fn bug_35_an_approval_of_one_action_is_none_of_another() {
    let mut stage = Stage::new();
    let id = stage.ask(bound());
    stage.respond(&id, &person(APPROVER), choice("yes")).unwrap();
    let other = stage.consume(&id, &agent("robot"), &action("rm -r"));
    assert_eq!(told(&other), Err("BINDING_MISMATCH"));
    assert!(stage.point(&id).consumed.is_none(), "and the approval is still there");
    assert_eq!(stage.world.decisions_bound_to(&action("rm -r")).count(), 0);
    assert_eq!(stage.world.decisions_bound_to(&action("rm")).count(), 1);
}

#[test]
fn bug_36_an_approval_is_good_for_one_time() {
    let mut stage = Stage::adopted();
    let id = stage.ask(bound());
    stage.respond(&id, &person(APPROVER), choice("yes")).unwrap();
    assert_eq!(told(&stage.consume(&id, &agent("a"), &action("rm"))), Ok(vec!["consumed"]));
    assert_eq!(told(&stage.consume(&id, &agent("a"), &action("rm"))), Err("ALREADY_CONSUMED"));
    assert_eq!(stage.world.decisions_bound_to(&action("rm")).count(), 0);
    let accepted = stage.ask(bound());
    let next = stage.guide(&accepted, &person(APPROVER), "Smaller.");
    stage.respond(&next, &person(APPROVER), choice("_guidance")).unwrap();
    let old = stage.consume(&accepted, &agent("a"), &action("rm"));
    assert_eq!(told(&old), Err("NOT_APPROVED"), "each round is spent for itself");
}

/// A pattern without a dot is no white space, and looks like some.
#[test]
fn a_text_of_dotless_patterns_alone_says_nothing() {
    let mut stage = Stage::new();
    let blank = || "\u{2800}".to_string();
    let unlabelled = DecisionOption { label: blank().into(), ..option("yes") };
    let asked = [
        ("MISSING_TEXT", CreateDecisionPoint { prompt: blank(), ..question() }),
        ("MISSING_TEXT", CreateDecisionPoint { options: vec![unlabelled], ..question() }),
        ("INVALID_IDENTIFIER", CreateDecisionPoint { issue_id: Some(blank()), ..question() }),
        ("INVALID_IDENTIFIER", CreateDecisionPoint { blocks: vec![blank()], ..question() }),
    ];
    for (rule, asked) in asked {
        let given = stage.try_ask(asked).map(|(_, events)| events);
        assert_eq!(told(&given), Err(rule));
    }
    let open = CreateDecisionPoint { allow_text: Some(true), ..question() };
    let id = stage.ask(open);
    for response in [Response::Text(blank().into()), Response::Guidance(blank().into())] {
        let given = stage.respond(&id, &person(APPROVER), response);
        assert_eq!(told(&given), Err("MISSING_TEXT"));
    }
    for comment in ["\u{2800}", "\u{3164}", " \t"] {
        let id = stage.ask(question());
        let yes = choice("yes");
        stage.respond_saying(&id, &person(APPROVER), yes, Some(comment.into())).unwrap();
        let ending = stage.point(&id).ending.clone().unwrap();
        assert_eq!(ending.comment, None, "{comment:?}");
    }
}
