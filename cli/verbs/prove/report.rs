//! `holdpoint report`: one page of a run or a range, which a person can read and a program can
//! check.

mod block;
mod evidence;
mod gather;
mod html;
mod page;
pub(crate) mod questions;
mod story;

use crate::args::{Global, settle};
use crate::log::export_target::Target;
use crate::log::position::{self, Point};
use crate::log::verdict::{exit_of, verify_tells};
use crate::log::{ArchiveArgs, Directory, coverage, other_logs, warn};
use crate::ui::{Exit, Failure, Output, complain, counted, path};
use gather::{Told, gather};
use holdpoint_replay::{Finding, Head, Reach, Verdict, leading};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Checks a page from outside: whoever wants to check one is given it.
const VERIFIER: &str = include_str!("report/verify.py");

/// Options of `report`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "\
    holdpoint report [OPTIONS] --out <FILE> <RUN>\n       \
    holdpoint report [OPTIONS] --out <FILE> --since <POINT> [--until <POINT>]\n       \
    holdpoint report [--force] --verifier <FILE>")]
pub(crate) struct Args {
    /// The run: its id, the beginning of its id, or the number of a record about it.
    #[arg(value_name = "RUN", required_unless_present_any = ["since", "verifier"])]
    run: Option<String>,
    /// Every run that a record is about from there on: a record, a moment, a day, `yesterday`, or
    /// how long ago, such as 2h.
    #[arg(long, value_name = "POINT", value_parser = position::parse, conflicts_with = "run")]
    since: Option<Point>,
    /// Only up to there; of a day, up to its end.
    #[arg(long, value_name = "POINT", value_parser = position::parse, requires = "since")]
    until: Option<Point>,
    /// The page to make. It has its name only when it is whole.
    #[arg(long, value_name = "FILE", required_unless_present = "verifier")]
    out: Option<PathBuf>,
    /// Take the place of FILE if it is there.
    #[arg(long)]
    force: bool,
    /// Put the bytes of raw evidence on the page: whatever commands printed, secrets included.
    #[arg(long)]
    include_evidence: bool,
    /// Make no page: write verify.py, which checks one, to a file.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["run", "since", "until", "out", "include_evidence"]
    )]
    verifier: Option<PathBuf>,
    #[command(flatten)]
    archives: ArchiveArgs,
}

impl Args {
    /// Whether no log is read.
    pub(crate) const fn asks_for_verifier(&self) -> bool {
        self.verifier.is_some()
    }
}

/// What `--json` says of a page that was made.
#[derive(Serialize)]
struct Summary<'a> {
    out: String,
    first_record: Option<u64>,
    last_record: Option<u64>,
    records: usize,
    with_payload: usize,
    runs: Vec<&'a str>,
    includes_evidence: bool,
    verdict: Verdict,
    first_finding: Option<&'a Finding>,
    head: Option<&'a Head>,
    reach: &'a Reach,
}

/// Makes a page. Exit 3 where there is no such run or no record there, 6 where the log does not
/// verify: the page is made, and says so.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    let made = match (&args.verifier, &args.out) {
        (Some(file), _) => write_verifier(global, file, args.force),
        (None, Some(out)) => report(global, &args, out),
        (None, None) => {
            Err(Failure::new(Exit::USAGE, "out_missing", "name a file with --out FILE"))
        }
    };
    let made = match &args.run {
        Some(run) => other_logs::told(global, run, made),
        None => made,
    };
    settle(global, made)
}

fn write_verifier(global: &Global, file: &Path, is_forced: bool) -> Result<Exit, Failure> {
    let written = put(Target::new(file, is_forced, None)?, file, VERIFIER)?;
    let mut out = Output::stdout();
    match global.json {
        true => out.json(&serde_json::json!({ "out": written })),
        false => out.line(&written),
    }
    out.finish()?;
    Ok(Exit::DONE)
}

fn report(global: &Global, args: &Args, file: &Path) -> Result<Exit, Failure> {
    if file == Path::new("-") {
        let message = "a report is a file: name it with --out FILE";
        return Err(Failure::new(Exit::USAGE, "out_missing", message));
    }
    let directory = Directory::open_with_archives(global, &args.archives)?;
    let target = Target::new(file, args.force, Some(&directory))?;
    let told = gather(&directory, args, &target)?;
    if args.include_evidence {
        complain(
            "the page holds raw evidence: whatever commands printed, secrets included; keep it as \
             you keep the log",
        );
    }
    let written = put(target, file, &page::html(&told))?;
    show(global, &told, &written)?;
    warn(&told.report);
    tell_found(&told);
    if !global.json {
        coverage::say(&told.report.reach, told.last());
    }
    directory.tell_unread();
    Ok(match exit_of(&told.report) {
        Exit::DONE if told.is_damaged() => Exit::VERIFICATION_FAILED,
        exit => exit,
    })
}

/// Names what is wrong with the log now and was not while all of it was verified.
fn tell_found(told: &Told) {
    if let Some(first) = leading(&told.extract.findings).filter(|_| !told.report.failed()) {
        let tells = verify_tells(&told.extract.findings);
        complain(&format!("the log is corrupt: {first}; {tells}"));
    }
}

/// Writes all of a file, and gives it its name.
fn put(target: Target, file: &Path, text: &str) -> Result<String, Failure> {
    target.file().write_all(text.as_bytes()).map_err(|error| {
        let advice = "see that there is room, or name a file elsewhere";
        Failure::new(Exit::FAILED, "output", format!("{}: {error}; {advice}", path(file)))
    })?;
    target.heed_signals();
    target.finish()
}

fn show(global: &Global, told: &Told, written: &str) -> Result<(), Failure> {
    let mut out = Output::stdout();
    let records = &told.extract.records;
    let with_payload = records.iter().filter(|record| record.has_payload).count();
    if global.json {
        out.json(&Summary {
            out: written.to_string(),
            first_record: records.first().map(|record| record.header.sequence),
            last_record: records.last().map(|record| record.header.sequence),
            records: records.len(),
            with_payload,
            runs: told.runs.iter().map(|run| run.entity.loop_id()).collect(),
            includes_evidence: told.has_evidence,
            verdict: told.report.verdict,
            first_finding: leading(&told.report.findings).or(told.extract.findings.first()),
            head: told.report.head.as_ref(),
            reach: &told.report.reach,
        });
    } else {
        let (runs, all) = (told.runs.len() as u64, records.len() as u64);
        out.line(format_args!(
            "{written}: {}, {}, {with_payload} of them with their payloads",
            counted(runs, "run"),
            counted(all, "record")
        ));
    }
    out.finish()
}
