//! Crashes, enumerated: a log on a simulated disk is killed and loses power at every call, with
//! everything that may survive, with every fault of a disk; after each, the log is opened again and
//! held to what was promised. What was explored is printed at the end, also when all passes.
//!
//! `cargo test --test crash -- --ignored` goes on until ten million states were seen, or as many as
//! HOLDPOINT_CRASH_STATES says; it keeps what it has seen in HOLDPOINT_CRASH_PROGRESS, and goes
//! on from there when it is started again. A failure prints `HOLDPOINT_SEED` and the shortest
//! history that still fails.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of a test may fail like the test"
)]

mod engine;
mod exhaustive;
mod faults;
mod history;
mod life;
mod lives;
mod long;
mod model;
mod oracle;
mod random;
mod survivors;
mod tally;

use crate::random::Random;
use crate::tally::Tally;
use holdpoint_testing::part::{part_of, times};
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;
use std::sync::Arc;

/// Random lives of an ordinary run, in this many tests; [`times`] as many of another one.
const LIVES: u64 = 32;
const LIFE_TESTS: u64 = 8;

/// Appends of the short histories that are all explored.
const SHORT_APPENDS: u32 = 3;
const SHORT_TESTS: usize = 4;
/// A run explores one of so many, and another seed others.
const SHORT_OF: usize = 48;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let seed = Random::seed_of_run();
    let tally = Arc::new(Tally::new());
    let mut trials = Vec::new();
    for history in history::small() {
        let name = history.name;
        if faults::is_short(&history) {
            let (history, tally) = (history.clone(), Arc::clone(&tally));
            trials.push(trial(format!("crash_{name}_with_every_fault"), move || {
                faults::explore(&history, seed, &tally)
            }));
        }
        let tally = Arc::clone(&tally);
        trials.push(trial(format!("crash_{name}_at_every_call"), move || {
            exhaustive::explore(&[history], seed, &tally)
        }));
    }
    for part in 0..SHORT_TESTS {
        trials.extend([false, true].map(|owner| every_short_history(owner, part, seed, &tally)));
    }
    trials.extend((0..LIFE_TESTS).map(|part| random_lives(seed, part, &tally)));
    for (name, explore) in [
        ("crash_engine_at_every_call", engine::explore as fn(u64, &Tally) -> _),
        ("crash_transactions_at_every_call", engine::explore_transactions),
        ("crash_output_at_every_call", engine::explore_output),
    ] {
        let tally = Arc::clone(&tally);
        trials.push(trial(name.to_string(), move || explore(seed, &tally)));
    }
    trials.push(long_run(seed, &tally));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if conclusion.num_passed + conclusion.num_failed > 0 {
        println!("{tally}");
    }
    conclusion.exit_code()
}

fn trial(name: String, run: impl FnOnce() -> Result<(), String> + Send + 'static) -> Trial {
    Trial::test(name, move || run().map_err(Failed::from))
}

fn every_short_history(is_exclusive: bool, part: usize, seed: u64, tally: &Arc<Tally>) -> Trial {
    let tally = Arc::clone(tally);
    let owner = if is_exclusive { "one_owner" } else { "turns" };
    trial(format!("crash_every_short_history_in_{owner}_{part}"), move || {
        let histories = history::every_short(is_exclusive, SHORT_APPENDS);
        let histories = part_of(seed, histories, SHORT_OF);
        let part = histories.chunks(histories.len().div_ceil(SHORT_TESTS)).nth(part);
        exhaustive::explore(part.unwrap_or_default(), seed, &tally)
    })
}

fn random_lives(seed: u64, part: u64, tally: &Arc<Tally>) -> Trial {
    let tally = Arc::clone(tally);
    let lives = LIVES * times() / LIFE_TESTS;
    trial(format!("crash_random_lives_{part}"), move || {
        // A seed that is given is the seed of one life: of the first.
        let first = seed.wrapping_add(part * lives);
        (0..lives).try_for_each(|number| lives::live(first.wrapping_add(number), &tally))
    })
}

fn long_run(seed: u64, tally: &Arc<Tally>) -> Trial {
    let tally = Arc::clone(tally);
    trial("crash_ten_million_states".to_string(), move || long::run(seed, &tally))
        .with_ignored_flag(true)
}
