//! Statements of one section of a sealed segment's index, of which nothing else is read: which
//! terms no record of the segment holds, and its rows.

use super::indexes::LogTies;
use super::part::Part;
use super::threads::made_of_each;
use super::vouched::OpenIndex;
use crate::read::ReadError;
use holdpoint_log_files::{LogReader, ReadFile, ReadStorage};
use holdpoint_log_index::{Copies, Index, Rows, Section, TermHash};
use memchr::memmem::Finder;

/// Returns whether some record of a sealed segment may hold one term of each list, by the index
/// that the newest state says is the right one. `None`: none tells.
pub(crate) fn may_hold<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    tied: &mut LogTies,
    first: u64,
    lists: &[impl AsRef<[TermHash]>],
    part: &mut Part,
) -> Result<Option<bool>, ReadError> {
    let filter = section(reader, tied, first, Section::TermFilter, part)?;
    let Some(filter) = filter else { return Ok(None) };
    let mut may_hold = true;
    for list in lists {
        let mut has_any = false;
        for term in list.as_ref() {
            match filter.may_have_term(*term) {
                Ok(may_have) => has_any |= may_have,
                Err(_) => return Ok(None),
            }
        }
        may_hold &= has_any;
    }
    Ok(Some(may_hold))
}

/// The rows of a sealed segment, each of whose records could be read when they were made, by the
/// index that the newest state says is the right one. `None`: it has to be asked otherwise.
pub(crate) fn rows_of<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    tied: &mut LogTies,
    first: u64,
    part: &mut Part,
) -> Result<Option<Rows>, ReadError> {
    let index = section(reader, tied, first, Section::Rows, part)?;
    Ok(index.and_then(|index| index.rows().ok()))
}

/// So many indexes are open at once.
const OPEN_AT_ONCE: usize = 16;

/// Does the same as [`rows_of`] of each of these segments, where its bytes hold one of these texts,
/// else none of its rows.
pub(super) fn rows_holding<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    tied: &mut LogTies,
    segments: &[u64],
    written: &[Finder<'_>],
    part: &mut Part,
) -> Result<Option<Vec<Rows>>, ReadError> {
    let rows = asked_each(reader, tied, segments, part, &|opened| rows_if_held(opened, written))?;
    Ok(rows.into_iter().collect())
}

/// Checks whether some record of each of these sealed segments holds one of these terms, as
/// [`may_hold`], and as its index names records. `None`: none tells.
pub(super) fn holding<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    tied: &mut LogTies,
    segments: &[u64],
    terms: &[TermHash],
    part: &mut Part,
) -> Result<Vec<Option<bool>>, ReadError> {
    asked_each(reader, tied, segments, part, &|opened| holds_one(opened, terms))
}

/// Answer of an index, where it can be used.
type IndexAnswer<T> = Result<Option<T>, ReadError>;

/// Returns what the index of each of these sealed segments tells, by as many threads as the
/// processor runs at once. `None`: there is none to be asked.
fn asked_each<S: ReadStorage, T: Send>(
    reader: &LogReader<'_, S>,
    tied: &mut LogTies,
    segments: &[u64],
    part: &mut Part,
    ask: &(dyn Fn(&OpenIndex<S::File>) -> IndexAnswer<T> + Sync),
) -> Result<Vec<Option<T>>, ReadError> {
    let mut told = Vec::with_capacity(segments.len());
    let Some(vouched) = tied.vouched_by_state(reader)? else {
        told.resize_with(segments.len(), || None);
        return Ok(told);
    };
    for firsts in segments.chunks(OPEN_AT_ONCE) {
        let mut opened = Vec::with_capacity(firsts.len());
        for first in firsts {
            let one = vouched.opened(reader.storage(), *first)?;
            opened.push(match one {
                Some(one) if tells_of_all(reader, &one.index, *first, part)? => Some(one),
                _ => None,
            });
        }
        let asked = made_of_each(opened, &|one| one.map_or(Ok(None), |one| ask(&one)));
        for one in asked {
            told.push(one?);
        }
    }
    Ok(told)
}

fn holds_one<F: ReadFile>(opened: &OpenIndex<F>, terms: &[TermHash]) -> IndexAnswer<bool> {
    let filter = opened.copied(&|index| index.copied_sections(&[Section::TermFilter]))?;
    let Some(filter) = filter else { return Ok(None) };
    let may_hold = |term: &&TermHash| filter.may_have_term(**term).unwrap_or(true);
    let likely: Vec<TermHash> = terms.iter().filter(may_hold).copied().collect();
    if likely.is_empty() {
        return Ok(Some(false));
    }
    let sections = [Section::TermFilter, Section::Terms];
    let table = opened.copied(&|index| index.copied_sections(&sections))?;
    let Some(table) = table else { return Ok(None) };
    for term in likely {
        match table.records_with(term).map(|mut records| records.next().is_some()) {
            Ok(true) => return Ok(Some(true)),
            Ok(false) => {}
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(false))
}

fn rows_if_held<F: ReadFile>(opened: &OpenIndex<F>, written: &[Finder<'_>]) -> IndexAnswer<Rows> {
    let index = opened.copied(&|index| index.copied_sections(&[Section::Rows]))?;
    let Some(index) = index else { return Ok(None) };
    let hold = index.rows_are(|bytes| written.iter().any(|it| it.find(bytes).is_some()));
    Ok(match hold {
        Ok(false) => Some(Rows::default()),
        Ok(true) => index.rows().ok(),
        Err(_) => None,
    })
}

/// The section of an index that can be asked for all records of its segment: of records without
/// terms nobody knows what they hold.
fn section<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    tied: &mut LogTies,
    first: u64,
    section: Section,
    part: &mut Part,
) -> Result<Option<Index<Copies>>, ReadError> {
    let Some(index) = tied.section_by_state(reader, first, section)? else { return Ok(None) };
    Ok(tells_of_all(reader, &index, first, part)?.then_some(index))
}

/// Returns whether an index can be asked for all records of its segment.
fn tells_of_all<S: ReadStorage, F: ReadFile>(
    reader: &LogReader<'_, S>,
    index: &Index<F>,
    first: u64,
    part: &mut Part,
) -> Result<bool, ReadError> {
    Ok(index.without_terms() == 0 && is_gone_on_from(reader, index, first, part)?)
}

/// Returns whether the segment behind an index's goes on from the record that the index names last.
pub(crate) fn is_gone_on_from<S: ReadStorage, F: ReadFile>(
    reader: &LogReader<'_, S>,
    index: &Index<F>,
    first: u64,
    part: &mut Part,
) -> Result<bool, ReadError> {
    let last = index.scope().last;
    let at = reader.holding(first).unwrap_or(0).saturating_add(1);
    let Some(next) = reader.firsts().get(at) else { return Ok(false) };
    let next = reader.open(*next, part)?.map(|next| next.header.previous);
    Ok(next.is_some_and(|it| (it.sequence, it.link) == (last.sequence, last.link)))
}
