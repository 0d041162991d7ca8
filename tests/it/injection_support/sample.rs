//! The log that is read while its disk fails.

use crate::decision_support::asked;
use crate::filler::fill;
use crate::program::{Place, json, status, text};
use crate::terminal::at_terminal;
use crate::thread_support::interrupted;
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{EngineOptions, FingerprintDistance};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::names;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Prints more than a quarter of the first segment's space.
const LONG_OUTPUT: &str = "head -c 20000 /dev/zero | tr '\\000' x";

/// A log, and another one with the same records whose first are in an archive.
pub(crate) struct Sample {
    pub(crate) place: Place,
    pub(crate) moved: PathBuf,
    pub(crate) archive: PathBuf,
    /// A question that waits.
    pub(crate) request: String,
    /// The loop that it holds.
    pub(crate) held_loop: String,
    /// A decision that waits.
    pub(crate) decision: String,
}

impl Sample {
    /// Several segments with everything that there is a verb for.
    pub(crate) fn new() -> Self {
        let place = Place::with_log();
        let held_loop = hold(&place);
        let request = first(&place, &["decision", "list", "--kind", "hold", "--json"], "id");
        let settled = asked(&place, &["PROJ-1"]);
        respond(&place, &settled);
        let decision = asked(&place, &["PROJ-2"]);
        interrupted(&place, "acme", "talk", "It is sunny today. Tomorrow it rains.");
        grow(&place, 5);
        write_snapshot(&place.log);
        grow(&place, 3);
        assert_has_caches(&place);
        let [moved, archive] = ["moved", "archive"].map(|name| place.directory.path().join(name));
        archive_copy(&place, &moved, &archive);
        lose_recorder(&place);
        open_to_everybody(&place.log.join(names::SNAPSHOTS));
        Self { place, moved, archive, request, held_loop, decision }
    }
}

/// A run that ended with a question; its loop.
fn hold(place: &Place) -> String {
    let options = ["run", "--hold", "after", "--no-wait", "--expires", "after=90days"];
    let left = place.holdpoint(&[&options[..], &["--", "false"]].concat());
    assert_eq!(status(&left), 122, "{}", text(&left.stderr));
    place.newest_loop()["loop_id"].as_str().unwrap().to_string()
}

fn first(place: &Place, words: &[&str], field: &str) -> String {
    let Value::Array(listed) = json(&place.holdpoint(words)) else { panic!("no list") };
    listed[0][field].as_str().unwrap().to_string()
}

fn respond(place: &Place, decision: &str) {
    let output = at_terminal(place, &["decision", "respond", decision, "--option", "a"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
}

fn grow(place: &Place, runs: usize) {
    for _ in 0..runs {
        assert_eq!(status(&place.shell(LONG_OUTPUT)), 0);
    }
}

/// Lets an engine close that writes a snapshot however little was recorded.
pub(crate) fn write_snapshot(log: &Path) {
    let fingerprints =
        FingerprintDistance { records: u64::MAX, bytes: u64::MAX, records_at_close: 1 };
    let options = EngineOptions::simulated().fingerprints(fingerprints);
    let engine = Engine::open_with(DirectoryStorage::new(log), options).unwrap();
    engine.query(|_| ()).unwrap();
    engine.close().unwrap();
}

/// That there are indexes and a snapshot that readers believe.
fn assert_has_caches(place: &Place) {
    let report = json(&place.holdpoint(&["verify", "--caches", "--json"]));
    for caches in ["indexes", "snapshots"] {
        let all = report["caches"][caches].as_array().unwrap();
        assert!(all.iter().any(|cache| cache["state"] == "right"), "{caches}: {report:#}");
    }
}

fn archive_copy(place: &Place, moved: &Path, archive: &Path) {
    let copied = Command::new("cp").arg("-r").arg(&place.log).arg(moved).status().unwrap();
    assert!(copied.success());
    let (moved, archive) = (moved.to_str().unwrap(), archive.to_str().unwrap());
    let output = place.holdpoint(&["archive", archive, "--json", "--log", moved]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert!(json(&output)["anchor_sequence"].is_u64());
}

/// A question whose recorder was killed, which nobody has recorded.
fn lose_recorder(place: &Place) {
    let options = ["run", "--hold", "after", "--expires", "after=90days", "--", "false"];
    let mut command = place.command(&options);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut recorder = command.spawn().unwrap();
    let list = |options: &[&str]| {
        place.holdpoint(&[&["decision", "list", "--kind", "hold"], options].concat())
    };
    while json(&list(&["--json"])).as_array().unwrap().len() < 2 {
        assert_eq!(recorder.try_wait().unwrap(), None, "it does not wait for an answer");
        std::thread::yield_now();
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    while !text(&list(&[]).stdout).contains("its recorder is gone") {
        std::thread::yield_now();
    }
    // Written beneath the rules, for which the question goes on to wait.
    fill(&place.log, 1);
}

/// What `doctor` has to warn of.
fn open_to_everybody(directory: &Path) {
    std::fs::set_permissions(directory, Permissions::from_mode(0o777)).unwrap();
}
