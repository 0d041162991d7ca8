//! The plan of a new log: what is kept and what is lost, in order.

use crate::reader::Standing;
use crate::survey::segment_path;
use holdpoint_log_format::{ChainPosition, Head, Link, SegmentHeader, names};

/// A part of the new log.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Consecutive records that are kept.
    Kept(Kept),
    /// A stretch that is not.
    Lost(Loss),
    /// The records before, up to what was lost or is proven, are kept without proof.
    Unproven(Unproven),
}

/// Kept records that nothing ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unproven {
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub last: u64,
    /// [`Standing::Unproven`] or [`Standing::Unwitnessed`].
    pub standing: Standing,
}

/// Consecutive records of one segment whose chain holds from `from` on.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Number in the segment's file name.
    pub segment: u64,
    /// What its header says, or must have said.
    pub header: SegmentHeader,
    /// The place before the first of them.
    pub from: ChainPosition,
    /// Whether the first of them follows from there. One that does not is alone, and the link of
    /// `from` means nothing.
    pub is_linked: bool,
    /// Where the first of them begins, in bytes.
    pub offset: u64,
    /// Sequence of the last of them: `last > from.sequence`.
    pub last: u64,
    /// Link of the last of them.
    pub last_link: Link,
    /// Time of the first of them, nanoseconds.
    pub first_time: u64,
    /// Time of the last of them, nanoseconds.
    pub last_time: u64,
    /// How many of them are withheld.
    pub withheld: u64,
    /// How many have a payload that cannot be read.
    pub unreadable: u64,
    /// Whether HEAD ties them: proven, unproven or unwitnessed.
    pub standing: Standing,
}

/// Bytes that are not kept as records, or records of which there are no bytes.
#[derive(Clone, Debug)]
pub struct Loss {
    /// Number in the segment's file name.
    pub segment: u64,
    /// The file, relative to the source's directory; of records that no file holds, the directory
    /// of the segments.
    pub file: String,
    /// Where the bytes begin.
    pub offset: u64,
    /// How many there are, up to the last one that is not zero.
    pub length: u64,
    /// What is wrong.
    pub problem: String,
    /// Whether records of the source may have been here.
    pub may_hold_records: bool,
    /// The first record that is missing; 0 when none is known to be.
    pub first: u64,
    /// The last one; 0 when it is not known.
    pub last: u64,
    /// They are missing on purpose, and no damage.
    pub is_archived: bool,
}

impl Kept {
    /// How many stand in the new log as lost: those that are withheld, and those that nobody can
    /// read and nothing proves.
    fn left_out(&self) -> u64 {
        let is_proven = self.standing == Standing::Proven;
        self.withheld + if is_proven { 0 } else { self.unreadable }
    }
}

impl Loss {
    /// A stretch of a file, of which the next kept record tells what is missing.
    #[must_use]
    pub fn new(segment: u64, offset: u64, length: u64, problem: String) -> Self {
        let file = segment_path(segment);
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
    #[must_use]
    pub fn finding(&self) -> String {
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
pub struct Plan {
    /// In the order of the new log.
    pub pieces: Vec<Piece>,
    /// What is wrong and has no place among the pieces.
    pub findings: Vec<String>,
    /// The newest record of the source that is accounted for, kept or lost.
    pub reached: u64,
    /// The place that the new log begins behind as well; `None`: it begins with record 1.
    pub begins_behind: Option<ChainPosition>,
    /// How many pieces there were when the last records were kept.
    settled: usize,
}

/// What is said of records that are in no segment.
const IN_NO_SEGMENT: &str = "no segment holds them";

impl Plan {
    /// A plan for a log that begins behind `anchor`.
    #[must_use]
    pub fn behind(anchor: u64) -> Self {
        Self { reached: anchor, ..Self::default() }
    }

    /// Ends a plan whose new log begins with record 1: what is before the anchor is not in it.
    pub fn lose_before(&mut self, anchor: u64, is_archived: bool) {
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

    /// Ends a plan for a log of which LOCK says that the records up to `durable` were there.
    pub fn lose_up_to(&mut self, durable: u64) {
        let first = self.reached.saturating_add(1);
        if durable >= first {
            self.reached = durable;
            self.lose(Loss::nowhere(first, durable, "LOCK says that they were durable"));
        }
    }

    /// Keeps records. Whatever is missing before them is now known to be.
    pub fn keep(&mut self, kept: Kept) {
        self.account_up_to(kept.from.sequence);
        self.reached = kept.last;
        self.pieces.push(Piece::Kept(kept));
        self.settled = self.pieces.len();
    }

    /// Gives a stretch up.
    pub fn lose(&mut self, loss: Loss) {
        self.pieces.push(Piece::Lost(loss));
    }

    /// Ends the plan. Records up to `witnessed` are known to have been there; what the bytes at the
    /// end held beyond that is not. HEAD ties the record that it names, and each tied record the
    /// one that it follows from.
    pub fn finish(&mut self, witnessed: u64, head: Option<&Head>) {
        self.account_to_the_end(witnessed);
        self.tie(head);
        self.state_unproven();
    }

    fn account_to_the_end(&mut self, witnessed: u64) {
        let behind = self.reached.saturating_add(1);
        if witnessed >= behind {
            self.account_up_to(witnessed);
        } else if let Some(loss) = self.open_loss() {
            (loss.first, loss.last) = (behind, 0);
        }
    }

    fn tie(&mut self, head: Option<&Head>) {
        let named = head.map(|head| (head.newest_sequence, head.newest_link));
        let witnessed = named.map_or(0, |(sequence, _)| sequence);
        let mut due = None;
        for piece in self.pieces.iter_mut().rev() {
            let Piece::Kept(kept) = piece else { continue };
            let end = Some((kept.last, kept.last_link));
            kept.standing = match kept.from.sequence >= witnessed {
                _ if kept.is_linked && (end == named || end == due) => Standing::Proven,
                true => Standing::Unwitnessed,
                false => Standing::Unproven,
            };
            if kept.standing == Standing::Proven {
                due = Some((kept.from.sequence, kept.from.link));
            }
        }
    }

    /// Puts behind records that nothing ties that it is so.
    fn state_unproven(&mut self) {
        let mut open: Option<Unproven> = None;
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for piece in std::mem::take(&mut self.pieces) {
            let here = match &piece {
                Piece::Kept(kept) if kept.standing != Standing::Proven => Some(Unproven {
                    first: kept.from.sequence + 1,
                    last: kept.last,
                    standing: kept.standing,
                }),
                _ => None,
            };
            open = match (open, here) {
                (Some(open), Some(here)) if open.standing == here.standing => {
                    Some(Unproven { last: here.last, ..open })
                }
                (open, here) => {
                    pieces.extend(open.map(Piece::Unproven));
                    here
                }
            };
            pieces.push(piece);
        }
        pieces.extend(open.map(Piece::Unproven));
        self.pieces = pieces;
    }

    /// What is kept without proof.
    pub fn unproven(&self) -> impl Iterator<Item = &Unproven> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Unproven(unproven) => Some(unproven),
            Piece::Kept(_) | Piece::Lost(_) => None,
        })
    }

    /// The losses.
    pub fn losses(&self) -> impl Iterator<Item = &Loss> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Lost(loss) => Some(loss),
            Piece::Kept(_) | Piece::Unproven(_) => None,
        })
    }

    /// What is kept.
    pub fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Kept(kept) => Some(kept),
            Piece::Lost(_) | Piece::Unproven(_) => None,
        })
    }

    /// How many records are kept as they are.
    #[must_use]
    pub fn records_kept(&self) -> u64 {
        self.kept().map(|kept| kept.last - kept.from.sequence - kept.left_out()).sum()
    }

    /// How many records are known to be lost.
    #[must_use]
    pub fn records_lost(&self) -> u64 {
        let known = self.losses().filter(|loss| !loss.is_archived).map(Loss::known);
        self.left_out().saturating_add(known.fold(0, u64::saturating_add))
    }

    /// How many records are withheld.
    #[must_use]
    pub fn withheld(&self) -> u64 {
        self.kept().map(|kept| kept.withheld).sum()
    }

    fn left_out(&self) -> u64 {
        self.kept().map(Kept::left_out).sum()
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
            Piece::Kept(_) | Piece::Unproven(_) => None,
        });
        losses.into_iter().find(|loss| loss.may_hold_records && loss.first == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_log_format::{Link, LogId};

    #[test]
    fn records_that_no_file_holds_are_lost_by_name() {
        let from = ChainPosition { sequence: 4, link: Link([0; 32]), time: 0 };
        let header = SegmentHeader {
            log: LogId([0; 16]),
            previous: from,
            capacity: 65_536,
            previous_seal_offset: 0,
        };
        let mut plan = Plan::behind(0);
        plan.keep(Kept {
            segment: 5,
            header,
            from,
            is_linked: true,
            offset: 4_096,
            last: 5,
            last_link: Link([5; 32]),
            first_time: 0,
            last_time: 0,
            withheld: 0,
            unreadable: 0,
            standing: Standing::Unproven,
        });
        plan.finish(8, None);
        let lost: Vec<(u64, u64)> = plan.losses().map(|loss| (loss.first, loss.last)).collect();
        assert_eq!(lost, [(1, 4), (6, 8)]);
    }
}
