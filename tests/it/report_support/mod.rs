//! Pages of `report`, damaged in every way that what they carry can be, and what finds it.

mod block;

use crate::program::{Place, status, text};
use crate::verify_py::python;
use block::Block;
use holdpoint_log_format::Flags;
use holdpoint_testing::hand_made::HandMade;
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
    with open(line.rstrip("\n"), encoding="utf-8", newline="") as page:
        print(json.dumps(verify.checked(page.read()).findings))
"#;

/// What `verify.py` finds in each page.
pub(crate) fn found_by_python(pages: &[PathBuf]) -> Vec<Vec<String>> {
    let verifier = Path::new(env!("CARGO_MANIFEST_DIR")).join("cli/report/verify.py");
    let mut python = python(&["-c", DRIVER, verifier.to_str().unwrap()]);
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
    let place = Place::new();
    let mut log = HandMade::new();
    log.run();
    log.roll();
    log.crash();
    log.write(&place.log);
    place
}

/// Makes a page, and gives its text.
pub(crate) fn page_of(place: &Place, options: &[&str]) -> String {
    let file = place.directory.path().join("page.html");
    let arguments = [&["report", "--force", "--out", file.to_str().unwrap()], options].concat();
    let output = place.holdpoint(&arguments);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    std::fs::read_to_string(file).unwrap()
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
/// found by what is wrong with it.
pub(crate) fn damaged(page: &str) -> Vec<Damaged> {
    let mut all = Vec::new();
    let mut add = |name, finding: String, block: &Block| {
        all.push(Damaged { name, finding, page: block.page() });
    };
    let block = Block::of(page);
    of_frames(&block, &mut add);
    of_headers(&block, &mut add);
    of_order(&block, &mut add);
    of_lines(&block, &mut add);
    all
}

type Add<'a> = &'a mut dyn FnMut(&'static str, String, &Block);

/// Bytes of a frame, its checksum as it was.
fn of_frames(block: &Block, add: Add<'_>) {
    let (at, record) = block.with_payload();
    let place = format!("line {}, record {record}", at + 1);
    let mut change = |name, code: &str, change: &dyn Fn(&mut Vec<u8>)| {
        add(name, format!("{place}: {code}"), &block.changed(at, change));
    };
    change("size too small", "size", &|frame| frame[..4].copy_from_slice(&63_u32.to_le_bytes()));
    change("size too large", "size", &|frame| frame[3] = 0x7f);
    change("size of a shorter one", "room", &|frame| frame[0] -= 8);
    change("bytes missing", "room", &|frame| frame.truncate(frame.len() - 8));
    change("bytes added", "room", &|frame| frame.extend([0; 8]));
    change("header missing", "size", &|frame| frame.truncate(4));
    change("checksum", "checksum", &|frame| frame[4] ^= 1);
    for (name, field) in [
        ("kind, by a cable", 8),
        ("version, by a cable", 10),
        ("flags, by a cable", 11),
        ("claim, by a cable", 12),
        ("sequence, by a cable", 16),
        ("time, by a cable", 24),
        ("link, by a cable", 32),
        ("payload, by a cable", 64),
    ] {
        change(name, "checksum", &|frame| frame[field] ^= 1);
    }
    let (at, record) = block.with_padding();
    let padded = block.changed(at, |frame| *frame.last_mut().unwrap() = 1);
    add("padding", format!("line {}, record {record}: padding", at + 1), &padded);
    let (at, record) = block.left_out();
    let digest = block.changed(at, |frame| frame[64] ^= 1);
    add("digest, by a cable", format!("line {}, record {record}: checksum", at + 1), &digest);
}

/// Fields of a header and payloads, the checksum made anew.
fn of_headers(block: &Block, add: Add<'_>) {
    let (at, record) = block.with_payload();
    let place = format!("line {}, record {record}", at + 1);
    let mut forge = |name, code: &str, change: &dyn Fn(&mut Vec<u8>)| {
        add(name, format!("{place}: {code}"), &block.forged(at, change));
    };
    forge("kind", "link", &|frame| frame[8] ^= 1);
    forge("version", "link", &|frame| frame[10] ^= 1);
    forge("more follows", "link", &|frame| frame[11] ^= Flags::MORE_FOLLOWS.bits());
    forge("withheld with a payload", "withheld", &|frame| frame[11] |= Flags::WITHHELD.bits());
    forge("unknown flag", "flags", &|frame| frame[11] |= 8);
    forge("claim", "link", &|frame| frame[12] ^= 1);
    forge("sequence", "sequence", &|frame| frame[16] ^= 1);
    forge("time", "link", &|frame| frame[24] ^= 1);
    forge("link", "link", &|frame| frame[32] ^= 1);
    forge("payload", "link", &|frame| frame[64] ^= 1);
    let (at, record) = block.left_out();
    let place = format!("line {}, record {record}", at + 1);
    let digest = block.forged(at, |frame| frame[64] ^= 1);
    add("digest", format!("{place}: link"), &digest);
    let whole = block.forged(at, |frame| frame[11] &= !Flags::WITHHELD.bits());
    add("digest as a payload", format!("{place}: link"), &whole);
    let (back, claimed) = (block.rechained_at(at, 24, 0), block.rechained_at(at, 12, 1 << 20));
    add("time that goes back", format!("{place}: time"), &back);
    add("claim before the first record", format!("{place}: claim"), &claimed);
}

/// Records and segments that are missing, twice there, or elsewhere.
fn of_order(block: &Block, add: Add<'_>) {
    let records = block.records();
    let (first, last) = (records[0], *records.last().unwrap());
    let due = |at: usize| format!("line {}, record {}: sequence", at + 1, block.sequence(at));
    add("first record missing", due(first), &block.without(first));
    add("record missing", due(records[5]), &block.without(records[5]));
    add("last record missing", format!("line {}: end", block.count() - 3), &block.without(last));
    let repeated = block.repeated(records[5]);
    add("record repeated", format!("record {}: sequence", block.sequence(records[6])), &repeated);
    add("records exchanged", due(records[5]), &block.exchanged(records[5], records[6]));
    let segment = block.second_segment();
    let behind = format!("line {}, record {}: ", segment + 1, block.sequence(segment + 1));
    add("segment missing", format!("{behind}checksum"), &block.without(segment));
    let other = block.with_line(segment, "segment 2");
    add("segment of another number", format!("line {}: segment", segment + 1), &other);
    let cut = block.cut_in_batch();
    add("cut in a batch", "batch".into(), &cut);
}

/// The other lines.
fn of_lines(block: &Block, add: Add<'_>) {
    let (first, end) = (block.records()[0], block.count() - 3);
    let [before, log, version] = [2, 1, 0];
    let flipped = |line: usize| block.with_digit_flipped(line);
    let record = block.sequence(first);
    add("link before", format!("line {}, record {record}: link", first + 1), &flipped(before));
    add("log", format!("line {}, record {record}: checksum", first + 1), &flipped(log));
    add("end", format!("line {}: end", end + 1), &flipped(end));
    add("head", format!("line {}: head", end + 2), &flipped(end + 1));
    let none = block.with_line(end + 1, "head -1");
    add("head of another form", format!("line {}: form", end + 2), &none);
    add("form", "line 1: form".into(), &block.with_line(version, "holdpoint-report 2"));
    let word = block.with_line(first, "records");
    add("no record", format!("line {}: form", first + 1), &word);
    let loose = format!("{}=", block.line(first));
    add("loose digits", format!("line {}: form", first + 1), &block.with_line(first, &loose));
    add("nothing left", "form".into(), &block.with_lines_alone(&[]));
    let sum = block.unsealed(|lines| lines[end].push(' '));
    add("sum", format!("line {}: sum", block.count()), &sum);
    let twice = block.twice();
    add("two blocks", "line 0: form".into(), &twice);
    let no_block = block.gone();
    add("no block", "line 0: form".into(), &no_block);
}

/// A page whose records were made up: every link behind a change made anew, and the end, the head
/// and the sum with it. Gives the last record with its true link, too.
pub(crate) fn made_up(page: &str) -> (String, u64, String) {
    let block = Block::of(page);
    let (at, _) = block.with_payload();
    let (last, link) = block.end();
    (block.rechained(at).page(), last, link)
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

/// Writes pages into a directory.
pub(crate) fn write(directory: &Path, pages: &[String]) -> Vec<PathBuf> {
    let write = |(number, page): (usize, &String)| {
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
