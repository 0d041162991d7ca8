//! The compression of SHA-256 with the instructions that an x86-64 processor has for it: four
//! messages at once with SHA-NI, sixteen at once with AVX-512. The one place with unsafe code.
//!
//! An engine is a proof: it is made only where the processor has its instructions, and nothing else
//! calls the functions that use them. What else is unsafe are loads and stores of whole vectors,
//! each from or to an array of exactly its size.
#![expect(unsafe_code, reason = "instructions that not every processor has; see at each block")]

use crate::drive::{Engine, Fresh, INITIAL, Resume, Unfinished, drive, finish};
use crate::lane::Block;
use std::arch::x86_64::*;

/// Digests four messages at once as long as `enough` lanes are busy, and what is left one after the
/// other; `false`, and nothing is done, where the processor lacks SHA-NI.
pub(crate) fn in_four_lanes<'m, 'd>(
    work: impl Iterator<Item = (&'m [u8], &'d mut [u8; 32])>,
    enough: usize,
) -> bool {
    let engine = ShaNi::new();
    engine.map(|mut engine| finish(drive(&mut engine, Fresh(work), enough))).is_some()
}

/// Digests sixteen messages at once as long as `enough` lanes are busy, and what is left one after
/// the other; `false`, and nothing is done, where the processor lacks AVX-512 or the operating
/// system does not save its registers.
pub(crate) fn in_sixteen_lanes<'m, 'd>(
    work: impl Iterator<Item = (&'m [u8], &'d mut [u8; 32])>,
    enough: usize,
) -> bool {
    let engine = Avx512::new();
    engine.map(|mut engine| finish(drive(&mut engine, Fresh(work), enough))).is_some()
}

/// Digests sixteen messages at once as long as `enough` lanes are busy, and what is left in four
/// lanes, as [`in_four_lanes`] does; `false`, and nothing is done, where either is lacking.
pub(crate) fn in_sixteen_then_four<'m, 'd>(
    work: impl Iterator<Item = (&'m [u8], &'d mut [u8; 32])>,
    enough: usize,
    enough_of_four: usize,
) -> bool {
    let (Some(mut sixteen), Some(mut four)) = (Avx512::new(), ShaNi::new()) else { return false };
    let unfinished = drive(&mut sixteen, Fresh(work), enough);
    finish(drive(&mut four, Unfinished(unfinished), enough_of_four));
    true
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
}

impl Engine<4> for ShaNi {
    #[inline(always)]
    fn start(&mut self, lane: usize) {
        self.resume(lane, &INITIAL);
    }

    #[inline(always)]
    fn compress(&mut self, blocks: &[&[Block]; 4]) -> usize {
        // SAFETY: a `ShaNi` is made only where the processor has what the function needs.
        unsafe { compress_four(&mut self.states, blocks) }
    }

    #[inline(always)]
    fn state(&self, lane: usize) -> [u32; 8] {
        let [abef, cdgh] = self.states.get(lane).unwrap_or(&self.states[0]);
        let ([f, e, b, a], [h, g, d, c]) = (unpacked(*abef), unpacked(*cdgh));
        [a, b, c, d, e, f, g, h]
    }
}

impl Resume for ShaNi {
    #[inline(always)]
    fn resume(&mut self, lane: usize, state: &[u32; 8]) {
        if let Some(place) = self.states.get_mut(lane) {
            *place = packed(state);
        }
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
                s[0] = four_rounds(s[0], _mm_add_epi32(w[0][$i], k));
                s[1] = four_rounds(s[1], _mm_add_epi32(w[1][$i], k));
                s[2] = four_rounds(s[2], _mm_add_epi32(w[2][$i], k));
                s[3] = four_rounds(s[3], _mm_add_epi32(w[3][$i], k));
            };
        }
        macro_rules! rounds_and_schedule {
            ($row:literal, $i:literal) => {
                rounds!($row, $i);
                w[0][$i] = next_words!(w[0], $i);
                w[1][$i] = next_words!(w[1], $i);
                w[2][$i] = next_words!(w[2], $i);
                w[3][$i] = next_words!(w[3], $i);
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
        s[0] = [_mm_add_epi32(s[0][0], before[0][0]), _mm_add_epi32(s[0][1], before[0][1])];
        s[1] = [_mm_add_epi32(s[1][0], before[1][0]), _mm_add_epi32(s[1][1], before[1][1])];
        s[2] = [_mm_add_epi32(s[2][0], before[2][0]), _mm_add_epi32(s[2][1], before[2][1])];
        s[3] = [_mm_add_epi32(s[3][0], before[3][0]), _mm_add_epi32(s[3][1], before[3][1])];
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

/// A word of sixteen states, or of sixteen messages.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Words([u32; 16]);

/// Sixteen states.
pub(crate) struct Avx512 {
    states: [Words; 8],
    /// Lanes whose state is to be [`INITIAL`], whatever `states` says: a store into them just
    /// before the whole is loaded would be waited for.
    fresh: u16,
}

impl Avx512 {
    /// The engine, where the processor has AVX-512 with its byte and word instructions and the
    /// system saves its registers: the macro says "detected" only where OSXSAVE is set and XCR0 has
    /// the states of SSE, AVX and AVX-512 (bits 1, 2 and 5 to 7).
    pub(crate) fn new() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        is_there.then_some(Self { states: [Words([0; 16]); 8], fresh: 0 })
    }
}

impl Engine<16> for Avx512 {
    #[inline(always)]
    fn start(&mut self, lane: usize) {
        self.fresh |= 1 << lane;
    }

    #[inline(always)]
    fn compress(&mut self, blocks: &[&[Block]; 16]) -> usize {
        let fresh = std::mem::take(&mut self.fresh);
        // SAFETY: an `Avx512` is made only where the processor has what the function needs.
        unsafe { compress_sixteen(&mut self.states, fresh, blocks) }
    }

    #[inline(always)]
    fn state(&self, lane: usize) -> [u32; 8] {
        if self.fresh & 1 << lane != 0 {
            return INITIAL;
        }
        self.states.each_ref().map(|Words(words)| words.get(lane).copied().unwrap_or_default())
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn compress_sixteen(states: &mut [Words; 8], fresh: u16, blocks: &[&[Block]; 16]) -> usize {
    let count = blocks.iter().map(|blocks| blocks.len()).min().unwrap_or_default();
    let mut state = loaded(states, fresh);
    for at in 0..count {
        let before = state;
        let mut w = transposed(block_rows(blocks, at));
        macro_rules! sixteen {
            ($step:ident) => {
                $step!(0);
                $step!(1);
                $step!(2);
                $step!(3);
                $step!(4);
                $step!(5);
                $step!(6);
                $step!(7);
                $step!(8);
                $step!(9);
                $step!(10);
                $step!(11);
                $step!(12);
                $step!(13);
                $step!(14);
                $step!(15);
            };
        }
        let [rows @ .., last] = &K;
        for k in rows {
            macro_rules! round_and_schedule {
                ($i:literal) => {
                    state = round(state, add(w[$i], splat(k[$i])));
                    w[$i] = next_word(w[$i], w[($i + 1) % 16], w[($i + 9) % 16], w[($i + 14) % 16]);
                };
            }
            sixteen!(round_and_schedule);
        }
        macro_rules! round_alone {
            ($i:literal) => {
                state = round(state, add(w[$i], splat(last[$i])));
            };
        }
        sixteen!(round_alone);
        state = sum(state, before);
    }
    store(states, state);
    count
}

type State = [__m512i; 8];

#[inline]
#[target_feature(enable = "avx512f")]
fn loaded(states: &[Words; 8], fresh: u16) -> State {
    macro_rules! word {
        ($i:literal) => {{
            // SAFETY: sixty-four bytes are read from sixty-four, aligned to as many.
            let word = unsafe { _mm512_load_si512(states[$i].0.as_ptr().cast()) };
            _mm512_mask_blend_epi32(fresh, word, splat(INITIAL[$i]))
        }};
    }
    [word!(0), word!(1), word!(2), word!(3), word!(4), word!(5), word!(6), word!(7)]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(states: &mut [Words; 8], state: State) {
    for (place, word) in states.iter_mut().zip(state) {
        // SAFETY: sixty-four bytes are written to sixty-four, aligned to as many.
        unsafe { _mm512_store_si512(place.0.as_mut_ptr().cast(), word) };
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(word: u32) -> __m512i {
    _mm512_set1_epi32(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add(a: __m512i, b: __m512i) -> __m512i {
    _mm512_add_epi32(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0x96>(a, b, c)
}

/// One round of sixteen states: `words` is the schedule's word and the round's constant.
#[inline]
#[target_feature(enable = "avx512f")]
fn round([a, b, c, d, e, f, g, h]: State, words: __m512i) -> State {
    let choice = _mm512_ternarylogic_epi32::<0xca>(e, f, g);
    let sum1 = xor(_mm512_ror_epi32::<6>(e), _mm512_ror_epi32::<11>(e), _mm512_ror_epi32::<25>(e));
    let t1 = add(add(add(h, words), choice), sum1);
    let majority = _mm512_ternarylogic_epi32::<0xe8>(a, b, c);
    let sum0 = xor(_mm512_ror_epi32::<2>(a), _mm512_ror_epi32::<13>(a), _mm512_ror_epi32::<22>(a));
    [add(add(t1, majority), sum0), a, b, c, add(d, t1), e, f, g]
}

/// The word of the schedule that follows the sixteen from `w0`, of which these are 0, 1, 9, 14.
#[inline]
#[target_feature(enable = "avx512f")]
fn next_word(w0: __m512i, w1: __m512i, w9: __m512i, w14: __m512i) -> __m512i {
    let sigma0 =
        xor(_mm512_ror_epi32::<7>(w1), _mm512_ror_epi32::<18>(w1), _mm512_srli_epi32::<3>(w1));
    let sigma1 =
        xor(_mm512_ror_epi32::<17>(w14), _mm512_ror_epi32::<19>(w14), _mm512_srli_epi32::<10>(w14));
    add(add(w0, w9), add(sigma0, sigma1))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sum(a: State, b: State) -> State {
    let [a0, a1, a2, a3, a4, a5, a6, a7] = a;
    let [b0, b1, b2, b3, b4, b5, b6, b7] = b;
    [
        add(a0, b0),
        add(a1, b1),
        add(a2, b2),
        add(a3, b3),
        add(a4, b4),
        add(a5, b5),
        add(a6, b6),
        add(a7, b7),
    ]
}

/// The block at `at` of each lane, its bytes in the order of the words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn block_rows(blocks: &[&[Block]; 16], at: usize) -> [__m512i; 16] {
    let order =
        _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203));
    macro_rules! row {
        ($i:literal) => {{
            let block: &Block = blocks[$i].get(at).unwrap_or(&[0; 64]);
            // SAFETY: sixty-four bytes are read from sixty-four, at any alignment.
            let row = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            _mm512_shuffle_epi8(row, order)
        }};
    }
    [
        row!(0),
        row!(1),
        row!(2),
        row!(3),
        row!(4),
        row!(5),
        row!(6),
        row!(7),
        row!(8),
        row!(9),
        row!(10),
        row!(11),
        row!(12),
        row!(13),
        row!(14),
        row!(15),
    ]
}

/// Rows of sixteen words as columns.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(rows: [__m512i; 16]) -> [__m512i; 16] {
    let [r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15] = rows;
    // Within each quarter of the vectors, words 0 to 3 of four rows.
    let [a0, a1, a2, a3] = words_transposed(r0, r1, r2, r3);
    let [b0, b1, b2, b3] = words_transposed(r4, r5, r6, r7);
    let [c0, c1, c2, c3] = words_transposed(r8, r9, r10, r11);
    let [d0, d1, d2, d3] = words_transposed(r12, r13, r14, r15);
    // Quarter by quarter.
    let [w0, w4, w8, w12] = quarters_transposed(a0, b0, c0, d0);
    let [w1, w5, w9, w13] = quarters_transposed(a1, b1, c1, d1);
    let [w2, w6, w10, w14] = quarters_transposed(a2, b2, c2, d2);
    let [w3, w7, w11, w15] = quarters_transposed(a3, b3, c3, d3);
    [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn words_transposed(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> [__m512i; 4] {
    let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab_low, cd_low),
        _mm512_unpackhi_epi64(ab_low, cd_low),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn quarters_transposed(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> [__m512i; 4] {
    let (ab_low, ab_high) =
        (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xee>(a, b));
    let (cd_low, cd_high) =
        (_mm512_shuffle_i32x4::<0x44>(c, d), _mm512_shuffle_i32x4::<0xee>(c, d));
    [
        _mm512_shuffle_i32x4::<0x88>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0xdd>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high),
        _mm512_shuffle_i32x4::<0xdd>(ab_high, cd_high),
    ]
}

#[cfg(test)]
mod tests {
    use crate::{Lanes, available, digest_each_with};
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
            for lanes in available() {
                let mut digests = [[0; 32]; 36];
                assert!(digest_each_with(lanes, &[first, last].repeat(18), &mut digests));
                assert_eq!(digests.as_chunks().0, [expected; 18], "{lanes:?}, {length} bytes");
            }
        }
        assert_eq!(available().next(), Some(Lanes::One));
    }
}
