//! Property E2 for plans: what passes the gate by, or was not let through it, is found on the log
//! and counts for nothing.

use holdpoint_domain::Event;
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::interruption_thread::{
    Directive, DuplexBranch, PlanDrafted, RowCommitted, SpeculativePlan, TurnCommitDecision,
    TurnCommitted, TurnTaken,
};
use holdpoint_domain::registration::SessionStatus;
use holdpoint_testing::threads::drawn::row;
use holdpoint_testing::threads::planned::{committed, heard, plan_key};
use holdpoint_testing::threads::requests::{points, request};
use holdpoint_testing::threads::{Stage, rows};

use crate::duplex::{NOW, answer, draft, passed, second, stage};
use crate::forbidden_threads::forged;

#[track_caller]
fn assert_found(stage: &mut Stage, event: impl Into<Event>) {
    let findings = forged(stage, event);
    assert!(findings.iter().any(|finding| finding.rule == Rule::ThreadPlan), "{findings:?}");
}

/// A thread with an open plan, the plan, and what its commit, its turn and its row would be.
fn planned() -> (Stage, PlanDrafted, TurnCommitted, TurnTaken, RowCommitted) {
    let mut stage = stage();
    let turn = second(&stage, answer());
    let plan = draft(&mut stage, &turn);
    let commit = committed(&turn, &plan_key(&turn), heard(&turn.request));
    let events = stage.clone().give(&commit, NOW).events();
    let (commit, taken) = passed(&events);
    let row = rows(&events)[0].clone();
    (stage, plan, commit.clone(), taken.clone(), row)
}

fn turns(stage: &Stage) -> u64 {
    stage.world.thread("acme", "t").map_or(0, |thread| thread.turns)
}

#[test]
fn a_turn_and_a_row_past_an_open_plan_are_found_and_count_for_nothing() {
    let (mut stage, _, _, taken, row_of_turn) = planned();
    assert_found(&mut stage, taken);
    assert_found(&mut stage, row_of_turn);
    assert_eq!((turns(&stage), stage.state("acme", "t")), (0, Stage::default().state("acme", "t")));
    // So does a caller's row, for itself.
    let mut plain = crate::duplex::stage();
    let wait = row(second(&plain, answer()), Directive::Wait);
    let events = plain.give(&wait, NOW).events();
    assert_found(&mut stage, rows(&events)[0].clone());
    assert_eq!(turns(&stage), 0);
}

#[test]
fn a_commit_that_the_gate_did_not_let_pass_is_found_and_opens_nothing() {
    let (planned, _, honest, taken, _) = planned();
    let not_final = |mut commit: TurnCommitted| {
        commit.heard.transcript.is_final = false;
        commit
    };
    let not_sure = |mut commit: TurnCommitted| {
        commit.heard.hypothesis.confidence_bp = points(6_999);
        commit
    };
    let untrue = [
        not_final(honest.clone()),
        not_sure(honest.clone()),
        TurnCommitted { plan_key: "another".into(), ..honest.clone() },
        TurnCommitted { turn_id: 3, ..honest.clone() },
        TurnCommitted { correlation_id: "other".into(), ..honest.clone() },
    ];
    for commit in untrue {
        let mut stage = planned.clone();
        assert_found(&mut stage, commit);
        assert_found(&mut stage, taken.clone());
        assert_eq!(turns(&stage), 0);
    }
    let mut stage = planned;
    assert_eq!(forged(&mut stage, honest.clone()), []);
    assert_found(&mut stage.clone(), TurnTaken { turn_id: 3, ..taken.clone() });
    assert_found(&mut stage, honest);
    assert_eq!(forged(&mut stage, taken), []);
    assert_eq!(turns(&stage), 1);
}

#[test]
fn a_turn_that_is_not_the_one_that_was_committed_is_found_and_counts_for_nothing() {
    let (planned, _, commit, taken, _) = planned();
    let others = [
        TurnCommitDecision { response: Some("Pay.".into()), ..commit.decision.clone() },
        TurnCommitDecision { branch: DuplexBranch::Same, ..commit.decision.clone() },
    ];
    for decision in others {
        let mut stage = planned.clone();
        let commit = TurnCommitted { decision, ..commit.clone() };
        assert_eq!(forged(&mut stage, commit), []);
        assert_found(&mut stage, taken.clone());
        assert_eq!(turns(&stage), 0);
    }
    let by_ben = request("ben", "weather", answer().input);
    let of_another = TurnTaken { request: by_ben.into(), ..taken.clone() };
    let about = request("anna", "trains", answer().input);
    let about_else = TurnTaken { request: about.into(), ..taken.clone() };
    let away = TurnTaken { session_status: SessionStatus::Suspended, ..taken };
    for taken in [of_another, about_else, away] {
        let mut stage = planned.clone();
        assert_eq!(forged(&mut stage, commit.clone()), []);
        assert_found(&mut stage, taken);
        assert_eq!(turns(&stage), 0);
    }
}

#[test]
fn a_plan_that_says_something_else_than_the_branch_table_is_found() {
    let (planned, honest, ..) = planned();
    let (mut stage, plan) = (planned.clone(), &honest.plan);
    assert_eq!(forged(&mut stage, honest.clone()), []);
    let untrue = [
        SpeculativePlan { execute_allowed: true, ..plan.clone() },
        SpeculativePlan { would_say: Some("Pay.".into()), ..plan.clone() },
        SpeculativePlan { branch: DuplexBranch::Same, ..plan.clone() },
    ];
    for plan in untrue {
        assert_found(&mut planned.clone(), PlanDrafted { plan, ..honest.clone() });
    }
    let mut of_else = honest.clone();
    of_else.heard.hypothesis.subject_ref = "trains".into();
    assert_found(&mut planned.clone(), of_else);
    let session_id = Some("nowhere".into());
    assert_found(&mut planned.clone(), PlanDrafted { session_id, ..honest });
}
