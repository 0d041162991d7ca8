//! The output for which the disk had no room, as its recorder wrote it down.

use holdpoint_domain::evidence_capture::{
    EvidenceCaptured, EvidenceContent, EvidenceType, OutputStream,
};
use serde::Deserialize;

/// Output of an attempt that its recorder gave up because the disk was full.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct NotRecorded {
    /// Number of bytes.
    #[serde(rename = "not_recorded_bytes")]
    bytes: u64,
    /// The first of them.
    #[serde(default, rename = "not_recorded")]
    ranges: Vec<ByteRange>,
}

/// Bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
struct ByteRange {
    stream: OutputStream,
    offset: u64,
    length: u64,
}

impl NotRecorded {
    /// `None`: the evidence is about something else.
    pub(crate) fn of(body: &EvidenceCaptured) -> Option<Self> {
        let may_tell = body.evidence_type == EvidenceType::TimestampEvent
            && body.content == EvidenceContent::Opaque;
        may_tell.then(|| serde_json::from_slice(body.raw_data.as_bytes()).ok()).flatten()
    }

    /// Returns where each range of a stream begins and ends; `None`: not all of them were written
    /// down.
    pub(crate) fn ranges_of(&self, stream: OutputStream) -> Option<Vec<(u64, u64)>> {
        let told = self.ranges.iter().fold(0_u64, |sum, it| sum.saturating_add(it.length));
        let ranges = self.ranges.iter().filter(|it| it.stream == stream);
        let ranges = ranges.map(|it| (it.offset, it.offset.saturating_add(it.length))).collect();
        (told == self.bytes).then_some(ranges)
    }
}
