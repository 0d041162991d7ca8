//! A run whose next attempt cannot begin, for another process keeps the log's lock.

use crate::program::{Place, json, status, text};
use crate::run_ending::{Begun, HeldLock, run_files, shown_after_a_writer};
use std::fs;

/// A crash permits another attempt, which the lock lets nobody begin; one that is not retryable
/// permits none.
#[test]
fn an_attempt_that_the_lock_lets_nobody_begin_is_told_and_the_next_writer_ends_the_run() {
    for (script, exit, is_due, outcome) in
        [("kill -SEGV $$", 122, true, "crashed"), ("kill -SYS $$", 159, false, "stopped")]
    {
        let place = Place::with_log();
        let options = ["--json", "--max-attempts", "2", "--lock-wait", "1s"];
        let begun = Begun::start(&place, 0, &options, script);
        let lock = HeldLock::of(&place);
        let output = begun.end();
        assert_eq!(status(&output), exit, "{}", text(&output.stderr));
        let told = json(&output);
        assert_eq!((&told["exit_status"], &told["end_waits"]), (&exit.into(), &true.into()));
        let warning = told["warning"].as_str().unwrap();
        assert_eq!(warning.contains("another attempt was due, and none is made"), is_due);
        drop(lock);
        let shown = shown_after_a_writer(&place, told["loop_id"].as_str().unwrap());
        assert_eq!(shown["outcome"], outcome, "{shown:#}");
        let attempts = shown["execution_loop"]["attempts"].as_array().unwrap();
        assert_eq!(attempts.len(), 1, "{shown:#}");
        place.verified();
        assert_eq!(run_files(&place).len(), 0);
    }
}

/// Something else takes the place of the runs' files while another process keeps the lock.
#[test]
fn where_neither_the_log_nor_the_file_takes_the_end_it_is_said_what_to_put_right() {
    let place = Place::with_log();
    let begun = Begun::start(&place, 0, &["--json", "--lock-wait", "1s"], "exit 7");
    let [file] = &run_files(&place)[..] else { panic!("one run is under way") };
    let run = file.file_name().unwrap().to_str().unwrap().to_string();
    let (runs, elsewhere) = (place.log.join("runs"), place.log.join("elsewhere"));
    fs::rename(&runs, &elsewhere).unwrap();
    fs::create_dir(&runs).unwrap();
    let lock = HeldLock::of(&place);
    let output = begun.end();
    let told = json(&output);
    assert_eq!((status(&output), &told["error"]["code"]), (7, &"not_recorded".into()), "{told:#}");
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains("something else is in the place of `runs/`"), "{message}");
    assert!(message.contains("put `runs/` and what was in it back"), "{message}");
    drop(lock);
    // Put right, what the guard wrote down is known.
    fs::remove_dir(&runs).unwrap();
    fs::rename(&elsewhere, &runs).unwrap();
    let shown = shown_after_a_writer(&place, &run);
    let attempt = &shown["execution_loop"]["attempts"][0];
    assert_eq!(attempt["response"]["exit"]["status"], 7, "{shown:#}");
    place.verified();
}
