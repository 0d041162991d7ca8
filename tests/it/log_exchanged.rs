//! A log that another one takes the place of while it is read, as `continue` lets them change
//! places in one step: whoever reads tells what is true of one of the two, or that it changed.

use crate::log_continued::{continued, old_log, short};
use crate::program::{Place, status, text};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};

/// What reads a log; RUN is a run of both.
const VERBS: [&str; 10] = [
    "verify --json",
    "verify 2.. --json",
    "output RUN --json",
    "show RUN --json",
    "runs --json",
    "log --json",
    "log -n 10 --json",
    "decision list --kind decision state=all --json",
    "show --trace RUN --json",
    "log --stat --json",
];

/// So often each of them is asked.
const TURNS: usize = 6;

fn answer(output: &Output) -> (i32, String) {
    (status(output), text(&output.stdout))
}

#[test]
fn a_reader_beside_an_exchange_of_two_logs_tells_of_one_of_them_or_that_it_changed() {
    let place = short().place;
    continued(&place);
    let salvaged = place.log.with_file_name("salvaged");
    let (log, into) = (place.log.to_str().unwrap(), salvaged.to_str().unwrap());
    let made = place.holdpoint(&["copy", "--salvage", log, into]);
    assert_eq!(status(&made), 0, "{}", text(&made.stderr));
    // As `continue` does it, and with a log that is whole.
    reads_while_exchanged(&place, &old_log(&place));
    reads_while_exchanged(&place, &salvaged);
}

fn reads_while_exchanged(place: &Place, other: &Path) {
    let runs = text(&place.holdpoint(&["runs", "--json"]).stdout).to_string();
    let run: Value = serde_json::from_str(runs.lines().next().unwrap()).unwrap();
    let run = run["run"].as_str().unwrap();
    let read = |line: &str| {
        let words = line.split(' ').map(|word| if word == "RUN" { run } else { word });
        place.holdpoint(&words.collect::<Vec<_>>())
    };
    let exchange = || renameat_with(CWD, &place.log, CWD, other, RenameFlags::EXCHANGE).unwrap();
    let mut right = Vec::new();
    for _ in 0..2 {
        right.push(VERBS.map(|line| answer(&read(line))));
        exchange();
    }
    assert!(right[0][0] != right[1][0], "the two are told apart");
    let is_over = AtomicBool::new(false);
    let mut wrong = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                exchange();
                exchange();
            }
        });
        for (number, line) in (0..TURNS).flat_map(|_| VERBS.iter().enumerate()) {
            let output = read(line);
            let told = answer(&output);
            let is_changed = told.0 == 1 && text(&output.stderr).contains("changed");
            if !is_changed && right.iter().all(|right| right[number] != told) {
                wrong.push(format!("{line}: {} {} {}", told.0, told.1, text(&output.stderr)));
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), TURNS * VERBS.len());
}
