//! The tools that write: asking, taking back, proposing anew, answering. Each opens the log, acts,
//! and closes it; no lock is held between calls.

use super::arguments::{Binding, Cancel, Create, Refine, Respond};
use super::caller::Caller;
use crate::log::configuration::{AskedApproval, floors};
use crate::questions::decision_session::{DecisionSession, Only, is_late};
use crate::questions::long_over::look_up;
use crate::questions::permits::Act;
use crate::questions::rejecting::{expect_a_no, expect_refined_rejecting, expect_rejecting};
use crate::ui::{Exit, Failure};
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{
    ActionBinding, CancelDecisionPoint, CreateDecisionPoint, DecisionPointCommand,
    RefineDecisionPoint, RespondToDecisionPoint, Response,
};
use holdpoint_engine::shell::canonical_input_sha256;
use serde_json::{Value, json};

/// What an agent does after it asked.
const ASKED: &str = "A person has to answer. Call decision_wait until the outcome is no longer \
still_pending; do not go on before, and do not ask again.";
/// How an option is said to say no.
const HOW_TO_REJECT: &str = "give the one that does \"reject\": true";
/// What it does where that was done before, and is over.
const ENDED: &str = "It ended already: decision tells how.";

/// `decision_create`.
pub(super) fn create(caller: &Caller<'_>, arguments: Create) -> Result<Value, Failure> {
    let issue = arguments.issue_id.clone();
    let binding = arguments.binding.as_ref().map(bound).transpose()?;
    if arguments.valid_for_seconds.is_some() && binding.is_none() {
        let message = "valid_for_seconds is how long an approval of one action may be spent: give \
                       that action as binding, or leave valid_for_seconds away";
        return Err(Failure::new(Exit::USAGE, "bad_arguments", message));
    }
    if binding.is_some() {
        expect_rejecting(&arguments.options, HOW_TO_REJECT)?;
    }
    floors()?;
    let session = caller.session(true)?;
    let supersedes = arguments
        .supersedes
        .as_deref()
        .map(|wanted| session.find(wanted, Act::Revise))
        .transpose()?;
    let only = Only::under_key(arguments.idempotency_key.clone());
    let asked = asked_approval(&arguments);
    let mut command = CreateDecisionPoint {
        people: None,
        entropy: session.entropy()?,
        by: caller.by.clone(),
        policy: None,
        issue_id: arguments.issue_id,
        prompt: arguments.prompt,
        context: arguments.context,
        options: arguments.options,
        default_option: arguments.default_option,
        allow_text: arguments.allow_text,
        timeout_ms: arguments.timeout_seconds.map(milliseconds),
        expires_at: None,
        timeout_per_round: arguments.timeout_per_round,
        on_timeout: arguments.on_timeout,
        max_iterations: arguments.max_iterations,
        urgency: arguments.urgency,
        blocks: arguments.blocks,
        evidence: arguments.evidence,
        binding,
        valid_for_ms: arguments.valid_for_seconds.map(milliseconds),
        supersedes: supersedes.map(|point| point.decision_id.into_string()),
        separation: false,
    };
    session.demands()?.tighten(&mut command, asked.as_ref());
    let command =
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(Box::new(command)));
    let submitted = session.submit_new(issue.as_deref(), &caller.by, &only, &command, None)?;
    let (receipt, replayed) = session.carried_out(None, submitted)?;
    let decision = session.value(&session.created(&receipt)?)?;
    session.close()?;
    let is_open = is_in(&decision, &["pending", "refining"]);
    let next_step = if is_open { ASKED } else { ENDED };
    Ok(json!({ "decision": decision, "replayed": replayed, "next_step": next_step }))
}

/// `decision_cancel`.
pub(super) fn cancel(caller: &Caller<'_>, arguments: Cancel) -> Result<Value, Failure> {
    let session = caller.session(false)?;
    let Changed { decision, replayed, .. } =
        change(caller, session, (&arguments.decision_id, Act::Cancel), |decision_id, by| {
            let reason = arguments.reason;
            Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(CancelDecisionPoint {
                decision_id,
                by,
                reason,
            }))
        })?;
    Ok(json!({ "decision": decision, "replayed": replayed }))
}

/// `decision_refine`.
pub(super) fn refine(caller: &Caller<'_>, arguments: Refine) -> Result<Value, Failure> {
    let Refine { decision_id: wanted, prompt, context, options, default_option, drop_default } =
        arguments;
    let session = caller.session(false)?;
    let Changed { decision, replayed, .. } =
        change(caller, session, (&wanted, Act::Revise), |decision_id, by| {
            Command::DecisionPoint(DecisionPointCommand::RefineDecisionPoint(RefineDecisionPoint {
                decision_id,
                by,
                prompt,
                context,
                options,
                default_option,
                drop_default,
            }))
        })?;
    Ok(json!({ "decision": decision, "replayed": replayed, "next_step": ASKED }))
}

/// `decision_respond`.
pub(super) fn respond(caller: &Caller<'_>, arguments: Respond) -> Result<Value, Failure> {
    let comment = arguments.comment.clone();
    let wanted = arguments.decision_id.clone();
    let response = response(arguments)?;
    let session = caller.session(false)?;
    let entropy = session.entropy()?;
    let changed = change(caller, session, (&wanted, Act::Choose), |decision_id, by| {
        Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(
            RespondToDecisionPoint { decision_id, entropy, by, response, comment },
        ))
    })?;
    let Changed { decision, next, replayed } = changed;
    Ok(json!({ "decision": decision, "next_decision": next, "replayed": replayed }))
}

/// What a change came to.
struct Changed {
    /// The decision as it is then.
    decision: Value,
    /// The round that guidance led to.
    next: Option<Value>,
    /// Whether it was done before, and nothing was written now.
    replayed: bool,
}

/// Hands in a command on the decision that is meant, and closes the log.
fn change(
    caller: &Caller<'_>,
    session: DecisionSession<'_>,
    (wanted, act): (&str, Act),
    command: impl FnOnce(String, Principal) -> Command,
) -> Result<Changed, Failure> {
    let point = match session.find(wanted, act) {
        Ok(point) => point,
        Err(unknown) => {
            let command = |decision_id| command(decision_id, caller.by.clone());
            let told = look_up(&caller.server.global, session, unknown, wanted, command)?;
            let (decision, next) = (told.decision, told.next_decision);
            return Ok(Changed { decision, next, replayed: told.replayed });
        }
    };
    let command = command(point.decision_id.to_string(), caller.by.clone());
    expect_a_no(&point, &command)?;
    expect_refined_rejecting(&point, &command, HOW_TO_REJECT)?;
    let submitted = session.submit(&point, &caller.by, &Only::default(), &command)?;
    let (receipt, replayed) = session.carried_out(Some(&point.decision_id), submitted)?;
    if is_late(&receipt) {
        let ended = session.point(&point.decision_id)?;
        return Err(session.too_late(ended.as_ref().unwrap_or(&point), &receipt)?);
    }
    let decision = current(&session, &point.decision_id)?;
    let next = decision.get("next_id").and_then(Value::as_str);
    let next = next.map(|id| current(&session, id)).transpose()?;
    session.close()?;
    Ok(Changed { decision, next, replayed })
}

/// The digest of the action's input.
fn bound(binding: &Binding) -> Result<ActionBinding, Failure> {
    let digest = canonical_input_sha256(&binding.input.to_string());
    let input_sha256 = digest.map_err(|error| Failure::new(Exit::USAGE, "bad_input", error))?;
    Ok(ActionBinding { tool: Text::from(&binding.tool), input_sha256 })
}

/// Approval by people: an agent does not loosen the gate that it stands at. What is asked for an
/// action is one always.
fn asked_approval(arguments: &Create) -> Option<AskedApproval> {
    let is_named = arguments.quorum.is_some() || !arguments.approvers.is_empty();
    let is_approval = is_named || arguments.binding.is_some();
    is_approval.then(|| AskedApproval {
        approvers: arguments.approvers.clone(),
        quorum: arguments.quorum,
        ..AskedApproval::default()
    })
}

fn milliseconds(seconds: u64) -> u64 {
    seconds.saturating_mul(1000)
}

fn response(arguments: Respond) -> Result<Response, Failure> {
    let accept = arguments.accept.then_some(Response::Accept);
    let option = arguments.option.map(|id| Response::option(&id));
    let text = arguments.text.map(|words| Response::Text(words.into()));
    let guidance = arguments.guidance.map(|words| Response::Guidance(words.into()));
    let mut given = [accept, option, text, guidance].into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(only), None) => Ok(only),
        _ => {
            let message = "give exactly one of option, text, guidance and accept";
            Err(Failure::new(Exit::USAGE, "bad_arguments", message))
        }
    }
}

/// The decision as it is now.
fn current(session: &DecisionSession<'_>, decision_id: &str) -> Result<Value, Failure> {
    let point = session.point(decision_id)?;
    point.map_or(Ok(Value::Null), |point| session.value(&point))
}

fn is_in(decision: &Value, states: &[&str]) -> bool {
    let state = decision.get("state").and_then(Value::as_str);
    state.is_some_and(|state| states.contains(&state))
}
