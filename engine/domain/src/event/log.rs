//! What happened to the log itself. Kinds 1 to 31.

use serde::{Deserialize, Serialize};

use super::Text;
use crate::closed::closed_enum;
use crate::hash::Digest;

/// A writer opened the log and put its end in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeadMissingAccepted {
    /// The first record that was found.
    pub first_sequence: u64,
    /// The last record that was found.
    pub last_sequence: u64,
}

/// The clock moved by more than a second against the time since boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockStepped {
    /// By how many nanoseconds; negative: back.
    pub step_ns: i64,
}

/// A writer works under another configuration than the one before it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigurationChanged {
    /// SHA-256 of the configuration file; `None`: no file, so the defaults are in force.
    pub digest: Option<Digest>,
}

/// The fingerprint of the state before this record, for every replay to check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FingerprintRecorded {
    /// The version of the state's encoding; a fingerprint of another version is not checked.
    pub schema: u32,
    /// BLAKE3 of the encoded state.
    pub fingerprint: Digest,
}

closed_enum! {
    /// The rules whose refusals are facts of their own. Closed.
    pub enum RefusalClass {
        /// Someone or something that has no business here.
        Scope = "SCOPE",
        /// The same thing was asked for before, otherwise.
        Idempotency = "IDEMPOTENCY",
        /// A step that a hold point or a missing permission bars.
        Gating = "GATING",
        /// The state has moved on since the caller looked.
        Continuity = "CONTINUITY",
    }
}

/// A command was refused by a rule on scope, idempotency, gating or continuity. Nothing else came
/// of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandRefused {
    /// The command's name, as in its readable form.
    pub command: Text,
    /// The kind of rule.
    pub class: RefusalClass,
    /// The stable reason code.
    pub code: Text,
    /// The loop or request that the command is about.
    pub subject: Option<Text>,
    /// Why, in words: at most 4096 bytes, nothing hidden.
    pub message: Text,
}
