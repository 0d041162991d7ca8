//! The functions of Phase-30.

use holdpoint_domain::core::confidence::Confidence;
use holdpoint_domain::execution_loop::{
    ExecutorRawResponse, decide_response_outcome, evaluate_response_trust,
    normalize_executor_response,
};
use serde_json::{Value, json};

use crate::decode::{Answer, Decoded, bytes, field, shaped, text, typed};

/// Runs a function; `None` if there is none of that name.
pub(crate) fn run(function: &str, input: &Value) -> Option<Decoded<Answer>> {
    Some(match function {
        "decide_response_outcome" => {
            typed(input, "response_type").map(|t| shaped(&decide_response_outcome(t)))
        }
        "evaluate_response_trust" => typed(input, "response_type")
            .map(|t| Answer::Value(json!(fraction(evaluate_response_trust(t))))),
        "normalize_executor_response" => normalize(input),
        _ => return None,
    })
}

fn normalize(input: &Value) -> Decoded<Answer> {
    let raw = field(input, "raw")?;
    let raw = ExecutorRawResponse {
        executor_id: text(raw, "executor_id")?.into(),
        instruction_hash: text(raw, "instruction_hash")?.into(),
        raw_payload: bytes(raw, "raw_payload_hex")?,
        reported_status: typed(raw, "reported_status")?,
    };
    let result = normalize_executor_response(&raw, text(input, "expected_hash")?);
    Ok(Answer::Value(json!({
        "decision": result.decision,
        "reason": result.reason,
        "confidence_score": fraction(result.confidence_score),
    })))
}

/// The vectors' fractions: division rounds correctly, as reading a decimal does.
fn fraction(confidence: Confidence) -> f64 {
    f64::from(confidence.basis_points()) / 10_000.0
}
