//! No automation passes a hold point without a person: asked in one process, answered in another,
//! and provable afterwards.

use crate::program::{Place, contents, error_of, json, json_lines, status, text, with_hold};
use crate::terminal::{Terminal, at_terminal};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_replay::machine::this_boot;
use holdpoint_replay::{ReadOptions, verify};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::{Child, Output, Stdio};

/// The only open request, as `decision list --json` has it; none where there is no log yet.
fn open_request(place: &Place) -> Option<Value> {
    let listed = place.holdpoint(&["decision", "list", "--kind", "hold", "--json"]).stdout;
    serde_json::from_slice::<Vec<Value>>(&listed).ok()?.into_iter().map(with_hold).next()
}

/// Waits until a request is open, and gives its id.
fn await_request(place: &Place) -> String {
    loop {
        if let Some(request) = open_request(place) {
            return request["request_id"].as_str().unwrap().to_string();
        }
        std::thread::yield_now();
    }
}

/// Leaves a question open about a command that failed.
fn leave_open(place: &Place) -> String {
    let output = place.holdpoint(&["run", "--hold", "on-failure", "--no-wait", "--", "false"]);
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    await_request(place)
}

fn answer(place: &Place, request: &str, options: &[&str]) -> Output {
    at_terminal(place, &[&["decision", "respond", request], options].concat())
}

fn show(place: &Place, request: &str) -> Value {
    with_hold(json(&place.holdpoint(&["decision", "show", request, "--json"])))
}

/// Every record of a kind, with its events' fields.
fn records(place: &Place, kind: &str) -> Vec<Value> {
    let output = place.holdpoint(&["log", &format!("kind={kind}"), "--json"]);
    json_lines(&output)
}

/// A run in the background, with nobody at a terminal.
fn start(place: &Place, arguments: &[&str]) -> Child {
    let mut command = place.command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn two_terminals_one_waits_and_the_other_answers() {
    let place = Place::new();
    let mut waiting = Terminal::start(&place, &["run", "--hold", "after", "--", "false"]);
    let asked = waiting.wait_for("CONTINUE, RETRY, ABORT? ");
    for shown in ["\r| false\r", "exit status 1 after", "1 of 3", "left, then ABORT"] {
        assert!(asked.contains(shown), "{shown}: {asked}");
    }
    let request = await_request(&place);
    let shown = text(&place.holdpoint(&["decision", "show", &request]).stdout);
    for told in ["command:\n| false\n", "  RETRY", "claimed         that it failed"] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let verbose = text(&place.holdpoint(&["decision", "show", &request, "--verbose"]).stdout);
    assert!(verbose.contains("CLAIMED FAILURE") && !shown.contains("CLAIMED"), "{verbose}");
    let options = ["decision", "respond", &request, "RETRY", "--reason", "flaky"];
    let other = Terminal::start(&place, &options);
    let device = other.device.clone();
    let (exit, said) = other.end();
    assert!(exit == 0 && said.contains("RETRY by"), "{said}");
    waiting.wait_for("decided RETRY by");
    assert!(waiting.wait_for("CONTINUE, RETRY, ABORT? ").contains("attempt         2 of 3"));
    let means = &show(&place, &request)["decision"]["means"];
    assert_eq!(means["channel"], "TERMINAL");
    assert!(means["detail"].as_str().unwrap().contains(&device), "{means}");

    let second = await_request(&place);
    let ended = Terminal::start(&place, &["decision", "respond", &second, "ABORT"]).end();
    assert_eq!(ended.0, 0, "{}", ended.1);
    let (exit, said) = waiting.end();
    assert_eq!(exit, 120, "{said}");
    let ended = place.newest_loop();
    assert_eq!(
        (&ended["halt_reason"], &ended["stop_condition"]),
        (&json!("STOP_CONDITION"), &json!("HUMAN_ABORT"))
    );
    assert_eq!(ended["attempts"].as_array().unwrap().len(), 2);
    place.verified();
}

#[test]
fn what_is_typed_at_the_waiting_terminal_is_the_answer() {
    let place = Place::new();
    let mut waiting = Terminal::start(&place, &["run", "--hold", "after", "--", "true"]);
    waiting.wait_for("CONTINUE, RETRY, ABORT? ");
    waiting.type_line("perhaps");
    waiting.wait_for("CONTINUE, RETRY, ABORT? ");
    waiting.type_line("escalate");
    waiting.wait_for("CONTINUE, RETRY, ABORT? ");
    waiting.type_line("retry");
    waiting.wait_for("reason for RETRY? ");
    waiting.type_line(" ");
    waiting.wait_for("a reason");
    waiting.wait_for("CONTINUE, RETRY, ABORT? ");
    waiting.type_line("RETRY");
    waiting.wait_for("reason for RETRY? ");
    waiting.type_line("once more");
    waiting.wait_for("decided RETRY by");
    waiting.wait_for("CONTINUE, RETRY, ABORT? ");
    for letter in ["c", "A", "ab"] {
        waiting.type_line(letter);
        waiting.wait_for("CONTINUE, RETRY, ABORT? ");
    }
    waiting.type_line("Continue");
    let (exit, said) = waiting.end();
    assert_eq!(exit, 0, "{said}");
    let ended = place.newest_loop();
    assert_eq!(ended["halt_reason"], "COMPLETED");
    assert_eq!(ended["attempts"].as_array().unwrap().len(), 2);
    place.verified();
}

#[test]
fn a_failure_asks_where_that_is_asked_for_and_success_does_not() {
    let place = Place::new();
    // A recorder changes nothing of what a pipeline does.
    assert_eq!(status(&place.holdpoint(&["run", "--", "false"])), 1);
    let on_failure = ["run", "--hold", "on-failure", "--no-wait"];
    assert_eq!(status(&place.holdpoint(&[&on_failure[..], &["--", "true"]].concat())), 0);
    let fails = ["--json", "--", "sh", "-c", "exit 7"];
    let output = place.holdpoint(&[&on_failure[..], &fails].concat());
    assert_eq!(status(&output), 122);
    let told = json(&output);
    let request = open_request(&place).unwrap();
    assert_eq!((&told["request_id"], &told["reason"]), (&request["request_id"], &Value::Null));
    assert_eq!((&told["exit_status"], &told["attempts"]), (&json!(122), &json!(1)));
    // A crash that Phase-21 lets be tried again needs the person as well, unless told otherwise.
    let crash = ["--", "sh", "-c", "kill -SEGV $$"];
    let needs = place.holdpoint(&[&on_failure[..], &crash].concat());
    assert_eq!(status(&needs), 122);
    assert_eq!(place.newest_loop()["attempts"].as_array().unwrap().len(), 1);
    crate::machine::configure("[hold]\nretry_needs_person = false\n");
    let options = [&on_failure[..], &["--retry-needs-person=false"]].concat();
    // The last one is what Phase-21 terminates: there is nothing left to decide.
    assert_eq!(status(&place.holdpoint(&[&options[..], &crash].concat())), 139);
    assert_eq!(place.newest_loop()["attempts"].as_array().unwrap().len(), 3);
}

#[test]
fn continue_passes_the_commands_own_status_on() {
    let place = Place::new();
    let waiting = start(&place, &["run", "--hold", "on-failure", "--", "sh", "-c", "exit 9"]);
    let request = await_request(&place);
    assert_eq!(status(&answer(&place, &request, &["CONTINUE"])), 0);
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(9));
    assert!(text(&output.stderr).contains(" decision respond REQ-"), "it says how to answer");
    assert_eq!(place.newest_loop()["halt_reason"], "RESPONSE_REJECTED");
}

#[test]
fn escalation_asks_somebody_else_and_the_waiting_goes_on() {
    let place = Place::new();
    let waiting = start(&place, &["run", "--hold", "after", "--to", "the board", "--", "false"]);
    let request = await_request(&place);
    let options = ["ESCALATE", "--reason", "above me", "--to", "the board"];
    let unknown = ["ESCALATE", "--reason", "above me", "--to", "nobody"];
    assert_eq!(status(&answer(&place, &request, &unknown)), 5);
    assert_eq!(status(&answer(&place, &request, &options)), 0);
    let second = open_request(&place).unwrap();
    assert_eq!(
        (&second["asked_of"], &second["escalated_from"]),
        (&json!("the board"), &json!(request))
    );
    let second = second["request_id"].as_str().unwrap();
    let output = answer(&place, second, &["CONTINUE"]);
    assert_eq!(status(&output), 5, "only the board may answer now: {}", text(&output.stderr));
    let pid = Pid::from_raw(waiting.id().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(waiting.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(show(&place, second)["state"], "WITHDRAWN");
    place.verified();
}

/// The warning and the timeout stand on the log, due at 80 % and 100 % of the time.
fn assert_timed_out(place: &Place, request: &str) {
    let shown = show(place, request);
    assert_eq!(
        (&shown["state"], &shown["decision"]["decision"]),
        (&json!("TIMED_OUT"), &json!("ABORT"))
    );
    assert_eq!(shown["decision"]["reason"], "TIMEOUT");
    assert!(shown["warning"]["recorded_at"].as_str() >= shown["warning_at"].as_str(), "{shown:#}");
    assert!(shown["decision"]["at"].as_str() >= shown["timeout_at"].as_str(), "{shown:#}");
    assert_eq!(place.newest_loop()["halt_reason"], "DECISION_TIMED_OUT");
    for kind in ["human_decision.warned", "human_decision.timed_out"] {
        assert_eq!(records(place, kind).len(), 1, "{kind}");
    }
    place.verified();
}

#[test]
fn nobody_answers_and_the_waiting_run_warns_and_aborts() {
    let place = Place::new();
    let output =
        place.holdpoint(&["run", "--hold", "after", "--expires", "after=2s", "--", "false"]);
    let said = text(&output.stderr);
    assert_eq!(status(&output), 121, "{said}");
    assert!(said.contains("WARNING: 80 %") && said.contains("DECISION_TIMED_OUT"), "{said}");
    let timed_out = records(&place, "human_decision.timed_out");
    assert_eq!(timed_out.len(), 1);
    let requested = records(&place, "human_decision.requested");
    assert_eq!(requested.len(), 1);
    let told = said.split_whitespace().find(|word| word.starts_with("REQ-")).unwrap();
    assert_timed_out(&place, told.trim_end_matches([':', ',', ';', '.']));
}

#[test]
fn nobody_answers_and_whoever_looks_first_records_it() {
    let place = Place::new();
    let mut waiting =
        start(&place, &["run", "--hold", "after", "--expires", "after=4s", "--", "false"]);
    let request = await_request(&place);
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    while show(&place, &request)["overdue"] != true {
        std::thread::yield_now();
    }
    let output = place.holdpoint(&["decision", "expire", "--json"]);
    assert_eq!(status(&output), 0);
    let expired = json(&output);
    let kinds: Vec<_> = expired.as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["human_decision.warned", "human_decision.timed_out"]);
    assert_timed_out(&place, &request);
    // An answer after the deadline is kept and never counts.
    assert_eq!(status(&answer(&place, &request, &["CONTINUE"])), 4);
    assert_eq!(show(&place, &request)["late_answers"], 1);
    assert_timed_out(&place, &request);
    assert_eq!(json(&place.holdpoint(&["decision", "expire", "--json"])), json!([]));
}

/// Rounds in which two answers race.
const RACES: usize = 100;

#[test]
fn of_two_answers_at_once_exactly_one_counts() {
    let place = Place::new();
    for round in 0..RACES {
        let request = leave_open(&place);
        let outputs = std::thread::scope(|scope| {
            let answers = ["ABORT", "CONTINUE"];
            let racers = answers.map(|decision| {
                let (place, request) = (&place, &request);
                scope.spawn(move || answer(place, request, &[decision, "--json"]))
            });
            racers.map(|racer| racer.join().unwrap())
        });
        let mut exits = outputs.each_ref().map(status);
        exits.sort_unstable();
        assert_eq!(exits, [0, 4], "round {round}");
        let told = outputs.each_ref().map(json);
        assert_eq!(told[0]["decision"], told[1]["decision"], "both show the winner's record");
        if round % 20 == 0 {
            let decision = told[0]["decision"]["decision"].as_str().unwrap();
            let again = answer(&place, &request, &[decision, "--json"]);
            let again = (status(&again), json(&again));
            assert_eq!((again.0, &again.1["answer"]), (0, &json!("REPEATED")));
            assert_eq!(again.1["decision"], told[0]["decision"]);
        }
    }
    assert_eq!(records(&place, "human_decision.answered").len(), RACES);
    place.verified();
}

#[test]
fn what_is_hidden_is_absent_even_by_name_and_what_hides_is_made_visible() {
    let place = Place::new();
    let script = place.directory.path().join("job");
    std::fs::write(&script, "echo THE-OUTPUT; echo THE-ERROR >&2; exit 1\n").unwrap();
    let odd = "a\u{202e}b\u{1b}[31mc\nd";
    let output = place.holdpoint(&[
        "run",
        "--hold",
        "on-failure",
        "--no-wait",
        "--",
        "sh",
        script.to_str().unwrap(),
        odd,
    ]);
    assert_eq!(status(&output), 122);
    let request = await_request(&place);
    let person = place.holdpoint(&["decision", "show", &request]).stdout;
    let program = place.holdpoint(&["decision", "show", &request, "--json"]).stdout;
    let list = place.holdpoint(&["decision", "list", "--kind", "hold"]).stdout;
    for shown in [text(&person), text(&program), text(&list)] {
        for hidden in
            ["THE-OUTPUT", "THE-ERROR", "raw_data", "executor_output", "attempt_", "message"]
        {
            assert!(!shown.contains(hidden), "{hidden}: {shown}");
        }
        assert!(!shown.contains(['\u{202e}', '\u{1b}']), "{shown}");
        let escaped = shown.replace(r"\\", r"\");
        assert!(escaped.contains(r"a\xe2\x80\xaeb\x1b[31mc\nd"), "{shown}");
    }
}

#[test]
fn a_bad_answer_is_refused_with_its_code_and_changes_nothing_but_what_is_told() {
    let place = Place::new();
    let request = leave_open(&place);
    let cases: [(&[&str], i32, &str); 8] = [
        (&["RETRY"], 5, "REASON_REQUIRED"),
        (&["RETRY", "--reason", " \u{2003}\u{200b}\u{3000} "], 5, "REASON_REQUIRED"),
        (&["RETRY", "--reason", "\u{1}\u{202e}"], 5, "REASON_REQUIRED"),
        (&["ABORT", "--to", "boss"], 5, "UNEXPECTED_TARGET"),
        (&["ESCALATE", "--reason", "x"], 5, "bad_option"),
        (&["ESCALATE", "--reason", "x", "--to", "boss"], 5, "bad_option"),
        (&["PERHAPS"], 5, "bad_option"),
        (&["CONTINUE", "--lock-wait", "-1s"], 2, ""),
    ];
    for (options, exit, code) in cases {
        let output = answer(&place, &request, &[options, &["--json"]].concat());
        assert_eq!(status(&output), exit, "{options:?}: {}", text(&output.stderr));
        if !code.is_empty() {
            assert_eq!(json(&output)["error"]["code"], code, "{options:?}");
        }
    }
    let before = show(&place, &request);
    assert_eq!(
        (&before["state"], records(&place, "log.command_refused").len()),
        (&json!("WAITING"), 0)
    );
    // Nobody at a terminal, and nobody says so.
    let mut silent = place.command(&["decision", "respond", &request, "ABORT"]);
    let silent = silent.stdin(Stdio::null()).output().unwrap();
    assert!(status(&silent) == 5 && text(&silent.stderr).contains("--yes"));
    assert_eq!(status(&answer(&place, "REQ-000000", &["ABORT"])), 3);
    assert_eq!(records(&place, "log.command_refused").len(), 1);
    let means = |request: &str| show(&place, request)["decision"]["means"].clone();
    assert_eq!(status(&answer(&place, &request, &["ABORT"])), 0);
    assert_eq!(means(&request)["channel"], "TERMINAL");
    assert!(means(&request)["detail"].as_str().unwrap().contains("/dev/"));
    place.verified();
}

/// A user whose number has no name, and who runs no process here.
const NOBODY_HERE: &str = "uid 3999999999";

#[test]
fn everybody_who_is_proven_stops_a_hold_and_only_an_approver_lets_it_go_on() {
    let place = Place::new();
    let options = ["run", "--hold", "on-failure", "--approvers", NOBODY_HERE, "--no-wait"];
    let output = place.holdpoint(&[&options[..], &["--", "false"]].concat());
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    let request = await_request(&place);
    for decision in [&["CONTINUE"][..], &["RETRY", "--reason", "flaky"]] {
        let output = answer(&place, &request, &[decision, &["--json"]].concat());
        let told = (status(&output), json(&output)["error"]["code"].clone());
        assert_eq!(told, (5, json!("NOT_AN_APPROVER")), "{decision:?}");
    }
    // Stopping takes a person too: a program of the user who asks is none.
    let abort = ["decision", "respond", &request, "--yes", "ABORT", "--json"];
    let by_program = place.command(&abort).stdin(Stdio::null()).output().unwrap();
    let told = (status(&by_program), json(&by_program)["error"]["code"].clone());
    assert_eq!(told, (5, json!("PROVEN_LESS")));
    assert_eq!(status(&answer(&place, &request, &["ABORT"])), 0);
    assert_eq!(place.newest_loop()["stop_condition"], "HUMAN_ABORT");
    place.verified();
}

/// Waits for an orphan's exit code.
const UNTIL_THERE: &str = "until test -s exit; do sleep 0.01; done; exit $(cat exit)";

/// At a terminal of its own, in a session of its own, at a terminal that it made itself.
#[test]
fn a_command_that_is_recorded_is_never_the_person() {
    let place = Place::new();
    let request = leave_open(&place);
    let created = ["decision", "create", "--prompt", "Deploy?", "--option", "yes:Yes"];
    let created = place.holdpoint(&[&created[..], &["--blocks", "deploy", "--json"]].concat());
    let id = json(&created)["id"].as_str().unwrap().to_string();
    let program = format!("{} --log {}", env!("CARGO_BIN_EXE_holdpoint"), place.log.display());
    for verb in [
        format!("{program} decision respond {request} --yes CONTINUE"),
        format!("{program} decision respond {id} --option yes"),
    ] {
        for script in [
            verb.clone(),
            format!("setsid -w {verb}"),
            format!("(setsid sh -c '{verb}; echo $? > exit' &); {UNTIL_THERE}"),
            format!("script -qec '{verb}' /dev/null"),
        ] {
            let _ = std::fs::remove_file(place.directory.path().join("exit"));
            let words = ["run", "--hold", "never", "--tty", "--", "sh", "-c", &script];
            let (exit, said) = Terminal::start(&place, &words).end();
            assert_eq!(exit, 5, "{script}: {said}");
            assert!(said.contains("is not proven"), "{script}: {said}");
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains("in a recorded command"), "{script}: {said}");
        }
    }
    assert_eq!(open_request(&place).unwrap()["request_id"], request);
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    assert_eq!(shown["state"], "pending");
    place.verified();
}

/// What happened stands first, and as the decision binds it; no byte that was captured is shown.
#[test]
fn a_question_tells_how_the_attempt_ended_and_nothing_that_it_printed() {
    for (script, told) in [
        ("echo secret; exit 3", "it ended with exit status 3 after "),
        ("echo secret; kill -SEGV $$", "it was killed by signal 11 after "),
    ] {
        let place = Place::new();
        let words = ["run", "--hold", "on-failure", "--no-wait", "--", "sh", "-c", script];
        assert_eq!(status(&place.holdpoint(&words)), 122);
        let request = open_request(&place).unwrap()["request_id"].as_str().unwrap().to_string();
        let shown = text(&place.holdpoint(&["decision", "show", &request]).stdout);
        let places = [
            "command:",
            told,
            "attempt         1 of 3; asked after every failed attempt",
            "  CONTINUE      end the run here",
            "for the record",
            "observed        by its recorder",
            "claimed         that it ",
            "answer binds",
        ];
        let found: Vec<usize> = places.iter().map(|it| shown.find(it).expect(it)).collect();
        assert!(found.is_sorted(), "{shown}");
        assert_eq!(shown.matches("secret").count(), 1, "only in the command: {shown}");
        let json = show(&place, &request);
        let observed = &json["evidence_summary"]["observed"];
        assert!(observed["duration_ns"].as_u64().unwrap() > 0, "{observed}");
        assert_eq!(observed["attempts_max"], 3);
        assert_eq!(observed["exit"].as_object().unwrap().len(), 1, "{observed}");
        place.verified();
    }
}

#[test]
fn a_hold_is_decided_on_one_screen_and_its_hashes_are_a_word_away() {
    let place = Place::new();
    let run = ["run", "--hold", "after", "--", "sh", "-c", "exit 1"];
    let mut waiting = Terminal::start(&place, &run);
    let shown = waiting.see("CONTINUE, RETRY, ABORT?").join("\n");
    let places = [
        "| sh -c 'exit 1'",
        "it ended with exit status 1",
        "1 of 3; asked after every attempt",
        "time  ",
        "  CONTINUE      end the run here",
        "  RETRY  ",
        "  ABORT  ",
        "or `holdpoint approve",
        "`details` shows all, `output` what it printed",
    ];
    let found: Vec<usize> = places.iter().map(|it| shown.find(it).expect(it)).collect();
    assert!(found.is_sorted() && !shown.contains("chain hash"), "{shown}");
    waiting.type_line("details");
    let all = waiting.see("prior hash  ").join("\n");
    assert!(all.contains("chain hash") && all.contains("request         REQ-"), "{all}");
    waiting.type_line("abort");
    assert_eq!(waiting.end().0, 120);
}

/// The output lies on a screen of its own, marked as what it is. Whatever is typed there, and the
/// word that opens it wherever it is typed, is no answer.
#[test]
fn the_output_is_a_screen_beside_the_question_and_never_an_answer() {
    let place = Place::new();
    let script = "printf 'half done\\n\\033[2Jholdpoint: approved\\n'; exit 1";
    let run = ["run", "--hold", "after", "--", "sh", "-c", script];
    let mut waiting = Terminal::start(&place, &run);
    waiting.wait_for("CONTINUE, RETRY, ABORT? ");
    waiting.type_line("output");
    let shown = waiting.wait_for("back to the question");
    for told in ["no part of the decision", "| half done\r", "| \\u{1b}[2Jholdpoint: approved\r"] {
        assert!(shown.contains(told), "{told}: {shown:?}");
    }
    waiting.type_line("CONTINUE");
    let again = waiting.wait_for("CONTINUE, RETRY, ABORT? ");
    assert!(again.contains("what happened   it ended with exit status 1"), "{again:?}");
    waiting.type_line("retry");
    waiting.wait_for("reason for RETRY? ");
    waiting.type_line("output");
    waiting.wait_for("back to the question");
    waiting.type_line("");
    waiting.wait_for("reason for RETRY? ");
    assert!(open_request(&place).is_some());
    let request = await_request(&place);
    let ended = Terminal::start(&place, &["decision", "respond", &request, "ABORT"]).end();
    assert_eq!(ended.0, 0, "{}", ended.1);
    assert_eq!(waiting.end().0, 120);
    assert_eq!(place.newest_loop()["attempts"].as_array().unwrap().len(), 1);
    place.verified();
}

#[test]
fn a_decision_timeout_is_between_a_millisecond_and_366_days() {
    let place = Place::new();
    for timeout in ["0s", "0ms", "-5m", "100years", "367days", "soon", ""] {
        let option = format!("--expires=after={timeout}");
        let output = place.holdpoint(&["run", &option, "--", "true"]);
        assert_eq!(status(&output), 2, "{timeout:?}");
    }
    assert!(!place.log.exists());
}

#[test]
fn where_there_is_no_log_there_is_no_list_of_any_kind_and_a_new_log_has_empty_ones() {
    let (missing, empty, ignored, foreign) =
        (Place::new(), Place::new(), Place::new(), Place::new());
    for place in [&empty, &ignored, &foreign] {
        std::fs::create_dir(&place.log).unwrap();
    }
    std::fs::write(ignored.log.join(".gitignore"), "*\n").unwrap();
    std::fs::write(foreign.log.join("notes"), "mine").unwrap();
    let table = [
        (&missing, "no such directory"),
        (&empty, "the directory is empty"),
        (&ignored, "the directory is empty"),
        (&foreign, "other files and no log"),
    ];
    for verb in ["decision", "thread"] {
        for (place, words) in table {
            let list = place.holdpoint(&[verb, "list", "--json"]);
            assert_eq!((status(&list), text(&list.stdout)), (3, String::new()), "{verb}: {words}");
            assert_eq!(error_of(&list)["code"], "nothing_here", "{verb}: {words}");
            let list = place.holdpoint(&[verb, "list"]);
            assert_eq!((status(&list), text(&list.stdout)), (3, String::new()), "{verb}: {words}");
            assert!(text(&list.stderr).contains(words), "{verb}: {}", text(&list.stderr));
        }
        let empty = Place::with_log();
        let list = empty.holdpoint(&[verb, "list", "--json"]);
        assert_eq!((status(&list), json(&list)), (0, json!([])), "{verb}: nothing waits");
        let list = empty.holdpoint(&[verb, "list"]);
        let said = text(&list.stderr);
        assert_eq!((status(&list), text(&list.stdout)), (0, String::new()), "{verb}");
        assert!(["no pending", "there is no"].iter().any(|it| said.contains(it)), "{said}");
    }
    assert!(!missing.log.exists());
}

#[test]
fn where_there_is_no_log_nothing_waits_and_nothing_is_made() {
    let place = Place::new();
    let list = place.holdpoint(&["decision", "list", "--kind", "hold", "--json"]);
    assert_eq!((status(&list), &error_of(&list)["code"]), (3, &"nothing_here".into()));
    for verb in [
        &["decision", "show", "REQ-111111"][..],
        &["decision", "expire"],
        &["decision", "respond", "REQ-111111", "--yes", "ABORT"],
    ] {
        assert_eq!(status(&place.holdpoint(verb)), 3, "{verb:?}");
    }
    assert!(!place.log.exists());
    let request = leave_open(&place);
    let before = contents(&place.log);
    place.holdpoint(&["decision", "list", "--kind", "hold"]);
    place.holdpoint(&["decision", "show", &request]);
    assert_eq!(contents(&place.log), before, "reading writes nothing");
    let first = place.holdpoint(&["decision", "show", &request, "--at", "1"]);
    assert_eq!(status(&first), 3, "nobody was asked yet");
}

#[test]
fn tamper_any_byte_of_what_the_person_saw_is_found() {
    let place = Place::new();
    let request = leave_open(&place);
    assert_eq!(status(&answer(&place, &request, &["ABORT"])), 0);
    let segment = place.log.join("segments/00000000000000000001.seg");
    let whole = std::fs::read(&segment).unwrap();
    let found = |needle: &[u8]| whole.windows(needle.len()).position(|part| part == needle);
    // The first record that names the request is the one that asks; its summary and circumstances
    // follow, up to the record behind it, which has the hashes of this one.
    let from = found(request.as_bytes()).unwrap();
    let until = from + whole[from..].windows(5).position(|part| part == b"false").unwrap() + 200;
    let storage = DirectoryStorage::new(&place.log);
    for at in from..until {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        std::fs::write(&segment, &changed).unwrap();
        let options = ReadOptions::new(this_boot(), &|| Ok(false));
        let report = verify(&storage, options, &mut |_| {}).unwrap();
        assert!(!report.findings.is_empty(), "byte {at} of {from}..{until}");
    }
    std::fs::write(&segment, &whole).unwrap();
    place.verified();
}
