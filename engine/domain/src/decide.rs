//! Events, or a refusal, for a command: pure functions of the world, the command and its time.
//!
//! What must never be silent is an event, not a refusal (property E3): an illegal transition, a
//! stop condition and a failed handshake halt the loop with a reason. A refusal leaves no trace
//! but, where a rule on scope, idempotency, gating or continuity says no, [`Refusal::audit`].

mod batch;
mod decision_point;
mod dispatch;
mod evidence;
mod fault;
pub(crate) mod floor;
mod form;
mod halt;
mod human_decision;
mod initialize;
mod interruption_thread;
pub(crate) mod policy;
mod registration;
mod response;
mod thread_session;
mod words;
mod writer;

use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;

use crate::command::{Command, Entropy};
use crate::event::{Event, FingerprintRecorded};
use crate::execution_loop::ExecutionLoopState;
use crate::hash::Digest;
use crate::refusal::{DecisionRefusal, Refusal};
use crate::time::Timestamp;
use crate::world::{ExecutionLoop, STATE_SCHEMA_VERSION, World};
use batch::Batch;
pub use floor::check_floor;
pub(crate) use human_decision::entry_after;
pub(crate) use words::shown;
pub use writer::decide_for_writer;

/// What follows from a command at a time. `at` must be the time of the records that will hold the
/// events, as evidence carries it. The events are one batch: all of them are recorded, in order,
/// or none.
///
/// # Errors
/// A [`Refusal`] when a rule says no. Nothing but [`Refusal::audit`] is to be recorded then.
pub fn decide(world: &World, command: &Command, at: Timestamp) -> Result<Vec<Event>, Refusal> {
    let events = by_system(world, command, at)?;
    check_new_requests(world, &events)?;
    Ok(events)
}

/// An id names one question for ever, whichever command asks it.
fn check_new_requests(world: &World, events: &[Event]) -> Result<(), Refusal> {
    let asked = events.iter().filter_map(|event| match event {
        Event::DecisionRequested(body) => Some(&body.request.request_id),
        _ => None,
    });
    for request_id in asked {
        if world.hot.requests.contains(request_id) || world.was_used(request_id) {
            let request_id = request_id.to_string();
            return Err(DecisionRefusal::RequestExists { request_id }.into());
        }
    }
    Ok(())
}

fn by_system(world: &World, command: &Command, at: Timestamp) -> Result<Vec<Event>, Refusal> {
    match command {
        Command::InitializeLoop(c) => initialize::initialize(world, c, at),
        Command::DispatchLoop(c) => {
            on_loop(world, &c.loop_id, c.entropy, at, |l, b| dispatch::dispatch(l, b, c))
        }
        Command::RetryLoop(c) => {
            on_loop(world, &c.loop_id, c.entropy, at, |l, b| dispatch::retry(l, b, c))
        }
        Command::AwaitResponse(c) => {
            on_loop(world, &c.loop_id, c.entropy, at, dispatch::await_response)
        }
        Command::CaptureEvidence(c) => {
            on_loop(world, &c.loop_id, c.entropy, at, |l, b| evidence::capture(l, b, c))
        }
        Command::ReportResponse(c) => {
            on_loop(world, &c.loop_id, c.entropy, at, |l, b| response::report(l, b, c))
        }
        Command::ReportFault(c) => {
            on_loop(world, &c.loop_id, c.entropy, at, |l, b| fault::report(l, b, c))
        }
        Command::CompleteLoop(c) => on_loop(world, &c.loop_id, c.entropy, at, halt::complete),
        Command::StopLoop(c) => {
            on_loop(world, &c.loop_id, c.entropy, at, |l, b| halt::stop(l, b, c))
        }
        Command::InterruptLoop(c) => {
            on_loop(world, &c.loop_id, c.entropy, at, |l, b| halt::interrupt(l, b, c))
        }
        Command::RequestDecision(c) => {
            let of_log = world.policy();
            on_loop(world, &c.loop_id, c.entropy, at, |l, b| {
                floor::check_asked(&of_log, l).map_err(policy::loosened)?;
                human_decision::request(l, b, c)
            })
        }
        Command::AnswerDecision(c) => human_decision::answer(world, c, at),
        Command::ExpireDue(c) => human_decision::expire(world, c, at),
        Command::OverrideVisibility(c) => human_decision::override_visibility(world, c, at),
        Command::ChangeCapability(_)
        | Command::RegisterTenant(_)
        | Command::RegisterUser(_)
        | Command::RegisterDevice(_)
        | Command::RegisterSession(_)
        | Command::RegisterWorkOrder(_)
        | Command::RegisterLease(_) => registration::register(world, command, at),
        Command::TakeTurn(_)
        | Command::ConfirmCommitRow(_)
        | Command::ClarifyCommitRow(_)
        | Command::RespondCommitRow(_)
        | Command::DispatchCommitRow(_)
        | Command::WaitCommitRow(_)
        | Command::ReadAuditRows(_)
        | Command::ExpireThread(_)
        | Command::CloseThread(_) => interruption_thread::on_thread(world, command, at),
        Command::CreateDecisionPoint(_)
        | Command::RespondToDecisionPoint(_)
        | Command::RefineDecisionPoint(_)
        | Command::CancelDecisionPoint(_)
        | Command::EscalateDecisionPoint(_)
        | Command::RemindDecisionPoint(_)
        | Command::ConsumeApproval(_)
        | Command::ExpireDecisionPoint(_) => decision_point::on_decision_point(world, command, at),
        Command::SetPolicy(c) => policy::set(world, c),
        Command::RelaxPolicy(c) => policy::relax(world, c, at),
        Command::RecordConfiguration(body) => Ok(vec![body.clone().into()]),
        Command::RecordFingerprint => Ok(vec![fingerprint(world)]),
    }
}

/// Every command on a loop: the loop is live, and its evidence so far is sound; else it stops.
fn on_loop(
    world: &World,
    loop_id: &str,
    entropy: Entropy,
    at: Timestamp,
    act: impl FnOnce(&ExecutionLoop, &mut Batch<'_>) -> Result<(), Refusal>,
) -> Result<Vec<Event>, Refusal> {
    let live = world.live_loop(loop_id).filter(|l| l.state() != ExecutionLoopState::Halted);
    let Some(entity) = live else {
        return Err(Refusal::LoopNotLive { loop_id: words::shown(loop_id) });
    };
    let mut batch = Batch::of(entity, entropy, at);
    match halt::continuity_fault(entity, at) {
        Some((condition, details)) => batch.stop(entity.state(), condition, &details)?,
        None => act(entity, &mut batch)?,
    }
    Ok(batch.into_events())
}

fn fingerprint(world: &World) -> Event {
    let fingerprint = Digest::from_bytes(world.fingerprint());
    FingerprintRecorded { schema: STATE_SCHEMA_VERSION, fingerprint }.into()
}
