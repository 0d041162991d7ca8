//! What is generated out of any bytes is valid: it encodes, decodes to itself and may be recorded.

use arbitrary::{Arbitrary, Unstructured};
use holdpoint_domain::core::actor::{Actor, NamedUsers};
use holdpoint_domain::log::LogEvent;
use holdpoint_domain::world::REGISTRY;
use holdpoint_domain::world::envelope::{Encoded, decode, encode};
use holdpoint_domain::{Command, Envelope, Event, Time, World, decide};
use holdpoint_testing::story::seed;
use quickcheck::Gen;
use std::collections::BTreeSet;

const ROUNDS: usize = 20_000;

/// Values out of random bytes; the seed of a failure is printed.
fn generated<T: for<'a> Arbitrary<'a>>() -> impl Iterator<Item = T> {
    let seed = seed();
    let mut random = Gen::from_size_and_seed(400, seed);
    (0..ROUNDS).map(move |_| {
        let bytes: Vec<u8> = quickcheck::Arbitrary::arbitrary(&mut random);
        Unstructured::new(&bytes).arbitrary().unwrap()
    })
}

/// What SYSTEM states of newer rules is unknown, and so is a state under them.
fn of_known_rules(mut envelope: Envelope) -> Envelope {
    if let Event::Log(LogEvent::RulesAdopted(_)) = &envelope.event {
        envelope.actor.kind = Actor::Automation;
    }
    envelope
}

#[test]
fn generated_envelopes_decode_to_themselves_and_reach_every_kind() {
    let mut kinds = BTreeSet::new();
    for envelope in generated::<Envelope>().map(of_known_rules) {
        assert_eq!(envelope.check(), Ok(()));
        let Encoded { kind, version, payload } = encode(&envelope).unwrap();
        kinds.insert(kind);
        assert_eq!(decode(kind, version, &payload), Ok(envelope));
    }
    assert_eq!(kinds, REGISTRY.iter().map(|entry| entry.kind).collect());
}

#[test]
fn generated_commands_are_read_as_they_are_written_and_reach_every_name() {
    let mut names = BTreeSet::new();
    for mut command in generated::<Command>() {
        names.insert(command.name());
        let text = serde_json::to_string(&command).unwrap();
        let mut read = serde_json::from_str::<Command>(&text).unwrap();
        // The engine puts the numbers of people beside their names: no text states them.
        command.state_people(NamedUsers::default());
        read.state_people(NamedUsers::default());
        assert_eq!(read, command, "{text}");
    }
    assert_eq!(names, Command::NAMES.iter().copied().collect());
}

/// Whatever is recorded, in whatever order: the state can be carried, and every command answered.
#[test]
fn generated_records_lead_to_states_that_can_be_carried() {
    let mut world = World::default();
    let commands = generated::<Command>();
    for (index, (envelope, command)) in
        generated::<Envelope>().map(of_known_rules).zip(commands).enumerate()
    {
        world.judge_and_evolve(index as u64 + 1, Time::from_nanoseconds(index as u64), &envelope);
        drop(decide(&world, &command, world.totals().last_at));
        if index % 100 == 0 {
            assert_eq!(World::from_carried(&world.carry()), Ok(world.clone()));
        }
    }
}
