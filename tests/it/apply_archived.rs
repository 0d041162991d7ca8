//! What `apply` says of an id that was used before the log's first records were moved.

use crate::apply_support::{answers, apply, story};
use crate::filler::fill;
use crate::program::{Place, json, status, text};
use serde_json::Value;
use std::fs;

/// So many fill more than a segment.
const FILLERS: u64 = 40;

/// A run that failed lies in an archive; gives the digits of its id.
fn archived_run(place: &Place) -> String {
    assert_eq!(status(&place.holdpoint(&["run", "--", "sh", "-c", "exit 1"])), 1);
    let runs = text(&place.holdpoint(&["runs", "--json"]).stdout);
    let run: Value = serde_json::from_str(runs.lines().next().unwrap()).unwrap();
    let digits = run["run"].as_str().unwrap().strip_prefix("LOOP-").unwrap().to_string();
    fill(&place.log, FILLERS);
    let moved = place.holdpoint(&["archive", "archive", "--json"]);
    assert!(json(&moved)["anchor_sequence"].is_u64(), "{}", text(&moved.stderr));
    digits
}

#[test]
fn an_id_that_was_used_in_an_archive_is_refused_and_what_had_it_is_shown() {
    let place = Place::new();
    let digits = archived_run(&place);
    let again = apply(&place, &story(&digits)[..1]);
    assert_eq!(status(&again), 5, "{}", text(&again.stderr));
    assert_eq!(answers(&again)[0]["refusal"]["code"], "LOOP_EXISTS");
    let verified = place.holdpoint(&["verify", "--archive", "archive"]);
    assert_eq!(status(&verified), 0, "{}", text(&verified.stdout));
    let shown = place.holdpoint(&["show", &format!("LOOP-{digits}")]);
    assert_eq!(status(&shown), 0, "{}", text(&shown.stderr));
}

#[test]
fn nothing_begins_under_a_chosen_id_while_the_archive_is_away() {
    let place = Place::new();
    let digits = archived_run(&place);
    let archive = place.directory.path().join("archive");
    fs::rename(&archive, place.directory.path().join("elsewhere")).unwrap();
    let written = || json(&place.holdpoint(&["verify", "--json"]))["head"]["sequence"].clone();
    let before = written();
    let again = apply(&place, &story(&digits)[..1]);
    assert_eq!(status(&again), 3, "{}", text(&again.stderr));
    assert_eq!(text(&again.stdout), "");
    let said = text(&again.stderr);
    for part in [archive.to_str().unwrap(), "there is no archive there", "put it back there"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(written(), before, "nothing was recorded");
    // What the program draws itself is new, wherever the archive is.
    assert_eq!(status(&place.holdpoint(&["run", "--", "true"])), 0);
}
