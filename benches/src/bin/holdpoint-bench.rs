//! `holdpoint-bench`: how fast logs are written and verified on this very disk, beside what nothing
//! can do faster here.
//!
//! Exit 0: measured. 1: something could not be measured, or the directory is too small or takes no
//! writes. 2: usage. 3: no such directory. 128 and the signal's number: stopped.

use clap::Parser;
use holdpoint_domain::core::text::visible;
use holdpoint_measure::Effort;
use holdpoint_measure::machine::Machine;
use holdpoint_measure::own_disk::{
    FloorGauge, Gauge, ROOM_BYTES, WRITES_ABOUT_BYTES, count, free_bytes, meaning, measure,
};
use holdpoint_sha256_lanes::{LANES_FROM, has_lanes};
use indicatif::{HumanBytes, ProgressBar};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::fs::{DirEntry, File, TryLockError};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What is said below the options.
const MORE: &str = "\
Logs of its own are written in a directory inside DIR, about 2 GiB in all and never more than 1 GiB
at a time, and removed at the end. Every figure stands beside its floor: the same bytes copied,
hashed, written or synced by nothing but a loop, in the same run.

Ours and its floors take turns in rounds. A time is the median of the rounds, and +- is the
interquartile range in percent of it. `ours over floor` is the median of the rounds' own ratios, so
it need not be the one median over the other.

Many messages at once are hashed in lanes where this processor has them: which ones is said first.";

/// Said below the table.
const LEGEND: &str = "\
Times are medians of rounds, +- their interquartile range. Ours over floor is the median of the
rounds' own ratios, which is not the one median over the other.";

/// Measures how fast logs are written and verified on a disk.
#[derive(Debug, Parser)]
#[command(name = "holdpoint-bench", version, after_help = MORE)]
struct Args {
    /// Where to measure: a directory on the disk that is meant.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Print one JSON value.
    #[arg(long)]
    json: bool,
    /// Measure barely anything: whether it works.
    #[arg(long, hide = true)]
    smoke: bool,
}

/// A reason to measure nothing.
struct Failure {
    exit: u8,
    code: &'static str,
    message: String,
}

impl Failure {
    fn io(what: &str, error: &io::Error) -> Self {
        Self { exit: 1, code: "io", message: format!("cannot {what}: {error}") }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    match bench(&args) {
        Ok(exit) => exit,
        Err(Failure { exit, code, message }) => {
            complain(&message);
            let error = json!({ "error": { "code": code, "message": message } });
            if args.json && print(&format!("{error}\n")).is_err() {
                return ExitCode::FAILURE;
            }
            ExitCode::from(exit)
        }
    }
}

fn complain(message: &str) {
    // Nobody is left to be told of a standard error that is closed.
    let _ = writeln!(io::stderr(), "holdpoint-bench: {message}");
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

fn path(path: &Path) -> String {
    visible(&path.to_string_lossy()).to_string()
}

fn bench(args: &Args) -> Result<ExitCode, Failure> {
    // From here on no signal that can be heeded leaves the directory behind.
    let signal = heed_signals().map_err(|error| Failure::io("heed signals", &error))?;
    let place = Place::inside(&args.dir)?;
    let effort = if args.smoke { Effort::Smoke } else { Effort::Quick };
    let writes = format!("writes about {} below", HumanBytes(WRITES_ABOUT_BYTES));
    complain(&format!("{writes} {} and removes it again", path(&args.dir)));
    let machine = Machine::of(&args.dir);
    let bar = progress();
    let heard = Arc::clone(&signal);
    let is_stopped = Rc::new(move || heard.load(Ordering::SeqCst) != 0);
    let gauges = measure(place.path.clone(), effort, is_stopped, &mut |title| {
        bar.set_message(title);
        bar.inc(1);
    });
    bar.finish_and_clear();
    drop(place);
    if let Ok(number @ 1..) = u8::try_from(signal.load(Ordering::SeqCst)) {
        return Ok(ExitCode::from(128 + number));
    }
    let report = match args.json {
        true => json_report(&args.dir, &machine, &gauges),
        false => table(&machine, &gauges),
    };
    print(&report).map_err(|error| Failure::io("write to standard output", &error))?;
    Ok(if tell_absent(&gauges) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn json_report(dir: &Path, machine: &Machine, gauges: &[Gauge]) -> String {
    let report = json!({
        "machine": machine,
        "directory": dir,
        "hashing": hashing(),
        "figures": gauges,
        "meaning": meaning(gauges),
    });
    format!("{report}\n")
}

/// Says what has no value, and why; whether there was anything.
fn tell_absent(gauges: &[Gauge]) -> bool {
    let mut is_any = false;
    for gauge in gauges {
        for absent in gauge.absent.iter().chain(&gauge.floors_absent) {
            complain(&format!("{}: {absent}", gauge.title));
            is_any = true;
        }
    }
    is_any
}

/// What the name of every directory of a run begins with; its process id follows.
const OWN: &str = ".holdpoint-bench-";
/// A file in it, made once the directory is locked: who sees it and gets the lock knows that the
/// run has ended.
const MARK: &str = "made-by-holdpoint-bench";
/// What the name of everything else in it begins with.
const PARTS: &str = ".tmp";

/// A directory of this run's own, removed when it is dropped.
struct Place {
    path: PathBuf,
    /// Held for as long as the run lasts: nobody takes the directory for a leftover.
    _lock: File,
}

impl Place {
    fn inside(directory: &Path) -> Result<Self, Failure> {
        if !directory.is_dir() {
            let message = format!("{} is no directory; name one with --dir", path(directory));
            return Err(Failure { exit: 3, code: "no_directory", message });
        }
        let io = |what: &str, error: io::Error| {
            let message = format!("cannot {what} {}: {error}; name another", path(directory));
            Failure { exit: 1, code: "io", message }
        };
        remove_leftovers(directory);
        let free = free_bytes(directory).map_err(|error| io("ask for the room in", error))?;
        if free < ROOM_BYTES {
            let message = format!(
                "{} has room for {}, and {} are needed; make room, or name another with --dir",
                path(directory),
                HumanBytes(free),
                HumanBytes(ROOM_BYTES)
            );
            return Err(Failure { exit: 1, code: "no_space", message });
        }
        let own = directory.join(format!("{OWN}{}", std::process::id()));
        std::fs::create_dir(&own).map_err(|error| io("write to", error))?;
        let locked =
            File::open(&own).and_then(|lock| lock.try_lock().map(|()| lock).map_err(Into::into));
        match locked.and_then(|lock| File::create(own.join(MARK)).map(|_| lock)) {
            Ok(lock) => Ok(Self { path: own, _lock: lock }),
            Err(error) => {
                remove(&own);
                Err(io("lock a directory in", error))
            }
        }
    }
}

/// What runs that were killed have left. Removed is only what is provably nobody's: a directory of
/// that name which nobody holds, with the mark of a run and nothing that no run makes. What is
/// anything else is named.
fn remove_leftovers(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let names = entries.filter_map(|entry| Some((entry.as_ref().ok()?.file_name(), entry.ok()?)));
    for (name, entry) in names {
        let process = name.to_str().and_then(|name| name.strip_prefix(OWN)?.parse::<u32>().ok());
        if process.is_none() {
            continue;
        }
        let left = entry.path();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let opened = is_directory.then(|| File::open(&left).ok()).flatten();
        let locked = opened.as_ref().map(File::try_lock);
        match locked {
            Some(Ok(())) if is_of_a_run(&left) => {
                let said = "removes what a run that was killed has left";
                complain(&format!("{said}: {}", path(&left)));
                remove(&left);
            }
            Some(Err(TryLockError::WouldBlock)) => {
                complain(&format!("another run is under way: {}", path(&left)));
            }
            _ => complain(&format!("{} may be a leftover; look, and remove it", path(&left))),
        }
    }
}

/// Whether there is the mark, and beside it only what a run makes.
fn is_of_a_run(directory: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(directory) else { return false };
    let is_made = |entry: io::Result<DirEntry>| {
        let name = entry.map(|entry| entry.file_name()).unwrap_or_default();
        name == MARK || name.to_str().is_some_and(|name| name.starts_with(PARTS))
    };
    directory.join(MARK).is_file() && entries.all(is_made)
}

fn remove(directory: &Path) {
    if let Err(error) = std::fs::remove_dir_all(directory) {
        complain(&format!("cannot remove {}: {error}; remove it", path(directory)));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// The number of the signal that asks to stop; at the second one the process ends at once.
fn heed_signals() -> io::Result<Arc<AtomicUsize>> {
    let stopped = Arc::new(AtomicUsize::new(0));
    let is_second = Arc::new(AtomicBool::new(false));
    // A file that grows beyond its limit is an error of its write.
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_second))?;
        flag::register(signal, Arc::clone(&is_second))?;
        let number = usize::try_from(signal).unwrap_or_default();
        flag::register_usize(signal, Arc::clone(&stopped), number)?;
    }
    Ok(stopped)
}

/// Shown on a terminal alone.
fn progress() -> ProgressBar {
    match io::stderr().is_terminal() {
        true => ProgressBar::new(count() as u64),
        false => ProgressBar::hidden(),
    }
}

fn table(machine: &Machine, gauges: &[Gauge]) -> String {
    let Machine { cpu, cores, kernel, file_system, device, .. } = machine;
    let header = ["", "ours", "+-", "floor", "", "ours over floor", "+-"].map(String::from);
    let rows: Vec<[String; 7]> =
        std::iter::once(header).chain(gauges.iter().flat_map(rows_of)).collect();
    let table = aligned(&rows).join("\n");
    let hashing = hashing();
    format!(
        "{cpu}, {cores} cores, Linux {kernel}, {file_system} on {device}\n{hashing}\n\n{table}\n\n\
         {LEGEND}\n{}\n",
        meaning(gauges)
    )
}

/// Says how this process hashes many messages at once.
fn hashing() -> String {
    let lanes = match has_lanes() {
        true => format!("sha-ni for {LANES_FROM} messages and more, else "),
        false => String::new(),
    };
    format!("SHA-256 of many at once: {lanes}sha2")
}

/// Rows of cells in columns that are as wide as their widest cell.
fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  "));
        cells.collect::<String>().trim_end().to_string()
    };
    rows.iter().map(line).collect()
}

/// One for each floor; where there is none, one.
fn rows_of(gauge: &Gauge) -> Vec<[String; 7]> {
    let title = format!("{}, {}", gauge.title, gauge.scope);
    let ours = match (&gauge.absent, gauge.ours) {
        (None, Some(ours)) => time(ours),
        (absent, _) => absent.clone().unwrap_or_else(|| "-".to_string()),
    };
    let noise = gauge.noise_percent.map(percent).unwrap_or_default();
    let Some((first, rest)) = gauge.floors.split_first() else {
        return vec![[title, ours, noise, String::new(), "-".into(), "-".into(), String::new()]];
    };
    let none = String::new;
    let further = rest.iter().map(|floor| row([none(), none(), none()], floor));
    std::iter::once(row([title, ours, noise], first)).chain(further).collect()
}

fn row([title, ours, noise]: [String; 3], floor: &FloorGauge) -> [String; 7] {
    let ratio = floor.ours_over_floor.map(|ratio| format!("{ratio:.2} x")).unwrap_or_default();
    let ratio_noise = floor.ours_over_floor_noise_percent.map(percent).unwrap_or_default();
    [title, ours, noise, floor.name.clone(), time(floor.median), ratio, ratio_noise]
}

fn percent(noise: f64) -> String {
    format!("{noise:.0} %")
}

fn time(seconds: f64) -> String {
    match seconds {
        ..1e-6 => format!("{:.0} ns", seconds * 1e9),
        ..1e-3 => format!("{:.2} us", seconds * 1e6),
        _ => format!("{:.2} ms", seconds * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_units_that_suit_them() {
        assert_eq!([4e-7, 1.5e-6, 2.5e-3].map(time), ["400 ns", "1.50 us", "2.50 ms"]);
    }
}
