//! A question has the terminal for itself: one at a time, in the foreground alone. Whatever
//! ends it, the terminal is as it was before.

#![cfg(target_os = "linux")]

use crate::machine::{ALICE, Machine};
use crate::program::{Place, new_terminal, skip};
use crate::terminal::{Terminal, line, shell};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command};

const ASKS: &str = "approve, deny? ";

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
    let doctor = line(&place, &["doctor", "--terminal"]);
    terminal.type_line(&format!("stty -echo; {doctor}"));
    terminal.wait_for("takes whole lines again");
    assert!(!is_exclusive(&terminal.device));
    let elsewhere = place.holdpoint(&["doctor", "--terminal"]);
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
    terminal.wait_for("nothing has run yet");
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

/// The program at a terminal of which only the test knows.
fn start_at(place: &Place, device: &str, words: &[&str]) -> Child {
    let slave = File::options().read(true).write(true).open(device).unwrap();
    let program = place.command(words);
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(program.get_program()).args(program.get_args());
    command.current_dir(place.directory.path());
    command.env("XDG_STATE_HOME", place.directory.path().join("state")).env("TERM", "xterm");
    command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap());
    command.stderr(slave).spawn().unwrap()
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
        (&["--hold", "before", "--approval-timeout", "2s", "--", "touch", "made"][..], 121),
    ] {
        let place = Place::new();
        let words = [&["run"], options].concat();
        let status = start_at(&place, &device, &words).wait().unwrap();
        assert_eq!(status.code(), Some(due), "{options:?}");
        assert!(!place.directory.path().join("made").exists());
        assert!(!is_exclusive(&device));
    }
}

#[test]
fn a_terminal_that_vanishes_while_a_question_stands_ends_the_question() {
    let place = Place::new();
    let (master, device) = new_terminal();
    let mut child = start_at(&place, &device, &asking("made"));
    while !is_exclusive(&device) {
        std::thread::yield_now();
    }
    drop(master);
    assert_eq!(child.wait().unwrap().code(), Some(129));
    assert!(!place.directory.path().join("made").exists());
    place.verified();
}
