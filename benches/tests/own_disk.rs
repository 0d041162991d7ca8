//! `holdpoint-bench` measures on a directory's own disk, says every figure, and leaves nothing
//! there. How fast anything was is nobody's promise here.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that fails, fails its test"
)]

use holdpoint_sha256_lanes::has_lanes;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{File, create_dir, read_dir, set_permissions, write};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const FIGURES: [&str; 8] = [
    "append-staged",
    "append-os",
    "durable-1",
    "durable-8",
    "commit-64",
    "verify-1",
    "verify-2",
    "open-clean",
];

fn assert_empty(directory: &Path) {
    let left: Vec<_> = read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

fn program(directory: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint-bench"));
    command.arg("--dir").arg(directory).args(options);
    command
}

fn bench(directory: &Path, options: &[&str]) -> Output {
    program(directory, &[&["--smoke"], options].concat()).output().unwrap()
}

/// An empty directory, and the one that it is in.
fn disk() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("disk");
    create_dir(&directory).unwrap();
    (place, directory)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

#[test]
fn json_is_one_value_with_every_figure_and_the_directory_is_left_empty() {
    let (_place, directory) = disk();
    let output = bench(&directory, &["--json"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let report = json(&output);
    let figures = report["figures"].as_array().unwrap();
    let names: Vec<&str> = figures.iter().map(|each| each["figure"].as_str().unwrap()).collect();
    assert_eq!(names, FIGURES);
    for figure in figures {
        assert!(figure["ours"].is_f64() && figure["noise_percent"].is_f64(), "{figure:#}");
        for floor in figure["floors"].as_array().unwrap() {
            assert!(floor["median"].is_f64() && floor["ours_over_floor"].is_f64(), "{figure:#}");
        }
        let has_floor = !figure["floors"].as_array().unwrap().is_empty();
        assert_eq!(has_floor, figure["figure"] != "open-clean", "{figure:#}");
    }
    assert!(!report["meaning"].as_str().unwrap().is_empty());
    assert!(report["machine"]["cores"].as_u64().unwrap() > 0);
    assert_empty(&directory);
}

#[test]
fn the_table_names_every_figure_beside_its_floor() {
    let (_place, directory) = disk();
    let output = bench(&directory, &[]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for words in [
        "Append, no promise",
        "SHA-256 chain",
        "pwrite+fdatasync",
        "hash lanes",
        "SHA-256 of many at once",
        " x",
        "own ratios",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(text(&output.stderr).contains("GiB"), "it says how much it writes");
    assert_empty(&directory);
}

#[test]
fn the_way_to_hash_is_stated() {
    let (_place, directory) = disk();
    let output = program(&directory, &["--smoke", "--json"]).output().unwrap();
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let told = json(&output)["hashing"].as_str().unwrap().to_string();
    assert!(told.ends_with("sha2") && told.contains("sha-ni") == has_lanes(), "{told}");
}

#[test]
fn a_directory_that_is_missing_is_not_found() {
    let place = tempfile::tempdir().unwrap();
    let missing = place.path().join("missing");
    let file = place.path().join("file");
    write(&file, b"").unwrap();
    for at in [&missing, &file] {
        let output = bench(at, &["--json"]);
        assert_eq!(status(&output), 3);
        assert_eq!(json(&output)["error"]["code"], "no_directory");
        assert!(text(&output.stderr).contains("--dir"));
    }
    assert!(!missing.exists());
}

/// It says that it begins when its directory is there and signals are heeded.
#[test]
fn who_stops_it_finds_the_directory_empty() {
    let (_place, directory) = disk();
    let mut command = program(&directory, &["--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("removes it again"), "{said}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((status(&output), text(&output.stdout)), (130, String::new()));
    assert_empty(&directory);
}

/// A process of this number is not there, or is no run.
const HELD: &str = ".holdpoint-bench-4000001";

/// Killed without a word, it leaves its directory; the next run removes that, and nothing else.
#[test]
fn what_a_killed_run_has_left_is_removed_by_the_next_and_nothing_else_is() {
    let (_place, directory) = disk();
    let mut command = program(&directory, &["--json"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_eq!(read_dir(&directory).unwrap().count(), 1, "it is left");
    let kept = [
        ".holdpoint-bench-",
        ".holdpoint-bench-x",
        "holdpoint-bench-1",
        // Nobody's run: no mark, or the mark and what no run makes.
        ".holdpoint-bench-1",
        ".holdpoint-bench-4000000",
        HELD,
    ];
    kept.iter().for_each(|name| create_dir(directory.join(name)).unwrap());
    create_dir(directory.join(".holdpoint-bench-4000000/mine")).unwrap();
    for name in [".holdpoint-bench-4000000", HELD] {
        write(directory.join(name).join("made-by-holdpoint-bench"), b"").unwrap();
    }
    // Whoever works in it holds it, whatever its number says.
    let held = File::open(directory.join(HELD)).unwrap();
    held.try_lock().unwrap();
    let file = directory.join(format!(".holdpoint-bench-{}", u32::MAX));
    write(&file, b"somebody's").unwrap();
    let output = bench(&directory, &["--json"]);
    let told = text(&output.stderr);
    assert_eq!(status(&output), 0, "{told}");
    assert!(told.contains("removes what a run that was killed has left"), "{told}");
    let under_way: Vec<&str> =
        told.lines().filter(|line| line.contains("another run is under way")).collect();
    assert!(matches!(under_way[..], [line] if line.ends_with(HELD)), "{told}");
    for unknown in [".holdpoint-bench-1 may be", "-4000000 may be", "-4294967295 may be"] {
        assert!(told.contains(unknown), "{unknown}: {told}");
    }
    assert!(file.exists() && kept.iter().all(|name| directory.join(name).exists()), "{told}");
    assert_eq!(read_dir(&directory).unwrap().count(), kept.len() + 1, "{told}");
}

/// `ulimit -f`: what cannot be measured says why, in both forms, and the directory is left empty.
#[test]
fn a_limit_on_the_size_of_files_is_told_and_nothing_is_left() {
    let (_place, directory) = disk();
    let program = env!("CARGO_BIN_EXE_holdpoint-bench");
    let limited = "ulimit -f 1000 && exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited, "sh", program, "--smoke", "--json", "--dir"])
        .arg(&directory)
        .output()
        .unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("File too large"), "{told}");
    assert_empty(&directory);
}

/// Root may write anywhere but where nobody may.
#[test]
fn a_directory_that_cannot_be_written_to_fails() {
    let place = tempfile::tempdir().unwrap();
    let closed = place.path().join("closed");
    create_dir(&closed).unwrap();
    set_permissions(&closed, PermissionsExt::from_mode(0o500)).unwrap();
    let may_write = write(closed.join("probe"), b"").is_ok();
    let nobody_may = if may_write { Path::new("/proc/self") } else { &closed };
    let output = bench(nobody_may, &["--json"]);
    assert_eq!(status(&output), 1);
    let code = json(&output)["error"]["code"].as_str().unwrap().to_string();
    assert!(["io", "no_space"].contains(&code.as_str()), "{code}");
}

/// The kernel's own file systems have no room at all.
#[test]
fn a_disk_that_is_too_small_is_refused_before_anything_is_written() {
    let output = bench(Path::new("/proc"), &["--json"]);
    assert_eq!(status(&output), 1);
    let error = &json(&output)["error"];
    assert_eq!(error["code"], "no_space");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("1.00 GiB") && message.contains("/proc"), "{message}");
}
