//! SHA-256 of many independent messages at once.
//!
//! One message is a chain of blocks, each of which waits for the one before; a processor that could
//! do more at a time idles. Messages that do not depend on each other fill the gaps:
//! [`digest_each`] keeps several on their way, and a lane whose message ends takes the next one at
//! once, so that messages of different lengths cost no more than equal ones.
//!
//! Which way is the fastest differs from processor to processor. On Zen 4 (AMD EPYC, 3.65 GHz; a
//! thread's own time, medians of paired runs against [`Lanes::One`]), times as fast as `sha2` alone
//! with SHA-NI:
//!
//! | messages | `ShaNiFour` | `Avx512Sixteen` |
//! |---|---|---|
//! | 64 bytes | 2.2 | 1.9 |
//! | 116 bytes: two blocks | 1.8 | 1.6 |
//! | 256 bytes | 2.1 | 2.0 |
//! | 1 KiB | 2.0 | 2.0 |
//! | 4 KiB and 64 KiB | 2.0 | 1.9 |
//! | 64 to 512 bytes, mixed | 1.8 | 1.6 |
//! | 64 to 4096 bytes, mixed | 1.9 | 1.8 |
//!
//! On Zen 5, sixteen messages of 256 bytes took 75 ns each with AVX-512 and 111 with SHA-NI. So
//! sixteen lanes are used where the processor has them: they lose up to 14 % on the one, and gain
//! 48 % on the other. A way is used only where its digests are right; see [`used_from`].
//!
//! Crates that do this were looked at before this was written. `tape-sha256` (0.2.2) idles a lane
//! from the end of its message to the end of the longest one of its group: on mixed lengths it was
//! 0.93 to 1.08 times as fast as `sha2`, on 116 bytes 0.8 times, and its features can pin
//! instructions that the processor lacks. `commonware-cryptography` (2026.10) has SHA-NI for two
//! lengths of tree nodes and AVX-512 for messages of one length, and some twenty dependencies.
//! `purecrypto` has AVX2 alone.

mod choice;
#[cfg(target_arch = "x86_64")]
mod drive;
#[cfg(target_arch = "x86_64")]
mod lane;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use choice::used_from;
use sha2::{Digest, Sha256};

/// Way in which messages are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// One after the other, by the crate `sha2`: any processor.
    One,
    /// Four at once, with SHA-NI.
    ShaNiFour,
    /// Sixteen at once, with AVX-512, where the operating system saves its registers.
    Avx512Sixteen,
}

impl Lanes {
    /// Every way, whether or not this processor has it.
    pub const ALL: [Self; 3] = [Self::One, Self::ShaNiFour, Self::Avx512Sixteen];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "sha2",
            Self::ShaNiFour => "sha-ni",
            Self::Avx512Sixteen => "avx-512",
        }
    }
}

/// Writes the SHA-256 of each message to its place in `digests`, in the fastest way that this
/// processor has for so many. Where the two differ in length, the shorter one counts.
///
/// Nothing is allocated, and of a message only what fills no block is copied. Messages may differ
/// in length: a lane whose message ends takes the next one at once. The first call of a process
/// also compares the digests of each way with those of `sha2`.
pub fn digest_each(messages: &[&[u8]], digests: &mut [[u8; 32]]) {
    choice::plan_for(messages.len().min(digests.len())).digest_each(messages, digests);
}

/// The ways that this processor has.
pub fn available() -> impl Iterator<Item = Lanes> {
    Lanes::ALL.into_iter().filter(|lanes| digest_each_with(*lanes, &[], &mut []))
}

/// Hashes like [`digest_each`], in one way alone, however few the messages; `false`, and nothing is
/// written, where this processor lacks it. For tests and measurements.
#[must_use]
pub fn digest_each_with(lanes: Lanes, messages: &[&[u8]], digests: &mut [[u8; 32]]) -> bool {
    let work = messages.iter().copied().zip(digests);
    match lanes {
        Lanes::One => one_by_one(work),
        #[cfg(target_arch = "x86_64")]
        Lanes::ShaNiFour => return x86_64::in_four_lanes(work, choice::FOURS_MIN),
        #[cfg(target_arch = "x86_64")]
        Lanes::Avx512Sixteen => return x86_64::in_sixteen_lanes(work, choice::SIXTEENS_MIN),
        #[cfg(not(target_arch = "x86_64"))]
        Lanes::ShaNiFour | Lanes::Avx512Sixteen => return false,
    }
    true
}

fn one_by_one<'m, 'd>(work: impl Iterator<Item = (&'m [u8], &'d mut [u8; 32])>) {
    work.for_each(|(message, digest)| *digest = Sha256::digest(message).into());
}
