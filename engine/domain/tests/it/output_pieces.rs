//! Output that is recorded in pieces while its command runs, and evidence that states the pieces in
//! the place of their bytes.

use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, EvidenceCaptured, EvidenceContent, EvidenceItem, EvidenceType,
    MAX_PIECE_BYTES, MAX_PIECES_PER_COMMAND, MAX_SNAPSHOTS_PER_ATTEMPT, OutputEnd, OutputGap,
    OutputPiece, OutputPieces, OutputRecorded, OutputStream, ResourceSnapshot, ResourceUsage,
    StopCondition, StopFacts,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopState, ExecutorResponseType, Exit, HaltReason, ResponseDecision,
};
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_domain::{Command, Event, ForbiddenEvent, Time, World, decide, decide_for_writer};
use holdpoint_testing::story::{SECRET, Story, names, output_item, piece, pieces_item};

use ExecutionLoopState::{AwaitingResponse, Evaluated};
use OutputStream::{Stderr, Stdout};

/// A loop of which these pieces are recorded.
fn printed(pieces: &[OutputPiece]) -> Story {
    let mut story = Story::in_state(AwaitingResponse);
    if !pieces.is_empty() {
        story.given(story.record_output(pieces.to_vec()));
    }
    story
}

fn stated(events: &[Event]) -> Vec<&OutputPieces> {
    let content = |event: &'_ Event| event.captured().map(|body| body.content.clone());
    assert!(events.iter().filter_map(content).count() > 0, "{events:?}");
    let stated = |event| match event {
        &Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(ref body)) => {
            match &body.content {
                EvidenceContent::OutputPieces(stated) => Some(stated),
                _ => None,
            }
        }
        _ => None,
    };
    events.iter().filter_map(stated).collect()
}

fn behind(gap: u64, piece: OutputPiece) -> OutputPiece {
    let running_sha256 = sha256(b"all of it");
    OutputPiece { gap: Some(OutputGap { length: gap, running_sha256 }), ..piece }
}

/// The bytes of both streams lie in the pieces, in the order in which they came; the evidence says
/// how long each stream is, its digest and its pieces, and is enough for a response.
#[test]
fn evidence_states_the_pieces_and_holds_none_of_their_bytes() {
    let mut story = printed(&[
        piece(Stdout, 0, b"one "),
        piece(Stderr, 0, b"careful"),
        piece(Stdout, 4, SECRET),
    ]);
    let whole = [b"one ", SECRET].concat();
    let items = vec![pieces_item(Stdout, &whole), pieces_item(Stderr, b"careful")];
    let events = story.given(story.capture(items));
    let [out, err] = stated(&events)[..] else { panic!("{events:?}") };
    assert_eq!((out.pieces, out.kept_length), (2, whole.len() as u64));
    let end = OutputEnd { true_length: 7, whole_sha256: sha256(b"careful") };
    assert_eq!((err.pieces, err.kept_length, err.end), (1, 7, Some(end)));
    for event in &events {
        let raw = event.captured().unwrap().raw_data.as_bytes();
        assert!(!raw.windows(SECRET.len()).any(|part| part == SECRET), "the bytes lie in pieces");
    }
    assert!(!out.extent().unwrap().truncated);
    story.given(story.report(ExecutorResponseType::Success));
    assert_eq!(story.entity().state(), Evaluated);
    assert_eq!(story.world.recorded_output(&story.loop_id), [], "nothing of them is kept on");
}

/// The state keeps numbers and a hash, whatever the pieces hold.
#[test]
fn the_state_keeps_no_byte_of_a_piece() {
    let story = printed(&[piece(Stdout, 0, SECRET)]);
    let carried = story.world.carry();
    assert!(!carried.windows(SECRET.len()).any(|part| part == SECRET));
    let again = World::from_carried(&carried).unwrap();
    assert_eq!(again.recorded_output(&story.loop_id), story.world.recorded_output(&story.loop_id));
    assert_eq!(again.recorded_output(&story.loop_id)[0].end, SECRET.len() as u64);
}

#[test]
fn pieces_are_refused_out_of_order_too_long_and_outside_of_an_attempt() {
    let story = printed(&[piece(Stdout, 0, b"abc")]);
    let long = vec![7; MAX_PIECE_BYTES + 1];
    let refused = [
        piece(Stdout, 2, b"x"),
        piece(Stdout, 4, b"x"),
        piece(Stderr, 1, b"x"),
        piece(Stdout, 3, b""),
        piece(Stdout, 3, &long),
        behind(1, piece(Stdout, 3, b"x")),
        behind(u64::MAX, piece(Stdout, 2, b"x")),
        behind(u64::MAX - 3, piece(Stdout, u64::MAX, b"x")),
    ];
    for piece in refused {
        let refusal = decide(&story.world, &story.record_output(vec![piece.clone()]), story.now);
        assert_eq!(refusal.unwrap_err().code(), "PIECE_CONTRADICTED", "{piece:?}");
    }
    let code = |story: &Story, command: &Command| {
        decide(&story.world, command, story.now).unwrap_err().code()
    };
    assert_eq!(code(&story, &story.record_output(vec![])), "PIECE_COUNT");
    let many = vec![piece(Stdout, 3, b"x"); MAX_PIECES_PER_COMMAND + 1];
    assert_eq!(code(&story, &story.record_output(many)), "PIECE_COUNT");
    let before = Story::initialized();
    assert_eq!(code(&before, &before.record_output(vec![piece(Stdout, 0, b"x")])), "WRONG_STATE");
    let next = behind(4, piece(Stdout, 7, b"x"));
    decide(&story.world, &story.record_output(vec![next]), story.now).unwrap();
}

/// What is stated of a stream has to be what its pieces come to, and is stated once.
#[test]
fn evidence_that_its_pieces_contradict_is_refused() {
    let all = b"all of it";
    let mut story = printed(&[behind(6, piece(Stdout, 6, b" it"))]);
    let code = |story: &Story, items| {
        decide(&story.world, &story.capture(items), story.now).unwrap_err().code()
    };
    assert_eq!(code(&story, vec![pieces_item(Stdout, b"of it")]), "PIECE_CONTRADICTED");
    assert_eq!(code(&story, vec![pieces_item(Stdout, b"some of i")]), "PIECE_CONTRADICTED");
    let twice = vec![pieces_item(Stdout, all), pieces_item(Stdout, all)];
    assert_eq!(code(&story, twice), "PIECE_CONTRADICTED");
    story.given(story.capture(vec![pieces_item(Stdout, all)]));
    assert_eq!(code(&story, vec![pieces_item(Stdout, all)]), "PIECE_CONTRADICTED");
    let late = story.record_output(vec![piece(Stdout, 9, b"x")]);
    let refusal = decide(&story.world, &late, story.now).unwrap_err();
    assert_eq!(refusal.code(), "PIECE_CONTRADICTED");
}

/// Whatever ends an attempt of which nothing is stated yet states what is recorded.
#[test]
fn a_run_whose_recorder_is_lost_states_what_it_printed() {
    let mut story = printed(&[piece(Stdout, 0, SECRET), piece(Stderr, 0, b"careful")]);
    let lost = decide_for_writer(&story.world, &story.declare_lost(), story.now).unwrap();
    let expected =
        ["evidence_captured", "evidence_captured", "evidence_captured", "halted", "chain_sealed"];
    assert_eq!(names(&lost), expected);
    let [out, err] = stated(&lost)[..] else { panic!("{lost:?}") };
    assert_eq!((out.stream, out.kept_length, out.end), (Stdout, SECRET.len() as u64, None));
    assert_eq!((err.stream, err.pieces, err.end), (Stderr, 1, None));
    assert_eq!(record_all(&mut story, lost), []);
    assert_eq!(story.world.recorded_output(&story.loop_id), []);

    let mut stopped = printed(&[piece(Stdout, 0, SECRET)]);
    let stop = stopped.stop(StopCondition::HumanAbort, StopFacts::default());
    assert_eq!(stated(&stopped.given(stop)).len(), 1);
}

/// Whatever was printed, and whatever its recorder had stated of that.
#[test]
fn a_lost_run_whose_guard_saw_its_end_is_evaluated_and_breaks_no_rule() {
    let ends = [
        (Exit::Status(0), None),
        (Exit::Status(7), None),
        (Exit::Signal(9), Some(ExecutionFaultType::Crash)),
        (Exit::Status(0), Some(ExecutionFaultType::Timeout)),
        (Exit::Unknown, Some(ExecutionFaultType::ResourceExhausted)),
    ];
    let mut captured = printed(&[piece(Stdout, 0, SECRET)]);
    captured.given(captured.capture(vec![pieces_item(Stdout, SECRET)]));
    let stories = [printed(&[]), printed(&[piece(Stderr, 0, SECRET)]), captured];
    for (mut story, (exit, fault)) in
        stories.iter().flat_map(|story| ends.map(|end| (story.clone(), end)))
    {
        let lost = story.declare_lost_but_seen(exit, fault);
        let events = decide_for_writer(&story.world, &lost, story.now).unwrap();
        assert_eq!(record_all(&mut story, events), []);
        let entity = story.entity();
        assert_eq!(entity.halt.as_ref().unwrap().reason, HaltReason::RecorderLost);
        let attempt = entity.current_attempt().unwrap();
        assert_eq!(attempt.response.as_ref().unwrap().exit, exit);
        assert_eq!(attempt.fault.as_ref().map(|fault| fault.fault_type), fault);
        assert_eq!(attempt.resources.unwrap().wall_ns, 9);
    }
    let waiting = Story::in_state(Evaluated);
    let lost = waiting.declare_lost_but_seen(Exit::Status(0), None);
    let events = decide_for_writer(&waiting.world, &lost, waiting.now).unwrap();
    assert_eq!(names(&events), ["evidence_captured", "halted", "chain_sealed"]);
}

fn record_all(story: &mut Story, events: Vec<Event>) -> Vec<ForbiddenEvent> {
    events.into_iter().flat_map(|event| story.record(event)).collect()
}

#[track_caller]
fn assert_found(findings: &[ForbiddenEvent], rule: Rule) {
    assert!(findings.iter().any(|finding| finding.rule == rule), "{rule}: {findings:?}");
}

#[test]
fn what_is_said_of_raw_bytes_otherwise_than_they_say_is_found() {
    let usage =
        ResourceUsage { wall_ns: 5, user_cpu_ns: 2, system_cpu_ns: 1, peak_memory_bytes: 4096 };
    let items = vec![output_item(SECRET), EvidenceItem::ResourceSnapshot(usage)];
    let waiting = printed(&[]);
    let mut answered = printed(&[]);
    answered.given(answered.capture(vec![output_item(SECRET)]));
    type Change = fn(&mut EvidenceContent);
    let cases: [(&Story, Command, Change); 8] = [
        (&answered, answered.report(ExecutorResponseType::Failure), |content| {
            if let EvidenceContent::Transition { from, .. } = content {
                *from = ExecutionLoopState::Init;
            }
        }),
        (&answered, answered.report(ExecutorResponseType::Failure), |content| {
            if let EvidenceContent::Transition { to, .. } = content {
                *to = ExecutionLoopState::Halted;
            }
        }),
        (&waiting, waiting.capture(items.clone()), |content| {
            if let EvidenceContent::Resources(usage) = content {
                usage.wall_ns = 4;
            }
        }),
        (&waiting, waiting.capture(items.clone()), |content| {
            if let EvidenceContent::Output(extent) = content {
                extent.whole_sha256 = sha256(b"another");
            }
        }),
        (&waiting, waiting.capture(items.clone()), |content| {
            if let EvidenceContent::Output(extent) = content {
                extent.true_length += 1;
            }
        }),
        (&waiting, waiting.capture(items), |content| {
            if let EvidenceContent::Output(extent) = content {
                extent.truncated = true;
            }
        }),
        (&answered, answered.report(ExecutorResponseType::Failure), |content| {
            if let EvidenceContent::Decision(decision) = content {
                *decision = ResponseDecision::Accept;
            }
        }),
        (&waiting, waiting.stop(StopCondition::HumanAbort, StopFacts::default()), |content| {
            if let EvidenceContent::Stop(condition) = content {
                *condition = StopCondition::AmbiguousIntent;
            }
        }),
    ];
    for (story, command, change) in cases {
        let mut events = decide(&story.world, &command, story.now).unwrap();
        assert_eq!(record_all(&mut story.clone(), events.clone()), []);
        for event in &mut events {
            if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = event {
                change(&mut body.content);
            }
        }
        assert_found(&record_all(&mut story.clone(), events), Rule::EvidenceCopy);
    }
}

/// Pieces that `decide` would not have made: found, and they count for nothing.
#[test]
fn forged_pieces_are_found_and_do_not_count() {
    let changes: [fn(&mut OutputRecorded); 4] = [
        |body| body.offset = 1,
        |body| body.raw_data = Vec::new().into(),
        |body| body.raw_data = vec![0; MAX_PIECE_BYTES + 1].into(),
        |body| body.gap = Some(OutputGap { length: 3, running_sha256: sha256(b"") }),
    ];
    for change in changes {
        let mut story = Story::in_state(AwaitingResponse);
        assert_found(&forged(&mut story, change), Rule::OutputPiece);
        assert_eq!(story.world.recorded_output(&story.loop_id), []);
    }
    let mut story = Story::in_state(AwaitingResponse);
    assert_found(&forged(&mut story, |body| body.attempt = 2), Rule::AttemptNumber);
    assert_eq!(story.world.recorded_output(&story.loop_id), []);
    let mut story = Story::in_state(Evaluated);
    let running = Story::in_state(AwaitingResponse);
    let mut events =
        decide(&running.world, &running.record_output(vec![piece(Stdout, 0, b"x")]), running.now)
            .unwrap();
    if let Event::EvidenceCapture(EvidenceCaptureEvent::OutputRecorded(body)) = &mut events[0] {
        body.loop_id = story.loop_id.as_str().into();
    }
    assert_found(&record_all(&mut story, events), Rule::OutputPiece);
    assert_eq!(story.world.recorded_output(&story.loop_id), []);
}

fn forged(story: &mut Story, change: fn(&mut OutputRecorded)) -> Vec<ForbiddenEvent> {
    let command = story.record_output(vec![piece(Stdout, 0, b"abc")]);
    let mut events = decide(&story.world, &command, story.now).unwrap();
    if let Event::EvidenceCapture(EvidenceCaptureEvent::OutputRecorded(body)) = &mut events[0] {
        change(body);
    }
    record_all(story, events)
}

/// Evidence that states other pieces than there are is found, spelled out or not.
#[test]
fn forged_statements_of_pieces_are_found() {
    let changes: [fn(&mut OutputPieces); 5] = [
        |stated| stated.pieces = 2,
        |stated| stated.kept_length = 4,
        |stated| stated.pieces_hash = Digest::from_bytes([0; 32]),
        |stated| stated.end = Some(OutputEnd { true_length: 2, whole_sha256: sha256(b"ab") }),
        |stated| stated.stream = Stderr,
    ];
    for change in changes {
        let mut story = printed(&[piece(Stdout, 0, b"abc")]);
        let command = story.capture(vec![pieces_item(Stdout, b"abc")]);
        let mut events = decide(&story.world, &command, story.now).unwrap();
        if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = &mut events[0]
            && let EvidenceContent::OutputPieces(stated) = &mut body.content
        {
            change(stated);
        }
        assert_found(&record_all(&mut story, events), Rule::OutputPiece);
    }
}

/// Programs that hand the bytes themselves over do so as before.
#[test]
fn output_is_captured_whole_as_before_where_no_piece_of_it_is_recorded() {
    let mut story = Story::in_state(AwaitingResponse);
    story.given(story.capture(vec![output_item(SECRET)]));
    story.given(story.capture(vec![EvidenceItem::ExecutorOutputPieces {
        stream: Stderr,
        true_length: 0,
        whole_sha256: sha256(b""),
    }]));
    story.given(story.report(ExecutorResponseType::Success));
    assert_eq!(story.entity().current_attempt().unwrap().outputs.len(), 3, "one was there before");
}

/// A snapshot of an attempt's processes, after so many seconds.
fn snapshot(attempt: u8, seconds: u64) -> ResourceSnapshot {
    ResourceSnapshot {
        attempt,
        taken_at: Time::from_nanoseconds(1_769_356_800_000_000_001 + seconds),
        ran_ns: seconds * 1_000_000_000,
        processes: 3,
        resident_bytes: 1 << 20,
        user_cpu_ns: 40,
        system_cpu_ns: 2,
    }
}

fn with_snapshots(story: &Story, snapshots: Vec<ResourceSnapshot>) -> Command {
    story.record_running(vec![], snapshots)
}

/// They ride in the batch of a piece, or alone, and are evidence of the attempt that runs.
#[test]
fn snapshots_are_evidence_captured_with_a_piece_or_without_one() {
    let mut story = printed(&[]);
    let pieces = vec![piece(Stdout, 0, SECRET)];
    let events = story.given(story.record_running(pieces, vec![snapshot(1, 1), snapshot(1, 2)]));
    assert_eq!(names(&events), ["output_recorded", "evidence_captured", "evidence_captured"]);
    let captured = events[2].captured().unwrap();
    assert_eq!(captured.evidence_type.name(), "RESOURCE_SNAPSHOT");
    assert_eq!(captured.observation_point.name(), "PRE_EVALUATE");
    assert_eq!(captured.raw_data.as_bytes(), snapshot(1, 2).spelled_out());
    story.given(with_snapshots(&story, vec![snapshot(1, 4)]));
    let seconds = |story: &Story| {
        let all = story.entity().snapshots(1).map(|it| it.ran_ns / 1_000_000_000);
        all.collect::<Vec<_>>()
    };
    assert_eq!(seconds(&story), [1, 2, 4]);
    assert!(story.entity().current_attempt().unwrap().resources.is_none(), "it has not ended");
    story.given(story.capture(vec![pieces_item(Stdout, SECRET)]));
    story.given(story.report(ExecutorResponseType::Success));
    assert_eq!((story.entity().state(), seconds(&story).len()), (Evaluated, 3));
}

#[test]
fn snapshots_of_another_attempt_or_out_of_order_are_refused() {
    let mut story = printed(&[]);
    story.given(with_snapshots(&story, vec![snapshot(1, 2)]));
    for wrong in [vec![snapshot(2, 4)], vec![snapshot(1, 2)], vec![snapshot(1, 8), snapshot(1, 4)]]
    {
        let refusal = decide(&story.world, &with_snapshots(&story, wrong), story.now).unwrap_err();
        assert_eq!(refusal.code(), "SNAPSHOT_CONTRADICTED");
    }
    let none = decide(&story.world, &with_snapshots(&story, vec![]), story.now).unwrap_err();
    assert_eq!(none.code(), "PIECE_COUNT");
    let before = Story::initialized();
    let early = with_snapshots(&before, vec![snapshot(1, 1)]);
    assert_eq!(decide(&before.world, &early, before.now).unwrap_err().code(), "WRONG_STATE");
}

/// Snapshots beyond the bound are left out, so that output and the end always find room.
#[test]
fn snapshots_take_no_room_from_output_and_the_end() {
    let mut story = printed(&[]);
    let many = |from: u64| (from..from + 1_000).map(|second| snapshot(1, second)).collect();
    story.given(with_snapshots(&story, many(1)));
    story.given(with_snapshots(&story, many(1_001)));
    assert_eq!(story.entity().snapshots(1).count(), MAX_SNAPSHOTS_PER_ATTEMPT);
    story.given(story.record_running(vec![piece(Stdout, 0, SECRET)], many(9_000)));
    assert_eq!(story.entity().snapshots(1).count(), MAX_SNAPSHOTS_PER_ATTEMPT);
    story.given(story.capture(vec![pieces_item(Stdout, SECRET)]));
    story.given(story.report(ExecutorResponseType::Success));

    let mut full = printed(&[]);
    let item = || EvidenceItem::TimestampEvent(vec![1]);
    while decide(&full.world, &full.capture(vec![item()]), full.now).is_ok() {
        full.given(full.capture((0..8).map(|_| item()).collect()));
        if full.entity().chain.as_ref().unwrap().head.length > 4_000 {
            break;
        }
    }
    full.given(full.record_running(vec![piece(Stdout, 0, SECRET)], vec![snapshot(1, 1)]));
    assert_eq!(full.entity().snapshots(1).count(), 0);
    assert_eq!(full.world.recorded_output(&full.loop_id).len(), 1);
}

#[test]
fn forged_snapshots_are_found() {
    let changes: [fn(&mut EvidenceCaptured, &mut ResourceSnapshot); 5] = [
        |_, snapshot| snapshot.attempt = 2,
        |_, snapshot| snapshot.ran_ns = 1,
        |_, snapshot| snapshot.processes += 1,
        |body, _| body.raw_data = Vec::new().into(),
        |body, _| body.evidence_type = EvidenceType::TimestampEvent,
    ];
    for change in changes {
        let mut story = printed(&[]);
        story.given(with_snapshots(&story, vec![snapshot(1, 1)]));
        let command = with_snapshots(&story, vec![snapshot(1, 2)]);
        let mut events = decide(&story.world, &command, story.now).unwrap();
        if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = &mut events[0]
            && let EvidenceContent::Snapshot(mut snapshot) = body.content.clone()
        {
            change(body, &mut snapshot);
            body.content = EvidenceContent::Snapshot(snapshot);
        }
        assert_found(&record_all(&mut story, events), Rule::ResourceSnapshot);
    }
}
