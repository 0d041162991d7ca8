//! Digests of many messages at once: those of `sha2`, whatever their lengths and however hashed.

use arbitrary::Unstructured;
use holdpoint_sha256_lanes::{digest_each, digest_in_lanes};
use sha2::{Digest, Sha256};

/// Most messages of one input.
const MESSAGES_MAX: usize = 100;

/// Hashes the messages that the input cuts out of itself as it is chosen, and in lanes.
pub fn read(bytes: &[u8]) {
    let messages = messages(&mut Unstructured::new(bytes), bytes).unwrap_or_default();
    let expected: Vec<[u8; 32]> = messages.iter().map(|m| Sha256::digest(m).into()).collect();
    let mut digests = vec![[0; 32]; messages.len()];
    digest_each(&messages, &mut digests);
    assert_eq!(digests, expected, "in the way that is chosen");
    let mut digests = vec![[0; 32]; messages.len()];
    if digest_in_lanes(&messages, &mut digests) {
        assert_eq!(digests, expected, "in lanes");
    }
}

/// Parts of `bytes`, of any length from anywhere; they may overlap.
fn messages<'b>(input: &mut Unstructured<'_>, bytes: &'b [u8]) -> arbitrary::Result<Vec<&'b [u8]>> {
    let mut messages = Vec::new();
    while messages.len() < MESSAGES_MAX && !input.is_empty() {
        let (from, length): (u16, u16) = (input.arbitrary()?, input.arbitrary()?);
        let rest = bytes.get(usize::from(from) % bytes.len()..).unwrap_or_default();
        let length = usize::from(length) % (rest.len() + 1);
        messages.push(rest.get(..length).unwrap_or_default());
    }
    Ok(messages)
}
