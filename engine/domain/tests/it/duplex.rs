//! Duplex sessions: while the user speaks, plans are words; a turn for which there is a plan is
//! committed only behind the gate, and only as the branch table decides it.

use holdpoint_domain::core::confidence::BasisPoints;
use holdpoint_domain::core::refusal::{CommonRefusal, Malformed};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::interruption_thread::{
    COMMIT_THRESHOLD, ConfidenceBand, Directive, DuplexBranch, Fate, FateReason, HealthReport,
    Heard, IntentClass, InterruptCandidate, InterruptionThreadCommand, InterruptionThreadEvent,
    PLAN_LIFETIME_MS, PendingState, PlanDrafted, ReasonCode, ResumePolicy, RowRefused,
    SubjectRelation, TakeTurn, Thread, ThreadRefusal, ThreadState, TtsControl, TurnCommitted,
    TurnInput, TurnRequest, TurnTaken,
};
use holdpoint_domain::registration::SessionStatus;
use holdpoint_domain::{Command, Event, Refusal, World};
use holdpoint_testing::threads::drawn::row;
use holdpoint_testing::threads::planned::{committed, drafted, heard, plan_key};
use holdpoint_testing::threads::requests::{chat, intent, interrupting, points, relating, request};
use holdpoint_testing::threads::{Outcome, Stage, rows, thread_command, turn, turns};

pub(crate) const NOW: u64 = 1_000_000_000_000;
const ANNA: [&str; 4] = ["acme", "t", "anna", "phone"];
const BEN: [&str; 4] = ["acme", "t", "ben", "tablet"];

/// Two people who may speak, and two threads.
pub(crate) fn stage() -> Stage {
    let mut stage = Stage::with_tenant("acme");
    for [_, _, user, device] in [ANNA, BEN] {
        stage.user("acme", user, device);
    }
    ["t", "other"].iter().for_each(|thread| stage.work_order("acme", thread));
    stage
}

/// A thread in which anna was interrupted with its first turn.
fn interrupted() -> Stage {
    let mut stage = stage();
    let barge_in = request("anna", "weather", TurnInput::None);
    let barge_in = interrupting(barge_in, NOW, "It will rain. Take a coat.", 13);
    let barge_in = relating(barge_in, SubjectRelation::Same, 9_000);
    let first = turn(&stage, ANNA, 1, barge_in);
    stage.give(&take(first), NOW).events();
    stage
}

fn take(turn: TakeTurn) -> Command {
    Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn))
}

/// The second turn of the thread, by whom the request says.
pub(crate) fn second(stage: &Stage, request: TurnRequest) -> TakeTurn {
    let who = if *request.active_speaker_user_id == *"ben" { BEN } else { ANNA };
    turn(stage, who, 2, request)
}

pub(crate) fn answer() -> TurnRequest {
    request("anna", "weather", chat("Mondays are dry."))
}

/// Drafts the plan of a turn of which everything is sure.
pub(crate) fn draft(stage: &mut Stage, turn: &TakeTurn) -> PlanDrafted {
    let events = stage.give(&drafted(turn, heard(&turn.request)), NOW).events();
    match <[Event; 1]>::try_from(events) {
        Ok([Event::InterruptionThread(InterruptionThreadEvent::PlanDrafted(plan))]) => plan,
        other => panic!("a plan alone, not {other:?}"),
    }
}

fn commit(turn: &TakeTurn) -> Command {
    committed(turn, &plan_key(turn), heard(&turn.request))
}

/// What a batch says of a turn that passed the gate: its commit, itself and its row.
pub(crate) fn passed(events: &[Event]) -> (&TurnCommitted, &TurnTaken) {
    let [Event::InterruptionThread(InterruptionThreadEvent::TurnCommitted(commit)), rest @ ..] =
        events
    else {
        panic!("a commit first, not {events:?}");
    };
    assert_eq!((rest.len(), turns(rest).len(), rows(rest).len()), (2, 1, 1), "{events:?}");
    (commit, turns(rest)[0])
}

/// Drafts and commits a turn.
pub(crate) fn committed_turn(stage: &mut Stage, request: &TurnRequest) -> Vec<Event> {
    let turn = second(stage, request.clone());
    draft(stage, &turn);
    stage.give(&commit(&turn), NOW).events()
}

/// Requests of every branch, with the thread that leads there.
pub(crate) fn branches() -> Vec<(DuplexBranch, Stage, TurnRequest)> {
    let act = |class| request("anna", "weather", intent(class));
    let same = |of| relating(of, SubjectRelation::Same, 7_000);
    let switch = |of| relating(of, SubjectRelation::Switch, 7_000);
    vec![
        (DuplexBranch::None, stage(), answer()),
        (DuplexBranch::None, stage(), act(IntentClass::ReadOnlyTool)),
        (DuplexBranch::Same, interrupted(), same(answer())),
        (DuplexBranch::Same, interrupted(), same(act(IntentClass::ReadOnlyTool))),
        (DuplexBranch::Switch, interrupted(), switch(answer())),
        (DuplexBranch::Switch, interrupted(), switch(act(IntentClass::Impactful))),
        (DuplexBranch::Uncertain, interrupted(), answer()),
        (DuplexBranch::Uncertain, interrupted(), act(IntentClass::ReadOnlyTool)),
        (DuplexBranch::Uncertain, interrupted(), relating(answer(), SubjectRelation::Same, 6_999)),
        (DuplexBranch::Uncertain, interrupted(), request("ben", "weather", chat("Hello."))),
    ]
}

/// The thread but for its plan, and but for the record that changed it last.
fn beyond_the_plan(stage: &Stage) -> serde_json::Value {
    let Some(thread) = stage.world.thread("acme", "t") else { return serde_json::Value::Null };
    let mut view = serde_json::to_value(thread.view(Timestamp::default())).unwrap();
    let fields = view.as_object_mut().unwrap();
    assert!(fields.remove("open_plan").is_some() && fields.remove("version").is_some());
    view
}

#[test]
fn a_plan_is_words_and_allows_nothing() {
    for (branch, mut stage, request) in branches() {
        let before = stage.state("acme", "t");
        let turn = second(&stage, request.clone());
        let plan = draft(&mut stage, &turn).plan;
        assert_eq!((plan.branch, plan.execute_allowed), (branch, false), "{request:?}");
        let shown = serde_json::to_value(&plan).unwrap();
        let keys: Vec<_> = shown.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["branch", "execute_allowed", "reason_code", "would_say"]);
        assert_eq!(stage.state("acme", "t"), before);
        let thread = stage.world.thread("acme", "t").unwrap();
        assert_eq!(thread.open_plan().unwrap().plan, plan);
        if plan.reason_code == ReasonCode::DispatchTool {
            assert_eq!(plan.would_say, None, "an action is no words: {request:?}");
        }
        stage.assert_rebuilt();
    }
}

#[test]
fn a_plan_is_drafted_while_nothing_is_sure_yet() {
    let mut stage = stage();
    let turn = second(&stage, answer());
    let mut said = heard(&turn.request);
    said.transcript.is_final = false;
    said.hypothesis.confidence_bp = points(0);
    stage.give(&drafted(&turn, said), NOW).events();
    let thread = stage.world.thread("acme", "t").unwrap();
    let plan = &thread.open_plan().unwrap().plan;
    assert_eq!(plan.would_say.as_deref(), Some("Mondays are dry."));
    assert_eq!(plan.reason_code, ReasonCode::NlpChat);
    // Nothing was said in the thread that it began.
    assert_eq!((thread.turns, thread.last_turn_id), (0, 0));
    assert_eq!(thread.state, ThreadState::default());
}

#[test]
fn table_each_branch_commits_what_the_branch_table_decides() {
    for (branch, mut stage, request) in branches() {
        let mut plain = stage.clone();
        let turn = second(&plain, request.clone());
        let expected = plain.give(&take(turn), NOW).events();
        let expected = turns(&expected)[0];
        let events = committed_turn(&mut stage, &request);
        let (commit, taken) = passed(&events);
        assert_eq!(taken, expected, "a turn behind the gate is the turn without one");
        let (found, decision) = (&commit.decision, &taken.decision);
        assert_eq!((found.branch, found.reason_code), (branch, decision.reason_code));
        assert_eq!(found.action, decision.dispatch);
        if branch == DuplexBranch::Uncertain {
            assert_eq!(decision.directive, Directive::Clarify, "{request:?}");
            assert_eq!(found.action, None);
            assert_eq!(found.response.as_ref(), decision.clarify.as_ref().map(|c| &c.question));
        }
        assert_eq!(stage.world.thread("acme", "t").unwrap().open_plan(), None);
        stage.assert_rebuilt();
    }
}

#[test]
fn the_same_subject_resumes_now_and_another_one_later() {
    let related = |relation| {
        let events = committed_turn(&mut interrupted(), &relating(answer(), relation, 9_000));
        let (commit, taken) = passed(&events);
        (commit.decision.clone(), taken.decision.interrupt_resume_policy)
    };
    let (same, policy) = related(SubjectRelation::Same);
    assert_eq!(same.response.as_deref(), Some("Take a coat. Mondays are dry."));
    assert_eq!(policy, Some(ResumePolicy::ResumeNow));
    let (other, policy) = related(SubjectRelation::Switch);
    assert_eq!(other.reason_code, ReasonCode::InterruptReturnCheckAsked);
    assert_eq!(policy, Some(ResumePolicy::ResumeLater));
}

#[test]
fn a_commit_reads_as_branch_response_action_and_reason() {
    let request = request("anna", "weather", intent(IntentClass::ReadOnlyTool));
    let events = committed_turn(&mut stage(), &request);
    let shown = serde_json::to_value(&passed(&events).0.decision).unwrap();
    let action = serde_json::json!({
        "kind": "TOOL_REQUEST", "intent_type": "READ_ONLY_TOOL", "request_id": "TOOL-2",
    });
    let expected = serde_json::json!({
        "branch": "NONE", "response": null, "action": action, "reason_code": "X_DISPATCH_TOOL",
    });
    assert_eq!(shown, expected);
}

/// The first gate that is closed.
fn closed_gate(
    is_final: bool,
    candidate: Option<u16>,
    hypothesis: u16,
    session: SessionStatus,
) -> Option<&'static str> {
    if !is_final {
        return Some("X_FAIL_TRANSCRIPT_NOT_FINAL");
    }
    if candidate.is_some_and(|confidence| confidence < 7_000) {
        return Some("X_FAIL_CANDIDATE_NOT_SURE");
    }
    if hypothesis < 7_000 {
        return Some("X_FAIL_HYPOTHESIS_NOT_SURE");
    }
    (session != SessionStatus::Active).then_some("X_FAIL_TENANT_SCOPE_INVALID")
}

#[test]
fn table_a_turn_is_committed_only_behind_every_gate() {
    let levels = [0, 6_999, 7_000, 7_001, 9_999];
    let candidates = levels.map(Some).into_iter().chain([None]);
    for (candidate, session) in
        candidates.flat_map(|of| SessionStatus::ALL.iter().map(move |session| (of, *session)))
    {
        let of = candidate.map_or_else(answer, |sure| as_sure(barge_in(), sure));
        let mut planned = stage();
        let scope = ["acme", "s-1", "anna", "phone"];
        planned.session(scope, SessionStatus::Active, NOW).events();
        let turn = TakeTurn { session_id: Some("s-1".into()), ..second(&planned, of) };
        draft(&mut planned, &turn);
        if session != SessionStatus::Active {
            planned.session(scope, session, NOW).events();
        }
        for (hypothesis, is_final) in levels.iter().flat_map(|l| [(*l, true), (*l, false)]) {
            let mut said = heard(&turn.request);
            said.transcript.is_final = is_final;
            said.hypothesis.confidence_bp = points(hypothesis);
            let mut stage = planned.clone();
            let before = beyond_the_plan(&stage);
            let command = committed(&turn, &plan_key(&turn), said);
            let outcome = stage.give(&command, NOW);
            let found = outcome.refusal().map(Refusal::code);
            let expected = closed_gate(is_final, candidate, hypothesis, session);
            assert_eq!(found, expected, "{candidate:?} {hypothesis} {is_final} {session}");
            if let Outcome::Refused(refusal) = outcome {
                assert!(refusal.audit(&stage.world, &command).is_some(), "{refusal}");
                assert_eq!(beyond_the_plan(&stage), before);
            }
        }
    }
    assert_eq!(COMMIT_THRESHOLD, points(7_000));
}

#[test]
fn a_closed_gate_says_what_was_expected_and_found() {
    let mut stage = stage();
    let turn = second(&stage, answer());
    draft(&mut stage, &turn);
    let mut said = heard(&turn.request);
    said.hypothesis.confidence_bp = points(6_999);
    let outcome = stage.give(&committed(&turn, &plan_key(&turn), said), NOW);
    let expected = "X_FAIL_HYPOTHESIS_NOT_SURE: heard.hypothesis.confidence_bp: expected 0.7000 \
                    or more, found 0.6999; ask what is meant";
    assert_eq!(outcome.refusal().unwrap().to_string(), expected);
}

/// The field that a refusal names, and its code.
fn refused(outcome: &Outcome) -> (&'static str, &'static str) {
    let refusal = outcome.refusal().expect("a refusal");
    match refusal {
        Refusal::InterruptionThread(
            ThreadRefusal::Barred { field, .. } | ThreadRefusal::GateClosed { field, .. },
        ) => (field, refusal.code()),
        other => panic!("{other:?}"),
    }
}

/// What is tried with a plan that is not open for it changes nothing, and is a row.
#[track_caller]
fn assert_refused(mut stage: Stage, command: &Command, at: u64, field: &str, code: &str) {
    let (before, records) = (beyond_the_plan(&stage), stage.sequence);
    let plan = stage.world.thread("acme", "t").and_then(Thread::open_plan).cloned();
    let outcome = stage.give(command, at);
    assert_eq!(refused(&outcome), (field, code), "{outcome:?}");
    assert_eq!(beyond_the_plan(&stage), before);
    assert_eq!(stage.world.thread("acme", "t").and_then(Thread::open_plan), plan.as_ref());
    assert_eq!(stage.sequence, records + 1, "one row says so");
    stage.assert_rebuilt();
}

const INVALID: &str = "X_FAIL_PLAN_INVALID";

#[test]
fn a_plan_is_committed_once_in_time_and_by_its_own_speaker() {
    let mut planned = stage();
    let anna = second(&planned, answer());
    draft(&mut planned, &anna);
    let late = NOW + PLAN_LIFETIME_MS * 1_000_000;
    planned.clone().give(&commit(&anna), late - 1).events();
    assert_refused(planned.clone(), &commit(&anna), late, "plan_key", INVALID);
    let ben = second(&planned, request("ben", "weather", chat("Hello.")));
    let by_ben = committed(&ben, &plan_key(&anna), heard(&ben.request));
    assert_refused(planned.clone(), &by_ben, NOW, "user_id", INVALID);
    let elsewhere = turn(&planned, ["acme", "other", "anna", "phone"], 2, answer());
    assert_refused(planned.clone(), &commit(&elsewhere), NOW, "plan_key", INVALID);
    let next = TakeTurn { turn_id: 3, ..anna.clone() };
    assert_refused(planned.clone(), &commit(&next), NOW, "plan_key", INVALID);
    let mut done = planned.clone();
    done.give(&commit(&anna), NOW).events();
    let key = String::from("again");
    let again = TakeTurn { idempotency_key: key.clone(), ..anna.clone() };
    let again = committed(&again, &plan_key(&anna), heard(&anna.request));
    assert_refused(done.clone(), &again, NOW, "turn_id", "X_FAIL_TURN_ORDER");
    let once_more = TakeTurn { idempotency_key: key, ..next };
    let once_more = committed(&once_more, &plan_key(&anna), heard(&anna.request));
    assert_refused(done, &once_more, NOW, "plan_key", INVALID);
}

#[test]
fn the_newest_plan_alone_may_be_committed() {
    let mut stage = stage();
    let first = second(&stage, answer());
    draft(&mut stage, &first);
    let newer = TakeTurn { idempotency_key: "newer".into(), ..first.clone() };
    draft(&mut stage, &newer);
    assert_refused(stage.clone(), &commit(&first), NOW, "plan_key", INVALID);
    stage.give(&commit(&newer), NOW).events();
}

#[test]
fn a_turn_with_an_open_plan_is_taken_by_its_commit_alone() {
    let mut planned = stage();
    let anna = second(&planned, answer());
    draft(&mut planned, &anna);
    assert_refused(planned.clone(), &take(anna.clone()), NOW, "turn_id", INVALID);
    let ben = second(&planned, request("ben", "weather", chat("Hello.")));
    assert_refused(planned.clone(), &take(ben), NOW, "turn_id", INVALID);
    for directive in Directive::ALL {
        let row = row(anna.clone(), *directive);
        assert_refused(planned.clone(), &row, NOW, "turn_id", INVALID);
    }
    // Another turn, and this one when the plan has had its time, need no gate.
    let key = |key: &str| String::from(key);
    let before = TakeTurn { turn_id: 1, idempotency_key: key("before"), ..anna.clone() };
    let mut went_on = planned.clone();
    went_on.give(&take(before), NOW).events();
    assert!(went_on.world.thread("acme", "t").unwrap().open_plan().is_some());
    went_on.give(&commit(&anna), NOW).events();
    let next = TakeTurn { turn_id: 3, ..anna.clone() };
    let mut passed_by = planned.clone();
    passed_by.give(&take(next), NOW).events();
    assert_eq!(passed_by.world.thread("acme", "t").unwrap().open_plan(), None);
    let late = NOW + PLAN_LIFETIME_MS * 1_000_000;
    planned.give(&take(anna), late).events();
    assert_eq!(planned.world.thread("acme", "t").unwrap().open_plan(), None);
}

#[test]
fn a_refusal_says_whose_plan_bars_the_way_and_no_lapsed_plan_is_called_open() {
    let mut stage = stage();
    let anna = second(&stage, answer());
    draft(&mut stage, &anna);
    let plan = format!("plan {} of turn 2 of anna", plan_key(&anna));
    let assert_told = |command: &Command, at: u64, pieces: [&str; 3]| {
        let told = stage.clone().give(command, at).refusal().unwrap().to_string();
        assert!(pieces.iter().all(|piece| told.contains(piece)), "{told}");
    };
    let later = "take a later turn, or wait until that plan ends";
    assert_told(&take(anna.clone()), NOW, ["found 2", &plan, "commit that plan"]);
    let ben = second(&stage, request("ben", "weather", chat("Hello.")));
    assert_told(&take(ben.clone()), NOW, [&plan, "is open until", later]);
    let by_ben = committed(&ben, &plan_key(&anna), heard(&ben.request));
    assert_told(&by_ben, NOW, ["found ben", later, ""]);
    let late = NOW + PLAN_LIFETIME_MS * 1_000_000;
    assert_told(&commit(&anna), late, [&plan, "lapsed at", "and no plan is open"]);
}

#[test]
fn a_plan_ends_with_its_thread() {
    let mut stage = interrupted();
    let turn = second(&stage, answer());
    draft(&mut stage, &turn);
    let close = InterruptionThreadCommand::CloseThread(thread_command("acme", "t"));
    stage.give(&close.into(), NOW).events();
    assert_eq!(stage.world.thread("acme", "t").unwrap().open_plan(), None);
    let outcome = stage.give(&commit(&turn), NOW);
    assert_eq!(refused(&outcome), ("correlation_id", "X_FAIL_THREAD_CLOSED"));
}

#[test]
fn a_plan_is_carried_with_the_state() {
    let mut stage = interrupted();
    let turn = second(&stage, answer());
    draft(&mut stage, &turn);
    let carried = World::from_carried(&stage.world.carry()).unwrap();
    assert_eq!(carried, stage.world);
    stage.world = carried;
    stage.give(&commit(&turn), NOW).events();
}

#[test]
fn a_plan_of_a_late_interruption_is_no_outcome() {
    let mut stage = stage();
    let late = interrupting(answer(), NOW, "It rains.", 2);
    let turn = second(&stage, relating(late, SubjectRelation::Same, 9_000));
    let command = drafted(&turn, heard(&turn.request));
    let outcome = stage.give(&command, NOW + 5_000_000_001);
    assert_eq!(refused(&outcome).1, INVALID);
    let refusal = outcome.refusal().unwrap();
    assert_eq!(refusal.tts_control(&command), None);
    let row = refusal.audit(&stage.world, &command).unwrap();
    let Event::InterruptionThread(InterruptionThreadEvent::RowRefused(row)) = row else {
        panic!("{row:?}");
    };
    assert!(row.remainders.is_empty() && row.issue_fingerprint.is_none(), "{row:?}");
}

/// The same, and how sure its interruption is.
fn as_sure(mut request: TurnRequest, confidence: u16) -> TurnRequest {
    let of = request.interruption.as_mut().unwrap();
    of.candidate_confidence_band = ConfidenceBand::Medium;
    of.phrase_confidence_bp = points(confidence);
    of.gate_confidences.phrase_bp = points(confidence);
    of.subject_relation_confidence_bundle.lexical_bp = points(confidence);
    request
}

fn barge_in() -> TurnRequest {
    let of = interrupting(answer(), NOW, "It rains.", 2);
    relating(of, SubjectRelation::Same, 9_000)
}

/// The row that tells of a refused command.
pub(crate) fn refused_row(stage: &mut Stage, command: &Command) -> RowRefused {
    let outcome = stage.give(command, NOW);
    match outcome.refusal().expect("a refusal").audit(&stage.world, command) {
        Some(Event::InterruptionThread(InterruptionThreadEvent::RowRefused(row))) => row,
        other => panic!("a row, not {other:?}"),
    }
}

#[test]
fn whoever_interrupts_is_not_talked_over_however_the_turn_is_refused() {
    let mut stage = stage();
    let turn = second(&stage, barge_in());
    draft(&mut stage, &turn);
    let mut early = heard(&turn.request);
    early.transcript.is_final = false;
    let other = TakeTurn { pending_state: PendingState::Tool, ..turn.clone() };
    let commands = [
        take(turn.clone()),
        take(other),
        committed(&turn, &plan_key(&turn), early),
        committed(&turn, "another", heard(&turn.request)),
    ];
    for command in commands {
        let outcome = stage.give(&command, NOW);
        let stops = outcome.refusal().unwrap().tts_control(&command);
        assert_eq!(stops, Some(TtsControl::Cancel), "{outcome:?}");
        assert_eq!(refused_row(&mut stage, &command).tts_control, stops);
    }
    let silent = take(second(&stage, answer()));
    let strange = take(TakeTurn { device_id: "nobody's".into(), ..turn });
    let rows = [silent, strange].map(|it| refused_row(&mut stage, &it));
    assert_eq!(rows.map(|row| row.tts_control), [None, None]);
}

#[test]
fn a_closed_gate_loses_no_words_and_is_no_interruption() {
    let mut planned = stage();
    let scope = ["acme", "s-1", "anna", "phone"];
    planned.session(scope, SessionStatus::Active, NOW).events();
    let turn = TakeTurn { session_id: Some("s-1".into()), ..second(&planned, barge_in()) };
    draft(&mut planned, &turn);
    let mut health = HealthReport::default();
    let mut early = heard(&turn.request);
    early.transcript.is_final = false;
    let mut unsure = heard(&turn.request);
    unsure.hypothesis.confidence_bp = points(6_999);
    let mut suspended = planned.clone();
    suspended.session(scope, SessionStatus::Suspended, NOW).events();
    let gates =
        [(planned.clone(), early), (planned.clone(), unsure), (suspended, heard(&turn.request))];
    for (mut stage, said) in gates {
        for command in [committed(&turn, &plan_key(&turn), said), take(turn.clone())] {
            let row = refused_row(&mut stage, &command);
            let [words] = &row.remainders[..] else { panic!("{row:?}") };
            assert_eq!((words.fate, words.reason), (Fate::KeptForLater, FateReason::StillKept));
            assert_eq!(row.issue_fingerprint, None);
            health.apply(stage.sequence, Timestamp::from_nanoseconds(NOW), &row.into());
        }
    }
    assert_eq!((health.rows().len(), health.refusals_of("acme")), (0, 6));
    // The same words are kept by the commit that passes.
    let events = planned.give(&commit(&turn), NOW).events();
    assert_eq!(passed(&events).1.decision.remainders[0].fate, Fate::Captured);
    // Of a commit without an open plan nothing is to come.
    let late = committed(&turn, "another", heard(&turn.request));
    let row = refused_row(&mut planned, &late);
    assert_eq!(row.remainders[0].reason, FateReason::TurnRefused);
}

/// The field for which both a plan and a commit are malformed.
fn malformed_field(said: &Heard, request: &TurnRequest) -> &'static str {
    let mut stage = interrupted();
    let turn = second(&stage, request.clone());
    let records = stage.sequence;
    let field = |command: &Command, outcome: Outcome| match outcome {
        Outcome::Refused(Refusal::InterruptionThread(ThreadRefusal::Malformed(of))) => {
            assert_eq!(command.check_form(), Err(of.clone()));
            let Malformed { field, .. } = of;
            field
        }
        Outcome::Refused(Refusal::Common(CommonRefusal::Malformed(of))) => of.field,
        other => panic!("{other:?}"),
    };
    let plan = drafted(&turn, said.clone());
    let planned = field(&plan, stage.give(&plan, NOW));
    let commit = committed(&turn, "plan", said.clone());
    assert_eq!(field(&commit, stage.give(&commit, NOW)), planned);
    assert_eq!(stage.sequence, records, "nothing is written of what is malformed");
    planned
}

#[test]
fn what_was_heard_is_about_this_very_request() {
    let act = request("anna", "weather", intent(IntentClass::ReadOnlyTool));
    let plain = relating(act, SubjectRelation::Same, 9_000);
    let barge_in = interrupting(plain.clone(), NOW, "It rains.", 2);
    let change = |request: &TurnRequest, change: fn(&mut Heard)| {
        let mut said = heard(request);
        change(&mut said);
        malformed_field(&said, request)
    };
    assert_eq!(change(&barge_in, |said| said.candidate = None), "heard.candidate");
    let other_phrase = |said: &mut Heard| said.candidate.as_mut().unwrap().phrase_id = 1;
    assert_eq!(change(&barge_in, other_phrase), "heard.candidate.phrase_id");
    let other_time = |said: &mut Heard| said.candidate.as_mut().unwrap().t_event += 1;
    assert_eq!(change(&barge_in, other_time), "heard.candidate.t_event");
    let surer = |said: &mut Heard| said.candidate.as_mut().unwrap().confidence_bp = points(9_999);
    assert_eq!(change(&barge_in, surer), "heard.candidate.confidence_bp");
    let invented = |said: &mut Heard| {
        let confidence_bp = BasisPoints::new(9_999).unwrap();
        said.candidate = Some(InterruptCandidate { phrase_id: 9, t_event: NOW, confidence_bp });
    };
    assert_eq!(change(&plain, invented), "heard.candidate");
    let other = |said: &mut Heard| said.hypothesis.subject_ref = "holiday".into();
    assert_eq!(change(&plain, other), "heard.hypothesis.subject_ref");
    let surer = |said: &mut Heard| {
        said.hypothesis.subject_relation_confidence_bp = BasisPoints::new(9_999).ok();
    };
    let field = "heard.hypothesis.subject_relation_confidence_bp";
    assert_eq!(change(&plain, surer), field);
    // A message says in words what was found.
    let mut said = heard(&plain);
    said.hypothesis.subject_relation = None;
    let command = committed(&second(&interrupted(), plain.clone()), "plan", said);
    let expected = "heard.hypothesis.subject_relation: expected the request's, found none;";
    let told = command.check_form().unwrap_err().to_string();
    assert!(told.starts_with(expected), "{told}");
    let other_intent = |said: &mut Heard| said.hypothesis.intent_type = Some("PAY".into());
    assert_eq!(change(&plain, other_intent), "heard.hypothesis.intent_type");
    let no_intent = |said: &mut Heard| said.hypothesis.intent_type = None;
    assert_eq!(change(&plain, no_intent), "heard.hypothesis.intent_type");
}

#[test]
fn a_transcript_that_is_no_line_is_refused() {
    let of = answer();
    for text in ["", " \n", "a\nb", "a\0", "a\u{202e}b", &"a".repeat(32_769)] {
        let mut said = heard(&of);
        said.transcript.text = text.into();
        let field = malformed_field(&said, &of);
        assert_eq!(field, "heard.transcript.text", "{} bytes", text.len());
    }
}

#[test]
fn a_request_that_breaks_the_contract_is_refused_by_its_own_field() {
    let mut of = answer();
    of.active_speaker_user_id = "".into();
    assert_eq!(malformed_field(&heard(&of), &of), "request.active_speaker_user_id");
}
