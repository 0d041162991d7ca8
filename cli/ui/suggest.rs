//! Of the names that there are, the one that is most like what somebody asked for.

use crate::ui::{Exit, Failure, excerpt};
use holdpoint_domain::core::text::{bounded, visible};

/// How much of a name is compared with those that there are, in bytes.
const COMPARED_BYTES: usize = 96;
/// Names that are less alike than this are not suggested.
const LIKENESS_MIN: f64 = 0.6;
/// What ids begin with.
const ID_PREFIXES: [&str; 9] =
    ["LOOP-", "REQ-", "DEC-", "DP-", "AUDIT-", "CHAIN-", "REC-", "FAULT-", "OBS-"];
/// How much alike names are that differ in nothing but small and capital letters.
const LIKENESS_OF_CASE: f64 = 0.99;
/// The beginning of a name is like it from so many bytes on: a shorter one is that of many, such as
/// `LOOP-`.
const BEGINNING_BYTES_MIN: usize = 6;

/// What is wanted, and the closest name so far.
pub(crate) struct Closest<'w> {
    wanted: &'w str,
    likeness: f64,
    name: String,
}

impl<'w> Closest<'w> {
    /// No name yet.
    pub(crate) fn to(wanted: &'w str) -> Self {
        Self { wanted, likeness: 0.0, name: String::new() }
    }

    /// Takes in a name that there is.
    pub(crate) fn take(&mut self, name: &str) {
        if name == self.name {
            return;
        }
        let likeness = likeness(name, bounded(self.wanted, COMPARED_BYTES));
        if name == self.wanted || likeness > self.likeness && self.name != self.wanted {
            (self.likeness, self.name) = (likeness, name.to_string());
        }
    }

    /// The closest name, where one is close; what is wanted itself, where it was among them.
    pub(crate) fn found(self) -> Option<String> {
        (self.likeness >= LIKENESS_MIN).then_some(self.name)
    }

    /// Not found, unless what is wanted was among them.
    pub(crate) fn expect(self, noun: &str, otherwise: &str) -> Result<(), Failure> {
        if self.name == self.wanted {
            return Ok(());
        }
        let advice = match self.likeness >= LIKENESS_MIN {
            true => format!("did you mean {}?", visible(&self.name)),
            false => otherwise.to_string(),
        };
        let message = format!("there is no {noun} {}: {advice}", excerpt(self.wanted));
        Err(Failure::new(Exit::NOT_FOUND, "not_found", message))
    }
}

/// Of these names the one that is most like the wanted one, if one is.
pub(crate) fn closest<'n>(
    names: impl IntoIterator<Item = &'n str>,
    wanted: &str,
) -> Option<&'n str> {
    let wanted = bounded(wanted, COMPARED_BYTES);
    let scored = names.into_iter().map(|name| (likeness(name, wanted), name));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.filter(|(likeness, _)| *likeness >= LIKENESS_MIN).map(|(_, name)| name)
}

/// Nothing is like what is an id of another kind.
fn likeness(name: &str, wanted: &str) -> f64 {
    if is_of_another_kind(name, wanted) {
        return 0.0;
    }
    let likeness = strsim::normalized_damerau_levenshtein(bounded(name, COMPARED_BYTES), wanted);
    if name.eq_ignore_ascii_case(wanted) {
        return likeness.max(LIKENESS_OF_CASE);
    }
    match wanted.len() >= BEGINNING_BYTES_MIN && name.starts_with(wanted) {
        true => likeness.max(LIKENESS_MIN),
        false => likeness,
    }
}

/// Whether what is wanted begins as ids of one kind do, in whatever case, and the name does not.
fn is_of_another_kind(name: &str, wanted: &str) -> bool {
    let begins = |text: &str, prefix: &str| {
        text.get(..prefix.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(prefix))
    };
    ID_PREFIXES.iter().any(|prefix| begins(wanted, prefix) && !begins(name, prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_like_ids_of_its_own_kind_alone() {
        let digits = "0123456789abcdef0123456789abcdef";
        let ids: Vec<String> = ID_PREFIXES.iter().map(|it| format!("{it}{digits}")).collect();
        for (wanted, own) in ids.iter().zip(&ids) {
            let slip = format!("{}0", &wanted[..wanted.len() - 1]);
            let others = ids.iter().filter(|id| *id != own).map(String::as_str);
            assert_eq!(closest(others, &slip), None, "{slip}");
            assert_eq!(closest(ids.iter().map(String::as_str), &slip), Some(&**own));
            assert_eq!(closest([&**own], &slip.to_lowercase()), Some(&**own));
        }
        assert_eq!(closest(["gt-1"], "gt-2"), Some("gt-1"));
    }
}
