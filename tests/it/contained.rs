//! No process of a command escapes: not its limits, not the end of its recorder, whatever it does
//! to leave.
//!
//! Every process of these commands holds a fifo open. Its end proves that they are gone, and what
//! was written to it says whether they went by themselves.

#![cfg(target_os = "linux")]

use crate::program::{Place, json, skip, status, terminal, text};
use holdpoint_engine::executor::{
    CommandSpec, Containment, Discard, ExecuteError, Guard, NoSignals, Outcome, SignalState, Stdin,
    execute,
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Processes of every kind: in the group, in a session of its own, orphaned, and a chain of
/// processes that each start the next and end.
const RUNAWAYS: &str = r#"
    exec 3> alive
    stay='trap "" TERM HUP INT; echo >> up; sleep 300; echo survived >&3'
    sh -c "$stay" &
    setsid sh -c "$stay" &
    setsid sh -c "setsid sh -c '$stay' & exit" &
    echo 'sleep 0.01; test -e over || setsid sh chain &' > chain
    setsid sh chain &
    while [ "$(wc -l < up)" -lt 3 ]; do sleep 0.01; done 2> /dev/null
"#;

/// A place where a fifo tells who is alive.
fn place() -> (Place, JoinHandle<String>) {
    let place = Place::new();
    let fifo = place.directory.path().join("alive");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let reader = std::thread::spawn(move || fs::read_to_string(fifo).unwrap());
    (place, reader)
}

/// Nobody holds the fifo any more, and nobody got to say that it ended by itself.
fn assert_gone(place: &Place, reader: JoinHandle<String>) {
    assert_eq!(reader.join().unwrap(), "");
    fs::write(place.directory.path().join("over"), "").unwrap();
}

/// Starts a run in a group of its own and waits until its command says `ready`.
fn spawn_until_ready(place: &Place, script: &str) -> Child {
    let mut command = place.command(&["run", "--hold", "never", "--", "sh", "-c", script]);
    command.process_group(0).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

#[test]
fn whoever_kills_the_recorder_kills_the_command_with_all_that_it_started() {
    for kill in [kill_process, kill_process_group] {
        let (place, reader) = place();
        let mut child = spawn_until_ready(&place, &format!("{RUNAWAYS} echo ready; sleep 300"));
        kill(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        assert_gone(&place, reader);
    }
}

#[test]
fn a_timeout_ends_all_that_the_command_started() {
    let (place, reader) = place();
    let script = format!("{RUNAWAYS} sleep 300");
    let output = place.run_with(&["--timeout", "2s"], &["sh", "-c", &script]);
    assert_eq!(status(&output), 124);
    assert_gone(&place, reader);
    let told = text(&output.stderr);
    assert!(!told.contains("left behind"), "{told}");
}

#[test]
fn an_interrupt_ends_all_that_the_command_started() {
    let (place, reader) = place();
    let mut child = spawn_until_ready(&place, &format!("{RUNAWAYS} echo ready; sleep 300"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_gone(&place, reader);
}

#[test]
fn memory_is_that_of_all_that_the_command_started() {
    let (place, reader) = place();
    let hog = "{ head -c 400000000 /dev/zero; sleep 300; } | tail -n 1; echo survived >&3";
    let script = format!("exec 3> alive; setsid sh -c '{hog}' & sleep 300");
    let output = place.run_with(&["--max-memory", "64MiB"], &["sh", "-c", &script]);
    assert_eq!(status(&output), 137);
    assert!(text(&output.stderr).contains("RESOURCE_EXHAUSTED"));
    assert_gone(&place, reader);
}

#[test]
fn who_left_the_group_of_a_command_that_ended_well_lives_on_and_is_named() {
    let script = "setsid sh -c 'echo > left; exec sleep 300' > /dev/null 2>&1 &
        while [ ! -e left ]; do sleep 0.01; done";
    for json_asked in [true, false] {
        let place = Place::new();
        let options: &[&str] = if json_asked { &["--json"] } else { &[] };
        let output = place.run_with(options, &["sh", "-c", script]);
        assert_eq!(status(&output), 0);
        let pid = match json_asked {
            true => {
                let told = json(&output);
                assert_eq!(told["containment"], "tree");
                assert_eq!(told["left_behind"].as_array().map(Vec::len), Some(1), "{told:#}");
                assert!(told["left_behind"][0]["name"].is_string());
                i32::try_from(told["left_behind"][0]["pid"].as_i64().unwrap()).unwrap()
            }
            false => {
                let told = text(&output.stderr);
                let (_, named) = told.split_once("still running: ").expect("it is named");
                named.split(' ').next().unwrap().parse().unwrap()
            }
        };
        let survivor = Pid::from_raw(pid).unwrap();
        test_kill_process(survivor).expect("it was left alone");
        kill_process(survivor, Signal::KILL).unwrap();
    }
}

#[test]
fn what_another_users_rights_keep_from_being_stopped_is_counted_and_recorded() {
    let place = Place::new();
    let directory = place.directory.path();
    fs::set_permissions(directory, Permissions::from_mode(0o777)).unwrap();
    // Becomes somebody else altogether, as `sudo` does.
    let becomes = directory.join("becomes");
    fs::copy("/usr/bin/setpriv", &becomes).unwrap();
    fs::set_permissions(&becomes, Permissions::from_mode(0o4755)).unwrap();
    let as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let mut tried = Command::new(as_nobody[0]);
    tried.args(&as_nobody[1..]).arg(&becomes).args(["--reuid=0", "true"]);
    if !tried.status().is_ok_and(|status| status.success()) {
        return skip("a program that becomes another user needs root to be made");
    }
    let script = "./becomes --reuid=0 sh -c 'echo $$ > left; exec sleep 300' > /dev/null 2>&1 &
        until test -s left; do sleep 0.01; done; sleep 300";
    let run = ["run", "--hold", "never", "--json", "--timeout", "2s", "--", "sh", "-c", script];
    let run = place.command(&run);
    let mut command = Command::new(as_nobody[0]);
    command.args(&as_nobody[1..]).arg(run.get_program()).args(run.get_args());
    let output = command.current_dir(directory).output().unwrap();
    let told = json(&output);
    assert_eq!((status(&output), &told["could_not_be_stopped"]), (124, &1.into()), "{told:#}");
    assert_eq!(told["left_behind"][0]["name"], "sleep");
    let said = text(&output.stderr);
    assert!(said.contains("1 process of the command could not be stopped"), "{said}");
    let left = fs::read_to_string(directory.join("left")).unwrap();
    kill_process(Pid::from_raw(left.trim().parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    let exported = text(&place.holdpoint(&["export", "--include-evidence"]).stdout);
    let recorded: String =
        "\"could_not_be_stopped\":1".bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(exported.contains(&recorded), "{exported}");
}

/// A command that leaves behind a daemon, which waits for `go` and then runs a shell script.
fn leave_behind(place: &Place, then: &str) {
    let daemon = format!(
        "echo $$ > left.new; mv left.new left; until test -e go; do sleep 0.01; done; {then}"
    );
    fs::write(place.directory.path().join("daemon"), daemon).unwrap();
    let script = "setsid sh -c 'setsid sh daemon & exit' > /dev/null 2>&1 9>&- &
        until test -e left; do sleep 0.01; done";
    let run = place.command(&["run", "--hold", "never", "--", "sh", "-c", script]);
    // Somebody may wait for what they lent, and the daemon closes it.
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec 9> lent; exec \"$0\" \"$@\""]).arg(run.get_program());
    shell.args(run.get_args()).current_dir(place.directory.path());
    let output = shell.output().unwrap();
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("still running: "), "{}", text(&output.stderr));
}

#[test]
fn what_outlives_its_command_is_no_person_at_a_terminal_of_its_own() {
    let place = Place::new();
    let asked = place.holdpoint(&["run", "--hold", "before", "--no-wait", "--", "touch", "f"]);
    let id = text(&asked.stdout).trim().to_string();
    let answer = ["decision", "respond", &id, "--option", "approve"];
    let terminal = terminal();
    let device = fs::read_link(format!("/proc/self/fd/{}", terminal.as_raw_fd())).unwrap();
    let program = place.command(&answer);
    let words = std::iter::once(program.get_program()).chain(program.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
    let device = device.to_str().unwrap();
    let then = format!(
        "{} < {device} > told 2>&1; echo $? > status.new; mv status.new status",
        words.join(" ")
    );
    leave_behind(&place, &then);
    fs::write(place.directory.path().join("go"), "").unwrap();
    let path = place.directory.path().join("status");
    until(|| path.exists());
    let told = fs::read_to_string(place.directory.path().join("told")).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "5\n", "{told}");
    // The same by somebody who is not below a recorder.
    assert_eq!(status(&place.holdpoint(&answer)), 0);
}

#[test]
fn the_guard_of_what_outlives_a_command_holds_nothing_and_ends_with_the_last_of_it() {
    let place = Place::new();
    leave_behind(&place, "");
    let left = fs::read_to_string(place.directory.path().join("left")).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", left.trim())).unwrap();
    let parent = stat.rsplit_once(')').unwrap().1.split(' ').nth(2).unwrap();
    let guard = PathBuf::from(format!("/proc/{parent}"));
    assert_eq!(fs::read_to_string(guard.join("comm")).unwrap(), "holdpoint-guard\n");
    until(|| fs::read_link(guard.join("cwd")).is_ok_and(|path| path == Path::new("/")));
    let holds = |guard: &Path| {
        let open = fs::read_dir(guard.join("fd")).into_iter().flatten().flatten();
        let mut open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        open.any(|path| path.starts_with(place.directory.path().canonicalize().unwrap()))
    };
    until(|| !holds(&guard));
    fs::write(place.directory.path().join("go"), "").unwrap();
    until(|| !guard.exists() || has_ended(&guard));
}

/// Whether a process is only there for a parent that has yet to ask for its end.
fn has_ended(process: &Path) -> bool {
    fs::read_to_string(process.join("stat")).is_ok_and(|stat| stat.contains(") Z "))
}

/// Waits until it is so.
fn until(is_so: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < patience, "it never came to be so");
        std::thread::yield_now();
    }
}

#[test]
fn a_command_that_kills_its_guard_is_killed_with_all_that_it_started() {
    let (place, reader) = place();
    let output = place.shell(&format!("{RUNAWAYS} kill -KILL $PPID; sleep 300"));
    assert_eq!(status(&output), 137);
    let told = text(&output.stderr);
    assert!(told.contains("its guard was killed"), "{told}");
    assert_gone(&place, reader);
    assert_eq!(place.newest_loop()["attempts"][0]["fault"]["fault_type"], "CRASH");
    place.verified();
}

#[test]
fn a_command_that_kills_its_guard_at_once_is_never_said_not_to_have_started() {
    for _ in 0..20 {
        let place = Place::new();
        let output = place.run(&["sh", "-c", "kill -KILL $PPID; echo > ran; sleep 300"]);
        let told = text(&output.stderr);
        assert!(told.contains("how it ended is unknown"), "{told}");
        assert_eq!(status(&output), 137);
        let attempt = place.newest_loop()["attempts"][0].clone();
        assert_eq!(attempt["fault"]["fault_type"], "CRASH", "{attempt:#}");
    }
}

#[test]
fn in_an_embedders_process_too_a_command_that_kills_its_guard_is_killed_with_all_that_it_started() {
    let (place, reader) = place();
    let guard = Guard::new(env!("CARGO_BIN_EXE_holdpoint"));
    let spec = guarded(&place, guard, &format!("{RUNAWAYS} kill -KILL $PPID; sleep 300"));
    let report = execute(&spec, &mut Discard, &mut NoSignals).unwrap();
    assert_eq!((report.outcome, report.exit_status), (Outcome::GuardLost, 137));
    assert_gone(&place, reader);
}

/// A run whose recorder is stopped once its command says `ready`. How it ends once nobody of the
/// command is left and the recorder goes on.
fn stopped_once_ready(options: &[&str], script: &str) -> (Place, Option<i32>) {
    let (place, reader) = place();
    let words = [&["run", "--hold", "never"], options, &["--", "sh", "-c", script]].concat();
    let mut child = place.command(&words).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    until(|| reader.is_finished());
    assert_gone(&place, reader);
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    let code = child.wait().unwrap().code();
    (place, code)
}

#[test]
fn a_stopped_recorder_lengthens_no_time() {
    let script = format!("{RUNAWAYS} echo ready; sleep 300");
    let (place, code) = stopped_once_ready(&["--timeout", "2s"], &script);
    assert_eq!(code, Some(124));
    assert_eq!(place.newest_loop()["attempts"][0]["fault"]["fault_type"], "TIMEOUT");
}

#[test]
fn a_stopped_recorder_widens_no_memory() {
    let hog = "{ head -c 400000000 /dev/zero; sleep 300; } | tail -n 1";
    let script = format!("exec 3> alive; echo ready; sleep 1; setsid sh -c '{hog}' & sleep 300");
    let (place, code) = stopped_once_ready(&["--max-memory", "64MiB"], &script);
    assert_eq!(code, Some(137));
    assert_eq!(place.newest_loop()["attempts"][0]["fault"]["fault_type"], "RESOURCE_EXHAUSTED");
}

#[test]
fn a_command_that_ended_in_time_while_its_recorder_was_stopped_did_not_time_out() {
    let begun = Instant::now();
    let script = "exec 3> alive; echo ready; exit 3";
    let (place, reader) = place();
    let run = ["run", "--hold", "never", "--timeout", "3s", "--", "sh", "-c", script];
    let mut child = place.command(&run).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    assert_gone(&place, reader);
    until(|| begun.elapsed() > Duration::from_secs(5));
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_command_that_stops_its_guard_does_not_outlive_its_time() {
    let (place, reader) = place();
    let script = format!("{RUNAWAYS} kill -STOP $PPID; sleep 300");
    let output = place.run_with(&["--timeout", "2s"], &["sh", "-c", &script]);
    assert_eq!(status(&output), 124);
    assert_gone(&place, reader);
}

#[test]
fn what_cannot_be_contained_is_said_and_recorded() {
    let place = Place::new();
    // Below this /proc shows other numbers than those by which processes know themselves.
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork"]);
    let run = place.command(&["run", "--hold", "never", "--json", "--", "true"]);
    command.arg(run.get_program()).args(run.get_args()).current_dir(place.directory.path());
    let output = command.output().unwrap();
    if output.stdout.is_empty() {
        return skip("this user may not make a namespace of processes");
    }
    assert_eq!((status(&output), &json(&output)["containment"]), (0, &"group".into()));
    let said = text(&output.stderr);
    assert!(said.contains("no way to hold the processes of the command together"), "{said}");
    let chain = place.newest_loop()["evidence_chain"]["records"].clone();
    let kinds = chain.as_array().unwrap().iter().map(|record| record["evidence_type"].clone());
    assert!(kinds.into_iter().any(|kind| kind == "TIMESTAMP_EVENT"), "{chain:#}");
}

#[test]
fn a_guard_is_known_by_its_name_and_shows_nothing_of_the_command() {
    let place = Place::new();
    let script = "cat /proc/$PPID/comm; tr '\\0' ' ' < /proc/$PPID/cmdline";
    let output = place.run(&["sh", "-c", script, "sh", "hidden word"]);
    assert_eq!(text(&output.stdout), "holdpoint-guard\nholdpoint-guard __guard 7 ");
}

#[test]
fn the_guard_is_nothing_that_a_person_is_offered() {
    let place = Place::new();
    for arguments in [
        &["__guard"][..],
        &["__guard", "1"],
        &["__guard", "2"],
        &["__guard", "3"],
        &["__guard", "4"],
        &["__guard", "5"],
        &["__terminal"],
        &["__terminal", "1"],
    ] {
        let output = place.command(arguments).stdin(Stdio::null()).output().unwrap();
        assert_eq!((status(&output), &*output.stdout), (2, &b""[..]), "{arguments:?}");
    }
    for verb in [&["--help"][..], &["completions", "man"], &["completions", "bash"]] {
        assert!(!text(&place.holdpoint(verb).stdout).contains("__guard"), "{verb:?}");
    }
}

/// A command of this very process, under a guard.
fn guarded(place: &Place, guard: Guard, script: &str) -> CommandSpec {
    CommandSpec {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        directory: place.directory.path().into(),
        environment: vec![("PATH", "/usr/local/bin:/usr/bin:/bin").into()],
        signals: SignalState::default(),
        stdin: Stdin::Null,
        timeout: None,
        max_memory_bytes: None,
        max_output_bytes: 1 << 20,
        guard: Some(guard),
    }
}

#[test]
fn a_guard_keeps_open_what_it_is_given_and_the_command_does_not_get_it() {
    let place = Place::new();
    let path = place.directory.path().join("lock");
    let lock: Arc<OwnedFd> = Arc::new(File::create(&path).unwrap().into());
    let guard = Guard::new(env!("CARGO_BIN_EXE_holdpoint")).holding(lock);
    let script = "readlink /proc/$PPID/fd/*; echo --; readlink /proc/$$/fd/*; :";
    let spec = guarded(&place, guard, script);
    let report = execute(&spec, &mut Discard, &mut NoSignals).unwrap();
    let listed = text(&report.stdout.bytes);
    let (of_guard, of_command) = listed.split_once("--\n").unwrap();
    let path = path.canonicalize().unwrap();
    let is_open = |list: &str| list.lines().any(|line| path.to_str() == Some(line));
    assert!(is_open(of_guard) && !is_open(of_command), "{listed}");
    assert_eq!(report.containment, Containment::Tree);
}

#[test]
fn a_library_without_a_guard_says_that_only_the_group_was_held_together() {
    let place = Place::new();
    let spec = CommandSpec { guard: None, ..guarded(&place, Guard::new(""), "exit 3") };
    let report = execute(&spec, &mut Discard, &mut NoSignals).unwrap();
    assert_eq!((report.containment, report.exit_status), (Containment::Group, 3));
}

#[test]
fn without_the_guard_that_was_named_nothing_is_started() {
    let place = Place::new();
    for program in ["/no/such/guard", "/bin/true", "/bin/false"] {
        let spec = guarded(&place, Guard::new(program), "echo > started");
        let result = execute(&spec, &mut Discard, &mut NoSignals);
        assert!(matches!(result, Err(ExecuteError::Guard { .. })), "{program}: {result:?}");
    }
    assert!(!place.directory.path().join("started").exists());
}

#[test]
fn what_was_ignored_stays_ignored_and_nothing_else_is() {
    let place = Place::new();
    let run =
        place.command(&["run", "--hold", "never", "--", "grep", "SigIgn", "/proc/self/status"]);
    let ignored_under = |trap: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{trap} exec \"$0\" \"$@\"")]);
        command.arg(run.get_program()).args(run.get_args());
        text(&command.current_dir(place.directory.path()).output().unwrap().stdout)
    };
    let (none, hangup) = (ignored_under(""), ignored_under("trap '' HUP;"));
    // Two that are the C library's own are what its way of starting programs makes of them.
    let bits = |line: &str| {
        let bits = u64::from_str_radix(line.trim().rsplit('\t').next().unwrap(), 16).unwrap();
        bits & !(0b11 << 31)
    };
    assert_eq!(bits(&hangup), bits(&none) | 1, "{none}{hangup}");
    let direct = Command::new("grep").args(["SigIgn", "/proc/self/status"]).output().unwrap();
    assert_eq!(bits(&none), bits(&text(&direct.stdout)));
}
