//! The bytes of a file, copied only where they are changed, so that an image of a whole disk costs
//! little.

use std::sync::{Arc, OnceLock};

/// Bytes of a page.
pub(super) const PAGE: usize = 4_096;

/// Bytes of a sector: what a disk writes whole or not at all.
pub(super) const SECTOR: usize = 512;

/// A sector's bytes.
pub(super) type Sector = [u8; SECTOR];

/// A file's bytes, without its length: what was never written is zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages(Vec<Option<Arc<Page>>>);

/// Images share most of their pages, so that each is hashed once.
#[derive(Clone, Debug)]
struct Page {
    bytes: [u8; PAGE],
    /// Of these bytes, once it was asked for.
    hash: OnceLock<u64>,
}

impl Page {
    fn blank() -> Self {
        Self { bytes: [0; PAGE], hash: OnceLock::new() }
    }

    /// The bytes of a page that nobody else changes with it.
    fn to_change(page: &mut Arc<Self>) -> &mut [u8; PAGE] {
        let page = Arc::make_mut(page);
        page.hash = OnceLock::new();
        &mut page.bytes
    }

    /// Of what is not zero; 0 where everything is.
    fn hash(&self) -> u64 {
        *self.hash.get_or_init(|| {
            let mut hash = Hash::default();
            for (place, word) in self.bytes.as_chunks::<8>().0.iter().enumerate() {
                if *word != [0; 8] {
                    hash.number(place as u64);
                    hash.number(u64::from_le_bytes(*word));
                }
            }
            hash.0
        })
    }
}

impl Pages {
    /// Copies the bytes at `offset` into `buffer`.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) {
        let mut rest = buffer;
        let mut at = index(offset);
        while !rest.is_empty() {
            let inside = at % PAGE;
            let (part, after) = rest.split_at_mut((PAGE - inside).min(rest.len()));
            match self.0.get(at / PAGE).and_then(Option::as_ref) {
                Some(page) => copy(part, page.bytes.get(inside..).unwrap_or_default()),
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
        let bytes = Page::to_change(place.get_or_insert_with(|| Arc::new(Page::blank())));
        copy(bytes.get_mut(at % PAGE..).unwrap_or_default(), sector);
    }

    /// Makes everything from `length` on zero.
    pub(super) fn cut(&mut self, length: u64) {
        let length = index(length);
        self.0.truncate(length.div_ceil(PAGE));
        if let Some(Some(last)) = self.0.get_mut(length / PAGE) {
            Page::to_change(last).get_mut(length % PAGE..).unwrap_or_default().fill(0);
        }
    }

    /// Mixes what is not zero into a hash.
    pub(super) fn hash(&self, hash: &mut Hash) {
        for (number, page) in self.0.iter().enumerate() {
            let of_page = page.as_ref().map_or(0, |page| page.hash());
            if of_page != 0 {
                hash.number(number as u64);
                hash.number(of_page);
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
