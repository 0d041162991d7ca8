//! What a salvage took over without proof is said to be unproven by whatever rests on it, though
//! the newest record about it is proven.

use crate::decision_support::{asked, decision, done, id_of, refused};
use crate::machine::trust;
use crate::program::{Place, json, status, text, with_hold};
use holdpoint_domain::log::RECORDS_UNPROVEN;
use holdpoint_forger::{Log, Reach, RecordAt, layout};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::{Head, Link};
use holdpoint_testing::hand_made::change_head;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

/// Salvages a log to which no HEAD is a witness, and goes on with the new one: all that was
/// recorded so far is unproven there.
pub(crate) fn unprove(place: &mut Place) {
    std::fs::remove_file(place.log.join("HEAD")).unwrap();
    let output = place.holdpoint(&["copy", "--salvage", "log", "new"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    place.log = place.directory.path().join("new");
    trust(&[&place.log]);
}

fn respond(place: &Place, id: &str) {
    let told = done(place, &["respond", id, "--option", "a"]);
    assert_eq!(told["decision"]["state"], "resolved", "{told}");
}

/// The newest record of the log.
fn newest(place: &Place) -> u64 {
    let report = json(&place.holdpoint(&["verify", "--json"]));
    report["head"]["sequence"].as_u64().unwrap()
}

#[test]
fn a_decision_is_as_unproven_as_the_weakest_record_about_it() {
    let mut place = Place::new();
    let id = asked(&place, &[]);
    unprove(&mut place);
    let unproven = newest(&place);
    respond(&place, &id);
    let proven = asked(&place, &[]);
    respond(&place, &proven);
    for (id, standing) in [(&id, "unproven"), (&proven, "proven")] {
        assert_eq!(done(&place, &["show", id])["standing"], standing);
        let listed = done(&place, &["list", "state=resolved"]);
        let it = listed.as_array().unwrap().iter().find(|it| id_of(it) == *id).unwrap();
        assert_eq!(it["standing"], standing, "{it}");
        let from = [0, unproven].map(|from| from.to_string());
        for from in from {
            let told = json(&place.holdpoint(&["diff", &from, "--json"]));
            let changes = told["entities"].as_array().unwrap();
            let change = changes.iter().find(|change| change["id"] == **id).unwrap();
            assert_eq!(change["standing"], standing, "{from}: {change}");
        }
    }
}

/// No exit code tells of it: the log verifies.
#[test]
fn what_a_run_printed_that_a_salvage_left_unproven_is_written_and_said_to_be_so() {
    let mut place = Place::new();
    assert_eq!(status(&place.shell("echo hello")), 0);
    unprove(&mut place);
    assert_eq!(status(&place.holdpoint(&["verify"])), 0);
    let id = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    let output = place.holdpoint(&["output", &id]);
    let stderr = text(&output.stderr);
    assert_eq!((status(&output), &*text(&output.stdout)), (0, "hello\n"), "{stderr}");
    assert!(stderr.contains(" are unproven: "), "{stderr}");
    let told = json(&place.holdpoint(&["output", &id, "--json"]));
    assert_eq!(told["streams"][0]["standing"], "unproven", "{told}");
}

/// From the first record of the first run on.
#[test]
fn a_list_of_runs_names_the_records_of_all_that_are_unproven() {
    let mut place = Place::new();
    assert_eq!(status(&place.shell("echo hello")), 0);
    unprove(&mut place);
    let run = json(&place.holdpoint(&["runs", "--json"]));
    let stderr = text(&place.holdpoint(&["runs"]).stderr);
    let [first, last] = ["first_record", "last_record"].map(|key| run[key].as_u64().unwrap());
    let due = format!("records shown from {first} to {last} are unproven");
    assert!(first < last && stderr.contains(&due), "{due}: {stderr}");
}

#[test]
fn a_wait_for_an_answer_that_may_rest_on_unproven_records_says_so_and_is_refused() {
    let mut place = Place::new();
    let ids = [asked(&place, &[]), asked(&place, &["--bind", "tool=deploy", "--bind", "input={}"])];
    unprove(&mut place);
    for id in &ids {
        respond(&place, id);
        let output = decision(&place, &["wait", id]);
        let told = json(&output);
        assert_eq!((status(&output), &told["outcome"]), (5, &"answered".into()), "{told}");
        assert!(told["unproven_part"]["last"].is_u64(), "{told}");
        let said = text(&place.holdpoint(&["decision", "wait", id]).stderr);
        assert!(said.contains("are unproven") && said.contains("ask again"), "{said}");
    }
    let proven = asked(&place, &[]);
    respond(&place, &proven);
    let output = decision(&place, &["wait", &proven]);
    assert_eq!((status(&output), &json(&output)["unproven_part"]), (0, &Value::Null));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_repeated_key_and_a_watch_say_that_an_answer_may_rest_on_unproven_records() {
    let mut place = Place::new();
    let ask = ["--prompt", "Which?", "--option", "a:The one", "--idempotency-key", "once"];
    let ask = [&["create"], &ask[..]].concat();
    let id = id_of(&done(&place, &ask));
    respond(&place, &id);
    unprove(&mut place);
    let watch = |json: bool| {
        let form = if json { &["--json"][..] } else { &[] };
        let words = [&["decision", "wait", "--follow", "--since", "0"], form].concat();
        let mut command = place.command(&words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let shown: Vec<String> = lines.map(Result::unwrap).take(2).collect();
        child.kill().unwrap();
        (shown, text(&child.wait_with_output().unwrap().stderr))
    };
    let (shown, said) = watch(true);
    for line in shown {
        let line: Value = serde_json::from_str(&line).unwrap();
        let known = (&line["standing"], line["unproven_part"]["last"].is_u64());
        assert_eq!(known, (&json!("unproven"), true), "{line}");
    }
    assert!(said.contains("are unproven"), "{said}");
    let (shown, said) = watch(false);
    assert!(shown.iter().all(|line| line.contains("unproven, and permits nothing")), "{shown:?}");
    assert!(said.contains("are unproven"), "{said}");
    let output = decision(&place, &ask);
    let again = json(&output);
    assert_eq!((status(&output), id_of(&again)), (0, id));
    assert_eq!(again["standing"], "unproven", "{again}");
    assert!(again["unproven_part"]["last"].is_u64(), "{again}");
    let output = place.holdpoint(&[&["decision"], &ask[..]].concat());
    for said in [text(&decision(&place, &ask).stderr), text(&output.stderr)] {
        assert!(said.contains("are unproven") && said.contains("ask again"), "{said}");
    }
    let fresh = done(&place, &["create", "--prompt", "And now?"]);
    assert!(fresh.get("standing").is_none() && fresh.get("unproven_part").is_none(), "{fresh}");
}

#[test]
fn a_hold_that_may_rest_on_unproven_records_lets_nothing_pass() {
    let mut place = Place::new();
    let output = place.holdpoint(&["run", "--hold", "on-failure", "--no-wait", "--", "false"]);
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    unprove(&mut place);
    let listed =
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    let request = listed[0]["request_id"].as_str().unwrap();
    let answer = ["decision", "respond", request, "--yes", "CONTINUE"];
    let output = place.holdpoint(&answer);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let output = place.holdpoint(&["decision", "wait", request, "--json"]);
    let told = json(&output);
    assert_eq!((status(&output), &told["outcome"]), (5, &json!("answered")), "{told}");
    assert!(told["unproven_part"]["first"].is_u64(), "{told}");
    assert!(text(&output.stderr).contains("are unproven"), "{}", text(&output.stderr));
}

/// Moves segments that end behind what is unproven to an archive, and gives its anchor.
/// The end of the log is lost as far as anybody knows, and with it what may have ended that.
#[test]
fn a_decision_that_may_have_ended_in_a_lost_record_is_shown_so() {
    let mut place = Place::new();
    let id = asked(&place, &[]);
    let head = std::fs::read(place.log.join("HEAD")).unwrap();
    asked(&place, &[]);
    std::fs::write(place.log.join("HEAD"), head).unwrap();
    std::fs::remove_file(place.log.join("LOCK")).unwrap();
    let output = place.holdpoint(&["copy", "--salvage", "log", "new", "--json"]);
    let lost = json(&output)["lost_before"].as_u64().unwrap();
    place.log = place.directory.path().join("new");
    let fear = format!("may have ended in a record that is lost, before record {lost}");
    for verb in ["list", "show"] {
        let words = ["decision", verb, &id];
        let told = place.holdpoint(&words[..if verb == "list" { 2 } else { 3 }]);
        let told = text(&told.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(&fear), "{verb}: {told}");
    }
    assert_eq!(done(&place, &["show", &id])["lost_before"], lost);
}

fn archive(place: &Place, to: &str) -> u64 {
    // Each prints more than a quarter of the first segment's space.
    let long = "head -c 20000 /dev/zero | tr '\\000' x";
    (0..8).for_each(|_| assert_eq!(status(&place.shell(long)), 0));
    let output = place.holdpoint(&["archive", to, "--json"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    json(&output)["anchor_sequence"].as_u64().unwrap()
}

/// Every look at a decision says on what it may rest.
fn assert_unproven(place: &Place, id: &str, what: &str) {
    let verbs: [&[&str]; 10] = [
        &["decision", "list"],
        &["decision", "list", "--whole"],
        &["decision", "show", id],
        &["decision", "list", "--kind", "hold"],
        &["decision", "list", "--kind", "hold", "--whole"],
        &["thread", "list"],
        &["replay"],
        &["replay", "--live"],
        &["thread", "list", "--health"],
        &["verify"],
    ];
    for words in verbs {
        let output = place.holdpoint(words);
        let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(status(&output), 0, "{what}, {words:?}: {told}");
        assert!(told.contains("unproven"), "{what}, {words:?}: {told}");
    }
    assert_eq!(done(place, &["show", id])["standing"], "unproven", "{what}");
    for whole in [&["list"][..], &["list", "--whole"]] {
        assert_eq!(done(place, whole)[0]["standing"], "unproven", "{what}");
    }
}

#[test]
fn what_is_unproven_is_said_where_it_is_in_an_archive() {
    let mut place = Place::new();
    let id = asked(&place, &[]);
    unprove(&mut place);
    archive(&place, "archive");
    assert_unproven(&place, &id, "with the archive");
    std::fs::remove_dir_all(place.directory.path().join("archive")).unwrap();
    assert_unproven(&place, &id, "without the archive");
    let said = text(&place.holdpoint(&["decision", "list"]).stderr);
    assert!(said.contains("records 2 to 3 are unproven: a salvage took them over"), "{said}");
    let told = text(&place.holdpoint(&["replay"]).stdout);
    assert!(told.contains("carried from a log with unproven records"), "{told}");
}

#[test]
fn a_state_that_an_unproven_record_carries_is_unproven() {
    let mut place = Place::new();
    let id = asked(&place, &["--bind", "tool=deploy", "--bind", "input={}"]);
    let anchor = archive(&place, "archive");
    assert_eq!(done(&place, &["show", &id])["standing"], "stated");
    unprove(&mut place);
    assert_unproven(&place, &id, "right behind it");
    // It is carried on as that.
    assert!(archive(&place, "other") > anchor);
    assert_unproven(&place, &id, "in a later archive");
    respond(&place, &id);
    assert_eq!(status(&decision(&place, &["wait", &id])), 5);
    let spent = ["consume", &id, "--bind", "tool=deploy", "--bind", "input={}"];
    let (code, error) = refused(&place, &spent);
    assert_eq!((code, &error["code"]), (5, &"approval_unproven".into()), "{error}");
}

/// Sets a log back to a record of its only segment, as if nothing had been recorded behind it.
pub(crate) fn set_back(log: &Path, newest: u64) {
    let read = Log::read(log).unwrap();
    let at = read.records()[newest as usize - 1];
    let (record, begin) = (read.record(at), read.segment(at.segment).offset_of(at.item));
    let (end, file) = (begin + record.length(), log.join(&read.segment_paths()[at.segment]));
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[end..].fill(0);
    std::fs::write(file, bytes).unwrap();
    change_head(log, |head| Head {
        newest_sequence: newest,
        newest_link: Link(record.link()),
        record_offset: begin as u64,
        end_offset: end as u64,
        ..head
    });
    std::fs::remove_file(log.join("LOCK")).unwrap();
}

#[test]
fn a_salvaged_log_that_was_set_back_before_what_it_says_is_unproven_says_it_still() {
    let mut place = Place::new();
    let bind = ["--bind", "tool=deploy", "--bind", "input={}"];
    let id = asked(&place, &bind);
    respond(&place, &id);
    unprove(&mut place);
    let stated = newest(&place);
    set_back(&place.log, stated - 1);
    let output = place.holdpoint(&["verify", "--json"]);
    let report = json(&output);
    assert_eq!((status(&output), &report["verdict"]), (6, &"corrupt".into()), "{report}");
    assert_eq!(report["axes"]["completeness"]["state"], "failed", "{report}");
    let unproven = json!([{ "first": 2, "last": stated - 1 }]);
    assert_eq!(report["unproven_records"], unproven, "{report}");
    let shown = text(&place.holdpoint(&["log", "-n", "1"]).stderr);
    assert!(shown.contains("is shown and unproven"), "{shown}");
    // Nothing is written behind it, which would hide that records are missing.
    let (code, error) = refused(&place, &[&["consume", &id], &bind[..]].concat());
    assert_eq!((code, &error["code"]), (6, &"damaged".into()), "{error}");
    assert!(error["message"].as_str().unwrap().contains("durable and is damaged"), "{error}");
    let again = json(&place.holdpoint(&["verify", "--json"]));
    assert_eq!(again["findings"], report["findings"]);
    // Whatever is kept of it is unproven.
    let output = place.holdpoint(&["copy", "--salvage", "new", "again", "--json"]);
    let told = json(&output);
    let last = told["unproven"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["first_sequence"], &last["last_sequence"]), (&2.into(), &stated.into()));
}

/// The record that said so is another one by now, and all behind it is chained anew.
#[test]
fn what_the_report_of_a_salvage_alone_calls_unproven_stays_so_in_the_next_one() {
    let mut place = Place::new();
    asked(&place, &[]);
    unprove(&mut place);
    let mut log = Log::read(&place.log).unwrap();
    let records = log.records();
    let is_it = |at: &&RecordAt| log.record(**at).kind() == RECORDS_UNPROVEN;
    let at = *records.iter().find(is_it).unwrap();
    let other = log.record(records[1]);
    let (kind, payload) = (other.kind(), other.payload.clone());
    let said = log.record_mut(at);
    said.set_payload(payload);
    said.header.set_number(layout::record::KIND, kind.into());
    assert!(log.remake(at, Reach::Log));
    log.head_follows();
    log.write(&place.log).unwrap();
    let before = json(&place.holdpoint(&["verify", "--json"]))["unproven_records"].clone();
    assert!(before[0]["last"].as_u64() > Some(1), "{before}");
    assert_ne!(status(&place.holdpoint(&["copy", "--salvage", "new", "again"])), 1);
    place.log = place.directory.path().join("again");
    let after = json(&place.holdpoint(&["verify", "--json"]))["unproven_records"].clone();
    assert!(after[0]["last"].as_u64() > before[0]["last"].as_u64(), "{before} {after}");
}

#[test]
fn every_reading_says_that_an_interrupted_write_follows_the_newest_record() {
    let place = Place::new();
    assert_eq!(status(&place.shell("true")), 0);
    let verbs: [&[&str]; 6] = [
        &["log", "-n", "1"],
        &["log", "-n", "1"],
        &["show", "--trace", "1"],
        &["export"],
        &["replay"],
        &["log", "--stat"],
    ];
    let said = |words: &[&str]| {
        let output = place.holdpoint(words);
        (status(&output), text(&output.stderr))
    };
    let before = verbs.map(&said);
    let read = Log::read(&place.log).unwrap();
    let at = read.newest_end().unwrap();
    let end = read.segment(at.segment).offset_of(at.item) + read.record(at).length();
    let file = place.log.join(&read.segment_paths()[at.segment]);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[end] = 200;
    std::fs::write(file, bytes).unwrap();
    std::fs::remove_file(place.log.join("LOCK")).unwrap();
    for (words, before) in verbs.iter().zip(before) {
        let (code, told) = said(words);
        assert_eq!(code, before.0, "{words:?}: {told}");
        assert!(!before.1.contains("interrupted write"), "{words:?}: {}", before.1);
        assert!(told.contains("an interrupted write follows"), "{words:?}: {told}");
    }
}

/// The bytes behind a changed one are records, which can be read no more.
#[test]
fn no_reading_calls_a_changed_byte_an_interrupted_write() {
    let verbs: [&[&str]; 6] = [
        &["log"],
        &["log", "-n", "2"],
        &["show", "--trace", "3"],
        &["export"],
        &["replay"],
        &["log", "--stat"],
    ];
    let place = Place::new();
    let words = ["first", "second", "third", "newest"];
    for word in words {
        std::fs::write(place.directory.path().join("data"), word).unwrap();
        let record = ["record", "--stream", "s", "--type", "t", "data"];
        assert_eq!(status(&place.holdpoint(&record)), 0);
    }
    let file = place.log.join(segment_path(1));
    let whole = std::fs::read(&file).unwrap();
    let mut failed = 0;
    for word in words {
        let mut bytes = whole.clone();
        let found = bytes.windows(word.len()).rposition(|found| found == word.as_bytes());
        bytes[found.unwrap()] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        for words in verbs {
            let output = place.holdpoint(words);
            let told = text(&output.stderr);
            failed += u32::from(status(&output) == 6);
            assert!(!told.contains("interrupted write"), "{word}, {words:?}: {told}");
        }
    }
    assert!(failed > 16, "{failed}");
}
