//! What the executor promises about the process that embeds it: its signals, its terminal and its
//! memory.
//!
//! Each promise is kept by running this test program once more, in a role of its own.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use holdpoint_engine::executor::{
    CommandSpec, Discard, NoSignals, PassThrough, SignalState, Signals, Stdin, execute,
};
use rustix::process::{Pid, Signal};
use sha2::{Digest, Sha256};
use signal_hook::low_level::raise;

/// Names the role that a further run of this program plays.
const ROLE: &str = "HOLDPOINT_EXECUTOR_TEST_ROLE";

fn shell(script: &str) -> CommandSpec {
    CommandSpec {
        program: "sh".into(),
        arguments: ["-c", script].map(OsString::from).into(),
        directory: "/".into(),
        environment: vec![("PATH", "/usr/local/bin:/usr/bin:/bin").into()],
        signals: SignalState::default(),
        stdin: Stdin::Null,
        timeout: None,
        max_memory_bytes: None,
        max_output_bytes: 1000,
        guard: None,
    }
}

fn in_own_process(role: &str) -> Command {
    in_own_process_under(role, "env", &[])
}

/// Whoever runs the tests may ignore signals, as a shell lets what it starts in the background do,
/// and so would a role. What is handled here is not ignored there.
fn heed_signals() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        let applies = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_default(signal, applies).expect("a handler");
    }
}

fn in_own_process_under(role: &str, wrapper: &str, arguments: &[&str]) -> Command {
    heed_signals();
    let mut command = Command::new(wrapper);
    command.args(arguments).arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", "plays_its_role", "--nocapture"]).env(ROLE, role);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command
}

#[test]
fn plays_its_role() {
    match std::env::var(ROLE).as_deref() {
        Ok("interrupted") => play_interrupted(),
        Ok("too early") => play_too_early(),
        Ok("installed and dropped") => play_installed_and_dropped(),
        Ok("huge output") => play_huge_output(),
        Ok("own terminal") => play_own_terminal(),
        Ok(other) => panic!("no such role: {other}"),
        Err(_) => {}
    }
}

fn play_interrupted() {
    let mut signals = Signals::install().expect("handlers");
    let mut sink = PassThrough::to_own_streams();
    let script = "exec 2> /dev/null; trap 'echo caught; exit 4' TERM; echo; echo ready
        while :; do sleep 0.02; done";
    let report = execute(&shell(script), &mut sink, &mut signals).expect("the command starts");
    println!("{:?} {} {:?}", report.outcome, report.exit_status, signals.interrupted());
}

fn play_too_early() {
    let mut signals = Signals::install().expect("handlers");
    raise(libc::SIGINT).expect("it is our own thread");
    let before = signals.interrupted();
    let report =
        execute(&shell("exec sleep 100"), &mut Discard, &mut signals).expect("the command starts");
    println!("\n{before:?} {:?} {:?}", report.outcome, signals.interrupted());
}

fn play_installed_and_dropped() {
    drop(Signals::install().expect("handlers"));
    let mut again = Signals::install().expect("handlers");
    raise(libc::SIGHUP).expect("it is our own thread");
    println!("\nkept {:?}", again.interrupted());
    drop(again);
    raise(libc::SIGHUP).expect("it is our own thread");
    println!("\nsurvived");
}

fn play_huge_output() {
    let spec = shell("yes | head -c 100000000");
    let report = execute(&spec, &mut Discard, &mut NoSignals).expect("the command starts");
    let status = fs::read_to_string("/proc/self/status").expect("a Linux system");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kept = report.stdout.bytes.len();
    let hex: String = report.stdout.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("\nhuge {kept} {} {hex} {}", report.stdout.true_length, peak.trim());
}

fn play_own_terminal() {
    let inherits = CommandSpec { stdin: Stdin::Inherit, ..shell("echo started") };
    let refused = execute(&inherits, &mut PassThrough::to_own_streams(), &mut NoSignals);
    println!("\nrefused {:?}", refused.map(drop));
    let spec = CommandSpec {
        stdin: Stdin::Terminal,
        ..shell("exec 3<>/dev/tty; test -t 0 && test -t 2 && echo terminal; read -r _; echo ended")
    };
    let mut sink = PassThrough::to_own_streams();
    let report = execute(&spec, &mut sink, &mut NoSignals).expect("the command starts");
    println!("\noutcome {:?}", report.outcome);
}

fn output_of(mut command: Command) -> (String, ExitStatus) {
    let output = command.output().expect("this program runs");
    (String::from_utf8(output.stdout).expect("text"), output.status)
}

#[test]
fn a_signal_to_the_embedding_process_reaches_the_command() {
    let mut child = in_own_process("interrupted").spawn().expect("this program runs");
    let pid = Pid::from_child(&child);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(lines.by_ref().any(|line| line.expect("text") == "ready"));
    rustix::process::kill_process(pid, Signal::TERM).expect("it runs");
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{status}: {rest:?}");
    assert!(rest.contains(&"caught".to_owned()), "{rest:?}");
    let (own, user) = (std::process::id(), rustix::process::getuid().as_raw());
    let sender = format!("Process {{ pid: Some({own}), uid: {user} }}");
    let expected = format!("Interrupted {{ signal: 15, origin: {sender} }} 4 Some(Terminate)");
    assert!(rest.contains(&expected), "{rest:?}");
}

#[test]
fn a_signal_before_the_command_runs_is_not_lost() {
    let (output, status) = output_of(in_own_process("too early"));
    assert!(status.success());
    let is_expected = |line: &str| {
        line.starts_with("Some(Interrupt) Interrupted { signal: 2, origin: Process")
            && line.ends_with("Some(Interrupt)")
    };
    assert!(output.lines().any(is_expected), "{output}");
}

#[test]
fn default_actions_come_back_when_the_handling_of_signals_is_dropped() {
    let (output, status) = output_of(in_own_process("installed and dropped"));
    assert!(output.contains("kept Some(Hangup)"), "{output}");
    assert!(!output.contains("survived"), "{output}");
    assert_eq!(status.signal(), Some(1));
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let ignoring = ["-c", "trap '' HUP; exec \"$0\" \"$@\""];
    let command = in_own_process_under("installed and dropped", "sh", &ignoring);
    let (output, status) = output_of(command);
    assert!(output.contains("kept None") && output.contains("survived"), "{output}");
    assert!(status.success());
}

#[test]
fn no_command_shares_the_terminal_and_without_a_guard_nobody_types_at_its_own() {
    let program = std::env::current_exe().expect("this program");
    let line = format!("exec '{}' --exact plays_its_role --nocapture", program.display());
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    script.env(ROLE, "own terminal").env("SHELL", "/bin/sh").stdin(Stdio::piped());
    let Ok(output) = script.output() else {
        eprintln!("skipped: there is no `script` here to make a terminal");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert!(said.contains("refused Err(InputIsTerminal)"), "{said}");
    assert!(said.contains("terminal\nended\n") && !said.contains("started"), "{said}");
    assert!(said.contains("outcome Exited { code: 0 }"), "{said}");
}

#[test]
fn a_huge_output_stays_bounded_in_memory() {
    let (output, _) = output_of(in_own_process("huge output"));
    let line = output.lines().find(|line| line.starts_with("huge ")).expect("a result");
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let mut digest = Sha256::new();
    (0..100).for_each(|_| digest.update([b'y', b'\n'].repeat(500_000)));
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(words[1..4], ["1000", "100000000", hex.as_str()]);
    let peak_kibibytes: u64 = words[4].parse().expect("a number");
    assert!(peak_kibibytes < 64 * 1024, "{line}");
}
