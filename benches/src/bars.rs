//! The bars that a run has to clear, as ratios wherever the machine would else decide.

use crate::figure::{Kind, Line, Outcome, PeerFacts, Scope};
use crate::figures::rebuild::{ALL_CORES, EVOLVING};
use crate::figures::{APPEND_ALONE, ONE_THREAD};
use crate::floor;
use crate::rounds::Samples;
use crate::scale::{Look, OPENING_GROWS, Scale, Spread, WRITERS_MEMORY};
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
pub struct Measurements<'a> {
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
    /// It is of the lengths that the bar asks for, and not of shorter logs.
    is_of_the_bar: bool,
}

struct Bar {
    key: &'static str,
    says: &'static str,
    sense: Sense,
    limit: f64,
    read: fn(&Measurements<'_>) -> Option<Reading>,
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
    /// Whether it was cleared; `None` where this run has not measured it, or on shorter logs alone.
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
pub fn judge(found: &Measurements<'_>) -> Vec<Verdict> {
    bars().map(|bar| bar.judge(found)).collect()
}

impl Bar {
    fn judge(&self, found: &Measurements<'_>) -> Verdict {
        let reading = (self.read)(found).filter(|reading| reading.value.is_finite());
        let limit = self.limit;
        let stands = |reading: Reading| {
            let Reading { value, noise_percent, .. } = reading;
            self.sense.standing(value, noise_percent, limit)
        };
        let standing = reading.filter(|reading| reading.is_of_the_bar).map(stands);
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
    limit: f64,
    read: fn(&Measurements<'_>) -> Option<Reading>,
) -> Bar {
    Bar { key, says, sense: Sense::AtMost, limit, read }
}

const fn at_least(
    key: &'static str,
    says: &'static str,
    limit: f64,
    read: fn(&Measurements<'_>) -> Option<Reading>,
) -> Bar {
    Bar { key, says, sense: Sense::AtLeast, limit, read }
}

/// Every bar, in the order of the report.
fn bars() -> impl Iterator<Item = &'static Bar> {
    [WRITING, DURABLE, READING, EVENTS, LOOKS, LENGTHS, BYTES].into_iter().flatten()
}

/// Appends that no sync ends.
const WRITING: &[Bar] = &[
    at_least(
        "append-os/floor",
        "digest, link, CRC-32 and pwrite, same state of the file, over append, Os",
        0.8,
        |all| floor_over_ours(all, Kind::AppendOs, floor::WRITE_HASHED),
    ),
    at_least("append-os/audit-trail", "audit-trail over append, Os", 1.2, |all| {
        peer_over_ours(all, Kind::AppendOs, is_audit_trail)
    }),
    at_most(
        "append-staged/floor",
        "append + chain, Staged, link asked for each, flushed, over the bare SHA-256 chain",
        1.8,
        |all| ours_over_floor(all, Kind::AppendStaged, floor::CHAIN),
    ),
    at_least(
        "append-staged/chained-peer",
        "best peer that has hashed when it returns over the same append",
        1.5,
        |all| peer_over_ours(all, Kind::AppendStaged, |_, facts| facts.is_chained),
    ),
    at_most(
        "append-batch/floor",
        "batches of 64, Staged, flushed, over the bare SHA-256 chain",
        1.4,
        |all| ours_over_floor(all, Kind::AppendBatch, floor::CHAIN),
    ),
];

/// Appends that return behind a sync.
const DURABLE: &[Bar] = &[
    at_least("durable-1/floor", "raw pwrite + fdatasync over one durable writer", 0.9, |all| {
        floor_over_ours(all, Kind::DurableOne, floor::WRITE_AND_SYNC)
    }),
    at_least(
        "durable-8/floor",
        "the stronger group commit without hashes over 8 durable writers",
        0.95,
        |all| group_commit_over_ours(all, Kind::DurableEight),
    ),
    at_least(
        "durable-64/floor",
        "the stronger group commit without hashes over 64 durable writers",
        0.8,
        |all| group_commit_over_ours(all, Kind::DurableSixtyFour),
    ),
    at_least("durable-8/peer", "best peer over 8 durable writers", 1.3, |all| {
        peer_over_ours(all, Kind::DurableEight, |_, _| true)
    }),
    at_least("durable-64/peer", "best peer over 64 durable writers", 1.3, |all| {
        peer_over_ours(all, Kind::DurableSixtyFour, |_, _| true)
    }),
    at_least("commit-64/floor", "the raw calls over 64 records a commit", 0.75, |all| {
        floor_over_ours(all, Kind::CommitOfMany, floor::WRITE_MANY_AND_SYNC)
    }),
    at_least("commit-64/peer", "best peer over 64 records a commit", 0.95, |all| {
        peer_over_ours(all, Kind::CommitOfMany, |_, _| true)
    }),
];

/// Reading a log whole.
const READING: &[Bar] = &[
    at_least("verify-1/audit-trail", "audit-trail over full verify, one thread", 2.0, |all| {
        peer_over_ours(all, Kind::VerifyOne, is_audit_trail)
    }),
    at_most(
        "verify-1/floor",
        "full verify, one thread, over lanes + read + CRC + decode in one loop",
        1.2,
        |all| ours_over_floor(all, Kind::VerifyOne, floor::READ_AND_CHECK),
    ),
    at_least("verify-2/verify-1", "full verify on one thread over two threads", 1.6, |all| {
        let outcome = of_payload(all, Kind::VerifyTwo)?;
        Some(read(&outcome.over_ours(outcome.ours_named(ONE_THREAD)?)?))
    }),
    at_most("scan/peer", "scan + CRC over the best peer that checks", 0.95, |all| {
        scan_over_peer(all, PAYLOAD)
    }),
    at_most("scan/peer-1024", "the same, 1 KiB", 0.9, |all| scan_over_peer(all, 1_024)),
    at_most("scan/peer-4096", "the same, 4 KiB", 0.8, |all| scan_over_peer(all, 4_096)),
];

/// Events and the rules.
const EVENTS: &[Bar] = &[
    at_least("typed-os/batpak", "batpak over typed submit, Os", 6.5, |all| {
        peer_over_ours(all, Kind::TypedOs, |_, _| true)
    }),
    at_most("typed-os/append", "typed submit, Os, beyond append, microseconds", 6.5, |all| {
        let outcome = of_payload(all, Kind::TypedOs)?;
        let append = outcome.ours_named(APPEND_ALONE)?.values()?;
        let pairs = outcome.ours()?.values()?.0.iter().zip(&append.0);
        let beyond = pairs.map(|(typed, append)| (typed - append) * 1e6);
        Some(read(&Samples(beyond.collect())))
    }),
    at_least(
        "rebuild/events",
        "rebuild for opening (decode + evolve), one core, million events/s",
        1.5,
        |all| millions_each_second(of_kind(all, Kind::Rebuild)?, EVOLVING),
    ),
    at_most(
        "verify-rules/floor",
        "`verify` with rules, one core, over decode + hashes one by one",
        1.3,
        |all| {
            let outcome = of_kind(all, Kind::VerifyRules)?;
            ours_over(outcome, outcome.floor(floor::RULES_ONE_BY_ONE)?)
        },
    ),
    at_least(
        "verify-rules/events",
        "`verify` with rules, all cores, million events/s",
        1.8,
        |all| millions_each_second(of_kind(all, Kind::VerifyRules)?, ALL_CORES),
    ),
];

/// What looks at a log of ten million records.
const LOOKS: &[Bar] = &[
    at_most("look/hold-list", "`hold list`, 10M records, ms", 50.0, |all| {
        look_ms(all, Look::HoldList)
    }),
    at_most("look/hold-list-memory", "its memory at most, MiB", 40.0, |all| {
        look_mib(all, Look::HoldList)
    }),
    at_most("look/decision-list", "`decision list`, 10M records, ms", 50.0, |all| {
        look_ms(all, Look::DecisionList)
    }),
    at_most("look/decision-list-memory", "its memory at most, MiB", 40.0, |all| {
        look_mib(all, Look::DecisionList)
    }),
    at_most("look/thread-list", "`thread list state=open`, 10M records, ms", 50.0, |all| {
        look_ms(all, Look::ThreadList)
    }),
    at_most("look/thread-list-memory", "its memory at most, MiB", 40.0, |all| {
        look_mib(all, Look::ThreadList)
    }),
    at_most(
        "look/show-sealed",
        "`log --since A --until B`, sealed, 10M records, ms",
        30.0,
        |all| look_ms(all, Look::ShowSealed),
    ),
    at_most("look/last-sealed", "`log --until B -n N`, sealed, 10M, ms", 30.0, |all| {
        look_ms(all, Look::LastSealed)
    }),
    at_most("look/trace-sealed", "`trace` of a small story, sealed, 10M, ms", 30.0, |all| {
        look_ms(all, Look::TraceSealed)
    }),
    at_most("look/show-active", "`log --since A --until B`, full active, 10M, ms", 100.0, |all| {
        look_ms(all, Look::ShowActive)
    }),
    at_most("look/last-active", "`log -n N`, full active segment, 10M, ms", 100.0, |all| {
        look_ms(all, Look::LastActive)
    }),
    at_most("look/trace-active", "`trace` of a small story, full active, 10M, ms", 100.0, |all| {
        look_ms(all, Look::TraceActive)
    }),
    at_most("look/runs", "`runs -n 20`, 10M records, ms", 50.0, |all| look_ms(all, Look::Runs)),
    at_most("look/runs-filter", "`runs` with a filter that no run passes, 1M, ms", 200.0, |all| {
        let scale = all.scale?;
        of_lengths(scale, &scale.short()?.look(Look::RunsOfNone)?.time, 1e3)
    }),
    at_most("look/runs-memory", "memory of the list of runs at most, MiB", 60.0, |all| {
        look_mib(all, Look::RunsOfNone)
    }),
    at_most("look/show-run-sealed", "`show` of a run, sealed, 10M, ms", 50.0, |all| {
        look_ms(all, Look::ShowRunSealed)
    }),
    at_most("look/show-run-active", "`show` of a run, full active, 10M, ms", 50.0, |all| {
        look_ms(all, Look::ShowRunActive)
    }),
    at_most("look/inbox", "`inbox`, 200 logs with 10,000 questions, ms", 1_000.0, inbox_ms),
];

/// What must not follow the length of a log.
const LENGTHS: &[Bar] = &[
    at_most(
        "open/engine",
        "open an engine, live entities and full windows as in Scale, 10M records, ms",
        5.0,
        |all| {
            let scale = all.scale?;
            of_lengths(scale, &scale.long()?.open_clean_inside, 1e3)
        },
    ),
    at_most(OPENING_GROWS, "the same, 10M over 1M", 1.1, |all| of_ratio(all, OPENING_GROWS)),
    at_most(WRITERS_MEMORY, "memory of a writer, 10M over 1M", 1.16, |all| {
        of_ratio(all, WRITERS_MEMORY)
    }),
];

/// Bytes.
const BYTES: &[Bar] = &[
    at_most("disk-bytes", "bytes on the disk a record, without what is reserved", 321.0, |all| {
        ours(of_payload(all, Kind::DiskBytes)?)
    }),
    at_most("device-bytes", "bytes to the device a record, each synced", 4_352.0, |all| {
        ours(of_payload(all, Kind::DeviceBytes)?)
    }),
];

fn read(samples: &Samples) -> Reading {
    Reading { value: samples.median(), noise_percent: samples.noise(), is_of_the_bar: true }
}

/// Payload bytes of the bars that name none.
const PAYLOAD: usize = 256;

fn is_audit_trail(name: &str, _: &PeerFacts) -> bool {
    name.starts_with("audit-trail")
}

fn of_payload<'a>(all: &Measurements<'a>, kind: Kind) -> Option<&'a Outcome> {
    of_scope(all, kind, Scope::Payload(PAYLOAD))
}

fn of_scope<'a>(all: &Measurements<'a>, kind: Kind, scope: Scope) -> Option<&'a Outcome> {
    all.outcomes.iter().find(|outcome| outcome.kind == kind && outcome.scope == scope)
}

fn of_kind<'a>(all: &Measurements<'a>, kind: Kind) -> Option<&'a Outcome> {
    all.outcomes.iter().find(|outcome| outcome.kind == kind)
}

fn ours(outcome: &Outcome) -> Option<Reading> {
    Some(read(outcome.ours()?.values()?))
}

fn floor_over_ours(all: &Measurements<'_>, kind: Kind, floor: &str) -> Option<Reading> {
    let outcome = of_payload(all, kind)?;
    Some(read(&outcome.over_ours(outcome.floor(floor)?)?))
}

fn ours_over_floor(all: &Measurements<'_>, kind: Kind, floor: &str) -> Option<Reading> {
    let outcome = of_payload(all, kind)?;
    ours_over(outcome, outcome.floor(floor)?)
}

/// Of the two ways to share a sync, the faster one.
fn group_commit_over_ours(all: &Measurements<'_>, kind: Kind) -> Option<Reading> {
    let outcome = of_payload(all, kind)?;
    let both = [floor::GROUP_COMMIT, floor::GATHERING_COMMIT];
    let over = both.iter().filter_map(|name| outcome.over_ours(outcome.floor(name)?));
    over.map(|samples| read(&samples)).min_by(|a, b| a.value.total_cmp(&b.value))
}

fn peer_over_ours(
    all: &Measurements<'_>,
    kind: Kind,
    wants: impl Fn(&str, &PeerFacts) -> bool,
) -> Option<Reading> {
    let outcome = of_payload(all, kind)?;
    Some(read(&outcome.over_ours(outcome.best_peer(wants)?)?))
}

fn scan_over_peer(all: &Measurements<'_>, payload: usize) -> Option<Reading> {
    let outcome = of_scope(all, Kind::Scan, Scope::Payload(payload))?;
    ours_over(outcome, outcome.best_peer(|_, _| true)?)
}

fn ours_over(outcome: &Outcome, line: &Line) -> Option<Reading> {
    Some(read(&outcome.ours()?.values()?.over(line.values()?)))
}

fn millions_each_second(outcome: &Outcome, name: &str) -> Option<Reading> {
    let seconds = &outcome.ours_named(name)?.values()?.0;
    Some(read(&Samples(seconds.iter().map(|seconds| 1e-6 / seconds).collect())))
}

fn look_ms(all: &Measurements<'_>, look: Look) -> Option<Reading> {
    let scale = all.scale?;
    of_lengths(scale, &scale.long()?.look(look)?.time, 1e3)
}

fn look_mib(all: &Measurements<'_>, look: Look) -> Option<Reading> {
    let scale = all.scale?;
    of_lengths(scale, &scale.long()?.look(look)?.peak_memory_bytes, 1.0 / f64::from(1 << 20))
}

fn inbox_ms(all: &Measurements<'_>) -> Option<Reading> {
    let inbox = all.scale?.inbox.as_ref()?;
    let Spread { median, noise_percent } = inbox.look.time;
    let is_of_the_bar = (inbox.logs, inbox.questions) == (200, 10_000);
    Some(Reading { value: median * 1e3, noise_percent, is_of_the_bar })
}

fn of_ratio(all: &Measurements<'_>, key: &str) -> Option<Reading> {
    let scale = all.scale?;
    of_lengths(scale, &scale.ratios.iter().find(|ratio| ratio.key == key)?.value, 1.0)
}

fn of_lengths(scale: &Scale, value: &Spread, times: f64) -> Option<Reading> {
    let Spread { median, noise_percent } = *value;
    Some(Reading { value: median * times, noise_percent, is_of_the_bar: scale.has_bar_lengths() })
}

/// The key of every bar.
#[cfg(test)]
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    bars().map(|bar| bar.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Role;
    use crate::rounds::Measured;
    use crate::scale::Ratio;

    fn line(name: &str, role: Role, values: &[f64]) -> Line {
        let measured = Ok(Measured { values: Samples(values.to_vec()), cpu: None });
        Line { name: name.into(), role, remark: String::new(), measured }
    }

    fn verdict(outcomes: &[Outcome], key: &str) -> Verdict {
        let verdicts = judge(&Measurements { outcomes, scale: None });
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

    fn scale_of(long: u64) -> Scale {
        let (key, figure, unit) = (WRITERS_MEMORY.into(), "f".into(), "x".into());
        let ratios = vec![Ratio { key, figure, unit, value: Spread::once(1.16) }];
        Scale {
            seed: 1,
            live: 2,
            rounds: 3,
            short: 1_000_000,
            long,
            points: Vec::new(),
            ratios,
            inbox: None,
        }
    }

    #[test]
    fn a_bar_on_lengths_is_judged_on_logs_of_those_lengths_alone() {
        let memory = |long| {
            let scale = scale_of(long);
            let verdicts = judge(&Measurements { outcomes: &[], scale: Some(&scale) });
            assert_eq!(verdicts.iter().filter(|verdict| verdict.value.is_some()).count(), 1);
            verdicts.into_iter().find(|verdict| verdict.key == WRITERS_MEMORY).unwrap()
        };
        let judged = memory(10_000_000);
        assert_eq!((judged.value, judged.noise_percent), (Some(1.16), None));
        assert_eq!(judged.standing(), Some(Standing::Passed));
        let shorter = memory(3_000);
        assert_eq!((shorter.value, shorter.standing()), (Some(1.16), None));
    }

    #[test]
    fn of_two_group_commits_the_faster_one_is_the_floor() {
        let lines = vec![
            line("Holdpoint", Role::Ours, &[2.0; 3]),
            line(floor::GROUP_COMMIT, Role::Floor, &[4.0; 3]),
            line(floor::GATHERING_COMMIT, Role::Floor, &[3.0; 3]),
        ];
        let outcome = Outcome { kind: Kind::DurableEight, scope: Scope::Payload(256), lines };
        assert_eq!(verdict(&[outcome], "durable-8/floor").value, Some(1.5));
    }

    #[test]
    fn typed_submit_beyond_append_is_taken_round_by_round() {
        let lines = vec![
            line("Holdpoint engine", Role::Ours, &[9e-6, 5e-6, 7e-6]),
            line(APPEND_ALONE, Role::Ours, &[1e-6, 1e-6, 2e-6]),
        ];
        let outcome = Outcome { kind: Kind::TypedOs, scope: Scope::Payload(256), lines };
        let value = verdict(&[outcome], "typed-os/append").value.unwrap();
        assert!((value - 5.0).abs() < 1e-9, "{value}");
    }

    #[test]
    fn a_peer_without_a_chain_is_no_chained_peer() {
        let verdict = verdict(&[staged(1.5)], "append-staged/chained-peer");
        assert_eq!((verdict.value, verdict.passed), (Some(2.0), Some(true)));
    }

    #[test]
    fn what_was_not_measured_is_neither_cleared_nor_missed() {
        for verdict in judge(&Measurements { outcomes: &[], scale: None }) {
            assert_eq!((verdict.value, verdict.passed), (None, None), "{}", verdict.key);
            assert_eq!(verdict.standing(), None, "{}", verdict.key);
        }
    }

    #[test]
    fn keys_of_bars_are_unique() {
        let mut keys: Vec<&str> = keys().collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), bars().count());
    }
}
