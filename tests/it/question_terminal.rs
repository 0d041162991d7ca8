//! A question has the terminal for itself: one at a time, in the foreground alone. Whatever
//! ends it, the terminal is as it was before.

#![cfg(target_os = "linux")]

use crate::machine::{ALICE, Machine};
use crate::program::{Place, json, new_terminal, skip, status, text, with_hold};
use crate::terminal::{Terminal, line, shell, start_at, start_command_at};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

const ASKS: &str = "approve, deny? ";

/// A pipe with a name, by which a test says when a script goes on.
fn fifo(place: &Place) -> PathBuf {
    let path = place.directory.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Words that ask whether `touch NAME` may start.
fn asking(name: &str) -> [&str; 6] {
    ["run", "--hold", "before", "--", "touch", name]
}

/// Whether only root may open a terminal.
fn is_exclusive(device: &str) -> bool {
    let script = "import errno, fcntl, os, struct, sys
try:
    device = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
    print(struct.unpack('i', fcntl.ioctl(device, 0x80045440, bytes(4)))[0] != 0)
except OSError as error:
    print(error.errno == errno.EBUSY)";
    let output = Command::new("python3").args(["-c", script, device]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim() == "True"
}

/// The process of a name below another one, or that one itself.
fn process(name: &str, at: &str) -> Option<Pid> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut found = processes.filter_map(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).ok()?;
        let is_it = stat.contains(&format!("({name})"));
        let open = fs::read_dir(process.path().join("fd")).ok()?.flatten();
        let mut open = open.filter_map(|it| fs::read_link(it.path()).ok());
        let is_there = is_it && open.any(|it| it.to_str() == Some(at));
        is_there.then(|| Pid::from_raw(process.file_name().to_str()?.parse().ok()?))?
    });
    found.next()
}

#[test]
fn a_second_question_at_a_terminal_says_who_asks_there_and_waits_for_its_turn() {
    let place = Place::new();
    let (one, other) = (line(&place, &asking("one")), line(&place, &asking("other")));
    let mut program = Command::new("sh");
    program.args(["-c", &format!("exec 3<&0; {one} <&3 & {other}; wait")]);
    let mut terminal = Terminal::start_command(&place, &program);
    let texts = [ASKS, "asks at this terminal already"];
    let first = terminal.wait_for_any(&texts);
    terminal.wait_for(texts[1 - first]);
    terminal.type_line("deny");
    terminal.wait_for(ASKS);
    terminal.type_line("deny");
    terminal.end();
    assert!(!place.directory.path().join("one").exists());
    assert!(!place.directory.path().join("other").exists());
}

/// Only root opens a terminal that a question has for itself, so a test as root shows nothing here.
#[test]
fn an_ordinary_user_is_asked_and_answers_and_a_second_question_says_who_asks() {
    let Some(machine) = Machine::new() else { return };
    let (one, other) = (asking("one"), asking("other"));
    let asks = |words: &[&str]| machine.command(ALICE, &[], words);
    let mut terminal = Terminal::start_owned(&machine.place, ALICE, &asks(&one));
    terminal.wait_for(ASKS);
    terminal.type_line("approve");
    assert_eq!(terminal.end().0, 0);
    assert!(machine.place.directory.path().join("one").exists());

    let other = line(&machine.place, &other);
    let both = format!("exec 3<&0; {other} <&3 & {other}; wait");
    let both = machine.other(ALICE, &["sh", "-c", &both]);
    let mut terminal = Terminal::start_owned(&machine.place, ALICE, &both);
    let texts = [ASKS, "asks at this terminal already"];
    let first = terminal.wait_for_any(&texts);
    terminal.wait_for(texts[1 - first]);
    terminal.type_line("deny");
    terminal.wait_for(ASKS);
    terminal.type_line("deny");
    terminal.end();
    assert!(!machine.place.directory.path().join("other").exists());
}

#[test]
fn whoever_is_killed_at_a_question_leaves_the_terminal_as_it_was() {
    let place = Place::new();
    let mut program = Command::new("sh");
    let asks = line(&place, &asking("made"));
    program.args(["-c", &format!("stty -icanon -echo eol x; exec {asks}")]);
    let mut terminal = Terminal::start_command(&place, &program);
    terminal.wait_for(ASKS);
    assert!(terminal.takes_lines() && is_exclusive(&terminal.device));
    terminal.signal(Signal::KILL);
    while terminal.takes_lines() || is_exclusive(&terminal.device) {
        std::thread::yield_now();
    }
}

#[test]
fn what_two_kills_leave_is_put_back_by_hand() {
    let place = Place::new();
    let Some(mut terminal) = shell(&place) else { return };
    terminal.type_line(&line(&place, &asking("made")));
    terminal.wait_for(ASKS);
    let keeper = process("holdpoint-term", &terminal.device).unwrap();
    let asker = process("holdpoint", &terminal.device).unwrap();
    kill_process(keeper, Signal::KILL).unwrap();
    kill_process(asker, Signal::KILL).unwrap();
    terminal.wait_for("Killed");
    terminal.wait_for("shell> ");
    assert!(is_exclusive(&terminal.device));
    let doctor = line(&place, &["doctor", "terminal"]);
    terminal.type_line(&format!("stty -echo; {doctor}"));
    terminal.wait_for("takes whole lines again");
    assert!(!is_exclusive(&terminal.device));
    let elsewhere = place.holdpoint(&["doctor", "terminal"]);
    assert_eq!(crate::program::status(&elsewhere), 1);
}

#[test]
fn a_keeper_that_is_killed_alone_is_made_up_for() {
    let place = Place::new();
    let mut program = Command::new("sh");
    let asks = line(&place, &asking("made"));
    program.args(["-c", &format!("stty -icanon -echo; {asks}; echo over; read -r line")]);
    let mut terminal = Terminal::start_command(&place, &program);
    terminal.wait_for(ASKS);
    kill_process(process("holdpoint-term", &terminal.device).unwrap(), Signal::KILL).unwrap();
    terminal.type_line("deny");
    terminal.wait_for("over");
    assert!(!terminal.takes_lines() && !is_exclusive(&terminal.device));
    terminal.type_line("");
    terminal.end();
}

#[test]
fn ctrl_z_at_a_question_gives_the_terminal_back_and_fg_asks_anew() {
    let place = Place::new();
    let Some(mut terminal) = shell(&place) else { return };
    terminal.type_line(&line(&place, &asking("made")));
    terminal.wait_for(ASKS);
    terminal.press("\x1a");
    terminal.wait_for("Stopped");
    assert!(!is_exclusive(&terminal.device));
    terminal.type_line("fg; echo ended $?");
    terminal.wait_for("approve starts exactly this, once");
    terminal.wait_for(ASKS);
    assert!(is_exclusive(&terminal.device));
    terminal.type_line("approve");
    terminal.wait_for("ended 0");
    assert!(place.directory.path().join("made").exists() && !is_exclusive(&terminal.device));
}

#[test]
fn in_the_background_nothing_is_asked_at_the_terminal_until_it_comes_to_the_foreground() {
    let place = Place::new();
    let Some(mut terminal) = shell(&place) else { return };
    terminal.type_line(&format!("{} &", line(&place, &asking("made"))));
    terminal.wait_for("in the background of its terminal");
    assert!(!is_exclusive(&terminal.device));
    terminal.type_line("fg; echo ended $?");
    terminal.wait_for(ASKS);
    terminal.type_line("deny");
    terminal.wait_for("ended 120");
}

#[test]
fn what_a_program_of_the_same_terminal_may_have_typed_counts_only_with_a_number() {
    let may_type = fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti");
    if may_type.is_ok_and(|says| says.trim() == "0") {
        return skip("this system lets nobody type for others");
    }
    let place = Place::new();
    let script = "import fcntl, os, termios, time
while not os.path.exists('go'):
    time.sleep(0.01)
for key in b'approve\\n':
    fcntl.ioctl(0, termios.TIOCSTI, bytes([key]))
open('typed', 'w')
time.sleep(300)";
    fs::write(place.directory.path().join("types.py"), script).unwrap();
    let mut program = Command::new("sh");
    let asks = line(&place, &asking("made"));
    program.args(["-c", &format!("exec 3<&0; python3 types.py <&3 & {asks}; kill $!")]);
    let mut terminal = Terminal::start_command(&place, &program);
    terminal.wait_for(ASKS);
    fs::write(place.directory.path().join("go"), "").unwrap();
    let said = terminal.wait_for("to say that you did: ");
    assert!(said.contains("shares this terminal"), "{said}");
    assert!(!place.directory.path().join("made").exists());
    terminal.type_line("no");
    terminal.wait_for("nothing was answered");
    terminal.wait_for(ASKS);
    // Since then it has not run.
    terminal.type_line("approve");
    terminal.wait_for("recorded as");
    assert!(place.directory.path().join("made").exists());
}

/// A terminal whose other end is not read, and which takes no byte more.
fn full_terminal() -> (OwnedFd, String) {
    let (master, device) = new_terminal();
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let noctty = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).unwrap();
    let mut options = File::options();
    let mut slave = options.write(true).custom_flags(flags | noctty).open(&device).unwrap();
    loop {
        match slave.write(b"x") {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return (master, device),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_terminal_whose_other_end_is_never_read_keeps_nothing_from_ending() {
    let (_master, device) = full_terminal();
    for (options, due) in [
        (&["--hold", "never", "--timeout", "1s", "--", "yes"][..], 124),
        (&["--hold", "never", "--tty", "--timeout", "1s", "--", "yes"][..], 124),
        (&["--hold", "never", "--", "true"][..], 0),
        (&["--hold", "never", "--tty", "--", "true"][..], 0),
        (&["--hold", "before", "--expires", "before=2s", "--", "touch", "made"][..], 121),
    ] {
        let place = Place::new();
        let words = [&["run"], options].concat();
        let status = start_at(&place, &device, &words).wait().unwrap();
        assert_eq!(status.code(), Some(due), "{options:?}");
        assert!(!place.directory.path().join("made").exists());
        assert!(!is_exclusive(&device));
    }
}

/// The id of a question about `touch made` for which nobody waits.
fn left_open(place: &Place) -> String {
    let asked = ["run", "--hold", "before", "--no-wait", "--", "touch", "made"];
    let asked = place.holdpoint(&asked);
    assert_eq!(status(&asked), 122, "{}", text(&asked.stderr));
    text(&asked.stdout).trim().to_string()
}

/// Whether the question is open as before.
fn is_open(place: &Place, id: &str) -> bool {
    let shown = json(&place.holdpoint(&["decision", "show", id, "--json"]));
    shown["state"] == "pending"
}

#[test]
fn an_answer_at_a_terminal_that_is_never_read_ends_and_answers_nothing() {
    let (_master, device) = full_terminal();
    let place = Place::new();
    let id = left_open(&place);
    let status =
        start_at(&place, &device, &["decision", "respond", &id, "approve"]).wait().unwrap();
    assert_eq!(status.code(), Some(5));
    assert!(is_open(&place, &id) && !is_exclusive(&device));
    // What cannot be shown can be ended all the same.
    let mut inbox = start_at(&place, &device, &["inbox"]);
    while !is_exclusive(&device) {
        std::thread::yield_now();
    }
    let inbox_process = Pid::from_raw(i32::try_from(inbox.id()).unwrap()).unwrap();
    kill_process(inbox_process, Signal::TERM).unwrap();
    assert_eq!(inbox.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    assert!(!is_exclusive(&device));
}

#[test]
fn a_terminal_that_vanishes_while_a_question_stands_ends_the_question() {
    // Whoever ignores the hang-up, as `nohup` has it, learns of it by reading.
    for (ignores, verb, due) in [
        (false, "run", (Some(129), None)),
        (true, "run", (Some(121), None)),
        (false, "answer", (None, Some(Signal::HUP.as_raw()))),
        (true, "answer", (Some(10), None)),
    ] {
        let place = Place::new();
        let id = if verb == "answer" { left_open(&place) } else { String::new() };
        let words = match verb {
            "answer" => vec!["decision", "respond", &id, "approve"],
            _ => vec!["run", "--hold", "before", "--expires", "before=9s", "--", "touch", "made"],
        };
        let (master, device) = new_terminal();
        let trap = if ignores { "trap '' HUP; " } else { "" };
        let script = format!("{trap}exec {}", line(&place, &words));
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]);
        let mut child = start_command_at(&place, &device, &shell);
        while !is_exclusive(&device) {
            std::thread::yield_now();
        }
        drop(master);
        let status = child.wait().unwrap();
        assert_eq!((status.code(), status.signal()), due, "{verb}, ignoring it: {ignores}");
        assert!(!place.directory.path().join("made").exists());
        assert!(verb == "run" || is_open(&place, &id));
        place.verified();
    }
}

#[test]
fn no_pager_or_editor_is_started_while_a_question_stands() {
    let place = Place::new();
    let asked = ["run", "--hold", "after", "--no-wait", "--", "seq", "300"];
    assert_eq!(status(&place.holdpoint(&asked)), 122);
    let programs = ["HOLDPOINT_PAGER", "PAGER", "EDITOR", "VISUAL"];
    let at_terminal = |words: &[&str]| {
        let mut command = place.command(words);
        programs.iter().for_each(|name| {
            command.env(name, format!("touch {name}; cat"));
        });
        Terminal::start_command(&place, &command)
    };
    let started = || {
        let is_there = |name: &&&str| place.directory.path().join(name).exists();
        programs.iter().filter(is_there).count()
    };
    let listed =
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    let id = listed[0]["request_id"].as_str().unwrap().to_string();
    let mut answering = at_terminal(&["decision", "respond", &id, "CONTINUE"]);
    answering.wait_for("anything else leaves it: ");
    answering.type_line("details");
    answering.wait_for("anything else leaves it: ");
    assert_eq!(started(), 0);
    answering.type_line("CONTINUE");
    answering.end();
    let mut running = at_terminal(&["run", "--hold", "after", "--", "seq", "300"]);
    running.wait_for("ABORT? ");
    for (word, shown) in
        [("output", "back to the question"), ("", "ABORT? "), ("details", "ABORT? ")]
    {
        running.type_line(word);
        running.wait_for(shown);
    }
    assert_eq!(started(), 0);
    running.type_line("CONTINUE");
    assert_eq!(running.end().0, 0);
    assert_eq!(started(), 0);
    // Where no question stands it is.
    at_terminal(&["log"]).end();
    assert_eq!(started(), 1);
}

#[test]
fn the_questions_of_the_inbox_take_the_terminal_like_every_other() {
    let place = Place::new();
    left_open(&place);
    let (inbox, asks) = (line(&place, &["inbox"]), line(&place, &asking("other")));
    let mut program = Command::new("sh");
    let first = format!("exec 3<&0; {inbox} <&3 & read -r go < fifo; {asks}; wait");
    let fifo = fifo(&place);
    program.args(["-c", &first]);
    let mut terminal = Terminal::start_command(&place, &program);
    terminal.wait_for("touch made");
    assert!(is_exclusive(&terminal.device));
    fs::write(&fifo, "go\n").unwrap();
    terminal.wait_for("asks at this terminal already");
    terminal.press("q");
    terminal.wait_for(ASKS);
    terminal.type_line("deny");
    terminal.end();
    assert!(!place.directory.path().join("other").exists());
}

#[test]
fn the_inbox_opens_at_no_terminal_at_which_another_question_stands() {
    let place = Place::new();
    let (inbox, asks) = (line(&place, &["inbox"]), line(&place, &asking("made")));
    let mut program = Command::new("sh");
    let fifo = fifo(&place);
    let script = format!("exec 3<&0; {asks} <&3 & read -r go < fifo; {inbox}; echo ended $?; wait");
    program.args(["-c", &script]);
    let mut terminal = Terminal::start_command(&place, &program);
    terminal.wait_for(ASKS);
    fs::write(&fifo, "go\n").unwrap();
    terminal.wait_for("asks at this terminal already");
    terminal.wait_for("ended 1");
    assert!(is_exclusive(&terminal.device));
    terminal.type_line("deny");
    terminal.end();
    assert!(!place.directory.path().join("made").exists());
}

#[test]
fn the_inbox_fills_no_terminal_from_its_background() {
    let place = Place::new();
    let asked = place.holdpoint(&["run", "--hold", "before", "--no-wait", "--", "touch", "made"]);
    let id = crate::program::text(&asked.stdout).trim().to_string();
    let inbox = line(&place, &["inbox"]);
    let mut program = Command::new("bash");
    program.args(["-c", &format!("set -m; {inbox} & wait $!; echo \"status $?\"")]);
    let (_, said) = Terminal::start_command(&place, &program).end();
    assert!(said.contains("status 0") && said.contains(&id[..10]), "{said}");
}
