//! Memory of the log about itself: which indexes of sealed segments the chain vouches for, what is
//! to be looked up in them because the state has forgotten it, which records were taken over from a
//! damaged log without proof, and by which rules records are judged.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::codec::{DecodeError, Remembered};
use crate::core::forbidden::Rules;
use crate::core::hash::Digest;
use crate::core::limits::MAX_ID_BYTES;
use crate::core::payload::Text;
use crate::core::refusal::{Malformed, check_name, quoted, require};
use crate::log::event::{
    Label, MAX_LABELS, RecordsLabelled, RulesAdopted, SegmentIndexed, SystemRules,
};

/// The index of a sealed segment, as the chain has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentIndex {
    /// The last record of the segment.
    pub last_sequence: u64,
    /// The version of the index's form.
    pub format: u32,
    /// BLAKE3 of the index's header; zeros where statements differ.
    pub digest: Digest,
}

impl SegmentIndex {
    /// Returns whether the log says two things of this segment: no index of it is believed then.
    #[must_use]
    pub fn is_disputed(&self) -> bool {
        self.digest == DISPUTED
    }
}

/// Stands for the digest where statements differ. No index has it.
const DISPUTED: Digest = Digest::from_bytes([0; 32]);

/// Statements about the index of every segment that has one, by the segment's first record: in the
/// newest format that is stated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentIndexes(BTreeMap<u64, SegmentIndex>);

impl SegmentIndexes {
    /// Returns what the chain says of the segment that begins with this record.
    #[must_use]
    pub fn of(&self, first_sequence: u64) -> Option<&SegmentIndex> {
        self.0.get(&first_sequence)
    }

    /// Returns what the chain says of the segment that begins with this record, where an index of
    /// this format is believed: where the log says two things of it, none is.
    #[must_use]
    pub fn vouched(&self, first_sequence: u64, format: u32) -> Option<&SegmentIndex> {
        self.of(first_sequence).filter(|known| known.format == format && !known.is_disputed())
    }

    /// Every one, by the first record of its segment.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &SegmentIndex)> {
        self.0.iter().map(|(first, index)| (*first, index))
    }

    pub(crate) fn follow(&mut self, body: &SegmentIndexed) {
        let SegmentIndexed { first_sequence, last_sequence, format, digest } = *body;
        let stated = SegmentIndex { last_sequence, format, digest };
        match self.0.get_mut(&first_sequence) {
            // One of them is false, and here nobody can say which.
            Some(known) if known.format >= format && *known != stated => known.digest = DISPUTED,
            _ => drop(self.0.insert(first_sequence, stated)),
        }
    }

    /// The records up to the anchor are in an archive now, and their segments with them.
    pub(crate) fn archived(&mut self, anchor_sequence: u64) {
        self.0.retain(|_, index| index.last_sequence > anchor_sequence);
    }
}

/// The numbers of the rules in force, by system; 1 where none is stated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RulesNumbers {
    numbers: BTreeMap<Text, u32>,
    /// True if they are this program's: of just its systems, and all the newest.
    #[serde(skip)]
    are_own: Remembered<bool>,
}

impl RulesNumbers {
    /// The number in force of a system.
    #[must_use]
    pub fn of(&self, system: &str) -> u32 {
        self.numbers.get(system).copied().unwrap_or(1)
    }

    /// The same of one of these systems, which are those of this program.
    pub(crate) fn of_own(&self, system: &str, systems: &[&str]) -> u32 {
        if self.are_own(systems) { Rules::NEWEST.number } else { self.of(system) }
    }

    /// The numbers that an event states, where it may: of every system in force, in order, none of
    /// them lower than it is and one of them higher.
    pub(crate) fn after(&self, body: &RulesAdopted) -> Option<Self> {
        let numbers: BTreeMap<_, _> =
            body.systems.iter().map(|it| (it.system.clone(), it.number)).collect();
        let is_listed = numbers.keys().eq(body.systems.iter().map(|it| &it.system))
            && self.numbers.keys().all(|system| numbers.contains_key(system));
        let keeps = numbers.iter().all(|(system, number)| *number >= self.of(system));
        let rises = numbers.iter().any(|(system, number)| *number > self.of(system));
        (is_listed && keeps && rises).then(|| Self { numbers, ..Self::default() })
    }

    /// Returns what a writer states first whose systems all have the newest rules; `None`: nothing
    /// new.
    pub(crate) fn adopted_by(&self, systems: &[&'static str]) -> Option<RulesAdopted> {
        let number = Rules::NEWEST.number;
        if self.are_own(systems) || systems.iter().all(|system| self.of(system) >= number) {
            return None;
        }
        let names: BTreeSet<&str> = systems.iter().copied().collect();
        let stated = names.into_iter().map(|it| SystemRules { system: it.into(), number });
        let body = RulesAdopted { systems: stated.collect() };
        self.after(&body).map(|_| body)
    }

    /// Checks whether a program that knows these systems has rules of these numbers.
    ///
    /// # Errors
    /// [`DecodeError::UnknownRules`] names the first system of which it has not.
    pub(crate) fn check<'n>(
        mut numbers: impl Iterator<Item = (&'n Text, u32)>,
        systems: &[&str],
    ) -> Result<(), DecodeError> {
        let newest = Rules::NEWEST.number;
        let is_known = |system: &Text| systems.contains(&system.as_str());
        let newer = numbers.find(|(system, number)| *number > newest || !is_known(system));
        newer.map_or(Ok(()), |(system, found)| {
            let system = quoted(system);
            Err(DecodeError::UnknownRules { system, found, newest })
        })
    }

    /// Checks whether a program that knows these systems has the rules in force.
    ///
    /// # Errors
    /// As [`RulesNumbers::check`].
    pub(crate) fn check_own(&self, systems: &[&str]) -> Result<(), DecodeError> {
        Self::check(self.numbers.iter().map(|(system, number)| (system, *number)), systems)
    }

    /// Returns whether every one of the systems of this program, and no other, has the newest
    /// rules: as it is nearly always where something is written. `systems` are the same in every
    /// call.
    fn are_own(&self, systems: &[&str]) -> bool {
        let is_newest = |system: &&str| self.numbers.get(*system) == Some(&Rules::NEWEST.number);
        let is_known = |system: &Text| systems.contains(&system.as_str());
        let look = || systems.iter().all(is_newest) && self.numbers.keys().all(is_known);
        *self.are_own.get_or_make(look)
    }
}

/// Number of ranges that are told apart. Further ones are joined with the last one, so that records
/// between the two count as unproven as well.
pub const MAX_UNPROVEN_RANGES: usize = 256;

/// Ranges of sequences, first and last, in order and apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct UnprovenRecords(Vec<(u64, u64)>);

impl UnprovenRecords {
    /// The ranges, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().copied()
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a record is one of them.
    #[must_use]
    pub fn contains(&self, sequence: u64) -> bool {
        self.among(sequence, sequence).is_some()
    }

    /// The first range that holds one of the records from one to another, both included.
    #[must_use]
    pub fn among(&self, first: u64, last: u64) -> Option<(u64, u64)> {
        let at = self.0.partition_point(|(_, end)| *end < first);
        self.0.get(at).copied().filter(|(begin, _)| *begin <= last)
    }

    /// Returns the records that were carried; where that is no such list, what is carried again is
    /// another.
    pub(crate) fn from_carried(ranges: &[(u64, u64)]) -> Self {
        let mut records = Self::default();
        let ranges = ranges.iter().filter(|(first, last)| first <= last);
        ranges.for_each(|(first, last)| records.add(*first, *last));
        records
    }

    /// Adds a range; what it meets becomes one with it.
    pub fn add(&mut self, first: u64, last: u64) {
        let from = self.0.partition_point(|(_, end)| end.saturating_add(1) < first);
        let to = self.0.partition_point(|(begin, _)| *begin <= last.saturating_add(1));
        let met = self.0.get(from..to.max(from)).unwrap_or_default();
        let first = met.first().map_or(first, |(begin, _)| (*begin).min(first));
        let last = met.last().map_or(last, |(_, end)| (*end).max(last));
        self.0.splice(from..to.max(from), [(first, last)]);
        while self.0.len() > MAX_UNPROVEN_RANGES {
            let (_, end) = self.0.pop().unwrap_or_default();
            if let Some(before) = self.0.last_mut() {
                before.1 = end;
            }
        }
    }
}

/// The record that states where the log begins and carries the state there. Whoever takes that up
/// says it: it is no part of the world, and worlds are equal that are so without it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Beginning(Option<AnchorStatement>);

#[derive(Debug, Clone, Copy)]
struct AnchorStatement {
    /// The record before the log's first one.
    anchor: u64,
    /// The record that says so.
    by: u64,
}

impl Beginning {
    pub(crate) const fn stated(anchor: u64, by: u64) -> Self {
        Self(Some(AnchorStatement { anchor, by }))
    }

    /// The anchor, where the state there is carried by one of these records.
    pub(crate) fn resting_on(&self, first: u64, last: u64) -> Option<u64> {
        let is_one = |stated: &AnchorStatement| (first..=last).contains(&stated.by);
        self.0.filter(is_one).map(|stated| stated.anchor)
    }
}

impl PartialEq for Beginning {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Beginning {}

const NAME_256: &str = "1 to 256 bytes, visible, without control characters";

impl RecordsLabelled {
    /// Checks whether the labels are within their bounds and in their order.
    ///
    /// # Errors
    /// [`Malformed`] says what is not.
    pub fn check(&self) -> Result<(), Malformed> {
        let (labels, count) = (&self.labels, self.labels.len());
        require((1..=MAX_LABELS).contains(&count), "labels", "1 to 32 labels", count)?;
        for Label { name, value } in labels.iter() {
            check_name("label", name, MAX_ID_BYTES, NAME_256)?;
            check_name("label value", value, MAX_ID_BYTES, NAME_256)?;
        }
        let unordered = labels.windows(2).find_map(|pair| match pair {
            [before, after] if before.name >= after.name => Some(after.name.as_str()),
            _ => None,
        });
        let found = quoted(unordered.unwrap_or_default());
        require(unordered.is_none(), "labels", "names in ascending order, each once", found)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::{MAX_UNPROVEN_RANGES, RulesNumbers, UnprovenRecords};
    use crate::core::forbidden::Rules;
    use crate::core::payload::Text;

    /// However often it is asked, in whatever order the systems stand, and one named twice.
    #[test]
    fn a_program_has_the_rules_in_force_where_none_is_newer_and_it_knows_every_system() {
        let (newest, systems) = (Rules::NEWEST.number, ["log", "loops", "log"]);
        let asked = |all: &[(&str, u32)]| {
            let numbers = RulesNumbers {
                numbers: all
                    .iter()
                    .map(|(system, number)| (Text::from(*system), *number))
                    .collect(),
                ..RulesNumbers::default()
            };
            let ask =
                || (numbers.check_own(&systems).is_ok(), numbers.adopted_by(&systems).is_some());
            let first = ask();
            assert_eq!(ask(), first);
            first
        };
        let (adopts, goes_on, only_reads) = ((true, true), (true, false), (false, false));
        assert_eq!(asked(&[]), adopts);
        assert_eq!(asked(&[("log", newest)]), adopts);
        assert_eq!(asked(&[("log", newest), ("loops", newest - 1)]), adopts);
        assert_eq!(asked(&[("log", newest), ("loops", newest)]), goes_on);
        assert_eq!(asked(&[("log", newest), ("loops", newest + 1)]), only_reads);
        assert_eq!(asked(&[("log", newest), ("loops", newest), ("others", 1)]), only_reads);
    }

    #[test]
    fn ranges_that_meet_become_one_and_others_stay_apart() {
        assert_eq!(UnprovenRecords::from_carried(&[(4, 6), (1, 2)]).0, [(1, 2), (4, 6)]);
        assert_eq!(UnprovenRecords::from_carried(&[(1, 2), (4, 6), (3, 3)]).0, [(1, 6)]);
        assert_eq!(UnprovenRecords::from_carried(&[(2, 9), (3, 4)]).0, [(2, 9)]);
        let met = UnprovenRecords::from_carried(&[(2, 3), (5, 6), (8, 9), (1, 7)]);
        assert_eq!(met.0, [(1, 9)]);
        let apart = UnprovenRecords::from_carried(&[(2, 3), (7, 9)]);
        let contained: Vec<u64> = (0..12).filter(|sequence| apart.contains(*sequence)).collect();
        assert_eq!(contained, vec![2, 3, 7, 8, 9]);
        let among = [(0, 1), (1, 2), (4, 6), (3, 8), (4, 7), (10, 12)];
        let among = among.map(|(first, last)| apart.among(first, last));
        assert_eq!(among, [None, Some((2, 3)), None, Some((2, 3)), Some((7, 9)), None]);
    }

    #[test]
    fn more_ranges_than_are_told_apart_count_for_more_records_and_never_for_fewer() {
        let ranges: Vec<(u64, u64)> = (0..300).map(|number| (number * 3, number * 3 + 1)).collect();
        let records = UnprovenRecords::from_carried(&ranges);
        assert_eq!(records.iter().count(), MAX_UNPROVEN_RANGES);
        assert!(
            ranges
                .iter()
                .all(|(first, last)| { records.contains(*first) && records.contains(*last) })
        );
        assert!(!records.contains(2) && !records.contains(902));
    }
}
