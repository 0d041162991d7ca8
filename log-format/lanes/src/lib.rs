//! SHA-256 of many independent messages at once.

use sha2::{Digest, Sha256};

/// Writes the SHA-256 of each message to its place in `digests`. Where the two differ in length,
/// the shorter one counts.
pub fn digest_each(messages: &[&[u8]], digests: &mut [[u8; 32]]) {
    for (message, digest) in messages.iter().zip(digests) {
        *digest = Sha256::digest(message).into();
    }
}
