//! Bounds on how big things may be. Every bound is checked by `decide` before an event is made, so
//! that no recorded event exceeds one; the codec's bound is checked on both ways.

/// Largest payload of one record, in bytes (64 MiB, as the log's own limit).
pub const MAX_PAYLOAD_BYTES: usize = 64 * 1024 * 1024;

/// Largest raw evidence of one record, in bytes (16 MiB).
pub const MAX_RAW_BYTES: usize = 16 * 1024 * 1024;

/// Most evidence items of one capture.
pub const MAX_ITEMS_PER_CAPTURE: usize = 8;

/// Longest identifier (loop, executor, session, actor, correlation, key), in bytes.
pub const MAX_ID_BYTES: usize = crate::core::text::MAX_IDENTIFIER_BYTES;

/// Longest sentence given with a command (details, messages), in bytes. Longer text is cut.
pub const MAX_SENTENCE_BYTES: usize = 4096;

/// Longest command line kept for showing, in bytes. Longer text is cut.
pub const MAX_COMMAND_LINE_BYTES: usize = 64 * 1024;

/// Most evidence records of one chain. The last ones are kept free, so that a halt always fits.
pub const MAX_CHAIN_RECORDS: u64 = 4096;

/// Records of a chain that only a transition or a halt may use.
pub const RESERVED_CHAIN_RECORDS: u64 = 64;

/// Most items of a list inside an event (approvers, targets, allowed decisions).
pub const MAX_LIST_ITEMS: usize = 16;

/// Longest reason that a person may give, in bytes. A longer one is refused, not cut.
pub const MAX_REASON_BYTES: usize = MAX_SENTENCE_BYTES;

/// Most requests that are remembered after their loop settled: the newest.
pub const MAX_CLOSED_REQUESTS: usize = 1024;

/// Most idempotency keys that are remembered without a live loop: the newest. Older ones are found
/// in the log.
pub const MAX_RETIRED_KEYS: usize = 1024;

/// A step of the wall clock against the time since boot by this much or more is an event, in
/// nanoseconds (one second).
pub const CLOCK_STEP_NS: u64 = 1_000_000_000;

/// A log whose newest record is ahead of the clock by more than this says so, in nanoseconds (one
/// minute).
pub const CLOCK_AHEAD_NS: u64 = 60_000_000_000;

/// Random bits of an identifier that Holdpoint mints, in bytes.
pub const ENTROPY_BYTES: usize = 16;

const _: () = assert!(MAX_RAW_BYTES + MAX_COMMAND_LINE_BYTES < MAX_PAYLOAD_BYTES);

const _: () = assert!(MAX_ITEMS_PER_CAPTURE * MAX_RAW_BYTES <= 256 * 1024 * 1024);

const _: () = assert!(RESERVED_CHAIN_RECORDS < MAX_CHAIN_RECORDS);
