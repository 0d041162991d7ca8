//! The other programs of this process's terminal, and which of them ran meanwhile.
//!
//! Where the system still has TIOCSTI for everybody, each of them can put what it likes into what
//! was typed. One that did not run did not.

use super::behind::has_foreign_code;
use crate::raw_file::{is_missing, proc_file};
use rustix::io::Errno;
use rustix::process::getpid;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// File in which the system says whether everybody may type at the terminal of its session.
const MAY_TYPE: &str = "/proc/sys/dev/tty/legacy_tiocsti";

/// The other programs of a terminal, at one moment.
#[derive(Debug)]
pub(super) enum Others {
    /// None of them can type there: the system lets only root do so.
    NobodyTypes,
    /// The threads of all of them.
    Threads(BTreeMap<Thread, Option<Switches>>),
    /// They could not be read: any may have run.
    Unread,
}

/// A thread: its process, itself, and when the process was started.
type Thread = (i32, i32, u64);

/// Number of times a thread was taken from the processor. `None` for one that runs.
type Switches = (u64, u64);

impl Others {
    /// Returns the threads that have the terminal of this process now.
    pub(super) fn look() -> Self {
        if fs::read_to_string(MAY_TYPE).is_ok_and(|says| says.trim() == "0") {
            return Self::NobodyTypes;
        }
        threads_of_terminal().map_or(Self::Unread, Self::Threads)
    }

    /// One of the programs that ran since, by its name and number.
    pub(super) fn who_ran(&self) -> Option<String> {
        let (before, now) = match (self, Self::look()) {
            (_, Self::NobodyTypes) => return None,
            (Self::Threads(before), Self::Threads(now)) => (before, now),
            _ => return Some("some process that cannot be read".to_string()),
        };
        let is_idle = |(thread, switches): (&Thread, &Option<Switches>)| {
            switches.is_some() && before.get(thread) == Some(switches)
        };
        let began = now.iter().find(|found| !is_idle(*found)).map(|(thread, _)| thread);
        let ended = || before.keys().find(|thread| !now.contains_key(*thread));
        let (process, ..) = began.or_else(ended)?;
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "._-+".contains(*c);
        let name: String = name.chars().filter(is_plain).collect();
        Some(format!("process {process} ({name})"))
    }
}

/// The threads of all programs of this process's terminal but this one.
fn threads_of_terminal() -> io::Result<BTreeMap<Thread, Option<Switches>>> {
    let mut threads = BTreeMap::new();
    let terminal = stat("self")?.ok_or(io::ErrorKind::NotFound)?.terminal;
    if terminal == 0 {
        return Ok(threads);
    }
    let own = getpid().as_raw_nonzero().get();
    for entry in fs::read_dir("/proc")? {
        let process = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        let Some(process) = process.filter(|process| *process != own) else { continue };
        let Some(found) = stat(&process.to_string())? else { continue };
        if found.terminal == terminal && !is_of_this_program(process) {
            threads.extend(threads_of(process, found.started)?);
        }
    }
    Ok(threads)
}

/// Returns whether a process is this very program, with no code but its own and the system's: it
/// types for nobody.
fn is_of_this_program(process: i32) -> bool {
    let own = rustix::fs::readlink("/proc/self/exe", Vec::new());
    let found = rustix::fs::readlink(format!("/proc/{process}/exe"), Vec::new());
    let (Ok(own), Ok(Some(maps))) = (own, proc_file(&format!("/proc/{process}/maps"))) else {
        return false;
    };
    let is_same = found.is_ok_and(|found| found == own);
    is_same && !maps.is_empty() && !has_foreign_code(&maps, &own.to_string_lossy())
}

fn threads_of(process: i32, started: u64) -> io::Result<Vec<(Thread, Option<Switches>)>> {
    let Some(listed) = unless_gone(fs::read_dir(format!("/proc/{process}/task")))? else {
        return Ok(Vec::new());
    };
    let mut threads = Vec::new();
    for entry in listed {
        let Some(entry) = unless_gone(entry)? else { continue };
        if let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
            threads.push(((process, thread, started), switches(&entry.path())));
        }
    }
    Ok(threads)
}

/// Returns what was read of a process; `None`: it has ended.
fn unless_gone<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

fn switches(thread: &Path) -> Option<Switches> {
    let status = fs::read_to_string(thread.join("status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()
    };
    if field("State:")? == "R" {
        return None;
    }
    let number = |name: &str| field(name)?.parse().ok();
    Some((number("voluntary_ctxt_switches:")?, number("nonvoluntary_ctxt_switches:")?))
}

struct Stat {
    terminal: u32,
    started: u64,
}

/// The terminal of a process, and when it was started; `None`: it has ended.
fn stat(process: &str) -> io::Result<Option<Stat>> {
    let read = unless_gone(fs::read(format!("/proc/{process}/stat")))?;
    let Some(stat) = read else { return Ok(None) };
    let stat = String::from_utf8_lossy(&stat).into_owned();
    let fields = || {
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let terminal = fields.nth(4)?.parse::<i64>().ok()?;
        let started = fields.nth(14)?.parse().ok()?;
        Some(Stat { terminal: u32::try_from(terminal & 0xffff_ffff).ok()?, started })
    };
    fields().map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
