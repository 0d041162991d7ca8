//! What a salvage took over without proof is said to be unproven by whatever rests on it, though
//! the newest record about it is proven.

use crate::decision_support::{asked, decision, done, id_of, refused};
use crate::program::{Place, json, status, text};
use serde_json::{Value, json};

/// Salvages a log to which no HEAD is a witness, and goes on with the new one: all that was
/// recorded so far is unproven there.
fn unprove(place: &mut Place) {
    std::fs::remove_file(place.log.join("HEAD")).unwrap();
    let output = place.holdpoint(&["salvage", "log", "new"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    place.log = place.directory.path().join("new");
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
        let listed = done(&place, &["list", "--state", "resolved"]);
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

#[test]
fn a_wait_for_an_answer_that_may_rest_on_unproven_records_says_so_and_is_refused() {
    let mut place = Place::new();
    let ids = [asked(&place, &[]), asked(&place, &["--bind-tool", "deploy", "--bind-input", "{}"])];
    unprove(&mut place);
    for id in &ids {
        respond(&place, id);
        let output = decision(&place, &["wait", id]);
        let told = json(&output);
        assert_eq!((status(&output), &told["outcome"]), (5, &"answered".into()), "{told}");
        assert!(told["unproven_part"]["last"].is_u64(), "{told}");
        let said = text(&place.holdpoint(&["decision", "wait", id]).stderr);
        assert!(said.contains("are unproven") && said.contains("ask anew"), "{said}");
    }
    let proven = asked(&place, &[]);
    respond(&place, &proven);
    let output = decision(&place, &["wait", &proven]);
    assert_eq!((status(&output), &json(&output)["unproven_part"]), (0, &Value::Null));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_hold_that_may_rest_on_unproven_records_lets_nothing_pass() {
    let mut place = Place::new();
    let output = place.holdpoint(&["run", "--hold", "on-failure", "--no-wait", "--", "false"]);
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    unprove(&mut place);
    let listed = json(&place.holdpoint(&["hold", "list", "--json"]));
    let request = listed[0]["request_id"].as_str().unwrap();
    let answer = ["hold", "answer", request, "--yes", "--decision", "CONTINUE"];
    let output = place.holdpoint(&answer);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let output = place.holdpoint(&["hold", "wait", request, "--json"]);
    let told = json(&output);
    assert_eq!((status(&output), &told["outcome"]), (5, &json!("continue")), "{told}");
    assert!(told["unproven_part"]["first"].is_u64(), "{told}");
    assert!(text(&output.stderr).contains("are unproven"), "{}", text(&output.stderr));
}

/// Moves segments that end behind what is unproven to an archive, and gives its anchor.
fn archive(place: &Place, to: &str) -> u64 {
    // Each prints more than a quarter of the first segment's space.
    let long = "head -c 20000 /dev/zero | tr '\\000' x";
    (0..8).for_each(|_| assert_eq!(status(&place.shell(long)), 0));
    let output = place.holdpoint(&["log", "archive", to, "--json"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    json(&output)["anchor_sequence"].as_u64().unwrap()
}

/// Every look at a decision says on what it may rest.
fn assert_unproven(place: &Place, id: &str, what: &str) {
    let verbs: [&[&str]; 10] = [
        &["decision", "list"],
        &["decision", "list", "--whole"],
        &["decision", "show", id],
        &["hold", "list"],
        &["hold", "list", "--whole"],
        &["thread", "list"],
        &["replay"],
        &["replay", "--live"],
        &["health"],
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
    let id = asked(&place, &["--bind-tool", "deploy", "--bind-input", "{}"]);
    let anchor = archive(&place, "archive");
    assert_eq!(done(&place, &["show", &id])["standing"], "proven");
    unprove(&mut place);
    assert_unproven(&place, &id, "right behind it");
    // It is carried on as that.
    assert!(archive(&place, "other") > anchor);
    assert_unproven(&place, &id, "in a later archive");
    respond(&place, &id);
    assert_eq!(status(&decision(&place, &["wait", &id])), 5);
    let spent = ["consume", &id, "--bind-tool", "deploy", "--bind-input", "{}"];
    let (code, error) = refused(&place, &spent);
    assert_eq!((code, &error["code"]), (5, &"approval_unproven".into()), "{error}");
}
