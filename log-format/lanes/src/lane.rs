//! One message on its way through a lane: whole blocks where they lie, then its last ones, padded.

/// Bytes that SHA-256 compresses at once.
pub(crate) const BLOCK: usize = 64;

/// One block of a message.
pub(crate) type Block = [u8; BLOCK];

/// Number of bytes that the length of a message takes of its last block.
const LENGTH_FIELD: usize = 8;

/// A message and what is left of it. An empty one (`Default`) has no message.
#[derive(Default)]
pub(crate) struct Lane<'m, 'd> {
    whole: &'m [Block],
    last: LastBlocks,
    digest: Option<&'d mut [u8; 32]>,
}

impl<'m, 'd> Lane<'m, 'd> {
    /// Takes a message, whose digest belongs into `digest`. Only what does not fill a block is
    /// copied.
    #[inline(always)]
    pub(crate) fn take(&mut self, message: &'m [u8], digest: &'d mut [u8; 32]) {
        let (whole, _) = message.as_chunks();
        self.whole = whole;
        self.last.fill(message);
        self.digest = Some(digest);
    }

    /// Returns whether a message is on its way here.
    #[inline(always)]
    pub(crate) fn is_busy(&self) -> bool {
        self.digest.is_some()
    }

    /// The blocks to compress next: at least one, as long as the lane is busy.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> &[Block] {
        if self.whole.is_empty() { self.last.blocks() } else { self.whole }
    }

    /// Leaves the first `count` of [`Lane::blocks`] behind, and gives where the digest belongs when
    /// they were the last ones.
    #[inline(always)]
    pub(crate) fn advance(&mut self, count: usize) -> Option<&'d mut [u8; 32]> {
        if let Some(rest) = self.whole.get(count..)
            && !self.whole.is_empty()
        {
            self.whole = rest;
            return None;
        }
        self.last.at += count;
        if self.last.at == END { self.digest.take() } else { None }
    }
}

/// Place where the last blocks end in their buffer, in blocks.
const END: usize = 3;

/// The one or two blocks in which a message ends: the last ones of a buffer of three. What lies
/// before them is scratch.
struct LastBlocks {
    buffer: [u8; END * BLOCK],
    at: usize,
}

impl Default for LastBlocks {
    fn default() -> Self {
        Self { buffer: [0; END * BLOCK], at: END }
    }
}

impl LastBlocks {
    #[inline(always)]
    fn blocks(&self) -> &[Block] {
        let (blocks, _) = self.buffer.as_chunks();
        blocks.get(self.at..).unwrap_or_default()
    }

    /// Writes what of the message fills no block, the bit that ends it, and its length in bits.
    #[inline(always)]
    fn fill(&mut self, message: &[u8]) {
        let rest = message.len() % BLOCK;
        self.at = END - 1;
        if rest >= BLOCK - LENGTH_FIELD {
            self.at -= 1;
            self.buffer[BLOCK..2 * BLOCK].fill(0);
        }
        self.buffer[2 * BLOCK..].fill(0);
        let end = self.at * BLOCK + rest;
        match message.last_chunk::<BLOCK>() {
            // A copy of one length is faster than one of `rest` bytes. It begins at or before the
            // last blocks, in the scratch.
            Some(bytes) => write(&mut self.buffer, end - BLOCK, bytes),
            None => {
                if let Some(place) = self.buffer.get_mut(end - rest..end) {
                    place.copy_from_slice(message);
                }
            }
        }
        write(&mut self.buffer, end, &[0x80]);
        let bits = (message.len() as u64).wrapping_mul(8);
        write(&mut self.buffer, END * BLOCK - LENGTH_FIELD, &bits.to_be_bytes());
    }
}

/// Writes `bytes` at `at`, where they have room.
#[inline(always)]
fn write<const N: usize>(buffer: &mut [u8], at: usize, bytes: &[u8; N]) {
    if let Some(place) = buffer.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = *bytes;
    }
}
