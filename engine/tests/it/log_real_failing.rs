//! A disk that fails under the real writers: system calls are made to fail from outside, and a
//! small file system really fills. The writers say what failed first and acknowledge nothing after
//! it; whoever opens next finds everything that was acknowledged, and goes on.

use crate::writers::trace::{self, Called};
use crate::writers::{ENDLESS, Ended, Load, Writers, assert_goes_on, say, skip};
use holdpoint_log_format::{Lock, OwnerState};
use holdpoint_testing::log::{append_each, memory_directory, open, quiet, records_of};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What happens to which calls of the writers.
#[derive(Clone, Copy, Debug)]
struct Injection {
    calls: &'static str,
    error: &'static str,
    /// As the system says it to people.
    said: &'static str,
    /// Whether the log was there before, so that opening it makes none of the calls.
    is_old: bool,
}

const fn failing(calls: &'static str, is_old: bool) -> Injection {
    Injection { calls, error: "EIO", said: "Input/output error", is_old }
}

const fn full(calls: &'static str, is_old: bool) -> Injection {
    Injection { calls, error: "ENOSPC", said: "No space left on device", is_old }
}

const RENAMES: &str = "?rename,?renameat,?renameat2";

/// What the writers got to, and what the tracer saw.
struct Outcome {
    ended: Ended,
    calls: Vec<Called>,
}

/// Runs the writers with the `number`th call of each thread failing.
fn run(place: &Path, load: Load, injection: &Injection, number: u32) -> Outcome {
    let (directory, file) = (place.join("log"), place.join("trace"));
    if injection.is_old {
        let log = open(&directory, quiet());
        append_each(&log, 0..3, 200);
        log.close().unwrap();
    }
    let Injection { calls, error, .. } = injection;
    let injected = [format!("{calls}:error={error}:when={number}")];
    let ended = trace::start(&directory, load, &file, &injected).finish();
    Outcome { ended, calls: trace::read(&file) }
}

/// The first call that was made to fail.
fn first_hit(calls: &[Called]) -> Option<&Called> {
    calls.iter().find(|call| call.result.ends_with("(INJECTED)"))
}

/// Runs the writers with one failure, and asserts everything that is promised about it. Gives
/// whether the failure met a call at all.
fn fail_once(load: Load, injection: &Injection, number: u32) -> bool {
    let what = format!("{injection:?}, number {number}, {load:?}");
    let place = memory_directory();
    let directory = place.path().join("log");
    let Outcome { ended, calls } = run(place.path(), load, injection, number);
    let is_hit = first_hit(&calls).is_some();
    let said = &ended.said;
    assert_eq!(ended.status.success(), said.is_empty(), "{what}: {said}");
    assert!(is_hit || said.is_empty(), "{what}: {said}");
    if !said.is_empty() {
        assert_eq!(ended.status.code(), Some(1), "{what}: {said}");
        let names_cause = said.contains(injection.said) || said.contains("no space for");
        assert!(names_cause, "{what}: {said}");
    }
    assert_goes_on(&directory, &ended.acknowledged, &what);
    let acknowledged = trace::assert_synced_before_acknowledged(&calls, &records_of(&directory));
    assert_eq!(acknowledged.len(), ended.acknowledged.len(), "{what}");
    is_hit
}

fn can_trace(what: &str) -> bool {
    let can = trace::is_possible();
    if !can {
        skip(&format!("{what}: there is no strace here, or it may not trace"));
    }
    can
}

// ---- Every call, once --------------------------------------------------------------------------

/// Fails every such call of each thread in turn, on a log that the writers make and on one that is
/// there, until none is met; how often one was. The load rolls twice.
fn fail_each(calls: &'static str, make: fn(&'static str, bool) -> Injection) -> u32 {
    let load = Load { threads: 1, records: 10, payload: 20_000 };
    let mut hits = 0;
    for is_old in [false, true] {
        let injection = make(calls, is_old);
        hits += (1..).take_while(|number| fail_once(load, &injection, *number)).count();
    }
    u32::try_from(hits).unwrap()
}

#[test]
fn crash_every_call_of_the_real_writers_that_fails_loses_nothing_acknowledged() {
    if !can_trace("failing calls of the real writers") {
        return;
    }
    let syncs = fail_each("fdatasync", failing);
    let directories = fail_each("fsync", failing);
    let renames = fail_each(RENAMES, failing);
    let writes = fail_each("pwrite64", failing);
    assert!(syncs > 20 && directories > 4 && renames > 4 && writes > 20);
    say(&format!(
        "failed with EIO: {syncs} fdatasync, {directories} fsync of a directory, {renames} rename, \
         {writes} pwrite"
    ));
}

#[test]
fn crash_a_disk_that_is_full_at_any_call_of_the_real_writers_loses_nothing_acknowledged() {
    if !can_trace("a disk that is full at any call") {
        return;
    }
    let writes = fail_each("pwrite64", full);
    let reservations = fail_each("fallocate", full);
    assert!(writes > 20 && reservations > 3);
    say(&format!("failed with ENOSPC: {writes} pwrite, {reservations} fallocate"));
}

#[test]
fn crash_calls_that_a_signal_interrupts_are_made_again_and_nothing_fails() {
    if !can_trace("interrupted calls") {
        return;
    }
    for calls in ["pwrite64", "fallocate", "fdatasync", "fsync"] {
        for threads in [1, 4] {
            let place = memory_directory();
            let (directory, file) = (place.path().join("log"), place.path().join("trace"));
            let load = Load { threads, records: 40, payload: 9_000 };
            let injected = [format!("{calls}:error=EINTR:when=1+2")];
            let ended = trace::start(&directory, load, &file, &injected).finish();
            assert!(ended.status.success(), "{calls}: {}", ended.said);
            assert_eq!(ended.acknowledged.len(), 40, "{calls}");
            let traced = trace::read(&file);
            assert!(first_hit(&traced).is_some(), "{calls}");
            trace::assert_synced_before_acknowledged(&traced, &records_of(&directory));
            assert_goes_on(&directory, &ended.acknowledged, calls);
        }
    }
}

// ---- One failed sync, then success -------------------------------------------------------------

#[test]
fn crash_after_one_real_failed_sync_nothing_is_acknowledged_and_the_tail_is_written_again() {
    if !can_trace("one failed sync of the real writers") {
        return;
    }
    for threads in [1, 2, 8] {
        for number in [1, 3, 7] {
            let place = memory_directory();
            let directory = place.path().join("log");
            // Calls are counted in each thread: eight of them write 384 records, which the first
            // segment has room for, before one has to sync for the seventh time.
            let load = Load { threads, records: ENDLESS, payload: 32 };
            let Outcome { ended, calls } =
                run(place.path(), load, &failing("fdatasync", true), number);
            let hit = first_hit(&calls).unwrap();
            assert!(hit.file().ends_with("segments/00000000000000000001.seg"), "{hit:?}");
            assert_eq!(ended.status.code(), Some(1));
            let cause = "cannot sync segments/00000000000000000001.seg: Input/output error";
            assert!(ended.said.contains(cause), "{}", ended.said);
            assert_nothing_follows(&calls, hit);
            let lock = Lock::decode(&std::fs::read(directory.join("LOCK")).unwrap()).unwrap();
            assert_eq!(lock.state, OwnerState::Poisoned);
            let recovered = assert_goes_on(&directory, &ended.acknowledged, "a failed sync");
            assert!(recovered.rewritten_bytes >= 64 + 32, "{recovered:?}");
            trace::assert_synced_before_acknowledged(&calls, &records_of(&directory));
        }
    }
}

/// The log's files are neither written nor synced any more; LOCK says why.
fn assert_nothing_follows(calls: &[Called], hit: &Called) {
    let is_of_log = |call: &&Called| {
        let file = call.file();
        file.extension().is_some_and(|ending| ["seg", "tmp"].iter().any(|one| ending == *one))
    };
    let later: Vec<&Called> =
        calls.iter().filter(is_of_log).filter(|call| call.began > hit.returned).collect();
    assert_eq!(later.len(), 0, "{later:?}");
}

// ---- A file system that is full ----------------------------------------------------------------

/// A file system in memory, unmounted when the test is over.
struct SmallDisk {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("disk");
        std::fs::create_dir(&path).unwrap();
        let mounted = Self::call(&format!("size={size}"), &path);
        mounted.then_some(Self { path, _directory: directory })
    }

    fn resize(&self, size: &str) {
        assert!(Self::call(&format!("remount,size={size}"), &self.path));
    }

    fn call(options: &str, path: &Path) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path);
        mount.output().is_ok_and(|output| output.status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).output();
    }
}

#[test]
fn crash_a_file_system_that_really_fills_ends_the_writers_and_loses_nothing() {
    let Some(disk) = SmallDisk::mount("1m") else {
        return skip("a full file system: none can be mounted here");
    };
    let directory = disk.path.join("log");
    let load = Load { threads: 4, records: ENDLESS, payload: 256 };
    let mut acknowledged = Vec::new();
    for (size, needed) in [("1m", 1_048_576), ("2m", 2_097_152), ("4m", 4_194_304)] {
        disk.resize(size);
        let before = acknowledged.len();
        for _ in 0..2 {
            let ended = Writers::start(&directory, load).finish();
            assert_eq!(ended.status.code(), Some(1), "{}", ended.said);
            let said = format!("no space for a new segment of {needed} bytes");
            assert!(ended.said.contains(&said), "{}", ended.said);
            acknowledged.extend(ended.acknowledged);
            let newest = acknowledged.iter().max().copied().unwrap();
            assert_eq!(records_of(&directory).len() as u64, newest);
        }
        assert!(acknowledged.len() > before, "it goes on when there is space");
    }
    disk.resize("32m");
    assert_goes_on(&directory, &acknowledged, "space again");
}
