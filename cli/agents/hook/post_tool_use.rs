//! `holdpoint hook post-tool-use`: a tool has run, or failed. What the host says of it is recorded
//! beside the approval that was spent for the call: a claim, which proves nothing and changes
//! nothing of what was decided.
//!
//! The tool has run already, so nothing can be held here: what fails is told to the host, by an
//! exit of 1, and the outcome stays unknown.

use super::answer::Answer;
use super::ask::is_ours;
use super::bound_input::BoundInput;
use super::input::{Input, read};
use super::{LOCK_WAIT, Terms, deadline};
use crate::agents::hook::describe;
use crate::args::host::{Event, Host};
use crate::log::agent_sessions::{asked_for, requester};
use crate::log::open::open_log;
use crate::ui::text::visible_once;
use holdpoint_domain::core::actor::{Authentication, Principal};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::decision_point::{
    ActionBinding, ClaimedStatus, DecisionPoint, DecisionPointCommand, MAX_EXCERPT_BYTES,
    OutcomeClaim, ReportOutcome,
};
use holdpoint_domain::world::waiting::WaitingCommand;
use holdpoint_domain::{Command, World};
use holdpoint_engine::Engine;
use holdpoint_engine::executor::ends_without_secrets;
use holdpoint_engine::log::{DeferredOutcome, OpenError, keep_outcome};
use holdpoint_engine::shell::{Conditions, EngineError, IdempotencyKey, Origin, Submitted};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;

/// A call to which its host gives no name, as Gemini CLI and Copilot CLI do.
const NOT_STATED: &str = "not-stated";

/// The outcome was not recorded; why.
pub(super) fn failed(reason: &str) -> Answer {
    Answer::failure(&format!("the outcome of this call is not on record: {reason}"))
}

/// Records what is claimed of the call, where an approval was spent for it.
pub(super) fn record(log: &Path, terms: &Terms) -> Result<(), String> {
    let text = read()?;
    let events = [Event::PostToolUse, Event::PostToolUseFailure];
    let input = Input::parse(&text, &events, terms.host)?;
    let host = input.host.ok_or("the input on stdin is that of no host that is recognised")?;
    deadline::is_of(host);
    let tool = input.tool_name.as_deref().ok_or("the input on stdin has no tool_name")?;
    let given = input.tool_input.as_deref().ok_or("the input on stdin has no tool_input")?;
    // The directory may be gone by now, and who it was is known by the session.
    let by = requester(host, input.session_id()?, input.directory().ok().flatten().as_ref())?;
    // What has no canonical form was not approved.
    let Ok(bound) = BoundInput::of(host, tool, given) else { return Ok(()) };
    let binding = bound.binding(tool);
    let call = input.tool_use_id.as_deref();
    let keep = || keep(log, &by, (&binding, call), || claim(&input, host));
    // Nobody reports the outcome again.
    let wait = LOCK_WAIT.min(deadline::left_of_all() / 4);
    let engine = match open_log(log, wait, false) {
        Ok(engine) => engine,
        Err(EngineError::Open(OpenError::NothingHere { .. })) => return Err(describe::no_log(log)),
        Err(EngineError::Open(OpenError::Locked { .. })) => return keep(),
        Err(EngineError::Submit(error)) if error.is_locked() => return keep(),
        Err(error) => return Err(said(error)),
    };
    let spent = || engine.query(|world| spent(world, &by.id, (&binding, call), |_| false));
    let mut refused = None;
    loop {
        let point = match spent() {
            Err(error) if error.is_locked() => return keep(),
            spent => spent.map_err(said)?,
        };
        let Some(point) = point else { break };
        if let Some((_, reason)) = refused.take_if(|(id, _)| *id == point.decision_id) {
            return Err(reason);
        }
        match report(&engine, &point, by.clone(), claim(&input, host)?) {
            Err(Unreported::Locked) => return keep(),
            // An outcome of it that waited may have been taken up first: perhaps of this very call.
            Err(Unreported::Said(reason)) => refused = Some((point.decision_id.clone(), reason)),
            Ok(()) => break,
        }
    }
    drop(engine.close());
    Ok(())
}

/// Lets the outcome wait below the log's `runs/`, for the next writer: another process keeps the
/// log's lock. Which approval was spent is read without it.
fn keep(
    log: &Path,
    by: &Principal,
    (binding, call): (&ActionBinding, Option<&str>),
    claim: impl Fn() -> Result<OutcomeClaim, String>,
) -> Result<(), String> {
    let looking = Engine::open_read_only(log).map_err(said)?;
    let mut tried = BTreeSet::new();
    loop {
        let is_tried = |id: &str| tried.contains(id);
        let world = looking.world();
        let spent = spent(&world, &by.id, (binding, call), is_tried);
        let Some(point) = spent else {
            // All of them have an outcome that waits, and one of those may be of this call.
            return Ok(());
        };
        let decision_id = point.decision_id.to_string();
        let waiting = WaitingCommand {
            actor: by.actor(),
            proven_by: Authentication::None,
            command: reporting(&decision_id, by.clone(), claim()?),
        };
        let payload = serde_json::to_vec(&waiting).map_err(said)?;
        let is_hooks = |owner, payload: &[u8]| {
            let waiting = serde_json::from_slice::<WaitingCommand>(payload).ok();
            // Root leaves files of the log's owner, and says in them that it is root.
            let users = [owner, 0];
            waiting.is_some_and(|it| users.iter().any(|user| it.is_outcome_of(&decision_id, *user)))
        };
        match keep_outcome(log, &decision_id, &payload, &is_hooks).map_err(said)? {
            DeferredOutcome::Kept => return Ok(()),
            DeferredOutcome::Waiting(waiting) if call.is_some_and(|call| is_of(&waiting, call)) => {
                return Ok(());
            }
            DeferredOutcome::Waiting(_) => {}
        }
        tried.insert(decision_id);
    }
}

/// Tells whether what waits is the outcome of this very call.
fn is_of(waiting: &[u8], call: &str) -> bool {
    let waiting = serde_json::from_slice::<WaitingCommand>(waiting).ok();
    waiting.is_some_and(|waiting| match waiting.command {
        Command::DecisionPoint(DecisionPointCommand::ReportOutcome(report)) => {
            *report.claim.tool_use_id == *call
        }
        _ => false,
    })
}

/// What the host says became of the call.
fn claim(input: &Input<'_>, host: Host) -> Result<OutcomeClaim, String> {
    let id = match (input.tool_use_id.as_deref(), host) {
        (Some(id), _) => id,
        (None, Host::GeminiCli | Host::CopilotCli) => NOT_STATED,
        (None, _) => return Err("the input on stdin has no tool_use_id".to_string()),
    };
    let response = input.response.unwrap_or_default();
    let [head, tail] = ends_without_secrets(response, MAX_EXCERPT_BYTES);
    Ok(OutcomeClaim {
        tool_use_id: id.into(),
        status: status(input, response),
        response_bytes: u64::try_from(response.len()).unwrap_or(u64::MAX),
        response_sha256: sha256(response.as_bytes()),
        head: head.into(),
        tail: tail.into(),
    })
}

fn status(input: &Input<'_>, response: &str) -> ClaimedStatus {
    let response: Value = serde_json::from_str(response).unwrap_or_default();
    let says = |name: &str| response.get(name) == Some(&Value::Bool(true));
    if input.is_interrupt == Some(true) || says("interrupted") {
        ClaimedStatus::Interrupted
    } else if input.is_event(Event::PostToolUseFailure) || says("is_error") || says("isError") {
        ClaimedStatus::Failed
    } else {
        ClaimedStatus::Succeeded
    }
}

/// The newest approval that a session spent for such a call and of which nothing is claimed yet;
/// `None` where there is none, or this very call was reported. Some may be left out.
fn spent(
    world: &World,
    session: &str,
    (binding, tool_use_id): (&ActionBinding, Option<&str>),
    is_left_out: impl Fn(&str) -> bool,
) -> Option<DecisionPoint> {
    let is_it = |point: &&DecisionPoint| {
        asked_for(session, point) && is_ours(point) && point.binding() == Some(binding)
    };
    let spent = || world.closed_decision_points().filter(is_it).filter(|it| it.consumed.is_some());
    let is_same = |point: &DecisionPoint| {
        let known = point.outcome.as_ref().map(|outcome| outcome.tool_use_id.as_str());
        known.is_some() && known == tool_use_id
    };
    if spent().any(is_same) {
        return None;
    }
    let unknown = spent().filter(|point| point.outcome.is_none());
    let unknown = unknown.filter(|point| !is_left_out(&point.decision_id));
    unknown.max_by_key(|point| point.consumed.as_ref().map(|consumed| consumed.sequence)).cloned()
}

fn report(
    engine: &Engine,
    point: &DecisionPoint,
    by: Principal,
    claim: OutcomeClaim,
) -> Result<(), Unreported> {
    let decision_id = point.decision_id.to_string();
    let origin = Origin {
        actor: by.actor(),
        correlation: by.id.to_string(),
        causation: point.consumed.as_ref().map(|consumed| consumed.sequence),
    };
    let key = IdempotencyKey {
        tenant: describe::KEY_TENANT.to_string(),
        engine: describe::KEY_ENGINE.to_string(),
        key: format!("outcome {decision_id}"),
    };
    let command = reporting(&decision_id, by, claim);
    let conditions = Conditions::once(key);
    match engine.submit(&origin, &conditions, &command) {
        Ok(Submitted::Accepted(_) | Submitted::Repeated(_)) => Ok(()),
        Ok(Submitted::Refused(refusal)) => Err(Unreported::Said(said(refusal))),
        Err(error) if error.is_locked() => Err(Unreported::Locked),
        Err(error) => Err(Unreported::Said(said(error))),
    }
}

/// Why an outcome is not on the log.
enum Unreported {
    /// Another process keeps the log's lock.
    Locked,
    /// In words.
    Said(String),
}

fn reporting(decision_id: &str, by: Principal, claim: OutcomeClaim) -> Command {
    let (decision_id, claim) = (decision_id.to_string(), Box::new(claim));
    let report = ReportOutcome { decision_id, by, claim };
    Command::DecisionPoint(DecisionPointCommand::ReportOutcome(report))
}

fn said(error: impl Display) -> String {
    visible_once(&error.to_string())
}
