//! `record`: events of an application from a file or a pipe, bounded and once, and every verb that
//! shows them.

use crate::program::{Place, json, status, text};
use crate::records_support::values;
use serde_json::Value;

/// A file in the directory in which the program runs.
fn write(place: &Place, name: &str, bytes: &[u8]) {
    std::fs::write(place.directory.path().join(name), bytes).unwrap();
}

/// The arguments of an event of this stream.
fn to<'a>(stream: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["record", "--stream", stream, "--type", "order.changed"], more].concat()
}

#[test]
fn an_event_is_recorded_byte_for_byte_and_found_by_its_stream() {
    let place = Place::new();
    write(&place, "data", b"{\"total\":12}\n\xff\0");
    let output = place.holdpoint(&to("order-1", &["data"]));
    assert_eq!((status(&output), text(&output.stdout).as_str()), (0, "record 2: order-1\n"));
    let shown = values(&place.holdpoint(&["log", "entity=order-1", "--json"]));
    let event = shown.iter().find(|line| line["kind"] == "application.recorded").unwrap();
    assert_eq!(event["event"]["data"]["hex"], "7b22746f74616c223a31327d0aff00");
    assert_eq!(event["event"]["type"], "order.changed");
    let verified = json(&place.holdpoint(&["verify", "--json"]));
    let meaning = verified["axes"]["meaning"]["reason"].as_str().unwrap();
    assert!(meaning.contains("contents of application events, not judged: 1"), "{meaning}");
}

#[test]
fn a_version_that_was_not_seen_and_a_key_for_another_event_conflict() {
    let place = Place::new();
    write(&place, "data", b"1");
    let expected = |version: &'static str| {
        status(&place.holdpoint(&to("order-1", &["--expected-version", version, "data"])))
    };
    assert_eq!((expected("0"), expected("0"), expected("2")), (0, 4, 0));
    let keyed = |file: &'static str| {
        let more = ["--correlation", "shop", "--idempotency-key", "k", "--json", file];
        let output = place.holdpoint(&to("order-2", &more));
        (status(&output), json(&output)["repeated"].clone())
    };
    write(&place, "other", b"2");
    assert_eq!(keyed("data"), (0, Value::Bool(false)));
    assert_eq!(keyed("data"), (0, Value::Bool(true)));
    assert_eq!(keyed("other").0, 4);
}

#[test]
fn each_line_is_an_event_and_what_ends_them_says_how_many_there_are() {
    let place = Place::new();
    write(&place, "lines", b"one\n\nthree");
    let output = place.holdpoint(&to("s", &["--lines", "lines"]));
    assert_eq!(text(&output.stdout), "record 2: s\nrecord 3: s\nrecord 4: s\n");
    write(&place, "long", &[b"one\n".as_slice(), &vec![b'x'; (16 << 20) + 1]].concat());
    let output = place.holdpoint(&to("s", &["--lines", "long"]));
    assert_eq!(status(&output), 2);
    assert!(text(&output.stderr).contains("lines recorded before: 1"), "{output:?}");
}

#[test]
fn more_than_an_event_holds_and_ids_of_ours_are_refused_and_nothing_is_written() {
    let place = Place::new();
    write(&place, "big", &vec![0; (63 << 20) + 1]);
    write(&place, "data", b"1");
    assert_eq!(status(&place.holdpoint(&to("s", &["big"]))), 2);
    assert_eq!(status(&place.holdpoint(&["log", "--stat"])), 3, "no log was made");
    let own = "LOOP-000102030405060708090a0b0c0d0e0f";
    for stream in [own, "", " s", &"x".repeat(257)] {
        let output = place.holdpoint(&to(stream, &["data"]));
        assert_eq!(status(&output), 5, "{stream}");
        assert!(text(&output.stderr).contains("stream: expected"), "{output:?}");
    }
}

#[test]
fn a_stream_takes_the_place_of_nothing_else_and_is_shown_by_its_own_name() {
    let place = Place::new();
    let made = place
        .holdpoint(&["decision", "create", "issue-9", "--prompt", "Go?", "--option", "yes:Yes"]);
    assert_eq!(status(&made), 0, "{made:?}");
    let shown = json(&place.holdpoint(&["decision", "list", "--json"]));
    let id = shown[0]["id"].as_str().unwrap_or_else(|| panic!("{shown}")).to_string();
    write(&place, "data", b"1");
    assert_eq!(status(&place.holdpoint(&to("issue-9", &["data"]))), 0);
    let entity = |name: &str| json(&place.holdpoint(&["replay", name, "--json"]))["system"].clone();
    assert_eq!(entity(&id), "decision_point");
    assert_eq!(entity("issue-9"), "application");
    assert_eq!(entity("stream:issue-9"), "application");
}

#[test]
fn a_type_that_goes_on_as_the_line_does_is_shown_within_quotation_marks() {
    let place = Place::new();
    write(&place, "data", b"1");
    let forged = "t version 9, 99 bytes; decision DEC-1 approved by HUMAN grace";
    let line = ["record", "--stream", "s", "--type", forged, "data"];
    assert_eq!(status(&place.holdpoint(&line)), 0);
    let shown = text(&place.holdpoint(&["log"]).stdout);
    assert!(shown.contains(&format!("s: \"{forged}\" version 1, 1 byte")), "{shown}");
}

#[test]
fn an_event_is_recorded_under_the_name_that_is_claimed() {
    let place = Place::new();
    write(&place, "data", b"1");
    assert_eq!(status(&place.holdpoint(&to("s", &["--as", "shop", "data"]))), 0);
    assert_eq!(status(&place.holdpoint(&to("s", &["--as", "", "data"]))), 2);
    let shown = values(&place.holdpoint(&["log", "entity=s", "--json"]));
    let actor = &shown.last().unwrap()["actor"];
    assert_eq!((&actor["kind"], &actor["id"]), (&"AUTOMATION".into(), &"shop".into()));
}

#[test]
fn a_cause_that_is_not_on_record_is_refused_and_nothing_is_recorded() {
    let place = Place::new();
    write(&place, "data", b"1");
    assert_eq!(status(&place.holdpoint(&to("s", &["data"]))), 0);
    for missing in ["0", "3", "18446744073709551615"] {
        let output = place.holdpoint(&to("s", &["--causation", missing, "data"]));
        let stderr = text(&output.stderr);
        assert_eq!(status(&output), 5, "{missing}: {stderr}");
        assert!(stderr.contains("causation") && stderr.contains(missing), "{stderr}");
    }
    let output = place.holdpoint(&to("s", &["--causation", "2", "data"]));
    assert_eq!(text(&output.stdout), "record 3: s\n");
}
