//! The whole product of what a turn may find and say: refused with a named field, or exactly one
//! directive and one row, and a dispatch only where it is allowed.

use holdpoint_domain::core::refusal::Malformed;
use holdpoint_domain::interruption_thread::{
    ConfirmAnswer, Directive, Fate, IntentClass, Interruption, InterruptionThreadCommand, Marks,
    Pending, ReasonCode, ResumeBuffer, ResumePolicy, ReturnCheck, SubjectRelation, ThreadRefusal,
    ThreadState, ToolStatus, TtsControl, Turn, TurnDecision, TurnInput, TurnRequest, decide_turn,
};
use holdpoint_domain::registration::SessionStatus;
use holdpoint_domain::{Command, Refusal, Time, decide};
use holdpoint_testing::threads as threads_support;
use holdpoint_testing::threads::Stage;
use holdpoint_testing::threads::requests::{
    chat, failure, intent, interrupting, interruption, nlp_clarify, points, relating, request, tool,
};

const NOW: u64 = 1_000_000_000_000;
const SPEAKER: &str = "ann";
const OTHER: &str = "bob";
const SUBJECT: &str = "weather";
/// What was being said to the speaker, and to somebody else, and is being said now.
const OWN_WORDS: &str = "Own words.";
const OTHERS_WORDS: &str = "Words for bob.";
const SAYING: &str = "Said. And more.";
const TURN: u64 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Buffer {
    None,
    Own,
    Others,
    Expired,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    None,
    Live,
    Expired,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Snapshot {
    /// Nobody began to speak.
    NoBargeIn,
    /// Nothing was being said.
    None,
    Valid,
    CursorAtEnd,
    CursorBeyond,
    CursorInCharacter,
    BlankRest,
    Stale,
    InFuture,
    WithoutBargeIn,
}

const BUFFERS: [Buffer; 4] = [Buffer::None, Buffer::Own, Buffer::Others, Buffer::Expired];
const CHECKS: [Check; 3] = [Check::None, Check::Live, Check::Expired];
const LEGAL_SNAPSHOTS: [Snapshot; 3] = [Snapshot::NoBargeIn, Snapshot::None, Snapshot::Valid];
const ILLEGAL_SNAPSHOTS: [Snapshot; 7] = [
    Snapshot::CursorAtEnd,
    Snapshot::CursorBeyond,
    Snapshot::CursorInCharacter,
    Snapshot::BlankRest,
    Snapshot::Stale,
    Snapshot::InFuture,
    Snapshot::WithoutBargeIn,
];
const ANSWERS: [Option<ConfirmAnswer>; 3] =
    [None, Some(ConfirmAnswer::Yes), Some(ConfirmAnswer::No)];
/// Relation and confidence: neither, one without the other, and all relations below, at and above.
const RELATIONS: [(Option<SubjectRelation>, Option<u16>); 12] = [
    (None, None),
    (Some(SubjectRelation::Same), None),
    (None, Some(10_000)),
    (Some(SubjectRelation::Same), Some(6_999)),
    (Some(SubjectRelation::Same), Some(7_000)),
    (Some(SubjectRelation::Same), Some(10_000)),
    (Some(SubjectRelation::Switch), Some(6_999)),
    (Some(SubjectRelation::Switch), Some(7_000)),
    (Some(SubjectRelation::Switch), Some(10_000)),
    (Some(SubjectRelation::Uncertain), Some(6_999)),
    (Some(SubjectRelation::Uncertain), Some(7_000)),
    (Some(SubjectRelation::Uncertain), Some(10_000)),
];

#[test]
fn table_every_combination_is_refused_by_name_or_comes_to_exactly_one_directive() {
    let mut served = 0_u64;
    for (state, buffer, check) in states() {
        for request in requests(&LEGAL_SNAPSHOTS) {
            served += u64::from(check_combination(&state, buffer, check, &request));
        }
    }
    assert!(served > 100_000, "only {served} combinations were served");
}

#[test]
fn table_every_invalid_snapshot_is_refused_whatever_else_is_said() {
    let plain =
        |state: &ThreadState| state.marks.active_speaker_user_id.as_deref() == Some(SPEAKER);
    let states: Vec<ThreadState> =
        states().into_iter().map(|(state, ..)| state).filter(plain).collect();
    for request in requests(&ILLEGAL_SNAPSHOTS) {
        for state in &states {
            let refused = decide_turn(state, &turn(&request, SessionStatus::Active));
            assert!(refused.is_err(), "{request:?}");
        }
    }
}

/// The same product as far as commands lead there, through the world: one turn and one row.
#[test]
fn table_every_turn_that_is_served_is_one_transition_and_one_row() {
    let mut served = 0_u64;
    let requests = requests(&LEGAL_SNAPSHOTS);
    for found in found_states() {
        for (place, request) in requests.iter().enumerate().filter(|(_, r)| is_plain(r)) {
            served += u64::from(take(&found, request, place % 97 == 0));
        }
    }
    assert!(served > 10_000, "only {served} turns were served");
}

/// A combination that breaks no rule on pairs, with one confidence on each side of the threshold.
fn is_plain(request: &TurnRequest) -> bool {
    let confidence = request.interrupt_subject_relation_confidence_bp.map(|c| c.get());
    let is_paired = request.interrupt_subject_relation.is_some() == confidence.is_some();
    is_paired && matches!(confidence, None | Some(6_999 | 7_000))
}

/// Whether the turn was served; if so, with exactly one transition and one row.
fn take(found: &Found, request: &TurnRequest, is_recorded: bool) -> bool {
    let Found { stage, buffer, check } = found;
    let (state, time) = (stage.state(TENANT, THREAD), Time::from_nanoseconds(NOW));
    let request = &answering_what_was_asked(&state, request);
    let mut command = threads_support::turn(stage, SCOPE, TURN, request.clone());
    command.session_id = Some("session".into());
    let given = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command.clone()));
    let events = match decide(&stage.world, &given, time) {
        Ok(events) => events,
        Err(Refusal::InterruptionThread(refusal)) => {
            let legal = is_legal(&state, *buffer, *check, request);
            assert!(!legal && is_of_contract(&refusal), "{refusal}: {state:?} {request:?}");
            return false;
        }
        Err(other) => panic!("{other:?}: {state:?} {request:?}"),
    };
    let (turns, rows) = (threads_support::turns(&events), threads_support::rows(&events));
    let ([taken], [row]) = (&turns[..], &rows[..]) else { panic!("{events:?}") };
    assert_eq!(row.payload.directive, taken.decision.directive);
    assert_eq!(row.reason_code, taken.decision.reason_code);
    assert_eq!(row.payload.interrupt_resume_policy, taken.decision.interrupt_resume_policy);
    if taken.decision.directive == Directive::Dispatch {
        command.lease_token_hash = None;
        let refused = decide(
            &stage.world,
            &Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command)),
            time,
        )
        .unwrap_err();
        assert_eq!(refused.code(), ReasonCode::FailLeaseRequired.name());
    }
    if is_recorded {
        let mut stage = stage.clone();
        stage.give(&given, NOW).events();
        stage.assert_rebuilt();
        assert_eq!(stage.state(TENANT, THREAD).digest(), taken.state_after);
    }
    true
}

/// The tool's answer that is to the point, under the id that the tool was asked with.
fn answering_what_was_asked(state: &ThreadState, request: &TurnRequest) -> TurnRequest {
    let mut request = request.clone();
    if let TurnInput::ToolResponse { request_id: answered, .. } = &mut request.input
        && let Some(Pending::Tool { request_id, .. }) = &state.marks.pending
        && answered.as_str() == "TOOL-1"
    {
        answered.clone_from(request_id);
    }
    request
}

/// A thread that commands led somewhere.
struct Found {
    stage: Stage,
    buffer: Buffer,
    check: Check,
}

const TENANT: &str = "tenant_a";
const THREAD: &str = "thread-1";
const SCOPE: [&str; 4] = [TENANT, THREAD, SPEAKER, "device"];

/// Everywhere that commands lead: whose words are left, what was asked, and who spoke last.
fn found_states() -> Vec<Found> {
    let mut states = Vec::new();
    for (buffer, check) in BUFFERS.iter().flat_map(|b| CHECKS.iter().map(move |c| (*b, *c))) {
        // A question expires after its words, and goes when somebody else speaks.
        let can_be = match check {
            Check::None => true,
            Check::Live => buffer == Buffer::Own,
            Check::Expired => buffer == Buffer::Expired,
        };
        for last in [SPEAKER, OTHER].into_iter().filter(|_| can_be) {
            for status in [SessionStatus::Active, SessionStatus::Suspended] {
                let waits = 0..if check == Check::None { 5 } else { 1 };
                for waits_for in waits {
                    let stage = lead(buffer, check, last, waits_for, status);
                    states.extend(stage.map(|stage| Found { stage, buffer, check }));
                }
            }
        }
    }
    states
}

/// Leads a thread there; `None` where no command does.
fn lead(
    buffer: Buffer,
    check: Check,
    last: &str,
    waits_for: u64,
    status: SessionStatus,
) -> Option<Stage> {
    let mut stage = Stage::with_tenant(TENANT);
    stage.user(TENANT, SPEAKER, "device");
    stage.user(TENANT, OTHER, "device");
    stage.work_order(TENANT, THREAD);
    let session = [TENANT, "session", SPEAKER, "device"];
    stage.session(session, SessionStatus::Active, 1).events();
    let begin = NOW - if buffer == Buffer::Expired { 200 } else { 10 } * 1_000_000_000;
    let owner = if buffer == Buffer::Others { OTHER } else { SPEAKER };
    let mut turn_id = 0;
    let mut say = |stage: &mut Stage, who: &str, request: TurnRequest| {
        turn_id += 1;
        let scope = [TENANT, THREAD, who, "device"];
        let turn = threads_support::turn(stage, scope, turn_id, request);
        stage
            .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn)), begin)
            .events();
    };
    let sure = |request| relating(request, SubjectRelation::Switch, 9_500);
    if buffer != Buffer::None {
        let request = request(owner, SUBJECT, TurnInput::None);
        say(&mut stage, owner, sure(interrupting(request, begin, SAYING, 5)));
    }
    if check != Check::None {
        say(&mut stage, owner, sure(request(owner, SUBJECT, chat("Something else."))));
    }
    let may_relate = buffer != Buffer::None && owner == last;
    if check == Check::None {
        let about = |input| {
            let request = request(last, SUBJECT, input);
            if may_relate { sure(request) } else { request }
        };
        if stage.world.thread(TENANT, THREAD).is_some() && owner != last {
            say(&mut stage, last, about(chat("It is me.")));
        }
        let memory = TurnRequest { sensitive_memory_present: true, ..about(chat("Remembered.")) };
        match waits_for {
            0 => say(&mut stage, last, about(failure())),
            1 => say(&mut stage, last, about(nlp_clarify())),
            2 => say(&mut stage, last, about(intent(IntentClass::Impactful))),
            3 => say(&mut stage, last, memory),
            _ => say(&mut stage, last, about(intent(IntentClass::ReadOnlyTool))),
        }
    } else if last != owner {
        return None;
    }
    if status != SessionStatus::Active {
        stage.session(session, status, NOW).events();
    }
    Some(stage)
}

/// Whether the combination was served.
fn check_combination(
    state: &ThreadState,
    buffer: Buffer,
    check: Check,
    request: &TurnRequest,
) -> bool {
    let legal = is_legal(state, buffer, check, request);
    for status in SessionStatus::ALL.iter().copied() {
        let turn = turn(request, status);
        match decide_turn(state, &turn) {
            Ok(decision) => {
                assert!(legal, "served: {state:?} {request:?}");
                let after = state.after_turn(&turn, &decision);
                check_shape(&decision);
                check_gates(state, buffer, &turn, &decision);
                check_words(state, buffer, &turn, &decision, &after);
            }
            Err(refusal) => {
                let is_so = !legal && is_of_contract(&refusal);
                assert!(is_so, "refused, {refusal}: {state:?} {request:?}");
            }
        }
    }
    legal
}

/// A field of the request breaks the contract by itself, or does not fit what the thread knows.
fn is_of_contract(refusal: &ThreadRefusal) -> bool {
    matches!(
        refusal,
        ThreadRefusal::Malformed(Malformed { field, .. }) | ThreadRefusal::Barred { field, .. }
            if field.starts_with("request")
    )
}

/// The contract, written apart from the rules.
fn is_legal(state: &ThreadState, buffer: Buffer, check: Check, request: &TurnRequest) -> bool {
    let has_input = request.input != TurnInput::None;
    let has_barge_in = request.interruption.is_some();
    let has_answer = request.confirm_answer.is_some();
    let relation = request.interrupt_subject_relation;
    let is_paired =
        relation.is_some() == request.interrupt_subject_relation_confidence_bp.is_some();
    let may_relate = has_barge_in || buffer != Buffer::None;
    let awaits = state.marks.pending.as_ref().map(|pending| pending.state().name());
    let may_answer =
        check != Check::None || matches!(awaits, Some("CONFIRM" | "MEMORY_PERMISSION"));
    let is_awaited = match (&request.input, &state.marks.pending) {
        (
            TurnInput::ToolResponse { request_id: of, .. },
            Some(Pending::Tool { request_id, .. }),
        ) => of == request_id,
        (TurnInput::ToolResponse { .. }, _) => false,
        _ => true,
    };
    (has_input || has_barge_in || has_answer)
        && !(has_answer && (has_input || has_barge_in))
        && is_paired
        && (relation.is_none() || may_relate)
        && (!has_answer || may_answer)
        && is_awaited
}

/// One directive, and what belongs to it.
fn check_shape(decision: &TurnDecision) {
    let directive = decision.directive;
    assert_eq!(decision.clarify.is_some(), directive == Directive::Clarify, "{decision:?}");
    assert_eq!(decision.dispatch.is_some(), directive == Directive::Dispatch, "{decision:?}");
    let speaks = matches!(directive, Directive::Respond | Directive::Confirm);
    assert_eq!(decision.response_text.is_some(), speaks, "{decision:?}");
    assert!((1..=64).contains(&decision.kind.len()) && !decision.reason_code.is_refusal());
    if let Some(clarify) = &decision.clarify {
        assert!((1..=240).contains(&clarify.question.chars().count()), "{clarify:?}");
        assert!(!clarify.question.chars().any(char::is_control), "{clarify:?}");
        assert!((2..=3).contains(&clarify.accepted_answer_formats.len()), "{clarify:?}");
    }
}

/// Whether the relation is sure, written apart from the rules.
fn is_sure(request: &TurnRequest) -> bool {
    let confidence = request.interrupt_subject_relation_confidence_bp.map_or(0, |c| c.get());
    let relation = request.interrupt_subject_relation;
    confidence >= 7_000
        && [Some(SubjectRelation::Same), Some(SubjectRelation::Switch)].contains(&relation)
}

/// What bars a dispatch, and what stops speech.
fn check_gates(state: &ThreadState, buffer: Buffer, turn: &Turn<'_>, decision: &TurnDecision) {
    let request = turn.request;
    let is_barge_in = request.interruption.is_some();
    assert_eq!(decision.tts_control == Some(TtsControl::Cancel), is_barge_in, "{decision:?}");
    let speaker = state.marks.active_speaker_user_id.as_deref();
    let subject = state.marks.active_subject_ref.as_deref();
    let drifts =
        state.marks.pending.is_some() && subject.is_some_and(|s| s != &*request.subject_ref);
    let has_own_words = buffer == Buffer::Own
        || request.tts_resume_snapshot.is_some() && speaker.is_none_or(|s| s == SPEAKER);
    let is_barred = turn.session_status != SessionStatus::Active
        || speaker.is_some_and(|s| s != SPEAKER)
        || drifts
        || (has_own_words || is_barge_in) && !is_sure(request);
    if is_barred {
        assert_ne!(decision.directive, Directive::Dispatch, "{state:?} {turn:?}");
        assert_ne!(decision.directive, Directive::Confirm, "{state:?} {turn:?}");
    }
    if turn.session_status != SessionStatus::Active {
        assert_eq!(decision.directive, Directive::Wait, "{decision:?}");
    }
    if turn.session_status == SessionStatus::Active && speaker.is_some_and(|s| s != SPEAKER) {
        assert_eq!(decision.directive, Directive::Clarify, "{decision:?}");
    }
    check_question_stays_with_its_speaker(state, decision);
}

/// What somebody was asked is never asked of whoever speaks next: a yes would be a stranger's.
fn check_question_stays_with_its_speaker(state: &ThreadState, decision: &TurnDecision) {
    let (before, after) = (&state.marks, &decision.after);
    let is_another = before.active_speaker_user_id.is_some()
        && before.active_speaker_user_id != after.active_speaker_user_id;
    let drifts = before.active_subject_ref.is_some()
        && before.active_subject_ref != after.active_subject_ref;
    if is_another || drifts {
        let awaits = after.pending.as_ref().map(|pending| pending.state().name());
        let is_open = !matches!(awaits, None | Some("CLARIFY")) && before.pending == after.pending;
        assert!(!is_open, "the question passes to another: {state:?} {decision:?}");
    }
}

/// What was left unsaid is kept or named, once, and never said to somebody else.
fn check_words(
    state: &ThreadState,
    buffer: Buffer,
    turn: &Turn<'_>,
    decision: &TurnDecision,
    after: &ThreadState,
) {
    let said = decision.response_text.as_deref().unwrap_or_default();
    assert!(!said.contains(OTHERS_WORDS), "{decision:?}");
    let named = |of: u64| decision.remainders.iter().filter(|r| r.captured_turn == of).count();
    let fate = |of: u64| decision.remainders.iter().find(|r| r.captured_turn == of).map(|r| r.fate);
    let is_kept = |of: u64| after.resume_buffers.iter().any(|b| b.captured_turn == of);
    for before in &state.resume_buffers {
        let of = before.captured_turn;
        assert!(named(of) <= 1, "{decision:?}");
        let is_over = matches!(fate(of), Some(Fate::Resumed | Fate::Discarded));
        let is_gone = buffer == Buffer::Expired || is_over;
        assert_eq!(is_kept(of), !is_gone, "{state:?} {decision:?}");
        assert_eq!(fate(of) == Some(Fate::Resumed), said.contains(OWN_WORDS), "{decision:?}");
        let is_own = before.speaker_user_id.as_str() == SPEAKER;
        assert!(is_own || matches!(fate(of), None | Some(Fate::KeptForLater)), "{decision:?}");
    }
    check_captured(turn, decision, is_kept(TURN));
    let resumed = decision.remainders.iter().any(|r| r.fate == Fate::Resumed);
    let policy = decision.interrupt_resume_policy;
    assert_eq!(policy == Some(ResumePolicy::ResumeNow), resumed, "{decision:?}");
    let discarded = decision.remainders.iter().any(|r| r.fate == Fate::Discarded);
    assert_eq!(policy == Some(ResumePolicy::Discard), discarded, "{decision:?}");
}

/// What this very turn leaves unsaid is captured first, and may come to an end at once.
fn check_captured(turn: &Turn<'_>, decision: &TurnDecision, is_kept: bool) {
    let fates = decision.remainders.iter().filter(|r| r.captured_turn == TURN).map(|r| r.fate);
    let fates: Vec<Fate> = fates.collect();
    let expected: &[&[Fate]] = match (&turn.request.tts_resume_snapshot, turn.session_status) {
        (None, _) => &[&[]],
        (Some(_), SessionStatus::Closed) => &[&[Fate::Discarded]],
        (Some(_), _) => &[
            &[Fate::Captured],
            &[Fate::Captured, Fate::KeptForLater],
            &[Fate::Captured, Fate::Resumed],
        ],
    };
    assert!(expected.contains(&&*fates), "{decision:?}");
    let is_left = matches!(fates.last(), Some(Fate::Captured | Fate::KeptForLater));
    assert_eq!(is_kept, is_left, "{decision:?}");
}

fn turn(request: &TurnRequest, session_status: SessionStatus) -> Turn<'_> {
    let at = Time::from_nanoseconds(NOW);
    Turn { turn_id: TURN, session_id: None, session_status, request, at }
}

/// Every state: words, question, speaker, and what is waited for.
fn states() -> Vec<(ThreadState, Buffer, Check)> {
    let mut states = Vec::new();
    for (buffer, check) in BUFFERS.iter().flat_map(|b| CHECKS.iter().map(move |c| (*b, *c))) {
        if buffer == Buffer::None && check != Check::None {
            continue;
        }
        for speaker in [Some(SPEAKER), Some(OTHER), None] {
            for pending in pendings() {
                states.push((state(buffer, check, speaker, pending), buffer, check));
            }
        }
    }
    states
}

fn state(
    buffer: Buffer,
    check: Check,
    speaker: Option<&str>,
    pending: Option<Pending>,
) -> ThreadState {
    let interrupted = (buffer != Buffer::None).then(|| SUBJECT.into());
    let expires_at = |is_live: bool| Time::from_nanoseconds(NOW + u64::from(is_live));
    let check = match check {
        Check::None => None,
        found => {
            let expires_at = expires_at(found == Check::Live);
            Some(ReturnCheck { captured_turn: 3, expires_at })
        }
    };
    let marks = Marks {
        active_subject_ref: speaker.map(|_| SUBJECT.into()),
        interrupted_subject_ref: interrupted,
        return_check: check,
        return_check_lapsed: false,
        buffer_lapsed: false,
        active_speaker_user_id: speaker.map(Into::into),
        active_session_id: None,
        pending,
    };
    let (owner, words) = match buffer {
        Buffer::Others => (OTHER, OTHERS_WORDS),
        _ => (SPEAKER, OWN_WORDS),
    };
    let left = ResumeBuffer {
        captured_turn: 3,
        speaker_user_id: owner.into(),
        session_id: None,
        answer_id: 1,
        topic_hint: None,
        interrupted_subject_ref: SUBJECT.into(),
        spoken_prefix: "Said.".into(),
        unsaid_remainder: words.into(),
        expires_at: expires_at(buffer != Buffer::Expired),
    };
    let resume_buffers = if buffer == Buffer::None { Vec::new() } else { vec![left] };
    ThreadState { marks, resume_buffers, said: Vec::new() }
}

fn pendings() -> [Option<Pending>; 6] {
    let attempts = 1;
    [
        None,
        Some(Pending::Clarify { missing_field: "TASK".into(), attempts }),
        Some(Pending::Confirm { intent_type: "IMPACTFUL".into(), attempts }),
        Some(Pending::MemoryPermission {
            deferred_response_text: "Remembered.".into(),
            resumes_turn: Some(3),
            attempts,
        }),
        Some(Pending::Tool { request_id: "TOOL-1".into(), attempts }),
        Some(Pending::StepUp { attempts }),
    ]
}

/// Every request with one of these snapshots.
fn requests(snapshots: &[Snapshot]) -> Vec<TurnRequest> {
    let mut requests = Vec::new();
    for (input, has_memory) in inputs() {
        for (answer, subject) in ANSWERS.iter().flat_map(|a| [(a, SUBJECT), (a, "trains")]) {
            for (snapshot, relation) in
                snapshots.iter().flat_map(|s| RELATIONS.iter().map(move |r| (*s, *r)))
            {
                let mut request = request(SPEAKER, subject, input.clone());
                request.confirm_answer = *answer;
                request.sensitive_memory_present = has_memory;
                request.interrupt_subject_relation = relation.0;
                request.interrupt_subject_relation_confidence_bp = relation.1.map(points);
                requests.push(with_snapshot(request, snapshot));
            }
        }
    }
    requests
}

fn inputs() -> Vec<(TurnInput, bool)> {
    let mut inputs: Vec<(TurnInput, bool)> =
        IntentClass::ALL.iter().map(|class| (intent(*class), false)).collect();
    inputs.extend([
        (TurnInput::None, false),
        (chat("An answer."), false),
        (chat("An answer."), true),
        (nlp_clarify(), false),
        (failure(), false),
        (tool("TOOL-1", ToolStatus::Ok), false),
        (tool("TOOL-1", ToolStatus::Ambiguous), false),
        (tool("TOOL-2", ToolStatus::Ok), false),
    ]);
    inputs
}

fn with_snapshot(request: TurnRequest, snapshot: Snapshot) -> TurnRequest {
    let valid = |request, at| interrupting(request, at, SAYING, 5);
    let ends = u32::try_from(SAYING.len()).unwrap();
    match snapshot {
        Snapshot::NoBargeIn => request,
        Snapshot::None => TurnRequest { interruption: Some(interruption(NOW)), ..request },
        Snapshot::Valid => valid(request, NOW - 5_000_000_000),
        Snapshot::CursorAtEnd => interrupting(request, NOW, SAYING, ends),
        Snapshot::CursorBeyond => interrupting(request, NOW, SAYING, ends + 1),
        Snapshot::CursorInCharacter => interrupting(request, NOW, "caf\u{e9} and more", 4),
        Snapshot::BlankRest => interrupting(request, NOW, "Said. \u{3000}\t", 5),
        Snapshot::Stale => valid(request, NOW - 5_000_000_001),
        Snapshot::InFuture => valid(request, NOW + 1),
        Snapshot::WithoutBargeIn => {
            TurnRequest { interruption: None::<Interruption>, ..valid(request, NOW) }
        }
    }
}
