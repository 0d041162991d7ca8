//! Eight writers, killed with SIGKILL again and again, on one log and on fresh ones: nothing that
//! they acknowledged is missing, every opening afterwards is clean, and the log goes on.

use crate::writers::{ENDLESS, Load, Writers, assert_goes_on, say};
use holdpoint_testing::log::{Random, memory_directory, segments_of};
use std::path::Path;

/// What the kills of one stretch came to.
#[derive(Debug, Default)]
struct Tally {
    kills: u64,
    acknowledged: u64,
    cut: u64,
    rewritten: u64,
    before_a_log: u64,
}

/// Starts eight writers, hears of so many acknowledgements, kills them and opens the log.
fn kill_once(directory: &Path, random: &mut Random, tally: &mut Tally) {
    let payload = [100, 300, 1_000, 5_000, 60_000][usize::try_from(random.below(5)).unwrap()];
    // Mostly few, so that beginnings, recoveries and first segments are met often.
    let bound = [1, 10, 40, 400][usize::try_from(random.below(4)).unwrap()];
    let count = random.below(bound);
    let what = format!("kill {}, {payload} bytes, {count} acknowledged", tally.kills);
    let load = Load { threads: 8, records: ENDLESS, payload };
    let mut writers = Writers::start(directory, load);
    let mut heard: Vec<u64> = (0..count).map_while(|_| writers.heard()).collect();
    assert_eq!(heard.len() as u64, count, "{what}: {}", writers.kill().said);
    let ended = writers.kill();
    assert_eq!(ended.said, "", "{what}");
    heard.extend(ended.acknowledged);
    tally.kills += 1;
    tally.acknowledged += heard.len() as u64;
    tally.before_a_log += u64::from(!directory.join("segments").exists());
    let recovered = assert_goes_on(directory, &heard, &what);
    tally.cut += u64::from(recovered.cut_bytes > 0);
    tally.rewritten += u64::from(recovered.rewritten_bytes > 0);
}

/// So many kills on one log, which is made anew when it has grown large.
fn on_a_growing_log(place: &Path, kills: u64, random: &mut Random, tally: &mut Tally) {
    const LARGE: usize = 6;
    let directory = place.join("growing");
    for _ in 0..kills {
        if directory.exists() && segments_of(&directory).len() > LARGE {
            std::fs::remove_dir_all(&directory).unwrap();
        }
        kill_once(&directory, random, tally);
    }
}

/// So many kills, each of writers that made their log themselves.
fn on_fresh_logs(place: &Path, kills: u64, random: &mut Random, tally: &mut Tally) {
    for _ in 0..kills {
        let directory = place.join("fresh");
        kill_once(&directory, random, tally);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

/// `kills` in all: most of them in memory, where most happens, a tenth on the disk.
fn kill_again_and_again(kills: u64) {
    let mut random = Random::new();
    let (memory, disk) = (memory_directory(), tempfile::tempdir().unwrap());
    let mut tally = Tally::default();
    for (place, share) in [(memory.path(), kills - kills / 10), (disk.path(), kills / 10)] {
        on_a_growing_log(place, share / 2, &mut random, &mut tally);
        on_fresh_logs(place, share - share / 2, &mut random, &mut tally);
    }
    let Tally { kills, acknowledged, cut, rewritten, before_a_log } = tally;
    say(&format!(
        "killed: {kills}, acknowledged: {acknowledged}, missing: 0, tails cut: {cut}, tails \
         written again: {rewritten}, before there was a log: {before_a_log}"
    ));
}

#[test]
fn crash_two_hundred_kills_under_eight_writers_lose_nothing_acknowledged() {
    kill_again_and_again(200);
}

#[test]
#[ignore = "minutes long"]
fn crash_a_thousand_kills_under_eight_writers_lose_nothing_acknowledged() {
    kill_again_and_again(1_000);
}
