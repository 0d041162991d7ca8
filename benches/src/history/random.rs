//! Numbers that follow from a seed (SplitMix64).

/// Where the numbers come from.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `bound`, which is at least 1.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// From 1 on, each number half as often as the one before, at most `most`.
    pub(super) fn skewed(&mut self, most: u64) -> u64 {
        let mut drawn = 1;
        while drawn < most && self.one_in(2) {
            drawn += 1;
        }
        drawn
    }

    pub(super) fn bytes(&mut self) -> [u8; 16] {
        let (high, low) = (u128::from(self.next()), u128::from(self.next()));
        (high << 64 | low).to_be_bytes()
    }

    /// Printable text of a length, as programs write it.
    pub(super) fn text(&mut self, length: u64) -> Vec<u8> {
        let mut bits = 0;
        let letter = |index: u64| {
            if index.is_multiple_of(8) {
                bits = self.next();
            }
            bits = bits.rotate_left(8);
            b' ' + (bits % 95) as u8
        };
        (0..length).map(letter).collect()
    }
}
