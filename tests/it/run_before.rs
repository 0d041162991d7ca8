//! A person is asked before anything starts: nothing exists before the answer, and an approval
//! starts exactly what was asked about, once.

use crate::machine::{remembered, take_claims};
use crate::program::{Place, contents, json, status, text};
use crate::terminal::{Terminal, at_terminal};
use holdpoint_engine::shell::carries_code;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// The program, with its keys kept in the test's own place.
pub(crate) fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn run(place: &Place, arguments: &[&str]) -> Output {
    command(place, arguments).output().unwrap()
}

/// A run that waits for an answer, in the background.
fn start(place: &Place, options: &[&str], words: &[&str]) -> Child {
    let arguments = [&["run", "--hold", "before"], options, &["--"], words].concat();
    command(place, &arguments).spawn().unwrap()
}

/// Leaves a question open, and gives its id.
fn leave_open(place: &Place, options: &[&str], words: &[&str]) -> String {
    let before = ["run", "--hold", "before", "--no-wait"];
    let output = run(place, &[&before, options, &["--"], words].concat());
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    let id = text(&output.stdout);
    assert!(id.starts_with("DP-") && id.lines().count() == 1, "the id alone: {id}");
    id.trim().to_string()
}

/// Waits until a question is open, and gives its id.
pub(crate) fn await_question(place: &Place) -> String {
    await_listed(place, "decision", "id")
}

pub(crate) fn await_listed(place: &Place, noun: &str, key: &str) -> String {
    loop {
        let listed = place.holdpoint(&["decision", "list", "--kind", noun, "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
        if let Some(id) = listed[0][key].as_str() {
            return id.to_string();
        }
        std::thread::yield_now();
    }
}

/// The circumstances that whoever is asked sees.
fn context(place: &Place, id: &str) -> String {
    let shown = json(&place.holdpoint(&["decision", "show", id, "--json"]));
    shown["context"].as_str().unwrap().to_string()
}

/// A person answers at a terminal.
pub(crate) fn answer(place: &Place, id: &str, option: &str) -> i32 {
    let output = at_terminal(place, &["decision", "respond", id, "--option", option]);
    status(&output)
}

pub(crate) fn file(place: &Place, name: &str) -> PathBuf {
    place.directory.path().join(name)
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
}

/// The refusal's reason code, of a run that must not start.
pub(crate) fn refused(output: &Output) -> (String, String) {
    assert_eq!(status(output), 125, "{}", text(&output.stderr));
    let error = json(output)["error"].clone();
    let message = error["message"].as_str().unwrap();
    assert!(message.ends_with("the command was not started"), "{message}");
    (error["code"].as_str().unwrap().to_string(), message.to_string())
}

#[test]
fn nothing_exists_before_the_answer_and_the_story_leads_to_the_person_and_back() {
    let place = Place::new();
    let waiting = start(&place, &[], &["touch", "f"]);
    let id = await_question(&place);
    assert!(!file(&place, "f").exists());
    assert!(place.loops().is_empty(), "no loop exists before the answer");
    let shown = context(&place, &id);
    for bound in ["touch f", "directory", "/touch, SHA-256 ", "variable   PATH = ", "Not bound"] {
        assert!(shown.contains(bound), "{bound}: {shown}");
    }
    assert_eq!(answer(&place, &id, "approve"), 0);
    assert_eq!(waiting.wait_with_output().unwrap().status.code(), Some(0));
    assert!(file(&place, "f").exists());
    let records = text(&place.holdpoint(&["log", "--json"]).stdout);
    let lines: Vec<Value> = records.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let of = |kind: &str| lines.iter().find(|line| line["kind"] == kind).unwrap();
    let begun = &of("execution_loop.initialized")["event"];
    assert_eq!((&begun["approval"], &begun["gate"]["before"]), (&json!(id), &json!(true)));
    let answered = of("decision_point.vote")["sequence"].as_u64().unwrap();
    // From every record of the run to the person who let it start.
    let first = of("execution_loop.initialized")["sequence"].as_u64().unwrap();
    for sequence in first..=lines.len() as u64 {
        let traced = json(&place.holdpoint(&["show", "--trace", &sequence.to_string(), "--json"]));
        assert_eq!(traced["person"]["actor"]["kind"], "HUMAN", "{sequence}");
        assert_eq!(traced["person"]["sequence"], answered, "{sequence}");
    }
    // And from the answer to the end of the run.
    let traced = json(&place.holdpoint(&["show", "--trace", &answered.to_string(), "--json"]));
    let last = traced["steps"].as_array().unwrap().last().unwrap()["last"].clone();
    assert_eq!(last, json!(lines.len()));
    place.verified();
}

#[test]
fn denied_cancelled_superseded_or_unanswered_it_never_starts() {
    let place = Place::new();
    let ways: [(&[&str], i32, &str); 3] = [
        (&["respond", "ID", "--option", "deny"], 120, "denied"),
        (&["cancel", "ID"], 120, "cancelled"),
        (
            &["create", "--prompt", "Another?", "--option", "a:A", "--supersedes", "ID"],
            120,
            "superseded",
        ),
    ];
    for (answer, exit, outcome) in ways {
        let waiting = start(&place, &["--json"], &["touch", "f"]);
        let id = await_question(&place);
        let words = answer.iter().map(|word| if *word == "ID" { &*id } else { word });
        let answered =
            at_terminal(&place, &["decision"].into_iter().chain(words).collect::<Vec<_>>());
        assert_eq!(status(&answered), 0, "{}", text(&answered.stderr));
        let output = waiting.wait_with_output().unwrap();
        assert_eq!(status(&output), exit, "{outcome}: {}", text(&output.stderr));
        let told = json(&output);
        assert_eq!((&told["outcome"], &told["decision_id"]), (&json!(outcome), &json!(id)));
        if outcome == "superseded" {
            let next = await_question(&place);
            let cancelled = at_terminal(&place, &["decision", "cancel", &next]);
            assert_eq!(status(&cancelled), 0);
        }
    }
    let options = ["run", "--hold", "before", "--expires", "before=1s", "--", "touch", "f"];
    let output = run(&place, &options);
    assert_eq!(status(&output), 121, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the command was not started"));
    assert!(!file(&place, "f").exists() && place.loops().is_empty());
    place.verified();
}

#[test]
fn the_person_at_the_terminal_types_the_answer_and_enter_alone_is_none() {
    let place = Place::new();
    for (typed, exit) in [("deny", 120), ("approve", 0)] {
        let arguments = ["run", "--hold", "before", "--", "touch", "f"];
        let mut waiting = Terminal::start(&place, &arguments);
        let asked = waiting.wait_for("approve, deny? ");
        assert!(asked.contains("\r| touch f\r"), "{asked}");
        for unclear in ["", "yes", "a", "A", "ap", "d"] {
            waiting.type_line(unclear);
            waiting.wait_for("approve, deny? ");
        }
        assert!(!file(&place, "f").exists());
        waiting.type_line(typed);
        let (status, said) = waiting.end();
        assert_eq!(status, exit, "{said}");
        assert_eq!(file(&place, "f").exists(), exit == 0);
    }
}

#[test]
fn the_question_before_a_start_leaves_the_variables_to_details_and_decision_show() {
    let place = Place::new();
    let mut waiting =
        Terminal::sized(&place, (60, 200), &["run", "--hold", "before", "--", "true"]);
    let shown = waiting.wait_for("approve, deny?");
    assert!(shown.contains("| true"), "{shown}");
    assert!(shown.contains("|   program    = ") && shown.contains(", in /"), "{shown}");
    assert!(!shown.contains("  variable") && shown.contains("`details` shows all"), "{shown}");
    assert!(shown.contains("(automation)") && !shown.contains("(agent)"), "{shown}");
    let id = await_question(&place);
    let whole = text(&place.holdpoint(&["decision", "show", &id]).stdout);
    assert!(whole.contains("  variable   PATH") && whole.contains("Not bound"), "{whole}");
    waiting.type_line("deny");
    assert_eq!(waiting.end().0, 120);
}

#[test]
fn the_question_before_a_start_is_decided_on_one_screen_and_all_of_it_is_a_word_away() {
    let place = Place::new();
    let mut asked = command(&place, &["run", "--hold", "before", "--", "sh", "-c", "echo hi"]);
    // Each has a line of its own.
    let code = std::env::vars_os().map(|(name, _)| name).filter(|name| carries_code(name));
    for name in code {
        asked.env_remove(name);
    }
    let mut waiting = Terminal::start_command(&place, &asked);
    let shown = waiting.see("approve, deny?").join(" ");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let places = [
        "| sh -c 'echo hi'",
        "program = ",
        ", in /",
        "asked by ",
        "then nothing starts",
        "not bound ",
        "approve starts exactly this, once",
        "`details` shows all",
        "approve, deny?",
    ];
    let found: Vec<usize> = places.iter().map(|it| shown.find(it).expect(it)).collect();
    assert!(found.is_sorted(), "{shown}");
    waiting.type_line("details");
    let all = waiting.wait_for("decision respond");
    assert!(all.contains("round 1 of 1") && all.contains("bound to  "), "{all}");
    assert!(all.contains("  variable   PATH"), "{all}");
    waiting.type_line("deny");
    waiting.see("not started");
    assert!(place.loops().is_empty());
}

#[test]
fn where_nobody_who_is_named_is_a_user_here_nobody_is_waited_for() {
    let place = Place::new();
    let named = ["--hold", "before", "--approvers", "nosuchuser,uid 0"];
    for options in [&named[..], &["--hold", "after", "--approvers", "nosuchuser"]] {
        let output = run(&place, &[&["run"], options, &["--", "touch", "f"]].concat());
        let said = text(&output.stderr);
        assert_eq!(status(&output), 125, "{said}");
        assert!(said.contains("unknown user nosuchuser"), "{said}");
    }
    assert!(!file(&place, "f").exists());
    assert_eq!(json(&place.holdpoint(&["decision", "list", "--json"])), json!([]));
    // Where claims count, anybody may say that this is their name.
    take_claims();
    leave_open(&place, &["--approvers", "nosuchuser"], &["true"]);
}

#[test]
fn an_approval_is_spent_later_and_once() {
    let place = Place::new();
    let id = leave_open(&place, &[], &["touch", "f"]);
    let spend = ["--json", "run", "--approval", &id, "--", "touch", "f"];
    assert_eq!(refused(&run(&place, &spend)).0, "NOT_APPROVED");
    assert_eq!(answer(&place, &id, "approve"), 0);
    assert!(!file(&place, "f").exists());
    // Not by the verb that spends approvals of tools, and not on another log.
    let consume =
        ["decision", "consume", &id, "--bind", "tool=holdpoint run", "--bind", "input={}"];
    assert_eq!(status(&place.holdpoint(&consume)), 5);
    let mut elsewhere = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    elsewhere.arg("--log").arg(file(&place, "other")).args(spend);
    elsewhere.current_dir(place.directory.path());
    assert_eq!(refused(&elsewhere.output().unwrap()).0, "UNKNOWN_DECISION");
    assert!(!file(&place, "f").exists());
    assert_eq!(status(&run(&place, &spend)), 0);
    assert!(file(&place, "f").exists());
    std::fs::remove_file(file(&place, "f")).unwrap();
    assert_eq!(refused(&run(&place, &spend)).0, "ALREADY_CONSUMED");
    let denied = leave_open(&place, &[], &["touch", "f"]);
    assert_eq!(answer(&place, &denied, "deny"), 0);
    let spend = ["--json", "run", "--approval", &denied, "--", "touch", "f"];
    assert_eq!(refused(&run(&place, &spend)).0, "NOT_APPROVED");
    let spend = ["--json", "run", "--approval", "DP-none", "--", "touch", "f"];
    assert_eq!(refused(&run(&place, &spend)).0, "UNKNOWN_DECISION");
    assert!(!file(&place, "f").exists());
    place.verified();
}

#[test]
fn of_two_who_spend_an_approval_one_starts() {
    let place = Place::new();
    let words = ["sh", "-c", "echo started >> f"];
    for round in 1..=5 {
        let id = leave_open(&place, &[], &words);
        assert_eq!(answer(&place, &id, "approve"), 0);
        let spend = [&["--json", "run", "--approval", &id, "--"][..], &words].concat();
        let racers = [0, 1].map(|_| command(&place, &spend).spawn().unwrap());
        let ends = racers.map(|racer| racer.wait_with_output().unwrap());
        let mut exits = ends.each_ref().map(status);
        exits.sort_unstable();
        assert_eq!(exits, [0, 125], "round {round}");
        let loser = ends.iter().find(|end| status(end) == 125).unwrap();
        assert_eq!(refused(loser).0, "ALREADY_CONSUMED");
        let started = std::fs::read_to_string(file(&place, "f")).unwrap();
        assert_eq!(started.lines().count(), round);
    }
    place.verified();
}

/// A place with a program `tool` of its own, which makes `f`.
fn with_tool() -> Place {
    let place = Place::new();
    for folder in ["bin", "elsewhere"] {
        std::fs::create_dir(file(&place, folder)).unwrap();
        write_tool(&place, &format!("{folder}/tool"), "touch \"$PLACE/f\"");
    }
    std::fs::write(file(&place, "data"), "one").unwrap();
    std::fs::write(file(&place, "input"), "typed").unwrap();
    place
}

fn write_tool(place: &Place, name: &str, script: &str) {
    let path = file(place, name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// A run of the tool with its own surroundings.
fn tool(place: &Place, options: &[&str], word: &str) -> Command {
    let arguments = [&["--json", "run", "--stdin", "--bind", "file=data"], options].concat();
    let mut command = command(place, &[&arguments[..], &["--", "tool", word]].concat());
    let root = place.directory.path();
    let usual = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{usual}", root.join("bin").display()));
    command.env("PLACE", root).env("PLAIN", "one").env("LANG", "C").env_remove("MORE");
    command.stdin(std::fs::File::open(file(place, "input")).unwrap());
    command
}

#[test]
fn the_approval_of_a_command_starts_nothing_else_and_what_differs_is_said() {
    let place = with_tool();
    let asked = tool(&place, &["--hold", "before", "--no-wait"], "x").output().unwrap();
    assert_eq!(status(&asked), 122, "{}", text(&asked.stderr));
    let id = json(&asked)["decision_id"].as_str().unwrap().to_string();
    assert_eq!(answer(&place, &id, "approve"), 0);
    let spend = |word: &str| tool(&place, &["--approval", &id], word);
    let differs = |output: Output, item: &str| {
        let (code, message) = refused(&output);
        assert_eq!(code, "BINDING_MISMATCH", "{message}");
        assert!(message.contains(item), "{item}: {message}");
        let advice = "start that, as it was approved, or ask anew for this with `holdpoint ";
        assert!(message.contains(advice), "{item}: {message}");
        assert!(message.contains(" run --hold before`"), "{item}: {message}");
        assert!(!file(&place, "f").exists(), "{item}");
    };
    differs(spend("y").output().unwrap(), "command: tool x was approved, tool y is asked for");
    let elsewhere = file(&place, "elsewhere");
    let data = elsewhere.join("data");
    std::fs::copy(file(&place, "data"), data).unwrap();
    differs(spend("x").current_dir(&elsewhere).output().unwrap(), "directory: ");
    let path = format!("{}:{}", elsewhere.display(), std::env::var("PATH").unwrap());
    differs(spend("x").env("PATH", path).output().unwrap(), "program: ");
    differs(spend("x").env("LANG", "C.UTF-8").output().unwrap(), "variable LANG: C was approved");
    differs(spend("x").env("PLAIN", "two").output().unwrap(), "variable PLAIN: (not recorded");
    differs(spend("x").env("MORE", "1").output().unwrap(), "variable MORE: nothing was approved");
    let without = "variable PLAIN = (not recorded";
    differs(spend("x").env_remove("PLAIN").output().unwrap(), without);
    differs(spend("x").stdin(Stdio::null()).output().unwrap(), "input: a file, 5 bytes");
    std::fs::write(file(&place, "input"), "other").unwrap();
    differs(spend("x").output().unwrap(), "input: a file, 5 bytes");
    std::fs::write(file(&place, "input"), "typed").unwrap();
    std::fs::write(file(&place, "data"), "two").unwrap();
    differs(spend("x").output().unwrap(), "file ");
    std::fs::write(file(&place, "data"), "one").unwrap();
    write_tool(&place, "bin/tool", "touch \"$PLACE/f\"; true");
    differs(spend("x").output().unwrap(), "program: ");
    write_tool(&place, "bin/tool", "touch \"$PLACE/f\"");
    // What was approved starts, however often something else was tried.
    assert_eq!(status(&spend("x").output().unwrap()), 0);
    assert!(file(&place, "f").exists());
    place.verified();
}

#[test]
fn what_is_not_recorded_is_bound_by_a_key_that_is_kept_elsewhere_until_it_is_spent() {
    let place = Place::new();
    let keys = remembered().join("keys");
    let words = ["sh", "-c", "test \"$HIDDEN\" = hush-hush"];
    let ask = [&["run", "--hold", "before", "--no-wait", "--"][..], &words].concat();
    let asked = command(&place, &ask).env("HIDDEN", "quiet-quiet").output().unwrap();
    let id = text(&asked.stdout).trim().to_string();
    let key = keys.join(format!("{id}.key"));
    assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let bytes: Vec<u8> = contents(&place.log).into_values().flatten().collect();
    let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("HIDDEN") && !holds("quiet-quiet"));
    assert_eq!(answer(&place, &id, "approve"), 0);
    let spend = [&["--json", "run", "--approval", &id, "--"][..], &words].concat();
    let away = keys.join("away");
    std::fs::rename(&key, &away).unwrap();
    let without = command(&place, &spend).env("HIDDEN", "quiet-quiet").output().unwrap();
    assert_eq!(refused(&without).0, "APPROVAL_KEY_MISSING");
    std::fs::rename(&away, &key).unwrap();
    let spent = command(&place, &spend).env("HIDDEN", "quiet-quiet").output().unwrap();
    assert_eq!(status(&spent), 1, "it ran, and found another value: {}", text(&spent.stderr));
    assert!(!key.exists());
    // The key of a question that ended otherwise goes when the next one is asked.
    let denied = leave_open(&place, &[], &["true"]);
    assert_eq!(answer(&place, &denied, "deny"), 0);
    let next = leave_open(&place, &[], &["true"]);
    let left: Vec<_> = std::fs::read_dir(&keys).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, [format!("{next}.key").as_str()]);
}

#[test]
fn a_pipe_is_read_before_the_question_and_given_to_the_command() {
    let place = Place::new();
    let arguments = ["run", "--hold", "before", "--stdin", "--", "cat"];
    let mut waiting = command(&place, &arguments).stdin(Stdio::piped()).spawn().unwrap();
    waiting.stdin.take().unwrap().write_all(b"through a pipe").unwrap();
    let id = await_question(&place);
    let shown = context(&place, &id);
    assert!(shown.contains("input      = a pipe, 14 bytes, SHA-256 "), "{shown}");
    assert_eq!(answer(&place, &id, "approve"), 0);
    let output = waiting.wait_with_output().unwrap();
    assert_eq!((status(&output), text(&output.stdout)), (0, "through a pipe".to_string()));
    // A writer that never ends can be interrupted: nobody was asked.
    let mut endless = command(&place, &arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = endless.stdin.take().unwrap();
    // Once more than a pipe holds was taken, the signals are heeded.
    pipe.write_all(&vec![b'x'; 1 << 20]).unwrap();
    interrupt(&endless);
    assert_eq!(endless.wait().unwrap().code(), Some(130));
    drop(pipe);
    let devices = ["/dev/zero", "/"];
    for device in devices {
        let input = std::fs::File::open(device).unwrap();
        let arguments = [&["--json"], &arguments[..]].concat();
        let output = command(&place, &arguments).stdin(input).output().unwrap();
        assert_eq!(refused(&output).0, "INPUT_NOT_BOUND", "{device}");
    }
    assert_eq!(place.loops().len(), 1);
}

#[test]
fn ctrl_c_at_the_question_takes_it_back_and_exits_130() {
    let place = Place::new();
    let waiting = start(&place, &[], &["touch", "f"]);
    let id = await_question(&place);
    interrupt(&waiting);
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(status(&output), 130, "{}", text(&output.stderr));
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    assert_eq!(shown["state"], "cancelled");
    assert_ne!(answer(&place, &id, "approve"), 0);
    assert!(!file(&place, "f").exists() && place.loops().is_empty());
}

/// A user whose number has no name, and who runs no process here.
const NOBODY_HERE: &str = "uid 3999999999";

#[test]
fn only_those_who_are_named_and_as_many_as_are_asked_for_let_it_start() {
    let place = Place::new();
    let id = leave_open(&place, &["--approvers", NOBODY_HERE], &["touch", "f"]);
    assert_eq!(answer(&place, &id, "approve"), 5);
    // A program of the same user is no person.
    let id = leave_open(&place, &[], &["touch", "f"]);
    let respond = ["decision", "respond", &id, "--option", "approve"];
    let by_program = place.command(&respond).stdin(Stdio::null()).output().unwrap();
    assert_eq!(status(&by_program), 5);
    // An approval of anybody is none where somebody is named by now.
    assert_eq!(answer(&place, &id, "approve"), 0);
    let spend = ["--json", "run", "--approvers", NOBODY_HERE, "--approval", &id, "--"];
    let output = run(&place, &[&spend[..], &["touch", "f"]].concat());
    assert_eq!(refused(&output).0, "POLICY_LOOSENED");
    let id = leave_open(&place, &["--quorum", "2"], &["touch", "f"]);
    assert_eq!(answer(&place, &id, "approve"), 0);
    assert_eq!(answer(&place, &id, "approve"), 0, "the same again is the same vote");
    let spend = ["--json", "run", "--approval", &id, "--", "touch", "f"];
    assert_eq!(refused(&run(&place, &spend)).0, "NOT_APPROVED");
    let cases: [&[&str]; 4] = [
        &["--quorum", "2", "--hold", "always"],
        &["--quorum", "0", "--hold", "before"],
        &["--quorum", "2", "--approvers", "ada", "--hold", "before"],
        &["--max-attempts", "2", "--hold", "before"],
    ];
    for options in cases {
        let arguments = [&["--json", "run"], options, &["--", "touch", "f"]].concat();
        refused(&run(&place, &arguments));
    }
    assert!(!file(&place, "f").exists() && place.loops().is_empty());
}

/// A question of somebody who may write to the log, bound to the very same as another one, with
/// the key of that one. Its id.
fn forged(place: &Place, id: &str, changed: &Value) -> String {
    let asked = json(&place.holdpoint(&["decision", "show", id, "--json"]));
    let mut create = json!({ "command": "decision_point.create", "entropy": "7".repeat(32),
        "by": { "kind": "AGENT", "id": "planner", "authenticated_by": "none", "means": "" },
        "prompt": asked["prompt"], "context": asked["context"], "options": asked["options"],
        "max_iterations": 1, "binding": asked["binding"] });
    create.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    let mut apply = command(place, &["apply"]).stdin(Stdio::piped()).spawn().unwrap();
    let line = json!({ "submit": create, "actor": { "kind": "AGENT", "id": "planner" } });
    apply.stdin.take().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    let answered = apply.wait_with_output().unwrap();
    assert_eq!(status(&answered), 0, "{}", text(&answered.stdout));
    let forged = format!("DP-{}", "7".repeat(32));
    let key = |id: &str| remembered().join("keys").join(format!("{id}.key"));
    std::fs::copy(key(id), key(&forged)).unwrap();
    forged
}

#[test]
fn a_question_that_shows_something_else_than_it_is_bound_to_starts_nothing() {
    let place = Place::new();
    let id = leave_open(&place, &[], &["touch", "f"]);
    // Somebody who may write to the log asks about something harmless.
    let forged = forged(&place, &id, &json!({ "prompt": "Start `true`?" }));
    assert_eq!(answer(&place, &forged, "approve"), 0);
    let spend = ["--json", "run", "--approval", &forged, "--", "touch", "f"];
    let (code, message) = refused(&run(&place, &spend));
    assert_eq!(code, "BINDING_MISMATCH");
    assert!(message.contains("shows something else"), "{message}");
    assert!(message.contains(" run --hold before`"), "{message}");
    assert!(!file(&place, "f").exists() && place.loops().is_empty());
}

#[test]
fn the_question_before_a_start_hides_no_part_of_a_long_command() {
    let place = Place::new();
    let blanks = format!("echo harmless{:5000}; touch f", "");
    let long = format!("echo {}; touch f; echo {}", "x".repeat(3000), "y".repeat(3000));
    for (script, said) in [(&blanks, "5000 blanks> ; touch f'`?"), (&long, "yyy'`?")] {
        let id = leave_open(&place, &[], &["sh", "-c", script]);
        let asked = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
        let prompt = asked["prompt"].as_str().unwrap();
        assert!(prompt.ends_with(said), "{prompt}");
        assert_eq!(prompt.contains("(CUT: "), *script == long, "{prompt}");
        let context = asked["context"].as_str().unwrap();
        assert!(context.contains("; touch f") && !context.contains("CUT"), "{context}");
        let read = text(&place.holdpoint(&["decision", "show", &id]).stdout);
        let read = read.replace("\n| ", "").replace("\n    ", "");
        assert!(read.contains("; touch f"), "{read}");
    }
}

#[test]
fn an_approval_that_is_too_old_starts_nothing() {
    let place = Place::new();
    let id = leave_open(&place, &[], &["touch", "f"]);
    let short = forged(&place, &id, &json!({ "valid_for_ms": 1 }));
    assert_eq!(answer(&place, &short, "approve"), 0);
    let spend = ["--json", "run", "--approval", &short, "--", "touch", "f"];
    assert_eq!(refused(&run(&place, &spend)).0, "APPROVAL_LAPSED");
    assert!(!file(&place, "f").exists() && place.loops().is_empty());
    place.verified();
}

#[test]
fn what_cannot_start_is_not_asked_about() {
    let place = Place::new();
    std::fs::write(file(&place, "plain"), "#!/bin/sh\n").unwrap();
    let long = "a".repeat(256);
    for (program, exit) in [("no-such-program", 127), (&long, 127), ("./plain", 126)] {
        let output = run(&place, &["run", "--hold", "before", "--", program]);
        assert_eq!(status(&output), exit, "{}", text(&output.stderr));
    }
    let listed = json(&place.holdpoint(&["decision", "list", "state=all", "--json"]));
    assert_eq!(listed, json!([]));
}

#[test]
fn a_key_that_cannot_be_read_is_not_one_that_is_not_there() {
    let place = Place::new();
    let id = leave_open(&place, &[], &["touch", "f"]);
    assert_eq!(answer(&place, &id, "approve"), 0);
    let keys = remembered().join("keys");
    let key = keys.join(format!("{id}.key"));
    std::fs::remove_file(&key).unwrap();
    std::fs::create_dir(&key).unwrap();
    let spend = ["--json", "run", "--approval", &id, "--", "touch", "f"];
    assert_eq!(refused(&run(&place, &spend)).0, "NOT_BOUND");
    std::fs::remove_dir_all(&keys).unwrap();
    std::fs::write(&keys, "").unwrap();
    let ask = ["--json", "run", "--hold", "before", "--", "touch", "f"];
    assert!(refused(&run(&place, &ask)).1.contains("list the keys"));
}
