//! What the host says became of an approved call is recorded once, as its claim, and holds nothing.

use crate::hook::{ask, call, pre, respond, run};
use crate::program::{Place, json, json_lines, skip, status, text};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

/// A call that was approved and let through; the id of its decision.
fn let_through(place: &Place, command: &str) -> String {
    let id = ask(place, &[], &call("s", command));
    respond(place, &id, "approve");
    assert_eq!(pre(place, &[], &call("s", command)).0, "allow");
    id
}

/// What the host says once a call has run.
fn ran(command: &str, response: Value) -> Value {
    let mut input = call("s", command);
    input["hook_event_name"] = "PostToolUse".into();
    input["tool_use_id"] = "toolu_01".into();
    input["tool_response"] = response;
    input
}

fn post(place: &Place, input: &Value) -> Output {
    run(place, &["post-tool-use"], input)
}

/// It is taken, and nothing is said for or against anything.
fn taken(place: &Place, input: &Value) {
    let output = post(place, input);
    assert_eq!((status(&output), text(&output.stderr)), (0, String::new()));
    assert_eq!(json(&output), json!({}));
}

fn show(place: &Place, id: &str) -> Value {
    json(&place.holdpoint(&["decision", "show", id, "--json"]))
}

fn shown(place: &Place, id: &str) -> String {
    text(&place.holdpoint(&["decision", "show", id]).stdout)
}

/// The records of this kind.
fn reported(place: &Place) -> Vec<Value> {
    let kind = "decision_point.outcome_reported";
    let output = place.holdpoint(&["log", &format!("kind={kind}"), "--json"]);
    json_lines(&output)
}

#[test]
fn what_became_of_an_approved_call_is_on_record_as_the_hosts_claim() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    assert_eq!(show(&place, &id)["claimed_outcome"], Value::Null);
    assert!(shown(&place, &id).contains("outcome unknown"), "{}", shown(&place, &id));
    let response = json!({ "stdout": "deployed\nAPI_TOKEN=hunter2\n", "interrupted": false });
    taken(&place, &ran("make deploy", response.clone()));
    let outcome = &show(&place, &id)["claimed_outcome"];
    assert_eq!(
        (&outcome["status"], &outcome["tool_use_id"]),
        (&json!("SUCCEEDED"), &json!("toolu_01"))
    );
    assert_eq!(outcome["response_bytes"], response.to_string().len());
    let person = shown(&place, &id);
    assert!(person.contains("SUCCEEDED, claimed by the host and not proven"), "{person}");
    assert!(!person.contains("deployed"), "what a tool printed is no part of a decision: {person}");
    let [record] = reported(&place).try_into().unwrap();
    let claim = record["event"]["claim"].clone();
    let head = claim["head"].as_str().unwrap();
    assert!(head.contains("deployed") && head.contains("API_TOKEN=[redacted]"), "{head}");
    assert!(!record.to_string().contains("hunter2"), "{record}");
    place.verified();
}

/// The same once more is nothing new; something else of the same call changes nothing either.
#[test]
fn an_outcome_is_reported_once_for_each_call() {
    let place = Place::new();
    let first = let_through(&place, "make deploy");
    taken(&place, &ran("make deploy", json!("first")));
    taken(&place, &ran("make deploy", json!("first")));
    taken(&place, &ran("make deploy", json!("another")));
    assert_eq!(reported(&place).len(), 1);
    let second = let_through(&place, "make deploy");
    let mut again = ran("make deploy", json!("second"));
    again["tool_use_id"] = "toolu_02".into();
    taken(&place, &again);
    assert_eq!(show(&place, &first)["claimed_outcome"]["tool_use_id"], "toolu_01");
    assert_eq!(show(&place, &second)["claimed_outcome"]["tool_use_id"], "toolu_02");
    place.verified();
}

/// The file in which the outcome waits of a call that was let through, while another process keeps
/// the log's lock.
fn waiting(place: &Place, id: &str) -> PathBuf {
    let lock = fs::File::open(place.log.join("LOCK")).unwrap();
    lock.lock().unwrap();
    taken(place, &ran("make deploy", json!("deployed")));
    taken(place, &ran("make deploy", json!("deployed")));
    let file = place.log.join("runs").join(id.replace("DP-", "OUTCOME-"));
    let listed = fs::read_dir(place.log.join("runs")).unwrap();
    let outcomes = listed
        .filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().starts_with("OUTCOME-"));
    assert_eq!(outcomes.count(), 1);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    file
}

fn write(place: &Place) {
    let recorded = place.holdpoint(&["record", "--stream", "builds", "--type", "build.done"]);
    assert_eq!(status(&recorded), 0, "{}", text(&recorded.stderr));
}

#[test]
fn an_outcome_is_not_lost_to_a_lock_however_long_it_is_held() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    let file = waiting(&place, &id);
    let told = text(&place.holdpoint(&["verify"]).stdout);
    assert!(told.contains("what became of 1 approved call, unproven"), "{told}");
    assert!(!told.contains("not counted"), "{told}");
    let told = json(&place.holdpoint(&["verify", "--json"]));
    let entry = &told["waiting"][0]["entries"][0];
    assert_eq!(entry["what"], "decision_point.report_outcome", "{told:#}");
    let copy = place.directory.path().join("copy");
    let [from, to] = [&place.log, &copy].map(|path| path.to_str().unwrap());
    assert_eq!(status(&place.holdpoint(&["copy", from, to])), 0);
    let copied = copy.join("runs").join(file.file_name().unwrap());
    assert_eq!(fs::read(copied).unwrap(), fs::read(&file).unwrap());
    write(&place);
    assert_eq!(show(&place, &id)["claimed_outcome"]["status"], "SUCCEEDED");
    assert!(!file.exists());
    // Once, whoever comes again.
    taken(&place, &ran("make deploy", json!("deployed")));
    assert_eq!(reported(&place).len(), 1);
    place.verified();
}

#[test]
fn an_outcome_that_waits_is_taken_up_by_hold_expire() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    let file = waiting(&place, &id);
    let expired = place.holdpoint(&["decision", "expire"]);
    assert_eq!(status(&expired), 0, "{}", text(&expired.stderr));
    assert_eq!(show(&place, &id)["claimed_outcome"]["status"], "SUCCEEDED");
    assert!(!file.exists());
    place.verified();
}

/// Whoever comes again takes up the one that waits, and finds its own call reported by that.
#[test]
fn an_outcome_that_comes_again_is_taken_although_the_first_one_still_waits() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    let file = waiting(&place, &id);
    taken(&place, &ran("make deploy", json!("another")));
    taken(&place, &ran("make deploy", json!("deployed")));
    assert_eq!(reported(&place).len(), 1);
    assert!(!file.exists());
    place.verified();
}

/// What somebody else does to a file.
type Spoil = fn(&PathBuf);

#[test]
fn an_outcome_that_somebody_else_wrote_linked_or_swapped_counts_for_nothing_and_is_kept() {
    let spoil: [(Spoil, &str); 5] = [
        (|file| fs::write(file, "no outcome\n").unwrap(), "not the one that was signed"),
        (|file| fs::hard_link(file, file.with_extension("link")).unwrap(), "2 names"),
        (
            |file| {
                let elsewhere = file.with_extension("elsewhere");
                fs::rename(file, &elsewhere).unwrap();
                std::os::unix::fs::symlink(elsewhere, file).unwrap();
            },
            "not a regular file",
        ),
        (
            |file| {
                // Of another approval.
                let text = fs::read_to_string(file).unwrap();
                let other = text.replace("SUCCEEDED", "FAILED");
                fs::write(file, other).unwrap();
            },
            "not the one that was signed",
        ),
        (|file| std::os::unix::fs::chown(file, Some(65_534), None).unwrap(), "no hook of user"),
    ];
    let is_root = rustix::process::geteuid().is_root();
    for (spoil, why) in spoil {
        if !is_root && why.starts_with("no hook") {
            skip("another user, for which it takes root");
            continue;
        }
        let place = Place::new();
        let id = let_through(&place, "make deploy");
        let file = waiting(&place, &id);
        spoil(&file);
        for _ in 0..2 {
            let told = text(&place.holdpoint(&["verify"]).stdout);
            let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(told.contains("a file that is not the recorder's"), "{told}");
            assert!(told.contains(why), "{why}: {told}");
            write(&place);
        }
        assert!(file.symlink_metadata().is_ok(), "it was removed");
        assert_eq!(reported(&place).len(), 0);
        place.verified();
    }
}

#[test]
fn an_outcome_is_not_lost_to_what_is_torn_or_foreign_in_the_place_of_its_file() {
    let spoil: [Spoil; 4] = [
        // As if the hook had been killed while it wrote.
        |file| {
            let bytes = fs::read(file).unwrap();
            fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        },
        |file| fs::write(file, "no outcome\n").unwrap(),
        |file| {
            fs::remove_file(file).unwrap();
            std::os::unix::fs::symlink("nowhere", file).unwrap();
        },
        |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
    ];
    for (number, spoil) in spoil.into_iter().enumerate() {
        let place = Place::new();
        let id = let_through(&place, "make deploy");
        let file = waiting(&place, &id);
        spoil(&file);
        let lock = fs::File::open(place.log.join("LOCK")).unwrap();
        lock.lock().unwrap();
        taken(&place, &ran("make deploy", json!("deployed")));
        taken(&place, &ran("make deploy", json!("deployed")));
        let other = file.with_extension("1");
        assert!(other.exists() && !file.with_extension("2").exists(), "{number}");
        drop(lock);
        write(&place);
        assert_eq!(show(&place, &id)["claimed_outcome"]["status"], "SUCCEEDED", "{number}");
        assert_eq!(reported(&place).len(), 1, "{number}");
        assert!(!other.exists(), "{number}");
        assert!(file.symlink_metadata().is_ok(), "{number}: it is kept");
        place.verified();
    }
}

#[test]
fn an_outcome_that_is_torn_is_kept_and_told_as_a_file_that_is_no_hooks() {
    for length in [0, 10, 80] {
        let place = Place::new();
        let id = let_through(&place, "make deploy");
        let file = waiting(&place, &id);
        fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(length).unwrap();
        write(&place);
        assert_eq!(fs::metadata(&file).unwrap().len(), length);
        assert_eq!(reported(&place).len(), 0);
        let told = text(&place.holdpoint(&["verify"]).stdout);
        assert!(told.contains("not the recorder's") && told.contains("it is torn"), "{told}");
        assert!(shown(&place, &id).contains("no report"));
        place.verified();
    }
}

#[test]
fn of_an_outcome_that_waits_nobody_says_that_nothing_was_reported() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    waiting(&place, &id);
    let session = text(&place.holdpoint(&["show", "session:claude-code:s"]).stdout);
    for told in [shown(&place, &id), session.to_string()] {
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("waits in `runs/`, unproven"), "{told}");
        assert!(!told.contains("no report"), "{told}");
    }
    write(&place);
    assert!(shown(&place, &id).contains("SUCCEEDED"));
}

#[test]
fn where_every_name_of_an_outcome_is_taken_the_hook_fails_and_says_what_to_do() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    let file = waiting(&place, &id);
    fs::write(&file, "no outcome\n").unwrap();
    for number in 1..10 {
        fs::write(file.with_extension(number.to_string()), "no outcome\n").unwrap();
    }
    let lock = fs::File::open(place.log.join("LOCK")).unwrap();
    lock.lock().unwrap();
    let output = post(&place, &ran("make deploy", json!("deployed")));
    assert_eq!((status(&output), json(&output)), (1, json!({})));
    let told = text(&output.stderr);
    assert!(told.contains("is not on record") && told.contains("move it out"), "{told}");
}

/// As many files as anybody likes are not looked into by each writer, and an outcome among them is
/// taken up all the same.
#[test]
fn files_that_no_hook_wrote_do_not_keep_an_outcome_waiting() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    let file = waiting(&place, &id);
    for number in 0..300 {
        let name = format!("OUTCOME-{number:032x}");
        fs::write(file.with_file_name(name), "no outcome\n").unwrap();
    }
    let mut writers = 0;
    while show(&place, &id)["claimed_outcome"].is_null() {
        write(&place);
        writers += 1;
        assert!(writers < 200, "it is taken up by nobody");
    }
    assert!(!file.exists());
}

#[test]
fn a_failure_and_an_interruption_are_told_apart() {
    let failed = |more: Value| {
        let mut input = call("s", "make deploy");
        input["hook_event_name"] = "PostToolUseFailure".into();
        input["error"] = "Command failed with exit code 2".into();
        input["is_interrupt"] = more;
        input
    };
    for (input, status) in [
        (failed(false.into()), "FAILED"),
        (failed(true.into()), "INTERRUPTED"),
        (ran("make deploy", json!({ "interrupted": true })), "INTERRUPTED"),
        (ran("make deploy", json!({ "isError": true })), "FAILED"),
        (ran("make deploy", Value::Null), "SUCCEEDED"),
    ] {
        let place = Place::new();
        let id = let_through(&place, "make deploy");
        taken(&place, &input);
        assert_eq!(show(&place, &id)["claimed_outcome"]["status"], status, "{input}");
        place.verified();
    }
}

/// Both ends of a long answer are kept, and its whole digest.
#[test]
fn of_a_long_answer_both_ends_are_kept() {
    let place = Place::new();
    let id = let_through(&place, "cat book");
    let book = format!("begin\n{}the end", "of a \u{e9}\n".repeat(30_000));
    taken(&place, &ran("cat book", json!({ "stdout": book })));
    let [record] = reported(&place).try_into().unwrap();
    let claim = &record["event"]["claim"];
    let (head, tail) = (claim["head"].as_str().unwrap(), claim["tail"].as_str().unwrap());
    assert!(head.len() <= 4096 && tail.len() <= 4096 && head.len() > 4000 && tail.len() > 4000);
    assert!(head.starts_with("{\"stdout\":\"begin") && tail.ends_with("the end\"}"), "{claim}");
    assert!(show(&place, &id)["claimed_outcome"]["response_bytes"].as_u64().unwrap() > 200_000);
}

/// A call that nobody approved, that another session or another input was approved for, or that was
/// not let through yet, has no outcome here.
#[test]
fn what_nobody_approved_is_not_recorded() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    let mut other = ran("make deploy", json!("x"));
    other["session_id"] = "t".into();
    for input in [ran("ls", json!("x")), other] {
        taken(&place, &input);
    }
    ask(&place, &[], &call("s", "rm -rf /"));
    taken(&place, &ran("rm -rf /", json!("gone")));
    assert!(reported(&place).is_empty());
    assert_eq!(show(&place, &id)["claimed_outcome"], Value::Null);
}

/// The tool has run: nothing is blocked any more, and the host is told.
#[test]
fn what_cannot_be_recorded_is_told_and_blocks_nothing() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    let without = |field: &str| {
        let mut input = ran("make deploy", json!("x"));
        input.as_object_mut().unwrap().remove(field);
        input
    };
    let mut foreign = ran("make deploy", json!("x"));
    foreign["hook_event_name"] = "PreToolUse".into();
    let mut hidden = ran("make deploy", json!("x"));
    hidden["tool_use_id"] = "a\u{202e}b".into();
    let inputs =
        [json!([]), without("tool_use_id"), without("tool_name"), without("session_id"), foreign];
    for input in inputs.into_iter().chain([hidden]) {
        let output = post(&place, &input);
        let said = text(&output.stderr);
        assert_eq!((status(&output), json(&output)), (1, json!({})), "{input}: {said}");
        assert!(said.contains("the outcome of this call is not on record: "), "{input}: {said}");
        assert!(!said.contains('\u{202e}'), "{said}");
    }
    assert_eq!(show(&place, &id)["claimed_outcome"], Value::Null);
    fs::rename(&place.log, place.directory.path().join("elsewhere")).unwrap();
    fs::create_dir(&place.log).unwrap();
    let output = post(&place, &ran("make deploy", json!("x")));
    assert_eq!(status(&output), 1);
    let said = text(&output.stderr);
    assert!(said.contains("there is no log at") && !said.contains("asked"), "{said}");
}

/// The directory in which a tool ran may be gone by the time that it has.
#[test]
fn an_outcome_is_recorded_where_the_directory_is_gone() {
    let place = Place::new();
    let directory = place.directory.path().join("build");
    fs::create_dir(&directory).unwrap();
    let within = |mut input: Value| {
        input["cwd"] = directory.to_str().unwrap().into();
        input
    };
    let id = ask(&place, &[], &within(call("s", "rmdir")));
    respond(&place, &id, "approve");
    assert_eq!(pre(&place, &[], &within(call("s", "rmdir"))).0, "allow");
    fs::remove_dir(&directory).unwrap();
    taken(&place, &within(ran("rmdir", json!("gone"))));
    assert_eq!(show(&place, &id)["claimed_outcome"]["status"], "SUCCEEDED");
}
