//! The bars that a run has to clear, as ratios wherever the machine would else decide.

use crate::figure::{Kind, Line, Outcome, PeerFacts, Role, Scope};
use crate::figures::rebuild::{DECODING, REDUCING};
use crate::floor;
use crate::machine::Machine;
use crate::rounds::Samples;
use serde::Serialize;

/// On which side of its limit a bar is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sense {
    AtMost,
    AtLeast,
}

/// What was measured for a bar.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    value: f64,
    noise_percent: f64,
}

struct Bar {
    key: &'static str,
    says: &'static str,
    sense: Sense,
    limit: fn(&Machine) -> f64,
    read: fn(&[Outcome]) -> Option<Reading>,
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
    /// Interquartile range in percent of the value.
    pub noise_percent: Option<f64>,
    /// Whether it was cleared; `None` where this run has not measured it.
    pub passed: Option<bool>,
}

/// Every bar, against what was measured.
#[must_use]
pub fn judge(outcomes: &[Outcome], machine: &Machine) -> Vec<Verdict> {
    BARS.iter().map(|bar| bar.judge(outcomes, machine)).collect()
}

impl Bar {
    fn judge(&self, outcomes: &[Outcome], machine: &Machine) -> Verdict {
        let reading = (self.read)(outcomes).filter(|reading| reading.value.is_finite());
        let limit = (self.limit)(machine);
        let clears = |reading: Reading| match self.sense {
            Sense::AtMost => reading.value <= limit,
            Sense::AtLeast => reading.value >= limit,
        };
        let sign = if self.sense == Sense::AtMost { "<=" } else { ">=" };
        Verdict {
            key: self.key,
            says: self.says,
            limit: format!("{sign} {limit}"),
            value: reading.map(|reading| reading.value),
            noise_percent: reading.map(|reading| reading.noise_percent),
            passed: reading.map(clears),
        }
    }
}

const fn at_most(
    key: &'static str,
    says: &'static str,
    limit: fn(&Machine) -> f64,
    read: fn(&[Outcome]) -> Option<Reading>,
) -> Bar {
    Bar { key, says, sense: Sense::AtMost, limit, read }
}

const fn at_least(
    key: &'static str,
    says: &'static str,
    limit: fn(&Machine) -> f64,
    read: fn(&[Outcome]) -> Option<Reading>,
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
        |all| millions_each_second(all.iter().find(|outcome| outcome.kind == Kind::Rebuild)?),
    ),
    at_most(
        "rebuild/decoding",
        "decoding and applying events over decoding alone",
        |_| 1.5,
        |all| {
            let outcome = all.iter().find(|outcome| outcome.kind == Kind::Rebuild)?;
            let reduced = outcome.lines.iter().find(|line| line.name == REDUCING)?.values()?;
            Some(read(&reduced.over(outcome.floor(DECODING)?.values()?)))
        },
    ),
];

fn read(samples: &Samples) -> Reading {
    Reading { value: samples.median(), noise_percent: samples.noise_percent() }
}

/// Payload bytes of the bars.
const PAYLOAD: usize = 256;

fn of_payload(all: &[Outcome], kind: Kind) -> Option<&Outcome> {
    all.iter().find(|outcome| outcome.kind == kind && outcome.scope == Scope::Payload(PAYLOAD))
}

fn of_records(all: &[Outcome], kind: Kind, records: u64) -> Option<&Outcome> {
    all.iter().find(|outcome| outcome.kind == kind && outcome.scope == Scope::Records(records))
}

fn ours(outcome: &Outcome) -> Option<Reading> {
    Some(read(outcome.ours()?.values()?))
}

fn floor_over_ours(all: &[Outcome], kind: Kind, floor: &str) -> Option<Reading> {
    let outcome = of_payload(all, kind)?;
    Some(read(&outcome.over_ours(outcome.floor(floor)?)?))
}

fn ours_over_floor(all: &[Outcome], kind: Kind, floor: &str) -> Option<Reading> {
    let outcome = of_payload(all, kind)?;
    ours_over(outcome, outcome.floor(floor)?)
}

fn peer_over_ours(
    all: &[Outcome],
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
fn grown(all: &[Outcome], kind: Kind, large: u64, small: u64, name: &str) -> Option<Reading> {
    let (large, small) = (of_records(all, kind, large)?, of_records(all, kind, small)?);
    let (large, small) = (milliseconds(large, name)?, milliseconds(small, name)?);
    let noise_percent = large.noise_percent.max(small.noise_percent);
    Some(Reading { value: large.value / small.value, noise_percent })
}

fn millions_each_second(outcome: &Outcome) -> Option<Reading> {
    let reading = read(outcome.lines.iter().find(|line| line.name == REDUCING)?.values()?);
    Some(Reading { value: 1e-6 / reading.value, ..reading })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Measured;

    fn line(name: &str, role: Role, values: &[f64]) -> Line {
        let measured = Ok(Measured { values: Samples(values.to_vec()), cpu: None });
        Line { name: name.into(), role, remark: String::new(), measured }
    }

    fn verdict(outcomes: &[Outcome], key: &str) -> Verdict {
        let verdicts = judge(outcomes, &Machine::default());
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
    fn a_peer_without_a_chain_is_no_chained_peer() {
        let verdict = verdict(&[staged(1.5)], "append-staged/chained-peer");
        assert_eq!((verdict.value, verdict.passed), (Some(2.0), Some(true)));
    }

    #[test]
    fn what_was_not_measured_is_neither_cleared_nor_missed() {
        for verdict in judge(&[], &Machine::default()) {
            assert_eq!((verdict.value, verdict.passed), (None, None), "{}", verdict.key);
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
