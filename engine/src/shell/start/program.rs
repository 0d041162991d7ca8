//! The program that a start is bound to: its file, and of a script the interpreters behind it.

use super::StartError;
use super::context::{line, program_lines};
use super::facts::{Fact, file_value};
use crate::executor::{CommandSpec, OpenProgramError, OpenedFile, OpenedProgram, visible};
use holdpoint_domain::core::hash::Digest;
use std::os::unix::ffi::OsStrExt;

/// The kind of the fact that is about the program.
pub(super) const PROGRAM: &str = "program";
/// The kind of one that is about an interpreter, by the name that the script gives it.
pub(super) const INTERPRETER: &str = "interpreter";

/// The program that a start was approved with: the canonical paths and SHA-256 of its file and of
/// its interpreters, as the question shows them.
#[derive(Clone, Debug)]
pub(in crate::shell) struct ApprovedProgram {
    lines: Vec<String>,
}

impl ApprovedProgram {
    pub(super) fn of(facts: &[Fact]) -> Self {
        Self { lines: facts.iter().map(line).collect() }
    }

    /// Returns what a question shows of the program, where it shows one.
    pub(in crate::shell) fn shown_in(context: &str) -> Option<Self> {
        let lines = program_lines(context);
        (!lines.is_empty()).then_some(Self { lines })
    }

    /// Opens what a command would be started from now, where it is that, or says what it is else.
    pub(in crate::shell) fn open(&self, command: &CommandSpec) -> Result<OpenedProgram, String> {
        let opened = OpenedProgram::open(command).map_err(|error| error.to_string())?;
        let now = Self::of(&facts_of(&opened));
        // A question from before interpreters were bound shows none, and is about the script alone.
        let bound = match self.lines.len() {
            1 => 1,
            _ => now.lines.len().max(self.lines.len()),
        };
        let nothing = "nothing".to_string();
        let pairs = (0..bound).map(|at| {
            let of = |program: &Self| program.lines.get(at).unwrap_or(&nothing).clone();
            (of(self), of(&now))
        });
        match pairs.into_iter().find(|(before, now)| before != now) {
            None => Ok(opened),
            Some((before, now)) => {
                Err(format!("{} was approved, {} is there", before.trim(), now.trim()))
            }
        }
    }
}

/// The file behind the program's name, and each interpreter.
pub(super) fn program(command: &CommandSpec) -> Result<Vec<Fact>, StartError> {
    Ok(facts_of(&OpenedProgram::open(command)?))
}

fn facts_of(opened: &OpenedProgram) -> Vec<Fact> {
    let kinds = std::iter::once(PROGRAM).chain(std::iter::repeat(INTERPRETER));
    opened.files().iter().zip(kinds).map(|(file, kind)| fact(file, kind)).collect()
}

fn fact(file: &OpenedFile, kind: &'static str) -> Fact {
    let (place, digest) = (file.place(), Digest::from_bytes(file.sha256()));
    let shown = format!("{}, SHA-256 {digest}", visible(place.as_os_str()));
    // The search for the program is bound by its outcome.
    let name = if kind == PROGRAM { Vec::new() } else { file.named().as_bytes().to_vec() };
    Fact { kind, name, value: file_value(&digest, place), shown }
}

impl From<OpenProgramError> for StartError {
    fn from(error: OpenProgramError) -> Self {
        match error {
            OpenProgramError::Refused(refusal) => Self::Program(refusal),
            OpenProgramError::Io { path, source } => Self::Io { what: "read", path, source },
            OpenProgramError::Changing { path } => Self::Changing { path },
        }
    }
}
