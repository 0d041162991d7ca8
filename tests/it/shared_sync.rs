//! Many processes write to one log and share its syncs: nobody loses to the lock, and whoever is
//! killed or writes garbage into LOCK costs the others order and time, and no record.

use crate::program::{Place, status, text};
use holdpoint_log_format::board::{SYNCED_AT, SyncState, Synced};
use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A long-lived `apply`: a line, its receipt, the next line.
struct Writer {
    child: Child,
    receipts: BufReader<ChildStdout>,
}

impl Writer {
    fn start(place: &Place) -> Self {
        let mut command = place.command(&["apply"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let receipts = BufReader::new(child.stdout.take().unwrap());
        Self { child, receipts }
    }

    /// The record of a line, once its receipt is here; `None` where the writer is gone.
    fn record(&mut self) -> Option<u64> {
        let line = br#"{"submit":{"command":"application.record","stream":"s","type":"t"}}"#;
        let lines = self.child.stdin.as_mut().unwrap();
        lines.write_all(line).and_then(|()| lines.write_all(b"\n")).ok()?;
        let mut answer = String::new();
        self.receipts.read_line(&mut answer).ok()?;
        let answer: serde_json::Value = serde_json::from_str(&answer).ok()?;
        assert!(answer["receipt"].is_object(), "{answer}");
        answer["receipt"]["last_sequence"].as_u64()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// The sequences of the events that a log holds.
fn recorded(place: &Place) -> Vec<u64> {
    let shown = place.holdpoint(&["log", "--json", "kind=application.recorded"]);
    assert_eq!(status(&shown), 0, "{}", text(&shown.stderr));
    let lines = text(&shown.stdout).lines().map(str::to_string).collect::<Vec<_>>();
    let sequence = |line: &String| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["sequence"].as_u64().unwrap()
    };
    lines.iter().map(sequence).collect()
}

#[test]
fn twenty_four_runs_at_once_all_begin_and_end_and_none_loses_to_the_lock() {
    let place = Place::with_log();
    let runs: Vec<Child> = (0..24)
        .map(|_| {
            let mut run = place.command(&["run", "--", "true"]);
            run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for run in runs {
        let ended = run.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", text(&ended.stderr));
    }
    assert_eq!(place.loops().len(), 24);
    assert_eq!(place.verified()["verdict"], "intact");
}

#[test]
fn writers_killed_while_they_share_a_sync_lose_no_receipt_of_anybody() {
    let place = Place::with_log();
    let mut kept = Vec::new();
    for round in 0..4 {
        let began = Instant::now();
        let mut writers: Vec<Writer> = (0..6).map(|_| Writer::start(&place)).collect();
        let receipts: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let threads: Vec<_> = writers
                .iter_mut()
                .enumerate()
                .map(|(number, writer)| {
                    let process = writer.child.id();
                    scope.spawn(move || {
                        let mut receipts = Vec::new();
                        while receipts.len() < 12 {
                            let Some(sequence) = writer.record() else {
                                assert!(number < 2, "only who was killed is gone");
                                break;
                            };
                            receipts.push(sequence);
                            if number < 2 && receipts.len() == 3 + round + 2 * number {
                                // Whatever it does by then.
                                kill(process);
                            }
                        }
                        receipts
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(receipts.iter().skip(2).all(|receipts| receipts.len() == 12), "{receipts:?}");
        kept.extend(receipts.into_iter().flatten());
        for (number, mut writer) in writers.into_iter().enumerate() {
            if number < 2 {
                writer.child.wait().unwrap();
            } else {
                writer.end();
            }
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    }
    let there = recorded(&place);
    assert!(kept.iter().all(|sequence| there.contains(sequence)), "{kept:?} {there:?}");
    let verdict = place.verified();
    assert_eq!(verdict["verdict"], "intact", "{verdict:#}");
}

fn kill(process: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn garbage_and_the_tickets_of_the_dead_in_lock_cost_order_and_no_record() {
    let place = Place::with_log();
    let mut writer = Writer::start(&place);
    let first = writer.record().unwrap();
    let lock = File::options().write(true).open(place.log.join("LOCK")).unwrap();
    // Behind what its owner says: tickets, words and what shared syncs came to.
    let garbage: Vec<u8> =
        (0..4_096 - 64).map(|at: u32| (at.wrapping_mul(31) >> 2) as u8).collect();
    for from in [256, 128, 64] {
        lock.write_all_at(&garbage[from - 64..], from as u64).unwrap();
        let began = Instant::now();
        assert!(writer.record().unwrap() > first);
        assert_eq!(status(&place.holdpoint(&["record", "--stream", "s", "--type", "t"])), 0);
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
    // A log that is longer than any of ours is read no further.
    lock.set_len(1 << 40).unwrap();
    assert!(writer.record().unwrap() > first);
    writer.end();
    assert_eq!(fs::metadata(place.log.join("LOCK")).unwrap().len(), 4_096);
    assert_eq!(place.verified()["verdict"], "intact");
}

#[test]
fn sync_held_by_a_process_that_does_not_go_on_costs_others_time_and_no_record() {
    let place = Place::with_log();
    place.run(&["true"]);
    let before = recorded(&place).len();
    let sync = File::options().read(true).open(place.log.join("SYNC")).unwrap();
    assert!(!matches!(sync.try_lock(), Err(TryLockError::WouldBlock)));
    let words = ["record", "--stream", "s", "--type", "t"];
    let since = Instant::now();
    let beside = place.holdpoint(&words);
    assert_eq!(status(&beside), 0, "{}", text(&beside.stderr));
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    sync.unlock().unwrap();
    assert_eq!(status(&place.holdpoint(&words)), 0);
    assert_eq!(recorded(&place).len(), before + 2);
    assert_eq!(place.verified()["verdict"], "intact");
}

#[test]
fn something_else_in_the_place_of_sync_is_refused_by_whoever_writes_and_by_verify() {
    for is_link in [false, true] {
        let place = Place::with_log();
        let sync = place.log.join("SYNC");
        let _ = fs::remove_file(&sync);
        if is_link {
            std::os::unix::fs::symlink("/etc/passwd", &sync).unwrap();
        } else {
            fs::create_dir(&sync).unwrap();
        }
        let refused = place.holdpoint(&["record", "--stream", "s", "--type", "t"]);
        assert_eq!(status(&refused), 6, "{}", text(&refused.stderr));
        assert!(text(&refused.stderr).contains("SYNC"), "{}", text(&refused.stderr));
        let mut verify = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        let verified = verify.arg("--log").arg(&place.log).arg("verify").output().unwrap();
        assert_eq!(status(&verified), 6, "{}", text(&verified.stdout));
        assert!(text(&verified.stdout).contains("SYNC, byte 0"), "{}", text(&verified.stdout));
    }
}

/// LOCK and SYNC as they are while whoever holds SYNC is stopped: before it said that it syncs, or
/// in the middle of its sync.
fn stopped_holder(place: &Place, is_syncing: bool) -> File {
    let sync = File::options().read(true).write(true).open(place.log.join("SYNC")).unwrap();
    let begun = Instant::now();
    while let Err(TryLockError::WouldBlock) = sync.try_lock() {
        assert!(begun.elapsed() < Duration::from_secs(30), "SYNC is held on");
    }
    if is_syncing {
        let lock = File::options().read(true).write(true).open(place.log.join("LOCK")).unwrap();
        let mut page = vec![0; 4_096];
        lock.read_exact_at(&mut page, 0).unwrap();
        let now = Synced::find(&page).unwrap();
        let now = Synced { state: SyncState::Syncing, count: now.count + 1, ..now };
        lock.write_all_at(&now.encode(), SYNCED_AT as u64).unwrap();
    }
    sync
}

/// A process that opens the log meanwhile is not told how the sync that goes on ends.
#[test]
fn a_process_that_comes_while_whoever_holds_sync_is_stopped_in_its_sync_does_not_wait_for_it() {
    let place = Place::with_log();
    place.run(&["true"]);
    let before = recorded(&place).len();
    let sync = stopped_holder(&place, true);
    for words in [&["record", "--stream", "s", "--type", "t"][..], &["run", "--", "true"]] {
        let since = Instant::now();
        let told = place.holdpoint(words);
        assert_eq!(status(&told), 0, "{words:?}: {}", text(&told.stderr));
        assert!(since.elapsed() < Duration::from_secs(5), "{words:?}: {:?}", since.elapsed());
    }
    drop(sync);
    assert_eq!(status(&place.run(&["true"])), 0);
    assert_eq!(recorded(&place).len(), before + 1);
    assert_eq!(place.verified()["verdict"], "intact");
}

#[test]
fn a_run_ends_on_record_in_time_although_whoever_holds_sync_is_stopped() {
    for is_syncing in [false, true] {
        let place = Place::with_log();
        place.run(&["true"]);
        let [begun, go] = ["begun", "go"].map(|name| place.directory.path().join(name));
        let script = format!(
            "touch {}; while [ ! -e {} ]; do sleep 0.01; done; echo out; exit 7",
            begun.display(),
            go.display()
        );
        let mut run = place.command(&["run", "--hold", "never", "--", "sh", "-c", &script]);
        let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !begun.exists() {
            std::thread::yield_now();
        }
        let sync = stopped_holder(&place, is_syncing);
        let since = Instant::now();
        File::create(&go).unwrap();
        let ended = run.wait_with_output().unwrap();
        assert!(since.elapsed() < Duration::from_secs(5), "{is_syncing}: {:?}", since.elapsed());
        assert_eq!(status(&ended), 7, "{is_syncing}: {}", text(&ended.stderr));
        let newest = place.newest_loop();
        assert!(newest["ended_at"].is_string(), "{is_syncing}: {newest:#}");
        let exit = &newest["attempts"][0]["response"]["exit"];
        assert_eq!(exit["status"], 7, "{is_syncing}: {newest:#}");
        drop(sync);
        // Whoever held it is dead: the next writer goes on.
        assert_eq!(status(&place.run(&["true"])), 0, "{is_syncing}");
        place.verified();
    }
}
