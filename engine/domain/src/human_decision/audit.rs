//! The append-only audit trail of decisions (Phase-32), and how it is verified.
//!
//! The seed's decision hash is kept beside the injective hashes that are relied on.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::core::hash::{Digest, HashBuilder, nul_joined_sha256_hex, sha256};
use crate::core::ids::id;
use crate::core::payload::Text;
use crate::human_decision::rules::AnswerRefusal;
use crate::human_decision::types::{
    AnswerMeans, EvidenceSummary, HumanDecisionRecord, HumanDecisionRequest, OverrideField,
    RequestContext,
};

/// The seed's hash of a record (Phase-32, `record_decision`): lower-hex SHA-256 over its fields
/// and the prior hash, joined by NUL; null is "". Two different records can have the same one:
/// kept for compatibility, never relied on.
#[must_use]
pub fn record_hash(record: &HumanDecisionRecord, prior_hash: &str) -> String {
    nul_joined_sha256_hex(&[
        record.decision_id.as_bytes(),
        record.request_id.as_bytes(),
        record.human_id.as_bytes(),
        record.decision.name().as_bytes(),
        record.reason.as_deref().unwrap_or("").as_bytes(),
        record.escalation_target.as_deref().unwrap_or("").as_bytes(),
        record.timestamp.as_bytes(),
        record.evidence_chain_hash.as_bytes(),
        prior_hash.as_bytes(),
    ])
}

/// The injective hash of a request: everything that the person is shown without an override, the
/// whole summary included.
#[must_use]
pub fn injective_request_hash(context: &RequestContext, request: &HumanDecisionRequest) -> Digest {
    let fields = HashBuilder::new("holdpoint.decision-request", 1)
        .text(&request.request_id)
        .text(&request.session_id)
        .number(request.allowed_decisions.len() as u64);
    let fields = request.allowed_decisions.iter().fold(fields, |f, d| f.text(d.name()));
    let fields = fields
        .number(request.created_at.nanoseconds())
        .number(request.timeout_at.nanoseconds())
        .text(request.timeout_decision.name());
    circumstances(summary(fields, &request.evidence_summary), context).finish()
}

fn summary(fields: HashBuilder, summary: &EvidenceSummary) -> HashBuilder {
    fields
        .text(summary.observation_point.name())
        .text(summary.evidence_type.name())
        .text(&summary.timestamp)
        .number(summary.chain_length)
        .text(summary.execution_state.name())
        .number(u64::from(summary.confidence_score.basis_points()))
        .text(&summary.chain_hash)
}

fn circumstances(fields: HashBuilder, context: &RequestContext) -> HashBuilder {
    fields
        .text(&context.loop_id)
        .number(u64::from(context.attempt))
        .text(&context.command_line)
        .text(context.executor_claim.name())
        .text(&context.self_hash)
        .text(&context.prior_hash)
        .number(u64::from(context.escalation_depth))
        .optional_text(context.asked_of.as_deref())
        .optional_text(context.escalated_from.as_deref())
}

/// The hash of a field that an override disclosed: its name and its value. Values are of this
/// crate's own types, and their encoding is pinned with the payloads'.
#[must_use]
pub fn disclosure_hash<T: Serialize>(field: OverrideField, value: &T) -> Digest {
    let bytes = bincode::serde::encode_to_vec(value, crate::core::codec::configuration());
    let builder = HashBuilder::new("holdpoint.disclosure", 1).text(field.name());
    match bytes {
        Ok(bytes) => builder.digest(&sha256(&bytes)).finish(),
        Err(_) => builder.absent().finish(),
    }
}

/// The hash of all that the person saw: the request, and what overrides disclosed, in order.
#[must_use]
pub fn shown_hash(request_hash: &Digest, disclosures: &[Digest]) -> Digest {
    let fields = HashBuilder::new("holdpoint.decision-shown", 1)
        .digest(request_hash)
        .number(disclosures.len() as u64);
    disclosures.iter().fold(fields, HashBuilder::digest).finish()
}

/// Where a decision lies: what the seed's hash leaves out.
#[derive(Clone, Copy, Debug)]
pub struct AuditPlace<'a> {
    /// The audit trail.
    pub audit_id: &'a str,
    /// The session that it is about.
    pub session_id: &'a str,
    /// The record's index in the trail, from 0.
    pub index: u64,
    /// The injective hash of the record before it, or of the genesis.
    pub prior: &'a Digest,
}

/// The injective head of an empty trail.
#[must_use]
pub fn injective_audit_genesis_hash(audit_id: &str, session_id: &str) -> Digest {
    HashBuilder::new("holdpoint.audit-genesis", 1).text(audit_id).text(session_id).finish()
}

/// The injective hash of a decision: its place, all its fields, what the person saw, and by what
/// means it was given (`None` for a timeout).
#[must_use]
pub fn injective_decision_hash(
    place: AuditPlace<'_>,
    record: &HumanDecisionRecord,
    shown: &Digest,
    means: Option<&AnswerMeans>,
) -> Digest {
    let fields = HashBuilder::new("holdpoint.decision-record", 1)
        .text(place.audit_id)
        .text(place.session_id)
        .number(place.index)
        .digest(place.prior)
        .text(&record.decision_id)
        .text(&record.request_id)
        .text(&record.human_id)
        .text(record.decision.name())
        .optional_text(record.reason.as_ref().map(Text::as_str))
        .optional_text(record.escalation_target.as_ref().map(Text::as_str))
        .text(&record.timestamp)
        .text(&record.evidence_chain_hash)
        .digest(shown);
    match means {
        Some(means) => fields.text(means.channel.name()).text(&means.detail),
        None => fields.absent(),
    }
    .finish()
}

/// The audit trail, as the seed has it. Appending is [`record_decision`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HumanDecisionAudit {
    /// `AUDIT-` and the entropy it was made with, or the caller's own.
    pub audit_id: String,
    /// The records, oldest first.
    pub records: Vec<HumanDecisionRecord>,
    /// The observer's session.
    pub session_id: String,
    /// The seed's hash of the newest record; empty for an empty trail.
    pub head_hash: String,
    /// The number of records.
    pub length: u64,
}

/// The first thing wrong with a trail, or with what is to be appended. Indexes count from 0.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AuditFinding {
    /// A trail of length 0 with a head or with records.
    #[error("an empty audit has no head and no records; found {records} records, head {head:?}")]
    Empty {
        /// How many records there are.
        records: u64,
        /// The head.
        head: String,
    },
    /// The length is not the number of records.
    #[error("the audit says it has {expected} records, but {found} are there")]
    Length {
        /// What the trail says.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// The head is not the hash over the records.
    #[error("the records hash to {expected}, but the head says {found:?}")]
    HeadHash {
        /// The recomputed hash.
        expected: String,
        /// What the trail says.
        found: String,
    },
    /// Two records have the same decision id.
    #[error("record {index} has the id {decision_id:?} of record {first}")]
    DuplicateDecisionId {
        /// The later record.
        index: u64,
        /// The earlier record.
        first: u64,
        /// Their id.
        decision_id: String,
    },
    /// One request has two answers.
    #[error("record {index} answers {request_id:?} again, which record {first} answered")]
    AnsweredTwice {
        /// The later record.
        index: u64,
        /// The earlier record.
        first: u64,
        /// The request.
        request_id: String,
    },
    /// A record lacks what its decision requires.
    #[error("record {index} cannot be appended: {reason}")]
    Incomplete {
        /// The record.
        index: u64,
        /// What is missing.
        reason: AnswerRefusal,
    },
    /// A record is not the one that was recorded at its place.
    #[error("record {index} is not the recorded one: {expected} was recorded, {found} recomputed")]
    Record {
        /// The record.
        index: u64,
        /// The injective hash that was recorded.
        expected: Digest,
        /// The recomputed one.
        found: Digest,
    },
    /// The trail or its session is another one.
    #[error("the audit is another one: {expected} was recorded for its beginning, found {found}")]
    Genesis {
        /// The injective hash that was recorded.
        expected: Digest,
        /// The recomputed one.
        found: Digest,
    },
    /// Records were dropped from the end or added to it.
    #[error("{expected} decisions were recorded, but {found} are there")]
    Truncated {
        /// How many were recorded.
        expected: u64,
        /// How many there are.
        found: u64,
    },
}

/// An empty trail with the caller's id, or with `AUDIT-` and the entropy.
#[must_use]
pub fn create_empty_audit(
    session_id: &str,
    audit_id: Option<&str>,
    entropy: &str,
) -> HumanDecisionAudit {
    HumanDecisionAudit {
        audit_id: audit_id.map_or_else(|| id("AUDIT-", entropy), String::from),
        records: Vec::new(),
        session_id: String::from(session_id),
        head_hash: String::new(),
        length: 0,
    }
}

/// Appends a decision and returns the trail with it. The trail is consumed, so an append copies
/// nothing; it is verified first, and so is the record.
///
/// # Errors
/// [`AuditFinding`]: the trail does not verify, the record lacks what its decision requires, or
/// its decision or request is in the trail already.
pub fn record_decision(
    audit: HumanDecisionAudit,
    record: HumanDecisionRecord,
) -> Result<HumanDecisionAudit, AuditFinding> {
    inspect_audit(&audit)?;
    let index = audit.length;
    record.check().map_err(|reason| AuditFinding::Incomplete { index, reason })?;
    let mut audit = audit;
    audit.head_hash = record_hash(&record, &audit.head_hash);
    audit.length = audit.length.saturating_add(1);
    audit.records.push(record);
    inspect_ids(&audit)?;
    Ok(audit)
}

/// Whether the trail is valid. [`inspect_audit`] says what is wrong. A pure function: nothing is
/// remembered from one call to the next.
#[must_use]
pub fn validate_audit_chain(audit: &HumanDecisionAudit) -> bool {
    inspect_audit(audit).is_ok()
}

/// Validates a trail by the reference's rules, and then requires that no decision id and no
/// request is there twice. A trail that verifies may still be truncated or rewritten as a whole:
/// only what was recorded outside it tells, see [`inspect_anchored_audit`].
///
/// # Errors
/// [`AuditFinding`]: the first thing that is wrong.
pub fn inspect_audit(audit: &HumanDecisionAudit) -> Result<(), AuditFinding> {
    let found = audit.records.len() as u64;
    if audit.length == 0 && (found != 0 || !audit.head_hash.is_empty()) {
        return Err(AuditFinding::Empty { records: found, head: audit.head_hash.clone() });
    }
    if audit.length != found {
        return Err(AuditFinding::Length { expected: audit.length, found });
    }
    let expected = audit.records.iter().fold(String::new(), |prior, r| record_hash(r, &prior));
    if audit.head_hash != expected {
        return Err(AuditFinding::HeadHash { expected, found: audit.head_hash.clone() });
    }
    inspect_ids(audit)
}

/// What a decision binds besides its own fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HumanDecisionBinding {
    /// The hash of all that the person saw; see [`shown_hash`].
    pub shown: Digest,
    /// By what means it was given; `None` for a timeout.
    pub means: Option<AnswerMeans>,
}

/// All that appending needs to know of a trail, in constant space: appending never copies or
/// re-reads what came before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// The trail.
    pub audit_id: String,
    /// The session that it is about.
    pub session_id: String,
    /// How many decisions it has.
    pub length: u64,
    /// The seed's hash of the newest decision; empty for an empty trail.
    pub head_hash: String,
    /// The injective hash of the newest decision, or of the genesis.
    pub injective_head: Digest,
}

impl AuditHead {
    /// The head of an empty trail of this session.
    #[must_use]
    pub fn genesis(audit_id: &str, session_id: &str) -> Self {
        Self {
            audit_id: String::from(audit_id),
            session_id: String::from(session_id),
            length: 0,
            head_hash: String::new(),
            injective_head: injective_audit_genesis_hash(audit_id, session_id),
        }
    }

    /// The head once this decision is appended.
    #[must_use]
    pub fn after(&self, record: &HumanDecisionRecord, binding: &HumanDecisionBinding) -> Self {
        let place = AuditPlace {
            audit_id: &self.audit_id,
            session_id: &self.session_id,
            index: self.length,
            prior: &self.injective_head,
        };
        let means = binding.means.as_ref();
        Self {
            length: self.length.saturating_add(1),
            head_hash: record_hash(record, &self.head_hash),
            injective_head: injective_decision_hash(place, record, &binding.shown, means),
            ..self.clone()
        }
    }
}

/// The injective hashes that were recorded of a trail: of its beginning and of every decision.
/// Held outside the trail, they tell a changed trail from the one that was recorded, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditAnchor {
    /// Of the empty trail.
    pub genesis: Digest,
    /// Of each decision, in order.
    pub decisions: Vec<Digest>,
}

impl AuditAnchor {
    /// The anchor of a trail, recomputed. A decision without a binding has an empty one.
    #[must_use]
    pub fn of(audit: &HumanDecisionAudit, bindings: &[HumanDecisionBinding]) -> Self {
        let nothing = HumanDecisionBinding { shown: Digest::from_bytes([0; 32]), means: None };
        let mut head = AuditHead::genesis(&audit.audit_id, &audit.session_id);
        let genesis = head.injective_head;
        let mut decisions = Vec::new();
        for (index, record) in audit.records.iter().enumerate() {
            head = head.after(record, bindings.get(index).unwrap_or(&nothing));
            decisions.push(head.injective_head);
        }
        Self { genesis, decisions }
    }
}

/// Validates a trail, then that it is the one that was recorded: same trail and session, every
/// decision unchanged and in place, binding what was shown, with none missing or added.
///
/// # Errors
/// [`AuditFinding`]: the first thing that is wrong, by index.
pub fn inspect_anchored_audit(
    audit: &HumanDecisionAudit,
    bindings: &[HumanDecisionBinding],
    recorded: &AuditAnchor,
) -> Result<(), AuditFinding> {
    inspect_audit(audit)?;
    let found = AuditAnchor::of(audit, bindings);
    if recorded.genesis != found.genesis {
        return Err(AuditFinding::Genesis { expected: recorded.genesis, found: found.genesis });
    }
    for (index, (expected, found)) in (0..).zip(recorded.decisions.iter().zip(&found.decisions)) {
        if expected != found {
            return Err(AuditFinding::Record { index, expected: *expected, found: *found });
        }
    }
    let (expected, found) = (recorded.decisions.len() as u64, found.decisions.len() as u64);
    if expected == found { Ok(()) } else { Err(AuditFinding::Truncated { expected, found }) }
}

fn inspect_ids(audit: &HumanDecisionAudit) -> Result<(), AuditFinding> {
    let (mut decisions, mut requests) = (BTreeMap::new(), BTreeMap::new());
    for (index, record) in (0..).zip(&audit.records) {
        if let Some(first) = decisions.insert(record.decision_id.as_str(), index) {
            let decision_id = String::from(record.decision_id.as_str());
            return Err(AuditFinding::DuplicateDecisionId { index, first, decision_id });
        }
        if let Some(first) = requests.insert(record.request_id.as_str(), index) {
            let request_id = String::from(record.request_id.as_str());
            return Err(AuditFinding::AnsweredTwice { index, first, request_id });
        }
    }
    Ok(())
}
