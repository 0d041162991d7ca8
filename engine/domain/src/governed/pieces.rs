//! Pieces of output, recorded while a response is awaited, and what the evidence states of them.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::core::forbidden::{Rule, RuleChecks};
use crate::core::payload::Raw;
use crate::evidence_capture::command::RecordOutput;
use crate::evidence_capture::event::{EvidenceCaptured, OutputRecorded};
use crate::evidence_capture::pieces::{
    MAX_PIECES_PER_COMMAND, OutputEnd, OutputPieces, PieceFault, PieceView, RecordedOutputs,
    RecordedStream, recorded_stream,
};
use crate::evidence_capture::types::{EvidenceContent, OutputStream};
use crate::execution_loop::types::ExecutionLoopState::AwaitingResponse;
use crate::governed::aggregate::ExecutionLoop;
use crate::governed::attempt::wrong_state;
use crate::governed::batch::OnLoop;
use crate::governed::capture::snapshots;
use crate::governed::refusal::{LoopRefusal, Ruling};

/// Records pieces in the order in which they came, all of them or none, and snapshots behind them.
pub(crate) fn record(
    on: &mut OnLoop<'_>,
    recorded: &[RecordedStream],
    command: &RecordOutput,
) -> Ruling {
    if on.entity.state() != AwaitingResponse {
        let advice = "record output while a response is awaited";
        return Err(wrong_state(on.entity, AwaitingResponse, advice));
    }
    let attempt = on.entity.attempt_count();
    if command.attempt != attempt {
        return Err(refused(PieceFault {
            field: "attempt",
            expected: attempt.to_string(),
            found: command.attempt.to_string(),
        }));
    }
    let least = usize::from(command.snapshots.is_empty());
    if !(least..=MAX_PIECES_PER_COMMAND).contains(&command.pieces.len()) {
        return Err(LoopRefusal::PieceCount { found: command.pieces.len() });
    }
    let mut streams: Vec<RecordedStream> = recorded.to_vec();
    for piece in &command.pieces {
        let stream = stream_of(&mut streams, on.entity, piece.stream)?;
        let view = PieceView::of(piece);
        stream.check(view).map_err(refused)?;
        let raw_data = Raw::hashed(piece.raw_data.clone());
        stream.take(view, &raw_data.sha256());
        on.batch.push(OutputRecorded {
            loop_id: on.batch.loop_id(),
            attempt,
            stream: piece.stream,
            offset: piece.offset,
            first_byte_at: piece.first_byte_at,
            raw_data,
            gap: piece.gap,
        });
    }
    snapshots(on, &command.snapshots)
}

/// A stream among those that are known, which it is from now on.
fn stream_of<'s>(
    streams: &'s mut Vec<RecordedStream>,
    entity: &ExecutionLoop,
    stream: OutputStream,
) -> Result<&'s mut RecordedStream, LoopRefusal> {
    let place = streams.iter().position(|it| it.stream == stream).unwrap_or_else(|| {
        streams.push(RecordedStream::new(entity.loop_id(), entity.attempt_count(), stream));
        streams.len().saturating_sub(1)
    });
    let missing = || LoopRefusal::LoopNotLive { loop_id: String::from(entity.loop_id()) };
    streams.get_mut(place).ok_or_else(missing)
}

/// Returns what the evidence of a stream states, where it fits the pieces.
pub(crate) fn stated(
    entity: &ExecutionLoop,
    streams: &mut Vec<RecordedStream>,
    stream: OutputStream,
    end: OutputEnd,
) -> Result<OutputPieces, LoopRefusal> {
    let known = stream_of(streams, entity, stream)?;
    let stated = known.stated(Some(end));
    known.check_stated(&stated).map_err(refused)?;
    known.is_stated = true;
    Ok(stated)
}

/// Returns what is stated of streams whose attempt ends without a word about them.
pub(crate) fn unstated(recorded: &[RecordedStream]) -> Vec<OutputPieces> {
    let open = recorded.iter().filter(|stream| !stream.is_stated);
    open.map(|stream| stream.stated(None)).collect()
}

fn refused(PieceFault { field, expected, found }: PieceFault) -> LoopRefusal {
    LoopRefusal::PieceContradicted { field, expected, found }
}

/// A piece that follows the one before it counts, of the attempt that runs.
pub(crate) fn recorded(
    entity: &ExecutionLoop,
    outputs: &mut RecordedOutputs,
    body: &OutputRecorded,
) {
    let attempt = entity.attempt_count();
    if entity.state() != AwaitingResponse || body.attempt != attempt {
        return;
    }
    let view = PieceView::of_event(body);
    let known = recorded_stream(outputs.of(&body.loop_id), &body.loop_id, attempt, body.stream);
    if known.check(view).is_err() {
        return;
    }
    if let Some(stream) = outputs.stream(&body.loop_id, attempt, body.stream) {
        stream.take(view, &body.raw_data.known_sha256().unwrap_or_else(|| body.raw_data.sha256()));
    }
}

pub(crate) fn judge_recorded(
    entity: &ExecutionLoop,
    outputs: &RecordedOutputs,
    body: &OutputRecorded,
    checks: &mut RuleChecks,
) {
    checks.expect(Rule::OutputPiece, AwaitingResponse, entity.state());
    let attempt = entity.attempt_count();
    checks.expect(Rule::AttemptNumber, attempt, body.attempt);
    let known = recorded_stream(outputs.of(&body.loop_id), &body.loop_id, attempt, body.stream);
    forbid(known.check(PieceView::of_event(body)), checks);
}

/// After the evidence of a stream no piece of it follows.
pub(crate) fn captured(
    entity: &ExecutionLoop,
    outputs: &mut RecordedOutputs,
    body: &EvidenceCaptured,
) {
    let EvidenceContent::OutputPieces(stated) = &body.content else { return };
    if entity.state() == AwaitingResponse
        && let Some(stream) = outputs.stream(&body.loop_id, entity.attempt_count(), stated.stream)
    {
        stream.is_stated = true;
    }
}

pub(crate) fn judge_captured(
    entity: &ExecutionLoop,
    outputs: &RecordedOutputs,
    body: &EvidenceCaptured,
    checks: &mut RuleChecks,
) {
    let EvidenceContent::OutputPieces(stated) = &body.content else { return };
    let (loop_id, attempt) = (&body.loop_id, entity.attempt_count());
    let known = recorded_stream(outputs.of(loop_id), loop_id, attempt, stated.stream);
    forbid(known.check_stated(stated), checks);
    let spelled = stated.spelled_out();
    let is_spelled = spelled == body.raw_data.as_bytes() || body.offered.is_some();
    let expected = String::from_utf8_lossy(&spelled).into_owned();
    checks.demand(is_spelled, Rule::OutputPiece, expected, "another text");
}

fn forbid(fault: Result<(), PieceFault>, checks: &mut RuleChecks) {
    if let Err(PieceFault { field, expected, found }) = fault {
        checks.forbid(Rule::OutputPiece, alloc::format!("{field}: {expected}"), found);
    }
}
