//! Altered chains that the reference takes for valid, and different records with one hash.
//!
//! A vector holds the altered chain and says what was done to it. From both, an honest chain is
//! built from which that alteration gives exactly the chain of the vector. Its injective head is
//! what would have been recorded; the altered chain has to miss it.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::evidence_capture::{
    EvidenceRecord, EvidenceType, ObservationContext, ObservationPoint, evidence_hash,
};
use holdpoint_testing::chains::{DecisionTrail, EvidenceChain};
use serde_json::Value;

use crate::decisions::decision_record;
use crate::decode::{Decoded, chain, record};
use crate::report::GroupCounts;
use crate::vectors::Case;

/// Whether this is a chain that was altered without the reference noticing.
pub(crate) fn is_undetected_tamper(case: &Case) -> bool {
    case.phase == "31" && case.tags.iter().any(|tag| tag == "undetected_tamper")
}

/// What was done to it.
pub(crate) fn kind(case: &Case) -> String {
    let kind = case.input.pointer("/tamper/kind").and_then(Value::as_str);
    kind.unwrap_or("unknown").into()
}

/// Catches the alteration; the error says why it was not caught.
pub(crate) fn catch(case: &Case) -> Result<(), String> {
    let altered = chain(&case.input, "chain")?;
    let honest = honest_chain(case, &altered)?;
    if let Some(fault) = honest.fault(&session()) {
        return Err(format!("the honest chain does not verify: {fault:?}"));
    }
    if altered.fault(&session()).is_some() {
        // Noticed without an anchor, which the reference did not.
        return Ok(());
    }
    let head = |chain: &EvidenceChain| chain.head(&session()).injective_head;
    if head(&altered) == head(&honest) {
        return Err("the altered chain passes for the honest one".into());
    }
    Ok(())
}

/// Undoes the alteration.
fn honest_chain(case: &Case, altered: &EvidenceChain) -> Decoded<EvidenceChain> {
    let index = case.input.pointer("/tamper/index").and_then(Value::as_u64).unwrap_or(0);
    let index = usize::try_from(index).map_err(|error| error.to_string())?;
    let mut honest = altered.clone();
    match kind(case).as_str() {
        "chain_id" => honest.chain_id.push_str("-honest"),
        "truncate_fix_head" | "delete_fix_head" => honest.records.push(lost_record(0)),
        "drop_prefix_rechain" => {
            honest.records.splice(0..0, (0..index.max(1)).map(lost_record));
        }
        "forged_append" => drop(honest.records.pop()),
        "full_rewrite_from" => at(&mut honest, index)?.raw_data = RawData::from(b"true".to_vec()),
        "boundary_shift" => shift_back(at(&mut honest, index)?)?,
        "retype_by_boundary_shift" => retype_back(at(&mut honest, index)?)?,
        other => return Err(format!("unknown kind of tampering {other:?}")),
    }
    rechain(&mut honest);
    let same_hash = honest.head_hash == altered.head_hash;
    if kind(case).ends_with("boundary_shift") && !same_hash {
        return Err("the alteration was not undone: the reference's hash differs".into());
    }
    Ok(honest)
}

fn at(chain: &mut EvidenceChain, index: usize) -> Decoded<&mut EvidenceRecord> {
    chain.records.get_mut(index).ok_or_else(|| format!("there is no record {index}"))
}

/// The timestamp took bytes from the raw data: gives them back.
fn shift_back(record: &mut EvidenceRecord) -> Decoded<()> {
    let (time, taken) = record.timestamp.rsplit_once('\0').ok_or("no byte was shifted")?;
    let raw = [taken.as_bytes(), b"\0", record.raw_data.as_bytes()].concat();
    (record.raw_data, record.timestamp) = (RawData::from(raw), time.to_owned());
    Ok(())
}

/// The record id took point, type and timestamp, and the raw data became new ones.
fn retype_back(record: &mut EvidenceRecord) -> Decoded<()> {
    let parts: Vec<&str> = record.record_id.rsplitn(4, '\0').collect();
    let [time, evidence_type, point, id] = parts[..] else {
        return Err("the record id holds no other fields".into());
    };
    let point = ObservationPoint::from_name(point).ok_or("no observation point")?;
    let evidence_type = EvidenceType::from_name(evidence_type).ok_or("no evidence type")?;
    let raw = [
        record.observation_point.name().as_bytes(),
        record.evidence_type.name().as_bytes(),
        record.timestamp.as_bytes(),
        record.raw_data.as_bytes(),
    ]
    .join(&0);
    *record = EvidenceRecord {
        record_id: id.to_owned(),
        observation_point: point,
        evidence_type,
        timestamp: time.to_owned(),
        raw_data: RawData::from(raw),
        ..record.clone()
    };
    Ok(())
}

/// A record that the alteration removed. Nobody knows what was in it.
fn lost_record(index: usize) -> EvidenceRecord {
    EvidenceRecord {
        record_id: format!("REC-lost-{index}"),
        observation_point: ObservationPoint::HaltEntry,
        evidence_type: EvidenceType::StopCondition,
        timestamp: "2026-01-25T16:00:00Z".into(),
        raw_data: RawData::from(b"what was removed".to_vec()),
        prior_hash: String::new(),
        self_hash: String::new(),
        offered: None,
    }
}

/// Makes every hash of the seed right.
fn rechain(chain: &mut EvidenceChain) {
    let mut prior = String::new();
    for record in &mut chain.records {
        record.prior_hash = prior;
        record.self_hash = evidence_hash(record);
        prior = record.self_hash.clone();
    }
    chain.length = chain.records.len() as u64;
    chain.head_hash = prior;
}

/// Records of one group, of evidence or of decisions, have one reference hash; their injective
/// hashes have to differ.
pub(crate) fn tell_groups_apart<'a>(
    cases: impl Iterator<Item = &'a Case>,
) -> (GroupCounts, Vec<String>) {
    let mut groups: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        if let Some(group) = &case.group {
            groups.entry(group).or_default().push(case);
        }
    }
    let (mut counts, mut failures) = (GroupCounts::default(), Vec::new());
    for (group, members) in groups {
        let is_evidence = |case: &&&Case| case.function == "evidence_hash";
        let evidence = members.iter().filter(is_evidence).count();
        let inputs: BTreeSet<String> = members.iter().map(|case| case.input.to_string()).collect();
        let hashes: Result<BTreeSet<Digest>, _> =
            members.iter().map(|case| injective_of(case)).collect();
        match hashes {
            Ok(hashes) if hashes.len() == inputs.len() => {
                counts.evidence += evidence;
                counts.decisions += members.len() - evidence;
            }
            Ok(_) => failures.push(format!("{group}: two records have one injective hash")),
            Err(why) => failures.push(format!("{group}: {why}")),
        }
    }
    (counts, failures)
}

fn injective_of(case: &Case) -> Decoded<Digest> {
    match case.function.as_str() {
        "evidence_hash" => record(&case.input).map(|record| injective(&record)),
        "record_hash" => {
            let trail = DecisionTrail::empty("AUDIT-1", "OBS-1");
            let heads = trail.with(decision_record(&case.input)?).heads(&[]);
            Ok(heads[1].injective_head)
        }
        other => Err(format!("unknown function {other} in a group")),
    }
}

fn injective(record: &EvidenceRecord) -> Digest {
    let mut chain = EvidenceChain::empty(&session(), "CHAIN-1");
    chain.records.push(record.clone());
    chain.head(&session()).injective_head
}

/// The vectors' chains do not say which session they are of.
pub(crate) fn session() -> ObservationContext {
    ObservationContext {
        session_id: "OBS-1".into(),
        loop_id: "LOOP-1".into(),
        executor_id: "exec-1".into(),
        envelope_hash: "ab".repeat(32),
        created_at: "2026-01-25T16:00:00Z".into(),
        is_halted: false,
    }
}
