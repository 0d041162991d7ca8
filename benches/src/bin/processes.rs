//! Measures many processes on one log: 64 long-lived `apply` beside 64 threads of one engine, and
//! 64 one-shot `record` at a time on a disk and in memory. Prints a table for `programs.md`.
//!
//! Each process keeps the state of the log, so it reads what the 63 others append: the floor is
//! what all cores can do of that, from one process that writes alone and one that reads at once.
//!
//! ```text
//! cargo run --profile measure --locked -p holdpoint-measure --bin processes -- [DISK [MEMORY]]
//! ```

use holdpoint_domain::application::RecordEvent;
use holdpoint_engine::{Engine, Origin};
use holdpoint_measure::scale::{PROGRAM, as_program, is_program};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

type Measured<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Who writes at once.
const WRITERS: usize = 64;
/// How long each side of a round is measured.
const SPAN: Duration = Duration::from_secs(3);
const ROUNDS: usize = 5;
const LINE: &str = r#"{"submit":{"command":"application.record","stream":"s","type":"t"}}"#;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if is_program(arguments.next()) {
        return as_program();
    }
    let mut place = |default: &str| arguments.next().map_or(PathBuf::from(default), PathBuf::from);
    let (disk, memory) = (place("/tmp"), place("/dev/shm"));
    match measure(&disk, &memory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("processes: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Round by round, so that each ratio is one of neighbours in time.
fn measure(disk: &Path, memory: &Path) -> Measured<()> {
    let mut rows = [
        Row::new("`apply`: processes, and threads of one engine", "threads"),
        Row::new("the floor of these processes, on all cores", "threads"),
        Row::new("`record`: on the disk, and in memory", "memory"),
    ];
    for round in 0..=ROUNDS {
        let threads = in_threads(disk)?;
        let counts = [
            (applied(disk)?, threads),
            (floor(memory)?, threads),
            (recorded(disk)?, recorded(memory)?),
        ];
        eprintln!("round {round} of {ROUNDS}: {counts:?}");
        if round > 0 {
            rows.iter_mut().zip(counts).for_each(|(row, count)| row.rounds.push(count));
        }
    }
    println!("| {WRITERS} at a time | a second | of | ratio | least, most |");
    println!("|---|---|---|---|---|");
    rows.iter().for_each(Row::print);
    Ok(())
}

/// What is measured, and beside what.
struct Row {
    what: &'static str,
    beside: &'static str,
    rounds: Vec<(f64, f64)>,
}

impl Row {
    fn new(what: &'static str, beside: &'static str) -> Self {
        Self { what, beside, rounds: Vec::new() }
    }

    fn print(&self) {
        let of = |read: fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = self.rounds.iter().map(read).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let median = |values: &[f64]| values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
        let ratios = of(|(ours, other)| ours / other);
        let (least, most) = (ratios.first(), ratios.last());
        println!(
            "| {} | {:.0} | {:.0} ({}) | {:.2} | {:.2}, {:.2} |",
            self.what,
            median(&of(|round| round.0)),
            median(&of(|round| round.1)),
            self.beside,
            median(&ratios),
            least.copied().unwrap_or(f64::NAN),
            most.copied().unwrap_or(f64::NAN),
        );
    }
}

fn program(log: &Path, verb: &[&str]) -> Measured<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0(PROGRAM).arg("--log").arg(log).args(verb).stderr(Stdio::null());
    command.env("HOLDPOINT_INBOX", "off");
    Ok(command)
}

/// Counts what all of them do from when each has done it once, for a span; a second.
fn counted(work: &(dyn Fn(&Round<'_>) -> Measured<()> + Sync)) -> Measured<f64> {
    let (begin, done, is_over) =
        (Barrier::new(WRITERS + 1), AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let round = Round { begin: &begin, done: &done, is_over: &is_over };
        let threads: Vec<_> = (0..WRITERS).map(|_| scope.spawn(move || work(&round))).collect();
        begin.wait();
        let begun = Instant::now();
        std::thread::sleep(SPAN);
        is_over.store(true, Ordering::Relaxed);
        let each = done.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(each)
    })
}

#[derive(Clone, Copy)]
struct Round<'a> {
    begin: &'a Barrier,
    done: &'a AtomicU64,
    is_over: &'a AtomicBool,
}

impl Round<'_> {
    /// Once before the others begin, then again and again.
    fn repeat(&self, mut once: impl FnMut() -> Measured<()>) -> Measured<()> {
        let first = once();
        self.begin.wait();
        first?;
        while !self.is_over.load(Ordering::Relaxed) {
            once()?;
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn apply(log: &Path) -> Measured<Command> {
    let mut apply = program(log, &["apply"])?;
    apply.stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(apply)
}

/// One line, its receipt, the next.
fn applied(place: &Path) -> Measured<f64> {
    let directory = tempfile::tempdir_in(place)?;
    let log = directory.path().join("log");
    counted(&|round| {
        let mut writer = apply(&log).and_then(|mut it| Ok(it.spawn()?));
        let asked = round.repeat(|| match &mut writer {
            Ok(writer) => ask(writer),
            Err(error) => Err(error.to_string().into()),
        });
        let mut writer = writer?;
        drop(writer.stdin.take());
        let status = writer.wait()?;
        asked?;
        if status.success() { Ok(()) } else { Err(format!("apply: {status}").into()) }
    })
}

/// Turns a second of 64 processes on all cores, where a turn costs what it costs one that is alone,
/// and a record of others what it costs where thousands are read at once.
fn floor(place: &Path) -> Measured<f64> {
    const RECORDS: u32 = 5_000;
    let directory = tempfile::tempdir_in(place)?;
    let log = directory.path().join("log");
    let begin = || Ok::<Child, Box<dyn Error + Send + Sync>>(apply(&log)?.spawn()?);
    let (mut writer, mut reader) = (begin()?, begin()?);
    let timed = |child: &mut Child, times: u32| {
        let begun = Instant::now();
        (0..times).try_for_each(|_| ask(child))?;
        Measured::Ok(begun.elapsed().as_secs_f64())
    };
    // Both have opened the log then.
    timed(&mut writer, 1)?;
    timed(&mut reader, 1)?;
    let turn = timed(&mut writer, RECORDS)? / f64::from(RECORDS);
    let read = (timed(&mut reader, 1)? - turn).max(0.0) / f64::from(RECORDS);
    for mut child in [writer, reader] {
        drop(child.stdin.take());
        child.wait()?;
    }
    let cores = std::thread::available_parallelism()?.get() as f64;
    Ok(cores / (turn + (WRITERS - 1) as f64 * read))
}

fn ask(writer: &mut Child) -> Measured<()> {
    let (Some(lines), Some(receipts)) = (&mut writer.stdin, &mut writer.stdout) else {
        return Err("no pipe".into());
    };
    lines.write_all(format!("{LINE}\n").as_bytes())?;
    let mut receipt = String::new();
    // One line is there at a time, so nothing of the next one is read away.
    BufReader::new(receipts).read_line(&mut receipt)?;
    if receipt.contains("receipt") { Ok(()) } else { Err(receipt.into()) }
}

fn in_threads(place: &Path) -> Measured<f64> {
    let directory = tempfile::tempdir_in(place)?;
    let engine = Engine::open(directory.path().join("log"))?;
    let origin = Origin::automation("bench");
    let each = counted(&|round| {
        round.repeat(|| {
            engine.record(&origin, (), RecordEvent::new("s", "t", ""))?.accepted()?;
            Ok(())
        })
    })?;
    engine.close()?;
    Ok(each)
}

/// A process for each record.
fn recorded(place: &Path) -> Measured<f64> {
    let directory = tempfile::tempdir_in(place)?;
    let log = directory.path().join("log");
    counted(&|round| {
        round.repeat(|| {
            let mut record = program(&log, &["record", "--stream", "s", "--type", "t"])?;
            let status = record.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
            if status.success() { Ok(()) } else { Err(format!("record: {status}").into()) }
        })
    })
}
