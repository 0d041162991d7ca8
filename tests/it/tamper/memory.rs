//! A log in memory: written once by the engine, changed at will, surveyed thousands of times.

use holdpoint_engine::log::{Level, Log, NewRecord, Options};
use holdpoint_log_files::{
    DirectoryStorage, Entry, EntryKind, Extent, ReadFile, ReadStorage, Survey, SurveyOptions,
    survey,
};
use holdpoint_log_format::record::encode_into;
use holdpoint_log_format::{
    ChainPosition, Head, Link, LinkPrefix, Lock, LogId, RecordHeader, Seal, SegmentHeader, link,
};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The sealed segment and the active one of [`Image::sample`].
pub(crate) const SEALED: &str = "segments/00000000000000000001.seg";
pub(crate) const ACTIVE: &str = "segments/00000000000000000007.seg";

/// Where the records of a segment begin.
pub(crate) const FIRST_RECORD: usize = 4_096;

/// The files of a log. A copy shares what it does not change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image(BTreeMap<String, Arc<Vec<u8>>>);

/// A record of a segment, and where it lies.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) at: Range<usize>,
    pub(crate) header: RecordHeader,
    pub(crate) payload: Vec<u8>,
}

impl Image {
    /// Six records in a sealed segment, the last of them large, and four in the active one; single
    /// ones and batches, some that end in padding, some that do not; closed cleanly.
    pub(crate) fn sample() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let storage = DirectoryStorage::new(directory.path());
        let (log, _) = Log::open(storage, Options::default()).unwrap();
        let batches: [&[usize]; 7] =
            [&[0], &[5], &[100, 33, 8], &[60_800], &[40], &[11, 300], &[1]];
        for (clock, lengths) in (1_700_000_000_000_000_000..).zip(batches) {
            let record = |length: &usize| NewRecord {
                kind: 3,
                version: 1,
                payload: (0..*length).map(|at| (at % 251) as u8 | 1).collect(),
            };
            let batch: Vec<NewRecord> = lengths.iter().map(record).collect();
            log.append_any_kind(&batch, clock, Level::Os).unwrap();
        }
        log.close().unwrap();
        Self::of(directory.path())
    }

    fn of(directory: &Path) -> Self {
        let names = ["HEAD", "LOCK", SEALED, ACTIVE];
        let read = |name: &str| std::fs::read(directory.join(name)).unwrap();
        Self(names.map(|name| (name.to_string(), Arc::new(read(name)))).into())
    }

    /// Writes the files into an empty directory.
    pub(crate) fn write(&self, directory: &Path) {
        std::fs::create_dir(directory.join("segments")).unwrap();
        for (name, bytes) in &self.0 {
            std::fs::write(directory.join(name), &**bytes).unwrap();
        }
    }

    pub(crate) fn bytes(&self, file: &str) -> &[u8] {
        &self.0[file]
    }

    pub(crate) fn bytes_mut(&mut self, file: &str) -> &mut Vec<u8> {
        Arc::make_mut(self.0.get_mut(file).unwrap())
    }

    /// The survey of every record, in the boot in which the log was written.
    pub(crate) fn survey(&self) -> Survey {
        let boot = Lock::decode(self.bytes("LOCK")).unwrap().boot;
        let options = SurveyOptions::new(Extent::FromAnchor, boot);
        survey(self, options, &mut |_, _| {}).unwrap()
    }

    pub(crate) fn head(&self) -> Head {
        Head::decode(self.bytes("HEAD")).unwrap()
    }

    pub(crate) fn header(&self, segment: &str) -> SegmentHeader {
        SegmentHeader::decode(self.bytes(segment).first_chunk().unwrap()).unwrap()
    }

    /// The records of a segment of a log that nobody changed.
    pub(crate) fn items(&self, segment: &str) -> Vec<Item> {
        let seed = self.header(segment).seed();
        let bytes = self.bytes(segment);
        let mut items = Vec::new();
        let mut at = FIRST_RECORD;
        loop {
            use holdpoint_log_format::Item::Record;
            let decoded = holdpoint_log_format::Item::decode(&bytes[at..], at as u64, seed);
            let Record(record) = decoded.unwrap() else { return items };
            let end = at + usize::try_from(record.header.footprint()).unwrap();
            items.push(Item { at: at..end, payload: record.payload.into(), header: record.header });
            at = end;
        }
    }

    /// Puts a record in the place of another of the same length, its checksum made anew.
    pub(crate) fn put(&mut self, segment: &str, at: usize, header: &RecordHeader, payload: &[u8]) {
        let mut encoded = Vec::new();
        encode_into(&mut encoded, header, payload, self.header(segment).seed());
        self.bytes_mut(segment)[at..at + encoded.len()].copy_from_slice(&encoded);
    }

    /// Puts a header block in the place of a segment's own.
    pub(crate) fn put_header(&mut self, segment: &str, header: &SegmentHeader) {
        self.bytes_mut(segment)[..FIRST_RECORD].copy_from_slice(&header.encode());
    }

    /// Puts another HEAD in the place of the log's own.
    pub(crate) fn put_head(&mut self, head: &Head) {
        *self.bytes_mut("HEAD") = head.encode().to_vec();
    }

    /// Chains the records of a segment anew from `index` on; gives the place behind the last.
    pub(crate) fn rechain(
        &mut self,
        segment: &str,
        index: usize,
        previous: ChainPosition,
    ) -> ChainPosition {
        let log = self.header(segment).log;
        let mut chain = previous;
        for item in self.items(segment).into_iter().skip(index) {
            let header = RecordHeader { link: link_of(log, &item, &chain.link), ..item.header };
            chain =
                ChainPosition { sequence: header.sequence, link: header.link, time: header.time };
            self.put(segment, item.at.start, &header, &item.payload);
        }
        chain
    }

    /// Seals the sealed segment anew behind `last`.
    pub(crate) fn reseal(&mut self, last: ChainPosition) {
        let at = self.items(SEALED).last().unwrap().at.end;
        let seal = Seal { last, offset: at as u64 }.encode(self.header(SEALED).seed());
        self.bytes_mut(SEALED)[at..at + seal.len()].copy_from_slice(&seal);
    }
}

fn link_of(log: LogId, item: &Item, previous: &Link) -> Link {
    let header = &item.header;
    let digest = link::payload_digest(&item.payload);
    LinkPrefix::new(log, header.kind, header.version, header.flags, &digest).link(
        previous,
        header.unsynced,
        header.sequence,
        header.time,
    )
}

/// A file of an [`Image`].
pub(crate) struct MemoryFile(Arc<Vec<u8>>);

impl ReadFile for MemoryFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap().min(self.0.len());
        let length = buffer.len().min(self.0.len() - start);
        buffer[..length].copy_from_slice(&self.0[start..start + length]);
        Ok(length)
    }
}

impl ReadStorage for Image {
    type File = MemoryFile;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        let file = |name: &str| Entry { name: name.to_string(), kind: EntryKind::File };
        if directory.is_empty() {
            let mut own: Vec<Entry> = vec![file("HEAD"), file("LOCK")];
            own.push(Entry { name: "segments".to_string(), kind: EntryKind::Directory });
            return Ok(own);
        }
        let prefix = format!("{directory}/");
        Ok(self.0.keys().filter_map(|name| name.strip_prefix(&prefix)).map(file).collect())
    }

    fn open(&self, path: &str) -> io::Result<Option<MemoryFile>> {
        Ok(self.0.get(path).map(|bytes| MemoryFile(Arc::clone(bytes))))
    }
}
