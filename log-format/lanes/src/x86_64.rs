//! The compression of SHA-256 with the instructions that an x86-64 processor has for it: four
//! messages at once with SHA-NI. The one place with unsafe code.
//!
//! An engine is a proof: it is made only where the processor has its instructions, and nothing else
//! calls the functions that use them. What else is unsafe are loads of whole vectors, each from an
//! array of at least its size.
#![expect(unsafe_code, reason = "instructions that not every processor has; see at each block")]

use crate::drive::{INITIAL, drive, finish};
use crate::lane::Block;
use std::arch::x86_64::*;

/// Digests four messages at once as long as enough lanes are busy, and what is left one after the
/// other; `false`, and nothing is done, where the processor lacks SHA-NI.
pub(crate) fn in_four_lanes<'m, 'd>(
    work: impl Iterator<Item = (&'m [u8], &'d mut [u8; 32])>,
) -> bool {
    ShaNi::new().map(|mut engine| finish(drive(&mut engine, work))).is_some()
}

/// The constants of the 64 rounds (FIPS 180-4, 4.2.2), by the sixteen words of the schedule.
#[rustfmt::skip]
static K: [[u32; 16]; 4] = [
    [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5,
        0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3,
        0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    ],
    [
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc,
        0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
        0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    ],
    [
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13,
        0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3,
        0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    ],
    [
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5,
        0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208,
        0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ],
];

/// The vector that takes the place of the one at `i` of four that are a ring.
macro_rules! next_words {
    ($w:expr, $i:literal) => {
        next_words($w[$i], $w[($i + 1) % 4], $w[($i + 2) % 4], $w[($i + 3) % 4])
    };
}

/// A state, as the instructions want it: words A, B, E, F and words C, D, G, H.
type Packed = [__m128i; 2];

/// Four states, compressed with SHA-NI.
pub(crate) struct ShaNi {
    states: [Packed; 4],
}

impl ShaNi {
    /// The engine, where the processor has SHA-NI. Its registers are those of SSE, which every
    /// system for this architecture saves.
    pub(crate) fn new() -> Option<Self> {
        let is_there = is_x86_feature_detected!("sha")
            && is_x86_feature_detected!("sse4.1")
            && is_x86_feature_detected!("ssse3");
        is_there.then(|| Self { states: [packed(&INITIAL); 4] })
    }

    /// Sets the state of a lane to [`INITIAL`].
    #[inline(always)]
    pub(crate) fn start(&mut self, lane: usize) {
        if let Some(place) = self.states.get_mut(lane) {
            *place = packed(&INITIAL);
        }
    }

    /// Compresses as many blocks in each lane as the shortest of `blocks` has, and gives how many.
    #[inline(always)]
    pub(crate) fn compress(&mut self, blocks: &[&[Block]; 4]) -> usize {
        // SAFETY: a `ShaNi` is made only where the processor has what the function needs.
        unsafe { compress_four(&mut self.states, blocks) }
    }

    /// The state of a lane.
    #[inline(always)]
    pub(crate) fn state(&self, lane: usize) -> [u32; 8] {
        let [abef, cdgh] = self.states.get(lane).unwrap_or(&self.states[0]);
        let ([f, e, b, a], [h, g, d, c]) = (unpacked(*abef), unpacked(*cdgh));
        [a, b, c, d, e, f, g, h]
    }
}

#[inline(always)]
fn packed([a, b, c, d, e, f, g, h]: &[u32; 8]) -> Packed {
    // SAFETY: four words and a vector are the same sixteen bytes, and any bytes are either.
    unsafe { std::mem::transmute([[*f, *e, *b, *a], [*h, *g, *d, *c]]) }
}

#[inline(always)]
fn unpacked(words: __m128i) -> [u32; 4] {
    // SAFETY: as in `packed`.
    unsafe { std::mem::transmute(words) }
}

/// Compresses the lanes four rounds each in turn: the instruction for two rounds gives its result
/// so late that one lane alone leaves the unit idle for three quarters of the time.
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn compress_four(states: &mut [Packed; 4], blocks: &[&[Block]; 4]) -> usize {
    let count = blocks.iter().map(|blocks| blocks.len()).min().unwrap_or_default();
    let [blocks_a, blocks_b, blocks_c, blocks_d] = blocks.map(|blocks| blocks.iter().take(count));
    let mut s = *states;
    for (((a, b), c), d) in blocks_a.zip(blocks_b).zip(blocks_c).zip(blocks_d) {
        let before = s;
        let mut w = [message_words(a), message_words(b), message_words(c), message_words(d)];
        macro_rules! rounds {
            ($row:literal, $i:literal) => {
                let k = constants(&K[$row], 4 * $i);
                for (s, w) in s.iter_mut().zip(&w) {
                    *s = four_rounds(*s, _mm_add_epi32(w[$i], k));
                }
            };
        }
        macro_rules! rounds_and_schedule {
            ($row:literal, $i:literal) => {
                rounds!($row, $i);
                w.iter_mut().for_each(|w| w[$i] = next_words!(w, $i));
            };
            ($row:literal) => {
                rounds_and_schedule!($row, 0);
                rounds_and_schedule!($row, 1);
                rounds_and_schedule!($row, 2);
                rounds_and_schedule!($row, 3);
            };
        }
        rounds_and_schedule!(0);
        rounds_and_schedule!(1);
        rounds_and_schedule!(2);
        rounds!(3, 0);
        rounds!(3, 1);
        rounds!(3, 2);
        rounds!(3, 3);
        for (s, [abef, cdgh]) in s.iter_mut().zip(before) {
            *s = [_mm_add_epi32(s[0], abef), _mm_add_epi32(s[1], cdgh)];
        }
    }
    *states = s;
    count
}

/// Four constants from `at` on.
#[inline]
#[target_feature(enable = "sse2")]
fn constants(row: &[u32; 16], at: usize) -> __m128i {
    let four = row.get(at..).and_then(|row| row.first_chunk()).unwrap_or(&[0; 4]);
    // SAFETY: sixteen bytes are read from sixteen, at any alignment.
    unsafe { _mm_loadu_si128(four.as_ptr().cast()) }
}

/// The sixteen words of a block, four in each vector.
#[inline]
#[target_feature(enable = "ssse3")]
fn message_words(block: &Block) -> [__m128i; 4] {
    let order = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
    macro_rules! words {
        ($i:literal) => {{
            // SAFETY: sixteen bytes are read from inside the block, at any alignment.
            let words = unsafe { _mm_loadu_si128(block.as_ptr().add(16 * $i).cast()) };
            _mm_shuffle_epi8(words, order)
        }};
    }
    [words!(0), words!(1), words!(2), words!(3)]
}

/// Four rounds of one state.
#[inline]
#[target_feature(enable = "sha,sse2")]
fn four_rounds([abef, cdgh]: [__m128i; 2], words: __m128i) -> [__m128i; 2] {
    let cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
    let abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32::<0x0e>(words));
    [abef, cdgh]
}

/// The four words of the schedule that follow the sixteen in these.
#[inline]
#[target_feature(enable = "sha,ssse3")]
fn next_words(w0: __m128i, w4: __m128i, w8: __m128i, w12: __m128i) -> __m128i {
    let sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w4), _mm_alignr_epi8::<4>(w12, w8));
    _mm_sha256msg2_epu32(sum, w12)
}

#[cfg(test)]
mod tests {
    use crate::digest_in_lanes;
    use memmap2::MmapMut;
    use rustix::mm::{MprotectFlags, mprotect};
    use sha2::{Digest, Sha256};

    /// Bytes between two pages that nobody may read.
    fn guarded(page: usize) -> MmapMut {
        let mut map = MmapMut::map_anon(4 * page).unwrap();
        map.iter_mut()
            .zip(0_u32..)
            .for_each(|(byte, at)| *byte = (at.wrapping_mul(0x9e37_79b9) >> 24) as u8);
        for guard in [0, 3 * page] {
            // SAFETY: the page is part of the map, no reference to it lives, and from here on the
            // map is used for what lies between the two only.
            unsafe {
                let start = map.as_mut_ptr().add(guard).cast();
                mprotect(start, page, MprotectFlags::empty()).unwrap();
            }
        }
        map
    }

    #[test]
    fn no_byte_outside_a_message_is_read() {
        let page = rustix::param::page_size();
        let map = guarded(page);
        // SAFETY: these are the two pages of the map that are readable, and nobody writes to them.
        let bytes = unsafe { std::slice::from_raw_parts(map.as_ptr().add(page), 2 * page) };
        for length in (0..300).chain([page - 1, page, page + 1, 2 * page]) {
            let (first, last) = (&bytes[..length], &bytes[2 * page - length..]);
            let expected = [first, last].map(|message| <[u8; 32]>::from(Sha256::digest(message)));
            let mut digests = [[0; 32]; 36];
            if digest_in_lanes(&[first, last].repeat(18), &mut digests) {
                assert_eq!(digests.as_chunks().0, [expected; 18], "{length} bytes");
            }
        }
    }
}
