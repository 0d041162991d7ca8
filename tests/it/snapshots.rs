//! The processes of a command are looked at while it runs, and what was seen is on record, shown
//! and drawn.

use crate::program::{Place, json, status, text};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The newest run, as `show` tells it to a program.
fn shown(place: &Place) -> (String, Value) {
    let id = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    let shown = json(&place.holdpoint(&["show", &id, "--json"]));
    (id, shown)
}

fn snapshots(shown: &Value) -> &[Value] {
    shown["snapshots"].as_array().unwrap()
}

/// The records about the newest run, by the names of their events.
fn records(place: &Place, id: &str) -> Vec<Value> {
    let told = text(&place.holdpoint(&["log", &format!("loop={id}"), "--json"]).stdout);
    told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn is_snapshot(record: &Value) -> bool {
    record.to_string().contains("RESOURCE_SNAPSHOT") && record.to_string().contains("processes")
}

fn is_piece(record: &Value) -> bool {
    record.to_string().contains("output_recorded")
}

#[test]
fn a_run_has_snapshots_of_its_tree_and_show_and_the_report_draw_them() {
    let place = Place::with_log();
    // What left its group and its parent is of the tree as well.
    let script = "setsid sh -c 'sleep 20 & sleep 20' & sleep 2.3; kill -- -$!; echo done";
    place.shell(script);
    let (id, shown) = shown(&place);
    let taken = snapshots(&shown);
    let seconds = |it: &Value| it["ran_ns"].as_u64().unwrap() / 1_000_000_000;
    assert_eq!(taken.iter().map(seconds).collect::<Vec<_>>(), [1, 2], "{taken:?}");
    for snapshot in taken {
        assert!(snapshot["processes"].as_u64().unwrap() >= 4, "{snapshot}");
        assert!(snapshot["resident_bytes"].as_u64().unwrap() >= 1 << 20, "{snapshot}");
        assert_eq!(snapshot["attempt"], 1);
    }
    let screen = text(&place.holdpoint(&["show", &id]).stdout);
    assert!(screen.contains("while it ran    2 snapshots, "), "{screen}");
    assert!(screen.contains("\nat 1 s ") && screen.contains("\nat 2 s "), "{screen}");
    assert!(screen.contains("##"), "{screen}");
    let page = place.directory.path().join("page.html");
    let made =
        place.holdpoint(&["export", "--format", "html", &id, "--output", page.to_str().unwrap()]);
    assert_eq!(status(&made), 0, "{}", text(&made.stderr));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<polyline ") && page.contains("<td>2 s</td>"), "it is drawn");
    assert_eq!(place.verified()["verdict"], "intact");
}

/// Memory is that of the moment, and processor time that of all so far.
#[test]
fn a_snapshot_tells_processor_and_memory_of_what_has_ended_too() {
    let place = Place::with_log();
    let script = "import time\nheld = b'x' * (64 << 20)\nend = time.monotonic() + 1.2\n\
                  while time.monotonic() < end: pass\n";
    place.run(&["sh", "-c", &format!("python3 -c \"{script}\"; sleep 1")]);
    let (_, shown) = shown(&place);
    let [first, second] = snapshots(&shown) else { panic!("{shown}") };
    assert!(first["resident_bytes"].as_u64().unwrap() >= 64 << 20, "{first}");
    assert!(second["resident_bytes"].as_u64().unwrap() < 64 << 20, "{second}");
    let used = |it: &Value| it["user_cpu_ns"].as_u64().unwrap();
    assert!(used(first) > 200_000_000, "{first}");
    assert!(used(second) >= used(first), "what ended counts on: {second}");
}

/// A snapshot costs no batch of its own: it is recorded behind the piece that follows it.
#[test]
fn a_snapshot_rides_with_the_next_piece_and_with_the_end_where_none_comes() {
    let place = Place::with_log();
    place.shell("echo one; sleep 1.2; echo two; sleep 1.2");
    let (id, shown) = shown(&place);
    assert_eq!(snapshots(&shown).len(), 2);
    let records = records(&place, &id);
    let places: Vec<usize> = (0..records.len()).filter(|at| is_snapshot(&records[*at])).collect();
    let [first, second] = places[..] else { panic!("{records:#?}") };
    assert!(is_piece(&records[first - 1]), "behind the second piece");
    assert!(second > first && !is_piece(&records[second + 1]), "behind all pieces");

    let silent = Place::with_log();
    silent.shell("sleep 1.2");
    let (_, shown) = self::shown(&silent);
    assert_eq!(snapshots(&shown).len(), 1);
    assert_eq!(silent.verified()["verdict"], "intact");
}

#[test]
fn a_short_run_has_no_snapshot_and_nothing_is_drawn() {
    let place = Place::with_log();
    place.shell("echo done");
    let (id, shown) = shown(&place);
    assert_eq!(snapshots(&shown), [] as [Value; 0]);
    let screen = text(&place.holdpoint(&["show", &id]).stdout);
    assert!(!screen.contains("while it ran"), "{screen}");
}

/// While another process keeps the log's lock, snapshots wait with pieces in the run's own file.
#[test]
fn a_snapshot_waits_with_its_piece_while_the_log_is_locked() {
    let place = Place::with_log();
    let directory = place.directory.path();
    let (began, go) = (directory.join("began"), directory.join("go"));
    let script = "touch began; while [ ! -e go ]; do sleep 0.02; done; sleep 1.2; echo waited";
    let mut command = place.command(&["run", "--hold", "never", "--", "sh", "-c", script]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !began.exists() {
        assert!(Instant::now() < until, "the command did not begin");
        std::thread::yield_now();
    }
    let lock = File::open(place.log.join("LOCK")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    std::fs::write(&go, "").unwrap();
    child.wait().unwrap();
    drop(lock);
    place.holdpoint(&["decision", "expire"]);
    let (_, shown) = shown(&place);
    assert!(!snapshots(&shown).is_empty(), "{shown}");
    assert_eq!(place.verified()["verdict"], "intact");
}
