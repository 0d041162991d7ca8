//! Chains of evidence and trails of decisions as values that hold all their records, as the owner's
//! documents have them. The product keeps their heads, and the records are the log's. Here they are
//! folds over the very steps by which the product applies its events.

use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::evidence_capture::{
    CaptureRefusal, ChainFinding, ChainHead, EvidenceRecord, ObservationContext, OfferedEvidence,
    RecordView, SessionHash, capture_evidence,
};
use holdpoint_domain::human_decision::{
    AuditHead, HumanDecisionBinding, HumanDecisionRecord, record_decision,
};

/// An append-only chain of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceChain {
    pub chain_id: String,
    /// Oldest first.
    pub records: Vec<EvidenceRecord>,
    /// The newest record's hash, as the chain states it.
    pub head_hash: String,
    /// How many records there are, as the chain states it.
    pub length: u64,
}

/// What is wrong with a chain, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainFault {
    /// What is stated of an empty chain, how long it is, or its head.
    Stated(&'static str),
    /// A record does not follow the one before it.
    Record(ChainFinding),
}

impl EvidenceChain {
    /// As a chain begins.
    pub fn empty(context: &ObservationContext, chain_id: &str) -> Self {
        let ChainHead { chain_id, length, head_hash, .. } = ChainHead::genesis(context, chain_id);
        Self { chain_id, records: Vec::new(), head_hash, length }
    }

    /// The head that this chain's records lead to, whatever they say of each other.
    pub fn head(&self, context: &ObservationContext) -> ChainHead {
        let genesis = ChainHead::genesis(context, &self.chain_id);
        let session = SessionHash::of(context, &self.chain_id);
        self.records.iter().fold(genesis, |head, record| after(&session, head, record))
    }

    /// The first thing that is wrong.
    pub fn fault(&self, context: &ObservationContext) -> Option<ChainFault> {
        let session = SessionHash::of(context, &self.chain_id);
        let mut head = ChainHead::genesis(context, &self.chain_id);
        if self.length != self.records.len() as u64 || (self.length == 0 && !self.has_no_head()) {
            let what = if self.length == 0 { "empty" } else { "length" };
            return Some(ChainFault::Stated(what));
        }
        for record in &self.records {
            if let Err(finding) = link(&head, record) {
                return Some(ChainFault::Record(finding));
            }
            head = after(&session, head, record);
        }
        (head.head_hash != self.head_hash).then_some(ChainFault::Stated("head_hash"))
    }

    fn has_no_head(&self) -> bool {
        self.head_hash.is_empty()
    }

    /// Captures evidence after the newest record, which has to follow the one before it.
    pub fn capture(
        &self,
        context: &ObservationContext,
        offer: OfferedEvidence,
        timestamp: &str,
        entropy: &str,
    ) -> Result<Self, ChainFault> {
        let head = self.newest(context)?;
        let record =
            capture_evidence(context, offer, timestamp, &head, entropy).map_err(|why| {
                let CaptureRefusal::Sealed { .. } = why;
                ChainFault::Stated("seal")
            })?;
        let next = after(&SessionHash::of(context, &self.chain_id), head, &record);
        let records = self.records.iter().cloned().chain([record]).collect();
        Ok(Self {
            chain_id: next.chain_id,
            records,
            head_hash: next.head_hash,
            length: next.length,
        })
    }

    /// The head at the newest record, without a look at what came long before it.
    fn newest(&self, context: &ObservationContext) -> Result<ChainHead, ChainFault> {
        let (before, last) = self.records.split_at(self.records.len().saturating_sub(1));
        let head = ChainHead {
            length: before.len() as u64,
            head_hash: before.last().map_or_else(String::new, |one| one.self_hash.clone()),
            ..ChainHead::genesis(context, &self.chain_id)
        };
        let session = SessionHash::of(context, &self.chain_id);
        let head = last.iter().try_fold(head, |head, record| {
            link(&head, record).map_err(ChainFault::Record)?;
            Ok(after(&session, head, record))
        })?;
        if head.length != self.length {
            return Err(ChainFault::Stated("length"));
        }
        if head.head_hash == self.head_hash {
            Ok(head)
        } else {
            Err(ChainFault::Stated("head_hash"))
        }
    }
}

fn link(head: &ChainHead, record: &EvidenceRecord) -> Result<(), ChainFinding> {
    let view = RecordView::of(record);
    head.link(&view, &view.seed_hash())
}

fn after(session: &SessionHash, mut head: ChainHead, record: &EvidenceRecord) -> ChainHead {
    let raw_sha256 = sha256(record.raw_data.as_bytes());
    let injective = RecordView::of(record).injective_hash(session, &head, &raw_sha256);
    head.advance(&record.self_hash, injective);
    head
}

/// An append-only trail of decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionTrail {
    pub audit_id: String,
    pub session_id: String,
    /// Oldest first.
    pub records: Vec<HumanDecisionRecord>,
    /// The newest decision's hash, as the trail states it.
    pub head_hash: String,
    /// How many decisions there are, as the trail states it.
    pub length: u64,
}

impl DecisionTrail {
    /// As a trail begins.
    pub fn empty(audit_id: &str, session_id: &str) -> Self {
        let AuditHead { audit_id, session_id, length, head_hash, .. } =
            AuditHead::genesis(audit_id, session_id);
        Self { audit_id, session_id, records: Vec::new(), head_hash, length }
    }

    /// The heads of this trail, from its beginning on. A decision without a binding has an empty
    /// one.
    pub fn heads(&self, bindings: &[HumanDecisionBinding]) -> Vec<AuditHead> {
        let nothing = HumanDecisionBinding { shown: Digest::from_bytes([0; 32]), means: None };
        let bindings = bindings.iter().chain(std::iter::repeat(&nothing));
        let mut heads = vec![AuditHead::genesis(&self.audit_id, &self.session_id)];
        for (record, binding) in self.records.iter().zip(bindings) {
            heads.extend(heads.last().map(|head| record_decision(head, record, binding)));
        }
        heads
    }

    /// Whether the trail is as long as it says, and ends as it says.
    pub fn is_valid(&self) -> bool {
        let heads = self.heads(&[]);
        let head = heads.last().unwrap();
        (head.length, &head.head_hash) == (self.length, &self.head_hash)
    }

    /// This trail with one more decision.
    pub fn with(&self, record: HumanDecisionRecord) -> Self {
        let records = self.records.iter().cloned().chain([record]).collect();
        self.stating(records)
    }

    /// A trail of these decisions that says of itself what is so.
    pub fn stating(&self, records: Vec<HumanDecisionRecord>) -> Self {
        let changed = Self { records, ..self.clone() };
        let AuditHead { head_hash, length, .. } = changed.heads(&[]).pop().unwrap();
        Self { head_hash, length, ..changed }
    }
}
