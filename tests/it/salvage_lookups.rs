//! What is looked up by its id in a log of which records are lost: where it is not found, that is
//! said with the records that it may have been among.

use crate::archive_support::{Sample, beside, sequences};
use crate::archives_unread::BY_ID;
use crate::machine::trust;
use crate::program::{json, status, text};
use holdpoint_testing::log::segments_of;
use std::fs;

/// Verbs that look up a record that there is not, beside those that look up an id.
const BY_NUMBER: [&str; 3] = ["show 99999", "output 99999", "show --trace 99999"];

fn lookups() -> impl Iterator<Item = &'static str> {
    // The new log has records of other numbers, and of this one as well.
    BY_ID.into_iter().filter(|line| *line != "show 3").chain(BY_NUMBER)
}

/// Overwrites the records of the first run with zeros.
fn lose_the_first_run(sample: &Sample) {
    let run = sequences(&sample.ask("log loop=LOOP --json", 1));
    let (first, last) = (run[0], run[run.len() - 1]);
    let path = &segments_of(&sample.place.log)[0];
    let mut bytes = fs::read(path).unwrap();
    let mut at = 4_096;
    for sequence in 1..=last {
        let size = u32::from_le_bytes(*bytes[at..].first_chunk().unwrap()) as usize;
        let next = at + size.next_multiple_of(8);
        if sequence >= first {
            bytes[at..next].fill(0);
        }
        at = next;
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn no_verb_that_takes_an_id_denies_what_may_have_been_in_lost_records() {
    let sample = Sample::new();
    for line in lookups() {
        let said = text(&sample.ask(line, 1).stderr);
        assert!(!said.contains("are lost"), "of a whole log: {line}: {said}");
    }
    fs::remove_file(beside(&sample.place, "page.html")).unwrap();
    lose_the_first_run(&sample);
    let salvaged = sample.ask("copy --salvage log new --json", 1);
    assert_eq!(status(&salvaged), 0, "{}", text(&salvaged.stderr));
    let lost_before = json(&salvaged)["lost_before"].as_u64().unwrap();
    fs::rename(&sample.place.log, beside(&sample.place, "old")).unwrap();
    fs::rename(beside(&sample.place, "new"), &sample.place.log).unwrap();
    trust(&[&sample.place.log]);
    let listed = format!("record {lost_before} says that records before it are lost or may be");
    sample.expect("a list", "decision list", 0, &listed);
    let told = format!("{listed}, and what is asked for may be among them");
    for line in lookups() {
        let output = sample.expect("lost", line, 3, &told);
        assert_eq!(text(&output.stderr).matches(&told).count(), 1, "{line}");
        let told = sample.ask(&format!("{line} --json"), 1);
        // A list is a stream, which holds nothing then.
        if !told.stdout.is_empty() {
            let value = json(&told);
            assert_eq!(value["error"]["lost_before"], lost_before, "{line}: {value:#}");
        }
    }
}
