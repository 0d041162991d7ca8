//! `holdpoint export`: what it makes loads where it is meant to be loaded, says the same in every
//! form, shows raw evidence only where that was asked for, and is never half there.

use crate::apply_support;
use crate::decision_support::{asked, done, id_of};
use crate::program::{Place, contents, json, skip, status, text, with_hold};
use crate::thread_support;
use holdpoint_domain::Event;
use holdpoint_domain::log::ClockStepped;
use holdpoint_testing::hand_made as support;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// What a command printed.
const SECRET: &str = "hunter2-secret-output";

/// A story of every system: runs, a held question that was answered, decisions, an interruption.
fn told() -> Place {
    let place = Place::new();
    assert_eq!(status(&place.shell(&format!("printf {SECRET}"))), 0);
    let held = place.holdpoint(&["run", "--hold", "on-failure", "--no-wait", "--", "false"]);
    assert_eq!(status(&held), 122, "{}", text(&held.stderr));
    let listed =
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    let request = listed[0]["request_id"].as_str().unwrap();
    let answer = ["decision", "respond", request, "--yes", "ABORT"];
    let answered = place.holdpoint(&answer);
    assert!([0, 120].contains(&status(&answered)), "{}", text(&answered.stderr));
    let first = asked(&place, &["bd-1", "--idempotency-key", "once"]);
    done(&place, &["respond", &first, "--option", "a", "--reason", "=fine"]);
    let second = asked(&place, &["--default", "b"]);
    let guided = done(&place, &["respond", &second, "--guidance", "shorter"]);
    assert!(guided.is_object());
    thread_support::interrupted(&place, "acme", "talk", "It will rain.");
    place
}

fn out(place: &Place, name: &str) -> PathBuf {
    place.directory.path().join(name)
}

/// `export --format FORMAT --output NAME OPTIONS`, which has to be done.
fn exported(place: &Place, format: &str, options: &[&str]) -> PathBuf {
    let file = out(place, &format!("log.{format}"));
    let name = file.to_str().unwrap();
    let words = ["export", "--format", format, "--output", name, "--force"];
    let output = place.holdpoint(&[&words[..], options].concat());
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    file
}

fn lines(place: &Place, options: &[&str]) -> Vec<Value> {
    let text = fs::read_to_string(exported(place, "jsonl", options)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn python(script: &str, file: &std::path::Path) -> Output {
    Command::new("python3").args(["-c", script]).arg(file).output().unwrap()
}

pub(crate) fn has_python() -> bool {
    let is_there = Command::new("python3").arg("--version").output().is_ok();
    if !is_there {
        skip("no python3 here, so nothing loads the exports");
    }
    is_there
}

/// Prints every table, a list of objects each.
const TABLES: &str = r#"
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.row_factory = sqlite3.Row
assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
show = lambda row: {k: v.hex() if isinstance(v, bytes) else v for k, v in dict(row).items()}
print(json.dumps({n: [show(row) for row in db.execute(f"SELECT * FROM {n}")] for n in names}))
"#;

pub(crate) fn tables(place: &Place, options: &[&str]) -> Value {
    let output = python(TABLES, &exported(place, "sqlite", options));
    assert!(output.status.success(), "{}", text(&output.stderr));
    json(&output)
}

fn rows<'v>(tables: &'v Value, name: &str) -> &'v [Value] {
    tables[name].as_array().unwrap()
}

// ---- Consumers ---------------------------------------------------------------------------------

#[test]
fn every_line_is_canonical_json_and_loads_in_python_line_by_line() {
    let place = told();
    let file = exported(&place, "jsonl", &[]);
    let written = fs::read_to_string(&file).unwrap();
    let head = place.verified()["head"]["sequence"].as_u64().unwrap();
    for (line, sequence) in written.lines().zip(1..) {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(holdpoint_export::canonical::canonical(&value).unwrap(), line);
        assert_eq!((&value["sequence"], &value["payload"]), (&json!(sequence), &json!("event")));
    }
    assert_eq!(written.lines().count() as u64, head);
    let streamed = place.holdpoint(&["export"]);
    assert_eq!((status(&streamed), text(&streamed.stdout)), (0, written));
    if has_python() {
        let tool = ["-m", "json.tool", "--json-lines"];
        let output = Command::new("python3").args(tool).arg(&file).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

#[test]
fn rows_load_in_pythons_csv_and_say_what_the_lines_say() {
    if !has_python() {
        return;
    }
    let place = told();
    let script = "import csv, json, sys\nprint(json.dumps(list(csv.DictReader(open(sys.argv[1], \
                  newline='')))))";
    let output = python(script, &exported(&place, "csv", &[]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (rows, lines) = (json(&output), lines(&place, &[]));
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), lines.len());
    for (row, line) in rows.iter().zip(&lines) {
        for part in ["tenant", "engine", "key", "content"] {
            let given = line["idempotency"][part].as_str().unwrap_or_default();
            assert_eq!(row[format!("idempotency_{part}")], given, "{line}");
        }
        assert_eq!(row["sequence"], line["sequence"].to_string());
        assert_eq!((&row["time"], &row["kind"]), (&line["time"], &line["kind"]));
        assert_eq!(row["correlation"], line["correlation"]);
        let event: Value = serde_json::from_str(row["event"].as_str().unwrap()).unwrap();
        assert_eq!(event, line["event"]);
    }
}

#[test]
fn tables_load_in_pythons_sqlite_and_say_what_the_program_shows() {
    if !has_python() {
        return;
    }
    let place = told();
    let (tables, lines) = (tables(&place, &[]), lines(&place, &[]));
    assert_eq!(rows(&tables, "records").len(), lines.len());
    for (row, line) in rows(&tables, "records").iter().zip(&lines) {
        for part in ["tenant", "engine", "key", "content"] {
            assert_eq!(row[format!("idempotency_{part}")], line["idempotency"][part], "{line}");
        }
    }
    let of_kind = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    let evidence = rows(&tables, "evidence");
    assert_eq!(evidence.len(), of_kind("evidence_capture.evidence_captured"));
    assert!(evidence.len() > 5 && evidence.iter().all(|row| row["raw_data"].is_null()));
    let audit = rows(&tables, "interruption_rows");
    assert_eq!(audit.len(), of_kind("interruption_thread.row_committed"));
    assert_eq!(audit.len(), 2);
    assert_eq!(rows(&tables, "export")[0]["verdict"], "intact");
    same_loops(&place, rows(&tables, "execution_loops"));
    same_requests(&place, rows(&tables, "decisions"));
    same_points(&place, rows(&tables, "decision_points"));
}

fn same_loops(place: &Place, exported: &[Value]) {
    let shown = place.loops();
    assert_eq!((exported.len(), shown.len()), (2, 2));
    for (row, shown) in exported.iter().zip(&shown) {
        for key in [
            "loop_id",
            "command_line",
            "current_state",
            "halt_reason",
            "started_at",
            "ended_at",
            "version",
            "correlation",
            "max_attempts",
        ] {
            assert_eq!(row[key], shown[key], "{key}");
        }
        assert_eq!(row["evidence_records"], shown["evidence_chain"]["length"]);
        assert_eq!(row["attempts"], json!(shown["attempts"].as_array().unwrap().len()));
    }
}

fn same_requests(place: &Place, exported: &[Value]) {
    let loops = place.loops();
    let shown: Vec<&Value> =
        loops.iter().flat_map(|shown| shown["decision_requests"].as_array().unwrap()).collect();
    assert_eq!((exported.len(), shown.len()), (1, 1));
    for key in ["request_id", "loop_id", "state", "created_at", "timeout_at"] {
        assert_eq!(exported[0][key], shown[0][key], "{key}");
    }
    for key in ["decision_id", "human_id", "decision", "outcome"] {
        assert_eq!(exported[0][key], shown[0]["decision"][key], "{key}");
    }
    assert_eq!(exported[0]["decision"], "ABORT");
}

/// The seed's columns, in the seed's order.
const SEED: [&str; 14] = [
    "issue_id",
    "prompt",
    "options",
    "default_option",
    "selected_option",
    "response_text",
    "responded_at",
    "responded_by",
    "iteration",
    "max_iterations",
    "prior_id",
    "guidance",
    "requested_by",
    "created_at",
];

fn same_points(place: &Place, exported: &[Value]) {
    assert_eq!(exported.len(), 3);
    for row in exported {
        let shown = done(place, &["show", row["decision_id"].as_str().unwrap()]);
        assert_eq!(row["decision_id"], id_of(&shown));
        for key in SEED.iter().filter(|key| **key != "options") {
            assert_eq!(row[key], shown[key], "{key}");
        }
        let options: Value = serde_json::from_str(row["options"].as_str().unwrap()).unwrap();
        assert_eq!((&options, &row["state"]), (&shown["options"], &shown["state"]));
    }
    let guided = exported.iter().find(|row| row["iteration"] == 2).unwrap();
    assert_eq!(guided["guidance"], "shorter");
}

#[test]
fn decision_points_begin_with_the_seeds_columns() {
    let schema = include_str!("../../replay/export/src/sqlite/schema.sql");
    let table = schema.split("CREATE TABLE decision_points (").nth(1).unwrap();
    let names: Vec<&str> =
        table.lines().skip(1).map(|line| line.trim().split(' ').next().unwrap()).collect();
    assert_eq!(names[..SEED.len()], SEED);
}

// ---- Evidence ----------------------------------------------------------------------------------

#[test]
fn raw_evidence_leaves_only_where_that_is_asked_for_and_with_a_warning() {
    let place = told();
    let digits: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    for format in ["jsonl", "csv", "sqlite"] {
        let holds = |options: &[&str]| {
            let bytes = fs::read(exported(&place, format, options)).unwrap();
            let finds = |wanted: &[u8]| bytes.windows(wanted.len()).any(|part| part == wanted);
            // The command line that prints it is no evidence.
            match format {
                "sqlite" => bytes.windows(SECRET.len()).filter(|p| p == &SECRET.as_bytes()).count(),
                _ => usize::from(finds(digits.as_bytes())),
            }
        };
        let without = holds(&[]);
        assert!(holds(&["--include-evidence"]) > without, "{format}");
        assert!(format == "sqlite" || without == 0);
    }
    let words = ["export", "--include-evidence"];
    let output = place.holdpoint(&words);
    assert!(text(&output.stderr).contains("raw evidence"), "{}", text(&output.stderr));
    assert!(!text(&place.holdpoint(&["export"]).stderr).contains("raw evidence"));
}

#[test]
fn the_bytes_of_evidence_in_the_database_are_those_that_were_captured() {
    if !has_python() {
        return;
    }
    let place = told();
    let tables = tables(&place, &["--include-evidence"]);
    let digits: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    let (evidence, output) = (rows(&tables, "evidence"), rows(&tables, "output"));
    assert!(output.iter().any(|row| row["raw_data"] == digits.as_str()));
    for row in evidence.iter().chain(output) {
        let length = row["raw_data"].as_str().unwrap().len() as u64 / 2;
        assert_eq!(row["length"], length);
    }
}

#[test]
fn no_cell_of_an_export_is_computed_by_a_spreadsheet_whatever_separates_its_cells() {
    let story = |correlation: &str| {
        let place = Place::new();
        let mut lines = apply_support::story(&"1".repeat(32));
        for line in &mut lines {
            line["correlation"] = correlation.into();
        }
        thread_support::accepted(&place, &lines);
        fs::read_to_string(exported(&place, "csv", &[])).unwrap()
    };
    for (correlation, cell) in [
        ("=cmd()", "'=cmd()"),
        (" =1+1", "' =1+1"),
        ("\u{ff1d}1+1", "'\u{ff1d}1+1"),
        ("\u{ff0b}1", "'\u{ff0b}1"),
        ("\u{ff0d}1", "'\u{ff0d}1"),
        ("\u{ff20}x", "'\u{ff20}x"),
        ("a;=1+1;b", "a;'=1+1;b"),
        ("a;\"=1\"", "\"a;'\"\"=1\"\"\""),
        ("'=1", "''=1"),
    ] {
        let written = story(correlation);
        assert!(written.contains(&format!(",{cell},")), "{correlation:?}: {written}");
        assert!(!written.contains(&format!(",{correlation},")), "{correlation:?}");
    }
}

// ---- Selections --------------------------------------------------------------------------------

#[test]
fn only_whole_batches_within_since_and_until_are_exported() {
    let place = told();
    let all = lines(&place, &[]);
    let sequence = |line: &Value| line["sequence"].as_u64().unwrap();
    let last = all.len() as u64;
    for (since, until) in [(1, last), (7, 20), (last, last), (3, 3), (last + 1, last + 9)] {
        let (from, to) = (since.to_string(), until.to_string());
        let some = lines(&place, &["--since", &from, "--until", &to]);
        let is_within = |end: u64| (since..=until).contains(&end);
        let ends = |line: &&Value| {
            let mut rest = all.iter().skip_while(|other| sequence(other) < sequence(line));
            is_within(sequence(rest.find(|other| other["more_follows"] == false).unwrap()))
        };
        let expected: Vec<&Value> = all.iter().filter(ends).collect();
        assert_eq!(some.iter().collect::<Vec<_>>(), expected, "{since}..={until}");
    }
    let time = all[9]["time"].as_str().unwrap();
    let some = lines(&place, &["--since", time]);
    assert!(!some.is_empty() && some.iter().all(|line| line["time"].as_str().unwrap() >= time));
    let none = lines(&place, &["--until", "1970-01-02T00:00:00Z"]);
    assert_eq!(none, Vec::<Value>::new());
    let said = place.holdpoint(&["export", "--until", "1970-01-02T00:00:00Z"]);
    assert!(text(&said.stderr).contains("no record is exported"), "{}", text(&said.stderr));
    for (since, until) in [("5", "3"), ("2026-01-25T16:00:01Z", "2026-01-25T16:00:00Z")] {
        let output = place.holdpoint(&["export", "--since", since, "--until", until]);
        assert_eq!(status(&output), 2, "{since} {until}");
        assert!(text(&output.stderr).contains("exchange them"), "{}", text(&output.stderr));
    }
}

#[test]
fn the_tables_tell_the_state_at_the_end_of_the_selection_of_what_it_changed() {
    if !has_python() {
        return;
    }
    let place = told();
    let halted = place.loops()[0]["ended_sequence"].as_u64().unwrap();
    let before = tables(&place, &["--until", &(halted - 1).to_string()]);
    assert_ne!(rows(&before, "execution_loops")[0]["current_state"], "HALTED");
    let later = tables(
        &place,
        &["--since", &(place.loops()[0]["version"].as_u64().unwrap() + 1).to_string()],
    );
    let loops = rows(&later, "execution_loops");
    assert_eq!((loops.len(), &loops[0]["loop_id"]), (1, &place.loops()[1]["loop_id"]));
    assert!(loops[0]["command_line"].is_string(), "known although it began before");
}

// ---- Damage, and files -------------------------------------------------------------------------

#[test]
fn a_damaged_log_gives_what_holds_before_the_damage_as_unproven_and_exit_6_with_the_finding() {
    let place = told();
    let all = lines(&place, &[]);
    let report = place.verified();
    assert_eq!(report["segments"], 1);
    let segment = place.log.join("segments/00000000000000000001.seg");
    support::flip(&segment, fs::metadata(&segment).unwrap().len() / 4);
    for format in ["jsonl", "csv", "sqlite"] {
        let file = out(&place, &format!("damaged.{format}"));
        let name = file.to_str().unwrap();
        let output = place.holdpoint(&["export", "--format", format, "--output", name, "--json"]);
        assert_eq!(status(&output), 6, "{}", text(&output.stderr));
        let summary = json(&output);
        assert_eq!(
            (&summary["verdict"], summary["first_finding"].is_object()),
            (&json!("corrupt"), true)
        );
        let count = summary["records"].as_u64().unwrap();
        assert!(count > 5 && count < all.len() as u64);
        assert!(text(&output.stderr).contains("byte"), "{}", text(&output.stderr));
    }
    let kept = fs::read_to_string(out(&place, "damaged.jsonl")).unwrap();
    let kept: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Nothing ties them to HEAD across the damage.
    assert!(all.iter().all(|line| line["standing"] == "proven"));
    let unproven = |mut line: Value| {
        line["standing"] = "unproven".into();
        line
    };
    let due: Vec<Value> = all.into_iter().take(kept.len()).map(unproven).collect();
    assert_eq!(kept, due);
}

#[test]
fn what_the_rules_forbid_is_a_record_and_counts_for_nothing_in_the_tables() {
    let mut log = support::HandMadeLog::new();
    let loop_id = log.run();
    let halted: Event = holdpoint_domain::execution_loop::ResponseAwaited {
        loop_id: loop_id.as_str().into(),
        attempt: 1,
        recorder_key: None,
        on_full: None,
    }
    .into();
    log.events(vec![halted, ClockStepped { step_ns: 1 }.into()]);
    let place = Place::new();
    log.write(&place.log);
    let file = out(&place, "forbidden.jsonl");
    let output = place.holdpoint(&["export", "--output", file.to_str().unwrap()]);
    assert_eq!(status(&output), 6, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("forbidden events"), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count() as u64, log.chain.sequence);
}

#[test]
fn a_file_is_never_overwritten_unasked_and_nothing_half_done_is_left() {
    let place = told();
    let file = out(&place, "kept");
    fs::write(&file, "mine").unwrap();
    let name = file.to_str().unwrap();
    let output = place.holdpoint(&["export", "--output", name]);
    assert_eq!(status(&output), 4, "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(status(&place.holdpoint(&["export", "--output", name, "--force"])), 0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let inside = place.log.join("export");
    assert_eq!(status(&place.holdpoint(&["export", "--output", inside.to_str().unwrap()])), 2);
    let nowhere = out(&place, "no/such/place");
    assert_eq!(status(&place.holdpoint(&["export", "--output", nowhere.to_str().unwrap()])), 1);
    let names = contents(place.directory.path()).into_keys();
    let left = names.filter(|path| path.to_string_lossy().contains("unfinished")).count();
    assert_eq!(left, 0);
}

#[test]
fn what_a_killed_export_left_is_removed_by_the_next_one_and_what_is_being_made_is_not() {
    let place = told();
    let [left, made, other] = [".all.12.unfinished", ".all.13.unfinished", ".other.12.unfinished"]
        .map(|name| {
            let file = out(&place, name);
            fs::write(&file, "half").unwrap();
            file
        });
    let maker = fs::File::open(&made).unwrap();
    maker.lock().unwrap();
    let output = place.holdpoint(&["export", "--output", out(&place, "all").to_str().unwrap()]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert_eq!([left, made, other].map(|file| file.exists()), [false, true, true]);
}

#[test]
fn a_dash_is_stdout_and_no_name() {
    let place = told();
    let [given, plain] = [&["export", "--output", "-"][..], &["export"]];
    let (given, plain) = (place.holdpoint(given), place.holdpoint(plain));
    assert_eq!((status(&given), text(&given.stdout)), (0, text(&plain.stdout)));
    let database = place.holdpoint(&["export", "--format", "sqlite", "--output", "-"]);
    assert_eq!(status(&database), 2, "{}", text(&database.stderr));
    let names = contents(place.directory.path()).into_keys();
    assert_eq!(names.filter(|path| path.ends_with("-")).count(), 0);
}

#[test]
fn where_there_is_no_room_the_file_and_the_next_step_are_named() {
    let place = told();
    let name = out(&place, "full").to_str().unwrap().to_string();
    for (format, to, named) in [
        ("jsonl", "> /dev/full", "stdout: "),
        ("jsonl", "--output \"$FILE\"", name.as_str()),
        ("sqlite", "--output \"$FILE\"", name.as_str()),
    ] {
        let script =
            format!("trap '' XFSZ; ulimit -f 2; exec \"$0\" export --format {format} {to}");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_holdpoint"), "x"]).env("FILE", &name);
        let output = command.env("HOLDPOINT_LOG", &place.log).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(status(&output), 1, "{format} {to}: {said}");
        assert!(said.contains(named) && said.contains("with --output"), "{format} {to}: {said}");
    }
}

#[test]
fn what_is_no_regular_file_is_not_taken_the_place_of() {
    let place = told();
    let (aside, link) = (out(&place, "aside"), out(&place, "link"));
    std::fs::write(&aside, "mine").unwrap();
    std::os::unix::fs::symlink(&aside, &link).unwrap();
    let shown = link.to_str().unwrap();
    let output = place.holdpoint(&["export", "--output", shown, "--force"]);
    assert_eq!(status(&output), 4, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no regular file"), "{}", text(&output.stderr));
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(&aside).unwrap(), "mine");
}

#[test]
fn exporting_writes_nothing_to_the_log_and_needs_one() {
    let place = Place::new();
    let output = place.holdpoint(&["export", "--output", out(&place, "none").to_str().unwrap()]);
    assert_eq!(status(&output), 3, "{}", text(&output.stderr));
    assert!(!out(&place, "none").exists() && !place.log.exists());
    let place = told();
    let before = contents(&place.log);
    for format in ["jsonl", "csv", "sqlite"] {
        exported(&place, format, &[]);
    }
    assert!(contents(&place.log) == before);
}

#[test]
fn a_database_is_a_file_and_a_wrong_format_names_the_right_ones() {
    let place = told();
    let output = place.holdpoint(&["export", "--format", "sqlite"]);
    assert_eq!(status(&output), 2);
    assert!(text(&output.stderr).contains("--output"), "{}", text(&output.stderr));
    let output = place.holdpoint(&["export", "--format", "xml"]);
    assert_eq!(status(&output), 2);
    assert!(text(&output.stderr).contains("jsonl"), "{}", text(&output.stderr));
    let output = place.holdpoint(&["export", "--since", "noon"]);
    assert_eq!(status(&output), 2);
}

#[test]
fn no_database_is_made_where_what_is_left_of_another_would_be_read_into_it() {
    let place = Place::new();
    assert_eq!(status(&place.shell("true")), 0);
    let words = ["export", "--format", "sqlite", "--output", "log.db", "--force"];
    for left in ["log.db-wal", "log.db-shm", "log.db-journal"] {
        fs::write(out(&place, left), "left").unwrap();
        let output = place.holdpoint(&words);
        let stderr = text(&output.stderr);
        assert!(status(&output) == 4 && stderr.contains(left), "{stderr}");
        assert!(!out(&place, "log.db").exists());
        fs::remove_file(out(&place, left)).unwrap();
    }
    assert_eq!(status(&place.holdpoint(&words)), 0);
}
