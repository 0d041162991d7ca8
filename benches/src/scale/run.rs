//! A history is written once; then the logs of all lengths take turns, round by round.

use super::errand::{Errand, Found, Listed, Looked, Opened, Parts, Written};
use super::place::copy_directory;
use super::result::{ListPoint, Percentiles, Point, Pooled, Ratio, Scale, Spread};
use crate::error::{Doing, MeasureError};
use crate::machine::Machine;
use crate::rounds::{Samples, order};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout};
use std::time::Instant;

/// A log of at most so many records is copied before something is appended to it: it would be one
/// of another length afterwards.
const COPIED_MAX: u64 = 200_000;
/// Asks the C library to give back what is freed: how much it would else keep depends on the
/// largest index that was built until then, and says nothing of what is in use.
pub(super) const GIVE_BACK: (&str, &str) = ("MALLOC_TRIM_THRESHOLD_", "131072");
/// The key of the bar that asks how the writer's memory grows from one million records to ten.
pub(crate) const WRITERS_MEMORY: &str = "scale/memory-10M";
/// Appends of one round, written to the file.
const APPENDS: u64 = 2_000;
/// Appends of one round, each synced.
const APPENDS_DURABLE: u64 = 40;

/// What is listed, in the order of the figures.
const LISTS: [Listed; 3] = [Listed::Holds, Listed::Decisions, Listed::Threads];

/// What a run measures.
#[derive(Clone, Debug)]
pub struct ScalePlan {
    /// Where the logs lie meanwhile.
    pub directory: PathBuf,
    /// Their lengths, in order.
    pub lengths: Vec<u64>,
    /// Entities that live at a time.
    pub live: usize,
    /// Of the history.
    pub seed: u64,
    /// Rounds that count; one more is done before them.
    pub rounds: usize,
    /// The program that takes errands.
    pub program: PathBuf,
}

/// Measures it all, and says what it is doing.
///
/// # Errors
/// What has to work does not.
pub fn measure(plan: &ScalePlan, tell: &mut dyn FnMut(&str)) -> Result<Scale, MeasureError> {
    let home = tempfile::tempdir_in(&plan.directory).doing("make a directory")?;
    let mut logs = write(plan, home.path(), tell)?;
    for round in 0..=plan.rounds {
        tell(&format!("round {round} of {}", plan.rounds));
        for index in order(round, logs.len()) {
            if let Some(log) = logs.get_mut(index) {
                log.take_turn(plan, round > 0)?;
            }
        }
    }
    let mut points = Vec::new();
    for log in &logs {
        tell(&format!("time travel, {} records", log.length));
        points.push(log.point(plan)?);
    }
    let ratios = ratios(&logs);
    let (seed, live, rounds) = (plan.seed, plan.live, plan.rounds);
    Ok(Scale { machine: Machine::of(&plan.directory), seed, live, rounds, points, ratios })
}

/// The history, and a copy of its log at each length.
fn write(
    plan: &ScalePlan,
    home: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measured>, MeasureError> {
    let errand = Errand::Write {
        at: home.join("growing"),
        copies: home.to_path_buf(),
        lengths: plan.lengths.clone(),
        live: plan.live,
        seed: plan.seed,
    };
    let mut command = errand.command(&plan.program)?;
    command.env(GIVE_BACK.0, GIVE_BACK.1);
    let mut child = command.spawn().doing("start a process")?;
    let mut lines = lines_of(&mut child)?;
    let mut logs = Vec::new();
    for length in &plan.lengths {
        tell(&format!("writing until {length} records"));
        let written: Written = line_of(&mut lines)?;
        logs.push(Measured::new(*length, home.join(length.to_string()), written));
    }
    ended(child)?;
    Ok(logs)
}

fn lines_of(child: &mut Child) -> Result<BufReader<ChildStdout>, MeasureError> {
    let out = child.stdout.take().ok_or("it says nothing").doing("start a process")?;
    Ok(BufReader::new(out))
}

fn line_of<T: serde::de::DeserializeOwned>(
    lines: &mut BufReader<ChildStdout>,
) -> Result<T, MeasureError> {
    let mut line = String::new();
    lines.read_line(&mut line).doing("read what a process says")?;
    serde_json::from_str(&line).doing("read what a process says")
}

fn ended(mut child: Child) -> Result<(), MeasureError> {
    let status = child.wait().doing("wait for a process")?;
    if status.success() { Ok(()) } else { Err(status).doing("run a process") }
}

/// One log, and what its rounds gave.
struct Measured {
    length: u64,
    at: PathBuf,
    written: Written,
    memory: Samples,
    clean: Samples,
    inside: Samples,
    cpu: Samples,
    ask_all: Samples,
    crashed: Samples,
    parts: [Samples; 4],
    /// Of [`LISTS`]: how long, and how much private memory.
    lists: [(Samples, Samples); 3],
    os: Pooled,
    durable: Pooled,
    first: Samples,
    old: Pooled,
    new: Pooled,
}

impl Measured {
    fn new(length: u64, at: PathBuf, written: Written) -> Self {
        let none = Samples::default;
        Self {
            length,
            at,
            written,
            memory: none(),
            clean: none(),
            inside: none(),
            cpu: none(),
            ask_all: none(),
            crashed: none(),
            parts: [none(), none(), none(), none()],
            lists: Default::default(),
            os: Pooled::default(),
            durable: Pooled::default(),
            first: none(),
            old: Pooled::default(),
            new: Pooled::default(),
        }
    }

    fn take_turn(&mut self, plan: &ScalePlan, counts: bool) -> Result<(), MeasureError> {
        let begin = time_to_first_line::<()>(plan, &Errand::Begin)?.0;
        let (clean, opened) = self.opened(plan, &self.at)?;
        let parts: Parts = Errand::TakeApart { at: self.at.clone() }.run(&plan.program)?;
        let lists = LISTS.map(|what| {
            let errand = Errand::List { at: self.at.clone(), what };
            errand.run::<Looked>(&plan.program)
        });
        let place = self.fresh()?;
        let at = place.as_ref().map_or(&*self.at, |place| place.path()).to_path_buf();
        let crashed = self.crashed(plan, &at)?;
        let [os, durable] =
            [(APPENDS, false), (APPENDS_DURABLE, true)].map(|(count, is_durable)| {
                let (at, clock_ns) = (at.clone(), self.written.clock_ns);
                Errand::Append { at, clock_ns, count, is_durable }.run::<Vec<f64>>(&plan.program)
            });
        let (os, durable) = (Samples(os?), Samples(durable?));
        let found: Found = self.look_up(&at).run(&plan.program)?;
        if !counts {
            return Ok(());
        }
        for ((seconds, memory), looked) in self.lists.iter_mut().zip(lists) {
            let looked = looked?;
            seconds.0.push(looked.seconds);
            memory.0.push(looked.memory_bytes as f64);
        }
        self.clean.0.push(clean - begin);
        self.inside.0.push(opened.open);
        self.cpu.0.push(opened.cpu);
        self.ask_all.0.push(opened.ask_all);
        self.memory.0.push(opened.memory_bytes as f64);
        self.crashed.0.push(crashed - begin);
        let Parts { log, read, fingerprint, decode } = parts;
        for (samples, part) in self.parts.iter_mut().zip([log, read, fingerprint, decode]) {
            samples.0.push(part);
        }
        self.os.add(os);
        self.durable.add(durable);
        self.first.0.push(found.first);
        self.old.add(Samples(found.old));
        self.new.add(Samples(found.new));
        Ok(())
    }

    fn opened(&self, plan: &ScalePlan, at: &Path) -> Result<(f64, Opened), MeasureError> {
        time_to_first_line(plan, &Errand::Open { at: at.to_path_buf() })
    }

    /// Something appends and is killed; then somebody opens.
    fn crashed(&self, plan: &ScalePlan, at: &Path) -> Result<f64, MeasureError> {
        let errand = Errand::Crash { at: at.to_path_buf(), clock_ns: self.written.clock_ns };
        let status = errand.command(&plan.program)?.status().doing("run a process")?;
        if status.code().is_some() {
            return Err(status).doing("kill a process");
        }
        Ok(self.opened(plan, at)?.0)
    }

    fn look_up(&self, at: &Path) -> Errand {
        let (clock_ns, keyed) = (self.written.clock_ns, self.written.keyed.clone());
        Errand::LookUp { at: at.to_path_buf(), clock_ns, keyed }
    }

    /// A copy to append to, where that would change the length too much.
    fn fresh(&self) -> Result<Option<tempfile::TempDir>, MeasureError> {
        if self.length > COPIED_MAX {
            return Ok(None);
        }
        let home = self.at.parent().unwrap_or(&self.at);
        let place = tempfile::tempdir_in(home).doing("make a directory")?;
        copy_directory(&self.at.join("."), place.path())?;
        Ok(Some(place))
    }

    fn point(&self, plan: &ScalePlan) -> Result<Point, MeasureError> {
        let (at, sequence) = (self.at.clone(), self.length / 2);
        let travel = Errand::Travel { at, sequence }.run(&plan.program)?;
        let [open_log, open_read, open_fingerprint, open_decode] =
            self.parts.each_ref().map(Spread::from);
        let [holds, decisions, threads] = &self.lists;
        let list = |(seconds, memory): &(Samples, Samples)| ListPoint {
            time: Spread::from(seconds),
            memory_bytes: memory.median() as u64,
        };
        let records = self.written.records;
        let each = |bytes: u64| bytes as f64 / records as f64;
        Ok(Point {
            records,
            write_each: self.written.seconds / records as f64,
            writer_memory_bytes: self.written.memory_bytes,
            opener_memory_bytes: self.memory.median() as u64,
            open_clean: Spread::from(&self.clean),
            open_clean_inside: Spread::from(&self.inside),
            open_clean_cpu: Spread::from(&self.cpu),
            ask_all: Spread::from(&self.ask_all),
            open_crashed: Spread::from(&self.crashed),
            open_log,
            open_read,
            open_fingerprint,
            open_decode,
            hold_list: list(holds),
            decision_list: list(decisions),
            thread_list: list(threads),
            append_os: Percentiles::from(&self.os),
            append_durable: Percentiles::from(&self.durable),
            look_up_first: Spread::from(&self.first),
            look_up_old: Percentiles::from(&self.old),
            look_up_new: Percentiles::from(&self.new),
            travel,
            segment_bytes_each: each(self.written.segment_bytes),
            index_bytes_each: each(self.written.index_bytes),
            snapshot_bytes: self.written.snapshot_bytes,
        })
    }
}

/// From before a process is started to when it has said its line; and the line.
fn time_to_first_line<T: serde::de::DeserializeOwned>(
    plan: &ScalePlan,
    errand: &Errand,
) -> Result<(f64, T), MeasureError> {
    let mut command = errand.command(&plan.program)?;
    let begun = Instant::now();
    let mut child = command.spawn().doing("start a process")?;
    let mut lines = lines_of(&mut child)?;
    let line = line_of(&mut lines);
    let seconds = begun.elapsed().as_secs_f64();
    ended(child)?;
    Ok((seconds, line?))
}

/// What was measured of these, in order. Values of two lengths are compared round by round.
fn ratios(logs: &[Measured]) -> Vec<Ratio> {
    let ratio = |row: &Row| {
        let (key, figure, unit) = (row.key.into(), row.figure.into(), row.unit.into());
        Some(Ratio { key, figure, unit, value: (row.read)(logs)?, at_most: row.at_most })
    };
    ROWS.iter().filter_map(ratio).collect()
}

struct Row {
    key: &'static str,
    figure: &'static str,
    unit: &'static str,
    at_most: Option<f64>,
    read: fn(&[Measured]) -> Option<Spread>,
}

const fn row(
    key: &'static str,
    figure: &'static str,
    (at_most, unit): (Option<f64>, &'static str),
    read: fn(&[Measured]) -> Option<Spread>,
) -> Row {
    Row { key, figure, unit, at_most, read }
}

/// Lengths that rows are about.
const TEN_THOUSAND: u64 = 10_000;
const HUNDRED_THOUSAND: u64 = 100_000;
const MILLION: u64 = 1_000_000;
const TEN_MILLION: u64 = 10_000_000;

const ROWS: &[Row] = &[
    row("scale/open-clean", "clean open beyond process start, at 1M", (Some(1.0), "ms"), |logs| {
        milliseconds(logs, |log| &log.clean)
    }),
    row(
        "scale/open-clean-inside",
        "clean open as the process sees it, at 1M",
        (Some(1.0), "ms"),
        |logs| milliseconds(logs, |log| &log.inside),
    ),
    row("scale/open-clean-10M", "clean open, 10M over 1M", (Some(1.2), "x"), |logs| {
        over(logs, |log| &log.inside, TEN_MILLION, MILLION)
    }),
    row("scale/append-1M", "append p50, 1M over 10k", (Some(1.1), "x"), |logs| {
        over(logs, |log| log.os.medians(), MILLION, TEN_THOUSAND)
    }),
    row("scale/append-10M", "append p50, 10M over 10k", (Some(1.1), "x"), |logs| {
        over(logs, |log| log.os.medians(), TEN_MILLION, TEN_THOUSAND)
    }),
    row("scale/memory-1M", "writer's memory, 1M over 100k", (None, "x"), |logs| {
        memory(logs, MILLION, HUNDRED_THOUSAND)
    }),
    row(WRITERS_MEMORY, "writer's memory, 10M over 1M", (Some(1.2), "x"), |logs| {
        memory(logs, TEN_MILLION, MILLION)
    }),
    row("scale/memory-opener", "opener's memory, 10M over 1M", (Some(1.2), "x"), |logs| {
        over(logs, |log| &log.memory, TEN_MILLION, MILLION)
    }),
    row("scale/hold-list", "`hold list`, 10M over 1M", (Some(1.2), "x"), |logs| {
        over(logs, |log| &log.lists[0].0, TEN_MILLION, MILLION)
    }),
    row("scale/decision-list", "`decision list`, 10M over 1M", (Some(1.2), "x"), |logs| {
        over(logs, |log| &log.lists[1].0, TEN_MILLION, MILLION)
    }),
    row("scale/thread-list", "`thread list --open`, 10M over 1M", (Some(1.2), "x"), |logs| {
        over(logs, |log| &log.lists[2].0, TEN_MILLION, MILLION)
    }),
    row("scale/memory-hold-list", "`hold list`'s memory, 10M over 1M", (Some(1.2), "x"), |logs| {
        over(logs, |log| &log.lists[0].1, TEN_MILLION, MILLION)
    }),
    row(
        "scale/memory-decision-list",
        "`decision list`'s memory, 10M over 1M",
        (Some(1.2), "x"),
        |logs| over(logs, |log| &log.lists[1].1, TEN_MILLION, MILLION),
    ),
    row(
        "scale/memory-thread-list",
        "`thread list --open`'s memory, 10M over 1M",
        (Some(1.2), "x"),
        |logs| over(logs, |log| &log.lists[2].1, TEN_MILLION, MILLION),
    ),
];

/// The key of every row.
#[cfg(test)]
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.key)
}

fn of(logs: &[Measured], length: u64) -> Option<&Measured> {
    logs.iter().find(|log| log.length == length)
}

fn over(
    logs: &[Measured],
    samples: fn(&Measured) -> &Samples,
    long: u64,
    short: u64,
) -> Option<Spread> {
    Some(Spread::from(&samples(of(logs, long)?).over(samples(of(logs, short)?))))
}

/// The history is written once, so there is one value for each length.
fn memory(logs: &[Measured], long: u64, short: u64) -> Option<Spread> {
    let bytes = |length| Some(of(logs, length)?.written.memory_bytes as f64);
    Some(Spread::once(bytes(long)? / bytes(short)?))
}

/// Of a million records.
fn milliseconds(logs: &[Measured], samples: fn(&Measured) -> &Samples) -> Option<Spread> {
    let seconds = &samples(of(logs, MILLION)?).0;
    Some(Spread::from(&Samples(seconds.iter().map(|seconds| seconds * 1e3).collect())))
}
