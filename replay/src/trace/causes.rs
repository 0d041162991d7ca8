//! From a record back to where its story began.

use super::looked::{Batch, Looked, StoryIndex};
use super::runs::SaidOfRun;
use super::{Beginning, Role, STEP_RECORDS_MAX, Step, StepRecord};
use crate::finding::Finding;
use crate::read::{Committed, ReadError};
use crate::records::Line;
use crate::records::indexes::LogTies;
use crate::records::part::Part;
use crate::tell::in_words;
use holdpoint_domain::log::RULES_ADOPTED;
use holdpoint_log_files::reader::OpenSegment;
use holdpoint_log_files::{LogReader, ReadFile, ReadStorage, Run, Standing};
use holdpoint_log_format::ChainPosition;
use std::ops::ControlFlow;

/// A batch is read again from a place before it that is at most so many bytes, and a batch, away.
const PLACES_APART: u64 = 64 * 1_024;

/// The steps that led to a record, its own first.
pub(super) struct Causes {
    pub(super) steps: Vec<Step>,
    pub(super) beginning: Beginning,
    /// A place before the first of these steps, and its segment.
    pub(super) before: Option<(u64, Run)>,
}

/// Cause that the first record of a batch that can be read states.
#[derive(Clone, Copy)]
enum BatchCause {
    /// None can be read.
    Unreadable,
    /// There is none.
    Nothing,
    /// This record.
    Cause(u64),
}

/// The batches of a segment in their order. A segment can hold millions, so that each is kept
/// small.
struct SegmentBatches {
    segment: u64,
    /// Number of the last record of each within the segment.
    ends: Vec<u32>,
    /// The segment's beginning, and places between batches.
    begin: Run,
    places: Vec<Run>,
}

impl Causes {
    /// `None` when there is no such record.
    pub(super) fn of<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        (tied, looked): (&mut LogTies, &mut Looked),
        sequence: u64,
        depth: u32,
        part: &mut Part,
    ) -> Result<Option<Self>, ReadError> {
        let beginning = Beginning::Damaged { sequence };
        let mut causes = Self { steps: Vec::new(), beginning, before: None };
        let mut due = sequence;
        causes.beginning = loop {
            let before = causes.steps.len();
            match causes.follow(reader, (tied, looked), due, depth, part)? {
                Err(beginning) => break beginning,
                Ok(_) if causes.steps.len() == before => {
                    break Beginning::Damaged { sequence: due };
                }
                Ok(cause) => due = cause,
            }
        };
        for (step, distance) in causes.steps.iter_mut().zip(0..) {
            step.distance = distance;
            step.role = if distance == 0 { Role::Asked } else { Role::Cause };
        }
        Ok(Some(causes).filter(|causes| !causes.steps.is_empty()))
    }

    /// Follows causes within the segment that holds a record. Gives the cause that lies in an
    /// earlier segment, or how the story begins.
    fn follow<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        (tied, looked): (&mut LogTies, &mut Looked),
        due: u64,
        depth: u32,
        part: &mut Part,
    ) -> Result<Result<u64, Beginning>, ReadError> {
        let Some(at) = reader.holding(due) else {
            return Ok(Err(Beginning::Archived { sequence: due }));
        };
        let first = reader.firsts().get(at).copied().unwrap_or_default();
        let Some(mut segment) = reader.open(first, part)? else { return Ok(Ok(due)) };
        if let Some(index) = StoryIndex::of(reader, tied, first, part)?
            && let Some(cause) = self.follow_index(&index, &mut segment, due, depth, part)?
        {
            looked.by_index.insert(first);
            return Ok(cause);
        }
        looked.read.insert(first);
        let batches = SegmentBatches::up_to(reader, &mut segment, due, part)?;
        let mut due = due;
        loop {
            let Some(batch) = batches.holding(due) else { return Ok(Ok(due)) };
            if self.steps.len() as u64 > u64::from(depth) {
                return Ok(Err(Beginning::TooFar { sequence: due }));
            }
            let from = batches.before(&batch);
            self.before.get_or_insert_with(|| (first, from.clone()));
            let read = read_batch(reader, looked, &mut segment, from, batch, part)?;
            match self.take(read, part) {
                Ok(cause) => due = cause,
                Err(beginning) => return Ok(Err(beginning)),
            }
        }
    }

    /// The same by an index. `None`: the segment is not what it says, and nothing was followed.
    fn follow_index<F: ReadFile>(
        &mut self,
        index: &StoryIndex,
        segment: &mut OpenSegment<F>,
        due: u64,
        depth: u32,
        part: &mut Part,
    ) -> Result<Option<Result<u64, Beginning>>, ReadError> {
        let (mut due, begun) = (due, self.steps.len());
        while due >= segment.header.first_sequence() {
            if self.steps.len() as u64 > u64::from(depth) {
                return Ok(Some(Err(Beginning::TooFar { sequence: due })));
            }
            let mut read = None;
            if let Some(batch) = index.batch_of(segment, due)? {
                let mut reading = BatchReading::of(batch);
                let is_read = index.read(segment, batch, &mut |place, record| {
                    reading.take(&Committed::of(place, record));
                })?;
                read = is_read.map(|()| reading);
            }
            let Some(read) = read else {
                self.steps.truncate(begun);
                return Ok(None);
            };
            match self.take(read, part) {
                Ok(cause) => due = cause,
                Err(beginning) => return Ok(Some(Err(beginning))),
            }
        }
        Ok(Some(Ok(due)))
    }

    /// Takes a step. Gives the record that caused it, or how the story begins with it.
    fn take(&mut self, read: BatchReading, part: &mut Part) -> Result<u64, Beginning> {
        let BatchReading { batch: Batch { first: sequence, .. }, step, said, unread } = read;
        self.steps.push(step);
        part.extend(unread);
        match said {
            BatchCause::Unreadable => Err(Beginning::Unreadable { sequence }),
            BatchCause::Nothing => Err(Beginning::Begun { sequence }),
            BatchCause::Cause(causation) if causation >= sequence || causation == 0 => {
                Err(Beginning::NotEarlier { sequence, causation })
            }
            BatchCause::Cause(causation) => Ok(causation),
        }
    }
}

impl SegmentBatches {
    /// The batches of a segment up to the one that holds a record. What they say is not looked at.
    fn up_to<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        segment: &mut OpenSegment<S::File>,
        due: u64,
        part: &mut Part,
    ) -> Result<Self, ReadError> {
        let (first, from) = (segment.header.first_sequence(), Run::at_start(&segment.header));
        let (begin, ends, places) = (from.clone(), Vec::new(), Vec::new());
        let mut batches = Self { segment: first, ends, begin, places };
        reader.walk_making(segment, from, &|_, _| (), part, &mut |place, record, ()| {
            let sequence = record.header.sequence;
            if record.header.flags.more_follows() {
                return ControlFlow::Continue(());
            }
            let number = u32::try_from(sequence.saturating_sub(first)).unwrap_or(u32::MAX);
            batches.ends.push(number);
            let end = place.offset.saturating_add(place.length);
            let newest = batches.places.last().unwrap_or(&batches.begin);
            if end.saturating_sub(newest.end_offset) >= PLACES_APART {
                let chain = ChainPosition::of(&record.header);
                batches.places.push(Run::from(chain, place.offset, end));
            }
            if sequence >= due { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(batches)
    }

    /// The batch that holds a record.
    fn holding(&self, sequence: u64) -> Option<Batch> {
        let number = sequence.checked_sub(self.segment)?;
        let at = self.ends.partition_point(|last| u64::from(*last) < number);
        let last = *self.ends.get(at)?;
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let first = before.map_or(0, |last| u64::from(*last).saturating_add(1));
        let of = |number: u64| self.segment.saturating_add(number);
        Some(Batch { first: of(first), last: of(u64::from(last)) })
    }

    /// The last place before a batch.
    fn before(&self, batch: &Batch) -> Run {
        let at = self.places.partition_point(|place| place.chain.sequence < batch.first);
        at.checked_sub(1).and_then(|at| self.places.get(at)).unwrap_or(&self.begin).clone()
    }
}

/// Batch that was read, and what it says of its cause.
struct BatchReading {
    batch: Batch,
    step: Step,
    said: BatchCause,
    unread: Vec<Finding>,
}

impl BatchReading {
    fn of(batch: Batch) -> Self {
        let (step, unread) = (Step::begun(batch.first), Vec::new());
        Self { batch, step, said: BatchCause::Unreadable, unread }
    }

    /// Takes in the next record of the batch.
    fn take(&mut self, record: &Committed) {
        if let (BatchCause::Unreadable, Some(envelope)) = (self.said, record.envelope()) {
            self.said = envelope.causation.map_or(BatchCause::Nothing, BatchCause::Cause);
        }
        self.unread.extend(record.unread());
        self.step.take(record);
    }
}

/// A batch, read from a place before it on to a link by which it is compared with what is tied.
fn read_batch<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    looked: &mut Looked,
    segment: &mut OpenSegment<S::File>,
    from: Run,
    batch: Batch,
    part: &mut Part,
) -> Result<BatchReading, ReadError> {
    let mut reading = BatchReading::of(batch);
    reader.walk(segment, from, part, &mut |place, record| {
        let sequence = record.header.sequence;
        if sequence < batch.first {
            return ControlFlow::Continue(());
        }
        if sequence <= batch.last {
            reading.take(&Committed::of(place, record));
        }
        let met = reader.kept_link(place, &record.header).filter(|_| sequence >= batch.last);
        looked.met.extend(met);
        if met.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(reading)
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
            of_runs: Vec::new(),
        }
    }

    /// Takes in the next record of the batch.
    pub(super) fn take(&mut self, record: &Committed) {
        self.last = record.header.sequence;
        if record.header.flags.withheld() {
            self.standing = Standing::Withheld.name();
        }
        if self.records.len() >= STEP_RECORDS_MAX {
            return;
        }
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
        let line = Line::of(record);
        self.of_runs.extend(SaidOfRun::of(&line));
        let words = line.event.as_ref().map_or_else(|| line.summary.clone(), in_words);
        let Line { sequence, time, kind, summary, actor, proof, .. } = line;
        let archive = None;
        let record = StepRecord { sequence, time, kind, summary, words, actor, proof, archive };
        self.records.push(record);
    }
}
