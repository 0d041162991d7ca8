//! From the loose values of Phase-32's vectors to the strict types, and back.

use holdpoint_domain::core::confidence::Confidence;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::human_decision::{
    EvidenceSummary, HumanDecision, HumanDecisionRecord, HumanDecisionRequest, HumanDecisionTimeout,
};
use holdpoint_testing::chains::DecisionTrail;
use serde_json::{Value, json};

use crate::decode::{Decoded, field, text, typed};

/// A summary. Names are of closed sets, confidence is in basis points below 1.
pub(crate) fn summary(input: &Value) -> Decoded<EvidenceSummary> {
    Ok(EvidenceSummary {
        observation_point: typed(input, "observation_point")?,
        evidence_type: typed(input, "evidence_type")?,
        timestamp: text(input, "timestamp")?.into(),
        chain_length: typed(input, "chain_length")?,
        execution_state: typed(input, "execution_state")?,
        confidence_score: confidence(field(input, "confidence_score")?)?,
        chain_hash: text(input, "chain_hash")?.into(),
        observed: None,
    })
}

/// A confidence that is a whole number of basis points, as every one of Phase-30's table is.
pub(crate) fn confidence(value: &Value) -> Decoded<Confidence> {
    let score = value.as_f64().ok_or_else(|| format!("confidence_score {value} is no number"))?;
    (0..=9_999)
        .find(|points| f64::from(*points) / 10_000.0 == score)
        .and_then(|points| Confidence::from_basis_points(points).ok())
        .ok_or_else(|| format!("confidence_score {score} is no basis points below 1"))
}

/// The vectors' fraction.
fn fraction(confidence: Confidence) -> f64 {
    f64::from(confidence.basis_points()) / 10_000.0
}

/// A summary in the shape of the vectors.
pub(crate) fn summary_shape(summary: &EvidenceSummary) -> Value {
    json!({
        "observation_point": summary.observation_point,
        "evidence_type": summary.evidence_type,
        "timestamp": summary.timestamp,
        "chain_length": summary.chain_length,
        "execution_state": summary.execution_state,
        "confidence_score": fraction(summary.confidence_score),
        "chain_hash": summary.chain_hash,
    })
}

/// The timeout of a request that is to be created.
pub(crate) fn timeout(input: &Value) -> Decoded<HumanDecisionTimeout> {
    of_seconds(typed(input, "timeout_seconds")?)
}

/// Seconds may be any number there.
pub(crate) fn of_seconds(seconds: i64) -> Decoded<HumanDecisionTimeout> {
    let milliseconds = u64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1000));
    let milliseconds =
        milliseconds.ok_or_else(|| format!("{seconds} s is no time to decide in"))?;
    HumanDecisionTimeout::from_milliseconds(milliseconds).map_err(|why| why.to_string())
}

/// A request. Its deadline is written as "creation + n seconds", which is computed.
pub(crate) fn request(input: &Value) -> Decoded<HumanDecisionRequest> {
    let (created, deadline) = (text(input, "created_at")?, text(input, "timeout_at")?);
    let created_at: Timestamp = created.parse().map_err(|e| format!("created_at: {e}"))?;
    let seconds = deadline.strip_prefix(created).and_then(|rest| rest.strip_prefix('+'));
    let seconds = seconds.and_then(|rest| rest.strip_suffix('s')?.parse().ok());
    let seconds: i64 = seconds.ok_or("timeout_at is not the creation and a number of seconds")?;
    let timeout = of_seconds(seconds)?;
    let allowed: Vec<HumanDecision> = typed(input, "allowed_decisions")?;
    Ok(HumanDecisionRequest {
        request_id: text(input, "request_id")?.into(),
        session_id: text(input, "session_id")?.into(),
        evidence_summary: summary(field(input, "evidence_summary")?)?,
        allowed_decisions: allowed.into_iter().collect(),
        created_at,
        timeout_at: timeout.deadline(created_at).ok_or("timeout_at is past the calendar")?,
        timeout_decision: typed(input, "timeout_decision")?,
    })
}

/// A request in the shape of the vectors, with a deadline that is a time.
pub(crate) fn request_shape(request: &HumanDecisionRequest) -> Value {
    json!({
        "request_id": request.request_id,
        "session_id": request.session_id,
        "evidence_summary": summary_shape(&request.evidence_summary),
        "allowed_decisions": request.allowed_decisions,
        "created_at": request.created_at,
        "timeout_at": request.timeout_at,
        "timeout_decision": request.timeout_decision,
    })
}

/// A decision record.
pub(crate) fn decision_record(input: &Value) -> Decoded<HumanDecisionRecord> {
    let optional = |name| -> Decoded<_> {
        let text: Option<String> = typed(input, name)?;
        Ok(text.map(Into::into))
    };
    Ok(HumanDecisionRecord {
        decision_id: text(input, "decision_id")?.into(),
        request_id: text(input, "request_id")?.into(),
        human_id: text(input, "human_id")?.into(),
        decision: typed(input, "decision")?,
        reason: optional("reason")?,
        escalation_target: optional("escalation_target")?,
        timestamp: text(input, "timestamp")?.into(),
        evidence_chain_hash: text(input, "evidence_chain_hash")?.into(),
    })
}

/// An audit trail. A length that is no count does not decode.
pub(crate) fn audit(input: &Value) -> Decoded<DecisionTrail> {
    let records = field(input, "records")?.as_array().ok_or("records is no list")?;
    Ok(DecisionTrail {
        audit_id: text(input, "audit_id")?.into(),
        records: records.iter().map(decision_record).collect::<Decoded<_>>()?,
        session_id: text(input, "session_id")?.into(),
        head_hash: text(input, "head_hash")?.into(),
        length: typed(input, "length")?,
    })
}
