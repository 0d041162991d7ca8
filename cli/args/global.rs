//! The options of every verb, and its end.

use crate::ui::{Exit, Failure, Output};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The effect of `--read-only` on this process.
static READ_ONLY: AtomicBool = AtomicBool::new(false);

/// Options of every verb, and the log that is meant.
#[derive(Debug)]
pub(crate) struct Global {
    /// The log's directory.
    pub(crate) log: PathBuf,
    /// Configuration file [default: `holdpoint.toml` in the working directory, if it exists].
    pub(crate) config: Option<PathBuf>,
    /// Write JSON to stdout, and everything else to stderr.
    pub(crate) json: bool,
    /// The verb promises an array: a failure leaves stdout empty.
    pub(crate) lists: bool,
}

/// Has this process write to no log.
pub(crate) fn forbid_writing() {
    READ_ONLY.store(true, Ordering::Relaxed);
}

/// Refuses to write to a log under `--read-only`.
pub(crate) fn expect_writable() -> Result<(), Failure> {
    if READ_ONLY.load(Ordering::Relaxed) {
        let message = "this writes to a log, and --read-only forbids that";
        return Err(Failure::new(Exit::REFUSED, "read_only", message.to_string()));
    }
    Ok(())
}

/// The exit code of a verb's outcome; a failure is reported.
pub(crate) fn settle(global: &Global, outcome: Result<Exit, Failure>) -> Exit {
    outcome.unwrap_or_else(|failure| report(global, &failure))
}

/// Says so on stderr, and with `--json` as the one value on stdout; where that promises an array,
/// as one line behind the sentence.
fn report(global: &Global, failure: &Failure) -> Exit {
    if global.json && global.lists {
        return failure.tell_line();
    }
    if global.json {
        let mut out = Output::stdout();
        out.json(&failure.value());
        // The exit code already says that something failed.
        let _ = out.finish();
    }
    failure.tell()
}
