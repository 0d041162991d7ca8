//! The live state as bytes, so that a log may begin behind the records that made it (properties
//! E1 and E9).
//!
//! A carried state is a row of sections, one for each room of the state that is not empty: its
//! name, the version of what follows, and the room itself. A room that is absent is empty, so a
//! program with more rooms reads what one with fewer has written. What follows from the rooms is
//! not carried but made again.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::core::codec::{
    Before, Carrier, CheckpointBytes, Lazy, LazyPart, SharedBytes, configuration, read_first,
};
use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::core::text::{bounded, visible};
use crate::core::time::Timestamp;
use crate::decision_point::state::{DecisionPoint, DecisionPoints};
use crate::execution_loop::types::HaltReason;
use crate::governed::aggregate::ExecutionLoop;
use crate::human_decision::state::HeldRequest;
use crate::interruption_thread::state::Threads;
use crate::log::event::LogEvent;
use crate::log::state::UnprovenRecords;
use crate::registration::state::{HeldRegistrations, granted_by_unknown};
use crate::world::due::{Loops, Requests, RequestsCheckpoint};
use crate::world::event::{DecisionPointTotals, Event, SYSTEMS};
use crate::world::keys::{HeldKeys, Keys, Spelled as SpelledKeys};
use crate::world::person::Gates;
use crate::world::recalled::{KnownFingerprint, Origin, STATE_SCHEMA_VERSION, fingerprint_of};
use crate::world::refusal::CarriedError;
use crate::world::{LiveState, World};

/// The longest name of a room that an error shows, in bytes.
const SHOWN_NAME_BYTES_MAX: usize = 64;

/// One room of the state.
struct Room {
    name: &'static str,
    version: u32,
    write: fn(&LiveState, &mut CheckpointBytes),
    read: Read,
    /// Reads the versions before, from 1 on.
    older: &'static [Read],
}

type Read = fn(Source<'_>, &mut LiveState) -> Result<(), PartFault>;

/// Decodes a room, and makes anew what follows from it.
type Decode = fn(&mut LiveState);

/// The bytes of a room, and what they are a part of.
#[derive(Clone, Copy)]
struct Source<'a> {
    bytes: &'a [u8],
    of: &'a Arc<Carrier>,
}

impl<'a> Source<'a> {
    fn decoded<T: Deserialize<'a>>(self) -> Result<T, PartFault> {
        decoded(self.bytes)
    }

    /// The room as a whole, which is decoded when somebody asks for it.
    fn kept<T>(self) -> LazyPart<T> {
        self.of.part(self.bytes).into()
    }
}

/// A room that has had one version by now.
const fn first(
    name: &'static str,
    write: fn(&LiveState, &mut CheckpointBytes),
    read: Read,
) -> Room {
    Room { name, version: 1, write, read, older: &[] }
}

/// A room that is one field of the state.
macro_rules! of_field {
    ($name:literal, $($field:ident).+) => {
        first(
            $name,
            |hot, to| to.add(&hot.$($field).+),
            |room, hot| room.decoded().map(|read| hot.$($field).+ = read),
        )
    };
}

/// In the order in which they are carried. New rooms are added at the end.
const ROOMS: [Room; 24] = [
    Room {
        name: "execution_loop",
        version: 3,
        write: |hot, to| to.add(hot.loops.carried()),
        read: |room, hot| {
            hot.loops = Loops::from_carried(room.decoded()?, room.of);
            Ok(())
        },
        older: &[
            |room, hot| {
                let loops: Vec<Before<Box<ExecutionLoop>>> = room.decoded()?;
                for Before(entity) in loops {
                    hot.requests.follow(&entity);
                    hot.loops.insert(entity.loop_id().into(), entity);
                }
                Ok(())
            },
            |room, hot| {
                let loops: Vec<(Text, &[u8])> = room.decoded()?;
                for (id, entity) in loops {
                    let Before(entity): Before<Box<ExecutionLoop>> = decoded(entity)?;
                    hot.loops.insert(id, entity);
                }
                Ok(())
            },
        ],
    },
    Room {
        name: "human_decision",
        version: 3,
        write: |hot, to| to.add(&hot.requests),
        read: |room, hot| {
            hot.requests = Requests::from_carried(room.decoded()?, room.of);
            Ok(())
        },
        older: &[
            |room, hot| {
                let closed: Vec<Before<HeldRequest>> = room.decoded()?;
                closed.into_iter().for_each(|Before(held)| hot.requests.remember(held));
                Ok(())
            },
            |room, hot| {
                let (live, due, closed): RequestsCheckpoint<'_> = room.decoded()?;
                hot.requests = Requests::from_carried((live, due, Vec::new()), room.of);
                for (_, (_, held)) in closed {
                    let Before(held): Before<HeldRequest> = decoded(held)?;
                    hot.requests.remember(held);
                }
                Ok(())
            },
        ],
    },
    Room {
        name: "idempotency",
        version: 2,
        write: |hot, to| to.add_kept(hot.keys.held()),
        read: |room, hot| {
            hot.keys = Keys::of(room.kept());
            Ok(())
        },
        older: &[|room, hot| {
            hot.keys = Keys::of(Box::new(HeldKeys::from(room.decoded::<SpelledKeys>()?)));
            Ok(())
        }],
    },
    Room {
        name: "totals",
        version: 2,
        write: |hot, to| to.add(&hot.totals),
        read: |room, hot| room.decoded().map(|totals| hot.totals = totals),
        older: &[|room, hot| {
            let (newest, _, counts): (Newest, u64, Counts) = room.decoded()?;
            decoded(&encoded(&(newest, counts))).map(|totals| hot.totals = totals)
        }],
    },
    of_field!("configuration", configuration),
    Room {
        name: "registry",
        version: 3,
        write: |hot, to| to.add_kept(hot.registry.held()),
        read: |room, hot| {
            *hot.registry.held_mut() = room.kept();
            Ok(())
        },
        older: &[
            |room, hot| {
                let (granted, read) = read_first(room.bytes).map_err(PartFault::Malformed)?;
                let others = room.bytes.get(read..).unwrap_or_default();
                let held = [&encoded(&granted_by_unknown(granted)), others].concat();
                let Before(held): Before<HeldRegistrations> = decoded(&held)?;
                *hot.registry.held_mut() = Box::new(held).into();
                Ok(())
            },
            |room, hot| {
                let Before(held): Before<HeldRegistrations> = room.decoded()?;
                *hot.registry.held_mut() = Box::new(held).into();
                Ok(())
            },
        ],
    },
    first(
        "interruption_thread",
        |hot, to| {
            to.add(&hot.threads.carried());
            to.add_kept(hot.threads.past());
        },
        |room, hot| {
            let (live, read) = read_first(room.bytes).map_err(PartFault::Malformed)?;
            let past = Source { bytes: room.bytes.get(read..).unwrap_or_default(), ..room };
            hot.threads = Threads::from_carried(live, past.kept());
            Ok(())
        },
    ),
    Room {
        name: "decision_point",
        version: 3,
        write: |hot, to| to.add(&(hot.decision_points.carried(), hot.decision_point_totals)),
        read: |room, hot| {
            let ((live, closed), totals): ((_, Vec<_>), _) = room.decoded()?;
            let kept = |(at, (id, point)): (u64, (Text, &[u8]))| {
                (at, (id, Lazy::from(room.of.part(point))))
            };
            let closed = closed.into_iter().map(kept).collect();
            hot.decision_points = DecisionPoints::from_carried(live, closed);
            hot.decision_point_totals = totals;
            Ok(())
        },
        older: &[
            |room, hot| {
                let Before(((live, closed), totals)): Before<Spelled> = room.decoded()?;
                hot.decision_points = points_of_before(live, closed);
                hot.decision_point_totals = totals;
                Ok(())
            },
            |room, hot| {
                let Before(((live, closed), totals)): Before<SpelledApart<'_>> = room.decoded()?;
                let decode = |(at, (_, point)): (u64, (Text, &[u8]))| {
                    decoded::<Before<DecisionPoint>>(point).map(|Before(point)| (at, point))
                };
                let closed = closed.into_iter().map(decode).collect::<Result<_, _>>()?;
                hot.decision_points = points_of_before(live, closed);
                hot.decision_point_totals = totals;
                Ok(())
            },
        ],
    },
    first(
        "segment_index",
        |hot, to| to.add(&(&hot.indexes, hot.keys.forgotten(), hot.threads.forgotten())),
        |room, hot| {
            let (indexes, keys_forgotten, threads_forgotten) = room.decoded()?;
            hot.indexes = indexes;
            hot.keys.has_forgotten(keys_forgotten);
            hot.threads.has_forgotten(threads_forgotten);
            Ok(())
        },
    ),
    first(
        "registry_ended",
        |hot, to| to.add_kept(hot.registry.ended()),
        |room, hot| {
            *hot.registry.ended_mut() = room.kept();
            Ok(())
        },
    ),
    first(
        "thread_sessions",
        |hot, to| to.add(&hot.threads.sessions_since()),
        |room, hot| room.decoded().map(|since| hot.threads.has_followed_sessions(since)),
    ),
    first(
        "gate",
        |hot, to| to.add(&hot.gates),
        |room, hot| {
            let people = core::mem::take(&mut hot.gates.people);
            room.decoded().map(|gates| hot.gates = Gates { people, ..gates })
        },
    ),
    first(
        "unproven",
        |hot, to| to.add(&hot.unproven),
        |room, hot| {
            let ranges: Vec<(u64, u64)> = room.decoded()?;
            hot.unproven = UnprovenRecords::from_carried(&ranges);
            Ok(())
        },
    ),
    of_field!("rules", rules),
    of_field!("clock", set_back),
    first(
        "thread_plans",
        |hot, to| to.add(&hot.threads.plans()),
        |room, hot| room.decoded().map(|plans| hot.threads.have_plans(plans)),
    ),
    first(
        "application",
        |hot, to| to.add_kept(hot.streams.held()),
        |room, hot| {
            *hot.streams.held_mut() = room.kept();
            Ok(())
        },
    ),
    of_field!("lost", lost_before),
    of_field!("people", gates.people),
    of_field!("output", outputs),
    of_field!("limits", clocks),
    first(
        "thread_remainders",
        |hot, to| to.add(&(hot.threads.planned_remainders(), hot.threads.due_remainders())),
        |room, hot| {
            let (planned, due) = room.decoded()?;
            hot.threads.have_planned_remainders(planned);
            hot.threads.have_due_remainders(due);
            Ok(())
        },
    ),
    first(
        "decision_point_warnings",
        |hot, to| to.add(&hot.decision_points.warnings()),
        |room, hot| room.decoded().map(|given| hot.decision_points.have_warnings(given)),
    ),
    first(
        "thread_unsure_words",
        |hot, to| to.add(&hot.threads.planned_unsure()),
        |room, hot| room.decoded().map(|unsure| hot.threads.have_planned_unsure(unsure)),
    ),
];

/// Decision points as they were carried before those that ended were decoded one by one.
type Spelled = ((Vec<DecisionPoint>, Vec<(u64, DecisionPoint)>), DecisionPointTotals);

/// Decision points as they were carried before anybody reported an outcome.
type SpelledApart<'a> = ((Vec<DecisionPoint>, Vec<(u64, (Text, &'a [u8]))>), DecisionPointTotals);

/// Those that were carried so, each of them decoded.
fn points_of_before(live: Vec<DecisionPoint>, closed: Vec<(u64, DecisionPoint)>) -> DecisionPoints {
    let kept = |(at, point): (u64, DecisionPoint)| {
        (at, (point.decision_id.clone(), Lazy::from(Box::new(point))))
    };
    DecisionPoints::from_carried(live, closed.into_iter().map(kept).collect())
}

/// Totals as they were carried with a count of what the rules forbid: what stood before it, and
/// behind it.
type Newest = (u64, u64, Timestamp);
type Counts = ([u64; 9], BTreeMap<HaltReason, u64>);

impl World {
    /// The live state as bytes; what settled is left out. Equal states give equal bytes, and the
    /// bytes give a state with the same fingerprint.
    #[must_use]
    pub fn carry(&self) -> Vec<u8> {
        let mut carried = Vec::with_capacity(self.fingerprint.length());
        self.carry_into(&mut carried);
        carried
    }

    /// Does the same as [`World::carry`], into room that was used before.
    pub(crate) fn carry_into(&self, room: &mut Vec<u8>) {
        let mut carried = CheckpointBytes(core::mem::take(room));
        carried.0.clear();
        let (nothing, mut empty) = (LiveState::default(), CheckpointBytes(Vec::new()));
        let gap = carried.leave_gap();
        let mut sections: u64 = 0;
        for room in &ROOMS {
            empty.0.clear();
            (room.write)(&nothing, &mut empty);
            sections += u64::from(carried.add_section(room, &self.hot, &empty.0));
        }
        carried.close(gap, sections);
        self.fingerprint.was_carried(carried.0.len());
        *room = carried.0;
    }

    /// The world whose live state was carried: every record that follows does to it what it did to
    /// the other. It keeps live entities only; see [`World::keeping_settled`].
    ///
    /// The bytes need not be trusted: nothing is allocated for a length that they merely claim.
    /// Whoever knows the state's fingerprint compares it. A state that an older program carried
    /// is read, and not compared with how this one carries it.
    ///
    /// # Errors
    /// [`CarriedError`] names the place, what was expected and what was found. No input panics.
    pub fn from_carried(bytes: &[u8]) -> Result<Self, CarriedError> {
        let (mut world, is_current) = Self::of_sections(Arc::new(Vec::from(bytes)))?;
        world.decode()?;
        let again = if is_current { world.carry() } else { Vec::from(bytes) };
        if again == bytes {
            return Ok(world);
        }
        let offset = again.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        Err(CarriedError::NotCanonical { offset })
    }

    /// Reads like [`World::from_carried`] for bytes that are believed only where they have this
    /// fingerprint: nothing else than what [`World::carry`] gave has it.
    ///
    /// Of what is there in numbers, each part is decoded when it is first asked for. So whoever
    /// relies on what the state says asks [whether it could be](World::is_readable), behind that.
    ///
    /// # Errors
    /// [`CarriedError::OtherFingerprint`], before the bytes are looked at; else as
    /// [`World::from_carried`], but for those parts.
    pub fn from_snapshot(bytes: SharedBytes, expected: Digest) -> Result<Self, CarriedError> {
        let found = fingerprint_of((*bytes).as_ref());
        if found != expected {
            return Err(CarriedError::OtherFingerprint { expected, found });
        }
        let (world, is_current) = Self::of_sections(bytes)?;
        Ok(Self { fingerprint: KnownFingerprint::of(is_current.then_some(found)), ..world })
    }

    /// Reads like [`World::from_snapshot`] for bytes that are believed only where this event states
    /// their fingerprint, of this program's schema.
    #[must_use]
    pub fn stated_by(bytes: SharedBytes, event: &Event) -> Option<Self> {
        let Event::Log(LogEvent::FingerprintRecorded(stated)) = event else { return None };
        let is_ours = stated.schema == STATE_SCHEMA_VERSION;
        is_ours.then(|| Self::from_snapshot(bytes, stated.fingerprint).ok()).flatten()
    }

    /// Says as well whether every room is in the version that this program writes.
    fn of_sections(bytes: SharedBytes) -> Result<(Self, bool), CarriedError> {
        let origin = Origin::of((*bytes).as_ref());
        let carrier = Carrier::new(bytes, origin.unreadable.clone());
        let sections: Vec<Section<'_>> =
            decoded(carrier.bytes()).map_err(|fault| fault.at("list of sections"))?;
        let mut hot = LiveState::default();
        let mut is_current = true;
        for section in &sections {
            is_current &= section.read(&carrier, &mut hot)?;
        }
        hot.rules.check_own(SYSTEMS)?;
        Ok((Self { hot, origin, ..Self::default() }, is_current))
    }

    /// Decodes what is decoded when it is asked for, and makes anew what follows from it.
    fn decode(&mut self) -> Result<(), CarriedError> {
        let rooms: [(&str, Decode); 8] = [
            ("execution_loop", |hot| hot.loops.decode()),
            ("human_decision", |hot| hot.requests.decode(&hot.loops)),
            ("idempotency", |hot| hot.keys.held_mut().decode()),
            ("registry", |hot| hot.registry.held_mut().decode()),
            ("interruption_thread", |hot| hot.threads.past_mut().decode()),
            ("decision_point", |hot| hot.decision_points.decode()),
            ("registry_ended", |hot| hot.registry.ended_mut().decode()),
            ("application", |hot| hot.streams.held_mut().decode()),
        ];
        for (place, decode) in rooms {
            decode(&mut self.hot);
            if !self.is_readable() {
                return Err(PartFault::Malformed(String::from("one of its parts")).at(place));
            }
        }
        Ok(())
    }
}

/// Room for a number that says how much follows: fewer than four gigabytes.
const GAP: [u8; 5] = [0; 5];

/// The length of a room stands before it, and is known behind it.
impl CheckpointBytes {
    /// A room that is kept as it was, or has changed.
    fn add_kept<T: Serialize + DeserializeOwned + Default>(&mut self, room: &LazyPart<T>) {
        match room.carried() {
            Some(bytes) => self.0.extend_from_slice(bytes),
            None => self.add(&**room),
        }
    }

    /// Adds a section, unless its room is empty. Says whether it was added.
    fn add_section(&mut self, room: &Room, hot: &LiveState, empty: &[u8]) -> bool {
        let begin = self.0.len();
        self.add(&(room.name, room.version));
        let gap = self.leave_gap();
        (room.write)(hot, self);
        let bytes = self.0.get(gap.end..).unwrap_or_default();
        if bytes == empty {
            self.0.truncate(begin);
            return false;
        }
        let length = bytes.len() as u64;
        self.close(gap, length);
        true
    }

    /// Leaves room for how much or how many follow.
    fn leave_gap(&mut self) -> Range<usize> {
        let start = self.0.len();
        self.0.extend_from_slice(&GAP);
        start..self.0.len()
    }

    /// Says it. What follows moves up where that takes less room: then it is short itself.
    fn close(&mut self, gap: Range<usize>, number: u64) {
        self.0.splice(gap, encoded(&number));
    }
}

/// A section whose room has not been read yet.
#[derive(Deserialize)]
struct Section<'a> {
    name: &'a str,
    version: u32,
    bytes: &'a [u8],
}

impl Section<'_> {
    /// Says whether it is in the version that this program writes.
    fn read(&self, of: &Arc<Carrier>, hot: &mut LiveState) -> Result<bool, CarriedError> {
        let Some(room) = ROOMS.iter().find(|room| room.name == self.name) else {
            let found = visible(bounded(self.name, SHOWN_NAME_BYTES_MAX)).to_string();
            return Err(CarriedError::UnknownRoom { found });
        };
        let (expected, found) = (room.version, self.version);
        let older = || room.older.get(usize::try_from(found).ok()?.checked_sub(1)?);
        let read = if found == expected { Some(&room.read) } else { older() };
        let Some(read) = read else {
            return Err(CarriedError::UnknownVersion { room: room.name, expected, found });
        };
        let source = Source { bytes: self.bytes, of };
        read(source, hot).map_err(|fault| fault.at(room.name))?;
        Ok(found == expected)
    }
}

/// Fault of a part, before it is known where.
enum PartFault {
    Malformed(String),
    Trailing(usize),
}

impl PartFault {
    fn at(self, place: &'static str) -> CarriedError {
        match self {
            Self::Malformed(reason) => CarriedError::Malformed { place, reason },
            Self::Trailing(found) => CarriedError::Trailing { place, found },
        }
    }
}

fn encoded<T: Serialize>(value: &T) -> Vec<u8> {
    bincode::serde::encode_to_vec(value, configuration())
        .expect("the state holds only types that encode, and memory takes every byte")
}

fn decoded<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, PartFault> {
    let (value, read) = read_first(bytes).map_err(PartFault::Malformed)?;
    match bytes.len().saturating_sub(read) {
        0 => Ok(value),
        found => Err(PartFault::Trailing(found)),
    }
}
