//! No error of the disk is swallowed below a verb that reads: it exits with 0 only where it shows
//! what it shows when all is well, and else it fails and names what could not be read.

use crate::injection_support::sample::Sample;
use crate::injection_support::verbs::Verb;
use crate::injection_support::{Cell, Reading, first, seed};
use crate::program::{skip, status, text};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{DirectoryStorage, Extent, Survey, SurveyOptions, survey};
use holdpoint_log_format::{Head, names};
use holdpoint_replay::machine::this_boot;
use holdpoint_testing::inject::{Call, Errno, Kind, refusal, run};
use holdpoint_testing::part::part_of;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A run tries one of so many calls and errors. It begins at another one with each verb: most verbs
/// share their way of reading with others.
const PART: usize = 211;

/// Of the calls of one file only, it tries one of so many.
const PART_OF_LOCK: usize = 47;

/// Each call with each error.
fn all_errors(calls: &[Call]) -> Vec<Cell> {
    let all = calls.iter().flat_map(|call| call.kind.errors().iter().map(move |it| (call, it)));
    all.map(|(call, error)| Cell { call: call.clone(), error: *error }).collect()
}

/// What went wrong.
#[derive(Default)]
struct Found {
    cells: usize,
    wrong: Vec<String>,
}

impl Found {
    /// Tries these cells of a verb.
    fn try_verb(&mut self, reading: &Reading<'_>, cells: impl IntoIterator<Item = Cell>) {
        for cell in cells {
            self.cells += 1;
            self.wrong.extend(reading.with_fault(cell).map(|failing| failing.to_string()));
        }
    }

    fn assert_nothing(self) {
        let Self { cells, wrong } = self;
        eprintln!("{cells} calls failed");
        assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}

#[test]
fn the_call_that_is_to_fail_fails_as_is_said_and_no_other_does() {
    if let Some(error) = refusal() {
        return skip(&format!("calls that fail: the kernel lets no filter be used here ({error})"));
    }
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "words").unwrap();
    let cat = |number| {
        let mut command = Command::new("cat");
        command.arg(&file);
        let open = Call { kind: Kind::Open, path: "file".into(), number };
        let ended = run(command, directory.path(), Some((&open, Errno::MFILE))).unwrap();
        assert!(ended.calls.contains(&Call { number: 0, ..open }));
        (status(&ended.output), text(&ended.output.stdout), text(&ended.output.stderr))
    };
    let (code, shown, told) = cat(0);
    assert_eq!((code, &*shown), (1, ""));
    assert!(told.contains("Too many open files"), "{told}");
    assert_eq!(cat(1), (0, "words".into(), String::new()));
}

#[test]
fn no_reading_verb_is_wrong_about_a_log_when_a_call_fails() {
    if let Some(error) = refusal() {
        return skip(&format!("calls that fail: the kernel lets no filter be used here ({error})"));
    }
    let (seed, sample, mut found) = (seed(), Sample::new(), Found::default());
    for (number, verb) in Verb::all(&sample).iter().enumerate() {
        let (reading, calls) = Reading::without_faults(&sample, verb);
        let cells = all_errors(&first(calls));
        found.try_verb(&reading, part_of((seed + number) as u64, cells, PART));
    }
    found.assert_nothing();
}

/// Bytes that are no record, as of one that is being written.
const UNFINISHED: [u8; 200] = [b'~'; 200];

/// Leaves bytes behind the newest record, which are damage where nobody writes.
fn leave_unfinished(log: &Path) {
    let head = Head::decode(&std::fs::read(log.join(names::HEAD)).unwrap()).unwrap();
    let survey = survey_of(log);
    let last = survey.last.unwrap();
    assert!(last.run.end_offset >= head.end_offset);
    let path = log.join(segment_path(last.header.first_sequence()));
    let segment = File::options().write(true).open(path).unwrap();
    segment.write_all_at(&UNFINISHED, last.run.end_offset).unwrap();
}

fn survey_of(log: &Path) -> Survey {
    let (extent, boot) = (Extent::FromHead, this_boot());
    let options = SurveyOptions::new(extent, boot).being_written(true);
    survey(&DirectoryStorage::new(log), options, &mut |_, _| {}).unwrap()
}

#[test]
fn no_reading_verb_takes_what_is_being_written_for_damage_when_a_call_fails() {
    if let Some(error) = refusal() {
        return skip(&format!("calls that fail: the kernel lets no filter be used here ({error})"));
    }
    let (seed, sample, mut found) = (seed(), Sample::new(), Found::default());
    leave_unfinished(&sample.place.log);
    let writer = File::open(sample.place.log.join(names::LOCK)).unwrap();
    writer.lock().unwrap();
    let all = Verb::all(&sample).into_iter();
    let verbs = all.filter(|it| it.watched == sample.place.log && it.reads_beside_writers());
    for (number, verb) in verbs.enumerate() {
        let (reading, mut calls) = Reading::without_faults(&sample, &verb);
        calls.retain(|call| call.path == names::LOCK);
        let cells = all_errors(&calls);
        found.try_verb(&reading, part_of((seed + number) as u64, cells, PART_OF_LOCK));
    }
    found.assert_nothing();
}
