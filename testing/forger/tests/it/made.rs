//! A small log that the forger makes from nothing.

use std::sync::LazyLock;

use holdpoint_forger::index::{self, Index, Table};
use holdpoint_forger::layout::{head, header};
use holdpoint_forger::pair::{ARCHIVE, LOG as BESIDE};
use holdpoint_forger::payload::{Archived, history_archived};
use holdpoint_forger::snapshot::{self, Snapshot};
use holdpoint_forger::{Fact, File, Log, Pair, RecordAt, checksum, payload};

pub(crate) const LOG: [u8; 16] = *b"0123456789abcdef";
const BOOT: [u8; 16] = [0xb0; 16];
const SCHEMA: u64 = 6;
const STATE: &[u8] = b"a state of the test";

/// The log in segments as small as their records and a little more: no link covers a header.
pub(crate) fn log() -> Log {
    static MADE: LazyLock<Log> = LazyLock::new(|| shrunk(log_of_usual_capacity()));
    MADE.clone()
}

fn shrunk(mut log: Log) -> Log {
    for segment in log.segments_mut() {
        let capacity = (segment.end() + 8_192).next_multiple_of(4_096);
        segment.header.set_number(header::CAPACITY, capacity as u64);
        segment.remake_header_checksum();
        assert!(segment.fit());
    }
    log
}

/// Three sealed segments with indexes that the chain states, an active one, and a snapshot.
pub(crate) fn log_of_usual_capacity() -> Log {
    let mut log = Log::new(LOG, BOOT);
    for segment in 0..3 {
        for batch in 0..6 {
            log.append(&batch_of(segment, batch));
        }
        log.roll();
        let told = indexed(&mut log, segment);
        log.append(&[told]);
    }
    log.append(&batch_of(3, 1));
    with_snapshot(&mut log);
    log.append(&batch_of(3, 2));
    log.append(&batch_of(3, 3));
    log.head_follows();
    log.lock_follows();
    log
}

/// The same log with its first two segments in an archive.
pub(crate) fn pair() -> Pair {
    let (mut log, mut archive) = (log(), self::log());
    let anchor = log.before(RecordAt { segment: 2, item: 0 });
    let stated = Archived {
        first: 1,
        anchor: anchor.sequence,
        link: anchor.link,
        to: ARCHIVE.to_owned(),
        schema: SCHEMA,
        state: STATE.to_vec(),
    };
    log.append(&[history_archived(&stated)]);
    let first_of = |path: &str| path.get(9..29).and_then(|digits| digits.parse::<u64>().ok());
    let is_moved = |path: &str| first_of(path).is_some_and(|first| first <= anchor.sequence);
    log.files.retain(|path, _| !path.starts_with("segments/") || !is_moved(path));
    archive
        .files
        .retain(|path, _| path == "HEAD" || path.starts_with("segments/") && is_moved(path));
    archive.remove_directory("snapshots");
    archive.files.insert("ARCHIVE".into(), File::Other(b"an archive\n".to_vec()));
    let block = log.head_mut().unwrap();
    block.set_number(head::ANCHOR_SEQUENCE, anchor.sequence);
    block.set(head::ANCHOR_LINK, &anchor.link);
    checksum::remake_of_block(block);
    log.head_follows();
    archive.head_follows();
    Pair([(BESIDE.to_owned(), log), (ARCHIVE.to_owned(), archive)].into())
}

/// Every third batch is of three records; some of its messages are long.
fn batch_of(segment: usize, batch: usize) -> Vec<Fact> {
    let count = if batch % 3 == 2 { 3 } else { 1 };
    let message = |record: usize| {
        let dots = ".".repeat(if record == 0 { 700 } else { 21 + record });
        payload::command_refused(&format!("segment {segment} batch {batch} {dots} {record}"))
    };
    (0..count).map(message).collect()
}

/// Puts an index beside a sealed segment, and gives what the chain says of it.
fn indexed(log: &mut Log, place: usize) -> Fact {
    let segment = log.segment(place);
    let (first, records) = (segment.first_sequence(), segment.records().count() as u64);
    let terms = Table::from([
        (index::hash_of(b"every record"), (0..records).collect()),
        (index::hash_of(b"the last record"), vec![records - 1]),
    ]);
    let keys = Table::from([(index::hash_of(b"a key"), vec![0])]);
    let mut index = Index::of(segment, 2, &terms, &keys).unwrap();
    // One row of one byte, of the first record.
    index.replace(index::ROWS, vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
    let digest = index.digest();
    log.files.insert(index::path(first), File::Index(index));
    payload::segment_indexed(first, first + records - 1, index::VERSION, &digest)
}

fn with_snapshot(log: &mut Log) {
    let at = log.newest_end().unwrap();
    let snapshot = Snapshot::behind(log, at, SCHEMA, STATE.to_vec());
    let stated = payload::fingerprint_recorded(SCHEMA, &snapshot.fingerprint());
    let path = snapshot::path(log.record(at).sequence());
    log.directories.insert("snapshots".into());
    log.files.insert(path, File::Snapshot(snapshot));
    log.append(&[stated]);
}
