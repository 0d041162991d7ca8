//! The live state as bytes: whoever takes it up goes on as if every record had been replayed, and
//! no bytes do harm.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::limits::MAX_RETIRED_KEYS;
use holdpoint_domain::decision_point::{DecisionPoint, DecisionPointState};
use holdpoint_domain::execution_loop::{
    ExecutionLoopCommand, ExecutionLoopState, ExecutorResponseType,
};
use holdpoint_domain::human_decision::{HoldPolicy, HumanDecision};
use holdpoint_domain::log::{LogEvent, RecordsUnproven, UnprovenReason};
use holdpoint_domain::registration::{Capability, CapabilityChanged, RegistrationStatus};
use holdpoint_domain::world::envelope::Encoded;
use holdpoint_domain::world::{CarriedError, envelope, fingerprint_of};
use holdpoint_domain::{ActorId, Command, Envelope, Event, Time, World};
use holdpoint_testing::part::part;
use holdpoint_testing::story::commands::on_random_stories;
use holdpoint_testing::story::held::{terms, without_observed};
use holdpoint_testing::story::points::{binding, every_corner};
use holdpoint_testing::story::samples::samples;
use holdpoint_testing::story::{Story, rebuilt, seed};
use quickcheck::{Arbitrary as _, Gen};

/// A small state with something in every room that there was first, in hex.
const GOLDEN: &str = include_str!("../golden/carried_v5.txt");

/// The same, as it was carried when it did not know that records were lost.
const GOLDEN_V4: &str = include_str!("../golden/carried_v4.txt");

/// The same, as it was carried when no question told what was observed of the attempt.
const GOLDEN_V3: &str = include_str!("../golden/carried_v3.txt");

/// The same, as it was carried with a count of what the rules forbid.
const GOLDEN_V2: &str = include_str!("../golden/carried_v2.txt");

/// The same, as it was carried when every room was in its first version.
const GOLDEN_V1: &str = include_str!("../golden/carried_v1.txt");

type Section = (String, u32, Vec<u8>);

fn sections_of(bytes: &[u8]) -> Vec<Section> {
    let configuration = bincode::config::standard();
    bincode::serde::decode_from_slice(bytes, configuration).unwrap().0
}

fn carried(sections: &[Section]) -> Vec<u8> {
    bincode::serde::encode_to_vec(sections, bincode::config::standard()).unwrap()
}

/// One loop waits for a person, one has settled, and every room holds something.
fn small() -> World {
    small_asked_by(|event| event)
}

/// The same, where the question was recorded as this makes it.
fn small_asked_by(asked: fn(Event) -> Event) -> World {
    let mut story = Story::evaluated_under(terms(HoldPolicy::After), ExecutorResponseType::Failure);
    story.given_as(story.ask(), asked);
    story.given(story.decides(HumanDecision::Abort));
    let initialize = story.initialize();
    story.loop_id = initialize.loop_id();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize)));
    story.advance_to(ExecutionLoopState::AwaitingResponse);
    for sample in samples().into_iter().take(SAMPLES_OF_SMALL).rev().take(12) {
        story.record_envelope(sample);
    }
    rebuilt(&story.records, World::default())
}

/// The same state without the room that knows of records that are lost.
fn knowing_no_loss(world: &World) -> World {
    let mut sections = sections_of(&world.carry());
    sections.retain(|(name, ..)| name != "lost");
    World::from_carried(&carried(&sections)).unwrap()
}

/// Samples that there were when the small state was pinned.
const SAMPLES_OF_SMALL: usize = 197;

/// Samples that there were before those of decision points.
const SAMPLES_WITH_THREADS: usize = 333;

/// A small state with something in the rooms of threads as well.
fn with_threads() -> World {
    let mut world = small();
    let samples = samples().into_iter().take(SAMPLES_WITH_THREADS);
    for sample in samples.skip(SAMPLES_OF_SMALL) {
        let totals = world.totals();
        world.judge_and_evolve(totals.last_sequence + 1, totals.last_at, &sample);
    }
    world
}

/// Events that the rules forbid leave states that no command leads to.
#[test]
fn replay_carried_state_equals_the_state_after_forbidden_events_too() {
    on_random_stories(|story| {
        let (mut story, mut found) = (story.clone(), 0);
        for (index, sample) in samples().into_iter().enumerate() {
            let Encoded { kind, version, payload } =
                story.records[index * 7 % story.records.len()].encoded.clone();
            let repeated = envelope::decode(kind, version, &payload).unwrap();
            found += story.record_envelope(repeated).len() + story.record_envelope(sample).len();
        }
        let hot = rebuilt(&story.records, World::default());
        assert!(found > 0);
        assert_eq!(World::from_carried(&hot.carry()), Ok(hot));
    });
}

#[test]
fn golden_bytes_of_a_small_state_are_pinned() {
    let found = base16ct::lower::encode_string(&small().carry());
    assert_eq!(found, GOLDEN.trim_end());
    let rooms: Vec<(String, u32)> = sections_of(&small().carry())
        .into_iter()
        .map(|(name, version, _)| (name, version))
        .collect();
    let pinned =
        ["execution_loop", "human_decision", "idempotency", "totals", "configuration", "lost"];
    let versions = [3, 3, 2, 2, 1, 1];
    assert!(
        rooms
            .iter()
            .map(|(name, version)| (name.as_str(), *version))
            .eq(pinned.into_iter().zip(versions))
    );
    let fingerprint = small().fingerprint_digest().to_string();
    assert_eq!(fingerprint, "23f8215fc435982c9ac15d6e406d57c9727752ec694c5f9fba15495419acb1a1");
}

#[test]
fn golden_states_are_read_for_ever() {
    let before = knowing_no_loss(&small_asked_by(without_observed));
    let golden = [(GOLDEN, small()), (GOLDEN_V4, knowing_no_loss(&small()))];
    let older = [GOLDEN_V3, GOLDEN_V2, GOLDEN_V1].map(|golden| (golden, before.clone()));
    for (golden, world) in golden.into_iter().chain(older) {
        let bytes = base16ct::lower::decode_vec(golden.trim_end()).unwrap();
        assert_eq!(World::from_carried(&bytes), Ok(world));
    }
}

/// Which record granted something was not carried: it may be any.
#[test]
fn a_grant_carried_without_its_record_is_believed_only_where_every_record_is_proven() {
    let person = ActorId { kind: Actor::Human, id: "person".into() };
    let (capability, is_granted) = (Capability::SeleneOsOnly, true);
    let body = CapabilityChanged {
        actor_kind: person.kind,
        actor_id: "person".into(),
        capability,
        is_granted,
    };
    let envelope = |event| {
        let (proof, causation, idempotency) = (None, None, None);
        let (actor, correlation) = (person.clone(), "grants".into());
        Envelope { clock: None, proof, actor, correlation, causation, idempotency, event }
    };
    let mut world = World::default();
    world.evolve(1, Time::from_nanoseconds(1), &envelope(body.into()));
    let mut sections = sections_of(&world.carry());
    let (_, version, bytes) = sections.iter_mut().find(|(name, ..)| name == "registry").unwrap();
    // One grant, of which the last byte is its record; what follows are the empty maps.
    assert_eq!((*version, bytes.iter().rposition(|byte| *byte == 1)), (3, Some(bytes.len() - 7)));
    *version = 1;
    bytes.remove(bytes.len() - 7);
    let mut before = World::from_carried(&carried(&sections)).unwrap();
    let json = r#"{"command": "interruption_thread.register_tenant", "tenant_id": "acme",
        "status": "ACTIVE"}"#;
    let call: Command = serde_json::from_str(json).unwrap();
    assert_eq!(before.check_caller(&person, &call), Ok(()));
    let reason = UnprovenReason::NoWitness;
    let said = RecordsUnproven { first_sequence: 1, last_sequence: 1, reason };
    before.evolve(2, Time::from_nanoseconds(1), &envelope(said.into()));
    assert!(before.check_caller(&person, &call).is_err());
}

/// Which record registered something was not carried either.
#[test]
fn a_tenant_carried_without_its_record_is_believed_only_where_every_record_is_proven() {
    let tenants = [("acme", RegistrationStatus::Active)];
    let none = Vec::<u8>::new();
    let held = (&none, Vec::from(tenants), &none, &none, &none, &none, &none);
    let room = bincode::serde::encode_to_vec(&held, bincode::config::standard()).unwrap();
    let mut before = World::from_carried(&carried(&[("registry".into(), 2, room)])).unwrap();
    assert_eq!(before.registrations().next().unwrap().status, "ACTIVE");
    let (actor, event) = (
        ActorId { kind: Actor::System, id: "holdpoint".into() },
        RecordsUnproven { first_sequence: 1, last_sequence: 1, reason: UnprovenReason::NoWitness },
    );
    let (proof, causation, idempotency) = (None, None, None);
    let correlation = "salvage".into();
    let said = Envelope {
        clock: None,
        proof,
        actor,
        correlation,
        causation,
        idempotency,
        event: event.into(),
    };
    before.evolve(2, Time::from_nanoseconds(1), &said);
    assert_eq!(before.registrations().next().unwrap().status, "DOUBTED");
}

/// What the state no longer holds is found through the indexes: both are part of it.
#[test]
fn carried_indexes_and_what_was_forgotten_equal_what_they_were() {
    let mut world = small();
    let beginning = world.totals().last_sequence;
    let indexed =
        |sample: &Envelope| matches!(sample.event, Event::Log(LogEvent::SegmentIndexed(_)));
    for sample in samples().into_iter().filter(indexed) {
        world.judge_and_evolve(beginning + 1, world.totals().last_at, &sample);
    }
    assert_eq!(world.segment_indexes().iter().count(), 1);
    let mut sample = samples().remove(0);
    for number in 0..=MAX_RETIRED_KEYS as u64 {
        let key = sample.idempotency.get_or_insert_with(|| panic!("the sample has a key"));
        key.key = format!("one of many {number}");
        world.judge_and_evolve(beginning + 2 + number, world.totals().last_at, &sample);
    }
    assert!(world.keys_forgotten() > 0);
    let bytes = world.carry();
    let rooms: Vec<String> = sections_of(&bytes).into_iter().map(|(name, _, _)| name).collect();
    assert_eq!(rooms.last().map(String::as_str), Some("lost"));
    assert_eq!(rooms.iter().rev().nth(1).map(String::as_str), Some("segment_index"));
    assert_eq!(World::from_carried(&bytes), Ok(world.clone()));
    assert_eq!(
        World::from_snapshot(Arc::new(bytes.clone()), world.fingerprint_digest()),
        Ok(world)
    );
}

#[test]
fn a_state_is_taken_from_a_snapshot_only_with_its_fingerprint() {
    let (bytes, expected) = (small().carry(), small().fingerprint_digest());
    assert_eq!(World::from_snapshot(Arc::new(bytes.clone()), expected), Ok(small()));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let found = World::from_snapshot(Arc::new(damaged), expected);
        assert!(matches!(found, Err(CarriedError::OtherFingerprint { .. })), "byte {at}");
    }
}

/// What is asked for leaves the snapshot's bytes, and the rest is carried on in fewer and fewer.
#[test]
fn a_state_in_parts_goes_on_as_the_whole_one_and_is_carried_alike() {
    let (mut whole, bytes) = (with_threads(), with_threads().carry());
    let mut in_parts =
        World::from_snapshot(Arc::new(bytes.clone()), fingerprint_of(&bytes)).unwrap();
    let (first, at) = (whole.totals().last_sequence + 1, whole.totals().last_at);
    for (sequence, sample) in (first..).zip(samples()) {
        for world in [&mut whole, &mut in_parts] {
            world.judge_and_evolve(sequence, at, &sample);
        }
        if sequence.is_multiple_of(16) {
            assert_eq!(in_parts.carry_with_fingerprint(), whole.carry_with_fingerprint());
        }
    }
    assert_eq!(in_parts.read_whole(), Some(whole));
}

#[test]
fn carried_threads_and_registrations_equal_what_they_were() {
    let (world, bytes) = (with_threads(), with_threads().carry());
    let rooms: Vec<String> = sections_of(&bytes).into_iter().map(|(name, _, _)| name).collect();
    assert_eq!(rooms[5..], ["registry", "interruption_thread", "registry_ended", "lost"]);
    assert_eq!(World::from_carried(&bytes), Ok(world));
    for length in 0..bytes.len() {
        assert!(World::from_carried(&bytes[..length]).is_err(), "{length}");
    }
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 0xff;
        assert_canonical(&changed);
    }
}

/// The story of a state with decision points in every corner of their room.
fn with_decision_points() -> Story {
    let mut story = Story::new();
    every_corner(&mut story);
    story
}

#[test]
fn carried_decision_points_equal_what_they_were() {
    let story = with_decision_points();
    let (world, bytes) = (rebuilt(&story.records, World::default()), story.world.carry());
    let states: BTreeSet<_> = all_points(&world).iter().map(|point| point.state).collect();
    assert_eq!(states.into_iter().collect::<Vec<_>>(), DecisionPointState::ALL);
    let rooms: Vec<String> = sections_of(&bytes).into_iter().map(|(name, _, _)| name).collect();
    assert_eq!(rooms, ["totals", "decision_point"]);
    let taken_up = World::from_carried(&bytes).unwrap();
    assert_eq!(taken_up, world);
    assert_eq!(taken_up.fingerprint(), story.world.fingerprint());
    assert_eq!(taken_up.decision_point_totals(), story.world.decision_point_totals());
    for length in 0..bytes.len() {
        assert!(World::from_carried(&bytes[..length]).is_err(), "{length}");
    }
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 0xff;
        assert_canonical(&changed);
    }
}

/// What is looked up is made again, not carried.
#[test]
fn carried_decision_points_are_found_as_before() {
    let story = with_decision_points();
    let world = World::from_carried(&story.world.carry()).unwrap();
    let ids = |points: Vec<&DecisionPoint>| -> Vec<String> {
        points.iter().map(|point| point.decision_id.to_string()).collect()
    };
    let bound = |world: &World| ids(world.decisions_bound_to(&binding()).collect());
    let open = |world: &World| ids(world.open_decisions_of("gt-1").collect());
    assert_eq!((bound(&world).len(), open(&world).len()), (1, 3));
    assert_eq!((bound(&world), open(&world)), (bound(&story.world), open(&story.world)));
    for point in all_points(&story.world) {
        assert_eq!(world.decision_point(&point.decision_id), Some(point));
    }
    let end = Time::from_nanoseconds(u64::MAX);
    assert_eq!(world.next_due(), story.world.next_due());
    assert_eq!(world.due(end), story.world.due(end));
    assert_eq!(world.due(end).len(), world.live_decision_points().count());
}

fn all_points(world: &World) -> Vec<&DecisionPoint> {
    world.live_decision_points().chain(world.closed_decision_points()).collect()
}

#[test]
fn an_absent_room_is_empty_and_an_empty_room_is_absent() {
    assert_eq!(World::default().carry(), [0]);
    assert_eq!(World::from_carried(&[0]), Ok(World::default()));
    let sections = sections_of(&small().carry());
    for index in 0..sections.len() {
        let mut fewer = sections.clone();
        fewer.remove(index);
        let world = World::from_carried(&carried(&fewer)).unwrap();
        assert_eq!(sections_of(&world.carry()), fewer);
    }
    let no_loops = vec![("execution_loop".to_owned(), 3, vec![0])];
    let refused = World::from_carried(&carried(&no_loops));
    assert_eq!(refused, Err(CarriedError::NotCanonical { offset: 0 }));
}

#[test]
fn rooms_and_versions_of_a_newer_program_are_named() {
    let mut sections = sections_of(&small().carry());
    sections.push(("room to come".into(), 1, vec![0]));
    let refused = World::from_carried(&carried(&sections)).unwrap_err();
    assert_eq!(refused, CarriedError::UnknownRoom { found: "room to come".into() });
    assert!(refused.to_string().contains("newer holdpoint"), "{refused}");
    sections.pop();
    for found in [0, 3, u32::MAX] {
        sections[2].1 = found;
        let refused = World::from_carried(&carried(&sections)).unwrap_err();
        let (room, expected) = ("idempotency", 2);
        assert_eq!(refused, CarriedError::UnknownVersion { room, expected, found });
    }
}

#[test]
fn rooms_out_of_order_twice_or_too_long_are_refused() {
    let sections = sections_of(&small().carry());
    let mut swapped = sections.clone();
    swapped.swap(0, 1);
    let twice = [sections.clone(), vec![sections[4].clone()]].concat();
    for other in [swapped, twice] {
        let refused = World::from_carried(&carried(&other));
        assert!(matches!(refused, Err(CarriedError::NotCanonical { .. })), "{refused:?}");
    }
    let mut longer = sections;
    longer[3].2.push(0);
    let refused = World::from_carried(&carried(&longer));
    assert_eq!(refused, Err(CarriedError::Trailing { place: "totals", found: 1 }));
    let bytes = [small().carry(), vec![0]].concat();
    let place = "list of sections";
    assert_eq!(World::from_carried(&bytes), Err(CarriedError::Trailing { place, found: 1 }));
}

#[test]
fn every_prefix_is_refused() {
    let bytes = small().carry();
    for length in 0..bytes.len() {
        let refused = World::from_carried(&bytes[..length]);
        assert!(matches!(refused, Err(CarriedError::Malformed { .. })), "{length}: {refused:?}");
    }
}

#[test]
fn changed_bytes_never_panic_and_are_canonical_if_they_are_read() {
    let bytes = small().carry();
    let places = (0..bytes.len()).flat_map(|place| [0x01, 0x80, 0xff].map(|mask| (place, mask)));
    for (place, mask) in part(places.collect(), 10) {
        let mut changed = bytes.clone();
        changed[place] ^= mask;
        assert_canonical(&changed);
    }
}

/// Where nothing differs between two versions of a room, the number alone makes an older one of it.
#[test]
fn a_room_that_says_to_be_older_is_read_and_carried_in_the_newest_version() {
    let mut older = sections_of(&small().carry());
    older[0].1 -= 1;
    let older = carried(&older);
    assert_canonical(&older);
    assert_eq!(World::from_carried(&older), Ok(small()));
}

#[test]
fn random_rooms_never_panic_and_are_canonical_if_they_are_read() {
    let seed = seed();
    let mut random = Gen::from_size_and_seed(60, seed);
    let sections = sections_of(&small().carry());
    for _ in 0..5_000 {
        let mut other = sections.clone();
        let index = usize::arbitrary(&mut random) % other.len();
        let bytes = &mut other[index].2;
        let start = usize::arbitrary(&mut random) % bytes.len();
        let end = (start + usize::arbitrary(&mut random) % 9).min(bytes.len());
        bytes.splice(start..end, Vec::<u8>::arbitrary(&mut random));
        assert_canonical(&carried(&other));
        assert_canonical(&Vec::arbitrary(&mut random));
    }
}

/// Whatever is read can also be gone on from: a stray state is a state. What is read part by part
/// is found to be none where reading all of it at once says so.
fn assert_canonical(bytes: &[u8]) {
    let read = World::from_carried(bytes);
    let in_parts = World::from_snapshot(Arc::new(bytes.to_vec()), fingerprint_of(bytes));
    let is_state = matches!(read, Ok(_) | Err(CarriedError::NotCanonical { .. }));
    assert_eq!(in_parts.is_ok_and(|world| world.read_whole().is_some()), is_state, "{read:?}");
    let Ok(world) = read else { return };
    let again = world.carry();
    let versions = |bytes| sections_of(bytes).into_iter().map(|(_, version, _)| version);
    // A room in an older version is carried in the newest one from then on.
    if versions(bytes).eq(versions(&again)) {
        assert_eq!(again, bytes);
    }
    assert_eq!(World::from_carried(&again), Ok(world.clone()));
    let last = world.totals().last_sequence;
    let mut going_on = world;
    for (sequence, sample) in (last.saturating_add(1)..).zip(samples().iter().rev().take(9)) {
        going_on.judge_and_evolve(sequence, going_on.totals().last_at, sample);
    }
    drop(going_on.due(Time::from_nanoseconds(u64::MAX)));
}
