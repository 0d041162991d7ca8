//! The hot state as bytes, so that a log may begin behind the records that made it.
//!
//! A carried state is a row of sections, one for each room of the state that is not empty: its
//! name, the version of what follows, and the room itself. A room that is absent is empty, so a
//! program with more rooms reads what one with fewer has written. What follows from the rooms is
//! not carried but made again.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::fingerprint::fingerprint_of;
use super::{DecisionPoints, ExecutionLoop, HeldRequest, Hot, Requests, Threads, World};
use crate::codec::{borrow_first, configuration};
use crate::hash::Digest;
use crate::text::{bounded, visible};

/// The longest name of a room that an error shows, in bytes.
const SHOWN_NAME_BYTES_MAX: usize = 64;

/// One room of the state.
struct Room {
    name: &'static str,
    version: u32,
    write: fn(&Hot) -> Vec<u8>,
    read: fn(&[u8], &mut Hot) -> Result<(), Fault>,
}

/// In the order in which they are carried. New rooms are added at the end.
const ROOMS: [Room; 9] = [
    Room {
        name: "execution_loop",
        version: 1,
        write: |hot| encoded(&hot.loops.values().collect::<Vec<_>>()),
        read: |bytes, hot| {
            let loops: Vec<ExecutionLoop> = decoded(bytes)?;
            let by_id = |entity: ExecutionLoop| (String::from(entity.loop_id()), entity);
            hot.loops = loops.into_iter().map(by_id).collect();
            Ok(())
        },
    },
    Room {
        name: "human_decision",
        version: 1,
        write: |hot| encoded(&hot.requests.closed().collect::<Vec<_>>()),
        read: |bytes, hot| {
            let closed: Vec<HeldRequest> = decoded(bytes)?;
            hot.requests = Requests::remembering(closed);
            Ok(())
        },
    },
    Room {
        name: "idempotency",
        version: 1,
        write: |hot| encoded(&hot.keys),
        read: |bytes, hot| decoded(bytes).map(|keys| hot.keys = keys),
    },
    Room {
        name: "totals",
        version: 1,
        write: |hot| encoded(&hot.totals),
        read: |bytes, hot| decoded(bytes).map(|totals| hot.totals = totals),
    },
    Room {
        name: "configuration",
        version: 1,
        write: |hot| encoded(&hot.configuration),
        read: |bytes, hot| decoded(bytes).map(|digest| hot.configuration = digest),
    },
    Room {
        name: "registry",
        version: 1,
        write: |hot| encoded(&hot.registry),
        read: |bytes, hot| decoded(bytes).map(|registry| hot.registry = registry),
    },
    Room {
        name: "interruption_thread",
        version: 1,
        write: |hot| encoded(&hot.threads.carried()),
        read: |bytes, hot| {
            let (live, closed, ended) = decoded(bytes)?;
            hot.threads = Threads::from_carried(live, closed, ended);
            Ok(())
        },
    },
    Room {
        name: "decision_point",
        version: 1,
        write: |hot| encoded(&(hot.decision_points.carried(), hot.decision_point_totals)),
        read: |bytes, hot| {
            let (points, totals) = decoded(bytes)?;
            hot.decision_points = DecisionPoints::from_carried(points);
            hot.decision_point_totals = totals;
            Ok(())
        },
    },
    Room {
        name: "segment_index",
        version: 1,
        write: |hot| encoded(&(&hot.indexes, hot.keys.forgotten(), hot.threads.forgotten())),
        read: |bytes, hot| {
            let (indexes, keys_forgotten, threads_forgotten) = decoded(bytes)?;
            hot.indexes = indexes;
            hot.keys.has_forgotten(keys_forgotten);
            hot.threads.has_forgotten(threads_forgotten);
            Ok(())
        },
    },
];

impl World {
    /// The hot state as bytes; what settled is left out. Equal states give equal bytes, and the
    /// bytes give a state with the same fingerprint.
    #[must_use]
    pub fn carry(&self) -> Vec<u8> {
        let nothing = Hot::default();
        let section = |room: &Room| {
            let bytes = (room.write)(&self.hot);
            (bytes != (room.write)(&nothing)).then_some((room.name, room.version, bytes))
        };
        encoded(&ROOMS.iter().filter_map(section).collect::<Vec<_>>())
    }

    /// The world whose hot state was carried: every record that follows does to it what it did to
    /// the other. It keeps live entities only; see [`World::keeping_settled`].
    ///
    /// The bytes need not be trusted: nothing is allocated for a length that they merely claim.
    /// Whoever knows the state's fingerprint compares it.
    ///
    /// # Errors
    /// [`CarriedError`] names the place, what was expected and what was found. No input panics.
    pub fn from_carried(bytes: &[u8]) -> Result<Self, CarriedError> {
        let world = Self::of_sections(bytes)?;
        let again = world.carry();
        if again == bytes {
            return Ok(world);
        }
        let offset = again.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        Err(CarriedError::NotCanonical { offset })
    }

    /// As [`World::from_carried`] for bytes that are believed only where they have this
    /// fingerprint: nothing else than what [`World::carry`] gave has it.
    ///
    /// # Errors
    /// [`CarriedError::OtherFingerprint`], before the bytes are looked at; else as
    /// [`World::from_carried`].
    pub fn from_snapshot(bytes: &[u8], expected: Digest) -> Result<Self, CarriedError> {
        let found = fingerprint_of(bytes);
        if found != expected {
            return Err(CarriedError::OtherFingerprint { expected, found });
        }
        Self::of_sections(bytes)
    }

    fn of_sections(bytes: &[u8]) -> Result<Self, CarriedError> {
        let sections: Vec<Section<'_>> =
            decoded(bytes).map_err(|fault| fault.at("list of sections"))?;
        let mut hot = Hot::default();
        for section in &sections {
            section.read(&mut hot)?;
        }
        hot.loops.values().for_each(|entity| hot.requests.follow(entity));
        Ok(Self { hot, ..Self::default() })
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
    fn read(&self, hot: &mut Hot) -> Result<(), CarriedError> {
        let Some(room) = ROOMS.iter().find(|room| room.name == self.name) else {
            let found = visible(bounded(self.name, SHOWN_NAME_BYTES_MAX)).to_string();
            return Err(CarriedError::UnknownRoom { found });
        };
        let (expected, found) = (room.version, self.version);
        if found != expected {
            return Err(CarriedError::UnknownVersion { room: room.name, expected, found });
        }
        (room.read)(self.bytes, hot).map_err(|fault| fault.at(room.name))
    }
}

/// Why bytes are no carried state.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CarriedError {
    /// A room that this program does not have.
    #[error("the carried state has a room {found:?}, which is unknown; use a newer holdpoint")]
    UnknownRoom {
        /// Its name, shortened and made visible.
        found: String,
    },
    /// A room in a version that this program does not read.
    #[error(
        "the room {room} of the carried state has version {found}, and this program reads \
         version {expected}; use the holdpoint that wrote it, or a newer one"
    )]
    UnknownVersion {
        /// The room.
        room: &'static str,
        /// The version that is read.
        expected: u32,
        /// The version that was found.
        found: u32,
    },
    /// The bytes are not a value of the expected type.
    #[error("the {place} of the carried state is malformed: {reason}; restore it from a copy")]
    Malformed {
        /// The room, or the list of sections.
        place: &'static str,
        /// What the decoder says.
        reason: String,
    },
    /// Bytes follow the value.
    #[error("the {place} of the carried state has {found} bytes after its end; expected none")]
    Trailing {
        /// The room, or the list of sections.
        place: &'static str,
        /// How many bytes follow.
        found: usize,
    },
    /// The bytes are not the state that is asked for.
    #[error("the carried state has the fingerprint {found}, and {expected} is expected")]
    OtherFingerprint {
        /// What is expected.
        expected: Digest,
        /// What was found.
        found: Digest,
    },
    /// The bytes decode, but the same state is carried otherwise.
    #[error("the carried state is not in canonical form from byte {offset} on")]
    NotCanonical {
        /// The first byte that differs.
        offset: usize,
    },
}

/// What is wrong, before it is known where.
enum Fault {
    Malformed(String),
    Trailing(usize),
}

impl Fault {
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

fn decoded<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Fault> {
    let (value, read) =
        borrow_first(bytes).map_err(|error| Fault::Malformed(format!("{error}")))?;
    match bytes.len().saturating_sub(read) {
        0 => Ok(value),
        found => Err(Fault::Trailing(found)),
    }
}
