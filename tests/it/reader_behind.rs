//! Recorded first, shown behind: a reader who stopped, is slow or left delays neither the end on
//! record nor a limit nor a signal, and gets what is left once it reads again.

use crate::program::{Place, json, status, text};
use crate::streams::redirected;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

/// A run whose standard output is read by nobody yet: what a pipe holds is in it already.
struct Unread {
    place: Place,
    child: Child,
    reader: PipeReader,
    filler: usize,
}

impl Unread {
    fn start(options: &[&str], script: &str) -> Self {
        let place = Place::with_log();
        let words = [&["run", "--hold", "never"], options, &["--", "sh", "-c", script]].concat();
        let mut command = place.command(&words);
        let (reader, writer) = io::pipe().unwrap();
        let filler = fill(&writer);
        command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(OwnedFd::from(writer));
        let child = command.spawn().unwrap();
        Self { place, child, reader, filler }
    }

    /// The newest run, once it is over on record, while its output is unread as before.
    fn ended(&mut self) -> Value {
        loop {
            let listed = self.place.holdpoint(&["runs", "--json"]);
            assert_eq!(status(&listed), 0, "{}", text(&listed.stderr));
            let run = text(&listed.stdout).lines().next().map(|line| line.to_string());
            let run = run.map(|line| serde_json::from_str::<Value>(&line).unwrap());
            if let Some(run) = run.filter(|run| run["ended_at"].is_string()) {
                return run;
            }
            std::thread::yield_now();
        }
    }

    fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    fn signal(&self, signal: Signal) {
        let process = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(process, signal).unwrap();
    }

    /// Reads to the end: the status, and what the command printed.
    fn read(mut self) -> (Option<i32>, Vec<u8>) {
        let mut printed = Vec::new();
        self.reader.read_to_end(&mut printed).unwrap();
        (self.child.wait().unwrap().code(), printed.split_off(self.filler))
    }
}

/// Fills a pipe; gives how many bytes it took.
fn fill(writer: &io::PipeWriter) -> usize {
    rustix::io::ioctl_fionbio(writer, true).unwrap();
    let mut filled = 0;
    while let Ok(taken) = (&*writer).write(&[b'-'; 4096]) {
        filled += taken;
    }
    rustix::io::ioctl_fionbio(writer, false).unwrap();
    filled
}

const WITH_AND_WITHOUT_TERMINAL: [&[&str]; 2] = [&[], &["--tty"]];

#[test]
fn the_end_is_on_record_before_the_rest_is_shown_and_the_rest_is_shown() {
    for options in WITH_AND_WITHOUT_TERMINAL {
        let mut run = Unread::start(options, "seq 500; exit 7");
        let ended = run.ended();
        assert_eq!(ended["exit_status"], 7, "{ended}");
        assert!(!run.is_over(), "{options:?}: what is left waits for its reader");
        let (code, printed) = run.read();
        assert_eq!(code, Some(7));
        let lines = String::from_utf8(printed).unwrap().replace('\r', "");
        let expected: String = (1..=500).map(|number| format!("{number}\n")).collect();
        assert_eq!(lines, expected, "{options:?}");
    }
}

#[test]
fn a_limit_and_a_signal_are_on_record_at_once_though_nobody_reads() {
    for options in WITH_AND_WITHOUT_TERMINAL {
        for (limit, due) in [(&["--timeout", "1s"][..], 124), (&[], 143)] {
            let mut run =
                Unread::start(&[options, limit].concat(), "seq 500; echo > begun; exec yes");
            let begun = run.place.directory.path().join("begun");
            while !begun.exists() {
                std::thread::yield_now();
            }
            if limit.is_empty() {
                run.signal(Signal::TERM);
            }
            let ended = run.ended();
            let took_ns = ended["took_ns"].as_u64().unwrap();
            // A second behind the limit `yes` would be killed, and a sink was waited for longer.
            assert!(took_ns < 2_800_000_000, "{options:?} {limit:?}: {ended}");
            assert!(!run.is_over());
            let id = ended["run"].as_str().unwrap().to_string();
            let recorded = run.place.holdpoint(&["output", &id, "--stream", "stdout"]).stdout;
            let (code, printed) = run.read();
            assert_eq!(code, Some(due), "{options:?}");
            assert_eq!(printed, recorded, "{options:?}: what is on record is shown");
        }
    }
}

#[test]
fn a_reader_that_leaves_and_a_second_signal_end_what_is_left() {
    let mut run = Unread::start(&[], "seq 500; exit 7");
    run.ended();
    let Unread { mut child, reader, .. } = run;
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(7));

    let mut run = Unread::start(&[], "seq 500; exit 7");
    run.ended();
    run.signal(Signal::TERM);
    assert_eq!(run.child.wait().unwrap().code(), Some(7), "the status is the command's own");
    run.place.verified();
}

#[test]
fn a_command_waits_for_its_reader_as_it_would_without_us() {
    let script = "seq 100000; echo > done";
    let mut run = Unread::start(&[], script);
    let done = run.place.directory.path().join("done");
    let mut piece = vec![0; run.filler];
    // Nothing was read: it cannot have written more than two pipes hold, and one read more.
    while !text(&run.place.holdpoint(&["runs"]).stdout).contains("running") {
        std::thread::yield_now();
    }
    assert!(!done.exists() && !run.is_over());
    run.reader.read_exact(&mut piece).unwrap();
    run.filler = 0;
    let (code, printed) = run.read();
    assert_eq!((code, printed.len()), (Some(0), 588_895));
}

#[test]
fn output_that_stdout_does_not_take_is_said_with_the_record_and_its_run() {
    let place = Place::with_log();
    let words = ["run", "--hold", "never", "--", "sh", "-c", "echo out; exit 3"];
    let output = redirected(&place, &words, ">/dev/full");
    let said = text(&output.stderr);
    assert_eq!(status(&output), 3, "{said}");
    assert!(said.contains("not all of the command's stdout was passed on"), "{said}");
    assert!(said.contains("it is on record nevertheless: record "), "{said}");
    let id = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    assert!(said.contains(&id), "{said}");
    assert_eq!(place.holdpoint(&["output", &id, "--stream", "stdout"]).stdout, b"out\n");
}

/// HEAD cannot be replaced when the log is closed.
#[test]
fn a_run_whose_log_was_not_closed_well_is_one_value_that_names_the_record() {
    for (script, due) in [("exit 0", 125), ("exit 3", 3)] {
        let place = Place::with_log();
        std::fs::create_dir(place.log.join("HEAD.tmp")).unwrap();
        let words = ["run", "--hold", "never", "--json", "--", "sh", "-c", script];
        let output = place.command(&words).output().unwrap();
        assert_eq!(status(&output), due, "{}", text(&output.stderr));
        let told = json(&output);
        let recorded = &told["error"]["recorded"];
        assert_eq!(recorded["id"], told["loop_id"], "{told}");
        assert_eq!(recorded["sequence"], told["records"]["last"], "{told}");
        assert_eq!((&told["exit_status"], &told["reason"].is_string()), (&due.into(), &true));
        let said = text(&output.stderr);
        assert!(said.contains("it is on record nevertheless: record "), "{said}");
    }
}

/// What is told of a run whose value stdout does not take.
#[test]
fn a_value_that_stdout_does_not_take_is_told_with_the_record() {
    let place = Place::with_log();
    let words = ["run", "--hold", "never", "--json", "--", "true"];
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = place.command(&words).stdout(full).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(status(&output), 125, "{said}");
    assert!(said.contains("it is on record nevertheless: record "), "{said}");
}
