//! The session of this process, as `/proc` has it. A number of 0 there is one that the process
//! namespace does not show: the calls of rustix that return such a number cannot say so.

use crate::raw_file::proc_file;
use rustix::fs::{Stat, major, stat};
use rustix::io::Errno;
use rustix::termios::tcgetpgrp;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

/// Device kinds of pseudo-terminals.
const PSEUDO: std::ops::RangeInclusive<u32> = 136..=143;
/// The device kind of the console and of serial lines.
const CONSOLE: u32 = 4;
/// The first number of a serial line among those.
const SERIAL_FIRST: u32 = 64;

/// The session and the terminal of this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnSession {
    group: i32,
    /// The process that leads the session; `None`: outside of this process namespace.
    pub(super) leader: Option<i32>,
    /// The kind and the number of the terminal's device; `None`: there is no terminal.
    terminal: Option<(u32, u32)>,
}

impl OwnSession {
    /// Reads `/proc/self/stat`.
    ///
    /// # Errors
    /// The file cannot be read, or is not the kernel's.
    pub(super) fn of_process() -> io::Result<Self> {
        let stated = proc_file("/proc/self/stat")?;
        stated.as_deref().and_then(Self::parse).ok_or_else(|| ErrorKind::InvalidData.into())
    }

    fn parse(stated: &str) -> Option<Self> {
        // The name stands in parentheses and may hold anything, also parentheses.
        let (_, behind_name) = stated.rsplit_once(')')?;
        let mut fields = behind_name.split_ascii_whitespace().skip(2);
        let group = fields.next()?.parse().ok()?;
        let leader = fields.next()?.parse().ok().filter(|leader| *leader > 0);
        let terminal: i64 = fields.next()?.parse().ok()?;
        let told = u32::try_from(terminal & 0xffff_ffff).ok()?;
        // Twelve bits of the kind stand between the lower and the upper bits of the number.
        let device = ((told >> 8) & 0xfff, (told & 0xff) | ((told >> 12) & 0xf_ff00));
        Some(Self { group, leader, terminal: (told != 0).then_some(device) })
    }

    /// The path of the terminal's device; `None` where there is no terminal, or one of a kind that
    /// is not known.
    pub(super) fn terminal_path(&self) -> Option<String> {
        let (kind, number) = self.terminal?;
        device_path(kind, number).ok()
    }

    /// The device of the terminal; `None` where there is no terminal. `/dev/tty` is root's, whoever
    /// has the terminal.
    ///
    /// # Errors
    /// There is a terminal, and its device is not found.
    pub(super) fn terminal_device(&self) -> io::Result<Option<Stat>> {
        let Some((kind, number)) = self.terminal else { return Ok(None) };
        let found = stat(&*device_path(kind, number)?)?;
        match major(found.st_rdev) == kind {
            true => Ok(Some(found)),
            false => Err(ErrorKind::NotFound.into()),
        }
    }
}

fn device_path(kind: u32, number: u32) -> io::Result<String> {
    if PSEUDO.contains(&kind) {
        return Ok(format!("/dev/pts/{}", (kind - PSEUDO.start()) * 256 + number));
    }
    match number.checked_sub(SERIAL_FIRST) {
        Some(serial) if kind == CONSOLE => return Ok(format!("/dev/ttyS{serial}")),
        None if kind == CONSOLE => return Ok(format!("/dev/tty{number}")),
        _ => {}
    }
    let described = std::fs::read_to_string(format!("/sys/dev/char/{kind}:{number}/uevent"))?;
    let name = described.lines().find_map(|line| line.strip_prefix("DEVNAME="));
    name.map(|name| format!("/dev/{name}")).ok_or_else(|| ErrorKind::NotFound.into())
}

/// Returns whether a terminal is that of this process's session.
#[must_use]
pub fn is_of_session(terminal: impl AsFd) -> bool {
    // The kernel answers for the session's terminal alone. A group that the process namespace does
    // not show is refused by rustix.
    matches!(tcgetpgrp(terminal), Ok(_) | Err(Errno::OPNOTSUPP))
}

/// Returns whether this process is in the foreground of a terminal, which is its session's.
#[must_use]
pub fn is_in_front_of(terminal: impl AsFd) -> bool {
    let group = tcgetpgrp(terminal).map(|group| group.as_raw_nonzero().get());
    group.is_ok_and(|group| OwnSession::of_process().is_ok_and(|own| own.group == group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_of_the_process_namespace_has_no_number() {
        let of =
            |text: &str| OwnSession::parse(text).map(|own| (own.group, own.leader, own.terminal));
        assert_eq!(of("7 (a) b) S 1 7 5 34817 7 0"), Some((7, Some(5), Some((136, 1)))));
        assert_eq!(of("1 (sh) R 0 0 0 0 -1 0"), Some((0, None, None)));
        assert_eq!(of("1 (sh) R 0 0 0"), None);
    }
}
