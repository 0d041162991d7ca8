//! A terminal at which a test sits: a pseudo-terminal of its own session.

use crate::program::{Place, by_person, new_terminal, offered_word, skip};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::process::{Child, Command, ExitStatus, Output};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use vt100::Parser;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// What stands behind the number by which a person says who typed.
const OWN_NUMBER: &str = " to say that you did: ";

/// The program on a terminal of its own.
pub(crate) struct Terminal {
    keyboard: File,
    screen: Receiver<String>,
    shown: String,
    /// What a person sees of it.
    seen: Parser,
    pub(crate) device: String,
    child: Child,
}

impl Terminal {
    /// Starts the program there.
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::sized(place, (24, 80), arguments)
    }

    /// Starts the program at a terminal of so many rows and columns.
    pub(crate) fn sized(place: &Place, size: (u16, u16), arguments: &[&str]) -> Self {
        Self::start_sized(place, size, &place.command(arguments))
    }

    /// Starts any program there, in the same directory.
    pub(crate) fn start_command(place: &Place, program: &Command) -> Self {
        Self::start_sized(place, (24, 80), program)
    }

    /// The same, at a terminal of so many rows and columns.
    pub(crate) fn start_sized(place: &Place, size: (u16, u16), program: &Command) -> Self {
        Self::start_at(place, size, program, new_terminal())
    }

    fn start_at(
        place: &Place,
        size: (u16, u16),
        program: &Command,
        (master, device): (OwnedFd, String),
    ) -> Self {
        let (ws_row, ws_col) = size;
        tcsetwinsize(&master, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let slave = File::options().read(true).write(true).open(&device).unwrap();
        // A session of its own, with the terminal on standard input as its terminal.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program.get_program()).args(program.get_args());
        command.current_dir(place.directory.path());
        command.env_remove("HOLDPOINT_LOG").env_remove("HOLDPOINT_LOCK_WAIT");
        command.env("TERM", "xterm").env("HOLDPOINT_PAGER", "");
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap());
        let child = command.stderr(slave).spawn().unwrap();
        drop(command);
        let keyboard = File::from(master);
        let screen = read_on(keyboard.try_clone().unwrap());
        let seen = Parser::new(ws_row.try_into().unwrap(), ws_col.try_into().unwrap(), 0);
        Self { keyboard, screen, shown: String::new(), seen, device, child }
    }

    /// Starts any program at a terminal that belongs to a user.
    pub(crate) fn start_owned(place: &Place, owner: u32, program: &Command) -> Self {
        let (master, device) = new_terminal();
        chown(&device, Some(owner), None).unwrap();
        Self::start_at(place, (24, 80), program, (master, device))
    }

    /// Waits until this is shown; what was shown up to there is not looked at again.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.shown.find(text) {
                let rest = self.shown.split_off(at + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            self.show_more(&[text]);
        }
    }

    /// Waits for more of what is shown. Where another program of the terminal ran meanwhile, and
    /// nobody waits for that, the number is typed by which a person says who typed.
    fn show_more(&mut self, awaited: &[&str]) {
        if let Some((before, rest)) = self.shown.split_once(OWN_NUMBER) {
            let number = before.rsplit(' ').next().unwrap().to_string();
            self.shown = [before, rest].concat();
            return self.type_line(&number);
        }
        match self.screen.recv_timeout(PATIENCE) {
            Ok(piece) => self.shown.push_str(&piece),
            Err(_) => panic!("none of {awaited:?} was shown, but {:?}", self.shown),
        }
    }

    /// Waits until one of these is shown, and says which of them was first.
    pub(crate) fn wait_for_any(&mut self, texts: &[&str]) -> usize {
        loop {
            let places = texts
                .iter()
                .enumerate()
                .filter_map(|(which, text)| Some((self.shown.find(text)?, text.len(), which)));
            if let Some((at, length, which)) = places.min() {
                self.shown = self.shown.split_off(at + length);
                return which;
            }
            self.show_more(texts);
        }
    }

    /// Waits until this is seen on the terminal; what the terminal then shows, row by row. Not to
    /// be mixed with [`Terminal::wait_for`], which looks at what was written.
    pub(crate) fn see(&mut self, text: &str) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let written = std::mem::take(&mut self.shown);
            self.seen.process(written.as_bytes());
            let columns = self.seen.screen().size().1.get();
            let rows: Vec<String> = self.seen.screen().rows(0, columns).collect();
            if rows.iter().any(|row| row.contains(text)) {
                return rows;
            }
            // What counts down is written again and again.
            match self.screen.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(piece) => self.shown.push_str(&piece),
                Err(_) => panic!("{text:?} was not seen, but {rows:#?}"),
            }
        }
    }

    /// Presses keys, as a terminal sends them.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Makes the terminal another size.
    pub(crate) fn resize(&mut self, (ws_row, ws_col): (u16, u16)) {
        self.seen.screen_mut().set_size(ws_row.try_into().unwrap(), ws_col.try_into().unwrap());
        tcsetwinsize(&self.keyboard, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })
            .unwrap();
    }

    /// Says another size than what is seen has.
    pub(crate) fn says_it_is(&self, (ws_row, ws_col): (u16, u16)) {
        let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.keyboard, size).unwrap();
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: Signal) {
        let child = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(child, signal).unwrap();
    }

    /// Waits until the program is stopped.
    pub(crate) fn await_stop(&self) {
        let child = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        let how = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(child), how).unwrap().unwrap();
        assert!(status.stopped(), "it ended");
    }

    /// Whether the terminal takes whole lines.
    pub(crate) fn takes_lines(&self) -> bool {
        let modes = tcgetattr(&self.keyboard).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits until the usual screen is seen again.
    pub(crate) fn see_usual_screen(&mut self) {
        loop {
            let written = std::mem::take(&mut self.shown);
            self.seen.process(written.as_bytes());
            if !self.seen.screen().alternate_screen() {
                return;
            }
            self.shown = self.screen.recv_timeout(PATIENCE).unwrap();
        }
    }

    /// Waits for the end: how it ended, whether the terminal shows its usual screen again, and
    /// whether it takes whole lines again.
    pub(crate) fn end_plain(mut self) -> (ExitStatus, bool, bool) {
        let status = self.child.wait().unwrap();
        let takes_lines = self.takes_lines();
        while let Ok(piece) = self.screen.recv_timeout(PATIENCE) {
            self.shown.push_str(&piece);
        }
        self.seen.process(self.shown.as_bytes());
        let is_usual = !self.seen.screen().alternate_screen();
        (status, is_usual, takes_lines)
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Waits for the end, and types each word that is asked for until then: the status, and what
    /// was shown.
    pub(crate) fn end(self) -> (i32, String) {
        self.end_typing(str::to_string)
    }

    /// The same, where this is typed for each word that is asked for.
    pub(crate) fn end_typing(mut self, typed: impl Fn(&str) -> String) -> (i32, String) {
        let mut read = 0;
        loop {
            if let Some((word, rest)) = offered_word(&self.shown[read..]) {
                let (word, left) = (typed(word), rest.len());
                read = self.shown.len() - left;
                self.type_line(&word);
                continue;
            }
            // Another program of the terminal ran meanwhile.
            if let Some((before, rest)) = self.shown[read..].split_once(OWN_NUMBER) {
                let number = before.rsplit(' ').next().unwrap().to_string();
                read = self.shown.len() - rest.len();
                self.type_line(&number);
                continue;
            }
            match self.screen.recv_timeout(PATIENCE) {
                Ok(piece) => self.shown.push_str(&piece),
                Err(_) => break,
            }
        }
        let status = self.child.wait().unwrap().code().unwrap();
        (status, self.shown)
    }
}

/// What is shown, piece by piece, until nobody has the terminal open any more. No piece ends within
/// a character.
fn read_on(mut screen: File) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let (mut buffer, mut read) = ([0; 4096], Vec::new());
        while let Ok(length @ 1..) = screen.read(&mut buffer) {
            read.extend_from_slice(buffer.get(..length).unwrap());
            let whole = match std::str::from_utf8(&read) {
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                _ => read.len(),
            };
            let piece: Vec<u8> = read.drain(..whole).collect();
            if sender.send(String::from_utf8_lossy(&piece).into_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The program as a person runs it, who sits at a terminal of their own; what it prints is kept
/// apart.
pub(crate) fn at_terminal(place: &Place, arguments: &[&str]) -> Output {
    by_person(&place.command(arguments))
}

/// A shell at a terminal that heeds jobs.
pub(crate) fn shell(place: &Place) -> Option<Terminal> {
    if !Command::new("bash").arg("--version").output().is_ok_and(|it| it.status.success()) {
        skip("there is no bash that continues stopped jobs");
        return None;
    }
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-i"]).env("PS1", "shell> ").env("PS0", "");
    let mut terminal = Terminal::start_command(place, &bash);
    terminal.wait_for("shell> ");
    Some(terminal)
}

/// A line that runs the program, for a shell.
pub(crate) fn line(place: &Place, words: &[&str]) -> String {
    let program = place.command(words);
    let words = std::iter::once(program.get_program()).chain(program.get_args());
    let quoted = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    words.map(|word| quoted(word.to_str().unwrap())).collect::<Vec<_>>().join(" ")
}

/// Starts the program at a terminal of which only the test knows.
pub(crate) fn start_at(place: &Place, device: &str, words: &[&str]) -> Child {
    start_command_at(place, device, &place.command(words))
}

/// Starts any program there.
pub(crate) fn start_command_at(place: &Place, device: &str, program: &Command) -> Child {
    let slave = File::options().read(true).write(true).open(device).unwrap();
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(program.get_program()).args(program.get_args());
    command.current_dir(place.directory.path());
    command.env("XDG_STATE_HOME", place.directory.path().join("state")).env("TERM", "xterm");
    command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap());
    command.stderr(slave).spawn().unwrap()
}
