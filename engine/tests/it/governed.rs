//! A governed run: every way in which a command can end, what the log then holds, and the status
//! that the run exits with. Nothing here waits for time to pass: commands that would run for ever
//! are ended by the run itself.

use holdpoint_domain::Event;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, EvidenceCaptured, EvidenceContent, EvidenceType, ObservationPoint,
    OutputEnd, OutputStream, StopCondition,
};
use holdpoint_domain::execution_loop::{ExecutionLoopEvent, Exit, HaltReason};
use holdpoint_domain::human_decision::{HoldPolicy, HoldTerms};
use holdpoint_domain::sandbox_fault::{ExecutionFaultType, RetryPolicy, SandboxFaultEvent};
use holdpoint_engine::Engine;
use holdpoint_engine::executor::{
    Discard, ForwardedSignal, NoSignals, OutputSink, OutputStream as Stream, SignalSender,
    signal_channel,
};
use holdpoint_engine::shell::{
    EXIT_FAULT_TERMINATED, EngineOptions, GovernedRun, KeyedRun, NoPrompt, RunError, RunReport,
};
use holdpoint_testing::log::gated::GatedStorage;
use holdpoint_testing::shell::brittle::Brittle;
use holdpoint_testing::shell::{Place, names, origin, run_of, shell};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// How a run must end.
#[derive(Debug, PartialEq, Eq)]
struct End {
    exit_status: u8,
    reason: HaltReason,
    stop_condition: Option<StopCondition>,
    fault_type: Option<ExecutionFaultType>,
    fault_code: Option<String>,
    attempts: u8,
}

impl End {
    fn response(exit_status: u8, reason: HaltReason) -> Self {
        Self {
            exit_status,
            reason,
            stop_condition: None,
            fault_type: None,
            fault_code: None,
            attempts: 1,
        }
    }

    fn fault(
        exit_status: u8,
        reason: HaltReason,
        fault_type: ExecutionFaultType,
        fault_code: &str,
    ) -> Self {
        let (fault_type, fault_code) = (Some(fault_type), Some(fault_code.to_string()));
        Self { fault_type, fault_code, ..Self::response(exit_status, reason) }
    }

    fn stop(exit_status: u8, condition: StopCondition, attempts: u8) -> Self {
        let stop_condition = Some(condition);
        Self { stop_condition, attempts, ..Self::response(exit_status, HaltReason::StopCondition) }
    }

    fn interrupted(exit_status: u8, attempts: u8) -> Self {
        Self { attempts, ..Self::response(exit_status, HaltReason::Interrupted) }
    }

    fn of(report: &RunReport) -> Self {
        Self {
            exit_status: report.exit_status,
            reason: report.halted.reason,
            stop_condition: report.halted.stop_condition,
            fault_type: report.halted.fault_type,
            fault_code: report.summary.fault.as_ref().map(|fault| fault.code.clone()),
            attempts: report.summary.attempts,
        }
    }
}

/// Runs to the end, and checks what is true of every run: the report says what the log says, the
/// loop is settled, its chain sealed, nothing is live and no event is forbidden.
fn finished(place: &Place, run: &GovernedRun) -> RunReport {
    let engine = place.engine();
    let report = accepted(engine.run(&origin(), (), run, &mut Discard, &mut NoSignals));
    engine.close().expect("it closes");
    check(place, &report);
    report
}

fn check(place: &Place, report: &RunReport) {
    let rebuilt = place.rebuilt();
    assert_eq!(rebuilt.live_loops().count(), 0);
    let entity = rebuilt.find_loop(&report.summary.loop_id).expect("the loop is on the log");
    let halt = entity.halt.as_ref().expect("it halted");
    assert!(entity.is_settled() && entity.chain.as_ref().is_some_and(|chain| chain.head.is_sealed));
    assert_eq!(halt.reason, report.halted.reason);
    assert_eq!(entity.attempt_count(), report.summary.attempts);
    let sequences: Vec<u64> = place.lines().iter().map(|line| line.sequence).collect();
    assert_eq!(sequences.last(), Some(&report.summary.last_sequence));
    assert!(sequences.contains(&report.summary.first_sequence));
    place.assert_intact();
}

fn evidence(place: &Place) -> Vec<EvidenceCaptured> {
    let captured = place.events().into_iter().filter_map(|event| match event {
        Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(captured)) => Some(captured),
        _ => None,
    });
    captured.collect()
}

/// What was recorded of one stream, where its evidence states it.
fn captured(place: &Place, stream: OutputStream) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let mut found = Vec::new();
    for event in place.events() {
        match event {
            Event::EvidenceCapture(EvidenceCaptureEvent::OutputRecorded(piece))
                if piece.stream == stream =>
            {
                pieces.extend_from_slice(piece.raw_data.as_bytes());
            }
            Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(captured)) => {
                let EvidenceContent::OutputPieces(stated) = &captured.content else { continue };
                if stated.stream == stream {
                    assert_eq!(stated.kept_length, pieces.len() as u64);
                    found.push(std::mem::take(&mut pieces));
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn a_command_that_succeeds_completes_its_loop() {
    let place = Place::new();
    let report = finished(&place, &shell("echo out; echo err >&2"));
    assert_eq!(End::of(&report), End::response(0, HaltReason::Completed));
    assert_eq!(captured(&place, OutputStream::Stdout), [b"out\n"]);
    assert_eq!(captured(&place, OutputStream::Stderr), [b"err\n"]);
    let expected = [
        "initialized",
        "observer_attached",
        "evidence_captured",
        "dispatched",
        "evidence_captured",
        "response_awaited",
        "evidence_captured",
        "evidence_captured",
        "evidence_captured",
        "evidence_captured",
        "response_evaluated",
        "evidence_captured",
        "evidence_captured",
        "halted",
        "chain_sealed",
    ];
    let mut found = names(&place.events());
    // What it printed is recorded with its end, in as many pieces as it came.
    found.retain(|name| *name != "output_recorded");
    assert_eq!(found, expected);
}

#[test]
fn raw_output_is_on_the_log_before_the_response_is_evaluated() {
    let place = Place::new();
    finished(&place, &shell("echo out; exit 3"));
    let events = place.events();
    let position = |wanted: &dyn Fn(&Event) -> bool| events.iter().position(wanted);
    let is_output = |event: &Event| {
        matches!(event, Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(captured))
        if captured.evidence_type == EvidenceType::ExecutorOutput)
    };
    let captured = position(&is_output).expect("output is captured");
    let evaluated = position(&|event| {
        matches!(event, Event::ExecutionLoop(ExecutionLoopEvent::ResponseEvaluated(_)))
    });
    assert!(captured < evaluated.expect("the response is evaluated"));
    let points =
        evidence(&place).into_iter().filter(|c| c.evidence_type == EvidenceType::ExecutorOutput);
    assert!(
        points.map(|c| c.observation_point).all(|point| point == ObservationPoint::PreEvaluate)
    );
}

#[test]
fn a_status_that_is_not_zero_is_a_failure_response_and_no_fault() {
    for status in [1, 7, 255] {
        let place = Place::new();
        let report = finished(&place, &shell(&format!("exit {status}")));
        assert_eq!(End::of(&report), End::response(status, HaltReason::ResponseRejected));
    }
}

#[test]
fn death_by_a_signal_is_a_crash() {
    for (signal, status) in [("SEGV", 139), ("KILL", 137), ("TERM", 143)] {
        let place = Place::new();
        let report = finished(&place, &shell(&format!("echo last words; kill -{signal} $$")));
        let (reason, fault) = (HaltReason::FaultTerminated, ExecutionFaultType::Crash);
        assert_eq!(End::of(&report), End::fault(status, reason, fault, "SBX-004"), "{signal}");
        assert_eq!(captured(&place, OutputStream::Stdout), [b"last words\n"]);
    }
}

#[test]
fn a_forbidden_system_call_is_a_security_violation() {
    let place = Place::new();
    let run = GovernedRun { max_attempts: 3, ..shell("kill -SYS $$") };
    let (reason, fault) = (HaltReason::FaultTerminated, ExecutionFaultType::SecurityViolation);
    assert_eq!(End::of(&finished(&place, &run)), End::fault(159, reason, fault, "SBX-001"));
}

#[test]
fn a_command_that_runs_too_long_is_stopped_and_its_output_kept() {
    let place = Place::new();
    let mut run = shell("echo begun; exec sleep 100");
    run.command.timeout = Some(Duration::from_millis(300));
    let (reason, fault) = (HaltReason::FaultTerminated, ExecutionFaultType::Timeout);
    assert_eq!(End::of(&finished(&place, &run)), End::fault(124, reason, fault, "SBX-004"));
    assert_eq!(captured(&place, OutputStream::Stdout).len(), 1);
}

#[test]
fn a_command_over_its_memory_needs_a_person() {
    let place = Place::new();
    let mut run = shell("{ head -c 400000000 /dev/zero; sleep 100; } | tail -n 1");
    run.command.max_memory_bytes = Some(64 * 1024 * 1024);
    run.max_attempts = 3;
    let (reason, fault) = (HaltReason::FaultEscalated, ExecutionFaultType::ResourceExhausted);
    assert_eq!(End::of(&finished(&place, &run)), End::fault(137, reason, fault, "SBX-002"));
}

/// Beyond a bound of four bytes the last 4 KiB of the second are kept.
#[test]
fn output_beyond_the_bound_is_no_fault_and_its_two_ends_are_kept() {
    for (status, reason) in [(0, HaltReason::Completed), (5, HaltReason::ResponseRejected)] {
        let place = Place::new();
        let script = "printf 0123; head -c 9000 /dev/zero; printf 89; exit";
        let mut run = shell(&format!("{script} {status}"));
        run.command.max_output_bytes = 4;
        assert_eq!(End::of(&finished(&place, &run)), End::response(status, reason));
        let expected = [&b"0123"[..], &[0; 4_094], b"89"].concat();
        assert_eq!(captured(&place, OutputStream::Stdout), [expected]);
        let stated = evidence(&place).into_iter().find_map(|captured| match captured.content {
            EvidenceContent::OutputPieces(stated) => Some(stated),
            _ => None,
        });
        let (stated, whole) = (stated.unwrap(), [&b"0123"[..], &[0; 9_000], b"89"].concat());
        let end = OutputEnd { true_length: 9_006, whole_sha256: sha256(&whole) };
        assert_eq!((stated.pieces, stated.end), (2, Some(end)));
    }
}

/// A process that leaves the command's group keeps its standard output open.
const HELD_OPEN: &str = "setsid sh -c 'echo > left; exec sleep 5' &
    while [ ! -e left ]; do sleep 0.01; done; exit ";

fn held_open(status: u8) -> (tempfile::TempDir, GovernedRun) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut run = shell(&format!("{HELD_OPEN}{status}"));
    run.command.directory = folder.path().into();
    (folder, run)
}

#[test]
fn output_that_cannot_be_read_to_its_end_is_partial() {
    for status in [0, 5] {
        let (_folder, run) = held_open(status);
        let (reason, fault) = (HaltReason::FaultTerminated, ExecutionFaultType::Partial);
        let expected = End::fault(status, reason, fault, "SBX-003");
        assert_eq!(End::of(&finished(&Place::new(), &run)), expected);
    }
}

/// Nobody is asked where Phase-21 terminates, and what nobody let pass has not passed.
#[test]
fn what_is_terminated_under_a_hold_never_exits_with_0() {
    for (status, expected) in [(0, EXIT_FAULT_TERMINATED), (5, 5)] {
        for policy in [HoldPolicy::After, HoldPolicy::OnFailure] {
            let (place, (_folder, run)) = (Place::new(), held_open(status));
            let (engine, terms) = (place.engine(), HoldTerms::of(policy));
            let (by, sink) = (origin(), &mut Discard);
            let held = engine.run_held(&by, (), &run, &terms, &mut NoPrompt, sink, &mut NoSignals);
            let report = accepted(held);
            engine.close().expect("it closes");
            check(&place, &report);
            let (reason, fault) = (HaltReason::FaultTerminated, ExecutionFaultType::Partial);
            assert_eq!(End::of(&report), End::fault(expected, reason, fault, "SBX-003"));
        }
    }
}

#[test]
fn a_program_that_is_not_there_never_starts() {
    for program in ["no-such-program-at-all", "/no/such/file", "", " ", "a\nb"] {
        let place = Place::new();
        let report = finished(&place, &run_of(program, &[]));
        let end = End::stop(127, StopCondition::ExecutorNotRegistered, 0);
        assert_eq!(End::of(&report), end, "{program:?}");
        assert!(report.details.is_some() && report.summary.execution.is_none());
        assert_eq!(captured(&place, OutputStream::Stdout), Vec::<Vec<u8>>::new());
    }
}

#[test]
fn a_file_that_may_not_be_executed_never_starts() {
    let place = Place::new();
    let script = place.beside("script");
    std::fs::write(&script, "#!/bin/sh\n").expect("it can be written");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o600)).expect("it is ours");
    let report = finished(&place, &run_of(script.to_str().expect("text"), &[]));
    assert_eq!(End::of(&report), End::stop(126, StopCondition::MissingAuthorization, 0));
}

#[test]
fn an_interpreter_that_only_the_start_reveals_stops_the_loop_too() {
    let place = Place::new();
    let script = place.beside("no-interpreter");
    // A directory executes nothing.
    let make = format!("echo '#!/usr' > {0} && chmod 700 {0}", script.display());
    assert_eq!(finished(&place, &shell(&make)).exit_status, 0);
    let report = finished(&place, &run_of(script.to_str().expect("text"), &[]));
    assert_eq!(End::of(&report), End::stop(126, StopCondition::MissingAuthorization, 1));
}

#[test]
fn a_signal_before_the_start_keeps_the_command_from_starting() {
    let place = Place::new();
    let (sender, mut signals) = signal_channel().expect("descriptors");
    sender.send(ForwardedSignal::Interrupt).expect("the receiver lives");
    let witness = place.beside("witness");
    let run = shell(&format!("touch {}", witness.display()));
    let report = accepted(place.engine().run(&origin(), (), &run, &mut Discard, &mut signals));
    assert_eq!(End::of(&report), End::interrupted(130, 0));
    assert!(!witness.exists());
    check(&place, &report);
}

/// Sends a signal when the command has said something.
struct Impatient {
    sender: SignalSender,
    signal: ForwardedSignal,
}

impl OutputSink for Impatient {
    fn accept(&mut self, _: Stream, chunk: &[u8]) -> io::Result<usize> {
        self.sender.send(self.signal)?;
        Ok(chunk.len())
    }
}

#[test]
fn a_signal_of_nobody_known_while_the_command_runs_is_no_human_abort() {
    let cases = [
        ("echo ready; exec sleep 100", ForwardedSignal::Interrupt, 130),
        (
            "trap 'exit 0' INT; echo ready; while :; do sleep 1; done",
            ForwardedSignal::Interrupt,
            130,
        ),
        ("echo ready; exec sleep 100", ForwardedSignal::Terminate, 143),
    ];
    for (script, signal, status) in cases {
        let place = Place::new();
        let (sender, mut signals) = signal_channel().expect("descriptors");
        let mut sink = Impatient { sender, signal };
        let run = GovernedRun { max_attempts: 3, ..shell(script) };
        let report = accepted(place.engine().run(&origin(), (), &run, &mut sink, &mut signals));
        assert_eq!(End::of(&report), End::interrupted(status, 1), "{script}");
        assert_eq!(captured(&place, OutputStream::Stdout), [b"ready\n"]);
        check(&place, &report);
    }
}

#[test]
fn a_crash_is_tried_again_up_to_the_attempts_that_were_asked_for() {
    for attempts in 1..=3 {
        let place = Place::new();
        let run = GovernedRun { max_attempts: attempts, ..shell("echo again; kill -SEGV $$") };
        let (reason, fault) = (HaltReason::FaultTerminated, ExecutionFaultType::Crash);
        let end = End { attempts, ..End::fault(139, reason, fault, "SBX-004") };
        assert_eq!(End::of(&finished(&place, &run)), end);
        assert_eq!(captured(&place, OutputStream::Stdout).len(), usize::from(attempts));
        assert_eq!(decisions(&place), expected_decisions(attempts));
    }
}

fn decisions(place: &Place) -> Vec<(u8, String, String)> {
    let decided = place.events().into_iter().filter_map(|event| match event {
        Event::SandboxFault(SandboxFaultEvent::SandboxDecided(decided)) => Some((
            decided.attempt,
            decided.sandbox_decision.name().to_string(),
            decided.reason_code.to_string(),
        )),
        _ => None,
    });
    decided.collect()
}

/// RETRY as long as an attempt is left, then TERMINATE.
fn expected_decisions(attempts: u8) -> Vec<(u8, String, String)> {
    let row =
        |attempt, decision: &str, code: &str| (attempt, decision.to_string(), code.to_string());
    let mut rows: Vec<_> = (1..attempts).map(|attempt| row(attempt, "RETRY", "SBX-OK")).collect();
    rows.push(row(attempts, "TERMINATE", "SBX-004"));
    rows
}

#[test]
fn an_attempt_that_succeeds_after_a_crash_completes_the_loop() {
    let place = Place::new();
    let count = place.beside("count");
    let script =
        format!("echo x >> {0}; test $(wc -l < {0}) = 2 || kill -SEGV $$", count.display());
    let run = GovernedRun { max_attempts: 3, ..shell(&script) };
    let report = finished(&place, &run);
    let end = End {
        attempts: 2,
        fault_code: Some("SBX-OK".to_string()),
        ..End::response(0, HaltReason::Completed)
    };
    assert_eq!(End::of(&report), end);
}

#[test]
fn a_failure_response_is_not_tried_again() {
    let place = Place::new();
    let run = GovernedRun { max_attempts: 3, ..shell("exit 1") };
    assert_eq!(finished(&place, &run).summary.attempts, 1);
}

#[test]
fn a_ceiling_narrows_what_a_fault_permits() {
    let place = Place::new();
    let ceiling = RetryPolicy::RetryOnce;
    let run = GovernedRun { max_attempts: 3, retry_ceiling: ceiling, ..shell("kill -SEGV $$") };
    assert_eq!(finished(&place, &run).summary.attempts, 2);
}

#[test]
fn each_step_is_caused_by_the_last_record_of_the_step_before() {
    let place = Place::new();
    finished(&place, &shell("true"));
    let lines = place.asked_lines();
    let story = lines.first().map(|line| line.envelope.correlation.clone());
    for line in &lines {
        assert_eq!(Some(&line.envelope.correlation), story.as_ref());
        assert!(line.envelope.causation.is_none_or(|cause| cause < line.sequence));
    }
    let without_cause = lines.iter().filter(|line| line.envelope.causation.is_none());
    let times: Vec<u64> = without_cause.map(|line| line.time).collect();
    assert!(times.iter().all(|time| Some(time) == times.first()), "only the first step has none");
}

#[test]
fn a_command_does_not_start_when_the_log_cannot_be_written() {
    let place = Place::new();
    let disk = Brittle::new(place.storage());
    let engine = Engine::open_with(disk.clone(), EngineOptions::simulated()).expect("it opens");
    disk.break_down();
    let witness = place.beside("witness");
    let run = shell(&format!("touch {}", witness.display()));
    let failed = engine.run(&origin(), (), &run, &mut Discard, &mut NoSignals);
    assert!(matches!(failed, Err(RunError::Submit(_))), "{failed:?}");
    assert!(!witness.exists());
}

/// Breaks the disk when the command has said something.
struct Saboteur(Brittle);

impl OutputSink for Saboteur {
    fn accept(&mut self, _: Stream, chunk: &[u8]) -> io::Result<usize> {
        self.0.break_down();
        Ok(chunk.len())
    }
}

#[test]
fn a_log_that_fails_under_a_command_is_told_with_the_status_that_the_command_ran_to() {
    let place = Place::new();
    let disk = Brittle::new(place.storage());
    let engine = Engine::open_with(disk.clone(), EngineOptions::simulated()).expect("it opens");
    let run = shell("echo hello; exit 7");
    let failed = engine.run(&origin(), (), &run, &mut Saboteur(disk), &mut NoSignals);
    assert!(matches!(failed, Err(RunError::NotSynced { exit_status: 7, .. })), "{failed:?}");
    drop(engine);
    // The end was written and not acknowledged: found again it is true, and lost it leaves the loop
    // open.
    let engine = place.engine();
    let live = engine.query(|world| world.live_loops().count()).expect("the log works again");
    let is_failure = |event: &Event| match event {
        Event::ExecutionLoop(ExecutionLoopEvent::ResponseEvaluated(evaluated)) => {
            evaluated.exit == Exit::Status(7)
        }
        _ => false,
    };
    assert_eq!(place.events().iter().filter(|event| is_failure(event)).count(), 1 - live);
}

#[test]
fn a_run_costs_one_sync_of_the_log_before_the_command_and_one_behind_it() {
    let place = Place::new();
    let disk = GatedStorage::new(&place.log());
    let engine = Engine::open_with(disk.clone(), EngineOptions::simulated()).expect("it opens");
    accepted(engine.run(&origin(), (), &shell("true"), &mut Discard, &mut NoSignals));
    for command in ["true", "echo hello; echo there >&2", "exit 3"] {
        let before = disk.syncs();
        accepted(engine.run(&origin(), (), &shell(command), &mut Discard, &mut NoSignals));
        assert_eq!(disk.syncs() - before, 2, "{command}");
    }
}

/// What a run that was carried out came to.
fn accepted(run: Result<KeyedRun, RunError>) -> RunReport {
    run.and_then(KeyedRun::ended).unwrap_or_else(|error| panic!("{error}"))
}
