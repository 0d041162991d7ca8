//! Who approves a decision point, what an approval is good for, and what comes too late.

use crate::points::{
    APPROVER, HOUR_MS, REQUESTER, Stage, action, agent, approval, bound, choice, guidance, kinds,
    option, person, policy, principal, question, refinement, rejecting, system, text, timed, told,
};
use holdpoint_domain::World;
use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, CreateDecisionPoint, DEFAULT_VALID_FOR_MS,
    DecisionPointState as State, MAX_CLOSED_DECISION_POINTS, MAX_LATE_RESPONSES, MAX_VOTES,
    OnTimeout, RefineDecisionPoint, Response,
};

const ENDS: [&str; 3] = ["vote", "resolved", "released"];

#[test]
fn a_late_answer_is_kept_once_and_never_counts() {
    let mut stage = Stage::new();
    let (bob, cleo) = (person(APPROVER), person("cleo"));
    let id = stage.ask(question());
    stage.respond(&id, &bob, choice("no")).unwrap();
    assert_eq!(told(&stage.respond(&id, &cleo, choice("yes"))), Ok(vec!["late_response"]));
    let version = stage.point(&id).version;
    let again = stage.respond(&id, &cleo, choice("yes"));
    assert_eq!(told(&again), Err("ALREADY_ENDED"));
    assert!(Stage::message(&again).contains("option no by bob"), "{}", Stage::message(&again));
    let point = stage.point(&id);
    assert_eq!((point.version, point.late_total), (version, 1));
    assert_eq!((point.selected_option(), point.approves()), (Some("no"), false));
    assert_eq!(point.ending.as_ref().unwrap().by.as_ref(), Some(&bob));
}

#[test]
fn an_answer_after_the_deadline_is_kept_as_late_whether_the_deadline_was_recorded_or_not() {
    for is_recorded in [false, true] {
        let mut stage = Stage::new();
        let id = stage.ask(timed(OnTimeout::Abort));
        stage.pass_ms(HOUR_MS);
        if is_recorded {
            assert_eq!(kinds(&stage.expire_due()), ["aborted"]);
        }
        let answer = stage.respond(&id, &person(APPROVER), choice("yes"));
        let before = if is_recorded { 0 } else { 1 };
        assert_eq!(told(&answer), Ok(["aborted", "late_response"][1 - before..].to_vec()));
        let again = stage.respond(&id, &person(APPROVER), choice("yes"));
        assert_eq!(told(&again), Err("EXPIRED"));
        assert_eq!(stage.state(&id), State::Aborted);
        assert!(!stage.point(&id).approves() && !stage.point(&id).releases());
    }
}

#[test]
fn the_end_by_a_deadline_is_dated_by_the_deadline_and_by_its_record() {
    let mut stage = Stage::new();
    let id = stage.ask(timed(OnTimeout::Default));
    let deadline = stage.in_ms(HOUR_MS);
    stage.pass_ms(3 * HOUR_MS);
    stage.expire_due();
    let ending = stage.point(&id).ending.clone().unwrap();
    assert_eq!((ending.ended_at, ending.recorded_at), (deadline, stage.now()));
    assert_eq!((ending.by, ending.default_taken.as_deref()), (None, Some("yes")));
    let view = serde_json::to_value(stage.point(&id).view(stage.now(), None)).unwrap();
    assert_eq!(
        (&view["responded_by"], &view["responded_kind"]),
        (&"system:timeout".into(), &"system".into())
    );
}

#[test]
fn late_answers_that_are_remembered_are_bounded_and_all_are_counted() {
    let mut stage = Stage::new();
    let id = stage.ask(question());
    stage.respond(&id, &person(APPROVER), choice("no")).unwrap();
    for number in 0..20 {
        let late = stage.respond(&id, &person(&format!("late-{number}")), choice("yes"));
        assert_eq!(told(&late), Ok(vec!["late_response"]));
    }
    let point = stage.point(&id);
    assert_eq!((point.late_responses.len(), point.late_total), (MAX_LATE_RESPONSES, 20));
    stage.assert_rebuilt();
}

#[test]
fn what_ended_is_remembered_in_that_order_and_a_world_that_keeps_finds_all_of_it() {
    let mut stage = Stage::new();
    let mut ended = Vec::new();
    for _ in 0..MAX_CLOSED_DECISION_POINTS + 2 {
        let id = stage.ask(question());
        stage.respond(&id, &person(APPROVER), choice("no")).unwrap();
        ended.push(id);
        if ended.len() == 2 {
            stage.respond(&ended[0], &person("cleo"), choice("yes")).unwrap();
        }
    }
    let ids = |world: &World| {
        let closed = world.closed_decision_points();
        closed.map(|point| point.decision_id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&stage.kept), ended);
    assert_eq!(ids(&stage.world), ended[2..], "the newest 1024");
    assert!(stage.world.decision_point(&ended[0]).is_none());
    assert_eq!(stage.kept.decision_point(&ended[0]).unwrap().late_total, 1);
    stage.assert_rebuilt();
}

#[test]
fn the_same_answer_by_the_same_person_is_told_of_its_first_record() {
    let mut stage = Stage::new();
    let bob = person(APPROVER);
    for response in [choice("yes"), choice("no"), text("Neither."), guidance("Smaller.")] {
        let id = stage.ask(question());
        let first = stage.sequence + 1;
        stage.respond(&id, &bob, response.clone()).unwrap();
        let (sequence, again) = (stage.sequence, stage.respond(&id, &bob, response.clone()));
        assert_eq!(again.unwrap_err().done_before(), Some(first));
        assert_eq!(stage.sequence, sequence, "nothing is written");
        let other = stage.respond(&id, &person("cleo"), response);
        assert_eq!(told(&other), Ok(vec!["late_response"]), "somebody else was second");
    }
}

#[test]
fn cancelling_again_is_done_already_and_cancelling_an_answer_is_a_conflict() {
    let mut stage = Stage::new();
    let (ann, bob) = (person(REQUESTER), person(APPROVER));
    let (id, answered) = (stage.ask(question()), stage.ask(question()));
    assert_eq!(told(&stage.cancel(&id, &ann)), Ok(vec!["cancelled"]));
    assert_eq!(told(&stage.cancel(&id, &bob)), Err("ALREADY_DONE"));
    assert!(!stage.point(&id).releases());
    stage.respond(&answered, &bob, choice("yes")).unwrap();
    let refused = stage.cancel(&answered, &ann);
    assert_eq!(told(&refused), Err("ALREADY_ENDED"));
    assert!(refused.unwrap_err().to_string().contains("option yes by bob"));
    assert_eq!(stage.state(&answered), State::Resolved);
}

#[test]
fn a_question_takes_the_place_of_an_open_one_only_where_it_says_so() {
    let mut stage = Stage::new();
    let (first, other) = (stage.ask(question()), stage.ask(question()));
    assert_eq!(stage.state(&first), State::Pending, "asking again takes no place");
    let next = CreateDecisionPoint { supersedes: Some(first.clone()), ..question() };
    let (id, events) = stage.try_ask(next.clone()).unwrap();
    assert_eq!(kinds(&events), ["created", "superseded"]);
    assert_eq!(stage.state(&other), State::Pending);
    let point = stage.point(&first);
    assert_eq!((point.state, point.releases()), (State::Superseded, false));
    assert_eq!(point.ending.as_ref().unwrap().superseded_by.as_deref(), Some(&*id));
    assert_eq!(stage.try_ask(next).unwrap_err().code(), "ALREADY_ENDED");
    let unknown = CreateDecisionPoint { supersedes: Some("DP-x".into()), ..question() };
    assert_eq!(stage.try_ask(unknown).unwrap_err().code(), "UNKNOWN_DECISION");
    assert_eq!(stage.world.live_decision_points().count(), 2, "a refused question is not asked");
}

#[test]
fn telling_somebody_of_a_question_gives_nobody_a_right() {
    let mut stage = Stage::new();
    let id = stage.ask(approval(&[APPROVER], 1));
    let terms = stage.point(&id).terms.clone();
    assert_eq!(told(&stage.escalate(&id, &agent("anybody"), "eve")), Ok(vec!["escalated"]));
    assert_eq!(told(&stage.remind(&id, &agent("anybody"))), Ok(vec!["reminded"]));
    assert_eq!(stage.point(&id).terms, terms);
    assert_eq!(told(&stage.respond(&id, &person("eve"), choice("yes"))), Err("NOT_AN_APPROVER"));
    assert_eq!(told(&stage.respond(&id, &person(APPROVER), choice("yes"))), Ok(ENDS.to_vec()));
    assert_eq!(told(&stage.escalate(&id, &person("eve"), "eve")), Err("ALREADY_ENDED"));
    assert_eq!(told(&stage.remind(&id, &person("eve"))), Err("ALREADY_ENDED"));
}

#[test]
fn a_quorum_is_of_distinct_people_who_chose_the_same() {
    let mut stage = Stage::new();
    let id = stage.ask(approval(&[], 2));
    let (bob, cleo, dan) = (person("bob"), person("cleo"), person("dan"));
    assert_eq!(told(&stage.respond(&id, &bob, choice("yes"))), Ok(vec!["vote"]));
    assert_eq!(told(&stage.respond(&id, &bob, choice("yes"))), Err("ALREADY_DONE"));
    assert_eq!(told(&stage.respond(&id, &bob, choice("also"))), Err("VOTE_CONFLICT"));
    assert_eq!(told(&stage.respond(&id, &bob, choice("no"))), Err("VOTE_CONFLICT"));
    assert_eq!(told(&stage.respond(&id, &cleo, choice("also"))), Ok(vec!["vote"]));
    assert_eq!(stage.state(&id), State::Pending, "two people, two choices");
    assert_eq!(told(&stage.respond(&id, &dan, choice("yes"))), Ok(ENDS.to_vec()));
    assert_eq!(stage.point(&id).selected_option(), Some("yes"));
    stage.assert_rebuilt();
}

#[test]
fn one_name_votes_once_whatever_kind_it_claims() {
    let mut stage = Stage::new();
    let policy = ApprovalPolicy { allow_agents: true, ..policy(&[], 2) };
    let id = stage.ask(CreateDecisionPoint { policy: Some(policy), ..question() });
    assert_eq!(told(&stage.respond(&id, &person("bob"), choice("yes"))), Ok(vec!["vote"]));
    assert_eq!(told(&stage.respond(&id, &agent("bob"), choice("yes"))), Err("VOTE_CONFLICT"));
    let other_means = principal(Actor::Human, "bob", Authentication::Terminal);
    assert_eq!(told(&stage.respond(&id, &other_means, choice("yes"))), Err("ALREADY_DONE"));
}

#[test]
fn one_vote_against_ends_it_at_once() {
    let mut stage = Stage::new();
    let id = stage.ask(CreateDecisionPoint { policy: Some(policy(&[], 3)), ..bound() });
    stage.respond(&id, &person("bob"), choice("yes")).unwrap();
    let rejected = stage.respond(&id, &person("cleo"), choice("no"));
    assert_eq!(told(&rejected), Ok(vec!["vote", "resolved"]));
    assert!(!stage.point(&id).approves() && !stage.point(&id).releases());
    assert_eq!(told(&stage.consume(&id, &agent("a"), &action("rm"))), Err("NOT_APPROVED"));
}

#[test]
fn votes_of_one_round_do_not_count_in_the_next() {
    let mut stage = Stage::new();
    let first = stage.ask(approval(&[], 2));
    stage.respond(&first, &person("bob"), choice("yes")).unwrap();
    let id = stage.guide(&first, &person("cleo"), "Smaller.");
    stage.refine_prompt(&id);
    let vote = stage.respond(&id, &person("dan"), choice("yes"));
    assert_eq!(told(&vote), Ok(vec!["vote"]), "bob has not seen this one");
}

#[test]
fn requesters_and_agents_are_excluded_where_a_policy_is_set_and_only_there() {
    let mut stage = Stage::new();
    let excluded = [
        (person(REQUESTER), "SELF_APPROVAL"),
        (agent("robot"), "AGENT_EXCLUDED"),
        (principal(Actor::Automation, "cron", Authentication::Terminal), "AGENT_EXCLUDED"),
        (system(), "AGENT_EXCLUDED"),
    ];
    for (by, rule) in excluded {
        let id = stage.ask(approval(&[], 1));
        for response in [choice("yes"), choice("no"), guidance("Smaller.")] {
            assert_eq!(told(&stage.respond(&id, &by, response)), Err(rule));
        }
        assert_eq!(stage.state(&id), State::Pending);
        let id = stage.ask(question());
        let answer = stage.respond(&id, &by, choice("yes"));
        assert_eq!(told(&answer), Ok(vec!["resolved", "released"]));
    }
}

#[test]
fn a_policy_may_let_requesters_and_agents_but_never_holdpoint_itself() {
    let mut stage = Stage::new();
    let mut asked = |by, change: fn(&mut ApprovalPolicy)| {
        let mut policy = policy(&[], 1);
        change(&mut policy);
        let id = stage.ask(CreateDecisionPoint { policy: Some(policy), ..question() });
        stage.respond(&id, &by, choice("yes")).is_ok()
    };
    assert!(asked(person(REQUESTER), |policy| policy.allow_requester = true));
    assert!(asked(agent("robot"), |policy| policy.allow_agents = true));
    assert!(!asked(agent(REQUESTER), |policy| policy.allow_agents = true));
    assert!(!asked(system(), |policy| {
        policy.allow_agents = true;
        policy.allow_requester = true;
    }));
}

#[test]
fn a_name_counts_only_with_the_proof_that_the_policy_asks_for() {
    for (expected, &level) in Authentication::ALL.iter().enumerate() {
        for (found, &proof) in Authentication::ALL.iter().enumerate() {
            let mut stage = Stage::new();
            let policy = ApprovalPolicy { authentication: level, ..policy(&[APPROVER], 1) };
            let id = stage.ask(CreateDecisionPoint { policy: Some(policy), ..question() });
            let by = principal(Actor::Human, APPROVER, proof);
            let answer = stage.respond(&id, &by, choice("yes"));
            let outcome =
                if found < expected { Err("NOT_AUTHENTICATED") } else { Ok(ENDS.to_vec()) };
            assert_eq!(told(&answer), outcome, "{proof} where {level} is asked");
        }
    }
}

#[test]
fn an_approval_is_spent_once_for_what_it_was_given_for() {
    let mut stage = Stage::new();
    let (bob, robot) = (person(APPROVER), agent("robot"));
    let id = stage.ask(bound());
    assert_eq!(told(&stage.consume(&id, &robot, &action("rm"))), Err("NOT_APPROVED"));
    stage.respond(&id, &bob, choice("yes")).unwrap();
    let other_tool = ActionBinding { tool: "Bash".into(), ..action("rm") };
    for other in [action("rm -r"), action(""), other_tool] {
        assert_eq!(told(&stage.consume(&id, &robot, &other)), Err("BINDING_MISMATCH"));
    }
    assert_eq!(told(&stage.consume(&id, &robot, &action("rm"))), Ok(vec!["consumed"]));
    for by in [robot, bob] {
        assert_eq!(told(&stage.consume(&id, &by, &action("rm"))), Err("ALREADY_CONSUMED"));
    }
    let unbound = stage.ask(question());
    stage.respond(&unbound, &person(APPROVER), choice("yes")).unwrap();
    let spent = stage.consume(&unbound, &agent("robot"), &action("rm"));
    assert_eq!(told(&spent), Err("BINDING_MISMATCH"));
    stage.assert_rebuilt();
}

#[test]
fn an_approval_that_may_rest_on_unproven_records_is_not_spent() {
    let (bob, robot) = (person(APPROVER), agent("robot"));
    for (from_question, rounds, is_spent) in
        [(-1, 1, true), (0, 1, false), (1, 1, false), (-1, 2, true), (0, 2, false)]
    {
        let mut stage = Stage::new();
        stage.ask(question());
        let mut id = stage.ask(bound());
        let asked = stage.point(&id).created_sequence;
        // A later round rests on what was asked in the first.
        for _ in 1..rounds {
            stage.respond(&id, &bob, guidance("Smaller.")).unwrap();
            id = stage.point(&id).next_id.as_deref().unwrap().to_string();
            stage.refine_prompt(&id);
        }
        stage.respond(&id, &bob, choice("yes")).unwrap();
        stage.say_unproven(asked.checked_add_signed(from_question).unwrap());
        let outcome = if is_spent { Ok(vec!["consumed"]) } else { Err("APPROVAL_UNPROVEN") };
        let spent = told(&stage.consume(&id, &robot, &action("rm")));
        assert_eq!(spent, outcome, "{from_question} in {rounds} rounds");
    }
}

#[test]
fn what_is_no_approval_cannot_be_spent() {
    let bob = person(APPROVER);
    for (is_text_allowed, response) in
        [(true, text("Yes.")), (false, choice("no")), (false, guidance("Smaller."))]
    {
        let mut stage = Stage::new();
        let allow_text = Some(is_text_allowed);
        let id = stage.ask(CreateDecisionPoint { allow_text, ..bound() });
        stage.respond(&id, &bob, response.clone()).unwrap();
        let spent = stage.consume(&id, &bob, &action("rm"));
        assert_eq!(told(&spent), Err("NOT_APPROVED"), "{response:?}");
    }
    let mut stage = Stage::new();
    let (id, other) = (stage.ask(bound()), stage.ask(bound()));
    stage.cancel(&id, &bob).unwrap();
    assert_eq!(told(&stage.consume(&id, &bob, &action("rm"))), Err("NOT_APPROVED"));
    stage.ask(CreateDecisionPoint { supersedes: Some(other.clone()), ..bound() });
    assert_eq!(told(&stage.consume(&other, &bob, &action("rm"))), Err("NOT_APPROVED"));
}

#[test]
fn an_approval_that_is_not_spent_in_time_lapses() {
    for (valid_for_ms, valid) in [(None, DEFAULT_VALID_FOR_MS), (Some(5), 5)] {
        let mut stage = Stage::new();
        let asked = || CreateDecisionPoint { valid_for_ms, ..bound() };
        let (id, in_time) = (stage.ask(asked()), stage.ask(asked()));
        stage.respond(&id, &person(APPROVER), choice("yes")).unwrap();
        stage.respond(&in_time, &person(APPROVER), choice("yes")).unwrap();
        stage.pass_ms(valid - 1);
        assert_eq!(stage.expire_due(), []);
        assert_eq!(
            told(&stage.consume(&in_time, &agent("a"), &action("rm"))),
            Ok(vec!["consumed"])
        );
        stage.pass_ms(1);
        assert_eq!(told(&stage.consume(&id, &agent("a"), &action("rm"))), Err("APPROVAL_LAPSED"));
        assert_eq!(kinds(&stage.expire_due()), ["approval_lapsed"]);
        assert_eq!(told(&stage.consume(&id, &agent("a"), &action("rm"))), Err("APPROVAL_LAPSED"));
        assert_eq!(stage.world.live_decision_points().count(), 0);
    }
}

#[test]
fn a_default_approves_by_silence_only_where_the_policy_says_so() {
    let asked_for = || Some(policy(&[], 1));
    for (policy, default, is_approved) in [
        (None, "yes", false),
        (None, "no", false),
        (asked_for(), "yes", false),
        (asked_for(), "yes", true),
        (asked_for(), "no", false),
    ] {
        let mut stage = Stage::new();
        let binding = Some(action("rm"));
        let default_option = Some(default.into());
        let asked = timed(OnTimeout::Default);
        let question = CreateDecisionPoint { policy, binding, default_option, ..asked };
        let id = match is_approved {
            true => stage.ask_where_silence_approves(question),
            false => stage.ask(question),
        };
        stage.pass_ms(HOUR_MS);
        let released: &[&str] = if is_approved { &["released"] } else { &[] };
        assert_eq!(kinds(&stage.expire_due()), [&["default_taken"], released].concat());
        let spent = stage.consume(&id, &agent("robot"), &action("rm"));
        assert_eq!(spent.is_ok(), is_approved, "default {default}: {spent:?}");
    }
}

#[test]
fn no_new_question_lets_silence_approve() {
    let mut stage = Stage::new();
    let policy = Some(ApprovalPolicy { default_approves: true, ..policy(&[], 1) });
    let question = CreateDecisionPoint { policy, ..timed(OnTimeout::Default) };
    assert_eq!(stage.try_ask(question).unwrap_err().code(), "BAD_POLICY");
    let question = CreateDecisionPoint { timeout_ms: None, ..timed(OnTimeout::Default) };
    assert_eq!(stage.try_ask(question).unwrap_err().code(), "BAD_TIMEOUT");
}

#[test]
fn an_approval_by_silence_is_as_old_as_its_deadline() {
    for (passed, is_spendable) in [(2 * HOUR_MS - 1, true), (2 * HOUR_MS, false)] {
        let mut stage = Stage::new();
        let (binding, valid_for_ms) = (Some(action("rm")), Some(HOUR_MS));
        let policy = Some(policy(&[], 1));
        let asked = timed(OnTimeout::Default);
        let id = stage.ask_where_silence_approves(CreateDecisionPoint {
            policy,
            binding,
            valid_for_ms,
            ..asked
        });
        stage.pass_ms(passed);
        assert_eq!(kinds(&stage.expire_due()), ["default_taken", "released"]);
        let spent = stage.consume(&id, &agent("robot"), &action("rm"));
        let expected = if is_spendable { Ok(vec!["consumed"]) } else { Err("APPROVAL_LAPSED") };
        assert_eq!(told(&spent), expected);
        let lapsed: &[&str] = if is_spendable { &[] } else { &["approval_lapsed"] };
        assert_eq!(kinds(&stage.expire_due()), lapsed);
        stage.assert_rebuilt();
    }
}

#[test]
fn an_unanswered_refinement_is_aborted_and_never_takes_the_default_that_was_guided_away_from() {
    let mut stage = Stage::new();
    let asked = || timed(OnTimeout::Default);
    let (silent, refined) = (stage.ask(asked()), stage.ask(asked()));
    let silent = stage.guide(&silent, &person(APPROVER), "Do not.");
    let refined = stage.guide(&refined, &person(APPROVER), "Smaller.");
    stage.refine_prompt(&refined);
    stage.pass_ms(HOUR_MS);
    let mut due = kinds(&stage.expire_due());
    due.sort_unstable();
    assert_eq!(due, ["aborted", "default_taken", "released"]);
    assert_eq!((stage.state(&silent), stage.state(&refined)), (State::Aborted, State::Expired));
    stage.assert_rebuilt();
}

#[test]
fn what_waits_is_released_by_the_answer_that_approves_or_by_words() {
    let mut stage = Stage::adopted();
    let bob = person(APPROVER);
    for (response, releases) in
        [(choice("yes"), true), (choice("no"), false), (text("Neither."), true)]
    {
        let blocks = vec!["work-1".into(), "work-2".into()];
        let id = stage.ask(CreateDecisionPoint { blocks, ..question() });
        stage.respond(&id, &bob, response.clone()).unwrap();
        assert_eq!(stage.point(&id).released_at.is_some(), releases, "{response:?}");
        let unblocking = stage.ask(CreateDecisionPoint { blocks: Vec::new(), ..question() });
        assert_eq!(told(&stage.respond(&unblocking, &bob, response)), Ok(vec!["resolved"]));
    }
    let first = stage.ask(question());
    let second = stage.guide(&first, &bob, "Smaller.");
    assert_eq!(stage.point(&first).released_at, None, "guidance releases nothing");
    assert_eq!(told(&stage.respond(&second, &bob, Response::Accept)), Err("NOT_REFINED"));
    stage.respond(&second, &bob, choice("_guidance")).unwrap();
    assert!(stage.point(&second).released_at.is_some());
}

#[test]
fn a_vote_does_not_count_for_a_proposal_that_the_voter_has_not_seen() {
    let mut stage = Stage::adopted();
    let first = stage.ask(approval(&[], 2));
    let id = stage.guide(&first, &person("bob"), "Smaller.");
    assert_eq!(told(&stage.respond(&id, &person("bob"), choice("_guidance"))), Ok(vec!["vote"]));
    let options = Some(vec![option("small"), rejecting("no")]);
    let by = person(REQUESTER);
    stage.refine(RefineDecisionPoint { options, ..refinement(&id, &by) }).unwrap();
    assert_eq!(stage.point(&id).votes, []);
    let answer = stage.respond(&id, &person("cleo"), choice("_guidance"));
    assert_eq!(told(&answer), Ok(vec!["vote"]));
    let answer = stage.respond(&id, &person("bob"), choice("_guidance"));
    assert_eq!(told(&answer), Ok(vec!["vote", "resolved"]));
    assert_eq!(stage.point(&id).response_text(), Some("Smaller."));
    assert!(!stage.point(&id).approves(), "words approve nothing");
}

#[test]
fn who_accepts_guidance_approves_no_action_that_was_bound_before_it() {
    for (asked, is_approval) in [(bound(), false), (question(), true)] {
        let mut stage = Stage::adopted();
        let first = stage.ask(asked);
        let id = stage.guide(&first, &person(APPROVER), "Only with --dry-run.");
        stage.respond(&id, &person(APPROVER), choice("_guidance")).unwrap();
        let point = stage.point(&id);
        assert_eq!((point.state, point.approves()), (State::Resolved, false));
        assert_eq!(point.releases(), is_approval);
        let spent = stage.consume(&id, &agent(REQUESTER), &action("rm"));
        let expected = if is_approval { "BINDING_MISMATCH" } else { "NOT_APPROVED" };
        assert_eq!(told(&spent), Err(expected));
    }
}

#[test]
fn a_policy_that_only_its_requester_could_meet_is_refused() {
    let asked = |allow_requester, approvers: &[&str], quorum| CreateDecisionPoint {
        policy: Some(ApprovalPolicy { allow_requester, ..policy(approvers, quorum) }),
        ..question()
    };
    let mut stage = Stage::new();
    for (allow, approvers, quorum, is_met) in [
        (false, vec![REQUESTER], 1, false),
        (true, vec![REQUESTER], 1, true),
        (false, vec![REQUESTER, "bob"], 2, false),
        (false, vec![REQUESTER, "bob"], 1, true),
        (true, vec![REQUESTER, "bob"], 2, true),
    ] {
        let given = stage.try_ask(asked(allow, &approvers, quorum)).map(|(_, events)| events);
        let expected = if is_met { Ok(vec!["created"]) } else { Err("BAD_POLICY") };
        assert_eq!(told(&given), expected, "{allow} {approvers:?} {quorum}");
    }
}

#[test]
fn a_round_takes_no_more_votes_than_it_can_hold() {
    let mut stage = Stage::new();
    let id = stage.ask(CreateDecisionPoint {
        policy: Some(ApprovalPolicy { authentication: Authentication::None, ..policy(&[], 16) }),
        options: (0..8).map(|n| option(&format!("o{n}"))).collect(),
        default_option: None,
        ..question()
    });
    for n in 0..MAX_VOTES {
        let vote = stage.respond(&id, &person(&format!("p{n}")), choice(&format!("o{}", n % 8)));
        assert_eq!(told(&vote), Ok(vec!["vote"]), "{n}");
    }
    let vote = stage.respond(&id, &person("one more"), choice("o0"));
    assert_eq!(told(&vote), Err("TOO_MANY"));
    assert_eq!(stage.point(&id).votes.len(), MAX_VOTES);
}

#[test]
fn a_program_that_is_called_like_the_person_who_asked_is_another_one() {
    let mut stage = Stage::new();
    let id = stage.ask(CreateDecisionPoint { by: person("root"), ..question() });
    assert_eq!(told(&stage.cancel(&id, &agent("root"))), Err("NOT_REQUESTER"));
    assert_eq!(told(&stage.cancel(&id, &person("root"))), Ok(vec!["cancelled"]));
}

#[test]
fn what_said_no_says_no_after_refinement_and_some_way_to_say_no_stays() {
    let mut stage = Stage::new();
    let first = stage.ask(approval(&[], 1));
    let id = stage.guide(&first, &person("bob"), "Smaller.");
    let by = person(REQUESTER);
    let offered = |options| RefineDecisionPoint { options, ..refinement(&id, &by) };
    let no_way = Some(vec![option("yes"), option("small")]);
    assert_eq!(told(&stage.refine(offered(no_way))), Err("REJECT_DROPPED"));
    let unmarked = Some(vec![option("yes"), option("no")]);
    stage.refine(offered(unmarked)).unwrap();
    stage.respond(&id, &person("bob"), choice("no")).unwrap();
    let point = stage.point(&id);
    assert!(!point.approves() && !point.releases(), "{}", point.outcome_line());
}

#[test]
fn the_same_answer_with_another_comment_is_kept_and_not_taken_for_a_repetition() {
    let mut stage = Stage::new();
    let (id, bob) = (stage.ask(question()), person(APPROVER));
    stage.respond_saying(&id, &bob, choice("yes"), Some("After six.".into())).unwrap();
    for same in [None, Some("After six.".to_string())] {
        let again = stage.respond_saying(&id, &bob, choice("yes"), same);
        assert!(again.as_ref().is_err_and(|no| no.done_before().is_some()), "{again:?}");
    }
    let other = stage.respond_saying(&id, &bob, choice("yes"), Some("After seven.".into()));
    assert_eq!(told(&other), Ok(vec!["late_response"]));
}

#[test]
fn nobody_repeats_an_answer_under_a_name_that_is_proven_less() {
    let mut stage = Stage::new();
    let id = stage.ask(approval(&[APPROVER, "cleo"], 2));
    stage.respond(&id, &person(APPROVER), choice("yes")).unwrap();
    let claimed = principal(Actor::Human, APPROVER, Authentication::None);
    assert_eq!(told(&stage.respond(&id, &claimed, choice("yes"))), Err("NOT_AUTHENTICATED"));
}
