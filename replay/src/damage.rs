//! The damage map: every damaged place of a log with its cause as far as the bytes prove it, what
//! still holds on both sides of each, and what a salvage would keep.
//!
//! # Invariants
//!
//! - No record is blamed that holds in its place: a region names records that are damaged, missing
//!   or out of order.
//!   Where two things hold and do not fit, the region is a seam between them and names none.
//! - What survives is decided by the scan alone, as for a salvage. The records of the stretches,
//!   and those that a region blames although they are whole, are the ones that it keeps.
//! - A cause is `proven` only where undoing it gives what the checksum and the chain ask for, or
//!   where what is there says so itself.
//! - Whatever the bytes are, the work is linear in them, and the number of regions is bounded.

mod cause;
mod files;
mod forged;
mod header;
mod ledger;
mod picture;
mod region;
mod segment;
mod syndrome;
mod view;

pub use ledger::{REGIONS_MAX, Stretch};
pub use picture::{CELLS_MAX, Picture};
pub use region::{Cause, Certainty, Records, Region, Witness};

use crate::read::ReadError;
use crate::verify::Witnessed;
use files::Mapper;
use holdpoint_domain::core::codec::DecodeError;
use holdpoint_domain::world::envelope::decode;
use holdpoint_log_files::damage_scan::{DamageScan, Payload, Source};
use holdpoint_log_files::{ReadStorage, Survey};
use serde::Serialize;

/// Every damaged place of a log, and what holds between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DamageMap {
    /// The log as a bar, with every damaged place in it, however many there are.
    pub picture: Picture,
    /// The segments in order.
    pub segments: Vec<MappedSegment>,
    /// The damaged places in the order of the log, at most [`REGIONS_MAX`].
    pub regions: Vec<Region>,
    /// Regions beyond those.
    pub regions_left_out: u64,
    /// The records that hold, at most [`REGIONS_MAX`] stretches.
    pub stretches: Vec<Stretch>,
    /// Stretches beyond those.
    pub stretches_left_out: u64,
    /// Part that a salvage would keep.
    pub salvage: SalvageYield,
}

/// Part of a log that `copy --salvage` would keep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SalvageYield {
    /// Number of records it keeps as they are.
    pub records_kept: u64,
    /// Number of them that HEAD does not tie: the new log says that they are unproven.
    pub records_unproven: u64,
    /// Number of records that are known to be lost.
    pub records_lost: u64,
    /// A record of a kind that this program does not know, and that HEAD ties: a salvage refuses
    /// the log, and keeps nothing, for a newer program wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<u64>,
    /// Bytes that it does not keep as records, and copies aside.
    pub bytes_not_kept: u64,
    /// The records that it keeps, neighbours joined, at most [`REGIONS_MAX`] runs.
    pub runs: Vec<Records>,
    /// Runs beyond those.
    pub runs_left_out: u64,
}

/// A segment of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappedSegment {
    /// Its file, relative to the log's directory.
    pub file: String,
    /// Sequence of its first record.
    pub first: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The byte behind the last one that is not zero.
    pub used: u64,
}

impl DamageMap {
    /// Returns whether nothing is damaged.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.regions.is_empty()
    }
}

/// Maps a log that was surveyed. `outside` is the newest record that one of `heads`, which were
/// kept outside, proves.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn map<S: ReadStorage>(
    storage: &S,
    survey: &Survey,
    is_being_written: bool,
    (outside, heads): (u64, &[Witnessed]),
) -> Result<DamageMap, ReadError> {
    let scanned = scan(storage, Some(survey.mark).filter(|_| !is_being_written))?;
    let mut mapper = Mapper::new(storage, survey, scanned.as_ref(), is_being_written, outside);
    mapper.map()?;
    mapper.map_heads(heads);
    let kept =
        scanned.as_ref().map_or_else(SalvageYield::default, |(_, scan)| SalvageYield::of(scan));
    Ok(mapper.finish(kept))
}

/// Returns what survives of the log; `None` where there is none.
fn scan<S: ReadStorage>(
    storage: &S,
    mark: Option<u64>,
) -> Result<Option<(Source, DamageScan)>, ReadError> {
    let Some(source) = Source::look(storage)? else { return Ok(None) };
    let scan = DamageScan::of(storage, &source, mark, &mut |_, record| {
        let header = &record.header;
        let decoded = decode(header.kind, header.version, record.payload);
        Payload::of(&decoded, DecodeError::is_opaque, DecodeError::is_of_unknown_kind)
    })?;
    Ok(Some((source, scan)))
}

impl SalvageYield {
    fn of(scan: &DamageScan) -> Self {
        let mut runs: Vec<Records> = Vec::new();
        for kept in scan.kept() {
            let (first, last) = (kept.from.sequence.saturating_add(1), kept.last.sequence);
            match runs.last_mut().filter(|run| run.last.checked_add(1) == Some(first)) {
                Some(run) => run.last = last,
                None => runs.push(Records { first, last }),
            }
        }
        let runs_left_out = runs.len().saturating_sub(REGIONS_MAX) as u64;
        runs.truncate(REGIONS_MAX);
        Self {
            records_kept: scan.records_kept(),
            records_unproven: scan.unproven().map(|range| range.last - range.first + 1).sum(),
            records_lost: scan.records_lost(),
            unknown: scan.unknown(),
            bytes_not_kept: scan.losses().map(|loss| loss.length).sum(),
            runs,
            runs_left_out,
        }
    }
}
