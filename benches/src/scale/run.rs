//! A history is written once; then the logs of all lengths take turns, round by round.

use super::errand::{Errand, LookupTimes, Opened, Parts, Written};
use super::inbox::{self, InboxPlan};
use super::look::{Look, Places};
use super::place::copy_directory;
use super::result::{BAR_LENGTHS, Looked, Percentiles, Point, Pooled, Ratio, Scale, Spread};
use crate::error::{Doing, MeasureError};
use crate::plan::{Effort, Plan};
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
pub(crate) const WRITERS_MEMORY: &str = "memory/writer";
/// The key of the bar that asks how opening an engine grows.
pub(crate) const OPENING_GROWS: &str = "open/engine-grows";
/// Records behind a place that is shown from.
const BEHIND: u64 = 200;
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
    /// The two that bars compare, the shorter one first.
    pub compared: (u64, u64),
    /// Entities that live at a time.
    pub live: usize,
    /// Of the history.
    pub seed: u64,
    /// Rounds that count; one more is done before them.
    pub rounds: usize,
    /// What waits for a person, and where.
    pub inbox: InboxPlan,
    /// The program that takes errands.
    pub program: PathBuf,
}

impl ScalePlan {
    /// As much as the effort of a run is, in processes of `program`.
    #[must_use]
    pub fn of(plan: &Plan, program: PathBuf) -> Self {
        let (lengths, live, rounds) = match plan.effort {
            Effort::Smoke => (vec![1_500, 3_000], 40, 2),
            Effort::Quick => (vec![10_000, 100_000], 256, 3),
            Effort::Full => (vec![10_000, 100_000, 1_000_000], 256, 7),
        };
        let mut planned = Self {
            directory: plan.directory.clone(),
            lengths,
            compared: (0, 0),
            live,
            seed: 1,
            rounds,
            inbox: InboxPlan::of(plan.effort),
            program,
        };
        if plan.is_huge {
            planned.lengths.extend([BAR_LENGTHS.0, BAR_LENGTHS.1]);
            planned.lengths.dedup();
        }
        if let [.., short, long] = planned.lengths.as_slice() {
            planned.compared = (*short, *long);
        }
        planned
    }
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
    tell("what waits in many logs");
    let inbox = inbox::measure(plan, home.path())?;
    let (short, long) = plan.compared;
    let ratios = ratios(&logs, plan.compared);
    let ScalePlan { seed, live, rounds, .. } = *plan;
    Ok(Scale { seed, live, rounds, short, long, points, ratios, inbox: Some(inbox) })
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
    /// Of [`Look::ALL`].
    looks: [Looked; Look::ALL.len()],
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
            looks: Default::default(),
            os: Pooled::default(),
            durable: Pooled::default(),
            first: none(),
            old: Pooled::default(),
            new: Pooled::default(),
        }
    }

    /// In the middle of the log, and the last of its own history: what a round appends lies behind.
    fn places(&self) -> Places {
        let Written { records, first_story, last_story, .. } = &self.written;
        Places {
            sealed: records / 2,
            active: records.saturating_sub(BEHIND).max(1),
            sealed_story: first_story.clone(),
            active_story: last_story.clone(),
        }
    }

    fn take_turn(&mut self, plan: &ScalePlan, counts: bool) -> Result<(), MeasureError> {
        let begin = time_to_first_line::<()>(plan, &Errand::Begin)?.0;
        let (clean, opened) = self.opened(plan, &self.at)?;
        let parts: Parts = Errand::TakeApart { at: self.at.clone() }.run(&plan.program)?;
        let places = self.places();
        let looks = Look::ALL.map(|look| look.run(&plan.program, &self.at, &places));
        let place = self.fresh()?;
        let at = place.as_ref().map_or(&*self.at, |place| place.path()).to_path_buf();
        let crashed = self.crashed(plan, &at)?;
        let [os, durable] =
            [(APPENDS, false), (APPENDS_DURABLE, true)].map(|(count, is_durable)| {
                let (at, clock_ns) = (at.clone(), self.written.clock_ns);
                Errand::Append { at, clock_ns, count, is_durable }.run::<Vec<f64>>(&plan.program)
            });
        let (os, durable) = (Samples(os?), Samples(durable?));
        let found: LookupTimes = self.look_up(&at).run(&plan.program)?;
        if !counts {
            return Ok(());
        }
        for (all, looked) in self.looks.iter_mut().zip(looks) {
            all.add(looked?);
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
        let (at, clock_ns) = (at.to_path_buf(), self.written.clock_ns);
        time_to_first_line(plan, &Errand::Open { at, clock_ns })
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
        let looks = Look::ALL.into_iter().zip(&self.looks);
        let records = self.written.records;
        let each = |bytes: u64| bytes as f64 / records as f64;
        Ok(Point {
            length: self.length,
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
            looks: looks.map(|(look, looked)| looked.point(look.name())).collect(),
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

/// What was measured of two lengths, compared round by round.
fn ratios(logs: &[Measured], (short, long): (u64, u64)) -> Vec<Ratio> {
    let of = |length| logs.iter().find(|log| log.length == length);
    let (Some(short), Some(long)) = (of(short), of(long)) else { return Vec::new() };
    let ratio = |(key, figure, read): &Row| Ratio {
        key: (*key).to_string(),
        figure: (*figure).to_string(),
        unit: "x".to_string(),
        value: read(short, long),
    };
    ROWS.iter().map(ratio).collect()
}

/// A key, what is compared, and how it is read of the shorter and the longer log.
type Row = (&'static str, &'static str, fn(&Measured, &Measured) -> Spread);

const ROWS: &[Row] = &[
    (OPENING_GROWS, "clean open as the process sees it", |short, long| {
        Spread::from(&long.inside.over(&short.inside))
    }),
    ("append/grows", "append, written, p50", |short, long| {
        Spread::from(&long.os.medians().over(short.os.medians()))
    }),
    // The history is written once, so there is one value for each length.
    (WRITERS_MEMORY, "writer's memory", |short, long| {
        Spread::once(long.written.memory_bytes as f64 / short.written.memory_bytes as f64)
    }),
    ("memory/opener", "opener's memory", |short, long| {
        Spread::from(&long.memory.over(&short.memory))
    }),
];
