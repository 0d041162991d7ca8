//! Result of a scan: what is kept and what is lost, in order, as a new log would hold it.

use super::frames::HoleContent;
use crate::finding::records_named;
use crate::reader::Standing;
use crate::survey::segment_path;
use holdpoint_log_format::{ChainPosition, Head, Link, SegmentHeader, names};

/// A part of the new log.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Consecutive records that are kept.
    Kept(ChainPart),
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
pub struct ChainPart {
    /// Number in the segment's file name.
    pub segment: u64,
    /// Content of its header, as it is or must have been.
    pub header: SegmentHeader,
    /// The place before the first of them.
    pub from: ChainPosition,
    /// True if the first of them follows from there. One that does not is alone, and the link of
    /// `from` means nothing.
    pub is_linked: bool,
    /// Place where the first of them begins, in bytes.
    pub offset: u64,
    /// The place behind the last of them: `last.sequence > from.sequence`.
    pub last: ChainPosition,
    /// Offset behind it, in bytes.
    pub end: u64,
    /// Time of the first of them, nanoseconds.
    pub first_time: u64,
    /// Number of them that are withheld.
    pub withheld: u64,
    /// Number of have a payload that cannot be read.
    pub unreadable: u64,
    /// The first of them of which nobody here knows the kind or the version.
    pub unknown: Option<u64>,
    /// Tie to HEAD: proven, unproven or unwitnessed.
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
    /// Place where the bytes begin.
    pub offset: u64,
    /// Number of bytes, up to the last one that is not zero.
    pub length: u64,
    /// Problem of it.
    pub problem: String,
    /// True if records of the source may have been here.
    pub may_hold_records: bool,
    /// The first record that is missing; 0 when none is known to be.
    pub first: u64,
    /// The last one; 0 when it is not known.
    pub last: u64,
    /// They are missing on purpose, and no damage.
    pub is_archived: bool,
    /// The whole frames among the bytes, which are none of the log's records in their place.
    pub found: HoleContent,
}

impl ChainPart {
    /// Counts them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.last.sequence - self.from.sequence
    }

    /// Returns whether the last of them is this one.
    pub(super) fn ends_with(&self, (sequence, link): (u64, Link)) -> bool {
        (self.last.sequence, self.last.link) == (sequence, link)
    }

    /// The same with those that follow from the last of them, right behind it in the file.
    pub(super) fn joined(self, behind: &Self) -> Self {
        Self {
            last: behind.last,
            end: behind.end,
            withheld: self.withheld + behind.withheld,
            unreadable: self.unreadable + behind.unreadable,
            unknown: self.unknown.or(behind.unknown),
            ..self
        }
    }

    /// Returns the number of records that stand in the new log as lost: those that are withheld,
    /// and those that nobody can read and nothing proves.
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
            found: HoleContent::default(),
        }
    }

    /// Records that no file holds.
    fn nowhere(first: u64, last: u64, problem: &str) -> Self {
        let loss = Self::new(first, 0, 0, problem.to_string());
        Self { file: names::SEGMENTS.to_string(), first, last, ..loss }
    }

    fn is_of_no_file(&self) -> bool {
        self.file == names::SEGMENTS
    }

    /// Returns whether it is the place alone where two histories meet.
    fn is_seam(&self) -> bool {
        self.length == 0 && self.first > 0 && self.last == 0
    }

    /// Returns whether moved records are all that it is; those are in order, and apart from each
    /// other.
    fn is_within(&self, moved: &[Moved]) -> bool {
        let place = (self.segment, self.offset);
        let behind = moved.partition_point(|it| (it.segment, it.from) <= place);
        let here = behind.checked_sub(1).and_then(|index| moved.get(index));
        let here = here.filter(|it| it.segment == self.segment && it.to > self.offset);
        here.is_some_and(|it| it.to >= self.offset.saturating_add(self.length))
    }

    /// Describes what was found, in words, with its place.
    #[must_use]
    pub fn finding(&self) -> String {
        if self.is_of_no_file() && self.last == 0 {
            return format!("from record {} on: {}", self.first, self.problem);
        }
        if self.is_of_no_file() {
            return format!("{}: {}", records_named(self.first, self.last), self.problem);
        }
        format!("{}, byte {}: {}", self.file, self.offset, self.problem)
    }

    /// Counts the records that are known to be missing.
    fn known(&self) -> u64 {
        match (self.first, self.last) {
            (0, _) | (_, 0) => 0,
            (first, last) => last.saturating_sub(first).saturating_add(1),
        }
    }
}

/// Parts of a log that survive, and parts that do not.
#[derive(Debug, Default)]
pub struct DamageScan {
    /// In the order of the new log.
    pub pieces: Vec<Piece>,
    /// Findings that have no place among the pieces.
    pub findings: Vec<String>,
    /// The newest record of the source that is accounted for, kept or lost.
    pub reached: u64,
    /// The place that the new log begins behind as well; `None`: it begins with record 1.
    pub begins_behind: Option<ChainPosition>,
    /// The pieces without tied records that lie elsewhere, where there are any of those.
    in_place: Option<Vec<Piece>>,
    /// Number of pieces there were when the last records were kept.
    settled: usize,
    /// Number of frames the losses name.
    frames: usize,
}

/// Place of tied records that are not in their own place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    /// Number in the segment's file name.
    pub(super) segment: u64,
    /// Their first byte, and the one behind them.
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Moved {
    pub(super) fn of(kept: &ChainPart) -> Self {
        Self { segment: kept.segment, from: kept.offset, to: kept.end }
    }

    /// In order, and those that touch each other as one.
    fn in_order(mut moved: Vec<Self>) -> Vec<Self> {
        moved.sort_by_key(|it| (it.segment, it.from));
        moved.dedup_by(|next, before| {
            let is_one = next.segment == before.segment && next.from <= before.to;
            before.to = if is_one { before.to.max(next.to) } else { before.to };
            is_one
        });
        moved
    }
}

/// Frames in the holes of one log that are kept in mind.
const FRAMES_MAX: usize = 1 << 16;

/// Message about records that are in no segment.
const IN_NO_SEGMENT: &str = "no segment holds them";

impl DamageScan {
    /// A scan of a log that begins behind `anchor`.
    #[must_use]
    pub fn behind(anchor: u64) -> Self {
        Self { reached: anchor, ..Self::default() }
    }

    /// Ends a scan whose new log begins with record 1: what is before the anchor is not in it.
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

    /// The last record that is kept, where none behind it is known to be lost.
    #[must_use]
    pub fn end_kept(&self) -> Option<u64> {
        let end = self.pieces.iter().rev().find_map(|piece| match piece {
            Piece::Kept(kept) => Some(Some(kept.last.sequence)),
            Piece::Lost(loss) if loss.first > 0 => Some(None),
            Piece::Lost(_) | Piece::Unproven(_) => None,
        });
        end.flatten()
    }

    /// Ends a scan of a log of which nothing tells how far it reached.
    pub fn lose_behind(&mut self) {
        let problem = format!(
            "nothing tells that record {} was the newest one: records behind it may be missing",
            self.reached
        );
        let first = self.reached.saturating_add(1);
        self.pieces.push(Piece::Lost(Loss::nowhere(first, 0, &problem)));
    }

    /// Keeps records. Whatever is missing before them is now known to be.
    pub fn keep(&mut self, kept: ChainPart) {
        self.account_up_to(kept.from.sequence);
        self.reached = kept.last.sequence;
        self.pieces.push(Piece::Kept(kept));
        self.settled = self.pieces.len();
    }

    /// Gives a stretch up.
    pub fn lose(&mut self, mut loss: Loss) {
        self.frames = self.frames.saturating_add(loss.found.frames.len());
        if self.frames > FRAMES_MAX {
            loss.found = HoleContent { frames: Vec::new(), is_stopped: true };
        }
        self.pieces.push(Piece::Lost(loss));
    }

    /// Ends the scan. Records up to `witnessed` are known to have been there; what the bytes at the
    /// end held beyond that is not. HEAD ties the record that it names, and each tied record the
    /// one that it follows from.
    pub fn finish(&mut self, witnessed: u64, head: Option<&Head>) {
        self.account_to_the_end(witnessed);
        self.tie(head);
        self.state_unproven();
    }

    /// Returns what is kept and lost where it lies: without tied records that were found elsewhere.
    #[must_use]
    pub fn in_place(&self) -> &[Piece] {
        self.in_place.as_deref().unwrap_or(&self.pieces)
    }

    /// Takes other pieces, among which are the moved records, and accounts anew for what is missing
    /// between them.
    pub(super) fn take_moved(&mut self, anchor: u64, pieces: Vec<Piece>, moved: Vec<Moved>) {
        let moved = Moved::in_order(moved);
        let findings = std::mem::take(&mut self.findings);
        let in_place = Some(std::mem::take(&mut self.pieces));
        *self = Self { findings, in_place, ..Self::behind(anchor) };
        let mut pieces = pieces.into_iter().peekable();
        let mut before = None;
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Kept(kept) => {
                    before = Some((kept.last.sequence, kept.last.link));
                    self.keep(kept);
                }
                Piece::Lost(loss) if loss.is_seam() => {
                    let next = pieces.peek().and_then(|next| match next {
                        Piece::Kept(next) => Some((next.from.sequence, next.from.link)),
                        Piece::Lost(_) | Piece::Unproven(_) => None,
                    });
                    if before != next {
                        self.lose(loss);
                    }
                }
                Piece::Lost(loss) if loss.is_of_no_file() || loss.is_within(&moved) => {}
                Piece::Lost(loss) => self.lose(Loss { first: 0, last: 0, ..loss }),
                Piece::Unproven(_) => {}
            }
        }
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
            let end = Some((kept.last.sequence, kept.last.link));
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
                    last: kept.last.sequence,
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

    /// Lists what is kept without proof.
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

    /// Lists what is kept.
    pub fn kept(&self) -> impl Iterator<Item = &ChainPart> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Kept(kept) => Some(kept),
            Piece::Lost(_) | Piece::Unproven(_) => None,
        })
    }

    /// Counts the records that are kept as they are.
    #[must_use]
    pub fn records_kept(&self) -> u64 {
        self.kept().map(|kept| kept.count() - kept.left_out()).sum()
    }

    /// Counts the records that are known to be lost.
    #[must_use]
    pub fn records_lost(&self) -> u64 {
        let known = self.losses().filter(|loss| !loss.is_archived).map(Loss::known);
        self.left_out().saturating_add(known.fold(0, u64::saturating_add))
    }

    /// The first record of which HEAD proves that it was written, and whose kind is not known.
    /// Without it a new log would say something else, and with it nobody could open that.
    #[must_use]
    pub fn unknown(&self) -> Option<u64> {
        let proven = self.kept().filter(|kept| kept.standing == Standing::Proven);
        proven.filter_map(|kept| kept.unknown).min()
    }

    /// Counts the records that are withheld.
    #[must_use]
    pub fn withheld(&self) -> u64 {
        self.kept().map(|kept| kept.withheld).sum()
    }

    fn left_out(&self) -> u64 {
        self.kept().map(ChainPart::left_out).sum()
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
    use holdpoint_log_format::LogId;

    #[test]
    fn records_that_no_file_holds_are_lost_by_name() {
        let from = ChainPosition { sequence: 4, link: Link([0; 32]), time: 0 };
        let header = SegmentHeader {
            log: LogId([0; 16]),
            previous: from,
            capacity: 65_536,
            previous_seal_offset: 0,
        };
        let mut scan = DamageScan::behind(0);
        scan.keep(ChainPart {
            segment: 5,
            header,
            from,
            is_linked: true,
            offset: 4_096,
            last: ChainPosition { sequence: 5, link: Link([5; 32]), time: 0 },
            end: 4_168,
            first_time: 0,
            withheld: 0,
            unreadable: 0,
            unknown: None,
            standing: Standing::Unproven,
        });
        scan.finish(8, None);
        let lost: Vec<(u64, u64)> = scan.losses().map(|loss| (loss.first, loss.last)).collect();
        assert_eq!(lost, [(1, 4), (6, 8)]);
    }
}
