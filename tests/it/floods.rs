//! Questions that are open at once are bounded, whoever puts them and by whichever door.

use crate::hook::{ask, call, denied, pre, respond, run};
use crate::machine::{ALICE, Machine, assert_refused, home, told};
use crate::program::{Place, json, status, text};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Output, Stdio};

/// Lets this user have as many open questions as a test of something else needs.
pub(crate) fn let_many_be_open() {
    let folder = home().join(".config/holdpoint");
    std::fs::create_dir_all(&folder).unwrap();
    let bounds = "[questions]\nper_user = 5000\nper_log = 5000\n";
    std::fs::write(folder.join("config.toml"), bounds).unwrap();
}

/// A plain question, by way of the command line.
fn create(place: &Place, number: usize) -> Output {
    let prompt = format!("Question {number}?");
    place.holdpoint(&["decision", "create", "--prompt", &prompt, "--option", "a:A", "--json"])
}

fn project(place: &Place, text: &str) {
    std::fs::write(place.directory.path().join("holdpoint.toml"), text).unwrap();
}

fn code(output: &Output) -> Value {
    json(output)["error"]["code"].clone()
}

#[test]
fn a_session_of_a_hook_has_twenty_open_questions_and_is_denied_the_next_with_that_sentence() {
    let place = Place::with_log();
    let ids: Vec<String> =
        (0..20).map(|number| ask(&place, &[], &call("s", &format!("make {number}")))).collect();
    let reason = denied(&place, &[], &call("s", "make more"), "TOO_MANY_OPEN");
    let sentence = "20 questions of this session are open, and 20 may be";
    assert!(reason.contains(sentence), "{reason}");
    assert_eq!(ask(&place, &[], &call("s", "make 3")), ids[3], "what is asked already is no more");
    ask(&place, &[], &call("t", "make more"));
    respond(&place, &ids[0], "deny");
    ask(&place, &[], &call("s", "make more"));
    respond(&place, &ids[1], "approve");
    assert_eq!(pre(&place, &[], &call("s", "make 1")).0, "allow");
    place.verified();
}

/// The commands of `apply` that put so many questions.
fn applied(place: &Place, from: usize, to: usize) -> Vec<Value> {
    let by = json!({ "kind": "AUTOMATION", "id": "ci", "authenticated_by": "none", "means": "ci" });
    let actor = json!({ "kind": "AUTOMATION", "id": "ci" });
    let lines: Vec<String> = (from..to)
        .map(|number| {
            let odd = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
            let entropy = format!("{:032x}", odd.wrapping_mul(number as u128 + 99));
            let create = json!({ "command": "decision_point.create", "entropy": entropy, "by": by,
                "prompt": format!("Question {number}?"),
                "options": [{ "id": "a", "short": "A", "label": "A" }] });
            json!({ "actor": actor, "submit": create }).to_string()
        })
        .collect();
    let mut command = place.command(&["apply"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text_in = lines.join("\n") + "\n";
    let writing = std::thread::spawn(move || stdin.write_all(text_in.as_bytes()));
    let output = child.wait_with_output().unwrap();
    drop(writing.join());
    let told = text(&output.stdout);
    assert_eq!(told.lines().count(), to - from, "{}", text(&output.stderr));
    told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_questions_of_one_user_are_bounded_in_apply_as_well() {
    let place = Place::with_log();
    let told = applied(&place, 0, 502);
    let refused: Vec<usize> = told
        .iter()
        .enumerate()
        .filter(|(_, line)| line.to_string().contains("TOO_MANY_OPEN"))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(refused, [500, 501], "{}", told[500]);
    assert!(told[500].to_string().contains("500 questions of this user are open"), "{}", told[500]);
    let output = create(&place, 1);
    assert_eq!((status(&output), code(&output)), (5, json!("too_many_open")));
    denied(&place, &[], &call("s", "ls"), "500 questions of this user are open");
}

#[test]
fn a_projects_file_lets_fewer_be_open_and_never_more() {
    let place = Place::with_log();
    project(&place, "[questions]\nper_log = 2\n");
    assert_eq!((status(&create(&place, 0)), status(&create(&place, 1))), (0, 0));
    let output = create(&place, 2);
    assert_eq!((status(&output), code(&output)), (5, json!("too_many_open")));
    denied(&place, &[], &call("s", "ls"), "2 questions of this log are open, and 2 may be");
    let held = place.holdpoint(&["run", "--hold", "before", "--no-wait", "--", "true"]);
    assert_eq!(status(&held), 125, "{}", text(&held.stderr));
    for more in ["per_session = 21", "per_user = 501", "per_log = 1001"] {
        project(&place, &format!("[questions]\n{more}\n"));
        let output = create(&place, 2);
        let said = text(&output.stdout);
        assert_eq!(status(&output), 5, "{more}: {said}");
        assert!(said.contains("questions.") && said.contains("at most"), "{said}");
        denied(&place, &[], &call("s", "ls"), "questions.");
        let held = place.holdpoint(&["run", "--hold", "before", "--no-wait", "--", "true"]);
        assert_eq!(status(&held), 125, "{}", text(&held.stderr));
    }
    // A file that is not understood bounds nothing less.
    project(&place, "[questions]\nper_log = 2\n[hold\n");
    assert_eq!((status(&create(&place, 2)), code(&create(&place, 2))), (2, json!("configuration")));
    denied(&place, &[], &call("s", "ls"), "holdpoint.toml:");
    assert_eq!(status(&place.holdpoint(&["decision", "list"])), 0, "what waits is shown");
    project(&place, "[questions]\nper_log = 0\n");
    let output = run(&place, &["pre-tool-use"], &call("s", "ls"));
    assert_eq!(status(&output), 2, "{}", text(&output.stderr));
}

#[test]
fn one_question_in_the_place_of_another_is_no_more() {
    let place = Place::with_log();
    project(&place, "[questions]\nper_log = 1\n");
    let first = create(&place, 0);
    let id = json(&first)["id"].as_str().unwrap().to_string();
    let words = ["decision", "create", "--prompt", "Anew?", "--option", "a:A", "--json"];
    let output = place.holdpoint(&[&words[..], &["--supersedes", &id]].concat());
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert_eq!(code(&create(&place, 1)), "too_many_open");
}

/// The bounds of the machine and its user are the floor's: they may be others, and the smaller one
/// counts.
#[test]
fn the_users_own_file_sets_other_bounds() {
    let place = Place::with_log();
    let folder = home().join(".config/holdpoint");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "[questions]\nper_session = 22\n").unwrap();
    for number in 0..22 {
        ask(&place, &[], &call("s", &format!("make {number}")));
    }
    denied(&place, &[], &call("s", "make more"), "22 questions of this session are open, and 22");
    std::fs::write(folder.join("config.toml"), "[questions]\nper_log = 5\n").unwrap();
    denied(&place, &[], &call("t", "make more"), "22 questions of this log are open, and 5 may be");
    project(&place, "[questions]\nper_log = 6\n");
    denied(&place, &[], &call("t", "make more"), "questions.per_log");
}

/// The file of the machine sets other bounds, larger ones too; the user's below it, and the smaller
/// one counts. A project's file lets no more be open than both.
#[test]
fn the_machines_file_sets_other_bounds_and_a_projects_only_smaller_ones() {
    let Some(machine) = Machine::new() else { return };
    machine.floor(&machine.system(), 0, "[questions]\nper_log = 3\nper_user = 1500\n");
    let ask = || {
        let words = ["decision", "create", "--prompt", "Which?", "--option", "a:A", "--json"];
        machine.call(ALICE, &words)
    };
    for _ in 0..3 {
        assert_eq!(status(&ask()), 0);
    }
    let full = ask();
    assert_eq!((status(&full), code(&full)), (5, json!("too_many_open")), "{}", told(&full));
    assert!(told(&full).contains("3 questions of this log are open, and 3 may be"));
    // The user lets fewer be open, and not more than the machine.
    machine.floor(&machine.in_home("alice"), ALICE, "[questions]\nper_log = 900\n");
    assert_eq!(status(&ask()), 5);
    machine.floor(&machine.system(), 0, "[questions]\nper_log = 5\n");
    project(&machine.place, "[questions]\nper_log = 6\n");
    assert_refused(&ask(), 5, &["questions.per_log"]);
    project(&machine.place, "[questions]\nper_log = 4\n");
    assert_eq!((status(&ask()), status(&ask())), (0, 5));
    project(&machine.place, "");
    assert_eq!((status(&ask()), status(&ask())), (0, 5));
}

/// Each log has its own questions of a user, and `apply` meets the bound of a log as well.
#[test]
fn apply_meets_the_bound_of_a_log() {
    let place = Place::with_log();
    let folder = home().join(".config/holdpoint");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "[questions]\nper_log = 2\n").unwrap();
    let told = applied(&place, 0, 3);
    let is_refused = |line: &Value| line.to_string().contains("TOO_MANY_OPEN");
    assert_eq!(told.iter().map(is_refused).collect::<Vec<_>>(), [false, false, true], "{told:?}");
    assert!(told[2].to_string().contains("2 questions of this log are open"), "{}", told[2]);
}
