//! Ids where there is little room: as many characters as tell them apart.

use holdpoint_replay::id_text::DIGITS_MIN;
use std::collections::{BTreeMap, BTreeSet};

/// Of each of these ids, how many characters of it tell it from the others: [`short_id`] at least.
pub(crate) fn told_apart<'i>(ids: impl IntoIterator<Item = &'i str>) -> BTreeMap<String, usize> {
    let ids: BTreeSet<&str> = ids.into_iter().collect();
    let mut apart: BTreeMap<String, usize> =
        ids.iter().map(|id| ((*id).to_string(), short_id(id))).collect();
    for (one, next) in ids.iter().zip(ids.iter().skip(1)) {
        let both = one.chars().zip(next.chars());
        let needed = both.take_while(|(one, next)| one == next).count().saturating_add(1);
        for id in [one, next] {
            apart.entry((*id).to_string()).and_modify(|it| *it = needed.max(*it));
        }
    }
    apart
}

/// How many characters of an id are told where there is little room and no other begins so; of what
/// has no digits behind a hyphen, all.
pub(crate) fn short_id(id: &str) -> usize {
    let digits = id.split_once('-').map(|(kind, _)| kind.chars().count().saturating_add(1));
    digits.map_or(usize::MAX, |before| before.saturating_add(DIGITS_MIN))
}
