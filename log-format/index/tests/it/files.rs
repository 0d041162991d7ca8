//! The file beside a segment: what is there is used only if it is whole and of this very segment,
//! and what should be there is built from records that were checked.
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::record::{encode_into, size_for};
use holdpoint_log_format::{
    ChainPosition, Flags, LinkPrefix, LogId, Record, RecordHeader, Seal, SegmentHeader, link, names,
};
use holdpoint_log_index::file::{
    BuildError, BuiltIndex, Unusable, build_index, index_path, open_index,
};
use holdpoint_log_index::{Index, RecordTerms, Scope, TermHash};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const LOG: LogId = LogId([9; 16]);

/// A log's directory with one segment of a hundred records.
struct Log {
    directory: TempDir,
    header: SegmentHeader,
    seal: Seal,
    offsets: Vec<u64>,
}

impl Log {
    fn new() -> Self {
        let header = SegmentHeader {
            log: LOG,
            previous: ChainPosition::genesis(LOG),
            capacity: 65_536,
            previous_seal_offset: 0,
        };
        let (mut bytes, mut chain, mut offsets) =
            (header.encode().to_vec(), header.previous, vec![]);
        for number in 0..100_u8 {
            offsets.push(bytes.len() as u64);
            let payload = vec![number; usize::from(number) % 30];
            let record = next(&chain, &payload);
            chain =
                ChainPosition { sequence: record.sequence, link: record.link, time: record.time };
            encode_into(&mut bytes, &record, &payload, header.seed());
        }
        let seal = Seal { last: chain, offset: bytes.len() as u64 };
        bytes.extend_from_slice(&seal.encode(header.seed()));
        bytes.resize(header.capacity as usize, 0);
        let directory = TempDir::new().unwrap();
        fs::create_dir(directory.path().join(names::SEGMENTS)).unwrap();
        let log = Self { directory, header, seal, offsets };
        fs::write(log.segment(), bytes).unwrap();
        log
    }

    fn storage(&self) -> DirectoryStorage {
        DirectoryStorage::new(self.directory.path())
    }

    fn segment(&self) -> PathBuf {
        self.directory.path().join(names::SEGMENTS).join(names::segment(1))
    }

    fn index(&self) -> PathBuf {
        self.directory.path().join(index_path(1))
    }

    fn scope(&self) -> Scope {
        Scope::of(&self.header, &self.seal, 1)
    }

    fn build(&self) -> Result<BuiltIndex, BuildError> {
        build_index(&self.storage(), 1, 1, &mut terms_of)
    }

    /// Why what is there is not used.
    fn refusal(&self, scope: &Scope) -> Unusable {
        let storage = self.storage();
        let opened = open_index(&storage, 1);
        let opened = opened.and_then(|it| Unusable::check_scope(scope, it.scope()));
        opened.expect_err("it is not used")
    }
}

fn next(chain: &ChainPosition, payload: &[u8]) -> RecordHeader {
    let (sequence, time) = (chain.sequence + 1, chain.time + 5);
    let digest = link::payload_digest(payload);
    let link =
        LinkPrefix::new(LOG, 2, 1, Flags::NONE, &digest).link(&chain.link, 0, sequence, time);
    RecordHeader {
        size: size_for(payload.len()),
        checksum: 0,
        kind: 2,
        version: 1,
        flags: Flags::NONE,
        unsynced: 0,
        sequence,
        time,
        link,
    }
}

/// A record's term is its payload; its key as well, where that is short.
fn terms_of(record: &Record<'_>, terms: &mut RecordTerms) {
    terms.add_term(record.payload);
    if record.payload.len() < 10 {
        terms.add_key(record.payload);
    }
}

#[test]
fn what_is_built_from_a_segment_is_opened_and_names_its_records() {
    let log = Log::new();
    let built = log.build().unwrap();
    assert_eq!(built.scope, log.scope());
    fs::write(log.index(), &built.bytes).unwrap();
    let index = open_index(&log.storage(), 1).unwrap();
    Unusable::check_scope(&log.scope(), index.scope()).unwrap();
    assert_eq!(index.digest(), Index::new(&built.bytes[..]).unwrap().digest());
    index.check().unwrap();
    for (offset, sequence) in log.offsets.iter().zip(1..) {
        assert_eq!(index.offset_of(sequence), Ok(Some(*offset)));
    }
    let with: Vec<_> = index.records_with(TermHash::of(&[42; 12])).unwrap().flatten().collect();
    assert_eq!(with, [43]);
    let empty: Vec<_> = index.records_with_key(TermHash::of(b"")).unwrap().flatten().collect();
    assert_eq!(empty, [1, 31, 61, 91]);
    assert!(index.records_with_key(TermHash::of(&[42; 12])).unwrap().next().is_none());
}

#[test]
fn an_index_that_is_missing_or_no_file_is_not_used() {
    let log = Log::new();
    assert!(matches!(log.refusal(&log.scope()), Unusable::Missing));
    std::os::unix::fs::symlink(log.segment(), log.index()).unwrap();
    assert!(matches!(log.refusal(&log.scope()), Unusable::Unreadable(_)));
    fs::remove_file(log.index()).unwrap();
    fs::create_dir(log.index()).unwrap();
    assert!(matches!(log.refusal(&log.scope()), Unusable::Unreadable(_)));
}

#[test]
fn an_index_of_another_log_or_of_other_records_or_rules_is_not_used() {
    let log = Log::new();
    fs::write(log.index(), log.build().unwrap().bytes).unwrap();
    let scope = log.scope();
    let foreign = log.refusal(&Scope { log: LogId([1; 16]), ..scope });
    assert!(matches!(foreign, Unusable::Foreign { found: LOG, .. }), "{foreign}");
    let last = |change: fn(&mut ChainPosition)| {
        let mut last = scope.last;
        change(&mut last);
        Scope { last, ..scope }
    };
    let others = [
        Scope { terms_version: 2, ..scope },
        last(|last| last.sequence += 1),
        last(|last| last.link.0[0] ^= 1),
        last(|last| last.time += 1),
    ];
    for other in others {
        let refusal = log.refusal(&other);
        assert!(matches!(refusal, Unusable::Stale { .. }), "{refusal}");
    }
}

#[test]
fn tamper_an_index_that_was_cut_or_grew_or_is_of_anything_is_not_used() {
    let log = Log::new();
    let bytes = log.build().unwrap().bytes;
    for length in [0, 1, 4_095, 4_096, bytes.len() - 1] {
        fs::write(log.index(), &bytes[..length]).unwrap();
        let refusal = log.refusal(&log.scope());
        assert!(matches!(refusal, Unusable::Damaged(_)), "{length}: {refusal}");
    }
    for other in [[&bytes[..], b"x"].concat(), vec![0; 8_192], fs::read(log.segment()).unwrap()] {
        fs::write(log.index(), other).unwrap();
        assert!(matches!(log.refusal(&log.scope()), Unusable::Damaged(_)));
    }
}

#[test]
fn a_segment_that_is_damaged_or_not_sealed_or_not_there_gives_no_index() {
    let log = Log::new();
    let bytes = fs::read(log.segment()).unwrap();
    let sealed_at = log.seal.offset as usize;
    let mut active = bytes.clone();
    active[sealed_at..].fill(0);
    fs::write(log.segment(), active).unwrap();
    assert!(matches!(log.build(), Err(BuildError::NotSealed { .. })));
    for at in [100, log.offsets[40] as usize + 70, log.offsets[99] as usize + 9, sealed_at + 5] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        fs::write(log.segment(), damaged).unwrap();
        assert!(matches!(log.build(), Err(BuildError::Damaged { .. })), "byte {at}");
    }
    fs::rename(log.segment(), log.segment().with_file_name(names::segment(2))).unwrap();
    assert!(matches!(log.build(), Err(BuildError::Io { .. })));
    let renamed = build_index(&log.storage(), 2, 1, &mut terms_of);
    assert!(matches!(renamed, Err(BuildError::Damaged { offset: 0, .. })));
}
