//! Keeps lanes full: a lane whose message ends takes the next one at once.

use crate::LANES_FROM;
use crate::lane::Lane;
use crate::x86_64::ShaNi;
use sha2::block_api::compress256;
use std::array;

/// State in which every message begins (FIPS 180-4, 5.3.3).
pub(crate) const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// Compresses until fewer than [`LANES_FROM`] lanes are busy and nothing is left to refill them
/// with. Gives the lanes that are busy then, each with its state.
#[inline(always)]
pub(crate) fn drive<'m, 'd>(
    engine: &mut ShaNi,
    mut work: impl Iterator<Item = (&'m [u8], &'d mut [u8; 32])>,
) -> impl Iterator<Item = (Lane<'m, 'd>, [u32; 8])> {
    let mut refill = |engine: &mut ShaNi, index, lane: &mut Lane<'m, 'd>| {
        if let Some((message, digest)) = work.next() {
            lane.take(message, digest);
            engine.start(index);
        }
    };
    let mut lanes: [Lane<'_, '_>; 4] = array::from_fn(|_| Lane::default());
    for (index, lane) in lanes.iter_mut().enumerate() {
        refill(engine, index, lane);
    }
    let mut busy = lanes.iter().filter(|lane| lane.is_busy()).count();
    while busy >= LANES_FROM {
        let count = compress(engine, &lanes);
        for (index, lane) in lanes.iter_mut().enumerate() {
            if let Some(digest) = lane.advance(count) {
                *digest = digest_of(&engine.state(index));
                refill(engine, index, lane);
                busy -= usize::from(!lane.is_busy());
            }
        }
    }
    let lanes = lanes.into_iter().enumerate().filter(|(_, lane)| lane.is_busy());
    lanes.map(|(index, lane)| (lane, engine.state(index)))
}

/// Compresses up to the first end of a lane's blocks. A lane that is not busy reads along with one
/// that is.
#[inline(always)]
fn compress(engine: &mut ShaNi, lanes: &[Lane<'_, '_>; 4]) -> usize {
    let busy = lanes.iter().find(|lane| lane.is_busy());
    let along = busy.map(Lane::blocks).unwrap_or_default();
    let blocks = lanes.each_ref().map(|lane| if lane.is_busy() { lane.blocks() } else { along });
    engine.compress(&blocks)
}

/// Finishes what is left in lanes, one after the other.
pub(crate) fn finish<'m, 'd>(lanes: impl Iterator<Item = (Lane<'m, 'd>, [u32; 8])>) {
    for (mut lane, mut state) in lanes {
        while lane.is_busy() {
            let count = lane.blocks().len();
            compress256(&mut state, lane.blocks());
            if let Some(digest) = lane.advance(count) {
                *digest = digest_of(&state);
            }
        }
    }
}

/// A state as the digest that it is after the last block.
#[inline(always)]
fn digest_of(state: &[u32; 8]) -> [u8; 32] {
    let mut digest = [0; 32];
    let (words, _) = digest.as_chunks_mut();
    for (word, value) in words.iter_mut().zip(state) {
        *word = value.to_be_bytes();
    }
    digest
}
