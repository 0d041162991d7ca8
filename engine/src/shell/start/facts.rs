//! What an approval of a start is bound to, as it is now.

use super::StartError;
use super::input::Input;
use super::keys::Key;
use super::program::{ApprovedProgram, program};
use crate::executor::{CommandSpec, ShownValue, command_line, visible};
use crate::shell::bound_directory::BoundDirectory;
use crate::shell::run::GovernedRun;
use crate::shell::{user_name, user_number};
use holdpoint_domain::core::hash::{Digest, HashBuilder, Sha256Stream, sha256};
use holdpoint_domain::core::text::bounded;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the digest of all facts is a digest of; another one with another version.
const DIGEST_TAG: &str = "holdpoint.start";
/// The kind of the fact about the argument vector.
pub(super) const COMMAND: &str = "command";
/// The kind of the facts about the environment.
pub(super) const VARIABLE: &str = "variable";
const DIGEST_VERSION: u16 = 1;

/// How a variable's value is bound: by itself, or under the key of its question.
const PLAIN: u8 = 0;
const KEYED: u8 = 1;
/// How many digits of a keyed digest are shown: enough to see that it is another one.
const SHOWN_DIGITS: usize = 16;

/// One thing that a start is bound to.
pub(super) struct Fact {
    /// What it is about.
    pub(super) kind: &'static str,
    /// Which one, where there are several.
    pub(super) name: Vec<u8>,
    /// Exactly what it is.
    pub(super) value: Vec<u8>,
    /// The same for a person, on one line.
    pub(super) shown: String,
}

/// Everything that a start is bound to.
pub(super) struct Facts {
    pub(super) all: Vec<Fact>,
    pub(super) program: ApprovedProgram,
}

/// What tells whether a file was changed while it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    length: u64,
    /// When anything about it changed last.
    changed: (i64, i64),
}

/// Where a start is looked at from.
pub(super) struct Surroundings<'a> {
    /// The log's own id, in hexadecimal digits.
    pub(super) log_id: String,
    /// The log's directory.
    pub(super) log: &'a Path,
    /// The files that are bound too.
    pub(super) files: &'a [PathBuf],
    pub(super) input: &'a Input,
    pub(super) key: &'a Key,
}

impl Facts {
    /// Looks at everything. Nothing is changed.
    pub(super) fn of(run: &GovernedRun, around: &Surroundings<'_>) -> Result<Self, StartError> {
        let command = &run.command;
        let program = program(command)?;
        let approved = ApprovedProgram::of(&program);
        let mut all = vec![words(command), user(), log(around)?, directory(&command.directory)?];
        all.extend(program);
        all.extend(files(around.files, &command.directory)?);
        all.extend(variables(run, around.key));
        all.push(input(around.input)?);
        Ok(Self { all, program: approved })
    }

    /// The digest of all of them: their number, and of each its kind, name and value.
    pub(super) fn digest(&self) -> Digest {
        let begun = HashBuilder::new(DIGEST_TAG, DIGEST_VERSION).number(self.all.len() as u64);
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

    /// Which one of its kind, as it is shown; empty where there is one only.
    pub(super) fn shown_name(&self) -> String {
        visible(OsStr::from_bytes(&self.name))
    }
}

impl FileState {
    fn of_metadata(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
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

fn log(around: &Surroundings<'_>) -> Result<Fact, StartError> {
    let place = canonical(around.log)?;
    let value = [around.log_id.as_bytes(), b" ", place.as_os_str().as_bytes()].concat();
    Ok(Fact::one("log", value, format!("{} in {}", around.log_id, visible(place.as_os_str()))))
}

fn directory(directory: &Path) -> Result<Fact, StartError> {
    let found = BoundDirectory::of(directory).map_err(|source| unreadable(directory, source))?;
    Ok(Fact::one("directory", found.identity(), found.shown()))
}

/// How a file is bound: by its content and its canonical path.
pub(super) fn file_value(digest: &Digest, place: &Path) -> Vec<u8> {
    [digest.as_bytes().as_slice(), place.as_os_str().as_bytes()].concat()
}

/// The files that are bound too, each once, by their canonical paths.
fn files(named: &[PathBuf], directory: &Path) -> Result<Vec<Fact>, StartError> {
    let places = named.iter().map(|file| canonical(&directory.join(file)));
    let mut places = places.collect::<Result<Vec<PathBuf>, StartError>>()?;
    places.sort_unstable();
    places.dedup();
    let fact = |place: &PathBuf| {
        let digest = digest_of(place)?;
        let (name, value) = (place.as_os_str().as_bytes().to_vec(), file_value(&digest, place));
        Ok(Fact { kind: "file", name, value, shown: format!("SHA-256 {digest}") })
    };
    places.iter().map(fact).collect()
}

/// Every variable that the command will see, by name. What is recorded of the environment anyway
/// is shown; of everything else nothing leaves but a keyed digest.
fn variables(run: &GovernedRun, key: &Key) -> Vec<Fact> {
    let recorded = run.environment.record(&run.command.environment);
    let seen: BTreeMap<_, _> = run.command.environment.iter().map(|(n, v)| (n, v)).collect();
    let fact = |(name, value): (&std::ffi::OsString, &std::ffi::OsString)| {
        let (bound, shown) = match recorded.get(name) {
            Some(ShownValue::Shown(value)) => {
                let digest = sha256(value.as_bytes());
                ([&[PLAIN], digest.as_bytes().as_slice()].concat(), visible(value))
            }
            redacted => {
                let digest = key.digest(name.as_bytes(), value.as_bytes());
                let why = if redacted.is_some() { "kept secret" } else { "not recorded" };
                let bound = [&[KEYED], digest.as_bytes().as_slice()].concat();
                let digest = digest.to_string();
                (bound, format!("({why}; keyed digest {})", bounded(&digest, SHOWN_DIGITS)))
            }
        };
        Fact { kind: VARIABLE, name: name.as_bytes().to_vec(), value: bound, shown }
    };
    seen.into_iter().map(fact).collect()
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

/// The digest of a regular file that nobody changed while it was read.
fn digest_of(file: &Path) -> Result<Digest, StartError> {
    let failed = |source| unreadable(file, source);
    // A pipe would wait for whoever writes.
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(StartError::NotAFile { path: file.to_path_buf() });
    }
    let mut opened = File::open(file).map_err(failed)?;
    let before = opened.metadata().map_err(failed)?;
    let (mut digest, mut piece) = (Sha256Stream::new(), vec![0; 64 << 10]);
    loop {
        match opened.read(&mut piece) {
            Ok(0) => break,
            Ok(taken) => digest.take(piece.get(..taken).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let after = opened.metadata().map_err(failed)?;
    match FileState::of_metadata(&before) == FileState::of_metadata(&after) {
        true => Ok(digest.finish()),
        false => Err(StartError::Changing { path: file.to_path_buf() }),
    }
}

fn canonical(path: &Path) -> Result<PathBuf, StartError> {
    path.canonicalize().map_err(|source| unreadable(path, source))
}

fn unreadable(path: &Path, source: io::Error) -> StartError {
    StartError::Io { what: "read", path: path.to_path_buf(), source }
}
