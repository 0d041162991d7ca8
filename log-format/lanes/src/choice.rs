//! Choice of the way that hashes so many messages: the ways are checked against `sha2` at the first
//! use, and measured once the process has hashed so much that this is worth it.

#[cfg(target_arch = "x86_64")]
use crate::x86_64::{in_four_lanes, in_sixteen_lanes, in_sixteen_then_four};
use crate::{Lanes, digest_each_with, one_by_one};
use std::array;
use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The environment variable that asks for one way, by its [`Lanes::name`]. Empty is as not there.
pub const VARIABLE: &str = "HOLDPOINT_SHA256_LANES";

/// Fewest busy lanes of four that pay: two take four lanes as long as they take `sha2`, one after
/// the other (measured on Zen 4: 70 ns for each block, and 2 * 35 ns).
pub(crate) const FOURS_MIN: usize = 3;

/// Fewest busy lanes of sixteen that can pay.
pub(crate) const SIXTEENS_MIN: usize = 2;

/// A way is not used, however many messages there are.
const NEVER: usize = usize::MAX;

/// Messages after which a process measures: as many as take about as long as measuring does, so
/// that who hashes little does not pay for it.
const MESSAGES_BEFORE_MEASURING: usize = 1_000;

/// Choice of a way, among what, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    candidates: Vec<Candidate>,
    reason: Reason,
    plan: Plan,
}

/// A way and what was found of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The way.
    pub lanes: Lanes,
    /// Usability of the way.
    pub standing: Standing,
    /// Nanoseconds for each of many messages of 256 bytes, where they were measured.
    pub nanoseconds: Option<f64>,
}

/// Usability of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The processor lacks it, or the operating system does not save its registers.
    Lacking,
    /// Its digests were not those of `sha2`: it is never used.
    Wrong,
    /// Its digests were those of `sha2`.
    Right,
}

/// Why the ways are used that are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// They are the fastest.
    Fastest,
    /// [`VARIABLE`] asks for this one.
    Asked(Lanes),
    /// They are the fastest: [`VARIABLE`] asks for one that cannot be used here.
    Unusable(Lanes),
    /// They are the fastest: [`VARIABLE`] has a value that no way is called.
    Unknown(String),
}

/// Returns what was chosen for this process. The first call checks and measures the ways, in about
/// a tenth of a millisecond, unless [`crate::digest_each`] has done so before.
pub fn choice() -> &'static Choice {
    MEASURED.get_or_init(|| {
        let mut candidates = checked().candidates.clone();
        let begun = Instant::now();
        measure(&mut candidates, &digest_each_with, &|| begun.elapsed());
        Choice::among(candidates, asked().as_deref())
    })
}

static MEASURED: OnceLock<Choice> = OnceLock::new();

/// Returns how so many messages are hashed.
pub(crate) fn plan_for(count: usize) -> Plan {
    static HASHED: AtomicUsize = AtomicUsize::new(0);
    if count < SIXTEENS_MIN {
        return Plan::ONE;
    }
    if let Some(choice) = MEASURED.get() {
        return choice.plan;
    }
    let before = HASHED.fetch_add(count, Ordering::Relaxed);
    if before < MESSAGES_BEFORE_MEASURING { checked().plan } else { choice().plan }
}

/// Returns what is chosen before anything was measured.
fn checked() -> &'static Choice {
    static CHECKED: OnceLock<Choice> = OnceLock::new();
    CHECKED.get_or_init(|| Choice::among(check(&digest_each_with), asked().as_deref()))
}

fn asked() -> Option<OsString> {
    std::env::var_os(VARIABLE).filter(|name| !name.is_empty())
}

impl Choice {
    fn among(candidates: Vec<Candidate>, asked: Option<&OsStr>) -> Self {
        let reason = Reason::of(asked, &candidates);
        let plan = match reason {
            Reason::Asked(lanes) => Plan::only(lanes),
            _ => Plan::fastest(&candidates),
        };
        Self { candidates, reason, plan }
    }

    /// Every way, and what was found of it.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Why the ways are used that are.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// Counts the messages at once a way is used from, if it is used: until a way of more lanes is.
    #[must_use]
    pub fn used_from(&self, lanes: Lanes) -> Option<usize> {
        let from = match lanes {
            Lanes::One => 1,
            Lanes::ShaNiFour => self.plan.fours_from,
            Lanes::Avx512Sixteen => self.plan.sixteens_from,
        };
        (from != NEVER).then_some(from)
    }
}

impl Reason {
    fn of(asked: Option<&OsStr>, candidates: &[Candidate]) -> Self {
        let Some(asked) = asked else { return Self::Fastest };
        match candidates.iter().find(|candidate| candidate.lanes.name() == asked) {
            Some(Candidate { lanes, standing: Standing::Right, .. }) => Self::Asked(*lanes),
            Some(Candidate { lanes, .. }) => Self::Unusable(*lanes),
            None => Self::Unknown(asked.to_string_lossy().into_owned()),
        }
    }
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

    fn only(lanes: Lanes) -> Self {
        match lanes {
            Lanes::One => Self::ONE,
            Lanes::ShaNiFour => Self { fours_from: FOURS_MIN, ..Self::ONE },
            Lanes::Avx512Sixteen => Self { sixteens_from: SIXTEENS_MIN, ..Self::ONE },
        }
    }

    fn fastest(candidates: &[Candidate]) -> Self {
        let time = |lanes| {
            let found = candidates.iter().find(|candidate| candidate.lanes == lanes);
            let found = found.filter(|candidate| candidate.standing == Standing::Right);
            found.map(|candidate| candidate.nanoseconds.unwrap_or(usual_nanoseconds(lanes)))
        };
        let one = time(Lanes::One).unwrap_or(f64::INFINITY);
        let four = time(Lanes::ShaNiFour).filter(|four| *four < one);
        let fours_from = four.map_or(NEVER, |four| pays_from(4, four, one).max(FOURS_MIN));
        let sixteens_from = time(Lanes::Avx512Sixteen)
            .map_or(NEVER, |sixteen| pays_from(16, sixteen, four.unwrap_or(one)).max(SIXTEENS_MIN));
        Self { fours_from, sixteens_from }
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

/// Returns what is taken for a way's time until it is measured: as on Zen 4.
fn usual_nanoseconds(lanes: Lanes) -> f64 {
    match lanes {
        Lanes::One => 190.0,
        Lanes::ShaNiFour => 95.0,
        Lanes::Avx512Sixteen => 100.0,
    }
}

/// Fewest busy lanes, of so many, that take less than the same messages in another way: a step of
/// all lanes takes as long however few are busy.
fn pays_from(lanes: usize, each: f64, otherwise: f64) -> usize {
    (1..=lanes).find(|busy| lanes as f64 * each < *busy as f64 * otherwise).unwrap_or(NEVER)
}

/// Digests messages in a way; `false`, and nothing is written, where that is lacking.
type Digest<'d> = &'d dyn Fn(Lanes, &[&[u8]], &mut [[u8; 32]]) -> bool;

/// Compares the digests of every way with those of `sha2`: more messages than twice the lanes, of
/// lengths that end at other places of a block each.
fn check(digest: Digest<'_>) -> Vec<Candidate> {
    let bytes: [u8; 300] = array::from_fn(|at| ((at * 151) >> 3) as u8);
    let messages: [&[u8]; 40] = array::from_fn(|at| bytes.get(at..8 * at).unwrap_or_default());
    let mut expected = [[0; 32]; 40];
    one_by_one(messages.iter().copied().zip(&mut expected));
    let standing = |lanes| {
        let mut digests = [[0; 32]; 40];
        match digest(lanes, &messages, &mut digests) {
            false => Standing::Lacking,
            true if digests != expected => Standing::Wrong,
            true => Standing::Right,
        }
    };
    let candidate = |lanes| Candidate { lanes, standing: standing(lanes), nanoseconds: None };
    Lanes::ALL.map(candidate).into()
}

/// Messages of one run of a way: each lane has two.
const MESSAGES: usize = 32;
/// Bytes of each.
const MESSAGE_LENGTH: usize = 256;
/// Runs of each way. The ways take turns, and the least time of each counts: who is preempted has
/// seven more.
const ROUNDS: usize = 8;
/// After so long no further round begins, but for the first ones.
const LONGEST: Duration = Duration::from_micros(400);
/// Rounds that are run however long they take: one that is preempted is not the only one.
const ROUNDS_MIN: usize = 3;

/// Measures the ways that are right. `now` is the time since any moment.
fn measure(candidates: &mut [Candidate], digest: Digest<'_>, now: &dyn Fn() -> Duration) {
    let bytes = [0xa5; MESSAGE_LENGTH];
    let (messages, mut digests) = ([&bytes[..]; MESSAGES], [[0; 32]; MESSAGES]);
    let begun = now();
    for round in 0..ROUNDS {
        if round >= ROUNDS_MIN && now().saturating_sub(begun) > LONGEST {
            return;
        }
        for candidate in candidates.iter_mut().filter(|one| one.standing == Standing::Right) {
            let start = now();
            digest(candidate.lanes, &messages, &mut digests);
            let took = now().saturating_sub(start).as_nanos() as f64 / MESSAGES as f64;
            let least = candidate.nanoseconds.unwrap_or(f64::INFINITY);
            candidate.nanoseconds = Some(least.min(took));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::available;
    use sha2::{Digest as _, Sha256};
    use std::cell::{Cell, RefCell};
    use std::thread;

    /// A processor that has some of the ways, each with its picoseconds a message: all of them
    /// hash as `sha2` does, and time passes only where they say so.
    struct Processor {
        ways: Vec<(Lanes, u64)>,
        wrong: Option<Lanes>,
        /// So many nanoseconds more in the first run that is measured.
        preempted: Cell<u64>,
        nanoseconds: Cell<u64>,
        runs: RefCell<Vec<Lanes>>,
    }

    impl Processor {
        fn of(ways: &[(Lanes, u64)]) -> Self {
            Self {
                ways: ways.to_vec(),
                wrong: None,
                preempted: Cell::new(0),
                nanoseconds: Cell::new(0),
                runs: RefCell::default(),
            }
        }

        fn digest(&self, lanes: Lanes, messages: &[&[u8]], digests: &mut [[u8; 32]]) -> bool {
            let Some((_, each)) = self.ways.iter().find(|(way, _)| *way == lanes) else {
                return false;
            };
            one_by_one(messages.iter().copied().zip(&mut *digests));
            if self.wrong == Some(lanes) {
                // One bit, in one lane.
                digests[15][31] ^= 1;
            }
            let is_measured = messages.len() == MESSAGES;
            let more = if is_measured { self.preempted.take() } else { 0 };
            self.nanoseconds.update(|now| now + each * messages.len() as u64 / 1_000 + more);
            self.runs.borrow_mut().push(lanes);
            true
        }

        fn choice(&self, asked: Option<&str>) -> Choice {
            let digest =
                |lanes, messages: &[&[u8]], digests: &mut _| self.digest(lanes, messages, digests);
            let mut candidates = check(&digest);
            measure(&mut candidates, &digest, &|| Duration::from_nanos(self.nanoseconds.get()));
            Choice::among(candidates, asked.map(OsStr::new))
        }

        fn used(&self, asked: Option<&str>) -> [Option<usize>; 3] {
            let choice = self.choice(asked);
            Lanes::ALL.map(|lanes| choice.used_from(lanes))
        }
    }

    fn zen_4() -> Processor {
        Processor::of(&[
            (Lanes::One, 190_000),
            (Lanes::ShaNiFour, 95_000),
            (Lanes::Avx512Sixteen, 101_000),
        ])
    }

    fn zen_5() -> Processor {
        Processor::of(&[
            (Lanes::One, 222_000),
            (Lanes::ShaNiFour, 111_000),
            (Lanes::Avx512Sixteen, 75_000),
        ])
    }

    #[test]
    fn the_fastest_ways_are_used_from_where_they_pay() {
        assert_eq!(zen_4().used(None), [Some(1), Some(3), None]);
        assert_eq!(zen_5().used(None), [Some(1), Some(3), Some(11)]);
        let without_sha_ni =
            Processor::of(&[(Lanes::One, 1_000_000), (Lanes::Avx512Sixteen, 100_000)]);
        assert_eq!(without_sha_ni.used(None), [Some(1), None, Some(2)]);
        let plain = Processor::of(&[(Lanes::One, 1_000_000)]);
        assert_eq!(plain.used(None), [Some(1), None, None]);
        let slow_lanes = Processor::of(&[(Lanes::One, 100_000), (Lanes::ShaNiFour, 120_000)]);
        assert_eq!(slow_lanes.used(None), [Some(1), None, None]);
    }

    #[test]
    fn a_run_that_is_preempted_does_not_decide() {
        let expected = zen_5().choice(None);
        for preempted in [1_000, 100_000, 10_000_000] {
            let mut processor = zen_5();
            processor.ways.rotate_left(2);
            processor.preempted.set(preempted);
            assert_eq!(processor.choice(None), expected);
        }
    }

    #[test]
    fn measuring_ends_soon_however_slow_the_ways_are() {
        let expected = [zen_5(), Processor::of(&[(Lanes::One, 1_000_000_000)])];
        let runs = expected.map(|processor| {
            processor.choice(None);
            let runs = processor.runs.into_inner();
            runs.iter().filter(|lanes| **lanes == Lanes::One).count()
        });
        // The check is one run.
        assert_eq!(runs, [1 + ROUNDS, 1 + ROUNDS_MIN]);
    }

    #[test]
    fn a_way_with_a_wrong_digest_is_neither_measured_nor_used_even_when_asked_for() {
        for wrong in [Lanes::ShaNiFour, Lanes::Avx512Sixteen] {
            let processor = Processor { wrong: Some(wrong), ..zen_5() };
            for asked in [None, Some(wrong.name())] {
                let choice = processor.choice(asked);
                let candidate = choice.candidates().iter().find(|found| found.lanes == wrong);
                let (standing, nanoseconds) = (Standing::Wrong, None);
                assert_eq!(candidate, Some(&Candidate { lanes: wrong, standing, nanoseconds }));
                assert_eq!(choice.used_from(wrong), None);
                let reason = asked.map_or(Reason::Fastest, |_| Reason::Unusable(wrong));
                assert_eq!(*choice.reason(), reason);
            }
            let unmeasured =
                check(&|lanes, messages, digests| processor.digest(lanes, messages, digests));
            assert_eq!(Choice::among(unmeasured, None).used_from(wrong), None, "not before either");
        }
    }

    #[test]
    fn the_way_that_is_asked_for_is_used_alone() {
        for (lanes, used) in [
            (Lanes::One, [Some(1), None, None]),
            (Lanes::ShaNiFour, [Some(1), Some(3), None]),
            (Lanes::Avx512Sixteen, [Some(1), None, Some(2)]),
        ] {
            assert_eq!(zen_5().used(Some(lanes.name())), used);
            assert_eq!(*zen_5().choice(Some(lanes.name())).reason(), Reason::Asked(lanes));
        }
    }

    #[test]
    fn asked_for_in_vain_the_fastest_are_used_and_the_reason_says_so() {
        let unknown = zen_5().choice(Some("sha3"));
        assert_eq!(*unknown.reason(), Reason::Unknown("sha3".into()));
        assert_eq!(unknown.plan, zen_5().choice(None).plan);
        let plain = Processor::of(&[(Lanes::One, 1_000_000)]);
        let lacking = plain.choice(Some("avx-512"));
        assert_eq!(*lacking.reason(), Reason::Unusable(Lanes::Avx512Sixteen));
        assert_eq!(lacking.plan, Plan::ONE);
    }

    #[test]
    fn a_process_measures_once() {
        let first = choice();
        let others: Vec<_> =
            (0..4).map(|_| thread::spawn(|| choice() as *const _ as usize)).collect();
        for other in others {
            assert_eq!(other.join().unwrap(), first as *const _ as usize);
        }
        for Candidate { lanes, standing, nanoseconds } in first.candidates() {
            let is_there = available().any(|one| one == *lanes);
            let expected = if is_there { Standing::Right } else { Standing::Lacking };
            assert_eq!((*standing, nanoseconds.is_some()), (expected, is_there), "{lanes:?}");
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
