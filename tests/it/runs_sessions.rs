//! A session of an agent whose tools a hook guards is one row among runs, and is shown whole.

use crate::hook::{ask, call, pre, respond, run};
use crate::program::{Place, json, json_lines, status, text};
use crate::runs::listed;
use serde_json::{Value, json as value};
use std::fs;

/// A call that is approved and let through.
fn let_through(place: &Place, session: &str, command: &str) {
    let id = ask(place, &[], &call(session, command));
    respond(place, &id, "approve");
    assert_eq!(pre(place, &[], &call(session, command)).0, "allow");
}

/// A run, a session that asked about four tools, another run, and a session that asked about one.
fn place() -> Place {
    let place = Place::with_log();
    place.shell("true");
    let_through(&place, "s", "make build");
    let mut ran = call("s", "make build");
    ran["hook_event_name"] = "PostToolUse".into();
    ran["tool_response"] = "built".into();
    assert_eq!(status(&run(&place, &["post-tool-use"], &ran)), 0);
    let_through(&place, "s", "make deploy");
    let denied = ask(&place, &[], &call("s", "rm -rf /"));
    respond(&place, &denied, "deny");
    place.shell("exit 3");
    ask(&place, &[], &call("other", "ls"));
    ask(&place, &[], &call("s", "git push"));
    place
}

fn rows(place: &Place, options: &[&str]) -> Vec<Value> {
    let output = place.holdpoint(&[&["runs", "--json"], options].concat());
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    json_lines(&output)
}

#[test]
fn a_session_is_one_row_in_the_order_of_beginnings_and_tells_what_became_of_its_tools() {
    let place = place();
    let all = listed(&place, &[]);
    let begins: Vec<&str> = all.iter().map(|id| id.split([':', '-']).next().unwrap()).collect();
    assert_eq!(begins, ["session", "LOOP", "session", "LOOP"]);
    let all_rows = rows(&place, &[]);
    let session = &all_rows[2];
    let tools = value!({ "asked": 4, "approved": 2, "denied": 1, "waiting": 1, "unanswered": 0,
        "taken_back": 0, "outcome_unknown": 1 });
    assert_eq!((&session["run"], &session["tools"]), (&Value::Null, &tools));
    assert_eq!(session["by"], value!({ "kind": "AGENT", "id": "claude-code:s" }));
    let shown = text(&place.holdpoint(&["runs"]).stdout);
    let line = shown.lines().nth(3).unwrap();
    assert!(line.contains("  session  ") && line.contains("claude-code:s?"), "{shown}");
    assert!(line.contains("4 asked, 2 app"), "{shown}");
    let approver = session["approved_by"][0].as_str().unwrap();
    for (options, due) in [
        (&["-n", "1"][..], &all[..1]),
        (&["-n", "3"], &all[..3]),
        (&["--after", &all[0]], &all[1..]),
        (&["--after", &all[2]], &all[3..]),
        (&["by=claude-code:s"], &all[2..3]),
        (&["--since", &session["first_record"].to_string()], &all[..3]),
        (&["--until", &session["last_record"].to_string()], &all),
        (&["--until", &session["first_record"].to_string()], &all[2..]),
        (&["failed=true"], &all[1..2]),
        (&[&format!("approver={approver}")], &all[2..3]),
        (&["status=running"], &[]),
        (&["command=asked"], &[]),
    ] {
        assert_eq!(listed(&place, options), due, "{options:?}");
    }
}

#[test]
fn the_records_of_a_session_are_those_of_its_correlation() {
    let place = place();
    let of_log = place.holdpoint(&["log", "correlation=claude-code:s", "--json"]);
    let of_session = |more: &[&str]| {
        place.holdpoint(&[&["show", "session:claude-code:s", "--records"], more].concat())
    };
    let shown = of_session(&["--json"]);
    assert_eq!((status(&shown), text(&shown.stdout)), (0, text(&of_log.stdout)));
    let kinds: Vec<Value> = json_lines(&shown).iter().map(|line| line["kind"].clone()).collect();
    assert_eq!(kinds[0], "decision_point.created", "{kinds:?}");
    assert_eq!(status(&of_session(&["--date=iso"])), 2);
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_name() {
    let place = Place::with_log();
    let id = ask(&place, &[], &call("sess-1", "ls"));
    respond(&place, &id, "deny");
    let all = listed(&place, &[]);
    assert_eq!(all.len(), 1);
    let names = ["c", "claude", "claude..", "claude-code", "claude-code:se", "claude-code:sess-1?"];
    for name in names {
        let found = place.holdpoint(&["runs", "-q", &format!("by={name}")]);
        assert_eq!(text(&found.stdout).trim(), all[0], "{name}: {}", text(&found.stderr));
        assert!(text(&found.stderr).contains("is taken for claude-code:sess-1"), "{name}");
    }
    ask(&place, &[], &call("sess-2", "ls"));
    let several = place.holdpoint(&["runs", "by=claude"]);
    assert_eq!(status(&several), 4, "{}", text(&several.stderr));
    let none = text(&place.holdpoint(&["runs", "by=claudia"]).stderr);
    assert!(none.contains("no run is by claudia"), "{none}");
}

#[test]
fn every_call_of_a_session_is_told_in_order_by_the_id_that_the_list_prints() {
    let place = place();
    let session = listed(&place, &["by=claude-code:s"]).remove(0);
    let shown = json(&place.holdpoint(&["show", &session, "--json"]));
    let calls = shown["calls"].as_array().unwrap();
    let told: Vec<(&str, bool)> = calls
        .iter()
        .map(|call| (call["answer"].as_str().unwrap(), call["outcome_unknown"] == true))
        .collect();
    let due = [("approved", false), ("approved", true), ("denied", false), ("waiting", false)];
    assert_eq!(told, due);
    assert_eq!(calls[0]["claimed_outcome"], "SUCCEEDED");
    assert_eq!(json(&place.holdpoint(&["show", "session:claude-code:s", "--json"])), shown);
    let screen = text(&place.holdpoint(&["show", &session]).stdout);
    let order = [
        "make build",
        "SUCCEEDED, claimed by the host and not proven",
        "make deploy",
        "unknown: no report",
        "rm -rf /",
        "denied by",
        "git push",
        "answer          waiting",
    ];
    let places: Vec<_> = order.iter().map(|words| screen.find(words)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {screen}");
    assert!(!screen.contains("built"), "what a tool printed is not shown: {screen}");
    for (id, exit) in [("session:1", 3), ("session:9999", 3), ("session:nobody", 3)] {
        assert_eq!(status(&place.holdpoint(&["show", id])), exit, "{id}");
    }
    place.verified();
}

#[test]
fn what_was_taken_back_is_not_unanswered_and_a_good_approval_is_not_used_yet() {
    let place = Place::with_log();
    let approved = ask(&place, &[], &call("s", "make"));
    respond(&place, &approved, "approve");
    let taken_back = ask(&place, &[], &call("s", "git push"));
    let cancelled = place.holdpoint(&["decision", "cancel", &taken_back]);
    assert_eq!(status(&cancelled), 0, "{}", text(&cancelled.stderr));
    let shown = text(&place.holdpoint(&["show", "session:claude-code:s"]).stdout);
    assert!(shown.contains("2 asked, 1 approved, 1 taken back\n"), "{shown}");
    assert!(shown.contains("none: it was not used yet"), "{shown}");
    assert!(shown.contains("taken back by ") && !shown.contains("unanswered"), "{shown}");
}

#[test]
fn a_session_over_several_segments_is_the_same_with_indexes_and_without() {
    let place = Place::with_log();
    ask(&place, &[], &call("s", "first"));
    for _ in 0..5 {
        place.shell("head -c 400000 /dev/urandom");
    }
    let_through(&place, "s", "second");
    let all = || {
        let one = listed(&place, &["by=claude-code:s"]).remove(0);
        let shown = json(&place.holdpoint(&["show", &one, "--json"]));
        (rows(&place, &[]), rows(&place, &["by=claude-code:s"]), shown)
    };
    let indexed = all();
    assert_eq!((indexed.0.len(), indexed.2["calls"].as_array().unwrap().len()), (6, 2));
    // Of the newest runs alone, none is so old.
    assert!(rows(&place, &["-n", "5"]).iter().all(|row| row["session"].is_null()));
    let segments = fs::read_dir(place.log.join("segments")).unwrap().map(|it| it.unwrap().path());
    let indexes: Vec<_> =
        segments.filter(|path| path.extension().is_some_and(|it| it == "idx")).collect();
    assert!(indexes.len() > 1, "{indexes:?}");
    indexes.iter().for_each(|index| fs::remove_file(index).unwrap());
    assert_eq!(all(), indexed);
}

#[test]
fn the_command_that_shows_a_sessions_records_runs_nothing_of_its_name() {
    let place = Place::with_log();
    ask(&place, &[], &call("$(touch pwned)`touch pwned`", "ls"));
    let session = listed(&place, &[]).remove(0);
    let show = place.command(&["show", &session]).env("COLUMNS", "300").output().unwrap();
    let shown = text(&show.stdout);
    let advice = shown.lines().find(|line| line.contains("has its records")).expect(&shown);
    let (_, command) = advice.split_once('`').unwrap();
    let (command, _) = command.rsplit_once("` has").unwrap();
    assert!(command.ends_with("'correlation:claude-code:$(touch pwned)`touch pwned`'"), "{shown}");
}

#[test]
fn a_question_that_no_hook_asked_is_no_session() {
    let place = Place::with_log();
    let asked = ["decision", "create", "gt-1", "--requested-by", "claude-code:s", "--prompt"];
    let texts = ["May \"Bash\" run in \"/\"?", "--option", "approve:Approve"];
    let created = place.holdpoint(&[&asked[..], &texts, &["--option", "deny:Deny"]].concat());
    assert_eq!(status(&created), 0, "{}", text(&created.stderr));
    assert!(listed(&place, &[]).is_empty());
    assert_eq!(status(&place.holdpoint(&["show", "session:claude-code:s"])), 3);
}
