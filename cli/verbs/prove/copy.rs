//! `holdpoint copy`: a verified prefix of a log, also while it is being written; or what verifies
//! of a damaged one.

mod salvage;

use crate::args::{Global, settle};
use crate::log::Directory;
use crate::log::coverage::none_yet;
use crate::log::damage::NEWER_VERSION;
use crate::log::open::read_end;
use crate::log::verdict::{exit_of, show_unproven, warn_of_made};
use crate::questions::adoption::show_adoption;
use crate::ui::text::bytes;
use crate::ui::{Bar, Exit, Failure, Output, counted, moment, path};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_engine::log::{Copied, CopyDirectoryError, CopyError, copy_directory};
use holdpoint_log_files::SurveyError;
use holdpoint_replay::{Finding, Head, Progress, Report, Unproven, Verdict, leading};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Options of `copy`.
///
/// Nothing of SRC is written or locked. The copy ends with a whole batch, holds everything that was
/// acknowledged when copying began, and is verified before DST has its name. Its HEAD names the
/// record that HEAD of SRC names: what is newer has no witness in the copy either.
///
/// The copy is a log of the same identity: nothing but its content tells it from the original. Let
/// only one of them be written: two writers make two histories under one identity.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Log to copy; it is only read and may be on a read-only file system.
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// Destination: an empty or missing directory.
    #[arg(value_name = "DST")]
    destination: PathBuf,
    /// Copy the valid records of a damaged log into a new log with an ID of its own.
    #[arg(long)]
    pub(crate) salvage: bool,
}

/// What was copied.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    source: String,
    destination: String,
    log_id: String,
    records: u64,
    record_bytes: u64,
    segments: u64,
    first_sequence: u64,
    /// The newest record.
    head: Option<Head>,
    /// The first record behind the one that HEAD names, in SRC and in the copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_witness_from: Option<u64>,
    /// What `verify` says of the copy, and of SRC where its tail is unproven: the copy has nothing
    /// that could tell.
    verdict: Verdict,
    first_finding: Option<&'a Finding>,
    /// How many records are withheld.
    withheld: u64,
    /// Records that the log says were taken over from a damaged one without proof.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unproven_records: &'a [Unproven],
}

/// Copies SRC to DST. Exit 6 when SRC is damaged, of which nothing is copied, and when something is
/// wrong with records that hold: the copy has it too, and stays. 5 when DST is taken, 2 when it is
/// inside of SRC, 3 when there is no log.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    settle(global, if args.salvage { salvage::run(global, &args) } else { copy(global, &args) })
}

fn copy(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let mut bar = Bar::new();
    let source = Directory::open_argument(&args.source, "SRC")?.path;
    let copied = copy_directory(&source, &args.destination, &mut |sequence, expected| {
        bar.update(Progress { sequence, expected });
    });
    drop(bar);
    let copied = copied.map_err(|error| failure(args, &error))?;
    // What is told is read from the copy itself: of what was read to copy it nothing is taken.
    let report = read_end(&Directory::open_other(&args.destination)?)?.report;
    let mut out = Output::stdout().folding();
    let summary = Summary::of(args, &copied, &report);
    if global.json {
        out.json(&summary)
    } else {
        show(&mut out, &summary, &copied)
    }
    out.finish()?;
    warn_of_made("the copy is kept, and is as SRC is, byte for byte", &args.destination, &report);
    Ok(exit_of(&report))
}

impl<'a> Summary<'a> {
    fn of(args: &Args, copied: &Copied, report: &'a Report) -> Self {
        let newest = &copied.newest;
        Self {
            source: args.source.to_string_lossy().into_owned(),
            destination: args.destination.to_string_lossy().into_owned(),
            log_id: copied.log.to_string(),
            records: copied.records,
            record_bytes: copied.record_bytes,
            segments: copied.segments,
            first_sequence: copied.first_sequence,
            head: (copied.records > 0).then(|| Head {
                sequence: newest.sequence,
                link: newest.link.to_string(),
                time: Timestamp::from_nanoseconds(newest.time),
            }),
            no_witness_from: (newest.sequence > copied.witnessed)
                .then(|| copied.witnessed.saturating_add(1)),
            verdict: match report.verdict {
                Verdict::Intact if copied.tail_unproven => Verdict::TailUnproven,
                of_copy => of_copy,
            },
            first_finding: leading(&report.findings),
            withheld: report.withheld,
            unproven_records: &report.unproven_records,
        }
    }
}

fn show(out: &mut Output, summary: &Summary<'_>, copied: &Copied) {
    out.line(format_args!("copied          log {}", summary.log_id));
    out.line(format_args!(
        "records         {} ({}) in {}",
        copied.records,
        bytes(copied.record_bytes),
        counted(copied.segments, "segment")
    ));
    if let Some(head) = &summary.head {
        out.line(format_args!("up to           record {}, {}", head.sequence, moment(head.time)));
        out.line(format_args!("                {}", head.link));
    }
    if let Some(first) = summary.no_witness_from {
        out.line(format_args!("witness         {}", none_yet(first)));
    }
    out.line(format_args!("verdict         {}", summary.verdict));
    if summary.withheld > 0 {
        out.line(format_args!("withheld        {}", counted(summary.withheld, "record")));
    }
    show_unproven(out, summary.unproven_records);
    show_adoption(out, Path::new(&summary.destination));
}

fn failure(args: &Args, error: &CopyDirectoryError) -> Failure {
    let from = |code: &'static str, exit| {
        Failure::new(exit, code, format!("{}: {error}", path(&args.source))).on(&args.source)
    };
    match error {
        CopyDirectoryError::Taken { .. } => Failure::new(Exit::REFUSED, "not_empty", error),
        CopyDirectoryError::Inside { .. } => Failure::new(Exit::USAGE, "inside_the_log", error),
        CopyDirectoryError::Copy(CopyError::NothingHere) => from("nothing_here", Exit::NOT_FOUND),
        CopyDirectoryError::Copy(CopyError::Damaged { .. }) => {
            from("damaged", Exit::VERIFICATION_FAILED)
        }
        CopyDirectoryError::Copy(CopyError::Read(SurveyError::NewerVersion { .. })) => {
            from(NEWER_VERSION, Exit::FAILED)
        }
        CopyDirectoryError::Copy(CopyError::Moved { .. }) => from("changed", Exit::FAILED),
        CopyDirectoryError::Copy(CopyError::Read(_)) => from("io", Exit::FAILED),
        CopyDirectoryError::Copy(CopyError::NoSpace { needed, free, .. }) => {
            Failure::new(Exit::FAILED, "io", error).with_room(Some((*needed, *free)))
        }
        _ => Failure::new(Exit::FAILED, "io", error),
    }
}
