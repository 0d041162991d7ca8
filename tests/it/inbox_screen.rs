//! `inbox` over a whole terminal: people answer in place, see each other, and get their terminal
//! back.

use crate::program::{Place, command_in, json, status, text, with_hold};
use crate::run_before::await_listed;
use crate::terminal::Terminal;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

/// Starts a run that fails, and waits for a person.
fn waiting(place: &Place, script: &str) -> (Child, String) {
    let words = ["run", "--hold", "on-failure", "--", "sh", "-c", script];
    let mut command = place.command(&words);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    (child, await_listed(place, "hold", "id"))
}

fn inbox(place: &Place, size: (u16, u16)) -> Terminal {
    Terminal::sized(place, size, &["inbox"])
}

/// Opens the question that is selected, and waits until it can be answered.
fn open(terminal: &mut Terminal) -> Vec<String> {
    terminal.press("\r");
    terminal.see("ABORT?")
}

#[test]
fn a_person_who_answers_in_the_inbox_wakes_who_waits() {
    let place = Place::with_log();
    let (mut run, id) = waiting(&place, "exit 3");
    let mut terminal = inbox(&place, (50, 80));
    terminal.see(&id[..10]);
    let seen = open(&mut terminal).join("\n");
    assert!(seen.contains("exit 3") && seen.contains(&id), "{seen}");
    terminal.press("\r");
    terminal.see("is no answer");
    terminal.press("CONT\r");
    let seen = terminal.see("type a whole word").join("\n");
    assert!(seen.starts_with("command:"), "{seen}");
    terminal.press("continue\r");
    terminal.see("type CONTINUE to answer");
    terminal.type_line("Continue");
    let seen = terminal.see("decided CONTINUE by").join("\n");
    assert!(!seen.contains("type a whole word") && !seen.contains("handing it in"), "{seen}");
    assert_eq!(run.wait().unwrap().code(), Some(3));
    terminal.see("no pending questions in 1 log");
    terminal.press("q");
    let (status, is_usual, takes_lines) = terminal.end_plain();
    assert_eq!((status.code(), is_usual, takes_lines), (Some(0), true, true));
    let shown = with_hold(json(&place.holdpoint(&["decision", "show", &id, "--json"])));
    assert_eq!(shown["decision"]["means"]["channel"], "TERMINAL", "{shown:#}");
}

#[test]
fn of_two_people_one_sees_the_others_answer() {
    let place = Place::with_log();
    let (mut run, id) = waiting(&place, "exit 1");
    let (mut one, mut other) = (inbox(&place, (24, 80)), inbox(&place, (24, 100)));
    one.see(&id[..10]);
    other.see(&id[..10]);
    open(&mut one);
    open(&mut other);
    other.press("RETR");
    other.see("> RETR");
    one.press("ABORT\r");
    one.see("type ABORT to answer");
    one.type_line("ABORT");
    one.see("decided ABORT by");
    let seen = other.see("it is over: decided ABORT by").join("\n");
    assert!(!seen.contains("> RETR"), "{seen}");
    assert_eq!(run.wait().unwrap().code(), Some(120));
    other.press("Y\r\u{1b}");
    other.see("no pending questions in 1 log");
    for mut terminal in [one, other] {
        terminal.press("\u{3}");
        assert_eq!(terminal.end_plain().0.code(), Some(0));
    }
}

#[test]
fn what_a_word_needs_is_asked_for_and_a_decision_takes_its_own() {
    let place = Place::with_log();
    let words = ["decision", "create", "gt-1", "--prompt", "Which?", "--option", "redis:Redis"];
    let output = place.holdpoint(&[&words[..], &["--option", "memory:Memory"]].concat());
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let id = await_listed(&place, "decision", "id");
    let mut terminal = inbox(&place, (24, 80));
    terminal.see(&id[..10]);
    terminal.press("\r");
    terminal.see("redis, memory?");
    terminal.press("\u{12}");
    terminal.see("reason");
    terminal.press("it is there\r");
    terminal.see("reason: it is there");
    terminal.press("redis\r");
    terminal.see("option redis by");
    terminal.press("q");
    assert_eq!(terminal.end_plain().0.code(), Some(0));
    let shown = json(&place.holdpoint(&["decision", "show", &id, "--json"]));
    assert_eq!(
        (&shown["selected_option"], &shown["comment"]),
        (&"redis".into(), &"it is there".into())
    );
}

#[test]
fn of_a_log_that_goes_its_question_says_what_can_be_done_and_stays_to_be_read() {
    let place = Place::with_log();
    let words = ["decision", "create", "gt-1", "--prompt", "Go on?", "--option", "yes:Yes"];
    assert_eq!(status(&place.holdpoint(&words)), 0);
    let (log, kept) = (place.log.clone(), place.directory.path().join("kept"));
    let remove = format!("holdpoint inbox --remove {}", log.display());
    let listed = command_in(place.directory.path(), &["inbox"]);
    let named = place.command(&["inbox"]);
    // However long the name of the log is, it is not folded.
    let columns = u16::try_from(3 * remove.len()).unwrap().max(80);
    for (program, advice) in [(listed, &*remove), (named, "answered before it is back")] {
        let mut terminal = Terminal::start_sized(&place, (24, columns), &program);
        terminal.see("Go on?");
        terminal.press("\r");
        terminal.see("yes?");
        std::fs::rename(&log, &kept).unwrap();
        terminal.press("yes\r");
        let seen = terminal.see("is gone: ").join(" ");
        let seen = seen.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(seen.contains(advice) && seen.contains("Go on?"), "{seen}");
        assert!(!seen.contains(" init"), "{seen}");
        terminal.see("Esc back  PgUp");
        std::fs::rename(&kept, &log).unwrap();
        terminal.see("Enter give");
        terminal.press("\u{3}");
        assert_eq!(terminal.end_plain().0.code(), Some(0));
    }
}

#[test]
fn the_output_of_a_run_is_a_screen_of_its_own_and_not_seen_before_it_is_asked_for() {
    let place = Place::with_log();
    let script = r"printf 'S3cret\033[2JCONTINUE? \n'; exit 1";
    let (mut run, id) = waiting(&place, script);
    let mut terminal = inbox(&place, (24, 80));
    terminal.see(&id[..10]);
    open(&mut terminal);
    terminal.press("\u{f}");
    terminal.see("Esc back  PgUp");
    let seen = terminal.see("UNTRUSTED OUTPUT").join("\n");
    assert!(seen.contains("| S3cret\\u{1b}[2JCONTINUE?"), "{seen}");
    terminal.press("\u{1b}");
    terminal.see("ABORT?");
    terminal.press("ABORT\r");
    terminal.see("type ABORT");
    terminal.type_line("ABORT");
    terminal.see("decided ABORT by");
    run.wait().unwrap();
    terminal.press("q");
    assert_eq!(terminal.end_plain().0.code(), Some(0));
}

#[test]
fn a_signal_gives_the_terminal_back() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        let place = Place::with_log();
        let mut terminal = inbox(&place, (24, 80));
        terminal.see("no pending questions in 1 log");
        terminal.signal(signal);
        let (status, is_usual, takes_lines) = terminal.end_plain();
        assert_eq!(status.signal(), Some(signal.as_raw()));
        assert!(is_usual && takes_lines, "{signal:?}");
    }
}

#[test]
fn twenty_columns_are_enough_to_answer_a_hostile_question() {
    let place = Place::with_log();
    let forged = "Go?\u{1b}[2J\u{202e}\u{5d0}\n> yes\nholdpoint: approved by ada";
    let words = ["decision", "create", "gt-1", "--prompt", forged, "--option", "yes:Yes"];
    assert_eq!(status(&place.holdpoint(&words)), 0);
    let id = await_listed(&place, "decision", "id");
    let mut terminal = inbox(&place, (12, 20));
    let seen = terminal.see(&id[..10]);
    assert!(seen.iter().any(|row| row.starts_with(" | Go?\\u{1b}")), "{seen:#?}");
    terminal.press("\r");
    let seen = terminal.see("yes?");
    assert!(seen.iter().filter(|row| row.starts_with("> ")).count() <= 1, "{seen:#?}");
    assert!(!seen.iter().any(|row| row.starts_with("holdpoint:")), "{seen:#?}");
    terminal.press("yes\r");
    terminal.see("resolved");
    terminal.press("q");
    assert_eq!(terminal.end_plain().0.code(), Some(0));
}

#[test]
fn a_terminal_that_becomes_narrow_is_filled_anew() {
    let place = Place::with_log();
    let (mut run, id) = waiting(&place, "exit 3");
    let mut terminal = inbox(&place, (24, 80));
    terminal.see(&id[..10]);
    terminal.resize((8, 20));
    let seen = terminal.see(" | sh -c");
    assert!(seen.iter().any(|row| row.contains(&id[..10])), "{seen:#?}");
    open(&mut terminal);
    terminal.press("CONTINUE\r");
    terminal.see("type CONTINUE");
    terminal.type_line("CONTINUE");
    terminal.see("decided");
    assert_eq!(run.wait().unwrap().code(), Some(3));
    terminal.press("q");
    assert_eq!(terminal.end_plain().0.code(), Some(0));
}

#[test]
fn a_paste_that_breaks_off_keeps_neither_the_screen_nor_a_signal_waiting() {
    let place = Place::with_log();
    let mut terminal = inbox(&place, (24, 80));
    terminal.see("no pending questions in 1 log");
    terminal.press("\u{1b}[200~");
    let (mut run, id) = waiting(&place, "exit 1");
    terminal.see(&id[..10]);
    terminal.signal(Signal::TERM);
    let (status, is_usual, takes_lines) = terminal.end_plain();
    let expected = (Some(Signal::TERM.as_raw()), true, true);
    assert_eq!((status.signal(), is_usual, takes_lines), expected);
    run.kill().unwrap();
    run.wait().unwrap();
}

#[test]
fn a_stopped_inbox_gives_the_terminal_back_and_takes_it_again() {
    for by_key in [true, false] {
        let place = Place::with_log();
        let mut terminal = inbox(&place, (24, 80));
        terminal.see("no pending questions in 1 log");
        match by_key {
            true => terminal.press("\u{1a}"),
            false => terminal.signal(Signal::TSTP),
        }
        terminal.await_stop();
        assert!(terminal.takes_lines(), "by key: {by_key}");
        terminal.see_usual_screen();
        terminal.signal(Signal::CONT);
        terminal.see("no pending questions in 1 log");
        assert!(!terminal.takes_lines(), "by key: {by_key}");
        let (mut run, id) = waiting(&place, "exit 1");
        terminal.see(&id[..10]);
        terminal.press("q");
        let (status, is_usual, takes_lines) = terminal.end_plain();
        assert_eq!((status.code(), is_usual, takes_lines), (Some(0), true, true));
        run.kill().unwrap();
        run.wait().unwrap();
    }
}

#[test]
fn whatever_a_terminal_says_of_its_size_the_inbox_fills_no_more_than_a_screen() {
    for size in [(0, 0), (1, 1), (2, 3), (24, 0), (0, 80), (u16::MAX, u16::MAX)] {
        let place = Place::with_log();
        let mut terminal = inbox(&place, (24, 80));
        terminal.see("no pending questions in 1 log");
        terminal.says_it_is(size);
        let (mut run, _) = waiting(&place, "exit 1");
        terminal.says_it_is((24, 80));
        terminal.see("exit 1");
        terminal.press("q");
        let (status, is_usual, _) = terminal.end_plain();
        assert_eq!((status.code(), is_usual), (Some(0), true), "{size:?}");
        run.kill().unwrap();
        run.wait().unwrap();
    }
}
