//! Words that nobody surely interrupted go on being said: their plan owns them until it ends, and
//! its end is a row with DISCARD. Nothing is kept of them, and nobody is asked about them.

use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::interruption_thread::{
    Directive, Fate, FateReason, HealthReport, InterruptionThreadCommand, InterruptionThreadEvent,
    PlanDrafted, PlanEnded, ReasonCode, ResumePolicy, SubjectRelation, TakeTurn, TtsControl,
    TurnInput,
};
use holdpoint_domain::{Command, Event, Time, World, decide};
use holdpoint_testing::threads::drawn::row;
use holdpoint_testing::threads::planned::{committed, drafted, heard, plan_key};
use holdpoint_testing::threads::requests::{chat, points, relating, request};
use holdpoint_testing::threads::{Stage, thread_command, turns};

use crate::duplex::{NOW, refused_row};
use crate::forbidden_threads::forged;
use crate::plan_remainders::{
    LAPSED, SECOND, barge_in, go_on, kept, of_ann, outcome_rows, planned, stage, take, unsure,
};

/// A thread whose second turn is planned, where it is not sure that Ann interrupts answer 41.
fn planned_unsure() -> (Stage, TakeTurn) {
    let mut stage = stage();
    let turn = of_ann(&stage, 2, unsure(barge_in(41)));
    stage.give(&drafted(&turn, heard(&turn.request)), NOW).events();
    (stage, turn)
}

/// A turn of Ann's that interrupts nothing.
fn plain(stage: &Stage, turn_id: u64) -> TakeTurn {
    TakeTurn {
        idempotency_key: format!("plain-{turn_id}"),
        ..of_ann(stage, turn_id, request("ann", "weather", chat("New words.")))
    }
}

fn expire() -> Command {
    InterruptionThreadCommand::ExpireThread(thread_command("acme", "t")).into()
}

/// The plan and its end, as they are recorded.
fn plan_and_end(events: &[Event]) -> (Option<PlanDrafted>, Option<PlanEnded>) {
    let (mut plan, mut end) = (None, None);
    for event in events {
        match event {
            Event::InterruptionThread(InterruptionThreadEvent::PlanDrafted(of)) => {
                plan = Some(of.clone());
            }
            Event::InterruptionThread(InterruptionThreadEvent::PlanEnded(of)) => {
                end = Some(of.clone());
            }
            _ => {}
        }
    }
    (plan, end)
}

#[test]
fn words_that_nobody_surely_interrupted_end_with_their_plan_by_a_row_and_clarify_nothing() {
    let (planned, turn) = planned_unsure();
    let empty = of_ann(&planned, 3, request("ann", "weather", TurnInput::None));
    let own = TakeTurn { turn_id: 2, idempotency_key: "own".into(), ..plain(&planned, 3) };
    let ends = [
        (take(plain(&planned, 3)), NOW, ReasonCode::PlanPassedBy),
        (row(empty, Directive::Respond), NOW, ReasonCode::PlanPassedBy),
        (committed(&own, &plan_key(&turn), heard(&own.request)), NOW, ReasonCode::PlanPassedBy),
        (drafted(&own, heard(&own.request)), NOW, ReasonCode::PlanReplaced),
        (expire(), LAPSED, ReasonCode::PlanLapsed),
    ];
    for (command, at, reason) in ends {
        let mut stage = planned.clone();
        let commit = committed(&turn, &plan_key(&turn), heard(&turn.request));
        assert_eq!(refused_row(&mut stage, &commit).tts_control, None);
        let events = stage.give(&command, at).events();
        let rows = outcome_rows(&events);
        let [row] = &rows[..] else { panic!("one end: {events:?}") };
        let told = (row.reason_code, row.interrupt_resume_policy, row.passed_to_turn);
        assert_eq!(told, (reason, ResumePolicy::Discard, None));
        assert_eq!((row.turn_id, row.answer_id), (Some(2), Some(41)));
        let (_, Some(end)) = plan_and_end(&events) else { panic!("{events:?}") };
        let words = (end.remainder.fate, end.remainder.reason);
        assert_eq!(words, (Fate::Discarded, FateReason::NotSure));
        assert_eq!(kept(&stage), []);
        let mut health = HealthReport::default();
        for event in &events {
            let Event::InterruptionThread(event @ InterruptionThreadEvent::PlanEnded(_)) = event
            else {
                continue;
            };
            health.apply(1, Time::from_nanoseconds(NOW), event);
        }
        assert_eq!(health.rows().len(), 0, "nobody interrupted anything");
        let events = stage.give(&take(plain(&stage, 9)), at + SECOND).events();
        assert_eq!(turns(&events)[0].decision.reason_code, ReasonCode::NlpChat, "{reason}");
        stage.assert_rebuilt();
    }
}

#[test]
fn words_of_an_unsure_plan_pass_on_to_whatever_interrupts_the_same_for_sure() {
    let (planned, turn) = planned_unsure();
    let sure = TakeTurn { idempotency_key: "sure".into(), ..of_ann(&planned, 2, barge_in(41)) };
    let (draft, commit) = (
        drafted(&sure, heard(&sure.request)),
        committed(&sure, &plan_key(&turn), heard(&sure.request)),
    );
    let mut stage = planned.clone();
    stage.give(&commit, NOW).events();
    assert_eq!(kept(&stage), [(2, 41)], "the commit is sure");
    let mut stage = planned.clone();
    let (plan, end) = plan_and_end(&stage.give(&draft, NOW).events());
    assert_eq!(end.unwrap().interrupt_resume_policy, ResumePolicy::ResumeLater);
    assert_eq!(plan.unwrap().unsaid.unwrap().reason, FateReason::Interrupted);
    stage.give(&expire(), LAPSED).events();
    assert_eq!(kept(&stage), [(2, 41)], "the newest plan was sure");
    let mut stage = planned;
    let passing = TakeTurn { turn_id: 3, ..turn };
    let events = stage.give(&take(passing), NOW).events();
    assert_eq!(outcome_rows(&events)[0].passed_to_turn, Some(3));
    assert_eq!(kept(&stage), [(3, 41)], "a turn without a gate asks for no confidence");
}

#[test]
fn words_that_a_plan_was_sure_of_stay_so_when_an_unsure_one_takes_its_place() {
    let (mut stage, _) = planned();
    let again = of_ann(&stage, 2, unsure(barge_in(41)));
    let again = TakeTurn { idempotency_key: "again".into(), ..again };
    let (plan, end) =
        plan_and_end(&stage.give(&drafted(&again, heard(&again.request)), NOW).events());
    assert_eq!(end.unwrap().passed_to_turn, Some(2));
    assert_eq!(plan.unwrap().unsaid.unwrap().reason, FateReason::Interrupted);
    stage.give(&expire(), LAPSED).events();
    assert_eq!(kept(&stage), [(2, 41)]);
    stage.assert_rebuilt();
}

#[test]
fn words_that_a_refused_turn_surely_cut_off_outlive_an_unsure_plan() {
    let (planned, turn) = planned_unsure();
    let sure = of_ann(&planned, 2, barge_in(41));
    let mut doubtful = heard(&sure.request);
    doubtful.hypothesis.confidence_bp = points(6_999);
    for command in [committed(&sure, &plan_key(&turn), doubtful), take(sure.clone())] {
        let mut stage = planned.clone();
        let refused = refused_row(&mut stage, &command);
        assert_eq!(refused.tts_control, Some(TtsControl::Cancel));
        assert_eq!(refused.remainders[0].reason, FateReason::StillKept);
        let carried = World::from_carried(&stage.world.carry()).unwrap();
        assert_eq!(carried, stage.world);
        let (_, end) = plan_and_end(&stage.give(&expire(), LAPSED).events());
        assert_eq!(end.unwrap().interrupt_resume_policy, ResumePolicy::ResumeLater);
        assert_eq!(kept(&stage), [(2, 41)]);
        stage.assert_rebuilt();
    }
}

#[test]
fn who_asks_to_go_on_hears_words_that_nobody_surely_interrupted() {
    let (planned, turn) = planned_unsure();
    let next = go_on(&planned, 3);
    let own = TakeTurn { turn_id: 2, ..next.clone() };
    let commit = committed(&own, &plan_key(&turn), heard(&own.request));
    let draft = drafted(&next, heard(&next.request));
    for command in [take(next.clone()), commit, draft] {
        let mut stage = planned.clone();
        let events = stage.give(&command, NOW).events();
        let rows = outcome_rows(&events);
        assert_eq!(rows[0].interrupt_resume_policy, ResumePolicy::ResumeLater);
        let said = match turns(&events)[..] {
            [turn] => turn.decision.response_text.clone(),
            _ => plan_and_end(&events).0.unwrap().plan.would_say,
        };
        assert_eq!(said.as_deref(), Some("Take a coat."));
        stage.assert_rebuilt();
    }
    // Nobody else has them kept, nor does an end that nothing follows which asks for them.
    let mut stage = planned.clone();
    let (_, Some(end)) = plan_and_end(&stage.give(&take(next), NOW).events()) else { panic!() };
    let mut stage = planned.clone();
    assert_eq!(forged(&mut stage, end.clone()), []);
    let command = take(plain(&stage, 3));
    let taken = decide(&stage.world, &command, Time::from_nanoseconds(NOW)).unwrap();
    let findings = forged(&mut stage, turns(&taken)[0].clone());
    assert!(findings.iter().any(|finding| finding.rule == Rule::ThreadRemainder), "{findings:?}");
}

#[test]
fn a_carried_state_knows_which_words_nobody_surely_interrupted() {
    let (mut stage, _) = planned_unsure();
    let carried = World::from_carried(&stage.world.carry()).unwrap();
    assert_eq!(carried, stage.world);
    stage.world = carried;
    stage.give(&expire(), LAPSED).events();
    assert_eq!(kept(&stage), []);
}

#[test]
fn an_end_of_unsure_words_that_is_not_so_is_found() {
    let (stage, turn) = planned_unsure();
    let next = take(plain(&stage, 3));
    let (_, Some(end)) = plan_and_end(&stage.clone().give(&next, NOW).events()) else { panic!() };
    assert_eq!(forged(&mut stage.clone(), end.clone()), []);
    let kept = PlanEnded { interrupt_resume_policy: ResumePolicy::ResumeLater, ..end.clone() };
    let mut later = end.clone();
    later.remainder.fate = Fate::Captured;
    let mut otherwise = end;
    otherwise.remainder.reason = FateReason::PlanPassedBy;
    let (plan, _) = plan_and_end(
        &crate::plan_remainders::stage().give(&drafted(&turn, heard(&turn.request)), NOW).events(),
    );
    let mut sure = plan.unwrap();
    sure.unsaid.as_mut().unwrap().reason = FateReason::Interrupted;
    let found = [
        (forged(&mut stage.clone(), kept), Rule::ThreadRemainder),
        (forged(&mut stage.clone(), later), Rule::ThreadPlan),
        (forged(&mut stage.clone(), otherwise), Rule::ThreadPlan),
        (forged(&mut crate::plan_remainders::stage(), sure), Rule::ThreadPlan),
    ];
    for (findings, rule) in found {
        assert!(findings.iter().any(|finding| finding.rule == rule), "{rule}: {findings:?}");
    }
    // Words of a plan that was sure are never given up with it.
    let (sure, _) = planned();
    let (_, end) = plan_and_end(&sure.clone().give(&next, NOW).events());
    let mut discard = PlanEnded { expires_at: None, ..end.unwrap() };
    discard.interrupt_resume_policy = ResumePolicy::Discard;
    (discard.remainder.fate, discard.remainder.reason) = (Fate::Discarded, FateReason::NotSure);
    let findings = forged(&mut sure.clone(), discard);
    assert!(findings.iter().any(|finding| finding.rule == Rule::ThreadRemainder), "{findings:?}");
}

/// A relation needs words that are kept.
#[test]
fn nobody_goes_back_to_words_that_went_on_being_said() {
    let (mut stage, _) = planned_unsure();
    stage.give(&expire(), LAPSED).events();
    let back = relating(plain(&stage, 3).request.as_ref().clone(), SubjectRelation::Same, 9_000);
    let back = take(of_ann(&stage, 3, back));
    let refused = stage.give(&back, LAPSED);
    assert_eq!(refused.refusal().unwrap().code(), "X_FAIL_RELATION_INVALID");
}
