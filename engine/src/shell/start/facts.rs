//! Facts that an approval of a start is bound to, as it is now.

use super::StartError;
use super::context::{Edition, SEPARATOR};
use super::file_content::{ContentReading, content, unreadable};
use super::input::Input;
use super::keys::ApprovalKey;
use super::named_files::{FILE, NamedFile, NamedFiles};
use super::program::{ApprovedProgram, program};
use super::variables::{self, UnboundValue, VARIABLE, unbound_fact};
use crate::executor::{CommandSpec, command_line, visible};
use crate::shell::bound_directory::BoundDirectory;
use crate::shell::run::GovernedRun;
use crate::shell::{user_name, user_number};
use holdpoint_domain::core::hash::{Digest, HashBuilder};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Tag of the text whose digest is that of all facts; another one with another version.
const DIGEST_TAG: &str = "holdpoint.start";
/// The kind of the fact about the argument vector.
pub(super) const COMMAND: &str = "command";

/// One thing that a start is bound to.
#[derive(Debug)]
pub(super) struct Fact {
    /// Kind of thing that it is about.
    pub(super) kind: &'static str,
    /// Name of the thing, where there are several.
    pub(super) name: Vec<u8>,
    /// Exactly what it is.
    pub(super) value: Vec<u8>,
    /// The same for a person, on one line.
    pub(super) shown: String,
}

/// Everything that a start is bound to.
pub(super) struct Facts {
    pub(super) edition: Edition,
    pub(super) all: Vec<Fact>,
    pub(super) program: ApprovedProgram,
    /// The files that are compared once more right before the start.
    pub(super) last_look: Vec<NamedFile>,
    /// The values of the variables that are not bound, as they are now.
    pub(super) unbound: Vec<UnboundValue>,
}

/// Surroundings from which a start is looked at.
pub(super) struct StartContext<'a> {
    /// The log's own id, in hexadecimal digits.
    pub(super) log_id: String,
    /// The log's directory.
    pub(super) log: &'a Path,
    pub(super) choices: &'a Choices,
    pub(super) input: &'a Input,
    pub(super) key: &'a ApprovalKey,
}

/// Choices to bind and not to bind, by whoever asks.
#[derive(Debug)]
pub(super) struct Choices {
    pub(super) edition: Edition,
    /// Files that are bound besides those that words of the command name.
    pub(super) files: Vec<PathBuf>,
    /// Names of files in the command that are not bound.
    pub(super) unread: Vec<String>,
    /// Names of variables that are not bound.
    pub(super) unbound: Vec<String>,
    /// Form in which the question shows their values, where it stands.
    pub(super) asked: Vec<UnboundValue>,
}

impl Facts {
    /// Looks at everything. Nothing is changed.
    pub(super) fn of(run: &GovernedRun, around: &StartContext<'_>) -> Result<Self, StartError> {
        let (command, choices) = (&run.command, around.choices);
        variables::check(command)?;
        let program = program(command)?;
        let mut facts = Self {
            edition: choices.edition,
            all: vec![words(command), user(), log(around)?, directory(&command.directory)?],
            program: ApprovedProgram::of(&program),
            last_look: Vec::new(),
            unbound: variables::unbound_values(command, &run.environment, &choices.unbound),
        };
        facts.all.extend(program);
        match choices.edition {
            Edition::First => facts.add_former(run, around)?,
            Edition::Second => facts.add_newest(run, around)?,
        }
        Ok(facts)
    }

    /// Adds the facts that programs before this one bound: the files that were named for it, and
    /// every variable.
    fn add_former(
        &mut self,
        run: &GovernedRun,
        around: &StartContext<'_>,
    ) -> Result<(), StartError> {
        let (command, choices) = (&run.command, around.choices);
        self.all
            .extend(files(&choices.files, &command.directory)?.into_iter().map(|(fact, _)| fact));
        self.all.extend(variables::former_facts(command, &run.environment, around.key));
        self.all.push(input(around.input)?);
        Ok(())
    }

    /// Adds the facts bound besides the command and its program; at last those that are not bound,
    /// by name.
    fn add_newest(
        &mut self,
        run: &GovernedRun,
        around: &StartContext<'_>,
    ) -> Result<(), StartError> {
        let (command, choices) = (&run.command, around.choices);
        let named = NamedFiles::of(command, &choices.unread)?;
        let variables = variables::facts(command, &run.environment, around.key, &choices.unbound);
        let (others, code): (Vec<_>, Vec<_>) =
            variables.into_iter().partition(|fact| fact.kind == VARIABLE);
        self.all.extend(code);
        self.all.extend(named.bound);
        self.last_look = named.last_look;
        for (fact, file) in files(&choices.files, &command.directory)? {
            // A file that a word names is bound already.
            if self.last_look.iter().all(|known| known.value != file.value) {
                self.all.push(fact);
                self.last_look.push(file);
            }
        }
        self.all.extend(others);
        self.all.push(input(around.input)?);
        self.all.extend(named.unread);
        let asked = |now: &UnboundValue| {
            let shown = choices.asked.iter().find(|asked| asked.name == now.name);
            unbound_fact(shown.unwrap_or(now))
        };
        self.all.extend(self.unbound.iter().map(asked).collect::<Vec<_>>());
        Ok(())
    }

    /// The digest of all of them: their number, and of each its kind, name and value.
    pub(super) fn digest(&self) -> Digest {
        let begun =
            HashBuilder::new(DIGEST_TAG, self.edition.number()).number(self.all.len() as u64);
        let add = |fields: HashBuilder, fact: &Fact| {
            fields.text(fact.kind).bytes(&fact.name).bytes(&fact.value)
        };
        self.all.iter().fold(begun, add).finish()
    }
}

impl Fact {
    fn one(kind: &'static str, value: Vec<u8>, shown: String) -> Self {
        Self { kind, name: Vec::new(), value, shown }
    }

    /// Returns which one of its kind, as it is shown; empty where there is one only. No name looks
    /// as if its value began within it.
    pub(super) fn shown_name(&self) -> String {
        visible(OsStr::from_bytes(&self.name)).replace(SEPARATOR, " \\x3d ")
    }
}

/// The argument vector, each word with its length.
fn words(command: &CommandSpec) -> Fact {
    let mut value = Vec::new();
    let words = std::iter::once(&command.program).chain(&command.arguments);
    for word in words {
        value.extend((word.len() as u64).to_le_bytes());
        value.extend(word.as_bytes());
    }
    Fact::one(COMMAND, value, command_line(&command.program, &command.arguments))
}

fn user() -> Fact {
    let number = user_number();
    let shown = format!("{number} ({})", user_name());
    Fact::one("user", u64::from(number).to_le_bytes().to_vec(), shown)
}

fn log(around: &StartContext<'_>) -> Result<Fact, StartError> {
    let place = canonical(around.log)?;
    let value = [around.log_id.as_bytes(), b" ", place.as_os_str().as_bytes()].concat();
    Ok(Fact::one("log", value, format!("{} in {}", around.log_id, visible(place.as_os_str()))))
}

fn directory(directory: &Path) -> Result<Fact, StartError> {
    let found = BoundDirectory::of(directory).map_err(|source| unreadable(directory, source))?;
    Ok(Fact::one("directory", found.identity(), found.shown()))
}

/// Returns how a file is bound: by its content and its canonical path.
pub(super) fn file_value(digest: &Digest, place: &Path) -> Vec<u8> {
    [digest.as_bytes().as_slice(), place.as_os_str().as_bytes()].concat()
}

/// The files that are bound too, each once, by their canonical paths.
fn files(named: &[PathBuf], directory: &Path) -> Result<Vec<(Fact, NamedFile)>, StartError> {
    let places = named.iter().map(|file| canonical(&directory.join(file)));
    let mut places = places.collect::<Result<Vec<PathBuf>, StartError>>()?;
    places.sort_unstable();
    places.dedup();
    let fact = |path: PathBuf| {
        let digest = whole(&path)?;
        let (name, value) = (path.as_os_str().as_bytes().to_vec(), file_value(&digest, &path));
        let shown = format!("SHA-256 {digest}");
        let file = NamedFile { path, value: value.clone() };
        Ok((Fact { kind: FILE, name, value, shown }, file))
    };
    places.into_iter().map(fact).collect()
}

/// The digest of a regular file that has to be one.
fn whole(file: &Path) -> Result<Digest, StartError> {
    let path = || file.to_path_buf();
    if !file.metadata().map_err(|source| unreadable(file, source))?.is_file() {
        return Err(StartError::NotAFile { path: path() });
    }
    match content(file, u64::MAX)? {
        ContentReading::Whole(content) => Ok(content.digest),
        ContentReading::Unreadable(source) => Err(unreadable(file, source)),
        ContentReading::Beyond | ContentReading::Kernel => {
            Err(StartError::NotAFile { path: path() })
        }
    }
}

fn input(input: &Input) -> Result<Fact, StartError> {
    let (value, shown) = match input {
        Input::Nothing => (b"nothing".to_vec(), "nothing".to_string()),
        Input::Terminal => (b"terminal".to_vec(), "what is typed at the terminal".to_string()),
        Input::File => {
            let content = Input::content()?;
            let (offset, length, digest) = (content.offset, content.length, content.digest);
            let numbers = [offset.to_le_bytes(), length.to_le_bytes()].concat();
            let value = [b"file".as_slice(), &numbers, digest.as_bytes()].concat();
            let shown = format!("a file, {length} bytes from byte {offset}, SHA-256 {digest}");
            (value, shown)
        }
        Input::Whole { digest, length } => {
            let value = [b"pipe".as_slice(), &length.to_le_bytes(), digest.as_bytes()].concat();
            (value, format!("a pipe, {length} bytes, SHA-256 {digest}"))
        }
    };
    Ok(Fact::one("input", value, shown))
}

fn canonical(path: &Path) -> Result<PathBuf, StartError> {
    path.canonicalize().map_err(|source| unreadable(path, source))
}
