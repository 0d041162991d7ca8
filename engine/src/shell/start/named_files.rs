//! The files that words of a command name: bound by content, in the order of the words, within a
//! bound.

use super::StartError;
use super::context::of_kind;
use super::facts::{Fact, file_value};
use super::file_content::{ContentReading, FileContent, content};
use crate::executor::{CommandSpec, visible};
use holdpoint_domain::core::hash::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{FileType, Metadata};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The kind of a file that is bound by its content.
pub(super) const FILE: &str = "file";
/// The kind of a file that a word names and that is not bound.
pub(super) const UNREAD: &str = "unread";

/// Number of files that are bound because words of the command name them.
pub const BOUND_FILES_MAX: usize = 256;
/// Number of bytes these files may have together.
pub const BOUND_BYTES_MAX: u64 = 256 << 20;
/// The longest name that is looked up, in bytes: no system takes a longer path.
const NAME_BYTES_MAX: usize = 4096;

/// Why a file that a word names is not bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unread {
    /// The one who asks says so.
    AsAsked,
    Pipe,
    Device,
    Socket,
    /// Its name, or the file, cannot be looked at by this user.
    Unreadable,
    /// The kernel makes its content when it is read.
    Kernel,
    /// There are too many files before it, or too many bytes in them.
    Beyond,
}

/// The files that were approved, for the last look before the start.
#[derive(Clone, Debug, Default)]
pub(in crate::shell) struct BoundFiles {
    files: Vec<NamedFile>,
}

/// A file that is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedFile {
    /// Its name in a directory, or its path.
    pub(super) path: PathBuf,
    /// Value that is bound of it.
    pub(super) value: Vec<u8>,
}

/// Files that the words of a command name.
#[derive(Debug, Default)]
pub(super) struct NamedFiles {
    pub(super) bound: Vec<Fact>,
    pub(super) unread: Vec<Fact>,
    pub(super) last_look: Vec<NamedFile>,
}

/// One look at the words of a command.
struct Search<'a> {
    directory: &'a Path,
    /// The names that are not to be bound, and the files that they stand for.
    excluded: BTreeSet<&'a [u8]>,
    excluded_places: BTreeSet<PathBuf>,
    names: BTreeSet<&'a [u8]>,
    /// The digests of the files that were read, by device and inode.
    read: BTreeMap<(u64, u64), Digest>,
    room: u64,
    found: NamedFiles,
}

impl Unread {
    const fn words(self) -> &'static str {
        match self {
            Self::AsAsked => "as asked for",
            Self::Pipe => "a pipe",
            Self::Device => "a device",
            Self::Socket => "a socket",
            Self::Unreadable => "this user cannot read it",
            Self::Kernel => "the kernel makes its content",
            Self::Beyond => "beyond 256 files or 256 MiB",
        }
    }

    fn of_type(kind: FileType) -> Option<Self> {
        let kinds = [
            (kind.is_fifo(), Self::Pipe),
            (kind.is_char_device() || kind.is_block_device(), Self::Device),
            (kind.is_socket(), Self::Socket),
        ];
        kinds.into_iter().find(|(is_it, _)| *is_it).map(|(_, unread)| unread)
    }
}

impl NamedFiles {
    /// Looks at every word behind the program's name, and at its parts.
    pub(super) fn of(command: &CommandSpec, excluded: &[String]) -> Result<Self, StartError> {
        let place = |name: &String| command.directory.join(name).canonicalize().ok();
        let mut search = Search {
            directory: &command.directory,
            excluded: excluded.iter().map(|name| name.as_bytes()).collect(),
            excluded_places: excluded.iter().filter_map(place).collect(),
            names: BTreeSet::new(),
            read: BTreeMap::new(),
            room: BOUND_BYTES_MAX,
            found: Self::default(),
        };
        for name in std::mem::take(&mut search.excluded) {
            search.excluded.insert(name);
            search.add_unread(name, Unread::AsAsked);
        }
        for word in &command.arguments {
            for name in parts(word.as_bytes()) {
                if search.names.insert(name) {
                    search.look_at(name)?;
                }
            }
        }
        Ok(search.found)
    }
}

impl BoundFiles {
    pub(super) const fn of(files: Vec<NamedFile>) -> Self {
        Self { files }
    }

    /// Returns an error that says what differs from what was approved, where anything does.
    pub(in crate::shell) fn check(&self) -> Result<(), String> {
        self.files.iter().try_for_each(NamedFile::check)
    }
}

/// The files that a question says are not bound, because whoever asked said so.
pub(super) fn excluded_in(context: &str) -> Vec<String> {
    let asked = Unread::AsAsked.words();
    let is_asked = |(_, why): &(&str, &str)| *why == asked;
    of_kind(context, UNREAD).filter(is_asked).map(|(name, _)| name.to_string()).collect()
}

impl NamedFile {
    /// Returns an error that says what differs from what was bound, where anything does.
    fn check(&self) -> Result<(), String> {
        let shown = visible(self.path.as_os_str());
        let now = match content(&self.path, u64::MAX) {
            Ok(ContentReading::Whole(FileContent { digest, place, .. })) => {
                file_value(&digest, &place)
            }
            Ok(_) => return Err(format!("{shown} cannot be read any more")),
            Err(error) => return Err(error.to_string()),
        };
        match now == self.value {
            true => Ok(()),
            false => Err(format!("{shown} is not the file that was approved")),
        }
    }
}

impl<'a> Search<'a> {
    fn look_at(&mut self, name: &'a [u8]) -> Result<(), StartError> {
        let path = self.directory.join(OsStr::from_bytes(name));
        let metadata = match path.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                self.add_unread(name, Unread::Unreadable);
                return Ok(());
            }
            // No file has this name, as far as anybody can tell.
            Err(_) => return Ok(()),
        };
        if let Some(unread) = Unread::of_type(metadata.file_type()) {
            self.add_unread(name, unread);
        }
        if !metadata.is_file() || self.is_excluded(name, &path) {
            return Ok(());
        }
        match self.digest(&path, &metadata)? {
            Ok((digest, place)) => self.add_bound(name, path, &digest, &place),
            Err(unread) => self.add_unread(name, unread),
        }
        Ok(())
    }

    fn is_excluded(&self, name: &[u8], path: &Path) -> bool {
        self.excluded.contains(name)
            || path.canonicalize().is_ok_and(|place| self.excluded_places.contains(&place))
    }

    /// The digest of a file, which is read once however many names it has.
    fn digest(
        &mut self,
        path: &Path,
        metadata: &Metadata,
    ) -> Result<Result<(Digest, PathBuf), Unread>, StartError> {
        let known = self.read.get(&(metadata.dev(), metadata.ino()));
        if let (Some(digest), Ok(place)) = (known, path.canonicalize()) {
            return Ok(Ok((*digest, place)));
        }
        let room = if self.read.len() < BOUND_FILES_MAX { self.room } else { 0 };
        if metadata.len() > room || self.read.len() >= BOUND_FILES_MAX {
            return Ok(Err(Unread::Beyond));
        }
        Ok(match content(path, room)? {
            ContentReading::Whole(read) => {
                self.room = self.room.saturating_sub(read.length);
                self.read.insert(read.id, read.digest);
                Ok((read.digest, read.place))
            }
            ContentReading::Beyond => Err(Unread::Beyond),
            ContentReading::Unreadable(_) => Err(Unread::Unreadable),
            ContentReading::Kernel => Err(Unread::Kernel),
        })
    }

    fn add_bound(&mut self, name: &[u8], path: PathBuf, digest: &Digest, place: &Path) {
        let value = file_value(digest, place);
        let elsewhere = match path == place {
            true => String::new(),
            false => format!(", {}", visible(place.as_os_str())),
        };
        let shown = format!("SHA-256 {digest}{elsewhere}");
        self.found.bound.push(Fact {
            kind: FILE,
            name: name.to_vec(),
            value: value.clone(),
            shown,
        });
        self.found.last_look.push(NamedFile { path, value });
    }

    fn add_unread(&mut self, name: &[u8], why: Unread) {
        let (value, shown) = (why.words().as_bytes().to_vec(), why.words().to_string());
        self.found.unread.push(Fact { kind: UNREAD, name: name.to_vec(), value, shown });
    }
}

/// Returns what of a word may name a file: all of it, what stands behind `=` or `@`, and what
/// stands behind an option of one letter.
fn parts(word: &[u8]) -> impl Iterator<Item = &[u8]> {
    let of_option = match word {
        [b'-', letter, rest @ ..] if *letter != b'-' => Some(rest),
        _ => None,
    };
    let behind_marks = word
        .iter()
        .enumerate()
        .filter(|(_, byte)| matches!(byte, b'=' | b'@'))
        .filter_map(|(at, _)| word.get(at.saturating_add(1)..));
    let is_name =
        |part: &&[u8]| !part.is_empty() && part.len() <= NAME_BYTES_MAX && !part.contains(&0);
    [Some(word), of_option].into_iter().flatten().chain(behind_marks).filter(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_files_whole_and_behind_its_marks() {
        let of = |word: &'static str| {
            let parts = parts(word.as_bytes()).map(|part| std::str::from_utf8(part).unwrap());
            parts.collect::<Vec<_>>()
        };
        assert_eq!(of("deploy.sh"), ["deploy.sh"]);
        assert_eq!(of("-fdeploy.sh"), ["-fdeploy.sh", "deploy.sh"]);
        assert_eq!(of("--file=a=b"), ["--file=a=b", "a=b", "b"]);
        assert_eq!(of("@a"), ["@a", "a"]);
        assert_eq!(of("-Fkey=@a"), ["-Fkey=@a", "key=@a", "@a", "a"]);
        assert_eq!(of("-f"), ["-f"]);
        assert_eq!(of("--"), ["--"]);
        assert!(of("").is_empty());
    }
}
