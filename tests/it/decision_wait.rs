//! A wait ends when the decision ended, for no other reason, and its exit code tells how.
//!
//! Each test that is about a mistake made elsewhere names it. There is no server that could cut a
//! wait short or look at the wrong thing for ever: a wait reads the log itself, and has no limit
//! but the one that is asked for.

use crate::apply_support::Session;
use crate::filler::fill;
use crate::machine::trust;
use crate::program::{Place, contents, json, skip, status, text};
use crate::waiting_support::{
    about, accepted, answer, ask, decision, events, human, id_of, in_memory, line, option,
    question, records, tell, waiting,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Exit code, outcome and state of a wait.
fn told(output: &Output) -> (i32, String, String) {
    let said = json(output);
    let field = |value: &Value| value.as_str().unwrap().to_string();
    (status(output), field(&said["outcome"]), field(&said["decision"]["state"]))
}

fn wait(place: &Place, arguments: &[&str]) -> Output {
    decision(place, &[&["wait"], arguments].concat())
}

fn ended(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

/// How a decision is brought to its end, by its terms or by lines for `apply`, and what a wait then
/// says: exit code, outcome and state.
type Ending = (&'static str, Value, Vec<Value>, (i32, &'static str, &'static str));

fn endings() -> Vec<Ending> {
    let id = id_of(1);
    let defaulted = json!({ "timeout_ms": 1, "default_option": "later", "on_timeout": "default" });
    let guidance = answer("ann", &id, json!({ "guidance": "cheaper" }));
    let replaced = question(2, json!({ "supersedes": id }));
    let answered = (0, "answered", "resolved");
    let rejected = (16, "answered", "resolved");
    vec![
        ("an option", json!({}), vec![option("ann", &id, "yes")], answered),
        ("an option that rejects", json!({}), vec![option("ann", &id, "no")], rejected),
        ("a text", json!({}), vec![answer("ann", &id, json!({ "text": "both" }))], answered),
        ("nothing", json!({}), vec![], (10, "still_pending", "pending")),
        ("time, with a default", defaulted, vec![], (11, "default", "expired")),
        ("time", json!({ "timeout_ms": 1 }), vec![], (12, "aborted", "aborted")),
        (
            "cancel",
            json!({}),
            vec![about("ann", "decision_point.cancel", &id)],
            (13, "cancelled", "cancelled"),
        ),
        ("supersede", json!({}), vec![replaced], (14, "superseded", "superseded")),
        ("guidance", json!({}), vec![guidance], (15, "iterated", "iterated")),
    ]
}

/// Bugs 15 and 28: cancelled could not be told from timed out, and both were exit 0.
#[test]
fn bugs_15_and_28_every_way_to_end_has_an_exit_code_and_an_outcome_of_its_own() {
    for (how, terms, lines, (code, outcome, state)) in endings() {
        let place = in_memory();
        let id = ask(&place, 1, terms);
        if !lines.is_empty() {
            accepted(&place, &lines);
        }
        let output = wait(&place, &[&id, "--timeout", "0s"]);
        assert_eq!(told(&output), (code, outcome.to_string(), state.to_string()), "{how}");
        assert_eq!(output.stderr, b"", "{how}");
        let shown = place.holdpoint(&["decision", "wait", &id, "--timeout", "0s"]);
        assert_eq!(status(&shown), code, "{how}");
        assert!(text(&shown.stdout).starts_with(&format!("{id}  ")), "{how}: {shown:?}");
        place.verified();
    }
}

/// Bug 15 as it was met: where asking and waiting are one command.
#[test]
fn bug_15_whoever_asks_and_waits_can_tell_a_cancellation_from_a_timeout() {
    let place = in_memory();
    let asking = ["decision", "create", "--prompt", "Deploy?", "--option", "yes:Deploy", "--json"];
    let given_up = place.holdpoint(&[&asking[..], &["--wait=0s"]].concat());
    assert_eq!(told(&given_up).0, 10);
    let id = json(&given_up)["decision"]["id"].as_str().unwrap().to_string();
    assert!(text(&given_up.stderr).contains(&id), "whoever answers needs the id before");
    accepted(&place, &[about("ann", "decision_point.cancel", &id)]);

    let mut command = place.command(&[&asking[..], &["--wait"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = loop {
        let listed = json(&decision(&place, &["list"]));
        if let Some(id) = listed[0]["id"].as_str() {
            break id.to_string();
        }
        std::thread::yield_now();
    };
    accepted(&place, &[about("ann", "decision_point.cancel", &id)]);
    let cancelled = ended(child);
    assert_eq!(told(&cancelled), (13, "cancelled".to_string(), "cancelled".to_string()));
    assert_eq!(json(&cancelled)["decision"]["id"], json!(id));
    let alone = ["decision", "create", "--prompt", "p", "--wait=soon"];
    assert_eq!(status(&place.holdpoint(&alone)), 2);
}

#[test]
fn guidance_names_the_next_round_to_programs_and_to_people() {
    let place = in_memory();
    let id = ask(&place, 1, json!({ "issue_id": "bd-1" }));
    accepted(&place, &[answer("ann", &id, json!({ "guidance": "cheaper" }))]);
    let next = json(&wait(&place, &[&id]))["decision"]["next_id"].as_str().unwrap().to_string();
    let shown = text(&place.holdpoint(&["decision", "wait", &id]).stdout);
    assert!(shown.contains(&next), "{shown}");
    // By its issue, the round that is open is meant.
    let output = wait(&place, &["bd-1", "--timeout", "0s"]);
    assert_eq!((status(&output), &json(&output)["decision"]["id"]), (10, &json!(next)));
}

#[test]
fn what_a_wait_says_of_a_decision_is_what_showing_it_says() {
    let place = in_memory();
    let id = ask(&place, 1, json!({}));
    let waiter = waiting(&place, &[&id, "--timeout", "60s"]);
    accepted(&place, &[option("ann", &id, "yes")]);
    let followed = json(&ended(waiter));
    let read = json(&wait(&place, &[&id]));
    assert_eq!(followed, read);
    assert_eq!(followed["decision"]["selected_option"], "yes");
    assert_eq!(followed["decision"]["head"]["hash"].as_str().unwrap().len(), 64);
    let resolved = records(&place, "decision_point.resolved");
    assert_eq!(followed["decision"]["head"]["hash"], resolved[0]["link"]);
}

/// Bug 13: whoever looks first and subscribes then misses what comes in between. Each round races
/// a wait that starts against an answer.
#[test]
fn bug_13_an_answer_at_any_moment_of_a_wait_ends_it() {
    let place = in_memory();
    let mut session = Session::begin(&place);
    for round in 1..=40 {
        let id = id_of(round);
        assert_eq!(events(&tell(&mut session, &question(round, json!({})))).len(), 1);
        let waiter = waiting(&place, &[&id, "--timeout", "120s"]);
        let turns = round % 8;
        for _ in 0..turns {
            tell(&mut session, &about("ann", "decision_point.remind", &id));
        }
        tell(&mut session, &option("ann", &id, "yes"));
        assert_eq!(told(&ended(waiter)).0, 0, "round {round}");
    }
    assert_eq!(session.end(), 0);
}

/// Bug 14: a reminder or a comment woke a waiter, which took it for an empty answer.
#[test]
fn bug_14_what_is_no_ending_wakes_nobody_with_an_empty_answer() {
    let place = in_memory();
    let id = ask(&place, 1, json!({}));
    let other = ask(&place, 2, json!({}));
    let waiter = waiting(&place, &[&id, "--timeout", "120s"]);
    let mut session = Session::begin(&place);
    for _ in 0..20 {
        tell(&mut session, &about("ann", "decision_point.remind", &id));
        let escalated = json!({ "decision_id": id, "to": "boss", "reason": "it presses" });
        tell(&mut session, &line("ann", "decision_point.escalate", escalated));
    }
    tell(&mut session, &option("ann", &other, "yes"));
    let refused = tell(&mut session, &option("ann", &id, "maybe"));
    assert_eq!(refused["refusal"]["code"], "BAD_OPTION");
    assert_eq!(told(&wait(&place, &[&id, "--timeout", "0s"])).0, 10);
    tell(&mut session, &option("ann", &id, "later"));
    let output = ended(waiter);
    assert_eq!(
        (status(&output), &json(&output)["decision"]["selected_option"]),
        (0, &json!("later"))
    );
    assert_eq!(json(&output)["decision"]["reminders"], 20);
    session.end();
}

/// Bug 16: whoever stopped waiting was told of a timeout, and let the action pass.
#[test]
fn bug_16_a_wait_that_is_interrupted_says_nothing_of_the_decision() {
    let place = in_memory();
    let id = ask(&place, 1, json!({}));
    let before = contents(&place.log);
    let waiter = waiting(&place, &[&id]);
    let pid = Pid::from_raw(i32::try_from(waiter.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = ended(waiter);
    // A shell calls this 130.
    assert_eq!(output.status.signal(), Some(Signal::INT.as_raw()));
    assert_eq!(output.stdout, b"");
    assert_eq!(contents(&place.log), before);
    assert_eq!(told(&wait(&place, &[&id, "--timeout", "0s"])).0, 10);
}

/// Bugs 17 and 18: a wait of 30 minutes stood in a server with a limit of 60 seconds, and where
/// there was a server the wrong thing was looked at for ever.
#[test]
fn bugs_17_and_18_a_wait_may_be_as_long_as_any_decision() {
    let place = in_memory();
    let id = ask(&place, 1, json!({}));
    let waiter = waiting(&place, &[&id, "--timeout", "366d"]);
    accepted(&place, &[option("ann", &id, "yes")]);
    assert_eq!(told(&ended(waiter)).0, 0);
}

/// Bug 19: a wait that gave up was put on record as a denial.
#[test]
fn bug_19_giving_up_is_no_decision_and_leaves_the_log_as_it_was() {
    let place = in_memory();
    let id = ask(&place, 1, json!({ "blocks": ["deploy"], "timeout_ms": 86_400_000_u64 }));
    let before = contents(&place.log);
    for timeout in ["0s", "1ms", "120ms"] {
        assert_eq!(told(&wait(&place, &[&id, "--timeout", timeout])).0, 10, "{timeout}");
        assert_eq!(contents(&place.log), before, "{timeout}");
    }
    accepted(&place, &[option("ann", &id, "yes")]);
    let output = wait(&place, &[&id]);
    assert_eq!((status(&output), &json(&output)["decision"]["approved"]), (0, &json!(true)));
}

/// A decision without a default is aborted at its deadline: nothing is released, and the waiter
/// notices it itself.
#[test]
fn a_deadline_that_passes_during_the_wait_aborts_and_releases_nothing() {
    let place = in_memory();
    let terms = json!({ "timeout_ms": 300, "blocks": ["deploy"], "default_option": "yes" });
    let id = ask(&place, 1, terms);
    let output = wait(&place, &[&id]);
    assert_eq!(told(&output), (12, "aborted".to_string(), "aborted".to_string()));
    let decision = &json(&output)["decision"];
    assert_eq!(
        (&decision["selected_option"], &decision["approved"]),
        (&Value::Null, &json!(false))
    );
    assert_eq!(
        (&decision["responded_by"], &decision["released_at"]),
        (&json!("system:timeout"), &Value::Null)
    );
    assert_eq!(records(&place, "decision_point.released").len(), 0);
    assert_eq!(records(&place, "decision_point.aborted").len(), 1);
    place.verified();
}

#[test]
fn several_waiters_on_one_deadline_record_it_once() {
    let place = in_memory();
    let terms = json!({ "timeout_ms": 400, "blocks": ["deploy"], "default_option": "yes",
        "on_timeout": "default" });
    let id = ask(&place, 1, terms);
    let waiters: Vec<Child> = (0..4).map(|_| waiting(&place, &[&id])).collect();
    for waiter in waiters {
        let output = ended(waiter);
        assert_eq!(told(&output).0, 16, "{output:?}");
        let released = &json(&output)["decision"]["released_at"];
        assert_eq!(released, &Value::Null, "silence releases nothing that needs a person");
    }
    assert_eq!(records(&place, "decision_point.default_taken").len(), 1);
    place.verified();
}

#[test]
fn a_default_that_lets_nothing_go_on_is_a_no() {
    let place = in_memory();
    for (number, (blocks, exit)) in [(json!([]), 11), (json!(["deploy"]), 16)].iter().enumerate() {
        let terms = json!({ "timeout_ms": 1, "blocks": blocks, "default_option": "yes",
            "on_timeout": "default", "policy": null, "binding": null });
        let id = ask(&place, number as u64 + 1, terms);
        // Before it is recorded, and after.
        for _ in 0..2 {
            let output = wait(&place, &[&id]);
            assert_eq!(told(&output).0, *exit, "{blocks}: {output:?}");
        }
    }
    place.verified();
}

/// A decision that is held beyond its time goes on waiting, and says so.
#[test]
fn a_decision_that_is_held_beyond_its_time_is_still_pending_and_overdue() {
    let place = in_memory();
    let id = ask(&place, 1, json!({ "timeout_ms": 1, "on_timeout": "hold" }));
    let before = contents(&place.log);
    let output = wait(&place, &[&id, "--timeout", "20ms"]);
    assert_eq!((status(&output), &json(&output)["decision"]["overdue"]), (10, &json!(true)));
    let shown = place.holdpoint(&["decision", "wait", &id, "--timeout", "0s"]);
    assert!(text(&shown.stdout).contains("its time is over"), "{shown:?}");
    assert_eq!(contents(&place.log), before);
}

/// Where nobody waits, whoever writes next records the warning, once, and every view has it.
#[test]
fn the_next_writer_records_once_that_most_of_the_time_of_a_decision_is_over() {
    let place = in_memory();
    let id = ask(&place, 1, json!({ "timeout_ms": 1, "on_timeout": "hold" }));
    assert_eq!(records(&place, "decision_point.warned").len(), 0);
    ask(&place, 2, json!({}));
    ask(&place, 3, json!({}));
    let warned = records(&place, "decision_point.warned");
    assert_eq!(warned.len(), 1, "{warned:#?}");
    let shown = json(&decision(&place, &["show", &id]));
    let warning = &shown["warning"];
    assert_eq!(warning["sequence"], warned[0]["sequence"], "{shown:#}");
    assert_eq!(warning["due_at"], shown["warning_at"]);
    let waited = json(&wait(&place, &[&id, "--timeout", "0s"]));
    assert_eq!(waited["decision"]["warning"], *warning, "{waited:#}");
    let other = json(&decision(&place, &["show", &id_of(2)]));
    assert_eq!((&other["warning"], &other["warning_at"]), (&Value::Null, &Value::Null));
    place.verified();
}

/// Who waits is warned, once.
#[test]
fn a_wait_warns_once_when_most_of_the_time_is_over() {
    let place = in_memory();
    let id = ask(&place, 1, json!({ "timeout_ms": 4_000 }));
    let output = wait(&place, &[&id]);
    assert_eq!(told(&output).0, 12);
    let said = text(&output.stderr);
    assert_eq!(said.matches("WARNING: 80 % of the time are over").count(), 1, "{said}");
    assert!(said.contains("then nothing is decided"), "{said}");
}

/// Bug 30: a command that reads wrote, and failed where that was not allowed.
#[test]
fn bug_30_whoever_may_not_write_waits_all_the_same() {
    let place = Place::new();
    let (answered, open, overdue, default) = (id_of(1), id_of(2), id_of(3), id_of(4));
    let lines = [
        question(1, json!({})),
        option("ann", &answered, "yes"),
        question(2, json!({})),
        question(3, json!({ "timeout_ms": 600 })),
        question(4, json!({ "timeout_ms": 600, "on_timeout": "default", "default_option": "yes" })),
    ];
    accepted(&place, &lines);
    let Some(another_user) = another_user(&place) else {
        return skip("waiting without write permission: this user cannot become another one");
    };
    trust(&[&place.log]);
    let before = contents(&place.log);
    let wait = |id: &str, most: &str| {
        let mut command = another_user();
        command.arg("--log").arg(&place.log).args(["decision", "wait", id, "--json"]);
        command.args(["--timeout", most]).output().unwrap()
    };
    assert_eq!(told(&wait(&answered, "20ms")).0, 0);
    assert_eq!(told(&wait(&open, "20ms")).0, 10);
    let output = wait(&overdue, "1h");
    assert_eq!((told(&output).0, &json(&output)["decision"]["overdue"]), (12, &json!(true)));
    let said = text(&output.stderr);
    assert!(said.contains("cannot record that") && said.contains("decision expire"), "{said}");
    assert_eq!(told(&wait(&default, "1h")).0, 11);
    assert_eq!(contents(&place.log), before);
}

/// The program as a user who may read this log and not write to it.
fn another_user(place: &Place) -> Option<impl Fn() -> Command + use<>> {
    const NOBODY: u32 = 65_534;
    let program = place.directory.path().join("program");
    std::fs::copy(env!("CARGO_BIN_EXE_holdpoint"), &program).unwrap();
    for directory in [place.directory.path(), &place.log, &place.log.join("segments")] {
        set_mode(directory, 0o555);
    }
    contents(&place.log).keys().for_each(|file| set_mode(file, 0o444));
    let command = move || {
        let mut command = Command::new(&program);
        if rustix::process::getuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    let tried = command().arg("--version").output();
    tried.is_ok_and(|output| output.status.success()).then_some(command)
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn of_several_the_first_that_ended_is_told() {
    let place = in_memory();
    for number in 1..=3 {
        ask(&place, number, json!({}));
    }
    let ids = [id_of(1), id_of(2), id_of(3)];
    let named: Vec<&str> = ids.iter().map(String::as_str).collect();
    let none = wait(&place, &[&["--timeout", "0s"], &named[..]].concat());
    assert_eq!((status(&none), &json(&none)["decision"]["id"]), (10, &json!(ids[0])));
    let waiter = waiting(&place, &named);
    accepted(&place, &[option("ann", &ids[2], "yes"), option("ann", &ids[1], "no")]);
    assert_eq!(told(&ended(waiter)).0, 0);
    let first = json(&wait(&place, &named));
    assert_eq!(first["decision"]["id"], json!(ids[2]));
}

#[test]
fn what_is_not_there_is_not_waited_for() {
    let place = in_memory();
    let nothing = wait(&place, &[&id_of(1)]);
    assert_eq!((status(&nothing), &json(&nothing)["error"]["code"]), (3, &json!("nothing_here")));
    ask(&place, 1, json!({ "issue_id": "bd-abc" }));
    let unknown = wait(&place, &["bd-abd"]);
    assert_eq!((status(&unknown), &json(&unknown)["error"]["code"]), (3, &json!("not_found")));
    assert!(text(&unknown.stderr).contains("did you mean bd-abc?"));
    ask(&place, 2, json!({ "issue_id": "bd-abc" }));
    assert_eq!(status(&wait(&place, &["bd-abc"])), 4);
}

#[test]
fn times_that_mean_nothing_are_refused() {
    let place = in_memory();
    let id = ask(&place, 1, json!({}));
    for timeout in ["-1s", "soon", "", "5", "367d", "1000000y", "99999999999999999999s"] {
        let output = wait(&place, &[&id, &format!("--timeout={timeout}")]);
        assert_eq!(status(&output), 2, "{timeout}: {output:?}");
    }
    assert_eq!(status(&place.holdpoint(&["decision", "wait"])), 2);
}

#[test]
fn a_log_that_does_not_verify_answers_nothing() {
    let place = in_memory();
    let id = ask(&place, 1, json!({}));
    accepted(&place, &[option("ann", &id, "yes")]);
    let segment = contents(&place.log.join("segments")).into_keys().next().unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    let place_of = |word: &[u8]| bytes.windows(word.len()).position(|found| found == word);
    let at = place_of(b"Deploy?").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let output = wait(&place, &[&id]);
    assert_eq!((status(&output), &json(&output)["error"]["code"]), (6, &json!("damaged")));
}

/// The records before the wait move to an archive, and more come than one segment holds.
#[test]
fn a_log_that_grows_and_is_archived_during_the_wait_confuses_nobody() {
    let place = in_memory();
    let id = ask(&place, 1, json!({}));
    let mut waiters = Vec::new();
    for round in 1..=3 {
        waiters.push(waiting(&place, &[&id, "--timeout", "120s"]));
        fill(&place.log, 60);
        let archive = place.directory.path().join("archive");
        let archived = place.holdpoint(&["archive", archive.to_str().unwrap()]);
        assert_eq!(status(&archived), 0, "round {round}: {}", text(&archived.stderr));
    }
    accepted(&place, &[option("ann", &id, "yes")]);
    for waiter in waiters {
        let output = ended(waiter);
        assert_eq!(told(&output).0, 0, "{}", text(&output.stderr));
    }
    assert_eq!(told(&wait(&place, &[&id])).0, 0);
}

/// A vote of two: one voice wakes nobody.
#[test]
fn a_wait_for_several_approvals_ends_with_the_one_that_suffices() {
    let place = in_memory();
    let policy = json!({ "quorum": 2, "authentication": "none" });
    let id = ask(&place, 1, json!({ "policy": policy }));
    let waiter = waiting(&place, &[&id, "--timeout", "120s"]);
    accepted(&place, &[option("ann", &id, "yes")]);
    let one = wait(&place, &[&id, "--timeout", "0s"]);
    assert_eq!(
        (status(&one), json(&one)["decision"]["approvals"].as_array().unwrap().len()),
        (10, 1)
    );
    accepted(&place, &[option("ben", &id, "yes")]);
    let output = ended(waiter);
    assert_eq!(told(&output).0, 0);
    assert_eq!(json(&output)["decision"]["approvals"].as_array().unwrap().len(), 2);
    assert_eq!(human("ben")["id"], json(&output)["decision"]["responded_by"]);
}

/// Whoever lets a wait gate a step goes on only where somebody said yes, and it still counts.
#[test]
fn a_wait_for_an_approval_is_0_only_for_a_yes_that_still_counts() {
    let place = in_memory();
    let binding = json!({ "tool": "deploy", "input_sha256": "a".repeat(64) });
    let spent = line("asker", "decision_point.consume", json!({ "binding": binding }));
    let no = json!({ "option": "no" });
    for (number, (more, response, then, exit)) in [
        (json!({}), json!({ "option": "yes" }), None, 0),
        (json!({}), no.clone(), None, 16),
        (json!({ "allow_text": true }), json!({ "text": "yes, go" }), None, 16),
        (json!({}), json!({ "option": "yes" }), Some(spent), 5),
        (json!({ "valid_for_ms": 1 }), json!({ "option": "yes" }), None, 5),
        // Nobody is named, and something waits.
        (json!({ "binding": null, "policy": null, "blocks": ["x"] }), no.clone(), None, 16),
    ]
    .into_iter()
    .enumerate()
    {
        let mut terms = json!({ "binding": binding });
        terms.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let id = ask(&place, number as u64 + 1, terms);
        // What is a person's is typed.
        let (by, said) = response.as_object().unwrap().iter().next().unwrap();
        let by = format!("--{by}");
        let words = ["decision", "respond", &id, &by, said.as_str().unwrap()];
        let given = place.holdpoint(&words);
        assert_eq!(status(&given), 0, "{}", text(&given.stderr));
        if let Some(mut spend) = then {
            spend["submit"]["decision_id"] = id.as_str().into();
            accepted(&place, &[spend]);
        }
        // Whoever writes next records that its time is over, which it is before.
        for _ in 0..2 {
            let output = wait(&place, &[&id, "--timeout", "0s"]);
            assert_eq!(told(&output).0, exit, "{more} {response}: {}", text(&output.stdout));
            let says_why = text(&output.stderr).contains("approval");
            assert_eq!(says_why, exit == 5, "{more} {response}: {}", text(&output.stderr));
            accepted(&place, &[json!({ "submit": { "command": "log.record_fingerprint" } })]);
        }
    }
    place.verified();
}
