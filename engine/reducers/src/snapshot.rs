//! A file of states: blocks sorted by stream, and a directory of them that says behind which record
//! the states stand.
//!
//! The first 64 bytes hold `HOLDREDU`, the version of this layout, and where the directory lies and
//! how long it is; then come the blocks, then the directory. Nothing in the file is believed by
//! itself: a record of the log states the fingerprint, which covers every block.

use crate::error::ReducerError;
use crate::table::{
    BlockBuilder, BlockEntry, MAX_BLOCK_BYTES, StateRow, block_of, entries, fingerprint,
};
use holdpoint_engine::log::Storage;
use holdpoint_log_files::{Follower, ReadFile, ReadStorage};
use holdpoint_log_format::{ChainPosition, Link, LogId, SnapshotHeader, names};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

const MAGIC: [u8; 8] = *b"HOLDREDU";
const LAYOUT: u32 = 1;
const HEADER_BYTES: u64 = 64;

/// A longer directory is neither written nor read: it is one of 13 GiB of states or more. In bytes.
const DIRECTORY_BYTES_MAX: u64 = 256 << 20;

/// Files that are looked at before what states are made from lies further back.
pub(crate) const TRIED_MAX: usize = 8;

/// Snapshots of a reducer that stay: the newest, and the one before it.
const KEPT: usize = 2;

/// Reducer whose states a file holds, and the record behind which they stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Directory {
    reducer: String,
    version: u32,
    encoding: String,
    log: [u8; 16],
    sequence: u64,
    link: [u8; 32],
    time: u64,
    segment: u64,
    record_offset: u64,
    end_offset: u64,
    blocks: Vec<BlockEntry>,
}

/// A file of states, with its directory.
pub(crate) struct Snapshot<F> {
    file: F,
    directory: Directory,
    pub(crate) fingerprint: [u8; 32],
}

/// A name in the directory of reducers: the reducer's, the version of what it does, and the record
/// that the states cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SnapshotName {
    pub(crate) version: u32,
    pub(crate) covers: u64,
}

/// Returns what the names of a reducer's files begin with.
fn prefix(reducer: &str) -> String {
    let digest = *blake3::hash(reducer.as_bytes()).as_bytes();
    base16ct::lower::encode_string(digest.get(..16).unwrap_or_default())
}

fn path_of(reducer: &str, named: SnapshotName) -> String {
    let SnapshotName { version, covers } = named;
    format!("{}/{}-{version}-{covers:020}.states", names::REDUCERS, prefix(reducer))
}

fn parse(prefix: &str, name: &str) -> Option<SnapshotName> {
    let rest = name.strip_prefix(prefix)?.strip_prefix('-')?.strip_suffix(".states")?;
    let (version, covers) = rest.split_once('-')?;
    Some(SnapshotName { version: version.parse().ok()?, covers: covers.parse().ok()? })
}

/// The files of a reducer, in the order of versions and records. What lies in the directory's place
/// and is none is no fault: the files are caches.
pub(crate) fn list<S: ReadStorage>(storage: &S, reducer: &str) -> Vec<SnapshotName> {
    let prefix = prefix(reducer);
    let entries = storage.list(names::REDUCERS).unwrap_or_default();
    let mut found: Vec<SnapshotName> =
        entries.iter().filter_map(|entry| parse(&prefix, &entry.name)).collect();
    found.sort_unstable();
    found
}

impl<F: ReadFile> Snapshot<F> {
    /// A file as it lies there, if it is whole as far as its directory tells. It is a cache: what
    /// cannot be read is none.
    pub(crate) fn open<S: ReadStorage<File = F>>(
        storage: &S,
        (reducer, encoding): (&str, &str),
        named: SnapshotName,
    ) -> Option<Self> {
        let path = path_of(reducer, named);
        let file = storage.open(&path).ok()??;
        let mut header = [0; HEADER_BYTES as usize];
        exactly(&file, 0, &mut header).ok()?;
        let (magic, rest) = header.split_first_chunk()?;
        let (layout, rest) = rest.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        let (length, _) = rest.split_first_chunk()?;
        let (offset, length) = (u64::from_le_bytes(*offset), u64::from_le_bytes(*length));
        let ends = offset.checked_add(length)?;
        let is_ours = *magic == MAGIC && u32::from_le_bytes(*layout) == LAYOUT;
        if !is_ours || length > DIRECTORY_BYTES_MAX || ends > file.length().ok()? {
            return None;
        }
        let mut bytes = zeros(usize::try_from(length).ok()?)?;
        exactly(&file, offset, &mut bytes).ok()?;
        let config = bincode::config::standard();
        let (directory, read): (Directory, usize) =
            bincode::serde::decode_from_slice(&bytes, config).ok()?;
        let is_fitting = read == bytes.len()
            && directory.reducer == reducer
            && directory.encoding == encoding
            && (SnapshotName { version: directory.version, covers: directory.sequence }) == named;
        is_fitting.then(|| Self::of(file, directory))
    }

    fn of(file: F, directory: Directory) -> Self {
        let Directory { reducer, version, encoding, sequence, blocks, .. } = &directory;
        let whose = (reducer.as_str(), *version, encoding.as_str());
        let fingerprint = fingerprint(whose, *sequence, blocks);
        Self { file, directory, fingerprint }
    }

    /// The place in the log that the states claim to stand behind.
    pub(crate) fn place(&self) -> SnapshotHeader {
        let Directory { log, sequence, link, time, segment, record_offset, end_offset, .. } =
            self.directory;
        SnapshotHeader {
            log: LogId(log),
            chain: ChainPosition { sequence, link: Link(link), time },
            segment,
            record_offset,
            end_offset,
            state_schema: LAYOUT,
        }
    }

    /// The last record that the states cover.
    pub(crate) const fn covers(&self) -> u64 {
        self.directory.sequence
    }

    /// The length of the states, in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.directory.blocks.iter().map(|block| u64::from(block.length)).sum()
    }

    /// Counts the blocks there are.
    pub(crate) const fn blocks(&self) -> usize {
        self.directory.blocks.len()
    }

    /// The block that holds a stream's state, if any does.
    pub(crate) fn block_of(&self, stream: &str) -> Option<usize> {
        block_of(&self.directory.blocks, stream)
    }

    const fn broken(&self) -> ReducerError {
        ReducerError::BrokenSnapshot { covers: self.covers() }
    }

    /// A block's bytes, which are those that the fingerprint covers.
    pub(crate) fn block(&self, at: usize) -> Result<Vec<u8>, ReducerError> {
        let block = self.directory.blocks.get(at).ok_or_else(|| self.broken())?;
        let length = usize::try_from(block.length).unwrap_or(usize::MAX);
        if length > MAX_BLOCK_BYTES {
            return Err(self.broken());
        }
        let mut bytes = zeros(length).ok_or_else(|| self.broken())?;
        // It is a cache: whatever cannot be read of it is as if it were not there.
        let is_read = exactly(&self.file, block.offset, &mut bytes).is_ok();
        if is_read && *blake3::hash(&bytes).as_bytes() == block.digest {
            Ok(bytes)
        } else {
            Err(self.broken())
        }
    }
}

/// So many zeros; `None` where there is no memory for them.
fn zeros(length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    bytes.resize(length, 0);
    Some(bytes)
}

fn exactly<F: ReadFile>(file: &F, offset: u64, into: &mut [u8]) -> io::Result<()> {
    let read = file.read_at(offset, into)?;
    if read == into.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Blocks that were read, of which so many bytes are kept as their bound says: those that were
/// asked for last.
pub(crate) struct Cache {
    bound: usize,
    bytes: usize,
    now: u64,
    blocks: BTreeMap<usize, (u64, Arc<[u8]>)>,
    by_use: BTreeMap<u64, usize>,
}

impl Cache {
    pub(crate) fn new(bound: usize) -> Self {
        let (blocks, by_use) = (BTreeMap::new(), BTreeMap::new());
        Self { bound, bytes: 0, now: 0, blocks, by_use }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.bound);
    }

    pub(crate) fn get<F: ReadFile>(
        &mut self,
        from: &Snapshot<F>,
        at: usize,
    ) -> Result<Arc<[u8]>, ReducerError> {
        self.now = self.now.saturating_add(1);
        if let Some((used, block)) = self.blocks.get_mut(&at) {
            self.by_use.remove(used);
            self.by_use.insert(self.now, at);
            *used = self.now;
            return Ok(Arc::clone(block));
        }
        let block: Arc<[u8]> = from.block(at)?.into();
        self.bytes = self.bytes.saturating_add(block.len());
        while self.bytes > self.bound
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            let left = self.blocks.remove(&oldest).map_or(0, |(_, block)| block.len());
            self.bytes = self.bytes.saturating_sub(left);
        }
        self.blocks.insert(at, (self.now, Arc::clone(&block)));
        self.by_use.insert(self.now, at);
        Ok(block)
    }
}

/// Reducer whose states are written, and the place in the log behind which they stand.
pub(crate) struct Written<'a> {
    pub(crate) reducer: &'a str,
    pub(crate) version: u32,
    pub(crate) encoding: &'a str,
    pub(crate) place: &'a Follower,
    /// A name that nobody else writes to.
    pub(crate) unique: &'a str,
}

/// Writes the states of `base` with those of `newer` in their place: the file, under its name.
/// Nothing is synced: what a crash leaves of the file is not believed.
pub(crate) fn write<S: Storage>(
    disk: &S,
    written: &Written<'_>,
    base: Option<&Snapshot<S::File>>,
    newer: &BTreeMap<String, (u64, Vec<u8>)>,
) -> Result<Snapshot<S::File>, ReducerError> {
    let Written { reducer, version, place, unique, .. } = written;
    let covers = place.run.chain.sequence;
    let path = path_of(reducer, SnapshotName { version: *version, covers });
    let temporary = format!("{path}.{unique}.tmp");
    let failed = |source| ReducerError::File { file: path.clone(), source };
    disk.create_directory(names::REDUCERS).map_err(failed)?;
    // A link in the directory's place leads out of the log: nothing is written there.
    disk.list(names::REDUCERS).map_err(failed)?;
    let mut writer = Writer::begin(disk, &temporary, reserved(base, newer)).map_err(failed)?;
    let made = merge(base, newer, &mut |kept| writer.push(kept).map_err(failed))
        .and_then(|()| writer.finish(written, covers).map_err(failed))
        .and_then(|directory| {
            disk.rename(&temporary, &path).map_err(failed)?;
            let file = disk.open(&path).and_then(|it| it.ok_or(io::ErrorKind::NotFound.into()));
            Ok(Snapshot::of(file.map_err(failed)?, directory))
        });
    made.inspect_err(|_| drop(disk.remove(&temporary)))
}

/// Returns the maximum length of the file: so a full disk says no before anything is written.
fn reserved<F: ReadFile>(
    base: Option<&Snapshot<F>>,
    newer: &BTreeMap<String, (u64, Vec<u8>)>,
) -> u64 {
    let entry = |(stream, (_, state)): (&String, &(u64, Vec<u8>))| stream.len() + state.len() + 14;
    let states = newer.iter().map(entry).sum::<usize>() as u64;
    let states = states.saturating_add(base.map_or(0, Snapshot::length));
    HEADER_BYTES.saturating_add(states)
}

/// Shows every state in the order of streams, the newer one where there are two.
fn merge<F: ReadFile>(
    base: Option<&Snapshot<F>>,
    newer: &BTreeMap<String, (u64, Vec<u8>)>,
    show: &mut dyn FnMut(StateRow<'_>) -> Result<(), ReducerError>,
) -> Result<(), ReducerError> {
    let mut newer = newer.iter().peekable();
    fn kept<'a>((stream, (version, state)): (&'a String, &'a (u64, Vec<u8>))) -> StateRow<'a> {
        StateRow { stream, version: *version, state }
    }
    for at in 0..base.map_or(0, Snapshot::blocks) {
        let Some(base) = base else { break };
        for old in entries(&base.block(at)?) {
            while let Some(next) = newer.next_if(|(stream, _)| stream.as_str() < old.stream) {
                show(kept(next))?;
            }
            match newer.next_if(|(stream, _)| stream.as_str() == old.stream) {
                Some(instead) => show(kept(instead))?,
                None => show(old)?,
            }
        }
    }
    newer.try_for_each(|next| show(kept(next)))
}

struct Writer<'d, S: Storage> {
    disk: &'d S,
    file: S::Writer,
    offset: u64,
    block: BlockBuilder,
    blocks: Vec<BlockEntry>,
}

impl<'d, S: Storage> Writer<'d, S> {
    fn begin(disk: &'d S, path: &str, reserved: u64) -> io::Result<Self> {
        let file = disk.create(path, reserved)?;
        let (block, blocks) = (BlockBuilder::default(), Vec::new());
        Ok(Self { disk, file, offset: HEADER_BYTES, block, blocks })
    }

    fn push(&mut self, kept: StateRow<'_>) -> io::Result<()> {
        let full = self.block.push(kept);
        full.map_or(Ok(()), |full| self.write_block(full))
    }

    fn write_block(&mut self, (first, bytes): (String, Vec<u8>)) -> io::Result<()> {
        self.disk.write_at(&self.file, self.offset, &bytes)?;
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let digest = *blake3::hash(&bytes).as_bytes();
        self.blocks.push(BlockEntry { first, offset: self.offset, length, digest });
        self.offset = self.offset.saturating_add(u64::from(length));
        Ok(())
    }

    fn finish(mut self, written: &Written<'_>, covers: u64) -> io::Result<Directory> {
        if let Some(rest) = self.block.finish() {
            self.write_block(rest)?;
        }
        let Written { reducer, version, encoding, place, .. } = written;
        let directory = Directory {
            reducer: reducer.to_string(),
            version: *version,
            encoding: encoding.to_string(),
            log: place.header.log.0,
            sequence: covers,
            link: place.run.chain.link.0,
            time: place.run.chain.time,
            segment: place.header.first_sequence(),
            record_offset: place.run.record_offset,
            end_offset: place.run.end_offset,
            blocks: self.blocks,
        };
        let encoded = bincode::serde::encode_to_vec(&directory, bincode::config::standard());
        let encoded = encoded.map_err(io::Error::other)?;
        if encoded.len() as u64 > DIRECTORY_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.disk.write_at(&self.file, self.offset, &encoded)?;
        let mut header = Vec::with_capacity(HEADER_BYTES as usize);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&LAYOUT.to_le_bytes());
        header.extend_from_slice(&self.offset.to_le_bytes());
        header.extend_from_slice(&(encoded.len() as u64).to_le_bytes());
        header.resize(HEADER_BYTES as usize, 0);
        self.disk.write_at(&self.file, 0, &header)?;
        Ok(directory)
    }
}

/// Removes the files of a reducer that are too old, all but the newest two, and what was left half
/// written.
pub(crate) fn remove_older<S: Storage>(
    disk: &S,
    reducer: &str,
    newest: SnapshotName,
) -> io::Result<()> {
    let prefix = prefix(reducer);
    let mut known = list(disk, reducer);
    known.retain(|it| *it <= newest);
    for named in known.into_iter().rev().skip(KEPT) {
        disk.remove(&path_of(reducer, named))?;
    }
    for entry in disk.list(names::REDUCERS)? {
        let left = entry.name.split_once(".states.").filter(|(_, end)| end.ends_with(".tmp"));
        let left = left.and_then(|(name, _)| parse(&prefix, &format!("{name}.states")));
        if left.is_some_and(|left| left < newest) {
            disk.remove(&format!("{}/{}", names::REDUCERS, entry.name))?;
        }
    }
    Ok(())
}
