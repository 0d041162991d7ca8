//! Limits that tighten by themselves, and give way only to a reason that is written down.

use super::SHAPE;
use serde::Deserialize;
use std::fmt::Write;

/// A number that improved by more than so many parts of a hundred must have its limit moved.
const SLACK: usize = 2;
/// How many parts of a number its failure names.
const PARTS_MAX: usize = 12;

/// A number with the parts that it is made of.
#[derive(Default)]
pub(super) struct Number {
    pub(super) value: usize,
    pub(super) parts: Vec<(String, usize)>,
}

impl Number {
    pub(super) fn sum(parts: impl IntoIterator<Item = (String, usize)>) -> Self {
        let parts: Vec<_> = parts.into_iter().filter(|(_, count)| *count > 0).collect();
        Self { value: parts.iter().map(|(_, count)| count).sum(), parts }
    }

    pub(super) fn add(&mut self, part: String, count: usize) {
        self.value += count;
        self.parts.push((part, count));
    }

    /// The sum as a share of the whole in thousandths, rounded up.
    pub(super) fn per_mille(parts: impl IntoIterator<Item = (String, usize)>, of: usize) -> Self {
        let Self { value, parts } = Self::sum(parts);
        Self { value: (value * 1000).div_ceil(of.max(1)), parts }
    }

    fn largest(&self) -> String {
        let mut parts: Vec<_> = self.parts.iter().collect();
        parts.sort_by(|(a, more), (b, less)| less.cmp(more).then(a.cmp(b)));
        let mut text = String::new();
        for (part, count) in parts.into_iter().take(PARTS_MAX) {
            write!(text, "\n    {count:>6} {part}").unwrap();
        }
        text
    }
}

/// The side of a limit on which a number may be.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    Ceiling,
    Floor,
}

impl Bound {
    /// The section of reasons for moving such a limit.
    pub(super) const fn section(self) -> &'static str {
        match self {
            Self::Ceiling => "raised",
            Self::Floor => "lowered",
        }
    }

    /// How much worse a value is than another.
    fn loss(self, value: usize, than: usize) -> usize {
        match self {
            Self::Ceiling => value.saturating_sub(than),
            Self::Floor => than.saturating_sub(value),
        }
    }

    fn gain(self, value: usize, than: usize) -> usize {
        self.loss(than, value)
    }
}

/// Where a number is held: what it was when it was first held, less what was gained since, and what
/// was given away for a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limit {
    pub(super) at: usize,
    pub(super) first: usize,
    pub(super) gained: usize,
}

impl Limit {
    pub(super) fn new(at: usize) -> Self {
        Self { at, first: at, gained: 0 }
    }

    /// The limit at a value that is better, or where it is.
    pub(super) fn tightened(self, bound: Bound, value: usize) -> Self {
        let gain = bound.gain(value, self.at);
        let at = if gain > 0 { value } else { self.at };
        Self { at, gained: self.gained + gain, ..self }
    }
}

/// A limit that gave way: a ceiling that was raised, or a floor that was lowered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    pub(super) number: String,
    pub(super) old: usize,
    pub(super) new: usize,
    pub(super) issue: u32,
    pub(super) reason: String,
}

impl Change {
    pub(super) fn text(&self, bound: Bound) -> String {
        let (section, Self { number, old, new, issue, reason }) = (bound.section(), self);
        format!(
            "[[{section}]]\nnumber = {number:?}\nold = {old}\nnew = {new}\nissue = {issue}\n\
             reason = {reason:?}\n\n"
        )
    }
}

/// By how much a limit gave way in all.
pub(super) fn given_way(name: &str, bound: Bound, changes: &[Change]) -> usize {
    let own = changes.iter().filter(|change| change.number == name);
    own.map(|change| bound.loss(change.new, change.old)).sum()
}

/// Everything that is wrong between a number, its limit and the reasons for moving it.
pub(super) fn faults(
    name: &str,
    bound: Bound,
    number: &Number,
    limit: Limit,
    changes: &[Change],
) -> Vec<String> {
    let Limit { at, first, gained } = limit;
    let (value, section) = (number.value, bound.section());
    let mut faults = Vec::new();
    if bound.loss(value, at) > 0 {
        let largest = number.largest();
        faults.push(format!(
            "{name}: {value}, and {SHAPE} holds it at {at}. Mend it, or move the limit with a \
             [[{section}]] entry in the same commit. The largest parts:{largest}"
        ));
    }
    if bound.gain(value, at) * 100 > at * SLACK {
        faults.push(format!(
            "{name}: {value}, better than the {at} of {SHAPE}. Keep that: \
             HOLDPOINT_WRITE_SHAPE=1 cargo test --locked -p holdpoint-cli --test it -- shape::"
        ));
    }
    let given_way = given_way(name, bound, changes);
    if bound.loss(at, first) + gained != given_way + bound.gain(at, first) {
        faults.push(format!(
            "{name}: it began at {first}, gained {gained} and stands at {at}, and the \
             [[{section}]] entries of {SHAPE} explain {given_way}"
        ));
    }
    faults
}

/// Entries that move nothing, give no reason or name no number.
pub(super) fn idle<'a>(
    bound: Bound,
    changes: &'a [Change],
    is_number: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = String> + 'a {
    let is_idle = move |change: &&Change| {
        let Change { number, old, new, issue, reason } = change;
        bound.loss(*new, *old) == 0 || *issue == 0 || reason.len() < 10 || !is_number(number)
    };
    let section = bound.section();
    changes.iter().filter(is_idle).map(move |change| format!("[[{section}]] is idle: {change:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: usize) -> Number {
        Number::sum([("a".into(), value)])
    }

    fn change(old: usize, new: usize) -> Change {
        let reason = "more is measured".into();
        Change { number: "n".into(), old, new, issue: 7, reason }
    }

    fn is_fit(bound: Bound, value: usize, limit: Limit, changes: &[Change]) -> bool {
        faults("n", bound, &of(value), limit, changes).is_empty()
    }

    #[test]
    fn a_number_beyond_its_limit_or_far_within_it_is_a_fault() {
        for (value, ceiling, floor) in
            [(97, false, false), (98, true, false), (100, true, true), (102, false, true)]
        {
            assert_eq!(is_fit(Bound::Ceiling, value, Limit::new(100), &[]), ceiling, "{value}");
            assert_eq!(is_fit(Bound::Floor, value, Limit::new(100), &[]), floor, "{value}");
        }
        assert!(!is_fit(Bound::Floor, 103, Limit::new(100), &[]));
    }

    #[test]
    fn a_fault_names_the_largest_parts_first() {
        let parts =
            [("few", 1), ("most", 3), ("some", 2)].map(|(part, count)| (part.into(), count));
        let faults = faults("n", Bound::Ceiling, &Number::sum(parts), Limit::new(5), &[]);
        let places = ["most", "some", "few"].map(|part| faults[0].find(part).unwrap());
        assert!(places.is_sorted(), "{faults:?}");
    }

    #[test]
    fn a_limit_gives_way_by_as_much_as_its_entries_say() {
        let raised = Limit { at: 100, first: 120, gained: 30 };
        assert!(is_fit(Bound::Ceiling, 100, raised, &[change(90, 100)]));
        assert!(!is_fit(Bound::Ceiling, 100, raised, &[]));
        assert!(!is_fit(Bound::Ceiling, 100, Limit { at: 101, ..raised }, &[change(90, 100)]));
        let lowered = Limit { at: 100, first: 90, gained: 15 };
        assert!(is_fit(Bound::Floor, 100, lowered, &[change(105, 100)]));
        assert!(!is_fit(Bound::Floor, 100, Limit { at: 99, ..lowered }, &[change(105, 100)]));
    }

    #[test]
    fn a_limit_is_tightened_and_never_loosened() {
        let (limit, changes) = (Limit::new(100), []);
        let lower = limit.tightened(Bound::Ceiling, 80);
        assert_eq!(lower, Limit { at: 80, first: 100, gained: 20 });
        assert!(is_fit(Bound::Ceiling, 80, lower, &changes));
        assert_eq!(lower.tightened(Bound::Ceiling, 90), lower);
        assert_eq!(limit.tightened(Bound::Floor, 110).at, 110);
        assert_eq!(limit.tightened(Bound::Floor, 90), limit);
    }

    #[test]
    fn an_entry_moves_a_number_the_bad_way_and_says_why() {
        let idle = |change| idle(Bound::Ceiling, &[change], |name| name == "n").count();
        assert_eq!(idle(change(1, 2)), 0);
        for change in [
            change(2, 1),
            Change { issue: 0, ..change(1, 2) },
            Change { reason: "so".into(), ..change(1, 2) },
            Change { number: "m".into(), ..change(1, 2) },
        ] {
            assert_eq!(idle(change), 1);
        }
    }

    #[test]
    fn a_share_is_rounded_up() {
        assert_eq!(Number::per_mille([("a".into(), 1)], 3).value, 334);
        assert_eq!(Number::per_mille([], 0).value, 0);
    }
}
