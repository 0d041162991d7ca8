//! A recorded command shares no terminal with whoever runs it: it has a session of its own, no
//! descriptor of a terminal, and a terminal of its own only where that is asked for.

#![cfg(target_os = "linux")]

use crate::program::{Place, new_terminal, skip, status, text};
use crate::terminal::{Terminal, line, shell, start_at};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Tells what it has of a terminal, and types where it may.
const PROBE: &str = r#"
import errno, fcntl, os, termios
print("session", os.getsid(0) == os.getpid())
try:
    os.open("/dev/tty", os.O_RDWR)
    print("opened")
except OSError as error:
    print(errno.errorcode[error.errno])
for descriptor in range(256):
    try:
        for key in b"approve\n":
            fcntl.ioctl(descriptor, termios.TIOCSTI, bytes([key]))
        print("typed at", descriptor)
    except OSError:
        pass
print("terminals", [it for it in range(256) if os.isatty(it)])
print("open", os.path.exists("/proc/self/fd/6"))
print("probed")
"#;

#[test]
fn a_command_has_no_terminal_and_types_at_none_whatever_descriptors_lead_to_one() {
    let place = Place::new();
    fs::write(place.directory.path().join("probe.py"), PROBE).unwrap();
    let run = line(&place, &["run", "--hold", "never", "--", "python3", "probe.py"]);
    let mut program = Command::new("sh");
    let words = "exec 5<>/dev/tty 6</dev/null 7</dev/ptmx 9>&1;";
    program.args(["-c", &format!("{words} exec {run}")]);
    let (status, said) = Terminal::start_command(&place, &program).end();
    let said = said.replace('\r', "");
    assert_eq!(status, 0, "{said}");
    let told = "descriptors 5, 7, 9 are terminals, and were closed for the command";
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(told), "{said}");
    let probed = "session True\nENXIO\nterminals []\nopen True\nprobed\n";
    assert!(said.contains(probed), "{said}");
}

#[test]
fn a_command_that_a_recorded_one_left_behind_types_at_no_question() {
    let place = Place::new();
    fs::write(place.directory.path().join("probe.py"), PROBE).unwrap();
    let daemon = "until test -e go; do sleep 0.01; done; python3 probe.py > typed 2>&1;
        mv typed done";
    fs::write(place.directory.path().join("daemon"), daemon).unwrap();
    // With the terminal, where there is one: what survives its command has a session of its own.
    let leave = "(: 5<>/dev/tty) 2> /dev/null && exec 5<>/dev/tty
        setsid sh daemon > /dev/null 2>&1 < /dev/null & echo left";
    let left = line(&place, &["run", "--hold", "never", "--", "sh", "-c", leave]);
    let asks = line(&place, &["run", "--hold", "before", "--", "touch", "made"]);
    let mut program = Command::new("sh");
    program.args(["-c", &format!("{left}; {asks}")]);
    let mut terminal = Terminal::start_command(&place, &program);
    terminal.wait_for("approve, deny? ");
    fs::write(place.directory.path().join("go"), "").unwrap();
    let typed = place.directory.path().join("done");
    while !typed.exists() {
        std::thread::yield_now();
    }
    let typed = fs::read_to_string(typed).unwrap();
    assert!(typed.contains("ENXIO\nterminals []"), "{typed}");
    terminal.type_line("deny");
    assert_eq!(terminal.end().0, 120);
    assert!(!place.directory.path().join("made").exists());
}

#[test]
fn a_terminal_as_standard_input_is_refused_and_the_way_out_is_named() {
    let place = Place::new();
    let words = ["run", "--hold", "never", "--stdin", "--", "touch", "made"];
    let (status, said) = Terminal::start(&place, &words).end();
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("--tty"), "{said}");
    assert!(!place.directory.path().join("made").exists() && !place.log.exists());
    let both = place.holdpoint(&["run", "--tty", "--stdin", "--", "true"]);
    assert_eq!(crate::program::status(&both), 2);
}

#[test]
fn a_run_at_a_terminal_that_does_not_end_well_names_the_terminal_of_its_own_once() {
    for (options, script, due) in
        [(&[][..], "exit 3", 1), (&[][..], "exit 0", 0), (&["--tty"][..], "exit 3", 0)]
    {
        let place = Place::new();
        let words = [&["run", "--hold", "never"], options, &["--", "sh", "-c", script]].concat();
        let (_, said) = Terminal::start(&place, &words).end();
        assert_eq!(said.matches("--tty").count(), due, "{options:?} {script}: {said}");
    }
}

#[test]
fn keys_that_stop_reach_the_command_as_signals() {
    for (key, name, due) in [("\x03", "INT", 130), ("\x1c", "QUIT", 131)] {
        let place = Place::new();
        let script = format!("trap 'echo got {name}; exit 0' {name}; echo ready; sleep 300 & wait");
        let words = ["run", "--hold", "never", "--", "sh", "-c", &script];
        let mut terminal = Terminal::start(&place, &words);
        terminal.wait_for("ready");
        terminal.press(key);
        terminal.wait_for(&format!("got {name}"));
        // It ended by itself, but a person asked for that.
        assert_eq!(terminal.end().0, due);
        assert_eq!(place.newest_loop()["stop_condition"], "HUMAN_ABORT");
    }
}

#[test]
fn a_size_that_changes_is_told_to_the_command() {
    let place = Place::new();
    let script = "trap 'echo changed; exit 0' WINCH; echo ready; sleep 300 & wait";
    let mut terminal =
        Terminal::start(&place, &["run", "--hold", "never", "--", "sh", "-c", script]);
    terminal.wait_for("ready");
    terminal.resize((30, 90));
    terminal.wait_for("changed");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_hang_up_reaches_the_command_and_is_recorded_as_nobodys_word() {
    let place = Place::new();
    let (master, device) = new_terminal();
    let script = "trap 'echo hup > got; exit 0' HUP; touch ready; sleep 300 & wait";
    let run = ["run", "--hold", "never", "--", "sh", "-c", script];
    let mut child = start_at(&place, &device, &run);
    while !place.directory.path().join("ready").exists() {
        std::thread::yield_now();
    }
    drop(master);
    assert_eq!(child.wait().unwrap().code(), Some(129));
    assert!(place.directory.path().join("got").exists());
    let halted = place.newest_loop();
    assert_ne!(halted["stop_condition"], "HUMAN_ABORT", "{halted:#}");
    assert_eq!(halted["halt_reason"], "INTERRUPTED", "{halted:#}");
    let shown = text(&place.holdpoint(&["show", &newest(&place)]).stdout);
    assert!(shown.contains("interrupted: signal 1"), "{shown}");
    place.verified();
}

#[test]
fn ctrl_z_stops_the_command_with_all_that_it_started_and_fg_continues_them() {
    let place = Place::new();
    let Some(mut terminal) = shell(&place) else { return };
    // Counts on as long as it is not stopped. A subshell is forked: behind `vfork`, a shell whose
    // child is stopped waits in the kernel and is not shown as stopped itself.
    let counts = "while :; do echo >> counted; (sleep 0.01); done";
    let script = format!("setsid sh -c '{counts}' & echo $! > pid; read -r go < fifo; kill 0");
    let made = Command::new("mkfifo").arg(place.directory.path().join("fifo")).status().unwrap();
    assert!(made.success());
    let run = line(&place, &["run", "--hold", "never", "--", "sh", "-c", &script]);
    terminal.type_line(&format!("{run}; echo \"ended $?\""));
    let counted = place.directory.path().join("counted");
    let length = || fs::metadata(&counted).map_or(0, |it| it.len());
    while length() < 3 {
        std::thread::yield_now();
    }
    terminal.press("\x1a");
    terminal.wait_for("Stopped");
    // One that is writing to the disk stops behind that.
    let is_stopped = "grep -q 'T (stopped)' /proc/$(cat pid)/status";
    terminal.type_line(&format!("until {is_stopped}; do :; done; echo se''en"));
    terminal.wait_for("seen\r\n");
    let before = length();
    terminal.type_line("fg");
    while length() == before {
        std::thread::yield_now();
    }
    terminal.press("\x03");
    terminal.wait_for("shell> ");
    terminal.type_line("exit");
    terminal.end();
    place.verified();
}

#[test]
fn the_guard_keeps_the_time_of_a_command_that_is_stopped_with_its_recorder() {
    let place = Place::new();
    let Some(mut terminal) = shell(&place) else { return };
    let run = ["run", "--hold", "never", "--timeout", "2s", "--", "sh", "-c"];
    let run = line(&place, &[&run[..], &["echo $$ > pid; echo ready; sleep 300"]].concat());
    terminal.type_line(&run);
    terminal.wait_for("ready\r\n");
    terminal.press("\x1a");
    terminal.wait_for("Stopped");
    let pid = fs::read_to_string(place.directory.path().join("pid")).unwrap();
    let process = format!("/proc/{}", pid.trim());
    let has_ended = || {
        let stat = fs::read_to_string(format!("{process}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    };
    // Its recorder is stopped all the while.
    while !has_ended() {
        std::thread::yield_now();
    }
    terminal.type_line("fg; echo \"ended $?\"");
    terminal.wait_for("ended 124");
    terminal.type_line("exit");
    terminal.end();
    assert_eq!(place.newest_loop()["attempts"][0]["fault"]["fault_type"], "TIMEOUT");
    place.verified();
}

#[test]
fn the_guard_keeps_the_memory_of_a_command_that_is_stopped_with_its_recorder() {
    let place = Place::new();
    let Some(mut terminal) = shell(&place) else { return };
    let script = "import os, time
open('pid', 'w').write(str(os.getpid()))
print('ready', flush=True)
while not os.path.exists('go'):
    time.sleep(0.01)
held = bytearray(256 << 20)
time.sleep(300)";
    fs::write(place.directory.path().join("hold.py"), script).unwrap();
    let run = ["run", "--hold", "never", "--max-memory", "128MiB", "--", "python3", "hold.py"];
    terminal.type_line(&line(&place, &run));
    terminal.wait_for("ready\r\n");
    terminal.press("\x1a");
    terminal.wait_for("Stopped");
    // A part of it goes on while its recorder is stopped.
    let pid = fs::read_to_string(place.directory.path().join("pid")).unwrap();
    let process = Pid::from_raw(pid.parse().unwrap()).unwrap();
    fs::write(place.directory.path().join("go"), "").unwrap();
    kill_process(process, Signal::CONT).unwrap();
    let has_ended = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    };
    while !has_ended() {
        std::thread::yield_now();
    }
    terminal.type_line("fg; echo \"ended $?\"");
    terminal.wait_for("ended 1");
    terminal.type_line("exit");
    terminal.end();
    assert_eq!(place.newest_loop()["attempts"][0]["fault"]["fault_type"], "RESOURCE_EXHAUSTED");
    place.verified();
}

#[test]
fn a_terminal_of_its_own_is_the_commands_on_all_streams_and_has_its_size() {
    let place = Place::new();
    let script = "import os, sys
print([os.isatty(it) for it in range(3)], os.getsid(0) == os.getpid())
os.close(os.open('/dev/tty', os.O_RDWR))
print(*os.get_terminal_size(), flush=True)
import signal
signal.sigwait({signal.SIGWINCH})
print(*os.get_terminal_size())
sys.stderr.write('one stream')
sys.exit(7)";
    let script = script.replace(
        "import os, sys\n",
        "import os, sys, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})\n",
    );
    let words = ["run", "--hold", "never", "--tty", "--", "python3", "-c", &script];
    let mut terminal = Terminal::sized(&place, (31, 97), &words);
    terminal.wait_for("[True, True, True] True");
    terminal.wait_for("97 31");
    terminal.resize((40, 100));
    terminal.wait_for("100 40");
    let (status, _, takes_lines) = terminal.end_plain();
    assert_eq!((status.code(), takes_lines), (Some(7), true));
    let output = place.holdpoint(&["output", "--stream", "stderr", &newest(&place)]);
    assert_eq!(text(&output.stdout), "");
    let output = text(&place.holdpoint(&["output", &newest(&place)]).stdout);
    assert!(output.contains("97 31") && output.contains("one stream"), "{output}");
    place.verified();
}

/// The newest run's id.
fn newest(place: &Place) -> String {
    place.newest_loop()["loop_id"].as_str().unwrap().to_string()
}

#[test]
fn keys_reach_a_terminal_of_its_own_as_bytes_and_a_typed_stop_is_a_persons() {
    let place = Place::new();
    // A shell that is about to start a command keeps a stop to itself: `tail` says what was read.
    let script = "stty -echo; printf 'word: '; read -r word; stty echo; echo \"<$word>\" >read; \
        exec tail -f read";
    let words = ["run", "--hold", "never", "--tty", "--", "sh", "-c", script];
    let mut terminal = Terminal::start(&place, &words);
    terminal.wait_for("word: ");
    terminal.press("secret\r");
    let shown = terminal.wait_for("<secret>");
    assert_eq!(shown.matches("secret").count(), 1, "{shown}");
    // Of a session's leader nobody continues the job: it goes on.
    terminal.press("\x1a");
    terminal.press("\x03");
    let (status, _, takes_lines) = terminal.end_plain();
    assert_eq!((status.code(), takes_lines), (Some(130), true));
    assert_eq!(place.newest_loop()["stop_condition"], "HUMAN_ABORT");
}

#[test]
fn a_shell_at_a_terminal_of_its_own_stops_and_continues_jobs() {
    let place = Place::new();
    if !Command::new("bash").arg("--version").output().is_ok_and(|it| it.status.success()) {
        return skip("there is no bash that continues stopped jobs");
    }
    let bash = ["bash", "--norc", "--noprofile", "-i"];
    let words = [&["run", "--hold", "never", "--tty", "--"], &bash[..]].concat();
    let mut terminal = Terminal::start(&place, &words);
    terminal.wait_for_any(&["$ ", "# "]);
    terminal.press("sh -c 'echo begun; read -r line'; echo after\r");
    terminal.wait_for("begun\r\n");
    terminal.press("\x1a");
    terminal.wait_for("Stopped");
    terminal.press("exit 5\rexit 5\r");
    assert_eq!(terminal.end_plain().0.code(), Some(5));
}

#[test]
fn a_recorder_that_is_killed_leaves_the_terminal_as_it_was() {
    let place = Place::new();
    let words = ["run", "--hold", "never", "--tty", "--", "sh", "-c", "echo ready; sleep 300"];
    let mut terminal = Terminal::start(&place, &words);
    terminal.wait_for("ready");
    while terminal.takes_lines() {
        std::thread::yield_now();
    }
    terminal.signal(Signal::KILL);
    while !terminal.takes_lines() {
        std::thread::yield_now();
    }
}

#[test]
fn where_nobody_can_type_a_terminal_of_its_own_gives_the_end_of_input() {
    let place = Place::new();
    let script = "test -t 0 && test -t 1 && read -r one; read -r two; echo \"<$one$two>\"";
    let words = ["run", "--hold", "never", "--tty", "--timeout", "60s", "--", "sh", "-c", script];
    let output = place.command(&words).output().unwrap();
    assert_eq!((status(&output), &*text(&output.stdout)), (0, "<>\r\n"));
    let json =
        ["--json", "run", "--hold", "never", "--tty", "--", "sh", "-c", "echo a; echo b >&2"];
    let output = place.command(&json).output().unwrap();
    assert_eq!(text(&output.stderr), "a\r\nb\r\n");
    assert_eq!(crate::program::json(&output)["exit_status"], 0);
}

#[test]
fn programs_that_fill_a_terminal_work_at_one_of_their_own() {
    for (program, words, keys, seen) in [
        ("vim", &["-u", "NONE", "-N", "text"][..], ":q!\r", "first line"),
        ("less", &["text"], "q", "first line"),
        ("python3", &["-q", "-i"], "print(6*7)\rexit(0)\r", ">>> "),
    ] {
        if !Command::new(program).arg("--version").output().is_ok_and(|it| it.status.success()) {
            skip(&format!("there is no {program}"));
            continue;
        }
        let place = Place::new();
        let lines = (1..200).map(|it| format!("line {it}\n")).collect::<String>();
        fs::write(place.directory.path().join("text"), format!("first line\n{lines}")).unwrap();
        let run = [&["run", "--hold", "never", "--tty", "--", program], words].concat();
        let mut terminal = Terminal::start(&place, &run);
        terminal.see(seen);
        terminal.press(keys);
        let (status, is_usual, takes_lines) = terminal.end_plain();
        assert_eq!((status.code(), is_usual, takes_lines), (Some(0), true, true), "{program}");
    }
}

/// An executable file in the directory of a place.
fn executable(place: &Place, name: &str, bytes: &[u8]) {
    let path = place.directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_script_without_a_first_line_is_executed_as_it_is_without_us() {
    let place = Place::new();
    executable(&place, "plain", b"echo \"plain $0 $1\"\nexit 7\n");
    executable(&place, "empty", b"");
    executable(&place, "short-elf", b"\x7fELF\x02\x01");
    executable(&place, "nameless", b"#!\necho \"nameless $*\"\n");
    executable(&place, "behind", b"#!./plain\necho \"behind $*\"\n");
    executable(&place, "foreign", b"\x7fELF\x01\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00");
    executable(&place, "nothing-to-read", b"#!./none\n");
    executable(&place, "text-and-bytes", b"echo text; exit 3\n\x00\x01");
    let names = [
        "./plain",
        "./empty",
        "./short-elf",
        "./nameless",
        "./behind",
        "./foreign",
        "./nothing-to-read",
        "./text-and-bytes",
    ];
    for name in names {
        let mut direct = Command::new("env");
        direct.args([name, "A", "-b"]).current_dir(place.directory.path());
        let (direct, ours) = (direct.output().unwrap(), place.run(&[name, "A", "-b"]));
        assert_eq!(ours.status.code(), direct.status.code(), "{name}: {}", text(&ours.stderr));
        assert_eq!(text(&ours.stdout), text(&direct.stdout), "{name}");
    }
}

/// As `timeout` starts what it bounds, and a shell what has `&` behind it.
#[test]
fn a_terminal_of_its_own_needs_no_keyboard_in_the_background() {
    let place = Place::new();
    let run = line(&place, &["run", "--hold", "never", "--tty", "--", "echo", "done"]);
    let mut program = Command::new("bash");
    program.args(["-c", &format!("set -m; {run} & wait $!; echo \"status $?\"")]);
    let (status, said) = Terminal::start_command(&place, &program).end();
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("done") && said.contains("status 0"), "{said}");
}
