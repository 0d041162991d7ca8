//! Check that what is recorded of an output has the digest that its evidence states. The state
//! keeps no byte of it, so whoever reads all of it computes that beside the state.

use holdpoint_domain::Event;
use holdpoint_domain::core::forbidden::{ForbiddenEvent, Rule};
use holdpoint_domain::core::hash::{Digest, Sha256Stream};
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, EvidenceContent, OutputPieces, OutputRecorded, OutputStream,
};
use holdpoint_domain::execution_loop::ExecutionLoopEvent;
use std::collections::BTreeMap;

/// The streams of attempts that run, as far as nothing of them is missing.
#[derive(Default)]
pub(crate) struct WholeOutputs {
    loops: BTreeMap<String, BTreeMap<OutputStream, Whole>>,
}

/// A stream from its first byte on. With a gap it is none any more.
#[derive(Default)]
struct Whole {
    length: u64,
    digest: Sha256Stream,
    has_gap: bool,
}

impl WholeOutputs {
    /// Takes an event. Where a digest that it states is another one than that of the bytes, what
    /// was expected.
    pub(crate) fn take(&mut self, sequence: u64, event: &Event) -> Option<ForbiddenEvent> {
        let (loop_id, expected, found) = match event {
            Event::EvidenceCapture(EvidenceCaptureEvent::OutputRecorded(body)) => {
                (&body.loop_id, self.take_piece(body)?, body.gap?.running_sha256)
            }
            Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) => {
                let EvidenceContent::OutputPieces(stated) = &body.content else { return None };
                let expected = self.take_stated(&body.loop_id, stated)?;
                (&body.loop_id, expected, stated.end?.whole_sha256)
            }
            Event::ExecutionLoop(
                ExecutionLoopEvent::ResponseEvaluated(_) | ExecutionLoopEvent::LoopHalted(_),
            ) => {
                self.loops.remove(event.loop_id()?);
                return None;
            }
            _ => return None,
        };
        (expected != found).then(|| ForbiddenEvent {
            sequence,
            kind: event.kind().kind,
            loop_id: Some(loop_id.to_string()),
            rule: Rule::OutputPiece,
            expected: format!("SHA-256: {expected}"),
            found: found.to_string(),
        })
    }

    /// The digest up to the end of the piece, where nothing is missing before it and it states one.
    fn take_piece(&mut self, body: &OutputRecorded) -> Option<Digest> {
        let streams = self.loops.entry(body.loop_id.to_string()).or_default();
        let whole = streams.entry(body.stream).or_default();
        whole.has_gap |= body.offset != whole.length;
        if whole.has_gap {
            return None;
        }
        whole.digest.take(body.raw_data.as_bytes());
        whole.length = whole.length.saturating_add(body.raw_data.length());
        body.gap.is_some().then(|| whole.digest.clone().finish())
    }

    /// The digest of the whole, where all of it is there.
    fn take_stated(&mut self, loop_id: &str, stated: &OutputPieces) -> Option<Digest> {
        let whole = self.loops.get_mut(loop_id).and_then(|it| it.remove(&stated.stream));
        let whole = match whole {
            None if stated.pieces == 0 => Whole::default(),
            whole => whole?,
        };
        let is_whole = !whole.has_gap && stated.end?.true_length == whole.length;
        is_whole.then(|| whole.digest.finish())
    }
}
