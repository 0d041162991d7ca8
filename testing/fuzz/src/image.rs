//! The files of a log's directory, to be damaged, put on a simulated disk, and compared.

use super::written::Written;
use arbitrary::Unstructured;
use holdpoint_engine::log::{LockFile, Storage};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{EntryKind, ReadFile, ReadStorage};
use holdpoint_log_format::limits::LOCK_FILE_LENGTH;
use holdpoint_log_format::{Head, Lock, OwnerState, names};
use holdpoint_simulation::SimulatedDisk;
use std::collections::BTreeMap;

/// Seed of every simulated disk: it decides the boot.
const DISK_SEED: u64 = 7;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A file with its bytes.
    File(Vec<u8>),
    /// A directory.
    Directory,
}

/// All names of a directory, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Image(pub(crate) BTreeMap<String, Node>);

impl Image {
    /// A written log with HEAD at some batch's end and LOCK as some owner left it.
    ///
    /// # Errors
    /// The input is used up.
    pub(crate) fn of(written: &Written, input: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        let mut image = Self::default();
        image.0.insert(names::SEGMENTS.into(), Node::Directory);
        for segment in &written.segments {
            let path = segment_path(segment.header.first_sequence());
            image.put(&path, segment.bytes.clone());
        }
        let head = head(written, input)?;
        image.put(names::HEAD, head.encode().to_vec());
        if input.ratio(7_u8, 8_u8)? {
            let same_boot = input.arbitrary()?;
            let boot = SimulatedDisk::new(DISK_SEED).boot();
            let lock: Lock = input.arbitrary()?;
            let lock = if same_boot { Lock { boot, ..lock } } else { lock };
            let mut bytes = honest(lock, written, &head).encode().to_vec();
            // Whoever takes LOCK makes it as long as that.
            bytes.resize(LOCK_FILE_LENGTH, 0);
            image.put(names::LOCK, bytes);
        }
        Ok(image)
    }

    /// Every name of a disk.
    pub(crate) fn read(disk: &SimulatedDisk) -> Self {
        let mut image = Self::default();
        image.read_directory(disk, "");
        image
    }

    /// A disk with these names, all durable.
    pub(crate) fn disk(&self) -> SimulatedDisk {
        let disk = SimulatedDisk::new(DISK_SEED);
        self.write(&disk).expect("nothing was asked to fail");
        disk
    }

    /// The bytes of a file.
    pub(crate) fn file(&self, path: &str) -> Option<&Vec<u8>> {
        match self.0.get(path) {
            Some(Node::File(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Puts a file there, in place of anything of that name.
    pub(crate) fn put(&mut self, path: &str, bytes: Vec<u8>) {
        self.0.insert(path.into(), Node::File(bytes));
    }

    fn write(&self, disk: &SimulatedDisk) -> std::io::Result<()> {
        disk.create_directory("")?;
        for (path, node) in &self.0 {
            match node {
                Node::Directory => disk.create_directory(path)?,
                Node::File(bytes) if path == names::LOCK => {
                    let lock = disk.try_lock()?.expect("nobody else has it");
                    lock.write(bytes)?;
                }
                Node::File(bytes) => {
                    let file = disk.create(path, bytes.len() as u64)?;
                    disk.write_at(&file, 0, bytes)?;
                    disk.sync(&file)?;
                }
            }
        }
        [names::SEGMENTS, names::CUT, ""].into_iter().try_for_each(|name| disk.sync_directory(name))
    }

    fn read_directory(&mut self, disk: &SimulatedDisk, directory: &str) {
        for entry in disk.list(directory).expect("nothing was asked to fail") {
            let path = match directory {
                "" => entry.name,
                directory => format!("{directory}/{}", entry.name),
            };
            if entry.kind == EntryKind::Directory {
                self.0.insert(path.clone(), Node::Directory);
                self.read_directory(disk, &path);
            } else if let Ok(Some(file)) = disk.open(&path) {
                let mut bytes = vec![0; file.length().unwrap_or(0) as usize];
                file.read_at(0, &mut bytes).expect("nothing was asked to fail");
                self.put(&path, bytes);
            }
        }
    }
}

/// HEAD at some batch's end, or at the beginning: it may lag behind, and names nothing that is not
/// there.
fn head(written: &Written, input: &mut Unstructured<'_>) -> arbitrary::Result<Head> {
    let number = input.int_in_range(0..=written.ends.len())?;
    Ok(written.head(number.checked_sub(1)))
}

/// What LOCK claims to be durable is there: an idle owner left everything so.
fn honest(lock: Lock, written: &Written, head: &Head) -> Lock {
    let newest = written.chain().sequence;
    let durable_sequence = match lock.state {
        OwnerState::Idle => newest,
        _ => lock.durable_sequence.clamp(head.newest_sequence, newest),
    };
    Lock { durable_sequence, ..lock }
}
