//! The records with which some things begin, wherever they lie, without reading what grows with the
//! log: of sealed segments, what the indexes name that the newest state vouches for.

use super::exclude::holding;
use super::filter::{Filter, OneOf};
use super::indexes::LogTies;
use super::part::Part;
use super::prefilter::Prefilter;
use super::search::Order;
use super::{Judged, Line};
use crate::begun_twice::BegunOnce;
use crate::finding::Finding;
use crate::read::{ReadError, not_known};
use holdpoint_log_files::survey::{io_error, segment_path};
use holdpoint_log_files::{LogReader, ReadStorage, RecordPlace, Run};
use holdpoint_log_format::Record;
use holdpoint_log_index::{TermHash, read_indexed};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Segments without such an index are read, the newest first, as long as they are no longer than
/// this together: of a log that is written to, the active one and what was sealed just now.
const READ_MAX: u64 = 64 << 20;

/// Shows them, segment by segment from the newest one back. What is damaged there is not found.
/// Gives the first record of those read that only a newer program knows: there is none in what the
/// newest state is of, or no program could have stated it.
pub(crate) fn beginnings<S: ReadStorage>(
    storage: &S,
    begun: BTreeSet<BegunOnce>,
    visit: &mut dyn FnMut(Line),
) -> Result<Option<Finding>, ReadError> {
    let ids: Vec<_> = begun.iter().map(|it| TermHash::of(&it.term().canonical())).collect();
    let filter = Filter { one_of: Some(OneOf::Begun(begun)), ..Filter::default() };
    let reader = LogReader::of(storage)?;
    let mut part = Part::begin(&reader);
    let tied = LogTies::begin(&reader, &mut part)?;
    let prefilter = Prefilter::of(&filter);
    let (reader, filter) = (&reader, &filter);
    let mut looking = Looking { reader, filter, prefilter, tied, part, read: 0, not_known: None };
    looking.look(&ids, visit)?;
    Ok(looking.not_known)
}

/// Object of a search, and the place to look for it.
struct Looking<'l, 's, S> {
    reader: &'l LogReader<'s, S>,
    filter: &'l Filter,
    prefilter: Prefilter,
    tied: LogTies,
    part: Part,
    /// So many bytes of segments were read.
    read: u64,
    /// The first record that only a newer program knows.
    not_known: Option<Finding>,
}

impl<S: ReadStorage> Looking<'_, '_, S> {
    /// By the ids, for the kinds of what begins are in every segment.
    fn look(&mut self, ids: &[TermHash], visit: &mut dyn FnMut(Line)) -> Result<(), ReadError> {
        let reader = self.reader;
        let Some((active, sealed)) = reader.firsts().split_last() else { return Ok(()) };
        let holding = holding(reader, &mut self.tied, sealed, ids, &mut self.part)?;
        self.by_reading(*active, visit)?;
        for (first, holds) in sealed.iter().zip(holding).rev() {
            let is_known = match holds {
                Some(true) => self.by_index(*first, visit)?,
                Some(false) => true,
                None => false,
            };
            if !is_known {
                self.by_reading(*first, visit)?;
            }
        }
        Ok(())
    }

    /// `false`: the index cannot be used, or the segment is not what it says.
    fn by_index(&mut self, first: u64, visit: &mut dyn FnMut(Line)) -> Result<bool, ReadError> {
        let Self { reader, filter, prefilter, tied, part, .. } = self;
        let Some(believed) = tied.index_by_state(reader, first)? else { return Ok(false) };
        let Ok(Some(candidates)) = believed.candidates(filter, Order::OldestFirst) else {
            return Ok(false);
        };
        let Some(mut segment) = reader.open(first, part)? else { return Ok(false) };
        let mut lines = Vec::new();
        let read =
            read_indexed(&believed.index, &mut segment, &candidates, &mut |place, record| {
                lines.extend(line_of(place, record, filter, prefilter));
            });
        let is_read = read.map_err(io_error(&segment_path(first)))?.is_some();
        lines.into_iter().filter(|_| is_read).for_each(|line| visit(*line));
        Ok(is_read)
    }

    fn by_reading(&mut self, first: u64, visit: &mut dyn FnMut(Line)) -> Result<(), ReadError> {
        let Self { reader, filter, prefilter, part, read, not_known: first_not_known, .. } = self;
        let Some(segment) = reader.open(first, part)? else { return Ok(()) };
        *read = read.saturating_add(segment.header.capacity);
        if *read > READ_MAX {
            return Ok(());
        }
        let (mut batch, mut unknown) = (Vec::new(), None);
        let make = |place: &RecordPlace, record: &Record<'_>| {
            (line_of(place, record, filter, prefilter), not_known(place, record))
        };
        let from = Run::at_start(&segment.header);
        reader.walk_making(&segment, from, &make, part, &mut |_, record, (line, not_known)| {
            batch.extend(line);
            unknown = unknown.take().or(not_known);
            if !record.header.flags.more_follows() {
                batch.drain(..).for_each(|line| visit(*line));
            }
            ControlFlow::Continue(())
        })?;
        // Segments are read from the newest one back.
        *first_not_known = unknown.or(first_not_known.take());
        Ok(())
    }
}

fn line_of(
    place: &RecordPlace,
    record: &Record<'_>,
    filter: &Filter,
    prefilter: &Prefilter,
) -> Option<Box<Line>> {
    Judged::of(place, record, filter, prefilter)?.line.map(Box::new)
}
