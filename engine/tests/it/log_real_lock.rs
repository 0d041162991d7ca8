//! Locks as processes really hold them: children that inherit one, owners that are killed, and the
//! file LOCK removed behind everybody's back.

use crate::writers::skip;
use holdpoint_engine::log::{AppendError, Level, OpenError, Options};
use holdpoint_log_format::recovery::Row;
use holdpoint_log_format::{Lock, OwnerState};
use holdpoint_testing::log::process::{self, Other};
use holdpoint_testing::log::{
    append, append_each, exclusive, open, open_reporting, quiet, record, records_of, survey_whole,
    try_open,
};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Waits for nobody.
fn impatient() -> Options {
    quiet().lock_wait(Duration::ZERO)
}

fn lock_of(directory: &Path) -> Lock {
    Lock::decode(&std::fs::read(directory.join("LOCK")).unwrap()).unwrap()
}

// ---- Children ----------------------------------------------------------------------------------

const LOCKED: [&str; 2] = ["LOCK", "segments/00000000000000000001.seg"];

/// The descriptor under which this or another process has a file of the log open.
fn descriptor_of(process: u32, directory: &Path, file: &str) -> i32 {
    let path = directory.canonicalize().unwrap().join(file);
    let listed = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let mut open = listed.map(|entry| entry.unwrap().path());
    let found = open.find(|entry| std::fs::read_link(entry).is_ok_and(|to| to == path));
    found.unwrap().file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// The lock of a file as a forked child has it: one more descriptor of the same open file.
fn inherited_lock(process: u32, directory: &Path, file: &str) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    let process_file = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let descriptor = descriptor_of(process, directory, file);
    pidfd_getfd(process_file, descriptor, PidfdGetfdFlags::empty()).ok()
}

/// A process that has this as its input, and lives until it is killed. It has become another
/// program when this returns: a descriptor that closes there is closed some time after `spawn`
/// returned, for the kernel lets a parent go on before that.
fn child_with(input: impl Into<Stdio>) -> Child {
    let mut child = Command::new("sh");
    child.args(["-c", "echo here; exec sleep 600"]).stdin(input).stdout(Stdio::piped());
    let mut child = child.stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "here\n");
    child
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn job_of_another_process() {
    let Some(job) = process::job() else { return };
    match job.name.as_str() {
        "own until killed" => {
            let log = open(&job.directory, exclusive());
            process::say(append(&log, 1, 100));
            process::wait_for_release();
        }
        "own with a command until killed" => {
            let log = open(&job.directory, exclusive());
            process::say(append(&log, 1, 100));
            let child = child_with(Stdio::null());
            process::say(u64::from(child.id()));
            process::wait_for_release();
            end(child);
        }
        "append in turns" => {
            let log = open(&job.directory, quiet());
            process::say(append(&log, 1, 100));
            process::wait_for_release();
            process::say(append(&log, 2, 100));
        }
        other => panic!("{other:?} is no job"),
    }
}

#[test]
fn a_child_that_inherited_a_lock_does_not_keep_it_when_the_owner_leaves() {
    for file in LOCKED {
        let directory = tempfile::tempdir().unwrap();
        let log = open(directory.path(), exclusive());
        append(&log, 1, 100);
        let Some(lock) = inherited_lock(std::process::id(), directory.path(), file) else {
            return skip("an inherited lock: descriptors cannot be taken over here");
        };
        let child = child_with(lock);
        assert!(matches!(try_open(directory.path(), impatient()), Err(OpenError::Locked { .. })));
        log.close().unwrap();
        let log = open(directory.path(), impatient());
        assert_eq!(append(&log, 2, 100), 2);
        end(child);
    }
}

/// Nobody but the owner gives the lock back: where it was killed, a child that was forked and
/// became no other program keeps it, and is waited for like any owner. The log is as it was left.
#[test]
fn crash_a_forked_child_keeps_the_lock_of_an_owner_who_was_killed_and_changes_nothing() {
    for file in LOCKED {
        let directory = tempfile::tempdir().unwrap();
        let mut owner = Other::start(module_path!(), "own until killed", directory.path(), 0);
        assert_eq!(owner.heard(), Some(1));
        let Some(lock) = inherited_lock(owner.id(), directory.path(), file) else {
            return skip("an inherited lock: descriptors cannot be taken over here");
        };
        let child = child_with(lock);
        owner.kill();
        let refused = try_open(directory.path(), impatient()).map(drop);
        assert!(matches!(refused, Err(OpenError::Locked { .. })), "{refused:?}");
        end(child);
        let (log, report) = open_reporting(directory.path(), impatient());
        assert_eq!(report.position.sequence, 1);
        append(&log, 2, 100);
        log.close().unwrap();
        assert_eq!(survey_whole(directory.path()).row, Row::Clean);
    }
}

#[test]
fn crash_a_command_that_the_owner_started_does_not_keep_its_lock() {
    let directory = tempfile::tempdir().unwrap();
    let mut owner =
        Other::start(module_path!(), "own with a command until killed", directory.path(), 0);
    assert_eq!(owner.heard(), Some(1));
    let command = i32::try_from(owner.heard().unwrap()).unwrap();
    owner.kill();
    let log = open(directory.path(), impatient());
    assert_eq!(append(&log, 2, 100), 2);
    rustix::process::kill_process(Pid::from_raw(command).unwrap(), rustix::process::Signal::KILL)
        .unwrap();
}

// ---- LOCK removed ------------------------------------------------------------------------------

#[test]
fn crash_a_lock_removed_while_nobody_has_it_is_made_again_and_the_tail_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut owner = Other::start(module_path!(), "own until killed", directory.path(), 0);
    assert_eq!(owner.heard(), Some(1));
    owner.kill();
    std::fs::remove_file(directory.path().join("LOCK")).unwrap();
    let (log, report) = open_reporting(directory.path(), quiet());
    let recovered = report.recovered;
    assert_eq!((recovered.newest_sequence, recovered.cut_bytes), (1, 0));
    assert_eq!(recovered.rewritten_bytes, 64 + 104, "nothing is known of the last owner");
    append(&log, 2, 100);
    log.close().unwrap();
    assert_eq!(lock_of(directory.path()).state, OwnerState::Idle);
    assert_eq!(records_of(directory.path()).len(), 2);
}

#[test]
fn a_lock_removed_while_another_process_is_between_turns_keeps_both_in_turns() {
    let directory = tempfile::tempdir().unwrap();
    let mut other = Other::start(module_path!(), "append in turns", directory.path(), 0);
    assert_eq!(other.heard(), Some(1));
    std::fs::remove_file(directory.path().join("LOCK")).unwrap();
    let log = open(directory.path(), quiet());
    assert_eq!(append(&log, 3, 100), 2);
    assert_eq!(other.finish(), [3], "it takes the lock that has the name now");
    assert_eq!(append(&log, 4, 100), 4);
    log.close().unwrap();
    let tags: Vec<u64> = records_of(directory.path()).iter().map(|one| one.tag()).collect();
    assert_eq!(tags, [1, 3, 2, 4]);
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}

/// Removes LOCK, or puts another file in its place.
fn take_away(directory: &Path, is_replaced: bool) {
    std::fs::remove_file(directory.join("LOCK")).unwrap();
    if is_replaced {
        std::fs::write(directory.join("LOCK"), "").unwrap();
    }
}

/// Refused by the lock of the segment, whose holder is named: a fresh LOCK alone is not enough.
fn assert_kept_out(directory: &Path) {
    match try_open(directory, impatient()).map(drop) {
        Err(OpenError::Locked { pid, .. }) => assert_eq!(pid, std::process::id()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn crash_a_fresh_lock_alone_lets_nobody_write_beside_the_owner() {
    for (is_replaced, length) in [(false, 100), (true, 100), (false, 300), (true, 20)] {
        let directory = tempfile::tempdir().unwrap();
        let owner = open(directory.path(), exclusive());
        append(&owner, 1, 100);
        take_away(directory.path(), is_replaced);
        assert_kept_out(directory.path());
        owner.append(&[record(2, length)], 2, Level::Os).unwrap();
        assert_kept_out(directory.path());
        let refused = owner.append(&[record(3, length)], 3, Level::Always);
        let Err(AppendError::Failed(cause)) = refused else { panic!("{refused:?}") };
        let message = cause.to_string();
        assert!(message.contains("LOCK: it was removed or replaced"), "{message}");
        // Who has failed has given back what it held, and writes nothing more.
        let other = open(directory.path(), quiet());
        assert_eq!(append(&other, 10, 100), 4, "what the owner wrote is there");
        other.close().unwrap();
        assert!(owner.close().is_err());
        let tags: Vec<u64> = records_of(directory.path()).iter().map(|one| one.tag()).collect();
        assert_eq!(tags, [1, 2, 3, 10]);
        assert_eq!(survey_whole(directory.path()).row, Row::Clean);
    }
}

#[test]
fn crash_the_owner_of_a_log_that_rolled_keeps_others_out_of_the_new_segment() {
    let directory = tempfile::tempdir().unwrap();
    let owner = open(directory.path(), exclusive());
    append(&owner, 1, 50_000);
    append(&owner, 2, 50_000);
    take_away(directory.path(), false);
    assert_kept_out(directory.path());
    drop(owner);
    let other = open(directory.path(), quiet());
    assert_eq!(append(&other, 3, 100), 3);
    other.close().unwrap();
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}

/// A first batch too large for an empty segment replaces its file: the handle that has the old one
/// open goes on in the new one.
#[test]
fn a_segment_that_another_process_replaced_is_opened_anew() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (open(directory.path(), quiet()), open(directory.path(), quiet()));
    assert_eq!(append(&second, 1, 100_000), 1);
    assert_eq!(append(&first, 2, 100), 2);
    assert_eq!(append(&second, 3, 200_000), 3, "and where it rolled, in the next");
    assert_eq!(append(&first, 4, 100), 4);
    first.close().unwrap();
    second.close().unwrap();
    let tags: Vec<u64> = records_of(directory.path()).iter().map(|one| one.tag()).collect();
    assert_eq!(tags, [1, 2, 3, 4]);
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}

#[test]
fn crash_an_owner_whose_lock_was_removed_says_so_also_when_it_only_closes() {
    let directory = tempfile::tempdir().unwrap();
    let owner = open(directory.path(), exclusive());
    append(&owner, 1, 100);
    take_away(directory.path(), false);
    assert!(owner.close().is_err());
    let (log, report) = open_reporting(directory.path(), quiet());
    assert_eq!(report.position.sequence, 1);
    append(&log, 2, 100);
    log.close().unwrap();
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}

/// Copies the files of a log, as a backup does.
fn back_up(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
}

/// A handle that stood behind records of the old log must not write behind them in the new one.
#[test]
fn an_owner_whose_log_was_replaced_by_an_older_copy_writes_nothing_into_the_copy() {
    for (before, after) in [(3, 1), (0, 1), (3, 40)] {
        let place = tempfile::tempdir().unwrap();
        let (log_at, copy_at) = (place.path().join("log"), place.path().join("copy"));
        let owner = open(&log_at, quiet());
        append_each(&owner, 1..before + 1, 100);
        back_up(&log_at, &copy_at);
        append_each(&owner, 100..110, 100);
        std::fs::rename(&log_at, place.path().join("old")).unwrap();
        std::fs::rename(&copy_at, &log_at).unwrap();
        let other = open(&log_at, quiet());
        append_each(&other, 200..200 + after, 100);
        let refused = owner.append(&[record(300, 100)], 300, Level::Always);
        assert!(refused.is_err(), "{before} {after}: {refused:?}");
        assert_eq!(append(&other, 400, 100), before + after + 1);
        other.close().unwrap();
        drop(owner);
        assert_eq!(survey_whole(&log_at).row, Row::Clean, "{before} {after}");
        assert_eq!(records_of(&log_at).len() as u64, before + after + 1);
    }
}
