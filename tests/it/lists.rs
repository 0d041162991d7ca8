//! What lists say of what is behind the last row, and what their rows say.

use crate::decision_support::asked;
use crate::program::{Place, status, text};
use crate::runs::listed;

/// The lines of stderr that speak of more than what is shown.
fn said_of_more(place: &Place, words: &[&str]) -> Vec<String> {
    let output = place.holdpoint(words);
    let said = text(&output.stderr);
    assert_eq!(status(&output), 0, "{said}");
    said.lines().filter(|line| line.contains(" shown: `")).map(String::from).collect()
}

#[test]
fn where_there_are_more_runs_than_are_shown_one_line_says_so_with_what_shows_them() {
    let place = Place::with_log();
    (0..21).for_each(|_| assert_eq!(status(&place.run(&["true"])), 0));
    let all = listed(&place, &["-n", "99"]);
    for form in [&[][..], &["--json"], &["-q"]] {
        let said = |options: &[&str]| said_of_more(&place, &[&["runs"], form, options].concat());
        let more = said(&[]);
        assert_eq!(more.len(), 1, "{more:?}");
        let behind = format!("--after {}", &all[19][..15]);
        assert!(more[0].contains("than the 20 shown: `-n N`"), "{more:?}");
        assert!(more[0].contains(&format!("`{behind}`")), "{more:?}");
        assert_eq!(said(&["-n", "20", "--status", "ok"]), more);
        for whole in [&["-n", "21"][..], &["--after", &all[0]], &["--status", "3"]] {
            assert!(said(whole).is_empty(), "{whole:?}: {:?}", said(whole));
        }
        let after: Vec<&str> = behind.split(' ').collect();
        assert!(said(&after).is_empty());
        assert_eq!(listed(&place, &after), all[20..]);
    }
}

#[test]
fn where_there_are_more_decisions_than_are_shown_one_line_says_so_with_what_shows_them() {
    let place = Place::new();
    let ids = [(); 3].map(|()| asked(&place, &[]));
    for form in [&[][..], &["--json"]] {
        let list = |options| [&["decision", "list"], form, options].concat();
        let said = |options| said_of_more(&place, &list(options));
        let more = said(&["--limit", "2"]);
        assert_eq!(more.len(), 1, "{more:?}");
        assert!(more[0].contains("1 decision behind the 2 shown: `--limit N`"), "{more:?}");
        assert!(more[0].contains(&format!("`--after {}`", ids[1])), "{more:?}");
        let whole = [said(&["--limit", "3"]), said(&["--limit", "2", "--after", &ids[0]])];
        assert_eq!(whole, [[]; 2] as [[&str; 0]; 2]);
    }
}
