//! What is said where a prompt stands that nobody answered begins a line of its own.

use crate::program::Place;
use crate::terminal::Terminal;

/// What is said behind a prompt that this is typed at, instead of an answer.
fn said(line: &str, prompt: &str, typed: &str, last: &str) -> String {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &line.split(' ').collect::<Vec<_>>());
    terminal.wait_for(prompt);
    terminal.press(typed);
    terminal.wait_for(last).replace('\r', "")
}

#[test]
fn ctrl_c_at_the_prompt_before_a_start_begins_a_new_line() {
    let before = "run --hold before -- true";
    let said = said(before, "approve, deny? ", "\x03", "holdpoint: DP-");
    assert_eq!(said, "^C\nholdpoint: DP-");
}

#[test]
fn ctrl_c_at_the_prompt_behind_a_run_begins_a_new_line() {
    let behind = "run --hold on-failure -- false";
    assert_eq!(said(behind, "ABORT? ", "\x03", "holdpoint: "), "^C\nholdpoint: ");
}

#[test]
fn the_end_of_what_is_typed_at_a_prompt_begins_a_new_line() {
    let before = "run --hold before -- true";
    assert_eq!(said(before, "approve, deny? ", "\x04", "holdpoint: "), "\nholdpoint: ");
}

#[test]
fn a_reason_with_something_hidden_is_asked_for_again() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["run", "--hold", "on-failure", "--", "false"]);
    terminal.wait_for("ABORT? ");
    terminal.type_line("RETRY");
    terminal.wait_for("reason for RETRY? ");
    terminal.type_line("it\u{1b}[A was flaky");
    terminal.wait_for("hidden character U+001B");
    terminal.wait_for("reason for RETRY? ");
    terminal.type_line("it was flaky");
    terminal.wait_for("ABORT? ");
    terminal.type_line("ABORT");
    assert_eq!(terminal.end().0, 120);
    let records = place.holdpoint(&["log"]);
    let records = crate::program::text(&records.stdout);
    assert!(records.contains("it was flaky") && !records.contains("u{1b}"), "{records}");
}
