//! Statements of tied records about others: which index of a segment is the right one, and the
//! index itself where it is; and which records are unproven.

use super::filter::{Filter, OneOf};
use super::indexes::RecordStatement;
use super::search::Order;
use crate::read::ReadError;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::{SegmentIndexes, UnprovenRecords};
use holdpoint_domain::world::{TERMS_VERSION, Term};
use holdpoint_log_files::{ReadFile, ReadStorage, Standing, SurveyError};
use holdpoint_log_index::file::{Unusable, index_path, open_index};
use holdpoint_log_index::layout::INDEX_VERSION;
use holdpoint_log_index::{Index, IndexFault, TermHash};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

/// Takes a private copy of what is needed of an index.
type Copying<'c, F, T> = dyn Fn(&Index<F>) -> Result<Index<T>, IndexFault> + 'c;

/// Index that is the right one of a segment.
#[derive(Clone, Copy)]
pub(super) struct RightIndex {
    pub(super) digest: Digest,
    /// The record that states it, or a state in which it is; `None` where the caller knew.
    pub(super) by: Option<u64>,
}

/// Statements of records about others. Whoever says so stands behind those, so that it is known
/// when they are tied.
#[derive(Clone, Default)]
pub(super) struct Vouched {
    /// By a segment's first record, its index, as tied records state it. Two that differ count for
    /// nothing: the segment is read.
    pub(super) indexes: BTreeMap<u64, Option<RightIndex>>,
    /// The records that state the indexes which were asked.
    pub(super) asked_by: BTreeSet<u64>,
    /// By whatever record that was read: to say so proves nothing, and only takes away.
    pub(super) unproven: UnprovenRecords,
}

/// The file of an index that is believed, as long as nobody writes to it.
pub(super) struct OpenIndex<F> {
    pub(super) index: Index<F>,
    first: u64,
    digest: Digest,
}

/// A private copy of an index that is believed.
pub(crate) struct Believed {
    pub(crate) index: Index<Vec<u8>>,
}

impl Vouched {
    /// Takes what a record says.
    pub(super) fn take(&mut self, by: u64, stated: &RecordStatement) {
        match stated {
            RecordStatement::Index(body) if body.format == INDEX_VERSION => {
                let index = RightIndex { digest: body.digest, by: Some(by) };
                self.take_index(body.first_sequence, Some(index));
            }
            RecordStatement::Index(_) => {}
            RecordStatement::Unproven(_) => stated.add_unproven(&mut self.unproven),
        }
    }

    /// Two that differ count for nothing.
    fn take_index(&mut self, first: u64, stated: Option<RightIndex>) {
        let held = self.indexes.entry(first).or_insert(stated);
        if held.map(|held| held.digest) != stated.map(|stated| stated.digest) {
            *held = None;
        }
    }

    /// Takes what a state says that a record states. Records behind it may say otherwise.
    pub(super) fn take_state(
        &mut self,
        by: u64,
        indexes: &SegmentIndexes,
        unproven: &UnprovenRecords,
    ) {
        for (first, index) in indexes.iter().filter(|(_, index)| index.format == INDEX_VERSION) {
            let right = RightIndex { digest: index.digest, by: Some(by) };
            self.take_index(first, (!index.is_disputed()).then_some(right));
        }
        unproven.iter().for_each(|(first, last)| self.unproven.add(first, last));
    }

    pub(super) fn says_unproven(&self, sequence: u64) -> bool {
        self.unproven.contains(sequence)
    }

    /// Takes what other records say.
    pub(super) fn join(&mut self, other: &Self) {
        other.indexes.iter().for_each(|(first, stated)| self.take_index(*first, *stated));
        other.unproven.iter().for_each(|(first, last)| self.unproven.add(first, last));
        self.asked_by.extend(&other.asked_by);
    }

    /// Returns what is proven of a record that stands so by links.
    pub(super) fn standing(&self, sequence: u64, by_links: Standing) -> Standing {
        if self.unproven.contains(sequence) { Standing::Unproven } else { by_links }
    }

    /// The index of a segment, where there is one to be believed.
    pub(super) fn index<S: ReadStorage>(
        &mut self,
        storage: &S,
        first: u64,
    ) -> Result<Option<Believed>, ReadError> {
        let copied = self.copied(storage, first, &|opened| opened.copied())?;
        Ok(copied.map(|index| Believed { index }))
    }

    /// Returns what is copied of the index of a segment, where there is one to be believed.
    pub(super) fn copied<S: ReadStorage, T: ReadFile>(
        &mut self,
        storage: &S,
        first: u64,
        copy: &Copying<'_, S::File, T>,
    ) -> Result<Option<Index<T>>, ReadError> {
        let opened = self.opened(storage, first)?;
        opened.map_or(Ok(None), |opened| opened.copied(copy))
    }

    /// The file of the index of a segment, where it is one to be believed.
    pub(super) fn opened<S: ReadStorage>(
        &mut self,
        storage: &S,
        first: u64,
    ) -> Result<Option<OpenIndex<S::File>>, ReadError> {
        let Some(Some(right)) = self.indexes.get(&first).copied() else { return Ok(None) };
        let index = usable(first, open_index(storage, first))?;
        let opened = index.map(|index| OpenIndex { index, first, digest: right.digest });
        let opened = opened.filter(|opened| opened.is_vouched(&opened.index));
        self.asked_by.extend(right.by.filter(|_| opened.is_some()));
        Ok(opened)
    }
}

impl<F: ReadFile> OpenIndex<F> {
    /// Returns what is copied of it. The copy is looked at as well: the file may have been changed
    /// before it was made.
    pub(super) fn copied<T: ReadFile>(
        &self,
        copy: &Copying<'_, F, T>,
    ) -> Result<Option<Index<T>>, ReadError> {
        let copied = usable(self.first, copy(&self.index).map_err(Unusable::from))?;
        Ok(copied.filter(|copied| self.is_vouched(copied)))
    }

    fn is_vouched<T: ReadFile>(&self, index: &Index<T>) -> bool {
        index.is_vouched(self.first, self.digest.as_bytes(), TERMS_VERSION)
    }
}

/// Returns the index if it can be used: one that cannot be read is an error; what is no index, or
/// is damaged, is none.
fn usable<T>(first: u64, index: Result<T, Unusable>) -> Result<Option<T>, ReadError> {
    match index {
        Ok(index) => Ok(Some(index)),
        Err(Unusable::Unreadable(source)) if source.kind() != ErrorKind::InvalidInput => {
            Err(SurveyError::Io { file: index_path(first), source }.into())
        }
        Err(_) => Ok(None),
    }
}

impl Believed {
    /// Returns whether every record has terms in the index. One whose payload could not be read
    /// when the index was built has none.
    fn names_all(&self) -> bool {
        self.index.without_terms() == 0
    }

    /// The records that can be wanted, in their order. `None`: the index cannot be used, or reading
    /// the segment is faster.
    pub(crate) fn candidates(
        &self,
        filter: &Filter,
        order: Order,
    ) -> Result<Option<Vec<u64>>, IndexFault> {
        let scope = self.index.scope();
        let low =
            scope.first_sequence.max(filter.first.unwrap_or(0)).max(self.first_since(filter)?);
        let high = filter.last.unwrap_or(u64::MAX).min(scope.last.sequence);
        if let Some(OneOf::Records(wanted)) = &filter.one_of {
            let is_here = |sequence: &u64| (low..=high).contains(sequence);
            return Ok(Some(wanted.iter().copied().filter(is_here).collect()));
        }
        // Where many are wanted, reading on is faster than going from one to the next.
        let most = u64::from(scope.records()) / 4;
        let lists = filter.terms();
        let Some((first, rest)) = lists.split_first() else {
            // Whoever goes back from a record may soon have seen enough.
            let is_few = order == Order::NewestFirst && filter.last.is_some()
                || high.checked_sub(low).is_none_or(|count| count < most);
            return Ok(is_few.then(|| (low..=high).collect()));
        };
        if !self.names_all() {
            return Ok(None);
        }
        let mut found = self.with_any(first)?;
        for list in rest {
            let others = self.with_any(list)?;
            found.retain(|sequence| others.contains(sequence));
        }
        found.retain(|sequence| (low..=high).contains(sequence));
        Ok((found.len() as u64 <= most).then(|| found.into_iter().collect()))
    }

    fn first_since(&self, filter: &Filter) -> Result<u64, IndexFault> {
        let Some(since) = filter.since else { return Ok(0) };
        let found = self.index.first_at_or_after(since.nanoseconds())?;
        Ok(found.unwrap_or(u64::MAX))
    }

    pub(super) fn with_any(&self, terms: &[Term<'_>]) -> Result<BTreeSet<u64>, IndexFault> {
        let mut found = BTreeSet::new();
        for term in terms {
            for sequence in self.index.records_with(TermHash::of(&term.canonical()))? {
                found.insert(sequence?);
            }
        }
        Ok(found)
    }
}
