//! Knowledge beside the state: what the log says of what it has forgotten, for the command in hand;
//! the snapshot in which those of its parts are that nobody has asked for yet; and the one number
//! that the live state is (property E1).

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;

use crate::core::codec::{Carrier, Part, Unreadable};
use crate::core::forbidden::Rule;
use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::decision_point::state::DecisionPoint;
use crate::interruption_thread::event::InterruptionThreadEvent;
use crate::interruption_thread::state::ClosedThread;
use crate::registration::event::RegistrationEvent;
use crate::registration::state::Registry;
use crate::world::event::Event;
use crate::world::index_terms::{Term, term_of_new, term_of_registration};
use crate::world::{LiveState, World};

/// Facts that were found again: of most commands nothing, and then it is nothing to carry about.
/// Each is what the log says: the rules believe it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recalled(Option<Box<RecalledFacts>>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct RecalledFacts {
    /// A thread that was closed, and with which record.
    closed_thread: Option<ClosedThread>,
    /// The id of a loop, request or decision point that the command would begin, and that one had
    /// before.
    used_id: Option<String>,
    /// The session and the work order that the command names, as they were registered last.
    registrations: Registry,
    /// The stream that the command is about, and its last event.
    stream: Option<(String, u64)>,
    /// The decision point that the command is about: it ended.
    decision_point: Option<DecisionPoint>,
}

impl Recalled {
    fn found(&mut self) -> &mut RecalledFacts {
        self.0.get_or_insert_default()
    }

    pub(crate) fn take_used_id(&mut self, id: String) {
        self.found().used_id = Some(id);
    }

    pub(crate) fn used_id(&self) -> Option<&str> {
        self.0.as_ref()?.used_id.as_deref()
    }

    /// A thread was closed with this record.
    pub fn thread_was_closed(&mut self, tenant_id: &str, correlation_id: &str, sequence: u64) {
        let key = (Text::from(tenant_id), Text::from(correlation_id));
        self.found().closed_thread = Some((key, sequence));
    }

    pub(crate) fn closed_thread(&self) -> Option<&ClosedThread> {
        self.0.as_ref()?.closed_thread.as_ref()
    }

    /// A session or a work order was registered like this, last.
    pub fn was_registered(&mut self, event: &RegistrationEvent) {
        self.found().registrations.apply(event, 0);
    }

    pub(crate) fn registrations(&self) -> Option<&Registry> {
        self.0.as_ref().map(|found| &found.registrations)
    }

    /// A stream's last event is this record.
    pub fn stream_came_to(&mut self, stream: &str, sequence: u64) {
        self.found().stream = Some((String::from(stream), sequence));
    }

    pub(crate) fn stream(&self, stream: &str) -> Option<u64> {
        let found = self.0.as_ref()?.stream.as_ref();
        found.filter(|(name, _)| name == stream).map(|(_, version)| *version)
    }

    /// A decision point went like this. One that is not over is in the state, and not taken.
    pub fn decision_point_ended(&mut self, point: DecisionPoint) {
        if !point.is_live() {
            self.found().decision_point = Some(point);
        }
    }

    pub(crate) fn decision_point(&self) -> Option<&DecisionPoint> {
        self.0.as_ref()?.decision_point.as_ref()
    }
}

/// Entity that begins, and once only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewEntity<'e> {
    /// Term by which it is looked up.
    pub term: Term<'e>,
    /// The rule by which nothing else ever begins under the same term.
    pub rule: Rule,
}

impl World {
    /// Returns what would begin with an event in this very world: under an id of its own, or under
    /// a name that the state does not know. Whether something had the same long ago, the state has
    /// forgotten.
    #[must_use]
    pub fn begins_with<'e>(&self, event: &'e Event) -> Option<NewEntity<'e>> {
        let (term, rule) = match event {
            Event::ExecutionLoop(_) => (term_of_new(event)?, Rule::Initialization),
            Event::HumanDecision(_) => (term_of_new(event)?, Rule::HumanDecisionRequest),
            Event::DecisionPoint(_) => (term_of_new(event)?, Rule::DecisionPointTerms),
            Event::InterruptionThread(event) => self.thread_begins_with(event)?,
            Event::Registration(event) => {
                let term = term_of_registration(event)?;
                (!self.knows_registration(&term)).then_some((term, Rule::Registration))?
            }
            Event::Log(_)
            | Event::EvidenceCapture(_)
            | Event::SandboxFault(_)
            | Event::Application(_) => return None,
        };
        Some(NewEntity { term, rule })
    }

    fn thread_begins_with<'e>(
        &self,
        event: &'e InterruptionThreadEvent,
    ) -> Option<(Term<'e>, Rule)> {
        let is_row = matches!(event, InterruptionThreadEvent::RowCommitted(_));
        if !is_row && !matches!(event, InterruptionThreadEvent::TurnTaken(_)) {
            return None;
        }
        let rule = if is_row { Rule::ThreadRow } else { Rule::ThreadTurn };
        let (tenant, correlation) = event.thread();
        let is_new = self.live_thread(tenant, correlation).is_none();
        is_new.then_some((Term::Thread { tenant, correlation }, rule))
    }
}

impl World {
    /// The same world, where every part of it can be decoded, so that all that it says can be
    /// relied on; else `None`.
    #[must_use]
    pub fn read_whole(self) -> Option<Self> {
        let LiveState {
            loops, requests, keys, registry, threads, decision_points, streams, ..
        } = &self.hot;
        loops.check();
        requests.check();
        keys.held().check();
        registry.held().check();
        registry.ended().check();
        threads.past().check();
        decision_points.closed.values().for_each(|(_, point)| point.check());
        streams.held().check();
        self.is_readable().then_some(self)
    }

    /// Returns whether every part of a [snapshot](World::from_snapshot) that was asked for could be
    /// decoded. Where one could not, another version's program or a mistake made the snapshot: what
    /// the state said since is not to be relied on, and it is to be made anew from the records.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        !self.origin.unreadable.is_noted()
    }

    /// Keeps no bytes of a snapshot for the sake of a few parts that were not asked for yet.
    pub(crate) fn let_go(&mut self) {
        let held = self.hot.parts().map(|part| part.bytes().len()).sum::<usize>();
        if self.origin.length == 0 || held > self.origin.length / 2 {
            return;
        }
        self.origin.length = held;
        let mut bytes = Vec::with_capacity(held);
        self.hot.parts().for_each(|part| bytes.extend_from_slice(part.bytes()));
        let carrier = Carrier::new(Arc::new(bytes), self.origin.unreadable.clone());
        let mut start = 0;
        for part in self.hot.parts() {
            let length = part.bytes().len();
            part.move_to(&carrier, start);
            start += length;
        }
    }
}

impl LiveState {
    /// Returns what is carried on as it was carried.
    fn parts(&mut self) -> impl Iterator<Item = &mut Part> {
        let Self { loops, requests, keys, registry, threads, decision_points, streams, .. } = self;
        let rooms = [
            keys.held_mut().part_mut(),
            threads.past_mut().part_mut(),
            streams.held_mut().part_mut(),
        ];
        let rooms = rooms.into_iter().chain(registry.parts()).flatten();
        loops.parts().chain(requests.parts()).chain(decision_points.parts()).chain(rooms)
    }
}

/// Origin of a state. It is no part of the world.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    pub(crate) unreadable: Unreadable,
    /// So many bytes are held for the parts that were not asked for yet.
    length: usize,
}

impl Origin {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { unreadable: Unreadable::default(), length: bytes.len() }
    }
}

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Origin {}

/// The version of the state's encoding. It rises whenever the same events give other bytes, and
/// a fingerprint recorded under another version is then "not checked" instead of wrong.
pub const STATE_SCHEMA_VERSION: u32 = 12;

impl World {
    /// BLAKE3 over a tag, the schema version and the live state as [`World::carry`] gives it: from
    /// it everything else in the live state follows. Equal for worlds that keep what settles and
    /// worlds that do not.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        *fingerprint_of(&self.carry()).as_bytes()
    }

    /// The live state as [`World::carry`] gives it, and its fingerprint: for whoever records it
    /// next, which then computes neither again.
    #[must_use]
    pub fn carry_with_fingerprint(&mut self) -> (Vec<u8>, Digest) {
        let carried = self.carry();
        let fingerprint = fingerprint_of(&carried);
        self.fingerprint.digest = Some(fingerprint);
        self.let_go();
        (carried, fingerprint)
    }

    /// The fingerprint, computed unless it just was: always in the same room, for whoever asks it
    /// again and again.
    pub(crate) fn known_fingerprint(&self) -> Digest {
        self.fingerprint.digest.unwrap_or_else(|| {
            let mut room = self.fingerprint.room.take();
            self.carry_into(&mut room);
            let fingerprint = fingerprint_of(&room);
            self.fingerprint.room.set(room);
            fingerprint
        })
    }

    /// The live state has changed.
    pub(crate) const fn forget_fingerprint(&mut self) {
        self.fingerprint.digest = None;
    }

    /// The same, as a digest with a text.
    #[must_use]
    pub fn fingerprint_digest(&self) -> Digest {
        fingerprint_of(&self.carry())
    }
}

/// The fingerprint of the live state as it is, where it was just computed, and what computing it
/// took. All of it follows from that state, and so is no part of the world: however it is, worlds
/// are equal that are so without it.
#[derive(Default)]
pub(crate) struct KnownFingerprint {
    digest: Option<Digest>,
    /// In which the state was carried, to be hashed.
    room: Cell<Vec<u8>>,
    /// Number of bytes it was last.
    length: Cell<usize>,
}

impl KnownFingerprint {
    pub(crate) fn of(digest: Option<Digest>) -> Self {
        Self { digest, ..Self::default() }
    }

    /// About how many bytes are carried.
    pub(crate) fn length(&self) -> usize {
        self.length.get()
    }

    pub(crate) fn was_carried(&self, length: usize) {
        self.length.set(length);
    }
}

impl Clone for KnownFingerprint {
    fn clone(&self) -> Self {
        Self { digest: self.digest, room: Cell::default(), length: self.length.clone() }
    }
}

impl fmt::Debug for KnownFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digest.fmt(f)
    }
}

impl PartialEq for KnownFingerprint {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for KnownFingerprint {}

/// The fingerprint of a state that was carried.
#[must_use]
pub fn fingerprint_of(carried: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("holdpoint world fingerprint");
    hasher.update(&STATE_SCHEMA_VERSION.to_le_bytes());
    hasher.update(carried);
    Digest::from_bytes(*hasher.finalize().as_bytes())
}
