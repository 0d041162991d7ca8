//! Measures how fast output is recorded, beside a program that reads the pipe in the same pieces
//! and makes the same digest. Prints a table for `programs.md`.
//!
//! ```text
//! cargo run --profile measure --locked -p holdpoint-measure --bin output -- PROGRAM [DISK]
//! ```
//!
//! `PROGRAM` is `holdpoint` as it ships.

use sha2::{Digest, Sha256};
use std::error::Error;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

type Measured<T> = Result<T, Box<dyn Error>>;

const ROUNDS: usize = 5;
/// The recorder's read size.
const READ_BYTES: usize = 64 * 1024;

/// Commands, and how many bytes each prints.
const COMMANDS: [(&str, u64); 3] = [
    ("head -c 4G /dev/zero", 4 << 30),
    ("yes 'one line of a build' | head -c 2G", 2 << 30),
    // As much as is kept whole.
    ("head -c 16M /dev/zero", 16 << 20),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: output PROGRAM [DISK [MEMORY]]");
        return ExitCode::FAILURE;
    };
    let mut place = |default: &str| arguments.next().map_or(PathBuf::from(default), PathBuf::from);
    let places = [("disk", place("/tmp")), ("memory", place("/dev/shm"))];
    match measure(&program, &places) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("output: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Round by round, so that each ratio is one of neighbours in time.
fn measure(program: &OsStr, places: &[(&str, PathBuf)]) -> Measured<()> {
    println!("| what is printed | log on | MB/s | floor, MB/s | ratio | least, most |");
    println!("|---|---|---|---|---|---|");
    for (command, length) in COMMANDS {
        for (name, place) in places {
            let mut rounds = Vec::new();
            for round in 0..=ROUNDS {
                let pair = (recorded(program, command, place)?, floor(command, length)?);
                eprintln!("{command}, round {round} of {ROUNDS}: {pair:?} s");
                if round > 0 {
                    rounds.push(pair);
                }
            }
            print(command, name, length, &rounds);
        }
    }
    Ok(())
}

fn print(command: &str, place: &str, length: u64, rounds: &[(f64, f64)]) {
    let sorted = |read: &dyn Fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(read).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let median = |values: &[f64]| values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
    let rate = |seconds: f64| length as f64 / seconds / 1e6;
    let ratios = sorted(&|(ours, floor)| floor / ours);
    let command = command.replace('|', "\\|");
    println!(
        "| `{command}` | {place} | {:.0} | {:.0} | {:.2} | {:.2}, {:.2} |",
        rate(median(&sorted(&|round| round.0))),
        rate(median(&sorted(&|round| round.1))),
        median(&ratios),
        ratios.first().copied().unwrap_or(f64::NAN),
        ratios.last().copied().unwrap_or(f64::NAN),
    );
}

/// Seconds of a run, its start and its end included.
fn recorded(program: &OsStr, command: &str, place: &Path) -> Measured<f64> {
    let directory = tempfile::tempdir_in(place)?;
    let mut run = Command::new(program);
    run.arg("--log").arg(directory.path().join("log"));
    run.args(["run", "--hold", "never", "--", "sh", "-c", command]);
    run.env("HOLDPOINT_INBOX", "off").stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let status = run.stderr(Stdio::null()).status()?;
    let took = begun.elapsed().as_secs_f64();
    if status.success() { Ok(took) } else { Err(format!("{command}: {status}").into()) }
}

/// Seconds of reading the same from a pipe and hashing it.
fn floor(command: &str, length: u64) -> Measured<f64> {
    let begun = Instant::now();
    let mut child = Command::new("sh").args(["-c", command]).stdout(Stdio::piped()).spawn()?;
    let mut pipe = child.stdout.take().ok_or("no pipe")?;
    let (mut buffer, mut digest, mut read) = (vec![0; READ_BYTES], Sha256::new(), 0_u64);
    loop {
        let count = pipe.read(&mut buffer)?;
        let Some(chunk) = buffer.get(..count).filter(|chunk| !chunk.is_empty()) else { break };
        digest.update(chunk);
        read += chunk.len() as u64;
    }
    std::hint::black_box(digest.finalize());
    let status = child.wait()?;
    let took = begun.elapsed().as_secs_f64();
    if read == length { Ok(took) } else { Err(format!("{command}: {read} bytes, {status}").into()) }
}
