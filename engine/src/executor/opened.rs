//! The program of a command, held open: what was looked at is what is executed.
//!
//! A name may stand for another file at any moment. So the program is opened once, read through
//! that descriptor, and the very same descriptor is executed. Of a script that is its interpreter,
//! with the arguments that the system would give it, or the shell where its first line names none;
//! the interpreter opens the script by its path, which is compared once more right before.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat, fstat, open, stat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::child_calls::keep_writers_away;
use super::command::CommandSpec;
use super::resolve::{Obstacle, StartRefusal, check_executable};

/// Number of interpreters there may be, each but the last a script of the one behind it: as many as
/// Linux follows.
const INTERPRETERS_MAX: usize = 5;
/// Number of bytes of a file that Linux reads to find its interpreter.
const HEAD_BYTES: usize = 256;
/// Amount that is read at once.
const PIECE_BYTES: usize = 64 << 10;
/// Beginning of a script that names its interpreter.
const SCRIPT: &[u8] = b"#!";
/// Program that executes a script that names none, as `execvp` does it.
pub(super) const SHELL: &CStr = c"/bin/sh";

/// Why a program was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenProgramError {
    /// It, or an interpreter of it, cannot be executed.
    #[error(transparent)]
    Refused(#[from] StartRefusal),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Answer of the system.
        source: io::Error,
    },
    /// A file was changed or replaced while it was read.
    #[error("{} was changed while it was read", .path.display())]
    Changing {
        /// Path of the file.
        path: PathBuf,
    },
}

/// A program with its interpreters, each file open and read. Nobody who opens one for writing gets
/// it meanwhile, where this user may ask for that: so this is not kept longer than it takes to
/// start the command.
#[derive(Debug)]
pub struct OpenedProgram {
    path: PathBuf,
    files: Vec<OpenedFile>,
    words: Vec<OsString>,
}

/// One file that is read to start a command.
#[derive(Debug)]
pub struct OpenedFile {
    named: OsString,
    place: PathBuf,
    sha256: [u8; 32],
    state: FileState,
    file: File,
}

/// Facts that tell whether a file is still the one that was looked at: device, inode, length, and
/// the time at which anything about it changed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileState([i128; 5]);

/// Program to be executed: the last file, by its descriptor, where the others are as they were.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Path as the system would be given it.
    pub(super) path: OsString,
    pub(super) state: FileState,
    /// The arguments from the first on, which is the command's own name.
    pub(super) words: Vec<OsString>,
    /// Files that are opened by their path later.
    pub(super) others: Vec<(OsString, FileState)>,
}

/// Kind of a file by its first bytes.
enum Head {
    /// A script that names its interpreter.
    Script(Interpreter),
    /// Without a byte that is no text in its first line: for the shell, where the system does not
    /// know what it is.
    Text,
    /// A program for the system.
    Binary,
}

impl Head {
    fn of(head: &[u8]) -> Self {
        let mut first_line = head.split(|byte| *byte == b'\n');
        match interpreter(head) {
            Some(interpreter) => Self::Script(interpreter),
            None if first_line.next().is_some_and(|line| line.contains(&0)) => Self::Binary,
            None => Self::Text,
        }
    }
}

/// Program that executes a script.
struct Interpreter {
    path: OsString,
    argument: Option<OsString>,
}

impl OpenedProgram {
    /// Opens and reads the program that a command names, and the interpreter that it names if it is
    /// a script, and so on.
    ///
    /// # Errors
    /// One of them is not there, cannot be executed or cannot be read.
    pub fn open(command: &CommandSpec) -> Result<Self, OpenProgramError> {
        let path = command.resolve()?;
        let (mut files, mut words) = (Vec::new(), vec![command.program.clone()]);
        words.extend(command.arguments.iter().cloned());
        let mut next = Some(path.clone().into_os_string());
        let mut is_shell = false;
        while let Some(named) = next.take() {
            let (file, found) = OpenedFile::open(named, &command.directory)?;
            if let Head::Text = found
                && !is_shell
            {
                // Whatever names it as its interpreter, the shell gets the command's own file.
                let shell = OsString::from_vec(SHELL.to_bytes().to_vec());
                let interpreter = Interpreter { path: shell.clone(), argument: None };
                check_interpreter(&interpreter, &file, &command.directory, 0)?;
                words = vec![shell.clone(), path.clone().into_os_string()];
                words.extend(command.arguments.iter().cloned());
                (is_shell, next) = (true, Some(shell));
            } else if let Head::Script(interpreter) = found {
                check_interpreter(&interpreter, &file, &command.directory, files.len())?;
                let first = [Some(interpreter.path.clone()), interpreter.argument];
                let script = Some(file.named.clone());
                words.splice(..1, first.into_iter().chain([script]).flatten());
                next = Some(interpreter.path);
            }
            files.push(file);
        }
        Ok(Self { path, files, words })
    }

    /// The program, and behind it each interpreter.
    pub fn files(&self) -> &[OpenedFile] {
        &self.files
    }

    /// The program as the search found it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what to execute, and its descriptor.
    pub(super) fn plan(&self, command: &CommandSpec) -> Option<(Plan, BorrowedFd<'_>)> {
        // Elsewhere only a path can be executed, and the system itself finds the interpreter.
        let by_descriptor = cfg!(target_os = "linux");
        let of_command = || [&command.program].into_iter().chain(&command.arguments).cloned();
        let (executed, words) = match by_descriptor {
            true => (self.files.last()?, self.words.clone()),
            false => (self.files.first()?, of_command().collect()),
        };
        let others = self.files.iter().filter(|file| !std::ptr::eq(*file, executed));
        let others = others.map(|file| (file.named.clone(), file.state)).collect();
        let (path, state) = (executed.named.clone(), executed.state);
        Some((Plan { path, state, words, others }, executed.file.as_fd()))
    }
}

impl OpenedFile {
    /// Its canonical path.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Returns it as it was named: by the search for the program, or by a script's first line.
    pub fn named(&self) -> &OsStr {
        &self.named
    }

    /// The digest of its content.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    fn open(named: OsString, directory: &Path) -> Result<(Self, Head), OpenProgramError> {
        let path = directory.join(&named);
        let failed = |source| OpenProgramError::Io { path: path.clone(), source };
        // A pipe in its place must not be waited for.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = open(&path, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let mut file = File::from(opened);
        if !file.metadata().map_err(failed)?.is_file() {
            let obstacle = Obstacle::SpecialFile;
            return Err(StartRefusal::NotExecutable { path, obstacle }.into());
        }
        keep_writers_away(&file);
        let state_of =
            |file: &File| fstat(file).map(|it| FileState::of(&it)).map_err(io::Error::from);
        let before = state_of(&file).map_err(failed)?;
        let (sha256, head) = read_whole(&mut file).map_err(failed)?;
        let place = path.canonicalize().map_err(failed)?;
        let stands_there = stat(&place).map(|it| FileState::of(&it));
        if state_of(&file).map_err(failed)? != before || stands_there != Ok(before) {
            return Err(OpenProgramError::Changing { path });
        }
        Ok((Self { named, place, sha256, state: before, file }, Head::of(&head)))
    }
}

impl FileState {
    /// Takes nothing from the heap: a child asks as well that may not.
    pub(super) fn of(stat: &Stat) -> Self {
        Self([
            i128::from(stat.st_dev),
            i128::from(stat.st_ino),
            i128::from(stat.st_size),
            i128::from(stat.st_ctime),
            i128::from(stat.st_ctime_nsec),
        ])
    }
}

/// An interpreter has to be there, one that may be executed, and not one too many.
fn check_interpreter(
    interpreter: &Interpreter,
    script: &OpenedFile,
    directory: &Path,
    before: usize,
) -> Result<(), StartRefusal> {
    let script = || PathBuf::from(&script.named);
    if before >= INTERPRETERS_MAX {
        let obstacle = Obstacle::Interpreters;
        return Err(StartRefusal::NotExecutable { path: script(), obstacle });
    }
    let path = PathBuf::from(&interpreter.path);
    check_executable(&directory.join(&path)).map_err(|obstacle| match obstacle {
        Some(obstacle) => StartRefusal::NotExecutable { path, obstacle },
        None => StartRefusal::InterpreterNotFound { path: script() },
    })
}

/// The digest of a file, and how it begins.
fn read_whole(file: &mut File) -> io::Result<([u8; 32], Vec<u8>)> {
    let (mut digest, mut head, mut piece) = (Sha256::new(), Vec::new(), vec![0; PIECE_BYTES]);
    file.seek(SeekFrom::Start(0))?;
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok((digest.finalize().into(), head)),
            Ok(taken) => {
                let taken = piece.get(..taken).unwrap_or_default();
                digest.update(taken);
                let wanted = HEAD_BYTES.saturating_sub(head.len()).min(taken.len());
                head.extend_from_slice(taken.get(..wanted).unwrap_or_default());
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns what a file's first line names, as Linux reads it: an interpreter, and at most one
/// argument, which is all the rest.
fn interpreter(head: &[u8]) -> Option<Interpreter> {
    let mut buffer = [0; HEAD_BYTES];
    buffer.iter_mut().zip(head).for_each(|(to, from)| *to = *from);
    let text = buffer.strip_prefix(SCRIPT)?;
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let ends_text = text.iter().position(|byte| matches!(byte, 0 | b'\n'));
    let line = match ends_text.and_then(|at| Some((at, text.get(at)?))) {
        Some((at, b'\n')) => text.get(..at)?,
        // Without an end of the line the name has to end in what is read, and the last byte is not.
        _ => {
            let begins = text.iter().position(|byte| !is_blank(byte))?;
            let rest = text.get(begins..)?;
            rest.iter().position(|byte| is_blank(byte) || *byte == 0)?;
            let line = text.split_last()?.1;
            line.split(|byte| *byte == 0).next()?
        }
    };
    let line = without_blanks(line);
    let ends = line.iter().position(is_blank).unwrap_or(line.len());
    let (path, rest) = line.split_at_checked(ends)?;
    if path.is_empty() {
        return None;
    }
    let argument = Some(without_blanks(rest)).filter(|rest| !rest.is_empty());
    let owned = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    Some(Interpreter { path: owned(path), argument: argument.map(owned) })
}

/// A line without blanks and tabs around it.
fn without_blanks(line: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let begins = line.iter().position(is_text).unwrap_or(line.len());
    let ends = line.iter().rposition(is_text).map_or(begins, |last| last.saturating_add(1));
    line.get(begins..ends).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_script_is_read_as_the_system_reads_it() {
        let of = |head: &[u8]| {
            let found = interpreter(head)?;
            let argument = found.argument.map(|it| it.into_string().expect("text"));
            Some((found.path.into_string().expect("text"), argument))
        };
        let names = |path: &str, argument: Option<&str>| {
            Some((path.to_string(), argument.map(str::to_string)))
        };
        assert_eq!(of(b"#!/bin/sh\necho"), names("/bin/sh", None));
        assert_eq!(of(b"#! \t/bin/sh -e \n"), names("/bin/sh", Some("-e")));
        assert_eq!(of(b"#!/usr/bin/env -S a  b\n"), names("/usr/bin/env", Some("-S a  b")));
        assert_eq!(of(b"#!/bin/sh"), names("/bin/sh", None));
        assert_eq!(of(b"#!./own\r\n"), names("./own\r", None));
        assert_eq!(of(b"#!/bin/sh\0 -e\n"), names("/bin/sh", None));
        for none in [&b"#!"[..], b"#!\n/bin/sh", b"#!  \n", b"\x7fELF", b"", b"# !/bin/sh"] {
            assert_eq!(of(none), None, "{none:?}");
        }
        // A name that may go on behind what is read is none; an argument is cut.
        let long = [b"#!/", &[b'x'; 300][..]].concat();
        assert_eq!(of(&long), None);
        let cut = [b"#!/bin/sh ", &[b'x'; 300][..]].concat();
        assert_eq!(of(&cut), names("/bin/sh", Some(&"x".repeat(245))));
    }
}
