//! The executor runs real commands and reports plain facts.
//!
//! Every test runs real processes. None of them sleeps or measures time: what must have happened
//! is read from the report, and the end of a stream proves that all its writers are gone.
//! Commands under test that would run for long are ended by the executor itself.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use holdpoint_engine::executor::{
    CommandSpec, Discard, ExecuteError, ExecutionReport, ForwardedSignal, NoSignals, Obstacle,
    OpenProgramError, OpenedProgram, Outcome, OutputSink, OutputStream, PassThrough, SignalOrigin,
    SignalSender, SignalState, StartRefusal, Stdin, Variable, execute, execute_opened, resolve,
    signal_channel, signal_name,
};
use sha2::{Digest, Sha256};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
pub(super) const MEBIBYTE: u64 = 1024 * 1024;

/// Whoever runs the tests may ignore signals, as a shell lets what it starts in the background do,
/// and so would every command. What is handled here is not ignored there.
static SIGNALS_HEEDED: LazyLock<()> = LazyLock::new(|| {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        let applies = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_default(signal, applies).expect("a handler");
    }
});

fn spec(program: &str, arguments: &[&str]) -> CommandSpec {
    LazyLock::force(&SIGNALS_HEEDED);
    CommandSpec {
        program: program.into(),
        arguments: arguments.iter().map(OsString::from).collect(),
        directory: "/".into(),
        environment: vec![("PATH", PATH).into()],
        signals: SignalState::default(),
        stdin: Stdin::Null,
        timeout: None,
        max_memory_bytes: None,
        max_output_bytes: MEBIBYTE,
        guard: None,
    }
}

pub(super) fn shell(script: &str) -> CommandSpec {
    spec("sh", &["-c", script])
}

pub(super) fn run(spec: &CommandSpec) -> ExecutionReport {
    execute(spec, &mut Discard, &mut NoSignals).expect("the command starts")
}

fn refusal(spec: &CommandSpec) -> StartRefusal {
    let error = execute(spec, &mut Discard, &mut NoSignals).expect_err("it cannot be started");
    match error {
        ExecuteError::Refused(refusal) => refusal,
        other => unreachable!("not a refusal: {other}"),
    }
}

/// Writes a file by a process of its own: a descriptor that is open for writing in this one could
/// be inherited by a command that another test starts at this moment, and make the file busy.
fn write_file(path: &Path, mode: &str, text: &str) {
    let script = "printf %s \"$3\" > \"$1\" && chmod \"$2\" \"$1\"";
    let path = path.to_str().expect("a temporary path is text");
    assert_eq!(run(&spec("sh", &["-c", script, "sh", path, mode, text])).exit_status, 0);
}

/// Keeps what passes through, and sends signals when the command says that it is ready.
#[derive(Default)]
struct Watcher {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    when_ready: Vec<(SignalSender, ForwardedSignal)>,
}

impl OutputSink for Watcher {
    fn accept(&mut self, stream: OutputStream, chunk: &[u8]) -> io::Result<usize> {
        match stream {
            OutputStream::Stdout => self.stdout.extend_from_slice(chunk),
            OutputStream::Stderr => self.stderr.extend_from_slice(chunk),
        }
        if self.stdout.starts_with(b"ready\n") {
            for (sender, signal) in self.when_ready.drain(..) {
                sender.send(signal)?;
            }
        }
        Ok(chunk.len())
    }
}

/// The end of a command that a signal of the channel ended: who sent it is not known.
fn interrupted(signal: i32) -> Outcome {
    Outcome::Interrupted { signal, origin: SignalOrigin::Unknown }
}

/// Runs a script and sends it these signals once it has printed `ready`.
fn run_and_signal(script: &str, signals: &[ForwardedSignal]) -> ExecutionReport {
    let (sender, mut receiver) = signal_channel().expect("descriptors");
    let when_ready = signals.iter().map(|signal| (sender.clone(), *signal)).collect();
    let mut watcher = Watcher { when_ready, ..Watcher::default() };
    execute(&shell(script), &mut watcher, &mut receiver).expect("the command starts")
}

#[test]
fn both_streams_pass_through_and_are_captured() {
    let mut watcher = Watcher::default();
    let report = execute(&shell("echo out; echo err >&2"), &mut watcher, &mut NoSignals)
        .expect("the command starts");
    assert_eq!(report.outcome, Outcome::Exited { code: 0 });
    assert_eq!((report.stdout.bytes.as_slice(), &*watcher.stdout), (&b"out\n"[..], &b"out\n"[..]));
    assert_eq!((report.stderr.bytes.as_slice(), &*watcher.stderr), (&b"err\n"[..], &b"err\n"[..]));
    assert!(report.stdout.end_seen && report.stderr.end_seen);
    assert!(!report.left_behind && report.sink_failure.is_none());
}

#[test]
fn a_capture_is_bounded_and_knows_the_length_and_digest_of_the_whole() {
    let whole = b"0123456789";
    for limit in 0..=12 {
        let spec = CommandSpec { max_output_bytes: limit, ..spec("printf", &["%s", "0123456789"]) };
        let captured = run(&spec).stdout;
        let kept = usize::try_from(limit.min(10)).expect("small");
        let head = if kept < 10 { kept.div_ceil(2) } else { kept };
        let ends = [&whole[..head], &whole[10 - (kept - head)..]].concat();
        assert_eq!(captured.bytes, ends, "limit {limit}");
        assert_eq!(captured.head_length, head as u64, "limit {limit}");
        assert_eq!(captured.true_length, 10);
        assert_eq!(captured.truncated, limit < 10, "limit {limit}");
        assert_eq!(captured.sha256, <[u8; 32]>::from(Sha256::digest(whole)));
    }
}

#[test]
fn every_exit_code_is_reported() {
    for code in 0..=u8::MAX {
        let report = run(&spec("sh", &["-c", "exit $1", "sh", &code.to_string()]));
        assert_eq!((report.outcome, report.exit_status), (Outcome::Exited { code }, code));
    }
}

#[test]
fn death_by_a_signal_is_reported_with_its_number() {
    for name in ["HUP", "INT", "QUIT", "ABRT", "SEGV", "SYS", "KILL", "TERM", "PIPE", "USR1"] {
        let report = run(&spec("sh", &["-c", "ulimit -c 0; kill -s $1 $$", "sh", name]));
        let Outcome::Signaled { signal, core_dumped } = report.outcome else {
            panic!("{name}: {:?}", report.outcome);
        };
        assert_eq!(signal_name(signal), Some(format!("SIG{name}").as_str()));
        assert_eq!(i32::from(report.exit_status), 128 + signal);
        assert!(!core_dumped, "{name}");
    }
}

#[test]
fn a_timeout_ends_the_command() {
    let spec = CommandSpec { timeout: Some(Duration::from_millis(50)), ..shell("sleep 100") };
    let report = run(&spec);
    assert_eq!((report.outcome, report.exit_status), (Outcome::TimedOut, 128 + 15));
}

#[test]
fn a_timeout_kills_the_whole_group_even_when_it_ignores_the_request() {
    let script = "trap '' TERM; (trap '' TERM; sleep 100; sleep 100) & sleep 100; sleep 100";
    let spec = CommandSpec { timeout: Some(Duration::from_millis(200)), ..shell(script) };
    let report = run(&spec);
    assert_eq!(report.outcome, Outcome::TimedOut);
    // The grandchildren held the streams, so the streams have ended with them.
    assert!(report.stdout.end_seen && report.stderr.end_seen);
}

#[test]
fn a_stopped_command_is_ended_by_its_timeout_as_well() {
    let spec = CommandSpec { timeout: Some(Duration::from_millis(50)), ..shell("kill -STOP $$") };
    assert_eq!(run(&spec).outcome, Outcome::TimedOut);
}

#[test]
fn a_stray_process_of_the_group_is_killed_and_said_to_be_left_behind() {
    for script in ["sleep 100 & echo done", "sleep 100 > /dev/null 2>&1 & echo done"] {
        let report = run(&shell(script));
        assert_eq!(report.outcome, Outcome::Exited { code: 0 });
        assert!(report.left_behind, "{script}");
        assert!(report.stdout.end_seen, "{script}");
        assert_eq!(report.stdout.bytes, b"done\n");
    }
}

#[test]
fn a_stray_process_that_writes_without_end_does_not_hold_us() {
    let spec = CommandSpec { max_output_bytes: 16, ..shell("yes & echo done >&2") };
    let report = run(&spec);
    assert_eq!(report.outcome, Outcome::Exited { code: 0 });
    assert!(report.left_behind && report.stdout.end_seen);
}

#[test]
fn a_process_that_left_the_group_with_the_stream_is_not_waited_for() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let script = "setsid sh -c 'echo > left; exec sleep 5' &
        while [ ! -e left ]; do sleep 0.01; done; echo done";
    let spec = CommandSpec { directory: folder.path().into(), ..shell(script) };
    let report = run(&spec);
    assert_eq!(report.outcome, Outcome::Exited { code: 0 });
    assert_eq!(report.stdout.bytes, b"done\n");
    assert!(!report.stdout.end_seen && !report.left_behind);
}

#[test]
fn background_work_that_ends_soon_is_waited_for_and_not_left_behind() {
    let report = run(&shell("(sleep 0.05; echo late) & echo early"));
    assert_eq!(report.stdout.bytes, b"early\nlate\n");
    assert!(!report.left_behind);
}

#[test]
fn processor_time_of_the_command_is_told() {
    let report = run(&shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"));
    assert!(report.user_cpu + report.system_cpu > Duration::ZERO);
    assert!(report.wall > Duration::ZERO);
}

#[test]
fn an_interrupt_reaches_the_command_and_is_the_outcome_whatever_the_status() {
    let dies = "echo ready; exec sleep 100";
    let report = run_and_signal(dies, &[ForwardedSignal::Interrupt]);
    assert_eq!(report.outcome, interrupted(2));
    assert_eq!(report.exit_status, 128 + 2);
    let obeys = "trap 'echo bye; exit 0' INT; echo ready; while :; do sleep 0.02; done";
    let report = run_and_signal(obeys, &[ForwardedSignal::Interrupt]);
    assert_eq!(report.outcome, interrupted(2));
    assert_eq!((report.exit_status, &*report.stdout.bytes), (0, &b"ready\nbye\n"[..]));
}

#[test]
fn every_signal_that_asks_for_the_end_interrupts() {
    for signal in ForwardedSignal::ALL.into_iter().filter(|signal| signal.asks_for_the_end()) {
        let report = run_and_signal("ulimit -c 0; echo ready; exec sleep 100", &[signal]);
        assert_eq!(report.outcome, interrupted(signal.number()));
    }
}

#[test]
fn a_second_interrupt_kills_a_command_that_ignores_the_first() {
    let script = "trap '' INT TERM; echo ready; sleep 100; sleep 100";
    let signals = [ForwardedSignal::Interrupt, ForwardedSignal::Terminate];
    let report = run_and_signal(script, &signals);
    assert_eq!(report.outcome, interrupted(2));
    assert_eq!(report.exit_status, 128 + 9);
}

#[test]
fn a_signal_that_does_not_ask_for_the_end_is_passed_on_and_is_no_interrupt() {
    let script = "trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.02; done";
    let report = run_and_signal(script, &[ForwardedSignal::User1]);
    assert_eq!(report.outcome, Outcome::Exited { code: 3 });
    assert_eq!(report.stdout.bytes, b"ready\ngot\n");
}

#[test]
fn a_program_that_is_not_there_is_refused_with_127() {
    let long = "a".repeat(256);
    let below = format!("/{long}/program");
    let programs =
        ["no-such-program-here", "/no/such/program", "./none", "", "sh\0", &long, &below];
    for program in programs {
        let refusal = refusal(&spec(program, &[]));
        assert!(matches!(refusal, StartRefusal::NotFound { .. }), "{refusal:?}");
        assert_eq!(refusal.exit_status(), 127);
        let is_long = refusal.to_string().contains("a name of 256 bytes");
        assert_eq!(is_long, program.len() >= long.len(), "{refusal}");
    }
}

#[test]
fn a_program_that_cannot_be_executed_is_refused_with_126() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    write_file(&folder.path().join("plain"), "644", "#!/bin/sh\n");
    let cases = [
        ("./plain", Obstacle::Permission),
        ("/usr/bin/", Obstacle::Directory),
        ("/dev/null", Obstacle::SpecialFile),
    ];
    for (program, expected) in cases {
        let refusal =
            refusal(&CommandSpec { directory: folder.path().into(), ..spec(program, &[]) });
        assert_eq!(refusal.exit_status(), 126);
        let path = program.into();
        assert_eq!(refusal, StartRefusal::NotExecutable { path, obstacle: expected });
    }
}

#[test]
fn a_missing_interpreter_is_refused_with_127() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("script");
    write_file(&path, "755", "#!/no/such/interpreter\n");
    let refusal = refusal(&spec(path.to_str().expect("text"), &[]));
    assert_eq!(refusal, StartRefusal::InterpreterNotFound { path });
    assert_eq!(refusal.exit_status(), 127);
}

#[test]
fn a_search_passes_over_what_cannot_be_executed_and_remembers_it() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (name, mode) in [("first", "644"), ("second", "755")] {
        fs::create_dir(folder.path().join(name)).expect("a new directory");
        write_file(&folder.path().join(name).join("tool"), mode, "#!/bin/sh\nexit 7\n");
    }
    let find = |path: &str| resolve(OsStr::new("tool"), Some(OsStr::new(path)), folder.path());
    assert_eq!(find("none:first:second"), Ok("second/tool".into()));
    assert!(matches!(find("first:none"), Err(StartRefusal::NotExecutable { .. })));
    assert!(matches!(find("none"), Err(StartRefusal::NotFound { .. })));
    assert!(matches!(find(""), Err(StartRefusal::NotFound { .. })));
    let spec = CommandSpec {
        directory: folder.path().into(),
        environment: vec![("PATH", "first:second").into()],
        signals: SignalState::default(),
        ..spec("tool", &[])
    };
    assert_eq!(run(&spec).outcome, Outcome::Exited { code: 7 });
}

#[test]
fn a_directory_that_cannot_be_entered_is_an_error_about_the_directory() {
    for directory in ["/no/such/directory", "/dev/null", ""] {
        let spec = CommandSpec { directory: directory.into(), ..spec("/bin/sh", &[]) };
        let result = execute(&spec, &mut Discard, &mut NoSignals);
        assert!(matches!(result, Err(ExecuteError::Directory { .. })), "{result:?}");
    }
}

#[test]
fn the_environment_is_exactly_what_was_given() {
    let mut spec = spec("env", &[]);
    spec.environment.push(("ZERO", "").into());
    spec.environment.push(("GREETING", "first").into());
    spec.environment.push(("GREETING", "last").into());
    spec.environment.push(Variable::of_entry(OsString::from_vec(b"RAW=\xff\xfe".to_vec())));
    for entry in ["WORDLESS", "=odd", ""] {
        spec.environment.push(Variable::of_entry(entry.into()));
    }
    spec.program = "cat".into();
    spec.arguments = vec!["/proc/self/environ".into()];
    let whole = b"ZERO=\0GREETING=first\0GREETING=last\0RAW=\xff\xfe\0WORDLESS\0=odd\0\0";
    let path = format!("PATH={PATH}\0");
    assert_eq!(run(&spec).stdout.bytes, [path.as_bytes(), whole].concat());
    spec = spec.env("GREETING", "only");
    assert_eq!(spec.variable("GREETING"), Some(OsStr::new("only")));
}

#[test]
fn arguments_reach_the_command_byte_for_byte() {
    let raw = OsString::from_vec((1..=u8::MAX).collect());
    let mut spec = spec("printf", &["%s|", "a b", "", "$HOME"]);
    spec.arguments.push(raw.clone());
    let expected = [b"a b||$HOME|", raw.as_bytes(), b"|"].concat();
    assert_eq!(run(&spec).stdout.bytes, expected);
}

#[test]
fn an_argument_that_no_command_could_get_is_an_error() {
    let result = execute(&spec("echo", &["a\0b"]), &mut Discard, &mut NoSignals);
    assert!(matches!(result, Err(ExecuteError::Start { .. })), "{result:?}");
}

#[test]
fn the_command_has_the_directory_and_name_that_were_given_and_no_input() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let script = "pwd -P; echo $0; read line || echo end";
    let spec = CommandSpec { directory: folder.path().into(), ..shell(script) };
    let place = folder.path().canonicalize().expect("it is there");
    let expected = format!("{}\nsh\nend\n", place.display());
    assert_eq!(String::from_utf8_lossy(&run(&spec).stdout.bytes), expected);
}

#[test]
fn the_command_leads_a_group_of_its_own() {
    let report = run(&shell("read -r pid _ _ _ group _ < /proc/$$/stat; echo $((pid - group))"));
    assert_eq!(report.stdout.bytes, b"0\n");
}

#[test]
fn the_command_inherits_no_descriptor_of_ours() {
    let (_reading, _writing) = io::pipe().expect("descriptors");
    let listing = ["ls", "/proc/self/fd"];
    // What this test program was itself started with is passed on, as to any child.
    let output = Command::new(listing[0]).arg(listing[1]).stdin(Stdio::null()).output();
    let expected = output.expect("ls runs").stdout;
    assert_eq!(run(&spec(listing[0], &listing[1..])).stdout.bytes, expected);
}

#[test]
fn a_closed_sink_loses_no_capture_and_kills_no_command() {
    let (reading, writing) = io::pipe().expect("descriptors");
    drop(reading);
    let mut sink = PassThrough::new(&writing, &writing);
    let report = execute(&shell("seq 100000; exit 5"), &mut sink, &mut NoSignals)
        .expect("the command starts");
    assert_eq!(report.outcome, Outcome::Exited { code: 5 });
    assert_eq!(report.stdout.true_length, 588_895);
    let failure = report.sink_failure.expect("the sink is closed");
    assert_eq!(failure.stream, OutputStream::Stdout);
    assert_eq!(failure.source.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn a_reader_that_never_reads_does_not_keep_the_timeout_away() {
    let (_reading, writing) = io::pipe().expect("descriptors");
    let mut sink = PassThrough::new(&writing, &writing);
    let spec = CommandSpec { timeout: Some(Duration::from_millis(200)), ..spec("yes", &[]) };
    let report = execute(&spec, &mut sink, &mut NoSignals).expect("the command starts");
    assert_eq!(report.outcome, Outcome::TimedOut);
    assert!(report.stdout.end_seen);
    let failure = report.sink_failure.expect("nobody read it");
    assert_eq!(failure.source.kind(), io::ErrorKind::TimedOut);
}

#[test]
fn a_slow_reader_gets_everything_after_the_command_has_ended() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let fifo = folder.path().join("over");
    let fifo_name = fifo.to_str().expect("a temporary path is text");
    assert_eq!(run(&spec("mkfifo", &[fifo_name])).exit_status, 0);
    let (mut reading, writing) = io::pipe().expect("descriptors");
    let reader = std::thread::spawn(move || {
        // The command holds the other end of the fifo until it ends.
        fs::read(fifo).expect("a fifo");
        let mut text = Vec::new();
        reading.read_to_end(&mut text).expect("a pipe");
        text
    });
    let mut sink = PassThrough::new(&writing, &writing);
    // More than one pipe holds, so that the sink is behind; less than two, so that the command
    // can end all the same.
    let spec = CommandSpec { directory: folder.path().into(), ..shell("exec 3> over; seq 20000") };
    let report = execute(&spec, &mut sink, &mut NoSignals).expect("the command starts");
    assert_eq!(report.outcome, Outcome::Exited { code: 0 });
    assert!(report.sink_failure.is_none() && !report.left_behind);
    drop(writing);
    assert_eq!(reader.join().expect("the reader ends"), report.stdout.bytes);
    assert_eq!(report.stdout.true_length, 108_894);
}

/// A folder with a shell of its own in `approved`, and other things of the same names in `other`.
#[cfg(target_os = "linux")]
fn folder_of_programs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let script = "mkdir approved other && cp /bin/sh approved/shell && cp /bin/sh other/spare";
    let spec = CommandSpec { directory: folder.path().into(), ..shell(script) };
    assert_eq!(run(&spec).exit_status, 0);
    write_file(&folder.path().join("other/shell"), "755", "#!/bin/sh\nexit 66\n");
    for (place, status) in [("approved", 7), ("other", 66)] {
        let script = format!("#!{}/approved/shell\nexit {status}\n", folder.path().display());
        write_file(&folder.path().join(place).join("script"), "755", &script);
    }
    folder
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_opened_is_executed_and_not_what_stands_in_its_place_by_then() {
    let folder = folder_of_programs();
    let named = |name: &str| folder.path().join(name);
    let end_of = |spec: &CommandSpec, after_opening: &dyn Fn()| {
        let opened = OpenedProgram::open(spec).expect("it is there");
        after_opening();
        execute_opened(spec, opened, &mut Discard, &mut NoSignals).map(|it| it.outcome)
    };
    let exchange = || {
        fs::rename(named("approved"), named("away")).expect("a rename");
        fs::rename(named("other"), named("approved")).expect("a rename");
    };
    let exchange_back = || {
        fs::rename(named("approved"), named("other")).expect("a rename");
        fs::rename(named("away"), named("approved")).expect("a rename");
    };
    let program = named("approved/shell");
    let own = spec(program.to_str().expect("text"), &["-c", "exit 5"]);
    // The file itself is as it was, under another name: it is executed.
    let outcome = end_of(&own, &exchange).expect("it starts");
    exchange_back();
    assert_eq!(outcome, Outcome::Exited { code: 5 });
    // A script is opened by its path: another one in its place is not executed.
    let script = spec(named("approved/script").to_str().expect("text"), &[]);
    let unchanged = end_of(&script, &|| {}).expect("it starts");
    assert_eq!(unchanged, Outcome::Exited { code: 7 });
    let exchanged = end_of(&script, &exchange);
    exchange_back();
    assert!(matches!(exchanged, Err(ExecuteError::Replaced { .. })), "{exchanged:?}");
    // Nor is a program into which somebody wrote, or that another one took the place of.
    let written = end_of(&own, &|| {
        let script = "printf x >> approved/shell.new && cat approved/shell >> approved/shell.new \
                      && mv approved/shell.new approved/shell";
        let spec = CommandSpec { directory: folder.path().into(), ..shell(script) };
        assert_eq!(run(&spec).exit_status, 0);
    });
    assert!(matches!(written, Err(ExecuteError::Replaced { .. })), "{written:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_script_that_was_opened_is_executed_as_the_system_would() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| folder.path().join(name).to_str().expect("text").to_string();
    let lines = [
        "#!/bin/sh".to_string(),
        "#! /bin/sh -e ".to_string(),
        "#!/usr/bin/env -S sh -e -u".to_string(),
        format!("#!{} one argument  of several", at("script-0")),
    ];
    let told = "echo \"$0|$*|$PWD|$GREETING\"";
    for (number, line) in lines.iter().enumerate() {
        let (name, text) = (format!("script-{number}"), format!("{line}\n{told}\n"));
        write_file(&folder.path().join(&name), "755", &text);
        let mut spec = spec(&format!("./{name}"), &["a b", "", "c"]);
        spec.directory = folder.path().into();
        spec.environment.push(("GREETING", "first").into());
        spec.environment.push(("GREETING", "last").into());
        let opened = OpenedProgram::open(&spec).expect("it is there");
        let opened = execute_opened(&spec, opened, &mut Discard, &mut NoSignals);
        let (opened, system) = (opened.expect("it starts"), run(&spec));
        assert_eq!(opened.outcome, Outcome::Exited { code: 0 }, "{line}");
        let text =
            |report: &ExecutionReport| String::from_utf8_lossy(&report.stdout.bytes).into_owned();
        assert_eq!(text(&opened), text(&system), "{line}");
        assert!(text(&opened).ends_with("|last\n"), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn as_many_interpreters_are_followed_as_the_system_follows() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |number: usize| folder.path().join(format!("level-{number}"));
    write_file(&at(0), "755", "#!/bin/sh\nexit 0\n");
    for number in 1..=6 {
        let script = format!("#!{}\n", at(number - 1).display());
        write_file(&at(number), "755", &script);
        let spec = spec(at(number).to_str().expect("text"), &[]);
        let by_system = execute(&spec, &mut Discard, &mut NoSignals).is_ok();
        let opened = OpenedProgram::open(&spec);
        assert_eq!(opened.is_ok(), by_system, "{number}: {opened:?}");
        match opened {
            Ok(opened) => assert_eq!(opened.files().len(), number + 2),
            Err(error) => assert!(matches!(
                error,
                OpenProgramError::Refused(StartRefusal::NotExecutable {
                    obstacle: Obstacle::Interpreters,
                    ..
                })
            )),
        }
    }
    assert!(OpenedProgram::open(&spec(at(6).to_str().expect("text"), &[])).is_err());
}
