//! What no decision may be made of, and what answers none: refused by the name of the rule, with
//! its exit code, and nothing is recorded as an answer.

use crate::decision_support::{asked, decision, done, refused, shown, without_standing};
use crate::machine::take_claims;
use crate::program::{Place, contents, error_of, json, status, text};
use crate::real_support::fill;
use crate::thread_support::interrupted;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::{Head, names};
use holdpoint_testing::hand_made::flip;
use serde_json::{Value, json};

const ASK: [&str; 5] = ["create", "--prompt", "Which?", "--option", "a:A"];
/// About an action, with an answer that says no.
const BOUND: [&str; 8] =
    ["--bind", "tool=t", "--bind", "input=1", "--option", "b:B", "--reject", "b"];

/// A log with one open decision, and what the list says of it.
fn open() -> (Place, String, Value) {
    let place = Place::new();
    let id = asked(&place, &["gt-1"]);
    let listed = done(&place, &["list", "state=all"]);
    (place, id, listed)
}

/// Each of the command lines is refused by this code, and leaves every decision as it was.
fn all_refused(table: &[(&[&str], i32, &str)]) {
    let (place, id, listed) = open();
    for (words, exit, code) in table {
        let words: Vec<&str> =
            words.iter().map(|word| if *word == "ID" { id.as_str() } else { *word }).collect();
        let (found, error) = refused(&place, &words);
        assert_eq!((found, &error["code"]), (*exit, &json!(code)), "{words:?}: {error}");
        assert_eq!(done(&place, &["list", "state=all"]), listed, "{words:?}");
    }
    place.verified();
}

#[test]
fn options_that_could_not_be_told_apart_or_answered() {
    let many: Vec<String> = (0..33).map(|n| format!("--option=o{n}:Option {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let many = [&["create", "--prompt", "Which?"], &many[..]].concat();
    let long = format!("{}:A", "x".repeat(33));
    let long_label = format!("b:{}", "x".repeat(1025));
    let ask = |more: &[&'static str]| [&ASK[..], more].concat();
    all_refused(&[
        (&ask(&["--option", "a:Again"]), 5, "duplicate_option"),
        (&ask(&["--option", "_accept:Mine"]), 5, "reserved_option"),
        (&ask(&["--option", "_x:Mine"]), 5, "reserved_option"),
        (&ask(&["--option", ":No id"]), 5, "invalid_option_id"),
        (&ask(&["--option", "a b:Space"]), 5, "invalid_option_id"),
        (&ask(&["--option", "\u{430}:Cyrillic"]), 5, "invalid_option_id"),
        (&["create", "--prompt", "Which?", "--option", &long], 5, "invalid_option_id"),
        (&ask(&["--option", "b:"]), 5, "missing_text"),
        (&["create", "--prompt", "Which?", "--option", &long_label], 5, "too_long"),
        (&many, 5, "option_count"),
        (&["create", "--prompt", "Which?", "--text-allowed=false"], 5, "option_count"),
        (&ask(&["--default", "z"]), 5, "bad_default"),
        (&ask(&["--on-timeout", "default", "--expires", "1h"]), 5, "bad_default"),
        (&ask(&["--reject", "z"]), 5, "bad_option"),
    ]);
}

#[test]
fn options_in_json_that_are_not_understood_are_refused_with_their_place() {
    let (place, _, listed) = open();
    for (given, place_in) in [
        (r#"[{"id":"a","label":"A","colour":"red"}]"#, "[0].colour"),
        (r#"[{"id":"a","label":"A"},{"id":7,"label":"B"}]"#, "[1].id"),
        (r#"[{"id":"a"}]"#, "missing field `label`"),
        (r#"[{"id":"a","id":"b","label":"A"}]"#, "stands twice"),
        (r#"{"id":"a","label":"A"}"#, "column 1"),
        ("[", "column 2"),
        ("", "empty"),
    ] {
        let (exit, error) = refused(&place, &["create", "--prompt", "Which?", "--option", given]);
        assert_eq!((exit, &error["code"]), (2, &json!("not_understood")), "{given}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(place_in), "{given}: {message}");
    }
    assert_eq!(done(&place, &["list", "state=all"]), listed);
}

#[test]
fn texts_that_are_missing_invisible_or_too_long() {
    let (prompt, answer) = ("x".repeat(4097), "x".repeat(32 * 1024 + 1));
    let context = "x".repeat(64 * 1024 + 1);
    let option = ["--option", "a:A"];
    all_refused(&[
        (&["create", "--prompt", "", option[0], option[1]], 5, "missing_text"),
        (&["create", "", "--prompt", "Which?", option[0], option[1]], 5, "invalid_identifier"),
        (&["create", " q9", "--prompt", "Which?", option[0], option[1]], 5, "blank_around"),
        (&["create", "--prompt", " \n\u{200b}", option[0], option[1]], 5, "missing_text"),
        (&["create", "--prompt", &prompt, option[0], option[1]], 5, "too_long"),
        (&[&ASK[..], &["--context", &context]].concat(), 5, "too_long"),
        (&["respond", "ID", "--text", ""], 5, "missing_text"),
        (&["respond", "ID", "--guidance", "\u{2060}"], 5, "missing_text"),
        (&["respond", "ID", "--text", &answer], 5, "too_long"),
        (&["respond", "ID", "--guidance", &answer], 5, "too_long"),
        (&["respond", "ID", "--option", "a", "--reason", &answer], 5, "too_long"),
        (&["cancel", "ID", "--reason", &prompt], 5, "too_long"),
    ]);
}

#[test]
fn times_in_which_nobody_can_answer() {
    let ask = |more: &[&'static str]| [&ASK[..], more].concat();
    all_refused(&[
        (&ask(&["--expires", "0s"]), 5, "bad_timeout"),
        (&ask(&["--expires", "999us"]), 5, "bad_timeout"),
        (&ask(&["--expires", "367d"]), 5, "bad_timeout"),
        (&ask(&["--expires", "500000000years"]), 5, "bad_timeout"),
        (&ask(&["--expires", "-5m"]), 2, "bad_timeout"),
        (&ask(&["--expires", "soon"]), 2, "bad_timeout"),
        (&ask(&["--expires", ""]), 2, "bad_timeout"),
        (&ask(&["--expires", "2020-01-01T00:00:00Z"]), 5, "bad_timeout"),
        (&ask(&["--expires", "2500-01-01T00:00:00Z"]), 5, "bad_timeout"),
        (&ask(&["--expires", "tomorrow"]), 2, "bad_timeout"),
        (&ask(&["--per-round"]), 5, "bad_timeout"),
        (&ask(&[&BOUND[..], &["--valid-for", "0s"]].concat()), 5, "bad_timeout"),
        (&ask(&["--valid-for", "1h"]), 2, "usage"),
        (&ask(&["--max-iterations", "0"]), 5, "iterations_out_of_range"),
        (&ask(&["--max-iterations", "21"]), 5, "iterations_out_of_range"),
    ]);
}

#[test]
fn policies_that_nobody_could_meet() {
    let names: Vec<String> = (0..17).map(|n| format!("p{n}")).collect();
    let names = names.join(",");
    let ask = |more: &[&'static str]| [&ASK[..], more].concat();
    all_refused(&[
        (&ask(&["--quorum", "0"]), 5, "bad_policy"),
        (&ask(&["--quorum", "17"]), 5, "bad_policy"),
        (&ask(&["--approvers", "ada", "--quorum", "2"]), 5, "bad_policy"),
        (&ask(&["--approvers", "ada,ada"]), 5, "bad_policy"),
        (&[&ASK[..], &["--approvers", &names]].concat(), 5, "too_many"),
    ]);
}

#[test]
fn answers_that_answer_nothing() {
    all_refused(&[
        (&["respond", "ID", "--option", "z"], 5, "bad_option"),
        (&["respond", "ID", "--option", ""], 5, "bad_option"),
        (&["respond", "ID", "--option", "A"], 5, "bad_option"),
        (&["respond", "ID", "_accept"], 5, "nothing_to_accept"),
        (&["create", "--revises", "ID", "--prompt", "Again?"], 5, "not_refining"),
        (&["respond", "ID", "--option", "a", "--expected-version", "7"], 4, "stale_version"),
        (&["respond", "ID", "--option", "a", "--as", "a\u{202e}b"], 5, "invalid_identifier"),
        (&["notify", "ID", "--to", "\u{200b}"], 5, "invalid_identifier"),
        (&["consume", "ID", "--bind", "tool=Bash", "--bind", "input={}"], 5, "binding_mismatch"),
        (&["consume", "ID", "--bind", "tool=Bash", "--bind", "input={"], 2, "not_understood"),
        (
            &["consume", "ID", "--bind", "tool=B", "--bind", r#"input={"a":1,"a":2}"#],
            2,
            "not_understood",
        ),
    ]);
}

#[test]
fn answering_where_one_is_excluded_records_no_answer() {
    let place = Place::new();
    take_claims();
    let id = asked(&place, &["--approvers", "grace", "--authentication", "none"]);
    let before = without_standing(&shown(&place, &id));
    for (words, code) in [
        (&["--option", "a", "--as", "bot"][..], "self_approval"),
        (&["--option", "a", "--as", "bot", "--agent"], "agent_excluded"),
        (&["--option", "a", "--as", "ada"], "not_an_approver"),
        (&["--option", "a"], "not_an_approver"),
        (&["--text", "go on", "--as", "grace"], "text_not_allowed"),
    ] {
        let (exit, error) = refused(&place, &[&["respond", &id], words].concat());
        assert_eq!((exit, &error["code"]), (5, &json!(code)), "{words:?}");
        assert_eq!(error["current"], before, "{words:?}");
    }
    place.verified();
}

#[test]
fn names_that_mean_nothing_are_not_found_and_the_closest_is_suggested() {
    let (place, id, listed) = open();
    let mut near = id.clone();
    near.replace_range(9..10, if id.as_bytes()[9] == b'0' { "1" } else { "0" });
    for (wanted, suggested) in [("gt-2", "did you mean gt-1?"), (&near, id.as_str())] {
        for verb in [&["show"][..], &["notify"], &["cancel"]] {
            let (exit, error) = refused(&place, &[verb, &[wanted]].concat());
            assert_eq!((exit, &error["code"]), (3, &json!("not_found")));
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(suggested), "{message}");
        }
    }
    let (exit, _) = refused(&place, &["respond", "nothing like it", "--option", "a"]);
    assert_eq!(exit, 3);
    assert_eq!(done(&place, &["list", "state=all"]), listed);
}

#[test]
fn a_command_line_that_is_not_understood_makes_no_log() {
    let place = Place::new();
    for words in [
        &["create", "--option", "a:A"][..],
        &["create", "--prompt", "Which?", "--option", "no colon"],
        &["create", "--prompt", "Which?", "--option", "a:A", "--option", "[]"],
        &["create", "--prompt", "Which?", "--expires", "1h", "--expires", "2500-01-01T00:00Z"],
        &["create", "--prompt", "Which?", "--bind", "tool=Bash"],
        &["create", "--prompt", "Which?", "--urgency", "extreme"],
        &["create", "--prompt", "Which?", "--on-timeout", "approve"],
        &["create", "--prompt", "Which?", "--max-iterations", "-1"],
        &["create", "--prompt", "Which?", "--max-iterations", "256"],
        &["respond", "gt-1"],
        &["respond", "gt-1", "--option", "a", "--text", "b"],
        &["respond", "gt-1", "_accept", "--guidance", "b"],
        &["respond", "gt-1", "_accept", "--reason", ""],
        &["respond", "gt-1", "_accept", "--as", ""],
        &["list", "state=lost"],
        &["list", "--limit", "-1"],
        &["show", "gt-1", "--at", "first"],
    ] {
        let output = decision(&place, words);
        assert_eq!(status(&output), 2, "{words:?}: {}", text(&output.stderr));
        assert!(error_of(&output)["code"].is_string(), "{words:?}");
    }
    for (words, exit) in [
        (&["--evidence", "missing.txt"][..], 1),
        (&["--evidence", "."], 1),
        (&["--context", "@missing.txt"], 1),
        (&["--option", "@missing.json"], 2),
        (&["--expires", "-1s"], 2),
    ] {
        let output = decision(&place, &[&ASK[..], words].concat());
        assert_eq!(status(&output), exit, "{words:?}: {}", text(&output.stderr));
    }
    let named = decision(&place, &[&ASK[..], &["--evidence", "missing.txt"]].concat());
    assert!(json(&named)["error"]["message"].as_str().unwrap().contains("missing.txt"));
    assert!(!place.log.exists());
}

#[test]
fn a_file_that_is_no_text_or_too_long_is_refused_and_makes_no_log() {
    let place = Place::new();
    let file = place.directory.path().join("context");
    for (bytes, exit, code) in
        [(b"a\xff".to_vec(), 2, "not_text"), (vec![b'x'; (64 << 10) + 1], 5, "too_long")]
    {
        std::fs::write(&file, bytes).unwrap();
        let (found, error) = refused(&place, &[&ASK[..], &["--context", "@context"]].concat());
        assert_eq!((found, &error["code"]), (exit, &json!(code)));
    }
    assert!(!place.log.exists());
}

#[test]
fn a_log_that_does_not_verify_is_said_so_and_takes_no_answer() {
    let (place, id, _) = open();
    let segment = contents(&place.log)
        .into_keys()
        .find(|path| path.extension().is_some_and(|end| end == "seg"));
    let segment = segment.unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(6).position(|window| window == b"Which?").unwrap();
    bytes[at] = b'w';
    std::fs::write(&segment, bytes).unwrap();
    let before = contents(&place.log);
    let (exit, error) = refused(&place, &["show", &id]);
    assert_eq!((exit, &error["code"]), (6, &json!("damaged")));
    let (exit, _) = refused(&place, &["respond", &id, "--option", "a"]);
    assert_eq!(exit, 6);
    let listed = decision(&place, &["list"]);
    assert_eq!((status(&listed), &error_of(&listed)["code"]), (6, &json!("damaged")));
    let segments =
        |all: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>| all.get(&segment).cloned();
    assert_eq!(segments(&contents(&place.log)), segments(&before));
}

/// A program that reads stdout learns there what is wrong with its own command line.
#[test]
fn a_command_line_that_is_not_understood_is_one_error_in_json() {
    let place = Place::new();
    for words in [
        &["decision", "respond", "DP-1", "--json"][..],
        &["decision", "list", "--json", "--limit", "0"],
        &["decision", "create", "--json", "--prompt", "Which?", "--valid-for", "1h"],
        &["--json", "verify", "--no-such-option"],
        &["--json", "no-such-verb"],
        &["run", "--json", "--no-such-option", "--", "true"],
    ] {
        let output = place.holdpoint(words);
        let error = error_of(&output);
        assert_eq!((status(&output), &error["code"]), (2, &json!("usage")), "{words:?}");
        assert!(!error["message"].as_str().unwrap().is_empty() && !output.stderr.is_empty());
    }
    for words in [&["hook", "--json", "--no-such-option"][..], &["verify", "--no-such-option"]] {
        let output = place.holdpoint(words);
        assert_eq!((status(&output), text(&output.stdout)), (2, String::new()), "{words:?}");
    }
    let help = place.holdpoint(&["decision", "list", "--json", "--help"]);
    assert!(status(&help) == 0 && text(&help.stdout).contains("Usage:"));
}

/// An empty array would say that nothing waits.
#[test]
fn a_list_of_a_log_that_cannot_be_trusted_is_an_error_and_not_an_empty_array() {
    let (place, _, _) = open();
    let segment = contents(&place.log).into_keys().find(|path| path.parent() != Some(&place.log));
    let segment = segment.unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[80] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let (exit, error) = refused(&place, &["list"]);
    assert_eq!((exit, &error["code"]), (6, &json!("damaged")));
    let foreign = Place::new();
    std::fs::create_dir(&foreign.log).unwrap();
    std::fs::write(foreign.log.join("notes"), "mine").unwrap();
    assert_eq!(refused(&foreign, &["list"]).0, 3);
    assert_eq!(refused(&Place::new(), &["list"]).0, 3);
    let empty = Place::with_log();
    assert_eq!(done(&empty, &["list"]), json!([]));
    let output = empty.holdpoint(&["decision", "list"]);
    assert_eq!((status(&output), text(&output.stdout)), (0, String::new()));
    assert!(text(&output.stderr).contains("no pending questions"));
}

#[test]
fn a_list_of_a_damaged_log_shows_what_is_known_and_says_that_it_is_not_whole() {
    let place = Place::with_log();
    let held = place.holdpoint(&["run", "--hold", "after", "--no-wait", "--", "false"]);
    assert_eq!(status(&held), 122, "{}", text(&held.stderr));
    asked(&place, &[]);
    interrupted(&place, "acme", "talk", "It is sunny today.");
    fill(&place.log, 1, 100);
    let head = Head::decode(&std::fs::read(place.log.join(names::HEAD)).unwrap()).unwrap();
    let segment = segment_path(head.segment);
    flip(&place.log.join(&segment), head.record_offset + 70);
    for what in ["decision", "thread"] {
        let output = place.holdpoint(&[what, "list", "--json"]);
        assert_eq!(status(&output), 6, "{what}");
        let listed = json(&output);
        let count = if what == "decision" { 2 } else { 1 };
        assert_eq!(listed.as_array().map(Vec::len), Some(count), "{what}: {listed:#}");
        assert_eq!(listed[0]["standing"], "unproven", "{what}");
        assert!(text(&output.stderr).contains(&segment), "{what}: {}", text(&output.stderr));
    }
}

#[test]
fn an_approval_in_a_damaged_log_is_not_said_to_be_there_to_be_spent() {
    let place = Place::with_log();
    take_claims();
    let bind = ["--bind", "tool=Bash", "--bind", "input={}", "--authentication", "none"];
    let id = asked(&place, &bind);
    done(&place, &["respond", &id, "--option", "a", "--as", "grace"]);
    let approved = || {
        let told = place.holdpoint(&["decision", "show", &id]);
        let line =
            text(&told.stdout).lines().find(|line| line.starts_with("approved")).map(String::from);
        (status(&told), line.unwrap())
    };
    let (code, line) = approved();
    assert!(code == 0 && line.contains("to be spent until"), "{line}");
    fill(&place.log, 1, 100);
    let head = Head::decode(&std::fs::read(place.log.join(names::HEAD)).unwrap()).unwrap();
    flip(&place.log.join(segment_path(head.segment)), head.record_offset + 70);
    let (code, line) = approved();
    assert!(code == 6 && line.contains("not to be spent as the log stands"), "{line}");
}

#[test]
fn a_key_as_long_as_a_key_may_be_is_taken_and_a_longer_one_is_refused_as_that() {
    let place = Place::new();
    let [longest, longer] = [256, 257].map(|length| "k".repeat(length));
    let ask = |key| [&ASK[..], &["--idempotency-key", key]].concat();
    let first = done(&place, &ask(&longest));
    assert_eq!(done(&place, &ask(&longest))["id"], first["id"]);
    let (_, error) = refused(&place, &ask(&longer));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("idempotency key"), "{message}");
}
