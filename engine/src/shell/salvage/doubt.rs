//! Statements that a salvaged log may have made of its records, in records that are lost: what a
//! salvage took over without proof never gains one.

use holdpoint_domain::Event;
use holdpoint_domain::log::{LogEvent, RECORDS_UNPROVEN, SALVAGED};
use holdpoint_domain::world::envelope::decode;
use holdpoint_log_files::Standing;
use holdpoint_log_files::damage_scan::{DamageScan, Piece, Unproven};
use holdpoint_log_format::{Record, RecordHeader};

/// Knowledge of the records that the source may have said are unproven.
#[derive(Debug)]
pub(super) struct Doubt {
    /// The record with which the source begins.
    first: u64,
    /// True if the source was made by a salvage, as its first record says or another that says
    /// which ones are unproven.
    is_of_salvage: bool,
    /// The last record before one that does not tell which ones it says are unproven; 0: there is
    /// none.
    last: u64,
    /// The record that its report says is there; 0: none does.
    due: u64,
    /// Records that its report says are unproven, first and last.
    reported: Vec<(u64, u64)>,
    /// Records that other records say are.
    stated: Vec<(u64, u64)>,
}

impl Doubt {
    /// Nothing is known of a source that begins with this record.
    pub(super) fn from(first: u64) -> Self {
        let (reported, stated) = (Vec::new(), Vec::new());
        Self { first, is_of_salvage: false, last: 0, due: 0, reported, stated }
    }

    /// Looks at a valid record, which may not be kept in the end.
    pub(super) fn look_at(&mut self, record: &Record<'_>) {
        let RecordHeader { sequence, kind, ref flags, .. } = record.header;
        let is_report = kind == SALVAGED && sequence == self.first;
        self.is_of_salvage |= is_report || kind == RECORDS_UNPROVEN;
        if !is_report && kind != RECORDS_UNPROVEN {
            return;
        }
        match event_of(record) {
            Some(LogEvent::Salvaged(report)) => {
                self.due = report.last_sequence;
                self.reported = report.unproven_behind(sequence).collect();
            }
            Some(LogEvent::RecordsUnproven(body)) => {
                self.stated.push((body.first_sequence, body.last_sequence));
            }
            _ if flags.withheld() && kind == RECORDS_UNPROVEN => {
                self.last = self.last.max(sequence.saturating_sub(1));
            }
            _ => {}
        }
    }

    /// The kept records of which the source may have said that they are unproven, in a record that
    /// is lost or withheld: where its end was cut off, all of them.
    pub(super) fn doubted(&self, plan: &DamageScan) -> Option<Unproven> {
        if !self.is_of_salvage {
            return None;
        }
        // What the report alone says, another record said that is there no more.
        let untold = self.reported.iter().filter(|range| !self.stated.contains(range));
        let untold = untold.map(|(_, last)| *last).max().unwrap_or(0);
        let (mut newest, mut last) = (0, self.last.max(untold));
        for piece in &plan.pieces {
            match piece {
                Piece::Kept(kept) => newest = kept.last.sequence.max(newest),
                Piece::Lost(loss) if loss.may_hold_records && !loss.is_archived => {
                    last = newest.max(last);
                }
                Piece::Lost(_) | Piece::Unproven(_) => {}
            }
        }
        if newest < self.due {
            last = newest;
        }
        let first = plan.kept().map(|kept| kept.from.sequence + 1).min()?;
        let standing = Standing::Unproven;
        (first <= last).then_some(Unproven { first, last, standing })
    }
}

fn event_of(record: &Record<'_>) -> Option<LogEvent> {
    let header = &record.header;
    match decode(header.kind, header.version, record.payload).ok()?.event {
        Event::Log(event) => Some(event),
        _ => None,
    }
}
