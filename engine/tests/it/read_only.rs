//! A read-only handle tells the state that a writer has, without its turn: it takes no lock,
//! changes nothing, and begins at a snapshot where the chain vouches for one.

use holdpoint_domain::Command;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Options, Ownership, Storage};
use holdpoint_engine::shell::{
    ArchivePlan, EngineOptions, FingerprintDistance, ReadOnlyEngine, ReadOnlyError,
};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::names;
use holdpoint_simulation::{ReadFault, SimulatedDisk};
use holdpoint_testing::shell::commands::{dispatch, initialize};
use holdpoint_testing::shell::{Place, origin};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An engine that has the log for itself, and writes a snapshot behind every few records.
fn owner<S: Storage>(disk: S) -> Engine<S> {
    let fingerprints =
        FingerprintDistance { records: 8, bytes: u64::MAX, records_at_close: u64::MAX };
    let log = Options::default().ownership(Ownership::Exclusive);
    Engine::open_with(disk, EngineOptions::simulated().log(log).fingerprints(fingerprints))
        .expect("the log opens")
}

/// Begins so many loops, which live on.
fn live<S: Storage>(engine: &Engine<S>, loops: u64) {
    for _ in 0..loops {
        let begin = initialize(1);
        let loop_id = begin.loop_id();
        engine
            .submit(
                &origin(),
                (),
                &Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(begin)),
            )
            .unwrap()
            .accepted()
            .unwrap();
        engine.submit(&origin(), (), &dispatch(&loop_id)).unwrap().accepted().unwrap();
    }
}

fn fingerprint<S: Storage>(engine: &Engine<S>) -> ([u8; 32], u64) {
    engine.query(|world| (world.fingerprint(), world.totals().last_sequence)).unwrap()
}

/// What `look` gives while the owner records nothing of its own: it states fingerprints and indexes
/// whenever it comes to it.
fn while_at_rest<S: Storage, T>(engine: &Engine<S>, mut look: impl FnMut() -> T) -> T {
    for _ in 0..100 {
        let before = fingerprint(engine);
        let seen = look();
        if fingerprint(engine) == before {
            return seen;
        }
    }
    panic!("the owner of an idle log records for ever");
}

fn told<S: Storage>(looking: &ReadOnlyEngine<S>) -> ([u8; 32], u64) {
    (looking.world().fingerprint(), looking.newest_sequence())
}

/// A log with snapshots that somebody closed.
fn closed() -> (Place, ([u8; 32], u64)) {
    let place = Place::new();
    let engine = owner(place.storage());
    live(&engine, 20);
    let state = fingerprint(&engine);
    engine.close().unwrap();
    (place, state)
}

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

fn segment(place: &Place) -> PathBuf {
    place.log().join("segments/00000000000000000001.seg")
}

#[test]
fn it_changes_no_byte() {
    let (place, state) = closed();
    let before = place.bytes();
    let mut looking = Engine::open_read_only(place.log()).unwrap();
    looking.refresh().unwrap();
    assert_eq!((told(&looking), place.bytes()), (state, before));
}

#[test]
fn it_tells_the_state_of_an_exclusive_owner() {
    let (place, _) = closed();
    let engine = owner(place.storage());
    live(&engine, 20);
    let (mut looking, before) = while_at_rest(&engine, || {
        (Engine::open_read_only(place.log()).unwrap(), fingerprint(&engine))
    });
    assert_eq!(told(&looking), before);
    assert!(looking.stated_by().is_some_and(|stated| stated > 1), "it began at a snapshot");
    live(&engine, 3);
    assert_eq!(told(&looking), before, "it stands where it stood");
    let after = while_at_rest(&engine, || {
        looking.refresh().unwrap();
        fingerprint(&engine)
    });
    assert_eq!(told(&looking), after);
    let (newest, witnessed) = (looking.newest_sequence(), looking.witnessed_sequence());
    let durable = looking.durable_sequence();
    assert!(witnessed <= durable && durable <= newest, "{witnessed}, {durable}, {newest}");
    engine.close().unwrap();
    looking.refresh().unwrap();
    assert_eq!(looking.witnessed_sequence(), looking.newest_sequence());
}

#[test]
fn it_makes_no_call_that_changes_a_disk() {
    let disk = SimulatedDisk::new(5);
    let engine = owner(disk.clone());
    live(&engine, 20);
    let (state, calls) = (fingerprint(&engine), disk.calls());
    let mut looking = ReadOnlyEngine::open_with(disk.clone()).unwrap();
    looking.refresh().unwrap();
    assert_eq!((told(&looking), disk.calls()), (state, calls));
    engine.close().unwrap();
}

#[test]
fn whatever_read_fails_it_says_so_or_tells_the_same() {
    let disk = SimulatedDisk::new(6);
    let engine = owner(disk.clone());
    live(&engine, 20);
    let state = fingerprint(&engine);
    engine.close().unwrap();
    let fresh = disk.kill();
    assert_eq!(told(&ReadOnlyEngine::open_with(fresh.clone()).unwrap()), state);
    let mut refused = 0;
    for read in 1..=fresh.reads() {
        for fault in [ReadFault::Io, ReadFault::Interrupted, ReadFault::Short] {
            let failing = disk.kill();
            failing.fail_read_at(read, fault);
            match ReadOnlyEngine::open_with(failing) {
                Ok(looking) => assert_eq!(told(&looking), state, "read {read}, {fault:?}"),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn damage_before_the_snapshot_is_not_in_its_reach_and_damage_behind_it_is_refused() {
    let (place, state) = closed();
    let looking = Engine::open_read_only(place.log()).unwrap();
    assert!(looking.stated_by().is_some_and(|stated| stated < state.1));
    flip(&segment(&place), 4_096 + 70);
    assert_eq!(told(&Engine::open_read_only(place.log()).unwrap()), state);
    fs::remove_dir_all(place.log().join(names::SNAPSHOTS)).unwrap();
    let refused = Engine::open_read_only(place.log()).map(drop);
    assert!(matches!(refused, Err(ReadOnlyError::State(_))), "{refused:?}");

    let (place, _) = closed();
    let bytes = fs::read(segment(&place)).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    flip(&segment(&place), last - 8);
    let refused = Engine::open_read_only(place.log()).map(drop);
    assert!(matches!(refused, Err(ReadOnlyError::Damaged { .. })), "{refused:?}");
}

/// What an owner who never closed the log has left, in a directory of its own.
fn left_open(place: &Place) -> PathBuf {
    let log = Options::default().head_delay(Duration::MAX);
    let options = EngineOptions::simulated().log(log);
    let engine = Engine::open_with(place.storage(), options).unwrap();
    live(&engine, 10);
    let left = place.beside("left");
    fs::create_dir_all(left.join(names::SEGMENTS)).unwrap();
    for (path, bytes) in place.bytes() {
        let path = left.join(path.strip_prefix(place.log()).unwrap());
        fs::write(path, bytes).unwrap();
    }
    fs::copy(place.log().join(names::LOCK), left.join(names::LOCK)).unwrap();
    engine.close().unwrap();
    left
}

#[test]
fn behind_head_damage_is_refused_and_what_an_interrupted_write_left_is_no_record() {
    let place = Place::new();
    let left = left_open(&place);
    let newest = Engine::open_read_only(&left).unwrap().newest_sequence();
    let file = left.join(names::SEGMENTS).join(names::segment(1));
    let bytes = fs::read(&file).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    flip(&file, last - 2_000);
    let refused = Engine::open_read_only(&left).map(drop);
    assert!(matches!(refused, Err(ReadOnlyError::Damaged { .. })), "{refused:?}");
    fs::write(&file, &bytes).unwrap();
    flip(&file, last - 8);
    // Who wrote it, and in which boot, is not known any more.
    fs::remove_file(left.join(names::LOCK)).unwrap();
    let looking = Engine::open_read_only(&left).unwrap();
    assert!(looking.newest_sequence() < newest);
}

#[test]
fn another_log_in_the_place_of_the_one_that_was_read_is_refused() {
    let ((place, state), (other, _)) = (closed(), closed());
    let mut looking = Engine::open_read_only(place.log()).unwrap();
    fs::rename(place.log(), place.beside("away")).unwrap();
    fs::rename(other.log(), place.log()).unwrap();
    let refused = looking.refresh();
    assert!(matches!(refused, Err(ReadOnlyError::Changed { .. })), "{refused:?}");
    assert_eq!(told(&looking), state);
}

#[test]
fn where_no_snapshot_is_believed_every_record_is_read() {
    let (place, state) = closed();
    for entry in fs::read_dir(place.log().join(names::SNAPSHOTS)).unwrap() {
        flip(&entry.unwrap().path(), 200);
    }
    let looking = Engine::open_read_only(place.log()).unwrap();
    assert_eq!((told(&looking), looking.stated_by()), (state, None));
}

#[test]
fn it_goes_on_where_the_records_it_stood_behind_were_moved_to_an_archive() {
    let place = Place::new();
    let options = EngineOptions::simulated().fingerprints(FingerprintDistance::NEVER);
    let engine = Engine::open_with(place.storage(), options).unwrap();
    live(&engine, 3);
    let mut looking = Engine::open_read_only(place.log()).unwrap();
    let archive = DirectoryStorage::new(place.beside("archive"));
    let plan = ArchivePlan { keep_segments: 0, ..ArchivePlan::default() };
    for _ in 0..400 {
        live(&engine, 1);
        if engine.archive(&archive, plan).unwrap().moved.is_some() {
            break;
        }
    }
    assert_eq!(looking.stated_by(), None);
    looking.refresh().unwrap();
    assert_eq!(told(&looking), fingerprint(&engine));
    assert!(!place.log().join("segments/00000000000000000001.seg").exists());
    assert_eq!(told(&Engine::open_read_only(place.log()).unwrap()), fingerprint(&engine));
    engine.close().unwrap();
}

/// However much an owner writes before HEAD follows, a snapshot is left that HEAD bears out.
#[test]
fn a_snapshot_is_kept_that_is_stated_up_to_head() {
    let (place, _) = closed();
    let log = Options::default().head_delay(Duration::MAX);
    let fingerprints = FingerprintDistance { records: 8, ..FingerprintDistance::default() };
    let options = EngineOptions::simulated().log(log).fingerprints(fingerprints);
    let engine = Engine::open_with(place.storage(), options).unwrap();
    live(&engine, 40);
    let looking = Engine::open_read_only(place.log()).unwrap();
    let (stated_by, witnessed) = (looking.stated_by().unwrap(), looking.witnessed_sequence());
    assert!(stated_by <= witnessed && witnessed < looking.newest_sequence());
    assert_eq!(told(&looking), fingerprint(&engine));
    let snapshots = fs::read_dir(place.log().join(names::SNAPSHOTS)).unwrap().count();
    assert_eq!(snapshots, 3, "it, the newest, and the one before that");
    engine.close().unwrap();
}

#[test]
fn where_there_is_no_log_it_says_so() {
    let place = Place::new();
    let refused = |path: &Path| Engine::open_read_only(path).map(drop).unwrap_err();
    assert!(matches!(refused(&place.log()), ReadOnlyError::NothingHere { .. }));
    fs::create_dir(place.log()).unwrap();
    assert!(matches!(refused(&place.log()), ReadOnlyError::NothingHere { .. }));
    assert!(fs::read_dir(place.log()).unwrap().next().is_none(), "and makes none");
    fs::write(place.beside("file"), "").unwrap();
    assert!(matches!(refused(&place.beside("file")), ReadOnlyError::NotADirectory { .. }));
}
