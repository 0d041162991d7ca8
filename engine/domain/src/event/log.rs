//! What happened to the log itself. Kinds 1 to 31.

use serde::{Deserialize, Serialize};

use super::Text;
use crate::hash::Digest;

/// A writer opened the log and put its end in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryPerformed {
    /// The newest record that some durable mark proves. 0: none.
    pub last_proven_sequence: u64,
    /// The newest record that was kept, proven or not. 0: none.
    pub last_kept_sequence: u64,
    /// How many bytes after it were cut, zeros excluded.
    pub cut_bytes: u64,
    /// The file, relative to the log's directory, to which the cut bytes were copied first.
    pub copied_to: Option<Text>,
}

/// A writer was told to go on although HEAD, the witness of how far the log reached, is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadMissingAccepted {
    /// The first record that was found.
    pub first_sequence: u64,
    /// The last record that was found.
    pub last_sequence: u64,
}

/// The clock moved by more than a second against the time since boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockStepped {
    /// By how many nanoseconds; negative: back.
    pub step_ns: i64,
}

/// The fingerprint of the state before this record, for every replay to check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FingerprintRecorded {
    /// The version of the state's encoding; a fingerprint of another version is not checked.
    pub schema: u32,
    /// BLAKE3 of the encoded state.
    pub fingerprint: Digest,
}
