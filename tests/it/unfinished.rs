//! How runs end that nobody lets end well: by a signal, by the death of their recorder, on a full
//! disk. What is not known is never taken for a person's word, and nothing stays open unseen.

use crate::apply_support::{answers, apply, awaited, dispatch, initialize};
use crate::program;
use crate::program::{Place, json, skip, status, text, with_hold};
use crate::real_support::SmallDisk;
use crate::terminal::Terminal;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

/// Starts a run of a script without a hold, and waits until it says `ready`.
fn start(place: &Place, script: &str) -> Child {
    let mut command = place.command(&["run", "--hold", "never", "--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Kills a recorder. Its guard ends what is left of the command.
fn kill_recorder(child: &mut Child) {
    kill_process(pid_of(child), Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

/// `hold expire` until it has recorded something: whoever guards the command may take a moment to
/// be gone as well.
fn expire_until_recorded(place: &Place) -> Vec<Value> {
    loop {
        let output = place.holdpoint(&["decision", "expire", "--json"]);
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        let recorded = json(&output).as_array().unwrap().clone();
        if !recorded.is_empty() {
            return recorded;
        }
        std::thread::yield_now();
    }
}

/// What the log's segments hold, as text.
fn segments(place: &Place) -> String {
    let files = program::contents(&place.log.join("segments")).into_values();
    files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

/// Names in `runs/`.
fn run_files(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.log.join("runs")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn doctor(place: &Place) -> Vec<Value> {
    let report = json(&place.holdpoint(&["doctor", "--json"]));
    report["checks"].as_array().unwrap().clone()
}

fn assert_halted(place: &Place, reason: &str, condition: Option<&str>) {
    let shown = place.newest_loop();
    let found =
        (&shown["halt_reason"], &shown["stop_condition"], &shown["evidence_chain"]["sealed"]);
    assert_eq!(found, (&json!(reason), &json!(condition), &json!(true)), "{shown:#}");
    place.verified();
}

#[test]
fn of_a_run_whose_recorder_is_gone_it_is_said_that_nothing_runs() {
    let place = Place::new();
    let mut child = start(&place, "echo ready; exec sleep 100");
    let said = |words: &[&str]| {
        let output = place.holdpoint(words);
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let id = json(&place.holdpoint(&["runs", "--json"]))["run"].as_str().unwrap().to_string();
    assert!(!said(&["show", &id]).contains("recorder"));
    let shown = || {
        let list = text(&place.holdpoint(&["runs", "status=running"]).stdout);
        let row = list.lines().nth(1).unwrap_or_else(|| panic!("{list}")).to_string();
        let words = ["running", "unfinished"].into_iter().filter(|word| row.contains(word));
        words.collect::<String>()
    };
    assert_eq!(shown(), "running");
    kill_recorder(&mut child);
    // Whoever guards the command may take a moment to be gone as well.
    while !said(&["show", &id]).contains("its recorder is gone: nothing of it runs") {
        std::thread::yield_now();
    }
    for words in [&["runs"][..], &["runs", "status=running"], &["runs", "--json"]] {
        assert!(said(words).contains("its recorder is gone: nothing of it runs"), "{words:?}");
    }
    assert_eq!(shown(), "unfinished", "and nothing of it is called running");
    let alone = text(&place.holdpoint(&["show", &id]).stdout);
    assert!(alone.contains("outcome         unfinished"), "{alone}");
    assert!(!alone.contains("so far"), "nobody knows how long it took: {alone}");
    assert_eq!(json(&place.holdpoint(&["runs", "status=running", "--json"]))["outcome"], "running");
    expire_until_recorded(&place);
    assert!(!said(&["show", &id]).contains("nothing of it runs"));
}

// Signals.

#[test]
fn a_signal_from_another_process_halts_as_interrupted_and_names_its_sender() {
    for (signal, number) in [(Signal::TERM, 15), (Signal::INT, 2), (Signal::HUP, 1)] {
        let place = Place::new();
        let child = start(&place, "echo ready; exec sleep 100");
        kill_process(pid_of(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(status(&output), 128 + number, "{said}");
        let sender = format!("process {} of user number", std::process::id());
        assert!(said.contains("INTERRUPTED") && said.contains(&sender), "{said}");
        assert_halted(&place, "INTERRUPTED", None);
        let recorded = format!("INTERRUPTED: signal {number} from {sender}");
        assert!(segments(&place).contains(&recorded));
        assert_eq!(run_files(&place), [""; 0]);
    }
}

#[test]
fn a_key_of_the_terminal_is_a_persons_abort() {
    let place = Place::new();
    let words = ["run", "--hold", "never", "--", "sh", "-c", "echo ready; exec sleep 100"];
    let mut terminal = Terminal::start(&place, &words);
    terminal.wait_for("ready");
    terminal.type_line("\u{3}");
    let (status, shown) = terminal.end();
    assert_eq!(status, 130, "{shown}");
    assert_halted(&place, "STOP_CONDITION", Some("HUMAN_ABORT"));
}

#[test]
fn at_the_prompt_only_the_terminals_key_is_a_persons_abort() {
    let ask = ["run", "--hold", "after", "--", "true"];
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &ask);
    terminal.wait_for("REQ-");
    terminal.type_line("\u{3}");
    let (status, shown) = terminal.end();
    assert_eq!(status, 130, "{shown}");
    assert_halted(&place, "STOP_CONDITION", Some("HUMAN_ABORT"));
    let place = Place::new();
    let child = wait_for_a_person(&place);
    kill_process(pid_of(&child), Signal::INT).unwrap();
    assert_eq!(program::status(&child.wait_with_output().unwrap()), 130);
    assert_halted(&place, "INTERRUPTED", None);
}

/// A run that waits for somebody to answer.
fn wait_for_a_person(place: &Place) -> Child {
    let mut command = place.command(&["run", "--hold", "after", "--", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    while open_requests(place).is_empty() {
        std::thread::yield_now();
    }
    child
}

/// None also where there is no log yet.
fn open_requests(place: &Place) -> Vec<Value> {
    let listed = place.holdpoint(&["decision", "list", "--kind", "hold", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
    listed.as_array().into_iter().flatten().cloned().map(with_hold).collect()
}

// Recorders that are gone.

#[test]
fn a_recorder_that_was_killed_is_recorded_as_lost_by_the_next_writer() {
    let place = Place::new();
    let mut child = start(&place, "echo ready; exec sleep 100");
    kill_recorder(&mut child);
    let loop_id = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    assert_eq!(place.newest_loop()["current_state"], "AWAITING_RESPONSE");
    let recorded = expire_until_recorded(&place);
    let told: Vec<_> = recorded.iter().map(|one| (&one["kind"], &one["loop_id"])).collect();
    assert_eq!(told, [(&json!("execution_loop.halted"), &json!(loop_id))]);
    assert_halted(&place, "RECORDER_LOST", None);
    assert!(segments(&place).contains("its guard killed it, as its recorder was gone"));
    assert_eq!(run_files(&place), [""; 0]);
    assert_eq!(json(&place.holdpoint(&["decision", "expire", "--json"])), json!([]));
}

#[test]
fn another_run_is_a_writer_that_finds_the_lost_one() {
    let place = Place::new();
    let mut child = start(&place, "echo ready; exec sleep 100");
    kill_recorder(&mut child);
    let reasons = || {
        assert_eq!(status(&place.run(&["true"])), 0);
        place.loops().iter().map(|one| one["halt_reason"].clone()).collect::<Vec<_>>()
    };
    let mut found = reasons();
    while found[0].is_null() {
        found = reasons();
    }
    assert_eq!(found[0], "RECORDER_LOST");
    place.verified();
}

#[test]
fn a_question_whose_recorder_was_killed_is_withdrawn_and_no_answer_counts() {
    let place = Place::new();
    let mut child = wait_for_a_person(&place);
    let request = open_requests(&place)[0]["request_id"].as_str().unwrap().to_string();
    assert_eq!(open_requests(&place)[0]["recorder"], "lives");
    kill_recorder(&mut child);
    let row = || text(&place.holdpoint(&["decision", "list", "--kind", "hold"]).stdout);
    while !row().contains("its recorder is gone") {
        std::thread::yield_now();
    }
    assert_eq!(open_requests(&place)[0]["recorder"], "gone");
    assert_eq!(expire_until_recorded(&place).len(), 1);
    let words = ["decision", "respond", &request, "--yes", "CONTINUE"];
    assert_ne!(status(&place.holdpoint(&words)), 0);
    assert_halted(&place, "RECORDER_LOST", None);
}

#[test]
fn a_question_that_was_left_open_is_not_lost() {
    let place = Place::new();
    let output = place.holdpoint(&["run", "--hold", "after", "--no-wait", "--", "true"]);
    let said = text(&output.stderr);
    assert_eq!(status(&output), 122, "{said}");
    assert!(said.contains("; its words are CONTINUE, RETRY, ABORT\n"), "{said}");
    assert!(!said.contains("ESCALATE"), "there is no target: {said}");
    let commands = said.lines().filter_map(|line| line.strip_prefix("  "));
    assert!(commands.clone().any(|command| command.contains(" decision respond REQ-")), "{said}");
    assert_eq!((said.lines().count(), commands.clone().count()), (3, 2), "{said}");
    for command in commands {
        let is_plain = !command.contains(['|', '[', '<', ';', '&']);
        assert!(is_plain, "pasted into a shell it does something else: {command}");
    }
    assert_eq!(run_files(&place), [""; 0]);
    assert_eq!(json(&place.holdpoint(&["decision", "expire", "--json"])), json!([]));
    let told = doctor(&place).into_iter().find(|check| check["name"] == "runs").unwrap();
    assert!(told["message"].as_str().unwrap().contains("left open until a person"), "{told}");
    let request = open_requests(&place)[0]["request_id"].as_str().unwrap().to_string();
    let words = ["decision", "respond", &request, "--yes", "CONTINUE"];
    assert_eq!(status(&place.holdpoint(&words)), 0);
    assert_halted(&place, "COMPLETED", None);
}

#[test]
fn a_run_whose_recorder_lives_is_left_alone() {
    let place = Place::new();
    let child = start(&place, "echo ready; exec sleep 100");
    assert_eq!(json(&place.holdpoint(&["decision", "expire", "--json"])), json!([]));
    assert_eq!(place.newest_loop()["current_state"], "AWAITING_RESPONSE");
    let file = place.log.join("runs").join(place.newest_loop()["loop_id"].as_str().unwrap());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let runs = place.log.join("runs").metadata().unwrap();
    assert_eq!(runs.permissions().mode() & 0o777, 0o700);
    let told = doctor(&place).into_iter().find(|check| check["name"] == "runs").unwrap();
    assert_eq!(told["state"], "ok");
    assert!(told["message"].as_str().unwrap().contains("under way"), "{told}");
    kill_process(pid_of(&child), Signal::TERM).unwrap();
    assert_eq!(status(&child.wait_with_output().unwrap()), 143);
}

#[test]
fn doctor_tells_of_a_lost_recorder_before_it_is_on_record() {
    let place = Place::new();
    let mut child = start(&place, "echo ready; exec sleep 100");
    kill_recorder(&mut child);
    let gone = |check: &Value| {
        check["name"] == "runs" && check["state"] == "warn" && {
            check["message"].as_str().unwrap().contains("is gone")
        }
    };
    while !doctor(&place).iter().any(gone) {
        std::thread::yield_now();
    }
    assert_eq!(place.newest_loop()["current_state"], "AWAITING_RESPONSE", "it only reads");
}

#[test]
fn doctor_tells_what_of_the_log_others_can_write() {
    let place = Place::new();
    assert_eq!(status(&place.run(&["true"])), 0);
    let access = || {
        let checks = doctor(&place).into_iter();
        checks.filter(|check| check["name"] == "access").collect::<Vec<_>>()
    };
    assert_eq!(access().len(), 1);
    assert_eq!(access()[0]["state"], "ok", "{:#?}", access());
    std::fs::set_permissions(place.log.join("HEAD"), PermissionsExt::from_mode(0o666)).unwrap();
    std::fs::set_permissions(place.directory.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let told: Vec<String> =
        access().iter().map(|check| check["message"].as_str().unwrap().to_string()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|line| line.contains("can be written by everybody")), "{told:?}");
}

/// What stands under the names of runs' files is neither followed nor waited for, and a loop that
/// no run holds is never judged.
#[test]
fn what_is_no_file_of_a_run_is_neither_believed_nor_followed() {
    let place = Place::new();
    let runs = place.log.join("runs");
    let id = |digit: char| digit.to_string().repeat(32);
    for digit in ['1', '2', '3', '4', '5'] {
        let loop_id = format!("LOOP-{}", id(digit));
        let lines = [initialize(&id(digit)), dispatch(&loop_id), awaited(&loop_id)];
        let lines: Vec<Value> = lines.iter().map(|line| json!({ "submit": line })).collect();
        assert_eq!(status(&apply(&place, &lines)), 0);
    }
    std::fs::create_dir_all(&runs).unwrap();
    let elsewhere = place.directory.path().join("elsewhere");
    std::fs::write(&elsewhere, "kept").unwrap();
    let at = |digit: char| runs.join(format!("LOOP-{}", id(digit)));
    symlink(&elsewhere, at('1')).unwrap();
    assert!(Command::new("mkfifo").arg(at('2')).status().unwrap().success());
    std::fs::create_dir(at('3')).unwrap();
    std::fs::hard_link(&elsewhere, at('4')).unwrap();
    let stale = runs.join(format!("LOOP-{}", id('a')));
    std::fs::write(&stale, "").unwrap();
    std::fs::write(runs.join("LOOP-x"), "").unwrap();
    assert_eq!(json(&place.holdpoint(&["decision", "expire", "--json"])), json!([]));
    let states: Vec<Value> =
        place.loops().iter().map(|shown| shown["current_state"].clone()).collect();
    assert_eq!(states, ["AWAITING_RESPONSE"; 5]);
    assert!(!stale.exists(), "a file without a loop is removed");
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "kept");
    assert!(at('1').symlink_metadata().is_ok() && runs.join("LOOP-x").exists());
    place.verified();
}

#[test]
fn a_link_in_the_place_of_the_runs_is_refused_and_nothing_starts() {
    let place = Place::new();
    assert_eq!(status(&place.run(&["true"])), 0);
    let elsewhere = place.directory.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::remove_dir(place.log.join("runs")).unwrap();
    symlink(&elsewhere, place.log.join("runs")).unwrap();
    let witness = place.directory.path().join("witness");
    let output = place.run(&["touch", witness.to_str().unwrap()]);
    assert_eq!(status(&output), 125, "{}", text(&output.stderr));
    assert!(!witness.exists());
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn nobody_but_the_logs_own_writer_says_that_a_recorder_is_lost() {
    let place = Place::new();
    let loop_id = format!("LOOP-{}", "1".repeat(32));
    let line =
        json!({ "submit": { "command": "execution_loop.declare_lost", "loop_id": loop_id } });
    let begin = json!({ "submit": initialize(&"1".repeat(32)) });
    let told = answers(&apply(&place, &[begin, line]));
    assert!(told[1]["error"].to_string().contains("no command is named"), "{told:#?}");
    assert_eq!(place.newest_loop()["current_state"], "INIT");
}

/// A command that says through `apply` what becomes of its own run, and how that ends.
const SAYS_OF_ITS_OWN_RUN: &str = r#"
L=$(ls "$HOLDPOINT_TEST_LOG/runs" | grep -o 'LOOP-[0-9a-f]*' | tail -n 1)
for said in \
    '"execution_loop.interrupt","signal":15' \
    '"execution_loop.complete"' \
    '"execution_loop.stop","condition":"CONTEXT_UNINITIALIZED","facts":{},"details":""' \
    '"execution_loop.await_response"' \
    '"human_decision.request"' \
    '"evidence_capture.capture","items":[]'
do
    printf '{"submit":{"command":%s,"loop_id":"%s"}}\n' "$said" "$L"
done | "$HOLDPOINT_TEST_PROGRAM" --log "$HOLDPOINT_TEST_LOG" apply >&2
exit 7
"#;

#[test]
fn nobody_but_its_recorder_says_what_becomes_of_a_run() {
    for hold in ["after", "on-failure", "never"] {
        let place = Place::new();
        let mut command = place.command(&["run", "--hold", hold, "--no-wait", "--", "sh", "-c"]);
        command.arg(SAYS_OF_ITS_OWN_RUN).env("HOLDPOINT_TEST_LOG", &place.log);
        command.env("HOLDPOINT_TEST_PROGRAM", env!("CARGO_BIN_EXE_holdpoint"));
        let output = command.output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(told.matches(r#""code":"RECORDED_ELSEWHERE""#).count(), 6, "{told}");
        let found = place.newest_loop();
        match hold {
            "never" => {
                assert_eq!((status(&output), &found["current_state"]), (7, &json!("HALTED")))
            }
            _ => {
                assert_eq!((status(&output), &found["current_state"]), (122, &json!("EVALUATED")));
            }
        }
        place.verified();
    }
}

/// Nobody recorded anything of it, and nobody has to: the question binds all that may start.
#[test]
fn a_question_before_the_start_outlives_its_asker_and_lets_only_what_was_asked_start() {
    let place = Place::new();
    let mut asker = place.command(&["run", "--hold", "before", "--", "echo", "ran"]);
    let mut asker = asker.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(asker.stderr.take().unwrap()).lines().map(Result::unwrap);
    let id = told.find_map(|line| {
        let from = line.find("DP-")?;
        line.get(from..from + 35).map(str::to_string)
    });
    let id = id.unwrap();
    asker.kill().unwrap();
    asker.wait().unwrap();
    assert_eq!(status(&place.holdpoint(&["decision", "expire"])), 0);
    let respond = ["decision", "respond", &id, "--option", "approve"];
    assert_eq!(Terminal::start(&place, &respond).end().0, 0);
    let other = place.holdpoint(&["run", "--approval", &id, "--", "echo", "other"]);
    assert_eq!((status(&other), text(&other.stdout).as_str()), (125, ""));
    let start = ["run", "--approval", &id, "--", "echo", "ran"];
    let ran = place.holdpoint(&start);
    assert_eq!((status(&ran), text(&ran.stdout).as_str()), (0, "ran\n"), "{}", text(&ran.stderr));
    assert_eq!(status(&place.holdpoint(&start)), 125);
    assert_eq!(place.loops().len(), 1);
    place.verified();
}

// Full disks.

/// A place whose log is on a small disk of its own; `None` where none can be mounted.
pub(crate) fn on_small_disk(size: &str) -> Option<(Place, SmallDisk)> {
    let disk = SmallDisk::mount(size)?;
    Some((Place { log: disk.path.join("log"), ..Place::new() }, disk))
}

/// Whatever space is left: either nothing is started, or the end is on the log.
#[test]
fn on_a_full_disk_no_command_starts_whose_end_could_not_be_recorded() {
    let mut started = 0;
    let steps: Vec<u64> = (0..=440).step_by(20).collect();
    for left in &steps {
        let Some((place, disk)) = on_small_disk("2m") else {
            return skip("a full disk under a run: no small file system can be mounted here");
        };
        assert_eq!(status(&place.run(&["true"])), 0);
        disk.fill_but_for(left * 1_024);
        let witness = place.directory.path().join("witness");
        let rest = disk.path.join("rest");
        let script = format!(
            "touch {}; head -c 50000 /dev/zero; cat /dev/zero > {} 2> /dev/null; exit 3",
            witness.display(),
            rest.display()
        );
        let output = place.shell(&script);
        let said = text(&output.stderr);
        if witness.exists() {
            started += 1;
            assert_eq!(status(&output), 3, "{left} KiB left: {said}");
            assert_halted(&place, "RESPONSE_REJECTED", None);
            let outputs = &place.newest_loop()["attempts"][0]["outputs"];
            assert_eq!(outputs[0]["true_length"], 50_000);
        } else {
            assert_eq!(status(&output), 125, "{left} KiB left: {said}");
            assert!(said.to_lowercase().contains("no space"), "{left} KiB left: {said}");
            let open = place.loops().into_iter().filter(|one| one["halt_reason"].is_null());
            assert_eq!(open.count(), 0, "{left} KiB left: {said}");
        }
        assert_eq!(run_files(&place), [""; 0]);
    }
    assert!((1..steps.len()).contains(&started), "{started} of {}", steps.len());
}

#[test]
fn where_the_disk_fills_up_meanwhile_the_output_is_dropped_and_the_end_is_not() {
    let on_full = ["--on-full", "continue"];
    for options in [&[][..], &["--json", "--max-output", "200000B"]] {
        let Some((place, disk)) = on_small_disk("2m") else {
            return skip("a disk that fills up under a run: no small file system is mounted here");
        };
        let rest = disk.path.join("rest");
        let script = format!(
            "cat /dev/zero > {} 2> /dev/null; head -c 300000 /dev/zero; kill -SEGV $$",
            rest.display()
        );
        let options = [options, &on_full].concat();
        let output = place.run_with(&options, &["sh", "-c", &script]);
        assert_eq!(status(&output), 139, "{}", String::from_utf8_lossy(&output.stderr));
        if !options.contains(&"--json") {
            let said = text(&output.stderr);
            assert_eq!(output.stdout.len(), 300_000);
            let full = "the disk is full: some of what the command printed is not on the log";
            assert!(said.contains(full), "{said}");
        } else {
            let told = json(&output);
            let stream = |field: &str| told["stdout"][field].as_u64().unwrap();
            assert_eq!((&told["evidence_dropped"], stream("length")), (&json!(true), 300_000));
            assert_eq!(stream("captured") + stream("gap"), 300_000, "{told:#}");
            assert!(stream("gap") > 100_000, "{told:#}");
        }
        assert_halted(&place, "FAULT_TERMINATED", None);
        let shown = place.newest_loop();
        let stdout = &shown["attempts"][0]["outputs"][0];
        let found = (&stdout["true_length"], &stdout["truncated"]);
        assert_eq!(found, (&json!(300_000), &json!(true)), "{shown:#}");
        assert_gap_is_stated(&place);
        std::fs::remove_file(rest).unwrap();
        assert_eq!(status(&place.run(&["true"])), 0, "the log goes on");
        assert_halted(&place, "COMPLETED", None);
    }
}

/// The output of which some was dropped says how long it was, how much is there, and its digest.
fn assert_gap_is_stated(place: &Place) {
    let exported = text(&place.holdpoint(&["export"]).stdout);
    let mut lines = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let stated = lines.find(|line| line["event"]["content"]["output_pieces"].is_object());
    let stated = &stated.unwrap()["event"]["content"]["output_pieces"];
    assert_eq!(stated["stream"], "STDOUT");
    assert!(stated["kept_length"].as_u64().unwrap() < 200_000, "{stated:#}");
    assert_eq!(stated["end"]["true_length"], 300_000);
    let whole = holdpoint_domain::core::hash::sha256(&[0; 300_000]).to_string();
    assert_eq!(stated["end"]["whole_sha256"], whole.as_str(), "{stated:#}");
}

#[test]
fn a_question_that_a_full_disk_left_on_record_is_told_of() {
    let Some((place, disk)) = on_small_disk("2m") else {
        return skip("a full disk under a question: no small file system can be mounted here");
    };
    place.init();
    let free = rustix::fs::statvfs(&disk.path).unwrap();
    let filler = vec![1; usize::try_from(free.f_bavail * free.f_frsize).unwrap()];
    std::fs::write(disk.path.join("filler"), filler).unwrap();
    let words = ["decision", "create", "--prompt", "Deploy?", "--option", "yes:Yes"];
    let output = place.holdpoint(&words);
    let said = text(&output.stderr);
    assert_eq!(status(&output), 1, "{said}");
    std::fs::remove_file(disk.path.join("filler")).unwrap();
    let listed = json(&place.holdpoint(&["decision", "list", "--json"]));
    match listed.as_array().unwrap().as_slice() {
        [] => assert!(said.contains("may be on record"), "{said}"),
        [one] => {
            let id = one["id"].as_str().unwrap();
            assert!(said.contains("may be on record") || said.contains(id), "{said}");
        }
        several => panic!("{several:#?}"),
    }
}

#[test]
fn what_is_decided_on_a_full_disk_stands_and_is_said_to() {
    let Some((place, disk)) = on_small_disk("2m") else {
        return skip("a full disk under an answer: no small file system can be mounted here");
    };
    let words = ["decision", "create", "--prompt", "Deploy?", "--option", "yes:Yes", "--json"];
    let created = place.holdpoint(&words);
    assert_eq!(status(&created), 0, "{}", text(&created.stderr));
    let id = json(&created)["id"].as_str().unwrap().to_string();
    let held = place.holdpoint(&["run", "--hold", "after", "--no-wait", "--", "true"]);
    assert_eq!(status(&held), 122, "{}", text(&held.stderr));
    let listed =
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    let request = listed[0]["request_id"].as_str().unwrap().to_string();
    let free = rustix::fs::statvfs(&disk.path).unwrap();
    let filler = vec![1; usize::try_from(free.f_bavail * free.f_frsize).unwrap()];
    std::fs::write(disk.path.join("filler"), filler).unwrap();
    let doctor = place.holdpoint(&["doctor", "--json"]);
    assert_eq!(status(&doctor), 1, "{}", text(&doctor.stdout));
    assert!(!text(&doctor.stdout).contains("nobody can answer"));
    let approve = ["decision", "respond", &id, "yes"];
    let go_on = ["decision", "respond", &request, "CONTINUE"];
    for (answer, came_to) in [(approve, "option yes by"), (go_on, "decided CONTINUE by")] {
        let output = place.holdpoint(&answer);
        let said = text(&output.stderr);
        assert_eq!(status(&output), 1, "{said}");
        let named = [answer[2], came_to, "stands, but HEAD could not follow", "free some space"];
        named.iter().for_each(|words| assert!(said.contains(words), "{words}: {said}"));
        assert!(!said.contains("ask again"), "{said}");
    }
    std::fs::remove_file(disk.path.join("filler")).unwrap();
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    assert_eq!(shown["state"], "resolved", "{shown:#}");
    assert_eq!(
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"]))),
        json!([])
    );
    assert_eq!(status(&place.holdpoint(&approve)), 0, "the same answer is the same");
    place.verified();
}
