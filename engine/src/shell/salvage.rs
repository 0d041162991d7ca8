//! Salvage: what verifies of a damaged log, copied into a new one.
//!
//! The source is read twice and never touched: once to plan, once to copy. What is kept:
//!
//! 1. the records that HEAD or the next segment's header ties, backwards from there; those that
//!    HEAD ties also where they lie elsewhere, for only they have the links that are due;
//! 2. before those, and where nothing ties, whole batches that follow from the anchor, from one
//!    segment to the next, or from a segment's header;
//! 3. a whole record in its place that does not follow from the one before it: one of the two was
//!    changed. Other valid records anywhere else are not kept: a captured output can hold the image
//!    of one.
//!
//! What HEAD does not tie is unproven. An event behind such records says so. Where this program
//! does not know the kind of such a record, or cannot read it, it is not kept: the new log could
//! not be opened. Where HEAD ties a record of an unknown kind, a newer program wrote the log, and
//! nothing is salvaged.
//!
//! Of everything else the bytes are copied aside, and an event stands in its place, so that nothing
//! is hidden. Where neither HEAD nor LOCK tells that the last record kept was the newest one, or a
//! file tells of a later one, an event says that records behind it may be missing.
//!
//! The records keep their kinds, payloads, batches and times; the numbers that name other records
//! are moved with them. A number that names nothing in the new log names the report. A recorded
//! fingerprint is of no state of the new log, for a state holds such numbers, and says so.
//!
//! A log whose first records are in an archive begins with the state that an event carries. Where
//! that event is kept, the new log begins behind the same record, so that the state goes on.

mod beginning;
mod copy;
mod cut;
mod doubt;
mod error;
mod sequences;
mod target;

pub use error::SalvageError;

use super::clock::Clock;
use super::entropy::{EntropySource, SystemEntropy};
use crate::log::{Level, Log, OpenReport, Options, Ownership, Storage, create_behind};
use beginning::Beginning;
use copy::{Copier, first_time, payload_of, recorded, sentence};
use cut::Cuts;
use doubt::Doubt;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::log::{RecordsLost, RecordsUnproven, Salvaged};
use holdpoint_log_files::damage_scan::{DamageScan, Piece, Source};
use holdpoint_log_files::later::is_end_told;
use holdpoint_log_files::{DirectoryStorage, Extent, SurveyOptions, survey};
use holdpoint_log_format::{LogId, names};
use sequences::Sequences;
use std::io;
use std::path::{Path, PathBuf};
use target::Target;

/// Number of runs, and how many findings, the report names. The totals count all.
const LISTED_MAX: usize = 256;

/// Records between two reports of progress.
const PROGRESS_STEP: u64 = 1_024;

/// Outcome of a salvage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvageReport {
    /// The new log's directory, links resolved.
    pub path: PathBuf,
    /// The new log's identity.
    pub log: LogId,
    /// The newest record of the new log.
    pub newest_sequence: u64,
    /// Records up to this one are in an archive of the old log: both logs begin behind it. 0: the
    /// new log begins with record 1.
    pub begins_behind: u64,
    /// The report as the new log's first event has it.
    pub salvaged: Salvaged,
    /// Records that are withheld, counted as lost; each has an event in its place.
    pub withheld: u64,
    /// Records that nothing proves and nobody can read: so many of the losses are those.
    pub unreadable: u64,
    /// Everything else that was not kept, as the new log's events have it, in order.
    pub losses: Vec<RecordsLost>,
    /// Records that were kept without proof, as the new log's events have it, in order.
    pub unproven: Vec<RecordsUnproven>,
}

/// Progress of a salvage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SalvageProgress {
    /// The newest record read. It starts again for the second reading.
    pub sequence: u64,
    /// The newest record that the source names.
    pub expected: u64,
}

/// The process that has the log open for writing now, where the system tells. Takes no lock.
#[must_use]
pub fn writer_of(source: &Path) -> Option<u32> {
    DirectoryStorage::new(source).lock_holder(names::LOCK)
}

/// Copies what verifies of the log at `source` into a new log at `target`, which must be missing or
/// an empty directory. The first event of the new log is the report. When this returns, the new log
/// is durable; until then it has another name (`target` and `.salvaging`).
///
/// # Errors
/// There is nothing to salvage, nothing verified, the target is taken or inside the source, or the
/// source cannot be read, or the disk refused. The source is as it was in any case.
pub fn salvage(
    source: &Path,
    target: &Path,
    clock: &dyn Clock,
    progress: &mut dyn FnMut(SalvageProgress),
) -> Result<SalvageReport, SalvageError> {
    check_directory(source)?;
    let place = Target::find(source, target)?;
    salvage_to(&place, source, clock, progress).map_err(|error| error.of_source(source))
}

fn check_directory(source: &Path) -> Result<(), SalvageError> {
    let path = source.to_path_buf();
    match source.metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(SalvageError::NotADirectory { path }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(SalvageError::NothingHere { path })
        }
        Err(source) => Err(SalvageError::Unreadable { path, source }),
    }
}

fn salvage_to(
    place: &Target,
    source: &Path,
    clock: &dyn Clock,
    progress: &mut dyn FnMut(SalvageProgress),
) -> Result<SalvageReport, SalvageError> {
    let storage = DirectoryStorage::holding(source);
    let nothing = || SalvageError::NothingHere { path: source.to_path_buf() };
    let found = Source::look(&storage)?.ok_or_else(nothing)?;
    if found.segments.is_empty() {
        let (path, named) = (source.to_path_buf(), found.records_named());
        return Err(SalvageError::NoSegment { path, named, findings: found.findings });
    }
    let mut meter = metered(found.witnessed(), progress);
    let plan = plan_of(&storage, &found, &mut meter)?;
    if plan.records_kept() == 0 {
        let (path, findings) = (source.to_path_buf(), findings_of(&plan));
        return Err(SalvageError::NothingKept { path, findings });
    }
    let building = Building { storage: &storage, source: &found, plan: &plan, place };
    let report = building.build(clock, &mut meter);
    report.map_err(|cause| place.interrupted(cause.of_source(source)))
}

/// Returns what is kept. Where the state at the anchor is, the new log begins there as well; else
/// what is before the anchor is missing in it.
fn plan_of(
    storage: &DirectoryStorage,
    source: &Source,
    progress: &mut dyn FnMut(u64),
) -> Result<DamageScan, SalvageError> {
    let anchor = source.anchor();
    let mut beginning = Beginning::behind(anchor);
    let mut doubt = Doubt::from(anchor.sequence.saturating_add(1));
    let (extent, boot) = (Extent::FromHead, storage.boot());
    // The recovery table knows the newest record that was durable.
    let survey = survey(storage, SurveyOptions::new(extent, boot), &mut |_, _| {})?;
    let mark = Some(survey.mark);
    let mut planned = DamageScan::of(storage, source, mark, &mut |place, record| {
        beginning.look_at(place, record);
        doubt.look_at(record);
        progress(record.header.sequence);
        payload_of(record)
    })?;
    if let Some(sequence) = planned.unknown() {
        return Err(SalvageError::UnknownKind { sequence });
    }
    if beginning.is_carried_by(&planned) {
        planned.begins_behind = Some(anchor);
    } else {
        planned.lose_before(anchor.sequence, source.is_archived(&anchor));
    }
    planned.pieces.extend(doubt.doubted(&planned).map(Piece::Unproven));
    if let Some(newest) = planned.end_kept()
        && !is_end_told(storage, &survey, source.log, newest)?
    {
        planned.lose_behind();
    }
    Ok(planned)
}

/// A new log while it is made.
struct Building<'a> {
    storage: &'a DirectoryStorage,
    source: &'a Source,
    plan: &'a DamageScan,
    place: &'a Target,
}

impl Building<'_> {
    /// Everything is written first and synced once, at the end: nobody is told before.
    fn build(
        &self,
        clock: &dyn Clock,
        progress: &mut dyn FnMut(u64),
    ) -> Result<SalvageReport, SalvageError> {
        let sequences = Sequences::of(self.plan);
        let correlation = SystemEntropy.draw().map_err(SalvageError::Entropy)?.to_string();
        let salvaged = self.report(&sequences, clock);
        let target = DirectoryStorage::new(&self.place.building);
        let (log, opened) = self.open_new(&target)?;
        let first = recorded(&correlation, salvaged.clone().into())?;
        log.append_batch(&[first], first_time(self.plan), Level::Os)?;
        let cuts = Cuts::new(self.storage, target)?;
        let mut copier = Copier {
            storage: self.storage,
            log: &log,
            sequences: &sequences,
            correlation: &correlation,
            cuts,
            held: None,
            is_policy_unknown: false,
            policy_at: 0,
            knows_policies: false,
            unreadable: 0,
            losses: Vec::new(),
            unproven: Vec::new(),
            progress,
        };
        copier.copy(self.plan)?;
        copier.cuts.finish()?;
        let Copier { losses, unproven, unreadable, .. } = copier;
        let newest_sequence = log.position().sequence;
        log.close()?;
        self.place.publish()?;
        Ok(SalvageReport {
            path: self.place.path().to_path_buf(),
            log: opened.log,
            newest_sequence,
            begins_behind: self.plan.begins_behind.map_or(0, |anchor| anchor.sequence),
            salvaged,
            withheld: self.plan.withheld(),
            unreadable,
            losses,
            unproven,
        })
    }

    fn open_new(&self, target: &DirectoryStorage) -> Result<(Log, OpenReport), SalvageError> {
        if let Some(anchor) = &self.plan.begins_behind {
            create_behind(target, anchor).map_err(Box::new)?;
        }
        let options = Options { ownership: Ownership::Exclusive, ..Options::default() };
        Ok(Log::open(target.clone(), options).map_err(Box::new)?)
    }

    fn report(&self, sequences: &Sequences, clock: &dyn Clock) -> Salvaged {
        let (plan, source) = (self.plan, self.source);
        let (runs, findings) = (sequences.runs(), findings_of(plan));
        let lost = plan.losses().filter(|loss| !loss.is_archived && loss.first > 0);
        let firsts = runs.iter().map(|run| run.source_first_sequence);
        Salvaged {
            source_log: source.log.to_string().into(),
            source_first_sequence: firsts.chain(lost.map(|loss| loss.first)).min().unwrap_or(0),
            source_last_sequence: plan.reached,
            records_kept: plan.records_kept(),
            records_lost: plan.records_lost(),
            bytes_not_kept: plan.losses().map(|loss| loss.length).sum(),
            salvaged_at: Timestamp::from_nanoseconds(clock.now().wall_ns),
            runs_total: runs.len() as u64,
            runs: runs.into_iter().take(LISTED_MAX).collect(),
            findings_total: findings.len() as u64,
            findings: findings.into_iter().take(LISTED_MAX).map(Into::into).collect(),
            last_sequence: sequences.last(),
            unproven: sequences.unproven(plan).into_iter().collect(),
        }
    }
}

/// Returns what is wrong with names and witnesses, then with each stretch that was not kept.
fn findings_of(plan: &DamageScan) -> Vec<String> {
    let of_losses = plan.losses().map(|loss| loss.finding());
    plan.findings.iter().cloned().chain(of_losses).map(|finding| sentence(&finding)).collect()
}

/// Tells of every [`PROGRESS_STEP`]th record.
fn metered(expected: u64, progress: &mut dyn FnMut(SalvageProgress)) -> impl FnMut(u64) {
    move |sequence| {
        if sequence.is_multiple_of(PROGRESS_STEP) {
            progress(SalvageProgress { sequence, expected: expected.max(sequence) });
        }
    }
}
