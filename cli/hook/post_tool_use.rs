//! `holdpoint hook post-tool-use`: a tool has run, or failed. What the host says of it is recorded
//! beside the approval that was spent for the call: a claim, which proves nothing and changes
//! nothing of what was decided.
//!
//! The tool has run already, so nothing can be held here: what fails is told to the host, by an
//! exit of 1, and the outcome stays unknown.

use super::LOCK_WAIT;
use super::answer::Answer;
use super::ask::is_ours;
use super::bound_input::BoundInput;
use super::host::{Event, Host};
use super::input::{Input, read};
use super::session::{asked_for, requester};
use super::{Terms, deadline, words};
use crate::hold::open_log;
use crate::text::visible_once;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::decision_point::{
    ActionBinding, ClaimedStatus, DecisionPoint, DecisionPointCommand, MAX_EXCERPT_BYTES,
    OutcomeClaim, ReportOutcome,
};
use holdpoint_domain::{Command, World};
use holdpoint_engine::Engine;
use holdpoint_engine::executor::ends_without_secrets;
use holdpoint_engine::log::OpenError;
use holdpoint_engine::shell::{Conditions, EngineError, IdempotencyKey, Origin, Submitted};
use serde_json::Value;
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

/// A call to which its host gives no name, as Gemini CLI and Copilot CLI do.
const NOT_STATED: &str = "not-stated";

/// What of the deadline is left for recording and answering once the log's lock is free.
const ANSWERING: Duration = Duration::from_secs(2);

/// Options of `hook post-tool-use`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// The answer. What fails is told, and holds nothing.
pub(super) fn answer(log: &Path, terms: &Terms) -> Answer {
    record(log, terms).map_or_else(|reason| failed(&reason), |()| Answer::no_objection())
}

/// The outcome was not recorded; why.
pub(super) fn failed(reason: &str) -> Answer {
    Answer::failure(&format!("the outcome of this call is not on record: {reason}"))
}

/// Records what is claimed of the call, where an approval was spent for it.
fn record(log: &Path, terms: &Terms) -> Result<(), String> {
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
    // Nothing is held here, and nobody reports the outcome again: the lock is waited for as long as
    // the host waits for this.
    let wait = deadline::left_of_all().saturating_sub(ANSWERING).max(LOCK_WAIT);
    let engine = open_log(log, wait, false).map_err(|error| match error {
        EngineError::Open(OpenError::NothingHere { .. }) => words::no_log(log),
        error => said(error),
    })?;
    let call = input.tool_use_id.as_deref();
    let spent = engine.query(|world| spent(world, &by.id, &binding, call)).map_err(said)?;
    let reported = spent.map_or(Ok(()), |point| report(&engine, &point, by, claim(&input, host)?));
    drop(engine.close());
    reported
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
/// `None` where there is none, or this very call was reported.
fn spent(
    world: &World,
    session: &str,
    binding: &ActionBinding,
    tool_use_id: Option<&str>,
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
    unknown.max_by_key(|point| point.consumed.as_ref().map(|consumed| consumed.sequence)).cloned()
}

fn report(
    engine: &Engine,
    point: &DecisionPoint,
    by: Principal,
    claim: OutcomeClaim,
) -> Result<(), String> {
    let decision_id = point.decision_id.to_string();
    let origin = Origin {
        actor: by.actor(),
        correlation: by.id.to_string(),
        causation: point.consumed.as_ref().map(|consumed| consumed.sequence),
    };
    let key = IdempotencyKey {
        tenant: words::KEY_TENANT.to_string(),
        engine: words::KEY_ENGINE.to_string(),
        key: format!("outcome {decision_id}"),
    };
    let command = Command::DecisionPoint(DecisionPointCommand::ReportOutcome(ReportOutcome {
        decision_id,
        by,
        claim: Box::new(claim),
    }));
    let conditions = Conditions::of(Some(key), None);
    match engine.submit_when(&origin, &conditions, &command).map_err(said)? {
        Submitted::Accepted(_) | Submitted::Repeated(_) => Ok(()),
        Submitted::Refused(refusal) => Err(said(refusal)),
    }
}

fn said(error: impl Display) -> String {
    visible_once(&error.to_string())
}
