//! What a failed sync leaves in the cache and not on the disk is written again before anybody
//! relies on it, by whichever handle comes next.

use holdpoint_engine::log::{Level, Log, Storage};
use holdpoint_log_files::{Extent, ReadFile, ReadStorage, SurveyOptions, survey};
use holdpoint_log_format::recovery::Row;
use holdpoint_log_format::{Head, names};
use holdpoint_simulation::{Call, CallRecord, Effect, Fault, SimulatedDisk};
use holdpoint_testing::log::{quiet, record};

fn open(disk: &SimulatedDisk) -> Log<SimulatedDisk> {
    Log::open(disk.clone(), quiet()).unwrap().0
}

fn read(disk: &SimulatedDisk, path: &str) -> Vec<u8> {
    let file = ReadStorage::open(disk, path).unwrap().unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn witnessed(disk: &SimulatedDisk) -> u64 {
    Head::decode(&read(disk, names::HEAD)).unwrap().newest_sequence
}

#[test]
fn a_head_whose_name_was_not_synced_is_no_witness_for_the_next_handle() {
    for effect in [Effect::None, Effect::Whole] {
        let disk = SimulatedDisk::new(1);
        let log = open(&disk);
        log.append(&[record(1, 100)], 1, Level::Always).unwrap();
        let already = witnessed(&disk);
        disk.fail_next(Call::SyncDirectory, Fault::Io(effect));
        log.close().unwrap_err();
        assert_eq!((already, witnessed(&disk)), (0, 1), "HEAD was renamed");
        open(&disk).close().unwrap();
        assert_eq!(witnessed(&disk.power_loss(&[])), 1, "closing said that HEAD follows");
    }
}

/// A log with half a batch behind its newest record, as power loss left it.
fn torn() -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    open(&disk).append(&[record(1, 100)], 1, Level::Witnessed).unwrap();
    let file = disk.open_writer("segments/00000000000000000001.seg").unwrap();
    let end = Head::decode(&read(&disk, names::HEAD)).unwrap().end_offset;
    disk.write_at(&file, end, &[0xa5; 20_000]).unwrap();
    disk.sync(&file).unwrap();
    disk.power_loss(&[])
}

#[test]
fn zeros_over_a_torn_tail_are_written_again_where_their_sync_failed() {
    let disk = torn();
    let trial = disk.kill();
    let before = trial.made().len();
    open(&trial).close().unwrap();
    let is_of_segment = |made: &CallRecord| made.call == Call::Sync && made.path.ends_with(".seg");
    let sync = trial.made().iter().skip(before).position(is_of_segment).unwrap();
    disk.fail_at(disk.calls() + sync as u64 + 1, Fault::SyncDropsPages);
    Log::open(disk.clone(), quiet()).map(drop).unwrap_err();
    let log = open(&disk);
    log.append(&[record(2, 100)], 2, Level::Witnessed).unwrap();
    log.close().unwrap();
    let options = SurveyOptions::new(Extent::FromAnchor, disk.boot());
    let seen = survey(&disk.power_loss(&[]), options, &mut |_, _| {}).unwrap();
    assert_eq!((seen.row, seen.findings.len()), (Row::Clean, 0), "{:?}", seen.findings);
}
