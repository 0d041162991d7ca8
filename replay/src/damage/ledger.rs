//! Parts that the map gathers: damaged regions, and the stretches between them that hold.

use super::picture::Drawing;
use super::region::{Cause, Certainty, Records, Region, Witness};
use holdpoint_log_format::names;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Most regions that a map names; the rest is counted.
pub const REGIONS_MAX: usize = 1_000;

/// Records out of their place that are kept in mind, by their sequence.
const DISPLACED_MAX: usize = 4_096;

/// Maximum number of payloads of one log that are searched bit by bit for what was forged.
const RESTORES_MAX: u32 = 16;

/// Consecutive records that hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// Sequence of the first one.
    pub first: u64,
    /// Sequence of the last one.
    pub last: u64,
    /// The file of the first one.
    pub file: String,
    /// Place where it begins, in bytes.
    pub offset: u64,
    /// The file of the last one.
    pub end_file: String,
    /// Place where it ends, in bytes.
    pub end: u64,
    /// The chain leads to it from the log's beginning without a break.
    pub from_beginning: bool,
    /// The strongest thing outside of the records that names one of them, or one that the chain
    /// leads to from them. Without one, and without the beginning, only checksums and links of the
    /// records themselves speak for them.
    pub witness: Option<Witness>,
    /// The newest record that it names.
    pub witnessed_to: Option<u64>,
}

/// The map while it is made.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) regions: Vec<Region>,
    pub(super) regions_left_out: u64,
    pub(super) stretches: Vec<Stretch>,
    pub(super) stretches_left_out: u64,
    pub(super) restores_left: u32,
    /// The picture of all regions, those that are left out as well.
    pub(super) drawing: Drawing,
    /// The files that regions lie in, and whether one of those says that the end was cut off.
    told: BTreeMap<String, bool>,
    /// Records that hold and stand where others should.
    displaced: BTreeSet<u64>,
    /// Records up to this one have the link that a head kept outside names.
    outside: u64,
    /// A gap lies before what comes next.
    is_cut: bool,
}

impl Ledger {
    pub(super) fn new(outside: u64) -> Self {
        Self {
            regions: Vec::new(),
            regions_left_out: 0,
            stretches: Vec::new(),
            stretches_left_out: 0,
            restores_left: RESTORES_MAX,
            drawing: Drawing::new(),
            told: BTreeMap::new(),
            displaced: BTreeSet::new(),
            outside,
            is_cut: false,
        }
    }

    pub(super) fn add(&mut self, region: Region) {
        self.drawing.mark(&region);
        *self.told.entry(region.file.clone()).or_default() |= region.cause == Cause::Truncated;
        if self.regions.len() < REGIONS_MAX {
            self.regions.push(region);
        } else {
            self.regions_left_out += 1;
        }
    }

    /// Returns whether a region lies in this file.
    pub(super) fn tells_of(&self, file: &str) -> bool {
        self.told.contains_key(file)
    }

    /// Returns whether a region says that the end of this file was cut off.
    pub(super) fn tells_of_cut(&self, file: &str) -> bool {
        self.told.get(file) == Some(&true)
    }

    /// A record that holds stands where another should.
    pub(super) fn displace(&mut self, sequence: u64) {
        if self.displaced.len() < DISPLACED_MAX {
            self.displaced.insert(sequence);
        }
    }

    /// Finds what was moved: it is missing in one place and stands in another.
    pub(super) fn find_moved(&mut self) {
        let displaced = &self.displaced;
        let mut moved = BTreeSet::new();
        for region in self.regions.iter_mut().filter(|region| region.cause == Cause::Missing) {
            let Some(Records { first, last }) = region.records else { continue };
            if (first..=last).all(|sequence| displaced.contains(&sequence)) {
                moved.extend(first..=last);
                (region.cause, region.certainty) = (Cause::Reordered, Certainty::Fits);
            }
        }
        for region in &mut self.regions {
            if matches!(region.cause, Cause::Duplicated { sequence } if moved.contains(&sequence)) {
                (region.cause, region.certainty) = (Cause::Reordered, Certainty::Fits);
            }
        }
    }

    /// Finds what was renamed: no file of its name holds it, and one of another name does, so it is
    /// not missing.
    pub(super) fn find_renamed(&mut self) {
        let is_missing =
            |region: &Region| region.cause == Cause::Missing && region.file == names::SEGMENTS;
        let missing = self.regions.iter().filter(|region| is_missing(region));
        let missing: Vec<Records> = missing.filter_map(|region| region.records).collect();
        let begins: BTreeSet<u64> = self.regions.iter().filter_map(Region::holds).collect();
        let until_next = |first: u64, last: u64| {
            let next = begins.range(first.saturating_add(1)..).next();
            Records::new(first, next.map_or(last, |next| last.min(next.saturating_sub(1))))
        };
        for region in &mut self.regions {
            let Some(first) = region.holds() else { continue };
            let lost = missing.iter().find(|lost| (lost.first..=lost.last).contains(&first));
            region.records = lost.and_then(|lost| until_next(first, lost.last));
        }
        self.regions.retain_mut(|region| {
            if let Some(lost) = region.records.filter(|_| is_missing(region)) {
                region.records = until_next(lost.first, lost.last);
                return !begins.contains(&lost.first);
            }
            true
        });
    }

    /// Records up to `to`, behind those that a head kept outside proves, are chained anew.
    pub(super) fn rechained(&self, to: u64, witness: Witness) -> Cause {
        Cause::Rechained { from: self.outside.saturating_add(1), to, witness }
    }

    /// Begins another stretch behind a gap, unless the chain leads across it.
    pub(super) fn begin(&mut self, is_tied: bool) {
        self.is_cut |= !is_tied;
    }

    /// Records that hold: those behind `from` up to `to`, each a sequence and an offset.
    pub(super) fn extend(&mut self, file: &str, from: (u64, u64), to: (u64, u64)) {
        if to.0 <= from.0 {
            return;
        }
        let goes_on = |stretch: &&mut Stretch| stretch.last == from.0;
        if let Some(stretch) = self.stretches.last_mut().filter(goes_on).filter(|_| !self.is_cut) {
            (stretch.last, stretch.end) = to;
            stretch.end_file = file.to_string();
            return;
        }
        let from_beginning = self.stretches.is_empty() && !self.is_cut;
        self.is_cut = false;
        if self.stretches.len() >= REGIONS_MAX {
            self.stretches_left_out += 1;
            return;
        }
        self.stretches.push(Stretch {
            first: from.0 + 1,
            last: to.0,
            file: file.to_string(),
            offset: from.1,
            end_file: file.to_string(),
            end: to.1,
            from_beginning,
            witness: None,
            witnessed_to: None,
        });
    }

    /// Something names the record of this sequence as it is.
    pub(super) fn witness(&mut self, sequence: u64, witness: Witness) {
        let holds = |stretch: &&mut Stretch| (stretch.first..=stretch.last).contains(&sequence);
        if let Some(stretch) = self.stretches.last_mut().filter(holds) {
            stretch.witness = stretch.witness.max(Some(witness));
            stretch.witnessed_to = stretch.witnessed_to.max(Some(sequence));
        }
    }
}
