//! A terminal at which a test sits: a pseudo-terminal of its own session.

#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that fails, fails its test")]

use crate::program::Place;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program on a terminal of its own.
pub(crate) struct Terminal {
    keyboard: File,
    screen: Receiver<String>,
    shown: String,
    pub(crate) device: String,
    child: Child,
}

impl Terminal {
    /// Starts the program there.
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let device = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = File::options().read(true).write(true).open(&device).unwrap();
        let program = place.command(arguments);
        // A session of its own, with the terminal on standard input as its terminal.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program.get_program()).args(program.get_args());
        command.current_dir(place.directory.path());
        command.env_remove("HOLDPOINT_LOG").env_remove("HOLDPOINT_LOCK_WAIT");
        command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap());
        let child = command.stderr(slave).spawn().unwrap();
        drop(command);
        let keyboard = File::from(master);
        let screen = read_on(keyboard.try_clone().unwrap());
        Self { keyboard, screen, shown: String::new(), device, child }
    }

    /// Waits until this is shown; what was shown up to there is not looked at again.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.shown.find(text) {
                let rest = self.shown.split_off(at + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            match self.screen.recv_timeout(PATIENCE) {
                Ok(piece) => self.shown.push_str(&piece),
                Err(_) => panic!("{text:?} was not shown, but {:?}", self.shown),
            }
        }
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Waits for the end: the status, and what was shown until then.
    pub(crate) fn end(mut self) -> (i32, String) {
        let status = self.child.wait().unwrap().code().unwrap();
        while let Ok(piece) = self.screen.recv_timeout(PATIENCE) {
            self.shown.push_str(&piece);
        }
        (status, self.shown)
    }
}

/// What is shown, piece by piece, until nobody has the terminal open any more.
fn read_on(mut screen: File) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = screen.read(&mut buffer) {
            let piece = String::from_utf8_lossy(buffer.get(..length).unwrap()).into_owned();
            if sender.send(piece).is_err() {
                return;
            }
        }
    });
    receiver
}
