//! Events that fill segments and change no state.

#![allow(unreachable_pub, clippy::unwrap_used, reason = "a helper that fails, fails its test")]

use holdpoint_domain::ActorId;
use holdpoint_domain::command::{Command, SystemEvent};
use holdpoint_domain::event::RecordsLost;
use holdpoint_domain::execution_loop::Actor;
use holdpoint_engine::Engine;
use holdpoint_engine::log::Storage;
use holdpoint_engine::shell::Origin;

/// An event of about this many bytes, so that a few fill a segment.
const FILLER_BYTES: usize = 4_000;

/// Appends so many events.
pub fn fill<S: Storage>(engine: &Engine<S>, count: u64) {
    let actor = ActorId { kind: Actor::Automation, id: "ci".to_string() };
    let origin = Origin { actor, correlation: "filler".to_string(), causation: None };
    for number in 1..=count {
        let command = Command::RecordSystemEvent(SystemEvent::RecordsLost(filler(number)));
        assert!(engine.submit(&origin, &command).unwrap().receipt().is_some());
    }
}

fn filler(number: u64) -> RecordsLost {
    RecordsLost {
        source_first_sequence: number,
        source_last_sequence: number,
        file: "segments".into(),
        offset: 0,
        length: 1,
        copied_to: None,
        problem: "x".repeat(FILLER_BYTES).into(),
    }
}
