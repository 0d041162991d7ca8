//! Search through the segments of a story: by an index that the newest state says is the right one,
//! or else by reading them.

use crate::read::ReadError;
use crate::records::indexes::LogTies;
use crate::records::is_gone_on_from;
use crate::records::part::Part;
use holdpoint_log_files::reader::OpenSegment;
use holdpoint_log_files::survey::{io_error, segment_path};
use holdpoint_log_files::{LogReader, ReadFile, ReadStorage, RecordPlace};
use holdpoint_log_format::{Link, Record};
use holdpoint_log_index::{Index, IndexFault, Stretch, TermHash, read_indexed};
use std::collections::BTreeSet;

/// Segments by their first records.
#[derive(Default)]
pub(super) struct Looked {
    /// Those that were read.
    pub(super) read: BTreeSet<u64>,
    /// Those of which an index named what was read.
    pub(super) by_index: BTreeSet<u64>,
    /// Those that an index excludes.
    pub(super) excluded: BTreeSet<u64>,
    /// Links that were met behind what was read.
    pub(super) met: Vec<(u64, Link)>,
}

/// The first and the last record of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Looked {
    /// Counts them, each once.
    pub(super) fn count(&self, part: &mut Part) {
        let by_index = self.by_index.difference(&self.read).count() as u64;
        let is_excluded =
            |first: &&u64| !self.read.contains(first) && !self.by_index.contains(first);
        part.segments_read = self.read.len() as u64;
        part.segments_read_by_index = by_index;
        part.segments_by_index = by_index + self.excluded.iter().filter(is_excluded).count() as u64;
    }

    /// Ties the segments that hold steps of a story, from the newest one on. What was read of them
    /// has led to the links that are tied, or what is wrong is found.
    pub(super) fn tie<S: ReadStorage>(
        &self,
        reader: &LogReader<'_, S>,
        tied: &mut LogTies,
        steps: &BTreeSet<u64>,
        part: &mut Part,
    ) -> Result<(), ReadError> {
        let mut anew = BTreeSet::new();
        loop {
            self.tie_steps(reader, tied, steps, part)?;
            let Some(first) = self.led_elsewhere(reader, tied) else { return Ok(()) };
            if !anew.insert(first) {
                return Err(ReadError::Changed { file: segment_path(first) });
            }
            // What lies before it was tied by way of it.
            tied.read_anew(reader, first, part)?;
        }
    }

    fn tie_steps<S: ReadStorage>(
        &self,
        reader: &LogReader<'_, S>,
        tied: &mut LogTies,
        steps: &BTreeSet<u64>,
        part: &mut Part,
    ) -> Result<(), ReadError> {
        for first in steps.iter().rev() {
            let Some(at) = reader.holding(*first) else { continue };
            // What an index states ties what is hashed between its links, and nothing else.
            let is_read = self.read.contains(first);
            if is_read || !tied.leap_to(reader, at)? {
                tied.back_to(reader, *first, part)?;
            }
            if is_read && tied.is_by_index(*first) {
                tied.read_after_all(reader, *first, part)?;
            }
        }
        Ok(())
    }

    /// The newest segment of which something was read that did not lead to what is tied.
    fn led_elsewhere<S: ReadStorage>(
        &self,
        reader: &LogReader<'_, S>,
        tied: &LogTies,
    ) -> Option<u64> {
        let is_other = |(at, link): &&(u64, Link)| tied.ties().has_link(*at, link) == Some(false);
        let newest = self.met.iter().filter(is_other).map(|(at, _)| *at).max()?;
        reader.firsts().get(reader.holding(newest)?).copied()
    }
}

/// An index of a sealed segment by which a story is looked for.
pub(super) struct StoryIndex(Index<Vec<u8>>);

impl StoryIndex {
    /// The one that the newest state says is right, where the segment behind it goes on from the
    /// same record.
    pub(super) fn of<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        tied: &mut LogTies,
        first: u64,
        part: &mut Part,
    ) -> Result<Option<Self>, ReadError> {
        let Some(believed) = tied.index_by_state(reader, first)? else { return Ok(None) };
        let is_followed = is_gone_on_from(reader, &believed.index, first, part)?;
        Ok(is_followed.then_some(Self(believed.index)))
    }

    /// The records that may hold a term.
    pub(super) fn with(&self, term: TermHash) -> Result<Vec<u64>, IndexFault> {
        self.0.records_with(term)?.collect()
    }

    /// The batch that holds a record. `None`: the records are not what the index says.
    pub(super) fn batch_of<F: ReadFile>(
        &self,
        segment: &mut OpenSegment<F>,
        sequence: u64,
    ) -> Result<Option<Batch>, ReadError> {
        let scope = *self.0.scope();
        let (mut first, mut last, mut at) = (None, None, sequence);
        while first.is_none() {
            let Some((stretch, ends)) = self.ends_near(segment, at)? else { return Ok(None) };
            last = last.or_else(|| ends.iter().copied().find(|end| *end >= sequence));
            let before = ends.iter().rev().find(|end| **end < sequence);
            first = before.map(|end| end.saturating_add(1));
            if stretch.first <= scope.first_sequence {
                first = first.or(Some(scope.first_sequence));
            }
            at = stretch.first.saturating_sub(1);
        }
        let mut at = sequence;
        while last.is_none() {
            let Some((stretch, ends)) = self.ends_near(segment, at)? else { return Ok(None) };
            last = ends.into_iter().find(|end| *end >= sequence);
            at = stretch.last.saturating_add(1);
        }
        Ok(first.zip(last).map(|(first, last)| Batch { first, last }))
    }

    /// The records between the two stated links around one, and which of them end a batch.
    fn ends_near<F: ReadFile>(
        &self,
        segment: &mut OpenSegment<F>,
        sequence: u64,
    ) -> Result<Option<(Stretch, Vec<u64>)>, ReadError> {
        let Ok(Some(stretch)) = self.0.stretch_of(sequence) else { return Ok(None) };
        let (of, mut ends) = (Batch { first: stretch.first, last: stretch.last }, Vec::new());
        let read = self.read(segment, of, &mut |_, record| {
            if !record.header.flags.more_follows() {
                ends.push(record.header.sequence);
            }
        })?;
        Ok(read.map(|()| (stretch, ends)))
    }

    /// Shows records in a row. `None`: they are not what the index says.
    pub(super) fn read<F: ReadFile>(
        &self,
        segment: &mut OpenSegment<F>,
        of: Batch,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>),
    ) -> Result<Option<()>, ReadError> {
        let wanted: Vec<u64> = (of.first..=of.last).collect();
        let file = segment_path(segment.header.first_sequence());
        Ok(read_indexed(&self.0, segment, &wanted, visit).map_err(io_error(&file))?)
    }
}
