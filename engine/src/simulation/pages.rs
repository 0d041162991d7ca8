//! The bytes of a file, copied only where they are changed, so that an image of a whole disk costs
//! little.

use std::sync::Arc;

/// Bytes of a page.
pub(super) const PAGE: usize = 4_096;

/// Bytes of a sector: what a disk writes whole or not at all.
pub(super) const SECTOR: usize = 512;

/// Bytes that are looked at together to see whether they are zero.
const PART: usize = 64;

/// A sector's bytes.
pub(super) type Sector = [u8; SECTOR];

/// A file's bytes, without its length: what was never written is zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages(Vec<Option<Arc<[u8; PAGE]>>>);

impl Pages {
    /// Copies the bytes at `offset` into `buffer`.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) {
        let mut rest = buffer;
        let mut at = index(offset);
        while !rest.is_empty() {
            let inside = at % PAGE;
            let (part, after) = rest.split_at_mut((PAGE - inside).min(rest.len()));
            match self.0.get(at / PAGE).and_then(Option::as_ref) {
                Some(page) => copy(part, page.get(inside..).unwrap_or_default()),
                None => part.fill(0),
            }
            at += part.len();
            rest = after;
        }
    }

    /// The sector with this number.
    pub(super) fn sector(&self, number: u64) -> Sector {
        let mut sector = [0; SECTOR];
        self.read(number * SECTOR as u64, &mut sector);
        sector
    }

    /// Replaces the sector with this number.
    pub(super) fn put_sector(&mut self, number: u64, sector: &Sector) {
        let at = index(number * SECTOR as u64);
        let page = at / PAGE;
        if self.0.len() <= page {
            self.0.resize(page + 1, None);
        }
        let Some(place) = self.0.get_mut(page) else { return };
        let bytes = Arc::make_mut(place.get_or_insert_with(|| Arc::new([0; PAGE])));
        copy(bytes.get_mut(at % PAGE..).unwrap_or_default(), sector);
    }

    /// Makes everything from `length` on zero.
    pub(super) fn cut(&mut self, length: u64) {
        let length = index(length);
        self.0.truncate(length.div_ceil(PAGE));
        if let Some(Some(last)) = self.0.get_mut(length / PAGE) {
            Arc::make_mut(last).get_mut(length % PAGE..).unwrap_or_default().fill(0);
        }
    }

    /// Mixes what is not zero into a hash.
    pub(super) fn hash(&self, hash: &mut Hash) {
        for (number, page) in self.0.iter().enumerate() {
            let Some(page) = page else { continue };
            for (place, part) in page.chunks(PART).enumerate() {
                if part != [0; PART] {
                    hash.number((number * PAGE + place * PART) as u64);
                    hash.bytes(part);
                }
            }
        }
    }
}

/// Sixty-four bits that tell images apart; not for anything that an adversary makes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hash(pub(super) u64);

impl Hash {
    pub(super) fn number(&mut self, number: u64) {
        let product =
            u128::from(self.0 ^ number ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93_u128;
        self.0 = (product as u64) ^ ((product >> 64) as u64).rotate_left(29);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.number(u64::from_le_bytes(*word)));
        rest.iter().for_each(|byte| self.number(u64::from(*byte)));
        self.number(bytes.len() as u64);
    }
}

/// Copies as much of `from` as there is room for.
pub(super) fn copy(to: &mut [u8], from: &[u8]) {
    let length = to.len().min(from.len());
    if let (Some(to), Some(from)) = (to.get_mut(..length), from.get(..length)) {
        to.copy_from_slice(from);
    }
}

/// A file of the simulated disk lies in memory, so its offsets fit.
pub(super) fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
