//! The file in which the outcome of one approved call waits: a claim, which nobody signed. Who made
//! it is told by the owner of the file alone.

use alloc::vec::Vec;
use sha2::{Digest, Sha256};

/// Length of the digest in front of the payload, in hexadecimal digits.
const DIGITS: usize = 64;

/// The file's bytes: the digest of the payload, a space, the payload, a line feed.
#[must_use]
pub fn encode(payload: &[u8]) -> Vec<u8> {
    [digits(payload).as_slice(), b" ", payload, b"\n"].concat()
}

/// Content of the bytes of such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeFile<'a> {
    /// The payload.
    Whole(&'a [u8]),
    /// Its writer was killed before it had written all.
    Torn,
    /// Nothing that a hook writes.
    Foreign,
}

/// Reads the bytes of such a file.
#[must_use]
pub fn decode(bytes: &[u8]) -> OutcomeFile<'_> {
    let Some(line) = bytes.strip_suffix(b"\n") else { return OutcomeFile::Torn };
    let parts = line.split_at_checked(DIGITS);
    let parts = parts.and_then(|(digest, rest)| Some((digest, rest.strip_prefix(b" ")?)));
    match parts {
        Some((digest, payload)) if *digest == *digits(payload) => OutcomeFile::Whole(payload),
        _ => OutcomeFile::Foreign,
    }
}

fn digits(payload: &[u8]) -> Vec<u8> {
    base16ct::lower::encode_string(&Sha256::digest(payload)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_read_back_whole_or_not_at_all() {
        let bytes = encode(b"{}");
        assert_eq!(decode(&bytes), OutcomeFile::Whole(b"{}"));
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), OutcomeFile::Torn, "{length}");
        }
        for place in 0..bytes.len() - 1 {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert_eq!(decode(&changed), OutcomeFile::Foreign, "{place}");
        }
    }
}
