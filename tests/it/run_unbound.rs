//! What an approval before a start is not bound to, and that whoever approves is told.

use crate::program::{Place, status, text};
use crate::run_before::run;
use crate::terminal::{Terminal, at_terminal};
use std::fs;

const WORDS: [&str; 3] = ["--", "sh", "deploy.sh"];

/// Writes the script that the command reads.
fn write_script(place: &Place, script: &str) {
    fs::write(place.directory.path().join("deploy.sh"), script).unwrap();
}

#[test]
fn the_question_before_a_start_says_which_files_are_not_bound() {
    let place = Place::new();
    write_script(&place, "true");
    let unbound = "not bound       files that it reads, also a script";
    for (options, rest) in [
        (&[][..], ": `--bind-file` binds them"),
        (&["--bind-file", "deploy.sh"], ", but for the 1 file above"),
        (&["--bind-file", "deploy.sh", "--bind-file", "/bin/sh"], ", but for the 2 files above"),
    ] {
        let words = [&["run", "--hold", "before"], options, &WORDS].concat();
        let mut waiting = Terminal::sized(&place, (60, 140), &words);
        let shown = waiting.see("approve, deny?").join("\n");
        assert!(shown.contains(&format!("{unbound}{rest}\n")), "{shown}");
        let bound = shown.matches("|   file       ").count();
        assert_eq!(bound, options.len() / 2, "{shown}");
        waiting.type_line("deny");
        assert_eq!(waiting.end().0, 120);
    }
}

#[test]
fn a_script_that_the_command_names_is_bound_by_bind_file_alone() {
    for (options, exit) in [(&[][..], 7), (&["--bind-file", "deploy.sh"], 125)] {
        let place = Place::new();
        write_script(&place, "exit 0");
        let before = [&["run", "--hold", "before", "--no-wait"], options, &WORDS].concat();
        let asked = run(&place, &before);
        assert_eq!(status(&asked), 122, "{}", text(&asked.stderr));
        let id = text(&asked.stdout).trim().to_string();
        assert_eq!(status(&at_terminal(&place, &["answer", &id, "approve"])), 0);
        write_script(&place, "exit 7");
        let spend = [&["run", "--approval", &id], options, &WORDS].concat();
        let spent = run(&place, &spend);
        assert_eq!(status(&spent), exit, "{}", text(&spent.stderr));
    }
}
