use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::attacks::Victim;
use crate::block::Block;
use crate::index::Index;
use crate::layout::{HEAD_LENGTH, LOCK_LENGTH};
use crate::outcome::Effect;
use crate::record::Record;
use crate::segment::Segment;
use crate::snapshot::Snapshot;

pub(crate) const SEGMENTS: &str = "segments";

/// All files of a log's directory (3), by their paths in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    pub files: BTreeMap<String, File>,
    pub directories: BTreeSet<String>,
}

/// A file, read by its name. One that is not as long as its name asks for is `Other`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum File {
    Segment(Segment),
    Head(Block),
    Lock(Block),
    Index(Index),
    Snapshot(Snapshot),
    /// A symbolic link.
    Link(PathBuf),
    Other(Vec<u8>),
}

/// A record by its segment, in the order of names, and its place among that segment's items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordAt {
    pub segment: usize,
    pub item: usize,
}

impl File {
    pub fn decode(path: &str, bytes: Vec<u8>) -> Self {
        let known = match path {
            "HEAD" => (bytes.len() == HEAD_LENGTH).then(|| Self::Head(Block(bytes.clone()))),
            "LOCK" => (bytes.len() == LOCK_LENGTH).then(|| Self::Lock(Block(bytes.clone()))),
            _ if is_segment(path) => Segment::decode(&bytes).map(Self::Segment),
            _ if path.ends_with(".idx") => Index::decode(&bytes).map(Self::Index),
            _ if path.ends_with(".snapshot") => Snapshot::decode(&bytes).map(Self::Snapshot),
            _ => None,
        };
        known.unwrap_or(Self::Other(bytes))
    }

    pub fn segment(&self) -> Option<&Segment> {
        if let Self::Segment(segment) = self { Some(segment) } else { None }
    }

    pub fn segment_mut(&mut self) -> Option<&mut Segment> {
        if let Self::Segment(segment) = self { Some(segment) } else { None }
    }

    /// The bytes of a regular file.
    pub fn encode(&self) -> Option<Vec<u8>> {
        match self {
            Self::Segment(segment) => Some(segment.encode()),
            Self::Head(block) | Self::Lock(block) => Some(block.0.clone()),
            Self::Index(index) => Some(index.encode()),
            Self::Snapshot(snapshot) => Some(snapshot.encode()),
            Self::Other(bytes) => Some(bytes.clone()),
            Self::Link(_) => None,
        }
    }
}

/// The path of the segment that begins with a sequence.
pub(crate) fn segment_path(first_sequence: u64) -> String {
    format!("{SEGMENTS}/{first_sequence:020}.seg")
}

/// Exactly 20 digits and `.seg` below `segments/`.
fn is_segment(path: &str) -> bool {
    let name = path.strip_prefix("segments/").and_then(|name| name.strip_suffix(".seg"));
    name.is_some_and(|name| name.len() == 20 && name.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Log {
    pub fn read(directory: &Path) -> io::Result<Self> {
        let mut log = Self::default();
        log.read_below(directory, "")?;
        Ok(log)
    }

    fn read_below(&mut self, root: &Path, below: &str) -> io::Result<()> {
        for entry in fs::read_dir(root.join(below))? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|name| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{name:?} is no name of a log"))
            })?;
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                self.files.insert(path, File::Link(fs::read_link(entry.path())?));
            } else if kind.is_dir() {
                self.read_below(root, &path)?;
                self.directories.insert(path);
            } else {
                let file = File::decode(&path, fs::read(entry.path())?);
                self.files.insert(path, file);
            }
        }
        Ok(())
    }

    /// Makes a directory hold these files and nothing else.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        if directory.is_dir() {
            remove_below(directory)?;
        }
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(directory)?;
        for below in &self.directories {
            builder.create(directory.join(below))?;
        }
        for (path, file) in &self.files {
            write_file(&directory.join(path), file)?;
        }
        Ok(())
    }

    /// The paths of the segments, in the order of their names.
    pub fn segment_paths(&self) -> Vec<String> {
        let segments = self.files.iter().filter(|(_, file)| file.segment().is_some());
        segments.map(|(path, _)| path.clone()).collect()
    }

    pub fn segments(&self) -> Vec<&Segment> {
        self.files.values().filter_map(File::segment).collect()
    }

    pub fn segments_mut(&mut self) -> Vec<&mut Segment> {
        self.files.values_mut().filter_map(File::segment_mut).collect()
    }

    pub fn segment(&self, place: usize) -> &Segment {
        self.segments()[place]
    }

    pub fn segment_mut(&mut self, place: usize) -> &mut Segment {
        self.segments_mut().swap_remove(place)
    }

    /// Where the records are, in order.
    pub fn records(&self) -> Vec<RecordAt> {
        let mut places = Vec::new();
        for (segment, one) in self.segments().into_iter().enumerate() {
            places.extend(one.records().map(|(item, _)| RecordAt { segment, item }));
        }
        places
    }

    pub fn record(&self, at: RecordAt) -> &Record {
        self.segment(at.segment).items[at.item].record().expect("a place of a record")
    }

    pub fn record_mut(&mut self, at: RecordAt) -> &mut Record {
        self.segment_mut(at.segment).record_mut(at.item)
    }

    pub fn head(&self) -> Option<&Block> {
        if let Some(File::Head(head)) = self.files.get("HEAD") { Some(head) } else { None }
    }

    pub fn head_mut(&mut self) -> Option<&mut Block> {
        if let Some(File::Head(head)) = self.files.get_mut("HEAD") { Some(head) } else { None }
    }

    pub fn lock_mut(&mut self) -> Option<&mut Block> {
        if let Some(File::Lock(lock)) = self.files.get_mut("LOCK") { Some(lock) } else { None }
    }

    /// Takes the segments out, in order, and gives each the name that its header asks for.
    pub fn rename_segments(&mut self) {
        let taken: Vec<File> =
            self.segment_paths().iter().filter_map(|path| self.files.remove(path)).collect();
        for file in taken {
            if let File::Segment(segment) = &file {
                self.files.insert(segment_path(segment.first_sequence()), file);
            }
        }
    }

    /// Removes a directory with everything in it.
    pub fn remove_directory(&mut self, name: &str) {
        let inside = format!("{name}/");
        self.files.retain(|path, _| !path.starts_with(&inside));
        self.directories.retain(|path| path != name && !path.starts_with(&inside));
    }
}

impl Victim for Log {
    fn read(directory: &Path) -> io::Result<Self> {
        Self::read(directory)
    }

    fn write(&self, directory: &Path) -> io::Result<()> {
        Self::write(self, directory)
    }

    fn effect(before: &Self, after: &Self) -> Effect {
        Effect::between(before, after)
    }
}

/// Leaves the directory itself, which may be somebody's mount or working directory.
fn remove_below(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn write_file(path: &Path, file: &File) -> io::Result<()> {
    if let File::Link(target) = file {
        return symlink(target, path);
    }
    let bytes = file.encode().expect("only a link has no bytes");
    let mut options = fs::OpenOptions::new();
    let mut new = options.write(true).create_new(true).mode(0o600).open(path)?;
    io::Write::write_all(&mut new, &bytes)
}
