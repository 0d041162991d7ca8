//! From a record on to everything that it caused.

use super::causes::causation_of;
use super::{EFFECTS_MAX, Step};
use crate::read::ReadError;
use crate::records::Part;
use crate::records::segments::Segments;
use holdpoint_log_files::{Onward, ReadStorage, RecordPlace, Run};
use holdpoint_log_format::Record;
use std::collections::BTreeMap;

/// The steps that a step caused, in the order of the log.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) steps: Vec<Step>,
    pub(super) left_out: u64,
    pub(super) is_cut: bool,
    /// The batches of the story: by the last record, the first one and the distance.
    known: BTreeMap<u64, (u64, u32)>,
}

/// The batch that is being read.
#[derive(Default)]
struct Open {
    first: u64,
    cause: Option<u32>,
    step: Option<Step>,
}

impl Effects {
    /// Everything that the batch which begins with `asked` caused, so many steps deep. Causes are
    /// earlier records, so that one reading in the order of the log finds all.
    pub(super) fn of<S: ReadStorage>(
        segments: &Segments<'_, S>,
        asked: u64,
        depth: u32,
        part: &mut Part,
    ) -> Result<Self, ReadError> {
        let mut effects = Self::default();
        let Some(begin) = segments.holding(asked) else { return Ok(effects) };
        for first in segments.firsts.iter().skip(begin) {
            let Some(mut segment) = segments.open(*first, part)? else { continue };
            part.segments_read += 1;
            let from = Run::at_start(&segment.header);
            let mut open = Open::default();
            segments.walk(&mut segment, from, part, &mut |place, record| {
                if record.header.sequence >= asked {
                    effects.follow(asked, depth, place, record, &mut open);
                }
                Onward::Go
            })?;
        }
        Ok(effects)
    }

    fn follow(
        &mut self,
        asked: u64,
        depth: u32,
        place: &RecordPlace,
        record: &Record<'_>,
        open: &mut Open,
    ) {
        let sequence = record.header.sequence;
        if open.first == 0 {
            *open = Open { first: sequence, cause: self.distance_of(record), step: None };
            if open.cause.is_some() {
                open.step = Some(Step::begun(sequence));
            }
        }
        if let Some(step) = &mut open.step {
            step.take(place, record);
        }
        if record.header.flags.more_follows() {
            return;
        }
        let Open { first, cause, step } = std::mem::take(open);
        if first == asked {
            self.known.insert(sequence, (first, 0));
        } else if let (Some(cause), Some(step)) = (cause, step) {
            self.add(step, cause.saturating_add(1), depth);
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

    /// How far the cause that a record names is away, where it is part of the story.
    fn distance_of(&self, record: &Record<'_>) -> Option<u32> {
        let causation = causation_of(record)??;
        let (_, (first, distance)) = self.known.range(causation..).next()?;
        (*first <= causation).then_some(*distance)
    }
}
