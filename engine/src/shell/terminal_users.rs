//! The other programs of this process's terminal, and which of them ran meanwhile.
//!
//! Where the system still has TIOCSTI for everybody, each of them can put what it likes into what
//! was typed. One that did not run did not.

use rustix::process::getpid;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Where the system says whether everybody may type at the terminal of its session.
const MAY_TYPE: &str = "/proc/sys/dev/tty/legacy_tiocsti";

/// The threads of all programs of a terminal but this one, at one moment.
#[derive(Debug)]
pub(super) struct Others(BTreeMap<Thread, Option<Switches>>);

/// A thread: its process, itself, and when the process was started.
type Thread = (i32, i32, u64);

/// How often a thread was taken from the processor. `None` for one that runs.
type Switches = (u64, u64);

impl Others {
    /// Who has the terminal of this process now. `None` where nobody else could type there, or
    /// where the system does not say who there is.
    pub(super) fn look() -> Option<Self> {
        if fs::read_to_string(MAY_TYPE).is_ok_and(|says| says.trim() == "0") {
            return None;
        }
        let terminal = stat("self")?.terminal;
        let own = getpid().as_raw_nonzero().get();
        let listed = fs::read_dir("/proc").ok()?.flatten();
        let processes = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let processes = processes.filter(|process: &i32| *process != own);
        let mut threads = BTreeMap::new();
        for process in processes {
            let Some(found) = stat(&process.to_string()) else { continue };
            if found.terminal == terminal && terminal != 0 && !is_of_this_program(process) {
                threads.extend(threads_of(process, found.started));
            }
        }
        Some(Self(threads))
    }

    /// One of the programs that ran since, by its name and number.
    pub(super) fn who_ran(&self) -> Option<String> {
        let now = Self::look()?;
        let is_idle = |(thread, switches): (&Thread, &Option<Switches>)| {
            switches.is_some() && self.0.get(thread) == Some(switches)
        };
        let began = now.0.iter().find(|found| !is_idle(*found)).map(|(thread, _)| thread);
        let ended = || self.0.keys().find(|thread| !now.0.contains_key(*thread));
        let (process, ..) = began.or_else(ended)?;
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "._-+".contains(*c);
        let name: String = name.chars().filter(is_plain).collect();
        Some(format!("process {process} ({name})"))
    }
}

/// Whether a process is this very program, with no code but its own and the system's: it types
/// for nobody.
fn is_of_this_program(process: i32) -> bool {
    let file = |path: &str| rustix::fs::stat(path).map(|it| (it.st_dev, it.st_ino)).ok();
    let own = file("/proc/self/exe");
    if own.is_none() || own != file(&format!("/proc/{process}/exe")) {
        return false;
    }
    let is_known = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let is_executable = fields.nth(1).is_none_or(|access| access.contains('x'));
        let path = fields.nth(3).unwrap_or_default();
        let is_the_systems = || rustix::fs::stat(path).is_ok_and(|it| it.st_uid == 0);
        !is_executable || path.starts_with("[v") || file(path) == own || is_the_systems()
    };
    let maps = fs::read_to_string(format!("/proc/{process}/maps"));
    maps.is_ok_and(|maps| !maps.is_empty() && maps.lines().all(is_known))
}

fn threads_of(process: i32, started: u64) -> impl Iterator<Item = (Thread, Option<Switches>)> {
    let listed = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    listed.filter_map(move |entry| {
        let thread = entry.file_name().to_str()?.parse().ok()?;
        Some(((process, thread, started), switches(&entry.path())))
    })
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

/// The number of the device of this process's terminal, as the system tells it.
pub(super) fn terminal_number() -> Option<u64> {
    // Twelve bits of the kind stand between the lower and the upper bits of the number.
    let told = stat("self")?.terminal;
    let (kind, number) = ((told >> 8) & 0xfff, (told & 0xff) | ((told >> 12) & 0xf_ff00));
    Some(rustix::fs::makedev(kind, number))
}

struct Stat {
    terminal: u32,
    started: u64,
}

/// The terminal of a process, and when it was started.
fn stat(process: &str) -> Option<Stat> {
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let terminal = fields.nth(4)?.parse::<i64>().ok()?;
    let started = fields.nth(14)?.parse().ok()?;
    Some(Stat { terminal: u32::try_from(terminal & 0xffff_ffff).ok()?, started })
}
