//! What `holdpoint mcp` tells of records: what `log --json` tells of them, archives and damage
//! as well, in answers of a bounded length.

use crate::archive_support::Sample;
use crate::filler::fill;
use crate::mcp_support::{Client, Era};
use crate::program::{Place, json, json_lines, text};
use crate::real_support::record;
use holdpoint_domain::core::hash::sha256;
use holdpoint_engine::log::{Level, Log, NewRecord, Options};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_testing::hand_made::{FIRST_RECORD, flip};
use holdpoint_testing::log::segments_of;
use serde_json::{Value, json};
use std::fs;

const DOCUMENT: &str = include_str!("../../docs/agents.md");

fn client(place: &Place) -> Client {
    Client::start(place, Era::Stateless, &[])
}

/// `log --json` with these options: its lines, and its reach.
fn shown(place: &Place, options: &[&str]) -> (Vec<Value>, Value) {
    let output = place.holdpoint(&[&["log", "--json"], options].concat());
    let reach = text(&output.stderr).lines().find_map(|line| {
        serde_json::from_str::<Value>(line).ok().map(|line| line["reach"].clone())
    });
    (json_lines(&output), reach.unwrap())
}

/// All the records of a query, page by page, and the last page.
fn all(client: &mut Client, query: &Value) -> (Vec<Value>, Value) {
    let (mut records, mut query) = (Vec::new(), query.clone());
    query["limit"] = 200.into();
    loop {
        let page = client.done("audit_query", &query);
        records.extend(page["records"].as_array().unwrap().iter().cloned());
        if page["next_from"].is_null() {
            return (records, page);
        }
        query["from"] = page["next_from"].clone();
    }
}

#[test]
fn records_are_the_lines_of_log_show_with_their_standing_wherever_they_lie() {
    let (sample, anchor) = Sample::archived();
    let place = &sample.place;
    let about = json_lines(&sample.ask("log --json decision=DECISION", 1));
    let of_loop = json_lines(&sample.ask("log --json loop=LOOP", 1));
    let (decision, story) = (&about[0]["decision_id"], &about[0]["correlation"]);
    let loop_id = &of_loop[0]["loop_id"];
    let mut client = client(place);
    let text_of = |value: &Value| value.as_str().unwrap().to_string();
    for (query, options) in [
        (json!({}), vec![]),
        (json!({ "to": 9 }), vec!["--until".into(), "9".into()]),
        (json!({ "from": anchor }), vec!["--since".into(), anchor.to_string()]),
        (json!({ "loop": loop_id }), vec![format!("loop={}", text_of(loop_id))]),
        (json!({ "decision": decision }), vec![format!("decision={}", text_of(decision))]),
        (json!({ "decision": "PROJ-1" }), vec!["decision=PROJ-1".into()]),
        (json!({ "correlation": story }), vec![format!("correlation={}", text_of(story))]),
        (json!({ "kind": "execution_loop.halted" }), vec!["kind=execution_loop.halted".into()]),
    ] {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let (expected, reach) = shown(place, &options);
        let (records, page) = all(&mut client, &query);
        assert!(!records.is_empty() && records == expected, "{query}");
        assert!(records.iter().all(|line| line["standing"].is_string()), "{query}");
        assert!(records.iter().all(|line| line["durable"].is_boolean()), "{query}");
        assert_eq!((&page["complete"], &page["findings"]), (&true.into(), &json!([])), "{query}");
        assert_eq!(page["unread_archive"], Value::Null, "{query}");
        if page["records"] == json!(expected) {
            assert_eq!(page["reach"], reach, "{query}");
        }
    }
    let (records, _) = all(&mut client, &json!({ "to": 3 }));
    assert!(records.iter().all(|line| line["archive"].as_str() == sample.archive.to_str()));
    client.refused("not_found", "audit_query", &json!({ "loop": "NOBODY" }));
    client.refused("empty_range", "audit_query", &json!({ "from": 9, "to": 8 }));
    let none = client.done("audit_query", &json!({ "from": 1_000_000 }));
    assert!(none["notes"][0].as_str().unwrap().contains("no matching records"), "{none:#}");
}

#[test]
fn a_query_denies_nothing_that_may_be_in_an_archive_that_cannot_be_read() {
    let (sample, anchor) = Sample::archived();
    let of_loop = json_lines(&sample.ask("log --json loop=LOOP", 1));
    fs::remove_dir_all(&sample.archive).unwrap();
    let mut client = client(&sample.place);
    for query in [
        json!({ "loop": of_loop[0]["loop_id"] }),
        json!({ "loop": "NOBODY" }),
        json!({ "correlation": "NOBODY" }),
        json!({ "decision": "PROJ-1" }),
        json!({ "kind": "log.salvaged" }),
        json!({ "to": 3 }),
        json!({ "from": anchor, "to": anchor + 3 }),
    ] {
        let error = client.refused("before_the_log", "audit_query", &query);
        assert_eq!(error["archive"].as_str(), sample.archive.to_str(), "{query}");
        assert_eq!(error["archived_to_sequence"], anchor, "{query}");
    }
    let page = client.done("audit_query", &json!({}));
    assert_eq!(page["records"][0]["sequence"], anchor + 1);
    assert_eq!(page["complete"], false);
    let unread = json!({ "archive": sample.archive, "archived_to_sequence": anchor });
    assert_eq!(page["unread_archive"], unread);
    let told = format!("records 1 to {anchor} are in the archive {}", sample.archive.display());
    assert!(page["notes"][0].as_str().unwrap().starts_with(&told), "{page:#}");
    let behind = client.done("audit_query", &json!({ "from": anchor + 1 }));
    assert_eq!((&behind["complete"], &behind["notes"]), (&true.into(), &json!([])));
}

#[test]
fn decisions_that_may_be_in_an_archive_are_not_denied_to_an_agent() {
    let (sample, anchor) = Sample::archived();
    let mut client = client(&sample.place);
    let unknown = "DP-00000000000000000000000000000000";
    let told = json(&sample.ask(&format!("decision show {unknown} --json"), 1))["error"].clone();
    assert_eq!(
        (&told["code"], &told["archived_to_sequence"]),
        (&"before_the_log".into(), &anchor.into())
    );
    for (tool, arguments) in [
        ("decision_show", json!({ "decision_id": unknown })),
        ("decision_wait", json!({ "decision_id": unknown, "timeout_seconds": 0 })),
        ("decision_cancel", json!({ "decision_id": unknown })),
        ("decision_refine", json!({ "decision_id": unknown })),
        ("decision_list", json!({ "after": unknown })),
    ] {
        let error = client.refused("before_the_log", tool, &arguments);
        for key in ["archive", "archived_to_sequence"] {
            assert_eq!(error[key], told[key], "{tool}: {error:#}");
        }
    }
    let output = sample.ask("decision list state=all --json", 1);
    let note = text(&output.stderr).trim().strip_prefix("holdpoint: ").unwrap().to_string();
    for (state, notes) in [("all", json!([note])), ("resolved", json!([note])), ("open", json!([]))]
    {
        let list = client.done("decision_list", &json!({ "state": state }));
        assert_eq!(list["notes"], notes, "{state}");
    }
}

#[test]
fn damage_hides_no_proven_record_behind_it_and_is_told_with_its_place() {
    let sample = Sample::new();
    let place = &sample.place;
    while segments_of(&place.log).len() < 4 {
        fill(&place.log, 40);
    }
    let mut client = client(place);
    let (whole, page) = all(&mut client, &json!({}));
    assert_eq!((&page["complete"], &page["verdict"]), (&true.into(), &Value::Null));
    let file = &segments_of(&place.log)[1];
    flip(file, FIRST_RECORD + 70);
    let first = client.done("audit_query", &json!({ "limit": 200 }));
    let name = format!("segments/{}", file.file_name().unwrap().to_str().unwrap());
    assert_eq!((&first["complete"], &first["verdict"]), (&false.into(), &"corrupt".into()));
    let finding = &first["findings"][0];
    assert_eq!((&finding["segment"], &finding["offset"]), (&name.into(), &FIRST_RECORD.into()));
    let note = first["notes"][0].as_str().unwrap();
    assert!(note.starts_with("the log is corrupt") && note.contains("audit_verify"), "{note}");
    let lost = finding["sequence"].as_u64().unwrap();
    let before = first["records"].as_array().unwrap();
    assert_eq!(before.last().unwrap()["sequence"], lost - 1);
    // The page ends at the damage, and the next one begins behind it.
    let next = first["next_from"].as_u64().unwrap();
    let (behind, page) = all(&mut client, &json!({ "from": next }));
    assert_eq!((&page["complete"], next), (&true.into(), lost + 1));
    let expected: Vec<&Value> =
        whole.iter().filter(|line| line["sequence"].as_u64().unwrap() >= next).collect();
    assert!(!behind.is_empty() && behind.iter().collect::<Vec<_>>() == expected);
    assert!(behind.iter().all(|line| line["standing"] == "proven"));
    // What was asked for may be what is damaged: found nothing is not told as nothing there.
    for query in [json!({ "from": lost, "to": lost }), json!({ "kind": "log.salvaged" })] {
        let page = client.done("audit_query", &query);
        assert_eq!((&page["complete"], &page["records"]), (&false.into(), &json!([])), "{query}");
        assert!(!page["findings"].as_array().unwrap().is_empty(), "{query}");
    }
    client.refused("damaged", "audit_query", &json!({ "decision": "DP-none" }));
    // Where the log has lost its beginning, what is behind that is shown all the same.
    fs::remove_file(&segments_of(&place.log)[0]).unwrap();
    flip(&segments_of(&place.log)[0], FIRST_RECORD + 70);
    let page = client.done("audit_query", &json!({}));
    assert_eq!((&page["complete"], &page["records"]), (&false.into(), &json!([])), "{page:#}");
    let next = page["next_from"].as_u64().unwrap();
    let (behind, _) = all(&mut client, &json!({ "from": next }));
    assert!(behind.iter().eq(whole.iter().filter(|line| line["sequence"].as_u64() >= Some(next))));
    assert!(next == lost + 1 && !behind.is_empty());
}

/// Appends records beneath any engine.
fn append(place: &Place, records: &[NewRecord]) {
    let (log, _) = Log::open(DirectoryStorage::new(&place.log), Options::default()).unwrap();
    log.append_any_kind(records, 0, Level::Os).unwrap();
    log.close().unwrap();
}

#[test]
fn a_record_that_cannot_be_read_and_may_be_meant_is_a_finding_of_a_query() {
    let place = Place::with_log();
    append(&place, &[NewRecord { payload: vec![0xff; 9], ..record(9) }]);
    let sequence = place.holdpoint(&["verify", "--json"]);
    let sequence = json(&sequence)["head"]["sequence"].clone();
    let mut client = client(&place);
    let page = client.done("audit_query", &json!({ "correlation": "anything" }));
    assert_eq!((&page["complete"], &page["records"]), (&false.into(), &json!([])), "{page:#}");
    let finding = &page["findings"][0];
    assert_eq!(
        (&finding["problem"], &finding["sequence"]),
        (&"undecodable_payload".into(), &sequence)
    );
}

#[test]
fn an_event_that_is_longer_than_a_page_is_told_by_its_length_and_its_digest() {
    let place = Place::with_log();
    append(&place, &[record(6 << 20), record(9)]);
    let output = place.holdpoint(&["log", "--json"]);
    let told = text(&output.stdout);
    let long = told.lines().find(|line| line.len() > 6 << 20).unwrap();
    let (_, event) = long.split_once("\"event\":").unwrap();
    let mut client = client(&place);
    let (records, page) = all(&mut client, &json!({}));
    let mut expected = json_lines(&output);
    let cut = expected.iter_mut().find(|line| line.to_string().len() > 6 << 20).unwrap();
    let left_out = records.iter().find(|line| line["event_left_out"].is_object()).unwrap();
    let left_out = left_out["event_left_out"].clone();
    let length = usize::try_from(left_out["length"].as_u64().unwrap()).unwrap();
    assert_eq!(left_out["sha256"], json!(sha256(&event.as_bytes()[..length])));
    assert!(serde_json::from_str::<Value>(&event[..length]).unwrap() == cut["event"]);
    (cut["event"], cut["event_left_out"]) = (Value::Null, left_out);
    assert!(records == expected && page["complete"] == true, "the others are whole");
}

#[test]
fn no_answer_is_longer_than_is_documented_and_what_is_cut_is_said() {
    let place = Place::new();
    let mut client = client(&place);
    // As long as the rules allow, and each character six times as long in JSON.
    let of = |length: usize| "\u{1}".repeat(length);
    let options: Vec<Value> = (0..32)
        .map(|at| json!({ "id": format!("o{at}"), "label": "l", "description": of(8 << 10) }))
        .collect();
    let asked = json!({ "prompt": "Deploy?", "context": of(64 << 10), "options": options });
    let created = client.done("decision_create", &asked);
    let id = created["decision"]["id"].clone();
    let listed = client.done("decision_list", &json!({}));
    let one = json!({ "decision_id": id, "timeout_seconds": 0 });
    let waited = client.done("decision_wait", &one);
    let shown = client.done("decision_show", &json!({ "decision_id": id }));
    let places = ["/decision/context", "/decisions/0/context", "/decision/context"];
    for (answer, at) in [created, listed, waited].iter().zip(places) {
        let cut = &answer["cut"][0];
        assert_eq!((&cut["at"], &cut["length"]), (&at.into(), &(64 << 10).into()));
        assert_eq!(cut["sha256"], json!(sha256(of(64 << 10).as_bytes())));
        assert!(answer.pointer(at).unwrap().as_str().unwrap().ends_with(".. (cut)"));
        let whole = answer.to_string();
        assert!(whole.len() <= 512 << 10 && whole.contains("\"Deploy?\""), "{}", whole.len());
    }
    assert!(shown["cut"].is_array() && shown["decision"]["id"] == id);
    let told = place.holdpoint(&["decision", "show", id.as_str().unwrap(), "--json"]);
    assert_eq!(json(&told)["context"], of(64 << 10), "the program shows it whole");
    for bound in ["256 KiB", "512 KiB", "2 MiB"] {
        assert!(DOCUMENT.contains(bound), "{bound}");
    }
}

#[test]
fn no_text_ends_a_line_of_the_server_or_steers_a_terminal() {
    let place = Place::new();
    let mut client = client(&place);
    let prompt = "Which \u{85}\u{2028}\u{2029}\u{202e}\u{7f}\u{1f552}\u{e9}?";
    let asked = json!({ "prompt": prompt, "options": [{ "id": "a", "label": "x\u{2028}" }] });
    // That every line is ASCII is seen where lines are read.
    let created = client.done("decision_create", &asked);
    assert_eq!(created["decision"]["prompt"], prompt);
    let records = client.done("audit_query", &json!({}));
    assert!(records["records"].to_string().contains(prompt));
    client.refused("not_found", "decision_show", &json!({ "decision_id": "\u{2028}\u{e9}" }));
    client.raw("{\"jsonrpc\":\"2.0\",\"id\":\"\u{2028}\",\"method\":1}\n".as_bytes());
    assert_eq!(client.answer(&json!("\u{2028}"))["error"]["code"], -32600);
}
