//! The state rebuilt at any record or moment is the state that was there, and stories show
//! everything but raw evidence.

use holdpoint_domain::World;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{BootId, ChainPosition};
use holdpoint_replay::{
    Filter, ReadOptions, Rebuilt, Until, Verdict, rebuild, records, statistics, story,
};
use holdpoint_testing::hand_made as support;
use holdpoint_testing::hand_made::{FIRST_RECORD, HandMadeLog, SECRET, flip};
use std::path::Path;
use tempfile::TempDir;

const OPTIONS: ReadOptions<'static> = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));

fn rebuilt(directory: &Path, until: Until) -> Rebuilt {
    let storage = DirectoryStorage::new(directory);
    rebuild(&storage, until, OPTIONS, &mut |_| {}, &mut |_| {}).unwrap()
}

/// A log of some runs, and the world and chain after each batch.
fn history() -> (HandMadeLog, Vec<(ChainPosition, World)>) {
    let mut log = HandMadeLog::new();
    let mut states = vec![(log.chain, log.world.clone())];
    log.run();
    states.push((log.chain, log.world.clone()));
    log.roll();
    log.awaited("sleep 1");
    states.push((log.chain, log.world.clone()));
    log.crash();
    states.push((log.chain, log.world.clone()));
    (log, states)
}

#[test]
fn replay_rebuilds_the_state_of_every_sequence_and_moment() {
    let (log, states) = history();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    for (chain, world) in &states {
        let wanted =
            [Until::Sequence(chain.sequence), Until::Time(Timestamp::from_nanoseconds(chain.time))];
        for until in wanted {
            let found = rebuilt(directory.path(), until);
            assert_eq!(found.world.fingerprint(), world.fingerprint(), "{until:?}");
            assert_eq!(found.head.map_or(0, |head| head.sequence), chain.sequence);
            assert_eq!(found.report.verdict, Verdict::Intact);
        }
    }
    let end = rebuilt(directory.path(), Until::End);
    assert_eq!(end.world.fingerprint(), log.world.fingerprint());
    let far = rebuilt(directory.path(), Until::Sequence(u64::MAX));
    assert_eq!(far.world, end.world);
}

#[test]
fn replay_inside_a_batch_gives_the_end_of_the_batch_before() {
    let (log, _) = history();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let mut ends = Vec::new();
    for sequence in 1..=log.chain.sequence {
        let head = rebuilt(directory.path(), Until::Sequence(sequence)).head;
        let reached = head.map_or(0, |head| head.sequence);
        assert!(reached <= sequence);
        ends.push(reached);
    }
    assert!(ends.is_sorted());
    assert!(ends.contains(&0), "the first batch has several records");
    assert_eq!(ends.last(), Some(&log.chain.sequence));
}

#[test]
fn replay_keeps_settled_loops_by_the_seeds_names() {
    let mut log = HandMadeLog::new();
    let (good, bad) = (log.run(), log.crash());
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let world = rebuilt(directory.path(), Until::End).world;
    let json = serde_json::to_value(&world).unwrap();
    let loops = json["execution_loops"].as_array().unwrap();
    assert_eq!(loops.len(), 2);
    assert_eq!(loops[0]["loop_id"], good.as_str());
    assert_eq!(loops[0]["halt_reason"], "COMPLETED");
    assert_eq!(loops[1]["loop_id"], bad.as_str());
    assert_eq!(loops[1]["attempts"][0]["fault"]["fault_type"], "CRASH");
    assert!(!json.to_string().contains(SECRET));
}

#[test]
fn replay_of_a_damaged_log_stops_before_the_damage() {
    let (log, states) = history();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    flip(&directory.path().join(log.active_path()), FIRST_RECORD + 70);
    let found = rebuilt(directory.path(), Until::End);
    assert_eq!(found.report.verdict, Verdict::Corrupt);
    assert_eq!(found.world.fingerprint(), states[1].1.fingerprint());
    assert_eq!(found.head.map(|head| head.sequence), Some(states[1].0.sequence));
}

#[test]
fn a_story_tells_what_when_and_by_whom_and_hides_raw_evidence() {
    let mut log = HandMadeLog::new();
    let loop_id = log.run_of("printf '\u{202e}x'");
    let other = log.crash();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let storage = DirectoryStorage::new(directory.path());
    let lines = story(&storage, &loop_id, OPTIONS).unwrap();
    assert!(lines.len() > 6);
    assert!(lines.iter().all(|line| line.loop_id.as_deref() == Some(loop_id.as_str())));
    assert!(lines.is_sorted_by_key(|line| (line.sequence, line.time)));
    assert!(lines.iter().all(|line| line.actor.as_ref().is_some_and(|actor| actor.id == "ci")));
    assert!(lines[0].summary.contains("\\u{202e}"), "{}", lines[0].summary);
    let text = serde_json::to_string(&lines).unwrap();
    assert!(text.contains("COMPLETED") && text.contains("STDOUT of 21 bytes"), "{text}");
    assert!(!text.contains(SECRET) && !text.contains(&other));
    assert!(story(&storage, "LOOP-none", OPTIONS).unwrap().is_empty());
}

#[test]
fn records_are_filtered_by_sequence_kind_and_story() {
    let (log, _) = history();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let storage = DirectoryStorage::new(directory.path());
    let shown = |filter: &Filter| {
        let mut lines = Vec::new();
        records(&storage, filter, OPTIONS, &mut |_| {}, &mut |line| lines.push(line)).unwrap();
        lines
    };
    let all = shown(&Filter::default());
    assert_eq!(all.len() as u64, log.chain.sequence);
    assert!(all.iter().zip(1..).all(|(line, sequence)| line.sequence == sequence));
    let some = shown(&Filter { first: Some(3), last: Some(5), ..Filter::default() });
    assert_eq!(some.iter().map(|line| line.sequence).collect::<Vec<_>>(), [3, 4, 5]);
    let system = shown(&Filter { kind: Some("sandbox_fault".into()), ..Filter::default() });
    assert!(!system.is_empty() && system.iter().all(|l| l.kind.starts_with("sandbox_fault.")));
    let none = shown(&Filter { kind: Some("sandbox".into()), ..Filter::default() });
    assert_eq!(none, []);
    let story = shown(&Filter { correlation: Some("story-1".into()), ..Filter::default() });
    assert_eq!(story.len(), all.len());
}

#[test]
fn statistics_count_every_record_once() {
    let (log, _) = history();
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let storage = DirectoryStorage::new(directory.path());
    let found = statistics(&storage, OPTIONS, &mut |_| {}).unwrap();
    assert_eq!(found.records_by_kind.values().sum::<u64>(), log.chain.sequence);
    assert_eq!(found.records_by_kind["execution_loop.initialized"], 3);
    assert_eq!(found.first_time, Some(Timestamp::from_nanoseconds(support::BEGINNING_NS)));
    assert!(found.last_time > found.first_time);
    assert_eq!(found.report.segments, 2);
}
