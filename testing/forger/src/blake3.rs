//! By the paper alone: section 2 of "BLAKE3: one function, fast everywhere".

const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
const BLOCK_LENGTH: usize = 64;
const CHUNK_LENGTH: usize = 1024;

const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;
const KEYED: u32 = 16;
const DERIVE_CONTEXT: u32 = 32;
const DERIVE_MATERIAL: u32 = 64;

type Words = [u32; 8];

pub fn hash(bytes: &[u8]) -> [u8; 32] {
    root(INITIAL, 0, bytes)
}

pub fn keyed_hash(key: &[u8; 32], bytes: &[u8]) -> [u8; 32] {
    root(words(key), KEYED, bytes)
}

pub fn derive_key(context: &str, material: &[u8]) -> [u8; 32] {
    let key = root(INITIAL, DERIVE_CONTEXT, context.as_bytes());
    root(words(&key), DERIVE_MATERIAL, material)
}

fn root(key: Words, mode: u32, bytes: &[u8]) -> [u8; 32] {
    let mut last = node(key, mode, bytes, 0);
    last.flags |= ROOT;
    last.counter = 0;
    let words = last.compress();
    let mut hash = [0; 32];
    for (place, word) in hash.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    hash
}

/// The last compression of a part of the tree, not done yet: the root's has one more flag.
struct Node {
    chaining: Words,
    block: [u32; 16],
    counter: u64,
    length: u32,
    flags: u32,
}

fn node(key: Words, mode: u32, bytes: &[u8], first_chunk: u64) -> Node {
    if bytes.len() <= CHUNK_LENGTH {
        return chunk(key, mode, bytes, first_chunk);
    }
    // The left part is the largest tree without a gap that leaves something for the right one.
    let chunks = (bytes.len() - 1) / CHUNK_LENGTH;
    let left_chunks = 1 << chunks.ilog2();
    let (left, right) = bytes.split_at(left_chunks * CHUNK_LENGTH);
    let left = node(key, mode, left, first_chunk).compress();
    let right = node(key, mode, right, first_chunk + left_chunks as u64).compress();
    let mut block = [0; 16];
    block[..8].copy_from_slice(&left);
    block[8..].copy_from_slice(&right);
    Node { chaining: key, block, counter: 0, length: 64, flags: mode | PARENT }
}

fn chunk(key: Words, mode: u32, bytes: &[u8], counter: u64) -> Node {
    let mut chaining = key;
    let mut left = bytes;
    let mut flags = mode | CHUNK_START;
    while left.len() > BLOCK_LENGTH {
        let (block, behind) = left.split_at(BLOCK_LENGTH);
        chaining = of_block(chaining, block, counter, flags).compress();
        left = behind;
        flags = mode;
    }
    of_block(chaining, left, counter, flags | CHUNK_END)
}

fn of_block(chaining: Words, bytes: &[u8], counter: u64, flags: u32) -> Node {
    let mut padded = [0; BLOCK_LENGTH];
    padded[..bytes.len()].copy_from_slice(bytes);
    Node { chaining, block: words(&padded), counter, length: bytes.len() as u32, flags }
}

impl Node {
    fn compress(&self) -> Words {
        let mut state = [0; 16];
        state[..8].copy_from_slice(&self.chaining);
        state[8..12].copy_from_slice(&INITIAL[..4]);
        state[12] = self.counter as u32;
        state[13] = (self.counter >> 32) as u32;
        state[14] = self.length;
        state[15] = self.flags;
        let mut block = self.block;
        for _ in 0..7 {
            round(&mut state, &block);
            block = PERMUTATION.map(|place| block[place]);
        }
        core::array::from_fn(|place| state[place] ^ state[place + 8])
    }
}

fn round(state: &mut [u32; 16], block: &[u32; 16]) {
    for column in 0..4 {
        let message = [block[2 * column], block[2 * column + 1]];
        mix(state, [column, column + 4, column + 8, column + 12], message);
    }
    for diagonal in 0..4 {
        let message = [block[8 + 2 * diagonal], block[9 + 2 * diagonal]];
        let place = |row: usize| 4 * row + (diagonal + row) % 4;
        mix(state, [place(0), place(1), place(2), place(3)], message);
    }
}

fn mix(state: &mut [u32; 16], [a, b, c, d]: [usize; 4], message: [u32; 2]) {
    for (word, [by_d, by_b]) in message.into_iter().zip([[16, 12], [8, 7]]) {
        state[a] = state[a].wrapping_add(state[b]).wrapping_add(word);
        state[d] = (state[d] ^ state[a]).rotate_right(by_d);
        state[c] = state[c].wrapping_add(state[d]);
        state[b] = (state[b] ^ state[c]).rotate_right(by_b);
    }
}

fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    core::array::from_fn(|place| {
        u32::from_le_bytes(bytes[4 * place..4 * place + 4].try_into().expect("four bytes"))
    })
}
