//! Sizes and bounds of the format, in bytes unless said otherwise.

/// Version of the log format that this crate writes and the newest one that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// Length of a record's header.
pub const RECORD_HEADER_LENGTH: usize = 64;

/// Every record and seal starts at a multiple of this, so that no size field is ever torn.
pub const ALIGNMENT: usize = 8;

/// Length of a segment's header block: one page, so that a torn write of records cannot reach it.
pub const SEGMENT_HEADER_LENGTH: usize = 4_096;

/// Length of a seal.
pub const SEAL_LENGTH: usize = 64;

/// Length of the file `HEAD`.
pub const HEAD_LENGTH: usize = 152;

/// Length of the header of a snapshot, in bytes.
pub const SNAPSHOT_HEADER_LENGTH: usize = 128;

/// Length of the header of an entry of a run's file, its signature included.
pub const RUN_ENTRY_HEADER_LENGTH: usize = 192;

/// Largest payload of an entry of a run's file: 64 MiB.
pub const RUN_ENTRY_PAYLOAD_MAX: usize = 64 * 1_024 * 1_024;

/// Longest file in which an outcome waits: 1 MiB.
pub const OUTCOME_FILE_MAX: usize = 1_024 * 1_024;

/// Most bytes of the line for people that a run's file begins with, its end of line included.
pub const RUN_FILE_LINE_MAX: usize = 256;

/// Length of the part of the file `LOCK` that says who writes; older programs wrote no more.
pub const LOCK_LENGTH: usize = 64;

/// Length of the file `LOCK`: who writes, how far a shared sync came, and who waits.
pub const LOCK_FILE_LENGTH: usize = 4_096;

/// Writes end at a multiple of this in the file, or at the end of a batch.
pub const PAGE: u64 = 4_096;

/// Largest single write to a segment: smaller ones leave smaller folios in the page cache, which
/// cost the writer and every later reader.
pub const PIECE_LENGTH: usize = 256 * 1_024;

/// Largest payload of a record: 64 MiB.
pub const PAYLOAD_LENGTH_MAX: usize = 64 * 1_024 * 1_024;

/// Largest batch, headers and padding included: 256 MiB.
pub const BATCH_LENGTH_MAX: u64 = 256 * 1_024 * 1_024;

/// Capacity of the first segment: 64 KiB.
pub const SEGMENT_CAPACITY_MIN: u64 = 64 * 1_024;

/// Capacity at which doubling stops: 32 MiB. One batch may still need a larger segment.
pub const SEGMENT_CAPACITY_USUAL_MAX: u64 = 32 * 1_024 * 1_024;

/// Largest capacity that a segment header may state: the largest batch and its segment's own parts.
pub const SEGMENT_CAPACITY_MAX: u64 = BATCH_LENGTH_MAX + 2 * PAGE;

/// Smallest capacity that a segment header may state.
pub const SEGMENT_CAPACITY_LEAST: u64 = 2 * PAGE;

/// Kinds from here on are the log's user's own; those below are events.
pub const OPAQUE_KIND_MIN: u16 = 32_768;

/// Number of segment lengths of candidate bytes that a search behind damage may hash.
pub const RESYNC_BUDGET_SEGMENTS: u64 = 4;

const _: () = assert!(RECORD_HEADER_LENGTH.is_multiple_of(ALIGNMENT));
const _: () = assert!(SEAL_LENGTH.is_multiple_of(ALIGNMENT));
const _: () = assert!(SEGMENT_HEADER_LENGTH as u64 == PAGE);
const _: () = assert!((PIECE_LENGTH as u64).is_multiple_of(PAGE));
const _: () = assert!(SEGMENT_CAPACITY_MAX.is_multiple_of(PAGE));

/// `length` rounded up to the record alignment.
#[must_use]
pub const fn padded(length: u64) -> u64 {
    length.next_multiple_of(ALIGNMENT as u64)
}

/// Bytes that a record with a payload of `payload_length` bytes takes in a segment.
#[must_use]
pub const fn record_footprint(payload_length: usize) -> u64 {
    padded((RECORD_HEADER_LENGTH + payload_length) as u64)
}

/// The capacity of the segment that follows one of `previous` bytes and must hold a batch of
/// `batch` bytes: double, within 64 KiB and 32 MiB, or of the batch's own size when that is more.
#[must_use]
pub fn next_capacity(previous: u64, batch: u64) -> u64 {
    let usual = previous.saturating_mul(2).clamp(SEGMENT_CAPACITY_MIN, SEGMENT_CAPACITY_USUAL_MAX);
    let own = (SEGMENT_HEADER_LENGTH as u64 + batch + SEAL_LENGTH as u64).next_multiple_of(PAGE);
    usual.max(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_doubles_from_64_kib_to_32_mib_and_grows_for_one_large_batch() {
        assert_eq!(next_capacity(0, 100), 65_536);
        assert_eq!(next_capacity(65_536, 100), 131_072);
        for previous in [SEGMENT_CAPACITY_USUAL_MAX, 2 * SEGMENT_CAPACITY_USUAL_MAX] {
            assert_eq!(next_capacity(previous, 100), SEGMENT_CAPACITY_USUAL_MAX);
        }
        let own = next_capacity(65_536, BATCH_LENGTH_MAX);
        assert!((BATCH_LENGTH_MAX + 4_096 + 64..=SEGMENT_CAPACITY_MAX).contains(&own));
    }

    #[test]
    fn footprint_is_the_padded_header_and_payload() {
        assert_eq!(record_footprint(0), 64);
        assert_eq!(record_footprint(1), 72);
        assert_eq!(record_footprint(256), 320);
    }
}
