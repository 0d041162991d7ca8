//! A name that nobody proved is shown as such, wherever a record is shown; a proven one is not.

use crate::apply_support::{apply, initialize, story};
use crate::program::{Place, status, text};
use crate::terminal::Terminal;
use holdpoint_engine::shell::user_name;
use holdpoint_testing::hand_made::HandMadeLog;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// Every verb that says who did something, of the loop that is asked for.
const VIEWS: [&[&str]; 7] = [
    &["log"],
    &["log", "-n", "5"],
    &["show", "--trace", "1"],
    &["show", "--trace", "1", "--format", "mermaid"],
    &["show", "--trace", "1", "--format", "dot"],
    &["replay", "--story", "LOOP"],
    &["diff", "--when", "totals.loops_initialized > 0"],
];

fn begun_by(kind: &str, name: &str) -> Place {
    let place = Place::new();
    let actor = json!({ "kind": kind, "id": name });
    let line = json!({ "actor": actor, "submit": initialize(&"1".repeat(32)) });
    assert_eq!(status(&apply(&place, &[line])), 0);
    place
}

fn shown(place: &Place, words: &[&str]) -> String {
    let loop_id = format!("LOOP-{}", "1".repeat(32));
    let words: Vec<&str> =
        words.iter().map(|word| if *word == "LOOP" { loop_id.as_str() } else { word }).collect();
    let output = place.holdpoint(&words);
    assert_eq!(status(&output), 0, "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_claimed_name_is_shown_as_not_proven_in_every_view() {
    for (kind, name, is_claim) in
        [("HUMAN", "ada", true), ("AGENT", "planner", true), ("AUTOMATION", &user_name(), false)]
    {
        let place = begun_by(kind, name);
        for view in VIEWS {
            let said = shown(&place, view);
            assert!(said.contains(name), "{view:?}: {said}");
            assert_eq!(said.contains("not proven"), is_claim, "{view:?}: {said}");
        }
        let proof = if is_claim { "none" } else { "os-user" };
        for view in [&["log", "--json"][..], &["export", "--format", "jsonl"]] {
            let record: Value =
                serde_json::from_str(shown(&place, view).lines().nth(1).unwrap()).unwrap();
            assert_eq!(record["proof"]["by"], proof, "{view:?}: {record}");
        }
        let rows = shown(&place, &["export", "--format", "csv"]);
        assert!(rows.lines().nth(2).unwrap().contains(&format!("{name},{proof},")), "{rows}");
    }
}

#[test]
fn a_user_counts_as_a_person_at_a_terminal_alone_in_every_view() {
    let (place, own) = (Place::new(), user_name());
    let actor = json!({ "kind": "HUMAN", "id": own });
    let line = json!({ "actor": actor, "submit": initialize(&"1".repeat(32)) });
    let file = place.directory.path().join("lines");
    std::fs::write(&file, line.to_string()).unwrap();
    let mut apply = place.command(&["apply", file.to_str().unwrap()]);
    assert_eq!(status(&apply.stdin(Stdio::null()).output().unwrap()), 0);
    for view in VIEWS {
        let said = shown(&place, view);
        let told = match view.get(1) {
            Some(&"--trace") => format!("{own} (person not proven, user "),
            _ => format!("HUMAN {own} (not proven)"),
        };
        assert!(said.contains(&told), "{view:?}: {said}");
    }
    let screen = shown(&place, &["show", "LOOP"]);
    assert!(screen.contains(&format!("{own} (person not proven, user ")), "{screen}");
}

/// Records of the first version of the payload have no proof: nothing says who did that.
#[test]
fn a_name_of_which_no_proof_was_recorded_is_shown_as_not_proven_in_every_view() {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    let loop_id = log.crash();
    log.write(&place.log);
    let views = VIEWS.iter().filter(|view| view[0] != "replay");
    for view in views.chain([&&["replay", "--story", &*loop_id][..]]) {
        let said = shown(&place, view);
        let told = match view.get(1) {
            Some(&"--trace") => "ci (automation, name not proven)",
            _ => "ci (not proven)",
        };
        assert!(said.contains(told), "{view:?}: {said}");
    }
    let record: Value = first_of(&shown(&place, &["log", "--json"]));
    assert_eq!((&record["actor"]["id"], &record["proof"]), (&json!("ci"), &Value::Null));
    let row: Value = first_of(&shown(&place, &["runs", "--json"]));
    assert_eq!((&row["by"]["id"], &row["proof"]), (&json!("ci"), &Value::Null));
    let listed = shown(&place, &["runs"]);
    assert!(listed.contains(" ci?  "), "{listed}");
    let screen = shown(&place, &["show", &loop_id]);
    assert!(screen.contains("ci (automation, name not proven)"), "{screen}");
}

fn first_of(lines: &str) -> Value {
    serde_json::from_str(lines.lines().next().unwrap()).unwrap()
}

/// A name that looks like the rest of a line stays one word of it.
#[test]
fn a_name_forges_no_other_column() {
    let name = "root  execution_loop.halted  HUMAN root";
    let place = begun_by("AUTOMATION", name);
    for view in [&["log"][..], &["log", "-n", "5"], &["show", "--trace", "1"]] {
        let said = shown(&place, view);
        assert!(!said.contains(name), "{view:?}: {said}");
        assert!(said.contains("\"root \\u{20}execution_loop.halted"), "{view:?}: {said}");
    }
}

/// A Cyrillic letter in a Latin word is seen, in whatever a person decides about.
#[test]
fn no_word_with_a_letter_of_another_alphabet_passes_for_the_latin_word() {
    let place = Place::with_log();
    let (odd, seen) = ("d\u{435}ploy", r"d\u{435}ploy");
    let asked = ["decision", "create", odd, "--requested-by", odd, "--prompt", odd];
    let options = ["--option", &format!("a:{odd}"), "--option", "b:No", "--json"];
    let asked = place.holdpoint(&[&asked[..], &options].concat());
    assert_eq!(status(&asked), 0, "{}", text(&asked.stderr));
    // It is in the prompt, the issue, the label and the name.
    for (view, count) in [(&["decision", "show", odd][..], 4), (&["decision", "list"], 2)] {
        let said = shown(&place, view);
        assert!(!said.contains(odd) && said.matches(seen).count() >= count, "{view:?}: {said}");
    }
    let file = place.directory.path().join(odd);
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    let label = format!("{odd}={odd}");
    let program = format!("./{odd}");
    let start = ["run", "--hold", "before", "--no-wait", "--label", &label, "--", &program];
    let left = place.holdpoint(&start);
    assert_eq!(status(&left), 122, "{}", text(&left.stderr));
    let said = shown(&place, &["decision", "show", text(&left.stdout).trim()]);
    assert!(!said.contains(odd), "{said}");
    assert!(said.contains(&format!("./{seen}")) && said.matches(seen).count() > 2, "{said}");
}

/// Whoever records a run by commands says how it ended; whoever watches a process measures it.
#[test]
fn a_result_that_was_reported_is_told_from_one_that_was_observed_on_every_screen() {
    let place = Place::new();
    assert_eq!(status(&apply(&place, &story(&"1".repeat(32)))), 0);
    place.shell("exit 0");
    let listed = shown(&place, &["runs"]);
    let rows: Vec<&str> = listed.lines().skip(1).collect();
    assert!(rows[0].contains("  ok       0   ") && rows[1].contains("  ok?      0?  "), "{listed}");
    let rows: Vec<Value> = shown(&place, &["runs", "--json"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((&rows[0]["is_reported"], &rows[1]["is_reported"]), (&json!(false), &json!(true)));
    let screen = shown(&place, &["show", "LOOP"]);
    assert!(screen.contains("ok, exit status 0 (reported, not observed)"), "{screen}");
    let own = rows[0]["run"].as_str().unwrap();
    assert!(!shown(&place, &["show", own]).contains("reported"));
    let traced = |run: &Value| shown(&place, &["show", "--trace", run["run"].as_str().unwrap()]);
    assert!(!traced(&rows[0]).contains("reported, not observed"), "{}", traced(&rows[0]));
    let of_told = shown(&place, &["show", "--trace", &rows[1]["last_record"].to_string()]);
    assert!(of_told.contains("(ok), as its recorder states"), "{of_told}");
    let page = place.log.join("../told.html");
    let told = rows[1]["run"].as_str().unwrap();
    shown(&place, &["export", "--format", "html", told, "--output", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(&page).unwrap();
    let end = page.split("the run has ended: ").nth(1).unwrap();
    assert!(end.starts_with("it is done (reported, not observed)"), "{end:.200}");
    let between = shown(&place, &["diff", "0"]);
    assert!(between.contains(": ok (reported, not observed)\n    work\n"), "{between}");
    assert!(between.contains(": ok\n    sh -c 'exit 0'\n"), "{between}");
    let newest = rows[0]["last_record"].as_u64().unwrap();
    let is_reported: Vec<Value> = (0..newest)
        .map(|first| {
            crate::program::json(&place.holdpoint(&["diff", &first.to_string(), "--json"]))
        })
        .flat_map(|shown| shown["entities"].as_array().unwrap().clone())
        .filter(|entity| entity["id"] == own || entity["id"] == told)
        .map(|entity| json!([entity["id"], entity["run"]["is_reported"]]))
        .filter(|pair| !pair[1].is_null())
        .collect();
    assert!(is_reported.iter().all(|pair| pair[1] == (pair[0] == told)), "{is_reported:?}");
}

#[test]
fn a_claimed_name_keeps_its_mark_where_a_later_answer_is_refused_and_in_the_inbox() {
    let place = Place::with_log();
    let ask = |more: &[&str]| {
        let words = ["decision", "create", "--prompt", "Ship?", "--option", "yes:Y"];
        let rest = ["--option", "no:N", "--reject", "no"];
        text(&place.holdpoint(&[&words[..], &rest, more].concat()).stdout).trim().to_string()
    };
    let id = ask(&[]);
    assert_eq!(status(&place.holdpoint(&["approve", &id, "--as", "bob"])), 0);
    for late in [&["deny", &*id][..], &["decision", "cancel", &id]] {
        let said = text(&place.holdpoint(late).stderr);
        assert!(said.contains("option yes by bob (") && said.contains("name not proven) at "));
    }
    ask(&["--requested-by", "agent-7"]);
    let mut terminal = Terminal::sized(&place, (24, 80), &["inbox"]);
    terminal.see("by              agent-7 (agent, name not proven)");
    terminal.press("q");
    terminal.end();
}
