//! Notes of a recorder about a command whose end nobody saw when it came.

use holdpoint_domain::evidence_capture::{EvidenceCaptured, EvidenceContent, EvidenceType};
use serde::Deserialize;

/// The most that an attempt ran: its recorder and its guard were stopped when it ended.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RanAtMost {
    ran_at_most_ns: u64,
}

/// The most that an attempt ran, in nanoseconds. `None`: the evidence is about something else.
pub(crate) fn ran_at_most(body: &EvidenceCaptured) -> Option<u64> {
    let may_tell = body.evidence_type == EvidenceType::TimestampEvent
        && body.content == EvidenceContent::Opaque;
    let raw = body.raw_data.as_bytes();
    let told: Option<RanAtMost> = may_tell.then(|| serde_json::from_slice(raw).ok()).flatten();
    told.map(|told| told.ran_at_most_ns)
}
