//! `holdpoint archive`: the first records of a log, moved to an archive.

use crate::args::{Global, LockWaitArgs, settle};
use crate::log::Directory;
use crate::log::at_point::parse_end;
use crate::log::damage::LogError;
use crate::log::open::{failed, read_end};
use crate::log::verdict::{exit_of, warn_of_made};
use crate::questions::open::open;
use crate::ui::{Bar, Exit, Failure, Output, counted, path};
use holdpoint_domain::core::text::visible;
use holdpoint_engine::log::{AppendError, ArchiveError};
use holdpoint_engine::shell::{ArchivePlan, ArchiveReport, MoveError, SubmitError};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_replay::{Finding, Progress, Report, Until, Verdict, leading, records_named};
use serde::Serialize;
use std::path::PathBuf;

/// Options of `archive`.
///
/// Whole sealed segments are moved; the records that are still written to stay. The archive is
/// verified before anything is removed, and is a log of its own: `verify`, `replay` and `log`
/// read it with --log. Nothing may ever be written to it. Verbs that look back read the log and its
/// archive as one; `verify --archive DST` proves them together. After an interruption, the same
/// line again goes on.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Destination: an empty or missing directory, or the archive of the records before.
    #[arg(value_name = "DST")]
    destination: PathBuf,
    /// Move records up to this point: a record, a moment such as 2026-01-25T16:00, a day with its
    /// end, `yesterday`, or how long ago, such as 720h.
    #[arg(long, value_name = "POINT", value_parser = parse_end)]
    until: Option<Until>,
    /// Number of newest sealed segments to keep.
    #[arg(long, value_name = "N", default_value_t = 0)]
    keep_segments: usize,
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// What was moved.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    destination: String,
    /// Records that were moved; 0: there was nothing to move.
    records: u64,
    first_sequence: Option<u64>,
    anchor_sequence: Option<u64>,
    anchor_link: Option<String>,
    stated_by: Option<u64>,
    removed_segments: u64,
    left_segments: u64,
    /// The record that the archive's HEAD named before, where it held later ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    archive_head_named: Option<u64>,
    /// What `verify` says of the archive, where records were moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_finding: Option<&'a Finding>,
}

/// Moves records to DST. Exit 3 when there is no log, 4 when the log or the archive is busy, 5 when
/// DST is something else or the records may not be parted, 6 when what was written does not verify;
/// where that is so of the records themselves, they were moved.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    settle(global, archive(global, &args))
}

fn archive(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let engine = open(global, &args.turn)?;
    let destination: PathBuf = args.destination.components().collect();
    let mut bar = Bar::new();
    let storage = DirectoryStorage::new(&destination);
    let moved = engine.archive_watched(&storage, plan_of(args), &mut |sequence, expected| {
        bar.update(Progress { sequence, expected });
    });
    drop(bar);
    let closed = engine.close().map_err(|error| failed(global, error));
    let moved = moved.map_err(|error| failure(global, &error))?;
    closed?;
    let archive = match moved.moved {
        Some(_) => Some(read_end(&Directory::open_other(&destination)?)?.report),
        None => None,
    };
    let summary = Summary::of(args, &moved, archive.as_ref());
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&summary)
    } else {
        show(&mut out, &summary)
    }
    out.finish()?;
    let Some(archive) = archive else { return Ok(Exit::DONE) };
    warn_of_made("the records were moved as they are", &destination, &archive);
    Ok(exit_of(&archive))
}

fn plan_of(args: &Args) -> ArchivePlan {
    let keep_segments = args.keep_segments;
    match args.until {
        Some(Until::Sequence(sequence)) => {
            ArchivePlan { until_sequence: Some(sequence), keep_segments, ..ArchivePlan::default() }
        }
        Some(Until::Time(time)) => {
            ArchivePlan { until_time: Some(time), keep_segments, ..ArchivePlan::default() }
        }
        Some(Until::End) | None => ArchivePlan { keep_segments, ..ArchivePlan::default() },
    }
}

impl<'a> Summary<'a> {
    fn of(args: &Args, report: &ArchiveReport, archive: Option<&'a Report>) -> Self {
        let anchor = report.moved.map(|(_, anchor)| anchor);
        let first_sequence = report.moved.map(|(first, _)| first);
        let last = anchor.map_or(0, |anchor| anchor.sequence.saturating_add(1));
        Self {
            destination: args.destination.to_string_lossy().into_owned(),
            records: last.saturating_sub(first_sequence.unwrap_or(0)),
            first_sequence,
            anchor_sequence: anchor.map(|anchor| anchor.sequence),
            anchor_link: anchor.map(|anchor| anchor.link.to_string()),
            stated_by: report.stated_by,
            removed_segments: report.removed_segments,
            left_segments: report.left_segments,
            archive_head_named: report.head_named,
            verdict: archive.map(|archive| archive.verdict),
            first_finding: archive.and_then(|archive| leading(&archive.findings)),
        }
    }
}

fn show(out: &mut Output, summary: &Summary<'_>) {
    match (summary.first_sequence, summary.anchor_sequence) {
        (Some(first), Some(last)) => {
            out.line(format_args!(
                "moved           {} to {}",
                records_named(first, last),
                visible(&summary.destination)
            ));
            out.line(format_args!(
                "begins behind   record {last}, link {}",
                summary.anchor_link.as_deref().unwrap_or_default()
            ));
        }
        _ => out.line("moved           nothing: no sealed segment is within what was asked for"),
    }
    if let Some(sequence) = summary.stated_by {
        out.line(format_args!("stated by       record {sequence}"));
    }
    if let Some(verdict) = summary.verdict {
        out.line(format_args!("verdict         {verdict}"));
    }
    out.line(format_args!("removed         {}", counted(summary.removed_segments, "segment")));
    if let Some(named) = summary.archive_head_named {
        out.line(format_args!(
            "mended          the archive's HEAD, which named record {named} and not the newest: a \
             move was interrupted, or it was set back"
        ));
    }
    if summary.left_segments > 0 {
        out.line(format_args!(
            "left            {} before the log's beginning that this archive does not hold",
            counted(summary.left_segments, "segment")
        ));
    }
}

fn failure(global: &Global, error: &MoveError) -> Failure {
    let said = visible(&error.to_string()).to_string();
    let message = format!("{}: {said}", path(&global.log));
    let (exit, code) = match error {
        MoveError::Archive(ArchiveError::OtherArchive { .. } | ArchiveError::Damaged { .. }) => {
            (Exit::REFUSED, "other_archive")
        }
        MoveError::Submit(SubmitError::Contradicted(refusal)) => (Exit::REFUSED, refusal.code()),
        MoveError::Archive(ArchiveError::Busy { .. } | ArchiveError::Overtaken { .. }) => {
            (Exit::CONFLICT, "busy")
        }
        MoveError::Archive(ArchiveError::Append(AppendError::Locked { .. })) => {
            (Exit::CONFLICT, "locked")
        }
        MoveError::Archive(ArchiveError::Unlike { .. }) => {
            (Exit::VERIFICATION_FAILED, "archive_does_not_verify")
        }
        MoveError::Archive(
            ArchiveError::Write { .. }
            | ArchiveError::NoSpace { .. }
            | ArchiveError::Unreadable { .. },
        ) => return Failure::new(Exit::FAILED, "archive_io", said).with_room(error.room()),
        MoveError::Inside { .. } => (Exit::USAGE, "inside_the_log"),
        MoveError::WithoutBeginning { .. } => (Exit::REFUSED, "without_beginning"),
        MoveError::ApartFromReport { .. } => (Exit::REFUSED, "apart_from_report"),
        _ => return failed(global, error),
    };
    Failure::new(exit, code, message)
}
