//! The bars that a run has to clear, as ratios wherever the machine would else decide.

use crate::figure::{Kind, Line, Outcome, PeerFacts, Role, Scope};
use crate::figures::rebuild::{DECODING, REDUCING};
use crate::floor;
use crate::machine::Machine;
use crate::rounds::Samples;
use crate::scale::{Scale, WRITERS_MEMORY};
use serde::Serialize;

/// On which side of its limit a bar is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    AtMost,
    AtLeast,
}

impl Sense {
    /// How a value stands to a limit.
    pub(crate) fn standing(self, value: f64, noise: Option<f64>, limit: f64) -> Standing {
        let part = noise.unwrap_or_default() / 100.0;
        let (clears, clears_at_worst) = match self {
            Self::AtMost => (value <= limit, value * (1.0 + part) <= limit),
            Self::AtLeast => (value >= limit, value * (1.0 - part) >= limit),
        };
        match (clears, clears_at_worst) {
            (false, _) => Standing::Missed,
            (true, false) => Standing::PassedWithinNoise,
            (true, true) => Standing::Passed,
        }
    }
}

/// How what was measured stands to its bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Cleared.
    Passed,
    /// Cleared, but its noise reaches past the limit.
    PassedWithinNoise,
    /// Not cleared.
    Missed,
}

impl Standing {
    /// As a reader sees it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Passed => "PASS",
            Self::PassedWithinNoise => "PASS (within noise)",
            Self::Missed => "**MISSED**",
        }
    }
}

/// What is judged.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    /// What this run measured.
    pub outcomes: &'a [Outcome],
    /// What a run on scale measured, where there was one.
    pub scale: Option<&'a Scale>,
}

/// What was measured for a bar.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    value: f64,
    /// `None` where it was measured once.
    noise_percent: Option<f64>,
}

struct Bar {
    key: &'static str,
    says: &'static str,
    sense: Sense,
    limit: fn(&Machine) -> f64,
    read: fn(&Found<'_>) -> Option<Reading>,
}

/// How a bar fared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Its key, under which an explanation is looked up.
    pub key: &'static str,
    /// What it asks, in words.
    pub says: &'static str,
    /// Its limit, with the side that is good.
    pub limit: String,
    /// What was measured; `None` where this run has not measured it.
    pub value: Option<f64>,
    /// Interquartile range in percent of the value; `None` where it was measured once.
    pub noise_percent: Option<f64>,
    /// Whether it was cleared; `None` where this run has not measured it.
    pub passed: Option<bool>,
    /// It was cleared, but its noise reaches past the limit.
    pub is_within_noise: bool,
}

impl Verdict {
    /// How the value stands to the limit; `None` where there is none.
    #[must_use]
    pub fn standing(&self) -> Option<Standing> {
        self.passed.map(|passed| match (passed, self.is_within_noise) {
            (false, _) => Standing::Missed,
            (true, true) => Standing::PassedWithinNoise,
            (true, false) => Standing::Passed,
        })
    }
}

/// Every bar, against what was measured.
#[must_use]
pub fn judge(found: &Found<'_>, machine: &Machine) -> Vec<Verdict> {
    BARS.iter().map(|bar| bar.judge(found, machine)).collect()
}

impl Bar {
    fn judge(&self, found: &Found<'_>, machine: &Machine) -> Verdict {
        let reading = (self.read)(found).filter(|reading| reading.value.is_finite());
        let limit = (self.limit)(machine);
        let stands = |reading: Reading| {
            let Reading { value, noise_percent } = reading;
            self.sense.standing(value, noise_percent, limit)
        };
        let standing = reading.map(stands);
        let sign = if self.sense == Sense::AtMost { "<=" } else { ">=" };
        Verdict {
            key: self.key,
            says: self.says,
            limit: format!("{sign} {limit}"),
            value: reading.map(|reading| reading.value),
            noise_percent: reading.and_then(|reading| reading.noise_percent),
            passed: standing.map(|standing| standing != Standing::Missed),
            is_within_noise: standing == Some(Standing::PassedWithinNoise),
        }
    }
}

const fn at_most(
    key: &'static str,
    says: &'static str,
    limit: fn(&Machine) -> f64,
    read: fn(&Found<'_>) -> Option<Reading>,
) -> Bar {
    Bar { key, says, sense: Sense::AtMost, limit, read }
}

const fn at_least(
    key: &'static str,
    says: &'static str,
    limit: fn(&Machine) -> f64,
    read: fn(&Found<'_>) -> Option<Reading>,
) -> Bar {
    Bar { key, says, sense: Sense::AtLeast, limit, read }
}

const BARS: &[Bar] = &[
    at_most(
        "append-staged/floor",
        "append + chain, Staged, 256 B, over the bare SHA-256 chain of the same bytes",
        |_| 1.8,
        |all| ours_over_floor(all, Kind::AppendStaged, floor::CHAIN),
    ),
    at_least(
        "append-staged/chained-peer",
        "best chained peer over append + chain, Staged, 256 B",
        |_| 1.5,
        |all| peer_over_ours(all, Kind::AppendStaged, |_, facts| facts.is_chained),
    ),
    at_least(
        "durable-1/floor",
        "raw pwrite+fdatasync over one durable writer, 256 B",
        |_| 0.9,
        |all| floor_over_ours(all, Kind::DurableOne, floor::WRITE_AND_SYNC),
    ),
    at_least(
        "durable-8/peer",
        "best peer that acknowledges after its sync over eight durable writers, 256 B",
        |_| 1.2,
        |all| peer_over_ours(all, Kind::DurableEight, |_, _| true),
    ),
    at_least(
        "commit-64/peer",
        "best peer over 64 records per commit, 256 B",
        |_| 1.35,
        |all| peer_over_ours(all, Kind::CommitOfMany, |_, _| true),
    ),
    at_least(
        "verify-1/audit-trail",
        "audit-trail over full verify, one thread, 256 B",
        |machine| if machine.has_avx512 { 2.7 } else { 2.0 },
        |all| peer_over_ours(all, Kind::VerifyOne, |name, _| name.starts_with("audit-trail")),
    ),
    at_most(
        "verify-1/floor",
        "full verify, one thread, 256 B, over the hash lanes of the same blocks",
        |_| 1.3,
        |all| ours_over_floor(all, Kind::VerifyOne, floor::LANES),
    ),
    at_least(
        "verify-2/verify-1",
        "full verify on one thread over the same on two, 256 B",
        |_| 1.8,
        |all| second_over_ours(of_payload(all, Kind::VerifyTwo)?),
    ),
    at_most(
        "scan/peer",
        "scan + CRC over the best peer that checks too, 256 B",
        |_| 0.6,
        |all| {
            let outcome = of_payload(all, Kind::Scan)?;
            ours_over(outcome, outcome.best_peer(|_, _| true)?)
        },
    ),
    at_most(
        "open-clean/log",
        "clean open of a log of 1M records, milliseconds",
        |_| 1.0,
        |all| milliseconds(of_records(all, Kind::OpenClean, 1_000_000)?, "Holdpoint"),
    ),
    at_most(
        "open-clean/engine",
        "clean open of an engine of 1M records, milliseconds",
        |_| 1.0,
        |all| milliseconds(of_records(all, Kind::OpenClean, 1_000_000)?, "Holdpoint engine"),
    ),
    at_most(
        "open-clean/10M",
        "clean open of a log of 10M records over one of 1M",
        |_| 1.2,
        |all| grown(all, Kind::OpenClean, 10_000_000, 1_000_000, "Holdpoint"),
    ),
    at_most(
        "open-clean/10M-engine",
        "clean open of an engine of 10M records over one of 1M",
        |_| 1.2,
        |all| grown(all, Kind::OpenClean, 10_000_000, 1_000_000, "Holdpoint engine"),
    ),
    at_most(
        "latency/10M",
        "append latency p50 at 10M records over at 10k",
        |_| 1.1,
        |all| grown(all, Kind::Latency, 10_000_000, 10_000, "Holdpoint"),
    ),
    at_most(
        WRITERS_MEMORY,
        "memory of a writer at 10M records over at 1M, as many live entities (section Scale)",
        |_| 1.2,
        |all| of_scale(all.scale?, WRITERS_MEMORY),
    ),
    at_most(
        "disk-bytes",
        "bytes on the disk per 256 B record, without what is reserved",
        |_| 322.0,
        |all| ours(of_payload(all, Kind::DiskBytes)?),
    ),
    at_most(
        "device-bytes",
        "bytes to the device per 256 B record, each synced",
        |_| 4_608.0,
        |all| ours(of_payload(all, Kind::DeviceBytes)?),
    ),
    at_least(
        "typed-os/batpak",
        "batpak over typed submit, level Os, same 256 B payload",
        |_| 10.0,
        |all| peer_over_ours(all, Kind::TypedOs, |_, _| true),
    ),
    at_least(
        "rebuild/events",
        "events decoded and applied per second, one core, millions",
        |_| 2.0,
        |all| {
            millions_each_second(all.outcomes.iter().find(|outcome| outcome.kind == Kind::Rebuild)?)
        },
    ),
    at_most(
        "rebuild/decoding",
        "decoding and applying events over decoding alone",
        |_| 1.5,
        |all| {
            let outcome = all.outcomes.iter().find(|outcome| outcome.kind == Kind::Rebuild)?;
            let reduced = outcome.lines.iter().find(|line| line.name == REDUCING)?.values()?;
            Some(read(&reduced.over(outcome.floor(DECODING)?.values()?)))
        },
    ),
];

fn read(samples: &Samples) -> Reading {
    Reading { value: samples.median(), noise_percent: samples.noise() }
}

/// Payload bytes of the bars.
const PAYLOAD: usize = 256;

fn of_payload<'a>(all: &Found<'a>, kind: Kind) -> Option<&'a Outcome> {
    of_scope(all, kind, Scope::Payload(PAYLOAD))
}

fn of_records<'a>(all: &Found<'a>, kind: Kind, records: u64) -> Option<&'a Outcome> {
    of_scope(all, kind, Scope::Records(records))
}

fn of_scope<'a>(all: &Found<'a>, kind: Kind, scope: Scope) -> Option<&'a Outcome> {
    all.outcomes.iter().find(|outcome| outcome.kind == kind && outcome.scope == scope)
}

fn ours(outcome: &Outcome) -> Option<Reading> {
    Some(read(outcome.ours()?.values()?))
}

fn floor_over_ours(all: &Found<'_>, kind: Kind, floor: &str) -> Option<Reading> {
    let outcome = of_payload(all, kind)?;
    Some(read(&outcome.over_ours(outcome.floor(floor)?)?))
}

fn ours_over_floor(all: &Found<'_>, kind: Kind, floor: &str) -> Option<Reading> {
    let outcome = of_payload(all, kind)?;
    ours_over(outcome, outcome.floor(floor)?)
}

fn peer_over_ours(
    all: &Found<'_>,
    kind: Kind,
    wants: impl Fn(&str, &PeerFacts) -> bool,
) -> Option<Reading> {
    Some(read(&best_over_ours(of_payload(all, kind)?, wants)?))
}

fn best_over_ours(outcome: &Outcome, wants: impl Fn(&str, &PeerFacts) -> bool) -> Option<Samples> {
    outcome.over_ours(outcome.best_peer(wants)?)
}

fn ours_over(outcome: &Outcome, line: &Line) -> Option<Reading> {
    Some(read(&outcome.ours()?.values()?.over(line.values()?)))
}

/// The second one of ours over the first.
fn second_over_ours(outcome: &Outcome) -> Option<Reading> {
    let second = outcome.lines.iter().filter(|line| line.role == Role::Ours).nth(1)?;
    Some(read(&outcome.over_ours(second)?))
}

fn milliseconds(outcome: &Outcome, name: &str) -> Option<Reading> {
    let reading = read(outcome.lines.iter().find(|line| line.name == name)?.values()?);
    Some(Reading { value: reading.value * 1e3, ..reading })
}

/// How a value grew with the log: of two figures, so the rounds are no pairs.
fn grown(all: &Found<'_>, kind: Kind, large: u64, small: u64, name: &str) -> Option<Reading> {
    let (large, small) = (of_records(all, kind, large)?, of_records(all, kind, small)?);
    let (large, small) = (milliseconds(large, name)?, milliseconds(small, name)?);
    let either = large.noise_percent.zip(small.noise_percent);
    let noise_percent = either.map(|(large, small)| large.max(small));
    Some(Reading { value: large.value / small.value, noise_percent })
}

fn of_scale(scale: &Scale, key: &str) -> Option<Reading> {
    let ratio = scale.ratios.iter().find(|ratio| ratio.key == key)?;
    Some(Reading { value: ratio.value.median, noise_percent: ratio.value.noise_percent })
}

fn millions_each_second(outcome: &Outcome) -> Option<Reading> {
    let reading = read(outcome.lines.iter().find(|line| line.name == REDUCING)?.values()?);
    Some(Reading { value: 1e-6 / reading.value, ..reading })
}

/// The key of every bar.
#[cfg(test)]
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    BARS.iter().map(|bar| bar.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Measured;
    use crate::scale::{Ratio, Spread};

    fn line(name: &str, role: Role, values: &[f64]) -> Line {
        let measured = Ok(Measured { values: Samples(values.to_vec()), cpu: None });
        Line { name: name.into(), role, remark: String::new(), measured }
    }

    fn verdict(outcomes: &[Outcome], key: &str) -> Verdict {
        let verdicts = judge(&Found { outcomes, scale: None }, &Machine::default());
        verdicts.into_iter().find(|verdict| verdict.key == key).unwrap()
    }

    fn staged(ours: f64) -> Outcome {
        let chained = Role::Peer(PeerFacts { is_chained: true, ..PeerFacts::default() });
        let lines = vec![
            line("Holdpoint", Role::Ours, &[ours; 3]),
            line(floor::CHAIN, Role::Floor, &[1.0; 3]),
            line("unchained", Role::Peer(PeerFacts::default()), &[0.5; 3]),
            line("chained", chained, &[3.0; 3]),
        ];
        Outcome { kind: Kind::AppendStaged, scope: Scope::Payload(256), lines }
    }

    #[test]
    fn a_bar_is_cleared_at_its_limit_and_missed_beyond() {
        let key = "append-staged/floor";
        assert_eq!(verdict(&[staged(1.8)], key).passed, Some(true));
        let missed = verdict(&[staged(1.9)], key);
        assert_eq!((missed.passed, missed.value), (Some(false), Some(1.9)));
        assert_eq!(missed.limit, "<= 1.8");
    }

    #[test]
    fn a_pass_whose_noise_reaches_past_the_limit_says_so() {
        let stands = |sense: Sense, value, noise| sense.standing(value, noise, 1.0);
        let cases = [
            (Sense::AtMost, 0.9, Some(10.0), Standing::Passed),
            (Sense::AtMost, 0.9, Some(20.0), Standing::PassedWithinNoise),
            (Sense::AtMost, 1.1, Some(20.0), Standing::Missed),
            (Sense::AtLeast, 1.1, Some(5.0), Standing::Passed),
            (Sense::AtLeast, 1.1, Some(10.0), Standing::PassedWithinNoise),
            (Sense::AtLeast, 0.9, Some(20.0), Standing::Missed),
            (Sense::AtMost, 1.0, None, Standing::Passed),
        ];
        for (sense, value, noise, standing) in cases {
            assert_eq!(stands(sense, value, noise), standing, "{sense:?} {value} {noise:?}");
        }
        let mut noisy = staged(1.7);
        noisy.lines[1] = line(floor::CHAIN, Role::Floor, &[0.9, 1.0, 1.3]);
        let noisy = verdict(&[noisy], "append-staged/floor");
        assert_eq!((noisy.passed, noisy.is_within_noise), (Some(true), true));
        assert_eq!(noisy.standing(), Some(Standing::PassedWithinNoise));
    }

    #[test]
    fn the_bar_on_memory_is_read_from_the_run_on_scale() {
        let ratio = Ratio {
            key: WRITERS_MEMORY.into(),
            figure: "f".into(),
            unit: "x".into(),
            value: Spread::once(1.16),
            at_most: Some(1.2),
        };
        let machine = Machine::default();
        let points = Vec::new();
        let scale = Scale { machine, seed: 1, live: 2, rounds: 3, points, ratios: vec![ratio] };
        let found = Found { outcomes: &[], scale: Some(&scale) };
        let verdicts = judge(&found, &scale.machine);
        let memory = verdicts.iter().find(|verdict| verdict.key == WRITERS_MEMORY).unwrap();
        assert_eq!((memory.value, memory.noise_percent), (Some(1.16), None));
        assert_eq!(memory.standing(), Some(Standing::Passed));
        assert_eq!(verdicts.iter().filter(|verdict| verdict.value.is_some()).count(), 1);
    }

    #[test]
    fn a_peer_without_a_chain_is_no_chained_peer() {
        let verdict = verdict(&[staged(1.5)], "append-staged/chained-peer");
        assert_eq!((verdict.value, verdict.passed), (Some(2.0), Some(true)));
    }

    #[test]
    fn what_was_not_measured_is_neither_cleared_nor_missed() {
        for verdict in judge(&Found { outcomes: &[], scale: None }, &Machine::default()) {
            assert_eq!((verdict.value, verdict.passed), (None, None), "{}", verdict.key);
            assert_eq!(verdict.standing(), None, "{}", verdict.key);
        }
    }

    #[test]
    fn keys_of_bars_are_unique() {
        let mut keys: Vec<&str> = BARS.iter().map(|bar| bar.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), BARS.len());
    }
}
