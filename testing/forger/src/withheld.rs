use crate::layout::{WITHHELD, header};
use crate::log::{Log, RecordAt};

impl Log {
    /// Puts its digest in the place of a payload. The chain stays: a link covers the digest.
    pub fn withhold(&mut self, at: RecordAt) {
        let digest = self.record(at).payload_digest();
        self.withhold_as(at, digest.to_vec());
    }

    /// The same with what the forger says that the digest is.
    pub fn withhold_as(&mut self, at: RecordAt, digest: Vec<u8>) {
        let record = self.record_mut(at);
        record.set_payload(digest);
        record.set_flags(record.flags() | WITHHELD);
        self.remake_checksum(at);
    }

    /// Whatever names an offset is told of the new ones: seals, headers and HEAD. Whether all has
    /// room.
    #[must_use]
    pub fn offsets_follow(&mut self) -> bool {
        let mut seal_before = None;
        for segment in self.segments_mut() {
            if let Some(offset) = seal_before {
                segment.header.set_number(header::PREVIOUS_SEAL_OFFSET, offset);
                segment.remake_header_checksum();
            }
            seal_before = segment.seal_place().map(|item| {
                segment.remake_seal();
                segment.offset_of(item) as u64
            });
            if !segment.fit() {
                return false;
            }
        }
        self.head_follows();
        true
    }
}
