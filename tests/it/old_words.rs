//! `tests/old_words.txt` states each form of the command line that was replaced, and the new one:
//! who types the old form is told the new one in one line.

use crate::program::{Place, status, text};
use crate::terminal::Terminal;

#[test]
fn an_old_form_names_the_new_one_in_one_line() {
    for line in include_str!("../old_words.txt").lines() {
        let (old, new) = line.split_once(" => ").unwrap();
        let words: Vec<&str> = old.split(' ').collect();
        let valued = words.iter().map(|word| match word.starts_with("--") {
            true => format!("{word}=x"),
            false => (*word).to_string(),
        });
        let behind_a_global = format!("--color always {old}");
        for typed in [old.to_string(), valued.collect::<Vec<_>>().join(" "), behind_a_global] {
            let output = Place::new().holdpoint(&typed.split(' ').collect::<Vec<_>>());
            let expected = format!("holdpoint: `holdpoint {old}` is now `{new}`\n");
            let shown = (status(&output), text(&output.stdout), text(&output.stderr));
            assert_eq!(shown, (2, String::new(), expected), "{typed}");
        }
    }
}

#[test]
fn help_of_an_old_verb_names_the_new_one() {
    for typed in [&["hold", "-h"][..], &["hold", "--help"], &["help", "hold"]] {
        let output = Place::new().holdpoint(typed);
        let shown = (status(&output), text(&output.stderr));
        assert_eq!(shown, (2, "holdpoint: `holdpoint hold` is now `decision`\n".to_string()));
    }
}

#[test]
fn a_verb_of_another_program_is_answered_with_the_one_that_does_that_here() {
    for (there, here) in [("ls", "runs"), ("status", "inbox"), ("logs", "log"), ("history", "runs")]
    {
        let output = Place::new().holdpoint(&[there]);
        let expected =
            format!("holdpoint: there is no `holdpoint {there}`: `holdpoint {here}` does that\n");
        assert_eq!((status(&output), text(&output.stderr)), (2, expected));
    }
}

#[test]
fn what_is_not_understood_is_one_sentence_and_the_command_that_shows_the_help() {
    for (words, said) in [
        ("runs --dat x", "unexpected argument '--dat' found; a similar argument exists: '--date'"),
        ("run", "the following required arguments were not provided: <CMD>..."),
        ("decision show", "the following required arguments were not provided: <ID>"),
    ] {
        let output = Place::new().holdpoint(&words.split(' ').collect::<Vec<_>>());
        let verb = words.trim_end_matches(" --dat x");
        let expected = format!("holdpoint: {said}\n  holdpoint {verb} -h\n");
        assert_eq!((status(&output), text(&output.stderr)), (2, expected));
    }
    for (words, verb) in [("policy set foo=bar", "policy set"), ("runs foo=bar", "runs")] {
        let place = Place::with_log();
        let words = words.split(' ').collect::<Vec<_>>();
        let mut terminal = Terminal::sized(&place, (24, 60), &words);
        let said = terminal.see(&format!("  holdpoint {verb} -h")).join("\n");
        assert!(said.starts_with("holdpoint: invalid value 'foo=bar' for '["), "{said}");
        assert_eq!(terminal.end().0, 2);
    }
}

#[test]
fn no_help_is_wider_than_the_terminal_and_none_breaks_a_word() {
    for words in [&["--help"][..], &["run", "-h"], &["export", "--help"], &["decision", "-h"]] {
        for columns in [40_usize, 60, 80] {
            let place = Place::new();
            let mut command = place.command(words);
            let output = command.env("COLUMNS", columns.to_string()).output().unwrap();
            let help = text(&output.stdout);
            let words_of = |help: &str| {
                let words = help.split_whitespace().filter(|word| *word != "\\");
                words.map(String::from).collect::<Vec<_>>()
            };
            let whole = text(&place.command(words).env("COLUMNS", "100").output().unwrap().stdout);
            assert_eq!(words_of(&help), words_of(&whole), "{words:?} {columns}");
            let wide = help.lines().find(|line| {
                line.len() > columns && line.trim_start().trim_end_matches(" \\").contains(' ')
            });
            assert_eq!(wide, None, "{columns}: {help}");
        }
    }
}
