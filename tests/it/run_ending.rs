//! The end of a run always has room, the log's lock included: what another process does not let it
//! put on the log waits in the run's own file, and the next writer takes it up.

use crate::program::{Place, json, skip, status, text};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// The log's lock, held by this process until it is dropped.
pub(crate) struct HeldLock(#[expect(dead_code, reason = "dropping it releases")] File);

impl HeldLock {
    pub(crate) fn of(place: &Place) -> Self {
        let lock = File::open(place.log.join("LOCK")).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        Self(lock)
    }
}

/// A run whose command has begun, and ends when it is told to.
pub(crate) struct Begun {
    child: Child,
    go: PathBuf,
}

impl Begun {
    /// Starts a run of a script, which first waits for a file.
    pub(crate) fn start(place: &Place, number: usize, options: &[&str], script: &str) -> Self {
        Self::start_with(place, number, &[&["--hold", "never"], options].concat(), script)
    }

    fn start_with(place: &Place, number: usize, options: &[&str], script: &str) -> Self {
        let go = place.directory.path().join(format!("go-{number}"));
        let began = place.directory.path().join(format!("began-{number}"));
        let waits = format!(
            "touch {}; while [ ! -e {} ]; do sleep 0.02; done; {script}",
            began.display(),
            go.display()
        );
        let words = [&["run"], options, &["--", "sh", "-c", &waits]].concat();
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

    pub(crate) fn end(self) -> Output {
        fs::write(&self.go, "").unwrap();
        self.child.wait_with_output().unwrap()
    }
}

/// The files of runs that are there, without their room.
pub(crate) fn run_files(place: &Place) -> Vec<PathBuf> {
    let listed = fs::read_dir(place.log.join("runs")).unwrap();
    let files = listed.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_none()).collect()
}

/// What `show` says of the run, once a writer came by.
pub(crate) fn shown_after_a_writer(place: &Place, run: &str) -> Value {
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
        let output = place.holdpoint(&["output", run, "--stream", "stdout"]);
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

/// All that a verb says, without the ends of lines.
fn unwrapped(place: &Place, words: &[&str]) -> String {
    let output = place.holdpoint(words);
    let told = format!("{} {}", text(&output.stdout), text(&output.stderr));
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A run whose end waits in its file, after the recorder has ended.
pub(crate) struct Waiting {
    pub(crate) place: Place,
    pub(crate) run: String,
    file: PathBuf,
}

impl Waiting {
    fn begin() -> Self {
        Self::begin_with(&["--json"], "echo printed; exit 3")
    }

    /// The same of a script that exits with 3.
    pub(crate) fn begin_with(options: &[&str], script: &str) -> Self {
        let place = Place::with_log();
        let begun = Begun::start(&place, 0, options, script);
        let lock = HeldLock::of(&place);
        let output = begun.end();
        assert_eq!(status(&output), 3, "{}", text(&output.stderr));
        let run = json(&output)["loop_id"].as_str().unwrap().to_string();
        drop(lock);
        let file = place.log.join("runs").join(&run);
        assert!(file.exists());
        Self { place, run, file }
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.file).unwrap()
    }

    /// The file's first line, and each entry behind it.
    fn parts(&self) -> (Vec<u8>, Vec<Vec<u8>>) {
        let bytes = self.bytes();
        let line = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let (mut entries, mut at) = (Vec::new(), line);
        while at < bytes.len() {
            let length = u32::from_le_bytes(bytes[at + 12..at + 16].try_into().unwrap());
            let end = at + 192 + length as usize;
            entries.push(bytes[at..end].to_vec());
            at = end;
        }
        (bytes[..line].to_vec(), entries)
    }

    fn verified(&self) -> Value {
        self.place.verified()
    }

    /// `show --json` once a writer came by.
    pub(crate) fn settled(&self) -> Value {
        shown_after_a_writer(&self.place, &self.run)
    }

    fn expect_on_record(&self) {
        let shown = self.settled();
        assert_eq!(shown["outcome"], "failed", "{shown:#}");
        let output = self.place.holdpoint(&["output", &self.run]);
        assert_eq!((status(&output), &*text(&output.stdout)), (0, "printed\n"));
        assert!(!self.file.exists());
        self.verified();
    }

    /// The file is told of, counts for nothing and is kept, and the log stays whole.
    fn expect_not_the_recorders(&self, why: &str) {
        let told = text(&self.place.holdpoint(&["verify"]).stdout).to_string();
        let line = told.split("not counted").nth(1).unwrap_or_else(|| panic!("{told}"));
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(line.contains("a file that is not the recorder's"), "{told}");
        assert!(line.contains(why), "{why}: {told}");
        let shown = self.settled();
        assert_ne!(shown["outcome"], "running", "nobody ended it: {shown:#}");
        assert!(self.file.symlink_metadata().is_ok(), "it was removed");
        // What the log took from it before the fault does not wait any more.
        let waiting = &json(&self.place.holdpoint(&["verify", "--json"]))["waiting"];
        assert_eq!(waiting[0]["entries"], Value::Array(Vec::new()), "{waiting:#}");
        assert!(waiting[0]["fault"].is_string(), "{waiting:#}");
        let doctor = unwrapped(&self.place, &["doctor"]);
        let run = doctor.split(&format!("runs/{}", self.run)).nth(1);
        let run = run.unwrap_or_else(|| panic!("{doctor}"));
        assert!(run.contains("a file that is not the recorder's"), "{doctor}");
        self.verified();
    }
}

#[test]
fn what_waits_is_shown_as_unproven_until_it_is_taken_up() {
    let waiting = Waiting::begin();
    let place = &waiting.place;
    let told = json(&place.holdpoint(&["verify", "--json"]));
    let entries = told["waiting"][0]["entries"].as_array().unwrap().len();
    assert!(entries >= 2, "{told:#}");
    let verified = place.holdpoint(&["verify"]);
    let line = format!("{entries} entries for 1 run, unproven");
    assert!(text(&verified.stdout).contains(&line), "{}", text(&verified.stdout));
    let shown = place.holdpoint(&["show", &waiting.run]);
    let shown = text(&shown.stdout).to_string();
    assert!(shown.contains("unproven") && shown.contains("exit status 3"), "{shown}");
    let as_json = json(&place.holdpoint(&["show", &waiting.run, "--json"]));
    assert!(as_json["waiting"]["entries"].is_array(), "{as_json:#}");
    let listed = place.holdpoint(&["runs"]);
    assert!(text(&listed.stderr).contains("unproven"), "{}", text(&listed.stderr));
    let row: Value =
        serde_json::from_str(text(&place.holdpoint(&["runs", "--json"]).stdout).trim()).unwrap();
    assert_eq!(row["waiting"]["run"], waiting.run.as_str(), "{row:#}");
    let output = place.holdpoint(&["output", &waiting.run]);
    assert_eq!((status(&output), &*text(&output.stdout)), (0, "printed\n"));
    assert!(text(&output.stderr).contains("unproven"), "{}", text(&output.stderr));
    waiting.expect_on_record();
    let settled = place.holdpoint(&["output", &waiting.run]);
    assert!(!text(&settled.stderr).contains("unproven"), "{}", text(&settled.stderr));
}

#[test]
fn a_copy_takes_along_what_waits_and_records_it_as_the_log_would() {
    let waiting = Waiting::begin();
    let copy = waiting.place.directory.path().join("copy");
    let made = waiting.place.holdpoint(&[
        "copy",
        waiting.place.log.to_str().unwrap(),
        copy.to_str().unwrap(),
    ]);
    assert_eq!(status(&made), 0, "{}", text(&made.stderr));
    let copied = copy.join("runs").join(&waiting.run);
    assert_eq!(fs::read(copied).unwrap(), waiting.bytes());
    waiting.expect_on_record();
}

#[test]
fn a_run_took_as_long_as_its_recorder_saw_it_run_however_late_that_was_taken_up() {
    let since = Instant::now();
    let waiting = Waiting::begin();
    let ran = since.elapsed();
    let until = Instant::now() + ran + Duration::from_millis(500);
    while Instant::now() < until {
        std::thread::yield_now();
    }
    waiting.settled();
    let rows = waiting.place.holdpoint(&["runs", "--json"]);
    let rows: Value = serde_json::from_str(text(&rows.stdout).trim()).unwrap();
    let took = Duration::from_nanos(rows["took_ns"].as_u64().unwrap());
    assert!(took <= ran, "{took:?}, and it ran at most {ran:?}");
}

#[test]
fn an_archive_takes_up_what_waits_before_it_moves_anything() {
    let waiting = Waiting::begin();
    let to = waiting.place.directory.path().join("archive");
    let words = ["archive", to.to_str().unwrap(), "--json", "--until", "1h"];
    let moved = waiting.place.holdpoint(&words);
    assert_eq!(status(&moved), 0, "{}", text(&moved.stderr));
    let shown = json(&waiting.place.holdpoint(&["show", &waiting.run, "--json"]));
    assert_eq!(shown["outcome"], "failed", "{shown:#}");
    waiting.expect_on_record();
}

#[test]
fn entries_that_were_taken_up_are_taken_up_once_whoever_puts_them_back() {
    let waiting = Waiting::begin();
    let bytes = waiting.bytes();
    waiting.expect_on_record();
    let records = waiting.verified()["records"].clone();
    fs::write(&waiting.file, &bytes).unwrap();
    let shown = waiting.settled();
    assert_eq!(shown["outcome"], "failed");
    let after = waiting.verified()["records"].as_u64().unwrap();
    assert_eq!(after, records.as_u64().unwrap() + 1, "the event of the writer alone");
    // And both times in one file.
    let waiting = Waiting::begin();
    let (line, entries) = waiting.parts();
    fs::write(&waiting.file, [line, entries.concat(), entries.concat()].concat()).unwrap();
    waiting.expect_not_the_recorders("follows");
}

#[test]
fn a_file_that_is_cut_at_any_byte_is_taken_up_to_the_cut_and_accuses_nobody() {
    let waiting = Waiting::begin();
    let bytes = waiting.bytes();
    for length in (0..bytes.len()).step_by(97) {
        fs::write(&waiting.file, &bytes[..length]).unwrap();
        let told = waiting.place.holdpoint(&["verify"]);
        assert_eq!(status(&told), 0);
        assert!(!text(&told.stdout).contains("not the recorder's"), "{length}");
    }
    // The last entry says that the run is over: without its last byte the recorder is lost.
    fs::write(&waiting.file, &bytes[..bytes.len() - 1]).unwrap();
    let shown = waiting.settled();
    assert_eq!(shown["outcome"], "lost", "{shown:#}");
    let output = waiting.place.holdpoint(&["output", &waiting.run]);
    assert_eq!(text(&output.stdout), "printed\n");
    waiting.verified();
}

#[test]
fn what_somebody_else_wrote_linked_or_swapped_counts_for_nothing_and_is_kept() {
    let waiting = Waiting::begin();
    let (line, entries) = waiting.parts();
    let garbage = b"this is no entry of any recorder\n".repeat(40);
    fs::write(&waiting.file, [line.clone(), garbage].concat()).unwrap();
    waiting.expect_not_the_recorders("no entry begins here");

    let waiting = Waiting::begin();
    let (line, mut own) = waiting.parts();
    own[0][150] ^= 1;
    fs::write(&waiting.file, [line, own.concat()].concat()).unwrap();
    waiting.expect_not_the_recorders("did not sign it");

    let waiting = Waiting::begin();
    let (line, _) = waiting.parts();
    fs::write(&waiting.file, [line, entries.concat()].concat()).unwrap();
    waiting.expect_not_the_recorders("is not the start of this run");

    let waiting = Waiting::begin();
    let (line, own) = waiting.parts();
    let reordered: Vec<u8> = own.iter().rev().flatten().copied().collect();
    fs::write(&waiting.file, [line, reordered].concat()).unwrap();
    waiting.expect_not_the_recorders("follows");

    let waiting = Waiting::begin();
    fs::hard_link(&waiting.file, waiting.place.directory.path().join("name")).unwrap();
    waiting.expect_not_the_recorders("2 names");

    if rustix::process::geteuid().is_root() {
        let waiting = Waiting::begin();
        std::os::unix::fs::chown(&waiting.file, Some(65_534), None).unwrap();
        waiting.expect_not_the_recorders("it belongs to user number 65534");
    } else {
        skip("another user, for which it takes root");
    }

    let waiting = Waiting::begin();
    let elsewhere = waiting.place.directory.path().join("elsewhere");
    fs::rename(&waiting.file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &waiting.file).unwrap();
    waiting.expect_not_the_recorders("not a regular file");

    let waiting = Waiting::begin();
    let sparse = File::options().write(true).open(&waiting.file).unwrap();
    let length = waiting.bytes().len() as u64;
    sparse.set_len(4 << 30).unwrap();
    let since = Instant::now();
    waiting.expect_not_the_recorders("no entry begins here");
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}", since.elapsed());
    assert!(length < 1 << 20);
}

#[test]
fn what_waits_behind_a_link_is_not_said_to_be_taken_up_and_doctor_names_the_way_on() {
    let waiting = Waiting::begin();
    let place = &waiting.place;
    let (runs, elsewhere) = (place.log.join("runs"), place.directory.path().join("elsewhere"));
    fs::rename(&runs, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &runs).unwrap();
    for words in [&["output", &waiting.run][..], &["show", &waiting.run], &["runs"]] {
        let told = unwrapped(place, words);
        assert!(!told.contains("next writer"), "{told}");
        assert!(told.contains("`holdpoint doctor`"), "{words:?}: {told}");
    }
    let doctor = unwrapped(place, &["doctor"]);
    assert!(doctor.contains("not a directory of its own"), "{doctor}");
    assert!(doctor.contains("move the directory back"), "{doctor}");
    let expired = place.holdpoint(&["decision", "expire"]);
    assert_eq!(status(&expired), 1, "{}", text(&expired.stderr));
    assert!(text(&expired.stderr).contains("does not tell whether"), "{}", text(&expired.stderr));
    fs::remove_file(&runs).unwrap();
    fs::rename(&elsewhere, &runs).unwrap();
    waiting.expect_on_record();
}

/// What follows the end of a run in its file takes nothing from what its recorder signed.
#[test]
fn how_a_run_ended_is_known_from_what_is_signed_whatever_somebody_wrote_behind_it() {
    let waiting = Waiting::begin();
    let place = &waiting.place;
    File::options()
        .append(true)
        .open(&waiting.file)
        .unwrap()
        .write_all(&b"this is no entry of any recorder\n".repeat(40))
        .unwrap();
    for words in [&["output", &waiting.run][..], &["output", "-f", &waiting.run]] {
        let output = place.holdpoint(words);
        let told = text(&output.stderr);
        assert_eq!((status(&output), &*text(&output.stdout)), (0, "printed\n"), "{told}");
        assert!(!told.contains("was lost") && !told.contains("missing"), "{told}");
        assert!(told.contains("in part a file that is not the recorder's"), "{told}");
    }
    let output = place.holdpoint(&["output", &waiting.run, "--json"]);
    assert_eq!((status(&output), &json(&output)["missing"]), (0, &Value::Null));
    let shown = unwrapped(place, &["show", &waiting.run]);
    assert!(shown.contains("exit status 3"), "{shown}");
    assert!(!shown.contains("is a file that is not"), "{shown}");
    let doctor = unwrapped(place, &["doctor"]);
    assert!(doctor.contains("takes up what waits"), "{doctor}");
    let shown = waiting.settled();
    let exit = &shown["execution_loop"]["attempts"][0]["response"]["exit"]["status"];
    assert_eq!((&shown["outcome"], exit), (&"failed".into(), &3.into()), "{shown:#}");
    let output = place.holdpoint(&["output", &waiting.run]);
    assert_eq!((status(&output), &*text(&output.stdout)), (0, "printed\n"));
    assert!(waiting.file.exists(), "it is kept");
}

#[test]
fn nothing_is_said_to_be_safe_in_a_file_that_no_writer_takes_up() {
    let write = |_: &Place, file: &PathBuf| {
        File::options().append(true).open(file).unwrap().write_all(&[b'x'; 400]).unwrap();
    };
    let link = |place: &Place, _: &PathBuf| {
        let (runs, elsewhere) = (place.log.join("runs"), place.log.join("elsewhere"));
        fs::rename(&runs, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &runs).unwrap();
    };
    let chown = |_: &Place, file: &PathBuf| {
        std::os::unix::fs::chown(file, Some(65_534), None).unwrap();
    };
    ends_on_the_log(write);
    ends_on_the_log(link);
    match rustix::process::geteuid().is_root() {
        true => ends_on_the_log(chown),
        false => skip("another user, for which it takes root"),
    }
}

fn ends_on_the_log(change: impl Fn(&Place, &PathBuf)) {
    let place = Place::with_log();
    let begun = Begun::start(&place, 0, &["--json"], "echo done; exit 7");
    let lock = HeldLock::of(&place);
    let [file] = &run_files(&place)[..] else { panic!("one run is under way") };
    change(&place, file);
    fs::write(&begun.go, "").unwrap();
    // It waits for the log's lock instead, for there is no other way to keep the end.
    let until = Instant::now() + Duration::from_secs(1);
    let mut child = begun.child;
    while Instant::now() < until {
        assert!(child.try_wait().unwrap().is_none(), "the end is nowhere");
        std::thread::yield_now();
    }
    drop(lock);
    let told = json(&child.wait_with_output().unwrap());
    assert_eq!(told["exit_status"], 7, "{told:#}");
    assert_ne!(told["end_waits"], true, "{told:#}");
    let shown = shown_after_a_writer(&place, told["loop_id"].as_str().unwrap());
    assert_ne!(shown["outcome"], "lost", "{shown:#}");
}

#[test]
fn the_end_behind_a_hold_waits_for_the_lock_and_leaves_the_question_to_the_next_writer() {
    let place = Place::with_log();
    let go = place.directory.path().join("go");
    let began = place.directory.path().join("began");
    let script = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.02; done; exit 3",
        began.display(),
        go.display()
    );
    let words = ["run", "--hold", "on-failure", "--no-wait", "--json", "--lock-wait", "1s"];
    let mut command = place.command(&[&words[..], &["--", "sh", "-c", &script]].concat());
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !began.exists() {
        assert!(Instant::now() < until, "the command did not begin");
        std::thread::yield_now();
    }
    let lock = HeldLock::of(&place);
    fs::write(&go, "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    let told = json(&output);
    assert_eq!(told["end_waits"], true, "{told:#}");
    drop(lock);
    for verb in [
        &["decision", "list", "--kind", "hold"][..],
        &["decision", "list", "--kind", "hold", "--json"],
        &["inbox"],
    ] {
        let said = text(&place.holdpoint(verb).stderr);
        assert!(said.contains("and may put one"), "{said}");
        assert!(!said.contains("no pending questions"), "{said}");
    }
    let run = told["loop_id"].as_str().unwrap();
    let shown = shown_after_a_writer(&place, run);
    assert_eq!(shown["outcome"], "waiting", "{shown:#}");
    place.verified();
}

/// What waits is put out of reach while `run` waits for the lock to ask its question.
#[test]
fn an_end_that_is_put_out_of_reach_before_the_run_is_over_is_not_said_to_wait_for_a_writer() {
    let place = Place::with_log();
    let options = ["--json", "--hold", "on-failure", "--no-wait", "--lock-wait", "3s"];
    let begun = Begun::start_with(&place, 0, &options, "echo done; exit 7");
    let lock = HeldLock::of(&place);
    fs::write(&begun.go, "").unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !text(&place.holdpoint(&["verify", "--json"]).stdout).contains("report_response") {
        assert!(Instant::now() < until, "nothing waits");
    }
    let (runs, elsewhere) = (place.log.join("runs"), place.log.join("elsewhere"));
    fs::rename(&runs, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &runs).unwrap();
    let output = begun.child.wait_with_output().unwrap();
    let told = json(&output);
    assert_eq!((status(&output), &told["error"]["code"]), (7, &"not_recorded".into()), "{told:#}");
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains("no writer takes up"), "{message}");
    // Put right, it is taken up.
    drop(lock);
    fs::remove_file(&runs).unwrap();
    fs::rename(&elsewhere, &runs).unwrap();
    let [file] = &run_files(&place)[..] else { panic!("the end waits") };
    let run = file.file_name().unwrap().to_str().unwrap();
    let shown = shown_after_a_writer(&place, run);
    let exit = &shown["execution_loop"]["attempts"][0]["response"]["exit"]["status"];
    assert_eq!(exit, 7, "{shown:#}");
}
