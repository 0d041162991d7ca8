//! Choice of the way that hashes so many messages: what the processor has, once its digests were
//! compared with those of `sha2`.

#[cfg(target_arch = "x86_64")]
use crate::x86_64::{in_four_lanes, in_sixteen_lanes, in_sixteen_then_four};
use crate::{Lanes, digest_each_with, one_by_one};
use std::array;
use std::sync::OnceLock;

/// Fewest busy lanes of four that pay: two take four lanes as long as they take `sha2`, one after
/// the other (measured on Zen 4: 70 ns for each block, and 2 * 35 ns).
pub(crate) const FOURS_MIN: usize = 3;

/// Fewest busy lanes of sixteen that can pay.
pub(crate) const SIXTEENS_MIN: usize = 2;

/// Fewest busy lanes of sixteen that pay where there are four as well (measured on Zen 5: 111 ns
/// for each message in four lanes, and 75 in sixteen).
const SIXTEENS_BESIDE_FOUR_MIN: usize = 11;

/// A way is not used, however many messages there are.
const NEVER: usize = usize::MAX;

/// Returns how so many messages are hashed.
pub(crate) fn plan_for(count: usize) -> Plan {
    if count < SIXTEENS_MIN { Plan::ONE } else { plan() }
}

/// Returns the number of messages at once that a way is used from in this process, until a way of
/// more lanes is; `None`: it is not used.
pub fn used_from(lanes: Lanes) -> Option<usize> {
    let Plan { fours_from, sixteens_from } = plan();
    let from = match lanes {
        Lanes::One => 1,
        Lanes::ShaNiFour => fours_from,
        Lanes::Avx512Sixteen => sixteens_from,
    };
    (from != NEVER).then_some(from)
}

fn plan() -> Plan {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    *PLAN.get_or_init(|| Plan::of(|lanes| is_right(lanes, &digest_each_with)))
}

/// Number of messages at once are hashed in which way. What a way is not full of goes to the next
/// one: from sixteen lanes to four, and from four to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    fours_from: usize,
    sixteens_from: usize,
}

impl Plan {
    const ONE: Self = Self { fours_from: NEVER, sixteens_from: NEVER };

    /// Uses the ways whose digests are right.
    fn of(is_right: impl Fn(Lanes) -> bool) -> Self {
        let (four, sixteen) = (is_right(Lanes::ShaNiFour), is_right(Lanes::Avx512Sixteen));
        let beside = if four { SIXTEENS_BESIDE_FOUR_MIN } else { SIXTEENS_MIN };
        Self {
            fours_from: if four { FOURS_MIN } else { NEVER },
            sixteens_from: if sixteen { beside } else { NEVER },
        }
    }

    /// Does the same as [`crate::digest_each`].
    pub(crate) fn digest_each(self, messages: &[&[u8]], digests: &mut [[u8; 32]]) {
        if !self.digest_in_lanes(messages, digests) {
            one_by_one(messages.iter().copied().zip(digests));
        }
    }

    /// `false`, and nothing is done, where no lanes pay.
    #[cfg(target_arch = "x86_64")]
    fn digest_in_lanes(self, messages: &[&[u8]], digests: &mut [[u8; 32]]) -> bool {
        let Self { fours_from, sixteens_from } = self;
        let count = messages.len().min(digests.len());
        let work = messages.iter().copied().zip(digests);
        match (count >= sixteens_from, count >= fours_from) {
            (true, _) if fours_from == NEVER => in_sixteen_lanes(work, sixteens_from),
            (true, _) => in_sixteen_then_four(work, sixteens_from, fours_from),
            (false, true) => in_four_lanes(work, fours_from),
            (false, false) => false,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn digest_in_lanes(self, _: &[&[u8]], _: &mut [[u8; 32]]) -> bool {
        false
    }
}

/// Digests messages in a way; `false`, and nothing is written, where that is lacking.
type Digest<'d> = &'d dyn Fn(Lanes, &[&[u8]], &mut [[u8; 32]]) -> bool;

/// Returns whether a way is there, and its digests are those of `sha2`: of more messages than twice
/// the lanes, of lengths that end at other places of a block each.
fn is_right(lanes: Lanes, digest: Digest<'_>) -> bool {
    let bytes: [u8; 300] = array::from_fn(|at| ((at * 151) >> 3) as u8);
    let messages: [&[u8]; 40] = array::from_fn(|at| bytes.get(at..8 * at).unwrap_or_default());
    let (mut expected, mut digests) = ([[0; 32]; 40], [[0; 32]; 40]);
    one_by_one(messages.iter().copied().zip(&mut expected));
    digest(lanes, &messages, &mut digests) && digests == expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::available;
    use sha2::{Digest as _, Sha256};

    /// Where each way is used from on a processor with some of them, one of which errs in one bit
    /// of one lane.
    fn used(ways: &[Lanes], wrong: Option<Lanes>) -> Plan {
        let digest = |lanes, messages: &[&[u8]], digests: &mut [[u8; 32]]| {
            one_by_one(messages.iter().copied().zip(&mut *digests));
            if wrong == Some(lanes) {
                digests[15][31] ^= 1;
            }
            ways.contains(&lanes)
        };
        Plan::of(|lanes| is_right(lanes, &digest))
    }

    #[test]
    fn the_ways_that_are_there_are_used_from_where_they_pay() {
        let [one, four, sixteen] = Lanes::ALL;
        let table = [
            (&[one][..], NEVER, NEVER),
            (&[one, four], 3, NEVER),
            (&[one, sixteen], NEVER, 2),
            (&[one, four, sixteen], 3, 11),
        ];
        for (ways, fours_from, sixteens_from) in table {
            assert_eq!(used(ways, None), Plan { fours_from, sixteens_from }, "{ways:?}");
        }
    }

    #[test]
    fn a_way_with_a_wrong_digest_is_not_used() {
        let [one, four, sixteen] = Lanes::ALL;
        assert_eq!(used(&Lanes::ALL, Some(four)), used(&[one, sixteen], None));
        assert_eq!(used(&Lanes::ALL, Some(sixteen)), used(&[one, four], None));
    }

    #[test]
    fn every_way_of_this_processor_is_right_and_used() {
        for lanes in Lanes::ALL {
            let is_there = available().any(|one| one == lanes);
            assert_eq!(used_from(lanes).is_some(), is_there, "{lanes:?}");
        }
    }

    /// Every way to go from sixteen lanes to four and to one. What this processor lacks is hashed
    /// one after the other.
    fn plans() -> impl Iterator<Item = Plan> {
        [NEVER, 3, 4].into_iter().flat_map(|fours_from| {
            let sixteens = [NEVER, 2, 9, 11, 16].into_iter();
            sixteens.map(move |sixteens_from| Plan { fours_from, sixteens_from })
        })
    }

    fn bytes(count: u32) -> Vec<u8> {
        (0..count).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect()
    }

    #[test]
    fn every_plan_agrees_with_sha2_over_every_length_and_number() {
        let bytes = bytes(320);
        let digests: Vec<[u8; 32]> =
            (0..=320).map(|length| Sha256::digest(&bytes[..length]).into()).collect();
        for (plan, length) in plans().flat_map(|plan| (0..300).map(move |length| (plan, length))) {
            for count in 1..=17 {
                // Equal ones, and each one byte longer than the one before.
                for growth in [0, 1] {
                    let lengths = || (0..count).map(|at| length + growth * at);
                    let messages: Vec<&[u8]> = lengths().map(|length| &bytes[..length]).collect();
                    let mut found = vec![[0xee; 32]; count];
                    plan.digest_each(&messages, &mut found);
                    let expected = lengths().map(|length| digests[length]);
                    assert!(found.into_iter().eq(expected), "{plan:?}, {count} of {length}");
                }
            }
        }
    }

    #[test]
    fn every_plan_agrees_with_sha2_where_lanes_run_empty_one_by_one() {
        let bytes = bytes(4_000);
        for plan in plans() {
            for count in 0..40 {
                let messages: Vec<&[u8]> = (0..count).map(|at| &bytes[at..][..at * 97]).collect();
                let mut found = vec![[0xee; 32]; count];
                plan.digest_each(&messages, &mut found);
                let expected =
                    messages.iter().map(|message| <[u8; 32]>::from(Sha256::digest(message)));
                assert!(found.into_iter().eq(expected), "{plan:?}, {count}");
            }
        }
    }
}
