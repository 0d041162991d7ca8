//! `report`: one page that a person can read and that `verify.py` checks from outside; it says what
//! is wrong, shows nothing that was not asked for, and takes no text for markup.

use crate::program::{Place, json, status, text};
use crate::report_support::{
    Pages, damaged, damaged_at_random, flipped, found_by_python, holds, made_up, misread, page_of,
    place, said, without_records, write,
};
use crate::run_before::{answer, await_question, command};
use crate::verify_py::{has_python, python, verifier};
use base64ct::{Base64, Encoding};
use holdpoint_domain::execution_loop::ResponseAwaited;
use holdpoint_domain::log::ClockStepped;
use holdpoint_testing::hand_made::{HandMadeLog, SECRET, encoded};
use sha2::{Digest, Sha256};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

fn file(place: &Place, name: &str) -> PathBuf {
    place.directory.path().join(name)
}

/// `report --output page.html`.
fn report(place: &Place, options: &[&str]) -> Output {
    place.holdpoint(&[&["export", "--format", "html", "--output", "page.html"], options].concat())
}

fn failed(place: &Place, options: &[&str], exit: i32) -> String {
    let output = report(place, options);
    let said = text(&output.stderr);
    assert_eq!(status(&output), exit, "{options:?}: {said}");
    assert!(!file(place, "page.html").exists(), "{options:?}");
    let left = std::fs::read_dir(place.directory.path()).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!left.into_iter().any(|name| name.ends_with(".unfinished")), "{options:?}");
    said
}

/// What `verify.py` says of a file.
fn verified(page: &Path, options: &[&str]) -> (i32, String) {
    let mut python = python(&[verifier().to_str().unwrap(), page.to_str().unwrap()]);
    let output = python.args(options).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    (status(&output), text(&output.stdout))
}

#[test]
fn a_page_tells_a_run_with_its_people_and_is_readable_by_its_owner_alone() {
    let place = Place::with_log();
    let waiting = ["run", "--hold", "before", "--", "sh", "-c", "echo deployed; exit 3"];
    let child = command(&place, &waiting).spawn().unwrap();
    let question = await_question(&place);
    assert_eq!(answer(&place, &question, "approve"), 0);
    assert_eq!(status(&child.wait_with_output().unwrap()), 3);
    let newest = place.newest_loop();
    let id = newest["loop_id"].as_str().unwrap();
    let made = json(&report(&place, &[id, "--json"]));
    assert_eq!((said(&made, "out"), &made["runs"]), ("page.html", &serde_json::json!([id])));
    assert_eq!(said(&made, "verdict"), "intact");
    let mode = file(&place, "page.html").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let page = std::fs::read_to_string(file(&place, "page.html")).unwrap();
    let words = [id, "failed, exit status 3", "echo deployed", "approved", "approve by", &question];
    for word in words.into_iter().chain(["the run has ended: it failed", "intact"]) {
        assert!(page.contains(word), "{word}");
    }
    let head = place.verified()["head"]["link"].as_str().unwrap().to_string();
    assert!(page.contains(&head));
    let digest = base16ct::lower::encode_string(&Sha256::digest("deployed\n"));
    assert!(page.contains(&digest), "evidence is told by its digest");
    if has_python() {
        let (exit, told) = verified(&file(&place, "page.html"), &[]);
        assert!(exit == 0 && told.contains("follow from each other"), "{told}");
    }
}

#[test]
fn a_page_of_one_run_is_titled_by_its_command_and_how_it_ended_and_is_dark_where_that_is_wished() {
    let place = Place::new();
    let long = format!("exit 3 # {}", "word ".repeat(60));
    for (command, title) in
        [("exit 0", "sh -c &#39;exit 0&#39;: ok"), (&long, "sh -c &#39;exit 3 #")]
    {
        place.shell(command);
        let page = page_of(&place, &[place.newest_loop()["loop_id"].as_str().unwrap()]);
        let shown = page.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
        assert!(shown.starts_with(title) && shown.len() < 140, "{shown}");
        assert!(page.contains(&format!("<h1>{shown}</h1>")), "{shown}");
        assert!(command == "exit 0" || shown.ends_with("..: failed, exit status 3"), "{shown}");
        assert!(page.contains("@media screen and (prefers-color-scheme: dark)"));
    }
}

#[test]
fn a_page_follows_from_the_log_alone_and_changes_nothing_of_it() {
    let place = place();
    let before = crate::program::contents(&place.log);
    assert_eq!(page_of(&place, &["--since", "1"]), page_of(&place, &["--since", "1"]));
    assert_eq!(crate::program::contents(&place.log), before);
}

#[test]
fn raw_evidence_is_on_a_page_only_where_somebody_asks_for_it() {
    let place = place();
    let page = page_of(&place, &["--since", "1"]);
    assert!(!holds(&page, SECRET) && !page.contains(SECRET));
    let with = report(&place, &["--since", "1", "--include-evidence", "--force"]);
    assert!(text(&with.stderr).contains("secrets included"), "{}", text(&with.stderr));
    let page = std::fs::read_to_string(file(&place, "page.html")).unwrap();
    assert!(holds(&page, SECRET) && page.contains(SECRET));
}

#[test]
fn payloads_are_those_of_the_chosen_runs_alone() {
    let place = Place::with_log();
    place.shell("true one");
    place.shell("true another");
    let first = place.loops()[0]["loop_id"].as_str().unwrap().to_string();
    let page = page_of(&place, &[&first]);
    assert!(holds(&page, "true one") && !holds(&page, "true another"));
    let page = page_of(&place, &["--since", "1"]);
    assert!(holds(&page, "true one") && holds(&page, "true another"));
    let second = place.newest_loop()["started_sequence"].to_string();
    let page = page_of(&place, &["--since", &second]);
    assert!(!holds(&page, "true one") && holds(&page, "true another"));
}

#[test]
fn what_is_not_there_or_too_much_is_refused_and_no_file_is_left() {
    let place = Place::new();
    assert!(failed(&place, &["--since", "1"], 3).contains("there is no log"));
    place.init();
    place.shell("true");
    assert!(failed(&place, &["LOOP-00000000000000000000000000000000"], 3).contains("runs"));
    assert!(failed(&place, &["--since", "4711"], 3).contains("the log's records are 1 to"));
    assert!(failed(&place, &["--since", "9", "--until", "3"], 2).contains("--until"));
    assert!(failed(&place, &["nothing like an id"], 2).contains(" runs`"));
    failed(&place, &[], 2);
    failed(&place, &["--since", "1", "3"], 2);
    failed(&place, &["--until", "1"], 2);
    assert_eq!(status(&place.holdpoint(&["export", "--format", "html", "3", "--output", "-"])), 2);
    let inside = place.log.join("page.html");
    let within =
        place.holdpoint(&["export", "--format", "html", "3", "--output", inside.to_str().unwrap()]);
    assert_eq!((status(&within), inside.exists()), (2, false));
}

#[test]
fn more_than_a_page_holds_is_refused_with_a_range_that_it_does_hold() {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    for _ in 0..201 {
        log.batch(&vec![encoded(ClockStepped { step_ns: 1 }.into()); 100]);
    }
    log.write(&place.log);
    let said = failed(&place, &["--since", "1"], 2);
    assert!(said.contains("at most 20000 records and 16 MiB"), "{said}");
    let last = said.rsplit("--until ").next().unwrap().trim();
    assert_eq!(last, "20000");
    failed(&place, &["--since", "1", "--until", "20001"], 2);
    page_of(&place, &["--since", "1", "--until", last]);
}

#[test]
fn a_file_that_is_there_stays_unless_it_is_to_be_replaced() {
    let place = place();
    let page = file(&place, "page.html");
    std::fs::write(&page, "mine").unwrap();
    assert_eq!(status(&report(&place, &["--since", "1"])), 4);
    assert_eq!(std::fs::read(&page).unwrap(), b"mine");
    assert_eq!(status(&report(&place, &["--since", "1", "--force"])), 0);
    assert!(std::fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    std::fs::remove_file(&page).unwrap();
    symlink("elsewhere", &page).unwrap();
    assert_eq!(status(&report(&place, &["--since", "1", "--force"])), 4, "it is there, and stays");
    let made = place.holdpoint(&["export", "--format", "verifier", "--output", "verify.py"]);
    assert_eq!(status(&made), 0, "{}", text(&made.stderr));
    let written = std::fs::read(file(&place, "verify.py")).unwrap();
    assert_eq!(written, std::fs::read(verifier()).unwrap());
    assert_eq!(
        status(&place.holdpoint(&["export", "--format", "verifier", "--output", "verify.py"])),
        4
    );
}

#[test]
fn of_a_damaged_log_the_page_tells_the_damage_and_what_holds_before_it() {
    let place = place();
    let segment = place.log.join("segments/00000000000000000001.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let secret = bytes.windows(SECRET.len()).position(|it| it == SECRET.as_bytes()).unwrap();
    bytes[secret] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let output = report(&place, &["--since", "1"]);
    assert_eq!(status(&output), 6, "{}", text(&output.stderr));
    let page = std::fs::read_to_string(file(&place, "page.html")).unwrap();
    let words = ["<h2>Damage</h2>", "corrupt", "the checksum says", "are not here", "(not proven)"];
    for word in words {
        assert!(page.contains(word), "{word}");
    }
    assert!(page.contains(": nobody knows how it ended: not all of the log could be read</h3>"));
    assert!(!page.contains(": running</h3>"), "what is missing may say how it ended");
    let behind = report(&place, &["LOOP-00000000000000000000000000000007", "--force"]);
    assert_eq!(status(&behind), 6, "{}", text(&behind.stderr));
    let page = std::fs::read_to_string(file(&place, "page.html")).unwrap();
    for word in ["<h2>Damage</h2>", "kill -SEGV", "others may lie behind the damage"] {
        assert!(page.contains(word), "{word}");
    }
    if has_python() {
        let (exit, told) = verified(&file(&place, "page.html"), &[]);
        assert_eq!(exit, 0, "what the page carries holds: {told}");
    }
}

#[test]
fn a_range_of_which_no_record_can_be_read_makes_no_page() {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    log.run_of("sh -c true");
    log.write(&place.log);
    let segment = place.log.join("segments/00000000000000000001.seg");
    let whole = std::fs::read(&segment).unwrap();
    let newest = place.verified()["head"]["sequence"].to_string();
    let secret = whole.windows(SECRET.len()).position(|it| it == SECRET.as_bytes()).unwrap();
    let flip = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&segment, bytes).unwrap();
    };
    flip(secret);
    for range in [&["--since", &newest][..], &["--since", &newest, "--until", &newest]] {
        let said = failed(&place, range, 6);
        for word in ["the checksum says", "no page is made", "of what lies before it"] {
            assert!(said.contains(word), "{word}: {said}");
        }
    }
    let before = report(&place, &["--since", "1", "--until", "2"]);
    assert_eq!(status(&before), 6, "what lies before it has a page: {}", text(&before.stderr));
    std::fs::remove_file(file(&place, "page.html")).unwrap();
    flip(20);
    let said = failed(&place, &["--since", "1"], 6);
    assert!(said.contains("no page is made") && !said.contains("lies before it"), "{said}");
}

#[test]
fn of_a_log_that_does_not_verify_no_run_is_said_to_be_missing() {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    let loop_id = "LOOP-00000000000000000000000000000001".into();
    log.batch(&[encoded(
        ResponseAwaited { loop_id, attempt: 1, recorder_key: None, on_full: None }.into(),
    )]);
    log.write(&place.log);
    let said = failed(&place, &["LOOP-00000000ff"], 6);
    assert!(said.contains("forbidden events") && said.contains("may lie behind that"), "{said}");
}

#[test]
fn how_long_a_run_took_leaves_out_what_it_waited_for_a_person_as_show_does() {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    let (id, _) = log.retry_of_halted("make deploy");
    log.write(&place.log);
    let shown = text(&place.holdpoint(&["show", &id]).stdout);
    let told = shown.split_once("), ").unwrap().1.lines().next().unwrap().to_string();
    assert!(told.contains("took ") && told.contains(", waited 1 ms for an answer"), "{told}");
    let page = page_of(&place, &[&id]);
    assert!(page.contains(&format!("Z, {told}</td>")), "{told}: {page}");
}

#[test]
fn a_record_that_no_witness_names_yet_is_marked() {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    log.run();
    let head = log.head();
    log.run();
    log.write_with_head(&place.log, &head);
    let page = page_of(&place, &["--since", "1"]);
    let named = format!("<td>{}</td>", head.newest_sequence);
    let not_named = format!("<td>{} (no witness yet)</td>", head.newest_sequence + 1);
    assert!(page.contains(&named) && page.contains(&not_named));
    assert!(page.contains("no witness yet from record"));
}

#[test]
fn no_text_of_a_command_becomes_markup_or_stays_hidden() {
    let place = Place::with_log();
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}\u{1b}[2J";
    place.run(&["echo", hostile]);
    let page = page_of(&place, &["--since", "1", "--include-evidence"]);
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("\\u{202e}"));
    assert_eq!(page.matches("<script").count(), 2, "the records and the script of the page");
}

#[test]
fn a_page_allows_itself_nothing_but_its_own_script_and_style() {
    let page = page_of(&place(), &["--since", "1"]);
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = policy.split_once("\">").unwrap().0.replace("&#39;", "'");
    for (name, start, end) in
        [("script-src", "\n<script>", "</script>"), ("style-src", "<style>", "</style>")]
    {
        let own = page.split_once(start).unwrap().1.split_once(end).unwrap().0;
        let hash = Base64::encode_string(&Sha256::digest(own));
        assert!(policy.contains(&format!("{name} 'sha256-{hash}'")), "{name}: {policy}");
    }
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
    for outside in ["innerHTML", "insertAdjacent", "eval(", "http:", "https:", "fetch(", " src="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// Beginnings of names of attacks on records, in `tests/golden/attacks.txt`.
const ON_RECORDS: [&str; 14] = [
    "flip-record-",
    "forge-",
    "drop-record",
    "repeat-record",
    "move-record",
    "insert-",
    "splice-record",
    "swap-",
    "withheld-",
    "withhold-",
    "zero-record",
    "zero-payload",
    "rechain-",
    "cut-",
];

/// Those of them that do not fall into what a page carries, or leave another page that holds.
const NOT_ON_A_PAGE: [(&str, &str); 27] = [
    ("cut-behind-items", "of a segment's zeros"),
    ("cut-head", "of HEAD"),
    ("cut-index", "of an index"),
    ("cut-inside-header", "of a segment's header"),
    ("cut-last-byte", "of a segment's zeros"),
    ("cut-last-page", "of a segment's zeros"),
    ("cut-lock", "of LOCK"),
    ("cut-segment-to-nothing", "of a segment's file"),
    ("cut-snapshot", "of a snapshot"),
    ("rechain-batch-end", "made up to the end: a link that was kept tells"),
    ("rechain-dropped-record-with-head", "made up to the end: a link that was kept tells"),
    ("rechain-inserted-record-with-head", "made up to the end: a link that was kept tells"),
    ("rechain-newer-rules", "made up to the end: a link that was kept tells"),
    ("rechain-opaque-kind", "made up to the end: a link that was kept tells"),
    ("rechain-swapped-records-with-head", "made up to the end: a link that was kept tells"),
    ("rechain-to-log-end-with-head", "made up to the end: a link that was kept tells"),
    ("rechain-to-segment-end", "as rechain-two-records: the next segment tells"),
    ("rechain-to-segment-end-with-seal", "as rechain-two-records: the next segment tells"),
    ("rechain-unknown-kind", "made up to the end: a link that was kept tells"),
    ("rechain-whole-segment", "as rechain-two-records: the next segment tells"),
    ("rechain-without-claims", "made up to the end: a link that was kept tells"),
    ("repeat-record-behind-seal", "a page has no seal"),
    ("swap-segments", "as swap-distant-records"),
    ("withhold-newest-payload", "what a page does itself"),
    ("withhold-payload", "what a page does itself"),
    ("withhold-payload-alone", "as withheld-flag-alone"),
    ("withhold-segment", "what a page does itself"),
];

#[test]
fn every_attack_on_records_that_falls_into_a_page_is_among_the_damages() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/attacks.txt");
    let attacks = std::fs::read_to_string(file).unwrap();
    let names = attacks.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let named: Vec<&str> = names
        .filter(|name| ON_RECORDS.iter().any(|beginning| name.starts_with(beginning)))
        .collect();
    let damages: Vec<&str> = damaged(&Pages::made()).iter().map(|it| it.name).collect();
    let is_told = |name: &&str| {
        damages.contains(name) || NOT_ON_A_PAGE.iter().any(|(other, _)| other == name)
    };
    let missing: Vec<&str> = named.iter().copied().filter(|name| !is_told(name)).collect();
    assert!(missing.is_empty() && named.len() > 60, "{missing:#?} of {}", named.len());
    let gone = NOT_ON_A_PAGE.iter().filter(|(name, _)| !named.contains(name));
    assert_eq!(gone.map(|(name, _)| *name).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn verify_py_finds_every_damage_to_what_a_page_carries() {
    if !has_python() {
        return;
    }
    let (pages, directory) = (Pages::made(), TempDir::new().unwrap());
    let damaged = damaged(&pages);
    let files: Vec<String> = damaged.iter().map(|it| it.page.clone()).collect();
    let found = found_by_python(&write(directory.path(), &files));
    let missed = damaged
        .iter()
        .zip(&found)
        .filter(|(it, found)| !found.iter().any(|finding| finding.contains(&it.finding)));
    let missed: Vec<String> = missed
        .map(|(it, found)| format!("{}: no {:?} in {found:?}", it.name, it.finding))
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    let found = found_by_python(&write(directory.path(), &flipped(&pages.own, 400)));
    assert!(found.len() >= 400 && found.iter().all(|found| !found.is_empty()));
    let clean = pages.own.replace('\n', "\r\n");
    assert!(found_by_python(&write(directory.path(), &[pages.own, clean])).concat().is_empty());
}

#[test]
fn verify_py_names_the_line_of_a_byte_that_is_no_ascii() {
    if !has_python() {
        return;
    }
    let mut page = page_of(&place(), &["--since", "1"]).into_bytes();
    let at = page.windows(8).position(|it| it == b"\nrecord ").unwrap();
    page[at + 50] ^= 0x80;
    let directory = TempDir::new().unwrap();
    let file = write(directory.path(), &[page]).remove(0);
    let (exit, told) = verified(&file, &[]);
    assert!(exit == 6 && told.starts_with("line 5: form: this is no record"), "{told}");
}

#[test]
fn verify_py_says_at_which_byte_a_file_ceases_to_be_a_page() {
    if !has_python() {
        return;
    }
    let page = page_of(&place(), &["--since", "1"]);
    let block = page.find("<script").unwrap();
    let files = [
        (String::new(), "at byte 0 stands b'', where every page has b'<!doctype html>"),
        ("no page".into(), "at byte 0 stands b'no page', where every page has b'<!doctype html>"),
        (page[..39].into(), "at byte 39 stands b'', where every page has b'\\n<meta charset"),
        (page[..block + 99].into(), "within the block of records"),
        (page.replacen("'none'", "'self'", 1), "stands b\"self'; script-sr"),
        (page.replacen("sha256-", "sha256-*", 1), "stands b'*"),
    ];
    let directory = TempDir::new().unwrap();
    let pages: Vec<&String> = files.iter().map(|(page, _)| page).collect();
    for (file, (_, due)) in write(directory.path(), &pages).iter().zip(&files) {
        let (exit, told) = verified(file, &[]);
        assert!(exit == 6 && told.starts_with("line 0: form: ") && told.contains(due), "{told}");
    }
}

#[test]
fn a_page_begins_with_the_bytes_that_its_document_states() {
    let page = page_of(&place(), &["--since", "1"]);
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/report.md");
    let document = std::fs::read_to_string(document).unwrap();
    let stated = document.split_once("```html\n").unwrap().1.split_once("\n```").unwrap().0;
    let mut rest = page.as_str();
    for (number, part) in stated.split("HASH").enumerate() {
        rest = if number == 0 { rest } else { &rest[43..] };
        rest = rest.strip_prefix(part).unwrap_or_else(|| panic!("no {part} in {rest:.200}"));
    }
    assert!(rest.starts_with("holdpoint-report 1\nlog "), "{rest:.200}");
}

#[test]
fn verify_py_reads_no_block_that_a_browser_could_miss() {
    if !has_python() {
        return;
    }
    let page = page_of(&place(), &["--since", "1"]);
    let (misread, directory) = (misread(&page), TempDir::new().unwrap());
    let files = write(directory.path(), &misread.iter().map(|it| &it.page).collect::<Vec<_>>());
    for (it, found) in misread.iter().zip(found_by_python(&files)) {
        let differs = it.page.iter().zip(page.as_bytes()).position(|(one, other)| one != other);
        let stands = format!("line 0: form: at byte {} stands b", differs.unwrap());
        let is_added = it.name.starts_with("two") || it.name.starts_with("page in");
        let is_told = is_added && found[0].ends_with(", which no page has");
        let due = found[0].starts_with(&stands) || is_told;
        assert!(found.len() == 1 && due, "{}: {found:?}", it.name);
    }
}

#[test]
fn the_check_that_a_page_tells_runs_no_file_that_lies_beside_it() {
    if !has_python() {
        return;
    }
    let place = place();
    let page = page_of(&place, &["--since", "1"]);
    assert_eq!(
        status(&place.holdpoint(&["export", "--format", "verifier", "--output", "verify.py"])),
        0
    );
    std::fs::write(file(&place, "base64.py"), "raise SystemExit('ran')").unwrap();
    let told = page.lines().find(|line| line.starts_with("python3 ")).unwrap();
    let told = told.trim_end_matches("</pre>").replace("THIS-PAGE.html", "page.html");
    let arguments: Vec<&str> = told.split(' ').skip(1).collect();
    let output = python(&arguments).current_dir(place.directory.path()).output().unwrap();
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
}

#[test]
fn a_page_without_a_record_is_no_match_for_a_link_that_was_kept() {
    if !has_python() {
        return;
    }
    let (page, last, link) = without_records(&page_of(&place(), &["--since", "1"]));
    let directory = TempDir::new().unwrap();
    let file = write(directory.path(), &[page]).remove(0);
    for kept in [&[][..], &["--link", &last.to_string(), &link]] {
        let (exit, told) = verified(&file, kept);
        assert_eq!((exit, told.lines().count()), (6, 2), "{told}");
        assert!(told.starts_with("line 4: end: no record stands before it, and none is proved\n"));
    }
}

#[test]
fn verify_py_takes_of_a_page_and_of_a_log_the_options_that_each_has() {
    if !has_python() {
        return;
    }
    let place = place();
    page_of(&place, &["--since", "1"]);
    let (log, page, gone) = (&place.log, file(&place, "page.html"), file(&place, "gone"));
    let link = "0".repeat(64);
    for (path, options, exit) in [
        (&page, &["--json"][..], 2),
        (&page, &["--standing"], 2),
        (&page, &["--link", "1", "0"], 2),
        (log, &["--link", "1", &link], 2),
        (&gone, &["--link", "1", &link], 1),
        (&gone, &[], 3),
    ] {
        let mut python = python(&[verifier().to_str().unwrap(), path.to_str().unwrap()]);
        assert_eq!(status(&python.args(options).output().unwrap()), exit, "{path:?} {options:?}");
    }
}

#[test]
fn verify_py_has_an_answer_to_whatever_was_damaged_at_random() {
    if !has_python() {
        return;
    }
    let page = page_of(&place(), &["--since", "1"]);
    let [in_block, anywhere] = damaged_at_random(&page, 400);
    let directory = TempDir::new().unwrap();
    let found = found_by_python(&write(directory.path(), &in_block));
    assert!(found.len() == 400 && found.iter().all(|found| !found.is_empty()));
    assert_eq!(found_by_python(&write(directory.path(), &anywhere)).len(), 400);
}

#[test]
fn records_that_were_made_up_have_other_links_than_those_that_were_kept() {
    if !has_python() {
        return;
    }
    let page = page_of(&place(), &["--since", "1"]);
    let (forged, last, link) = made_up(&page);
    let directory = TempDir::new().unwrap();
    let files = write(directory.path(), &[page, forged]);
    let kept = ["--link", &last.to_string(), &link];
    assert_eq!(verified(&files[1], &[]).0, 0);
    let (exit, told) = verified(&files[0], &kept);
    assert!(exit == 0 && told.contains(&format!("match: record {last} has the link")), "{told}");
    assert!(!told.contains("nothing on the page proves"), "{told}");
    let (exit, told) = verified(&files[1], &kept);
    assert!(exit == 6 && told.contains("no match: record") && !told.contains("\nmatch"), "{told}");
    assert!(told.contains("another link than was kept"), "{told}");
    let (exit, told) = verified(&files[0], &["--link", "4711", &link]);
    assert!(exit == 6 && told.contains("is not on this page"), "{told}");
}

#[test]
fn a_link_that_was_kept_of_an_earlier_record_is_said_to_prove_none_behind_it() {
    if !has_python() {
        return;
    }
    let place = place();
    page_of(&place, &["--since", "1"]);
    let shown = place.holdpoint(&["log", "--since", "3", "--until", "3", "--json"]);
    let kept = json(&shown)["link"].as_str().unwrap().to_string();
    let (exit, told) = verified(&file(&place, "page.html"), &["--link", "3", &kept]);
    assert!(exit == 0 && told.contains("match: record 3 has the link that was kept\n"), "{told}");
    assert!(told.contains("it proves none behind it: compare the link of record"), "{told}");
}

#[test]
fn a_run_and_a_range_are_alternatives_in_the_usage() {
    let place = Place::new();
    let help = text(&place.holdpoint(&["export", "--format", "html", "--help"]).stdout);
    let usage: Vec<&str> =
        help.lines().filter(|line| line.contains("holdpoint export [")).collect();
    assert_eq!(usage.len(), 3, "{help}");
    assert!(usage[0].ends_with("<RUN>") && !usage[0].contains("--since"), "{help}");
    assert!(usage[1].contains("--since") && !usage[1].contains("<RUN>"), "{help}");
}
