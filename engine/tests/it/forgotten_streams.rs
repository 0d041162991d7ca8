//! Streams that the state has forgotten: how far each has come is found in the log, and whoever
//! travels through it is told of them as what they are.

use crate::indexes::{engine, indexes, options, settle};
use holdpoint_domain::application::{Data, MAX_KNOWN_STREAMS, RecordEvent};
use holdpoint_domain::{Command, World};
use holdpoint_engine::Engine;
use holdpoint_engine::log::Storage;
use holdpoint_engine::shell::{Conditions, MAX_MEMBERS, Submitted, Transaction};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::BootId;
use holdpoint_replay::diff::{Change, diff};
use holdpoint_replay::{ReadOptions, Timeline, Until, find_entities};
use holdpoint_testing::shell::brittle::Brittle;
use holdpoint_testing::shell::{Place, origin};
use std::fs;

/// A batch more than are known, and so many that the first batch is forgotten.
const BATCHES: usize = MAX_KNOWN_STREAMS / MAX_MEMBERS + 1;

fn to(stream: usize) -> RecordEvent {
    RecordEvent {
        stream: format!("stream {stream}"),
        event_type: "changed".to_string(),
        type_version: 1,
        content_type: "text/plain".to_string(),
        data: Data::from("data"),
    }
}

/// Every stream once; gives the record of the first one and of the last one of the first batch.
fn fill(place: &Place) -> (u64, u64) {
    let engine = engine(place);
    let batch = |number: usize| {
        let streams = number * MAX_MEMBERS..(number + 1) * MAX_MEMBERS;
        let transaction = streams.map(to).fold(Transaction::new(), Transaction::record);
        match engine.commit(&origin(), (), &transaction).expect("the log works") {
            Submitted::Accepted(receipt) => receipt.last_sequence,
            other => panic!("{other:?}"),
        }
    };
    let last = batch(0);
    (1..BATCHES).for_each(|number| _ = batch(number));
    engine.close().expect("it closes");
    (last + 1 - MAX_MEMBERS as u64, last)
}

/// Records an event where the stream is at a version, and says what became of it.
fn expecting<S: Storage>(engine: &Engine<S>, stream: usize, version: u64) -> Result<u64, String> {
    let command = Command::from(to(stream));
    let conditions = Conditions::default().expecting(version);
    match engine.submit(&origin(), &conditions, &command).expect("the log works") {
        Submitted::Accepted(receipt) => Ok(receipt.last_sequence),
        Submitted::Refused(refusal) => Err(refusal.code().to_string()),
        Submitted::Repeated(receipt) => panic!("{receipt:?}"),
    }
}

/// The versions of forgotten streams, asked for before anything else is recorded.
fn assert_versions_hold<S: Storage>(engine: &Engine<S>, stream: usize, version: u64) {
    let known = engine.query(|world| world.stream_version(&to(stream).stream)).unwrap();
    assert_eq!(known, 0, "the state has forgotten it");
    for wrong in [0, version - 1, version + 1] {
        assert_eq!(expecting(engine, stream, wrong), Err("STALE_VERSION".into()), "{wrong}");
    }
    let now = expecting(engine, stream, version).expect("its version is found");
    assert_eq!(expecting(engine, stream, version), Err("STALE_VERSION".into()));
    assert!(expecting(engine, stream, now).is_ok(), "it is known again");
}

#[test]
fn the_version_of_a_forgotten_stream_is_found_and_its_story_told() {
    let place = Place::new();
    let (first, last) = fill(&place);
    travels(&place, first, last);
    indexes(&place).into_values().for_each(|path| fs::remove_file(path).unwrap());
    let without = engine(&place);
    assert_eq!(without.query(World::streams_forgotten).unwrap(), last);
    assert_versions_hold(&without, 0, first);
    without.close().unwrap();
    settle(&place);
    let disk = Brittle::new(place.storage());
    let with = Engine::open_with(disk.clone(), options()).expect("the log opens");
    let before = disk.read_of_segments();
    assert_versions_hold(&with, 1, first + 1);
    let read = disk.read_of_segments() - before;
    let all: u64 = place.bytes().values().map(|bytes| bytes.len() as u64).sum();
    assert!(read < all / 20, "{read} bytes of {all} were read: the index was not used");
    // Nobody ever wrote to this one.
    assert!(expecting(&with, usize::MAX, 0).is_ok());
    with.close().unwrap();
    place.assert_intact();
}

/// What `replay` and `diff` say of the streams of the first batch, which the end has forgotten.
fn travels(place: &Place, first: u64, last: u64) {
    let storage = DirectoryStorage::new(place.log());
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    let line = Timeline::open(&storage, options, &mut |_| {}).unwrap();
    let name = to(0).stream;
    let watched = line.at_watching(Until::End, &name).unwrap();
    assert!(find_entities(&watched.world, &name).is_empty(), "the state has forgotten it");
    let told = watched.watched();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].id.as_str(), &told[0].state["version"]), (&*name, &first.into()));
    let from = line.at(Until::Sequence(last)).unwrap();
    let (difference, end) = diff(&line, &from, Until::End).unwrap();
    assert_eq!(end.world.streams_forgotten(), last);
    let of = |change: Change| difference.entities.iter().filter(move |it| it.change == change);
    assert_eq!(of(Change::Forgotten).count(), MAX_MEMBERS);
    assert_eq!(of(Change::Appeared).count(), MAX_KNOWN_STREAMS);
    assert_eq!(difference.entities.len(), MAX_MEMBERS + MAX_KNOWN_STREAMS, "nothing settled");
}
