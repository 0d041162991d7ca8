//! Fields of records that say in readable form what evidence holds as bytes: the list of them, and
//! the comparison of each with the bytes that were hashed. Lists and filters show the fields.

use crate::finding::{Finding, Problem};
use crate::meaning::place_of;
use crate::read::Committed;
use holdpoint_domain::Event;
use holdpoint_domain::core::forbidden::{ForbiddenEvent, Rule};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::payload::{Raw, Text};
use holdpoint_domain::core::text::shown_command_line;
use holdpoint_domain::evidence_capture::{EvidenceCaptureEvent, EvidenceCaptured, EvidenceContent};
use holdpoint_domain::execution_loop::{ExecutionLoopEvent, LoopDispatched};
use holdpoint_log_files::Place;
use holdpoint_log_format::instruction::InstructionParts;
use std::collections::BTreeMap;

/// A readable field of a record, and the evidence that it is a copy of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvidenceCopy {
    /// Kind of the record.
    pub kind: u16,
    /// The field.
    pub field: &'static str,
    /// The evidence, or another copy of it.
    pub evidence: &'static str,
    /// Comparison of the two.
    pub check: CopyCheck,
}

/// Comparison of a copy with its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyCheck {
    /// With the bytes, by [`verify`](crate::verify()): [`Rule::EvidenceCopy`].
    Bytes,
    /// By the rules, which judge every event.
    Rules(Rule),
    /// None: why there can be none.
    Impossible(&'static str),
}

const INITIALIZED: u16 = 32;
const DISPATCHED: u16 = 33;
const EVALUATED: u16 = 35;
const CAPTURED: u16 = 65;
const STOP: u16 = 66;
const FAULT: u16 = 96;
const REQUESTED: u16 = 128;
const ASKED: u16 = 192;
const REPORTED: u16 = 208;
const INSTRUCTION: &str = "the INSTRUCTION evidence, where it is an envelope of Holdpoint's form";

const fn copy(
    kind: u16,
    field: &'static str,
    evidence: &'static str,
    check: CopyCheck,
) -> EvidenceCopy {
    EvidenceCopy { kind, field, evidence, check }
}

/// The readable copies of evidence, each with its comparison.
pub const EVIDENCE_COPIES: [EvidenceCopy; 20] = [
    copy(INITIALIZED, COMMAND, INSTRUCTION, CopyCheck::Bytes),
    copy(INITIALIZED, HASH, "SHA-256 of the INSTRUCTION evidence", CopyCheck::Bytes),
    copy(DISPATCHED, "instruction.command_line", INSTRUCTION, CopyCheck::Bytes),
    copy(
        DISPATCHED,
        "instruction.envelope_hash",
        "SHA-256 of the INSTRUCTION evidence",
        CopyCheck::Bytes,
    ),
    copy(
        CAPTURED,
        "content.resources",
        "raw_data, spelled out",
        CopyCheck::Rules(Rule::EvidenceCopy),
    ),
    copy(
        CAPTURED,
        "content.output",
        "length and SHA-256 of raw_data",
        CopyCheck::Rules(Rule::EvidenceCopy),
    ),
    copy(
        CAPTURED,
        "content.transition",
        "the beginning of raw_data",
        CopyCheck::Rules(Rule::EvidenceCopy),
    ),
    copy(CAPTURED, "content.decision", "raw_data, the name", CopyCheck::Rules(Rule::EvidenceCopy)),
    copy(
        CAPTURED,
        "content.stop",
        "the beginning of raw_data",
        CopyCheck::Rules(Rule::EvidenceCopy),
    ),
    copy(STOP, "details", "raw_data of the STOP evidence behind it", CopyCheck::Bytes),
    copy(
        CAPTURED,
        "content.output_cut",
        "length of raw_data",
        CopyCheck::Rules(Rule::OutputExtent),
    ),
    copy(
        CAPTURED,
        "content.output_pieces",
        "the pieces before it",
        CopyCheck::Rules(Rule::OutputPiece),
    ),
    copy(
        CAPTURED,
        "content.snapshot",
        "raw_data, spelled out",
        CopyCheck::Rules(Rule::ResourceSnapshot),
    ),
    copy(
        REQUESTED,
        "context.command_line",
        "command_line of the loop",
        CopyCheck::Rules(Rule::HumanDecisionRequest),
    ),
    copy(
        REQUESTED,
        "request.evidence_summary",
        "the evidence of the attempt",
        CopyCheck::Rules(Rule::HumanDecisionRequest),
    ),
    copy(
        EVALUATED,
        "exit",
        "none",
        CopyCheck::Impossible("no evidence holds how a process ended: its recorder says so"),
    ),
    copy(
        FAULT,
        "fault_message",
        "none",
        CopyCheck::Impossible("no evidence holds it: its recorder says so"),
    ),
    copy(
        ASKED,
        "terms.proposal",
        "terms.binding.input_sha256",
        CopyCheck::Impossible(
            "the log does not have the bytes; whoever spends the approval compares the words",
        ),
    ),
    copy(
        ASKED,
        "terms.evidence",
        "the attached bytes",
        CopyCheck::Impossible("the bytes are kept elsewhere"),
    ),
    copy(
        REPORTED,
        "claim",
        "the answer of the tool",
        CopyCheck::Impossible("the log does not have it: it is shown as a claim"),
    ),
];

const COMMAND: &str = "command_line";
const HASH: &str = "instruction_envelope_hash";

/// Relation of a readable command to the envelope that was hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandCopy {
    /// It is that of the envelope.
    Same,
    /// Nothing to compare it with: the envelope is of a form of its own, or not on record.
    Claim,
    /// The envelope says otherwise.
    Other(OtherCopy),
}

/// A field that says otherwise than the bytes that were hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherCopy {
    /// The field.
    field: &'static str,
    /// Value by the bytes.
    hashed: String,
    /// Value of the field.
    stated: String,
}

impl CommandCopy {
    fn of(readable: &str, stated: &str, envelope: &[u8]) -> Self {
        let hashed = sha256(envelope).to_string();
        if hashed != stated {
            return Self::Other(OtherCopy { field: HASH, hashed, stated: stated.to_string() });
        }
        let Some(parts) = InstructionParts::decode(envelope) else { return Self::Claim };
        let (hashed, stated) = (shown_command_line(&parts.command_line()), readable.to_string());
        let former = || shown_command_line(&parts.former_command_line());
        if hashed == stated || former() == stated {
            return Self::Same;
        }
        Self::Other(OtherCopy { field: COMMAND, hashed, stated })
    }

    /// The command of the envelope, where the readable one is another.
    #[must_use]
    pub fn hashed_command(&self) -> Option<&str> {
        let Self::Other(OtherCopy { field: COMMAND, hashed, .. }) = self else { return None };
        Some(hashed)
    }
}

/// The commands of one run as its records are met, each compared with its envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandCopies {
    /// The command with which it began, and the stated hash, until its envelope is met.
    first: Option<(Text, Text)>,
    /// An envelope that is of no command yet.
    envelope: Option<Raw>,
}

impl CommandCopies {
    /// Takes a record of the run. Where it completes a command, the attempt and what came of the
    /// comparison.
    pub(crate) fn take(&mut self, event: &Event) -> Option<(u8, CommandCopy)> {
        match event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) => {
                let hash = body.instruction_envelope_hash.clone();
                self.first = Some((body.command_line.clone(), hash));
                None
            }
            Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body))
                if holds_instruction(body) =>
            {
                self.take_envelope(&body.raw_data)
            }
            Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(body)) => {
                self.take_dispatch(body)
            }
            Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(_)) => {
                self.envelope = None;
                self.first.take().map(|_| (1, CommandCopy::Claim))
            }
            _ => None,
        }
    }

    fn take_envelope(&mut self, envelope: &Raw) -> Option<(u8, CommandCopy)> {
        let first = self.first.as_ref();
        let compared = first.map(|(line, hash)| CommandCopy::of(line, hash, envelope.as_bytes()));
        match compared {
            // A loop may stop because its envelope is another one.
            None | Some(CommandCopy::Other(OtherCopy { field: HASH, .. })) => {
                self.envelope = Some(envelope.clone());
                None
            }
            Some(compared) => {
                self.first = None;
                Some((1, compared))
            }
        }
    }

    fn take_dispatch(&mut self, body: &LoopDispatched) -> Option<(u8, CommandCopy)> {
        let (first, envelope) = (self.first.take(), self.envelope.take());
        let next = body.instruction.as_ref();
        let next = next.map(|next| (next.command_line.clone(), next.envelope_hash.clone()));
        let (command, hash) = next.or(first)?;
        let compared = |it: Raw| CommandCopy::of(&command, &hash, it.as_bytes());
        Some((body.attempt, envelope.map_or(CommandCopy::Claim, compared)))
    }

    /// Returns whether what was met has nothing to do with what comes.
    const fn is_settled(&self) -> bool {
        self.first.is_none() && self.envelope.is_none()
    }
}

/// Returns whether evidence is an envelope: by what is said of it, or by its form, for what is said
/// of evidence is in none of its hashes.
pub(crate) fn holds_instruction(body: &EvidenceCaptured) -> bool {
    let may_be = match body.content {
        EvidenceContent::Instruction => true,
        EvidenceContent::Opaque
        | EvidenceContent::Transition { .. }
        | EvidenceContent::Decision(_)
        | EvidenceContent::Stop(_) => InstructionParts::decode(body.raw_data.as_bytes()).is_some(),
        _ => false,
    };
    may_be && body.offered.is_none()
}

/// The copies of a log as its records are met.
#[derive(Default)]
pub(crate) struct EvidenceCopies {
    /// The commands that were not compared yet, and the first record of each, by the loop.
    commands: BTreeMap<String, (CommandCopies, Place)>,
    /// The details of stops whose evidence was not met yet, and the record of each, by the loop.
    stops: BTreeMap<String, (Text, Place)>,
    /// Number of commands that there is nothing to compare with.
    pub(crate) claims: u64,
}

impl EvidenceCopies {
    /// Takes a record. What it, or one before it, says otherwise than the bytes do.
    pub(crate) fn take(&mut self, record: &Committed, event: &Event) -> Vec<Finding> {
        let Some(loop_id) = event.loop_id() else { return Vec::new() };
        let mut found = Vec::from_iter(self.take_command(record, loop_id, event));
        match event {
            Event::EvidenceCapture(EvidenceCaptureEvent::StopConditionDetected(body)) => {
                let details = body.details.clone();
                self.stops.insert(loop_id.to_string(), (details, place_of(record)));
            }
            Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body))
                if body.offered.is_none() =>
            {
                found.extend(self.take_stop(loop_id, body));
            }
            _ => {}
        }
        found
    }

    fn take_command(
        &mut self,
        record: &Committed,
        loop_id: &str,
        event: &Event,
    ) -> Option<Finding> {
        let begins = match event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(_)) => true,
            Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) => {
                holds_instruction(body)
            }
            _ => false,
        };
        if begins && !self.commands.contains_key(loop_id) {
            let begun = (CommandCopies::default(), place_of(record));
            self.commands.insert(loop_id.to_string(), begun);
        }
        let (copies, first) = self.commands.get_mut(loop_id)?;
        let compared = copies.take(event);
        let (kind, place) = match event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(body))
                if body.instruction.is_some() =>
            {
                (DISPATCHED, place_of(record))
            }
            _ => (INITIALIZED, first.clone()),
        };
        if copies.is_settled() {
            self.commands.remove(loop_id);
        }
        match compared?.1 {
            CommandCopy::Same => None,
            CommandCopy::Claim => {
                self.claims = self.claims.saturating_add(1);
                None
            }
            CommandCopy::Other(other) => Some(other.found(place, kind, loop_id)),
        }
    }

    /// The details of a stop are those of its evidence.
    fn take_stop(&mut self, loop_id: &str, body: &EvidenceCaptured) -> Option<Finding> {
        let EvidenceContent::Stop(condition) = &body.content else { return None };
        let (details, place) = self.stops.remove(loop_id)?;
        let hashed = String::from_utf8_lossy(body.raw_data.as_bytes()).into_owned();
        let stated = format!("{condition}: {details}");
        let is_other = hashed != stated;
        let other = OtherCopy { field: "details", hashed, stated };
        is_other.then(|| other.found(place, STOP, loop_id))
    }
}

impl OtherCopy {
    fn found(self, place: Place, kind: u16, loop_id: &str) -> Finding {
        let Self { field, hashed, stated } = self;
        let problem = Problem::Forbidden(ForbiddenEvent {
            sequence: place.sequence,
            kind,
            loop_id: Some(loop_id.to_string()),
            rule: Rule::EvidenceCopy,
            expected: format!("{field}, as hashed: {hashed}"),
            found: stated,
        });
        Finding { place, problem }
    }
}
