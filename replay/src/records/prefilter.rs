//! What rules a record out by its bytes alone: most records hold nothing of what is asked for, and
//! finding that out is faster than decoding them.

use super::filter::{Filter, OneOf};
use memchr::memmem::Finder;
use std::collections::BTreeSet;

/// Texts that the payload of every wanted record holds: what it is about is written out in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefilter {
    each: Vec<Finder<'static>>,
    one_of: Option<OneOfThese>,
}

/// Texts of one length that begin alike, one of which the payload holds.
#[derive(Clone, Debug)]
struct OneOfThese {
    beginning: Finder<'static>,
    length: usize,
    texts: BTreeSet<Vec<u8>>,
}

impl Prefilter {
    pub(crate) fn of(filter: &Filter) -> Self {
        let ids = [&filter.loop_id, &filter.decision, &filter.correlation];
        let finder = |id: &String| Finder::new(id.as_bytes()).into_owned();
        let each = ids.into_iter().flatten().map(finder).collect();
        Self { each, one_of: filter.one_of.as_ref().and_then(OneOfThese::of) }
    }

    /// Whether a record with this payload can be wanted.
    pub(crate) fn admits(&self, payload: &[u8]) -> bool {
        self.each.iter().all(|text| text.find(payload).is_some())
            && self.one_of.as_ref().is_none_or(|these| these.stand_in(payload))
    }
}

impl OneOfThese {
    /// `None`: the ids have nothing in common by which they are found at once.
    fn of(several: &OneOf) -> Option<Self> {
        let (beginning, ids) = match several {
            OneOf::Loops(ids) => ("LOOP-", ids),
            OneOf::Decisions(ids) => ("DP-", ids),
        };
        let length = ids.first()?.len();
        let is_alike = |id: &String| id.len() == length && id.starts_with(beginning);
        ids.iter().all(is_alike).then(|| Self {
            beginning: Finder::new(beginning).into_owned(),
            length,
            texts: ids.iter().map(|id| id.clone().into_bytes()).collect(),
        })
    }

    fn stand_in(&self, payload: &[u8]) -> bool {
        let text = |at: usize| payload.get(at..at.saturating_add(self.length));
        let mut found = self.beginning.find_iter(payload).filter_map(text);
        found.any(|text| self.texts.contains(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_of(ids: &[&str]) -> Filter {
        let ids = ids.iter().map(|id| (*id).to_string()).collect();
        Filter { one_of: Some(OneOf::Loops(ids)), ..Filter::default() }
    }

    #[test]
    fn a_payload_that_holds_no_wanted_id_is_ruled_out() {
        let filter = Filter { loop_id: Some("LOOP-1".into()), ..Filter::default() };
        assert!(Prefilter::of(&filter).admits(b"..LOOP-12"));
        assert!(!Prefilter::of(&filter).admits(b"..LOOP-2"));
        let two = Filter { correlation: Some("story".into()), ..filter };
        assert!(!Prefilter::of(&two).admits(b"..LOOP-1"));
        assert!(Prefilter::of(&two).admits(b"story..LOOP-1"));
        let several = Prefilter::of(&one_of(&["LOOP-1", "LOOP-2"]));
        assert!(several.admits(b"LOOP-LOOP-2"));
        assert!(!several.admits(b"LOOP-3 LOOP-"));
        assert!(!several.admits(b""));
    }

    #[test]
    fn ids_that_have_nothing_in_common_rule_nothing_out() {
        for ids in [&["LOOP-1", "LOOP-22"][..], &["LOOP-1", "x"], &["mine"]] {
            assert!(Prefilter::of(&one_of(ids)).admits(b""), "{ids:?}");
        }
        assert!(Prefilter::of(&Filter::default()).admits(b""));
    }
}
