//! A power cut under `continue`: whatever of it reached the disk, the old log or the new one is
//! whole at the place, and the next one removes what is left over.
//!
//! A real one is watched at each of its syncs. Before the two directories change places, which is
//! one step, nothing of the new log is in memory alone and nothing of the old one was touched: so a
//! cut before that leaves the old log, with anything at all beside it, and a cut behind it either.

#![cfg(target_os = "linux")]

use crate::log_continued::{Sample, building, continued, files, old_log, short};
use crate::program::{Place, at_terminal, json, skip, status, text, type_words};
use holdpoint_testing::inject::{Answer, Step, refusal, run_stepwise};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a power cut leaves, by inode: of a file its bytes, of a directory its names.
#[derive(Default)]
struct Durable {
    files: BTreeMap<u64, Vec<u8>>,
    names: BTreeMap<u64, BTreeSet<OsString>>,
}

fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

fn names(directory: &Path) -> BTreeSet<OsString> {
    fs::read_dir(directory).unwrap().map(|it| it.unwrap().file_name()).collect()
}

impl Durable {
    fn sync(&mut self, path: &Path) {
        match path.is_dir() {
            true => drop(self.names.insert(inode(path), names(path))),
            false => drop(self.files.insert(inode(path), fs::read(path).unwrap())),
        }
    }

    fn has_names_of(&self, directory: &Path) -> bool {
        self.names.get(&inode(directory)) == Some(&names(directory))
    }

    /// What of a directory a power cut loses.
    fn lost(&self, directory: &Path) -> Vec<PathBuf> {
        let mut lost = Vec::new();
        if !self.has_names_of(directory) {
            lost.push(directory.to_path_buf());
        }
        for name in names(directory) {
            let path = directory.join(name);
            if path.is_dir() {
                lost.extend(self.lost(&path));
            } else if self.files.get(&inode(&path)) != Some(&fs::read(&path).unwrap()) {
                lost.push(path);
            }
        }
        lost
    }
}

/// The numbers that a call was given by a thread that waits with it.
fn arguments(step: Step) -> Vec<u64> {
    let path = format!("/proc/{}/task/{}/syscall", step.process, step.thread);
    let told = fs::read_to_string(path).unwrap();
    let words = told.split_whitespace().skip(1).take(6);
    words.map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap()).collect()
}

/// What is made anew where it is missing, and believed by nobody.
fn is_needed(path: &Path) -> bool {
    !["/LOCK", "/SYNC", "/snapshots", "/indexes"]
        .iter()
        .any(|it| path.to_str().unwrap().contains(it))
}

#[test]
fn when_the_logs_change_places_the_new_one_is_durable_and_the_old_one_untouched() {
    if let Some(error) = refusal() {
        return skip(&format!("this kernel lets no program wait with its calls: {error}"));
    }
    let Sample { place, .. } = short();
    fs::create_dir(place.log.join("cut")).unwrap();
    fs::write(place.log.join("cut").join("00000000000000000001-4096-1.cut"), "cut").unwrap();
    let before = files(&place.log);
    let (mut durable, mut synced, mut exchanged) = (Durable::default(), 0, 0);
    let mut hear = |step: Step| match step.number {
        libc::SYS_fsync | libc::SYS_fdatasync => {
            let open = format!("/proc/{}/fd/{}", step.process, arguments(step)[0]);
            let Ok(path) = fs::read_link(open) else { return };
            if path.starts_with(place.directory.path()) {
                synced += 1;
                durable.sync(&path);
                assert!(exchanged > 0 || files(&place.log) == before, "the old log is whole");
            }
        }
        libc::SYS_renameat2 if arguments(step)[4] == u64::from(libc::RENAME_EXCHANGE) => {
            exchanged += 1;
            assert!(files(&place.log) == before, "the old log is whole");
            let mut lost = durable.lost(&building(&place).unwrap());
            lost.retain(|path| is_needed(path));
            assert!(lost.is_empty(), "a power cut loses {lost:?}");
        }
        _ => {}
    };
    let log = place.log.to_str().unwrap();
    let (command, keyboard) = at_terminal(&place.command(&["continue", log, "--json"]));
    let typist = std::thread::spawn(move || type_words(keyboard));
    let ended = run_stepwise(command, &mut |step| {
        step.into_iter().for_each(&mut hear);
        Answer::GoOn
    });
    let output = ended.unwrap().wait_with_output().unwrap();
    typist.join().unwrap();
    assert_eq!(status(&output), 0, "{}{}", text(&output.stderr), text(&output.stdout));
    assert!(exchanged == 1 && synced > 5, "{exchanged} {synced}");
    assert!(durable.has_names_of(place.log.parent().unwrap()), "the new names are durable");
    assert!(files(&old_log(&place)) == before, "the old log is as it was");
    place.verified();
}

/// A cut before they changed places: of the new log anything may be there.
#[test]
fn whatever_a_power_cut_left_of_the_new_log_is_removed_by_the_next_and_the_old_one_is_whole() {
    let Sample { place: sample, .. } = short();
    let before = files(&sample.log);
    let made = Place { log: sample.directory.path().join("made"), ..Place::new() };
    copy(&sample.log, &made.log);
    continued(&made);
    for kept in [0, 1, 100, 5_000] {
        let Sample { place, .. } = short();
        fs::remove_dir_all(&place.log).unwrap();
        copy(&sample.log, &place.log);
        let name = format!(".log.{kept:016x}.new.continuing");
        let left = place.log.with_file_name(name);
        copy(&made.log, &left);
        for (file, bytes) in files(&left) {
            let kept = bytes.len().min(kept);
            fs::write(left.join(file), &bytes[..kept]).unwrap();
        }
        let report = json(&place.holdpoint(&["verify", "--json"]));
        assert_eq!(report["verdict"], "short of HEAD", "{report:#}");
        assert!(files(&place.log) == before, "the old log is whole");
        let doctor = text(&place.holdpoint(&["doctor"]).stdout).to_string();
        assert!(doctor.contains(".new.continuing"), "{doctor}");
        continued(&place);
        assert!(!left.exists(), "{kept}");
        assert!(files(&old_log(&place)) == before, "the old log is kept");
        place.verified();
    }
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}
