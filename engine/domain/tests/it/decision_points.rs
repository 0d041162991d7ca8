//! Decision points: what may be asked, who may answer it and when, and what follows from it.

use crate::points::{
    APPROVER, HOUR_MS, REQUESTER, Stage, action, agent, approval, bound, choice, guidance, kinds,
    option, person, policy, question, refinement, system, text, timed, told,
};
use holdpoint_domain::core::actor::{Authentication, Principal};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{
    ActionBinding, CancelDecisionPoint, CreateDecisionPoint, DecisionOption, DecisionPointCommand,
    DecisionPointEvent, DecisionPointState as State, EscalateDecisionPoint, EvidenceAttachment,
    MAX_CONTEXT_BYTES, MAX_DESCRIPTION_BYTES, MAX_LABEL_BYTES, MAX_PROMPT_BYTES, MAX_REASON_BYTES,
    MAX_RESPONSE_BYTES, MAX_SHORT_BYTES, MAX_TIMEOUT_MS, OnTimeout, RefineDecisionPoint,
    RespondToDecisionPoint, Response,
};
use holdpoint_domain::{Command, Event};

type Change = Box<dyn Fn(&mut CreateDecisionPoint)>;

fn with(change: impl Fn(&mut CreateDecisionPoint) + 'static) -> Change {
    Box::new(change)
}

fn long(bytes: usize) -> String {
    "a".repeat(bytes)
}

/// Every question is refused by this rule, and nothing but the refusal is left of it.
fn assert_refused(rule: &str, questions: Vec<Change>) {
    for (place, change) in questions.iter().enumerate() {
        let mut stage = Stage::new();
        let mut asked = question();
        change(&mut asked);
        let refused = stage.try_ask(asked).expect_err("the question is malformed");
        assert_eq!(refused.code(), rule, "question {place} of {rule}: {refused}");
        assert_eq!(stage.world.live_decision_points().count(), 0, "question {place} of {rule}");
        assert_eq!(stage.sequence, 0, "a malformed question leaves no record");
    }
}

/// The same questions, at their limit, may be asked.
fn assert_asked(questions: Vec<Change>) {
    for (place, change) in questions.iter().enumerate() {
        let mut stage = Stage::new();
        let mut asked = question();
        change(&mut asked);
        let answer = stage.try_ask(asked);
        assert!(answer.is_ok(), "question {place}: {answer:?}");
        stage.assert_rebuilt();
    }
}

fn options(count: usize) -> Vec<DecisionOption> {
    (0..count).map(|number| option(&format!("option-{number}"))).collect()
}

#[test]
fn option_ids_are_unique_plain_and_not_reserved() {
    let called = |id: &'static str| with(move |q| q.options = vec![option(id)]);
    assert_refused("DUPLICATE_OPTION", vec![with(|q| q.options.push(option("yes")))]);
    assert_refused("RESERVED_OPTION", ["_accept", "_", "_x"].map(called).into());
    let invalid = ["", " ", "a b", "a/b", "-a", ".a", "a\u{202e}", "\u{e9}", "a\n"];
    assert_refused("INVALID_OPTION_ID", invalid.map(called).into());
    let too_long = with(|q| q.options = vec![option(&"a".repeat(33))]);
    assert_refused("INVALID_OPTION_ID", vec![too_long]);
    let longest = with(|q| q.options = vec![option(&"a".repeat(32))]);
    assert_asked(vec![called("A"), called("0.b_c-d"), called("yes"), longest]);
}

#[test]
fn there_are_1_to_32_options_or_none_where_a_text_is_an_answer() {
    assert_refused(
        "OPTION_COUNT",
        vec![
            with(|q| q.options = options(33)),
            with(|q| {
                q.options.clear();
                q.allow_text = Some(false);
            }),
            with(|q| {
                q.options.clear();
                q.policy = Some(policy(&[], 1));
            }),
        ],
    );
    assert_asked(vec![with(|q| q.options = options(32)), with(|q| q.options.clear())]);
}

#[test]
fn a_default_is_one_of_the_options_and_is_there_where_it_is_to_be_taken() {
    assert_refused(
        "BAD_DEFAULT",
        vec![
            with(|q| q.default_option = Some("maybe".into())),
            with(|q| q.default_option = Some("YES".into())),
            with(|q| q.default_option = Some("_accept".into())),
            with(|q| q.on_timeout = Some(OnTimeout::Default)),
        ],
    );
    assert_asked(vec![with(|q| q.default_option = Some("no".into()))]);
}

#[test]
fn texts_of_a_question_are_bounded_and_never_cut() {
    let of_option = |change: fn(&mut DecisionOption, usize), bytes: usize| {
        with(move |q| change(&mut q.options[0], bytes))
    };
    let short = |o: &mut DecisionOption, n| o.short = long(n).into();
    let label = |o: &mut DecisionOption, n| o.label = long(n).into();
    let described = |o: &mut DecisionOption, n| o.description = Some(long(n).into());
    let questions = |more: usize| {
        vec![
            with(move |q| q.prompt = long(MAX_PROMPT_BYTES + more)),
            with(move |q| q.context = Some(long(MAX_CONTEXT_BYTES + more))),
            of_option(short, MAX_SHORT_BYTES + more),
            of_option(label, MAX_LABEL_BYTES + more),
            of_option(described, MAX_DESCRIPTION_BYTES + more),
        ]
    };
    assert_asked(questions(0));
    assert_refused("TOO_LONG", questions(1));
}

#[test]
fn what_nobody_could_read_is_missing() {
    let mut questions = Vec::new();
    for blank in ["", " \n\t", "\u{200b}", "\u{202e}\u{0}"] {
        questions.push(with(move |q| q.prompt = blank.into()));
        questions.push(with(move |q| q.options[0].label = blank.into()));
    }
    questions.push(with(|q| q.options[0].short = " ".into()));
    assert_refused("MISSING_TEXT", questions);
}

#[test]
fn names_around_a_question_are_identifiers_and_lists_are_bounded() {
    let sha256 = sha256(b"plan");
    let evidence = EvidenceAttachment {
        sha256,
        bytes: 4,
        media_type: "text/plain".into(),
        label: "plan".into(),
    };
    let many = evidence.clone();
    assert_refused(
        "TOO_MANY",
        vec![
            with(|q| q.blocks = vec!["work".into(); 17]),
            with(move |q| q.evidence = vec![many.clone(); 17]),
        ],
    );
    assert_refused(
        "INVALID_IDENTIFIER",
        vec![
            with(|q| q.issue_id = Some(String::new())),
            with(|q| q.blocks = vec!["a\u{200b}".into()]),
            with(|q| q.by.id = " ".into()),
            with(|q| q.binding = Some(ActionBinding { tool: "".into(), ..action("rm") })),
            with(|q| q.policy = Some(policy(&["a\nb"], 1))),
        ],
    );
    assert_asked(vec![
        with(|q| q.blocks = vec!["work".into(); 16]),
        with(move |q| q.evidence = vec![evidence.clone(); 16]),
    ]);
}

#[test]
fn times_are_ahead_and_within_366_days_and_stated_once() {
    let (now, last) = (Stage::new().now(), Stage::new().in_ms(MAX_TIMEOUT_MS));
    let beyond = Stage::new().in_ms(MAX_TIMEOUT_MS + 1);
    assert_refused(
        "BAD_TIMEOUT",
        vec![
            with(|q| q.timeout_ms = Some(0)),
            with(|q| q.timeout_ms = Some(MAX_TIMEOUT_MS + 1)),
            with(|q| q.timeout_ms = Some(u64::MAX)),
            with(move |q| q.expires_at = Some(now)),
            with(|q| q.expires_at = Some(holdpoint_domain::Time::default())),
            with(move |q| q.expires_at = Some(beyond)),
            with(move |q| (q.timeout_ms, q.expires_at) = (Some(1), Some(last))),
            with(|q| q.timeout_per_round = true),
            with(move |q| (q.timeout_per_round, q.expires_at) = (true, Some(last))),
            with(|q| q.valid_for_ms = Some(0)),
            with(|q| q.valid_for_ms = Some(MAX_TIMEOUT_MS + 1)),
        ],
    );
    assert_asked(vec![
        with(|q| q.timeout_ms = Some(1)),
        with(|q| q.timeout_ms = Some(MAX_TIMEOUT_MS)),
        with(move |q| q.expires_at = Some(last)),
        with(|q| (q.timeout_per_round, q.timeout_ms) = (true, Some(1))),
        with(|q| q.valid_for_ms = Some(MAX_TIMEOUT_MS)),
    ]);
}

#[test]
fn there_are_1_to_20_rounds() {
    let rounds = |most: u8| with(move |q| q.max_iterations = Some(most));
    assert_refused("ITERATIONS_OUT_OF_RANGE", vec![rounds(0), rounds(21), rounds(255)]);
    assert_asked(vec![rounds(1), rounds(20)]);
}

#[test]
fn a_policy_can_be_met_and_does_not_approve_by_silence() {
    let of = |approvers: &'static [&'static str], quorum| {
        with(move |q| q.policy = Some(policy(approvers, quorum)))
    };
    let bad = vec![of(&[], 0), of(&[], 17), of(&[APPROVER], 2), of(&["bob", "cleo", "bob"], 2)];
    assert_refused("BAD_POLICY", bad);
    assert_asked(vec![of(&[], 16), of(&[APPROVER], 1), of(&["bob", "cleo"], 2)]);
}

#[test]
fn an_id_is_given_once() {
    let mut stage = Stage::new();
    let entropy = stage.fresh();
    let again = Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(Box::new(
        CreateDecisionPoint { entropy, ..question() },
    )));
    assert_eq!(told(&stage.give(&again)), Ok(vec!["created"]));
    assert_eq!(told(&stage.give(&again)), Err("DECISION_EXISTS"));
}

#[test]
fn what_is_left_away_is_filled_in_as_the_seed_says() {
    let mut stage = Stage::new();
    let id = stage.ask(question());
    let terms = &stage.point(&id).terms;
    assert_eq!((terms.max_iterations, terms.on_timeout), (3, OnTimeout::Abort));
    assert_eq!((terms.expires_at, terms.allow_text), (None, true));
    assert_eq!(&*terms.proposal.options[0].short, "yes");
    for asked in [approval(&[], 1), bound()] {
        let id = stage.ask(asked);
        assert!(!stage.point(&id).terms.allow_text, "an approval takes no text");
    }
}

#[test]
fn every_way_to_answer_ends_the_round_once_and_as_what_it_is() {
    let mut stage = Stage::new();
    for (response, events) in [
        (choice("yes"), vec!["resolved", "released"]),
        (choice("no"), vec!["resolved"]),
        (text("Neither."), vec!["resolved", "released"]),
        (guidance("Smaller."), vec!["guidance_given", "round_opened"]),
    ] {
        let id = stage.ask(question());
        assert_eq!(told(&stage.respond(&id, &person(APPROVER), response.clone())), Ok(events));
        let late = stage.respond(&id, &person("cleo"), choice("also"));
        assert_eq!(told(&late), Ok(vec!["late_response"]), "after {response:?}");
        let never = stage.respond(&id, &person("cleo"), choice("alsoo"));
        assert_eq!(told(&never), Err("BAD_OPTION"), "after {response:?}");
    }
    stage.assert_rebuilt();
}

#[test]
fn what_a_round_does_not_take_is_refused_and_leaves_it_open() {
    let mut stage = Stage::new();
    let id = stage.ask(CreateDecisionPoint { allow_text: Some(false), ..question() });
    let by = person(APPROVER);
    for (response, rule) in [
        (choice("maybe"), "BAD_OPTION"),
        (choice("_accept"), "NOTHING_TO_ACCEPT"),
        (choice("_guidance"), "NOTHING_TO_ACCEPT"),
        (text("Neither."), "TEXT_NOT_ALLOWED"),
        (Response::Accept, "NOTHING_TO_ACCEPT"),
        (Response::option("_accept"), "NOTHING_TO_ACCEPT"),
        (guidance(" "), "MISSING_TEXT"),
        (guidance(&long(MAX_RESPONSE_BYTES + 1)), "TOO_LONG"),
    ] {
        let version = stage.point(&id).version;
        assert_eq!(told(&stage.respond(&id, &by, response)), Err(rule));
        assert_eq!((stage.state(&id), stage.point(&id).version), (State::Pending, version));
    }
    assert_eq!(told(&stage.respond("DP-x", &by, choice("yes"))), Err("UNKNOWN_DECISION"));
}

#[test]
fn words_of_an_answer_are_bounded() {
    let mut stage = Stage::new();
    let by = person(APPROVER);
    for (words, expected) in [
        (long(MAX_RESPONSE_BYTES), Ok(vec!["resolved", "released"])),
        (long(MAX_RESPONSE_BYTES + 1), Err("TOO_LONG")),
        (String::from("\u{200b}"), Err("MISSING_TEXT")),
    ] {
        let id = stage.ask(question());
        assert_eq!(told(&stage.respond(&id, &by, text(&words))), expected);
    }
    for (bytes, is_accepted) in [(MAX_RESPONSE_BYTES, true), (MAX_RESPONSE_BYTES + 1, false)] {
        let id = stage.ask(question());
        let answer = stage.respond_saying(&id, &by, choice("yes"), Some(long(bytes)));
        assert_eq!(answer.is_ok(), is_accepted, "a comment of {bytes} bytes");
    }
}

#[test]
fn reasons_and_targets_are_bounded() {
    let mut stage = Stage::new();
    let id = stage.ask(question());
    let (decision_id, by) = (id.clone(), person(REQUESTER));
    let reason = Some(long(MAX_REASON_BYTES + 1));
    let cancel = CancelDecisionPoint { decision_id, by: by.clone(), reason: reason.clone() };
    assert_eq!(
        told(
            &stage.give(&Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(cancel)))
        ),
        Err("TOO_LONG")
    );
    let (decision_id, to) = (id.clone(), APPROVER.into());
    let escalate = EscalateDecisionPoint { decision_id, by: by.clone(), to, reason };
    assert_eq!(
        told(
            &stage.give(&Command::DecisionPoint(DecisionPointCommand::EscalateDecisionPoint(
                escalate
            )))
        ),
        Err("TOO_LONG")
    );
    for to in ["", "a\u{202e}b", &long(257)] {
        assert_eq!(told(&stage.escalate(&id, &by, to)), Err("INVALID_IDENTIFIER"));
    }
}

#[test]
fn guidance_in_the_last_round_is_refused_and_the_round_stays_answerable() {
    let mut stage = Stage::new();
    let by = person(APPROVER);
    for most in [1, 2, 3, 20] {
        let mut id = stage.ask(CreateDecisionPoint { max_iterations: Some(most), ..question() });
        for round in 1..most {
            id = stage.guide(&id, &by, &format!("Guidance {round}."));
            stage.refine_prompt(&id);
        }
        assert_eq!(told(&stage.respond(&id, &by, guidance("More."))), Err("ITERATION_LIMIT"));
        assert_eq!(stage.state(&id), State::Pending);
        let answer = stage.respond(&id, &by, choice("yes"));
        assert_eq!(told(&answer), Ok(vec!["resolved", "released"]), "round {most}");
    }
}

#[test]
fn the_next_round_has_the_terms_of_the_one_before_and_is_linked_both_ways() {
    let mut stage = Stage::new();
    let first = stage.ask(CreateDecisionPoint { context: Some("Why.".into()), ..timed_bound() });
    let second = stage.guide(&first, &person(APPROVER), "Smaller.");
    let (before, after) = (stage.point(&first), stage.point(&second));
    assert_eq!((before.state, after.state), (State::Iterated, State::Refining));
    assert_eq!(after.terms, before.terms);
    assert_eq!((after.iteration, after.guidance.as_deref()), (2, Some("Smaller.")));
    assert_eq!(after.requested_by, before.requested_by);
    assert_eq!(after.prior_id.as_deref(), Some(&*first));
    assert_eq!((&*before.chain_id, &*after.chain_id), (&*first, &*first));
    assert!(!before.approves() && !before.releases());
}

fn timed_bound() -> CreateDecisionPoint {
    CreateDecisionPoint { binding: Some(action("rm")), ..timed(OnTimeout::Abort) }
}

#[test]
fn old_options_cannot_be_chosen_before_the_requester_proposed_anew() {
    let mut stage = Stage::new();
    let by = person(APPROVER);
    let first = stage.ask(question());
    let id = stage.guide(&first, &by, "Smaller.");
    for response in [choice("yes"), choice("maybe"), text("Neither."), guidance("More.")] {
        assert_eq!(told(&stage.respond(&id, &by, response)), Err("NOT_REFINED"));
    }
    stage.refine_prompt(&id);
    let answer = stage.respond(&id, &by, choice("yes"));
    assert_eq!(told(&answer), Ok(vec!["resolved", "released"]));
}

#[test]
fn accepting_takes_the_guidance_of_that_round_word_for_word() {
    let mut stage = Stage::adopted();
    let by = person(APPROVER);
    for is_refined in [false, true] {
        let first = stage.ask(question());
        let id = stage.guide(&first, &by, "  Smaller,\nplease. ");
        if is_refined {
            stage.refine_prompt(&id);
        }
        let answer = stage.respond(&id, &by, choice("_guidance"));
        assert_eq!(told(&answer), Ok(vec!["resolved", "released"]));
        assert_eq!(stage.point(&id).response_text(), Some("  Smaller,\nplease. "));
        assert_eq!(stage.point(&id).selected_option(), None);
    }
}

#[test]
fn a_refinement_fits_its_default_and_its_options() {
    let mut stage = Stage::new();
    let first = stage.ask(timed(OnTimeout::Default));
    let id = stage.guide(&first, &person(APPROVER), "Smaller.");
    let by = person(REQUESTER);
    let offering = |options| RefineDecisionPoint { options, ..refinement(&id, &by) };
    for (refinement, rule) in [
        (refinement(&id, &by), "NOTHING_REFINED"),
        (offering(Some(vec![option("small")])), "BAD_DEFAULT"),
        (offering(Some(vec![option("yes"), option("yes")])), "DUPLICATE_OPTION"),
        (offering(Some(options(33))), "OPTION_COUNT"),
        (RefineDecisionPoint { default_option: Some("x".into()), ..offering(None) }, "BAD_DEFAULT"),
        (RefineDecisionPoint { prompt: Some(" ".into()), ..offering(None) }, "MISSING_TEXT"),
    ] {
        assert_eq!(told(&stage.refine(refinement)), Err(rule));
        assert_eq!(stage.state(&id), State::Refining);
    }
    let default_option = Some("small".into());
    let fits = RefineDecisionPoint { default_option, ..offering(Some(vec![option("small")])) };
    assert_eq!(told(&stage.refine(fits.clone())), Ok(vec!["refined"]));
    assert_eq!(told(&stage.refine(fits)), Err("NOT_REFINING"), "what people may have read stays");
}

#[test]
fn only_the_requester_or_a_person_refines_cancels_and_supersedes() {
    for (by, is_allowed) in
        [(agent("asker"), true), (person("dan"), true), (agent("other"), false), (system(), false)]
    {
        let mut stage = Stage::new();
        let asked = || CreateDecisionPoint { by: agent("asker"), ..question() };
        let first = stage.ask(asked());
        let id = stage.guide(&first, &person(APPROVER), "Smaller.");
        let prompt = Some("Better now?".into());
        let refined = stage.refine(RefineDecisionPoint { prompt, ..refinement(&id, &by) });
        let supersedes = Some(stage.ask(asked()));
        let next = CreateDecisionPoint { by: by.clone(), supersedes, ..question() };
        let superseded = stage.try_ask(next).map(|(_, events)| events);
        let cancelled = stage.cancel(&id, &by);
        for (outcome, done) in
            [(refined, "refined"), (superseded, "superseded"), (cancelled, "cancelled")]
        {
            let expected = if is_allowed { done } else { "NOT_REQUESTER" };
            let found = told(&outcome).map_or_else(|code| code, |kinds| kinds[kinds.len() - 1]);
            assert_eq!(found, expected, "{done} by {by:?}");
        }
    }
}

#[test]
fn rounds_share_one_deadline_unless_each_has_its_own() {
    for (timeout_per_round, later) in [(false, HOUR_MS), (true, HOUR_MS + HOUR_MS / 2)] {
        let mut stage = Stage::new();
        let asked = CreateDecisionPoint { timeout_per_round, ..timed(OnTimeout::Abort) };
        let (id, expected) = (stage.ask(asked), stage.in_ms(later));
        stage.pass_ms(HOUR_MS / 2);
        let next = stage.guide(&id, &person(APPROVER), "Smaller.");
        assert_eq!(stage.point(&next).terms.expires_at, Some(expected));
        stage.pass_ms(HOUR_MS / 2);
        assert_eq!(stage.expire_due().is_empty(), timeout_per_round);
    }
}

#[test]
fn a_deadline_takes_the_default_only_where_its_creator_asked_for_that() {
    for (on_timeout, events, state, releases) in [
        (OnTimeout::Default, vec!["default_taken", "released"], State::Expired, true),
        (OnTimeout::Abort, vec!["aborted"], State::Aborted, false),
        (OnTimeout::Hold, vec![], State::Pending, false),
    ] {
        let mut stage = Stage::new();
        let id = stage.ask(timed(on_timeout));
        stage.pass_ms(HOUR_MS - 1);
        assert_eq!(told(&stage.expire(&id)), Ok(vec!["warned"]));
        assert_eq!(stage.expire_due(), []);
        assert_eq!(told(&stage.expire(&id)), Err("NOTHING_DUE"));
        stage.pass_ms(1);
        assert_eq!(kinds(&stage.expire_due()), events);
        assert_eq!((stage.state(&id), stage.point(&id).releases()), (state, releases));
        assert_eq!(stage.point(&id).is_overdue(stage.now()), on_timeout == OnTimeout::Hold);
        assert_eq!(told(&stage.expire(&id)), Err("NOTHING_DUE"), "it expires once");
    }
}

#[test]
fn who_holds_is_answered_after_the_deadline_too() {
    let mut stage = Stage::new();
    let id = stage.ask(timed(OnTimeout::Hold));
    stage.pass_ms(2 * HOUR_MS);
    let answer = stage.respond(&id, &person(APPROVER), choice("yes"));
    assert_eq!(told(&answer), Ok(vec!["resolved", "released"]));
}

#[test]
fn who_repeats_a_command_at_another_terminal_asks_for_the_same() {
    let at = |terminal: &str, authenticated_by| {
        let by = Principal { means: terminal.into(), authenticated_by, ..person(APPROVER) };
        Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(
            RespondToDecisionPoint {
                decision_id: "DP-0".into(),
                entropy: Entropy::default(),
                by,
                response: choice("yes"),
                comment: None,
            },
        ))
    };
    let first = at("terminal /dev/pts/1, uid 0", Authentication::Terminal);
    let again = at("uid 0, no terminal", Authentication::OsUser);
    assert_eq!(first.content(), again.content());
    let Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(mut other)) = again
    else {
        unreachable!()
    };
    other.by = person("cleo");
    assert_ne!(
        first.content(),
        Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(other)).content()
    );
}

#[test]
fn names_that_could_be_taken_for_others_are_refused() {
    let mut stage = Stage::new();
    for issue in ["DP-1", "DP-"] {
        let issue_id = Some(issue.into());
        let given = stage.try_ask(CreateDecisionPoint { issue_id, ..question() });
        assert_eq!(told(&given.map(|(_, events)| events)), Err("RESERVED_NAME"), "{issue}");
    }
    for name in [" q9", "q9\t", "q9\u{3000}"] {
        let issue = CreateDecisionPoint { issue_id: Some(name.into()), ..question() };
        let blocks = CreateDecisionPoint { blocks: vec![name.into()], ..question() };
        for asked in [issue, blocks] {
            let given = stage.try_ask(asked).map(|(_, events)| events);
            // A tab is hidden, too.
            let rule = if name.contains('\t') { "INVALID_IDENTIFIER" } else { "BLANK_AROUND" };
            assert_eq!(told(&given), Err(rule), "{name:?}");
        }
    }
    let id = stage.ask(question());
    for (name, rule) in [
        ("system:timeout", "RESERVED_NAME"),
        ("SYSTEM_TIMEOUT", "RESERVED_NAME"),
        ("system_timeout", "RESERVED_NAME"),
        ("bob ", "BLANK_AROUND"),
        (" bob", "BLANK_AROUND"),
        ("bob\u{3000}", "BLANK_AROUND"),
    ] {
        assert_eq!(told(&stage.respond(&id, &person(name), choice("yes"))), Err(rule), "{name:?}");
        let policy = Some(policy(&[name, APPROVER], 1));
        let given = stage.try_ask(CreateDecisionPoint { policy, ..question() });
        assert_eq!(told(&given.map(|(_, events)| events)), Err(rule), "{name:?}");
    }
}

#[test]
fn an_issue_that_could_be_taken_for_an_id_is_refused_whoever_asks() {
    let mut stage = Stage::new();
    let ids = ["LOOP-1", "REQ-26c287", "DEC-1", "FAULT-ab", "REC-", "CHAIN-1", "OBS-1", "AUDIT-1"];
    let names = ["session:2", "thread:a", "correlation:a", "stream:a"];
    let digits = ["887b22", "12", "DEAD", "0"];
    for issue in ids.into_iter().chain(names).chain(digits) {
        let issue_id = Some(issue.into());
        let given = stage.try_ask(CreateDecisionPoint { issue_id, ..question() });
        assert_eq!(told(&given.map(|(_, events)| events)), Err("ISSUE_LIKE_AN_ID"), "{issue}");
    }
    for issue in ["gt-12", "issue-887b22", "loop-1", "threads", "12.5", "g12"] {
        stage.ask(CreateDecisionPoint { issue_id: Some(issue.into()), ..question() });
    }
}

/// It could be asked before such names were refused.
#[test]
fn a_recorded_question_about_an_issue_of_a_refused_name_stays_what_it_was() {
    for issue in [" q9", "887b22", "LOOP-1", "thread:a"] {
        let mut stage = Stage::new();
        let asked = CreateDecisionPoint { issue_id: Some("q9".into()), ..question() };
        let (id, mut events) = Stage::new().try_ask(asked).unwrap();
        let Some(Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(body))) =
            events.first_mut()
        else {
            panic!("{events:?}")
        };
        body.terms.issue_id = Some(issue.into());
        let by = body.by.actor();
        events.into_iter().for_each(|event| stage.record(&by, event));
        assert_eq!(stage.state(&id), State::Pending, "{issue}");
        stage.respond(&id, &person(APPROVER), choice("yes")).unwrap();
    }
}

#[test]
fn an_option_where_none_is_offered_is_refused_with_what_can_be_answered() {
    let mut stage = Stage::new();
    let asked = CreateDecisionPoint { options: vec![], default_option: None, ..question() };
    let id = stage.ask(CreateDecisionPoint { allow_text: Some(true), ..asked });
    let refusal = stage.respond(&id, &person(APPROVER), choice("yes")).unwrap_err();
    let said = refusal.to_string();
    assert!(said.ends_with("offers no options, and yes is none: answer it with a text"), "{said}");
    stage.respond(&id, &person(APPROVER), Response::Text("yes".into())).unwrap();
}
