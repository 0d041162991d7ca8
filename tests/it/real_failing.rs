//! The real program on a disk that fails: its system calls are made to fail from outside. It says
//! what failed first and exits as promised, whatever it acknowledged is there, and the log goes on.

use crate::apply_support::story;
use crate::program::{Place, json_lines, skip, status, text};
use holdpoint_log_format::{Lock, OwnerState};
use holdpoint_testing::part::part;
use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// Runs the program with every `number`th such call of each of its threads failing.
struct Injection {
    calls: &'static str,
    error: &'static str,
    /// As the system says it to people.
    said: &'static str,
}

const INJECTIONS: [Injection; 6] = [
    Injection { calls: "fdatasync", error: "EIO", said: "Input/output error" },
    Injection { calls: "fsync", error: "EIO", said: "Input/output error" },
    Injection { calls: "?rename,?renameat,?renameat2", error: "EIO", said: "Input/output error" },
    Injection { calls: "pwrite64", error: "EIO", said: "Input/output error" },
    Injection { calls: "pwrite64", error: "ENOSPC", said: "No space left on device" },
    Injection { calls: "fallocate", error: "ENOSPC", said: "no space for" },
];

/// What the program did, and whether a call was made to fail.
struct Outcome {
    output: Output,
    is_hit: bool,
}

fn is_possible() -> bool {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
    let is_possible = strace.status().is_ok_and(|status| status.success());
    if !is_possible {
        skip("a failing disk under the real program: no strace, or it may not trace");
    }
    is_possible
}

/// The program under the tracer, with what is injected.
fn traced(place: &Place, injected: &str, calls: &str, input: Stdio, words: &[&str]) -> Outcome {
    let trace = place.directory.path().join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "signal=none", "-o"]).arg(&trace);
    command.args(["-e", &format!("trace={calls}"), "-e", &format!("inject={injected}")]);
    command.arg(env!("CARGO_BIN_EXE_holdpoint")).arg("--log").arg(&place.log).args(words);
    command.env_remove("HOLDPOINT_LOG").env_remove("HOLDPOINT_CONFIG").stdin(input);
    let output = command.current_dir(place.directory.path()).output().unwrap();
    let is_hit = std::fs::read_to_string(&trace).unwrap().contains("(INJECTED)");
    Outcome { output, is_hit }
}

fn lock_state(place: &Place) -> Option<OwnerState> {
    let bytes = std::fs::read(place.log.join("LOCK")).ok()?;
    Lock::decode(&bytes).ok().map(|lock| lock.state)
}

/// Newest sequence that an answer of `apply` names.
fn acknowledged(output: &Output) -> u64 {
    let lines = json_lines(output).into_iter();
    lines.filter_map(|line| line["receipt"]["last_sequence"].as_u64()).max().unwrap_or(0)
}

fn newest(place: &Place) -> u64 {
    place.verified()["head"]["sequence"].as_u64().unwrap()
}

/// One sound run before: so that a log is there.
fn with_a_log(is_old: bool) -> Place {
    let place = Place::new();
    if is_old {
        assert_eq!(status(&place.run(&["true"])), 0);
    }
    place
}

/// More calls of one kind than the program makes in a run.
const CALLS_MAX: u32 = 1000;

/// Fails the first call and a part of the others until none is met; how often one was, and how
/// often that was told.
fn fail_each(
    injection: &Injection,
    one: fn(&Place, &str, &str) -> Outcome,
    code: i32,
    check: fn(&Place, &Output),
) -> (u32, u32) {
    let (mut hits, mut told) = (0, 0);
    for is_old in [false, true] {
        for number in [1].into_iter().chain(part((2..CALLS_MAX).collect(), 18)) {
            let place = with_a_log(is_old);
            let injected = format!("{}:error={}:when={number}", injection.calls, injection.error);
            let Outcome { output, is_hit } = one(&place, &injected, injection.calls);
            let said = text(&output.stderr);
            assert!(is_hit || status(&output) == 0, "{injected}: {said}");
            if status(&output) != 0 {
                assert_eq!(status(&output), code, "{injected}: {said}");
                let is_full = said.to_lowercase().contains("no space");
                let names_cause = said.contains(injection.said) || is_full;
                assert!(names_cause, "{injected}: {said}");
                told += 1;
            }
            check(&place, &output);
            if !is_hit {
                break;
            }
            hits += 1;
        }
    }
    (hits, told)
}

fn run_once(place: &Place, injected: &str, calls: &str) -> Outcome {
    let words = ["run", "--hold", "never", "--", "echo", "out"];
    traced(place, injected, calls, Stdio::null(), &words)
}

fn apply_once(place: &Place, injected: &str, calls: &str) -> Outcome {
    let file = place.directory.path().join("lines");
    let lines: String = story(&"7".repeat(32)).iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, lines).unwrap();
    let input = std::fs::File::open(&file).unwrap();
    traced(place, injected, calls, input.into(), &["apply"])
}

/// The next run records, and the log is intact.
fn assert_goes_on(place: &Place) {
    let output = place.run(&["true"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    place.verified();
}

#[test]
fn crash_every_failing_call_under_run_exits_125_with_its_cause_and_the_log_goes_on() {
    if !is_possible() {
        return;
    }
    for injection in &INJECTIONS {
        let (hits, told) = fail_each(injection, run_once, 125, |place, _| assert_goes_on(place));
        assert!(told > 0 && hits >= told, "{} {}", injection.calls, injection.error);
        println!("run: {} {}: {hits} failed, {told} told", injection.calls, injection.error);
    }
}

/// Nobody is told to look for a run, or for a loop, that is not on the log.
#[test]
fn what_was_not_started_is_not_said_to_be_on_record_and_no_loop_is_named() {
    if !is_possible() {
        return;
    }
    let (mut closed_badly, mut without_room) = (0, 0);
    let cases: [(&[&str], &str, bool); 3] = [
        (&["run", "--hold", "before", "--no-wait", "--", "true"], "fdatasync", false),
        (&["run", "--", "true"], "fsync", true),
        (&["run", "--", "true"], "fallocate", true),
    ];
    for (words, calls, may_start) in cases {
        for number in 1..20 {
            let place = with_a_log(true);
            let injected = format!("{calls}:error=EIO:when={number}");
            let Outcome { output, is_hit } = traced(&place, &injected, calls, Stdio::null(), words);
            let said = text(&output.stderr);
            if !is_hit {
                break;
            }
            let is_started = said.contains("it is on record nevertheless: record ");
            assert_eq!(is_started, may_start && said.contains("closed well"), "{said}");
            assert!(is_started || !said.contains("LOOP-"), "{said}");
            closed_badly += u32::from(said.contains("closed well"));
            without_room += u32::from(said.contains("the end of the run, in `runs/`"));
        }
    }
    assert!(closed_badly > 1 && without_room > 0, "{closed_badly} {without_room}");
}

/// A command that prints before and behind a pause in which that goes on record.
const IN_TWO_PIECES: &str = "touch ran; echo hello; sleep 0.2; echo world; exit 7";

/// One call of the log fails after the command began: what it came to is in the log or the run's
/// own file, and once on the log when the next writer came by.
#[test]
fn the_end_and_the_output_are_kept_whichever_write_to_the_log_fails_behind_the_start() {
    if !is_possible() {
        return;
    }
    let mut hits = 0;
    for (calls, error) in [("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fdatasync", "EIO")] {
        for number in part((2..CALLS_MAX).collect(), 12) {
            let place = with_a_log(true);
            let injected = format!("{calls}:error={error}:when={number}");
            let options = ["run", "--hold", "never", "--flush", "10ms", "--"];
            let words = [&options[..], &["sh", "-c", IN_TWO_PIECES]].concat();
            let Outcome { output, is_hit } =
                traced(&place, &injected, calls, Stdio::null(), &words);
            if !is_hit {
                break;
            }
            if !place.directory.path().join("ran").exists() {
                continue;
            }
            hits += 1;
            let said = text(&output.stderr);
            assert_eq!(status(&output), 7, "{injected}: {said}");
            assert!(!said.contains("not on the log"), "{injected}: {said}");
            assert_eq!(status(&place.holdpoint(&["decision", "expire"])), 0, "{injected}: {said}");
            let runs = text(&place.holdpoint(&["runs", "-n1", "--json"]).stdout).to_string();
            let run: Value = serde_json::from_str(runs.lines().next().unwrap()).unwrap();
            assert_eq!((&run["outcome"], &run["exit_status"]), (&"failed".into(), &7.into()));
            let shown =
                place.holdpoint(&["output", run["run"].as_str().unwrap(), "--stream", "stdout"]);
            assert_eq!((status(&shown), text(&shown.stdout).as_str()), (0, "hello\nworld\n"));
            let records = text(&place.holdpoint(&["log", "--json"]).stdout).to_string();
            // One of the run before.
            let ends = records.lines().filter(|line| line.contains("response_evaluated"));
            assert_eq!(ends.count(), 2, "{injected}: {said}");
            assert_eq!(std::fs::read_dir(place.log.join("runs")).unwrap().count(), 0, "{injected}");
            place.verified();
        }
    }
    assert!(hits > 0);
}

#[test]
fn crash_every_failing_call_under_apply_exits_1_and_what_was_answered_is_there() {
    if !is_possible() {
        return;
    }
    for injection in &INJECTIONS {
        let (hits, told) = fail_each(injection, apply_once, 1, |place, output| {
            let answered = acknowledged(output);
            assert_goes_on(place);
            assert!(newest(place) >= answered);
        });
        assert!(told > 0 && hits >= told, "{} {}", injection.calls, injection.error);
        println!("apply: {} {}: {hits} failed, {told} told", injection.calls, injection.error);
    }
}

/// The kernel reports a failed sync once, and the next one succeeds.
#[test]
fn crash_after_one_failed_sync_apply_answers_nothing_more_and_the_next_opener_takes_over() {
    if !is_possible() {
        return;
    }
    let place = with_a_log(true);
    let before = newest(&place);
    let Outcome { output, .. } = apply_once(&place, "fdatasync:error=EIO:when=3", "fdatasync");
    let said = text(&output.stderr);
    assert_eq!(status(&output), 1, "{said}");
    let cause = "cannot sync segments/00000000000000000001.seg: Input/output error";
    assert!(said.contains(cause), "{said}");
    assert_eq!(lock_state(&place), Some(OwnerState::Poisoned));
    let answered = acknowledged(&output);
    assert!(answered > before);
    let errors = json_lines(&output).iter().filter(|line| line["receipt"].is_null()).count();
    assert!(errors <= 1, "{}", text(&output.stdout));
    // Nobody told the reader; it reads what is there, and says what is not proven.
    assert_eq!(status(&place.holdpoint(&["verify"])), 0);
    assert_goes_on(&place);
    assert!(newest(&place) > answered);
    assert_eq!(lock_state(&place), Some(OwnerState::Idle));
}
