//! Exit 0 says that all was printed: what stdout or stderr does not take is lost, and no success.

use crate::apply_schema::{assert_fits, schemas};
use crate::apply_support::initialize;
use crate::program::{Place, json, status, text};
use holdpoint_testing::hand_made::HandMadeLog;
use rustix::pipe::fcntl_setpipe_size;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

/// The program on a log, with its streams redirected as a shell does it.
pub(crate) fn redirected(place: &Place, words: &[&str], how: &str) -> Output {
    let program = place.command(words);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec \"$@\" {how}")).arg0("sh").arg("sh");
    shell.arg(program.get_program()).args(program.get_args());
    shell.current_dir(program.get_current_dir().unwrap());
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.output().unwrap()
}

/// A log whose newest records have no witness, which is said beside what is shown of them.
fn without_witness() -> Place {
    let place = Place::new();
    let mut log = HandMadeLog::new();
    log.run();
    let head = log.head();
    log.run();
    log.write_with_head(&place.log, &head);
    place
}

#[test]
fn what_stdout_does_not_take_is_no_success_whether_it_is_closed_or_full() {
    let place = Place::with_log();
    place.shell("true");
    let verbs: [&[&str]; 7] = [
        &["runs"],
        &["verify", "--json"],
        &["log"],
        &["export"],
        &["completions", "bash"],
        &["--help"],
        &["runs", "--help"],
    ];
    for words in verbs {
        for how in [">&-", ">/dev/full"] {
            let output = redirected(&place, words, how);
            let said = text(&output.stderr);
            assert_eq!(status(&output), 1, "{words:?} {how}: {said}");
            assert!(said.contains("stdout"), "{words:?} {how}: {said}");
        }
        // Opened as callers do who want nothing of it, for reading and writing.
        let null = File::options().read(true).write(true).open("/dev/null").unwrap();
        let discarded = place.command(words).stdout(null).output().unwrap();
        assert_eq!(status(&discarded), 0, "{words:?}: {}", text(&discarded.stderr));
    }
}

#[test]
fn a_file_that_may_not_grow_is_a_stdout_that_takes_nothing() {
    let place = Place::with_log();
    place.shell("true");
    for words in [&["log"][..], &["verify", "--json"], &["--version"]] {
        let output = redirected(&place, words, ">limited");
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        let program = place.command(words);
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -f 0; exec \"$@\" >limited", "sh"]);
        shell.arg(program.get_program()).args(program.get_args());
        shell.current_dir(program.get_current_dir().unwrap());
        shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {:?}", output.status);
    }
}

#[test]
fn a_sentence_on_what_is_shown_that_stderr_does_not_take_is_no_success() {
    let place = without_witness();
    for words in [&["log"][..], &["runs"], &["export"], &["export", "--json"]] {
        let whole = place.holdpoint(words);
        assert_eq!(status(&whole), 0, "{words:?}");
        assert!(text(&whole.stderr).contains("witness"), "{}", text(&whole.stderr));
        for (how, due) in [("2>/dev/full", 1), ("2>&-", 1), ("2>/dev/null", 0)] {
            let output = redirected(&place, words, how);
            assert_eq!((status(&output), &output.stdout), (due, &whole.stdout), "{words:?} {how}");
        }
    }
    // Nothing is lost where there is nothing to say.
    assert_eq!(status(&redirected(&place, &["verify"], "2>/dev/full")), 0);
}

#[test]
fn a_command_that_was_run_ends_as_it_ended_whatever_was_lost_of_what_is_said_of_it() {
    let place = Place::with_log();
    for script in ["exit 0", "exit 7"] {
        let words = ["run", "--hold", "never", "--", "sh", "-c", script];
        let output = redirected(&place, &words, "2>/dev/full >&-");
        assert_eq!(status(&output).to_string(), script[5..], "{}", text(&output.stderr));
    }
}

/// All that comes out of a pipe that does not block, once it was full.
fn through_full_pipe(command: &mut Command, is_stdout: bool) -> (Option<i32>, Vec<u8>) {
    let (mut ours, theirs) = std::io::pipe().unwrap();
    fcntl_setpipe_size(&theirs, 4_096).unwrap();
    rustix::io::ioctl_fionbio(&theirs, true).unwrap();
    let theirs = OwnedFd::from(theirs);
    let (stdout, stderr) = match is_stdout {
        true => (Stdio::from(theirs), Stdio::null()),
        false => (Stdio::null(), Stdio::from(theirs)),
    };
    let mut child = command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn().unwrap();
    // The command's own copies of the end would keep the pipe open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    while rustix::io::ioctl_fionread(&ours).unwrap() < 4_096 {
        assert!(child.try_wait().unwrap().is_none(), "it printed less than the pipe holds");
        std::thread::yield_now();
    }
    let mut printed = Vec::new();
    ours.read_to_end(&mut printed).unwrap();
    (child.wait().unwrap().code(), printed)
}

#[test]
fn a_stream_that_does_not_block_and_is_full_is_waited_for_and_gets_all() {
    let place = Place::with_log();
    place.run(&["head", "-c", "60000", "/dev/zero"]);
    let run = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    for number in 0..20 {
        let stream = format!("stream-{number}");
        place.command(&["record", "--stream", &stream, "--type", "t"]).output().unwrap();
    }
    for words in [
        &["log", "--json"][..],
        &["log"],
        &["export"],
        &["output", &run],
        &["completions", "man"],
        &["completions", "bash"],
    ] {
        let whole = place.command(words).output().unwrap();
        assert!(whole.stdout.len() > 4_096, "{words:?} fills no pipe");
        let printed = through_full_pipe(&mut place.command(words), true);
        assert_eq!(printed.0, whole.status.code(), "{words:?}");
        assert!(printed.1 == whole.stdout, "{words:?}: {} bytes", printed.1.len());
    }
    let words = ["run", "--", "head", "-c", "1000000", "/dev/zero"];
    let (code, printed) = through_full_pipe(&mut place.command(&words), true);
    assert_eq!((code, printed.len()), (Some(0), 1_000_000));
    // What is said beside it is not lost either.
    let words = ["run", "--", "sh", "-c", "head -c 20000 /dev/zero >&2"];
    let (code, told) = through_full_pipe(&mut place.command(&words), false);
    assert_eq!((code, told.len()), (Some(0), 20_000));
}

/// What goes wrong behind the commit point says what is on record, in one value.
#[test]
fn an_error_behind_the_commit_point_names_the_record_and_what_it_is_about() {
    for words in [
        &["record", "--stream", "orders", "--type", "t"][..],
        &["decision", "create", "--prompt", "May it?", "--option", "a:A"],
    ] {
        let place = Place::with_log();
        // HEAD cannot be replaced when the log is closed.
        std::fs::create_dir(place.log.join("HEAD.tmp")).unwrap();
        let output = place.command(&[words, &["--json"]].concat()).output().unwrap();
        assert_eq!(status(&output), 1, "{}", text(&output.stderr));
        let error = &json(&output)["error"];
        let sequence = error["recorded"]["sequence"].as_u64().unwrap();
        let id = error["recorded"]["id"].as_str().unwrap();
        let said = format!("it is on record nevertheless: record {sequence}, {id}");
        assert!(error["message"].as_str().unwrap().contains(&said), "{error}");
        std::fs::remove_dir(place.log.join("HEAD.tmp")).unwrap();
        let shown = place.command(&["log", "--since", &sequence.to_string(), "--json"]);
        let shown = { shown }.output().unwrap();
        assert!(text(&shown.stdout).contains(id), "{words:?}: {id}");

        // Stdout takes nothing: the sentence says it.
        let output = redirected(&place, words, ">/dev/full");
        assert_eq!(status(&output), 1);
        assert!(text(&output.stderr).contains("it is on record nevertheless: record "));
    }
}

/// A line that begins a loop.
fn submit(digit: &str) -> String {
    serde_json::json!({ "submit": initialize(&digit.repeat(32)) }).to_string()
}

#[test]
fn an_apply_whose_answers_are_lost_or_whose_log_is_not_closed_well_names_the_record() {
    let place = Place::with_log();
    let line = submit("1");
    let other = submit("2");
    std::fs::write(place.directory.path().join("lines"), line).unwrap();
    let output = redirected(&place, &["apply", "lines"], ">/dev/full");
    let said = text(&output.stderr);
    assert_eq!(status(&output), 1, "{said}");
    assert!(said.contains("it is on record nevertheless: record "), "{said}");
    std::fs::write(place.directory.path().join("lines"), other).unwrap();
    std::fs::create_dir(place.log.join("HEAD.tmp")).unwrap();
    let output = place.command(&["apply", "lines"]).output().unwrap();
    let answers = text(&output.stdout);
    let answers: Vec<serde_json::Value> =
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let recorded = &answers[1]["error"]["recorded"];
    assert_eq!(recorded["sequence"], answers[0]["receipt"]["last_sequence"], "{answers:?}");
    assert_eq!(recorded["id"], answers[0]["receipt"]["loop_id"]);
    answers.iter().for_each(|answer| assert_fits(&schemas()["output"], answer));
    assert_eq!(status(&output), 1);
    assert!(text(&output.stderr).contains("it is on record nevertheless: record "));
}
