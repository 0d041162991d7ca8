//! At least one envelope of every kind, with every member of every closed enum that events hold.
//!
//! The counts beside `ALL` are those of payload version 1: a member that is added later disturbs
//! no sample that is pinned already.

mod decision_points;
mod plans;
mod questions;
mod running;
mod threads;

use holdpoint_domain::application::{ApplicationRecorded, ReducerFingerprintRecorded};
use holdpoint_domain::core::actor::{Actor, Authentication, NamedUser, Principal};
use holdpoint_domain::core::clocks::EndedBy;
use holdpoint_domain::core::confidence::Confidence;
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::core::payload::{List, RawData, Text};
use holdpoint_domain::decision_point::DecisionPointEvent;
use holdpoint_domain::evidence_capture::{
    ChainSealed, EvidenceCaptured, EvidenceContent, EvidenceType, ObservationPoint,
    ObserverAttached, Offered, OutputCut, OutputExtent, OutputStream, ResourceUsage, StopCondition,
    StopConditionDetected,
};
use holdpoint_domain::execution_loop::{
    ExecutionDecision, ExecutionLoopEvent, ExecutionLoopState, ExecutorResponseType, Exit,
    HaltReason, HandshakeDecision, LoopDispatched, LoopHalted, LoopInitialized, NextInstruction,
    OnFull, ResponseAwaited, ResponseDecision, ResponseEvaluated,
};
use holdpoint_domain::human_decision::{
    EscalationTarget, HoldPolicy, HoldTerms, HumanDecisionTimeout, MAX_TIMEOUT_MS,
};
use holdpoint_domain::log::{
    ClockStepped, CommandRefused, ConfigurationChanged, FingerprintRecorded, GatePolicy, GateTerms,
    HeadMissingAccepted, HistoryArchived, LogEvent, PolicyChanged, PolicyUnknown, PolicyUnlocked,
    RecordRange, RecordsLabelled, RecordsLost, RecordsUnproven, RecoveryPerformed, RulesAdopted,
    Salvaged, SalvagedRun, SegmentIndexed, SystemRules, UnprovenReason,
};
use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, FaultReported, RetryPolicy, SandboxDecided, SandboxDecision,
};
use holdpoint_domain::{ActorId, Envelope, Event, Idempotency, Proof, Time};

const LOOP: &str = "LOOP-000102030405060708090a0b0c0d0e0f";

/// The samples, in a fixed order. Only ever append: the golden file follows this order.
pub fn samples() -> Vec<Envelope> {
    let mut events = log_events();
    for turn in 0..10 {
        events.extend(loop_events(turn));
        events.extend(evidence_events(turn));
        events.extend(fault_events(turn));
    }
    events.push(command_refused(0));
    for turn in 0..10 {
        events.extend(questions::decision_events(turn));
    }
    events.extend((1..4).map(command_refused));
    events.extend([Some(digest(14)), None].map(|digest| ConfigurationChanged { digest }.into()));
    events.extend([salvaged(0), salvaged(3), records_lost(None), records_lost(Some("cut/1"))]);
    events.push(history_archived());
    events.extend(threads::thread_events());
    events.extend(decision_points::decision_point_events());
    events.push(segment_indexed());
    events.push(output_cut());
    events.extend(threads::session_events());
    let mut samples: Vec<Envelope> =
        events.into_iter().enumerate().map(|(i, event)| enveloped(i, event)).collect();
    samples.extend(proven_samples());
    let unproven = [(UnprovenReason::Damage, 1, 2), (UnprovenReason::NoWitness, 3, 3)];
    samples.extend(unproven.into_iter().enumerate().map(|(i, (reason, first, last))| {
        let (first_sequence, last_sequence) = (first, last);
        enveloped(i, RecordsUnproven { first_sequence, last_sequence, reason }.into())
    }));
    samples.push(enveloped(0, salvaged_up_to(400)));
    let numbers: [&[(&str, u32)]; 2] = [&[], &[("execution_loop", 1), ("log", u32::MAX)]];
    samples.extend(numbers.into_iter().enumerate().map(|(i, numbers)| {
        let system = |(system, number): &(&str, u32)| SystemRules {
            system: Text::from(*system),
            number: *number,
        };
        let systems = numbers.iter().map(system).collect();
        enveloped(i, RulesAdopted { systems }.into())
    }));
    samples.extend(threads::outcome_rows().into_iter().enumerate().map(|(i, e)| enveloped(i, e)));
    samples.extend(threads::plans().into_iter().enumerate().map(|(i, e)| enveloped(i, e)));
    samples.extend(application_events().into_iter().enumerate().map(|(i, e)| enveloped(i, e)));
    let labels = [("build", "42"), ("env", "prod \u{e9}")];
    let labelled = RecordsLabelled::of(300, labels);
    let of_run = RecordsLabelled { loop_id: Some("LOOP-1".into()), ..labelled.clone() };
    samples.push(enveloped(0, labelled.into()));
    samples.extend(questions::telling_questions().enumerate().map(|(i, e)| enveloped(143 + i, e)));
    samples.extend(decision_points::outcomes().enumerate().map(|(i, e)| enveloped(i, e)));
    samples.push(enveloped(0, of_run.into()));
    samples.extend(with_numbers().into_iter().enumerate().map(|(i, e)| enveloped(i, e)));
    samples.extend(decision_points::revocations().enumerate().map(|(i, e)| enveloped(i, e)));
    samples.push(enveloped(0, policy_unlocked()));
    samples.extend(running::output_pieces().into_iter().enumerate().map(|(i, e)| enveloped(i, e)));
    let recorder_key = Some(sha256(b"a key"));
    let awaited =
        |on_full| ResponseAwaited { loop_id: LOOP.into(), attempt: 1, recorder_key, on_full };
    samples.push(enveloped(5, awaited(None).into()));
    samples.extend(questions::clocked());
    samples.extend(questions::continued());
    samples.push(enveloped(6, running::resource_snapshot()));
    samples.push(enveloped(5, awaited(Some(OnFull::Continue)).into()));
    samples.extend(plans::plan_ends().into_iter().enumerate().map(|(i, e)| enveloped(i, e)));
    samples.push(enveloped(1, questions::output_shown()));
    samples.extend([instructed(), decision_points::accepted()].map(|event| enveloped(7, event)));
    samples.extend(decision_points::warnings().map(|event| enveloped(7, event)));
    samples.push(enveloped(7, threads::closed_over_a_request()));
    samples
}

/// A loop was given its next instruction.
fn instructed() -> Event {
    LoopDispatched {
        loop_id: LOOP.into(),
        attempt: 2,
        permitted_by_fault: None,
        permitted_by_decision: Some("DEC-1".into()),
        instruction: Some(NextInstruction {
            envelope_hash: digest(15).to_string().into(),
            command_line: "make next".into(),
        }),
    }
    .into()
}

/// The monotonic clock, where it alone ended something.
fn steady(ended_by: Option<EndedBy>) -> Option<Time> {
    ended_by.filter(|by| *by == EndedBy::Monotonic).map(|_| at(301))
}

/// A policy that root set in the place of one that names somebody who is gone.
fn policy_unlocked() -> Event {
    PolicyUnlocked {
        by: Principal {
            kind: Actor::Human,
            id: "root".into(),
            authenticated_by: Authentication::Terminal,
            means: "terminal /dev/pts/1, uid 0".into(),
        },
        policy: GatePolicy { before: true, ..GatePolicy::default() },
        gone: ["grace".into()].into_iter().collect(),
        people: Default::default(),
        login_user: Some(1000),
        sudo_user: None,
    }
    .into()
}

/// Text, bytes that are none, and what a reducer made of them.
fn application_events() -> [Event; 3] {
    let event = |event_type: &str, type_version, content_type: &str, data| ApplicationRecorded {
        stream: "order-1".into(),
        event_type: event_type.into(),
        type_version,
        content_type: content_type.into(),
        data,
    };
    [
        event("order.created", 1, "application/json", "{\"total\":12}".into()).into(),
        event("order.signed", 3, "application/octet-stream", vec![0, 0xff].into()).into(),
        ReducerFingerprintRecorded {
            reducer: "orders".into(),
            version: 2,
            encoding: "json".into(),
            covers: 300,
            fingerprint: sha256(b"the states of orders"),
        }
        .into(),
    ]
}

/// What came with proofs and policies.
fn proven_samples() -> Vec<Envelope> {
    let policy = GatePolicy {
        before: true,
        after: HoldPolicy::After,
        approvers: [Text::from("ada"), Text::from("grace")].into_iter().collect(),
        authentication: Some(Authentication::Terminal),
        separation: true,
        retry_needs_person: true,
        decision_timeout_ms: Some(HumanDecisionTimeout::DEFAULT),
        override_approvers: Some(List::default()),
        ..GatePolicy::default()
    };
    let by = Principal {
        kind: Actor::Human,
        id: "ada".into(),
        authenticated_by: Authentication::Terminal,
        means: "terminal /dev/pts/1, uid 1000".into(),
    };
    let gate = GateTerms {
        before: true,
        authentication: Authentication::OsUser,
        separation: false,
        sources: ["flags".into()].into_iter().collect(),
    };
    let began = match loop_events(0).remove(0) {
        Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) => {
            LoopInitialized { gate: Some(gate), approval: Some("DP-1".into()), ..body }.into()
        }
        other => other,
    };
    let changed = PolicyChanged { by, policy, approval: Some("DP-2".into()), people: None }.into();
    let events: [Event; 3] = [began, changed, PolicyUnknown { records_lost: 3 }.into()];
    let proofs = Authentication::ALL.iter().zip([0, 1000, u32::MAX]);
    events
        .into_iter()
        .zip(proofs)
        .enumerate()
        .map(|(i, (event, (by, user)))| Envelope {
            proof: Some(Proof { user, by: *by }),
            ..enveloped(i, event)
        })
        .collect()
}

fn enveloped(index: usize, event: Event) -> Envelope {
    let key = Idempotency {
        tenant: "tenant".into(),
        engine: "engine".into(),
        key: format!("key {index}"),
        content: digest(7),
    };
    Envelope {
        proof: None,
        clock: None,
        actor: ActorId { kind: nth(&Actor::ALL[..4], index), id: "someone \u{e9}".into() },
        correlation: "00112233445566778899aabbccddeeff".into(),
        causation: (!index.is_multiple_of(3)).then_some(u64::MAX >> (index * 7 % 64)),
        idempotency: index.is_multiple_of(5).then_some(key),
        event,
    }
}

fn log_events() -> Vec<Event> {
    vec![
        RecoveryPerformed {
            last_proven_sequence: 250,
            last_kept_sequence: 251,
            cut_bytes: 65_536,
            copied_to: Some("cut/1".into()),
        }
        .into(),
        RecoveryPerformed {
            last_proven_sequence: 0,
            last_kept_sequence: u64::MAX,
            cut_bytes: 0,
            copied_to: None,
        }
        .into(),
        HeadMissingAccepted {
            first_sequence: 1,
            last_sequence: 4_294_967_296,
            is_end_known: false,
        }
        .into(),
        ClockStepped { step_ns: i64::MIN }.into(),
        ClockStepped { step_ns: 1_000_000_001 }.into(),
        FingerprintRecorded { schema: 1, fingerprint: digest(1) }.into(),
    ]
}

fn salvaged(runs: u64) -> Event {
    let run = |i: u64| SalvagedRun {
        source_first_sequence: 1 + 300 * i,
        source_last_sequence: 200 + 300 * i,
        first_sequence: 2 + 201 * i,
    };
    Salvaged {
        source_log: "000102030405060708090a0b0c0d0e0f".into(),
        source_first_sequence: runs.min(1),
        source_last_sequence: 300 * runs,
        records_kept: 200 * runs,
        records_lost: 100 * runs,
        bytes_not_kept: 65_536 * runs,
        salvaged_at: at(9),
        runs: (0..runs).map(run).collect(),
        runs_total: runs,
        findings: (0..runs).map(|i| Text::from(format!("record {i}: wrong link"))).collect(),
        findings_total: u64::MAX >> (63 - runs),
        last_sequence: 0,
        unproven: List::default(),
    }
    .into()
}

/// What a report states of what comes behind it.
fn salvaged_up_to(last_sequence: u64) -> Event {
    let Event::Log(LogEvent::Salvaged(body)) = salvaged(3) else { panic!("a report") };
    let range = RecordRange { first_sequence: 2, last_sequence: last_sequence - 1 };
    Salvaged { last_sequence, unproven: [range].into_iter().collect(), ..body }.into()
}

fn records_lost(copied_to: Option<&str>) -> Event {
    RecordsLost {
        source_first_sequence: 201,
        source_last_sequence: if copied_to.is_some() { 300 } else { 0 },
        file: "segments/00000000000000000001.seg".into(),
        offset: 65_536,
        length: 4_294_967_296,
        copied_to: copied_to.map(Text::from),
        problem: "the checksum is wrong".into(),
    }
    .into()
}

fn history_archived() -> Event {
    HistoryArchived {
        first_sequence: 1,
        anchor_sequence: 70_000,
        anchor_link: digest(15),
        archived_to: "/archive \u{e9}".into(),
        state_schema: 2,
        state_fingerprint: digest(16),
        state: RawData::from(b"\0state\xff".to_vec()).into(),
    }
    .into()
}

fn segment_indexed() -> Event {
    SegmentIndexed { first_sequence: 1, last_sequence: 2, format: 1, digest: digest(17) }.into()
}

/// The first two bytes and the last one of ten.
fn output_cut() -> Event {
    let content = EvidenceContent::OutputCut(OutputCut {
        stream: OutputStream::Stderr,
        true_length: 10,
        whole_sha256: sha256(b"abcdefghij"),
        head_length: 2,
        gap_length: 7,
    });
    let raw_data = RawData::from(b"abj".to_vec());
    running::evidence(7, EvidenceType::ExecutorOutput, raw_data, content)
}

/// Events that name people, with the numbers of those people.
fn with_numbers() -> Vec<Event> {
    let named = [("ada", Some(4_001)), ("nobody", None)];
    let named = named.map(|(name, user)| NamedUser { name: name.into(), user });
    let people = || Some(named.iter().cloned().collect());
    let numbered = |mut event: Event| {
        match &mut event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) => {
                body.people = people();
            }
            Event::Log(LogEvent::PolicyChanged(body)) => body.people = people(),
            Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(body)) => {
                body.people = people();
            }
            _ => {}
        }
        event
    };
    let asked = decision_points::decision_point_events().into_iter().take(1);
    let changed = proven_samples().into_iter().map(|sample| sample.event);
    let changed = changed.filter(|event| matches!(event, Event::Log(LogEvent::PolicyChanged(_))));
    let began = loop_events(0).into_iter().take(1);
    began.chain(changed).chain(asked).map(numbered).collect()
}

fn loop_events(turn: usize) -> Vec<Event> {
    let attempt = 1 + (turn % 3) as u8;
    vec![
        LoopInitialized {
            gate: None,
            approval: None,
            people: None,
            loop_id: LOOP.into(),
            executor_id: "/bin/sh".into(),
            instruction_envelope_hash: digest(2).to_string().into(),
            command_line: "sh -c 'true'".into(),
            max_attempts: attempt,
            retry_ceiling: nth(&RetryPolicy::ALL[..4], turn),
            timeout_ms: turn.is_multiple_of(2).then_some(1_000),
            hold: terms(turn),
            handshake_decision: nth(&HandshakeDecision::ALL[..2], turn),
            handshake_reason: "because".into(),
        }
        .into(),
        LoopDispatched {
            loop_id: LOOP.into(),
            attempt,
            permitted_by_fault: (attempt > 1).then(|| "FAULT-1".into()),
            permitted_by_decision: (attempt > 2).then(|| "DEC-1".into()),
            instruction: None,
        }
        .into(),
        ResponseAwaited { loop_id: LOOP.into(), attempt, recorder_key: None, on_full: None }.into(),
        ResponseEvaluated {
            loop_id: LOOP.into(),
            attempt,
            response_type: nth(&ExecutorResponseType::ALL[..5], turn),
            response_decision: nth(&ResponseDecision::ALL[..3], turn),
            confidence: Confidence::from_basis_points(nth(&[0, 250, 8_500, 9_999], turn)).unwrap(),
            reason: "Executor reported success (requires verification)".into(),
            execution_decision: nth(&ExecutionDecision::ALL[..3], turn),
            execution_reason: "Executor reported success".into(),
            exit: nth(&[Exit::Unknown, Exit::Status(1), Exit::Signal(11)], turn),
        }
        .into(),
        LoopHalted {
            loop_id: LOOP.into(),
            from: nth(&ExecutionLoopState::ALL[..5], turn),
            requested: nth(&ExecutionLoopState::ALL[..5], turn + 4),
            reason: nth(&HaltReason::ALL[..10], turn),
            stop_condition: Some(nth(&StopCondition::ALL[..10], turn)),
            fault_type: turn
                .is_multiple_of(2)
                .then(|| nth(&ExecutionFaultType::ALL[..6], turn / 2)),
        }
        .into(),
    ]
}

fn evidence_events(turn: usize) -> Vec<Event> {
    let raw = |bytes: &[u8]| RawData::from(bytes.to_vec()).into();
    let offered = Offered {
        observation_point: nth(&ObservationPoint::ALL[..5], turn + 1),
        evidence_type: nth(&EvidenceType::ALL[..5], turn + 1),
        raw_data: raw(b"offered"),
    };
    vec![
        ObserverAttached {
            session_id: "OBS-1".into(),
            loop_id: LOOP.into(),
            executor_id: "/bin/sh".into(),
            envelope_hash: digest(2).to_string().into(),
            created_at: "2026-01-25T16:00:00.000000000Z".into(),
            is_halted: turn.is_multiple_of(2),
            chain_id: "CHAIN-1".into(),
        }
        .into(),
        EvidenceCaptured {
            loop_id: LOOP.into(),
            chain_id: "CHAIN-1".into(),
            index: turn as u64,
            record_id: "REC-1".into(),
            observation_point: nth(&ObservationPoint::ALL[..5], turn),
            evidence_type: nth(&EvidenceType::ALL[..5], turn),
            timestamp: "2026-01-25T16:00:00.000000000Z".into(),
            raw_data: raw(b"\0raw\xff"),
            prior_hash: nth(&["".into(), digest(3).to_string()], turn).into(),
            self_hash: digest(4).to_string().into(),
            injective_hash: digest(5),
            content: nth(&contents(turn), turn),
            offered: turn.is_multiple_of(4).then_some(offered),
        }
        .into(),
        StopConditionDetected {
            loop_id: LOOP.into(),
            condition: nth(&StopCondition::ALL[..10], turn),
            details: "because".into(),
        }
        .into(),
        ChainSealed {
            loop_id: LOOP.into(),
            chain_id: "CHAIN-1".into(),
            length: 300,
            head_hash: digest(4).to_string().into(),
            injective_head: digest(5),
            seal_hash: digest(6),
        }
        .into(),
    ]
}

fn contents(turn: usize) -> Vec<EvidenceContent> {
    let (from, to) = (ExecutionLoopState::Init, nth(&ExecutionLoopState::ALL[..5], turn));
    vec![
        EvidenceContent::Opaque,
        EvidenceContent::Instruction,
        EvidenceContent::Output(OutputExtent {
            stream: nth(&OutputStream::ALL[..3], turn / 7),
            true_length: 70_000,
            whole_sha256: digest(8),
            truncated: true,
        }),
        EvidenceContent::Resources(ResourceUsage {
            wall_ns: 1,
            user_cpu_ns: 251,
            system_cpu_ns: 65_536,
            peak_memory_bytes: u64::MAX,
        }),
        EvidenceContent::Transition { from, to },
        EvidenceContent::Decision(nth(&ResponseDecision::ALL[..3], turn)),
        EvidenceContent::Stop(nth(&StopCondition::ALL[..10], turn)),
    ]
}

fn fault_events(turn: usize) -> Vec<Event> {
    vec![
        FaultReported {
            fault_id: "FAULT-1".into(),
            loop_id: LOOP.into(),
            attempt: 1,
            fault_type: nth(&ExecutionFaultType::ALL[..6], turn),
            fault_message: "it went wrong".into(),
            occurred_at: Time::from_nanoseconds(1_769_356_800_000_000_001),
        }
        .into(),
        SandboxDecided {
            loop_id: LOOP.into(),
            fault_id: "FAULT-1".into(),
            attempt: 1,
            sandbox_decision: nth(&SandboxDecision::ALL[..3], turn),
            retry_policy: nth(&RetryPolicy::ALL[..4], turn),
            reason_code: "SBX-004".into(),
            reason_description: "CRASH: max retries reached".into(),
        }
        .into(),
    ]
}

fn terms(turn: usize) -> HoldTerms {
    let target = |name: &str| EscalationTarget {
        target: name.into(),
        approvers: (0..turn % 3).map(|i| Text::from(format!("approver {i}"))).collect(),
        timeout_ms: timeout(60_000),
    };
    HoldTerms {
        policy: nth(&HoldPolicy::ALL[..3], turn),
        retry_needs_person: turn.is_multiple_of(2),
        decision_timeout_ms: timeout(nth(&[1, 300_000, MAX_TIMEOUT_MS], turn)),
        approvers: (0..turn % 4).map(|i| Text::from(format!("approver {i}"))).collect(),
        escalation_targets: ["boss", "board"].into_iter().take(turn % 3).map(target).collect(),
        override_approvers: (0..turn % 2).map(|_| Text::from("carol")).collect(),
    }
}

fn timeout(milliseconds: u64) -> HumanDecisionTimeout {
    HumanDecisionTimeout::from_milliseconds(milliseconds).unwrap()
}

fn at(seconds: u64) -> Time {
    Time::from_nanoseconds(1_769_356_800_000_000_000 + seconds * 1_000_000_000)
}

fn command_refused(turn: usize) -> Event {
    CommandRefused {
        command: "human_decision.answer".into(),
        class: nth(&RefusalClass::ALL[..4], turn),
        code: "ALREADY_ANSWERED".into(),
        subject: turn.is_multiple_of(2).then(|| "REQ-1".into()),
        message: "request REQ-1 was answered before".into(),
    }
    .into()
}

fn digest(number: u8) -> Digest {
    sha256(&[number])
}

fn nth<T: Clone>(values: &[T], index: usize) -> T {
    values[index % values.len()].clone()
}
