//! Models of the protocols between threads: the real code on a disk in memory, where every lock,
//! every wait, every deadline and every call on the disk is a choice of the checker.
//!
//! A model that fails prints its schedule, for `shuttle::replay`, and the seed, for
//! `HOLDPOINT_SEED`. `HOLDPOINT_MODEL_ROUNDS` says how many times as many schedules are tried.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of a test may fail like the test"
)]

mod commit;
pub(crate) mod disk;
mod flusher;
mod lock_uses;
mod process;
mod shared;
mod tail;

use crate::log::batch::{NewRecord, PreparedBatch};
use crate::log::state::Shared;
use crate::log::write_transaction::WriteTransaction;
use crate::log::{AppendError, Level, Options, Ownership, open};
use disk::ModelDisk;
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler};
use shuttle::{Config, MaxSteps, Runner};
use std::time::Duration;

/// Far beyond any clock of a model.
pub(crate) const NEVER: Duration = Duration::from_secs(1 << 30);

/// Number of preemptions the schedules of bounded preemption have.
const PREEMPTIONS: usize = 3;

/// Tries this many schedules, half of them at random and half with few preemptions.
pub(crate) fn explore(schedules: usize, model: impl Fn() + Copy + Send + Sync + 'static) {
    let each = schedules * number_from("HOLDPOINT_MODEL_ROUNDS").map_or(1, |n| n as usize) / 2;
    let seed = number_from("HOLDPOINT_SEED").unwrap_or_else(drawn_seed);
    println!("HOLDPOINT_SEED={seed}");
    Runner::new(RandomScheduler::new_from_seed(seed, each), config()).run(model);
    Runner::new(PctScheduler::new_from_seed(seed, PREEMPTIONS, each), config()).run(model);
}

/// Tries every schedule there is, and gives their number.
pub(crate) fn explore_all(model: impl Fn() + Send + Sync + 'static) -> usize {
    let schedules = Runner::new(DfsScheduler::new(None, false), config()).run(model);
    println!("{schedules} schedules, which are all");
    schedules
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 512 * 1_024;
    config.max_steps = MaxSteps::FailAfter(500_000);
    config
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn drawn_seed() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the system has entropy");
    u64::from_le_bytes(bytes)
}

/// Nothing happens in the background, and a lock is waited for until it is to be had.
fn options(ownership: Ownership) -> Options {
    Options { ownership, lock_wait: NEVER, head_delay: NEVER, ..Options::default() }
}

/// A handle without a flusher.
fn opened(disk: &ModelDisk, ownership: Ownership) -> Shared<ModelDisk> {
    let opened = open::open(disk.clone(), options(ownership));
    opened.unwrap_or_else(|error| panic!("{error}")).0
}

fn record(tag: u64, length: usize) -> NewRecord {
    let payload = tag.to_le_bytes().into_iter().chain(std::iter::repeat(0xa5)).take(length);
    NewRecord { kind: 32_775, version: 1, payload: payload.collect() }
}

/// Appends one record in a turn of its own, and gives its sequence once it is at `level`.
fn append(shared: &Shared<ModelDisk>, length: usize, level: Level) -> Result<u64, AppendError> {
    let records = [record(0, length)];
    let batch = PreparedBatch::new(shared.log, &records)?;
    let mut turn = WriteTransaction::begin(shared)?;
    let appended = turn.append_prepared(&batch, 1)?;
    turn.finish(level)?;
    Ok(appended.last_sequence)
}
