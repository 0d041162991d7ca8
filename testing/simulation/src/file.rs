//! One file: what the cache shows, what is durable, and everything in between.

use super::pages::{Hash, Pages, SECTOR, Sector, copy, index};
use std::collections::BTreeMap;
use std::ops::Range;

/// A file's content in both images.
#[derive(Clone, Debug, Default)]
pub(super) struct FileContent {
    shown: Pages,
    length: u64,
    durable: Pages,
    durable_length: u64,
    /// What each sector held since it was last durable, oldest first, the durable content not
    /// among them. Power loss leaves the durable content or any of these.
    versions: BTreeMap<u64, Vec<Sector>>,
    lengths: Vec<u64>,
}

/// Something of a file that power loss may leave one way or another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsynced {
    Length,
    Sector(u64),
}

impl FileContent {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Reads what the cache shows; fewer bytes at the end of the file.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let there = index(self.length.saturating_sub(offset)).min(buffer.len());
        self.shown.read(offset, buffer.get_mut(..there).unwrap_or_default());
        there
    }

    /// Writes into the cache, growing the file.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        for number in offset / SECTOR as u64..end.div_ceil(SECTOR as u64) {
            let start = number * SECTOR as u64;
            let mut sector = self.shown.sector(number);
            let from = start.max(offset);
            let source = bytes.get(index(from - offset)..).unwrap_or_default();
            let target = sector.get_mut(index(from - start)..).unwrap_or_default();
            copy(target, source);
            self.put(number, &sector);
        }
        self.set_length(self.length.max(end));
    }

    /// Makes a range zero.
    pub(super) fn clear(&mut self, range: Range<u64>) {
        let end = range.end.min(self.length);
        if range.start < end {
            self.write(range.start, &vec![0; index(end - range.start)]);
        }
    }

    pub(super) fn set_length(&mut self, length: u64) {
        if length < self.length {
            self.clear(length..self.length);
        }
        let newest = self.lengths.last().copied().unwrap_or(self.durable_length);
        if newest != length {
            self.lengths.push(length);
        }
        self.length = length;
    }

    fn put(&mut self, number: u64, sector: &Sector) {
        self.shown.put_sector(number, sector);
        let versions = self.versions.get(&number);
        let is_newest = match versions.and_then(|versions| versions.last()) {
            Some(newest) => *newest == *sector,
            None => self.durable.sector(number) == *sector,
        };
        if !is_newest {
            self.versions.entry(number).or_default().push(*sector);
        }
    }

    /// Everything is durable.
    pub(super) fn sync(&mut self) {
        self.sync_first(usize::MAX);
    }

    /// Half of what is unsynced is durable, and the rest may be yet.
    pub(super) fn sync_half(&mut self) {
        self.sync_first(self.versions.len() / 2);
    }

    fn sync_first(&mut self, count: usize) {
        for _ in 0..count {
            let Some((number, versions)) = self.versions.pop_first() else { break };
            if let Some(newest) = versions.last() {
                self.durable.put_sector(number, newest);
            }
        }
        self.durable_length = self.lengths.pop().unwrap_or(self.durable_length);
        self.lengths.clear();
    }

    /// The pages are marked clean, and the disk does not have them.
    pub(super) fn drop_unsynced(&mut self) {
        self.versions.clear();
    }

    /// Changes a byte in both images, as a disk that rots does.
    pub(super) fn rot(&mut self, offset: u64, mask: u8) {
        let number = offset / SECTOR as u64;
        for pages in [&mut self.shown, &mut self.durable] {
            let mut sector = pages.sector(number);
            if let Some(byte) = sector.get_mut(index(offset % SECTOR as u64)) {
                *byte ^= mask;
            }
            pages.put_sector(number, &sector);
        }
    }

    /// Returns what is not durable, and how many versions of it power loss chooses from.
    pub(super) fn unsynced(&self) -> impl Iterator<Item = (Unsynced, usize)> {
        let length = (!self.lengths.is_empty()).then(|| (Unsynced::Length, self.lengths.len() + 1));
        let sectors = self.versions.iter();
        let sectors =
            sectors.map(|(number, versions)| (Unsynced::Sector(*number), versions.len() + 1));
        length.into_iter().chain(sectors)
    }

    /// Returns whether the durable content of a sector is all zero.
    pub(super) fn is_durably_blank(&self, sector: u64) -> bool {
        self.durable.sector(sector).iter().all(|byte| *byte == 0)
    }

    /// Makes one version the durable one: 0 is the one that is durable already. With `tear`, only
    /// that many of the version's first bytes.
    pub(super) fn keep(&mut self, what: Unsynced, version: usize, tear: Option<usize>) {
        let Some(version) = version.checked_sub(1) else { return };
        match what {
            Unsynced::Length => {
                self.durable_length = self.lengths.get(version).copied().unwrap_or(self.length);
            }
            Unsynced::Sector(number) => {
                let kept = self.versions.get(&number).and_then(|versions| versions.get(version));
                let mut sector = self.durable.sector(number);
                let bytes = kept.map(|kept| kept.get(..tear.unwrap_or(SECTOR)).unwrap_or_default());
                let bytes = bytes.unwrap_or_default();
                copy(&mut sector, bytes);
                self.durable.put_sector(number, &sector);
            }
        }
    }

    /// The file as it is after power came back: what is durable, and nothing else.
    pub(super) fn come_back(&mut self) {
        self.durable.cut(self.durable_length);
        self.shown = self.durable.clone();
        self.length = self.durable_length;
        self.versions.clear();
        self.lengths.clear();
    }

    pub(super) fn hash(&self, hash: &mut Hash) {
        hash.number(self.length);
        self.shown.hash(hash);
    }
}
