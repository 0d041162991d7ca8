//! SHA-256 of many independent messages at once.

#[cfg(target_arch = "x86_64")]
mod drive;
#[cfg(target_arch = "x86_64")]
mod lane;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use sha2::{Digest, Sha256};

/// How messages are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// One after the other, by the crate `sha2`: any processor.
    One,
    /// Two at once, with SHA-NI.
    ShaNiTwo,
    /// Sixteen at once, with AVX-512.
    Avx512Sixteen,
}

/// Writes the SHA-256 of each message to its place in `digests`, in the fastest way that this
/// processor has. Where the two differ in length, the shorter one counts.
///
/// Nothing is allocated, and of a message only what fills no block is copied. Messages may differ
/// in length: a lane whose message ends takes the next one at once.
pub fn digest_each(messages: &[&[u8]], digests: &mut [[u8; 32]]) {
    let count = messages.len().min(digests.len());
    let is_done = fastest(count).is_some_and(|lanes| digest_each_with(lanes, messages, digests));
    if !is_done {
        one_by_one(messages.iter().copied().zip(digests));
    }
}

/// The ways that this processor has, the slowest first.
pub fn available() -> impl Iterator<Item = Lanes> {
    let all = [Lanes::One, Lanes::ShaNiTwo, Lanes::Avx512Sixteen];
    all.into_iter().filter(|lanes| digest_each_with(*lanes, &[], &mut []))
}

/// What may be faster than one after the other.
fn fastest(count: usize) -> Option<Lanes> {
    match count {
        0 | 1 => None,
        _ => Some(Lanes::ShaNiTwo),
    }
}

/// As [`digest_each`], in a chosen way; `false`, and nothing is written, where this processor lacks
/// it. For tests and measurements.
#[must_use]
pub fn digest_each_with(lanes: Lanes, messages: &[&[u8]], digests: &mut [[u8; 32]]) -> bool {
    let work = messages.iter().copied().zip(digests);
    match lanes {
        Lanes::One => one_by_one(work),
        #[cfg(target_arch = "x86_64")]
        Lanes::ShaNiTwo => return x86_64::in_two_lanes(work),
        #[cfg(target_arch = "x86_64")]
        Lanes::Avx512Sixteen => return x86_64::in_sixteen_lanes(work),
        #[cfg(not(target_arch = "x86_64"))]
        Lanes::ShaNiTwo | Lanes::Avx512Sixteen => return false,
    }
    true
}

fn one_by_one<'m, 'd>(work: impl Iterator<Item = (&'m [u8], &'d mut [u8; 32])>) {
    work.for_each(|(message, digest)| *digest = Sha256::digest(message).into());
}
