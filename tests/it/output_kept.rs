//! What a command prints is on record before it ends: whoever is killed, or stopped by a full disk,
//! all but the last second of it is there, in order, and nothing that was not printed.

use crate::program::{Place, json, skip, status, text};
use crate::recorder_lost;
use crate::unfinished::on_small_disk;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Prints numbered lines with the moment of each, so many a second.
const PRINTER: &str = "
import os, sys, time
rate, n, start = int(sys.argv[1]), 0, time.monotonic_ns()
while True:
    now, lines = time.monotonic_ns(), []
    while n * 10**9 <= (now - start) * rate:
        lines.append(b'%d %d\\n' % (n, now)); n += 1
    if lines: os.write(1, b''.join(lines))
    time.sleep(min(0.001, 0.5 / rate))
";

/// Older lines than this are on record, beside the slowest sync.
const LOST_AT_MOST: Duration = Duration::from_secs(1);

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap()
}

/// The slowest sync of a small file beside the log while something is done.
fn slowest_sync<T>(place: &Place, work: impl FnOnce() -> T) -> (T, Duration) {
    let (is_over, beside) = (AtomicBool::new(false), place.directory.path().join("beside"));
    std::thread::scope(|scope| {
        let probe = scope.spawn(|| {
            let mut slowest = Duration::ZERO;
            let mut file = File::create(&beside).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                file.write_all(&[0; 4096]).and_then(|()| file.sync_data()).unwrap();
                slowest = slowest.max(begun.elapsed());
                std::thread::yield_now();
            }
            slowest
        });
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        (done, probe.join().unwrap())
    })
}

fn started(place: &Place, options: &[&str], rate: u32) -> Child {
    let rate = rate.to_string();
    let words = [&["run", "--hold", "never"], options, &["--", "python3", "-c", PRINTER, &rate]];
    let mut command = place.command(&words.concat());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until the output on record says so, and gives the run.
fn until(place: &Place, what: &str, is_so: impl Fn(&str, &str) -> bool) -> String {
    let begun = Instant::now();
    loop {
        let runs = place.holdpoint(&["runs", "--json"]);
        let first = text(&runs.stdout).lines().next().map(str::to_string).unwrap_or_default();
        let first: Value = serde_json::from_str(&first).unwrap_or_default();
        if let Some(id) = first["run"].as_str() {
            let output = text(&place.holdpoint(&["output", id, "--stream", "stdout"]).stdout);
            let shown = text(&place.holdpoint(&["show", id]).stdout);
            if is_so(&output, &shown) {
                return id.to_string();
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: {}", text(&runs.stdout));
    }
}

/// The number and the moment of each whole line.
fn lines(output: &str) -> Vec<(u64, u64)> {
    let whole = output.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let line = |line: &str| {
        let (number, moment) = line.split_once(' ').unwrap_or_else(|| panic!("{line:?}"));
        (number.parse().unwrap(), moment.parse().unwrap())
    };
    whole.lines().map(line).collect()
}

/// Kills the recorder after a while, and compares what is on record with what was printed.
fn round(rate: u32, after: Duration) {
    let place = Place::new();
    let (killed_at, slowest) = slowest_sync(&place, || {
        let mut run = started(&place, &[], rate);
        until(&place, "its first lines are on record", |output, _| !lines(output).is_empty());
        let begun = Instant::now();
        while begun.elapsed() < after {
            std::thread::yield_now();
        }
        let killed_at = monotonic_ns();
        run.kill().unwrap();
        run.wait().unwrap();
        killed_at
    });
    let id = until(&place, "the recorder is known to be lost", |_, shown| {
        place.holdpoint(&["decision", "expire"]);
        shown.contains("recorder lost")
    });
    let output = place.holdpoint(&["output", &id, "--stream", "stdout"]);
    let printed = lines(&text(&output.stdout));
    for (at, (number, moment)) in printed.iter().enumerate() {
        assert_eq!(*number, at as u64, "in order, none twice, none missing");
        assert!(*moment <= killed_at + LOST_AT_MOST.as_nanos() as u64, "none was made up");
    }
    let (_, newest) = printed.last().expect("some are on record");
    let lost = Duration::from_nanos(killed_at.saturating_sub(*newest));
    let pause = Duration::from_secs(1) / rate;
    assert!(lost <= LOST_AT_MOST + slowest + pause, "{lost:?} lost, slowest sync {slowest:?}");
    let shown = text(&place.holdpoint(&["show", &id]).stdout);
    let last = text(&output.stdout).lines().last().unwrap().to_string();
    assert!(shown.contains(&last), "its last lines are shown: {shown}");
    place.verified();
}

/// Six rounds, or so many times as many; `just flight` has 200.
#[test]
fn a_killed_recorder_leaves_all_but_the_last_second_of_what_was_printed() {
    let seed = holdpoint_testing::story::seed();
    eprintln!("HOLDPOINT_SEED={seed}");
    let mut random = seed;
    for turn in 0..6 * holdpoint_testing::part::times() {
        // An odd multiplier (Knuth's) is enough for a spread of moments.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let after = Duration::from_millis(random >> 33 & 0x3ff);
        round([10, 1_000, 100_000][usize::try_from(turn % 3).unwrap()], after);
    }
}

/// A stopped recorder that is killed, and one whose group is: what it took is there.
#[test]
fn what_was_printed_is_on_record_while_the_command_runs() {
    let place = Place::new();
    let mut run = started(&place, &["--flush", "20ms"], 1_000);
    let id = until(&place, "lines of a command that runs", |output, _| lines(output).len() > 50);
    let shown = text(&place.holdpoint(&["show", &id]).stdout);
    assert!(shown.contains("so far"), "{shown}");
    let told = json(&place.holdpoint(&["output", &id, "--stream", "stdout", "--json"]));
    assert_eq!((&told["ended"], &told["sha256"]), (&Value::Bool(false), &Value::Null));
    kill_process(Pid::from_child(&run), Signal::TERM).unwrap();
    run.wait().unwrap();
    let told = json(&place.holdpoint(&["output", &id, "--stream", "stdout", "--json"]));
    assert_eq!(told["ended"], Value::Bool(true));
    place.verified();
}

/// Prints until the disk is full of something else, and on.
fn on_a_disk_that_fills(options: &[&str]) -> Option<(Place, std::process::Output)> {
    let (place, disk) = on_small_disk("3m")?;
    let rest = disk.path.join("rest");
    let script = format!(
        "echo before; sleep 1; cat /dev/zero > {rest} 2> /dev/null; \
         head -c 200000 /dev/zero; sleep 3; rm -f {rest}; sleep 1; echo behind; sleep 1",
        rest = rest.display()
    );
    let words = [&["run", "--hold", "never", "--json"], options, &["--", "sh", "-c", &script]];
    let output = place.holdpoint(&words.concat());
    let _ = std::fs::remove_file(rest);
    // The disk lives as long as the place.
    std::mem::forget(disk);
    Some((place, output))
}

#[test]
fn a_full_disk_says_what_was_asked_for_and_what_there_was() {
    let Some((place, _disk)) = on_small_disk("64k") else {
        return skip("a full disk: no small file system can be mounted here");
    };
    for (words, exit) in [(&["init", "--json"][..], 1), (&["run", "--json", "--", "true"], 125)] {
        let full = place.holdpoint(words);
        let error = &json(&full)["error"];
        assert_eq!(status(&full), exit, "{error:#}");
        let number = |key: &str| error[key].as_u64().unwrap_or_else(|| panic!("{error:#}"));
        let (needed, free) = (number("needed_bytes"), number("free_bytes"));
        assert!(needed > free && free < 64 * 1024, "{error:#}");
        let said = error["message"].as_str().unwrap();
        assert!(said.contains(&format!("{needed} bytes, and {free} are free")), "{said}");
    }
}

#[test]
fn a_log_whose_disk_is_full_says_what_was_asked_for_and_what_there_was() {
    for left in [0, 100, 180] {
        let Some((place, disk)) = on_small_disk("2m") else {
            return skip("a full disk: no small file system can be mounted here");
        };
        assert_eq!(status(&place.run(&["true"])), 0);
        disk.fill_but_for(left * 1_024);
        let full = place.holdpoint(&["run", "--json", "--", "true"]);
        let error = &json(&full)["error"];
        assert_eq!(status(&full), 125, "{error:#}");
        let number = |key: &str| error[key].as_u64().unwrap_or_else(|| panic!("{error:#}"));
        let (needed, free) = (number("needed_bytes"), number("free_bytes"));
        assert!(needed > free && free <= left * 1_024, "{error:#}");
        let asked = place.holdpoint(&["decision", "create", "--prompt", "p", "--option", "a:A"]);
        let said = text(&asked.stderr);
        assert!(left > 0 || (said.contains("bytes, and") && said.contains("are free")), "{said}");
    }
}

#[test]
fn a_disk_that_fills_ends_the_command_and_says_so() {
    let Some((place, output)) = on_a_disk_that_fills(&[]) else {
        return skip("a disk that fills under output: no small file system can be mounted here");
    };
    assert_eq!(status(&output), 137, "{}", text(&output.stderr));
    let told = json(&output);
    assert_eq!(told["evidence_dropped"], true, "{told:#}");
    let id = told["loop_id"].as_str().or(told["run"].as_str()).unwrap().to_string();
    let shown = text(&place.holdpoint(&["show", &id]).stdout);
    assert!(shown.contains("could not be recorded"), "{shown}");
    let kept = text(&place.holdpoint(&["output", &id, "--stream", "stdout"]).stdout);
    assert!(kept.starts_with("before\n") && !kept.contains("behind"), "{}", kept.len());
    assert!(shown.contains("--on-full stop"), "{shown}");
    place.verified();
}

/// Where somebody keeps the log's lock, output goes to the run's own file, and that one has no room
/// either.
#[test]
fn a_disk_that_fills_ends_the_command_although_somebody_else_keeps_the_lock() {
    let Some((place, disk)) = on_small_disk("3m") else {
        return skip("a disk that fills under output: no small file system can be mounted here");
    };
    assert_eq!(status(&place.run(&["true"])), 0);
    let [begun, held, rest] = ["begun", "held", "rest"].map(|name| match name {
        "rest" => disk.path.join(name),
        _ => place.directory.path().join(name),
    });
    let script = format!(
        "echo before; sleep 1; touch {begun}; while [ ! -e {held} ]; do sleep 0.02; done; \
         cat /dev/zero > {rest} 2> /dev/null; head -c 3000000 /dev/zero; sleep 100; echo behind",
        begun = begun.display(),
        held = held.display(),
        rest = rest.display()
    );
    let mut run = place.command(&["run", "--hold", "never", "--json", "--", "sh", "-c", &script]);
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    recorder_lost::until("it begins", || begun.exists());
    let lock = File::options().read(true).write(true).open(place.log.join("LOCK")).unwrap();
    recorder_lost::until("LOCK is free", || {
        flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    });
    File::create(&held).unwrap();
    let output = run.wait_with_output().unwrap();
    drop(lock);
    std::fs::remove_file(&rest).unwrap();
    assert_eq!(status(&output), 137, "{}", text(&output.stderr));
    let told = json(&output);
    assert_eq!(told["evidence_dropped"], true, "{told:#}");
    let id = told["loop_id"].as_str().or(told["run"].as_str()).unwrap().to_string();
    // The next writer takes up what waits.
    assert_eq!(status(&place.run(&["true"])), 0);
    let shown = json(&place.holdpoint(&["show", &id, "--json"]));
    assert_eq!(shown["on_full"]["1"], "stop", "{shown:#}");
    assert_eq!(shown["outcome"], "stopped", "{shown:#}");
    let kept = place.holdpoint(&["output", &id, "--stream", "stdout"]);
    assert!(text(&kept.stdout).starts_with("before\n") && !text(&kept.stdout).contains("behind"));
    let said = text(&kept.stderr);
    assert!(said.contains("the disk was full") && !said.contains("to keep"), "{said}");
    place.verified();
}

/// What waits in the run's file needs a new segment once the lock is free, and there is no room.
#[test]
fn an_end_that_finds_no_room_on_the_log_waits_whole_for_the_next_writer_with_room() {
    let Some((place, disk)) = on_small_disk("2m") else {
        return skip("a disk that fills under an end: no small file system can be mounted here");
    };
    assert_eq!(status(&place.run(&["true"])), 0);
    let [begun, held, go] = ["begun", "held", "go"].map(|name| place.directory.path().join(name));
    let waits =
        |path: &std::path::Path| format!("while [ ! -e {} ]; do sleep 0.02; done", path.display());
    let script = format!(
        "echo before; touch {}; {}; head -c 300000 /dev/zero; {}; exit 5",
        begun.display(),
        waits(&held),
        waits(&go)
    );
    let mut run = place.command(&["run", "--hold", "never", "--", "sh", "-c", &script]);
    // Nobody reads what it prints, and nobody waits for that.
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    recorder_lost::until("it begins", || begun.exists());
    let lock = File::options().read(true).write(true).open(place.log.join("LOCK")).unwrap();
    recorder_lost::until("LOCK is free", || {
        flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    });
    File::create(&held).unwrap();
    let length = |it: std::fs::DirEntry| it.metadata().map_or(0, |it| it.len());
    let longest = || {
        let listed = std::fs::read_dir(place.log.join("runs")).unwrap();
        listed.map(|it| length(it.unwrap())).max().unwrap()
    };
    recorder_lost::until("its output waits", || longest() > 600_000);
    let rest = disk.path.join("rest");
    let filled = File::create(&rest).unwrap().write_all(&vec![1; 2 << 20]);
    assert!(filled.is_err());
    drop(lock);
    File::create(&go).unwrap();
    let output = run.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(status(&output), 5, "{said}");
    assert!(said.contains("disk is full") && said.contains("decision expire"), "{said}");
    assert!(!said.contains("on the log:") && !said.contains("which is on the log"), "{said}");
    // Nobody takes it up without room, and no data is lost by trying.
    assert_eq!(status(&place.holdpoint(&["decision", "expire"])), 1);
    std::fs::remove_file(&rest).unwrap();
    assert_eq!(status(&place.holdpoint(&["decision", "expire"])), 0);
    let runs = text(&place.holdpoint(&["runs", "--json"]).stdout);
    let first: Value = serde_json::from_str(runs.lines().next().unwrap()).unwrap();
    let id = first["run"].as_str().unwrap();
    let shown = json(&place.holdpoint(&["show", id, "--json"]));
    assert_eq!(shown["outcome"], "failed", "{shown:#}");
    let attempt = &shown["execution_loop"]["attempts"][0];
    assert_eq!(attempt["response"]["exit"]["status"], 5, "{attempt:#}");
    let kept = place.holdpoint(&["output", id, "--stream", "stdout"]);
    assert_eq!((status(&kept), kept.stdout.len()), (0, 300_007), "{}", text(&kept.stderr));
    assert_eq!(std::fs::read_dir(place.log.join("runs")).unwrap().count(), 0);
    place.verified();
}

#[test]
fn of_an_end_that_waits_it_is_said_where_output_is_lost() {
    let Some((place, disk)) = on_small_disk("2m") else {
        return skip("a disk that fills under an end: no small file system can be mounted here");
    };
    assert_eq!(status(&place.run(&["true"])), 0);
    let [begun, go] = ["begun", "go"].map(|name| place.directory.path().join(name));
    let script = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.02; done; head -c 300000 /dev/zero; exit 5",
        begun.display(),
        go.display()
    );
    let words = ["run", "--hold", "never", "--on-full", "continue", "--", "sh", "-c", &script];
    let mut run = place.command(&words);
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    recorder_lost::until("it begins", || begun.exists());
    let lock = File::options().read(true).write(true).open(place.log.join("LOCK")).unwrap();
    recorder_lost::until("LOCK is free", || {
        flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    });
    let filled = File::create(disk.path.join("rest")).unwrap().write_all(&vec![1; 2 << 20]);
    assert!(filled.is_err());
    File::create(&go).unwrap();
    let output = run.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(status(&output), 5, "{said}");
    assert!(said.contains("of the output a part is lost"), "{said}");
    assert!(!said.contains("no data is lost"), "{said}");
}

#[test]
fn a_disk_that_fills_lets_the_command_go_on_where_that_was_asked_for_and_the_gap_is_on_record() {
    let Some((place, output)) = on_a_disk_that_fills(&["--on-full", "continue"]) else {
        return skip("a disk that fills under output: no small file system can be mounted here");
    };
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let told = json(&output);
    assert_eq!(told["evidence_dropped"], true, "{told:#}");
    let id = told["loop_id"].as_str().or(told["run"].as_str()).unwrap().to_string();
    let kept = place.holdpoint(&["output", &id, "--stream", "stdout"]);
    let (printed, said) = (text(&kept.stdout), text(&kept.stderr));
    assert!(printed.starts_with("before\n") && printed.ends_with("behind\n"), "{said}");
    assert!(said.contains("bytes are missing here, behind byte 7: the disk was full"), "{said}");
    let holes =
        json(&place.holdpoint(&["output", &id, "--stream", "stdout", "--json"]))["holes"].clone();
    assert_eq!(holes[0]["reason"], "disk_full", "{holes:#}");
    let shown = text(&place.holdpoint(&["show", &id]).stdout);
    assert!(shown.contains("--on-full continue"), "{shown}");
    assert_eq!(status(&kept), 3, "not all of it is there");
    place.verified();
}
