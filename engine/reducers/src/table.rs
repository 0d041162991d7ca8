//! Blocks of states, sorted by stream: how they are written, and how one state is found.
//!
//! A block holds entries one behind the other, each as the length of the stream's name (two bytes),
//! the name, the sequence of the last event that is in the state (eight), the length of the state
//! (four) and the state; numbers are little-endian. A block ends with the entry that fills it to
//! 16 KiB: so the same states are always the same blocks.

use serde::{Deserialize, Serialize};

/// A block is full with so many bytes.
const BLOCK_BYTES: usize = 16 << 10;

/// Longest encoded state, in bytes.
pub(crate) const MAX_STATE_BYTES: usize = 64 << 20;

/// Longest block: one entry may be as long as a state can be.
pub(crate) const MAX_BLOCK_BYTES: usize = BLOCK_BYTES + MAX_STATE_BYTES + 512;

/// Facts about a block that are known without reading it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockEntry {
    /// The stream of its first state.
    pub(crate) first: String,
    /// Place where it lies in the file.
    pub(crate) offset: u64,
    /// Its length.
    pub(crate) length: u32,
    /// BLAKE3 of its bytes.
    pub(crate) digest: [u8; 32],
}

/// A state as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateRow<'a> {
    pub(crate) stream: &'a str,
    /// The sequence of the last event that is in it.
    pub(crate) version: u64,
    pub(crate) state: &'a [u8],
}

/// A block that is being filled.
#[derive(Default)]
pub(crate) struct BlockBuilder {
    first: Option<String>,
    bytes: Vec<u8>,
}

impl BlockBuilder {
    /// Adds a state behind the others, of a stream behind theirs; the block, where it is full.
    pub(crate) fn push(&mut self, kept: StateRow<'_>) -> Option<(String, Vec<u8>)> {
        let name = u16::try_from(kept.stream.len()).unwrap_or(u16::MAX);
        let length = u32::try_from(kept.state.len()).unwrap_or(u32::MAX);
        self.first.get_or_insert_with(|| kept.stream.to_string());
        self.bytes.extend_from_slice(&name.to_le_bytes());
        self.bytes.extend_from_slice(kept.stream.as_bytes());
        self.bytes.extend_from_slice(&kept.version.to_le_bytes());
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(kept.state);
        if self.bytes.len() >= BLOCK_BYTES { self.finish() } else { None }
    }

    /// Returns what is left, where there is something.
    pub(crate) fn finish(&mut self) -> Option<(String, Vec<u8>)> {
        let first = self.first.take()?;
        Some((first, std::mem::take(&mut self.bytes)))
    }
}

/// The states of a block, in their order, as far as it is whole.
pub(crate) fn entries(block: &[u8]) -> Entries<'_> {
    Entries(block)
}

pub(crate) struct Entries<'a>(&'a [u8]);

impl<'a> Iterator for Entries<'a> {
    type Item = StateRow<'a>;

    fn next(&mut self) -> Option<StateRow<'a>> {
        let (name, rest) = self.0.split_first_chunk()?;
        let (stream, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*name)))?;
        let (version, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (state, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        let stream = core::str::from_utf8(stream).ok()?;
        Some(StateRow { stream, version: u64::from_le_bytes(*version), state })
    }
}

/// The block that holds a stream's state, if any does.
pub(crate) fn block_of(blocks: &[BlockEntry], stream: &str) -> Option<usize> {
    blocks.partition_point(|block| block.first.as_str() <= stream).checked_sub(1)
}

/// Returns what is stated of states: BLAKE3 over whose they are, and over every block in its order.
pub(crate) fn fingerprint(
    (reducer, version, encoding): (&str, u32, &str),
    covers: u64,
    blocks: &[BlockEntry],
) -> [u8; 32] {
    let mut hash = blake3::Hasher::new_derive_key("holdpoint.reducer-states 1");
    let mut text = |text: &str| {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    text(reducer);
    text(encoding);
    hash.update(&version.to_le_bytes());
    hash.update(&covers.to_le_bytes());
    hash.update(&(blocks.len() as u64).to_le_bytes());
    for block in blocks {
        hash.update(&(block.first.len() as u64).to_le_bytes());
        hash.update(block.first.as_bytes());
        hash.update(&block.length.to_le_bytes());
        hash.update(&block.digest);
    }
    *hash.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_states_are_the_same_blocks_and_each_is_found() {
        let states: Vec<(String, Vec<u8>)> =
            (0..3_000u32).map(|at| (format!("s{at:05}"), vec![b'x'; (at % 40) as usize])).collect();
        let mut builder = BlockBuilder::default();
        let mut blocks = Vec::new();
        for (at, (stream, state)) in states.iter().enumerate() {
            blocks.extend(builder.push(StateRow { stream, version: at as u64, state }));
        }
        blocks.extend(builder.finish());
        assert!(blocks.len() > 3, "{}", blocks.len());
        let directory: Vec<BlockEntry> = blocks
            .iter()
            .map(|(first, _)| BlockEntry {
                first: first.clone(),
                offset: 0,
                length: 0,
                digest: [0; 32],
            })
            .collect();
        for (at, (stream, state)) in states.iter().enumerate() {
            let (_, block) = &blocks[block_of(&directory, stream).unwrap()];
            let found = entries(block).find(|kept| kept.stream == stream).unwrap();
            assert_eq!((found.version, found.state), (at as u64, state.as_slice()));
        }
        assert_eq!(block_of(&directory, "a"), None);
    }

    #[test]
    fn a_block_that_is_cut_gives_only_whole_entries() {
        let mut builder = BlockBuilder::default();
        for stream in ["a", "b"] {
            assert_eq!(builder.push(StateRow { stream, version: 7, state: b"{}" }), None);
        }
        let (_, block) = builder.finish().unwrap();
        for cut in 0..block.len() {
            let whole = entries(&block[..cut]).count();
            assert_eq!(whole, usize::from(cut >= block.len() / 2), "{cut}");
        }
    }
}
