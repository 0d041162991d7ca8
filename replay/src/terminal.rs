//! The size of the terminal that a command had of its own, as its recorder wrote it down.

use holdpoint_domain::evidence_capture::{EvidenceCaptured, EvidenceContent, EvidenceType};
use serde::{Deserialize, Serialize};

/// The size of the terminal of an attempt as its command found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TerminalSize {
    /// Number of characters that fit on a line.
    #[serde(rename = "terminal_columns")]
    pub columns: u16,
    /// Number of lines there are.
    #[serde(rename = "terminal_rows")]
    pub rows: u16,
}

impl TerminalSize {
    /// `None`: the evidence is not about a terminal, or says of one that it has no room.
    pub(crate) fn of(body: &EvidenceCaptured) -> Option<Self> {
        let may_tell = body.evidence_type == EvidenceType::TimestampEvent
            && body.content == EvidenceContent::Opaque;
        let raw = body.raw_data.as_bytes();
        let told: Self = may_tell.then(|| serde_json::from_slice(raw).ok()).flatten()?;
        (told.columns > 0 && told.rows > 0).then_some(told)
    }
}
