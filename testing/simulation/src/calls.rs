//! The calls of a log on a simulated disk.

use super::disk::SimulatedDisk;
use super::fault::Call;
use super::machine::{Machine, NameChange};
use super::names::{Node, parent};
use holdpoint_engine::log::{Board, LockFile, RootState, Storage, WriteFile};
use holdpoint_log_files::{Entry, EntryKind, ReadFile, ReadStorage};
use holdpoint_log_format::board::Ticket;
use holdpoint_log_format::limits::LOCK_FILE_LENGTH;
use holdpoint_log_format::{BootId, names};
use parking_lot::Mutex;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A file of a simulated disk, open.
#[derive(Clone, Debug)]
pub struct SimulatedFile {
    machine: Arc<Mutex<Machine>>,
    file: u64,
    path: String,
}

/// The lock of a simulated disk, or its SYNC, held until it is dropped.
#[derive(Debug)]
pub struct SimulatedLock {
    file: SimulatedFile,
    is_lock: bool,
}

/// LOCK of a simulated disk, whose processes follow one another: nobody waits there.
#[derive(Debug)]
struct SimulatedBoard(SimulatedFile);

impl SimulatedDisk {
    fn opened(&self, path: &str, file: u64) -> SimulatedFile {
        SimulatedFile { machine: Arc::clone(&self.machine), file, path: path.to_string() }
    }
}

impl ReadFile for SimulatedFile {
    fn length(&self) -> io::Result<u64> {
        let mut machine = self.machine.lock();
        machine.check_power()?;
        Ok(machine.content(self.file).length())
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.machine.lock().read(self.file, offset, buffer)
    }
}

impl WriteFile for SimulatedFile {
    fn try_lock(&self) -> io::Result<bool> {
        let mut machine = self.machine.lock();
        machine.check_power()?;
        Ok(machine.locked.insert(self.file))
    }

    fn unlock(&self) -> io::Result<()> {
        self.machine.lock().locked.remove(&self.file);
        Ok(())
    }
}

impl ReadStorage for SimulatedDisk {
    type File = SimulatedFile;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        let machine = self.machine.lock();
        machine.check_power()?;
        let entry = |(name, node): (&str, Node)| Entry {
            name: name.to_string(),
            kind: match node {
                Node::File(_) => EntryKind::File,
                Node::Directory => EntryKind::Directory,
            },
        };
        Ok(machine.names.list(directory).map(entry).collect())
    }

    fn open(&self, path: &str) -> io::Result<Option<SimulatedFile>> {
        let machine = self.machine.lock();
        machine.check_power()?;
        match machine.names.get(path) {
            None => Ok(None),
            Some(Node::File(file)) => Ok(Some(self.opened(path, file))),
            Some(Node::Directory) => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

impl Storage for SimulatedDisk {
    type Writer = SimulatedFile;
    type Lock = SimulatedLock;

    fn root(&self) -> &Path {
        Path::new("/simulated")
    }

    fn root_state(&self) -> io::Result<RootState> {
        let machine = self.machine.lock();
        machine.check_power()?;
        Ok(if machine.has_root { RootState::Directory } else { RootState::Missing })
    }

    fn unreliable_file_system(&self) -> io::Result<Option<&'static str>> {
        Ok(None)
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        let mut machine = self.machine.lock();
        machine.check_power()?;
        machine.has_root = true;
        match machine.names.get(path) {
            _ if path.is_empty() => Ok(()),
            Some(Node::Directory) => Ok(()),
            Some(Node::File(_)) => Err(io::ErrorKind::AlreadyExists.into()),
            None => {
                let link = NameChange::Link(path, Node::Directory);
                machine.change_names(Call::CreateDirectory, path, link)
            }
        }
    }

    fn create(&self, path: &str, length: u64) -> io::Result<SimulatedFile> {
        let mut machine = self.machine.lock();
        let directory = parent(path);
        if !directory.is_empty() && machine.names.get(directory) != Some(Node::Directory) {
            return Err(io::ErrorKind::NotFound.into());
        }
        machine.create(path, length).map(|file| self.opened(path, file))
    }

    fn open_writer(&self, path: &str) -> io::Result<SimulatedFile> {
        ReadStorage::open(self, path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write_some_at(&self, file: &SimulatedFile, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.machine.lock().write(Call::Write, &file.path, file.file, offset, bytes)
    }

    fn write_zeros(&self, file: &SimulatedFile, _: u64, _: u64) -> io::Result<()> {
        // Nothing that can be read changes, whatever comes of it.
        self.machine.lock().change_file(Call::Reserve, &file.path, file.file, |_, _| {})
    }

    fn sync(&self, file: &SimulatedFile) -> io::Result<()> {
        self.machine.lock().sync(&file.path, file.file)
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        self.machine.lock().sync_directory(path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut machine = self.machine.lock();
        let node = machine.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        machine.change_names(Call::Rename, to, NameChange::Rename(from, to, node))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let mut machine = self.machine.lock();
        machine.check_power()?;
        match machine.names.get(path) {
            None => Ok(()),
            Some(_) => machine.change_names(Call::Remove, path, NameChange::Unlink(path)),
        }
    }

    fn punch(&self, file: &SimulatedFile, offset: u64, length: u64) -> io::Result<()> {
        let range = offset..offset.saturating_add(length);
        self.machine.lock().punch(&file.path, file.file, range)
    }

    fn is_named(&self, path: &str, file: &SimulatedFile) -> io::Result<bool> {
        let machine = self.machine.lock();
        machine.check_power()?;
        Ok(machine.names.get(path) == Some(Node::File(file.file)))
    }

    fn try_lock(&self) -> io::Result<Option<SimulatedLock>> {
        let mut machine = self.machine.lock();
        machine.check_power()?;
        let file = machine.file_named(names::LOCK)?;
        if machine.is_locked {
            return Ok(None);
        }
        machine.is_locked = true;
        Ok(Some(SimulatedLock { file: self.opened(names::LOCK, file), is_lock: true }))
    }

    fn try_sync_lock(&self) -> io::Result<Option<SimulatedLock>> {
        let mut machine = self.machine.lock();
        machine.check_power()?;
        let number = machine.file_named(names::SYNC)?;
        let is_free = machine.locked.insert(number);
        let file = self.opened(names::SYNC, number);
        Ok(is_free.then_some(SimulatedLock { file, is_lock: false }))
    }

    fn board(&self) -> io::Result<Option<Arc<dyn Board>>> {
        let mut machine = self.machine.lock();
        machine.check_power()?;
        let file = machine.file_named(names::LOCK)?;
        Ok(Some(Arc::new(SimulatedBoard(self.opened(names::LOCK, file)))))
    }

    fn is_locked(&self) -> io::Result<bool> {
        Ok(self.machine.lock().is_locked)
    }

    fn boot(&self) -> BootId {
        let machine = self.machine.lock();
        // Never all zero, which stands for a boot that is not known.
        let mut id = [0xb0; 16];
        let parts = machine.seed.to_le_bytes().into_iter().chain(machine.boot.to_le_bytes());
        id.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
        BootId(id)
    }

    fn draw(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut machine = self.machine.lock();
        for byte in bytes {
            machine.drawn += 1;
            let mixed = (machine.seed ^ machine.drawn.rotate_left(32))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(machine.drawn);
            *byte = (mixed >> 56) as u8;
        }
        Ok(())
    }
}

impl LockFile for SimulatedLock {
    fn read(&self) -> io::Result<Vec<u8>> {
        read_whole(&self.file)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.file.machine.lock().write_lock(&self.file.path, self.file.file, 0, bytes)
    }
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        let mut machine = self.file.machine.lock();
        if self.is_lock {
            machine.is_locked = false;
        } else {
            machine.locked.remove(&self.file.file);
        }
    }
}

impl Board for SimulatedBoard {
    fn read(&self) -> io::Result<Vec<u8>> {
        read_whole(&self.0)
    }

    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        self.0.machine.lock().write_lock(&self.0.path, self.0.file, offset as u64, bytes)
    }

    fn wait(&self, _: usize, _: u32, _: u32, _: Duration) {}

    fn wake(&self, _: usize, _: u32, _: u32) {}

    fn ticket(&self) -> Ticket {
        Ticket { number: 1, pid: 1, start: 1 }
    }

    fn is_there(&self, _: &Ticket) -> bool {
        true
    }
}

fn read_whole(file: &SimulatedFile) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; LOCK_FILE_LENGTH];
    let read = file.read_at(0, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes)
}
