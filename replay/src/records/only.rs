//! The records of the one run whose id begins in a way, with one reading of the newest segment.

use super::Line;
use super::exclude::rows_holding;
use super::facts::begun;
use super::filter::{Filter, OneOf};
use super::prefilter::{LOOP, Prefilter};
use super::search::{Order, RecordSearch, Searched, terms_to_exclude_by};
use super::seen::NewestQuery;
use crate::read::{ReadError, ReadOptions};
use holdpoint_log_files::{LogReader, ReadStorage, Standing};
use memchr::memmem::Finder;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The ids of the runs and the questions that begin so, and where that is one run alone, its
/// records, shown as [`super::search()`] does from the oldest on. `None`: indexes and the newest
/// segment alone do not tell; no record was shown.
///
/// # Errors
/// As [`crate::verify()`].
pub(crate) fn search_only<S: ReadStorage>(
    storage: &S,
    beginnings: &BTreeSet<String>,
    options: ReadOptions<'_>,
    visit: &mut dyn FnMut(Line, Standing) -> ControlFlow<()>,
) -> Result<Option<(BTreeSet<String>, Searched)>, ReadError> {
    let reader = LogReader::of(storage)?;
    let (asked, any) =
        (NewestQuery::about(beginnings), about(OneOf::LoopsBeginning(beginnings.clone())));
    let mut search = RecordSearch::of(&reader, &any, Order::OldestFirst, Some(&asked))?;
    let Some(ids) = search.begun(&asked)? else { return Ok(None) };
    let only = ids.first().filter(|id| ids.len() == 1 && id.starts_with(LOOP));
    let Some(id) = only else {
        search.check_ends(options)?;
        search.check_beginning()?;
        return Ok(Some((ids, Searched::Part(search.into_part(reader.witnessed()).into()))));
    };
    let exact = about(OneOf::Loops([id.clone()].into()));
    search.narrow(&exact)?;
    let searched = search.carried_out(options, &mut |_| {}, &mut |line, standing| {
        // Of the newest segment, records about other runs whose ids begin so were kept as well.
        let is_about = line.loop_id.as_ref() == Some(id);
        if is_about { visit(line, standing) } else { ControlFlow::Continue(()) }
    })?;
    Ok(Some((ids, searched)))
}

fn about(runs: OneOf) -> Filter {
    Filter { one_of: Some(runs), ..Filter::default() }
}

impl<'f, S: ReadStorage> RecordSearch<'_, '_, 'f, S> {
    /// The ids of what begins so.
    fn begun(&mut self, asked: &NewestQuery) -> Result<Option<BTreeSet<String>>, ReadError> {
        let Some((_, sealed)) = self.reader.firsts().split_last() else { return Ok(None) };
        self.tie_at(sealed.len(), None)?;
        let said = self.part.newest.as_ref().filter(|_| self.part.findings.is_empty());
        let said = said.filter(|said| said.is_whole);
        let Some(mut ids) = said.map(|said| said.begun.clone()) else { return Ok(None) };
        let written = asked.written_in_rows();
        let written: Vec<_> = written.iter().map(Finder::new).collect();
        let rows = rows_holding(self.reader, &mut self.tied, sealed, &written, &mut self.part)?;
        let Some(rows) = rows else { return Ok(None) };
        ids.extend(rows.iter().flat_map(|rows| begun(rows, |id| asked.is_meant(id))));
        self.part.segments_by_index += sealed.len() as u64;
        Ok(Some(ids))
    }

    /// Goes on with a filter that wants some of what the one before wants.
    fn narrow(&mut self, filter: &'f Filter) -> Result<(), ReadError> {
        self.filter = filter;
        self.prefilter = Prefilter::of(filter).into();
        self.excluded_by = terms_to_exclude_by(filter);
        self.exclude_all()?;
        self.tie_all()
    }
}
