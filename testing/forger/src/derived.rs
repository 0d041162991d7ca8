use crate::chain::Reach;
use crate::layout::{MORE_FOLLOWS, head, header};
use crate::link;
use crate::log::{Log, RecordAt};
use crate::record::Record;

impl Log {
    /// The log as it was behind the last whole batch up to a sequence, left cleanly.
    pub fn as_it_was(&self, sequence: u64) -> Option<Self> {
        let is_end = |at: &RecordAt| {
            let record = self.record(*at);
            record.sequence() <= sequence && !record.has(MORE_FOLLOWS)
        };
        let end = self.records().into_iter().rev().find(is_end)?;
        let last = self.record(end).sequence();
        let mut old = self.clone();
        for path in self.segment_paths().split_off(end.segment + 1) {
            old.files.remove(&path);
        }
        let active = old.segment_mut(end.segment);
        active.items.truncate(end.item + 1);
        // Without its seal a full segment may have less room than one asks for: it had it then.
        let had_room = active.fit();
        let first = active.first_sequence();
        old.files.retain(|path, _| !is_derived_after(path, first, last));
        old.head_follows();
        old.lock_follows();
        had_room.then_some(old)
    }

    /// A log of another identity that says the same.
    pub fn of_other_identity(&self) -> Option<Self> {
        let mut other = self.clone();
        let id = other.segments().first()?.log().map(|byte| byte ^ 0x5a);
        for segment in other.segments_mut() {
            segment.header.set(header::LOG, &id);
            segment.remake_header_checksum();
        }
        if let Some(block) = other.head_mut() {
            block.set(head::LOG, &id);
        }
        other.rechain_from_genesis().then_some(other)
    }

    /// The whole chain anew, HEAD with it. Whether everything has room and it begins at genesis.
    #[must_use]
    pub fn rechain_from_genesis(&mut self) -> bool {
        let Some(first) = self.records().first().copied() else { return false };
        let segment = self.segment_mut(first.segment);
        if segment.first_sequence() != 1 {
            return false;
        }
        let genesis = link::genesis(&segment.log());
        segment.header.set(header::PREVIOUS_LINK, &genesis);
        segment.remake_header_checksum();
        if let Some(block) = self.head_mut() {
            block.set(head::ANCHOR_LINK, &genesis);
        }
        let has_room = self.remake(first, Reach::Log);
        self.head_follows();
        has_room
    }

    /// A log that is this one up to a record, and says something else in every record behind it.
    pub fn of_other_history(&self, from: RecordAt) -> Option<Self> {
        let mut other = self.clone();
        for at in self.records().into_iter().filter(|at| *at >= from) {
            let Some(payload) = altered(&self.record(at).payload) else { continue };
            other.record_mut(at).set_payload(payload);
        }
        let has_room = other.remake(from, Reach::Log);
        other.head_follows();
        has_room.then_some(other)
    }
}

/// Whether a file was made when the log was further on than a sequence.
fn is_derived_after(path: &str, active_segment: u64, last: u64) -> bool {
    let number = |directory: &str, ending: &str| -> Option<u64> {
        path.strip_prefix(directory)?.strip_suffix(ending)?.parse().ok()
    };
    let is_index = number("segments/", ".idx").is_some_and(|first| first >= active_segment);
    is_index || number("snapshots/", ".snapshot").is_some_and(|sequence| sequence >= last)
}

/// Another payload of the same length that still reads as what it is: the last letter or digit is
/// another one.
pub(crate) fn altered(payload: &[u8]) -> Option<Vec<u8>> {
    let place = payload.iter().rposition(u8::is_ascii_alphanumeric)?;
    let mut other = payload.to_vec();
    other[place] = match other[place] {
        b'0' => b'1',
        b'a' => b'b',
        b'A' => b'B',
        b'1'..=b'9' => b'0',
        b'b'..=b'z' => b'a',
        _ => b'A',
    };
    Some(other)
}

/// Changes a record's payload alone.
pub(crate) fn alter(record: &mut Record) -> Result<(), &'static str> {
    let payload = altered(&record.payload).ok_or("the record has no letter to change")?;
    record.set_payload(payload);
    Ok(())
}
