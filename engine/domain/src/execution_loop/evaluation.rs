//! What follows from an executor's report of success or error (Phase-29).

use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::closed::closed_enum;

closed_enum! {
    /// How a loop goes on after an evaluation. CONTINUE here is the loop's own and never stands
    /// for the CONTINUE of a human.
    pub enum ExecutionDecision {
        /// The loop may go on.
        Continue = "CONTINUE",
        /// The loop ends.
        Stop = "STOP",
        /// A human has to look.
        Escalate = "ESCALATE",
    }
}

/// An evaluation and its reason. The reason quotes what the executor said, word for word: show it
/// through [`crate::text::visible`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionEvaluationResult {
    /// CONTINUE, STOP or ESCALATE.
    pub decision: ExecutionDecision,
    /// Why.
    pub reason: String,
}

/// Evaluates a report. Success without an error is CONTINUE. Success *with* an error contradicts
/// itself and is ESCALATE. An error that says CRITICAL, in any case, is ESCALATE; the word alone
/// decides, because a false alarm costs a look and a missed one costs more. Any other error, and
/// an absent one, is STOP.
#[must_use]
pub fn evaluate_executor_response(success: bool, error: Option<&str>) -> ExecutionEvaluationResult {
    use ExecutionDecision::{Continue, Escalate, Stop};
    let error_text = error.unwrap_or("");
    let (decision, reason) = match (success, error_text) {
        (true, "") => (Continue, String::from("Executor reported success")),
        (true, error) => (Escalate, format!("Executor reported success with an error: {error}")),
        (false, error) if says_critical(error) => (Escalate, format!("Critical error: {error}")),
        (false, _) => (Stop, format!("Executor error: {}", error.unwrap_or("None"))),
    };
    ExecutionEvaluationResult { decision, reason }
}

fn says_critical(error: &str) -> bool {
    error.to_ascii_uppercase().contains("CRITICAL")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ExecutionDecision::{Continue, Escalate, Stop};

    #[test]
    fn table_evaluation_of_success_and_error() {
        let table = [
            (true, None, Continue, "Executor reported success"),
            (true, Some(""), Continue, "Executor reported success"),
            (true, Some("x"), Escalate, "Executor reported success with an error: x"),
            (false, None, Stop, "Executor error: None"),
            (false, Some(""), Stop, "Executor error: "),
            (false, Some("x"), Stop, "Executor error: x"),
            (false, Some("CRITICAL: x"), Escalate, "Critical error: CRITICAL: x"),
            (false, Some("critical"), Escalate, "Critical error: critical"),
            (false, Some("NOT CRITICAL"), Escalate, "Critical error: NOT CRITICAL"),
        ];
        for (success, error, decision, reason) in table {
            let result = evaluate_executor_response(success, error);
            assert_eq!(result.decision, decision, "{success} {error:?}");
            assert_eq!(result.reason, reason, "{success} {error:?}");
        }
    }
}
