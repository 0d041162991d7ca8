//! The tool that waits, for less time than clients give a call.

use super::arguments::Wait;
use super::caller::Caller;
use crate::questions::waiting::{ApprovalOver, until_ended};
use crate::ui::{Exit, Failure};
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_engine::shell::WaitOutcome;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Longest wait, in seconds: clients give up on a call after about 60.
const SECONDS_MAX: u64 = 45;
/// The wait where nothing is said, in seconds.
const SECONDS: u64 = 30;

/// `decision_wait`.
pub(super) fn wait(caller: &Caller<'_>, arguments: &Wait) -> Result<Value, Failure> {
    let seconds = arguments.timeout_seconds.unwrap_or(SECONDS);
    if seconds > SECONDS_MAX {
        let message = format!(
            "a wait of {seconds} seconds is too long; give 0 to {SECONDS_MAX}, and call again"
        );
        return Err(Failure::new(Exit::USAGE, "bad_arguments", message));
    }
    let wanted = [arguments.decision_id.clone()];
    let (global, timeout) = (&caller.server.global, Some(Duration::from_secs(seconds)));
    let waited = until_ended(global, &wanted, timeout, &|| caller.is_given_up())?;
    let outcome = waited.outcome.name();
    let next_step = match (waited.outcome, waited.doubt) {
        (WaitOutcome::Answered, Some(Doubt::Unproven { .. })) => {
            "The answer may rest on unproven records, and is void; ask again with decision_create."
        }
        (WaitOutcome::Answered, Some(Doubt::LostBefore(_))) => {
            "The question may have ended in a lost record; it is void. Ask with decision_create."
        }
        (outcome, _) => match waited.approval_over {
            Some(ApprovalOver::Spent) => {
                "The approval was spent, and is void; ask again with decision_create."
            }
            Some(ApprovalOver::Lapsed) => "The approval expired; ask again with decision_create.",
            None => next_step(outcome, &waited.decision),
        },
    };
    let mut told = json!({
        "decision": waited.decision,
        "outcome": outcome,
        "approval_over": waited.approval_over,
        "next_step": next_step,
    });
    if let (Value::Object(doubt), Some(told)) = (json!(waited.doubt), told.as_object_mut()) {
        told.extend(doubt);
    }
    Ok(told)
}

/// How long a call with these arguments waits at most, in seconds.
pub(super) fn seconds_of(arguments: &Map<String, Value>) -> f64 {
    let given = arguments.get("timeout_seconds").and_then(Value::as_u64).unwrap_or(SECONDS);
    f64::from(u32::try_from(given.min(SECONDS_MAX)).unwrap_or_default())
}

/// What an agent does next.
fn next_step(outcome: WaitOutcome, decision: &Value) -> &'static str {
    let is_refining = decision.get("state").is_some_and(|state| state == "refining");
    match outcome {
        WaitOutcome::StillPending if is_refining => {
            "Guidance was given: whoever asked has to propose anew with decision_refine."
        }
        WaitOutcome::StillPending => "No answer yet. Call decision_wait again.",
        WaitOutcome::Answered => {
            "Heed the answer: decision.approved tells whether it is a yes, selected_option and \
             response_text what it is."
        }
        WaitOutcome::Iterated => {
            "Guidance was given: heed decision.guidance_given, propose anew with decision_refine \
             on decision.next_id, then wait for that."
        }
        WaitOutcome::Default => {
            "The question expired, and the default was taken. decision.approved tells whether \
             it counts as a yes."
        }
        WaitOutcome::Aborted => {
            "The question expired without an answer. That is no approval; do not go on."
        }
        WaitOutcome::Cancelled => "It was taken back: it is no yes. Do not go on as if it were.",
        WaitOutcome::Superseded => {
            "Another decision took its place: wait for decision.superseded_by."
        }
    }
}
