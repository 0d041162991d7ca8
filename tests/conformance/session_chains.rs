//! The evidence and the decisions of a session's loop, hashed again as the vectors' document says,
//! out of what was recorded: the state has to have the same, record by record.

use holdpoint_domain::Event;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::evidence_capture::EvidenceCaptureEvent;
use holdpoint_domain::human_decision::{AuditEntry, HumanDecisionEvent, HumanDecisionRecord};
use serde_json::json;

use crate::decode::Decoded;
use crate::session_oracle::{Evidence, decision_hash};
use crate::session_world::{Cycle, Told};
use crate::sessions::same;

/// Point and type of a record.
type Place = (&'static str, &'static str);

const TRANSITION: &str = "STATE_TRANSITION";

/// What has to have been captured of the loop that lives, by the seed's integration table.
#[derive(Default)]
pub(crate) struct Chains {
    places: Vec<Place>,
    payloads: Vec<Vec<u8>>,
}

impl Chains {
    /// Another loop: its instruction is captured.
    pub(crate) fn begin(&mut self) {
        self.places = vec![("PRE_DISPATCH", TRANSITION)];
        self.payloads.clear();
    }

    /// An attempt, from the decision to continue to what its response is worth.
    pub(crate) fn attempt(&mut self, cycle: &Cycle) {
        if !self.payloads.is_empty() {
            self.places.push(("POST_EVALUATE", TRANSITION));
        }
        self.places.extend([
            ("POST_DISPATCH", TRANSITION),
            ("PRE_EVALUATE", "EXECUTOR_OUTPUT"),
            ("PRE_EVALUATE", TRANSITION),
            ("POST_EVALUATE", TRANSITION),
        ]);
        self.payloads.push(cycle.payload.clone());
    }

    pub(crate) fn attempts(&self) -> usize {
        self.payloads.len()
    }

    /// The way into HALTED: by a stop, or because the work is done.
    pub(crate) fn halted(&mut self, is_stop: bool) {
        self.places.push(("HALT_ENTRY", if is_stop { "STOP_CONDITION" } else { TRANSITION }));
    }

    /// Chain and trail are what was recorded, and hashed as they have to be.
    pub(crate) fn check(&self, told: &Told<'_>) -> Decoded<()> {
        self.check_evidence(told)?;
        check_audit(told)
    }

    fn check_evidence(&self, told: &Told<'_>) -> Decoded<()> {
        let (captured, entity) = (told.captured(), told.entity());
        let chain = entity.chain.as_ref().ok_or("no chain")?;
        let place = |body: &&_| {
            let body: &holdpoint_domain::evidence_capture::EvidenceCaptured = body;
            (body.observation_point.name(), body.evidence_type.name())
        };
        let places: Vec<Place> = captured.iter().map(place).collect();
        same("evidence", &places, &self.places)?;
        let outputs = captured.iter().filter(|body| body.evidence_type.name() == "EXECUTOR_OUTPUT");
        let outputs: Vec<&[u8]> = outputs.map(|body| body.raw_data.as_bytes()).collect();
        same("payloads", outputs, self.payloads.iter().map(Vec::as_slice).collect())?;
        let mut head = String::new();
        for (index, (body, state)) in captured.iter().zip(&chain.records).enumerate() {
            let record = Evidence {
                record_id: &body.record_id,
                point: body.observation_point.name(),
                kind: body.evidence_type.name(),
                timestamp: &body.timestamp,
                raw: body.raw_data.as_bytes(),
                prior_hash: &head,
            };
            let hash = record.hash();
            same("index", body.index, index as u64)?;
            same("prior_hash", body.prior_hash.as_str(), &head)?;
            same("self_hash", body.self_hash.as_str(), &hash)?;
            same("the state's self_hash", state.self_hash.as_str(), &hash)?;
            same("the state's record", &state.record_id, &body.record_id)?;
            let raw = (state.raw_length, state.raw_sha256);
            same("raw data", raw, (record.raw.len() as u64, sha256(record.raw)))?;
            head = hash;
        }
        same("chain head", chain.head.head_hash.as_str(), &head)?;
        same("chain length", chain.head.length, captured.len() as u64)?;
        same("records", chain.records.len(), captured.len())?;
        let seal = told.events.iter().find_map(|event| match event {
            Event::EvidenceCapture(EvidenceCaptureEvent::ChainSealed(body)) => Some(body),
            _ => None,
        });
        same("sealed", seal.is_some(), entity.halt.is_some())?;
        same("seal", chain.head.is_sealed, seal.is_some())?;
        let sealed = seal.map(|seal| (seal.length, seal.head_hash.as_str()));
        same("what is sealed", sealed, sealed.and(Some((chain.head.length, head.as_str()))))
    }
}

fn check_audit(told: &Told<'_>) -> Decoded<()> {
    let entity = told.entity();
    let audit = entity.decisions.audit.as_ref().ok_or("no audit trail")?;
    let (mut head, mut length) = (String::new(), 0);
    for (record, entry) in told.events.iter().filter_map(decided) {
        let hash = decision_hash(&json!(record), &head);
        same("audit_id", entry.audit_id.as_str(), &audit.audit_id)?;
        same("audit index", entry.index, length)?;
        same("audit prior_hash", entry.prior_hash.as_str(), &head)?;
        same("audit self_hash", entry.self_hash.as_str(), &hash)?;
        (head, length) = (hash, length + 1);
    }
    let session = entity.observer.as_ref().map(|observer| observer.session_id.as_str());
    same("audit's session", Some(audit.session_id.as_str()), session)?;
    same("audit head", audit.head_hash.as_str(), &head)?;
    same("audit length", audit.length, length)
}

/// A decision and its place in the trail.
fn decided(event: &Event) -> Option<(&HumanDecisionRecord, &AuditEntry)> {
    match event {
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionAnswered(body)) => {
            Some((&body.record, &body.audit))
        }
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(body)) => {
            Some((&body.record, &body.audit))
        }
        _ => None,
    }
}
