//! Measures what it costs to start the program and to run a command that does nothing, beside
//! `timeout` and `script`, in wall and processor time. Prints a table for `programs.md`.
//!
//! ```text
//! cargo run --profile measure --locked -p holdpoint-measure --bin starting -- PROGRAM [MEMORY]
//! ```
//!
//! `PROGRAM` is `holdpoint` as it ships, `MEMORY` a directory in memory, `/dev/shm` by default.

use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

type Measured<T> = Result<T, Box<dyn Error>>;

const ROUNDS: usize = 5;
/// Starts of each line in a round: processor time is told in hundredths of a second.
const STARTS: u32 = 100;

/// Command lines to start. The others are compared with the first one.
const LINES: [&[&str]; 5] = [
    &["timeout", "5", "true"],
    &["PROGRAM", "--version"],
    &["PROGRAM", "run", "--", "true"],
    // What a run starts, at the least: itself, its guard, who the user is, and the command.
    &["sh", "-c", "\"$0\" --version; \"$0\" --version; getent passwd 0; true", "PROGRAM"],
    &["script", "-qec", "true", "/dev/null"],
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: starting PROGRAM [MEMORY]");
        return ExitCode::FAILURE;
    };
    let memory = arguments.next().unwrap_or_else(|| "/dev/shm".to_string());
    match measure(&program, Path::new(&memory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("starting: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Round by round, so that each ratio is one of neighbours in time.
fn measure(program: &str, memory: &Path) -> Measured<()> {
    let directory = tempfile::tempdir_in(memory)?;
    let mut rounds = Vec::new();
    for round in 0..=ROUNDS {
        let mut costs = Vec::new();
        for line in LINES {
            let words = line.iter().map(|word| if *word == "PROGRAM" { program } else { word });
            costs.push(cost(&words.collect::<Vec<_>>(), directory.path())?);
        }
        eprintln!("round {round} of {ROUNDS}: {costs:?}");
        // The first one makes the log, and fetches the files.
        if round > 0 {
            rounds.push(costs);
        }
    }
    println!("| what | wall, ms | ratio | processor, ms | ratio |");
    println!("|---|---|---|---|---|");
    for (index, line) in LINES.iter().enumerate() {
        let of = |read: &dyn Fn(&[Cost]) -> Option<f64>| {
            let mut values: Vec<f64> = rounds.iter().filter_map(|round| read(round)).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
        };
        let wall = of(&|round| Some(round.get(index)?.wall));
        let processor = of(&|round| Some(round.get(index)?.processor));
        let walls = of(&|round| Some(round.get(index)?.wall / round.first()?.wall));
        let processors = of(&|round| Some(round.get(index)?.processor / round.first()?.processor));
        let what = line.join(" ").replace("PROGRAM", "holdpoint");
        println!("| `{what}` | {wall:.2} | {walls:.2} | {processor:.2} | {processors:.2} |");
    }
    Ok(())
}

/// Time of one start, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Cost {
    wall: f64,
    processor: f64,
}

fn cost(line: &[&str], directory: &Path) -> Measured<Cost> {
    let (program, arguments) = line.split_first().ok_or("no program")?;
    let (begun, before) = (Instant::now(), children_ticks()?);
    for _ in 0..STARTS {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory).env("HOLDPOINT_INBOX", "off");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status()?;
        if !status.success() {
            return Err(format!("{line:?}: {status}").into());
        }
    }
    let starts = f64::from(STARTS);
    let ticks = (children_ticks()? - before) as f64;
    let wall = begun.elapsed().as_secs_f64() * 1_000.0 / starts;
    let each_second = rustix::param::clock_ticks_per_second() as f64;
    Ok(Cost { wall, processor: ticks * 1_000.0 / each_second / starts })
}

/// Processor time of all children that were waited for, and of theirs.
fn children_ticks() -> Measured<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("no name in /proc/self/stat")?;
    let mut of_children = fields.split_ascii_whitespace().skip(13).take(2);
    let mut next = || Ok::<u64, Box<dyn Error>>(of_children.next().ok_or("no time")?.parse()?);
    Ok(next()? + next()?)
}
