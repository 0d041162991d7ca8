//! FORMAT.md states what a reading takes at most, and the code keeps to it.

use holdpoint_log_files::READINGS_MAX;
use holdpoint_log_files::head::WITNESS_LENGTH_MAX;
use holdpoint_log_files::snapshot::{SNAPSHOT_LENGTH_MAX, SNAPSHOTS_TRIED_MAX};
use holdpoint_log_files::window::READ_AHEAD_MAX;
use holdpoint_log_format::limits::{RESYNC_BUDGET_SEGMENTS, SEGMENT_CAPACITY_MAX};
use holdpoint_log_index::layout::INDEX_LENGTH_MAX;
use std::path::Path;

/// The names and numbers of the table below a heading.
fn stated(heading: &str) -> Vec<(String, u64)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../log-format/FORMAT.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (_, section) = document.split_once(&format!("\n{heading}\n")).unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let cells = rows.skip(1).map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|cells| (cells[1].to_string(), cells[2].parse().unwrap())).collect()
}

#[test]
fn the_bounds_of_a_reading_are_those_of_the_code() {
    let code = [
        ("WITNESS_LENGTH_MAX", WITNESS_LENGTH_MAX),
        ("SEGMENT_CAPACITY_MAX", SEGMENT_CAPACITY_MAX),
        ("READ_AHEAD_MAX", READ_AHEAD_MAX),
        ("INDEX_LENGTH_MAX", INDEX_LENGTH_MAX),
        ("SNAPSHOT_LENGTH_MAX", SNAPSHOT_LENGTH_MAX),
        ("SNAPSHOTS_TRIED_MAX", SNAPSHOTS_TRIED_MAX as u64),
        ("RESYNC_BUDGET_SEGMENTS", RESYNC_BUDGET_SEGMENTS),
        ("READINGS_MAX", u64::from(READINGS_MAX)),
    ];
    assert_eq!(stated("### Bounds of a reading"), code.map(|(name, at)| (name.to_string(), at)));
}
