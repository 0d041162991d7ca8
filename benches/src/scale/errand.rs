//! What is done in processes of their own: one errand, one line of JSON.

use super::memory::Memory;
use super::place::{copy_directory, index_bytes, segment_bytes, segments};
use crate::error::{Doing, MeasureError};
use crate::history::{History, HistoryClock, Keyed, Probe, SeededEntropy, SmallStory};
use crate::pace::Stopwatch;
use holdpoint_domain::World;
use holdpoint_domain::world::fingerprint_of;
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Level, Log, Options, Ownership};
use holdpoint_engine::shell::{EngineOptions, Submitted};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{BootId, SnapshotHeader, names};
use holdpoint_replay::{ReadOptions, Until, Verdict, rebuild};
use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{Write as _, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// Something that a process does with a log, and says in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Errand {
    /// Only begins.
    Begin,
    /// Writes a history until the log has so many records or some more, its active segment nearly
    /// full, and copies it whenever one of the lengths is reached. A line for each.
    Write {
        /// Where it grows.
        at: PathBuf,
        /// Where copies go, named by their length; the last one is the log itself.
        copies: PathBuf,
        /// The lengths, in order.
        lengths: Vec<u64>,
        /// Entities that live at a time.
        live: usize,
        /// Of the history.
        seed: u64,
    },
    /// Opens, asks the state once, and closes.
    Open {
        /// The log.
        at: PathBuf,
        /// The time of its records: what lives would be over by another clock, and recorded so.
        clock_ns: u64,
    },
    /// Opens the log without the state, and takes the newest snapshot apart.
    TakeApart {
        /// The log.
        at: PathBuf,
    },
    /// Appends and is killed.
    Crash {
        /// The log.
        at: PathBuf,
        /// The time of its records.
        clock_ns: u64,
    },
    /// Appends one record after the other.
    Append {
        /// The log.
        at: PathBuf,
        /// The time of its records.
        clock_ns: u64,
        /// How many.
        count: u64,
        /// Each is synced; else written.
        is_durable: bool,
    },
    /// Gives commands of long ago again, and others under keys that nobody used.
    LookUp {
        /// The log.
        at: PathBuf,
        /// The time of its records.
        clock_ns: u64,
        /// What was given long ago.
        keyed: Vec<Keyed>,
    },
    /// Asks so many questions that wait for a person.
    Ask {
        /// The log, which is made.
        at: PathBuf,
        /// When.
        clock_ns: u64,
        /// How many.
        count: usize,
        /// Of the questions.
        seed: u64,
    },
    /// The state as it was behind a record.
    Travel {
        /// The log.
        at: PathBuf,
        /// The record.
        sequence: u64,
    },
}

/// An active segment is written until so much of it is used, where that adds no more than
/// [`SEGMENT_PART_MAX`] to a log.
const FULL_PART: f64 = 0.8;
const SEGMENT_PART_MAX: f64 = 0.25;
/// Commands of a history between two looks at its length.
const COMMANDS_BETWEEN_LOOKS: usize = 16;

/// What [`Errand::Write`] says of a length.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Written {
    pub(super) records: u64,
    pub(super) seconds: f64,
    pub(super) memory_bytes: u64,
    pub(super) clock_ns: u64,
    pub(super) segment_bytes: u64,
    pub(super) index_bytes: u64,
    pub(super) snapshot_bytes: u64,
    /// A small story before the most of these records.
    pub(super) first_story: SmallStory,
    /// A small story behind them.
    pub(super) last_story: SmallStory,
    pub(super) keyed: Vec<Keyed>,
}

/// What [`Errand::Open`] says. Seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Opened {
    pub(super) open: f64,
    /// On a CPU.
    pub(super) cpu: f64,
    pub(super) ask_all: f64,
    pub(super) memory_bytes: u64,
}

/// What [`Errand::TakeApart`] says. Seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Parts {
    pub(super) log: f64,
    pub(super) read: f64,
    pub(super) fingerprint: f64,
    pub(super) decode: f64,
}

/// What [`Errand::LookUp`] says. Seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LookupTimes {
    pub(super) first: f64,
    pub(super) old: Vec<f64>,
    pub(super) new: Vec<f64>,
}

/// Runs the errand that a parent handed over as this process's argument.
///
/// # Errors
/// What the engine says, or that the errand cannot be read.
pub fn as_child(argument: &str) -> Result<(), MeasureError> {
    match serde_json::from_str(argument).doing("read an errand")? {
        Errand::Begin => say(&()),
        Errand::Write { at, copies, lengths, live, seed } => {
            write(&at, &copies, &lengths, live, seed)
        }
        Errand::Open { at, clock_ns } => open(&at, clock_ns),
        Errand::TakeApart { at } => take_apart(&at),
        Errand::Crash { at, clock_ns } => crash(&at, clock_ns),
        Errand::Append { at, clock_ns, count, is_durable } => {
            append(&at, clock_ns, count, is_durable)
        }
        Errand::LookUp { at, clock_ns, keyed } => look_up(&at, clock_ns, &keyed),
        Errand::Ask { at, clock_ns, count, seed } => ask(&at, clock_ns, count, seed),
        Errand::Travel { at, sequence } => travel(&at, sequence),
    }
}

impl Errand {
    /// A process of `program` that runs the errand, and says its lines to this one.
    pub(super) fn command(&self, program: &Path) -> Result<Command, MeasureError> {
        let mut command = Command::new(program);
        command.arg(crate::child::CHILD);
        command.arg(serde_json::to_string(self).doing("write an errand")?);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Ok(command)
    }

    /// Runs it to its end and reads its one line.
    pub(super) fn run<T: DeserializeOwned>(&self, program: &Path) -> Result<T, MeasureError> {
        let output = self.command(program)?.output().doing("run a process")?;
        if !output.status.success() {
            return Err(output.status).doing("run a process");
        }
        serde_json::from_slice(&output.stdout).doing("read what a process says")
    }
}

fn say(line: &impl Serialize) -> Result<(), MeasureError> {
    let mut line = serde_json::to_vec(line).doing("write a line")?;
    line.push(b'\n');
    let mut out = stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).doing("write a line")
}

/// As a service has it: the log is its own, and nobody else writes.
fn engine(at: &Path, clock: HistoryClock, seed: u64, level: Level) -> Result<Engine, MeasureError> {
    let options = EngineOptions::simulated()
        .log(Options::default().ownership(Ownership::Exclusive))
        .level(level)
        .clock(Box::new(clock))
        .entropy(Box::new(SeededEntropy::new(seed)));
    Engine::open_with(DirectoryStorage::new(at), options).doing("open the engine")
}

fn write(
    at: &Path,
    copies: &Path,
    lengths: &[u64],
    live: usize,
    seed: u64,
) -> Result<(), MeasureError> {
    let mut history = History::new(seed, live);
    let mut seconds = 0.0;
    for length in lengths {
        let begun = Instant::now();
        // Other ids for every opening: the engine's own commands draw them.
        let engine = engine(at, history.clock(), seed ^ length, Level::Staged)?;
        let first_story = history.tell_small_story(&engine)?;
        while history.newest() < *length || !is_nearly_full(at, history.newest())? {
            for _ in 0..COMMANDS_BETWEEN_LOOKS {
                history.next(&engine)?;
            }
        }
        let last_story = history.tell_small_story(&engine)?;
        let memory_bytes = Memory::now()?.private_bytes;
        engine.close().doing("close the engine")?;
        seconds += begun.elapsed().as_secs_f64();
        say(&Written {
            records: history.newest(),
            seconds,
            memory_bytes,
            clock_ns: history.clock().wall_ns(),
            segment_bytes: segment_bytes(at)?,
            index_bytes: index_bytes(at)?,
            snapshot_bytes: newest_snapshot(at)?.len() as u64,
            first_story,
            last_story,
            keyed: history.keyed().to_vec(),
        })?;
        let named = copies.join(length.to_string());
        match Some(length) == lengths.last() {
            true => std::fs::rename(at, named).doing("rename a log")?,
            false => copy_directory(at, &named)?,
        }
    }
    Ok(())
}

/// Whether the active segment of a log is so full that what has to read it reads nearly as much as
/// there can be, and not yet so full that the rounds fill it. Also where segments are so large
/// beside the log that it would be of another length by then.
fn is_nearly_full(at: &Path, newest: u64) -> Result<bool, MeasureError> {
    let segments = segments(at)?;
    let [.., (before, capacity_before), (first, capacity)] = segments.as_slice() else {
        return Ok(true);
    };
    let of_full = (first - before) as f64 * *capacity as f64 / *capacity_before as f64;
    Ok(of_full > newest as f64 * SEGMENT_PART_MAX || (newest - first) as f64 >= of_full * FULL_PART)
}

/// As a command does it: the lock is taken for its turn alone.
fn open(at: &Path, clock_ns: u64) -> Result<(), MeasureError> {
    let options = EngineOptions::default().clock(Box::new(HistoryClock::at(clock_ns)));
    let watch = Stopwatch::start();
    let engine = Engine::open_with(DirectoryStorage::new(at), options).doing("open the engine")?;
    let newest = engine.query(|world| world.totals().last_sequence).doing("ask")?;
    let sample = watch.per(1);
    std::hint::black_box(newest);
    let (open, cpu) = (sample.value, sample.cpu.unwrap_or(f64::NAN));
    // An entity is decoded when it is first asked for: this asks for everything that lives.
    let watch = Stopwatch::start();
    let live = engine.query(|world| world.live_loops().count()).doing("ask")?;
    let ask_all = watch.per(1).value;
    std::hint::black_box(live);
    say(&Opened { open, cpu, ask_all, memory_bytes: Memory::now()?.private_bytes })?;
    engine.close().doing("close the engine")
}

fn take_apart(at: &Path) -> Result<(), MeasureError> {
    let begun = Instant::now();
    let (log, _) =
        Log::open(DirectoryStorage::new(at), Options::default()).doing("open the log")?;
    let opened = begun.elapsed();
    let file = newest_snapshot(at)?;
    let read = begun.elapsed();
    let (_, state) = SnapshotHeader::decode(&file).ok_or("not one").doing("read a snapshot")?;
    let fingerprint = fingerprint_of(state);
    let hashed = begun.elapsed();
    let state = Arc::new(Vec::from(state));
    let copied = begun.elapsed();
    let world = World::from_snapshot(state, fingerprint).doing("decode a snapshot")?;
    let decoded = begun.elapsed();
    drop(world);
    say(&Parts {
        log: opened.as_secs_f64(),
        read: (read - opened).as_secs_f64(),
        fingerprint: (hashed - read).as_secs_f64(),
        // It hashes once more.
        decode: (decoded - copied).saturating_sub(hashed - read).as_secs_f64(),
    })?;
    log.close().doing("close the log")
}

/// The file of the newest snapshot; nothing where there is none.
fn newest_snapshot(at: &Path) -> Result<Vec<u8>, MeasureError> {
    let directory = at.join(names::SNAPSHOTS);
    let Ok(entries) = std::fs::read_dir(&directory) else { return Ok(Vec::new()) };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let newest = names.filter_map(|name| Some((names::parse_snapshot(&name)?, name))).max();
    let Some((_, name)) = newest else { return Ok(Vec::new()) };
    std::fs::read(directory.join(name)).doing("read a snapshot")
}

fn crash(at: &Path, clock_ns: u64) -> Result<(), MeasureError> {
    let engine = engine(at, HistoryClock::at(clock_ns), entropy_of_now(), Level::Os)?;
    let mut probe = Probe::new(entropy_of_now());
    for _ in 0..200 {
        probe.append(&engine)?;
    }
    probe.end(&engine)?;
    kill_process(getpid(), Signal::KILL).doing("end without closing")
}

fn append(at: &Path, clock_ns: u64, count: u64, is_durable: bool) -> Result<(), MeasureError> {
    let level = if is_durable { Level::Always } else { Level::Os };
    let engine = engine(at, HistoryClock::at(clock_ns), entropy_of_now(), level)?;
    let mut probe = Probe::new(entropy_of_now());
    let mut taken = Vec::new();
    for _ in 0..count {
        taken.push(probe.append(&engine)?);
    }
    probe.end(&engine)?;
    engine.close().doing("close the engine")?;
    say(&taken)
}

fn look_up(at: &Path, clock_ns: u64, keyed: &[Keyed]) -> Result<(), MeasureError> {
    let engine = engine(at, HistoryClock::at(clock_ns), entropy_of_now(), Level::Os)?;
    let mut old = Vec::new();
    for given in keyed {
        let begun = Instant::now();
        let submitted = given.give(&engine)?;
        old.push(begun.elapsed().as_secs_f64());
        if !matches!(submitted, Submitted::Repeated(_)) {
            return Err(format!("{submitted:?}")).doing("find a command of long ago");
        }
    }
    let mut probe = Probe::new(entropy_of_now());
    let new = keyed.iter().map(|_| probe.append_under_new_key(&engine));
    let new = new.collect::<Result<_, _>>()?;
    probe.end(&engine)?;
    engine.close().doing("close the engine")?;
    say(&LookupTimes { first: old.first().copied().unwrap_or_default(), old, new })
}

fn ask(at: &Path, clock_ns: u64, count: usize, seed: u64) -> Result<(), MeasureError> {
    let mut history = History::new(seed, 1).at(clock_ns);
    let engine = engine(at, history.clock(), seed, Level::Os)?;
    for _ in 0..count {
        history.ask(&engine)?;
    }
    engine.close().doing("close the engine")?;
    say(&())
}

fn travel(at: &Path, sequence: u64) -> Result<(), MeasureError> {
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    let (storage, until) = (DirectoryStorage::new(at), Until::Sequence(sequence));
    let begun = Instant::now();
    let rebuilt = rebuild(&storage, until, options, &mut |_| {}, &mut |_| {});
    let seconds = begun.elapsed().as_secs_f64();
    match rebuilt.doing("rebuild the state")?.report.verdict {
        Verdict::Intact | Verdict::TailUnproven => say(&seconds),
        other => Err(format!("{other:?}")).doing("rebuild the state"),
    }
}

/// Ids that no process before had.
fn entropy_of_now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as u64)
}
