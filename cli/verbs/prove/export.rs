//! `holdpoint export`: the log as JSON Lines, CSV or a SQLite database; a page of a run or a range;
//! what one run printed, as a recording that asciinema plays.

mod asciicast;
pub(crate) mod report;

use crate::args::{Global, settle};
use crate::log::at_point::{begin, end};
use crate::log::export_target::Target;
use crate::log::position::{self, Point};
use crate::log::record_filter::expect_places_in_order;
use crate::log::records::expect_archives;
use crate::log::verdict::exit_of;
use crate::log::{ArchiveArgs, Directory, coverage, warn};
use crate::ui::{Bar, Exit, Failure, Output, complain, counted, path, streams};
use holdpoint_export::{ExportError, Exported, Options, export_csv, export_json_lines};
use holdpoint_replay::export::Selection;
use holdpoint_replay::{
    ArchivedLog, Progress, Reach, ReadError, ReadOptions, Until, Verdict, leading,
};
use serde::Serialize;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// What SQLite puts behind the name of a database, for files beside it.
const JOURNALS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Options of `export`.
///
/// Batches are exported whole: those whose last record lies within `--since` and `--until`. Of a
/// damaged log, what is proven before the damage is exported, and the exit code is 6.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(override_usage = "\
    holdpoint export [OPTIONS] --format <html|asciicast> --output <FILE> <RUN>\n       \
    holdpoint export [OPTIONS] --format html --output <FILE> --since <POINT> [--until TO]\n       \
    holdpoint export [OPTIONS] [--format <jsonl|csv|sqlite>]")]
pub(crate) struct Args {
    /// Run, with `--format html` and `asciicast`.
    ///
    /// Its ID, a prefix of it, or the number of a record about it.
    #[arg(value_name = "RUN", conflicts_with_all = ["since", "until"])]
    run: Option<String>,
    /// Format: one JSON object a line (RFC 8785), one row a record, tables, a page of a run or a
    /// range, a terminal recording, or the program that verifies such a page.
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Output file, created when it is complete [default: stdout, as is `-`].
    #[arg(long = "output", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing FILE.
    #[arg(long, requires = "out")]
    force: bool,
    /// Start at this point: a record, a moment, a day, `yesterday`, or how long ago, such as 2h.
    #[arg(long, value_name = "POINT", value_parser = position::parse)]
    since: Option<Point>,
    /// End at this point; a day includes its end.
    #[arg(long, value_name = "POINT", value_parser = position::parse)]
    until: Option<Point>,
    /// Export the bytes of raw evidence: all output of commands, secrets included.
    #[arg(long)]
    include_evidence: bool,
    #[command(flatten)]
    archives: ArchiveArgs,
}

impl Args {
    /// Returns whether no log is read.
    pub(crate) fn needs_no_log(&self) -> bool {
        self.format == Format::Verifier
    }

    fn since(&self) -> Option<Until> {
        self.since.map(begin)
    }

    fn until(&self) -> Option<Until> {
        self.until.map(end)
    }

    /// The file to make; `None` where stdout is meant.
    fn file(&self) -> Option<&Path> {
        self.out.as_deref().filter(|out| *out != Path::new("-"))
    }
}

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// JSON Lines.
    Jsonl,
    /// CSV.
    Csv,
    /// A SQLite database.
    Sqlite,
    /// A page of a run or a range.
    Html,
    /// A recording of one run for asciinema, version 2.
    Asciicast,
    /// `verify.py`, which checks such a page or a log.
    Verifier,
}

/// What `--json` says of a file that was made.
#[derive(Serialize)]
struct Summary<'a> {
    format: Format,
    out: String,
    records: u64,
    unreadable: u64,
    includes_evidence: bool,
    verdict: Verdict,
    first_finding: Option<&'a holdpoint_replay::Finding>,
    reach: &'a Reach,
}

/// Exports. Exit 6 when the log does not verify, 3 when there is no log.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    settle(global, export(global, &args))
}

fn export(global: &Global, args: &Args) -> Result<Exit, Failure> {
    match args.format {
        Format::Html => return report::export(global, args),
        Format::Verifier => return report::write_verifier(global, args),
        _ => {}
    }
    if let Some(run) = asciicast::wanted(args)? {
        return asciicast::export(global, args, run);
    }
    let directory = Directory::open_with_archives(global, &args.archives)?;
    expect_places_in_order(("--since", args.since()), ("--until", args.until()))?;
    check(global, args)?;
    if args.include_evidence {
        complain(
            "the export holds raw evidence: whatever commands printed, secrets included; keep it \
             as you keep the log",
        );
    }
    match args.file() {
        Some(out) => {
            expect_no_journal(args)?;
            to_file(global, args, &directory, Target::new(out, args.force, Some(&directory))?)
        }
        None => to_stdout(global, args, &directory),
    }
}

/// What cannot be written to stdout.
fn check(global: &Global, args: &Args) -> Result<(), Failure> {
    let usage = |code: &'static str, message: &str| Err(Failure::new(Exit::USAGE, code, message));
    match args.format {
        _ if args.file().is_some() => Ok(()),
        Format::Sqlite => usage("out_missing", "a database is a file: name it with --output FILE"),
        Format::Csv if global.json => {
            usage("out_missing", "with --json stdout is JSON alone: name a file with --output FILE")
        }
        _ if io::stdout().is_terminal() => usage(
            "terminal",
            "an export is not shown on a terminal: name a file with --output FILE, or pipe it; \
             `holdpoint log` shows records",
        ),
        _ => Ok(()),
    }
}

/// What SQLite keeps beside a database is taken for that of whatever database has the name: what it
/// holds of an older one would be read into the new one.
fn expect_no_journal(args: &Args) -> Result<(), Failure> {
    let Some(out) = args.file().filter(|_| matches!(args.format, Format::Sqlite)) else {
        return Ok(());
    };
    for ending in JOURNALS {
        let mut journal = out.as_os_str().to_os_string();
        journal.push(ending);
        let journal = PathBuf::from(journal);
        let found = journal.symlink_metadata();
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            continue;
        }
        let message = format!(
            "{} is there, which SQLite would read into the database: close what has the database \
             open and remove it, or name another file with --output",
            path(&journal)
        );
        return Err(Failure::new(Exit::CONFLICT, "journal_left", message));
    }
    Ok(())
}

fn to_stdout(global: &Global, args: &Args, directory: &Directory) -> Result<Exit, Failure> {
    let mut bar = Bar::new();
    let exported = directory.read(|storage, reading| {
        let out = BufWriter::new(streams::stdout());
        let mut update = |progress| bar.update(progress);
        unless_read(stream(args, storage, reading, &mut update, out))
    })?;
    drop(bar);
    match exported {
        // Whoever closed the pipe has seen enough.
        Err(ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Exit::DONE)
        }
        exported => {
            let exported = exported.map_err(|error| failure(args, &error))?;
            directory.expect_log(&exported.report)?;
            tell_reach(global, &exported);
            ended(args, directory, &exported)
        }
    }
}

fn to_file(
    global: &Global,
    args: &Args,
    directory: &Directory,
    target: Target,
) -> Result<Exit, Failure> {
    let mut bar = Bar::new();
    let exported = directory.read(|storage, reading| {
        let mut update = |progress| {
            target.heed_signals();
            bar.update(progress);
        };
        unless_read(match args.format {
            Format::Sqlite => tables(args, storage, reading, &mut update, &target),
            _ => stream(args, storage, reading, &mut update, BufWriter::new(target.file())),
        })
    })?;
    drop(bar);
    let exported = exported.map_err(|error| failure(args, &error))?;
    directory.expect_log(&exported.report)?;
    expect_no_journal(args)?;
    let out = target.finish()?;
    show(global, args, &exported, &out)?;
    if !global.json {
        say_reach(&exported);
    }
    ended(args, directory, &exported)
}

fn stream(
    args: &Args,
    storage: &ArchivedLog,
    reading: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    out: impl Write,
) -> Result<Exported, ExportError> {
    match args.format {
        Format::Csv => export_csv(storage, options(args), reading, progress, out),
        _ => export_json_lines(storage, options(args), reading, progress, out),
    }
}

#[cfg(feature = "sqlite")]
fn tables(
    args: &Args,
    storage: &ArchivedLog,
    reading: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    target: &Target,
) -> Result<Exported, ExportError> {
    holdpoint_export::export_sqlite(storage, options(args), reading, progress, target.path())
}

#[cfg(not(feature = "sqlite"))]
fn tables(
    _args: &Args,
    _storage: &ArchivedLog,
    _reading: ReadOptions<'_>,
    _progress: &mut dyn FnMut(Progress),
    _target: &Target,
) -> Result<Exported, ExportError> {
    let message = "this holdpoint was built without SQLite; use --format jsonl or csv";
    Err(ExportError::Write(io::Error::new(io::ErrorKind::Unsupported, message)))
}

fn options(args: &Args) -> Options {
    let until = args.until().unwrap_or(Until::End);
    let selection = Selection { since: args.since(), until };
    Options::new(selection).include_evidence(args.include_evidence)
}

/// What the reading itself ended with, apart from what became of the export.
fn unless_read(
    exported: Result<Exported, ExportError>,
) -> Result<Result<Exported, ExportError>, ReadError> {
    match exported {
        Err(ExportError::Read(error)) => Err(error),
        exported => Ok(exported),
    }
}

fn show(global: &Global, args: &Args, exported: &Exported, path: &str) -> Result<(), Failure> {
    let mut out = Output::stdout();
    if global.json {
        out.json(&Summary {
            format: args.format,
            out: path.to_string(),
            records: exported.records,
            unreadable: exported.unreadable,
            includes_evidence: args.include_evidence,
            verdict: exported.report.verdict,
            first_finding: leading(&exported.report.findings),
            reach: &exported.report.reach,
        });
    } else {
        out.line(format_args!("{path}: {}", counted(exported.records, "record")));
    }
    out.finish()
}

/// Says how far a stream is proven: its form has no place for it.
fn tell_reach(global: &Global, exported: &Exported) {
    match global.json {
        true => coverage::state(&exported.report.reach),
        false => say_reach(exported),
    }
}

/// Says where what was exported ceases to be proven.
fn say_reach(exported: &Exported) {
    coverage::say(&exported.report.reach, exported.span.map_or(0, |(_, last)| last));
}

fn ended(args: &Args, directory: &Directory, exported: &Exported) -> Result<Exit, Failure> {
    directory.expect_log(&exported.report)?;
    if exported.records == 0 && !exported.report.failed() {
        complain("no record is exported: no whole batch lies within");
    }
    if exported.unreadable > 0 {
        complain(&format!(
            "{} that this program cannot read: a newer holdpoint may",
            counted(exported.unreadable, "payload")
        ));
    }
    warn(&exported.report);
    let record = |bound: Option<Until>| match bound {
        Some(Until::Sequence(sequence)) => Some(sequence),
        _ => None,
    };
    match exit_of(&exported.report) {
        Exit::DONE => Ok(expect_archives(directory, record(args.since()), record(args.until()))),
        failed => Ok(failed),
    }
}

fn failure(args: &Args, error: &ExportError) -> Failure {
    match error {
        ExportError::Form { .. } => Failure::new(Exit::FAILED, "no_form", error),
        ExportError::Write(cause) if cause.kind() == io::ErrorKind::Unsupported => {
            Failure::new(Exit::FAILED, "output", error)
        }
        _ => {
            let to = args.file().map_or_else(|| "stdout".to_string(), path);
            let advice = "see that there is room, or name a file elsewhere with --output";
            Failure::new(Exit::FAILED, "output", format!("{to}: {error}; {advice}"))
        }
    }
}
