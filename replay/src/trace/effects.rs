//! From a record on to everything that it caused.

use super::causes::causation_of;
use super::{EFFECTS_MAX, Step};
use crate::read::ReadError;
use crate::records::part::{Part, withheld_at};
use holdpoint_log_files::{Finding, LogReader, ReadStorage, RecordPlace, Run};
use holdpoint_log_format::Record;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The steps that a step caused, in the order of the log.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) steps: Vec<Step>,
    pub(super) left_out: u64,
    pub(super) is_cut: bool,
    /// Batches of which nothing can be read, so that they may be part of the story.
    withheld: Vec<Finding>,
    /// The batches of the story: by the last record, the first one and the distance.
    known: BTreeMap<u64, (u64, u32)>,
}

/// The batch that is being read.
struct Open {
    first: u64,
    cause: Cause,
    step: Step,
    /// The first record of which only the digest is there.
    withheld: Option<Finding>,
}

/// What is known of a batch's cause, by the first of its records that can be read.
enum Cause {
    /// None was read yet.
    Unknown,
    /// It is part of the story, and so far away.
    Known(u32),
    /// There is none, or it is of another story.
    Foreign,
}

impl Effects {
    /// Everything that the batch which begins with `asked` caused, so many steps deep. Causes are
    /// earlier records, so that one reading in the order of the log finds all. It begins at a place
    /// before that batch, in the segment of this first record.
    pub(super) fn of<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        asked: u64,
        before: Option<(u64, Run)>,
        depth: u32,
        part: &mut Part,
    ) -> Result<Self, ReadError> {
        let mut effects = Self::default();
        let Some(begin) = reader.holding(asked) else { return Ok(effects) };
        for (at, first) in reader.firsts().iter().enumerate().skip(begin) {
            let Some(mut segment) = reader.open(*first, part)? else { continue };
            // The first of them was read for the causes.
            part.segments_read += u64::from(at > begin);
            let known = before.as_ref().filter(|(segment, _)| segment == first);
            let from = known.map_or_else(|| Run::at_start(&segment.header), |(_, at)| at.clone());
            let mut open = None;
            reader.walk(&mut segment, from, part, &mut |place, record| {
                if record.header.sequence >= asked {
                    effects.follow(asked, depth, place, record, &mut open);
                }
                ControlFlow::Continue(())
            })?;
        }
        part.extend(effects.withheld.drain(..));
        Ok(effects)
    }

    fn follow(
        &mut self,
        asked: u64,
        depth: u32,
        place: &RecordPlace,
        record: &Record<'_>,
        open: &mut Option<Open>,
    ) {
        let sequence = record.header.sequence;
        let batch = open.get_or_insert_with(|| Open {
            first: sequence,
            cause: Cause::Unknown,
            step: Step::begun(sequence),
            withheld: None,
        });
        if record.header.flags.withheld() {
            batch.withheld.get_or_insert_with(|| withheld_at(place, sequence));
        }
        if matches!(batch.cause, Cause::Unknown) {
            batch.cause = self.cause_of(record);
        }
        if !matches!(batch.cause, Cause::Foreign) {
            batch.step.take(place, record);
        }
        if record.header.flags.more_follows() {
            return;
        }
        match open.take() {
            Some(Open { first, .. }) if first == asked => {
                self.known.insert(sequence, (first, 0));
            }
            Some(Open { cause: Cause::Known(distance), step, .. }) => {
                self.add(step, distance.saturating_add(1), depth);
            }
            Some(Open { cause: Cause::Unknown, withheld, .. }) => self.withheld.extend(withheld),
            _ => {}
        }
    }

    fn add(&mut self, mut step: Step, distance: u32, depth: u32) {
        if distance > depth {
            self.is_cut = true;
        } else if self.steps.len() >= EFFECTS_MAX {
            self.left_out = self.left_out.saturating_add(1);
        } else {
            step.distance = distance;
            self.known.insert(step.last, (step.first, distance));
            self.steps.push(step);
        }
    }

    fn cause_of(&self, record: &Record<'_>) -> Cause {
        let Some(causation) = causation_of(record) else { return Cause::Unknown };
        let known = causation.and_then(|causation| {
            let (_, (first, distance)) = self.known.range(causation..).next()?;
            (*first <= causation).then_some(*distance)
        });
        known.map_or(Cause::Foreign, Cause::Known)
    }
}
