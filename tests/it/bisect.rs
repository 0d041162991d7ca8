//! `bisect` names the batch with which something began to hold, from few states, with snapshots and
//! without, and says what is wrong with what it is asked.

use crate::program::{Place, json, status, text};
use crate::travel_support::{ArbitraryIn, History, opened};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_replay::bisect::Bisected;
use holdpoint_replay::{Answer, Moment, Outcome, Timeline, Until, bisect};
use holdpoint_testing::part::times;
use holdpoint_testing::story::seed;
use quickcheck::Gen;
use std::convert::Infallible;

fn asked(
    line: &Timeline<'_, DirectoryStorage>,
    mut ask: impl FnMut(&Moment) -> Answer,
) -> Bisected {
    let mut ask = |moment: &Moment| Ok::<_, Infallible>(ask(moment));
    bisect(line, (Until::Sequence(0), Until::End), None, &mut ask).unwrap()
}

/// It holds from so many records on.
fn from(record: u64) -> impl Fn(&Moment) -> Answer {
    move |moment| if moment.sequence() >= record { Answer::Holds } else { Answer::DoesNot }
}

/// The last record and the one before the batch that was found.
fn found(bisected: &Bisected) -> (u64, u64) {
    match &bisected.outcome {
        Outcome::Found(found) => (found.after, found.record),
        other => panic!("{other:?}"),
    }
}

/// The batch that a record is in: the last record before it, and its last record.
fn batch_of(history: &History, record: u64) -> (u64, u64) {
    let (before, _) = history.fingerprints.range(..record).next_back().unwrap();
    let (last, _) = history.fingerprints.range(record..).next().unwrap();
    (*before, *last)
}

/// The states that are enough for any record: both ends, and two for each time that what lies
/// between them is halved. Of a million records that makes 40.
fn enough_for(history: &History) -> u64 {
    2 + 2 * u64::from(history.newest().ilog2())
}

#[test]
fn every_batch_is_found_with_snapshots_and_without() {
    let history = History::written(seed(), 250, 40);
    let storage = DirectoryStorage::new(history.path());
    let (line, whole) = (opened(&storage), opened(&storage).without_snapshots());
    for record in 1..=history.newest() {
        let with = asked(&line, from(record));
        let without = asked(&whole, from(record));
        assert_eq!(found(&with), batch_of(&history, record), "{record}");
        assert_eq!(with.outcome, without.outcome);
        assert!(with.states <= enough_for(&history), "{record}: {}", with.states);
        assert!(without.states_from_snapshots == 0 && with.states_from_snapshots > 0);
    }
}

#[test]
fn the_records_of_the_batch_are_told() {
    let history = History::written(3, 60, 1_000);
    let storage = DirectoryStorage::new(history.path());
    let bisected = asked(&opened(&storage), from(30));
    let Outcome::Found(found) = &bisected.outcome else { panic!("{bisected:?}") };
    let told: Vec<u64> = found.records.iter().map(|line| line.sequence).collect();
    assert_eq!(told, (found.after + 1..=found.record).collect::<Vec<u64>>());
    assert!(found.records.iter().all(|line| line.actor.as_ref().unwrap().id == "ci"));
}

#[test]
fn a_state_that_cannot_be_judged_is_passed_over() {
    let seed = seed();
    let history = History::written(seed, 150, 40);
    let storage = DirectoryStorage::new(history.path());
    let line = opened(&storage);
    let mut random = Gen::from_size_and_seed(40, seed);
    for _ in 0..40 {
        let record = 1 + u64::arbitrary_in(&mut random, history.newest());
        let (before, last) = batch_of(&history, record);
        let skipped = |moment: &Moment| {
            let at = moment.sequence();
            match at {
                _ if at == before || at == last || at == history.newest() => from(record)(moment),
                _ if at > 0 && at.is_multiple_of(2) => Answer::Skip,
                _ => from(record)(moment),
            }
        };
        assert_eq!(found(&asked(&line, skipped)), (before, last), "{record}");
    }
    let only_ends = |moment: &Moment| match moment.sequence() {
        0 => Answer::DoesNot,
        at if at == history.newest() => Answer::Holds,
        _ => Answer::Skip,
    };
    let nothing = asked(&line, only_ends);
    let left = Outcome::OnlySkippedLeft { after: 0, up_to: history.newest() };
    assert_eq!(nothing.outcome, left);
    let ends = asked(&line, |_| Answer::Skip);
    assert_eq!(ends.outcome, Outcome::EndSkipped { head: None });
}

#[test]
fn what_holds_from_the_start_or_not_at_the_end_is_told() {
    let history = History::written(5, 40, 1_000);
    let storage = DirectoryStorage::new(history.path());
    let line = opened(&storage);
    let always = asked(&line, |_| Answer::Holds);
    assert_eq!(always.outcome, Outcome::HoldsFromTheStart { head: None });
    let never = asked(&line, |_| Answer::DoesNot);
    assert_eq!(never.outcome, Outcome::DoesNotHoldAtTheEnd { head: line.newest() });
}

#[test]
fn what_comes_and_goes_is_found_once() {
    let history = History::written(9, 200, 50);
    let storage = DirectoryStorage::new(history.path());
    let line = opened(&storage);
    let in_every_other_ten = |sequence: u64| (sequence / 10).is_multiple_of(2);
    let ask = |moment: &Moment| match moment.sequence() {
        0 => Answer::DoesNot,
        at if at == history.newest() || in_every_other_ten(at) => Answer::Holds,
        _ => Answer::DoesNot,
    };
    let (before, last) = found(&asked(&line, ask));
    assert_eq!(batch_of(&history, last), (before, last));
    assert!(in_every_other_ten(last) || last == history.newest());
}

/// A million records take minutes: `HOLDPOINT_TIMES=50` takes as many.
#[test]
fn few_states_of_many_records_are_looked_at() {
    let records = 20_000 * times();
    let seed = seed();
    let history = History::long(seed, records, records / 8);
    let storage = DirectoryStorage::new(history.path());
    let (line, whole) = (opened(&storage), opened(&storage).without_snapshots());
    let mut random = Gen::from_size_and_seed(40, seed);
    for _ in 0..3 {
        let record = 1 + u64::arbitrary_in(&mut random, history.newest());
        let (with, without) = (asked(&line, from(record)), asked(&whole, from(record)));
        assert_eq!(found(&with), batch_of(&history, record));
        assert_eq!(with.outcome, without.outcome);
        assert!(with.states <= enough_for(&history), "{with:?}");
        assert!(with.states_from_snapshots > 0, "{with:?}");
        assert!(with.records_applied <= records, "{}", with.records_applied);
        assert!(without.records_applied <= 3 * records, "{}", without.records_applied);
    }
    let looked_at = history.looked_at();
    for _ in 0..20 {
        let index = u64::arbitrary_in(&mut random, looked_at.len() as u64);
        let sequence = looked_at[usize::try_from(index).unwrap()];
        let at = line.at(Until::Sequence(sequence)).unwrap();
        assert_eq!((at.sequence(), at.world.fingerprint()), history.expected(sequence));
    }
}

/// The program on a log of three runs, of which the second one failed.
fn place() -> Place {
    let place = Place::new();
    for script in ["echo one", "exit 3", "echo three"] {
        place.shell(script);
    }
    place
}

/// What holds of every state.
const ALWAYS: &str = "totals.events >= 0";

#[test]
fn the_program_finds_by_an_expression_and_by_a_command() {
    let place = place();
    let place_of = |arguments: &[&str]| {
        let output = place.holdpoint(&[&["diff", "--json"], arguments].concat());
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        json(&output)
    };
    let second = place.loops()[1]["started_sequence"].as_u64().unwrap();
    let by_expression = place_of(&["--when", "totals.loops_initialized >= 2"]);
    assert_eq!(by_expression["after"].as_u64().unwrap() + 1, second);
    assert_eq!(by_expression["records"][0]["kind"], "execution_loop.initialized");
    let count = "grep -q '\"loops_initialized\":[23]'";
    let by_command = place_of(&["--exec", count]);
    assert_eq!(by_command, by_expression);
    let without = place_of(&["--exec", count, "--whole"]);
    assert_eq!(without["record"], by_expression["record"]);
    assert_eq!(without["states_from_snapshots"], 0);
}

#[test]
fn the_program_finds_what_became_of_an_entity_that_has_settled() {
    let place = place();
    let entity = place.loops()[1].clone();
    let id = entity["loop_id"].as_str().unwrap();
    let ask = ["diff", &format!("entity={id}"), "--when", "entity.current_state == HALTED"];
    let shown = json(&place.holdpoint(&[&ask[..], &["--json"]].concat()));
    let halted = entity["ended_sequence"].as_u64().unwrap();
    assert!(
        shown["after"].as_u64().unwrap() < halted && halted <= shown["record"].as_u64().unwrap()
    );
    let lines = text(&place.holdpoint(&ask).stdout);
    assert!(lines.contains("HALTED from") && lines.contains("caused by"), "{lines}");
    assert!(lines.contains("states looked at"), "{lines}");
    assert!(lines.contains(&format!("of {id}: `holdpoint show {id}` tells of it")), "{lines}");
    let output = place.holdpoint(&["diff", &format!("entity={id}x"), "--when", ALWAYS]);
    assert_eq!(status(&output), 3);
}

#[test]
fn what_cannot_be_asked_is_told_with_its_column() {
    let place = place();
    for (text_of, column, words) in [
        ("totals.events >", 16, "column 16"),
        ("totals.evnts > 3", 8, "column 8"),
        ("total.events > 3", 1, "column 1"),
        ("totals.events", 14, "column 14"),
        ("totals.events > 1 +* 2", 17, "column 17"),
    ] {
        let output = place.holdpoint(&["diff", "--when", text_of, "--json"]);
        let (said, told) = (text(&output.stderr), json(&output));
        assert_eq!(status(&output), 2, "{text_of}: {said}");
        assert!(said.contains(words), "{text_of}: {said}");
        assert_eq!(told["error"]["code"], "bad_predicate");
        assert_eq!(told["error"]["column"].as_u64().unwrap_or(0), column, "{said}");
    }
    assert_eq!(status(&place.holdpoint(&["diff"])), 2);
    let both = ["diff", "--when", ALWAYS, "--exec", "true"];
    assert_eq!(status(&place.holdpoint(&both)), 2);
}

#[test]
fn every_documented_expression_is_understood() {
    let place = place();
    let id = place.loops()[1]["loop_id"].as_str().unwrap().to_string();
    let (_, table) =
        include_str!("../../docs/investigate.md").split_once("### Expressions").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut count = 0;
    for expression in rows.filter_map(|row| row.split('`').rev().nth(1)) {
        let output = place.holdpoint(&["diff", &format!("entity={id}"), "--when", expression]);
        let said = text(&output.stderr);
        assert!([0, 3].contains(&status(&output)), "{expression}: {said}");
        count += 1;
    }
    assert!(count >= 8, "{count}");
}

#[test]
fn a_command_that_fails_ends_the_search_and_its_words_go_to_stderr() {
    let place = place();
    let output = place.holdpoint(&["diff", "--exec", "echo spoken; exit 7", "--json"]);
    assert_eq!(status(&output), 1);
    assert_eq!(json(&output)["error"]["code"], "exec");
    let said = text(&output.stderr);
    assert!(said.contains("spoken") && said.contains("ended with status 7"), "{said}");
    let killed = place.holdpoint(&["diff", "--exec", "kill -9 $$"]);
    assert!(text(&killed.stderr).contains("killed by signal 9"));
}

#[test]
fn no_record_is_exit_3_and_says_which_point_to_name() {
    let place = place();
    let always = place.holdpoint(&["diff", "--when", ALWAYS]);
    assert_eq!(status(&always), 3);
    assert!(text(&always.stdout).contains("no record made it so"), "{}", text(&always.stdout));
    let before = place.holdpoint(&["diff", "--when", ALWAYS, "5"]);
    assert_eq!(status(&before), 3);
    assert!(text(&before.stdout).contains("name an earlier point as A"));
    let turned = place.holdpoint(&["diff", "--when", ALWAYS, "9", "3"]);
    assert_eq!(status(&turned), 2);
    assert!(text(&turned.stderr).contains("exchange them"), "{}", text(&turned.stderr));
    let never = place.holdpoint(&["diff", "--when", "totals.events > 100000", "--json"]);
    assert_eq!((status(&never), &json(&never)["outcome"]), (3, &"does_not_hold_at_the_end".into()));
    let skipped = place.holdpoint(&["diff", "--exec", "exit 125", "--json"]);
    assert_eq!((status(&skipped), &json(&skipped)["outcome"]), (3, &"end_skipped".into()));
    let ends = ["diff", "--when", "totals.loops_initialized >= 2", "0", "3", "--json"];
    assert_eq!(status(&place.holdpoint(&ends)), 3);
}
