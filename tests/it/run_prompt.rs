//! The prompt of a hold has the command first and few lines, and what is said behind one that
//! nobody answered begins a line of its own.

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

/// The lines of a prompt at a terminal of so many rows and columns, up to the line that asks.
fn prompt(
    place: &Place,
    size: (u16, u16),
    words: &[&str],
    prompt: &str,
) -> (Terminal, Vec<String>) {
    let mut terminal = Terminal::sized(place, size, words);
    let lines = terminal.see(prompt);
    let shown = lines.iter().map(|line| line.trim_end().to_string());
    let shown = shown.skip_while(|line| !line.starts_with("| ")).take_while(|it| !it.is_empty());
    (terminal, shown.collect())
}

#[test]
fn a_prompt_has_twelve_lines_at_most_and_the_command_first() {
    let long = "word ".repeat(900);
    let place = Place::new();
    let names: Vec<String> = (0..30).map(|at| format!("input-{at}")).collect();
    names.iter().for_each(|name| std::fs::write(place.directory.path().join(name), "").unwrap());
    let files: Vec<&str> = names.iter().map(String::as_str).collect();
    for (hold, asks) in [("before", "approve, deny?"), ("after", "CONTINUE, RETRY, ABORT?")] {
        for rest in
            [&["true"][..], &["true", &long], &[&["true", &long, "/dev/null"], &*files].concat()]
        {
            let words = [&["run", "--hold", hold, "--"], rest].concat();
            for size in [(60, 40), (60, 60), (60, 80), (60, 120), (10, 80), (10, 40)] {
                let (mut terminal, shown) = prompt(&place, size, &words, asks);
                assert!(shown.len() <= 12.min(size.0.into()), "{shown:#?}");
                assert!(shown[0].starts_with("| true"), "{shown:#?}");
                assert_eq!(shown.last().map(String::as_str), Some(asks), "{shown:#?}");
                let is_cut = shown.iter().any(|line| line.contains("more lines; `details` shows"));
                assert_eq!(is_cut, rest.len() > 1, "{shown:#?}");
                let all = shown.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
                assert!(all.contains("`details`"), "{shown:#?}");
                let all = all.replace(" \\ ", " ");
                let ways = [" approve DP-", " approve REQ-", " respond REQ-"];
                assert!(ways.iter().any(|way| all.contains(way)), "{all}");
                let names_unbound = shown.iter().any(|line| line.starts_with("|   NOT bound  = "));
                assert_eq!(names_unbound, hold == "before" && rest.len() > 2, "{shown:#?}");
                terminal.press("\x03");
                terminal.end();
            }
        }
    }
}

#[test]
fn a_short_word_is_told_which_words_to_type_and_answers_nothing() {
    let place = Place::new();
    let asked = [
        ("before", "approve, deny? ", "type a whole word, approve or deny;", "Deny"),
        ("after", "ABORT? ", "type a whole word, CONTINUE, RETRY, ABORT;", "aBorT"),
    ];
    for (hold, asks, wanted, no) in asked {
        let words = ["run", "--hold", hold, "--", "true"];
        let mut terminal = Terminal::start(&place, &words);
        terminal.wait_for(asks);
        for typed in ["y", "Y", "yes", "n", "no", "NO", ""] {
            terminal.type_line(typed);
            terminal.wait_for(wanted);
            terminal.wait_for(asks);
        }
        for typed in ["?", "help", "SHOW", "details"] {
            terminal.type_line(typed);
            terminal.wait_for("true");
            terminal.wait_for(asks);
        }
        terminal.type_line(no);
        assert_eq!(terminal.end().0, 120, "{hold}");
    }
}

#[test]
fn what_becomes_of_a_start_that_was_not_approved_is_told_once() {
    let place = Place::new();
    let words = ["run", "--hold", "before", "--expires", "before=1ms", "--", "true"];
    let output = place.holdpoint(&words);
    let said = crate::program::text(&output.stderr);
    assert_eq!(said.matches("by the deadline").count(), 1, "{said}");
    let mut terminal = Terminal::start(&place, &["run", "--hold", "before", "--", "true"]);
    terminal.wait_for("approve, deny? ");
    terminal.type_line("deny");
    let (status, said) = terminal.end();
    assert_eq!((status, said.matches("option deny by").count()), (120, 1), "{said}");
}
