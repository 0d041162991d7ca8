//! `export RUN --format asciicast`: a run as a recording that asciinema plays.

use crate::program::{Place, json_lines, skip, status, text};
use crate::terminal::Terminal;
use serde_json::Value;
use std::process::{Command, Stdio};

/// The lines of a recording of the newest run.
fn recording(place: &Place) -> Vec<Value> {
    let id = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    let output = place.command(&["export", &id, "--format", "asciicast"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(status(&output), 0, "{said}");
    assert!(said.contains("secrets included"), "{said}");
    json_lines(&output)
}

/// All that appears.
fn appears(lines: &[Value]) -> String {
    let events = lines.iter().skip(1).filter(|event| event[1] == "o");
    events.map(|event| event[2].as_str().unwrap()).collect()
}

#[test]
fn a_recording_has_a_header_and_what_appeared_at_its_time() {
    let place = Place::with_log();
    place.shell("printf '\\342'; sleep 0.7; printf '\\202\\254\\377\\n'; echo oops >&2");
    let lines = recording(&place);
    assert_eq!((&lines[0]["version"], &lines[0]["width"]), (&2.into(), &80.into()));
    assert!(lines[0]["timestamp"].as_u64().unwrap() > 1_700_000_000);
    // A character that came in two pieces is one, and lines end as on a terminal.
    assert_eq!(appears(&lines), "\u{20ac}\u{fffd}\r\noops\r\n");
    let times: Vec<f64> = lines[1..].iter().map(|event| event[0].as_f64().unwrap()).collect();
    assert!(times.is_sorted() && times[0] >= 0.5, "{times:?}");
}

#[test]
fn each_line_feed_without_a_return_gets_one_whatever_other_lines_end_with() {
    let place = Place::with_log();
    place.shell("printf 'one\\ntwo\\r\\nthree\\n'");
    assert_eq!(appears(&recording(&place)), "one\r\ntwo\r\nthree\r\n");
    // A terminal that was told not to put the cursor back showed what it was told.
    let script = "stty -opost; printf 'one\\ntwo\\r\\nthree\\n'";
    let run = ["run", "--hold", "never", "--tty", "--", "sh", "-c", script];
    assert_eq!(status(&place.command(&run).stdin(Stdio::null()).output().unwrap()), 0);
    assert_eq!(appears(&recording(&place)), "one\ntwo\r\nthree\n");
}

#[test]
fn what_a_terminal_showed_is_recorded_as_it_was() {
    let place = Place::with_log();
    let run = ["run", "--hold", "never", "--tty", "--", "printf", "a\\nb\\033[31mc\\n"];
    assert_eq!(status(&place.command(&run).stdin(Stdio::null()).output().unwrap()), 0);
    assert_eq!(appears(&recording(&place)), "a\r\nb\u{1b}[31mc\r\n");
}

/// The command looks at its terminal, and the recording is as wide and high as that was.
#[test]
fn a_recording_has_the_size_of_the_terminal_that_the_command_had() {
    let place = Place::with_log();
    let words = ["run", "--hold", "never", "--tty", "--", "sh", "-c", "stty size; echo over"];
    let mut terminal = Terminal::start_sized(&place, (43, 132), &place.command(&words));
    assert!(terminal.wait_for("over").contains("43 132"));
    terminal.end();
    let lines = recording(&place);
    assert_eq!((&lines[0]["width"], &lines[0]["height"]), (&132.into(), &43.into()));
    assert!(appears(&lines).contains("43 132"));
}

#[test]
fn a_recording_is_of_one_run_and_is_a_file_where_one_is_named() {
    let place = Place::with_log();
    place.shell("echo out");
    let id = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    for (words, due) in [
        (&["export", "--format", "asciicast"][..], 2),
        (&["export", &id], 2),
        (&["export", "LOOP-777777", "--format", "asciicast"], 3),
        (&["export", &id, "--format", "asciicast", "--output", "it.cast"], 0),
        (&["export", &id, "--format", "asciicast", "--output", "it.cast"], 4),
    ] {
        let output = place.command(words).output().unwrap();
        assert_eq!(status(&output), due, "{words:?}: {}", text(&output.stderr));
    }
    let file = std::fs::read_to_string(place.directory.path().join("it.cast")).unwrap();
    assert_eq!(file.lines().count(), 2, "{file}");
}

#[test]
fn the_real_asciinema_plays_it() {
    if Command::new("asciinema").arg("--version").output().is_err() {
        return skip("asciinema is not installed");
    }
    let place = Place::with_log();
    place.shell("echo played; echo oops >&2");
    let id = place.newest_loop()["loop_id"].as_str().unwrap().to_string();
    let words = ["export", &id, "--format", "asciicast", "--output", "it.cast"];
    assert_eq!(status(&place.command(&words).output().unwrap()), 0);
    let mut plays = Command::new("sh");
    plays.args(["-c", "asciinema play it.cast; echo ended with $?; read line"]);
    let mut terminal = Terminal::start_command(&place, &plays);
    let shown = terminal.wait_for("ended with 0");
    assert!(shown.contains("played\r\n") && shown.contains("oops\r\n"), "{shown:?}");
    terminal.type_line("");
    terminal.end();
}
