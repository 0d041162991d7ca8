//! The end of a run always has room, the log's lock included: what another process does not let it
//! put on the log waits in the run's own file, and the next writer takes it up.

use crate::program::{Place, json, status, text};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// The log's lock, held by this process until it is dropped.
struct HeldLock(#[expect(dead_code, reason = "dropping it releases")] File);

impl HeldLock {
    fn of(place: &Place) -> Self {
        let lock = File::open(place.log.join("LOCK")).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        Self(lock)
    }
}

/// A run whose command has begun, and ends when it is told to.
struct Begun {
    child: Child,
    go: PathBuf,
}

impl Begun {
    /// Starts a run of a script, which first waits for a file.
    fn start(place: &Place, number: usize, options: &[&str], script: &str) -> Self {
        let go = place.directory.path().join(format!("go-{number}"));
        let began = place.directory.path().join(format!("began-{number}"));
        let waits = format!(
            "touch {}; while [ ! -e {} ]; do sleep 0.02; done; {script}",
            began.display(),
            go.display()
        );
        let words = [&["run", "--hold", "never"], options, &["--", "sh", "-c", &waits]].concat();
        let mut command = place.command(&words);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = child.spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while !began.exists() {
            assert!(Instant::now() < until, "the command did not begin");
            std::thread::yield_now();
        }
        Self { child, go }
    }

    fn end(self) -> Output {
        fs::write(&self.go, "").unwrap();
        self.child.wait_with_output().unwrap()
    }
}

/// The files of runs that are there, without their room.
fn run_files(place: &Place) -> Vec<PathBuf> {
    let listed = fs::read_dir(place.log.join("runs")).unwrap();
    let files = listed.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_none()).collect()
}

/// What `show` says of the run, once a writer came by.
fn shown_after_a_writer(place: &Place, run: &str) -> Value {
    let recorded = place.holdpoint(&["record", "--stream", "builds", "--type", "build.done"]);
    assert_eq!(status(&recorded), 0, "{}", text(&recorded.stderr));
    json(&place.holdpoint(&["show", run, "--json"]))
}

#[test]
fn four_deployments_that_end_while_the_lock_is_held_are_all_on_record_afterwards() {
    let place = Place::with_log();
    let scripts = ["echo one", "echo two; exit 3", "echo three >&2; exit 255", "kill -TERM $$"];
    let begun: Vec<Begun> = scripts
        .iter()
        .enumerate()
        .map(|(number, script)| Begun::start(&place, number, &["--json"], script))
        .collect();
    let lock = HeldLock::of(&place);
    let mut runs = Vec::new();
    for (begun, expected) in begun.into_iter().zip([0, 3, 255, 143]) {
        let since = Instant::now();
        let output = begun.end();
        assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
        assert_eq!(status(&output), expected, "{}", text(&output.stderr));
        let told = json(&output);
        assert_eq!(told["end_waits"], true, "{told:#}");
        assert!(told["warning"].as_str().unwrap().contains("next writer"), "{told:#}");
        runs.push(told["loop_id"].as_str().unwrap().to_string());
    }
    assert_eq!(run_files(&place).len(), 4);
    drop(lock);
    for (run, expected) in runs.iter().zip(["one\n", "two\n", "", ""]) {
        let shown = shown_after_a_writer(&place, run);
        assert_ne!(shown["outcome"], "lost", "{shown:#}");
        let output = place.holdpoint(&["output", run]);
        assert_eq!(text(&output.stdout), expected);
    }
    let listed = text(&place.holdpoint(&["runs", "--json"]).stdout).to_string();
    let statuses: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|run| run["exit_status"].clone())
        .collect();
    for expected in [0, 3, 255] {
        assert!(statuses.contains(&expected.into()), "{listed}");
    }
    place.verified();
    assert_eq!(run_files(&place).len(), 0);
}
