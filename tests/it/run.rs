//! `holdpoint run`: the command runs as if Holdpoint were not there, and all of it is on record.

use crate::machine::configure;
use crate::program::{Place, contents, json, sizes, status, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

#[test]
fn both_streams_pass_through_and_the_log_verifies() {
    let place = Place::new();
    let output = place.shell("echo out; echo err >&2");
    assert_eq!(
        (status(&output), &*output.stdout, &*output.stderr),
        (0, &b"out\n"[..], &b"err\n"[..])
    );
    let report = place.verified();
    assert!(report["records"].as_u64() > Some(10));
    assert_eq!(report["segments"], 1);
    assert_eq!(report["head"]["sequence"], report["records"]);
    let link = report["head"]["link"].as_str().expect("a link in hex");
    assert!(link.len() == 64 && link.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn where_stdout_does_not_take_what_is_told_that_is_holdpoints_own_failure() {
    let place = Place::new();
    for (arguments, so) in [
        (&["run", "--json", "--", "true"][..], "it is on record nevertheless"),
        (&["run", "--json", "--", "sh", "-c", "exit 7"], "it is on record nevertheless"),
        (
            &["run", "--json", "--hold", "after", "--no-wait", "--", "true"],
            "it is on record nevertheless",
        ),
        (&["run", "--hold", "before", "--no-wait", "--", "true"], "was not started"),
        (&["run", "--json", "--hold", "before", "--no-wait", "--", "true"], "was not started"),
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = place.command(arguments);
        command.stdin(Stdio::null());
        let output = command.stdout(full).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(status(&output), 125, "{arguments:?}: {said}");
        assert!(said.contains("cannot write to stdout") && said.contains(so), "{said}");
    }
}

#[test]
fn a_log_of_ten_runs_is_under_a_mebibyte() {
    let place = Place::new();
    for _ in 0..10 {
        assert_eq!(status(&place.shell("echo out; echo err >&2")), 0);
    }
    let (length, taken) = sizes(&place.log);
    assert!(length < 1 << 20 && taken < 1 << 20, "{length} bytes long, {taken} bytes on the disk");
    assert_eq!(place.loops().len(), 10);
}

/// What replay must show of the newest loop.
fn assert_ended(place: &Place, reason: &str, stop: Option<&str>, fault: Option<(&str, &str)>) {
    let shown = place.newest_loop();
    assert_eq!(shown["current_state"], "HALTED");
    assert_eq!(shown["halt_reason"], reason, "{shown:#}");
    assert_eq!(shown["stop_condition"], stop.map_or(Value::Null, Value::from));
    let attempt = &shown["attempts"][0];
    if let Some((fault, code)) = fault {
        assert_eq!(attempt["fault"]["fault_type"], fault);
        assert_eq!(attempt["fault"]["outcome"]["reason_code"], code);
    } else {
        assert_eq!(attempt["fault"], Value::Null);
    }
    place.verified();
}

/// Types of evidence in the chain of the newest loop.
fn evidence(place: &Place) -> Vec<String> {
    let shown = place.newest_loop();
    let records = shown["evidence_chain"]["records"].as_array().expect("a chain").clone();
    records.iter().map(|record| record["evidence_type"].as_str().expect("a type").into()).collect()
}

#[test]
fn death_by_a_signal_exits_128_and_the_signal() {
    let place = Place::new();
    let output = place.shell("kill -SEGV $$");
    assert_eq!(status(&output), 139);
    assert_eq!(output.stdout, b"");
    let said = text(&output.stderr);
    assert!(said.contains("CRASH") && said.contains("SBX-004 TERMINATE"), "{said}");
    assert!(said.contains("show LOOP-") && said.lines().count() == 1, "{said}");
    assert_ended(&place, "FAULT_TERMINATED", None, Some(("CRASH", "SBX-004")));
    assert!(evidence(&place).contains(&"EXECUTOR_OUTPUT".to_string()));
    assert!(evidence(&place).contains(&"RESOURCE_SNAPSHOT".to_string()));
}

#[test]
fn a_command_that_runs_too_long_exits_124() {
    let place = Place::new();
    let output = place.run_with(&["--timeout", "1s"], &["sleep", "100"]);
    assert_eq!(status(&output), 124);
    assert!(text(&output.stderr).contains("TIMEOUT"));
    assert_ended(&place, "FAULT_TERMINATED", None, Some(("TIMEOUT", "SBX-004")));
}

#[test]
fn a_missing_program_exits_127_and_names_it() {
    let place = Place::new();
    let output = place.run(&["no-such-program-anywhere", "x"]);
    assert_eq!(status(&output), 127);
    let said = text(&output.stderr);
    assert!(said.starts_with("holdpoint: program \"no-such-program-anywhere\" was not"), "{said}");
    assert!(said.contains("check its name"), "{said}");
    let id = format!("LOOP-{}", said.split_once("LOOP-").unwrap().1.split('`').next().unwrap());
    let shown = text(&place.holdpoint(&["show", &id]).stdout);
    assert!(shown.contains("refused: its program was not found\n"), "plain words: {shown}");
    let codes = text(&place.holdpoint(&["show", &id, "--verbose"]).stdout);
    assert!(codes.contains("EXECUTOR_NOT_REGISTERED"), "{codes}");
    assert_ended(&place, "STOP_CONDITION", Some("EXECUTOR_NOT_REGISTERED"), None);
    assert_eq!(evidence(&place).last().map(String::as_str), Some("STOP_CONDITION"));
}

#[test]
fn a_program_whose_name_no_file_can_have_is_one_that_is_not_found() {
    let place = Place::new();
    let output = place.run(&[&"a".repeat(256)]);
    let said = text(&output.stderr);
    assert_eq!(status(&output), 127, "{said}");
    assert!(said.contains("was not found (a name of 256 bytes, and no file's has"), "{said}");
    assert_ended(&place, "STOP_CONDITION", Some("EXECUTOR_NOT_REGISTERED"), None);
}

#[test]
fn a_file_without_execute_permission_exits_126_and_names_it() {
    let place = Place::new();
    let file = place.directory.path().join("plain");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let output = place.run(&["./plain"]);
    assert_eq!(status(&output), 126);
    assert!(text(&output.stderr).contains("chmod +x"));
    assert_ended(&place, "STOP_CONDITION", Some("MISSING_AUTHORIZATION"), None);
}

#[test]
fn a_plain_failure_passes_its_status_on_without_a_word() {
    let place = Place::new();
    let output = place.shell("exit 77");
    assert_eq!((status(&output), &*output.stderr), (77, &b""[..]));
    assert_ended(&place, "RESPONSE_REJECTED", None, None);
}

/// The evidence of the newest loop that has a gap.
fn cut(place: &Place) -> Value {
    let records = place.newest_loop()["evidence_chain"]["records"].as_array().unwrap().clone();
    let cut = |record: &Value| {
        let stated = &record["content"]["output_pieces"];
        stated["kept_length"].as_u64() < stated["end"]["true_length"].as_u64()
    };
    records.into_iter().find(cut).expect("an output with a gap")
}

#[test]
fn output_beyond_the_bound_is_no_fault_and_still_passed_through_whole() {
    let place = Place::new();
    let printed = format!("01234{}END", "x".repeat(10_000));
    let output = place.run_with(&["--max-output", "5B"], &["printf", &printed]);
    assert_eq!(
        (status(&output), &*output.stdout, &*output.stderr),
        (0, printed.as_bytes(), &[][..])
    );
    assert_ended(&place, "COMPLETED", None, None);
    let stdout = &place.newest_loop()["attempts"][0]["outputs"][0];
    assert_eq!((&stdout["true_length"], &stdout["truncated"]), (&json!(10_008), &json!(true)));
    let record = cut(&place);
    let stated = &record["content"]["output_pieces"];
    assert_eq!((&stated["pieces"], &stated["kept_length"]), (&json!(2), &json!(5 + 4_096)));
    assert_eq!(stated["end"]["whole_sha256"], stdout["whole_sha256"]);
    let sequence = record["sequence"].to_string();
    let only = ["log", "--since", &sequence, "--until", &sequence];
    let line = text(&place.holdpoint(&only).stdout);
    assert!(line.contains("STDOUT of 10008 bytes: 4101 recorded in 2 pieces"), "{line}");

    let options = ["--max-output", "5B", "--json"];
    let told = json(&place.run_with(&options, &["printf", &printed]));
    let streams = [
        json!({ "length": 10_008, "captured": 4_101, "head": 5, "gap": 5_907 }),
        json!({ "length": 0, "captured": 0, "head": 0, "gap": 0 }),
    ];
    assert_eq!([&told["stdout"], &told["stderr"]], [&streams[0], &streams[1]]);
}

/// A hold is not got past by printing much: the person is asked, and both ends are evidence.
#[test]
fn a_long_output_under_a_hold_asks_and_keeps_its_first_and_last_bytes() {
    let place = Place::new();
    let script = "printf FIRST; head -c 5000000 /dev/zero; printf LAST";
    let bound = ["--max-output", "1MiB"];
    let words = ["run", "--hold", "after", "--no-wait", "--json"];
    let output = place.holdpoint(&[&words[..], &bound, &["--", "sh", "-c", script]].concat());
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    assert!(json(&output)["request_id"].as_str().is_some());
    let stated = cut(&place)["content"]["output_pieces"].clone();
    assert_eq!(stated["kept_length"], (1 << 20) + 4_096);
    assert_eq!(stated["end"]["true_length"], 5_000_009);
    let export = place.holdpoint(&["export", "--include-evidence"]);
    let lines = text(&export.stdout);
    let found = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let piece = |line: &Value| line["event"]["raw_data"]["hex"].as_str().map(str::to_string);
    let is_piece = |line: &Value| line["kind"] == "evidence_capture.output_recorded";
    let pieces: Vec<String> = found.filter(is_piece).filter_map(|line| piece(&line)).collect();
    assert_eq!(pieces.concat().len(), 2 * ((1 << 20) + 4_096), "each byte is there once");
    assert!(pieces[0].starts_with(&hex_of("FIRST\0")));
    assert!(pieces.last().unwrap().ends_with(&hex_of("\0LAST")));
}

fn hex_of(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// What was put out last is not known where a process that left the command still has the stream.
#[test]
fn output_that_cannot_be_read_to_its_end_is_partial_and_under_a_hold_exits_123() {
    let script = "rm -f left; setsid sh -c 'echo > left; exec sleep 5' &
        while [ ! -e left ]; do sleep 0.01; done; exit ";
    for (hold, own, expected) in
        [("never", 0, 0), ("never", 7, 7), ("after", 0, 123), ("after", 7, 7)]
    {
        let place = Place::new();
        let script = format!("{script}{own}");
        let output = place.holdpoint(&["run", "--hold", hold, "--", "sh", "-c", &script]);
        assert_eq!(status(&output), expected, "{hold} {own}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("PARTIAL"), "{}", text(&output.stderr));
        assert_ended(&place, "FAULT_TERMINATED", None, Some(("PARTIAL", "SBX-003")));
    }
}

#[test]
fn memory_over_the_limit_exits_137_and_needs_a_person() {
    let place = Place::new();
    let script = "{ head -c 400000000 /dev/zero; sleep 100; } | tail -n 1";
    let output = place.run_with(&["--max-memory", "64MiB"], &["sh", "-c", script]);
    assert_eq!(status(&output), 137);
    let fault = Some(("RESOURCE_EXHAUSTED", "SBX-002"));
    assert_ended(&place, "FAULT_ESCALATED", None, fault);
}

#[test]
fn a_crash_is_tried_again_at_once_as_often_as_allowed() {
    let place = Place::new();
    let script = "echo try >> tries; test $(wc -l < tries) -ge 3 || kill -SEGV $$";
    let output = place.run_with(&["--max-attempts", "3"], &["sh", "-c", script]);
    assert_eq!(status(&output), 0);
    assert_eq!(place.newest_loop()["attempts"].as_array().map(Vec::len), Some(3));
    assert_ended(&place, "COMPLETED", None, Some(("CRASH", "SBX-OK")));
}

#[test]
fn streams_pass_through_byte_for_byte_whatever_their_bytes_and_length() {
    let place = Place::new();
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes = bytes.repeat(4096);
    bytes.extend(b"no newline at the end \xff\xfe\xc3");
    std::fs::write(place.directory.path().join("bytes"), &bytes).unwrap();
    let options = ["--max-output", "2MiB"];
    let output = place.run_with(&options, &["sh", "-c", "cat bytes; cat bytes >&2"]);
    assert_eq!(status(&output), 0);
    assert!(output.stdout == bytes && output.stderr == bytes);
    let outputs = &place.newest_loop()["attempts"][0]["outputs"];
    assert_eq!(
        (&outputs[0]["true_length"], &outputs[1]["true_length"]),
        (&json!(bytes.len()), &json!(bytes.len()))
    );
}

#[test]
fn standard_input_is_empty_unless_it_is_asked_for() {
    for (options, expected) in [(&[][..], ""), (&["--stdin"][..], "typed")] {
        let place = Place::new();
        let arguments = [&["run", "--hold", "never"], options, &["--", "cat"]].concat();
        let mut child = spawn(&place, &arguments);
        // A command that does not read ends without it: then the pipe is closed.
        let _ = child.stdin.take().unwrap().write_all(b"typed");
        let output = child.wait_with_output().unwrap();
        assert_eq!((status(&output), text(&output.stdout).as_str()), (0, expected));
    }
}

fn spawn(place: &Place, arguments: &[&str]) -> Child {
    let mut command = place.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts a run of a script and waits until it says `ready`.
fn spawn_until_ready(place: &Place, script: &str) -> (Child, BufReader<impl Read + use<>>) {
    let mut child = spawn(place, &["run", "--hold", "never", "--", "sh", "-c", script]);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, stdout)
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn a_signal_from_another_process_is_passed_on_and_exits_130_as_interrupted() {
    let place = Place::new();
    let (mut child, mut rest) = spawn_until_ready(
        &place,
        "trap 'echo bye; exit 0' INT; echo ready; while :; do sleep 1; done",
    );
    send(&child, Signal::INT);
    let mut said = String::new();
    rest.read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(130), "bye\n"));
    assert_ended(&place, "INTERRUPTED", None, None);
    let id = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    let shown = text(&place.holdpoint(&["show", &id]).stdout);
    let (process, user) = (std::process::id(), rustix::process::geteuid().as_raw());
    let sent = format!("interrupted: signal 2 from process {process} of user {user}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(&sent), "{shown}");
}

#[test]
fn a_run_that_was_killed_leaves_an_intact_log_that_goes_on() {
    let place = Place::new();
    let (mut child, _rest) = spawn_until_ready(&place, "echo ready; read forever < /dev/zero");
    send(&child, Signal::KILL);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let verdict = json(&place.holdpoint(&["verify", "--json"]))["verdict"].clone();
    assert!(["intact", "intact, tail unproven"].contains(&verdict.as_str().unwrap()), "{verdict}");
    assert_eq!(status(&place.shell("true")), 0);
    place.verified();
    assert_eq!(place.newest_loop()["halt_reason"], "COMPLETED");
}

#[test]
fn a_reader_that_leaves_early_neither_stops_the_command_nor_the_record() {
    let place = Place::new();
    let mut child = spawn(&place, &["run", "--hold", "never", "--", "seq", "1", "100000"]);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!((status(&output), line.as_str(), text(&output.stderr).as_str()), (0, "1\n", ""));
    let outputs = &place.newest_loop()["attempts"][0]["outputs"];
    assert_eq!(outputs[0]["true_length"], 588_895);
}

#[test]
fn json_is_one_object_on_stdout_and_the_commands_streams_are_on_stderr() {
    let place = Place::new();
    let output = place.run_with(&["--json"], &["sh", "-c", "echo out; echo err >&2; exit 3"]);
    assert_eq!(status(&output), 3);
    let mut streams: Vec<String> = text(&output.stderr).lines().map(String::from).collect();
    streams.sort();
    assert_eq!(streams, ["err", "out"]);
    let told = json(&output);
    let shown = place.newest_loop();
    assert_eq!(told["loop_id"], shown["loop_id"]);
    assert_eq!((&told["exit_status"], &told["attempts"]), (&json!(3), &json!(1)));
    assert_eq!(
        (&told["reason"], &told["stop_condition"]),
        (&json!("RESPONSE_REJECTED"), &Value::Null)
    );
    assert_eq!((&told["fault_type"], &told["fault_code"]), (&Value::Null, &Value::Null));
    let whole = json!({ "length": 4, "captured": 4, "head": 4, "gap": 0 });
    assert_eq!(told["stdout"], whole);
    let records = place.verified()["records"].clone();
    assert_eq!(told["records"], json!({ "first": 2, "last": records }));
    assert!(told["wall_ms"].is_u64());
    assert_eq!(told["log"].as_str(), place.log.to_str());
}

#[test]
fn json_tells_of_faults_and_of_commands_that_did_not_start() {
    let place = Place::new();
    let told = json(&place.run_with(&["--json"], &["sh", "-c", "kill -SEGV $$"]));
    let fault = (&told["fault_type"], &told["fault_code"], &told["sandbox_decision"]);
    assert_eq!(fault, (&json!("CRASH"), &json!("SBX-004"), &json!("TERMINATE")));
    let told = json(&place.run_with(&["--json"], &["no-such-program-anywhere"]));
    assert_eq!((&told["attempts"], &told["stdout"]), (&json!(0), &Value::Null));
    assert_eq!(told["stop_condition"], "EXECUTOR_NOT_REGISTERED");
}

#[test]
fn everything_after_the_dashes_is_the_commands_own() {
    let place = Place::new();
    let output = place.run(&["printf", "%s|", "--json", "--", "--log", "-c", ""]);
    assert_eq!((status(&output), text(&output.stdout).as_str()), (0, "--json|--|--log|-c||"));
    assert_eq!(place.newest_loop()["command_line"], "printf '%s|' --json -- --log -c ''");
}

#[test]
fn what_is_no_command_line_is_a_usage_error_and_touches_no_log() {
    let place = Place::new();
    let cases: [&[&str]; 11] = [
        &["run"],
        &["run", "--"],
        &["run", "true"],
        &["run", "ls", "-l"],
        &["run", "--hold", "sometimes", "--", "true"],
        &["run", "--max-attempts", "0", "--", "true"],
        &["run", "--max-attempts", "4", "--", "true"],
        &["run", "--timeout", "soon", "--", "true"],
        &["run", "--timeout", "0s", "--", "true"],
        &["run", "--max-output", "513MiB", "--", "true"],
        &["run", "--max-memory", "0", "--", "true"],
    ];
    for arguments in cases {
        let output = place.holdpoint(arguments);
        assert_eq!((status(&output), &*output.stdout), (2, &b""[..]), "{arguments:?}");
        assert!(!place.log.exists());
    }
    let said = text(&place.holdpoint(&["run", "--hold", "sometimes", "--", "true"]).stderr);
    assert!(said.contains("[possible values: never, before, on-failure, after, always]"), "{said}");
}

#[test]
fn the_environment_names_the_log_and_an_option_outranks_it() {
    let place = Place::new();
    let other = place.directory.path().join("other");
    let run = ["run", "--hold", "never", "--", "true"];
    let mut by_environment = std::process::Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    by_environment.env("HOLDPOINT_LOG", &other).args(run);
    assert_eq!(status(&by_environment.output().unwrap()), 0);
    assert!(other.join("HEAD").exists());
    let before = contents(&other);
    let outranked = place.command(&run).env("HOLDPOINT_LOG", &other).output().unwrap();
    assert_eq!(status(&outranked), 0);
    assert_eq!((contents(&other), place.loops().len()), (before, 1));
}

#[test]
fn secrets_of_the_environment_leave_no_trace_on_the_log() {
    let place = Place::new();
    configure("[evidence]\nrecord_env = [\"PLAIN_*\", \"MY_TOKEN\"]\n");
    let options = ["--record-env", "PLAIN_*", "--record-env", "MY_TOKEN", "--redact", "plain_b"];
    let arguments = [&["run"], &options[..], &["--", "sh", "-c", "test $MY_TOKEN = hush"]].concat();
    let mut command = place.command(&arguments);
    command.envs([("PLAIN_A", "visible-a"), ("PLAIN_B", "hidden-b"), ("MY_TOKEN", "hush")]);
    assert_eq!(status(&command.env("UNNAMED", "hidden-c").output().unwrap()), 0);
    let bytes: Vec<u8> = contents(&place.log).into_values().flatten().collect();
    let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("visible-a") && holds("MY_TOKEN") && holds("PLAIN_B"));
    assert!(!holds("hidden-b") && !holds("hidden-c") && !holds("UNNAMED"));
    let after_envelope =
        |text: &str| bytes.windows(text.len()).filter(|w| *w == text.as_bytes()).count();
    // The command line itself, which the caller wrote, is the only place that names the value.
    assert_eq!(after_envelope("hush"), 2, "once in the envelope, once in the command line shown");
}

/// A secret is kept out by its name's words or by its own form, before anything is hashed.
#[test]
fn secrets_are_known_by_whole_words_and_by_their_form() {
    let place = Place::new();
    configure("[evidence]\nrecord_env = [\"*\"]\n");
    let secret = [
        ("DB_PASS", "hush-1"),
        ("CI_DATABASE_URL", "hush-2"),
        ("MYSQL_PWD", "hush-3"),
        ("UPSTREAM", "https://me:hush-4@example.org/"),
        ("HOME", "/home/ghp_hush5hush5hush5hush5hush5hush5"),
    ];
    let shown = [("KEYBOARD", "plain-1"), ("COMPASS", "plain-2"), ("PWD", "/plain-3")];
    let mut command = place.command(&["run", "--record-env", "*", "--", "true"]);
    let output = command.env_clear().envs(secret).envs(shown).env("PATH", "/bin:/usr/bin").output();
    let output = output.unwrap();
    assert_eq!(status(&output), 0);
    let bytes: Vec<u8> = contents(&place.log).into_values().flatten().collect();
    let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(!holds("hush"));
    assert!(secret.iter().all(|(name, _)| holds(name)));
    assert!(shown.iter().all(|(name, value)| holds(name) && holds(value)));
}

/// Once, from the command line and from the configuration alike, and not for a part of the names.
#[test]
fn recording_the_whole_environment_warns_once() {
    let place = Place::new();
    let warnings = |options: &[&str]| {
        let said = text(&place.run_with(options, &["true"]).stderr);
        said.matches("every variable of the environment is recorded").count()
    };
    configure("[evidence]\nrecord_env = [\"MY_*\"]\n");
    assert_eq!(warnings(&["--record-env", "MY_*"]), 0);
    configure("[evidence]\nrecord_env = [\"*\"]\n");
    assert_eq!(warnings(&["--record-env", "*", "--record-env", "*"]), 1);
    assert_eq!(warnings(&[]), 1);
}

#[test]
fn runs_beside_each_other_share_one_log() {
    let place = Place::new();
    let runs: Vec<Child> = (0..6)
        .map(|number| {
            let number = number.to_string();
            spawn(&place, &["run", "--hold", "never", "--", "echo", &number])
        })
        .collect();
    for (number, run) in runs.into_iter().enumerate() {
        let output = run.wait_with_output().unwrap();
        assert_eq!((status(&output), text(&output.stdout)), (0, format!("{number}\n")));
    }
    assert_eq!(place.loops().len(), 6);
    place.verified();
}

#[test]
fn a_run_in_a_run_is_another_one_and_what_both_are_given_finds_them_together() {
    let place = Place::new();
    let inner = |options: &str| {
        let program = env!("CARGO_BIN_EXE_holdpoint");
        format!("'{program}' --log '{}' run {options} -- echo inner", place.log.display())
    };
    let run = |options: &[&str], script: &str| {
        assert_eq!(status(&place.run_with(options, &["sh", "-c", script])), 0);
    };
    let found = |wanted: &[&str]| {
        text(&place.holdpoint(&[&["runs", "--json"], wanted].concat()).stdout)
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .collect::<Vec<_>>()
    };
    run(&[], &inner(""));
    let [one, other] = &found(&[])[..] else { panic!("two runs") };
    assert_ne!(one["correlation"], other["correlation"]);
    for run in [one, other] {
        let story = ["log", &format!("correlation={}", run["correlation"].as_str().unwrap())];
        let story = text(&place.holdpoint(&story).stdout);
        assert_eq!(story.matches("execution_loop.initialized").count(), 1, "{story}");
    }
    run(&["--label", "job=7"], &inner(""));
    assert_eq!(found(&["label=job=7"]).len(), 1, "nothing is inherited");
    run(&["--label", "job=8", "--correlation", "s"], &inner("--label job=8 --correlation s"));
    let both = found(&["label=job=8"]);
    assert_eq!(both.len(), 2);
    assert!(both.iter().all(|run| run["correlation"] == "s"), "{both:?}");
}
