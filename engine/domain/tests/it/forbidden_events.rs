//! Property E2: an event that the rules forbid is kept, does no harm, and is found.

use holdpoint_testing::story;
use std::collections::BTreeSet;

use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, EvidenceCaptured, EvidenceContent, EvidenceRecord, EvidenceType,
    ObservationPoint, OutputCut, RecordView, SessionHash, StopCondition, StopConditionDetected,
    evidence_hash,
};
use holdpoint_domain::execution_loop::{
    ExecutionDecision, ExecutionLoopCommand, ExecutionLoopEvent, ExecutionLoopState, HaltReason,
    LoopDispatched, LoopInitialized, ResponseAwaited,
};
use holdpoint_domain::log::RecordFingerprint;
use holdpoint_domain::log::{
    ClockStepped, FingerprintRecorded, LogCommand, RecordsUnproven, SegmentIndexed, UnprovenReason,
};
use holdpoint_domain::sandbox_fault::{ExecutionFaultType, SandboxDecision, SandboxFaultEvent};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::world::envelope::{decode, encode};
use holdpoint_domain::{Command, Event, ForbiddenEvent, Time, World, decide};
use holdpoint_testing::story::random::next_command;
use holdpoint_testing::story::samples::samples;
use holdpoint_testing::story::{Recorded, SECRET, Story, cut_item, envelope, rebuilt, seed};
use quickcheck::{Arbitrary as _, Gen};

use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

/// The events that a command leads to, before they are recorded.
fn would(story: &Story, command: Command) -> Vec<Event> {
    decide(&story.world, &command, story.now).unwrap()
}

/// The events of a command, each changed, then recorded; what is found about them.
fn forged(story: &mut Story, command: Command, change: impl Fn(&mut Event)) -> Vec<ForbiddenEvent> {
    let mut events = would(story, command);
    events.iter_mut().for_each(change);
    events.into_iter().flat_map(|event| story.record(event)).collect()
}

/// Captures output, with the evidence changed.
fn forged_evidence(change: impl Fn(&mut EvidenceCaptured)) -> Vec<ForbiddenEvent> {
    let mut story = Story::in_state(AwaitingResponse);
    let output = story.output(SECRET);
    forged(&mut story, output, |event| {
        if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = event {
            change(body);
        }
    })
}

#[track_caller]
fn assert_found(findings: &[ForbiddenEvent], rule: Rule) {
    let found: BTreeSet<Rule> = findings.iter().map(|finding| finding.rule).collect();
    assert!(found.contains(&rule), "{rule} is not among {found:?}");
}

/// That an attempt's response is awaited.
fn awaited(story: &Story, attempt: u8) -> ResponseAwaited {
    let loop_id = story.loop_id.as_str().into();
    ResponseAwaited { loop_id, attempt, recorder_key: None, on_full: None }
}

#[test]
fn a_transition_that_the_table_has_not_halts_and_is_found() {
    let mut story = Story::initialized();
    let event = awaited(&story, 0);
    let findings = story.record(event.into());
    assert_found(&findings, Rule::Transition);
    assert_eq!(findings.last().unwrap().found, "INIT -> AWAITING_RESPONSE");
    assert_eq!(story.entity().state(), Halted);
    assert_eq!(story.when(story.dispatch()).unwrap_err().code(), "LOOP_NOT_LIVE");
}

#[test]
fn an_event_about_no_live_loop_is_found() {
    let mut story = Story::in_state(Halted);
    let event = awaited(&story, 1);
    let before = story.entity().clone();
    assert_found(&story.record(event.into()), Rule::LoopIsLive);
    assert_eq!(*story.entity(), before);
}

#[test]
fn what_happens_after_halted_is_found() {
    let mut story = Story::in_state(Evaluated);
    let events = would(&story, story.complete());
    let [evidence, halt, seal] = events.try_into().unwrap();
    assert_eq!(story.record(evidence), []);
    assert_eq!(story.record(halt.clone()), []);
    assert_found(&story.record(halt), Rule::HaltedIsFinal);
    let details = "late".into();
    let condition = StopCondition::HumanAbort;
    let loop_id = story.loop_id.as_str().into();
    let late = StopConditionDetected { loop_id, condition, details };
    assert_found(&story.record(late.into()), Rule::HaltedIsFinal);
    assert_eq!(story.record(seal), []);
}

#[test]
fn a_second_or_malformed_initialization_is_found() {
    let mut story = Story::initialized();
    let initialize =
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(story.initialize()));
    let Some(Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(mut body))) =
        would(&story, initialize).into_iter().next()
    else {
        panic!("an initialization comes first");
    };
    body.loop_id = story.loop_id.as_str().into();
    body.command_line = "changed".into();
    assert_found(&story.record(body.clone().into()), Rule::Initialization);
    assert_eq!(story.entity().command_line, "sh -c true");
    body.loop_id = "LOOP-00112233445566778899aabbccddeeff".into();
    body.max_attempts = 200;
    assert_found(&story.record(body.into()), Rule::Initialization);
}

#[test]
fn a_transition_without_its_evidence_is_found() {
    let mut story = Story::in_state(AwaitingResponse);
    let report = story.report(holdpoint_domain::execution_loop::ExecutorResponseType::Success);
    let events = would(&story, report);
    let bare: Vec<Event> = events
        .into_iter()
        .filter(|e| !matches!(e, Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(_))))
        .collect();
    let findings: Vec<_> = bare.into_iter().flat_map(|event| story.record(event)).collect();
    assert_found(&findings, Rule::TransitionEvidence);
    let complete = story.complete();
    assert_found(&forged(&mut story, complete, |_| {}), Rule::TransitionEvidence);
}

#[test]
fn attempts_out_of_order_and_beyond_the_maximum_are_found() {
    let mut story = Story::initialized();
    let dispatch = story.dispatch();
    let findings = forged(&mut story, dispatch, |event| {
        if let Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(body)) = event {
            body.attempt = 4;
        }
    });
    assert_found(&findings, Rule::AttemptNumber);
}

#[test]
fn a_dispatch_that_nobody_permitted_is_found() {
    let mut story = Story::in_state(Evaluated);
    let loop_id = story.loop_id.as_str().into();
    let again = LoopDispatched {
        loop_id,
        attempt: 2,
        permitted_by_fault: None,
        permitted_by_decision: None,
        instruction: None,
    };
    assert_found(&story.record(again.into()), Rule::RetryPermission);
}

#[test]
fn a_response_without_raw_output_is_found() {
    let story = Story::in_state(AwaitingResponse);
    let status = holdpoint_domain::execution_loop::ExecutorResponseType::Success;
    let events = would(&story, story.report(status));
    let mut bare = Story::in_state(Dispatched);
    bare.given(bare.await_response());
    let findings: Vec<_> = events.into_iter().flat_map(|event| bare.record(event)).collect();
    assert_found(&findings, Rule::RawOutputFirst);
}

#[test]
fn a_response_worth_more_than_the_table_says_is_found() {
    let mut story = Story::in_state(AwaitingResponse);
    let status = holdpoint_domain::execution_loop::ExecutorResponseType::Failure;
    let report = story.report(status);
    let findings = forged(&mut story, report, |event| {
        if let Event::ExecutionLoop(ExecutionLoopEvent::ResponseEvaluated(body)) = event {
            body.execution_decision = ExecutionDecision::Continue;
        }
    });
    assert_found(&findings, Rule::ResponseTable);
    let mut story = Story::in_state(AwaitingResponse);
    let report = story.report(status);
    let findings = forged(&mut story, report, |event| {
        if let Event::ExecutionLoop(ExecutionLoopEvent::ResponseEvaluated(body)) = event {
            body.confidence = holdpoint_domain::core::confidence::Confidence::MAX;
        }
    });
    assert_found(&findings, Rule::ResponseTable);
}

/// Privileges never grow: a forged permission is found, and the table's outcome counts.
#[test]
fn a_forged_retry_permission_is_found_and_not_granted() {
    let mut story = Story::in_state(AwaitingResponse);
    let fault = story.fault(ExecutionFaultType::ResourceExhausted);
    let findings = forged(&mut story, fault, |event| {
        if let Event::SandboxFault(SandboxFaultEvent::SandboxDecided(body)) = event {
            body.sandbox_decision = SandboxDecision::Retry;
            body.reason_code = "SBX-OK".into();
        }
    });
    assert_found(&findings, Rule::FaultTable);
    assert_eq!(story.when(story.retry()).unwrap_err().code(), "RETRY_NOT_PERMITTED");
}

#[test]
fn a_halt_for_a_reason_that_is_none_is_found() {
    let mut story = Story::in_state(AwaitingResponse);
    let status = holdpoint_domain::execution_loop::ExecutorResponseType::Failure;
    story.given(story.report(status));
    let complete = story.complete();
    let findings = forged(&mut story, complete, |event| {
        if let Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(body)) = event {
            body.reason = HaltReason::Completed;
        }
    });
    assert_found(&findings, Rule::HaltReason);
}

#[test]
fn an_observer_that_should_be_halted_is_found() {
    let mut story = Story::new();
    let mut command = story.initialize();
    command.observer.executor_id = "evil".into();
    let findings = forged(
        &mut story,
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)),
        |event| {
            if let Event::EvidenceCapture(EvidenceCaptureEvent::ObserverAttached(body)) = event {
                body.is_halted = false;
            }
        },
    );
    assert_found(&findings, Rule::Observer);
}

#[test]
fn forged_evidence_is_found() {
    let raw = || RawData::from(b"forged".to_vec()).into();
    assert_found(&forged_evidence(|body| body.raw_data = raw()), Rule::ChainLink);
    assert_found(&forged_evidence(|body| body.prior_hash = "".into()), Rule::ChainLink);
    assert_found(&forged_evidence(|body| body.self_hash = "ab".into()), Rule::ChainLink);
    assert_found(&forged_evidence(|body| body.injective_hash = sha256(b"")), Rule::ChainLink);
    assert_found(&forged_evidence(|body| body.index = 0), Rule::ChainPlace);
    assert_found(&forged_evidence(|body| body.chain_id = "CHAIN-x".into()), Rule::ChainPlace);
    let time = "2026-01-25T15:00:00.000000000Z";
    assert_found(&forged_evidence(|body| body.timestamp = time.into()), Rule::EvidenceTime);
    let point = ObservationPoint::PostEvaluate;
    assert_found(&forged_evidence(|body| body.observation_point = point), Rule::EvidencePlace);
    let kind = EvidenceType::StopCondition;
    assert_found(&forged_evidence(|body| body.evidence_type = kind), Rule::EvidencePlace);
}

/// Whoever made our own hash anew still has to follow the record before, and to be what the seed's
/// hash says.
#[test]
fn evidence_that_does_not_link_is_found_though_our_own_hash_fits() {
    type Forgery = (fn(&mut EvidenceRecord), &'static str);
    let changes: [Forgery; 2] = [
        (|record| record.prior_hash = "ab".repeat(32), "prior_hash"),
        (|record| record.self_hash = "cd".repeat(32), "self_hash"),
    ];
    for (change, name) in changes {
        let mut story = Story::in_state(AwaitingResponse);
        let output = story.output(SECRET);
        let Some(Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(mut body))) =
            would(&story, output).pop()
        else {
            panic!("evidence is captured")
        };
        let record = rehashed(&story, &mut body, change);
        let findings = story.record(body.into());
        let [finding] = &findings[..] else { panic!("{name}: {findings:?}") };
        let stated = if name == "prior_hash" { &record.prior_hash } else { &record.self_hash };
        assert_eq!((finding.rule, &finding.found), (Rule::ChainLink, stated), "{name}");
        assert!(story.entity().chain.as_ref().unwrap().is_broken, "{name}");
    }
}

/// Changes the evidence of [`SECRET`], with every other hash made right again.
fn rehashed(
    story: &Story,
    body: &mut EvidenceCaptured,
    change: fn(&mut EvidenceRecord),
) -> EvidenceRecord {
    let mut record = EvidenceRecord {
        record_id: body.record_id.as_str().into(),
        observation_point: body.observation_point,
        evidence_type: body.evidence_type,
        timestamp: body.timestamp.as_str().into(),
        raw_data: RawData::from(SECRET.to_vec()),
        prior_hash: body.prior_hash.as_str().into(),
        self_hash: String::new(),
        offered: None,
    };
    change(&mut record);
    if record.self_hash.is_empty() {
        record.self_hash = evidence_hash(&record);
    }
    let (observer, head) =
        (story.entity().observer.as_ref().unwrap(), &story.entity().chain.as_ref().unwrap().head);
    let session = SessionHash::of(observer, &head.chain_id);
    body.prior_hash = record.prior_hash.as_str().into();
    body.self_hash = record.self_hash.as_str().into();
    body.injective_hash = RecordView::of(&record).injective_hash(&session, head, &sha256(SECRET));
    record
}

/// A loop without an executor, or without an instruction, begins in HALTED, whoever wrote it.
#[test]
fn a_loop_of_nobody_or_of_nothing_begins_halted() {
    let changes: [fn(&mut LoopInitialized); 2] =
        [|body| body.executor_id = " ".into(), |body| body.instruction_envelope_hash = "".into()];
    for change in changes {
        let mut story = Story::new();
        let initialize = story.initialize();
        story.loop_id = initialize.loop_id();
        let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize));
        forged(&mut story, command, |event| {
            if let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) = event {
                change(body);
            }
        });
        assert_eq!(story.entity().state(), Halted);
        assert_eq!(story.when(story.dispatch()).unwrap_err().code(), "LOOP_NOT_LIVE");
    }
}

/// Beginning, end and what is missing between them are the whole.
#[test]
fn an_output_whose_parts_do_not_make_up_the_whole_is_found() {
    let forged_cut = |change: fn(&mut OutputCut)| {
        let mut story = Story::in_state(AwaitingResponse);
        let captured = story.capture(vec![cut_item(b"abj", 2, 10)]);
        forged(&mut story, captured, |event| {
            if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = event
                && let EvidenceContent::OutputCut(cut) = &mut body.content
            {
                change(cut);
            }
        })
    };
    assert_eq!(forged_cut(|_| ()), []);
    assert_found(&forged_cut(|cut| cut.head_length = 4), Rule::OutputExtent);
    assert_found(&forged_cut(|cut| cut.gap_length = 6), Rule::OutputExtent);
    assert_found(&forged_cut(|cut| cut.true_length = 11), Rule::OutputExtent);
    let whole = |cut: &mut OutputCut| (cut.true_length, cut.gap_length) = (3, 0);
    assert_found(&forged_cut(whole), Rule::OutputExtent);
}

#[test]
fn a_repeated_record_id_is_found() {
    let mut story = Story::in_state(AwaitingResponse);
    let record_id = story.entity().chain.as_ref().unwrap().records[0].record_id.clone();
    let output = story.output(SECRET);
    let findings = forged(&mut story, output, |event| {
        if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = event {
            body.record_id = record_id.as_str().into();
        }
    });
    assert_found(&findings, Rule::RecordId);
}

/// A chain that an event contradicted is not continued: the loop stops.
#[test]
fn a_loop_with_a_broken_chain_stops_at_its_next_command() {
    let mut story = Story::in_state(AwaitingResponse);
    let output = story.output(SECRET);
    let findings = forged(&mut story, output, |event| {
        if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = event {
            body.prior_hash = "".into();
        }
    });
    assert_found(&findings, Rule::ChainLink);
    let status = holdpoint_domain::execution_loop::ExecutorResponseType::Success;
    let events = would(&story, story.report(status));
    let body = story::halt(&events).unwrap();
    assert_eq!(body.stop_condition, Some(StopCondition::EvidenceChainBroken));
}

#[test]
fn a_forged_seal_and_what_follows_a_seal_are_found() {
    let mut story = Story::in_state(Evaluated);
    let complete = story.complete();
    let findings = forged(&mut story, complete, |event| {
        if let Event::EvidenceCapture(EvidenceCaptureEvent::ChainSealed(body)) = event {
            body.length = 3;
        }
    });
    assert_found(&findings, Rule::Seal);

    let mut story = Story::in_state(Evaluated);
    let events = would(&story, story.complete());
    let [evidence, _, seal] = events.try_into().unwrap();
    let findings = story.record(seal);
    assert_found(&findings, Rule::Seal);
    assert_found(&story.record(evidence), Rule::Seal);
}

#[test]
fn a_fingerprint_of_another_state_is_found_and_one_of_another_schema_is_not_checked() {
    let mut story = Story::initialized();
    story.given(Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})));
    let fingerprint = sha256(b"another state");
    let forged = FingerprintRecorded { schema: STATE_SCHEMA_VERSION, fingerprint };
    assert_found(&story.record(forged.into()), Rule::Fingerprint);
    let unknown = FingerprintRecorded { schema: STATE_SCHEMA_VERSION + 1, fingerprint };
    assert_eq!(story.record(unknown.into()), []);
}

#[test]
fn an_index_of_records_that_are_not_before_it_is_found_and_not_believed() {
    let mut story = Story::initialized();
    let indexed = |first_sequence, last_sequence| {
        let digest = sha256(b"index");
        SegmentIndexed { first_sequence, last_sequence, format: 1, digest }
    };
    for (first, last) in [(0, 1), (2, 1), (1, u64::MAX)] {
        assert_found(&story.record(indexed(first, last).into()), Rule::SegmentIndex);
        assert_eq!(story.world.segment_indexes().iter().count(), 0);
    }
    assert_eq!(story.record(indexed(1, 1).into()), []);
    let known = story.world.segment_indexes().of(1).map(|index| index.last_sequence);
    assert_eq!(known, Some(1));
}

#[test]
fn no_index_is_believed_of_a_segment_of_which_statements_differ() {
    let stated = |format, of: &[u8]| SegmentIndexed {
        first_sequence: 1,
        last_sequence: 1,
        format,
        digest: sha256(of),
    };
    let (right, wrong) = (b"right", b"wrong");
    let disputed_after = |stated: &[SegmentIndexed]| {
        let mut story = Story::initialized();
        for body in stated {
            assert_eq!(story.record(body.clone().into()), []);
        }
        story.world.segment_indexes().of(1).unwrap().is_disputed()
    };
    assert!(!disputed_after(&[stated(2, right), stated(2, right)]));
    assert!(disputed_after(&[stated(2, right), stated(2, wrong)]));
    assert!(disputed_after(&[stated(2, right), stated(2, wrong), stated(2, right)]));
    assert!(disputed_after(&[stated(2, right), stated(2, wrong), stated(2, wrong)]));
    // Another format does not make the older one's statements forgotten.
    assert!(disputed_after(&[stated(2, right), stated(3, wrong), stated(2, wrong)]));
    assert!(!disputed_after(&[stated(1, right), stated(2, right)]));
}

#[test]
fn unproven_records_that_are_not_before_the_event_are_found_and_not_believed() {
    let mut story = Story::initialized();
    let unproven = |first_sequence, last_sequence| {
        let reason = UnprovenReason::Damage;
        RecordsUnproven { first_sequence, last_sequence, reason }
    };
    for (first, last) in [(0, 1), (2, 1), (1, u64::MAX)] {
        assert_found(&story.record(unproven(first, last).into()), Rule::UnprovenRecords);
        assert!(story.world.unproven_records().is_empty());
    }
    // A log that is salvaged again may say it of what was said before, and of more.
    for (first, last) in [(2, 2), (1, 3)] {
        assert_eq!(story.record(unproven(first, last).into()), []);
    }
    assert!(story.world.unproven_records().iter().eq([(1, 3)]));
    let carried = World::from_carried(&story.world.carry()).unwrap();
    assert_eq!(carried.unproven_records(), story.world.unproven_records());
}

#[test]
fn records_out_of_order_are_found() {
    let mut world = World::default();
    let record = envelope(ClockStepped { step_ns: 1 }.into());
    let at = Time::from_nanoseconds;
    assert_eq!(world.judge_and_evolve(7, at(10), &record), []);
    assert_eq!(world.judge_and_evolve(8, at(10), &record), []);
    assert_found(&world.judge_and_evolve(10, at(11), &record), Rule::RecordOrder);
    assert_found(&world.judge_and_evolve(11, at(10), &record), Rule::RecordOrder);
}

/// Every rule has a test that names it, here or in one of the files beside it.
#[test]
fn every_rule_has_a_test() {
    let source = concat!(
        include_str!("forbidden_events.rs"),
        include_str!("forbidden_headings.rs"),
        include_str!("forbidden_decisions.rs"),
        include_str!("forbidden_approvals.rs"),
        include_str!("forbidden_decision_points.rs"),
        include_str!("forbidden_threads.rs"),
        include_str!("forbidden_plans.rs"),
        include_str!("registrations.rs"),
        include_str!("policy.rs"),
        include_str!("rules_numbers.rs"),
        include_str!("application.rs"),
        include_str!("log_events.rs"),
        include_str!("output_pieces.rs"),
        include_str!("clocks.rs"),
        include_str!("continued.rs"),
        include_str!("stop_conditions.rs"),
        include_str!("escalations.rs"),
    );
    // Whoever reads a log judges where it begins: the test is there.
    for rule in Rule::ALL.iter().filter(|rule| **rule != Rule::SalvageReport) {
        assert!(source.contains(&format!("Rule::{rule:?})")), "{rule} has no test");
    }
}

#[test]
fn findings_say_where_and_leave_nothing_in_the_state() {
    let mut story = Story::initialized();
    let event = awaited(&story, 0);
    let findings = story.record(event.into());
    let last = story.records.last().unwrap();
    for finding in &findings {
        assert_eq!(finding.sequence, last.sequence);
        assert_eq!(finding.kind, last.encoded.kind);
        assert_eq!(finding.loop_id.as_deref(), Some(story.loop_id.as_str()));
        assert!(!finding.expected.is_empty() && !finding.found.is_empty());
    }
    assert!(!findings.is_empty());
    assert_eq!(rebuilt(&story.records, World::default()).fingerprint(), story.world.fingerprint());
}

/// Records dropped, repeated, swapped, and samples that belong nowhere: no panic, the same
/// findings and the same fingerprint in every kind of world, and no raw evidence in sight.
#[test]
fn replay_survives_any_events_in_any_order() {
    let seed = seed();
    let secret = String::from_utf8(SECRET.to_vec()).unwrap();
    for round in 0..40 {
        eprintln!("HOLDPOINT_SEED={}", seed + round);
        let mut random = Gen::from_size_and_seed(30, seed + round);
        let story = disordered(&mut random);
        let (mut retained, mut hot) = (World::default().keeping_settled(), World::default());
        for Recorded { sequence, at, encoded } in &story.records {
            let envelope = decode(encoded.kind, encoded.version, &encoded.payload).unwrap();
            let found = hot.judge_and_evolve(*sequence, *at, &envelope);
            assert_eq!(retained.judge(*sequence, *at, &envelope), found);
            retained.evolve(*sequence, *at, &envelope);
        }
        assert_eq!(retained.fingerprint(), hot.fingerprint());
        assert_eq!(retained.totals(), hot.totals());
        assert!(!serde_json::to_string(&retained).unwrap().contains(&secret));
    }
}

/// Commands go on being decided in the world that results.
pub(crate) fn disordered(random: &mut Gen) -> Story {
    let mut story = Story::new();
    for _ in 0..80 {
        let command = next_command(&mut story, random);
        let Ok(mut events) = decide(&story.world, &command, story.now) else { continue };
        match u8::arbitrary(random) % 6 {
            0 => drop(events.pop()),
            1 => events.reverse(),
            2 => events.extend(events.clone()),
            3 => events.push(random.choose(&samples()).unwrap().event.clone()),
            _ => {}
        }
        for event in events {
            story.record(event);
        }
        let step = u64::arbitrary(random) % 1_000_000;
        story.now = Time::from_nanoseconds(story.now.nanoseconds() + step);
    }
    story
}

/// Content is what evidence says of itself; a halt's evidence says which condition it was.
#[test]
fn forged_payloads_decode_as_what_they_are() {
    let mut story = Story::initialized();
    let stop = story.stop(StopCondition::HumanAbort, Default::default());
    let evidence = would(&story, stop)
        .into_iter()
        .find(|event| {
            matches!(event, Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(_)))
        })
        .unwrap();
    let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = &evidence else {
        panic!("evidence")
    };
    assert_eq!(body.content, EvidenceContent::Stop(StopCondition::HumanAbort));
    let encoded = encode(&envelope(evidence.clone())).unwrap();
    let decoded = decode(encoded.kind, encoded.version, &encoded.payload).unwrap();
    assert_eq!(decoded.event, evidence);
    assert_eq!(story.entity().state(), Init);
    story.given(story.dispatch());
}
