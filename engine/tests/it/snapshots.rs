//! Opening goes on from a snapshot that the chain vouches for (properties E1 and E9), and whatever
//! else lies in its place changes nothing.

use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::log::{FingerprintRecorded, LogCommand, LogEvent, RecordFingerprint};
use holdpoint_domain::world::{STATE_SCHEMA_VERSION, fingerprint_of};
use holdpoint_domain::{Command, Event, World};
use holdpoint_engine::Engine;
use holdpoint_engine::log::Options;
use holdpoint_engine::shell::{EngineOptions, FingerprintDistance, SubmitError, Submitted};
use holdpoint_log_format::{BootId, SnapshotHeader, names};
use holdpoint_replay::{ReadOptions, Tells, stated};
use holdpoint_testing::hand_made::HandMadeLog;
use holdpoint_testing::shell::commands::{dispatch, initialize};
use holdpoint_testing::shell::{Place, origin};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Records between two fingerprints here.
const DISTANCE: u64 = 8;

fn engine(place: &Place) -> Engine {
    let fingerprints =
        FingerprintDistance { records: DISTANCE, bytes: u64::MAX, records_at_close: u64::MAX };
    // HEAD follows at closing alone: no snapshot is kept because it names a record meanwhile.
    let log = Options::default().head_delay(Duration::MAX);
    let options = EngineOptions::simulated().log(log).fingerprints(fingerprints);
    Engine::open_with(place.storage(), options).expect("the log opens")
}

/// Begins so many loops, which live on.
fn live(engine: &Engine, loops: u64) {
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

fn snapshots(place: &Place) -> Vec<PathBuf> {
    let listed = fs::read_dir(place.log().join(names::SNAPSHOTS));
    let mut paths: Vec<PathBuf> =
        listed.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The state that an opening gives, and where it stands.
fn opened(place: &Place) -> ([u8; 32], u64) {
    let engine = engine(place);
    let found = engine.query(|world| (world.fingerprint(), world.totals().last_sequence)).unwrap();
    engine.close().unwrap();
    found
}

fn assert_as_rebuilt(place: &Place, what: &str) {
    let rebuilt = place.rebuilt();
    let expected = (rebuilt.fingerprint(), rebuilt.totals().last_sequence);
    assert_eq!(opened(place), expected, "{what}");
}

/// A log with two snapshots and some records behind the newer one.
fn with_snapshots() -> Place {
    let place = Place::new();
    let engine = engine(&place);
    live(&engine, 20);
    engine.close().unwrap();
    assert_eq!(snapshots(&place).len(), 2, "the newest, and the one before it");
    place
}

#[test]
fn fingerprints_are_recorded_at_their_distance_and_replay_finds_them_right() {
    let place = with_snapshots();
    let lines = place.lines();
    let is_fingerprint =
        |event: &Event| matches!(event, Event::Log(LogEvent::FingerprintRecorded(_)));
    let places: Vec<u64> = lines
        .iter()
        .filter(|line| is_fingerprint(&line.envelope.event))
        .map(|line| line.sequence)
        .collect();
    assert!(places.len() >= 4, "{places:?}");
    let longest_command = 4;
    for pair in places.windows(2) {
        let between = pair[1] - pair[0] - 1;
        assert!((DISTANCE..DISTANCE + longest_command).contains(&between), "{places:?}");
    }
    // It asserts that the rules forbid no event: each fingerprint is that of the state before it.
    place.rebuilt();
    place.assert_intact();
}

#[test]
fn an_opening_from_a_snapshot_gives_the_state_that_the_whole_log_gives() {
    let place = with_snapshots();
    assert_as_rebuilt(&place, "snapshots as they are");
    let engine = engine(&place);
    live(&engine, 3);
    let live_state = engine.query(|world| world.fingerprint()).unwrap();
    engine.close().unwrap();
    assert_eq!(live_state, place.rebuilt().fingerprint());
}

/// The segment's first records are ruined; an opening from a snapshot does not look at them.
#[test]
fn an_opening_from_a_snapshot_reads_nothing_before_it() {
    let place = with_snapshots();
    let before = opened(&place);
    let segment = place.log().join("segments/00000000000000000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[4_096 + 70] ^= 1;
    fs::write(&segment, bytes).unwrap();
    assert_eq!(opened(&place), before);
    for snapshot in snapshots(&place) {
        fs::remove_file(snapshot).unwrap();
    }
    let opened = Engine::open_with(place.storage(), EngineOptions::simulated());
    assert!(opened.is_err(), "without one the damage is found");
}

#[test]
fn a_missing_or_damaged_snapshot_is_ignored_and_the_state_is_the_same() {
    let place = with_snapshots();
    let kept = Kept::of(&place);
    for path in kept.paths() {
        fs::remove_file(path).unwrap();
    }
    assert_as_rebuilt(&place, "none");
    let length = kept.newest().len();
    for at in (0..length).step_by(length / 97 + 1).chain(0..136) {
        kept.with_newest(|file| file[at.min(length - 1)] ^= 0x41);
        assert_as_rebuilt(&place, &format!("byte {at} flipped"));
    }
    for cut in [0, 1, 64, 127, 128, 129, length - 1] {
        kept.with_newest(|file| file.truncate(cut));
        assert_as_rebuilt(&place, &format!("cut to {cut} bytes"));
    }
    kept.with_newest(|file| file.extend_from_slice(&[0; 4_096]));
    assert_as_rebuilt(&place, "longer than it says");
    kept.with_newest(|file| file.fill(0));
    assert_as_rebuilt(&place, "zeros");
}

#[test]
fn a_snapshot_of_another_log_another_place_or_another_state_is_not_believed() {
    let place = with_snapshots();
    let kept = Kept::of(&place);
    let other = Kept::of(&with_snapshots());
    kept.with_newest(|file| *file = other.newest().to_vec());
    assert_as_rebuilt(&place, "another log's");
    let foreign = SnapshotHeader::decode(other.newest()).unwrap();
    kept.with_newest(|file| {
        let own = SnapshotHeader::decode(file).unwrap().0;
        *file = own.encode_with(foreign.1);
    });
    assert_as_rebuilt(&place, "another log's state at this log's place");
    kept.with_newest(|file| *file = kept.older().to_vec());
    assert_as_rebuilt(&place, "an older one under a newer name");
    kept.with_newest(|file| {
        let (own, state) = SnapshotHeader::decode(file).unwrap();
        let mut chain = own.chain;
        chain.link.0[0] ^= 1;
        *file = SnapshotHeader { chain, ..own }.encode_with(state);
    });
    assert_as_rebuilt(&place, "behind another link");
    kept.with_newest(|file| {
        let (own, state) = SnapshotHeader::decode(file).unwrap();
        let schema = STATE_SCHEMA_VERSION + 1;
        *file = SnapshotHeader { state_schema: schema, ..own }.encode_with(state);
    });
    assert_as_rebuilt(&place, "of another state schema");
    let (own, _) = SnapshotHeader::decode(kept.newest()).unwrap();
    for end_offset in [0, 1, 4_096, own.record_offset, u64::MAX] {
        kept.with_newest(|file| {
            let (own, state) = SnapshotHeader::decode(file).unwrap();
            *file = SnapshotHeader { end_offset, ..own }.encode_with(state);
        });
        assert_as_rebuilt(&place, &format!("a place that ends at {end_offset}"));
    }
    for segment in [0, 2, own.segment + 1, u64::MAX] {
        kept.with_newest(|file| {
            let (own, state) = SnapshotHeader::decode(file).unwrap();
            *file = SnapshotHeader { segment, ..own }.encode_with(state);
        });
        assert_as_rebuilt(&place, &format!("a place in segment {segment}"));
    }
}

#[test]
fn a_snapshot_behind_the_newest_record_or_without_its_fingerprint_is_not_believed() {
    let place = with_snapshots();
    let kept = Kept::of(&place);
    let newest = place.lines().last().unwrap().sequence;
    for sequence in [newest, newest + 1, u64::MAX] {
        let path = place.log().join(names::SNAPSHOTS).join(names::snapshot(sequence));
        fs::write(&path, kept.newest()).unwrap();
        assert_as_rebuilt(&place, &format!("one that says to be behind {sequence}"));
        fs::remove_file(path).unwrap();
    }
    fs::write(place.log().join(names::SNAPSHOTS).join("notes.txt"), b"mine").unwrap();
    assert_as_rebuilt(&place, "a name that is no snapshot's");
}

/// A log with one loop, and behind it a snapshot which a record states and in which that loop is
/// none: so another version's program could have made it, or a mistake.
fn with_an_unreadable_loop() -> (Place, String) {
    let (place, mut log, begin) = (Place::new(), HandMadeLog::new(), initialize(1));
    let loop_id = begin.loop_id();
    log.command(&Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(begin)));
    let mut state = log.world.carry();
    let named = |at: &usize| state[*at..].starts_with(loop_id.as_bytes());
    // By its first name it is found, and its second one is within it, behind the name's length.
    let within = (0..state.len()).filter(named).nth(1).expect("the loop says its name");
    state[within - 1] = 0xff;
    let head = log.head();
    let header = SnapshotHeader {
        log: log.log,
        chain: log.chain,
        segment: head.segment,
        record_offset: head.record_offset,
        end_offset: head.end_offset,
        state_schema: STATE_SCHEMA_VERSION,
    };
    let (schema, fingerprint) = (STATE_SCHEMA_VERSION, fingerprint_of(&state));
    let sequence = log.chain.sequence;
    log.events(vec![FingerprintRecorded { schema, fingerprint }.into()]);
    log.write(&place.log());
    let directory = place.log().join(names::SNAPSHOTS);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(names::snapshot(sequence)), header.encode_with(&state)).unwrap();
    (place, loop_id)
}

fn live_loops(engine: &Engine) -> Result<usize, SubmitError> {
    engine.query(|world| world.live_loops().count())
}

#[test]
fn a_part_of_a_snapshot_that_cannot_be_read_is_no_answer_and_the_state_is_made_anew() {
    let (place, _) = with_an_unreadable_loop();
    let engine = engine(&place);
    assert!(matches!(live_loops(&engine), Err(SubmitError::UnreadableSnapshot)));
    assert_eq!(live_loops(&engine).unwrap(), 1);
    assert_eq!(snapshots(&place), Vec::<PathBuf>::new(), "the next one does not begin with it");
    let made_anew = engine.query(World::fingerprint).unwrap();
    engine.close().unwrap();
    assert_eq!(opened(&place).0, made_anew);
}

#[test]
fn nothing_is_recorded_that_was_decided_by_a_part_that_cannot_be_read() {
    let (place, loop_id) = with_an_unreadable_loop();
    let before = place.lines().len();
    let engine = engine(&place);
    let refused = engine.submit(&origin(), (), &dispatch(&loop_id));
    assert!(matches!(refused, Err(SubmitError::UnreadableSnapshot)), "{refused:?}");
    assert_eq!(place.lines().len(), before);
    let submitted = engine.submit(&origin(), (), &dispatch(&loop_id)).unwrap();
    assert!(matches!(submitted, Submitted::Accepted(_)), "{submitted:?}");
    let live_state = engine.query(World::fingerprint).unwrap();
    engine.close().unwrap();
    assert_eq!(opened(&place).0, live_state);
}

#[test]
fn whoever_only_looks_begins_at_no_snapshot_of_which_a_part_cannot_be_read() {
    let (place, _) = with_an_unreadable_loop();
    let looking = Engine::open_read_only(place.log()).unwrap();
    assert_eq!((looking.world().live_loops().count(), looking.stated_by()), (1, None));
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    assert!(stated(&place.storage(), Tells::Questions, options).unwrap().is_none());
}

#[test]
fn snapshots_that_cannot_be_written_fail_nothing() {
    let place = Place::new();
    engine(&place).close().unwrap();
    fs::write(place.log().join(names::SNAPSHOTS), b"in the way").unwrap();
    let engine = engine(&place);
    live(&engine, 20);
    engine.close().unwrap();
    assert_as_rebuilt(&place, "a file where the directory would be");
    place.assert_intact();
}

#[test]
fn closing_records_a_fingerprint_only_where_enough_was_recorded_since() {
    let place = Place::new();
    let open = |records_at_close| {
        let fingerprints = FingerprintDistance { records_at_close, ..FingerprintDistance::NEVER };
        let options = EngineOptions::simulated().fingerprints(fingerprints);
        Engine::open_with(place.storage(), options).unwrap()
    };
    let engine = open(100);
    live(&engine, 4);
    engine.close().unwrap();
    assert_eq!(snapshots(&place).len(), 0);
    let engine = open(5);
    engine.query(|_| ()).unwrap();
    engine.close().unwrap();
    assert_eq!(snapshots(&place).len(), 1);
    let engine = open(5);
    engine.query(|_| ()).unwrap();
    engine.close().unwrap();
    assert_eq!(snapshots(&place).len(), 1, "nothing was recorded since");
    assert_as_rebuilt(&place, "the one at closing");
}

/// A fingerprint that a command asks for has no snapshot, and keeps none from being written.
#[test]
fn fingerprints_that_commands_ask_for_put_no_snapshot_off() {
    let place = Place::new();
    let engine = engine(&place);
    for _ in 0..4 {
        live(&engine, 3);
        engine
            .submit(
                &origin(),
                (),
                &Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})),
            )
            .unwrap()
            .accepted()
            .unwrap();
    }
    engine.close().unwrap();
    assert_eq!(snapshots(&place).len(), 2);
    assert_as_rebuilt(&place, "commands asked for fingerprints");
}

#[test]
fn where_every_snapshot_is_gone_the_next_opening_that_writes_makes_one() {
    let place = with_snapshots();
    snapshots(&place).into_iter().for_each(|path| fs::remove_file(path).unwrap());
    let engine = engine(&place);
    live(&engine, 1);
    engine.close().unwrap();
    assert_eq!(snapshots(&place).len(), 1);
    assert_as_rebuilt(&place, "written anew");
}

/// A link leads out of the log: nothing there is read, changed or removed.
#[test]
fn a_link_in_the_place_of_the_snapshots_is_not_followed() {
    let (place, other) = (with_snapshots(), with_snapshots());
    let theirs = Kept::of(&other);
    fs::remove_dir_all(place.log().join(names::SNAPSHOTS)).unwrap();
    let to = other.log().join(names::SNAPSHOTS);
    std::os::unix::fs::symlink(&to, place.log().join(names::SNAPSHOTS)).unwrap();
    let engine = engine(&place);
    live(&engine, 20);
    engine.close().unwrap();
    assert_as_rebuilt(&place, "a link");
    assert!(Kept::of(&other).files == theirs.files, "they are as they were");
}

/// The snapshots of a log as they were.
struct Kept {
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Kept {
    fn of(place: &Place) -> Self {
        let read = |path: PathBuf| {
            let bytes = fs::read(&path).unwrap();
            (path, bytes)
        };
        Self { files: snapshots(place).into_iter().map(read).collect() }
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(path, _)| path.as_path())
    }

    fn newest(&self) -> &[u8] {
        &self.files.last().unwrap().1
    }

    fn older(&self) -> &[u8] {
        &self.files[0].1
    }

    /// Only the newest snapshot is there, and not as it was.
    fn with_newest(&self, change: impl FnOnce(&mut Vec<u8>)) {
        for path in self.paths() {
            let _ = fs::remove_file(path);
        }
        let (path, bytes) = self.files.last().unwrap();
        let mut changed = bytes.clone();
        change(&mut changed);
        fs::write(path, changed).unwrap();
    }
}
