//! The state at any record or moment is the one that was there: from a snapshot or from the log's
//! beginning, of the whole or of one entity, also where that has left the state.

use crate::program::{Place, json, status, text};
use crate::travel_support::{ArbitraryIn, History, OPTIONS, opened};
use holdpoint_domain::core::payload::List;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::log::{ClockStepped, RulesAdopted};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_files::survey::segment_path;
use holdpoint_replay::{Rebuilt, Timeline, Until, find_entities, ids, rebuild, state_of};
use holdpoint_testing::hand_made::{BEGINNING_NS, FIRST_RECORD, HandMadeLog, SECRET, flip};
use holdpoint_testing::part::part_of;
use holdpoint_testing::story::seed;
use quickcheck::Gen;
use serde_json::json as value_of;
use std::path::Path;
use tempfile::TempDir;

/// A run looks at the state after one of so many records.
const PART: usize = 400;

/// A zone with summer time.
const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

fn rebuilt(directory: &Path, until: Until) -> Rebuilt {
    let storage = DirectoryStorage::new(directory);
    rebuild(&storage, until, OPTIONS, &mut |_| {}, &mut |_| {}).unwrap()
}

/// Goes to a record on a line and asserts that the state is the one that was there. Says whether a
/// snapshot was used.
fn assert_state_at(
    history: &History,
    line: &Timeline<'_, DirectoryStorage>,
    sequence: u64,
) -> bool {
    let found = line.at(Until::Sequence(sequence)).unwrap();
    let (at, fingerprint) = history.expected(sequence);
    assert_eq!((found.sequence(), found.world.fingerprint()), (at, fingerprint), "at {sequence}");
    let inside = found.inside_batch_until.is_some();
    assert_eq!(inside, at < sequence && sequence < history.newest(), "at {sequence}");
    found.from_snapshot.is_some()
}

#[test]
fn replay_goes_to_every_record_with_snapshots_and_without() {
    let history = History::written(seed(), 500, 60);
    let storage = DirectoryStorage::new(history.path());
    let (line, whole) = (opened(&storage), opened(&storage).without_snapshots());
    assert_eq!(line.newest().unwrap().sequence, history.newest());
    let mut from_snapshots = 0;
    for sequence in 0..=history.newest() + 2 {
        from_snapshots += u64::from(assert_state_at(&history, &line, sequence));
        assert!(!assert_state_at(&history, &whole, sequence));
    }
    assert!(from_snapshots > history.newest() / 2, "{from_snapshots}");
}

#[test]
fn replay_goes_to_every_moment() {
    let history = History::written(seed(), 200, 60);
    let storage = DirectoryStorage::new(history.path());
    let line = opened(&storage);
    for sequence in 1..=history.newest() {
        let time = line.lines(sequence, sequence).unwrap()[0].time;
        let found = line.at(Until::Time(time)).unwrap();
        assert!(found.sequence() >= history.expected(sequence).0);
        assert_eq!(found.world.fingerprint(), history.expected(found.sequence()).1);
        let before = Timestamp::from_nanoseconds(time.nanoseconds() - 1);
        assert!(line.at(Until::Time(before)).unwrap().sequence() < sequence);
    }
    let long_ago = line.at(Until::Time(Timestamp::default())).unwrap();
    assert_eq!(long_ago.head(), None);
    let far = Timestamp::from_nanoseconds(u64::MAX);
    assert_eq!(line.at(Until::Time(far)).unwrap().sequence(), history.newest());
    assert_eq!(line.at(Until::End).unwrap().sequence(), history.newest());
}

#[test]
fn replay_to_a_record_is_the_state_of_the_log_cut_there() {
    let mut history = History::new(seed());
    let mut cuts = Vec::new();
    for _ in 0..12 {
        (0..8).for_each(|_| history.step());
        history.snapshot();
        let cut = TempDir::new().unwrap();
        history.log.write(cut.path());
        cuts.push((history.newest(), cut));
    }
    history.write();
    let storage = DirectoryStorage::new(history.path());
    let line = opened(&storage);
    for (sequence, cut) in &cuts {
        let found = line.at(Until::Sequence(*sequence)).unwrap();
        assert_eq!(found.world.fingerprint(), rebuilt(cut.path(), Until::End).world.fingerprint());
        let alone = DirectoryStorage::new(cut.path());
        assert_eq!(state_of(&found), state_of(&opened(&alone).at(Until::End).unwrap()));
    }
}

#[test]
fn replay_goes_on_from_any_moment_to_any_later_one() {
    let seed = seed();
    let history = History::written(seed, 400, 90);
    let storage = DirectoryStorage::new(history.path());
    let line = opened(&storage);
    let mut random = Gen::from_size_and_seed(40, seed);
    for _ in 0..60 {
        let from = u64::arbitrary_in(&mut random, history.newest());
        let to = from + u64::arbitrary_in(&mut random, history.newest() - from + 2);
        let first = line.at(Until::Sequence(from)).unwrap();
        let last = line.onward(&first, Until::Sequence(to)).unwrap();
        assert_eq!((last.sequence(), last.world.fingerprint()), history.expected(to));
        let mut passed = 0;
        let walked = line.pass(&first, Until::Sequence(to), &mut |_| passed += 1).unwrap();
        assert_eq!(walked.world, last.world);
        assert_eq!(passed, last.sequence() - first.sequence());
    }
}

#[test]
fn replay_goes_to_random_records_of_ten_thousand() {
    let seed = seed();
    let history = History::written(seed, 10_000, 1_500);
    let storage = DirectoryStorage::new(history.path());
    let line = opened(&storage);
    let mut at = line.at(Until::Sequence(0)).unwrap();
    for sequence in part_of(seed, (1..=history.newest()).collect(), PART) {
        at = line.onward(&at, Until::Sequence(sequence)).unwrap();
        assert_eq!((at.sequence(), at.world.fingerprint()), history.expected(sequence));
        assert_state_at(&history, &line, sequence);
    }
}

#[test]
fn tamper_no_changed_snapshot_is_believed() {
    let history = History::written(seed(), 120, 100);
    let file = history.snapshot_files().pop().unwrap();
    let whole = std::fs::read(&file).unwrap();
    let storage = DirectoryStorage::new(history.path());
    assert!(assert_state_at(&history, &opened(&storage), history.newest()));
    for at in (0..whole.len()).step_by(whole.len() / 90 + 1).chain(0..130) {
        flip(&file, at as u64);
        assert!(!assert_state_at(&history, &opened(&storage), history.newest()), "byte {at}");
        std::fs::write(&file, &whole).unwrap();
    }
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    assert!(!assert_state_at(&history, &opened(&storage), history.newest()));
    let other = History::written(1, 120, 100);
    std::fs::copy(other.snapshot_files().pop().unwrap(), &file).unwrap();
    assert!(!assert_state_at(&history, &opened(&storage), history.newest()));
    std::fs::write(&file, &whole).unwrap();
    std::fs::rename(&file, file.with_file_name("00000000000000000001.state")).unwrap();
    assert!(!assert_state_at(&history, &opened(&storage), history.newest()));
}

#[test]
fn an_entity_is_found_after_it_has_left_the_state() {
    let mut history = History::new(7);
    let mut loop_id = String::new();
    history.append(|log| loop_id = log.run());
    for _ in 0..40 {
        history.step();
    }
    history.write();
    let storage = DirectoryStorage::new(history.path());
    let line = opened(&storage);
    let last = line.at(Until::End).unwrap();
    let mut wanted: Vec<String> = ids(&last.world).map(String::from).collect();
    wanted.push(loop_id);
    for id in &wanted {
        for (sequence, _) in history.fingerprints.iter().step_by(7) {
            let whole = rebuilt(history.path(), Until::Sequence(*sequence)).world;
            let found = line.at_watching(Until::Sequence(*sequence), id).unwrap();
            assert_eq!(found.watched(), find_entities(&whole, id), "{id} at {sequence}");
        }
    }
}

#[test]
fn nothing_is_gone_to_behind_damage() {
    let mut log = HandMadeLog::new();
    log.run();
    let before = (log.chain.sequence, log.world.fingerprint());
    log.roll();
    log.run();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    flip(&directory.path().join(log.active_path()), FIRST_RECORD + 70);
    let storage = DirectoryStorage::new(directory.path());
    let line = opened(&storage);
    assert!(line.report().failed());
    for until in [Until::End, Until::Sequence(before.0 + 1), Until::Sequence(u64::MAX)] {
        let found = line.at(until).unwrap();
        assert_eq!((found.sequence(), found.world.fingerprint()), before);
    }
}

#[test]
fn a_damaged_seal_ends_no_travel() {
    let mut log = HandMadeLog::new();
    log.run();
    let seal = log.head().end_offset;
    log.roll();
    log.run();
    let place = Place::new();
    log.write(&place.log);
    flip(&place.log.join(segment_path(1)), seal + 20);
    let storage = DirectoryStorage::new(&place.log);
    let line = opened(&storage);
    assert!(line.report().failed());
    let found = line.at(Until::End).unwrap();
    let whole = rebuilt(&place.log, Until::End);
    assert_eq!(found.world.fingerprint(), whole.world.fingerprint());
    assert_eq!(found.sequence(), log.chain.sequence);
    let lines = line.lines(1, log.chain.sequence).unwrap();
    assert_eq!(lines.len() as u64, log.chain.sequence);
    assert_eq!(status(&place.holdpoint(&["replay", "--live"])), 6);
    assert_eq!(status(&place.holdpoint(&["diff", "1"])), 6);
}

/// A log on the disk with two runs and a question, and the program beside it.
fn place() -> Place {
    let place = Place::new();
    place.shell("echo one");
    let asked = ["decision", "create", "gt-7", "--prompt", "Go?", "--option", "go:Go"];
    assert_eq!(status(&place.holdpoint(&[&asked[..], &["--option", "stop:Stop"]].concat())), 0);
    place.shell("exit 3");
    place
}

#[test]
fn the_program_shows_one_entity_at_any_record_or_moment() {
    let place = place();
    let loops = place.loops();
    for (index, id) in loops.iter().map(|found| found["loop_id"].as_str().unwrap()).enumerate() {
        let output = place.holdpoint(&["replay", id, "--json"]);
        let shown = json(&output);
        assert_eq!((status(&output), &shown["system"]), (0, &"execution_loop".into()));
        assert_eq!(shown["state"], loops[index]);
        let began = shown["state"]["started_sequence"].as_u64().unwrap();
        let then = place.holdpoint(&["replay", id, "--until", &(began - 1).to_string()]);
        assert_eq!(status(&then), 3, "{}", text(&then.stderr));
    }
    let id = loops[0]["loop_id"].as_str().unwrap();
    let lines = text(&place.holdpoint(&["replay", id]).stdout);
    assert!(lines.contains("current_state  HALTED") && !lines.contains("\none\n"), "{lines}");
    let mut wrong = id.to_string();
    wrong.replace_range(10..12, "zz");
    let began = loops[1]["started_sequence"].as_u64().unwrap().to_string();
    let output = place.holdpoint(&["replay", &wrong, "--until", &began]);
    assert_eq!(status(&output), 3);
    assert!(
        text(&output.stderr).contains("no loop, request, thread or decision with the ID"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn an_unknown_id_is_told_with_the_closest_one() {
    let place = place();
    let listed = json(&place.holdpoint(&["decision", "list", "--json"]));
    let id = listed[0]["id"].as_str().unwrap();
    let shown = json(&place.holdpoint(&["replay", id, "--json"]));
    assert_eq!((&shown["system"], &shown["id"]), (&"decision_point".into(), &id.into()));
    let output = place.holdpoint(&["replay", &format!("{id}x"), "--json"]);
    assert_eq!(status(&output), 3);
    assert_eq!(json(&output)["error"]["code"], "not_found");
    assert!(text(&output.stderr).contains(&format!("did you mean {id}?")));
}

#[test]
fn an_unknown_id_is_told_with_the_closest_one_of_what_settled_too() {
    let place = place();
    let [all, live] = [&["replay", "--json"][..], &["replay", "--live", "--json"]];
    let (all, live) = (json(&place.holdpoint(all)), json(&place.holdpoint(live)));
    let mut loops = all["execution_loops"].as_array().unwrap().iter();
    let is_settled = |id: &str| live["execution_loops"].get(id).is_none();
    let settled = loops.find_map(|one| one["loop_id"].as_str().filter(|id| is_settled(id)));
    let id = settled.expect("a loop that settled");
    for (verb, of) in [(&["replay"][..], ""), (&["diff", "--when", "entity == null"], "entity=")] {
        let output = place.holdpoint(&[verb, &[&format!("{of}{id}x")]].concat());
        assert_eq!(status(&output), 3);
        let said = text(&output.stderr);
        assert!(said.contains(&format!("did you mean {id}?")), "{said}");
    }
}

#[test]
fn times_before_the_first_and_behind_the_last_record_are_told() {
    let place = place();
    let newest = place.verified()["head"]["sequence"].as_u64().unwrap();
    let verbs: [&[&str]; 2] = [&["replay", "--until"], &["replay", "--live", "--until"]];
    for verb in verbs {
        let before = place.holdpoint(&[verb, &["1970-01-01T00:00:01Z"]].concat());
        assert!(text(&before.stdout).starts_with("state before the first record"));
        assert!(text(&before.stderr).contains("no record is as old as 1970-01-01T00:00:01.000Z"));
        let behind = place.holdpoint(&[verb, &["2200-01-01T00:00:00Z"]].concat());
        let told = format!("the log ends with record {newest}, ");
        assert!(text(&behind.stderr).contains(&told), "{}", text(&behind.stderr));
        assert_eq!((status(&before), status(&behind)), (0, 0));
        let nonsense = place.holdpoint(&[verb, &["tomorrow"]].concat());
        assert_eq!(status(&nonsense), 2);
    }
}

/// Options that take a point, each with words that make a whole line of it.
const POINTS: [&[&str]; 9] = [
    &["archive", "kept", "--until"],
    &["export", "--since"],
    &["export", "--until"],
    &["diff", "--when", "totals.events > 0"],
    &["diff", "--when", "totals.events > 0", "0"],
    &["diff"],
    &["diff", "0"],
    &["replay", "--until"],
    &["runs", "--since"],
];

#[test]
fn every_verb_that_takes_a_point_takes_each_of_its_forms() {
    let place = place();
    let given = |verb: &[&str], point: &str| {
        place.command(&[verb, &[point]].concat()).env("TZ", BERLIN).output().unwrap()
    };
    for verb in POINTS {
        for point in ["3", "2020-01-25T16:00:00Z", "2020-01-25T16:00", "2020-01-25", "5m"] {
            let output = given(verb, point);
            assert!([0, 3].contains(&status(&output)), "{verb:?} {point}: {output:?}");
        }
        for point in ["2020-03-29T02:30", "2020-10-25T02:30"] {
            let output = given(verb, point);
            let said = text(&output.stderr);
            assert!(status(&output) == 2 && said.contains("summer time"), "{verb:?}: {said}");
        }
        for point in ["noon", "99999999999999999999", "1969-12-31"] {
            assert_eq!(status(&given(verb, point)), 2, "{verb:?} {point}");
        }
    }
}

#[test]
fn a_zone_that_is_not_known_is_told_once_where_a_local_time_depends_on_it() {
    let place = place();
    place.shell("true");
    let told = |zone: &str, line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let output = place.command(&words).env("TZ", zone).output().unwrap();
        assert_eq!(status(&output), 0, "{line}: {output:?}");
        text(&output.stderr).matches("TZ=Nowhere/X names no zone that is known here").count()
    };
    let local =
        ["runs --since 2020-01-25 --until today", "replay --until today", "runs --date iso"];
    // A program is told too: it was given other moments than it asked for.
    let as_json = ["log --since today --json", "runs --since today --date iso --json"];
    for line in local.into_iter().chain(as_json) {
        assert_eq!(told("Nowhere/X", line), 1, "{line}");
        assert_eq!((told("UTC", line), told(BERLIN, line), told("", line)), (0, 0, 0), "{line}");
    }
    for line in ["runs", "runs --date utc", "runs --since 5m", "runs --since 5m --json"] {
        assert_eq!(told("Nowhere/X", line), 0, "{line}");
    }
}

#[test]
fn what_begins_with_a_day_begins_with_its_first_instant_and_what_ends_with_it_with_its_last() {
    let mut log = HandMadeLog::new();
    log.run();
    let place = Place::new();
    log.write(&place.log);
    let newest = log.chain.sequence;
    let given = |words: &[&str]| {
        let output = place.command(words).env("TZ", "UTC").output().unwrap();
        assert_eq!(status(&output), 0, "{words:?} {output:?}");
        output
    };
    let newest_record = json(&given(&["log", "-n", "1", "--json"]));
    let day = &newest_record["time"].as_str().unwrap()[..10];
    let exported = text(&given(&["export", "--since", day, "--until", day]).stdout);
    assert_eq!(exported.lines().count() as u64, newest);
    let bisect = ["diff", "--when", "totals.events > 0", day, day];
    assert!(text(&given(&bisect).stdout).contains("record 1"));
    let diff = json(&given(&["diff", day, day, "--json"]));
    assert_eq!((&diff["from"], &diff["to"]["sequence"]), (&value_of!(null), &newest.into()));
    let other = ["diff", place.log.to_str().unwrap(), day, day, "--json"];
    let same = json(&given(&other));
    assert_eq!((&same["from"], &same["patch"]), (&same["to"], &value_of!([])));
}

#[test]
fn behind_damage_it_is_what_holds_that_ends_and_not_the_log() {
    let mut log = HandMadeLog::new();
    log.run();
    let damaged = log.head().end_offset;
    log.run();
    let place = Place::new();
    log.write(&place.log);
    flip(&place.log.join(segment_path(1)), damaged + 20);
    let verbs: [&[&str]; 3] =
        [&["replay", "--until"], &["replay", "--live", "--until"], &["diff", "1"]];
    for verb in verbs {
        let output = place.holdpoint(&[verb, &["999"]].concat());
        assert_eq!(status(&output), 6);
        let said = text(&output.stderr);
        assert!(
            said.contains("what can be followed of the log ends with record "),
            "{verb:?}: {said}"
        );
    }
}

#[test]
fn what_lies_behind_damage_in_the_middle_is_no_state_and_that_is_said() {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    log.run();
    let (kept, damaged) = (log.chain.sequence, log.head().end_offset);
    log.run();
    log.roll();
    log.run();
    log.write(&place.log);
    flip(&place.log.join(segment_path(1)), damaged + 70);
    let newest = log.chain.sequence;
    let said = format!("what can be followed of the log ends with record {kept}, ");
    let at = (newest - 3).to_string();
    let moment = Timestamp::from_nanoseconds(log.chain.time - 1).to_string();
    for words in [
        &["diff", &at, &newest.to_string()][..],
        &["diff", &at],
        &["diff", &moment],
        &["replay", "--until", &at],
        &["replay", "--live", "--until", &moment],
        &["decision", "list", "--at", &at],
    ] {
        let output = place.holdpoint(words);
        let stderr = text(&output.stderr);
        assert!(status(&output) == 6 && stderr.contains(&said), "{words:?}: {stderr}");
    }
}

#[test]
fn verbs_that_show_an_entity_go_to_a_moment_too() {
    let place = place();
    let log = json(&place.holdpoint(&["decision", "show", "gt-7", "--json"]));
    let id = log["id"].as_str().unwrap();
    assert_eq!(status(&place.holdpoint(&["decision", "respond", id, "--option", "go"])), 0);
    let created = log["created_at"].as_str().unwrap();
    let then = json(&place.holdpoint(&["decision", "show", id, "--at", created, "--json"]));
    let now = json(&place.holdpoint(&["decision", "show", id, "--json"]));
    assert_eq!(then["state"], log["state"]);
    assert_ne!(now["state"], log["state"]);
    let early = place.holdpoint(&["decision", "show", id, "--at", "1970-01-01T00:00:01Z"]);
    assert_eq!(status(&early), 3);
}

/// Numbers of the rules that are stated and no higher than before are forbidden.
#[test]
fn a_state_of_events_that_were_not_judged_says_so_and_that_the_chain_holds() {
    let (place, mut log) = (Place::new(), HandMadeLog::new());
    let loop_id = log.run();
    log.events(vec![RulesAdopted { systems: List::default() }.into()]);
    log.write(&place.log);
    assert_eq!(status(&place.holdpoint(&["replay"])), 6);
    for words in [&["replay", "--live"][..], &["replay", &loop_id]] {
        let told = text(&place.holdpoint(words).stdout);
        let first = told.lines().next().unwrap();
        assert!(first.ends_with(", chain intact, events not judged"), "{told}");
        let output = place.holdpoint(&[words, &["--json"]].concat());
        let meaning = &json(&output)["meaning"];
        assert_eq!((status(&output), &meaning["state"]), (0, &"not checked".into()));
        assert!(meaning["reason"].as_str().unwrap().contains("no event was judged"), "{meaning}");
    }
}

#[test]
fn the_live_state_is_the_same_without_snapshots_and_shows_no_evidence() {
    let mut log = HandMadeLog::new();
    log.awaited("sleep 1");
    log.events(vec![ClockStepped { step_ns: 1 }.into()]);
    let place = Place::new();
    log.write(&place.log);
    let live = place.holdpoint(&["replay", "--live", "--json"]);
    let whole = place.holdpoint(&["replay", "--live", "--whole", "--json"]);
    assert_eq!(json(&live), json(&whole));
    assert_eq!(json(&live)["head"]["sequence"], log.chain.sequence);
    assert!(json(&live)["head"]["time"].as_str().unwrap().starts_with("2026-01-25T16:00:0"));
    assert!(log.now.nanoseconds() > BEGINNING_NS);
    assert!(!text(&live.stdout).contains(SECRET));
}
