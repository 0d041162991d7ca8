//! Random commands on loops that get deep into the rules: mostly what the state asks for, sometimes
//! not.

use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::evidence_capture::{
    EvidenceItem, OutputGap, OutputStream, ResourceUsage, StopCondition, StopFacts,
};
use holdpoint_domain::execution_loop::{
    DispatchFacts, ExecutionLoopCommand, ExecutionLoopState, ExecutorIdentityStatus,
    ExecutorResponseType, Exit, InitializeLoop, ReportResponse,
};
use holdpoint_domain::human_decision::{
    AnswerHumanDecision, HeldRequest, HoldPolicy, HoldTerms, HumanDecision, HumanDecisionCommand,
    OverrideField, OverrideVisibility, ShowOutput,
};
use holdpoint_domain::log::ConfigurationChanged;
use holdpoint_domain::log::{LogCommand, RecordFingerprint};
use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, ReportFault, RetryPolicy, SandboxFaultCommand,
};
use quickcheck::{Arbitrary as _, Gen};

use super::held::{terminal, terms, timeout};
use super::{CLEAR, ENVELOPE, SECRET, Story, cut_item, output_item, piece};

/// The next command for a story. New loops begin now and then, and the story turns to them.
pub fn next_command(story: &mut Story, random: &mut Gen) -> Command {
    if story.loop_id.is_empty() || one_in(random, 15) {
        let command = initialize(story, random);
        story.loop_id = command.loop_id();
        return Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command));
    }
    if one_in(random, 6) {
        let ids: Vec<String> =
            story.world.live_loops().map(|entity| entity.loop_id().to_owned()).collect();
        if let Some(id) = random.choose(&ids) {
            story.loop_id.clone_from(id);
        }
    }
    on_loop(story, random)
}

/// A command on the story's loop: what its state asks for, or anything.
pub(super) fn on_loop(story: &Story, random: &mut Gen) -> Command {
    if one_in(random, 8) { anything(story, random) } else { fitting(story, random) }
}

/// A command that the state of the loop asks for.
fn fitting(story: &Story, random: &mut Gen) -> Command {
    use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};
    let state = story.world.live_loop(&story.loop_id).map(|entity| entity.state());
    match state {
        Some(Init) => story.dispatch_knowing(facts(random)),
        Some(Dispatched) => story.await_response(),
        Some(AwaitingResponse) => match u8::arbitrary(random) % 4 {
            0 => story.report(*random.choose(ExecutorResponseType::ALL).unwrap()),
            1 => story.fault(*random.choose(ExecutionFaultType::ALL).unwrap()),
            _ => capture(story, random),
        },
        Some(Evaluated) => evaluated(story, random),
        Some(Halted) | None => story.complete(),
    }
}

/// An answer where a person was asked; else a question or an end.
fn evaluated(story: &Story, random: &mut Gen) -> Command {
    let is_asked = story.entity().open_request().is_some();
    let takes_another = !story.entity().ends_with_continue();
    if is_continued(story) && !one_in(random, 8) {
        return story.instruct(ENVELOPE);
    }
    if is_asked && takes_another && !one_in(random, 3) {
        return story.decides(HumanDecision::Continue);
    }
    match u8::arbitrary(random) % 9 {
        8 if !is_asked => story.instruct(ENVELOPE),
        0 | 3 | 4 if is_asked => {
            let field = *random.choose(OverrideField::ALL).unwrap();
            Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(story.overrides(field)))
        }
        1 | 5 | 6 if is_asked => {
            let request_id = story.held().request_id().to_owned();
            Command::HumanDecision(HumanDecisionCommand::ShowOutput(ShowOutput { request_id }))
        }
        0 => story.retry(),
        1 => story.complete(),
        2 => story.ask(),
        _ if is_asked => decision(story, random),
        3 | 4 => story.retry(),
        5 => story.complete(),
        _ => story.ask(),
    }
}

/// Tells whether the last question of the attempt was decided as CONTINUE.
fn is_continued(story: &Story) -> bool {
    let decided = story.entity().attempt_request().and_then(HeldRequest::decided);
    decided.is_some_and(|decided| decided.record.decision == HumanDecision::Continue)
}

/// Any command at all, with arbitrary content.
fn anything(story: &Story, random: &mut Gen) -> Command {
    match u8::arbitrary(random) % 14 {
        12 => Command::Log(LogCommand::RecordConfiguration(ConfigurationChanged {
            digest: one_in(random, 2).then(|| sha256(&[u8::arbitrary(random)])),
        })),
        9 => story.ask(),
        10 => decision(story, random),
        11 => story.interrupt(15, one_in(random, 2).then_some((4_711, 1_000))),
        0 => story.dispatch(),
        1 => story.retry(),
        2 => story.await_response(),
        3 => capture(story, random),
        4 => Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(response(story, random))),
        5 => Command::SandboxFault(SandboxFaultCommand::ReportFault(fault(story, random))),
        6 => story.complete(),
        7 => story.stop(*random.choose(StopCondition::ALL).unwrap(), stop_facts(random)),
        8 => Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})),
        _ => {
            Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize(story, random)))
        }
    }
}

/// Something about a request of any loop, settled ones included.
fn decision(story: &Story, random: &mut Gen) -> Command {
    let open = story.world.open_requests().map(|(_, held)| held);
    let mut ids: Vec<String> = open.map(|held| held.request_id().to_owned()).collect();
    if ids.is_empty() || one_in(random, 4) {
        ids.extend(story.world.closed_requests().map(|held| held.request_id().to_owned()));
    }
    let request_id = random.choose(&ids).cloned().unwrap_or_default();
    match u8::arbitrary(random) % 8 {
        0 | 1 => story.expire(&request_id),
        2 => Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(OverrideVisibility {
            request_id,
            actor: actor(random),
            human_id: if one_in(random, 3) { person(random) } else { "carol".to_owned() },
            field: *random.choose(OverrideField::ALL).unwrap(),
            reason: "it is needed".into(),
            means: terminal(),
        })),
        3 if one_in(random, 2) => {
            Command::HumanDecision(HumanDecisionCommand::ShowOutput(ShowOutput { request_id }))
        }
        _ => {
            Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(AnswerHumanDecision {
                request_id,
                loop_id: one_in(random, 9).then(|| story.loop_id.clone()),
                entropy: story.entropy(),
                actor: actor(random),
                human_id: person(random),
                decision: *random.choose(HumanDecision::ALL).unwrap(),
                reason: (!one_in(random, 4)).then(|| String::arbitrary(random) + "x"),
                escalation_target: one_in(random, 2).then(|| "boss".to_owned()),
                means: terminal(),
            }))
        }
    }
}

fn actor(random: &mut Gen) -> Actor {
    if one_in(random, 9) { *random.choose(Actor::ALL).unwrap() } else { Actor::Human }
}

fn person(random: &mut Gen) -> String {
    (*random.choose(&["alice", "bob", "boss", "carol", "carol", "alice"]).unwrap()).to_owned()
}

/// Most terms leave little time, so that timeouts happen.
fn hold(random: &mut Gen) -> HoldTerms {
    let policy = *random.choose(HoldPolicy::ALL).unwrap();
    HoldTerms {
        retry_needs_person: bool::arbitrary(random),
        decision_timeout_ms: timeout(1 + u64::arbitrary(random) % 40),
        ..terms(policy)
    }
}

pub(super) fn initialize(story: &Story, random: &mut Gen) -> InitializeLoop {
    let mut command = story.initialize();
    command.max_attempts = 1 + u8::arbitrary(random) % 3;
    command.retry_ceiling = *random.choose(RetryPolicy::ALL).unwrap();
    command.timeout_ms = Option::arbitrary(random);
    command.hold = hold(random);
    command.command_line = String::arbitrary(random);
    match u8::arbitrary(random) % 16 {
        0 => command.handshake.trust_status = ExecutorIdentityStatus::Revoked,
        1 => command.observer.executor_id = "someone else".into(),
        2 => command.envelope = Vec::arbitrary(random),
        3 => command.executor_id = String::arbitrary(random),
        4 => command.max_attempts = u8::arbitrary(random),
        5 => command.observer.envelope_hash = String::arbitrary(random),
        _ => {}
    }
    command
}

fn facts(random: &mut Gen) -> DispatchFacts {
    if !one_in(random, 5) {
        return CLEAR;
    }
    DispatchFacts {
        authorization_present: Option::arbitrary(random),
        executor_registered: Option::arbitrary(random),
        resources_available: Option::arbitrary(random),
        intent_clear: Option::arbitrary(random),
        human_abort_signaled: Option::arbitrary(random),
    }
}

/// What a caller may state of the world outside; now and then a fact of the log's own.
fn stop_facts(random: &mut Gen) -> StopFacts {
    let own = if one_in(random, 6) { Option::arbitrary(random) } else { None };
    StopFacts {
        authorization_present: Option::arbitrary(random),
        executor_registered: Option::arbitrary(random),
        resources_available: Option::arbitrary(random),
        intent_clear: Option::arbitrary(random),
        human_abort_signaled: Option::arbitrary(random),
        chain_valid: own,
        ..StopFacts::default()
    }
}

fn capture(story: &Story, random: &mut Gen) -> Command {
    if one_in(random, 3) {
        return record_output(story, random);
    }
    let count = usize::arbitrary(random) % 4;
    story.capture((0..count).map(|_| item(random)).collect())
}

/// A piece that follows the ones before it, or one from anywhere.
fn record_output(story: &Story, random: &mut Gen) -> Command {
    let stream = *random.choose(OutputStream::ALL).unwrap();
    let recorded = story.world.recorded_output(&story.loop_id);
    let end = recorded.iter().find(|it| it.stream == stream).map_or(0, |it| it.end);
    let offset = if one_in(random, 6) { u64::arbitrary(random) } else { end };
    let mut next = piece(stream, offset, &Vec::<u8>::arbitrary(random));
    if one_in(random, 4) {
        let length = u64::arbitrary(random) % 100;
        next.offset = next.offset.saturating_add(length);
        next.gap = Some(OutputGap { length, running_sha256: sha256(SECRET) });
    }
    story.record_output(vec![next])
}

fn item(random: &mut Gen) -> EvidenceItem {
    match u8::arbitrary(random) % 7 {
        6 => EvidenceItem::ExecutorOutputPieces {
            stream: *random.choose(OutputStream::ALL).unwrap(),
            true_length: if one_in(random, 3) { u64::arbitrary(random) } else { u64::MAX },
            whole_sha256: sha256(SECRET),
        },
        0 => EvidenceItem::TimestampEvent(Vec::arbitrary(random)),
        1 => EvidenceItem::ResourceSnapshot(ResourceUsage {
            wall_ns: u64::arbitrary(random),
            user_cpu_ns: u64::arbitrary(random),
            system_cpu_ns: u64::arbitrary(random),
            peak_memory_bytes: u64::arbitrary(random),
        }),
        2 => output_item(&Vec::<u8>::arbitrary(random)),
        3 => cut_item(SECRET, u64::arbitrary(random) % 9, SECRET.len() as u64 + 7),
        _ => output_item(SECRET),
    }
}

fn response(story: &Story, random: &mut Gen) -> ReportResponse {
    let status = *random.choose(ExecutorResponseType::ALL).unwrap();
    let mut response = story.response(status);
    response.error = Option::arbitrary(random);
    response.exit = Exit::Status(i32::arbitrary(random));
    match u8::arbitrary(random) % 4 {
        0 => response.executor_id = String::arbitrary(random),
        1 => response.instruction_hash = String::arbitrary(random),
        2 => response.loop_id = String::arbitrary(random),
        _ => {}
    }
    response
}

fn fault(story: &Story, random: &mut Gen) -> ReportFault {
    let fault_type = *random.choose(ExecutionFaultType::ALL).unwrap();
    let mut fault = story.fault_of(fault_type, u8::arbitrary(random) % 5);
    fault.fault_message = String::arbitrary(random);
    fault
}

fn one_in(random: &mut Gen, n: u8) -> bool {
    u8::arbitrary(random) % n == 0
}
