//! Every verb that writes says of a damaged log that it does not verify, and `copy --salvage` makes
//! a new one in a directory of any name.

use crate::program::{Place, json, status, text};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

const ANSWER: [&str; 6] = ["decision", "respond", "REQ-111111", "--yes", "ABORT", "--json"];

fn assert_refused(place: &Place, verbs: &[&[&str]]) {
    assert_eq!(status(&place.holdpoint(&["verify"])), 6);
    for verb in verbs {
        let output = place.holdpoint(verb);
        let said = text(&output.stderr);
        assert_eq!(status(&output), 6, "{verb:?}: {said}");
        assert_eq!(json(&output)["error"]["code"], "damaged", "{verb:?}");
        assert_eq!(said.matches(" verify`").count(), 1, "{said}");
    }
    let applied = place.command(&["apply"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(status(&applied), 6, "{}", text(&applied.stderr));
    assert_eq!(status(&place.shell("true")), 125);
}

#[test]
fn every_writer_ends_with_6_on_a_log_that_does_not_verify() {
    let place = Place::new();
    assert_eq!(status(&place.shell("true")), 0);
    let segment = place.log.join("segments/00000000000000000001.seg");
    let whole = std::fs::read(&segment).unwrap();
    let mut bytes = whole.clone();
    bytes[4_096 + 70] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    assert_refused(&place, &[&["decision", "expire", "--json"], &ANSWER]);
    std::fs::write(&segment, whole).unwrap();
    place.verified();
    std::fs::remove_file(place.log.join("HEAD")).unwrap();
    let archive = ["archive", "archive", "--json"];
    assert_refused(&place, &[&["decision", "expire", "--json"], &ANSWER, &archive]);
}

#[test]
fn salvage_tells_a_program_of_a_directory_whose_name_is_no_text() {
    let place = Place::new();
    assert_eq!(status(&place.shell("true")), 0);
    let odd = OsStr::from_bytes(b"nu\xff\xfe");
    let mut command = place.command(&["--json", "copy", "--salvage", "log"]);
    let output = command.arg(odd).output().unwrap();
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let told = json(&output)["path"].as_str().unwrap().to_string();
    assert!(told.ends_with("nu\u{fffd}\u{fffd}"), "{told}");
    let mut back = place.command(&["--json", "copy", "--salvage"]);
    let output = back.arg(odd).arg("again").output().unwrap();
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert_eq!(json(&output)["newest_sequence"].as_u64().map(|newest| newest > 1), Some(true));
}
