//! Map from records of the source to those of the new log.

use holdpoint_domain::core::limits::MAX_LIST_ITEMS;
use holdpoint_domain::log::{RecordRange, SalvagedRun};
use holdpoint_log_files::damage_scan::{DamageScan, Piece};

/// Map from the records of the source to those of the new log.
#[derive(Debug)]
pub(super) struct Sequences {
    /// Up to this record both logs count alike; 0: none. The report is the one behind it.
    begins_behind: u64,
    /// First and last record of the source, and the first of the new log; in order.
    stretches: Vec<(u64, u64, SequencePlace)>,
    /// The last record of the new log that is of a piece.
    last: u64,
}

#[derive(Clone, Copy, Debug)]
enum SequencePlace {
    /// Record by record from this one on.
    From(u64),
    /// This one stands for all of them.
    At(u64),
}

impl Sequences {
    /// Counts the new log's records: the report, then for each piece its records or one event.
    pub(super) fn of(plan: &DamageScan) -> Self {
        let begins_behind = plan.begins_behind.map_or(0, |anchor| anchor.sequence);
        let mut next = begins_behind + 2;
        let mut stretches = Vec::new();
        for piece in &plan.pieces {
            match piece {
                Piece::Kept(kept) => {
                    stretches.push((
                        kept.from.sequence + 1,
                        kept.last.sequence,
                        SequencePlace::From(next),
                    ));
                    next += kept.count();
                }
                Piece::Unproven(_) => next += 1,
                Piece::Lost(loss) => {
                    let last = if loss.last == 0 { u64::MAX } else { loss.last };
                    if loss.first > 0 {
                        stretches.push((loss.first, last, SequencePlace::At(next)));
                    }
                    next += 1;
                }
            }
        }
        Self { begins_behind, stretches, last: next - 1 }
    }

    /// The record of the new log that stands for this one of the source: the record itself, the
    /// event that tells of its loss, or the report where the source says nothing of it either. One
    /// that both logs begin behind is in the archive, under its own number.
    pub(super) fn new_of(&self, sequence: u64) -> u64 {
        if (1..=self.begins_behind).contains(&sequence) {
            return sequence;
        }
        let behind = self.stretches.partition_point(|(first, ..)| *first <= sequence);
        let stretch = behind.checked_sub(1).and_then(|index| self.stretches.get(index));
        match stretch.filter(|(_, last, _)| sequence <= *last) {
            Some((first, _, SequencePlace::From(new))) => new + (sequence - first),
            Some((_, _, SequencePlace::At(new))) => *new,
            None => self.begins_behind + 1,
        }
    }

    /// The last record of the new log that is one of the source or tells of some.
    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    /// The records of the new log that a plan leaves unproven; ranges that have no room are joined
    /// with the last one of those that do.
    pub(super) fn unproven(&self, plan: &DamageScan) -> Vec<RecordRange> {
        let mut ranges: Vec<RecordRange> = Vec::new();
        for range in plan.unproven() {
            let last_sequence = self.new_of(range.last);
            let is_full = ranges.len() == MAX_LIST_ITEMS;
            match ranges.last_mut().filter(|_| is_full) {
                Some(joined) => joined.last_sequence = joined.last_sequence.max(last_sequence),
                None => {
                    let first_sequence = self.new_of(range.first);
                    ranges.push(RecordRange { first_sequence, last_sequence });
                }
            }
        }
        ranges
    }

    /// Returns which records became which, neighbours joined.
    pub(super) fn runs(&self) -> Vec<SalvagedRun> {
        let mut runs: Vec<SalvagedRun> = Vec::new();
        for (first, last, place) in &self.stretches {
            let SequencePlace::From(new) = *place else { continue };
            let joined = runs.last_mut().filter(|run| {
                run.source_last_sequence.checked_add(1) == Some(*first)
                    && new - run.first_sequence == first - run.source_first_sequence
            });
            match joined {
                Some(run) => run.source_last_sequence = *last,
                None => runs.push(SalvagedRun {
                    source_first_sequence: *first,
                    source_last_sequence: *last,
                    first_sequence: new,
                }),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_log_files::Standing;
    use holdpoint_log_files::damage_scan::{ChainPart, Loss};
    use holdpoint_log_format::{ChainPosition, Link, LogId, SegmentHeader};

    fn kept(after: u64, last: u64) -> ChainPart {
        let from = ChainPosition { sequence: after, link: Link([0; 32]), time: 0 };
        let header = SegmentHeader {
            log: LogId([0; 16]),
            previous: from,
            capacity: 65_536,
            previous_seal_offset: 0,
        };
        ChainPart {
            segment: after + 1,
            header,
            from,
            is_linked: true,
            offset: 4_096,
            last: ChainPosition { sequence: last, link: Link([1; 32]), time: 0 },
            end: 8_192,
            first_time: 0,
            withheld: 0,
            unreadable: 0,
            unknown: None,
            standing: Standing::Unproven,
        }
    }

    #[test]
    fn every_sequence_of_the_source_has_one_of_the_new_log_that_stands_for_it() {
        let mut plan = DamageScan::behind(0);
        plan.keep(kept(0, 3));
        plan.lose(Loss::new(1, 4_096, 8, "damaged".into()));
        plan.keep(kept(5, 7));
        plan.keep(kept(7, 9));
        plan.lose(Loss::new(8, 4_096, 8, "torn".into()));
        plan.finish(0, None);
        let sequences = Sequences::of(&plan);
        // No HEAD ties them: 5 and 11 say so.
        let expected = [1, 2, 3, 4, 6, 6, 7, 8, 9, 10, 12, 12];
        let found: Vec<u64> = (0..=11).map(|sequence| sequences.new_of(sequence)).collect();
        assert_eq!(found, expected);
        assert_eq!(sequences.runs().len(), 2);
        assert_eq!((plan.records_kept(), plan.records_lost()), (7, 2));
    }

    #[test]
    fn behind_an_archive_both_logs_begin_with_the_same_numbers() {
        let mut plan = DamageScan::behind(5);
        plan.keep(kept(5, 7));
        plan.keep(kept(8, 9));
        plan.finish(0, None);
        plan.begins_behind = Some(kept(5, 7).from);
        let sequences = Sequences::of(&plan);
        let found: Vec<u64> = (0..=10).map(|sequence| sequences.new_of(sequence)).collect();
        // No HEAD ties them: 9 and 12 say so.
        assert_eq!(found, [6, 1, 2, 3, 4, 5, 7, 8, 10, 11, 6]);
        assert_eq!(plan.records_lost(), 1);
    }
}
