//! What is asked of `runs`: names as its rows show them, how many, and what is found of nothing;
//! and records that a screen folds and a pipe does not.

use crate::program::{Place, json_lines, status, text};
use crate::run_before::{answer, await_question, command};
use crate::runs::listed;
use crate::terminal::Terminal;
use serde_json::Value;
use vt100::Parser;

const LONG: [&str; 2] = ["deployments-of-production-eu-1", "deployments-of-staging-eu-1"];

fn place() -> Place {
    let place = Place::with_log();
    for name in LONG {
        assert_eq!(status(&place.run_with(&["--as", name], &["true"])), 0);
    }
    place
}

#[test]
fn a_name_is_found_by_its_beginning_where_one_begins_so_and_as_a_row_shows_it() {
    let place = place();
    let all = listed(&place, &[]);
    for wanted in [LONG[0], "deployments-of-p", "deployments-of-p..?", "deployments-of-prod.."] {
        assert_eq!(listed(&place, &[&format!("by={wanted}")]), all[1..], "{wanted}");
    }
    let found = place.holdpoint(&["runs", "-q", "by=deployments-of-p..?"]);
    let said = text(&found.stderr);
    assert!(said.contains(&format!("is taken for {}", LONG[0])), "{said}");
    let several = place.holdpoint(&["runs", "by=deployments-of-"]);
    let said = text(&several.stderr);
    assert_eq!((status(&several), several.stdout.len()), (4, 0), "{said}");
    assert!(LONG.iter().all(|name| said.contains(name)), "{said}");
    let none = place.holdpoint(&["runs", "by=nobody-at-all"]);
    let said = text(&none.stderr);
    assert_eq!((status(&none), none.stdout.len()), (0, 0), "{said}");
    assert!(said.contains("no run is by nobody-at-all: names on record are "), "{said}");
    assert!(LONG.iter().all(|name| said.contains(name)), "{said}");
    // Who is on record is not taken for another one.
    let other = place.holdpoint(&["runs", &format!("by={}", LONG[0]), "failed=true"]);
    assert_eq!(status(&other), 0);
    assert!(text(&other.stderr).starts_with("holdpoint: no run matches\n"));
}

#[test]
fn whoever_said_yes_is_found_by_the_beginning_of_the_name() {
    let place = Place::with_log();
    let waiting = command(&place, &["run", "--hold", "before", "--", "true"]).spawn().unwrap();
    let question = await_question(&place);
    assert_eq!(answer(&place, &question, "approve"), 0);
    assert_eq!(status(&waiting.wait_with_output().unwrap()), 0);
    let all = listed(&place, &[]);
    let row = text(&place.holdpoint(&["runs", "--json"]).stdout);
    let row: serde_json::Value = serde_json::from_str(row.trim()).unwrap();
    let name = row["approved_by"][0].as_str().unwrap();
    assert_eq!(listed(&place, &[&format!("approver={}", &name[..1])]), all);
    let none = place.holdpoint(&["runs", "approver=nobody-at-all"]);
    let said = text(&none.stderr);
    assert_eq!(status(&none), 0, "{said}");
    assert!(said.contains("no run was approved by nobody-at-all"), "{said}");
}

#[test]
fn no_runs_are_not_asked_for_and_nothing_found_is_said() {
    let place = place();
    let none = place.holdpoint(&["runs", "-n", "0"]);
    assert_eq!((status(&none), none.stdout.len()), (2, 0), "{}", text(&none.stderr));
    let nothing = place.holdpoint(&["runs", "status=77"]);
    assert_eq!((status(&nothing), nothing.stdout.len()), (0, 0));
    assert!(text(&nothing.stderr).contains("no run matches"), "{}", text(&nothing.stderr));
}

#[test]
fn a_start_that_was_denied_or_expired_is_a_row_where_it_was_asked_for() {
    let place = Place::with_log();
    let held = |rest: &[&str]| place.holdpoint(&[&["run", "--hold", "before"], rest].concat());
    place.shell("true");
    let waiting = command(&place, &["run", "--hold", "before", "--", "rm", "-rf", "/srv/shop"]);
    let waiting = { waiting }.spawn().unwrap();
    let denied = await_question(&place);
    assert_eq!(answer(&place, &denied, "deny"), 0);
    assert_eq!(status(&waiting.wait_with_output().unwrap()), 120);
    place.shell("exit 3");
    let expired = held(&["--expires", "1s", "--", "make", "deploy"]);
    assert_eq!(status(&expired), 121, "{}", text(&expired.stderr));
    let open = held(&["--no-wait", "--", "make", "open"]);
    assert_eq!(status(&open), 122);
    place.shell("true");

    let all = listed(&place, &[]);
    let begins: Vec<&str> = all.iter().map(|id| id.split('-').next().unwrap()).collect();
    assert_eq!(begins, ["LOOP", "DP", "LOOP", "DP", "LOOP"]);
    assert_eq!(all[3], denied);
    let rows = json_lines(&place.holdpoint(&["runs", "--json"]));
    for (row, outcome, command) in
        [(&rows[1], "expired", "make deploy"), (&rows[3], "denied", "rm -rf /srv/shop")]
    {
        let found = [&row["run"], &row["outcome"], &row["command_line"], &row["standing"]];
        assert_eq!(found, [&Value::Null, &outcome.into(), &command.into(), &"proven".into()]);
    }
    assert_eq!((&rows[1]["denied_by"], &rows[3]["decision"]), (&Value::Null, &all[3][..].into()));
    assert!(rows[3]["denied_by"].is_string(), "{}", rows[3]);
    for (options, due) in [
        (&["status=denied"][..], &all[3..4]),
        (&["status=expired"], &all[1..2]),
        (&["status=ok"], &[&all[..1], &all[4..]].concat()[..]),
        (&["failed=true"], &all[1..4]),
        (&["command=rm -rf"], &all[3..4]),
        (&["label=a=b"], &[]),
        (&["-n", "2"], &all[..2]),
        (&["--after", &all[1]], &all[2..]),
        (&["--after", &all[3][..12]], &all[4..]),
    ] {
        assert_eq!(listed(&place, options), due, "{options:?}");
    }
    for columns in ["40", "80", "120"] {
        let shown = place.command(&["runs"]).env("COLUMNS", columns).output().unwrap();
        let line = text(&shown.stdout).lines().nth(4).unwrap().to_string();
        assert!(line.contains("denied") && line.contains("rm -rf"), "{columns}: {line}");
        assert!(line.len() <= columns.parse().unwrap(), "{columns}: {line}");
    }
    assert!(text(&place.holdpoint(&["show", &all[3]]).stdout).contains("rm -rf /srv/shop"));
}

#[test]
fn records_and_stories_are_folded_on_a_screen_and_whole_on_a_pipe() {
    let place = place();
    for verb in [&["log"][..], &["show", "--trace", "2", "--verbose"]] {
        let json = text(&place.holdpoint(&["log", "--json"]).stdout);
        let piped = text(&place.holdpoint(verb).stdout);
        let whole = "evidence 0 STATE_TRANSITION at PRE_DISPATCH, instruction envelope: ";
        assert!(piped.contains(whole), "{piped}");
        assert!(verb[0] == "show" || piped.lines().count() == json.lines().count());
        for columns in [40, 80, 120] {
            let (exit, shown) = Terminal::sized(&place, (3000, columns), verb).end();
            assert_eq!(exit, 0, "{shown}");
            let written = shown.lines().count();
            let mut screen = Parser::new(3000.try_into().unwrap(), columns.try_into().unwrap(), 0);
            screen.process(shown.as_bytes());
            let rows: Vec<String> = screen.screen().rows(0, columns).collect();
            let used = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |at| at + 1);
            assert_eq!(used, written, "no line took two rows at {columns}: {verb:?}");
            let said: String = rows.concat().split_whitespace().collect();
            let whole: String = whole.split_whitespace().collect();
            assert!(said.contains(&whole), "{columns}: {verb:?}");
        }
    }
}

/// Three runs, of which the newest printed something that is damaged on the disk.
fn damaged_in_the_newest() -> Place {
    let place = Place::with_log();
    place.shell("exit 3");
    place.shell("true");
    place.shell("echo step-1-of-3; exit 1");
    let segment = place.log.join("segments/00000000000000000001.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    let printed = bytes.windows(11).rposition(|it| it == b"step-1-of-3").unwrap();
    bytes[printed] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    place
}

#[test]
fn of_a_damaged_log_it_is_said_how_many_runs_are_not_shown() {
    let place = damaged_in_the_newest();
    for (options, words) in [
        (&[][..], "not shown: at least 3 runs: what became of them may lie in the damage"),
        (&["-q"], "not shown: at least 3 runs: "),
        (&["--json"], "not shown: at least 3 runs: "),
        (&["failed=true"], "not shown: at least 3 runs, whether they are wanted or not: "),
        (&["--until", "2"], "not shown: "),
    ] {
        let output = place.holdpoint(&[&["runs"], options].concat());
        let said = text(&output.stderr);
        assert_eq!((status(&output), output.stdout.len()), (6, 0), "{options:?}: {said}");
        assert!(said.contains(words) && said.contains("corrupt"), "{options:?}: {said}");
    }
}

#[test]
fn moments_of_runs_are_told_as_they_are_asked_for_on_every_screen_of_runs() {
    let place = Place::with_log();
    let flag = place.log.join("../flag");
    std::fs::write(&flag, "").unwrap();
    let command = format!("test -e {}", flag.display());
    place.shell(&command);
    std::fs::remove_file(&flag).unwrap();
    place.shell(&command);
    let runs = text(&place.holdpoint(&["runs", "-q"]).stdout);
    let runs: Vec<&str> = runs.lines().collect();
    for verb in [&["show", runs[0]][..], &["diff", runs[1], runs[0]], &["diff", runs[0]]] {
        let told = |option| {
            let output = place.command(&[verb, &[option]].concat()).env("TZ", "UTC").output();
            let output = output.unwrap();
            assert_eq!(status(&output), 0, "{verb:?} {option}: {}", text(&output.stderr));
            text(&output.stdout)
        };
        let (utc, local) = (told("--date=utc"), told("--date=iso"));
        assert!(!utc.contains(" ago") && utc.contains("Z"), "{verb:?}: {utc}");
        assert!(!local.contains(" ago") && local.contains("+00:00"), "{verb:?}: {local}");
    }
    for verb in [&["show", "1"][..], &["diff", "1", "2"], &["diff", "--when", "totals.events >= 0"]]
    {
        let output = place.holdpoint(&[verb, &["--date=iso"]].concat());
        assert_eq!((status(&output), output.stdout.len()), (2, 0), "{verb:?}");
        assert!(text(&output.stderr).contains("are told in UTC"), "{verb:?}");
    }
}
