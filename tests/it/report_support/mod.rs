//! Pages of `report`, damaged in every way that what they carry can be, and what finds it.

mod block;
mod misread;

use crate::program::{Place, status, text};
use crate::verify_py::{python, verifier};
use base64ct::{Base64, Encoding};
use block::Block;
use holdpoint_log_format::{Flags, LogId};
use holdpoint_testing::hand_made::HandMadeLog;
use holdpoint_testing::story::seed;
pub(crate) use misread::{Misread, misread};
use quickcheck::{Arbitrary, Gen};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Reads paths of pages, one a line, and answers each with the findings.
const DRIVER: &str = r#"
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("verify", sys.argv[1])
verify = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verify)
for line in sys.stdin:
    print(json.dumps(verify.PageCheck(line.rstrip("\n")).findings))
"#;

/// What `verify.py` finds in each page.
pub(crate) fn found_by_python(pages: &[PathBuf]) -> Vec<Vec<String>> {
    let mut python = python(&["-c", DRIVER, verifier().to_str().unwrap()]);
    let mut child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let paths: String = pages.iter().map(|page| format!("{}\n", page.display())).collect();
    // What is answered meanwhile fits into the pipe only where somebody reads it.
    let asked = std::thread::spawn(move || stdin.write_all(paths.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    asked.join().unwrap();
    assert!(output.status.success());
    let answers = text(&output.stdout);
    let strings = |line: &str| serde_json::from_str::<Vec<String>>(line).unwrap();
    answers.lines().map(strings).collect()
}

/// A log of two segments with two runs, and records that are about none.
pub(crate) fn place() -> Place {
    place_of(HandMadeLog::new(), "sh -c true")
}

fn place_of(mut log: HandMadeLog, command_line: &str) -> Place {
    let place = Place::new();
    log.run_of(command_line);
    log.roll();
    log.crash();
    log.write(&place.log);
    place
}

/// Pages of logs like that one: the log itself, one of another identity, and one of the same
/// identity with another history.
pub(crate) struct Pages {
    pub(crate) own: String,
    other_log: String,
    other_history: String,
}

impl Pages {
    pub(crate) fn made() -> Self {
        let page = |log, command| page_of(&place_of(log, command), &["--since", "1"]);
        Self {
            own: page(HandMadeLog::new(), "sh -c true"),
            other_log: page(HandMadeLog::of(LogId([8; 16])), "sh -c true"),
            other_history: page(HandMadeLog::new(), "sh -c fals"),
        }
    }
}

/// Makes a page, and gives its text.
pub(crate) fn page_of(place: &Place, options: &[&str]) -> String {
    let file = place.directory.path().join("page.html");
    let arguments =
        [&["export", "--format", "html", "--force", "--output", file.to_str().unwrap()], options]
            .concat();
    let output = place.holdpoint(&arguments);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    std::fs::read_to_string(file).unwrap()
}

/// Whether the records of a page hold a text.
pub(crate) fn holds(page: &str, word: &str) -> bool {
    let frames = page.lines().filter_map(|line| line.strip_prefix("record "));
    let mut frames = frames.map(|line| Base64::decode_vec(line).unwrap());
    frames.any(|frame| frame.windows(word.len()).any(|bytes| bytes == word.as_bytes()))
}

/// A page that was damaged.
pub(crate) struct Damaged {
    /// How.
    pub(crate) name: &'static str,
    /// What finds it.
    pub(crate) finding: String,
    pub(crate) page: String,
}

/// Every kind of damage to what a page carries, each with the sum over its lines made anew: it is
/// found by what is wrong with it. An attack on a log that falls into a page has the name that it
/// has there.
pub(crate) fn damaged(pages: &Pages) -> Vec<Damaged> {
    let mut all = Vec::new();
    let mut add = |name, finding: String, block: &Block| {
        all.push(Damaged { name, finding, page: block.page() });
    };
    let block = Block::of(&pages.own);
    of_frames(&block, &mut add);
    of_headers(&block, &mut add);
    of_withheld(&block, &mut add);
    of_order(&block, &mut add);
    of_chains(&block, &mut add);
    of_others(&block, pages, &mut add);
    of_lines(&block, &mut add);
    all
}

type Add<'a> = &'a mut dyn FnMut(&'static str, String, &Block);

/// Where a record stands, as a finding says it.
fn place_in(block: &Block, at: usize) -> String {
    format!("line {}, record {}", at + 1, block.sequence(at))
}

/// Bytes of a frame, its checksum as it was.
fn of_frames(block: &Block, add: Add<'_>) {
    let at = block.with_payload();
    let place = place_in(block, at);
    let mut change = |name, code: &str, change: &dyn Fn(&mut Vec<u8>)| {
        add(name, format!("{place}: {code}"), &block.changed(at, change));
    };
    change("flip-record-size", "room", &|frame| frame[0] ^= 0x10);
    change("size too small", "size", &|frame| frame[..4].copy_from_slice(&63_u32.to_le_bytes()));
    change("size too large", "size", &|frame| frame[3] = 0x7f);
    change("cut-inside-record", "room", &|frame| frame.truncate(frame.len() - 8));
    change("bytes added", "room", &|frame| frame.extend([0; 8]));
    change("header missing", "size", &|frame| frame.truncate(4));
    change("zero-record", "size", &|frame| frame.fill(0));
    change("zero-record-header", "size", &|frame| frame[..64].fill(0));
    change("zero-payload", "checksum", &|frame| frame[64..].fill(0));
    for (name, field) in [
        ("flip-record-checksum", 4),
        ("flip-record-kind", 8),
        ("flip-record-version", 10),
        ("flip-record-flags", 11),
        ("flip-record-unsynced", 12),
        ("flip-record-sequence", 16),
        ("flip-record-time", 24),
        ("flip-record-link", 32),
        ("flip-record-payload", 64),
    ] {
        change(name, "checksum", &|frame| frame[field] ^= 1);
    }
    let at = block.with_padding();
    let padded = block.changed(at, |frame| *frame.last_mut().unwrap() = 1);
    for name in ["flip-record-padding", "forge-padding"] {
        add(name, format!("{}: padding", place_in(block, at)), &padded);
    }
}

/// Fields of a header and payloads, the checksum made anew: the link tells, and where that was made
/// anew too, the record behind it does.
fn of_headers(block: &Block, add: Add<'_>) {
    let at = block.with_payload();
    let (place, behind) = (place_in(block, at), place_in(block, block.behind(at)));
    let batch_end = Flags::MORE_FOLLOWS.bits();
    let mut forge = |names: [&'static str; 2], field: usize, bits: u8| {
        let forged = block.forged(at, |frame| frame[field] ^= bits);
        let [name, with_link] = names;
        add(name, format!("{place}: link"), &forged);
        add(with_link, format!("{behind}: link"), &forged.relinked(at, at));
    };
    forge(["forge-kind", "forge-kind-and-link"], 8, 1);
    forge(["forge-version", "forge-version-and-link"], 10, 1);
    forge(["forge-batch-end", "forge-batch-end-and-link"], 11, batch_end);
    forge(["forge-time", "forge-time-and-link"], 24, 1);
    forge(["forge-payload", "forge-payload-and-link"], 64, 1);
    let mut forge = |name, code: &str, change: &dyn Fn(&mut Vec<u8>)| {
        add(name, format!("{place}: {code}"), &block.forged(at, change));
    };
    forge("forge-salted-flag", "flags", &|frame| frame[11] |= Flags::SALTED.bits());
    forge("forge-claim", "link", &|frame| frame[12] ^= 1);
    forge("forge-sequence", "sequence", &|frame| frame[16] ^= 1);
    forge("forge-link", "link", &|frame| frame[32] ^= 1);
    forge("forge-longer-payload", "padding", &|frame| {
        frame[0] += 8;
        frame.extend([1; 8]);
    });
    forge("forge-shorter-payload", "padding", &|frame| {
        frame[0] -= 8;
        frame.truncate(frame.len() - 8);
    });
    let other = block.with_checksum_of_segment(at, 4_711);
    add("forge-checksum-of-other-segment", format!("{place}: checksum"), &other);
    let none = block.forged(at, |frame| frame[12..16].fill(0xff)).relinked(at, at);
    add("forge-claim-and-link", format!("{behind}: link"), &none);
    let moved = block.forged(at, |frame| frame[16] ^= 1).with_link_alone(at);
    add("forge-sequence-and-link", format!("{place}: sequence"), &moved);
}

/// Records of which the digest alone is there, or should be.
fn of_withheld(block: &Block, add: Add<'_>) {
    let (at, whole) = (block.left_out(), block.with_payload());
    let (place, in_whole) = (place_in(block, at), place_in(block, whole));
    let flipped = |at: usize| block.changed(at, |frame| frame[64] ^= 1);
    add("digest, by a cable", format!("{place}: checksum"), &flipped(at));
    let digest = block.forged(at, |frame| frame[64] ^= 1);
    add("withhold-under-false-digest", format!("{place}: link"), &digest);
    let rechained = digest.relinked(at, at);
    let behind = place_in(block, block.behind(at));
    add("withhold-false-digest-and-rechain", format!("{behind}: link"), &rechained);
    let no_flag = block.forged(at, |frame| frame[11] &= !Flags::WITHHELD.bits());
    add("digest as a payload", format!("{place}: link"), &no_flag);
    let long = block.forged(at, |frame| {
        frame[0] += 8;
        frame.extend([0; 8]);
    });
    add("withheld-digest-too-long", format!("{place}: withheld"), &long);
    let flag = block.forged(whole, |frame| frame[11] |= Flags::WITHHELD.bits());
    add("withheld-flag-alone", format!("{in_whole}: withheld"), &flag);
}

/// Records and segments that are missing, twice there, or elsewhere.
fn of_order(block: &Block, add: Add<'_>) {
    let records = block.records();
    let (first, last) = (records[0], *records.last().unwrap());
    let due = |at: usize| format!("{}: sequence", place_in(block, at));
    let end = format!("line {}: end", block.count() - 3);
    add("first record missing", due(first), &block.without(first));
    add("drop-record", due(records[5]), &block.without(records[5]));
    add("cut-before-record", end, &block.without(last));
    add("repeat-record", "sequence".into(), &block.moved(records[5], records[6], true));
    add("repeat-record-at-end", "sequence".into(), &block.moved(last - 3, last + 1, true));
    add("move-record-to-end", due(records[5]), &block.moved(records[5], last, false));
    add("swap-neighbours", due(records[5]), &block.exchanged(records[5], records[6]));
    add("swap-distant-records", due(records[3]), &block.exchanged(records[3], records[9]));
    let payloads = block.with_payloads_exchanged();
    add("swap-payloads", ": link".into(), &payloads);
    let zeros = [records[5], records[6]].map(|at| (at, block.zeros(at)));
    let [(one, zeroed), (other, line)] = zeros;
    let both = block.with_line(one, &zeroed).with_line(other, &line);
    add("zero-records", format!("{}: size", place_in(block, other)), &both);
    let segment = block.second_segment();
    let behind = place_in(block, segment + 1);
    let elsewhere = block.moved(segment + 1, segment, false);
    add(
        "move-record-to-other-segment",
        format!("record {}: checksum", block.sequence(segment + 1)),
        &elsewhere,
    );
    add(
        "drop-segment-line",
        format!("record {}: checksum", block.sequence(segment + 1)),
        &block.without(segment),
    );
    let other = block.with_line(segment, "segment 2");
    add("segment of another number", format!("line {}: segment", segment + 1), &other);
    add("segment of another number", format!("{behind}: checksum"), &other);
    add("cut in a batch", "batch".into(), &block.cut_in_batch());
}

/// Links that were made anew behind a change, and do not lead to what was kept.
fn of_chains(block: &Block, add: Add<'_>) {
    let (at, last) = (block.with_payload(), *block.records().last().unwrap());
    let (begin, end) = (block.records()[0], format!("line {}: end", block.count() - 2));
    let place = place_in(block, at);
    let changed = block.forged(at, |frame| frame[64] ^= 1);
    let two = block.behind(at);
    let behind = place_in(block, block.behind(two));
    add("rechain-two-records", format!("{behind}: link"), &changed.relinked(at, two));
    let prefix = place_in(block, block.behind(at));
    add("rechain-segment-prefix", format!("{prefix}: link"), &changed.relinked(begin, at));
    add("rechain-to-log-end", end.clone(), &changed.relinked(at, last));
    let back = block.forged(at, |frame| frame[24..32].fill(0)).relinked(at, last);
    add("rechain-time-back", format!("{place}: time"), &back);
    let claim = |unsynced: u32| {
        let bytes = unsynced.to_le_bytes();
        block.forged(at, |frame| frame[12..16].copy_from_slice(&bytes)).relinked(at, last)
    };
    add("rechain-false-claim", format!("{place}: claim"), &claim(1 << 20));
    let (at, inside) = block.behind_open_batch();
    let unsynced = u32::try_from(block.sequence(at) - 1 - inside).unwrap().to_le_bytes();
    let inside = block.forged(at, |frame| frame[12..16].copy_from_slice(&unsynced));
    let found = format!("{}: claim", place_in(block, at));
    add("rechain-claim-in-batch", found, &inside.relinked(at, last));
    let open = block.forged(last, |frame| frame[11] |= Flags::MORE_FOLLOWS.bits());
    add("rechain-open-batch", "batch".into(), &open.relinked(last, last));
    let salted = block.forged(at, |frame| frame[11] |= Flags::SALTED.bits());
    add("rechain-salted-flag", format!("{}: flags", place_in(block, at)), &salted);
    let dropped = block.without(at);
    let last = *dropped.records().last().unwrap();
    let count = block.count() - 3;
    add("rechain-dropped-record", format!("line {count}: end"), &dropped.relinked(at, last));
    let inserted = block.moved(at, at, true);
    let last = *inserted.records().last().unwrap();
    let count = block.count() - 1;
    add("rechain-inserted-record", format!("line {count}: end"), &inserted.relinked(at, last));
    let next = place_in(block, block.behind(at));
    let alone = block.moved(at, block.behind(at), true);
    let chained = alone.relinked(block.behind(at), block.behind(at));
    let sequence = next.rsplit(' ').next().unwrap().parse::<u64>().unwrap() + 1;
    add("insert-chained-record", format!("record {sequence}: sequence"), &chained);
    let swapped = block.exchanged(at, block.behind(at));
    let last = *block.records().last().unwrap();
    add("rechain-swapped-records", end, &swapped.relinked(at, last));
}

/// Records of another log, of another history and of another segment.
fn of_others(block: &Block, pages: &Pages, add: Add<'_>) {
    let (log, history) = (Block::of(&pages.other_log), Block::of(&pages.other_history));
    let at = block.with_payload();
    let place = place_in(block, at);
    let of_log = block.with_line(at, log.line(at));
    add("splice-record-of-other-log", format!("{place}: checksum"), &of_log);
    let sealed = of_log.forged(at, |_| {});
    add("splice-record-of-other-log-with-checksum", format!("{place}: link"), &sealed);
    let of_history = block.with_line(at, history.line(at));
    add("splice-record-of-other-history", format!("{place}: link"), &of_history);
    let next = block.behind(at);
    let two = of_history.with_line(next, history.line(next));
    add("splice-records-of-other-history", format!("{place}: link"), &two);
    let of_segment = block.with_line(at, block.line(block.second_segment() + 1));
    add("splice-record-of-other-segment", format!("{place}: checksum"), &of_segment);
    let identity = block.with_line(1, log.line(1));
    let identity = identity.resealed();
    let genesis = "line 3: link".to_string();
    add("rechain-under-other-identity", genesis, &identity);
}

/// The other lines.
fn of_lines(block: &Block, add: Add<'_>) {
    let (first, end) = (block.records()[0], block.count() - 3);
    let [before, log, version] = [2, 1, 0];
    let flipped = |line: usize| block.with_digit_flipped(line);
    let place = place_in(block, first);
    add("link before", format!("{place}: link"), &flipped(before));
    add("log", format!("{place}: checksum"), &flipped(log));
    add("end", format!("line {}: end", end + 1), &flipped(end));
    add("head", format!("line {}: head", end + 2), &flipped(end + 1));
    let none = block.with_line(end + 1, "head -1");
    add("head of another form", format!("line {}: form", end + 2), &none);
    add("form", "line 1: form".into(), &block.with_line(version, "holdpoint-report 2"));
    let word = block.with_line(first, "records");
    add("no record", format!("line {}: form", first + 1), &word);
    add("no record at all", "line 4: end: no record".into(), &block.without_records());
    let loose = format!("{}=", block.line(first));
    add("loose digits", format!("line {}: form", first + 1), &block.with_line(first, &loose));
    add("nothing left", "form".into(), &block.with_lines_alone(&[]));
    let sum = block.unsealed(|lines| lines[end].push(' '));
    add("sum", format!("line {}: sum", block.count()), &sum);
    add("two blocks", "line 0: form".into(), &block.twice());
    add("no block", "line 0: form".into(), &block.gone());
}

/// A page whose records were made up: every link behind a change made anew, and the end, the head
/// and the sum with it. Gives the last record with its true link, too.
pub(crate) fn made_up(page: &str) -> (String, u64, String) {
    let block = Block::of(page);
    let (at, (last, link)) = (block.with_payload(), block.end());
    let changed = block.forged(at, |frame| frame[64] ^= 1);
    let end = *block.records().last().unwrap();
    (changed.relinked(at, end).with_end_named().page(), last, link)
}

/// A page without a record, and the link of the one that it names.
pub(crate) fn without_records(page: &str) -> (String, u64, String) {
    let empty = Block::of(page).without_records();
    let (last, link) = empty.end();
    (empty.page(), last, link)
}

/// Pages with single bytes of the block changed, so many of them, spread over all.
pub(crate) fn flipped(page: &str, count: usize) -> Vec<String> {
    let (begin, end) = Block::bounds(page);
    let step = ((end - begin) / count).max(1);
    let places = (begin..end).step_by(step);
    let flip = |at: usize| {
        let mut bytes = page.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'2' { b'3' } else { b'2' };
        String::from_utf8(bytes).unwrap()
    };
    places.map(flip).collect()
}

/// What nobody would write, and programs that read pages stumble over.
const STRANGE: [&[u8]; 6] =
    [b"\xff\xfe", b"\xed\xa0\x80", b"\0", b"<![x[", b"<!--", "\u{2028}\u{ff11}".as_bytes()];

/// Pages that were damaged at random: those whose block was, and others of which any byte may be.
pub(crate) fn damaged_at_random(page: &str, count: usize) -> [Vec<Vec<u8>>; 2] {
    let mut random = Gen::from_size_and_seed(40, seed());
    let (begin, end) = Block::bounds(page);
    [(begin, end), (0, page.len())].map(|(begin, end)| {
        let mut pages = Vec::new();
        for _ in 0..count {
            let at = begin + usize::arbitrary(&mut random) % (end - begin);
            let mut bytes = page.as_bytes().to_vec();
            match u8::arbitrary(&mut random) % 8 {
                0 => bytes.truncate(at),
                1 => {
                    let strange = *random.choose(&STRANGE).unwrap();
                    bytes.splice(at..at, strange.iter().copied());
                }
                2 | 3 => bytes[at] ^= 0x80,
                _ => bytes[at] ^= 1 << (u8::arbitrary(&mut random) % 8),
            }
            pages.push(bytes);
        }
        pages
    })
}

/// Writes pages into a directory.
pub(crate) fn write(directory: &Path, pages: &[impl AsRef<[u8]>]) -> Vec<PathBuf> {
    let write = |(number, page)| {
        let file = directory.join(format!("{number}.html"));
        std::fs::write(&file, page).unwrap();
        file
    };
    pages.iter().enumerate().map(write).collect()
}

/// A text in what a verb says with `--json`.
pub(crate) fn said<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} in {value:#}"))
}
