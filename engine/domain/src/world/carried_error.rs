//! Why bytes are no carried state.

use alloc::string::String;

use thiserror::Error;

use crate::core::hash::Digest;

/// Why bytes are no carried state.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CarriedError {
    /// A room that this program does not have.
    #[error("the carried state has a room {found:?}, which is unknown; use a newer holdpoint")]
    UnknownRoom {
        /// Its name, shortened and made visible.
        found: String,
    },
    /// A room in a version that this program does not read.
    #[error(
        "the room {room} of the carried state has version {found}, and this program reads \
         version {expected}; use the holdpoint that wrote it, or a newer one"
    )]
    UnknownVersion {
        /// The room.
        room: &'static str,
        /// The version that is read.
        expected: u32,
        /// The version that was found.
        found: u32,
    },
    /// The bytes are not a value of the expected type.
    #[error("the {place} of the carried state is malformed: {reason}; restore it from a copy")]
    Malformed {
        /// The room, or the list of sections.
        place: &'static str,
        /// What the decoder says.
        reason: String,
    },
    /// Bytes follow the value.
    #[error("the {place} of the carried state has {found} bytes after its end; expected none")]
    Trailing {
        /// The room, or the list of sections.
        place: &'static str,
        /// How many bytes follow.
        found: usize,
    },
    /// The bytes are not the state that is asked for.
    #[error("the carried state has the fingerprint {found}, and {expected} is expected")]
    OtherFingerprint {
        /// What is expected.
        expected: Digest,
        /// What was found.
        found: Digest,
    },
    /// The bytes decode, but the same state is carried otherwise.
    #[error("the carried state is not in canonical form from byte {offset} on")]
    NotCanonical {
        /// The first byte that differs.
        offset: usize,
    },
}
