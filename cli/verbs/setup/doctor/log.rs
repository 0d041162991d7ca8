//! The log and its lock.

use super::check::Check;
use crate::args::Global;
use crate::log::Directory;
use crate::log::verdict::{SHORT_OF_HEAD_ADVICE, exit_of, said_of};
use crate::questions::adoption::{ground_of, said_of_ground};
use crate::ui::text::bytes;
use crate::ui::{Exit, Failure, path};
use holdpoint_engine::shell::left_beside;
use holdpoint_log_files::{ReadFile, ReadStorage};
use holdpoint_log_format::{Lock, OwnerState, names};
use holdpoint_replay::machine::is_locked;
use holdpoint_replay::{Report, Verdict, leading};
use std::path::PathBuf;

/// The log.
const LOG: &str = "log";
/// Its lock.
const LOCK: &str = "lock";
/// True if it answers here.
const ADOPTION: &str = "adoption";
/// What stands beside it and is no log that anybody uses.
const LEFT: &str = "left over";
/// So many of these are named.
const LEFT_MAX: usize = 20;
/// The disk that it is on.
const SPACE: &str = "space";
/// The least that the disk should have left, in bytes (16 MiB).
const FREE_BYTES_MIN: u64 = 16 << 20;
/// What a run needs for its end before it starts, in bytes (192 KiB).
const RUN_BYTES: u64 = 192 << 10;
/// The most of LOCK that is read, in bytes; it is shorter.
const LOCK_BYTES_MAX: usize = 4096;

const VERIFY: &str =
    "`holdpoint verify` tells all; `holdpoint copy --salvage` copies what verifies";

/// What was found, and the exit code that the log alone asks for. Every record is read, as every
/// hook does when it opens the log: what it would refuse is told here.
pub(super) fn check(global: &Global) -> (Vec<Check>, Exit) {
    let directory = match Directory::open(global) {
        Ok(directory) => directory,
        Err(failure) => {
            return (vec![Check::fail(LOG, failure.message(), "name another")], Exit::FAILED);
        }
    };
    let (of_log, exit) = verified(&directory).unwrap_or_else(|failure| {
        let advice = "check that this user may read the directory, and this program its format";
        (Check::fail(LOG, failure.message(), advice), Exit::FAILED)
    });
    if exit == Exit::NOT_FOUND {
        // Without a log nothing is known of its lock, its runs and who writes it.
        return (vec![of_log], exit);
    }
    let mut checks = vec![of_log, super::writing::check(&directory), lock(&directory)];
    checks.push(super::clock_step::check(&directory));
    checks.extend(space(directory.storage.free_bytes().ok()));
    checks.extend(super::runs::check(&directory));
    checks.extend(super::access::check(&directory));
    checks.extend(left(&directory));
    checks.push(adoption(global, &directory));
    (checks, exit)
}

/// Every record.
fn verified(directory: &Directory) -> Result<(Check, Exit), Failure> {
    let report = directory.verified()?;
    let shown = path(&directory.path);
    Ok(match report.verdict {
        Verdict::NothingHere => (nothing_here(directory, &report), exit_of(&report)),
        _ if report.failed() => {
            let first = leading(&report.findings).map(|finding| format!(": {finding}"));
            let found = format!("{shown} {}{}", said_of(report.verdict), first.unwrap_or_default());
            let advice = match report.verdict {
                Verdict::ShortOfHead => SHORT_OF_HEAD_ADVICE,
                _ => VERIFY,
            };
            (Check::fail(LOG, found, advice), exit_of(&report))
        }
        verdict => {
            let found = format!("{shown}: {} records, {verdict}", report.records);
            match report.not_judged_from {
                Some(first) => {
                    let found = format!("{found}, not judged from record {first}");
                    let advice = "use the newer holdpoint that wrote it";
                    (Check::fail(LOG, found, advice), Exit::VERIFICATION_FAILED)
                }
                None => (Check::ok(LOG, found), exit_of(&report)),
            }
        }
    })
}

fn nothing_here(directory: &Directory, report: &Report) -> Check {
    let message = directory.nothing_here(report);
    if report.foreign || report.is_archive {
        return Check::fail(LOG, message, "name a log's directory with --log DIR or HOLDPOINT_LOG");
    }
    Check::fail(LOG, message, "hooks create no log; without one they deny every call")
}

/// Checks for files that a killed `continue` left beside the log.
fn left(directory: &Directory) -> Vec<Check> {
    let log = path(&directory.path);
    let left = match left_beside(&directory.path) {
        Ok(left) => left,
        Err(error) => {
            let advice = "check that this user may list the directory around the log";
            return vec![Check::warn(LEFT, error.to_string(), advice)];
        }
    };
    let one = |left: &PathBuf| {
        let message = format!("{} was left by a `continue` that was killed", path(left));
        let advice = format!(
            "`holdpoint continue {log}` removes it, or gives it its name where it is the log \
             that was here before"
        );
        Check::warn(LEFT, message, &advice)
    };
    left.iter().take(LEFT_MAX).map(one).collect()
}

/// Where the log answers nobody here, hooks deny every call.
fn adoption(global: &Global, directory: &Directory) -> Check {
    let shown = path(&directory.path);
    match ground_of(global) {
        Ok(Some(ground)) => Check::ok(ADOPTION, format!("{shown} {}", said_of_ground(ground))),
        Ok(None) => Check::warn(ADOPTION, format!("{shown} has no identity"), VERIFY),
        Err(failure) => {
            let advice = "nothing that is approved in it counts here before that is done";
            Check::warn(ADOPTION, failure.message(), advice)
        }
    }
}

/// A hook that cannot write denies every call. Small records may still find room where nothing else
/// does: an answer is then on record, and HEAD does not follow.
fn space(free: Option<u64>) -> Option<Check> {
    let free = free.filter(|free| *free < FREE_BYTES_MIN)?;
    let message = format!("the log's disk has only {} left for this user", bytes(free));
    if free >= RUN_BYTES {
        let advice = "make room: once it is full no run starts, and hooks deny every call";
        return Some(Check::warn(SPACE, message, advice));
    }
    let advice = "make room: no run starts, a hook that cannot write denies, and what is still \
                  recorded, as an answer, stands without HEAD to witness it";
    Some(Check::fail(SPACE, message, advice))
}

fn lock(directory: &Directory) -> Check {
    let lock = match read_lock(directory) {
        Ok(Some(lock)) => lock,
        Ok(None) => return Check::ok(LOCK, "no owner is named: the next writer writes LOCK"),
        Err(reason) => return unreadable_lock(&reason),
    };
    let pid = lock.pid;
    let is_held = match is_locked(&directory.storage) {
        Ok(is_held) => is_held,
        Err(error) => return unreadable_lock(&format!("cannot be read: {error}")),
    };
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
        (false, _) => Check::ok(LOCK, "free"),
    }
}

fn unreadable_lock(reason: &str) -> Check {
    let advice = "check that this user may read and write LOCK in the log's directory";
    Check::fail(LOCK, format!("LOCK {reason}"), advice)
}

/// Who wrote last; `None` where LOCK is missing or empty, and otherwise why that cannot be told.
fn read_lock(directory: &Directory) -> Result<Option<Lock>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let Some(file) = directory.storage.open(names::LOCK).map_err(unreadable)? else {
        return Ok(None);
    };
    let mut bytes = vec![0; LOCK_BYTES_MAX];
    let length = file.read_at(0, &mut bytes).map_err(unreadable)?;
    match bytes.get(..length).unwrap_or_default() {
        [] => Ok(None),
        written => {
            Lock::decode(written).map(Some).map_err(|error| format!("names no owner: {error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::setup::doctor::check::State;

    #[test]
    fn a_disk_without_room_is_told() {
        for (free, state) in [
            (Some(0), Some(State::Fail)),
            (Some(RUN_BYTES - 1), Some(State::Fail)),
            (Some(RUN_BYTES), Some(State::Warn)),
            (Some(FREE_BYTES_MIN - 1), Some(State::Warn)),
            (Some(FREE_BYTES_MIN), None),
            (None, None),
        ] {
            assert_eq!(space(free).map(|check| check.state), state, "{free:?}");
        }
    }
}
