//! FORMAT.md is what the code does: its tables are parsed and compared with the constants and with
//! real encodings, its example with a stored file of version 1, its recovery table with the rows.
use holdpoint_log_format::link::{GENESIS_TAG, RECORD_TAG, payload_digest};
use holdpoint_log_format::record::{NO_CLAIM, encode_into};
use holdpoint_log_format::recovery::{OpenAction, Row, Verdict};
use holdpoint_log_format::{
    BootId, ChainPosition, ChecksumSeed, Flags, Head, Item, ItemLength, Link, LinkPrefix, Lock,
    LogId, OwnerState, Record, RecordHeader, Seal, SegmentHeader, SnapshotHeader, head, limits,
    lock, names, seal, segment, snapshot,
};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const DOCUMENT: &str = include_str!("../../FORMAT.md");

/// Version 1 as it was first written. It is read and compared, never made again: when this file no
/// longer decodes, the code is wrong.
const GOLDEN: &[u8] = include_bytes!("../golden/v1-segment.bin");

const LOG: LogId = LogId([
    0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
]);

// ---- Constants ---------------------------------------------------------------------------------

#[test]
fn table_constants_are_those_of_the_code() {
    let code = [
        ("FORMAT_VERSION", u64::from(limits::FORMAT_VERSION)),
        ("RECORD_HEADER_LENGTH", limits::RECORD_HEADER_LENGTH as u64),
        ("ALIGNMENT", limits::ALIGNMENT as u64),
        ("SEGMENT_HEADER_LENGTH", limits::SEGMENT_HEADER_LENGTH as u64),
        ("SEAL_LENGTH", limits::SEAL_LENGTH as u64),
        ("HEAD_LENGTH", limits::HEAD_LENGTH as u64),
        ("LOCK_LENGTH", limits::LOCK_LENGTH as u64),
        ("PAGE", limits::PAGE),
        ("PIECE_LENGTH", limits::PIECE_LENGTH as u64),
        ("PAYLOAD_LENGTH_MAX", limits::PAYLOAD_LENGTH_MAX as u64),
        ("BATCH_LENGTH_MAX", limits::BATCH_LENGTH_MAX),
        ("OPAQUE_KIND_MIN", u64::from(limits::OPAQUE_KIND_MIN)),
        ("SEGMENT_CAPACITY_MIN", limits::SEGMENT_CAPACITY_MIN),
        ("SEGMENT_CAPACITY_USUAL_MAX", limits::SEGMENT_CAPACITY_USUAL_MAX),
        ("SEGMENT_CAPACITY_MAX", limits::SEGMENT_CAPACITY_MAX),
        ("SEGMENT_CAPACITY_LEAST", limits::SEGMENT_CAPACITY_LEAST),
        ("RESYNC_BUDGET_SEGMENTS", limits::RESYNC_BUDGET_SEGMENTS),
        ("NO_CLAIM", u64::from(NO_CLAIM)),
    ];
    let stated = table("## 4. Notation and constants", "constant");
    let stated: Vec<_> = stated.iter().map(|row| (row[0].as_str(), number(&row[1]))).collect();
    assert_eq!(stated, code);
}

#[test]
fn table_letters_are_those_of_the_code() {
    let tag = seal::SEAL_TAG.to_le_bytes();
    let code: [(&str, &[u8]); 6] = [
        ("SEGMENT_MAGIC", &segment::SEGMENT_MAGIC),
        ("HEAD_MAGIC", &head::HEAD_MAGIC),
        ("LOCK_MAGIC", &lock::LOCK_MAGIC),
        ("SEAL_TAG", &tag),
        ("RECORD_TAG", &RECORD_TAG),
        ("GENESIS_TAG", &GENESIS_TAG),
    ];
    let stated = table("## 4. Notation and constants", "letters");
    assert_eq!(stated.len(), code.len());
    for (row, (name, bytes)) in stated.iter().zip(code) {
        assert_eq!((row[0].as_str(), hex(row[1].trim_matches('`'))), (name, bytes.to_vec()));
    }
}

#[test]
fn table_flags_and_owner_states_are_those_of_the_code() {
    let flags = [
        ("MORE_FOLLOWS", Flags::MORE_FOLLOWS),
        ("SALTED", Flags::SALTED),
        ("WITHHELD", Flags::WITHHELD),
    ];
    let code = flags.map(|(name, flag)| (name.to_string(), u64::from(flag.bits())));
    assert_eq!(names_and_numbers(&table("### Flags", "flag")), code);
    let codes = OwnerState::ALL.map(|state| {
        let bytes = Lock { state, ..zero_lock() }.encode();
        (format!("{state:?}"), u64::from(bytes[20]))
    });
    assert_eq!(names_and_numbers(&table("### Owner states", "state")), codes);
}

#[test]
fn the_directory_shows_the_names_of_the_code() {
    let directory = section("## 3. The directory");
    use names::{ARCHIVE, GITIGNORE, HEAD, HEAD_TEMPORARY, LOCK, SYNC};
    let files = [LOCK, SYNC, HEAD, HEAD_TEMPORARY, ARCHIVE, GITIGNORE];
    let inside = [
        format!("{}/", names::SEGMENTS),
        names::segment(1),
        names::segment(812),
        names::index(1),
        names::index_temporary(1),
        names::prepared(1633),
        format!("{}/", names::CUT),
    ];
    let shown: Vec<String> = files.map(String::from).into_iter().chain(inside).collect();
    let listed: Vec<&str> = directory
        .lines()
        .filter_map(|line| line.strip_prefix("    ")?.split(' ').find(|word| !word.is_empty()))
        .collect();
    assert_eq!(&listed[..shown.len()], shown);
    assert_eq!(names::cut(7, 4_160, 2), format!("{:020}-4160-2.cut", 7));
}

// ---- Fields ------------------------------------------------------------------------------------

/// One field of a structure as the document states it.
struct Field {
    name: String,
    place: Range<usize>,
    covered_by: String,
}

/// How a field shows in an encoding: the encoding with this field alone changed in all its bytes,
/// or the bytes that it always has.
enum Shown {
    Changed(Vec<u8>),
    Fixed(Vec<u8>),
}

use Shown::{Changed, Fixed};

#[test]
fn table_record_header_fields_lie_where_the_document_says() {
    let zero = zero_record_header();
    let set = |change: fn(&mut RecordHeader)| {
        let mut header = zero.clone();
        change(&mut header);
        header
    };
    let changed = [
        set(|header| header.size = u32::MAX),
        set(|header| header.checksum = u32::MAX),
        set(|header| header.kind = u16::MAX),
        set(|header| header.version = u8::MAX),
        set(|header| header.flags = Flags::MORE_FOLLOWS),
        set(|header| header.unsynced = u32::MAX),
        set(|header| header.sequence = u64::MAX),
        set(|header| header.time = u64::MAX),
        set(|header| header.link = Link([0xff; 32])),
    ];
    let fields = fields("### Record header", limits::RECORD_HEADER_LENGTH);
    let shown = changed.iter().map(|header| Changed(header.encode().to_vec())).collect();
    check_fields(&fields, &zero.encode(), shown);
    let link_of = |header: &RecordHeader| {
        Record { header: header.clone(), payload: b"" }.expected_link(LOG, &Link([0; 32]))
    };
    for (field, header) in fields.iter().zip(&changed) {
        let is_linked = field.covered_by.contains("link, block");
        assert_eq!(link_of(header) != link_of(&zero), is_linked, "{}", field.name);
    }
}

#[test]
fn table_record_bytes_are_covered_by_the_checksum_as_the_document_says() {
    let seed = ChecksumSeed::new(LOG, 1);
    let mut bytes = Vec::new();
    encode_into(&mut bytes, &zero_record_header(), b"eleven byte", seed);
    for field in fields("### Record header", limits::RECORD_HEADER_LENGTH) {
        let is_covered = field.covered_by.starts_with("checksum");
        assert_eq!(is_covered, field.name != "checksum", "{}", field.name);
        for position in field.place.clone() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1;
            assert!(Record::decode(&damaged, seed).is_err(), "{} at {position}", field.name);
        }
    }
}

#[test]
fn table_segment_header_fields_lie_where_the_document_says() {
    let place = ChainPosition { sequence: 0, link: Link([0; 32]), time: 0 };
    let zero = SegmentHeader {
        log: LogId([0; 16]),
        previous: place,
        capacity: 0,
        previous_seal_offset: 0,
    };
    let far = u64::MAX - 1;
    let with = |previous| SegmentHeader { previous, ..zero }.encode().to_vec();
    let shown = vec![
        Fixed(segment::SEGMENT_MAGIC.to_vec()),
        Fixed(limits::FORMAT_VERSION.to_le_bytes().to_vec()),
        Fixed(checksum_without_seed(&zero.encode())),
        Changed(SegmentHeader { log: LogId([0xff; 16]), ..zero }.encode().to_vec()),
        Changed(with(ChainPosition { sequence: far, ..place })),
        Changed(SegmentHeader { capacity: u64::MAX, ..zero }.encode().to_vec()),
        Changed(with(ChainPosition { link: Link([0xff; 32]), ..place })),
        Changed(with(ChainPosition { time: u64::MAX, ..place })),
        Changed(SegmentHeader { previous_seal_offset: u64::MAX, ..zero }.encode().to_vec()),
        Fixed(vec![0; 4_000]),
    ];
    let fields = fields("### Segment header block", limits::SEGMENT_HEADER_LENGTH);
    check_fields(&fields, &zero.encode(), shown);
}

#[test]
fn table_seal_fields_lie_where_the_document_says() {
    let seed = ChecksumSeed::new(LOG, 1);
    let place = ChainPosition { sequence: 0, link: Link([0; 32]), time: 0 };
    let zero = Seal { last: place, offset: 0 };
    let bytes = zero.encode(seed);
    let with = |last| Changed(Seal { last, offset: 0 }.encode(seed).to_vec());
    let shown = vec![
        Fixed(seal::SEAL_TAG.to_le_bytes().to_vec()),
        Fixed(seed.of(&[&bytes[..4], &bytes[8..]]).to_le_bytes().to_vec()),
        with(ChainPosition { sequence: u64::MAX, ..place }),
        Changed(Seal { offset: u64::MAX, ..zero }.encode(seed).to_vec()),
        with(ChainPosition { time: u64::MAX, ..place }),
        with(ChainPosition { link: Link([0xff; 32]), ..place }),
    ];
    check_fields(&fields("### Seal", limits::SEAL_LENGTH), &bytes, shown);
}

#[test]
fn table_head_fields_lie_where_the_document_says() {
    let place = ChainPosition { sequence: 0, link: Link([0; 32]), time: 0 };
    let zero = Head::at_anchor(LogId([0; 16]), &place, BootId([0; 16]));
    let shown = vec![
        Fixed(head::HEAD_MAGIC.to_vec()),
        Fixed(limits::FORMAT_VERSION.to_le_bytes().to_vec()),
        Fixed(checksum_without_seed(&zero.encode())),
        Changed(Head { log: LogId([0xff; 16]), ..zero }.encode().to_vec()),
        Changed(Head { anchor_sequence: u64::MAX, ..zero }.encode().to_vec()),
        Changed(Head { anchor_link: Link([0xff; 32]), ..zero }.encode().to_vec()),
        Changed(Head { newest_sequence: u64::MAX, ..zero }.encode().to_vec()),
        Changed(Head { newest_link: Link([0xff; 32]), ..zero }.encode().to_vec()),
        Changed(Head { segment: u64::MAX, ..zero }.encode().to_vec()),
        Changed(Head { record_offset: u64::MAX, ..zero }.encode().to_vec()),
        Changed(Head { end_offset: u64::MAX, ..zero }.encode().to_vec()),
        Changed(Head { boot: BootId([0xff; 16]), ..zero }.encode().to_vec()),
    ];
    check_fields(&fields("### HEAD file", limits::HEAD_LENGTH), &zero.encode(), shown);
}

#[test]
fn table_lock_fields_lie_where_the_document_says() {
    let zero = zero_lock();
    let shown = vec![
        Fixed(lock::LOCK_MAGIC.to_vec()),
        Fixed(limits::FORMAT_VERSION.to_le_bytes().to_vec()),
        Fixed(checksum_without_seed(&zero.encode())),
        Changed(Lock { pid: u32::MAX, ..zero }.encode().to_vec()),
        Changed(Lock { state: OwnerState::Poisoned, ..zero }.encode().to_vec()),
        Changed(Lock { previous_state: OwnerState::Poisoned, ..zero }.encode().to_vec()),
        Fixed(vec![0; 2]),
        Changed(Lock { boot: BootId([0xff; 16]), ..zero }.encode().to_vec()),
        Changed(Lock { durable_sequence: u64::MAX, ..zero }.encode().to_vec()),
        Changed(Lock { wall_minus_boot: -1, ..zero }.encode().to_vec()),
        Fixed(vec![0; 8]),
    ];
    check_fields(&fields("### LOCK file", limits::LOCK_LENGTH), &zero.encode(), shown);
}

#[test]
fn table_snapshot_fields_lie_where_the_document_says() {
    let length = limits::SNAPSHOT_HEADER_LENGTH;
    let mut file = [&snapshot::SNAPSHOT_MAGIC[..], &[1, 0, 0, 0]].concat();
    file.resize(length, 0);
    let (zero, _) = SnapshotHeader::decode(&file).unwrap();
    let of = |header: SnapshotHeader| Changed(header.encode_with(b""));
    let at = |chain| of(SnapshotHeader { chain, ..zero });
    let shown = vec![
        Fixed(snapshot::SNAPSHOT_MAGIC.to_vec()),
        Fixed(snapshot::SNAPSHOT_VERSION.to_le_bytes().to_vec()),
        of(SnapshotHeader { state_schema: u32::MAX, ..zero }),
        of(SnapshotHeader { log: LogId([0xff; 16]), ..zero }),
        at(ChainPosition { sequence: u64::MAX, ..zero.chain }),
        at(ChainPosition { link: Link([0xff; 32]), ..zero.chain }),
        at(ChainPosition { time: u64::MAX, ..zero.chain }),
        of(SnapshotHeader { segment: u64::MAX, ..zero }),
        of(SnapshotHeader { record_offset: u64::MAX, ..zero }),
        of(SnapshotHeader { end_offset: u64::MAX, ..zero }),
        Fixed(vec![0; 8]),
        Fixed(vec![0; 16]),
    ];
    check_fields(&fields("### Snapshot header", length), &file, shown);
}

/// Every field in the order of the table: fixed bytes are there, and a changed field changes all
/// of its own bytes and no others but the checksum's.
fn check_fields(fields: &[Field], zero: &[u8], shown: Vec<Shown>) {
    assert_eq!(fields.len(), shown.len(), "as many fields as the code has");
    let checksum = fields.iter().find(|field| field.name == "checksum");
    let checksum = checksum.map_or(0..0, |field| field.place.clone());
    for (field, shown) in fields.iter().zip(shown) {
        match shown {
            Fixed(bytes) => assert_eq!(zero[field.place.clone()], bytes, "{}", field.name),
            Changed(bytes) => {
                let is_own = |at: &usize| field.name == "checksum" || !checksum.contains(at);
                let differs: Vec<usize> =
                    (0..zero.len()).filter(|at| bytes[*at] != zero[*at]).collect();
                let own: Vec<usize> = differs.iter().copied().filter(is_own).collect();
                assert_eq!(own, field.place.clone().collect::<Vec<_>>(), "{}", field.name);
            }
        }
    }
}

fn checksum_without_seed(bytes: &[u8]) -> Vec<u8> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..12]);
    hasher.update(&bytes[16..]);
    hasher.finalize().to_le_bytes().to_vec()
}

fn zero_record_header() -> RecordHeader {
    RecordHeader {
        size: 0,
        checksum: 0,
        kind: 0,
        version: 0,
        flags: Flags::NONE,
        unsynced: 0,
        sequence: 0,
        time: 0,
        link: Link([0; 32]),
    }
}

fn zero_lock() -> Lock {
    Lock {
        pid: 0,
        state: OwnerState::Idle,
        previous_state: OwnerState::Idle,
        boot: BootId([0; 16]),
        durable_sequence: 0,
        wall_minus_boot: 0,
    }
}

// ---- The recovery table ------------------------------------------------------------------------

#[test]
fn table_recovery_rows_have_the_numbers_actions_and_verdicts_of_the_code() {
    let rows = [
        Row::Nothing,
        Row::Foreign,
        Row::Layout,
        Row::NoWitness,
        Row::UnfinishedCreation,
        Row::NoSegments,
        Row::BlankSegment,
        Row::LastHeaderBad,
        Row::EarlierSegment,
        Row::Rewritten,
        Row::ShortOfHead,
        Row::BelowMark,
        Row::Shape,
        Row::SealedLast,
        Row::Clean,
        Row::CleanUnproven,
        Row::DamagedTail,
        Row::TornTail,
    ];
    let code = rows.map(|row| {
        let number = row.number().to_string();
        [
            number,
            format!("{row:?}"),
            words_of(row.action()).into(),
            verdict_of(row.verdict()).into(),
        ]
    });
    let stated = table("## 20. The recovery table", "row");
    let stated: Vec<[String; 4]> =
        stated.iter().map(|row| [0, 1, 3, 4].map(|column| row[column].clone())).collect();
    assert_eq!(stated, code);
}

fn words_of(action: OpenAction) -> &'static str {
    match action {
        OpenAction::Create => "create",
        OpenAction::FinishCreation => "finish creation",
        OpenAction::Refuse => "refuse",
        OpenAction::RefuseUnlessWithoutHead => "refuse unless told to go on without HEAD",
        OpenAction::RedoRoll => "redo the roll",
        OpenAction::ResumeRoll => "resume the roll",
        OpenAction::Proceed => "write",
        OpenAction::CutTail => "cut the tail",
    }
}

fn verdict_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NothingHere => "nothing here",
        Verdict::Intact => "intact",
        Verdict::TailUnproven => "intact, tail unproven",
        Verdict::ShortOfHead => "short of HEAD",
        Verdict::Corrupt => "corrupt",
    }
}

// ---- The example -------------------------------------------------------------------------------

#[test]
fn the_stored_segment_of_version_1_still_decodes() {
    let header = SegmentHeader::decode(GOLDEN.first_chunk().unwrap()).unwrap();
    assert_eq!((header.log, header.first_sequence(), header.capacity), (LOG, 1, 65_536));
    assert_eq!(header.previous, ChainPosition::genesis(LOG));
    let (records, seal) = decode_items(&header);
    let kinds: Vec<_> = records.iter().map(|record| (record.header.kind, record.payload)).collect();
    assert_eq!(kinds, [(1, &b""[..]), (32, b"hold point")]);
    let flags: Vec<_> = records.iter().map(|record| record.header.flags).collect();
    assert_eq!(flags, [Flags::MORE_FOLLOWS, Flags::NONE]);
    assert!(records.iter().all(|record| record.header.mark() == Ok(Some(0))));
    assert_eq!((seal.last.sequence, seal.offset + 64), (2, GOLDEN.len() as u64));
}

#[test]
fn the_stored_segment_is_what_the_code_writes_today() {
    assert_eq!(build_example(), GOLDEN);
}

#[test]
fn the_hexdump_in_the_document_is_the_stored_segment() {
    let mut shown = vec![0; GOLDEN.len()];
    for line in block("hexdump").lines() {
        let (offset, bytes) = line.split_once("  ").unwrap();
        let at = usize::from_str_radix(offset, 16).unwrap();
        shown[at..at + 16].copy_from_slice(&hex(bytes));
    }
    assert_eq!(shown, GOLDEN);
}

#[test]
fn table_example_items_lie_where_the_document_says() {
    let header = SegmentHeader::decode(GOLDEN.first_chunk().unwrap()).unwrap();
    let (records, seal) = decode_items(&header);
    let mut lengths = vec![("header block".to_string(), limits::SEGMENT_HEADER_LENGTH as u64)];
    let of_record = |record: &Record<'_>| {
        (format!("record {}", record.header.sequence), record.header.footprint())
    };
    lengths.extend(records.iter().map(of_record));
    lengths.push(("seal".into(), limits::SEAL_LENGTH as u64));
    let end = seal.offset + limits::SEAL_LENGTH as u64;
    lengths.push(("zeros".into(), header.capacity - end));
    let mut offset = 0;
    for (row, (name, length)) in table("## 28. A worked example", "what").iter().zip(lengths) {
        let stated = (row[0].clone(), number(&row[1]), number(&row[2]));
        assert_eq!(stated, (name, offset, length));
        offset += length;
    }
    assert_eq!(offset, header.capacity);
}

/// Python's standard library reaches the same links, and refuses a changed payload, link or seal.
#[test]
fn the_python_in_the_document_verifies_the_stored_segment_and_refuses_a_changed_one() {
    let script = block("python");
    assert!(script.lines().count() <= 25);
    let header = SegmentHeader::decode(GOLDEN.first_chunk().unwrap()).unwrap();
    let (records, seal) = decode_items(&header);
    let line = |record: &Record<'_>| format!("{} {}\n", record.header.sequence, record.header.link);
    let expected: String = records.iter().map(line).collect();
    let expected = format!("{expected}sealed at {}\n", seal.offset);
    let Some(output) = run_python(script, &stored("whole", GOLDEN)) else {
        writeln!(std::io::stderr(), "SKIPPED: there is no python3 to run the document's check")
            .unwrap();
        return;
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{output:?}");
    assert!(output.status.success());
    for position in [40, 4_096 + 64 + 66, 4_096 + 40, seal.offset as usize + 9] {
        let mut damaged = GOLDEN.to_vec();
        damaged[position] ^= 1;
        let file = stored(&format!("flip-{position}"), &damaged);
        assert!(!run_python(script, &file).unwrap().status.success(), "byte {position}");
    }
}

/// The example, built by the public functions that a writer uses.
fn build_example() -> Vec<u8> {
    let mut last = ChainPosition::genesis(LOG);
    let header =
        SegmentHeader { log: LOG, previous: last, capacity: 65_536, previous_seal_offset: 0 };
    let seed = header.seed();
    let mut bytes = header.encode().to_vec();
    let first: (u16, Flags, u32, &[u8]) = (1, Flags::MORE_FOLLOWS, 0, b"");
    let second: (u16, Flags, u32, &[u8]) = (32, Flags::NONE, 1, b"hold point");
    for (kind, flags, unsynced, payload) in [first, second] {
        let sequence = last.sequence + 1;
        let time = 1_699_999_999_999_999_999 + sequence;
        let prefix = LinkPrefix::new(LOG, kind, 1, flags, &payload_digest(payload));
        let link = prefix.link(&last.link, unsynced, sequence, time);
        last = ChainPosition { sequence, link, time };
        let header = RecordHeader { kind, version: 1, flags, unsynced, ..zero_record_header() };
        encode_into(&mut bytes, &RecordHeader { sequence, time, link, ..header }, payload, seed);
    }
    let offset = bytes.len() as u64;
    bytes.extend_from_slice(&Seal { last, offset }.encode(seed));
    bytes
}

/// The items of the stored segment, each checked in its place of the chain.
fn decode_items(header: &SegmentHeader) -> (Vec<Record<'static>>, Seal) {
    let mut records = Vec::new();
    let mut chain = header.previous;
    let mut offset = limits::SEGMENT_HEADER_LENGTH;
    loop {
        let rest = &GOLDEN[offset..];
        match Item::decode(rest, offset as u64, header.seed()).unwrap() {
            Item::Record(record) => {
                chain = chain.advance(header.log, &record).unwrap();
                records.push(record);
            }
            Item::Seal(seal) => {
                assert_eq!(seal.last, chain);
                return (records, seal);
            }
            Item::Nothing => panic!("the stored segment has no seal"),
        }
        offset += ItemLength::of(*rest.first_chunk().unwrap()).bytes().unwrap() as usize;
    }
}

fn stored(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("format-document-{name}.seg"));
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Runs a script with one argument; `None` when there is no python3.
fn run_python(script: &str, argument: &Path) -> Option<Output> {
    let mut child = Command::new("python3")
        .arg("-")
        .arg(argument)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}

// ---- Reading the document ----------------------------------------------------------------------

/// The text from a heading to the next heading of any level.
fn section(heading: &str) -> &'static str {
    let start = DOCUMENT.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let body = &DOCUMENT[start + heading.len() + 2..];
    body.find("\n#").map_or(body, |end| &body[..end])
}

/// The cells of the table in a section whose first column is called `first`.
fn table(heading: &str, first: &str) -> Vec<Vec<String>> {
    let mut lines = section(heading).lines();
    let header = format!("| {first} |");
    lines.find(|line| line.starts_with(&header)).unwrap_or_else(|| panic!("no {header} table"));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect())
        .collect()
}

/// The fields of a structure, which follow each other without a gap up to `length`.
fn fields(heading: &str, length: usize) -> Vec<Field> {
    let mut end = 0;
    let rows = table(heading, "offset");
    let fields = rows.into_iter().map(|row| {
        let (offset, size) = (number(&row[0]) as usize, number(&row[1]) as usize);
        assert_eq!(offset, end, "{heading}: {} leaves a gap", row[2]);
        end = offset + size;
        Field { name: row[2].clone(), place: offset..end, covered_by: row[3].clone() }
    });
    let fields = fields.collect();
    assert_eq!(end, length, "{heading}");
    fields
}

/// The content of the first code block in a language.
fn block(language: &str) -> &'static str {
    let fence = format!("```{language}\n");
    let body = &DOCUMENT[DOCUMENT.find(&fence).unwrap() + fence.len()..];
    &body[..body.find("```").unwrap()]
}

fn names_and_numbers(rows: &[Vec<String>]) -> Vec<(String, u64)> {
    rows.iter().map(|row| (row[0].clone(), number(&row[1]))).collect()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}
