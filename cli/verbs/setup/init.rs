//! `holdpoint init`: makes a log. Verbs that only read, and hooks, never do.

use crate::args::{Global, LockWaitArgs, settle};
use crate::log::open::failed;
use crate::log::{Directory, VERIFY_TELLS};
use crate::questions::open::open_or_make;
use crate::ui::program::HERE;
use crate::ui::{Exit, Failure, Output, path};
use holdpoint_domain::core::text::visible;
use holdpoint_log_files::{Extent, READINGS_MAX, ReadStorage, Survey, SurveyOptions, survey};
use holdpoint_log_format::BootId;
use holdpoint_log_format::recovery::{Row, Verdict};
use holdpoint_replay::ReadError;
use serde_json::json;
use std::path::{PathBuf, absolute};

/// Options of `init`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory of the log; takes precedence over `--log` and `HOLDPOINT_LOG` [default:
    /// `.holdpoint` in this directory].
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// Makes the log. Exit 0 also where there is one, which is left as it is; 6 where that does not
/// verify, 1 where the directory holds other files.
pub(crate) fn main(global: Global, named: Option<PathBuf>, args: &Args) -> Exit {
    let log = args.directory.clone().or(named).unwrap_or_else(|| PathBuf::from(HERE));
    let global = Global { log, ..global };
    settle(&global, init(&global, &args.turn))
}

fn init(global: &Global, turn: &LockWaitArgs) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let found = look(&directory)?;
    let is_there = found.row.verdict() != Verdict::NothingHere;
    if is_there {
        expect_usable(&directory, &found)?;
    } else {
        let engine = open_or_make(global, turn, true)?;
        engine.close().map_err(|error| failed(global, error))?;
    }
    let mut out = Output::stdout();
    let shown = path(&directory.path);
    if global.json {
        let whole = absolute(&directory.path).unwrap_or(directory.path);
        out.json(&json!({ "log": whole.to_string_lossy(), "made": !is_there }));
    } else if is_there {
        out.line(format_args!("{shown} is a log already, and is left as it is"));
    } else {
        out.line(format_args!("{shown} is a new log"));
    }
    out.finish()?;
    Ok(Exit::DONE)
}

/// What is there, as far as the newest records tell. A writer may begin and end while this looks:
/// what is wrong stays wrong at the next look.
fn look(directory: &Directory) -> Result<Survey, Failure> {
    directory.read(|storage, options| {
        let mut before = Vec::new();
        for _ in 1..READINGS_MAX {
            let is_being_written = options.is_being_written()?;
            let found = look_at(storage, options.boot, is_being_written)?;
            let has_failed = found.row.verdict().has_failed() && !is_being_written;
            if !has_failed || before == found.findings {
                return Ok(found);
            }
            before = found.findings;
        }
        look_at(storage, options.boot, true)
    })
}

fn look_at<S: ReadStorage>(
    storage: &S,
    boot: BootId,
    is_being_written: bool,
) -> Result<Survey, ReadError> {
    let options = SurveyOptions::new(Extent::FromHead, boot).being_written(is_being_written);
    Ok(survey(storage, options, &mut |_, _| {})?)
}

/// That somebody can go on with the log that is there.
fn expect_usable(directory: &Directory, found: &Survey) -> Result<(), Failure> {
    let shown = path(&directory.path);
    if found.is_archive {
        let message = format!("{shown} is an archive, which is read-only: name another directory");
        return Err(Failure::new(Exit::FAILED, "archive", message));
    }
    let finding = found.findings.first().filter(|_| found.row.verdict().has_failed());
    finding.map_or(Ok(()), |finding| {
        let said = finding.to_string();
        let is = match found.row {
            Row::ShortOfHead => "short of HEAD",
            _ => "a damaged log",
        };
        let message = format!("{shown} is {is}: {}; {VERIFY_TELLS}", visible(&said));
        Err(Failure::new(Exit::VERIFICATION_FAILED, "damaged", message))
    })
}
