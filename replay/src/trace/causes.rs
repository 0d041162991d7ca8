//! From a record back to where its story began.

use super::{Beginning, Role, STEP_RECORDS_MAX, Step, StepRecord};
use crate::read::{Beside, Committed, ReadError, content_of};
use crate::records::Line;
use crate::records::part::{Part, withheld_at};
use holdpoint_domain::log::RULES_ADOPTED;
use holdpoint_domain::world::envelope::decode;
use holdpoint_log_files::reader::OpenSegment;
use holdpoint_log_files::{LogReader, ReadStorage, RecordPlace, Run, Standing};
use holdpoint_log_format::Record;
use std::ops::ControlFlow;

/// The steps that led to a record, its own first.
pub(super) struct Causes {
    pub(super) steps: Vec<Step>,
    pub(super) beginning: Beginning,
}

/// A batch of a segment that was looked through.
#[derive(Clone, Copy)]
struct Batch {
    first: u64,
    last: u64,
    said: Said,
}

/// What the first record of a batch that can be read says of its cause.
#[derive(Clone, Copy)]
enum Said {
    /// None can be read.
    Unreadable,
    /// There is none.
    Nothing,
    /// This record.
    Cause(u64),
}

/// The batches of a segment in their order. A segment can hold millions, so that each is kept
/// small.
struct Batches {
    segment: u64,
    /// Number of the last record within the segment, and what is said.
    seen: Vec<(u32, Said)>,
}

impl Causes {
    /// `None` when there is no such record.
    pub(super) fn of<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        sequence: u64,
        depth: u32,
        part: &mut Part,
    ) -> Result<Option<Self>, ReadError> {
        let mut chain: Vec<Batch> = Vec::new();
        let mut due = sequence;
        let beginning = loop {
            let before = chain.len();
            let found = follow(reader, due, depth, &mut chain, part)?;
            match found {
                Err(beginning) => break beginning,
                Ok(_) if chain.len() == before => break Beginning::Damaged { sequence: due },
                Ok(cause) => due = cause,
            }
        };
        if chain.is_empty() {
            return Ok(None);
        }
        let steps = read_steps(reader, &chain, part)?;
        Ok(Some(Self { steps, beginning }))
    }
}

/// Follows causes within the segment that holds a record. Gives the cause that lies in an earlier
/// segment, or how the story begins.
fn follow<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    due: u64,
    depth: u32,
    chain: &mut Vec<Batch>,
    part: &mut Part,
) -> Result<Result<u64, Beginning>, ReadError> {
    let Some(at) = reader.holding(due) else {
        return Ok(Err(Beginning::Archived { sequence: due }));
    };
    let batches = batches_up_to(reader, at, due, part)?;
    let mut due = due;
    loop {
        let Some(batch) = batches.holding(due) else { return Ok(Ok(due)) };
        if chain.len() as u64 > u64::from(depth) {
            return Ok(Err(Beginning::TooFar { sequence: due }));
        }
        chain.push(batch);
        let sequence = batch.first;
        due = match batch.said {
            Said::Unreadable => return Ok(Err(Beginning::Unreadable { sequence })),
            Said::Nothing => return Ok(Err(Beginning::Begun { sequence })),
            Said::Cause(causation) if causation >= sequence || causation == 0 => {
                return Ok(Err(Beginning::NotEarlier { sequence, causation }));
            }
            Said::Cause(causation) => causation,
        };
    }
}

/// The batches of a segment up to the one that holds a record.
fn batches_up_to<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    at: usize,
    due: u64,
    part: &mut Part,
) -> Result<Batches, ReadError> {
    let first = reader.firsts().get(at).copied().unwrap_or_default();
    let mut batches = Batches { segment: first, seen: Vec::new() };
    let Some(mut segment) = reader.open(first, part)? else { return Ok(batches) };
    part.segments_read += 1;
    let from = Run::at_start(&segment.header);
    let mut said = Said::Unreadable;
    reader.walk(&mut segment, from, part, &mut |_, record| {
        if matches!(said, Said::Unreadable) {
            said = said_by(record);
        }
        if record.header.flags.more_follows() {
            return ControlFlow::Continue(());
        }
        let sequence = record.header.sequence;
        let number = u32::try_from(sequence.saturating_sub(first)).unwrap_or(u32::MAX);
        batches.seen.push((number, said));
        said = Said::Unreadable;
        if sequence >= due { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(batches)
}

impl Batches {
    /// The batch that holds a record.
    fn holding(&self, sequence: u64) -> Option<Batch> {
        let number = sequence.checked_sub(self.segment)?;
        let at = self.seen.partition_point(|(last, _)| u64::from(*last) < number);
        let (last, said) = *self.seen.get(at)?;
        let before = at.checked_sub(1).and_then(|before| self.seen.get(before));
        let first = before.map_or(0, |(last, _)| u64::from(*last).saturating_add(1));
        let of = |number: u64| self.segment.saturating_add(number);
        Some(Batch { first: of(first), last: of(u64::from(last)), said })
    }
}

fn said_by(record: &Record<'_>) -> Said {
    match causation_of(record) {
        None => Said::Unreadable,
        Some(None) => Said::Nothing,
        Some(Some(causation)) => Said::Cause(causation),
    }
}

/// What a record names as its cause; `None` where it cannot be read.
pub(super) fn causation_of(record: &Record<'_>) -> Option<Option<u64>> {
    let header = &record.header;
    if header.flags.withheld() {
        return None;
    }
    decode(header.kind, header.version, record.payload).ok().map(|envelope| envelope.causation)
}

/// Reads what the steps say, from the newest one on: each segment once.
fn read_steps<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    chain: &[Batch],
    part: &mut Part,
) -> Result<Vec<Step>, ReadError> {
    let mut steps = Vec::new();
    let in_one =
        |one: &Batch, next: &Batch| reader.holding(one.first) == reader.holding(next.first);
    for batches in chain.chunk_by(in_one) {
        let Some(first) = batches.first().and_then(|batch| reader.holding(batch.first)) else {
            continue;
        };
        let first = reader.firsts().get(first).copied().unwrap_or_default();
        let Some(mut segment) = reader.open(first, part)? else { continue };
        let mut found = read_in(reader, &mut segment, batches, part)?;
        found.reverse();
        steps.append(&mut found);
    }
    for (step, distance) in steps.iter_mut().zip(0..) {
        step.distance = distance;
        step.role = if distance == 0 { Role::Asked } else { Role::Cause };
    }
    Ok(steps)
}

/// The steps of one segment, in the order of the log.
fn read_in<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    segment: &mut OpenSegment<S::File>,
    batches: &[Batch],
    part: &mut Part,
) -> Result<Vec<Step>, ReadError> {
    let mut steps: Vec<Step> = Vec::new();
    // Causes are earlier ones, so that the last of these is the first in the log.
    let mut due = batches.iter().rev().peekable();
    let mut withheld = Vec::new();
    let from = Run::at_start(&segment.header);
    reader.walk(segment, from, part, &mut |place, record| {
        let sequence = record.header.sequence;
        let Some(batch) = due.peek() else { return ControlFlow::Break(()) };
        if sequence == batch.first {
            steps.push(Step::begun(sequence));
        }
        if sequence >= batch.first
            && let Some(step) = steps.last_mut()
        {
            step.take(place, record);
            if record.header.flags.withheld() && matches!(batch.said, Said::Unreadable) {
                withheld.push(withheld_at(place, sequence));
            }
        }
        if sequence >= batch.last {
            due.next();
        }
        if due.peek().is_none() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    part.extend(withheld);
    Ok(steps)
}

impl Step {
    pub(super) fn begun(sequence: u64) -> Self {
        Self {
            first: sequence,
            last: sequence,
            role: Role::Effect,
            distance: 0,
            standing: Standing::Unproven.name(),
            durable: false,
            causation: None,
            is_caused: false,
            stated_by: sequence,
            actor: None,
            proof: None,
            correlation: None,
            idempotency: None,
            records: Vec::new(),
        }
    }

    /// Takes in the next record of the batch.
    pub(super) fn take(&mut self, place: &RecordPlace, record: &Record<'_>) {
        self.last = record.header.sequence;
        if record.header.flags.withheld() {
            self.standing = Standing::Withheld.name();
        }
        if self.records.len() >= STEP_RECORDS_MAX {
            return;
        }
        let content = content_of(record, &|_| true);
        let header = record.header.clone();
        let record = Committed { place: *place, header, content, beside: Beside::default() };
        // Before somebody's first words a writer says by which rules, which nobody asked for.
        let is_preface = record.header.kind == RULES_ADOPTED && record.header.flags.more_follows();
        if self.actor.is_none()
            && !is_preface
            && let Some(envelope) = record.envelope()
        {
            self.stated_by = record.header.sequence;
            self.actor = Some(envelope.actor.clone());
            self.proof = envelope.proof;
            self.correlation = Some(envelope.correlation.clone());
            self.causation = envelope.causation;
            self.is_caused = envelope.causation.is_some_and(|it| it != 0 && it < self.first);
            self.idempotency = envelope.idempotency.clone();
        }
        let Line { sequence, time, kind, summary, .. } = Line::of(&record);
        self.records.push(StepRecord { sequence, time, kind, summary, archive: None });
    }
}
