//! The recovery table: one decision for every state in which a log can be found.
//!
//! Opening for writing acts on it; verifying uses the same rows and never acts. The first row that
//! matches wins. V is the end of the longest valid run that ends a batch, M the highest durable
//! mark, T what lies behind V (a seal excluded).

use crate::tail::TailShape;
use core::cmp::Ordering;

/// Knowledge of HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadEvidence {
    /// No such file.
    Missing,
    /// A file that does not decode.
    Garbage,
    /// It witnesses no record, neither here nor in an archive.
    Empty,
    /// It witnesses a record.
    Witness,
}

/// Knowledge of the last segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastHeader {
    /// It decodes and follows from what is before it.
    Good,
    /// It does not, the file is all zero, and no mark reaches its first sequence: a roll that lost
    /// power between rename and data.
    BlankAboveMarks,
    /// It does not, otherwise.
    Bad,
}

/// Departure of the last owner of the lock, and its boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastOwner {
    /// LOCK is missing or unreadable.
    Unknown,
    /// Another boot of the machine, or one that cannot be told.
    OtherBoot,
    /// This boot; idle or in a transaction: only a killed process can have left a tail.
    SameBoot,
    /// This boot, with a failed write or sync behind it.
    SameBootPoisoned,
    /// This boot, killed while it overwrote a cut tail.
    SameBootRecovering,
}

/// Everything that the table looks at. Fields that a row above does not need are looked at only
/// when no row above has matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// HEAD.
    pub head: HeadEvidence,
    /// True if there is any segment.
    pub has_segments: bool,
    /// True if the directory holds names that no log has.
    pub has_foreign_names: bool,
    /// A non-regular file, a duplicate or gap in first sequences, log ids that differ, HEAD of
    /// another log, or a first segment that is not the one HEAD's anchor names.
    pub has_layout_fault: bool,
    /// The last segment's header.
    pub last_header: LastHeader,
    /// A bad header or previous link elsewhere, or a non-last segment without a matching seal.
    pub has_earlier_fault: bool,
    /// The link at HEAD's sequence differs from HEAD's, or the record there ends no batch.
    pub is_rewritten: bool,
    /// V compared with M.
    pub run_to_mark: Ordering,
    /// HEAD or LOCK alone says that records above V were durable: nothing in the segments does.
    pub is_marked_outside: bool,
    /// The last file's length is not its capacity, bytes follow a seal, or the search behind the
    /// run spent its budget.
    pub has_shape_fault: bool,
    /// The last segment ends in a valid seal.
    pub is_sealed: bool,
    /// T.
    pub tail: TailShape,
    /// LOCK.
    pub last_owner: LastOwner,
}

/// A row of the table, named by its number in FORMAT.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// Row 0, only names that a log may hold: nothing here yet.
    Nothing,
    /// Row 0 with other names: somebody else's directory.
    Foreign,
    /// Row 1.
    Layout,
    /// Row 2.
    NoWitness,
    /// Row 3, HEAD of an empty log: a creation that was interrupted.
    UnfinishedCreation,
    /// Row 3, HEAD witnesses a record or is unreadable: the segments are gone.
    NoSegments,
    /// Row 4, the file all zero and no mark in it: a roll that was interrupted.
    BlankSegment,
    /// Row 4 otherwise.
    LastHeaderBad,
    /// Row 5.
    EarlierSegment,
    /// Row 6.
    Rewritten,
    /// Row 7, what is here is whole: a copy that was made while the log was written, or its end was
    /// cut off.
    ShortOfHead,
    /// Row 7 otherwise.
    BelowMark,
    /// Row 8.
    Shape,
    /// Row 9.
    SealedLast,
    /// Row 10, V equal to M.
    Clean,
    /// Row 10, V above M.
    CleanUnproven,
    /// Row 11.
    DamagedTail,
    /// Row 12.
    TornTail,
}

/// Effect of opening for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenAction {
    /// Create a log here.
    Create,
    /// Make the first segment, which creation did not reach.
    FinishCreation,
    /// Touch nothing and say why.
    Refuse,
    /// Refuse, unless the caller explicitly goes on without HEAD.
    RefuseUnlessWithoutHead,
    /// Set the blank file aside and make the segment again.
    RedoRoll,
    /// Make the segment that follows the seal.
    ResumeRoll,
    /// Write.
    Proceed,
    /// Copy the tail aside, overwrite it with zeros, sync, then write.
    CutTail,
}

/// Verdict of verifying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is no log.
    NothingHere,
    /// Nothing recorded is damaged, and everything is proven durable.
    Intact,
    /// Nothing recorded is damaged; the newest records have no durable mark, or an interrupted
    /// write follows them.
    TailUnproven,
    /// Whole, but ending before the record that HEAD, or LOCK, names.
    ShortOfHead,
    /// Something recorded is damaged or missing.
    Corrupt,
}

impl Verdict {
    /// Returns whether something that was recorded is damaged or not there.
    #[must_use]
    pub const fn has_failed(self) -> bool {
        matches!(self, Self::ShortOfHead | Self::Corrupt)
    }
}

/// The first row of the table that matches.
#[must_use]
pub fn row(evidence: &Evidence) -> Row {
    if !evidence.has_segments {
        return row_without_segments(evidence);
    }
    if evidence.has_layout_fault {
        return Row::Layout;
    }
    if matches!(evidence.head, HeadEvidence::Missing | HeadEvidence::Garbage) {
        return Row::NoWitness;
    }
    row_without_witness(evidence)
}

/// The rows from 4 on: what a caller that explicitly goes on without HEAD falls through to.
#[must_use]
pub fn row_without_witness(evidence: &Evidence) -> Row {
    match evidence.last_header {
        LastHeader::Good => {}
        LastHeader::BlankAboveMarks => return row_of_blank(evidence),
        LastHeader::Bad => return Row::LastHeaderBad,
    }
    if evidence.has_earlier_fault {
        Row::EarlierSegment
    } else if evidence.is_rewritten {
        Row::Rewritten
    } else if evidence.run_to_mark == Ordering::Less {
        row_below_mark(evidence)
    } else if evidence.has_shape_fault {
        Row::Shape
    } else if evidence.is_sealed {
        Row::SealedLast
    } else {
        row_of_tail(evidence)
    }
}

/// Returns the row of a log that ends before HEAD: whoever copies segments and reads HEAD last has
/// segments that hold and end before HEAD. So has whoever lost the end of a log, and the two cannot
/// be told apart.
fn row_below_mark(evidence: &Evidence) -> Row {
    let is_whole = !evidence.has_shape_fault && evidence.tail == TailShape::Zero;
    match evidence.is_marked_outside && is_whole {
        true => Row::ShortOfHead,
        false => Row::BelowMark,
    }
}

/// A blank last segment is made again only where what is before it would not be refused then: a
/// refusal changes nothing.
fn row_of_blank(evidence: &Evidence) -> Row {
    let before = row_without_witness(&Evidence { last_header: LastHeader::Good, ..*evidence });
    if before.action() == OpenAction::Refuse { before } else { Row::BlankSegment }
}

fn row_without_segments(evidence: &Evidence) -> Row {
    match evidence.head {
        HeadEvidence::Missing if evidence.has_foreign_names => Row::Foreign,
        HeadEvidence::Missing => Row::Nothing,
        _ if evidence.has_layout_fault => Row::Layout,
        HeadEvidence::Empty => Row::UnfinishedCreation,
        HeadEvidence::Garbage | HeadEvidence::Witness => Row::NoSegments,
    }
}

fn row_of_tail(evidence: &Evidence) -> Row {
    match (evidence.tail, evidence.last_owner) {
        (TailShape::Zero, _) if evidence.run_to_mark == Ordering::Equal => Row::Clean,
        (TailShape::Zero, _) => Row::CleanUnproven,
        (TailShape::Other, LastOwner::SameBoot) => Row::DamagedTail,
        (TailShape::Unfinished | TailShape::Other, _) => Row::TornTail,
    }
}

impl Row {
    /// The number of the row in FORMAT.md.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Nothing | Self::Foreign => 0,
            Self::Layout => 1,
            Self::NoWitness => 2,
            Self::UnfinishedCreation | Self::NoSegments => 3,
            Self::BlankSegment | Self::LastHeaderBad => 4,
            Self::EarlierSegment => 5,
            Self::Rewritten => 6,
            Self::ShortOfHead | Self::BelowMark => 7,
            Self::Shape => 8,
            Self::SealedLast => 9,
            Self::Clean | Self::CleanUnproven => 10,
            Self::DamagedTail => 11,
            Self::TornTail => 12,
        }
    }

    /// Returns what opening for writing does.
    #[must_use]
    pub fn action(self) -> OpenAction {
        match self {
            Self::Nothing => OpenAction::Create,
            Self::UnfinishedCreation => OpenAction::FinishCreation,
            Self::NoWitness => OpenAction::RefuseUnlessWithoutHead,
            Self::BlankSegment => OpenAction::RedoRoll,
            Self::SealedLast => OpenAction::ResumeRoll,
            Self::Clean | Self::CleanUnproven => OpenAction::Proceed,
            Self::TornTail => OpenAction::CutTail,
            Self::Foreign
            | Self::Layout
            | Self::NoSegments
            | Self::LastHeaderBad
            | Self::EarlierSegment
            | Self::Rewritten
            | Self::ShortOfHead
            | Self::BelowMark
            | Self::Shape
            | Self::DamagedTail => OpenAction::Refuse,
        }
    }

    /// Returns what verifying says.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Nothing | Self::Foreign | Self::UnfinishedCreation => Verdict::NothingHere,
            Self::BlankSegment | Self::SealedLast | Self::Clean => Verdict::Intact,
            Self::CleanUnproven | Self::TornTail => Verdict::TailUnproven,
            Self::ShortOfHead => Verdict::ShortOfHead,
            Self::Layout
            | Self::NoWitness
            | Self::NoSegments
            | Self::LastHeaderBad
            | Self::EarlierSegment
            | Self::Rewritten
            | Self::BelowMark
            | Self::Shape
            | Self::DamagedTail => Verdict::Corrupt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const BOOLS: [bool; 2] = [false, true];
    const HEADS: [HeadEvidence; 4] =
        [HeadEvidence::Missing, HeadEvidence::Garbage, HeadEvidence::Empty, HeadEvidence::Witness];
    const HEADERS: [LastHeader; 3] =
        [LastHeader::Good, LastHeader::BlankAboveMarks, LastHeader::Bad];
    const OWNERS: [LastOwner; 5] = [
        LastOwner::Unknown,
        LastOwner::OtherBoot,
        LastOwner::SameBoot,
        LastOwner::SameBootPoisoned,
        LastOwner::SameBootRecovering,
    ];
    const ORDERINGS: [Ordering; 3] = [Ordering::Less, Ordering::Equal, Ordering::Greater];
    const TAILS: [TailShape; 3] = [TailShape::Zero, TailShape::Unfinished, TailShape::Other];

    /// Every combination of evidence.
    fn product() -> Vec<Evidence> {
        let mut all = Vec::new();
        for bits in 0..256_u32 {
            let bit = |n: u32| BOOLS[(bits >> n & 1) as usize];
            for (head, last_header) in pairs(&HEADS, &HEADERS) {
                for (run_to_mark, tail) in pairs(&ORDERINGS, &TAILS) {
                    all.extend(OWNERS.map(|last_owner| Evidence {
                        head,
                        has_segments: bit(0),
                        has_foreign_names: bit(1),
                        has_layout_fault: bit(2),
                        last_header,
                        has_earlier_fault: bit(3),
                        is_rewritten: bit(4),
                        run_to_mark,
                        has_shape_fault: bit(5),
                        is_sealed: bit(6),
                        is_marked_outside: bit(7),
                        tail,
                        last_owner,
                    }));
                }
            }
        }
        all
    }

    fn pairs<A: Copy, B: Copy>(a: &[A], b: &[B]) -> Vec<(A, B)> {
        a.iter().flat_map(|x| b.iter().map(move |y| (*x, *y))).collect()
    }

    /// The rows as FORMAT.md states them, each on its own, without the order.
    fn matching_rows(e: &Evidence) -> Vec<u8> {
        use HeadEvidence::{Empty, Missing, Witness};
        let witness = matches!(e.head, Empty | Witness);
        let behind = [
            (5, e.has_earlier_fault),
            (6, e.is_rewritten),
            (7, e.run_to_mark == Ordering::Less),
            (8, e.has_shape_fault),
            (9, e.is_sealed),
            (10, e.tail == TailShape::Zero),
            (11, e.tail == TailShape::Other && e.last_owner == LastOwner::SameBoot),
            (12, e.tail != TailShape::Zero),
        ];
        let without_it = behind.iter().find(|(_, matches)| *matches).map(|(number, _)| *number);
        let blank_alone = !matches!(without_it, Some(5 | 6 | 7 | 8 | 11));
        let rows = [
            (0, e.head == Missing && !e.has_segments),
            (1, e.has_layout_fault),
            (2, !witness && e.has_segments),
            // A garbage HEAD without segments is here too: there is something, and it is damaged.
            (3, e.head != Missing && !e.has_segments),
            (4, e.last_header == LastHeader::Bad),
            (4, e.last_header == LastHeader::BlankAboveMarks && blank_alone),
        ];
        rows.into_iter()
            .chain(behind)
            .filter(|(_, matches)| *matches)
            .map(|(number, _)| number)
            .collect()
    }

    #[test]
    fn table_the_first_matching_row_wins_over_the_whole_product() {
        let all = product();
        assert_eq!(all.len(), 256 * 4 * 3 * 3 * 3 * 5);
        for evidence in all {
            let expected = matching_rows(&evidence).into_iter().min();
            assert_eq!(Some(row(&evidence).number()), expected, "{evidence:?}");
        }
    }

    #[test]
    fn table_every_row_is_reached_and_a_log_that_failed_is_never_written() {
        let mut seen: Vec<Row> = product().iter().map(row).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 18);
        for row in seen {
            let refuses =
                matches!(row.action(), OpenAction::Refuse | OpenAction::RefuseUnlessWithoutHead);
            let failed = row.verdict().has_failed();
            assert!(!failed || refuses, "{row:?}");
            assert!(!refuses || failed || row == Row::Foreign, "{row:?}");
        }
    }

    #[test]
    fn table_nothing_below_a_mark_is_ever_cut_or_made_again() {
        for evidence in product() {
            let below = evidence.run_to_mark == Ordering::Less;
            if evidence.has_segments && evidence.last_header == LastHeader::Good && below {
                assert!(row(&evidence).verdict().has_failed(), "{evidence:?}");
            }
            if row(&evidence) == Row::ShortOfHead {
                assert!(below && evidence.is_marked_outside && evidence.tail == TailShape::Zero);
            }
            if row(&evidence).action() == OpenAction::CutTail {
                assert_ne!(evidence.run_to_mark, Ordering::Less);
                assert!(
                    evidence.last_owner != LastOwner::SameBoot
                        || evidence.tail == TailShape::Unfinished
                );
            }
        }
    }

    #[test]
    fn table_going_on_without_head_still_refuses_every_damage_below_it() {
        for evidence in product().into_iter().filter(|e| e.has_segments && !e.has_layout_fault) {
            let without = row_without_witness(&evidence);
            let with = row(&Evidence { head: HeadEvidence::Witness, ..evidence });
            assert_eq!(without, with);
        }
    }
}
