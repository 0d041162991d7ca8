//! The functions of Phase-32.

use holdpoint_domain::core::ids::id;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::human_decision::{
    HumanDecisionRecord, accept_decision, apply_decision, create_request, create_timeout_decision,
    get_visibility, present_evidence, record_hash,
};
use holdpoint_testing::chains::DecisionTrail;
use serde_json::{Value, json};

use crate::decisions::{
    audit, decision_record, request, request_shape, summary, summary_shape, timeout,
};
use crate::decode::{Answer, Decoded, entropy, field, shaped, text, typed};

/// Runs a function; `None` if there is none of that name.
pub(crate) fn run(function: &str, input: &Value) -> Option<Decoded<Answer>> {
    Some(match function {
        "get_visibility" => text(input, "field_name").map(|name| shaped(&get_visibility(name))),
        "create_request" => ask(input),
        "present_evidence" => present(input),
        "accept_decision" => accept(input),
        "create_timeout_decision" => time_out(input),
        "record_hash" => hash(input),
        "record_decision" => record(input),
        "apply_decision" => apply(input),
        "create_empty_audit" => empty_audit(input),
        "validate_audit_chain" => Ok(validate(field(input, "audit").ok()?)),
        "validate_audit_chain_sequence" => validate_sequence(input),
        _ => return None,
    })
}

/// The reference takes loose values and believes them; so does the function, which takes the
/// summary of a chain that was verified as it grew.
fn ask(input: &Value) -> Decoded<Answer> {
    let session_id = text(input, "session_id")?;
    let entropy = entropy(input, 1)?;
    let summary = summary(&json!({
        "observation_point": field(input, "observation_point")?,
        "evidence_type": field(input, "evidence_type")?,
        "timestamp": field(input, "evidence_timestamp")?,
        "chain_length": field(input, "chain_length")?,
        "execution_state": field(input, "execution_state")?,
        "confidence_score": field(input, "confidence_score")?,
        "chain_hash": field(input, "chain_hash")?,
    }))?;
    let timeout = timeout(input)?;
    let created_at: Timestamp = typed(input, "current_timestamp")?;
    Ok(match create_request(session_id, summary, timeout, created_at, &entropy[0]) {
        Ok(request) => Answer::Value(request_shape(&request)),
        Err(why) => Answer::Refused(why.to_string()),
    })
}

fn present(input: &Value) -> Decoded<Answer> {
    let request = request(field(input, "request")?)?;
    Ok(Answer::Value(summary_shape(&present_evidence(&request))))
}

fn accept(input: &Value) -> Decoded<Answer> {
    let request = request(field(input, "request")?)?;
    let entropy: Vec<String> = typed(input, "entropy")?;
    let (reason, target): (Option<String>, Option<String>) =
        (typed(input, "reason")?, typed(input, "escalation_target")?);
    let accepted = accept_decision(
        &request,
        typed(input, "decision")?,
        text(input, "human_id")?,
        reason.as_deref(),
        target.as_deref(),
        text(input, "timestamp")?,
        entropy.first().map_or("", String::as_str),
    );
    Ok(match accepted {
        Ok(record) => shaped(&record),
        Err(why) => Answer::Refused(why.to_string()),
    })
}

fn time_out(input: &Value) -> Decoded<Answer> {
    let request = request(field(input, "request")?)?;
    let entropy = entropy(input, 1)?;
    let timestamp = text(input, "timeout_timestamp")?;
    Ok(shaped(&create_timeout_decision(&request, timestamp, &entropy[0])))
}

fn hash(input: &Value) -> Decoded<Answer> {
    Ok(shaped(&record_hash(&decision_record(input)?, text(input, "prior_hash")?)))
}

fn record(input: &Value) -> Decoded<Answer> {
    let record = decision_record(field(input, "record")?)?;
    let before = match audit(field(input, "audit")?) {
        Ok(before) => before,
        // A trail that is none is refused like any other that does not verify.
        Err(why) => return Ok(Answer::Refused(why)),
    };
    if !before.is_valid() {
        return Ok(Answer::Refused("the trail is not what it says".into()));
    }
    if let Err(why) = record.check() {
        return Ok(Answer::Refused(why.to_string()));
    }
    let after = before.with(record);
    Ok(Answer::Value(json!({
        "audit_id": after.audit_id,
        "session_id": after.session_id,
        "head_hash": after.head_hash,
        "length": after.length,
        "records_len": after.records.len(),
    })))
}

fn apply(input: &Value) -> Decoded<Answer> {
    let record: HumanDecisionRecord = decision_record(field(input, "record")?)?;
    let state = typed(input, "current_state")?;
    let count = |name, default| match input.get(name) {
        Some(_) => typed(input, name),
        None => Ok(default),
    };
    let (retries, most) = (count("retry_count", 0)?, count("max_retries", 3)?);
    Ok(shaped(&apply_decision(&record, state, retries, most)))
}

fn empty_audit(input: &Value) -> Decoded<Answer> {
    let audit_id: Option<String> = typed(input, "audit_id")?;
    let entropy = entropy(input, usize::from(audit_id.is_none()))?;
    let made = || id("AUDIT-", entropy.first().map_or("", String::as_str));
    let audit_id = audit_id.unwrap_or_else(made);
    let empty = DecisionTrail::empty(&audit_id, text(input, "session_id")?);
    Ok(Answer::Value(json!({
        "audit_id": empty.audit_id,
        "records": empty.records,
        "session_id": empty.session_id,
        "head_hash": empty.head_hash,
        "length": empty.length,
    })))
}

/// What does not decode as a trail is not a valid one.
fn validate(input: &Value) -> Answer {
    match audit(input) {
        Ok(audit) => shaped(&audit.is_valid()),
        Err(why) if why.starts_with("length") => shaped(&false),
        Err(why) => Answer::Undecodable(why),
    }
}

/// In one process, one after the other: nothing may be remembered.
fn validate_sequence(input: &Value) -> Decoded<Answer> {
    let audits: Vec<Value> = typed(input, "audits")?;
    let answers = audits.iter().map(|audit| match validate(audit) {
        Answer::Value(valid) => Ok(valid),
        Answer::Undecodable(why) | Answer::Refused(why) => Err(why),
    });
    answers.collect::<Decoded<Vec<Value>>>().map(|answers| Answer::Value(Value::Array(answers)))
}
