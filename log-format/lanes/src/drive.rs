//! Keeps lanes full: a lane whose message ends takes the next one at once.

use crate::lane::{Block, Lane};
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

/// `N` states of SHA-256 that are compressed in step.
pub(crate) trait Engine<const N: usize> {
    /// Sets the state of a lane to [`INITIAL`].
    fn start(&mut self, lane: usize);

    /// Compresses as many blocks in each lane as the shortest of `blocks` has, and gives how many.
    fn compress(&mut self, blocks: &[&[Block]; N]) -> usize;

    /// The state of a lane.
    fn state(&self, lane: usize) -> [u32; 8];
}

/// An engine that also takes up what another one began.
pub(crate) trait Resume {
    /// Sets the state of a lane.
    fn resume(&mut self, lane: usize, state: &[u32; 8]);
}

/// Source of an engine's messages.
pub(crate) trait Source<'m, 'd, E> {
    /// Puts the next message, if there is one, into a lane and into its place in the engine.
    fn refill(&mut self, engine: &mut E, index: usize, lane: &mut Lane<'m, 'd>);
}

/// Messages from their beginning, each with the place of its digest; for engines of `N` lanes.
pub(crate) struct Fresh<I, const N: usize>(pub(crate) I);

impl<'m, 'd, E, I, const N: usize> Source<'m, 'd, E> for Fresh<I, N>
where
    E: Engine<N>,
    I: Iterator<Item = (&'m [u8], &'d mut [u8; 32])>,
{
    #[inline(always)]
    fn refill(&mut self, engine: &mut E, index: usize, lane: &mut Lane<'m, 'd>) {
        if let Some((message, digest)) = self.0.next() {
            lane.take(message, digest);
            engine.start(index);
        }
    }
}

/// Lanes that an engine has not finished: those that are busy, each with its state.
pub(crate) struct Unfinished<I>(pub(crate) I);

impl<'m, 'd, E, I> Source<'m, 'd, E> for Unfinished<I>
where
    E: Resume,
    I: Iterator<Item = (Lane<'m, 'd>, [u32; 8])>,
{
    fn refill(&mut self, engine: &mut E, index: usize, lane: &mut Lane<'m, 'd>) {
        if let Some((unfinished, state)) = self.0.next() {
            *lane = unfinished;
            engine.resume(index, &state);
        }
    }
}

/// Compresses until fewer than `enough` lanes are busy and nothing is left to refill them with.
/// Gives the lanes that are busy then, each with its state.
#[inline(always)]
pub(crate) fn drive<'m, 'd, E: Engine<N>, const N: usize>(
    engine: &mut E,
    mut source: impl Source<'m, 'd, E>,
    enough: usize,
) -> impl Iterator<Item = (Lane<'m, 'd>, [u32; 8])> {
    let mut lanes: [Lane<'_, '_>; N] = array::from_fn(|_| Lane::default());
    for (index, lane) in lanes.iter_mut().enumerate() {
        source.refill(engine, index, lane);
    }
    let mut busy = lanes.iter().filter(|lane| lane.is_busy()).count();
    while busy >= enough {
        let count = compress(engine, &lanes);
        for (index, lane) in lanes.iter_mut().enumerate() {
            if let Some(digest) = lane.advance(count) {
                *digest = digest_of(&engine.state(index));
                source.refill(engine, index, lane);
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
fn compress<E: Engine<N>, const N: usize>(engine: &mut E, lanes: &[Lane<'_, '_>; N]) -> usize {
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
