//! Statements of the log about who records a run: the starts of its attempts, and their keys.

use super::engine::Core;
use super::error::SubmitError;
use super::rebuild::{Recorded, recorded};
use crate::executor::InstructionEnvelope;
use crate::log::Storage;
use holdpoint_domain::Event;
use holdpoint_domain::evidence_capture::EvidenceCaptureEvent;
use holdpoint_domain::execution_loop::{ExecutionLoopEvent, ExecutionLoopState};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_log_files::{FollowError, Follower, LogReader};
use holdpoint_log_format::{Link, LogId, RunStart};
use std::ops::ControlFlow;

/// The start of an attempt: what its entries are tied to, who records it, and what signs for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) place: RunStart,
    /// The public half of the recorder's key.
    pub(super) public: [u8; 32],
    /// The recorder's user number.
    pub(super) user: u32,
}

/// The start that this record is, where it is one of this loop, with a key.
pub(super) fn start_in(
    log: LogId,
    loop_id: &str,
    (link, record): (Link, &Recorded),
) -> Option<Start> {
    let Event::ExecutionLoop(ExecutionLoopEvent::ResponseAwaited(body)) = &record.envelope.event
    else {
        return None;
    };
    let place = RunStart {
        log,
        loop_digits: RunStart::digits_of(&body.loop_id)?,
        attempt: body.attempt,
        sequence: record.sequence,
        link,
    };
    let (key, proof) = (body.recorder_key.as_ref()?, record.envelope.proof?);
    let is_it = *body.loop_id == *loop_id;
    is_it.then(|| Start { place, public: *key.as_bytes(), user: proof.user })
}

/// The start of the newest attempt of a loop that lives, where it has one with a key.
pub(super) fn newest_start<S: Storage>(
    engine: &Core<S>,
    entity: &ExecutionLoop,
) -> Result<Option<Start>, SubmitError> {
    let mut newest = None;
    each_between(engine, (entity.started_sequence, entity.version), &mut |link, record| {
        newest = start_in(engine.log_id, entity.loop_id(), (link, &record)).or(newest.take());
        ControlFlow::Continue(())
    })?;
    Ok(newest)
}

/// Returns whether a process of holdpoint was to record the loop: the record of a start names its
/// key, or, before there is a start, what it recorded of the command tells. What is driven through
/// `apply` has neither.
pub(super) fn has_recorder<S: Storage>(
    engine: &Core<S>,
    entity: &ExecutionLoop,
) -> Result<bool, SubmitError> {
    use ExecutionLoopState::{Dispatched, Init};
    let loop_id = entity.loop_id();
    let has_not_started = matches!(entity.state(), Init | Dispatched);
    let mut has_recorder = false;
    each_between(engine, (entity.started_sequence, entity.version), &mut |link, record| {
        has_recorder = start_in(engine.log_id, loop_id, (link, &record)).is_some()
            || (has_not_started && is_instruction(&record.envelope.event, loop_id));
        if has_recorder { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(has_recorder)
}

/// Returns whether this says what a process of holdpoint is about to start in a loop.
fn is_instruction(event: &Event, of: &str) -> bool {
    match event {
        Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) => {
            *body.loop_id == *of && InstructionEnvelope::decode(body.raw_data.as_bytes()).is_some()
        }
        _ => false,
    }
}

/// Shows the records from one to another, until `visit` has had enough; `false`: the first of them
/// was moved to an archive.
pub(super) fn each_between<S: Storage>(
    engine: &Core<S>,
    (first, last): (u64, u64),
    visit: &mut dyn FnMut(Link, Recorded) -> ControlFlow<()>,
) -> Result<bool, SubmitError> {
    let storage = &*engine.caches;
    let reader = LogReader::of(storage).map_err(FollowError::from)?;
    let holding = reader.holding(first).and_then(|at| reader.firsts().get(at).copied());
    let Some(segment) = holding else { return Ok(false) };
    let mut follower = Follower::at_segment(storage, segment)?;
    let mut unread = None;
    follower.catch_up_while(storage, &mut |_, _, record| {
        if record.header.sequence < first {
            return ControlFlow::Continue(());
        }
        if record.header.sequence > last {
            return ControlFlow::Break(());
        }
        match recorded(record) {
            Ok(Some(event)) => visit(record.header.link, event),
            Ok(None) => ControlFlow::Continue(()),
            Err(error) => {
                unread = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    unread.map_or(Ok(true), Err)
}
