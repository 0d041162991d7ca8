//! `log`: every filter shows the records that a plain reading would pick out, in both
//! directions, whether or not indexes let it read less, and it says how much it read.

use crate::records_support::{
    Sample, besides_reach, holdpoint, indexed, remove_indexes, saying, segments, sequences, told,
    values,
};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::{Flags, Head, Link, LogId, names};
use holdpoint_log_index::file::index_path;
use holdpoint_testing::hand_made::{
    FIRST_RECORD, HandMadeLog, SECRET, change_head, encoded, flip, make_newer,
};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// The records that options pick out, as JSON.
fn shown(log: &Path, options: &[&str]) -> Vec<Value> {
    let output = holdpoint(log, &[&["log", "--json"], options].concat());
    let (code, _, stderr) = told(&output);
    assert_eq!((code, besides_reach(&stderr).as_str()), (0, ""), "{options:?}");
    values(&output)
}

/// Without what is said of the reading.
fn records(mut lines: Vec<Value>) -> Vec<Value> {
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("standing").unwrap();
    }
    lines
}

fn standings(lines: &[Value]) -> Vec<&str> {
    let mut found: Vec<&str> =
        lines.iter().map(|line| line["standing"].as_str().unwrap()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// What is picked out, and by which rule that can be told from all records.
type Case = (Vec<String>, Box<dyn Fn(&Value) -> bool>);

fn cases(sample: &Sample) -> Vec<Case> {
    let all = shown(sample.directory.path(), &[]);
    let (third, thirtieth) = (all[2]["time"].clone(), all[29]["time"].clone());
    let time = |value: &Value| value.as_str().unwrap().to_string();
    let of = |options: &[&str], rule: Box<dyn Fn(&Value) -> bool>| -> Case {
        (options.iter().map(ToString::to_string).collect(), rule)
    };
    let about = |id: &str| -> Box<dyn Fn(&Value) -> bool> {
        let id = id.to_string();
        Box::new(move |line| line["loop_id"] == id.as_str())
    };
    let (early, late) = (sample.loops[1].clone(), sample.loops[20].clone());
    let begins = |line: &Value, kind: &str| line["kind"].as_str().unwrap().starts_with(kind);
    let within = move |line: &Value, from: u64, to: u64| {
        (from..=to).contains(&line["sequence"].as_u64().unwrap())
    };
    let (from, to) = (time(&third), time(&thirtieth));
    let is_between = {
        let (from, to) = (from.clone(), to.clone());
        move |line: &Value| (from.as_str()..=to.as_str()).contains(&line["time"].as_str().unwrap())
    };
    vec![
        of(&[], Box::new(|_| true)),
        of(&[&format!("entity={early}")], about(&early)),
        of(&[&format!("entity={late}")], about(&late)),
        of(&[&format!("loop={late}")], about(&late)),
        of(
            &["kind=execution_loop.halted"],
            Box::new(move |line| begins(line, "execution_loop.halted")),
        ),
        of(&["kind=execution_loop"], Box::new(move |line| begins(line, "execution_loop."))),
        of(
            &["kind=log.segment_indexed"],
            Box::new(move |line| begins(line, "log.segment_indexed")),
        ),
        of(&["actor=ci"], Box::new(|line| line["actor"]["id"] == "ci")),
        of(&["actor=AUTOMATION ci"], Box::new(|line| line["actor"]["kind"] == "AUTOMATION")),
        of(&["correlation=story-1"], Box::new(|_| true)),
        of(&["--since", "9", "--until", "70"], Box::new(move |line| within(line, 9, 70))),
        of(&["--since", &from, "--until", &to], Box::new(is_between)),
        of(&["text=HALTED"], Box::new(|line| line["summary"].as_str().unwrap().contains("HALTED"))),
        of(
            &["itext=halted from"],
            Box::new(|line| line["summary"].as_str().unwrap().contains("HALTED from")),
        ),
        {
            let is_it = about(&late);
            let rule = move |line: &Value| is_it(line) && begins(line, "evidence_capture");
            of(&[&format!("entity={late}"), "kind=evidence_capture"], Box::new(rule))
        },
    ]
}

#[test]
fn every_filter_picks_out_the_same_in_both_directions_with_indexes_and_without() {
    let sample = indexed();
    let log = sample.directory.path();
    let all = records(shown(log, &[]));
    let cases = cases(&sample);
    for with_indexes in [true, false] {
        if !with_indexes {
            remove_indexes(log);
        }
        for (options, rule) in &cases {
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let expected: Vec<Value> = all.iter().filter(|line| rule(line)).cloned().collect();
            assert!(!expected.is_empty(), "{options:?}");
            assert_eq!(records(shown(log, &options)), expected, "{options:?}");
            let mut backwards = records(shown(log, &[&options[..], &["--reverse"]].concat()));
            backwards.reverse();
            assert_eq!(backwards, expected, "{options:?} backwards");
        }
    }
}

#[test]
fn the_newest_so_many_are_shown_in_either_order() {
    let sample = indexed();
    let log = sample.directory.path();
    for options in [&[][..], &["kind=execution_loop.halted"]] {
        let all = sequences(&shown(log, options));
        for count in [1, 3, all.len(), all.len() + 5] {
            let last = count.to_string();
            let newest = &all[all.len().saturating_sub(count)..];
            let found = sequences(&shown(log, &[options, &["-n", &last]].concat()));
            assert_eq!(found, newest);
            let found = shown(log, &[options, &["-n", &last, "--reverse"]].concat());
            let mut found = sequences(&found);
            found.reverse();
            assert_eq!(found, newest);
        }
    }
    assert_eq!(told(&holdpoint(log, &["log", "-n", "0"])).0, 2);
}

#[test]
fn only_candidates_are_read_where_the_log_vouches_for_indexes_and_that_is_said() {
    let sample = indexed();
    let log = sample.directory.path();
    let wanted = [&*format!("entity={}", sample.loops[1])];
    let lines = shown(log, &wanted);
    assert_eq!(standings(&lines), ["proven"]);
    let person = [&["log"], &wanted[..]].concat();
    let (code, stdout, stderr) = told(&holdpoint(log, &person));
    assert_eq!((code, stdout.lines().count()), (0, lines.len()));
    let said = "5 of 5 segments read as far as needed, 4 by what an index names: `holdpoint ";
    assert!(stderr.contains(said) && stderr.contains(" verify`"), "{stderr}");
    assert_eq!(standings(&shown(log, &["--reverse"])), ["proven"]);
    remove_indexes(log);
    assert_eq!(standings(&shown(log, &wanted)), ["proven"]);
    assert_eq!(told(&holdpoint(log, &person)), (0, stdout, String::new()));
}

#[test]
fn tamper_an_index_that_the_log_does_not_vouch_for_is_not_believed() {
    let sample = indexed();
    let log = sample.directory.path();
    let wanted = [&*format!("entity={}", sample.loops[1])];
    let right = records(shown(log, &wanted));
    let first = segments(log)[0];
    let index = log.join(index_path(first));
    let bytes = std::fs::read(&index).unwrap();
    for at in [0, 20, 100, 4_200, bytes.len() - 1] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        std::fs::write(&index, changed).unwrap();
        assert_eq!(records(shown(log, &wanted)), right, "byte {at}");
    }
    // The right index of another segment.
    std::fs::copy(log.join(index_path(segments(log)[1])), &index).unwrap();
    assert_eq!(records(shown(log, &wanted)), right);
    std::fs::write(&index, b"").unwrap();
    assert_eq!(records(shown(log, &wanted)), right);
}

#[test]
fn tamper_damage_that_is_met_is_told_in_both_directions_and_exits_6() {
    let sample = indexed();
    let log = sample.directory.path();
    let all = sequences(&shown(log, &[]));
    let second = segments(log)[1];
    let file = format!("{}/{}", names::SEGMENTS, names::segment(second));
    flip(&log.join(&file), FIRST_RECORD + 70);
    let before: Vec<u64> = all.iter().copied().filter(|sequence| *sequence < second).collect();
    let third = segments(log)[2];
    for options in [&[][..], &["--reverse"], &["kind=execution_loop"], &["--since", "2"]] {
        let arguments = [&["log", "--json"], options].concat();
        let output = holdpoint(log, &arguments);
        let (code, _, stderr) = told(&output);
        assert_eq!(code, 6, "{options:?}: {stderr}");
        assert!(stderr.contains(&file) && stderr.contains(" verify`"), "{stderr}");
        let found = sequences(&values(&output));
        assert!(found.iter().all(|sequence| *sequence < second || *sequence >= third));
    }
    let output = holdpoint(log, &["log", "--json"]);
    assert_eq!(sequences(&values(&output)), before, "nothing behind damage is shown as proven");
    // What lies elsewhere is found without meeting it, and says how far it was checked.
    let newest = shown(log, &["-n", "1"]);
    assert_eq!(standings(&newest), ["proven"]);
}

#[test]
fn tamper_a_missing_segment_is_told_at_the_same_place_in_both_directions() {
    let sample = indexed();
    let log = sample.directory.path();
    let (second, third) = (segments(log)[1], segments(log)[2]);
    std::fs::remove_file(log.join(names::SEGMENTS).join(names::segment(second))).unwrap();
    let file = format!("{}/{}", names::SEGMENTS, names::segment(third));
    let place = format!("{file}, byte 0, sequence {second}:");
    for options in [&["verify"][..], &["log"], &["log", "--reverse"]] {
        let (code, stdout, stderr) = told(&holdpoint(log, options));
        assert_eq!(code, 6, "{options:?}: {stderr}");
        assert!((stdout + stderr.as_str()).contains(&place), "{options:?}: {stderr}");
    }
}

#[test]
fn a_record_that_is_not_where_its_index_says_is_looked_for_and_the_damage_is_told() {
    let sample = indexed();
    let log = sample.directory.path();
    let lines = shown(log, &[&format!("entity={}", sample.loops[1])]);
    let first = segments(log)[0];
    let bytes = std::fs::read(log.join(names::SEGMENTS).join(names::segment(first))).unwrap();
    let link = lines[0]["link"].as_str().unwrap();
    let link: Vec<u8> =
        (0..32).map(|at| u8::from_str_radix(&link[at * 2..at * 2 + 2], 16).unwrap()).collect();
    let at = bytes.windows(32).position(|window| window == link).unwrap() as u64;
    flip(&log.join(names::SEGMENTS).join(names::segment(first)), at + 40);
    let output = holdpoint(log, &["log", &format!("entity={}", sample.loops[1])]);
    let (code, stdout, stderr) = told(&output);
    assert_eq!((code, stdout.as_str()), (6, ""), "{stderr}");
    assert!(stderr.contains(&names::segment(first)), "{stderr}");
}

#[test]
fn a_name_that_nothing_has_is_not_found_and_the_closest_one_is_suggested() {
    let sample = indexed();
    let log = sample.directory.path();
    let known = sample.loops[7].clone();
    let almost = format!("{}0", &known[..known.len() - 1]);
    let almost = if almost == known { format!("{}1", &known[..known.len() - 1]) } else { almost };
    for (option, wanted, suggested) in [
        ("entity", almost.as_str(), "LOOP-"),
        ("loop", &almost, "LOOP-"),
        ("actor", "cj", " log`"),
        ("correlation", "story-2", "story-1?"),
        ("entity", "\u{1b}[2J", " log`"),
    ] {
        let (code, stdout, stderr) = told(&holdpoint(log, &["log", &format!("{option}={wanted}")]));
        assert_eq!((code, stdout.as_str()), (3, ""), "{option}: {stderr}");
        assert!(stderr.contains("there is no") && stderr.contains(suggested), "{stderr}");
        assert!(!stderr.contains('\u{1b}'));
    }
    // A name that something has, together with what does not fit it.
    let none = ["log", &format!("entity={known}"), "text=no such words"];
    let (code, stdout, stderr) = told(&holdpoint(log, &none));
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert!(stderr.contains("no matching records"), "{stderr}");
    let (code, _, stderr) = told(&holdpoint(log, &["log", "kind=sandbox_fualt"]));
    assert_eq!(code, 2);
    assert!(stderr.contains("did you mean sandbox_fault?"), "{stderr}");
}

#[test]
fn times_and_sequences_outside_the_log_hold_nothing_and_the_ends_are_named() {
    let sample = indexed();
    let log = sample.directory.path();
    let last = sample.log.chain.sequence.to_string();
    for options in [
        ["--since", "2099-01-01T00:00:00Z"],
        ["--until", "1999-01-01T00:00:00Z"],
        ["--since", "1000000"],
        ["--until", "0"],
    ] {
        for order in [&[][..], &["--reverse"]] {
            let arguments = [&["log"], &options[..], order].concat();
            let (code, stdout, stderr) = told(&holdpoint(log, &arguments));
            assert_eq!((code, stdout.as_str()), (0, ""), "{options:?}: {stderr}");
            assert!(stderr.contains(&format!("records are 1 to {last}, from 2026-01")), "{stderr}");
        }
    }
    for options in [
        ["--since", "5", "--until", "4"],
        ["--since", "2026-02-01T00:00:00Z", "--until", "2026-01-01T00:00:00Z"],
    ] {
        let (code, _, stderr) = told(&holdpoint(log, &[&["log"], &options[..]].concat()));
        assert_eq!(code, 2);
        assert!(stderr.contains("exchange them"), "{stderr}");
    }
    assert_eq!(told(&holdpoint(log, &["log", "--since", "lately"])).0, 2);
    let of_days = ["log", "--since", "2026-01-24", "--until", "2026-01-27"];
    assert_eq!(told(&holdpoint(log, &of_days)).1.lines().count().to_string(), last);
}

#[test]
fn texts_of_events_are_searched_and_raw_evidence_is_not() {
    let mut log = HandMadeLog::new();
    log.events(vec![saying("The Quick brown fox"), saying("something else")]);
    log.run();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let log = directory.path();
    assert_eq!(sequences(&shown(log, &["text=Quick"])), [1]);
    assert_eq!(sequences(&shown(log, &["itext=quICK"])), [1]);
    for none in ["quick", SECRET] {
        let (code, stdout, _) = told(&holdpoint(log, &["log", &format!("text={none}")]));
        assert_eq!((code, stdout.as_str()), (0, ""), "{none}");
    }
}

#[test]
fn a_batch_that_is_not_complete_is_not_shown_in_either_direction() {
    let mut log = HandMadeLog::new();
    log.run();
    log.roll();
    log.run();
    let whole = log.chain.sequence;
    let directory = TempDir::new().unwrap();
    let head = log.head();
    log.batch_with(&[encoded(saying("half"))], Flags::NONE, false);
    log.write_with_head(directory.path(), &head);
    for options in [&[][..], &["--reverse"], &["-n", "2"], &["--since", "3"]] {
        let found = sequences(&shown(directory.path(), options));
        assert_eq!(found.iter().max(), Some(&whole), "{options:?}");
    }
}

#[test]
fn long_segments_are_read_from_their_end_in_pieces() {
    let mut log = HandMadeLog::new();
    for _ in 0..6 {
        // Each fills more than a piece.
        let text = "x".repeat(700_000);
        log.events(vec![saying(&text), saying("short"), saying(&text)]);
        log.events(vec![saying("between")]);
    }
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let mut all = sequences(&shown(directory.path(), &["--reverse"]));
    all.reverse();
    let expected: Vec<u64> = (1..=log.chain.sequence).collect();
    assert_eq!(all, expected);
    let newest = sequences(&shown(directory.path(), &["-n", "5"]));
    assert_eq!(newest, expected[expected.len() - 5..]);
}

#[test]
fn a_log_without_head_and_one_of_a_newer_format_are_not_shown_as_whole() {
    let sample = indexed();
    let log = sample.directory.path();
    let head = std::fs::read(log.join(names::HEAD)).unwrap();
    std::fs::remove_file(log.join(names::HEAD)).unwrap();
    for options in [&[][..], &["--reverse"], &["--since", "3"]] {
        let (code, _, stderr) = told(&holdpoint(log, &[&["log"], options].concat()));
        assert_eq!(code, 6, "{options:?}");
        assert!(stderr.contains("HEAD"), "{stderr}");
    }
    std::fs::write(log.join(names::HEAD), [7; 152]).unwrap();
    let said = |options: &[&str]| {
        let output = holdpoint(log, &[&["log"], options].concat());
        let (code, _, stderr) = told(&output);
        let (_, what) = stderr.split_once("HEAD, byte 0, sequence ").unwrap();
        (code, what.lines().next().unwrap().split_once(": ").unwrap().1.to_string())
    };
    assert_eq!(said(&["--reverse"]), said(&[]), "what is wrong with it, in the same words");
    assert!(!said(&["--reverse"]).1.contains("missing"));
    std::fs::write(log.join(names::HEAD), head).unwrap();
    make_newer(&log.join(names::SEGMENTS).join(names::segment(segments(log)[0])));
    for options in [&[][..], &["--reverse"]] {
        let (code, _, stderr) = told(&holdpoint(log, &[&["log"], options].concat()));
        assert_eq!(code, 1, "{options:?}: {stderr}");
        assert!(stderr.contains("format"), "{stderr}");
    }
}

#[test]
fn a_roll_that_lost_power_is_no_damage_to_what_was_recorded_before() {
    let mut log = HandMadeLog::new();
    log.run();
    log.roll();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let newest = log.chain.sequence;
    let blank = directory.path().join(names::SEGMENTS).join(names::segment(newest + 1));
    assert!(blank.exists());
    std::fs::write(&blank, vec![0; 65_536]).unwrap();
    let newest = newest.to_string();
    for arguments in [
        &["verify"][..],
        &["verify", "1.."],
        &["log"],
        &["log", "--reverse"],
        &["log", "-n", "1"],
        &["log", "--since", &newest],
        &["log", "-n", "10"],
        &["show", "--trace", &newest],
    ] {
        let (code, stdout, stderr) = told(&holdpoint(directory.path(), arguments));
        assert_eq!(code, 0, "{arguments:?}: {stderr}");
        assert!(stdout.contains(&newest), "{arguments:?}: {stdout}");
    }
    let behind = (log.chain.sequence + 1).to_string();
    let (code, _, stderr) = told(&holdpoint(directory.path(), &["show", "--trace", &behind]));
    assert_eq!(code, 3, "{stderr}");
    std::fs::write(&blank, vec![1; 65_536]).unwrap();
    for arguments in [&["verify"][..], &["log", "--reverse"]] {
        assert_eq!(told(&holdpoint(directory.path(), arguments)).0, 6, "{arguments:?}");
    }
}

#[test]
fn a_roll_that_lost_power_tells_which_records_were_there() {
    for is_sealed in [true, false] {
        let mut log = HandMadeLog::new();
        log.run();
        let newest = log.chain.sequence;
        if is_sealed {
            log.roll();
        }
        let directory = TempDir::new().unwrap();
        log.write(directory.path());
        let segments = directory.path().join(names::SEGMENTS);
        if is_sealed {
            std::fs::remove_file(segments.join(names::segment(newest + 1))).unwrap();
        }
        std::fs::write(segments.join(names::segment(newest + 5)), vec![0; 65_536]).unwrap();
        for arguments in [&["verify"][..], &["verify", "1.."], &["log"], &["log", "--reverse"]] {
            let all = assert_damage_is_told(directory.path(), arguments);
            let is_told = ["comes next", "were durable"].iter().any(|told| all.contains(told));
            assert!(is_told, "{arguments:?}: {all}");
        }
    }
}

/// The program ends with exit code 6; gives all that it says.
fn assert_damage_is_told(log: &Path, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = told(&holdpoint(log, arguments));
    let all = [stdout, stderr].concat();
    let head = std::fs::read(log.join(names::HEAD)).map(|bytes| Head::decode(&bytes));
    assert_eq!(code, 6, "{arguments:?}, segments {:?}, {head:?}: {all}", segments(log));
    all
}

/// A log of three segments: its directory, the file names of the segments, and the newest record.
fn of_three_segments() -> (TempDir, Vec<std::path::PathBuf>, u64) {
    let mut log = HandMadeLog::new();
    for _ in 0..2 {
        log.run();
        log.roll();
    }
    log.run();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let firsts = segments(directory.path());
    let file = |first: &u64| directory.path().join(names::SEGMENTS).join(names::segment(*first));
    let files: Vec<_> = firsts.iter().map(file).collect();
    assert_eq!(files.len(), 3);
    (directory, files, log.chain.sequence)
}

#[test]
fn whatever_is_read_of_a_log_tells_that_an_end_of_it_is_missing() {
    for missing in [0, 2] {
        let (directory, files, newest) = of_three_segments();
        std::fs::remove_file(&files[missing]).unwrap();
        let middle = (newest / 2).to_string();
        for arguments in [
            &["verify"][..],
            &["log"],
            &["log", "--reverse"],
            &["log", "-n", "1"],
            &["log", "--since", &middle],
            &["log", "--since", &middle, "--until", &middle],
            &["log", "kind=execution_loop.halted", "--reverse"],
            &["log", "--since", "2020-01-01T00:00:00Z", "-n", "2"],
            &["log", "-n", "10"],
            &["show", "--trace", &middle],
            &["verify", "1.."],
        ] {
            assert_damage_is_told(directory.path(), arguments);
        }
        // What is tied to HEAD still holds, and that is all that was asked.
        let range = format!("{middle}..{middle}");
        let (code, stdout, _) = told(&holdpoint(directory.path(), &["verify", &range]));
        assert_eq!(code, if missing == 0 { 0 } else { 6 }, "segment {missing}: {stdout}");
    }
}

#[test]
fn a_range_before_the_first_segment_that_is_there_is_not_proven() {
    let (directory, files, _) = of_three_segments();
    std::fs::remove_file(&files[0]).unwrap();
    for range in ["1..2", "..2", "1..", "2..30"] {
        let (code, stdout, _) = told(&holdpoint(directory.path(), &["verify", range]));
        assert_eq!(code, 6, "{range}: {stdout}");
        assert!(stdout.contains("the segment that begins at 1 is due first"), "{range}: {stdout}");
        assert!(!stdout.contains("integrity     proven"), "{range}: {stdout}");
    }
}

#[test]
fn what_is_behind_the_lost_first_segments_is_shown_from_its_first_record_on() {
    let sample = indexed();
    let log = sample.directory.path();
    let (all, firsts) = (sequences(&shown(log, &[])), segments(log));
    for (lost, next) in firsts.iter().zip(&firsts[1..]) {
        std::fs::remove_file(log.join(segment_path(*lost))).unwrap();
        for from in [*next, *next + 1] {
            let output = holdpoint(log, &["log", "--json", "--since", &from.to_string()]);
            let (code, _, stderr) = told(&output);
            assert!(code == 6 && stderr.contains("due first"), "{from}: {stderr}");
            let behind = all.iter().copied().filter(|it| *it >= from);
            assert!(sequences(&values(&output)).into_iter().eq(behind), "{from}");
        }
    }
}

#[test]
fn whatever_is_read_of_a_log_tells_that_its_head_names_another_end() {
    let changes: [fn(Head) -> Head; 3] = [
        |head| Head { newest_link: Link([9; 32]), ..head },
        |head| Head { newest_sequence: head.newest_sequence + 1, ..head },
        |head| {
            let log = LogId([9; 16]);
            Head { log, anchor_link: Link::genesis(log), ..head }
        },
    ];
    for change in changes {
        let (directory, _, newest) = of_three_segments();
        change_head(directory.path(), change);
        let middle = (newest / 2).to_string();
        for arguments in [
            &["verify"][..],
            &["log"],
            &["log", "--reverse"],
            &["log", "-n", "1"],
            &["log", "--since", "2", "--until", &middle],
            &["log", "-n", "2"],
            &["show", "--trace", &middle],
            &["verify", "1.."],
        ] {
            assert_damage_is_told(directory.path(), arguments);
        }
    }
}
