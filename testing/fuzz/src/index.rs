//! The index of a segment: of any bytes, and a built one with any changes, forged or not.

use super::edit::Edit;
use arbitrary::{Arbitrary, Unstructured};
use holdpoint_log_format::{Link, LogId};
use holdpoint_log_index::layout::{INDEX_HEADER_LENGTH, INDEX_MAGIC, STRIDE};
use holdpoint_log_index::{
    Index, IndexBuilder, IndexFault, IndexedRecord, Records, Section, TermHash,
};

/// Most records of one history: more than two sampled times.
const RECORDS_MAX: usize = 150;

/// What one record holds.
#[derive(Arbitrary, Clone, Debug)]
struct Planned {
    length: u8,
    time_step: u8,
    terms: Vec<u8>,
    key: Option<u8>,
}

/// One record, as the index is told of it.
struct ExpectedRecord {
    sequence: u64,
    offset: u64,
    time: u64,
    terms: Vec<TermHash>,
    keys: Vec<TermHash>,
}

/// Reads an index and asserts what must hold whatever it is: bytes that begin as an index does are
/// one, any others say what is built and what is then changed.
pub fn read(bytes: &[u8]) {
    if bytes.starts_with(&INDEX_MAGIC) {
        check_any(bytes);
    } else {
        // An input that is used up says nothing more.
        let _ = read_changed(&mut Unstructured::new(bytes));
    }
}

fn read_changed(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let (is_forged, first): (bool, u32) = input.arbitrary()?;
    let edits: Vec<Edit> = input.arbitrary()?;
    let planned = input.arbitrary_iter::<Planned>()?.take(RECORDS_MAX);
    let planned = planned.collect::<arbitrary::Result<Vec<_>>>()?;
    let records = told(u64::from(first) + 1, &planned);
    let Some(bytes) = build(&records) else { return Ok(()) };
    let digest = check_built(&bytes, &records);
    let mut changed = bytes.clone();
    edits.iter().take(8).for_each(|edit| edit.apply(&mut changed));
    if is_forged {
        forge(&mut changed);
    }
    let seems_right = check_any(&changed);
    if changed != bytes {
        assert!(seems_right != Some(digest), "another index has another digest");
        assert!(is_forged || seems_right.is_none(), "a change is seen");
    }
    Ok(())
}

fn told(first_sequence: u64, planned: &[Planned]) -> Vec<ExpectedRecord> {
    let (mut offset, mut time) = (4_096, 0);
    let one = |(sequence, planned): (u64, &Planned)| {
        let told = ExpectedRecord {
            sequence,
            offset,
            time,
            terms: planned.terms.iter().take(4).map(|term| hash(*term)).collect(),
            keys: planned.key.map(hash).into_iter().collect(),
        };
        offset += 8 * (1 + u64::from(planned.length));
        time += u64::from(planned.time_step);
        told
    };
    (first_sequence..).zip(planned).map(one).collect()
}

/// Few terms, so that they are shared, spread over all hashes.
fn hash(term: u8) -> TermHash {
    TermHash(u64::from(term).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn build(records: &[ExpectedRecord]) -> Option<Vec<u8>> {
    let first = records.first()?.sequence;
    let mut builder = IndexBuilder::new(LogId([1; 16]), first, link_of(first - 1), 1);
    for ExpectedRecord { sequence, offset, time, terms, keys } in records {
        let (sequence, offset, time) = (*sequence, *offset, *time);
        let record = IndexedRecord { sequence, offset, time, link: link_of(sequence) };
        let added = builder.add(&record, terms, keys, None);
        assert_eq!(added, Ok(()), "records in order are taken");
    }
    Some(builder.finish().expect("records that were taken fit"))
}

/// The link of a record.
fn link_of(sequence: u64) -> Link {
    let mut link = [2; 32];
    link.iter_mut().zip(sequence.to_le_bytes()).for_each(|(byte, of)| *byte = of);
    Link(link)
}

/// What is built is what a scan finds; its digest.
fn check_built(bytes: &[u8], records: &[ExpectedRecord]) -> [u8; 32] {
    let index = Index::new(bytes).expect("what is built is an index");
    assert_eq!(index.check(), Ok(()));
    for record in records {
        assert_eq!(index.offset_of(record.sequence), Ok(Some(record.offset)));
        let stretch = index.stretch_of(record.sequence);
        let stretch = stretch.expect("the links hold").expect("the record is there");
        assert!((stretch.first..=stretch.last).contains(&record.sequence));
        assert_eq!(stretch.before, link_of(stretch.first - 1));
        assert_eq!(stretch.behind, link_of(stretch.last));
        check_time(&index, records, record.time);
        check_time(&index, records, record.time + 1);
    }
    for term in (0..=u8::MAX).map(hash) {
        let scan = |holds: fn(&ExpectedRecord, TermHash) -> bool| -> Vec<u64> {
            records.iter().filter(|told| holds(told, term)).map(|told| told.sequence).collect()
        };
        let with_term = scan(|told, term| told.terms.contains(&term));
        let with_key = scan(|told, key| told.keys.contains(&key));
        assert_eq!(all(index.records_with(term)), with_term);
        assert_eq!(all(index.records_with_key(term)), with_key);
    }
    index.digest().0
}

fn check_time(index: &Index<&[u8]>, records: &[ExpectedRecord], time: u64) {
    let due = records.iter().find(|told| told.time >= time).map(|told| told.sequence);
    let found = index.first_at_or_after(time).expect("the times hold");
    assert_eq!(due.is_some(), found.is_some());
    if let (Some(due), Some(from)) = (due, found) {
        assert!((from..=from + u64::from(STRIDE)).contains(&due));
    }
}

fn all(records: Result<Records, IndexFault>) -> Vec<u64> {
    let records = records.and_then(|records| records.collect::<Result<Vec<_>, _>>());
    records.expect("what is built holds")
}

/// Makes checksum and digests hold, as whoever forges an index does.
fn forge(bytes: &mut [u8]) {
    let length = bytes.len();
    for index in 0..Section::ALL.len() {
        let entry = 96 + index * 56;
        let (offset, size) = (number(bytes, entry + 8), number(bytes, entry + 16));
        let end = offset.saturating_add(size).min(length);
        let digest = bytes.get(offset..end).map(|section| *blake3::hash(section).as_bytes());
        let place = bytes.get_mut(entry + 24..entry + 56);
        if let (Some(digest), Some(place)) = (digest, place) {
            place.copy_from_slice(&digest);
        }
    }
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(bytes.get(..12).unwrap_or_default());
    checksum.update(bytes.get(16..INDEX_HEADER_LENGTH).unwrap_or_default());
    if let Some(place) = bytes.get_mut(12..16) {
        place.copy_from_slice(&checksum.finalize().to_le_bytes());
    }
}

fn number(bytes: &[u8], at: usize) -> usize {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
    field.map_or(0, |field| u64::from_le_bytes(*field)) as usize
}

/// Looks everything up in an index of any bytes: each lookup ends, and names records that the
/// segment can have. The digest of one whose sections all hold.
fn check_any(bytes: &[u8]) -> Option<[u8; 32]> {
    let index = Index::new(bytes).ok()?;
    let scope = *index.scope();
    let range = scope.first_sequence..=scope.last.sequence;
    let edges = [0, scope.first_sequence, scope.last.sequence, u64::MAX];
    for edge in edges {
        let found = index.offset_of(edge);
        assert!(
            found.is_err() || found.is_ok_and(|found| found.is_some() == range.contains(&edge))
        );
        let from = index.first_at_or_after(edge).ok().flatten();
        assert!(from.is_none_or(|from| from >= scope.first_sequence));
    }
    for term in (0..=u8::MAX).map(hash) {
        for records in [index.records_with(term), index.records_with_key(term)] {
            records.into_iter().for_each(|records| check_records(records, &range));
        }
    }
    index.check().ok().map(|()| index.digest().0)
}

/// Sequences ascend within the segment; nothing follows a fault.
fn check_records(records: Records, range: &std::ops::RangeInclusive<u64>) {
    let mut before = None;
    let mut has_ended = false;
    for record in records {
        assert!(!has_ended, "nothing follows a fault");
        has_ended = record.is_err();
        let Ok(sequence) = record else { continue };
        assert!(range.contains(&sequence) && before < Some(sequence));
        before = Some(sequence);
    }
}
