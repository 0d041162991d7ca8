//! Where the recorder of a run alone is gone, its guard ends what still runs and writes down in the
//! run's own file how the command ended; whoever writes next takes that up, once.

use crate::program::{Place, json, status, text};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// A command that no signal ends but SIGKILL, and that ends by itself once it is told to.
const STUBBORN: &str = "trap '' TERM HUP INT QUIT; ";

pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::yield_now();
    }
}

/// Whether a process has ended, whoever is to reap it.
fn is_over(process: Pid) -> bool {
    let stat = format!("/proc/{}/stat", process.as_raw_nonzero());
    let stat = fs::read_to_string(stat).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

/// A run whose command has begun, and goes on once it is told to.
struct Begun {
    place: Place,
    recorder: Child,
    guard: Pid,
    command: Pid,
    run: String,
}

impl Begun {
    /// Starts a run of a script behind a beginning, which waits for a file in between.
    fn start(options: &[&str], before: &str, script: &str) -> Self {
        let place = Place::with_log();
        let waits = format!(
            "{before} echo \"$PPID $$\" > numbers.new; mv numbers.new numbers; \
             while [ ! -e go ]; do sleep 0.02; done; {script}"
        );
        let words = [&["run", "--hold", "never"], options, &["--", "sh", "-c", &waits]].concat();
        let mut command = place.command(&words);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let recorder = command.spawn().unwrap();
        let numbers = place.directory.path().join("numbers");
        until("the command did not begin", || numbers.exists());
        let numbers = fs::read_to_string(numbers).unwrap();
        let pids: Vec<Pid> = numbers
            .split_whitespace()
            .map(|word| Pid::from_raw(word.parse().unwrap()).unwrap())
            .collect();
        let run = run_file(&place).file_name().unwrap().to_str().unwrap().to_string();
        Self { place, recorder, guard: pids[0], command: pids[1], run }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.recorder), signal).unwrap();
    }

    fn go_on(&self) {
        fs::write(self.place.directory.path().join("go"), "").unwrap();
    }

    /// Until the first process of the command has ended, whoever is to reap it.
    fn until_over(&self) {
        until("the command did not end", || is_over(self.command));
    }

    /// Kills the recorder, and waits until its guard is done.
    fn lose(&mut self) {
        self.signal(Signal::KILL);
        self.recorder.wait().unwrap();
        self.until_left();
    }

    /// Until neither the recorder nor the guard holds the run's file.
    fn until_left(&self) {
        let file = File::open(run_file(&self.place)).unwrap();
        until("somebody holds the run's file", || {
            flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        });
    }

    /// How many entries wait for it, as `verify` says.
    fn waiting(&self) -> usize {
        let told = json(&self.place.holdpoint(&["verify", "--json"]));
        told["waiting"][0]["entries"].as_array().map_or(0, Vec::len)
    }

    fn shown(&self) -> Value {
        json(&self.place.holdpoint(&["show", &self.run, "--json"]))
    }

    /// `show --json` once a writer came by.
    fn settled(&self) -> Value {
        let recorded = write(&self.place);
        assert_eq!(status(&recorded), 0, "{}", text(&recorded.stderr));
        self.shown()
    }

    /// `output` gives what was kept, and says that more may have been printed.
    fn expect_open_end(&self, kept: &str) {
        for words in [&["output", &self.run][..], &["output", "-f", &self.run]] {
            let output = self.place.holdpoint(words);
            let told = text(&output.stderr);
            assert_eq!((status(&output), &*text(&output.stdout)), (3, kept), "{words:?} {told}");
            assert!(told.contains("may be missing"), "{words:?} {told}");
        }
        let output = self.place.holdpoint(&["output", &self.run, "--json", "--stream", "stdout"]);
        assert_eq!(status(&output), 3);
        assert_eq!(json(&output)["missing"], "unknown", "{:#}", json(&output));
        let output = self.place.holdpoint(&["output", &self.run, "--json"]);
        let told = json(&output);
        let missing = told.get("missing").unwrap_or(&told["streams"][0]["missing"]);
        assert_eq!((status(&output), missing), (3, &"unknown".into()), "{told:#}");
    }

    /// The last attempt of the run, which ends as *recorder lost* with the next writer, and once.
    fn lost_attempt(&self) -> Value {
        let shown = self.settled();
        assert_eq!(shown["outcome"], "lost", "{shown:#}");
        let records = self.place.verified()["records"].as_u64().unwrap();
        assert!(!run_path(&self.place, &self.run).exists());
        assert_eq!(status(&write(&self.place)), 0);
        assert_eq!(self.place.verified()["records"].as_u64().unwrap(), records + 1);
        let attempts = &shown["execution_loop"]["attempts"];
        attempts.as_array().unwrap().last().unwrap().clone()
    }
}

fn write(place: &Place) -> Output {
    place.holdpoint(&["record", "--stream", "builds", "--type", "build.done"])
}

fn run_path(place: &Place, run: &str) -> PathBuf {
    place.log.join("runs").join(run)
}

/// The file of the only run.
fn run_file(place: &Place) -> PathBuf {
    let listed = fs::read_dir(place.log.join("runs")).unwrap();
    let mut files = listed.map(|it| it.unwrap().path()).filter(|it| it.extension().is_none());
    files.next().unwrap()
}

#[test]
fn the_guard_of_a_killed_recorder_ends_the_command_and_says_that_it_did() {
    let mut begun = Begun::start(&[], STUBBORN, "sleep 300");
    begun.lose();
    begun.until_over();
    assert_eq!(begun.waiting(), 1);
    let shown = text(&begun.place.holdpoint(&["show", &begun.run]).stdout);
    assert!(shown.contains("unproven") && shown.contains("killed by its guard"), "{shown}");
    let listed = text(&begun.place.holdpoint(&["runs"]).stderr);
    assert!(listed.contains("unproven") && listed.contains("signal 9"), "{listed}");
    let attempt = begun.lost_attempt();
    assert_eq!(attempt["response"]["exit"]["signal"], 9, "{attempt:#}");
    let fault = &attempt["fault"];
    assert!(fault["fault_message"].as_str().unwrap().contains("its guard killed it"), "{fault}");
    let shown = text(&begun.place.holdpoint(&["show", &begun.run]).stdout);
    assert!(shown.contains("recorder lost, signal 9: "), "{shown}");
    assert!(!shown.contains("unproven"), "{shown}");
}

#[test]
fn how_the_command_had_ended_is_on_record_although_its_recorder_never_heard_of_it() {
    for (script, expected) in [
        ("exit 0", serde_json::json!({ "status": 0 })),
        ("exit 1", serde_json::json!({ "status": 1 })),
        ("exit 255", serde_json::json!({ "status": 255 })),
        ("kill -TERM $$", serde_json::json!({ "signal": 15 })),
        ("kill -SEGV $$", serde_json::json!({ "signal": 11 })),
    ] {
        let mut begun = Begun::start(&[], "", script);
        begun.signal(Signal::STOP);
        begun.go_on();
        begun.until_over();
        begun.lose();
        assert_eq!(begun.waiting(), 1);
        let attempt = begun.lost_attempt();
        assert_eq!(attempt["response"]["exit"], expected, "{attempt:#}");
        assert!(attempt["resources"]["wall_ns"].as_u64().unwrap() > 0, "{attempt:#}");
        let is_fault = expected.get("signal").is_some();
        assert_eq!(attempt["fault"].is_object(), is_fault, "{attempt:#}");
    }
}

#[test]
fn what_ran_longer_than_its_limit_is_a_timeout_although_its_recorder_is_gone() {
    let script = "trap 'exit 7' TERM; while :; do sleep 0.02; done";
    let mut begun = Begun::start(&["--timeout", "1s"], "", script);
    begun.signal(Signal::STOP);
    begun.go_on();
    begun.until_over();
    begun.lose();
    let attempt = begun.lost_attempt();
    assert_eq!(attempt["fault"]["fault_type"], "TIMEOUT", "{attempt:#}");
    assert_eq!(attempt["response"]["exit"]["status"], 7, "{attempt:#}");
    let shown = text(&begun.place.holdpoint(&["show", &begun.run]).stdout);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("longer than it may"), "{shown}");
}

#[test]
fn a_recorder_that_is_only_stopped_records_the_end_itself() {
    let mut begun = Begun::start(&["--json"], "", "exit 3");
    begun.signal(Signal::STOP);
    begun.go_on();
    begun.until_over();
    let shown = begun.settled();
    assert_eq!(shown["outcome"], "running", "{shown:#}");
    assert_eq!(begun.waiting(), 0);
    begun.signal(Signal::CONT);
    assert_eq!(begun.recorder.wait().unwrap().code(), Some(3));
    assert_eq!(begun.shown()["outcome"], "failed");
    assert!(!run_path(&begun.place, &begun.run).exists());
    begun.place.verified();
}

/// The guard ends what runs too long, and the recorder tells and records how long that was.
#[test]
fn a_stopped_recorder_records_how_long_the_command_ran_and_not_how_long_it_was_stopped() {
    let since = Instant::now();
    let mut begun = Begun::start(&["--timeout", "1s"], "", "sleep 300");
    begun.signal(Signal::STOP);
    begun.until_over();
    let ran = since.elapsed();
    until("it stays stopped", || since.elapsed() > ran + Duration::from_millis(1_500));
    begun.signal(Signal::CONT);
    assert_eq!(begun.recorder.wait().unwrap().code(), Some(124));
    let shown = begun.shown();
    let attempt = &shown["execution_loop"]["attempts"][0];
    let message = attempt["fault"]["fault_message"].as_str().unwrap();
    let told = message.strip_prefix("still running after ").and_then(|it| it.strip_suffix(" s"));
    let told = Duration::from_secs_f64(told.unwrap().parse().unwrap());
    assert!(told >= Duration::from_secs(1) && told <= ran, "{message}, {ran:?}");
    let runs = text(&begun.place.holdpoint(&["runs", "--json"]).stdout);
    let run: Value = serde_json::from_str(runs.lines().next().unwrap()).unwrap();
    let took = Duration::from_nanos(run["took_ns"].as_u64().unwrap());
    assert!(took >= Duration::from_secs(1) && took <= ran, "{took:?}, {ran:?}");
    begun.place.verified();
}

#[test]
fn where_recorder_and_guard_are_killed_the_end_is_lost_and_said_to_be() {
    let mut begun = Begun::start(&[], "", "exit 0");
    begun.signal(Signal::STOP);
    kill_process(begun.guard, Signal::KILL).unwrap();
    begun.lose();
    assert_eq!(begun.waiting(), 0);
    let attempt = begun.lost_attempt();
    assert_eq!(attempt["response"], Value::Null, "{attempt:#}");
    let shown = text(&begun.place.holdpoint(&["show", &begun.run]).stdout);
    assert!(shown.contains("its end was not seen"), "{shown}");
    let exported = text(&begun.place.holdpoint(&["export", "--include-evidence"]).stdout);
    let words: String = b"what became of the command is not known"
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert!(exported.contains(&words), "{exported}");
    // Nobody was left to end it.
    begun.go_on();
    until("the command did not end", || test_kill_process(begun.command).is_err());
}

/// The log's lock, held by this process until it is dropped.
struct HeldLock(#[expect(dead_code, reason = "dropping it releases")] File);

impl HeldLock {
    fn of(place: &Place) -> Self {
        let lock = File::open(place.log.join("LOCK")).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        Self(lock)
    }
}

#[test]
fn the_guard_goes_on_behind_what_its_recorder_let_wait_while_the_log_was_locked() {
    for is_torn in [false, true] {
        let mut begun = Begun::start(&[], "", "echo printed; touch said; sleep 300");
        let lock = HeldLock::of(&begun.place);
        begun.go_on();
        let file = run_path(&begun.place, &begun.run);
        let length = || fs::metadata(&file).unwrap().len();
        until("no pending questions in the run's file", || length() > 256 + 192);
        begun.signal(Signal::STOP);
        let whole = fs::read(&file).unwrap();
        if is_torn {
            // As if its recorder had been killed in the middle of the next entry.
            let line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
            let torn = [&whole[..], &whole[line..line + 150]].concat();
            fs::write(&file, torn).unwrap();
        }
        begun.lose();
        let now = fs::read(&file).unwrap();
        assert_eq!(now.len(), whole.len() + 192 + 48);
        assert_eq!(now[..whole.len()], whole[..]);
        // Numbered behind the entry before.
        let number = |at: usize| u64::from_le_bytes(now[at + 16..at + 24].try_into().unwrap());
        let line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        assert!(number(whole.len()) > number(line));
        let before = begun.waiting();
        assert!(before >= 2, "{before}");
        begun.expect_open_end("printed\n");
        drop(lock);
        let attempt = begun.lost_attempt();
        assert_eq!(attempt["response"]["exit"]["signal"], 9, "{attempt:#}");
        begun.expect_open_end("printed\n");
    }
}

/// The fault waits in the run's file and ends the run: what follows it is decided once the lock is
/// free.
#[test]
fn a_guard_that_is_killed_while_the_log_is_locked_ends_the_run_with_137() {
    let begun = Begun::start(&[], "", "sleep 300");
    let lock = HeldLock::of(&begun.place);
    kill_process(begun.guard, Signal::KILL).unwrap();
    begun.go_on();
    let file = run_path(&begun.place, &begun.run);
    let waits = || String::from_utf8_lossy(&fs::read(&file).unwrap()).contains("CRASH");
    until("its fault does not wait", waits);
    drop(lock);
    let ended = begun.recorder.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(137), "{}", text(&ended.stderr));
    assert_eq!(begun.place.verified()["verdict"], "intact");
}

/// The same where another process is the first to take the fault up: the recorder learns of it.
#[test]
fn a_run_whose_own_fault_another_process_took_up_ends_with_its_status() {
    let begun = Begun::start(&[], "", "sleep 300");
    let lock = HeldLock::of(&begun.place);
    kill_process(begun.guard, Signal::KILL).unwrap();
    begun.go_on();
    let file = run_path(&begun.place, &begun.run);
    let waits = || String::from_utf8_lossy(&fs::read(&file).unwrap()).contains("CRASH");
    until("its fault does not wait", waits);
    begun.signal(Signal::STOP);
    drop(lock);
    let shown = begun.settled();
    assert_eq!(shown["execution_loop"]["attempts"][0]["fault"]["fault_type"], "CRASH", "{shown:#}");
    begun.signal(Signal::CONT);
    let ended = begun.recorder.wait_with_output().unwrap();
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(137), "{said}");
    assert!(!said.contains("LOOP_NOT_LIVE"), "{said}");
    assert!(!file.exists());
    assert_eq!(begun.place.verified()["verdict"], "intact");
}

#[test]
fn a_command_inherits_nothing_of_what_its_guard_writes_with() {
    let script = "ls -l /proc/self/fd; tr '\\0' '\\n' < /proc/$PPID/cmdline; env";
    let begun = Begun::start(&[], "", script);
    begun.go_on();
    let run = begun.run.clone();
    let output = begun.recorder.wait_with_output().unwrap();
    let told = text(&output.stdout);
    assert!(told.contains("__guard"), "{told}");
    assert!(!told.contains("/runs") && !told.contains(&run), "{told}");
}

/// What `apply` answers to whoever says that the run is over.
fn stop(begun: &Begun) -> String {
    let command = serde_json::json!({
        "command": "execution_loop.interrupt", "loop_id": begun.run, "signal": 15,
    });
    let line = serde_json::json!({ "submit": command }).to_string() + "\n";
    let mut command = begun.place.command(&["apply"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    text(&child.wait_with_output().unwrap().stdout).to_string()
}

#[test]
fn whoever_links_replaces_or_deletes_the_file_of_a_living_run_does_not_end_it() {
    type Change = fn(&Begun);
    let link = |begun: &Begun| {
        let name = begun.place.directory.path().join("name");
        fs::hard_link(run_path(&begun.place, &begun.run), name).unwrap();
    };
    let replace = |begun: &Begun| {
        let file = run_path(&begun.place, &begun.run);
        let copy = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        fs::write(&file, copy).unwrap();
    };
    let delete = |begun: &Begun| fs::remove_file(run_path(&begun.place, &begun.run)).unwrap();
    let delete_all = |begun: &Begun| {
        fs::remove_dir_all(begun.place.log.join("runs")).unwrap();
    };
    for (number, change) in [link as Change, replace, delete, delete_all].into_iter().enumerate() {
        let mut begun = Begun::start(&[], STUBBORN, "sleep 300");
        change(&begun);
        assert_eq!(begun.settled()["outcome"], "running", "{number}");
        let told = stop(&begun);
        assert!(told.contains("RECORDED_ELSEWHERE"), "{number}: {told}");
        let expired = begun.place.holdpoint(&["decision", "expire"]);
        assert_eq!((status(&expired), &*text(&expired.stdout)), (0, ""), "{number}");
        // Once both are gone, whoever records what is due says so.
        begun.signal(Signal::KILL);
        begun.recorder.wait().unwrap();
        until("the guard lives", || is_over(begun.guard));
        let expired = begun.place.holdpoint(&["decision", "expire"]);
        assert_eq!(status(&expired), 0, "{number}: {}", text(&expired.stderr));
        let told = text(&expired.stdout);
        assert!(told.contains(&begun.run) && told.contains("recorder is gone"), "{number}: {told}");
        assert_eq!(begun.shown()["outcome"], "lost", "{number}");
        begun.place.verified();
    }
}

/// The same however much of it there is, before the entry and behind it, and although some of it
/// looks like an entry of a guard.
#[test]
fn the_word_of_a_guard_is_found_however_much_somebody_else_wrote_around_it() {
    let garbage = [0x5a; 300_000];
    for is_line_gone in [false, true] {
        let mut begun = Begun::start(&[], STUBBORN, "sleep 300");
        let file = run_file(&begun.place);
        File::options().append(true).open(&file).unwrap().write_all(&garbage).unwrap();
        begun.lose();
        begun.until_over();
        let mut bytes = fs::read(&file).unwrap();
        let word = bytes[bytes.len() - 240..].to_vec();
        assert!(word.starts_with(b"HPRUNENT"));
        // Of another attempt, another start, with another payload; and not signed by the key.
        for changed in [10, 40, 60, 90, 150, 230] {
            let mut forged = word.clone();
            forged[changed] ^= 1;
            bytes.extend([&forged[..], &garbage].concat());
            bytes.splice(300..300, forged);
        }
        if is_line_gone {
            bytes[..256].fill(b'x');
        }
        // As long as a file may be, and almost all of it a hole.
        fs::write(&file, bytes).unwrap();
        File::options().write(true).open(&file).unwrap().set_len(1 << 40).unwrap();
        let told = json(&begun.place.holdpoint(&["verify", "--json"]));
        let waiting = &told["waiting"][0];
        assert_eq!(waiting["entries"].as_array().map(Vec::len), Some(1), "{told:#}");
        assert!(waiting["fault"].is_string(), "{told:#}");
        let shown = begun.settled();
        assert_eq!(shown["outcome"], "lost", "{shown:#}");
        let attempt = &shown["execution_loop"]["attempts"][0];
        assert_eq!(attempt["response"]["exit"]["signal"], 9, "{shown:#}");
        assert!(file.exists(), "it is kept");
    }
}

#[test]
fn the_output_of_a_lost_run_is_open_ended_though_its_file_was_removed_and_doctor_says_it_is_lost() {
    let mut begun = Begun::start(&[], "echo early;", "exit 0");
    let printed = || text(&begun.place.holdpoint(&["output", &begun.run]).stdout) == "early\n";
    until("nothing is on record", printed);
    begun.signal(Signal::STOP);
    kill_process(begun.guard, Signal::KILL).unwrap();
    begun.lose();
    fs::remove_file(run_path(&begun.place, &begun.run)).unwrap();
    begun.expect_open_end("early\n");
    let doctor = json(&begun.place.holdpoint(&["doctor", "--json"]));
    let is_about = |it: &&Value| it["message"].as_str().unwrap().contains(&begun.run);
    let check = doctor["checks"].as_array().unwrap().iter().find(is_about).unwrap();
    assert_eq!(check["state"], "warn", "{check:#}");
    assert!(check["message"].as_str().unwrap().contains("was removed"), "{check:#}");
    assert!(check["advice"].as_str().unwrap().contains("decision expire"), "{check:#}");
    let expired = begun.place.holdpoint(&["decision", "expire"]);
    assert_eq!(status(&expired), 0, "{}", text(&expired.stderr));
    assert_eq!(begun.shown()["outcome"], "lost");
    begun.expect_open_end("early\n");
    let doctor = text(&begun.place.holdpoint(&["doctor", "--json"]).stdout);
    assert!(!doctor.contains(&begun.run), "{doctor}");
    begun.go_on();
    until("the command did not end", || test_kill_process(begun.command).is_err());
}

/// What somebody else wrote into the run's file while the recorder lived does not cost the guard
/// its word: the garbage is told as what it is, and the entry behind it counts.
#[test]
fn the_guard_writes_its_word_behind_what_somebody_else_wrote_into_the_runs_file() {
    let noise: [&[u8]; 4] = [b"x", b"HPRUNENTnothing", &[0x5a; 3_000], b"HPRUNENT\x01\x02"];
    for garbage in noise {
        let mut begun = Begun::start(&[], STUBBORN, "sleep 300");
        let file = run_file(&begun.place);
        let mut open = File::options().append(true).open(&file).unwrap();
        open.write_all(&garbage.repeat(20)).unwrap();
        begun.lose();
        begun.until_over();
        let told = json(&begun.place.holdpoint(&["verify", "--json"]));
        let waiting = &told["waiting"][0];
        assert_eq!(waiting["entries"].as_array().map(Vec::len), Some(1), "{told:#}");
        assert!(waiting["fault"].is_string(), "{told:#}");
        let shown = begun.settled();
        assert_eq!(shown["outcome"], "lost", "{shown:#}");
        let attempts = shown["execution_loop"]["attempts"].as_array().unwrap().clone();
        assert_eq!(attempts[0]["response"]["exit"]["signal"], 9, "{shown:#}");
        let message = attempts[0]["fault"]["fault_message"].as_str().unwrap();
        assert!(message.contains("its guard killed it"), "{message}");
        let said = text(&begun.place.holdpoint(&["verify"]).stdout);
        assert!(said.contains("not the recorder's"), "{said}");
        assert!(file.exists(), "it is kept");
    }
}

/// Stops the recorder and the guard, lets the command end, and waits until its time is over.
fn ended_while_both_are_stopped(script: &str) -> Begun {
    let begun = Begun::start(&["--timeout", "2s"], "", script);
    let since = Instant::now();
    begun.signal(Signal::STOP);
    kill_process(begun.guard, Signal::STOP).unwrap();
    begun.go_on();
    begun.until_over();
    until("its time is not over", || since.elapsed() > Duration::from_millis(2500));
    begun
}

#[test]
fn a_command_that_ended_while_recorder_and_guard_were_stopped_ended_as_it_did() {
    for is_guard_first in [true, false] {
        for (script, exit, outcome) in [("exit 3", 3, "failed"), ("kill -SEGV $$", 139, "crashed")]
        {
            let mut begun = ended_while_both_are_stopped(script);
            let go_on = |is_guard| match is_guard {
                true => kill_process(begun.guard, Signal::CONT).unwrap(),
                false => begun.signal(Signal::CONT),
            };
            go_on(is_guard_first);
            go_on(!is_guard_first);
            assert_eq!(begun.recorder.wait().unwrap().code(), Some(exit));
            let shown = begun.shown();
            assert_eq!(shown["outcome"], outcome, "{shown:#}");
            // The system tells nobody when it ended.
            assert!(shown["ran_at_most"]["1"].as_u64() >= Some(2_000_000_000), "{shown:#}");
            let words = text(&begun.place.holdpoint(&["show", &begun.run]).stdout);
            assert!(words.contains("took at most "), "{words}");
            begun.place.verified();
        }
    }
}

#[test]
fn a_signal_to_a_stopped_recorder_interrupts_no_command_that_has_ended() {
    let mut begun = ended_while_both_are_stopped("exit 3");
    begun.signal(Signal::TERM);
    kill_process(begun.guard, Signal::CONT).unwrap();
    begun.signal(Signal::CONT);
    assert_eq!(begun.recorder.wait().unwrap().code(), Some(3));
    assert_eq!(begun.shown()["outcome"], "failed");
}

#[test]
fn a_guard_that_was_stopped_with_a_lost_recorder_calls_no_end_a_timeout() {
    let mut begun = ended_while_both_are_stopped("exit 3");
    begun.signal(Signal::KILL);
    begun.recorder.wait().unwrap();
    kill_process(begun.guard, Signal::CONT).unwrap();
    begun.until_left();
    let shown = begun.settled();
    assert_eq!(shown["outcome"], "lost", "{shown:#}");
    let attempt = &shown["execution_loop"]["attempts"][0];
    assert_eq!(
        (&attempt["fault"], &attempt["response"]["exit"]["status"]),
        (&Value::Null, &3.into())
    );
    assert!(shown.to_string().contains("exited with status 3 after at most "), "{shown:#}");
}
