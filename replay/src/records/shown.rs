//! Records of a segment that are shown: those that a filter wants, of complete batches, in an
//! order.

use super::filter::Filter;
use super::indexes::LogTies;
use super::part::Part;
use super::prefilter::Prefilter;
use super::search::Order;
use super::{Judged, Line};
use crate::finding::Finding;
use crate::read::ReadError;
use holdpoint_log_files::reader::OpenSegment;
use holdpoint_log_files::{ArchivePlaces, LogReader, ReadStorage, RecordPlace, Run, Standing};
use holdpoint_log_format::{ChainPosition, Record};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A segment is read from its end in pieces of about so many bytes.
const PIECE_BYTES: u64 = 1 << 20;

/// Destination of the records of a segment that are shown.
pub(super) struct RecordSink<'v> {
    order: Order,
    archives: ArchivePlaces,
    pub(super) filter: Filter,
    prefilter: Arc<Prefilter>,
    /// The newest record shown, in the order.
    last: Option<u64>,
    pub(super) onward: ControlFlow<()>,
    visit: &'v mut dyn FnMut(Line, Standing) -> ControlFlow<()>,
    /// Those of the records that were due of which nobody can tell what they say.
    pub(super) unread: Vec<Finding>,
}

/// A record that is wanted, or of which nobody can tell.
pub(super) struct RecordCandidate {
    line: Option<Line>,
    /// Standing of the record: what is proven of it.
    standing: Standing,
    /// Why nobody can tell.
    unread: Option<Finding>,
}

impl<'v> RecordSink<'v> {
    pub(super) fn to(
        visit: &'v mut dyn FnMut(Line, Standing) -> ControlFlow<()>,
        order: Order,
        filter: Filter,
        prefilter: &Arc<Prefilter>,
        part: &Part,
    ) -> Self {
        Self {
            order,
            archives: part.archives.clone(),
            filter,
            prefilter: Arc::clone(prefilter),
            last: None,
            onward: ControlFlow::Continue(()),
            visit,
            unread: Vec::new(),
        }
    }

    pub(super) fn wanted(
        &self,
        place: &RecordPlace,
        record: &Record<'_>,
        standing: Standing,
    ) -> Option<RecordCandidate> {
        let judged = Judged::of(place, record, &self.filter, &self.prefilter)?;
        Some(self.take(judged, standing))
    }

    /// The record is due.
    pub(super) fn take(&self, judged: Judged, standing: Standing) -> RecordCandidate {
        let Judged { line, unread } = judged;
        RecordCandidate { line: line.map(|line| line.lying_in(&self.archives)), standing, unread }
    }

    /// Shows what lies behind a place, from the last piece on: once through the segment to find
    /// where pieces of it begin, and then each piece. `false`: one did not lead to what is tied,
    /// and neither it nor one before it was shown.
    pub(super) fn in_pieces<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        tied: &LogTies,
        segment: &mut OpenSegment<S::File>,
        from: Run,
        part: &mut Part,
    ) -> Result<bool, ReadError> {
        let mut pieces = Pieces::from(from.clone());
        reader.walk(segment, from, part, &mut |place, record| {
            pieces.follow(place, record, &self.filter);
            let ends_batch = !record.header.flags.more_follows();
            let is_enough = ends_batch && self.filter.ends_before(&record.header);
            if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        for (begin, end_offset) in pieces.with_wanted().into_iter().rev() {
            let (mut lines, mut batch, mut is_tied) = (Vec::new(), Vec::new(), None);
            // What is read again is shown when it has led to a link that was tied.
            reader.walk(segment, begin, part, &mut |place, record| {
                if place.offset < end_offset {
                    batch.extend(self.wanted(place, record, tied.standing(&record.header)));
                }
                if !record.header.flags.more_follows() {
                    lines.append(&mut batch);
                }
                is_tied = tied.ties().is_as_tied(&record.header);
                let is_end = place.offset.saturating_add(place.length) >= end_offset;
                let is_over = is_tied == Some(false) || is_end && is_tied.is_some();
                if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            if is_tied != Some(true) {
                return Ok(false);
            }
            self.show(lines);
            if self.onward.is_break() {
                break;
            }
        }
        Ok(true)
    }

    /// Shows what is due, until that is enough.
    pub(super) fn show(&mut self, mut lines: Vec<RecordCandidate>) {
        if self.order == Order::NewestFirst {
            lines.reverse();
        }
        for RecordCandidate { line, standing, unread } in lines {
            if self.onward.is_break() {
                return;
            }
            self.unread.extend(unread);
            let Some(line) = line else { continue };
            self.last = Some(line.sequence);
            self.onward = (self.visit)(line, standing);
        }
    }

    /// The filter of what was not shown yet.
    pub(super) fn rest(&self) -> Filter {
        let mut rest = self.filter.clone();
        match (self.last, self.order) {
            (None, _) => {}
            (Some(last), Order::OldestFirst) => rest.first = Some(last.saturating_add(1)),
            (Some(last), Order::NewestFirst) => rest.last = Some(last.saturating_sub(1)),
        }
        rest
    }
}

/// Beginnings of pieces of a segment, each at the end of a batch, and whether they hold a record
/// that can be wanted.
struct Pieces {
    begun: Vec<(Run, bool)>,
    is_wanted: bool,
    end_offset: u64,
}

impl Pieces {
    fn from(run: Run) -> Self {
        Self { end_offset: run.end_offset, begun: vec![(run, false)], is_wanted: false }
    }

    fn follow(&mut self, place: &RecordPlace, record: &Record<'_>, filter: &Filter) {
        self.is_wanted |= filter.admits(&record.header);
        if record.header.flags.more_follows() {
            return;
        }
        self.end_offset = place.offset.saturating_add(place.length);
        let begun = self.begun.last_mut();
        let Some((begin, is_wanted)) = begun else { return };
        *is_wanted |= self.is_wanted;
        self.is_wanted = false;
        if self.end_offset.saturating_sub(begin.end_offset) >= PIECE_BYTES {
            let chain = ChainPosition::of(&record.header);
            self.begun.push((Run::from(chain, place.offset, self.end_offset), false));
        }
    }

    /// Those with such a record, each with the offset behind it.
    fn with_wanted(self) -> Vec<(Run, u64)> {
        let ends = self.begun.iter().skip(1).map(|(run, _)| run.end_offset);
        let ends: Vec<u64> = ends.chain([self.end_offset]).collect();
        let pieces = self.begun.into_iter().zip(ends);
        pieces.filter(|((_, is_wanted), _)| *is_wanted).map(|((run, _), end)| (run, end)).collect()
    }
}
