//! A log that another tool copied file by file while it was written: HEAD first gives a log that
//! verifies; HEAD last gives one that is short of HEAD, which is no accusation.

use crate::program::{Place, contents, json, skip, status, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const MODULE: &str = "copied_by_others::";

/// What `docs/archives.md` says for copying with another tool.
const DOCUMENTED: &str = "rsync -a .holdpoint/HEAD backup/ && \
                          rsync -a --exclude=/HEAD --exclude=/LOCK .holdpoint/ backup/";

/// Copies every file of the log but HEAD and LOCK.
fn copy_segments(log: &Path, copy: &Path) {
    fs::create_dir_all(copy.join("segments")).unwrap();
    for name in fs::read_dir(log.join("segments")).unwrap().map(|it| it.unwrap().file_name()) {
        let copied = fs::copy(log.join("segments").join(&name), copy.join("segments").join(&name));
        copied.unwrap();
    }
}

/// A place with a log, and a copy of it that read HEAD when the log had more records by so many.
fn short_by() -> (Place, PathBuf, u64) {
    let place = Place::with_log();
    place.run(&["true"]);
    let copy = place.directory.path().join("copy");
    copy_segments(&place.log, &copy);
    let before = place.verified()["head"]["sequence"].as_u64().unwrap();
    place.run(&["true"]);
    // HEAD follows within a second, and at the end of a process that wrote.
    fs::copy(place.log.join("HEAD"), copy.join("HEAD")).unwrap();
    let head = place.verified()["reach"]["witnessed_to"].as_u64().unwrap();
    (place, copy, head - before)
}

#[test]
fn a_copy_that_read_head_last_is_short_of_head_and_called_neither_damaged_nor_whole() {
    let (place, copy, missing) = short_by();
    let at = |arguments: &[&str]| {
        let words = [&["--log", copy.to_str().unwrap()], arguments].concat();
        Command::new(env!("CARGO_BIN_EXE_holdpoint")).args(words).output().unwrap()
    };
    let before = contents(&copy);
    let verified = at(&["verify"]);
    assert_eq!(status(&verified), 6);
    let line = format!(
        "verdict         short of HEAD by {missing} records (a copy made while it was written, \
         or cut)"
    );
    assert_eq!(text(&verified.stdout).lines().next(), Some(line.as_str()));
    let report = json(&at(&["verify", "--json"]));
    assert_eq!(
        (report["verdict"].as_str(), report["row"].as_u64()),
        (Some("short of HEAD"), Some(7))
    );
    assert_eq!(report["short_by"].as_u64(), Some(missing));
    // The record that would tie those here to HEAD is not here.
    assert_eq!(report["axes"]["integrity"]["state"], "not checked");
    assert_eq!(report["axes"]["completeness"]["state"], "failed");
    assert_eq!(report["axes"]["meaning"]["state"], "proven");
    let names: Vec<_> = report["findings"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 1, "{report:#}");
    // Readers show what is here and say the same; none calls it corrupt.
    for verb in [&["runs"][..], &["log"], &["log", "-n", "10"], &["doctor"]] {
        let output = at(verb);
        let told = format!("{}{}", text(&output.stderr), text(&output.stdout));
        assert!(told.contains("short of HEAD"), "{verb:?}: {told}");
        assert!(
            !told.contains("corrupt") && !told.contains("damaged or missing"),
            "{verb:?}: {told}"
        );
    }
    // Nobody writes to it.
    for (words, code) in [
        (&["run", "--", "true"][..], 125),
        (&["record", "--stream", "s", "--type", "t"], 6),
        (&["init"], 6),
    ] {
        let output = at(words);
        assert_eq!(status(&output), code, "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("short of HEAD"), "{}", text(&output.stderr));
    }
    // No copy is made of it, and nobody is sent to a salvage.
    let other = place.directory.path().join("other");
    let output = at(&["copy", copy.to_str().unwrap(), other.to_str().unwrap()]);
    let said = text(&output.stderr);
    assert_eq!(status(&output), 6, "{said}");
    assert!(said.contains("the log is short of HEAD and was not copied"), "{said}");
    assert!(said.contains("continue DIR") && !said.contains("salvage"), "{said}");
    assert!(contents(&copy) == before, "nothing was written");
    assert_eq!(place.verified()["verdict"], "intact");
}

#[test]
fn a_copy_that_read_head_first_verifies_while_the_log_is_written() {
    let place = Place::with_log();
    let mut writer = place.command(&["apply"]);
    let mut writer = writer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut lines, receipts) = (writer.stdin.take().unwrap(), writer.stdout.take().unwrap());
    let feeding = std::thread::spawn(move || {
        use std::io::Write;
        // Until the reader of the lines is gone.
        for number in 0.. {
            let event = r#""command":"application.record","stream":"s","type":"t""#;
            let line = format!(r#"{{"submit":{{{event},"data":"{number}"}}}}"#);
            if writeln!(lines, "{line}").is_err() {
                return;
            }
        }
    });
    let draining = std::thread::spawn(move || {
        std::io::copy(&mut { receipts }, &mut std::io::sink()).unwrap();
    });
    for number in 0..8 {
        let copy = place.directory.path().join(format!("copy-{number}"));
        fs::create_dir(&copy).unwrap();
        fs::copy(place.log.join("HEAD"), copy.join("HEAD")).unwrap();
        copy_segments(&place.log, &copy);
        let mut verify = place.command(&[]);
        verify = Command::new(verify.get_program());
        let verify = verify.arg("--log").arg(&copy).args(["verify", "--json"]).output().unwrap();
        let report = json(&verify);
        let verdict = report["verdict"].as_str().unwrap();
        assert!(verdict.starts_with("intact"), "{report:#}");
        assert_eq!(status(&verify), 0);
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    feeding.join().unwrap();
    draining.join().unwrap();
}

#[test]
fn the_line_for_rsync_in_the_documents_makes_a_copy_that_verifies() {
    let document = include_str!("../../docs/archives.md");
    assert!(document.contains(DOCUMENTED), "the documents have this line");
    let has_rsync = Command::new("rsync").arg("--version").output();
    if !has_rsync.is_ok_and(|output| output.status.success()) {
        return skip(&format!("{MODULE} no rsync here"));
    }
    let place = Place::with_log();
    place.run(&["true"]);
    fs::rename(&place.log, place.directory.path().join(".holdpoint")).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", DOCUMENTED]).current_dir(place.directory.path());
    assert!(shell.status().unwrap().success());
    let mut verify = place.command(&[]);
    verify = Command::new(verify.get_program());
    let backup = place.directory.path().join("backup");
    let verified = verify.arg("--log").arg(&backup).args(["verify"]).output().unwrap();
    assert_eq!(status(&verified), 0, "{}", text(&verified.stdout));
}
