//! Altered audit trails that the reference takes for valid, and trails about which it contradicts
//! itself.
//!
//! As in `tamper.rs`, the alteration is undone, and the honest trail's injective hashes are what
//! would have been recorded: the altered trail has to miss them, at a place that is named.

use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::human_decision::{
    AnswerChannel, AnswerMeans, HumanDecision, HumanDecisionBinding, HumanDecisionRecord,
};
use holdpoint_testing::chains::DecisionTrail;
use serde_json::Value;

use crate::decisions::audit;
use crate::decode::{Decoded, field};
use crate::tamper::kind;
use crate::vectors::Case;

/// Whether this is a trail that was altered without the reference noticing.
pub(crate) fn is_undetected_tamper(case: &Case) -> bool {
    case.phase == "32" && case.tags.iter().any(|tag| tag == "undetected_tamper")
}

/// Whether the reference contradicts itself here.
pub(crate) fn is_divergence(case: &Case) -> bool {
    case.tags.iter().any(|tag| tag == "reference_diverges")
}

/// A pure function gives the recorded answers, which are not the reference's.
pub(crate) fn catch_divergence(case: &Case) -> Result<(), String> {
    let pure = field(&case.expect, "ok")?;
    let observed = field(&case.expect, "reference_observed")?;
    let audits = field(&case.input, "audits")?.as_array().ok_or("audits is no list")?;
    let valid = |value: &Value| audit(value).is_ok_and(|audit| audit.is_valid());
    let found = Value::Array(audits.iter().map(|value| Value::Bool(valid(value))).collect());
    if found != *pure {
        return Err(format!("expected {pure}, found {found}"));
    }
    if found == *observed { Err("the reference does not diverge here".into()) } else { Ok(()) }
}

/// Catches the alteration; the error says why it was not caught.
pub(crate) fn catch(case: &Case) -> Result<(), String> {
    let altered = audit(field(&case.input, "audit")?)?;
    if !altered.is_valid() {
        // Noticed without what was recorded outside, which the reference did not.
        return Ok(());
    }
    let honest = honest_audit(case, &altered)?;
    let heads = |trail: &DecisionTrail| -> Vec<Digest> {
        trail.heads(&bindings(trail)).iter().map(|head| head.injective_head).collect()
    };
    if heads(&altered) == heads(&honest) {
        return Err("the altered audit passes for the honest one".into());
    }
    Ok(())
}

/// The vectors do not say what was shown and how the answers came: the same for every record.
fn bindings(audit: &DecisionTrail) -> Vec<HumanDecisionBinding> {
    let means = AnswerMeans { channel: AnswerChannel::Api, detail: "vectors".into() };
    let binding = HumanDecisionBinding { shown: shown(), means: Some(means) };
    audit.records.iter().map(|_| binding.clone()).collect()
}

/// What everybody saw.
fn shown() -> Digest {
    sha256(b"what was shown")
}

/// Undoes the alteration.
fn honest_audit(case: &Case, altered: &DecisionTrail) -> Decoded<DecisionTrail> {
    let index = case.input.pointer("/tamper/index").and_then(Value::as_u64).unwrap_or(0);
    let index = usize::try_from(index).map_err(|error| error.to_string())?;
    let mut honest = altered.clone();
    match kind(case).as_str() {
        "audit_id" => honest.audit_id.push_str("-honest"),
        "session_id" => honest.session_id.push_str("-honest"),
        "truncate_fix_head" | "delete_fix_head" => honest.records.push(lost_record()),
        "full_rewrite" => at(&mut honest, index)?.human_id = "who really decided".into(),
        "replay_record" => drop_replayed(&mut honest.records)?,
        "none_to_empty" => empty_to_none(at(&mut honest, index)?),
        "boundary_shift" => shift_back(at(&mut honest, index)?)?,
        other => return Err(format!("unknown kind of tampering {other:?}")),
    }
    let honest = honest.stating(honest.records.clone());
    let same_hash = honest.head_hash == altered.head_hash;
    if matches!(kind(case).as_str(), "none_to_empty" | "boundary_shift") && !same_hash {
        return Err("the alteration was not undone: the reference's hash differs".into());
    }
    Ok(honest)
}

fn at(audit: &mut DecisionTrail, index: usize) -> Decoded<&mut HumanDecisionRecord> {
    audit.records.get_mut(index).ok_or_else(|| format!("there is no record {index}"))
}

/// The newest record that repeats an earlier one was recorded once.
fn drop_replayed(records: &mut Vec<HumanDecisionRecord>) -> Decoded<()> {
    let repeats = |at: &usize| records[..*at].contains(&records[*at]);
    let at = (0..records.len()).rev().find(repeats).ok_or("nothing is repeated")?;
    drop(records.remove(at));
    Ok(())
}

fn empty_to_none(record: &mut HumanDecisionRecord) {
    let none = |text: &holdpoint_domain::core::payload::Text| text.as_str().is_empty();
    record.reason.take_if(|text| none(text));
    record.escalation_target.take_if(|text| none(text));
}

/// A field took bytes of the one after it, or gave it some: moves them back.
fn shift_back(record: &mut HumanDecisionRecord) -> Decoded<()> {
    let (human, decision) = match record.human_id.rsplit_once('\0') {
        Some((human, decision)) => (human, decision),
        None => return shift_target_back(record),
    };
    let decision = HumanDecision::from_name(decision).ok_or("no decision")?;
    let reason = record.reason.as_deref().unwrap_or("");
    *record = HumanDecisionRecord {
        human_id: human.into(),
        decision,
        reason: Some(format!("{}\0{reason}", record.decision).into()),
        ..record.clone()
    };
    Ok(())
}

/// Between the reason and the target.
fn shift_target_back(record: &mut HumanDecisionRecord) -> Decoded<()> {
    let reason = record.reason.as_deref().unwrap_or("").to_owned();
    let target = record.escalation_target.as_deref().unwrap_or("").to_owned();
    let (reason, target) = match (reason.rsplit_once('\0'), target.split_once('\0')) {
        (Some((kept, moved)), _) => (kept.to_owned(), format!("{moved}\0{target}")),
        (None, Some((moved, kept))) => (format!("{reason}\0{moved}"), kept.to_owned()),
        (None, None) => return Err("no byte was shifted".into()),
    };
    (record.reason, record.escalation_target) = (Some(reason.into()), Some(target.into()));
    Ok(())
}

/// A record that the alteration removed. Nobody knows what was in it.
fn lost_record() -> HumanDecisionRecord {
    HumanDecisionRecord {
        decision_id: "DEC-lost".into(),
        request_id: "REQ-lost".into(),
        human_id: "alice".into(),
        decision: HumanDecision::Abort,
        reason: None,
        escalation_target: None,
        timestamp: "2026-01-25T16:00:00Z".into(),
        evidence_chain_hash: "".into(),
    }
}
