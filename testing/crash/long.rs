//! The long run: on until so many distinct states were seen. It says how far it is, and goes on
//! where it was stopped.

use crate::exhaustive;
use crate::history;
use crate::lives;
use crate::random::Random;
use crate::tally::Tally;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// States of the long run.
const STATES: usize = 10_000_000;

/// Histories for each life, and how many appends each has: one more than the short ones.
const HISTORIES: usize = 64;
const APPENDS: usize = crate::SHORT_APPENDS as usize + 1;

/// New states from one line about the progress to the next, and from one saving to the next.
const STEP: usize = 50_000;

/// Threads, each with every second seed.
const THREADS: u64 = 2;

/// Goes on to `HOLDPOINT_CRASH_STATES`, or to ten million.
pub(crate) fn run(seed: u64, tally: &Tally) -> Result<(), String> {
    let asked = std::env::var("HOLDPOINT_CRASH_STATES").ok();
    let wanted = asked.and_then(|asked| asked.parse().ok()).unwrap_or(STATES);
    let run = LongRun::resume(seed, tally, wanted).map_err(|why| format!("to resume: {why}"))?;
    std::thread::scope(|scope| {
        let run = &run;
        let others: Vec<_> =
            (1..THREADS).map(|number| scope.spawn(move || run.live_on(number))).collect();
        let mut outcomes = vec![run.live_on(0)];
        outcomes.extend(others.into_iter().map(|other| other.join().unwrap()));
        outcomes.into_iter().collect()
    })
}

struct LongRun<'t> {
    tally: &'t Tally,
    wanted: usize,
    /// The seed from which every thread counts its own; that of a run that goes on is the first's.
    seed: u64,
    /// How often each thread is through.
    rounds: Vec<AtomicU64>,
    file: PathBuf,
    /// When and with how many states this run began, and with how many it spoke last.
    said: Mutex<(Instant, usize, usize)>,
}

impl<'t> LongRun<'t> {
    /// Takes up what an earlier run has saved, if one has.
    fn resume(seed: u64, tally: &'t Tally, wanted: usize) -> io::Result<Self> {
        let file = std::env::var_os("HOLDPOINT_CRASH_PROGRESS").map(PathBuf::from);
        let file = file.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("crash"));
        let mut run = Self {
            tally,
            wanted,
            seed: seed.wrapping_add(1 << 32),
            rounds: (0..THREADS).map(|_| AtomicU64::new(0)).collect(),
            file,
            said: Mutex::new((Instant::now(), 0, 0)),
        };
        match File::open(&run.file) {
            Ok(saved) => run.load(&mut BufReader::new(saved))?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let states = run.tally.states();
        eprintln!("crash states: {states} of {wanted}, kept in {}", run.file.display());
        run.said = Mutex::new((Instant::now(), states, states));
        Ok(run)
    }

    fn live_on(&self, thread: u64) -> Result<(), String> {
        let rounds = &self.rounds[thread as usize];
        while self.tally.states() < self.wanted && !self.tally.is_violated() {
            let round = rounds.load(Ordering::Relaxed);
            let seed = self.seed.wrapping_add(thread).wrapping_add(round.wrapping_mul(THREADS));
            lives::live(seed, self.tally)?;
            let mut random = Random::of(seed);
            let histories: Vec<_> =
                (0..HISTORIES).map(|_| history::longer(&mut random, APPENDS)).collect();
            exhaustive::explore(&histories, seed, self.tally)?;
            rounds.store(round + 1, Ordering::Relaxed);
            self.tell().map_err(|why| format!("to save {}: {why}", self.file.display()))?;
        }
        Ok(())
    }

    /// Says how far it is, and saves, where that was a while ago.
    fn tell(&self) -> io::Result<()> {
        let mut said = self.said.lock().unwrap();
        let (begun, first, last) = *said;
        let states = self.tally.states();
        if states < last + STEP && states < self.wanted {
            return Ok(());
        }
        said.2 = states;
        let each_second = (states - first) as f64 / begun.elapsed().as_secs_f64();
        let left = self.wanted.saturating_sub(states) as f64 / each_second / 60.0;
        eprintln!("{} ({each_second:.0} a second, {left:.0} minutes left)", self.tally);
        self.save()
    }

    /// The state of the threads before the states: what was explored since is explored again, and
    /// counts once.
    fn save(&self) -> io::Result<()> {
        let beside = self.file.with_extension("new");
        let mut out = BufWriter::new(File::create(&beside)?);
        out.write_all(&self.seed.to_le_bytes())?;
        for rounds in &self.rounds {
            out.write_all(&rounds.load(Ordering::Relaxed).to_le_bytes())?;
        }
        self.tally.write(&mut out)?;
        out.into_inner()?.sync_all()?;
        fs::rename(beside, &self.file)
    }

    fn load(&mut self, saved: &mut impl Read) -> io::Result<()> {
        self.seed = number(saved)?;
        for rounds in &self.rounds {
            rounds.store(number(saved)?, Ordering::Relaxed);
        }
        self.tally.read(saved)
    }
}

/// The next eight bytes, as a number.
pub(crate) fn number(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}
