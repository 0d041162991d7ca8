//! What is said of an archive is what was read: nothing is called checked that was not, and the
//! directory that is meant is named.

use crate::program::{Place, json, status, text};
use std::process::Output;

/// Output of a command that fills a segment.
const FILLING: &str = "head -c 70000 /dev/zero | tr '\\0' x";

fn grow(place: &Place) {
    for _ in 0..3 {
        assert_eq!(status(&place.shell(FILLING)), 0);
    }
}

/// Moves records to `to`; the last of them.
fn moved(place: &Place, to: &str) -> u64 {
    let output = place.holdpoint(&["archive", to, "--json"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    json(&output)["anchor_sequence"].as_u64().unwrap()
}

fn together(place: &Place, archive: &str) -> Output {
    place.holdpoint(&["verify", "--archive", archive])
}

fn both(output: &Output) -> String {
    text(&output.stdout) + text(&output.stderr).as_str()
}

#[test]
fn what_an_earlier_archive_holds_is_not_claimed() {
    let place = Place::new();
    grow(&place);
    let first = moved(&place, "one");
    grow(&place);
    moved(&place, "two");
    let output = together(&place, "two");
    assert_eq!(status(&output), 0);
    let said = both(&output);
    let next = first + 1;
    for due in [
        format!(
            "together        intact from record {next} on; records 1 to {first} are in an earlier \
             archive and were not checked\n"
        ),
        format!("are checked there from record {next} on"),
    ] {
        assert!(said.contains(&due), "{said}");
    }
    let found = json(&place.holdpoint(&["verify", "--archive", "two", "--json"]));
    assert_eq!(found["first_sequence"], next);
    assert!(found["reason"].as_str().unwrap().contains("were not checked"), "{found}");
    // The second archive goes on from the first one as the log does from it.
    let output = place.holdpoint(&["verify", "--log", "two", "--archive", "one"]);
    assert_eq!(status(&output), 0, "{}", both(&output));
    assert!(both(&output).contains("together        intact\n"), "{}", both(&output));
}

#[test]
fn what_is_not_marked_as_an_archive_is_none_for_verify_either() {
    let place = Place::new();
    grow(&place);
    moved(&place, "one");
    std::fs::remove_file(place.directory.path().join("one").join("ARCHIVE")).unwrap();
    let output = together(&place, "one");
    assert_eq!(status(&output), 6, "{}", both(&output));
    assert!(both(&output).contains("without the file ARCHIVE"), "{}", both(&output));
    let shown = place.holdpoint(&["log", "--archive", "one"]);
    assert!(both(&shown).contains("not an archive"), "{}", both(&shown));
}

#[test]
fn records_are_called_checked_only_where_an_archive_shows_them() {
    let place = Place::new();
    grow(&place);
    moved(&place, "one");
    assert!(both(&together(&place, "one")).contains("are checked there"));
    let output = together(&place, "log");
    assert_eq!(status(&output), 2, "{}", both(&output));
    assert!(both(&output).contains("the log itself"), "{}", both(&output));
    let other = Place::new();
    grow(&other);
    moved(&other, "other");
    let other = other.directory.path().join("other");
    for (archive, code) in [("nowhere", 3), (other.to_str().unwrap(), 6)] {
        let output = together(&place, archive);
        assert_eq!(status(&output), code, "{}", both(&output));
        assert!(both(&output).contains("and were not checked"), "{}", both(&output));
        assert!(!both(&output).contains("are checked there"), "{}", both(&output));
    }
    let missing = both(&together(&place, "nowhere"));
    assert!(missing.contains("another directory with --archive DIR"), "{missing}");
    let differs = place.holdpoint(&["verify", "--archive", other.to_str().unwrap(), "--json"]);
    let finding = json(&differs)["findings"][0].clone();
    assert_eq!(finding["problem"], "archive_differs");
    let named = place.log.join("HEAD");
    assert_eq!(finding["segment"].as_str(), named.to_str());
}

#[test]
fn a_place_that_cannot_be_an_archive_is_named_whatever_there_is_to_move() {
    let place = Place::new();
    assert_eq!(status(&place.shell("true")), 0);
    let at = |name: &str| place.directory.path().join(name);
    std::fs::write(at("file"), "mine").unwrap();
    std::fs::create_dir(at("foreign")).unwrap();
    std::fs::write(at("foreign").join("note"), "mine").unwrap();
    let refused = |destination: &str, code: i32| {
        let output = place.holdpoint(&["archive", destination]);
        assert_eq!(status(&output), code, "{}", both(&output));
        let said = text(&output.stderr);
        assert!(said.contains(destination), "{said}");
        assert!(!said.contains("says how it stands"), "{said}");
    };
    // Nobody can even look at the last one.
    let destinations = [("file", 5), ("foreign", 5), ("file/archive", 1)];
    destinations.into_iter().for_each(|(destination, code)| refused(destination, code));
    grow(&place);
    destinations.into_iter().for_each(|(destination, code)| refused(destination, code));
    moved(&place, "archive");
}

#[test]
fn a_damaged_archive_is_kept_and_the_records_go_to_another_directory() {
    let place = Place::new();
    grow(&place);
    moved(&place, "one");
    grow(&place);
    let segments = place.directory.path().join("one/segments");
    let segment = std::fs::read_dir(segments).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[5_000] ^= 1;
    std::fs::write(segment, bytes).unwrap();
    let output = place.holdpoint(&["archive", "one"]);
    let said = both(&output);
    assert_eq!(status(&output), 5, "{said}");
    assert!(
        said.contains("one is damaged (") && said.contains("name an empty directory"),
        "{said}"
    );
    moved(&place, "two");
}

#[test]
fn an_archive_head_that_was_set_back_is_mended_and_that_is_said() {
    let place = Place::new();
    grow(&place);
    let first = moved(&place, "one");
    let head = place.directory.path().join("one/HEAD");
    let old = std::fs::read(&head).unwrap();
    grow(&place);
    let second = moved(&place, "one");
    std::fs::write(&head, old).unwrap();
    (0..3).for_each(|_| grow(&place));
    let said = both(&place.holdpoint(&["archive", "one"]));
    assert!(
        said.contains(&format!("HEAD, which named record {first} and not the newest")),
        "{said}"
    );
    grow(&place);
    let said = both(&place.holdpoint(&["archive", "one"]));
    assert!(second > first && !said.contains("mended"), "{said}");
}
