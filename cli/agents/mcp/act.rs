//! The tools that write: asking, taking back, proposing anew, answering. Each opens the log, acts,
//! and closes it; no lock is held between calls.

use super::arguments::{Binding, Cancel, Create, Refine, Respond};
use super::caller::Caller;
use crate::log::configuration::{AskedApproval, floors};
use crate::questions::decision_change::responding;
use crate::questions::decision_output::ChangeOutput;
use crate::questions::decision_session::Only;
use crate::questions::long_over::look_up;
use crate::questions::permits::Act;
use crate::questions::rejecting::{expect_rejectable, expect_rejecting};
use crate::ui::{Exit, Failure};
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{
    ActionBinding, CancelDecisionPoint, CreateDecisionPoint, DecisionPointCommand,
    RefineDecisionPoint, Response,
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
    let (point, replayed) = session.ask(&only, command)?;
    let decision = session.value(&point)?;
    session.close()?;
    let next_step = if point.is_open() { ASKED } else { ENDED };
    Ok(json!({ "decision": decision, "replayed": replayed, "next_step": next_step }))
}

/// `decision_cancel`.
pub(super) fn cancel(caller: &Caller<'_>, arguments: Cancel) -> Result<Value, Failure> {
    let Cancel { decision_id: wanted, reason } = arguments;
    let output = change(caller, (&wanted, Act::Cancel), |decision_id, by| {
        let cancel = CancelDecisionPoint { decision_id, by, reason };
        DecisionPointCommand::CancelDecisionPoint(cancel)
    })?;
    Ok(json!({ "decision": output.decision, "replayed": output.replayed }))
}

/// `decision_refine`.
pub(super) fn refine(caller: &Caller<'_>, arguments: Refine) -> Result<Value, Failure> {
    let Refine { decision_id: wanted, prompt, context, options, default_option, drop_default } =
        arguments;
    let output = change(caller, (&wanted, Act::Revise), |decision_id, by| {
        DecisionPointCommand::RefineDecisionPoint(RefineDecisionPoint {
            decision_id,
            by,
            prompt,
            context,
            options,
            default_option,
            drop_default,
        })
    })?;
    let ChangeOutput { decision, replayed, .. } = output;
    Ok(json!({ "decision": decision, "replayed": replayed, "next_step": ASKED }))
}

/// `decision_respond`.
pub(super) fn respond(caller: &Caller<'_>, mut arguments: Respond) -> Result<Value, Failure> {
    let comment = arguments.comment.take();
    let wanted = std::mem::take(&mut arguments.decision_id);
    let response = response(arguments)?;
    let output = change(caller, (&wanted, Act::Choose), responding(response, comment))?;
    let ChangeOutput { decision, next_decision, replayed, .. } = output;
    Ok(json!({ "decision": decision, "next_decision": next_decision, "replayed": replayed }))
}

/// Hands in a command on the decision that is meant, and closes the log.
fn change(
    caller: &Caller<'_>,
    (wanted, act): (&str, Act),
    command: impl FnOnce(String, Principal) -> DecisionPointCommand,
) -> Result<ChangeOutput, Failure> {
    let session = caller.session(false)?;
    let by = caller.by.clone();
    let point = match session.find(wanted, act) {
        Ok(point) => point,
        Err(unknown) => {
            let command = |decision_id| command(decision_id, by);
            return look_up(&caller.server.global, session, unknown, wanted, command);
        }
    };
    let command = Command::DecisionPoint(command(point.decision_id.to_string(), by));
    expect_rejectable(&point, &command, HOW_TO_REJECT)?;
    let command = command.with_entropy(session.entropy()?);
    let submitted = session.submit(&point, &caller.by, &Only::default(), &command, None)?;
    let output = ChangeOutput::of(&session, &point.decision_id, submitted);
    session.close()?;
    output
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
