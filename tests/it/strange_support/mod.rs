//! What may stand in the place of a log's file and is none, or becomes of it while it is read.

use crate::injection_support::Answer;
use crate::injection_support::sample::Sample;
use crate::injection_support::verbs::Verb;
use holdpoint_log_format::names;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a reading may take of addresses, in KiB: a fraction of what the largest files here claim.
const MEMORY_KIB_MAX: u64 = 2 << 20;

/// Whoever has not ended after so many seconds hangs. Readings here take a fraction of one.
const SECONDS_MAX: u64 = 120;

/// The length of a file of holes, in bytes.
const HOLES_LENGTH: u64 = 1 << 40;

/// What is appended to a file that grows.
const GROWTH: [u8; 4_096] = [b'~'; 4_096];

/// What stands in the place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strange {
    Pipe,
    Socket,
    /// Of endless zeros; a link to it where none may be made.
    Device,
    Directory,
    LinkToItself,
    LinkToDevice,
    LinkToNothing,
    /// A terabyte without a byte.
    Holes,
    /// A terabyte that begins as the file does.
    Longer,
}

impl Strange {
    pub(crate) const ALL: [Self; 9] = [
        Self::Pipe,
        Self::Socket,
        Self::Device,
        Self::Directory,
        Self::LinkToItself,
        Self::LinkToDevice,
        Self::LinkToNothing,
        Self::Holes,
        Self::Longer,
    ];

    /// Whether it is a regular file.
    pub(crate) fn is_file(self) -> bool {
        matches!(self, Self::Holes | Self::Longer)
    }

    /// Makes it at a path; what was there is `aside`.
    fn make(self, path: &Path, aside: &Path) {
        match self {
            Self::Pipe => node(path, FileType::Fifo).unwrap(),
            Self::Socket => node(path, FileType::Socket).unwrap(),
            Self::Device if node(path, FileType::CharacterDevice).is_ok() => {}
            Self::Device | Self::LinkToDevice => symlink("/dev/zero", path).unwrap(),
            Self::Directory => std::fs::create_dir(path).unwrap(),
            Self::LinkToItself => symlink(aside, path).unwrap(),
            Self::LinkToNothing => symlink("nothing", path).unwrap(),
            Self::Longer if aside.is_file() => {
                std::fs::copy(aside, path).unwrap();
                stretch(path);
            }
            Self::Holes | Self::Longer => stretch(path),
        }
    }
}

fn node(path: &Path, kind: FileType) -> rustix::io::Result<()> {
    mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, makedev(1, 5))
}

fn stretch(path: &Path) {
    let file = File::options().create(true).write(true).truncate(false).open(path).unwrap();
    file.set_len(HOLES_LENGTH).unwrap();
}

/// A name in whose place something strange stands, until this is dropped.
pub(crate) struct Replaced {
    path: PathBuf,
    aside: Option<PathBuf>,
}

impl Replaced {
    pub(crate) fn by(sample: &Sample, path: PathBuf, strange: Strange) -> Self {
        let aside = sample.place.directory.path().join("aside");
        let was_there = std::fs::rename(&path, &aside).is_ok();
        strange.make(&path, &aside);
        Self { path, aside: was_there.then_some(aside) }
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        remove(&self.path);
        if let Some(aside) = &self.aside {
            std::fs::rename(aside, &self.path).unwrap();
        }
    }
}

fn remove(path: &Path) {
    match path.symlink_metadata().unwrap().is_dir() {
        true => std::fs::remove_dir_all(path).unwrap(),
        false => std::fs::remove_file(path).unwrap(),
    }
}

/// What becomes of a file while it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swap {
    Pipe,
    Directory,
    Truncated,
    Grown,
    OfOtherLog,
}

impl Swap {
    pub(crate) const ALL: [Self; 5] =
        [Self::Pipe, Self::Directory, Self::Truncated, Self::Grown, Self::OfOtherLog];
}

/// A file, and what is to become of it.
pub(crate) struct Swapped {
    path: PathBuf,
    /// Its bytes as they were.
    before: Vec<u8>,
}

impl Swapped {
    pub(crate) fn new(path: PathBuf) -> Self {
        let before = std::fs::read(&path).unwrap();
        Self { path, before }
    }

    /// Does it. The file of another log is what lies under the same name there, else a segment.
    pub(crate) fn swap(&self, swap: Swap, other: &Path) {
        let path = &self.path;
        match swap {
            Swap::Pipe | Swap::Directory => {
                std::fs::remove_file(path).unwrap();
                let strange = if swap == Swap::Pipe { Strange::Pipe } else { Strange::Directory };
                strange.make(path, path);
            }
            Swap::Truncated => {
                let file = File::options().write(true).open(path).unwrap();
                file.set_len(self.before.len() as u64 / 2).unwrap();
            }
            Swap::Grown => {
                let mut file = File::options().append(true).open(path).unwrap();
                file.write_all(&GROWTH).unwrap();
            }
            Swap::OfOtherLog => {
                // Nothing but the file changes for whoever lists the directory meanwhile.
                let outside = other.with_extension("swapped");
                std::fs::copy(other, &outside).unwrap();
                std::fs::rename(outside, path).unwrap();
            }
        }
    }
}

impl Drop for Swapped {
    fn drop(&mut self) {
        remove(&self.path);
        std::fs::write(&self.path, &self.before).unwrap();
    }
}

/// How a verb was wrong about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It hung, or a signal or a panic ended it.
    Broke,
    /// It said that all was well, and something else than it says when all is well.
    OtherAnswer,
    /// It failed, and did not name the file.
    NothingNamed,
}

/// What is wrong with an answer, if anything is, where it should be this one.
pub(crate) fn judge(answer: &Answer, due: &Answer, verb: &Verb, path: &str) -> Option<Wrong> {
    match answer.code {
        None | Some(101 | 124..) => Some(Wrong::Broke),
        _ if answer.is_same(due) => None,
        // What is no file of a recorder is named, and counts for nothing.
        Some(0) if is_of_runs(path) && answer.names(verb, path) => None,
        Some(0) => Some(Wrong::OtherAnswer),
        _ if answer.names(verb, path) => None,
        _ => Some(Wrong::NothingNamed),
    }
}

fn is_of_runs(path: &str) -> bool {
    path.split('/').next() == Some(names::RUNS)
}

/// What a verb answers with little memory and time.
pub(crate) fn answer(sample: &Sample, verb: &Verb) -> Answer {
    let command = verb.command(sample);
    let mut limited = Command::new("sh");
    let script = format!("ulimit -v {MEMORY_KIB_MAX}; exec timeout -s KILL {SECONDS_MAX} \"$@\"");
    limited.args(["-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited.current_dir(command.get_current_dir().unwrap());
    Answer::of(verb, &limited.stdin(Stdio::null()).output().unwrap())
}
