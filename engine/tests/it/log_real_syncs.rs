//! The writers, traced: what they acknowledge was synced before, and one sync serves at most as
//! many acknowledgements as there are writers.

use crate::writers::trace::{self, Called};
use crate::writers::{Load, say, skip};
use holdpoint_testing::log::{memory_directory, records_of};
use std::path::Path;

fn is_sync_of_records(call: &&Called) -> bool {
    call.is_sync() && call.has_succeeded() && call.segment().is_some()
}

/// Traces the writers to their end and checks every acknowledgement.
fn assert_load(place: &Path, load: Load) {
    let (directory, file) = (place.join("log"), place.join("trace"));
    let ended = trace::start(&directory, load, &file, &[]).finish();
    assert!(ended.status.success(), "{}", ended.said);
    let calls = trace::read(&file);
    let records = records_of(&directory);
    let acknowledged = trace::assert_synced_before_acknowledged(&calls, &records);
    assert_eq!(acknowledged.len() as u64, load.records);
    assert_eq!(records.len() as u64, load.records);
    let syncs = calls.iter().filter(is_sync_of_records).count() as u64;
    let Load { threads, records, .. } = load;
    say(&format!("traced: {threads} writers, {records} acknowledgements, {syncs} syncs"));
    assert!(syncs * threads >= records, "{syncs} syncs for {records} of {threads} writers");
}

#[test]
fn crash_no_record_is_acknowledged_before_a_sync_that_began_after_its_write_returned() {
    if !trace::is_possible() {
        return skip("syncs in a trace: there is no strace here, or it may not trace");
    }
    for (threads, records, payload) in [(1, 300, 256), (8, 1_200, 256), (8, 400, 20_000)] {
        let load = Load { threads, records, payload };
        assert_load(memory_directory().path(), load);
    }
    let disk = tempfile::tempdir().unwrap();
    assert_load(disk.path(), Load { threads: 8, records: 400, payload: 256 });
}
