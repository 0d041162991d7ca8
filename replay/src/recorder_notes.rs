//! Notes that a recorder wrote down beside its evidence: the size of a terminal, output for which
//! the disk had no room, and how long a command ran whose end nobody saw when it came.

use holdpoint_domain::evidence_capture::{
    EvidenceCaptured, EvidenceContent, EvidenceType, OutputStream,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The note that the evidence is; `None`: it is about something else.
fn note<T: DeserializeOwned>(body: &EvidenceCaptured) -> Option<T> {
    let may_tell = body.evidence_type == EvidenceType::TimestampEvent
        && body.content == EvidenceContent::Opaque;
    may_tell.then(|| serde_json::from_slice(body.raw_data.as_bytes()).ok()).flatten()
}

/// The most that an attempt ran: its recorder and its guard were stopped when it ended.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RanAtMost {
    ran_at_most_ns: u64,
}

/// The most that an attempt ran, in nanoseconds. `None`: the evidence is about something else.
pub(crate) fn ran_at_most(body: &EvidenceCaptured) -> Option<u64> {
    note(body).map(|RanAtMost { ran_at_most_ns }| ran_at_most_ns)
}

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
        note(body).filter(|size: &Self| size.columns > 0 && size.rows > 0)
    }
}

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
        note(body)
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
