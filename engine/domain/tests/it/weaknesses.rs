//! One test for each row of `src/weaknesses.md`, by the name that the row gives.

use crate::sessions::{AT, capture, chain_of, halted_session, moved, session};
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::{Digest, HashBuilder};
use holdpoint_domain::core::ids::is_strong_entropy;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::core::time::{TimeFault, Timestamp, check_follows};
use holdpoint_domain::evidence_capture::{
    CONTEXT_HALTED, CaptureRefusal, ChainHead, EvidenceCaptureEvent, EvidenceCaptured,
    EvidenceRecord, EvidenceType, ObservationContext, ObservationPoint, OfferedEvidence,
    StopCondition, StopFacts, attach_observer, capture_evidence, check_stop, evidence_hash,
    may_capture, triggered_conditions,
};
use holdpoint_domain::execution_loop::{
    ExecutionDecision, ExecutionLoopState, ExecutorRawResponse, ExecutorResponseType,
    ResponseDecision, evaluate_executor_response, initialize_execution_loop, is_transition_allowed,
    normalize_loop_response,
};
use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, FaultReport, RetryPolicy, SandboxContext, SandboxDecision,
    check_fault_identity, decide_sandbox_outcome, is_retry_allowed,
};
use holdpoint_domain::{Event, ForbiddenEvent, decide};
use holdpoint_testing::chains::{ChainFault, EvidenceChain};
use holdpoint_testing::story::{Story, halt};

#[test]
fn w1_bytes_moved_between_fields_change_the_injective_hash() {
    let (record, shifted) = (record("T", b"EXFIL 10 GB\0ok"), record("T\0EXFIL 10 GB", b"ok"));
    assert_eq!(evidence_hash(&record), evidence_hash(&shifted));
    assert_ne!(injective(&record), injective(&shifted));

    let raw = b"PRE_DISPATCH\0STATE_TRANSITION\0T2\0all fine";
    let mut halt = self::record("T", raw);
    halt.observation_point = ObservationPoint::HaltEntry;
    halt.evidence_type = EvidenceType::StopCondition;
    let mut retyped = self::record("T2", b"all fine");
    retyped.observation_point = ObservationPoint::PreDispatch;
    retyped.evidence_type = EvidenceType::StateTransition;
    retyped.record_id = "REC-00000000\0HALT_ENTRY\0STOP_CONDITION\0T".into();
    assert_eq!(evidence_hash(&halt), evidence_hash(&retyped));
    assert_ne!(injective(&halt), injective(&retyped));
}

#[test]
fn w1_another_kind_of_record_never_has_the_same_hash() {
    let evidence = HashBuilder::new("holdpoint.evidence-record", 1).text("DEC-1").finish();
    let other = HashBuilder::new("holdpoint.decision-record", 1).text("DEC-1").finish();
    let untagged = HashBuilder::new("", 1).text("holdpoint.evidence-record").text("DEC-1").finish();
    assert_ne!(evidence, other);
    assert_ne!(evidence, untagged);
}

#[test]
fn w2_a_chain_belongs_to_its_session_and_id() {
    let chain = chain_of(3);
    let anchor = chain.head(&session());
    let others: [fn(&mut ObservationContext); 5] = [
        |c| c.session_id.push('x'),
        |c| c.loop_id.push('x'),
        |c| c.executor_id.push('x'),
        |c| c.envelope_hash.push('x'),
        |c| c.created_at.push('x'),
    ];
    for change in others {
        let mut context = session();
        change(&mut context);
        assert_ne!(chain.head(&context).injective_head, anchor.injective_head, "{context:?}");
    }
    let renamed = EvidenceChain { chain_id: "OTHER".into(), ..chain };
    assert_eq!(renamed.fault(&session()), None);
    assert_ne!(renamed.head(&session()).injective_head, anchor.injective_head);
}

#[test]
fn w3_truncated_rewritten_and_extended_chains_miss_the_anchor() {
    let honest = chain_of(4);
    let anchor = honest.head(&session());
    let extended = capture(&session(), &honest, ObservationPoint::HaltEntry, b"forged");
    for tampered in [chain_of(0), chain_of(3), extended, rewritten(&honest)] {
        assert_eq!(tampered.fault(&session()), None, "the chain verifies on its own");
        assert_ne!(tampered.head(&session()).injective_head, anchor.injective_head);
    }
}

#[test]
fn w3_nothing_follows_a_seal() {
    let chain = chain_of(2);
    let (sealed, seal) = chain.head(&session()).sealed();
    let refused = capture_evidence(&session(), offer(b"late"), AT, &sealed, "00000009");
    assert!(matches!(refused, Err(CaptureRefusal::Sealed { length: 2, .. })), "{refused:?}");
    let extended = capture(&session(), &chain, ObservationPoint::HaltEntry, b"late");
    let (_, other) = extended.head(&session()).sealed();
    assert_ne!(other.seal_hash, seal.seal_hash);
}

/// The newest link is verified, and whatever does not follow is found and stops the loop.
#[test]
fn w9_a_broken_prior_chain_is_refused() {
    let breaks: [fn(&mut EvidenceChain); 5] = [
        |c| c.head_hash = "0".repeat(64),
        |c| c.length = 1,
        |c| c.head_hash.clear(),
        |c| c.records[2].timestamp.clear(),
        |c| c.records[2].prior_hash.clear(),
    ];
    for change in breaks {
        let mut chain = chain_of(3);
        change(&mut chain);
        assert!(try_capture(&session(), &chain).is_err());
    }
    let breaks: [fn(&mut EvidenceCaptured); 3] = [
        |b| b.prior_hash = "0".repeat(64).into(),
        |b| b.self_hash = "".into(),
        |b| b.raw_data = RawData::from(b"forged".to_vec()).into(),
    ];
    for change in breaks {
        let mut story = Story::in_state(ExecutionLoopState::AwaitingResponse);
        assert_ne!(captured(&mut story, change), []);
        let events = story.when(story.output(b"more")).unwrap();
        let stopped = halt(&events).unwrap().stop_condition;
        assert_eq!(stopped, Some(StopCondition::EvidenceChainBroken));
    }
}

/// Records the next output of a loop, changed, and gives what is found about it.
fn captured(story: &mut Story, change: impl FnOnce(&mut EvidenceCaptured)) -> Vec<ForbiddenEvent> {
    let mut events = decide(&story.world, &story.output(b"output"), story.now).unwrap();
    let Some(Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(mut body))) =
        events.pop()
    else {
        panic!("evidence is captured")
    };
    change(&mut body);
    story.record(body.into())
}

#[test]
fn w9_a_halted_context_keeps_what_it_is_offered() {
    let chain = try_capture(&halted_session(), &chain_of(0)).unwrap();
    let record = &chain.records[0];
    assert_eq!(record.observation_point, ObservationPoint::HaltEntry);
    assert_eq!(record.evidence_type, EvidenceType::StopCondition);
    assert_eq!(record.raw_data.as_bytes(), CONTEXT_HALTED);
    assert_eq!(record.offered, Some(offer(b"the real evidence")));
    assert_eq!(chain.fault(&session()), None);
    let mut dropped = record.clone();
    dropped.offered = None;
    assert_eq!(evidence_hash(&dropped), record.self_hash);
    assert_ne!(injective(&dropped), injective(record));
}

#[test]
fn w9_times_are_checked_and_never_go_backwards() {
    for text in ["", "garbage", "2026-01-25", "1706212800"] {
        let refused = text.parse::<Timestamp>();
        assert!(matches!(refused, Err(TimeFault::NotATime { .. })), "{refused:?}");
    }
    let (first, before): (Timestamp, Timestamp) =
        (AT.parse().unwrap(), "1999-01-01T00:00:00Z".parse().unwrap());
    let expected = TimeFault::Backwards { expected: first, found: before };
    assert_eq!(check_follows(Some(first), before), Err(expected));
    assert_eq!(check_follows(Some(first), first), Ok(()));
}

#[test]
fn w9_a_repeated_record_id_is_found() {
    let mut story = Story::in_state(ExecutionLoopState::AwaitingResponse);
    let command = story.output(b"output");
    story.given(command.clone());
    assert_eq!(story.when(command).unwrap_err().code(), "DUPLICATE_RECORD_ID");
    let known = story.entity().chain.as_ref().unwrap().records[0].record_id.clone();
    let found = captured(&mut story, |body| body.record_id = known);
    assert!(found.iter().any(|finding| finding.rule == Rule::RecordId), "{found:?}");
    assert!(is_strong_entropy(&"0f".repeat(16)));
    assert!(!is_strong_entropy("0f0f0f0f"));
}

#[test]
fn w9_evidence_is_captured_only_where_the_table_says() {
    let halt = (ObservationPoint::HaltEntry, EvidenceType::StopCondition);
    for state in ExecutionLoopState::ALL {
        let allowed = may_capture(*state, halt.0, halt.1);
        assert_eq!(allowed, *state == ExecutionLoopState::Halted, "{state}");
    }
    let output = (ObservationPoint::PreEvaluate, EvidenceType::ExecutorOutput);
    assert!(may_capture(ExecutionLoopState::AwaitingResponse, output.0, output.1));
    assert!(!may_capture(ExecutionLoopState::Evaluated, output.0, output.1));
}

#[test]
fn w9_captured_bytes_are_owned() {
    let mut bytes = b"as captured".to_vec();
    let raw = RawData::from(bytes.clone());
    bytes.fill(0);
    assert_eq!(raw.as_bytes(), b"as captured");
    assert_eq!(format!("{raw:?}"), "RawData(11 bytes)");
}

#[test]
fn w9_appending_needs_only_the_head() {
    let context = session();
    let whole = capture(&context, &chain_of(200), ObservationPoint::PreDispatch, b"x");
    let head = ChainHead {
        length: 200,
        head_hash: chain_of(200).head_hash,
        ..ChainHead::genesis(&context, &whole.chain_id)
    };
    let offer = OfferedEvidence {
        observation_point: ObservationPoint::PreDispatch,
        evidence_type: EvidenceType::StateTransition,
        raw_data: RawData::from(b"x".to_vec()),
    };
    let record = capture_evidence(&context, offer, AT, &head, "000000c8").unwrap();
    assert_eq!(whole.records.last(), Some(&record));
}

#[test]
fn w9_findings_are_located() {
    let mut chain = chain_of(5);
    chain.records[3].record_id = "REC-forged".into();
    let Some(ChainFault::Record(finding)) = chain.fault(&session()) else { panic!("a forged id") };
    assert_eq!((finding.index, finding.field), (3, "self_hash"));
    let said = finding.to_string();
    assert!(said.starts_with("record 3: the self_hash should be "), "{said}");
}

#[test]
fn w10_what_is_not_told_halts() {
    for condition in StopCondition::ALL {
        let halts = check_stop(Some(&session()), *condition, &StopFacts::default());
        let told = *condition == StopCondition::ContextUninitialized;
        assert_eq!(halts, !told, "{condition}");
    }
}

#[test]
fn w10_a_blank_context_is_uninitialized() {
    let blank = ObservationContext {
        session_id: String::new(),
        loop_id: String::new(),
        executor_id: String::new(),
        envelope_hash: String::new(),
        created_at: String::new(),
        is_halted: false,
    };
    let condition = StopCondition::ContextUninitialized;
    assert!(check_stop(Some(&blank), condition, &StopFacts::ALL_CLEAR));
    assert!(!check_stop(Some(&session()), condition, &StopFacts::ALL_CLEAR));
}

#[test]
fn w10_all_ten_conditions_are_checked() {
    let all: Vec<_> = triggered_conditions(None, &StopFacts::ALL_CLEAR).collect();
    assert_eq!(all, StopCondition::ALL);
    let context = session();
    assert_eq!(triggered_conditions(Some(&context), &StopFacts::ALL_CLEAR).count(), 0);
    assert_eq!(triggered_conditions(Some(&context), &StopFacts::default()).count(), 9);
}

#[test]
fn w11_an_observer_attaches_only_to_its_own_loop_in_init() {
    let envelope = session().envelope_hash;
    let own = initialize_execution_loop(&envelope, "exec-1", "00000001");
    assert!(!attach_observer(&own, &session()).is_halted);
    let dispatched = moved(&own, ExecutionLoopState::Dispatched);
    let others = [
        dispatched,
        initialize_execution_loop(&envelope, "exec-1", "00000002"),
        initialize_execution_loop(&envelope, "exec-2", "00000001"),
        initialize_execution_loop("not-a-hash", "exec-1", "00000001"),
        initialize_execution_loop("", "exec-1", "00000001"),
    ];
    for other in others {
        assert!(attach_observer(&other, &session()).is_halted, "{other:?}");
    }
    assert!(attach_observer(&own, &halted_session()).is_halted);
}

#[test]
fn w12_blank_text_starts_no_loop() {
    for (hash, executor) in [(" ", "exec-1"), ("hash", "\t"), ("\u{3000}", "\u{1f}")] {
        let context = initialize_execution_loop(hash, executor, "00000000");
        assert_eq!(context.current_state(), ExecutionLoopState::Halted, "{hash:?} {executor:?}");
    }
}

#[test]
fn w12_a_halted_loop_stays_halted() {
    let halted = initialize_execution_loop("", "", "00000000");
    for to in ExecutionLoopState::ALL {
        let after = moved(&halted, *to);
        assert_eq!(after.current_state(), ExecutionLoopState::Halted, "{to}");
    }
}

#[test]
fn w12_an_illegal_transition_is_told_from_a_wanted_halt() {
    use ExecutionLoopState::{Evaluated, Halted, Init};
    let context = initialize_execution_loop("hash", "exec-1", "00000000");
    for to in [Evaluated, Halted] {
        assert_eq!(moved(&context, to).current_state(), Halted);
    }
    assert!(is_transition_allowed(Init, Halted));
    assert!(!is_transition_allowed(Init, Evaluated));
}

#[test]
fn w13_contradiction_and_alarm_escalate() {
    let decision = |success, error| evaluate_executor_response(success, Some(error)).decision;
    assert_eq!(decision(true, "CRITICAL meltdown"), ExecutionDecision::Escalate);
    assert_eq!(decision(true, "timeout"), ExecutionDecision::Escalate);
    assert_eq!(decision(false, "critical"), ExecutionDecision::Escalate);
    assert_eq!(decision(false, "NOT CRITICAL"), ExecutionDecision::Escalate);
    assert_eq!(decision(true, ""), ExecutionDecision::Continue);
}

#[test]
fn w13_quoted_text_is_shown_on_one_line() {
    let result = evaluate_executor_response(false, Some("x\nACCEPTED\0\u{202e}"));
    let shown = visible(&result.reason).to_string();
    assert_eq!(shown, "Executor error: x\\u{a}ACCEPTED\\u{0}\\u{202e}");
}

#[test]
fn w14_only_the_loops_executor_is_heard() {
    let loop_context = initialize_execution_loop("H", "exec-1", "00000000");
    for executor in ["evil", "\u{200b}", "", "EXEC-1", "exec-1 "] {
        let result = normalize_loop_response(&loop_context, &response(executor, "H"));
        assert_eq!(result.decision, ResponseDecision::Reject, "{executor:?}");
    }
    let result = normalize_loop_response(&loop_context, &response("exec-1", "H"));
    assert_eq!(result.decision, ResponseDecision::Accept);
}

#[test]
fn w14_an_oversized_hash_is_not_quoted() {
    let loop_context = initialize_execution_loop("H", "exec-1", "00000000");
    let result = normalize_loop_response(&loop_context, &response("exec-1", &"H".repeat(1 << 20)));
    assert_eq!(result.decision, ResponseDecision::Reject);
    assert!(result.reason.len() < 100, "{} bytes", result.reason.len());
}

#[test]
fn w15_attempts_and_limits_have_bounds() {
    for (attempt, max) in [(-5, 0), (0, 3), (1, 4), (1_000_000, 1_000_000_000)] {
        assert!(!is_retry_allowed(&sandbox(attempt, max)), "{attempt}/{max}");
    }
    assert!(is_retry_allowed(&sandbox(2, 3)));
    assert!(!is_retry_allowed(&sandbox(3, 3)));
}

#[test]
fn w15_a_fault_belongs_to_its_execution_and_attempt() {
    for fault in [crash("EXEC-Y", 1), crash("EXEC-1", 99)] {
        let context = sandbox(1, 3);
        assert!(check_fault_identity(&fault, &context).is_err());
        let result = decide_sandbox_outcome(RetryPolicy::RetryLimited, &fault, &context);
        assert_eq!(result.decision, SandboxDecision::Terminate);
    }
}

#[test]
fn w15_an_unknown_fault_does_not_decode() {
    for name in ["SUCCESS", "OOM", "", "crash"] {
        assert_eq!(ExecutionFaultType::from_name(name), None, "{name:?}");
    }
}

/// The document and the two files of tests say the same.
#[test]
fn every_row_of_the_document_names_a_test() {
    let document = include_str!("../../src/weaknesses.md");
    let tests = concat!(include_str!("weaknesses.rs"), include_str!("weaknesses_decisions.rs"));
    let named: Vec<&str> = document
        .lines()
        .filter(|line| line.starts_with("| W"))
        .map(|line| line.rsplit('`').nth(1).expect("the last column names a test"))
        .collect();
    assert!(named.len() >= 48, "{named:?}");
    for name in &named {
        assert!(tests.contains(&format!("#[test]\nfn {name}()")), "{name} is no test");
    }
    let is_kept = |line: &&str| {
        let rest = line.strip_prefix("fn w").unwrap_or_default();
        rest.starts_with(|c: char| c.is_ascii_digit())
    };
    let kept = tests.lines().filter(is_kept).count();
    assert_eq!(kept, named.len());
}

/// Any single change to any field of a random chain misses the anchor.
#[test]
fn any_single_change_misses_the_anchor() {
    let seed = std::env::var("HOLDPOINT_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(31);
    let mut random = quickcheck::Gen::from_size_and_seed(16, seed);
    for round in 0..300 {
        let honest = random_chain(&mut random);
        let mut changed = honest.clone();
        change_anything(&mut changed, &mut random);
        if changed == honest {
            continue;
        }
        let head = |chain: &EvidenceChain| chain.head(&session()).injective_head;
        assert_ne!(head(&changed), head(&honest), "HOLDPOINT_SEED={seed}, round {round}");
    }
}

fn random_chain(random: &mut quickcheck::Gen) -> EvidenceChain {
    use quickcheck::Arbitrary as _;
    let length = 1 + usize::arbitrary(random) % 5;
    (0..length).fold(chain_of(0), |chain, _| {
        let point = *random.choose(ObservationPoint::ALL).unwrap();
        capture(&session(), &chain, point, &Vec::<u8>::arbitrary(random))
    })
}

/// Changes one field, or the order or number of records, and makes the seed's hashes right again.
fn change_anything(chain: &mut EvidenceChain, random: &mut quickcheck::Gen) {
    use quickcheck::Arbitrary as _;
    let index = usize::arbitrary(random) % chain.records.len();
    let text = String::arbitrary(random);
    let record = &mut chain.records[index];
    match u8::arbitrary(random) % 9 {
        0 => record.record_id = text,
        1 => record.observation_point = *random.choose(ObservationPoint::ALL).unwrap(),
        2 => record.evidence_type = *random.choose(EvidenceType::ALL).unwrap(),
        3 => record.timestamp = text,
        4 => record.raw_data = RawData::from(Vec::<u8>::arbitrary(random)),
        5 => record.offered = Some(offer(text.as_bytes())),
        6 => drop(chain.records.remove(index)),
        7 => chain.records.swap(0, index),
        _ => chain.chain_id = text,
    }
    *chain = rehashed(chain.clone());
}

/// What a writer of the files could do: every seed hash made right again.
fn rehashed(mut chain: EvidenceChain) -> EvidenceChain {
    let mut prior = String::new();
    for record in &mut chain.records {
        record.prior_hash = prior;
        record.self_hash = evidence_hash(record);
        prior = record.self_hash.clone();
    }
    chain.length = chain.records.len() as u64;
    chain.head_hash = prior;
    chain
}

fn rewritten(chain: &EvidenceChain) -> EvidenceChain {
    let mut chain = chain.clone();
    chain.records[0].raw_data = RawData::from(b"rewritten".to_vec());
    rehashed(chain)
}

fn record(timestamp: &str, raw: &[u8]) -> EvidenceRecord {
    EvidenceRecord {
        record_id: "REC-00000000".into(),
        observation_point: ObservationPoint::PreEvaluate,
        evidence_type: EvidenceType::ExecutorOutput,
        timestamp: timestamp.into(),
        raw_data: RawData::from(raw.to_vec()),
        prior_hash: String::new(),
        self_hash: String::new(),
        offered: None,
    }
}

fn injective(record: &EvidenceRecord) -> Digest {
    let mut chain = EvidenceChain::empty(&session(), "CHAIN-1");
    chain.records.push(record.clone());
    chain.head(&session()).injective_head
}

fn offer(raw: &[u8]) -> OfferedEvidence {
    OfferedEvidence {
        observation_point: ObservationPoint::PreEvaluate,
        evidence_type: EvidenceType::ExecutorOutput,
        raw_data: RawData::from(raw.to_vec()),
    }
}

fn try_capture(
    context: &ObservationContext,
    chain: &EvidenceChain,
) -> Result<EvidenceChain, ChainFault> {
    chain.capture(context, offer(b"the real evidence"), AT, "00000009")
}

fn response(executor: &str, hash: &str) -> ExecutorRawResponse {
    ExecutorRawResponse {
        executor_id: executor.into(),
        instruction_hash: hash.into(),
        raw_payload: RawData::default(),
        reported_status: ExecutorResponseType::Success,
    }
}

fn sandbox(attempt: i64, max: i64) -> SandboxContext {
    SandboxContext {
        execution_id: "EXEC-1".into(),
        instruction_id: "INSTR-1".into(),
        attempt_number: attempt,
        max_retries: max,
        timeout_ms: 30_000,
        timestamp: AT.into(),
    }
}

fn crash(execution: &str, attempt: i64) -> FaultReport {
    FaultReport {
        fault_id: "FAULT-1".into(),
        execution_id: execution.into(),
        fault_type: ExecutionFaultType::Crash,
        fault_message: "boom".into(),
        occurred_at: AT.into(),
        attempt_number: attempt,
    }
}
