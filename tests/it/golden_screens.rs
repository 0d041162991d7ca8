//! Screens of verbs on a terminal as they were, of a log that always comes out the same, in
//! `tests/golden/screens`. `HOLDPOINT_WRITE_GOLDEN=1` writes what is not there yet.

use crate::attack_support::submit;
use crate::program::Place;
use crate::terminal::Terminal;
use crate::thread_support::{chat, setting, turn};
use holdpoint_testing::hand_made::HandMadeLog;
use std::fs;
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// A run, a crash, a run of other letters, and a thread with a turn.
fn sample() -> Place {
    let mut log = HandMadeLog::new();
    log.run_of("make deploy ENVIRONMENT=production REGION=eu-central-1 TIMEOUT=600");
    log.crash();
    log.run_of("echo \u{6587}\u{5b57}\u{5316}\u{3051}");
    setting("acme", "talk").iter().for_each(|line| submit(&mut log, line));
    submit(&mut log, &turn("acme", "talk", 1, chat("It is noon, and it rains.")));
    let place = Place::new();
    log.write(&place.log);
    place
}

#[test]
fn no_screen_changes_unseen_and_no_line_is_wider_than_its_terminal() {
    let place = sample();
    for words in [
        &["verify"][..],
        &["verify", "--map"],
        &["thread", "list"],
        &["thread", "show", "acme/talk"],
        &["policy", "show"],
        &["log", "--stat"],
        &["replay"],
    ] {
        for columns in [40, 80, 120] {
            let plain = &["--no-pager", "--color", "never"][..];
            let terminal = Terminal::sized(&place, (200, columns), &[plain, words].concat());
            let shown = terminal.end().1.replace("\r\n", "\n");
            for line in shown.lines() {
                assert!(line.width() <= usize::from(columns), "{words:?}: {columns}: {line}");
            }
            let name = format!("{}-{columns}.txt", words.join("-").replace(['/', ' '], "-"));
            let screens = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/screens");
            let golden = screens.join(name);
            if !golden.exists() && std::env::var_os("HOLDPOINT_WRITE_GOLDEN").is_some() {
                fs::write(&golden, &shown).unwrap();
            }
            let kept = fs::read_to_string(&golden).unwrap_or_default();
            assert_eq!(shown, kept, "{words:?} in {columns} columns");
        }
    }
}
