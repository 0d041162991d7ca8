//! The log and its lock.

use super::check::Check;
use crate::arguments::Global;
use crate::directory::Directory;
use crate::exit::Failure;
use crate::text::path;
use holdpoint_log_files::{Extent, ReadFile, ReadStorage, Survey, SurveyOptions, survey};
use holdpoint_log_format::{Lock, OwnerState, names};
use holdpoint_replay::machine::{is_locked, this_boot};
use holdpoint_replay::{Report, Verdict};

/// The log.
const LOG: &str = "log";
/// Its lock.
const LOCK: &str = "lock";
/// The most of LOCK that is read, in bytes; it is shorter.
const LOCK_BYTES_MAX: usize = 4096;

const VERIFY: &str = "`holdpoint verify` tells all; `holdpoint salvage` copies what verifies";

/// What was found, and whether the log verifies as far as it was read. A log that is not there
/// does.
pub(super) fn check(global: &Global, full: bool) -> (Vec<Check>, bool) {
    let directory = match Directory::open(global) {
        Ok(directory) => directory,
        Err(failure) => return (vec![Check::fail(LOG, failure.message(), "name another")], true),
    };
    let read = if full { verified(&directory) } else { surveyed(&directory) };
    match read {
        Ok((of_log, verifies)) => (vec![of_log, lock(&directory)], verifies),
        Err(failure) => {
            let advice = "check that this user may read the directory, and this program its format";
            (vec![Check::fail(LOG, failure.message(), advice)], true)
        }
    }
}

/// Every record.
fn verified(directory: &Directory) -> Result<(Check, bool), Failure> {
    let report = directory
        .read(|storage, options| holdpoint_replay::verify(storage, options, &mut |_| {}))?;
    let shown = path(&directory.path);
    Ok(match report.verdict {
        Verdict::NothingHere => (nothing_here(directory, &report), true),
        _ if report.failed() => {
            let first = report.findings.first().map(|finding| format!(": {finding}"));
            let found = format!("{shown} is {}{}", report.verdict, first.unwrap_or_default());
            (Check::fail(LOG, found, VERIFY), false)
        }
        verdict => {
            (Check::ok(LOG, format!("{shown}: {} records, {verdict}", report.records)), true)
        }
    })
}

fn nothing_here(directory: &Directory, report: &Report) -> Check {
    let message = directory.nothing_here(report);
    if report.foreign || report.is_archive {
        return Check::fail(LOG, message, "name a log's directory with --log DIR or HOLDPOINT_LOG");
    }
    Check::warn(LOG, message, "the first hook or verb that writes makes it")
}

/// What opening reads: headers, seals, and the records behind HEAD.
fn surveyed(directory: &Directory) -> Result<(Check, bool), Failure> {
    let options = SurveyOptions {
        extent: Extent::FromHead,
        boot: this_boot(),
        is_being_written: is_locked(&directory.storage),
    };
    let found = survey(&directory.storage, options, &mut |_, _| {});
    match found {
        Ok(found) if found.segments.is_empty() && found.findings.is_empty() => verified(directory),
        Ok(found) => Ok(of_survey(directory, &found)),
        Err(_) => verified(directory),
    }
}

fn of_survey(directory: &Directory, found: &Survey) -> (Check, bool) {
    let shown = path(&directory.path);
    match found.findings.first() {
        Some(first) => (Check::fail(LOG, format!("{shown} is damaged: {first}"), VERIFY), false),
        None => {
            let newest = found.last.as_ref().map_or(0, |last| last.run.chain.sequence);
            let message = format!(
                "{shown}: opens well, newest record {newest} (`holdpoint doctor --full` reads all)"
            );
            (Check::ok(LOG, message), true)
        }
    }
}

fn lock(directory: &Directory) -> Check {
    let Some(lock) = read_lock(directory) else {
        return Check::ok(LOCK, "nobody has written yet, or LOCK cannot be read");
    };
    let (pid, is_held) = (lock.pid, is_locked(&directory.storage));
    match (is_held, lock.state) {
        (true, _) => {
            let message = format!("process {pid} holds it now");
            let advice = "hooks wait 2s for it and then deny; a process that keeps it should end";
            Check::warn(LOCK, message, advice)
        }
        (false, OwnerState::Poisoned) => {
            let message = format!("process {pid} left it after a failed write");
            Check::warn(LOCK, message, "the next writer mends it; look at the disk")
        }
        (false, _) => Check::ok(LOCK, "nobody holds it"),
    }
}

fn read_lock(directory: &Directory) -> Option<Lock> {
    let file = directory.storage.open(names::LOCK).ok()??;
    let mut bytes = vec![0; LOCK_BYTES_MAX];
    let length = file.read_at(0, &mut bytes).ok()?;
    Lock::decode(bytes.get(..length)?).ok()
}
