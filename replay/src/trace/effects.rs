//! From a record on to everything that it caused.

use super::looked::{Batch, Looked, StoryIndex};
use super::{EFFECTS_MAX, Step};
use crate::finding::Finding;
use crate::read::{Committed, ReadError, cause_named_by};
use crate::records::indexes::LogTies;
use crate::records::may_hold;
use crate::records::part::Part;
use holdpoint_domain::world::Term;
use holdpoint_log_files::reader::OpenSegment;
use holdpoint_log_files::{LogReader, ReadFile, ReadStorage, RecordPlace, Run};
use holdpoint_log_format::Record;
use holdpoint_log_index::TermHash;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// More records than these are not asked for one by one: what they caused is found by reading.
const CAUSES_MAX: usize = 16_384;

/// The steps that a step caused, in the order of the log.
#[derive(Clone, Default)]
pub(super) struct Effects {
    pub(super) steps: Vec<Step>,
    pub(super) left_out: u64,
    pub(super) is_cut: bool,
    /// Records of the story that are withheld or cannot be read, and of batches of which nothing
    /// can be, so that they may be part of it.
    unread: Vec<Finding>,
    /// The batches of the story: by the last record, the first one and the distance.
    known: BTreeMap<u64, (u64, u32)>,
    /// The terms by which records are known that one of these caused.
    causes: Vec<TermHash>,
}

/// The batch that is being read.
struct Open {
    cause: CauseStanding,
    step: Step,
    /// Why the first record is not known that is withheld or cannot be read.
    unread: Option<Finding>,
}

/// Standing of a batch's cause, by the first of its records that can be read.
enum CauseStanding {
    /// None was read yet.
    Unknown,
    /// It is part of the story, and so far away.
    Known(u32),
    /// There is none, or it is of another story.
    Foreign,
}

impl Effects {
    /// Everything that a batch caused, so many steps deep. Causes are earlier records, so that one
    /// look at each segment in the order of the log finds all. Where a segment is read, that begins
    /// at a place before the batch, in the segment of the batch.
    pub(super) fn of<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        (tied, looked): (&mut LogTies, &mut Looked),
        asked: Batch,
        before: Option<(u64, Run)>,
        depth: u32,
        part: &mut Part,
    ) -> Result<Self, ReadError> {
        let mut effects = Self::default();
        effects.know(asked.first, asked.last, 0);
        let Some(begin) = reader.holding(asked.first) else { return Ok(effects) };
        for first in reader.firsts().iter().skip(begin) {
            let Some(mut segment) = reader.open(*first, part)? else { continue };
            if effects.look(reader, (&mut *tied, &mut *looked), &mut segment, asked, depth, part)? {
                continue;
            }
            looked.read.insert(*first);
            let known = before.as_ref().filter(|(segment, _)| segment == first);
            let from = known.map_or_else(|| Run::at_start(&segment.header), |(_, at)| at.clone());
            let mut open = None;
            let named = |_: &RecordPlace, record: &Record<'_>| cause_named_by(record);
            reader.walk_making(&segment, from, &named, part, &mut |place, record, named| {
                looked.met.extend(reader.kept_link(place, &record.header));
                if record.header.sequence > asked.last {
                    effects.follow(depth, place, record, named, &mut open);
                }
                ControlFlow::Continue(())
            })?;
        }
        part.extend(effects.unread.drain(..));
        Ok(effects)
    }

    /// Looks through a sealed segment by its index. `false`: there is none by which it can be, and
    /// nothing was found.
    fn look<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        (tied, looked): (&mut LogTies, &mut Looked),
        segment: &mut OpenSegment<S::File>,
        asked: Batch,
        depth: u32,
        part: &mut Part,
    ) -> Result<bool, ReadError> {
        let first = segment.header.first_sequence();
        if self.causes.len() > CAUSES_MAX {
            return Ok(false);
        }
        match may_hold(reader, tied, first, &[&self.causes], part)? {
            None => return Ok(false),
            Some(false) => {
                looked.excluded.insert(first);
                return Ok(true);
            }
            Some(true) => {}
        }
        let Some(index) = StoryIndex::of(reader, tied, first, part)? else { return Ok(false) };
        let mut found = self.clone();
        let is_found = found.take_from(&index, segment, asked, depth)?;
        if is_found {
            looked.by_index.insert(first);
            *self = found;
        }
        Ok(is_found)
    }

    /// Takes what an index names, in order. `false`: the segment is not what it says.
    fn take_from<F: ReadFile>(
        &mut self,
        index: &StoryIndex,
        segment: &mut OpenSegment<F>,
        asked: Batch,
        depth: u32,
    ) -> Result<bool, ReadError> {
        let (mut due, mut asked_for, mut done) = (BTreeSet::new(), 0, asked.last);
        loop {
            for cause in self.causes.get(asked_for..).unwrap_or_default() {
                let Ok(caused) = index.with(*cause) else { return Ok(false) };
                due.extend(caused);
            }
            asked_for = self.causes.len();
            let Some(next) = due.pop_first() else { return Ok(true) };
            if next <= done {
                continue;
            }
            let Some(batch) = index.batch_of(segment, next)? else { return Ok(false) };
            let mut open = None;
            let read = index.read(segment, batch, &mut |place, record| {
                self.follow(depth, place, record, cause_named_by(record), &mut open);
            })?;
            if read.is_none() {
                return Ok(false);
            }
            done = batch.last;
        }
    }

    fn follow(
        &mut self,
        depth: u32,
        place: &RecordPlace,
        record: &Record<'_>,
        named: Option<Option<u64>>,
        open: &mut Option<Open>,
    ) {
        let sequence = record.header.sequence;
        let batch = open.get_or_insert_with(|| Open {
            cause: CauseStanding::Unknown,
            step: Step::begun(sequence),
            unread: None,
        });
        let cause = || named.map(|cause| cause.and_then(|cause| self.distance_of(cause)));
        let said = if matches!(batch.cause, CauseStanding::Unknown) { cause() } else { None };
        if said == Some(None) {
            batch.cause = CauseStanding::Foreign;
        }
        // Most are of other stories: no more than the heading is decoded of those.
        if !matches!(batch.cause, CauseStanding::Foreign) {
            let record = Committed::of(place, record);
            if let (Some(Some(distance)), Some(_)) = (said, record.envelope()) {
                batch.cause = CauseStanding::Known(distance);
            }
            batch.unread = batch.unread.take().or_else(|| record.unread());
            batch.step.take(&record);
        }
        if record.header.flags.more_follows() {
            return;
        }
        match open.take() {
            Some(Open { cause: CauseStanding::Known(distance), step, unread }) => {
                self.unread.extend(unread);
                self.add(step, distance.saturating_add(1), depth);
            }
            Some(Open { cause: CauseStanding::Unknown, unread, .. }) => self.unread.extend(unread),
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
            self.know(step.first, step.last, distance);
            self.steps.push(step);
        }
    }

    /// A batch is part of the story, so far away.
    fn know(&mut self, first: u64, last: u64, distance: u32) {
        self.known.insert(last, (first, distance));
        // One that is too many is not asked for.
        let room = (CAUSES_MAX + 1).saturating_sub(self.causes.len());
        let hashes = (first..=last).map(|one| TermHash::of(&Term::CausedBy(one).canonical()));
        self.causes.extend(hashes.take(room));
    }

    /// Returns how far away the batch is that holds a record, where it is part of the story.
    fn distance_of(&self, sequence: u64) -> Option<u32> {
        let (_, (first, distance)) = self.known.range(sequence..).next()?;
        (*first <= sequence).then_some(*distance)
    }
}
