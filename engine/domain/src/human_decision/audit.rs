//! The append-only audit trail of decisions (Phase-32): its head, and the one step by which a
//! decision is appended.
//!
//! The seed's decision hash is kept beside the injective hashes that are relied on.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::core::hash::{Digest, HashBuilder, nul_joined_sha256_hex, sha256};
use crate::core::payload::Text;
use crate::execution_loop::types::Exit;
use crate::human_decision::types::{
    AnswerMeans, EvidenceSummary, HumanDecisionRecord, HumanDecisionRequest, ObservedAttempt,
    OverrideField, RequestContext,
};
use crate::sandbox_fault::types::ExecutionFaultType;

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
    let version = if request.evidence_summary.observed.is_some() { 2 } else { 1 };
    let fields = HashBuilder::new("holdpoint.decision-request", version)
        .text(&request.request_id)
        .text(&request.session_id)
        .number(request.allowed_decisions.len() as u64);
    let fields = request.allowed_decisions.iter().fold(fields, |f, d| f.text(d.name()));
    let fields = fields
        .number(request.created_at.nanoseconds())
        .number(request.timeout_at.nanoseconds())
        .text(request.timeout_decision.name());
    let fields = circumstances(summary(fields, &request.evidence_summary), context);
    request.evidence_summary.observed.iter().fold(fields, observed).finish()
}

/// Returns what a question of before has not, and its hash has not either.
fn observed(fields: HashBuilder, observed: &ObservedAttempt) -> HashBuilder {
    let fields = fields.number(u64::from(observed.attempts_max));
    let fields = match observed.exit {
        Exit::Unknown => fields.absent(),
        Exit::Status(status) => fields.text("STATUS").number(u64::from(status.cast_unsigned())),
        Exit::Signal(signal) => fields.text("SIGNAL").number(u64::from(signal.cast_unsigned())),
    };
    let fields = match observed.duration_ns {
        Some(duration) => fields.number(duration),
        None => fields.absent(),
    };
    fields.optional_text(observed.fault_type.map(ExecutionFaultType::name))
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

/// The injective head of an empty trail.
fn injective_audit_genesis_hash(audit_id: &str, session_id: &str) -> Digest {
    HashBuilder::new("holdpoint.audit-genesis", 1).text(audit_id).text(session_id).finish()
}

/// The injective hash of the decision after this head: its place, which the seed's hash leaves out,
/// all its fields, what the person saw, and by what means it was given.
fn injective_decision_hash(
    head: &AuditHead,
    record: &HumanDecisionRecord,
    binding: &HumanDecisionBinding,
) -> Digest {
    let fields = HashBuilder::new("holdpoint.decision-record", 1)
        .text(&head.audit_id)
        .text(&head.session_id)
        .number(head.length)
        .digest(&head.injective_head)
        .text(&record.decision_id)
        .text(&record.request_id)
        .text(&record.human_id)
        .text(record.decision.name())
        .optional_text(record.reason.as_ref().map(Text::as_str))
        .optional_text(record.escalation_target.as_ref().map(Text::as_str))
        .text(&record.timestamp)
        .text(&record.evidence_chain_hash)
        .digest(&binding.shown);
    match &binding.means {
        Some(means) => fields.text(means.channel.name()).text(&means.detail),
        None => fields.absent(),
    }
    .finish()
}

/// Facts that a decision binds besides its own fields.
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
    /// Number of decisions it has.
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
}

/// Appends a decision to the trail with this head: the head that follows. Nothing that came before
/// is copied or read again.
#[must_use]
pub fn record_decision(
    head: &AuditHead,
    record: &HumanDecisionRecord,
    binding: &HumanDecisionBinding,
) -> AuditHead {
    AuditHead {
        length: head.length.saturating_add(1),
        head_hash: record_hash(record, &head.head_hash),
        injective_head: injective_decision_hash(head, record, binding),
        ..head.clone()
    }
}
