//! Runtime observation and evidence capture (Phase-31): passive, immutable, hash-chained, and
//! halting whatever it does not know.
//!
//! The seed's own hash joins fields with NUL and is not injective, covers no identity and has no
//! anchor. It is kept in every record for compatibility; what is relied on is the injective hash
//! of this module: [`ChainHead::injective_head`] covers every field of every record, its place,
//! its chain, session, loop, executor and envelope, and [`seal_chain`] says that nothing follows.

mod capture;
mod chain;
mod extent;
mod hashing;
mod integration;
mod observer;
mod record;
mod stop;
mod types;
mod validate;

pub use capture::{CONTEXT_HALTED, CaptureRefusal, capture_evidence, capture_record};
pub use chain::{ChainHead, ChainSeal, EvidenceChain, SealedChain, create_empty_chain, seal_chain};
pub use extent::{ExtentFault, check_cut};
pub use hashing::{
    RecordPlace, evidence_hash, injective_genesis_hash, injective_record_hash, injective_seal_hash,
};
pub(crate) use hashing::{RecordView, SessionHash, next_injective_hash};
pub use integration::{INTEGRATION, IntegrationRow, LoopStep, capture_place, may_capture};
pub use observer::{ObserverMismatch, attach_observer, observer_mismatch};
pub use record::{EvidenceRecord, ObservationContext, OfferedEvidence, RawData};
pub use stop::{STOP_TRIGGERS, StopFacts, StopTrigger, check_stop, triggered_conditions};
pub use types::{EvidenceType, ObservationPoint, StopCondition};
pub use validate::{ChainFinding, inspect_anchored_chain, inspect_chain, validate_chain};
