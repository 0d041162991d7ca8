//! What may survive power loss: every combination where there are few, else the telling ones and
//! random ones.

use crate::random::Random;
use holdpoint_simulation::{Pending, PendingWhat, Tear};

/// Up to this many combinations are all tried: ten sectors of two versions.
const ALL_MAX: usize = 1 << 10;

/// Which of the pending things survive, and which sectors are torn.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Survivors {
    pub(crate) picks: Vec<usize>,
    pub(crate) tear: Option<(usize, usize)>,
}

impl Survivors {
    pub(crate) fn tears(&self) -> Vec<Tear> {
        self.tear.map(|(pending, bytes)| Tear { pending, bytes }).into_iter().collect()
    }
}

/// Every combination, or families of them and `samples` random ones; and some with a torn sector.
pub(crate) fn survivors(
    pending: &[Pending],
    random: &mut Random,
    samples: usize,
) -> Vec<Survivors> {
    let count = pending.iter().try_fold(1_usize, |all, next| all.checked_mul(next.options));
    let picks = match count {
        Some(count) if count <= ALL_MAX => every_combination(pending, count),
        _ => telling_combinations(pending, random, samples),
    };
    let whole = picks.into_iter().map(|picks| Survivors { picks, tear: None });
    let mut all: Vec<Survivors> = whole.collect();
    all.extend((0..samples.min(8)).filter_map(|_| torn(pending, random)));
    all
}

/// One at random: everything lost, everything kept, or a mixture.
pub(crate) fn one_of(pending: &[Pending], random: &mut Random) -> Survivors {
    let picks = match random.below(4) {
        0 => Vec::new(),
        1 => newest(pending),
        _ => mixture(pending, random),
    };
    match torn(pending, random) {
        Some(torn) if random.one_in(4) => torn,
        _ => Survivors { picks, tear: None },
    }
}

fn every_combination(pending: &[Pending], count: usize) -> Vec<Vec<usize>> {
    let combination = |number: usize| {
        let mut rest = number;
        let digit = |next: &Pending| {
            let digit = rest % next.options;
            rest /= next.options;
            digit
        };
        pending.iter().map(digit).collect()
    };
    (0..count).map(combination).collect()
}

fn telling_combinations(
    pending: &[Pending],
    random: &mut Random,
    samples: usize,
) -> Vec<Vec<usize>> {
    let newest = newest(pending);
    let mut all = vec![vec![0; newest.len()], newest.clone()];
    for at in 0..newest.len() {
        let mut only = vec![0; newest.len()];
        only[at] = newest[at];
        let mut all_but = newest.clone();
        all_but[at] = 0;
        let prefix = newest.iter().enumerate().map(|(i, pick)| if i < at { *pick } else { 0 });
        let suffix = newest.iter().enumerate().map(|(i, pick)| if i < at { 0 } else { *pick });
        all.extend([only, all_but, prefix.collect(), suffix.collect()]);
    }
    all.extend((0..samples).map(|_| mixture(pending, random)));
    all
}

fn newest(pending: &[Pending]) -> Vec<usize> {
    pending.iter().map(|next| next.options - 1).collect()
}

/// Some random mixtures keep most and some lose most.
fn mixture(pending: &[Pending], random: &mut Random) -> Vec<usize> {
    let keeps = 1 + random.below(15);
    let mut pick = |next: &Pending| match random.below(16) < keeps {
        true if random.one_in(3) => random.below(next.options),
        true => next.options - 1,
        false => 0,
    };
    pending.iter().map(&mut pick).collect()
}

/// A sector torn inside. Only where nothing durable lies in it: the format asks the disk to leave a
/// sector that is being overwritten old or new.
fn torn(pending: &[Pending], random: &mut Random) -> Option<Survivors> {
    let is_blank = |next: &Pending| matches!(next.what, PendingWhat::Sector { is_blank: true, .. });
    let blank = pending.iter().enumerate().filter(|(_, next)| is_blank(next));
    let blank: Vec<usize> = blank.map(|(index, _)| index).collect();
    if blank.is_empty() {
        return None;
    }
    let at = *random.pick(&blank);
    let mut picks = if random.one_in(2) { newest(pending) } else { mixture(pending, random) };
    picks[at] = pending[at].options - 1;
    Some(Survivors { picks, tear: Some((at, 1 + random.below(511))) })
}
