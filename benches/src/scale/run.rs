//! A history is written once; then the logs of all lengths take turns, round by round.

use super::errand::{Errand, Found, Opened, Parts, Written};
use super::place::copy_directory;
use super::result::{Percentiles, Point, Ratio, Scale, Spread};
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
/// Appends of one round, written to the file.
const APPENDS: u64 = 2_000;
/// Appends of one round, each synced.
const APPENDS_DURABLE: u64 = 40;

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
    os: Samples,
    os_medians: Samples,
    durable: Samples,
    first: Samples,
    old: Samples,
    new: Samples,
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
            os: none(),
            os_medians: none(),
            durable: none(),
            first: none(),
            old: none(),
            new: none(),
        }
    }

    fn take_turn(&mut self, plan: &ScalePlan, counts: bool) -> Result<(), MeasureError> {
        let begin = time_to_first_line::<()>(plan, &Errand::Begin)?.0;
        let (clean, opened) = self.opened(plan, &self.at)?;
        let parts: Parts = Errand::TakeApart { at: self.at.clone() }.run(&plan.program)?;
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
        self.os_medians.0.push(os.median());
        self.os.0.extend(os.0);
        self.durable.0.extend(durable.0);
        self.first.0.push(found.first);
        self.old.0.extend(found.old);
        self.new.0.extend(found.new);
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

/// Those that have a bar and were measured. Values of two lengths are compared round by round.
fn ratios(logs: &[Measured]) -> Vec<Ratio> {
    let of = |length: u64| logs.iter().find(|log| log.length == length);
    let over = |samples: fn(&Measured) -> &Samples, long, short| {
        Some(Spread::from(&samples(of(long)?).over(samples(of(short)?))))
    };
    let memory = |long, short| {
        let bytes = |length| Some(of(length)?.written.memory_bytes as f64);
        Some(Spread { median: bytes(long)? / bytes(short)?, noise_percent: 0.0 })
    };
    let milliseconds = |samples: &Samples| {
        Spread::from(&Samples(samples.0.iter().map(|seconds| seconds * 1e3).collect()))
    };
    let at_1m = |samples: fn(&Measured) -> &Samples| Some(milliseconds(samples(of(1_000_000)?)));
    let all = [
        ("clean open beyond process start, at 1M", "ms", at_1m(|log| &log.clean), 1.0),
        ("clean open as the process sees it, at 1M", "ms", at_1m(|log| &log.inside), 1.0),
        ("clean open, 10M over 1M", "x", over(|log| &log.inside, 10_000_000, 1_000_000), 1.2),
        ("append p50, 1M over 10k", "x", over(|log| &log.os_medians, 1_000_000, 10_000), 1.1),
        ("append p50, 10M over 10k", "x", over(|log| &log.os_medians, 10_000_000, 10_000), 1.1),
        ("writer's memory, 1M over 100k", "x", memory(1_000_000, 100_000), 1.2),
        ("writer's memory, 10M over 1M", "x", memory(10_000_000, 1_000_000), 1.2),
        ("opener's memory, 10M over 1M", "x", over(|log| &log.memory, 10_000_000, 1_000_000), 1.2),
    ];
    let bar = |(figure, unit, value, at_most): (_, _, Option<Spread>, _)| {
        Some(Ratio { figure, unit, value: value?, at_most })
    };
    all.into_iter().filter_map(bar).collect()
}
