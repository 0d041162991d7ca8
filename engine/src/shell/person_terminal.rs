//! The terminal at which a person sits.

use rustix::process::{getpgrp, getuid};
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp, ttyname};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// Longest line that is taken from a terminal, in bytes; terminals themselves allow 4096.
const LINE_MAX: usize = 8192;

/// The terminal of this process's session, open for a conversation line by line.
#[derive(Debug)]
pub struct PersonTerminal {
    device: File,
    name: String,
    typed: Vec<u8>,
}

/// A line that somebody typed at the terminal of this process's session. It proves a person there,
/// for one command: [`Engine::submit_typed`](super::Engine::submit_typed) takes it. Only
/// [`PersonTerminal`] makes one, of what was typed since it last
/// [forgot](PersonTerminal::forget_typed) what had been typed.
#[derive(Debug, PartialEq, Eq)]
pub struct TypedLine {
    text: String,
    terminal: String,
}

impl TypedLine {
    /// The line, without its end and without blanks around it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The device at which it was typed: `/dev/pts/3`.
    #[must_use]
    pub fn terminal(&self) -> &str {
        &self.terminal
    }

    pub(super) fn into_terminal(self) -> String {
        self.terminal
    }
}

impl PersonTerminal {
    /// The terminal, if standard input and standard error are one.
    #[must_use]
    pub fn open() -> Option<Self> {
        let name = terminal_name()?;
        if !io::stderr().is_terminal() {
            return None;
        }
        let device = File::options().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { device, name, typed: Vec::new() })
    }

    /// The device: `/dev/pts/3`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Throws away what was typed before now: it was no answer to what is asked next.
    pub fn forget_typed(&mut self) {
        self.typed.clear();
        // Where this fails nothing is lost but the throwing away.
        let _ = tcflush(&self.device, QueueSelector::IFlush);
    }

    /// The descriptor to wait on; `None` while this process is in the background, where reading
    /// would stop it.
    #[must_use]
    pub fn readable(&self) -> Option<BorrowedFd<'_>> {
        let is_foreground = tcgetpgrp(&self.device).is_ok_and(|group| group == getpgrp());
        is_foreground.then(|| self.device.as_fd())
    }

    /// Takes what was typed, once [readable](Self::readable): a whole line, or nothing yet.
    ///
    /// # Errors
    /// The terminal is gone, or was told that nothing more will be typed.
    pub fn line(&mut self) -> io::Result<Option<TypedLine>> {
        let mut buffer = [0_u8; 1024];
        let length = self.device.read(&mut buffer)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.typed.extend(buffer.iter().take(length));
        let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') else {
            self.typed.truncate(LINE_MAX);
            return Ok(None);
        };
        let line: Vec<u8> = self.typed.drain(..=end).collect();
        let text = String::from_utf8_lossy(&line).trim().to_string();
        Ok(Some(TypedLine { text, terminal: self.name.clone() }))
    }

    /// Writes to the terminal. Where it is gone there is nobody to tell.
    pub fn say(&mut self, text: &str) {
        let _ = self.device.write_all(text.as_bytes());
    }
}

impl AsFd for PersonTerminal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// The device of the terminal on standard input: `/dev/pts/3`; `None` where there is none, or where
/// it is the side of one that a program holds, as `/dev/ptmx`: nobody sits there.
#[must_use]
pub fn terminal_name() -> Option<String> {
    let input = io::stdin();
    if !input.is_terminal() || is_programs_side(&input) {
        return None;
    }
    let name = ttyname(&input, Vec::new());
    Some(name.map_or_else(|_| "a terminal".to_string(), |name| name.to_string_lossy().into_owned()))
}

#[cfg(target_os = "linux")]
fn is_programs_side(terminal: &impl AsFd) -> bool {
    rustix::pty::ptsname(terminal, Vec::new()).is_ok()
}

#[cfg(not(target_os = "linux"))]
const fn is_programs_side(_: &impl AsFd) -> bool {
    false
}

/// The number of the user who runs this process.
#[must_use]
pub fn user_number() -> u32 {
    getuid().as_raw()
}
