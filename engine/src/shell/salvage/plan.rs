//! The plan of a new log: what is kept and what is lost, in order, and which record becomes which.

use holdpoint_domain::event::SalvagedRun;
use holdpoint_log_format::{ChainPosition, SegmentHeader, names};

/// A part of the new log.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Consecutive records that are kept.
    Kept(Kept),
    /// A stretch that is not.
    Lost(Loss),
}

/// Consecutive records of one segment whose chain holds from `from` on.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Number in the segment's file name.
    pub(super) segment: u64,
    /// What its header says, or must have said.
    pub(super) header: SegmentHeader,
    /// The place before the first of them.
    pub(super) from: ChainPosition,
    /// Where the first of them begins, in bytes.
    pub(super) offset: u64,
    /// Sequence of the last of them: `last > from.sequence`.
    pub(super) last: u64,
    /// Time of the first of them, nanoseconds.
    pub(super) first_time: u64,
    /// Time of the last of them, nanoseconds.
    pub(super) last_time: u64,
    /// How many of them are withheld.
    pub(super) withheld: u64,
}

/// Bytes that are not kept as records, or records of which there are no bytes.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// Number in the segment's file name.
    pub(super) segment: u64,
    /// The file, relative to the source's directory; of records that no file holds, the directory
    /// of the segments.
    pub(super) file: String,
    /// Where the bytes begin.
    pub(super) offset: u64,
    /// How many there are, up to the last one that is not zero.
    pub(super) length: u64,
    /// What is wrong.
    pub(super) problem: String,
    /// Whether records of the source may have been here.
    pub(super) may_hold_records: bool,
    /// The first record that is missing; 0 when none is known to be.
    pub(super) first: u64,
    /// The last one; 0 when it is not known.
    pub(super) last: u64,
    /// They are missing on purpose, and no damage.
    pub(super) is_archived: bool,
}

impl Loss {
    /// A stretch of a file, of which the next kept record tells what is missing.
    pub(super) fn new(segment: u64, offset: u64, length: u64, problem: String) -> Self {
        let file = holdpoint_log_files::survey::segment_path(segment);
        Self {
            segment,
            file,
            offset,
            length,
            problem,
            may_hold_records: true,
            first: 0,
            last: 0,
            is_archived: false,
        }
    }

    /// Records that no file holds.
    fn nowhere(first: u64, last: u64, problem: &str) -> Self {
        let loss = Self::new(first, 0, 0, problem.to_string());
        Self { file: names::SEGMENTS.to_string(), first, last, ..loss }
    }

    /// What was found, in words, with its place.
    pub(super) fn finding(&self) -> String {
        if self.file == names::SEGMENTS {
            return format!("records {} to {}: {}", self.first, self.last, self.problem);
        }
        format!("{}, byte {}: {}", self.file, self.offset, self.problem)
    }

    /// How many records are known to be missing.
    fn known(&self) -> u64 {
        match (self.first, self.last) {
            (0, _) | (_, 0) => 0,
            (first, last) => last.saturating_sub(first).saturating_add(1),
        }
    }
}

/// The plan.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// In the order of the new log.
    pub(super) pieces: Vec<Piece>,
    /// What is wrong and has no place among the pieces.
    pub(super) findings: Vec<String>,
    /// The newest record of the source that is accounted for, kept or lost.
    pub(super) reached: u64,
    /// The place that the new log begins behind as well; `None`: it begins with record 1.
    pub(super) begins_behind: Option<ChainPosition>,
    /// How many pieces there were when the last records were kept.
    settled: usize,
}

/// What is said of records that are in no segment.
const IN_NO_SEGMENT: &str = "no segment holds them";

impl Plan {
    /// A plan for a log that begins behind `anchor`.
    pub(super) fn behind(anchor: u64) -> Self {
        Self { reached: anchor, ..Self::default() }
    }

    /// Ends a plan whose new log begins with record 1: what is before the anchor is not in it.
    pub(super) fn lose_before(&mut self, anchor: u64, is_archived: bool) {
        if anchor == 0 {
            return;
        }
        let problem = match is_archived {
            true => "the log begins behind them: they were moved to an archive",
            false => IN_NO_SEGMENT,
        };
        let loss = Loss { is_archived, ..Loss::nowhere(1, anchor, problem) };
        self.pieces.insert(0, Piece::Lost(loss));
    }

    /// Keeps records. Whatever is missing before them is now known to be.
    pub(super) fn keep(&mut self, kept: Kept) {
        self.account_up_to(kept.from.sequence);
        self.reached = kept.last;
        self.pieces.push(Piece::Kept(kept));
        self.settled = self.pieces.len();
    }

    /// Gives a stretch up.
    pub(super) fn lose(&mut self, loss: Loss) {
        self.pieces.push(Piece::Lost(loss));
    }

    /// Ends the plan. Records up to `witnessed` are known to have been there; what the bytes at the
    /// end held beyond that is not.
    pub(super) fn finish(&mut self, witnessed: u64) {
        let behind = self.reached.saturating_add(1);
        if witnessed >= behind {
            self.account_up_to(witnessed);
        } else if let Some(loss) = self.open_loss() {
            (loss.first, loss.last) = (behind, 0);
        }
    }

    /// The losses.
    pub(super) fn losses(&self) -> impl Iterator<Item = &Loss> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Lost(loss) => Some(loss),
            Piece::Kept(_) => None,
        })
    }

    /// What is kept.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Kept(kept) => Some(kept),
            Piece::Lost(_) => None,
        })
    }

    /// How many records are kept as they are.
    pub(super) fn records_kept(&self) -> u64 {
        self.kept().map(|kept| kept.last - kept.from.sequence - kept.withheld).sum()
    }

    /// How many records are known to be lost.
    pub(super) fn records_lost(&self) -> u64 {
        let known = self.losses().filter(|loss| !loss.is_archived).map(Loss::known);
        self.withheld().saturating_add(known.fold(0, u64::saturating_add))
    }

    /// How many records are withheld, and stand in the new log as lost.
    pub(super) fn withheld(&self) -> u64 {
        self.kept().map(|kept| kept.withheld).sum()
    }

    /// The records up to `sequence` that are neither kept nor lost yet, are lost: in the first
    /// stretch since the last kept record that may have held them, else in no file at all.
    fn account_up_to(&mut self, sequence: u64) {
        let first = self.reached.saturating_add(1);
        if sequence < first {
            return;
        }
        self.reached = sequence;
        if let Some(loss) = self.open_loss() {
            (loss.first, loss.last) = (first, sequence);
            return;
        }
        self.lose(Loss::nowhere(first, sequence, IN_NO_SEGMENT));
    }

    fn open_loss(&mut self) -> Option<&mut Loss> {
        let open = self.pieces.get_mut(self.settled..)?.iter_mut();
        let losses = open.filter_map(|piece| match piece {
            Piece::Lost(loss) => Some(loss),
            Piece::Kept(_) => None,
        });
        losses.into_iter().find(|loss| loss.may_hold_records && loss.first == 0)
    }
}

/// Which record of the source is which of the new log.
#[derive(Debug)]
pub(super) struct Sequences {
    /// Up to this record both logs count alike; 0: none. The report is the one behind it.
    begins_behind: u64,
    /// First and last record of the source, and the first of the new log; in order.
    stretches: Vec<(u64, u64, Place)>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// Record by record from this one on.
    From(u64),
    /// This one stands for all of them.
    At(u64),
}

impl Sequences {
    /// Counts the new log's records: the report, then for each piece its records or one event.
    pub(super) fn of(plan: &Plan) -> Self {
        let begins_behind = plan.begins_behind.map_or(0, |anchor| anchor.sequence);
        let mut next = begins_behind + 2;
        let mut stretches = Vec::new();
        for piece in &plan.pieces {
            match piece {
                Piece::Kept(kept) => {
                    stretches.push((kept.from.sequence + 1, kept.last, Place::From(next)));
                    next += kept.last - kept.from.sequence;
                }
                Piece::Lost(loss) => {
                    let last = if loss.last == 0 { u64::MAX } else { loss.last };
                    if loss.first > 0 {
                        stretches.push((loss.first, last, Place::At(next)));
                    }
                    next += 1;
                }
            }
        }
        Self { begins_behind, stretches }
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
            Some((first, _, Place::From(new))) => new + (sequence - first),
            Some((_, _, Place::At(new))) => *new,
            None => self.begins_behind + 1,
        }
    }

    /// Which records became which, neighbours joined.
    pub(super) fn runs(&self) -> Vec<SalvagedRun> {
        let mut runs: Vec<SalvagedRun> = Vec::new();
        for (first, last, place) in &self.stretches {
            let Place::From(new) = *place else { continue };
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
    use holdpoint_log_format::{Link, LogId};

    fn kept(after: u64, last: u64) -> Kept {
        let from = ChainPosition { sequence: after, link: Link([0; 32]), time: 0 };
        let header = SegmentHeader {
            log: LogId([0; 16]),
            previous: from,
            capacity: 65_536,
            previous_seal_offset: 0,
        };
        let (segment, offset) = (after + 1, 4_096);
        Kept { segment, header, from, offset, last, first_time: 0, last_time: 0, withheld: 0 }
    }

    #[test]
    fn every_sequence_of_the_source_has_one_of_the_new_log_that_stands_for_it() {
        let mut plan = Plan::behind(0);
        plan.keep(kept(0, 3));
        plan.lose(Loss::new(1, 4_096, 8, "damaged".into()));
        plan.keep(kept(5, 7));
        plan.keep(kept(7, 9));
        plan.lose(Loss::new(8, 4_096, 8, "torn".into()));
        plan.finish(0);
        let sequences = Sequences::of(&plan);
        let expected = [1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 10];
        let found: Vec<u64> = (0..=11).map(|sequence| sequences.new_of(sequence)).collect();
        assert_eq!(found, expected);
        assert_eq!(sequences.runs().len(), 2);
        assert_eq!((plan.records_kept(), plan.records_lost()), (7, 2));
    }

    #[test]
    fn behind_an_archive_both_logs_begin_with_the_same_numbers() {
        let mut plan = Plan::behind(5);
        plan.keep(kept(5, 7));
        plan.keep(kept(8, 9));
        plan.finish(0);
        plan.begins_behind = Some(kept(5, 7).from);
        let sequences = Sequences::of(&plan);
        let found: Vec<u64> = (0..=10).map(|sequence| sequences.new_of(sequence)).collect();
        assert_eq!(found, [6, 1, 2, 3, 4, 5, 7, 8, 9, 10, 6]);
        assert_eq!(plan.records_lost(), 1);
    }

    #[test]
    fn records_that_no_file_holds_are_lost_by_name() {
        let mut plan = Plan::behind(0);
        plan.keep(kept(4, 5));
        plan.finish(8);
        let lost: Vec<(u64, u64)> = plan.losses().map(|loss| (loss.first, loss.last)).collect();
        assert_eq!(lost, [(1, 4), (6, 8)]);
    }
}
