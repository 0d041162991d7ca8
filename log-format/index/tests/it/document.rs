//! INDEX.md is what the code does: its tables are parsed and compared with the constants and with a
//! real index, and an index as it was first written is still the one that is built.
use holdpoint_log_format::{Link, LogId};
use holdpoint_log_index::{
    Index, IndexBuilder, IndexDigest, IndexedRecord, Section, TermHash, layout,
};
use std::ops::Range;

const DOCUMENT: &str = include_str!("../../INDEX.md");

/// Version 5 as it was first written. It is read and compared, never made again.
const GOLDEN: &[u8] = include_bytes!("../golden/v5.idx");

#[test]
fn table_constants_are_those_of_the_code() {
    let code = [
        ("INDEX_VERSION", u64::from(layout::INDEX_VERSION)),
        ("INDEX_HEADER_LENGTH", layout::INDEX_HEADER_LENGTH as u64),
        ("INDEX_LENGTH_MAX", layout::INDEX_LENGTH_MAX),
        ("SECTION_ALIGNMENT", layout::SECTION_ALIGNMENT as u64),
        ("OFFSET_UNIT", layout::OFFSET_UNIT),
        ("STRIDE", u64::from(layout::STRIDE)),
        ("FILTER_BLOCK_LENGTH", layout::FILTER_BLOCK_LENGTH as u64),
        ("FILTER_BITS_PER_HASH", layout::FILTER_BITS_PER_HASH as u64),
    ];
    let stated = table("constant");
    let stated: Vec<_> = stated.iter().map(|row| (row[0].as_str(), number(&row[1]))).collect();
    assert_eq!(stated, code);
    let letters = layout::INDEX_MAGIC.map(|byte| format!("{byte:02x}")).join(" ");
    assert!(DOCUMENT.contains(&format!("INDEX_MAGIC is `{letters}`")));
}

#[test]
fn table_sections_are_those_of_the_code() {
    let stated = table("kind");
    let stated: Vec<_> = stated.iter().map(|row| (number(&row[0]), row[1].as_str())).collect();
    let code = Section::ALL.map(|section| (u64::from(section.kind()), section.name()));
    assert_eq!(stated, code);
}

#[test]
fn table_header_fields_lie_where_the_document_says() {
    let fields = fields(0);
    let end = fields.iter().fold(0, |due, (_, place)| {
        assert_eq!(place.start, due, "fields follow each other without gaps");
        place.end
    });
    assert_eq!(end, layout::INDEX_HEADER_LENGTH);
    let of = |name: &str| &GOLDEN[place_of(&fields, name)];
    assert_eq!(of("magic"), layout::INDEX_MAGIC);
    assert_eq!(of("version"), 5_u32.to_le_bytes());
    assert_eq!(of("log id"), LOG.0);
    assert_eq!(of("first sequence"), FIRST.to_le_bytes());
    assert_eq!(of("last sequence"), (FIRST + u64::from(RECORDS) - 1).to_le_bytes());
    assert_eq!(of("last time"), time_of(RECORDS - 1).to_le_bytes());
    assert_eq!(of("last link"), link_of(FIRST + u64::from(RECORDS) - 1).0);
    assert_eq!(of("records"), RECORDS.to_le_bytes());
    assert_eq!(of("terms version"), 9_u32.to_le_bytes());
    assert_eq!(of("records without terms"), 1_u32.to_le_bytes());
    assert!(of("zero").iter().all(|byte| *byte == 0));
    let covered = [&GOLDEN[..12], &GOLDEN[16..4_096]].concat();
    assert_eq!(of("checksum"), crc32fast::hash(&covered).to_le_bytes());
}

#[test]
fn table_section_entries_name_sections_without_gaps_and_their_digests() {
    let (header, entry) = (fields(0), fields(1));
    let entries = &GOLDEN[place_of(&header, "section table")];
    assert_eq!(entries.len(), 8 * 56);
    let mut due = layout::INDEX_HEADER_LENGTH as u64;
    for (bytes, section) in entries.chunks(56).zip(Section::ALL) {
        let of = |name: &str| &bytes[place_of(&entry, name)];
        let number = |name: &str| u64::from_le_bytes(of(name).try_into().unwrap());
        assert_eq!((number("kind"), number("offset")), (u64::from(section.kind()), due));
        due += number("length");
        let content = &GOLDEN[number("offset") as usize..due as usize];
        assert_eq!(of("digest"), blake3::hash(content).as_bytes());
    }
    assert_eq!(due, GOLDEN.len() as u64);
}

#[test]
fn an_index_as_it_was_first_written_is_still_the_one_that_is_built() {
    assert!(sample() == GOLDEN, "the bytes of version 5 changed: make it another version");
    let index = Index::new(GOLDEN).unwrap();
    index.check().unwrap();
    assert_eq!(Some(index.digest()), IndexDigest::of(GOLDEN));
    assert_eq!(index.offset_of(FIRST + 1), Ok(Some(offset_of(1))));
    let with = index.records_with(TermHash::of(b"one in three")).unwrap();
    let every = |step| (0..RECORDS).step_by(step).map(|one| FIRST + u64::from(one));
    assert_eq!(with.map(Result::unwrap).collect::<Vec<_>>(), every(3).collect::<Vec<_>>());
    let rows = index.rows().unwrap();
    assert!(rows.iter().map(|(sequence, _)| sequence).eq(every(7)));
}

const LOG: LogId = LogId(*b"0123456789abcdef");
const FIRST: u64 = 812;
const RECORDS: u32 = 131;

fn time_of(number: u32) -> u64 {
    1_700_000_000_000_000_000 + u64::from(number) * 1_000
}

fn offset_of(number: u32) -> u64 {
    4_096 + u64::from(number) * 320
}

fn link_of(sequence: u64) -> Link {
    Link(*blake3::hash(&sequence.to_le_bytes()).as_bytes())
}

fn sample() -> Vec<u8> {
    let mut builder = IndexBuilder::new(LOG, FIRST, link_of(FIRST - 1), 9);
    for number in 0..RECORDS {
        let own = TermHash::of(&number.to_le_bytes());
        let terms = [TermHash::of(b"every"), own, TermHash::of(b"one in three")];
        let terms = &terms[..if number.is_multiple_of(3) { 3 } else { 2 }];
        // One that nobody could read.
        let terms = if number == 130 { &[] } else { terms };
        let keys = if number.is_multiple_of(5) { &[own][..] } else { &[] };
        let sequence = FIRST + u64::from(number);
        let (offset, time) = (offset_of(number), time_of(number));
        let record = IndexedRecord { sequence, offset, time, link: link_of(sequence) };
        let row = number.to_le_bytes().repeat(40);
        let row = number.is_multiple_of(7).then_some(&*row);
        builder.add(&record, terms, keys, row).unwrap();
    }
    builder.finish().unwrap()
}

/// Rows of the table whose header begins with this cell; the first such table.
fn table(first_cell: &str) -> Vec<Vec<String>> {
    tables(first_cell).remove(0)
}

fn tables(first_cell: &str) -> Vec<Vec<Vec<String>>> {
    let begin = format!("| {first_cell} |");
    let mut lines = DOCUMENT.lines();
    let mut found = Vec::new();
    while lines.any(|line| line.starts_with(&begin)) {
        let rows = lines.by_ref().skip(1).take_while(|line| line.starts_with('|'));
        found.push(rows.map(cells).collect());
    }
    assert!(!found.is_empty(), "no table {first_cell}");
    found
}

fn cells(line: &str) -> Vec<String> {
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
}

/// The fields of the document's `index`th table of fields.
fn fields(index: usize) -> Vec<(String, Range<usize>)> {
    let of_row = |row: &Vec<String>| {
        let start = number(&row[0]) as usize;
        (row[2].clone(), start..start + number(&row[1]) as usize)
    };
    tables("off")[index].iter().map(of_row).collect()
}

fn place_of(fields: &[(String, Range<usize>)], name: &str) -> Range<usize> {
    fields.iter().find(|(field, _)| field == name).map(|(_, place)| place.clone()).unwrap()
}

fn number(cell: &str) -> u64 {
    cell.parse().unwrap()
}
