//! Payloads, events and commands: of any bytes and of valid parts, decoded, encoded, applied to a
//! state, and the state carried.

use arbitrary::Unstructured;
use holdpoint_domain::core::actor::{Actor, Principal};
use holdpoint_domain::world::envelope::{decode, encode};
use holdpoint_domain::{
    ActorId, Command, Envelope, Event, Time, World, WriterCommand, decide, decide_for_writer,
    kind_name,
};
use std::fmt;

/// Kind, version and length of a payload stand before it, so that an input holds several.
const PREFIX_LENGTH: usize = 4;

/// Most events or commands of one input.
const STEPS_MAX: usize = 40;

/// Reads what the first byte says, and asserts what must hold whatever it is.
pub fn read(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    match first % 4 {
        0 => payloads(rest),
        1 => carried(rest),
        // An input that is used up says nothing more.
        2 => drop(envelopes(&mut Unstructured::new(rest))),
        _ => drop(commands(&mut Unstructured::new(rest))),
    }
}

/// Payloads of any bytes in a row.
fn payloads(bytes: &[u8]) {
    let mut worlds = Worlds::default();
    let mut rest = bytes;
    while let Some(([kind, version, low, high], behind)) = rest.split_first_chunk::<PREFIX_LENGTH>()
    {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
        let (payload, next) = behind.split_at(length);
        let kind = u16::from(*kind);
        if let Ok(envelope) = decode(kind, *version, payload) {
            let encoded = encode(&envelope).expect("no longer than a payload may be");
            assert_eq!(encoded.kind, kind);
            // What an older version wrote is written in the newest one.
            if encoded.version == *version {
                assert_eq!(encoded.payload, payload, "what decodes encodes to the same bytes");
            }
            assert_eq!(kind_name(kind), Some(envelope.event.kind().name));
            worlds.evolve(&envelope);
        }
        rest = next;
    }
    worlds.check();
}

/// A carried state of any bytes.
fn carried(bytes: &[u8]) {
    let Ok(world) = World::from_carried(bytes) else { return };
    let again = world.carry();
    if again != bytes {
        // A room of an older version is carried on in today's.
        let same = World::from_carried(&again).expect("what is carried can be taken up");
        assert_eq!(same, world, "the same state, however it was carried");
        assert_eq!(same.carry(), again, "what decodes encodes to the same bytes");
    }
    check_carried(&world);
}

/// Events that anybody might have recorded: all of them are encoded, and applied to any state.
fn envelopes(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let mut worlds = Worlds::default();
    for envelope in input.arbitrary_iter::<Envelope>()?.take(STEPS_MAX) {
        let envelope = envelope?;
        check_codec(&envelope);
        worlds.evolve(&envelope);
    }
    worlds.check();
    Ok(())
}

/// Commands on the state that they made: whatever is decided can be recorded, and the rules forbid
/// nothing of it.
fn commands(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let mut worlds = Worlds::default();
    while !input.is_empty() && worlds.sequence < STEPS_MAX as u64 * 4 {
        worlds.pass(input.arbitrary()?);
        match input.arbitrary()? {
            true => given(&mut worlds, &input.arbitrary()?),
            false => told(&mut worlds, &input.arbitrary()?),
        }
    }
    worlds.check();
    Ok(())
}

/// A caller's command.
fn given(worlds: &mut Worlds, command: &Command) {
    let actor = giver(command);
    let is_asked_for = command.check_form().is_ok()
        && worlds.live.check_caller(&actor, command).is_ok()
        && worlds.live.check_person(&actor, None, command).is_ok();
    if !is_asked_for {
        return;
    }
    let decided = decide(&worlds.live, command, worlds.now()).unwrap_or_default();
    settle(worlds, decided, &actor, &format_args!("{command:?}"));
}

/// What the log's own writer says.
fn told(worlds: &mut Worlds, command: &WriterCommand) {
    let actor = ActorId { kind: Actor::System, id: "holdpoint".into() };
    let decided = decide_for_writer(&worlds.live, command, worlds.now()).unwrap_or_default();
    settle(worlds, decided, &actor, &format_args!("{command:?}"));
}

fn settle(worlds: &mut Worlds, decided: Vec<Event>, actor: &ActorId, by: &fmt::Arguments<'_>) {
    for event in decided {
        let envelope = recorded(event, actor);
        check_codec(&envelope);
        let forbidden = worlds.evolve(&envelope);
        assert_eq!(forbidden, 0, "{by} decided what is forbidden: {envelope:?}");
    }
}

/// Whoever gives a command, where the command says who.
fn giver(command: &Command) -> ActorId {
    let fuzz = || ActorId { kind: Actor::Automation, id: "fuzz".into() };
    command.principal().map_or_else(fuzz, Principal::actor)
}

fn recorded(event: Event, actor: &ActorId) -> Envelope {
    Envelope {
        clock: None,
        proof: None,
        actor: actor.clone(),
        correlation: "fuzz".into(),
        causation: None,
        idempotency: None,
        event,
    }
}

fn check_codec(envelope: &Envelope) {
    let encoded = encode(envelope).expect("no longer than a payload may be");
    let decoded = decode(encoded.kind, encoded.version, &encoded.payload);
    assert_eq!(decoded.as_ref(), Ok(envelope), "what is encoded decodes to itself");
}

fn check_carried(world: &World) {
    let carried = world.carry();
    let again = World::from_carried(&carried).expect("what is carried is taken up again");
    assert_eq!(again.fingerprint(), world.fingerprint());
    assert_eq!(again.carry(), carried);
}

/// One state in two forms: with live entities only, and with what settled.
struct Worlds {
    live: World,
    retaining: World,
    sequence: u64,
    seconds: u64,
}

impl Default for Worlds {
    fn default() -> Self {
        let (live, retaining) = (World::default(), World::default().keeping_settled());
        Self { live, retaining, sequence: 0, seconds: 1_700_000_000 }
    }
}

impl Worlds {
    fn pass(&mut self, seconds: u16) {
        self.seconds += u64::from(seconds);
    }

    fn now(&self) -> Time {
        Time::from_nanoseconds(self.seconds * 1_000_000_000)
    }

    /// Applies an event to both; how many rules forbid it.
    fn evolve(&mut self, envelope: &Envelope) -> usize {
        self.sequence += 1;
        let (sequence, now) = (self.sequence, self.now());
        let forbidden = self.live.judge_and_evolve(sequence, now, envelope);
        let again = self.retaining.judge(sequence, now, envelope);
        assert_eq!(forbidden, again, "the judgement is a function of the log");
        self.retaining.evolve(sequence, now, envelope);
        forbidden.len()
    }

    fn check(&self) {
        let fingerprint = self.live.fingerprint();
        assert_eq!(fingerprint, self.retaining.fingerprint(), "what is kept is not in the state");
        let _ = (self.live.view(), self.retaining.view());
        check_carried(&self.live);
    }
}
