//! Events, or a refusal, for a command: pure functions of the world, the command and its time.
//!
//! What must never be silent is an event, not a refusal (property E3): an illegal transition, a
//! stop condition and a failed handshake halt the loop with a reason. A refusal leaves no trace
//! but, where a rule on scope, idempotency, gating or continuity says no, [`Refusal::audit`].
//!
//! A command may carry the version that it was made for (property E6). What the log's own writer
//! says of the log is recorded where the state does not contradict it.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt;

use crate::application::event::ReducerFingerprintRecorded;
use crate::core::clocks::Moment;
use crate::core::doubt::{Doubt, are, records_named};
use crate::core::hash::Digest;
use crate::core::ids::Entropy;
use crate::core::limits::{CLOCK_AHEAD_NS, CLOCK_STEP_NS};
use crate::core::time::Timestamp;
use crate::decision_point::check::check_none_reserved;
use crate::decision_point::command::DecisionPointCommand;
use crate::evidence_capture::command::EvidenceCaptureCommand;
use crate::evidence_capture::types::GuardedEnd;
use crate::execution_loop::command::{
    CompleteLoop, DispatchLoop, ExecutionLoopCommand, InitializeLoop, InstructLoop,
};
use crate::governed::aggregate::RequestPlace;
use crate::governed::batch::OnLoop;
use crate::governed::refusal::{LoopRefusal, Ruling};
use crate::governed::{answer, attempt, batch, capture, initialization, pieces, request};
use crate::human_decision::command::HumanDecisionCommand;
use crate::human_decision::event::HumanDecisionEvent;
use crate::human_decision::refusal::HumanDecisionRefusal;
use crate::interruption_thread::command::InterruptionThreadCommand;
use crate::interruption_thread::event::InterruptionThreadEvent;
use crate::interruption_thread::rules::ThreadContext;
use crate::interruption_thread::session::ended_with_session;
use crate::interruption_thread::types::Directive;
use crate::log::command::{LogCommand, RecordFingerprint, WriterCommand};
use crate::log::event::{
    ClockStepAccepted, FingerprintRecorded, PolicyUnknown, are_records_before,
};
use crate::registration::command::RegistrationCommand;
use crate::registration::types::{RegistrationStatus, SessionStatus};
use crate::sandbox_fault::command::SandboxFaultCommand;
use crate::world::command::Command;
use crate::world::continued::continue_log;
use crate::world::due::limit_of_thread;
use crate::world::event::Event;
use crate::world::keys::KeyReceipt;
use crate::world::questions::with_questions;
use crate::world::recalled::STATE_SCHEMA_VERSION;
use crate::world::refusal::Refusal;
use crate::world::{World, policy};
use crate::{application, decision_point, interruption_thread, registration};

/// Decides what follows from a command at a moment: that of the records that will hold the events,
/// as evidence carries its time. A bare time is one that the own clock agrees with. The events are
/// one batch: all of them are recorded, in order, or none.
///
/// # Errors
/// A [`Refusal`] when a rule says no. Nothing but [`Refusal::audit`] is to be recorded then.
pub fn decide(
    world: &World,
    command: &Command,
    now: impl Into<Moment>,
) -> Result<Vec<Event>, Refusal> {
    check_sure(world, command)?;
    world.check_people(command)?;
    let events = with_questions(world, by_system(world, command, now.into())?);
    check_new_requests(world, &events)?;
    check_sure_thread(world, command, &events)?;
    Ok(events)
}

/// A salvage keeps records that nothing proves, and others are lost. No attempt begins and no loop
/// passes its hold point because of what the ones may have said, or the others may have ended.
fn check_sure(world: &World, command: &Command) -> Result<(), Refusal> {
    let Command::ExecutionLoop(
        ExecutionLoopCommand::DispatchLoop(DispatchLoop { loop_id, .. })
        | ExecutionLoopCommand::RetryLoop(DispatchLoop { loop_id, .. })
        | ExecutionLoopCommand::InstructLoop(InstructLoop { loop_id, .. })
        | ExecutionLoopCommand::CompleteLoop(CompleteLoop { loop_id, .. }),
    ) = command
    else {
        return Ok(());
    };
    let Some(entity) = world.live_loop(loop_id) else { return Ok(()) };
    refuse_doubted(entity.loop_id(), world.doubt_of_loop(entity))
}

/// Nor does a thread dispatch anything, whichever command leads to it.
fn check_sure_thread(world: &World, command: &Command, events: &[Event]) -> Result<(), Refusal> {
    let dispatches = events.iter().any(|event| {
        matches!(event, Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(row))
            if row.payload.directive == Directive::Dispatch)
    });
    let thread = command.thread().filter(|_| dispatches);
    let live = thread.and_then(|(tenant_id, name)| world.live_thread(tenant_id, name));
    live.map_or(Ok(()), |it| refuse_doubted(&it.correlation_id, world.doubt_of_thread(it)))
}

/// Checks that the recorded result of a command on a loop or a thread still answers it. None does
/// where that is in doubt: automation goes on from a receipt as from an acceptance.
///
/// # Errors
/// [`Refusal::RestsOnUnproven`], [`Refusal::BeganBeforeLoss`].
pub fn check_repeated(
    world: &World,
    command: &Command,
    receipt: &KeyReceipt,
) -> Result<(), Refusal> {
    let is_on_loop = matches!(command, Command::ExecutionLoop(_));
    if !is_on_loop && command.thread().is_none() {
        return Ok(());
    }
    let KeyReceipt { first_sequence: first, last_sequence: last, .. } = *receipt;
    let subject = format!("what record {first} says under the same key");
    refuse_doubted(&subject, world.hot.doubt(first, last, None))
}

fn refuse_doubted(subject: &str, doubt: Option<Doubt>) -> Result<(), Refusal> {
    let Some(doubt) = doubt else { return Ok(()) };
    let subject = subject.to_string();
    Err(match doubt {
        Doubt::Unproven { first, last } => Refusal::RestsOnUnproven { subject, first, last },
        Doubt::LostBefore(sequence) => Refusal::BeganBeforeLoss { subject, sequence },
    })
}

/// An id names one question for ever, whichever command asks it.
fn check_new_requests(world: &World, events: &[Event]) -> Result<(), Refusal> {
    for event in events {
        let Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) = event else {
            continue;
        };
        let request_id = &body.request.request_id;
        if world.hot.requests.contains(request_id) || world.was_used(request_id) {
            let request_id = request_id.to_string();
            return Err(HumanDecisionRefusal::RequestExists { request_id }.into());
        }
    }
    Ok(())
}

fn by_system(world: &World, command: &Command, now: Moment) -> Result<Vec<Event>, Refusal> {
    let at = now.at;
    match command {
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(c)) => {
            initialize(world, c, now)
        }
        Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(c)) => {
            on_loop(world, &c.loop_id, c.entropy, at, |on| {
                attempt::dispatch(on, c, world.hot.set_back)
            })
        }
        Command::ExecutionLoop(ExecutionLoopCommand::RetryLoop(c)) => {
            on_loop(world, &c.loop_id, c.entropy, at, |on| {
                attempt::retry(on, c, world.hot.set_back)
            })
        }
        Command::ExecutionLoop(ExecutionLoopCommand::InstructLoop(c)) => {
            policy::permit_instruction(world)?;
            on_loop(world, &c.loop_id, c.entropy, at, |on| {
                initialization::instruct(on, c, world.hot.set_back)
            })
        }
        Command::ExecutionLoop(ExecutionLoopCommand::AwaitResponse(c)) => {
            on_loop(world, &c.loop_id, c.entropy, at, |on| attempt::await_response(on, c))
        }
        Command::EvidenceCapture(command) => on_evidence(world, command, at),
        Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(c)) => {
            on_loop(world, &c.loop_id, c.entropy, at, |on| attempt::report_response(on, c))
        }
        Command::SandboxFault(SandboxFaultCommand::ReportFault(c)) => {
            on_loop(world, &c.loop_id, c.entropy, at, |on| attempt::report_fault(on, c))
        }
        Command::ExecutionLoop(ExecutionLoopCommand::CompleteLoop(c)) => {
            on_loop(world, &c.loop_id, c.entropy, at, batch::complete)
        }
        Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(c)) => {
            on_loop(world, &c.loop_id, c.entropy, at, |on| attempt::stop(on, c, world.hot.set_back))
        }
        Command::ExecutionLoop(ExecutionLoopCommand::InterruptLoop(c)) => {
            on_loop(world, &c.loop_id, c.entropy, at, |on| batch::interrupt(on, c))
        }
        Command::HumanDecision(command) => on_question(world, command, now),
        Command::Registration(command) => register(world, command, at),
        Command::InterruptionThread(command) => on_thread(world, command, now),
        Command::DecisionPoint(command) => {
            let view = world.points_view(command.decision_id());
            all(decision_point::rules::on_decision_point(view, command, now)?)
        }
        Command::Application(command) => Ok(vec![application::rules::recorded(command).into()]),
        Command::Log(LogCommand::SetPolicy(c)) => policy::set(world, c),
        Command::Log(LogCommand::RelaxPolicy(c)) => policy::relax(world, c, now),
        Command::Log(LogCommand::RecordConfiguration(body)) => Ok(vec![body.clone().into()]),
        Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})) => {
            Ok(vec![fingerprint(world)])
        }
    }
}

/// A question to a person, judged by the clocks by which it ends.
fn on_question(
    world: &World,
    command: &HumanDecisionCommand,
    now: Moment,
) -> Result<Vec<Event>, Refusal> {
    let at = now.at;
    let place = |request_id: &str| world.find_request(request_id);
    let times = |request_id: &str| world.times_of(request_id, now);
    match command {
        HumanDecisionCommand::RequestHumanDecision(c) => {
            if let Some(entity) = world.live_loop(&c.loop_id) {
                policy::check_asked(&world.policy(), entity)?;
            }
            on_loop(world, &c.loop_id, c.entropy, at, |on| request::request(on, c))
        }
        HumanDecisionCommand::AnswerHumanDecision(c) => {
            all(answer::answer(place(&c.request_id), c, at, times(&c.request_id))?)
        }
        HumanDecisionCommand::ExpireDue(c) => {
            all(request::expire(place(&c.request_id), c, at, times(&c.request_id))?)
        }
        HumanDecisionCommand::OverrideVisibility(c) => {
            all(request::override_visibility(place(&c.request_id), c, at, times(&c.request_id))?)
        }
        HumanDecisionCommand::ShowOutput(c) => {
            all(request::show_output(place(&c.request_id), c, at)?)
        }
    }
}

/// A system's events as what the log stores.
fn all<E: Into<Event>>(events: Vec<E>) -> Result<Vec<Event>, Refusal> {
    Ok(events.into_iter().map(E::into).collect())
}

/// A new loop, under an id that nothing had, and as the policy of the log permits.
fn initialize(world: &World, command: &InitializeLoop, now: Moment) -> Result<Vec<Event>, Refusal> {
    initialization::check(command)?;
    let names =
        [&command.executor_id, &command.handshake.executor_id, &command.observer.executor_id];
    check_none_reserved("executor_id", names.into_iter().map(String::as_str))?;
    let loop_id = command.loop_id();
    if world.live_loop(&loop_id).is_some() || world.was_used(&loop_id) {
        return Err(LoopRefusal::LoopExists { loop_id }.into());
    }
    // The approval that permits the start is spent with it.
    let spent = policy::approve_start(world, command, now)?;
    let begun = initialization::initialize(command, now.at)?;
    Ok(spent.into_iter().map(Event::from).chain(begun.into_iter().map(Event::from)).collect())
}

fn on_evidence(
    world: &World,
    command: &EvidenceCaptureCommand,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    match command {
        EvidenceCaptureCommand::CaptureEvidence(c) => {
            let recorded = world.recorded_output(&c.loop_id);
            on_loop(world, &c.loop_id, c.entropy, at, |on| capture::capture(on, recorded, c))
        }
        EvidenceCaptureCommand::RecordOutput(c) => {
            let recorded = world.recorded_output(&c.loop_id);
            on_loop(world, &c.loop_id, c.entropy, at, |on| pieces::record(on, recorded, c))
        }
    }
}

fn on_loop(
    world: &World,
    loop_id: &str,
    entropy: Entropy,
    at: Timestamp,
    act: impl FnOnce(&mut OnLoop<'_>) -> Ruling,
) -> Result<Vec<Event>, Refusal> {
    let live = (world.live_loop(loop_id), world.recorded_output(loop_id));
    all(batch::on_loop(live, loop_id, entropy, at, act)?)
}

/// A registration, and what becomes of everything that a session which is closed leaves behind,
/// said thread by thread.
fn register(
    world: &World,
    command: &RegistrationCommand,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    if let RegistrationCommand::ChangeCapability(c) = command
        && c.is_granted
    {
        check_none_reserved("actor_id", core::iter::once(&*c.actor_id))?;
    }
    let registered = world.registered();
    // A user who was called so before can still be suspended.
    if let RegistrationCommand::RegisterUser(c) = command
        && (c.status == RegistrationStatus::Active
            || registered.user(&c.tenant_id, &c.user_id).is_none())
    {
        check_none_reserved("user_id", core::iter::once(&*c.user_id))?;
    }
    let registration = registration::rules::register(registered, command, at)?;
    let mut events = vec![Event::from(registration)];
    if let RegistrationCommand::RegisterSession(c) = command
        && c.status == SessionStatus::Closed
    {
        let threads = world.hot.threads.of_session(&c.tenant_id, &c.session_id);
        let ended = threads.flat_map(|thread| ended_with_session(thread, &c.session_id, at));
        events.extend(ended.map(Event::from));
    }
    Ok(events)
}

fn on_thread(
    world: &World,
    command: &InterruptionThreadCommand,
    now: Moment,
) -> Result<Vec<Event>, Refusal> {
    let (tenant_id, correlation_id) = command.thread();
    let at = if let InterruptionThreadCommand::ExpireThread(_) = command {
        world.times_of(&limit_of_thread(command.thread()), now).latest()
    } else {
        now.at
    };
    let view = ThreadContext {
        thread: world.thread(tenant_id, correlation_id),
        live: world.live_thread(tenant_id, correlation_id),
        closed_with: world.closed_with(tenant_id, correlation_id),
        registered: world.registered(),
    };
    all(interruption_thread::rules::on_thread(view, command, at)?)
}

fn fingerprint(world: &World) -> Event {
    let fingerprint = Digest::from_bytes(world.fingerprint());
    FingerprintRecorded { schema: STATE_SCHEMA_VERSION, fingerprint }.into()
}

impl World {
    /// The version of what a command is about: the sequence of the last record that changed its
    /// loop, its thread, its decision point or its stream. `None` where the command is about
    /// nothing that lives; a thread or a decision point is known for a while after it ended.
    #[must_use]
    pub fn version_of(&self, command: &Command) -> Option<u64> {
        self.subject_of(command).map(|(_, version)| version)
    }

    /// Checks whether what a command is about is still as the caller saw it. What no longer lives
    /// is left to `decide`, which knows more to say about it.
    ///
    /// # Errors
    /// [`Refusal::StaleVersion`] with both versions.
    pub fn check_version(&self, command: &Command, expected: u64) -> Result<(), Refusal> {
        match self.subject_of(command) {
            Some((entity, found)) if found != expected => {
                Err(Refusal::StaleVersion { entity: String::from(entity), expected, found })
            }
            _ => Ok(()),
        }
    }

    /// The record of what a command asks for, where exactly this was answered before: whoever asks
    /// again is told so, whatever changed since.
    #[must_use]
    pub fn given_before(&self, command: &Command) -> Option<u64> {
        let Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(c)) = command
        else {
            return None;
        };
        let point = self.known_point(&c.decision_id)?;
        point.given_before(&c.by, &c.response, c.comment.as_deref())
    }

    /// The sequence of the last record that changed a thread, also where only the log knows that it
    /// was closed, and that was looked for.
    #[must_use]
    pub fn thread_version(&self, tenant_id: &str, correlation_id: &str) -> Option<u64> {
        let known = self.thread(tenant_id, correlation_id).map(|thread| thread.version);
        known.or_else(|| self.closed_with(tenant_id, correlation_id))
    }

    /// The version of a stream of the application, as far as it is known: the sequence of its last
    /// event. 0: none.
    #[must_use]
    pub fn stream_version(&self, stream: &str) -> u64 {
        let recalled = || self.recalled.stream(stream);
        self.hot.streams.version(stream).or_else(recalled).unwrap_or(0)
    }

    /// The name and the version of what a command is about.
    fn subject_of<'a>(&'a self, command: &'a Command) -> Option<(&'a str, u64)> {
        if let Some((tenant_id, correlation_id)) = command.thread() {
            return Some((correlation_id, self.thread_version(tenant_id, correlation_id)?));
        }
        if let Some(stream) = command.stream() {
            return Some((stream, self.stream_version(stream)));
        }
        if let Some(decision_id) = command.decision_point() {
            let point = self.known_point(decision_id)?;
            return Some((&point.decision_id, point.version));
        }
        let subject = command.subject().filter(|_| !command.is_registration())?;
        let entity = self.live_loop(subject).or_else(|| match self.find_request(subject)? {
            RequestPlace::Live(entity, _) => Some(entity),
            RequestPlace::Closed(_) => None,
        });
        entity.map(|entity| (entity.loop_id(), entity.version))
    }
}

/// Decides what follows from what the log's own writer has seen. As [`decide`].
///
/// # Errors
/// [`Refusal::ContradictsLog`] where the state says otherwise; [`LoopRefusal::LoopNotLive`] of
/// a loop that has ended.
pub fn decide_for_writer(
    world: &World,
    command: &WriterCommand,
    now: impl Into<Moment>,
) -> Result<Vec<Event>, Refusal> {
    let now = now.into();
    let newest = world.totals().last_sequence;
    let event: Event = match command {
        WriterCommand::DeclareLost { loop_id, entropy, end } => {
            return declare_lost(world, (loop_id, *entropy), end.as_ref(), now.at);
        }
        WriterCommand::RecoveryPerformed(body) => {
            let kept = body.last_kept_sequence;
            within("a recovery", body.last_proven_sequence, kept, newest)?;
            unless(body.cut_bytes == 0, "a recovery", "that something was cut", "nothing")?;
            body.clone().into()
        }
        WriterCommand::HeadMissingAccepted(body) => {
            let before = body.first_sequence.saturating_sub(1);
            within("an accepted absence of HEAD", before, body.last_sequence, newest)?;
            // The newest policy may have been behind the last record that is there.
            let unknown = PolicyUnknown { records_lost: 0 }.into();
            let unknown = Some(unknown).filter(|_| !body.is_end_known);
            return Ok([Event::from(body.clone())].into_iter().chain(unknown).collect());
        }
        WriterCommand::ClockStepped(body) => {
            let is_no_step = body.step_ns.unsigned_abs() < CLOCK_STEP_NS;
            unless(is_no_step, "a step of the clock", "a second or more", body.step_ns)?;
            body.clone().into()
        }
        WriterCommand::AcceptClockStep { body, due } => {
            return accept_clock_step(world, body, due, now);
        }
        WriterCommand::ContinueLog { body, lost } => {
            return continue_log(world, body, lost, now);
        }
        WriterCommand::HistoryArchived(body) => {
            let before = body.first_sequence.saturating_sub(1);
            within("an archive", before, body.anchor_sequence, newest)?;
            let anchor = body.anchor_sequence;
            let parted = world.unproven_records().iter().find(|(_, last)| *last >= anchor);
            let parted = parted.filter(|(first, _)| *first <= anchor);
            let (first, last) = parted.unwrap_or_default();
            let together = format!(
                "that {} {} unproven, to be moved only with the record behind that says so",
                records_named(first, last),
                are(first, last)
            );
            let moved = format!("that it begins behind record {anchor}");
            unless(parted.is_some(), "an archive", together, moved)?;
            let is_other_schema = body.state_schema != STATE_SCHEMA_VERSION;
            unless(is_other_schema, "an archive", STATE_SCHEMA_VERSION, body.state_schema)?;
            body.clone().into()
        }
        WriterCommand::SegmentIndexed(body) => {
            let (first, last) = (body.first_sequence, body.last_sequence);
            let is_ahead = !are_records_before(first, last, newest.saturating_add(1));
            let found = format!("{first} to {last}");
            unless(is_ahead, "an index", format!("records up to {newest}"), found)?;
            body.clone().into()
        }
        WriterCommand::UnlockPolicy(body) => {
            crate::world::policy::check_unlocking(world, body)?;
            (**body).clone().into()
        }
    };
    Ok(vec![event])
}

/// The recorder of a loop is gone: it ends, and what was escalated by that is asked of a person.
fn declare_lost(
    world: &World,
    (loop_id, entropy): (&str, Entropy),
    end: Option<&GuardedEnd>,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let lost = on_loop(world, loop_id, entropy, at, |on| batch::lose_recorder(on, end));
    Ok(with_questions(world, lost?))
}

/// The end of all that is due by the old time, and then that a person accepted the step.
fn accept_clock_step(
    world: &World,
    body: &ClockStepAccepted,
    due: &[Command],
    now: Moment,
) -> Result<Vec<Event>, Refusal> {
    let ahead_ns = world.log_time(now).nanoseconds_since(now.clock);
    let is_as_stated = (body.log_time, body.clock) == (now.at, now.clock);
    let (expected, found) = (format!("{} at {}", now.clock, now.at), format!("{}", body.clock));
    unless(!is_as_stated, "a step of the clock", expected, found)?;
    let expected = "a newest record that is ahead by more than a minute";
    unless(ahead_ns <= CLOCK_AHEAD_NS, "a step of the clock", expected, ahead_ns)?;
    let missing = world.due(now).len().saturating_sub(due.len());
    unless(missing > 0, "a step of the clock", "the end of all that is due", missing)?;
    let mut events = Vec::new();
    for command in due {
        events.extend(by_system(world, command, now)?);
    }
    events.push(body.clone().into());
    Ok(events)
}

/// The event that states what a reducer of the application made of the events up to a record. Only
/// a program that has the reducer knows that: no command says it.
///
/// # Errors
/// A name of it is malformed, or it covers records that are not there.
pub fn decide_for_reducer(
    world: &World,
    stated: &ReducerFingerprintRecorded,
) -> Result<Event, Refusal> {
    application::rules::check_fingerprint(stated, world.totals().last_sequence)?;
    Ok(stated.clone().into())
}

/// `first` to `last` are records that there are, or were; `first` may lie before the first one.
fn within(statement: &'static str, first: u64, last: u64, newest: u64) -> Result<(), Refusal> {
    let found = format!("{first} to {last}");
    unless(first > last || last > newest, statement, format!("records up to {newest}"), found)
}

pub(super) fn unless(
    is_contradicted: bool,
    statement: &'static str,
    expected: impl fmt::Display,
    found: impl fmt::Display,
) -> Result<(), Refusal> {
    if !is_contradicted {
        return Ok(());
    }
    let (expected, found) = (expected.to_string(), found.to_string());
    Err(Refusal::ContradictsLog { statement, expected, found })
}
