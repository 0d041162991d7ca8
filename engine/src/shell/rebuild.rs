//! The state that follows the log: records in, batches whole, evolved in order.

use super::error::SubmitError;
use crate::log::{Storage, Turn};
use holdpoint_domain::{Envelope, Time, World, codec};
use holdpoint_log_files::Follower;
use holdpoint_log_format::Record;

/// The state and the place in the log that it stands for.
pub(super) struct Hot {
    pub(super) world: World,
    pub(super) place: Follower,
}

/// An event with its record's place and time.
pub(super) struct Recorded {
    pub(super) sequence: u64,
    pub(super) at: Time,
    /// Whether it is the last one of its batch.
    pub(super) ends_batch: bool,
    pub(super) envelope: Envelope,
}

impl Hot {
    /// Evolves the state by every record between its place and the newest appended one. Records of
    /// a batch are held back until one ends it.
    pub(super) fn catch_up<S: Storage>(&mut self, turn: &Turn<'_, S>) -> Result<(), SubmitError> {
        let mut batch = Vec::new();
        let mut failure = None;
        let world = &mut self.world;
        turn.catch_up(&mut self.place, &mut |_, record| match recorded(record) {
            _ if failure.is_some() => {}
            Err(error) => failure = Some(error),
            Ok(event) => {
                batch.push(event);
                if !record.header.flags.more_follows() {
                    evolve_all(world, &batch);
                    batch.clear();
                }
            }
        })?;
        failure.map_or(Ok(()), Err)
    }
}

/// Evolves by a whole batch. What the rules forbid is kept, and reported by replay.
pub(super) fn evolve_all(world: &mut World, batch: &[Recorded]) {
    for event in batch {
        world.evolve(event.sequence, event.at, &event.envelope);
    }
}

pub(super) fn recorded(record: &Record<'_>) -> Result<Recorded, SubmitError> {
    let header = &record.header;
    if header.flags.withheld() {
        return Err(SubmitError::Withheld { sequence: header.sequence });
    }
    let envelope = codec::decode(header.kind, header.version, record.payload)
        .map_err(|source| SubmitError::Undecodable { sequence: header.sequence, source })?;
    Ok(Recorded {
        sequence: header.sequence,
        at: Time::from_nanoseconds(header.time),
        ends_batch: !header.flags.more_follows(),
        envelope,
    })
}
