//! The verbs that read a log: what they show, what they exit with, and that they neither panic on
//! a strange place nor write a byte to it.

use crate::records_support::besides_reach;
use holdpoint_domain::Event;
use holdpoint_domain::execution_loop::LoopDispatched;
use holdpoint_domain::log::ClockStepped;
use holdpoint_replay::machine::this_boot;
use holdpoint_testing::hand_made::{
    FIRST_RECORD, HandMadeLog, OTHER_BOOT, SECRET, flip, make_newer,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Every verb that reads a log.
const VERBS: [&[&str]; 4] = [&["verify"], &["replay"], &["log"], &["log", "--stat"]];

fn command(log: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.env_remove("HOLDPOINT_LOG").arg("--log").arg(log).args(arguments);
    command
}

fn holdpoint(log: &Path, arguments: &[&str]) -> Output {
    command(log, arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Two runs, one that ended well and one that crashed, over two segments.
fn sample() -> (TempDir, HandMadeLog) {
    let mut log = HandMadeLog::new();
    log.run();
    log.roll();
    log.crash();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    (directory, log)
}

/// Every file below a directory, with its bytes.
fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// Asserts that every verb exits so and says all of this on stderr, without touching the place.
fn assert_refused(log: &Path, code: i32, said: &[&str]) {
    for verb in VERBS {
        for json in [false, true] {
            let mut arguments = verb.to_vec();
            arguments.extend(json.then_some("--json"));
            let output = holdpoint(log, &arguments);
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
            for words in said {
                assert!(stderr.contains(words), "{arguments:?}: {stderr}");
            }
            if json && verb != ["log"] {
                let _ = self::json(&output);
            } else {
                assert_eq!(text(&output.stdout), "", "{arguments:?}");
            }
        }
    }
}

#[test]
fn verify_proves_an_intact_log() {
    let (directory, log) = sample();
    let before = contents(directory.path());
    let output = holdpoint(directory.path(), &["verify", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
    let report = json(&output);
    assert_eq!(report["verdict"], "intact");
    assert_eq!(report["records"], log.chain.sequence);
    assert_eq!(report["segments"], 2);
    assert_eq!(report["head"]["sequence"], log.chain.sequence);
    assert_eq!(report["head"]["link"], log.chain.link.to_string());
    assert_eq!(report["axes"]["meaning"]["state"], "proven");
    assert_eq!(report["axes"]["authenticity"]["state"], "not checked");
    assert_eq!(report["findings"], serde_json::json!([]));
    let shown = text(&holdpoint(directory.path(), &["verify"]).stdout);
    assert!(shown.starts_with("verdict         intact\n"), "{shown}");
    assert!(shown.contains(&log.chain.link.to_string()), "{shown}");
    assert!(!shown.contains('\u{1b}'), "no colour outside a terminal");
    assert_eq!(contents(directory.path()), before);
}

#[test]
fn verify_exits_6_and_names_what_was_due_where() {
    let (directory, _) = sample();
    let segment = "segments/00000000000000000001.seg";
    flip(&directory.path().join(segment), FIRST_RECORD + 70);
    let output = holdpoint(directory.path(), &["verify", "--json"]);
    assert_eq!(output.status.code(), Some(6));
    let report = json(&output);
    assert_eq!(report["verdict"], "corrupt");
    let finding = &report["findings"][0];
    assert_eq!(finding["segment"], segment);
    assert_eq!(finding["offset"], FIRST_RECORD);
    assert_eq!(finding["sequence"], 1);
    assert_eq!(finding["problem"], "checksum");
    let (expected, found) = (&finding["expected"], &finding["found"]);
    assert_ne!(expected, found);
    let shown = text(&holdpoint(directory.path(), &["verify"]).stdout);
    for words in [segment, "byte 4096", "sequence 1", expected.as_str().unwrap(), "keep a copy"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    for verb in VERBS {
        assert_eq!(holdpoint(directory.path(), verb).status.code(), Some(6), "{verb:?}");
    }
}

#[test]
fn verify_tells_forbidden_events_from_damage() {
    let mut log = HandMadeLog::new();
    let loop_id = log.run();
    log.events(vec![Event::from(LoopDispatched {
        loop_id: loop_id.as_str().into(),
        attempt: 1,
        permitted_by_fault: None,
        permitted_by_decision: None,
        instruction: None,
    })]);
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let output = holdpoint(directory.path(), &["verify", "--json"]);
    assert_eq!(output.status.code(), Some(6));
    let report = json(&output);
    assert_eq!(report["verdict"], "forbidden events");
    assert_eq!(report["axes"]["integrity"]["state"], "proven");
    assert_eq!(report["findings"][0]["rule"], "LOOP_IS_LIVE");
    assert_eq!(report["findings"][0]["kind"], "execution_loop.dispatched");
}

#[test]
fn records_without_a_mark_are_intact_and_said_to_be_unproven() {
    let mut log = HandMadeLog::new();
    log.run();
    let head = log.head();
    log.events(vec![Event::from(ClockStepped { step_ns: 1 })]);
    let directory = TempDir::new().unwrap();
    log.write_with_head(directory.path(), &head);
    let output = holdpoint(directory.path(), &["verify", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let report = json(&output);
    assert_eq!(report["verdict"], "intact, tail unproven");
    assert_eq!(report["mark"], head.newest_sequence);
    assert_eq!(report["unproven"]["last"], log.chain.sequence);
}

#[test]
fn replay_shows_settled_loops_by_the_seeds_names() {
    let (directory, log) = sample();
    let state = json(&holdpoint(directory.path(), &["replay", "--json"]));
    assert_eq!(state["head"]["sequence"], log.chain.sequence);
    assert_eq!(state["execution_loops"][0]["current_state"], "HALTED");
    assert_eq!(state["execution_loops"][0]["halt_reason"], "COMPLETED");
    let fault = &state["execution_loops"][1]["attempts"][0]["fault"];
    assert_eq!(fault["fault_type"], "CRASH");
    assert!(fault["outcome"]["reason_code"].as_str().unwrap().starts_with("SBX-"), "{fault}");
    let shown = text(&holdpoint(directory.path(), &["replay"]).stdout);
    assert!(shown.contains("COMPLETED") && shown.contains("CRASH"), "{shown}");
}

#[test]
fn replay_goes_back_to_a_record_or_a_moment() {
    let (directory, _) = sample();
    let moment = |ms: u64| format!("2026-01-25T16:00:00.{ms:03}Z");
    let nothing = json(&holdpoint(directory.path(), &["replay", "--json", "--until", "0"]));
    assert_eq!(nothing["head"], Value::Null);
    assert_eq!(nothing["execution_loops"], serde_json::json!([]));
    let states: Vec<Value> = (0..6)
        .map(|ms| json(&holdpoint(directory.path(), &["replay", "--json", "--until", &moment(ms)])))
        .collect();
    let names: Vec<&Value> =
        states.iter().map(|s| &s["execution_loops"][0]["current_state"]).collect();
    let due =
        ["INIT", "DISPATCHED", "AWAITING_RESPONSE", "AWAITING_RESPONSE", "EVALUATED", "HALTED"];
    assert_eq!(names, due);
    for state in states {
        let sequence = state["head"]["sequence"].to_string();
        let same = json(&holdpoint(directory.path(), &["replay", "--json", "--until", &sequence]));
        assert_eq!(same, state);
    }
}

#[test]
fn replay_tells_the_story_of_one_loop() {
    let mut log = HandMadeLog::new();
    let (one, other) = (log.run(), log.crash());
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let shown = text(&holdpoint(directory.path(), &["replay", "--story", &one]).stdout);
    assert!(shown.contains(&one) && !shown.contains(&other), "{shown}");
    assert!(shown.contains("HALTED from EVALUATED: COMPLETED"), "{shown}");
    let state = json(&holdpoint(directory.path(), &["replay", "--json", "--story", &one]));
    assert_eq!(state["story"][0]["kind"], "execution_loop.initialized");
    for (wanted, said) in [
        ("LOOP-none".to_string(), " replay` lists all".to_string()),
        (format!("{one}x"), format!("did you mean {one}?")),
        (one[..one.len() - 4].to_string(), one.clone()),
        (one[..7].to_string(), "did you mean LOOP-".to_string()),
    ] {
        let missing = holdpoint(directory.path(), &["replay", "--story", &wanted]);
        let stderr = text(&missing.stderr);
        let is_begun = one.starts_with(&wanted) && wanted.len() > 11;
        assert_eq!(missing.status.code(), Some(if is_begun { 4 } else { 3 }), "{wanted}");
        assert!(stderr.contains(&said), "{wanted}: {stderr}");
    }
}

#[test]
fn log_show_is_one_line_a_record_and_json_lines() {
    let (directory, log) = sample();
    let shown = text(&holdpoint(directory.path(), &["log"]).stdout);
    assert_eq!(shown.lines().count() as u64, log.chain.sequence);
    let lines = text(&holdpoint(directory.path(), &["log", "--json"]).stdout);
    let values: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(values.len() as u64, log.chain.sequence);
    assert_eq!(values[0]["kind"], "execution_loop.initialized");
    assert_eq!(values[0]["actor"]["id"], "ci");
    assert_eq!(values.last().unwrap()["link"], log.chain.link.to_string());
    let some = ["log", "kind=sandbox_fault", "--since", "2"];
    assert!(text(&holdpoint(directory.path(), &some).stdout).lines().count() > 0);
}

#[test]
fn log_stat_counts_by_kind() {
    let (directory, log) = sample();
    let found = json(&holdpoint(directory.path(), &["log", "--stat", "--json"]));
    assert_eq!(found["records"], log.chain.sequence);
    assert_eq!(found["records_by_kind"]["execution_loop.initialized"], 2);
    assert_eq!(found["first_time"], "2026-01-25T16:00:00.000000000Z");
    let shown = text(&holdpoint(directory.path(), &["log", "--stat"]).stdout);
    assert!(shown.contains("execution_loop.initialized") && shown.contains('#'), "{shown}");
}

#[test]
fn no_reading_verb_shows_raw_evidence_or_lets_foreign_text_steer_a_terminal() {
    let mut log = HandMadeLog::new();
    log.run_of("printf '\u{1b}[2J\u{202e}\u{9b}31m'");
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    for verb in VERBS {
        for json in [&[][..], &["--json"]] {
            let output = holdpoint(directory.path(), &[verb, json].concat());
            assert_eq!(output.status.code(), Some(0));
            let shown = text(&output.stdout);
            assert!(!shown.contains(SECRET), "{verb:?}");
            assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{verb:?}: {shown}");
        }
    }
}

#[test]
fn missing_empty_and_foreign_places_hold_nothing() {
    let directory = TempDir::new().unwrap();
    assert_refused(directory.path(), 3, &["directory is empty", "--log"]);
    assert_refused(&directory.path().join("missing"), 3, &["no such directory", "--log"]);
    std::fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    assert_refused(directory.path(), 3, &["other files"]);
    assert_eq!(contents(directory.path()).len(), 1);
    let report = json(&holdpoint(directory.path(), &["verify", "--json"]));
    assert_eq!(report["verdict"], "nothing here");
}

#[test]
fn where_only_a_broken_head_is_left_nothing_says_that_the_log_was_empty() {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("HEAD"), [7; 152]).unwrap();
    for verb in [&["verify"][..], &["log"], &["log", "-n", "10"], &["show", "--trace", "1"]] {
        let output = holdpoint(directory.path(), verb);
        assert_eq!(output.status.code(), Some(6), "{verb:?}: {}", text(&output.stderr));
    }
}

#[test]
fn where_a_lock_alone_is_left_readers_miss_the_records_that_it_names_and_writers_begin_anew() {
    let readings = [
        &["verify"][..],
        &["log"],
        &["log", "-n", "3"],
        &["log", "--reverse"],
        &["log", "-n", "10"],
        &["show", "--trace", "1"],
        &["replay"],
        &["export"],
        &["decision", "list", "--kind", "hold"],
        &["decision", "list"],
        &["thread", "list"],
    ];
    for (boot, exit) in [(this_boot(), 6), (OTHER_BOOT, 3)] {
        let directory = TempDir::new().unwrap();
        let mut log = HandMadeLog::new();
        log.boot = boot;
        log.run();
        log.write(directory.path());
        std::fs::remove_dir_all(directory.path().join("segments")).unwrap();
        std::fs::remove_file(directory.path().join("HEAD")).unwrap();
        for verb in readings {
            let output = holdpoint(directory.path(), verb);
            let said = format!("{}{}", text(&output.stderr), text(&output.stdout));
            assert_eq!(output.status.code(), Some(exit), "{verb:?}: {said}");
            let newest = log.chain.sequence;
            let words = match exit {
                6 => format!("records up to {newest} were durable, and there is no segment"),
                _ => format!("only LOCK of one; LOCK tells of record {newest}"),
            };
            assert!(said.contains(&words), "{verb:?}: {said}");
        }
        let made = holdpoint(directory.path(), &["run", "--", "true"]);
        assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    }
}

#[test]
fn what_stands_in_the_place_of_the_segments_is_damage_and_not_followed() {
    let puts: [fn(&Path, &Path); 3] = [
        |aside, place| symlink(aside, place).unwrap(),
        |_, place| std::fs::write(place, "mine").unwrap(),
        |_, place| assert!(Command::new("mkfifo").arg(place).status().unwrap().success()),
    ];
    for put in puts {
        let (directory, _) = sample();
        let aside = TempDir::new().unwrap();
        let (aside, place) = (aside.path().join("aside"), directory.path().join("segments"));
        std::fs::rename(&place, &aside).unwrap();
        put(&aside, &place);
        for verb in [
            &["log"][..],
            &["log", "-n", "3"],
            &["log", "--reverse"],
            &["log", "-n", "10"],
            &["show", "--trace", "3"],
        ] {
            let output = holdpoint(directory.path(), verb);
            let said = text(&output.stderr);
            assert_eq!((output.status.code(), text(&output.stdout)), (Some(6), String::new()));
            let finding = "segments, byte 0, sequence 0: it is not a regular file";
            assert!(said.contains(finding), "{verb:?}: {said}");
        }
        let findings = |options: &[&str]| {
            let output = holdpoint(directory.path(), &[&["verify", "--json"], options].concat());
            assert_eq!(output.status.code(), Some(6), "{options:?}: {}", text(&output.stderr));
            json(&output)["findings"].clone()
        };
        let whole = findings(&[]);
        assert_eq!(whole[0]["problem"], "not_regular");
        for options in [&["--caches"][..], &["1.."], &["2..4"]] {
            assert_eq!(findings(options), whole, "{options:?}");
        }
    }
}

#[test]
fn files_and_links_are_no_logs() {
    let (directory, _) = sample();
    let place = TempDir::new().unwrap();
    let (file, link) = (place.path().join("file"), place.path().join("link"));
    std::fs::write(&file, "text").unwrap();
    symlink(directory.path(), &link).unwrap();
    assert_refused(&file, 1, &["not a directory", "--log"]);
    let target = directory.path().canonicalize().unwrap();
    assert_refused(&link, 1, &["symbolic link", target.to_str().unwrap()]);
    assert_refused(&place.path().join("link/"), 1, &["symbolic link"]);
}

#[test]
fn an_unreadable_directory_is_named() {
    let (directory, _) = sample();
    let closed = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(directory.path(), closed).unwrap();
    if directory.path().read_dir().is_ok() {
        eprintln!("skipped: this user reads every directory");
    } else {
        let shown = directory.path().to_str().unwrap();
        assert_refused(directory.path(), 1, &[shown, "ermission"]);
    }
    let open = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(directory.path(), open).unwrap();
}

#[test]
fn a_moment_that_no_record_can_have_is_told_from_what_is_no_time() {
    let (directory, _) = sample();
    for verb in [&["log", "--since"][..], &["log", "--until"], &["diff"]] {
        let output = holdpoint(directory.path(), &[verb, &["9999-12-31T23:59:59Z"]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(!said.contains("not a time"), "{said}");
        assert!(said.contains("1970-01-01T00:00:00") && said.contains("2554-07-21"), "{said}");
    }
    let output = holdpoint(directory.path(), &["log", "--since", "noon"]);
    assert!(text(&output.stderr).contains("not a time"));
}

#[test]
fn a_newer_format_names_the_program_that_can_read_it() {
    for file in ["HEAD", "segments/00000000000000000001.seg"] {
        let (directory, _) = sample();
        make_newer(&directory.path().join(file));
        assert_refused(directory.path(), 1, &[file, "log format version 2", "--version"]);
    }
}

#[test]
fn a_truncated_header_is_damage_that_is_located() {
    let (directory, _) = sample();
    let file = "segments/00000000000000000001.seg";
    std::fs::OpenOptions::new()
        .write(true)
        .open(directory.path().join(file))
        .unwrap()
        .set_len(100)
        .unwrap();
    let output = holdpoint(directory.path(), &["verify", "--json"]);
    assert_eq!(output.status.code(), Some(6));
    let report = json(&output);
    let finding = &report["findings"][0];
    assert_eq!(finding["segment"], file);
    assert_eq!(
        (&finding["expected"], &finding["found"]),
        (&"4096 bytes".into(), &"100 bytes".into())
    );
}

#[test]
fn the_environment_names_the_log_and_an_option_outranks_it() {
    let (directory, _) = sample();
    let program = env!("CARGO_BIN_EXE_holdpoint");
    let by_environment = Command::new(program)
        .env("HOLDPOINT_LOG", directory.path())
        .arg("verify")
        .output()
        .unwrap();
    assert_eq!(by_environment.status.code(), Some(0));
    let outranked = command(&directory.path().join("missing"), &["verify"])
        .env("HOLDPOINT_LOG", directory.path())
        .output()
        .unwrap();
    assert_eq!(outranked.status.code(), Some(3));
    let by_default = Command::new(program)
        .env_remove("HOLDPOINT_LOG")
        .current_dir(directory.path())
        .arg("verify")
        .output()
        .unwrap();
    assert_eq!(by_default.status.code(), Some(3));
    assert!(text(&by_default.stderr).contains(".holdpoint"));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut log = HandMadeLog::new();
    for _ in 0..12 {
        log.run();
    }
    for number in 0..4_000 {
        log.events(vec![Event::from(ClockStepped { step_ns: number })]);
    }
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let exports = [&["export"][..], &["export", "--format", "csv"]];
    for arguments in [&["log"][..], &["log", "--json"]].into_iter().chain(exports) {
        let mut child = command(directory.path(), arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut first).unwrap();
        let expected = if arguments.len() == 3 && arguments[0] == "export" {
            "sequence,"
        } else {
            "execution_loop.initialized"
        };
        assert!(first.contains(expected), "{arguments:?}: {first}");
        drop(lines);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(besides_reach(&text(&output.stderr)), "", "{arguments:?}");
    }
}

#[test]
fn usage_errors_exit_2_and_the_version_names_the_log_format() {
    let program = env!("CARGO_BIN_EXE_holdpoint");
    let run = |arguments: &[&str]| Command::new(program).args(arguments).output().unwrap();
    for arguments in [&[][..], &["no-such-verb"], &["replay", "--until", "someday"], &["thread"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
    }
    for words in [&["--version"][..], &["-V"], &["--no-pager", "--version"]] {
        let version = run(words);
        assert_eq!(version.status.code(), Some(0), "{words:?}");
        assert_eq!(text(&version.stdout), "holdpoint 0.1.0 (log format 1)\n", "{words:?}");
    }
}

/// An empty list would pass for all that waits.
#[test]
fn a_damaged_log_of_which_nothing_is_known_gives_programs_no_list_and_people_a_warning() {
    let (directory, _) = sample();
    flip(&directory.path().join("segments/00000000000000000001.seg"), FIRST_RECORD + 70);
    for what in ["decision", "thread"] {
        let output = holdpoint(directory.path(), &[what, "list", "--json"]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(6), 0), "{what}");
        assert_eq!(crate::program::error_of(&output)["code"], "damaged", "{what}");
        let output = holdpoint(directory.path(), &[what, "list"]);
        assert_eq!(output.status.code(), Some(6), "{what}");
        assert!(text(&output.stderr).contains(" verify` tells all"), "{what}");
    }
}

#[test]
fn what_is_not_understood_is_repeated_with_nothing_that_steers_a_terminal() {
    let (directory, _) = sample();
    let hostile = "\u{1b}[31mred\u{1b}]0;T\u{7}\u{202e}X";
    for verb in [&["runs", "--since"][..], &["run", "--label"], &["runs"]] {
        for json in [&[][..], &["--json"]] {
            let output = holdpoint(directory.path(), &[json, verb, &[hostile]].concat());
            assert_eq!(output.status.code(), Some(2));
            let told = [text(&output.stdout), text(&output.stderr)].concat();
            assert!(!told.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{verb:?}: {told:?}");
        }
    }
}
