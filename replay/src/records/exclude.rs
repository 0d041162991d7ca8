//! Excluding a sealed segment by the filter of its index, of which nothing else is read.

use super::indexes::Tied;
use super::part::Part;
use crate::read::ReadError;
use holdpoint_log_files::{LogReader, ReadFile, ReadStorage};
use holdpoint_log_index::{Index, TermHash};

/// Whether some record of a sealed segment may hold one term of each list, by the index that the
/// newest state says is the right one. `None`: none tells.
pub(crate) fn may_hold<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    tied: &mut Tied,
    first: u64,
    lists: &[impl AsRef<[TermHash]>],
    part: &mut Part,
) -> Result<Option<bool>, ReadError> {
    let Some(filter) = tied.filter_by_state(reader, first)? else { return Ok(None) };
    // Of records without terms nobody knows what they hold.
    if filter.without_terms() > 0 || !is_gone_on_from(reader, &filter, first, part)? {
        return Ok(None);
    }
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

/// Whether the segment behind an index's goes on from the record that the index names last.
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
