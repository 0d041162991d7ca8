//! raft-engine: entries of groups, indexed in memory. Each thread appends to a group of its own, as
//! its users do: the entries of one group are in order.

use super::all_seen;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use protobuf::descriptor::UninterpretedOption;
use raft_engine::{Config, Engine, LogBatch, MessageExt, ReadableSize};
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const CANDIDATE: Candidate = Candidate {
    remark: "16 MiB files, prepared and recycled, no compression, a group for each thread; CRC-32",
    scan,
    scan_checks: true,
    ..Candidate::new("raft-engine 0.4.2", open)
};

static GROUPS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static GROUP: u64 = GROUPS.fetch_add(1, Ordering::Relaxed);
}

/// An entry is a message with a number and bytes; this one comes with protobuf itself.
struct Numbered;

impl MessageExt for Numbered {
    type Entry = UninterpretedOption;

    fn index(entry: &UninterpretedOption) -> u64 {
        entry.get_positive_int_value()
    }
}

struct OpenEngine {
    engine: Engine,
    entry: UninterpretedOption,
    syncs: bool,
}

fn opened(at: &Path) -> Result<Engine, MeasureError> {
    let config = Config {
        dir: at.to_string_lossy().into_owned(),
        batch_compression_threshold: ReadableSize(0),
        target_file_size: ReadableSize::mb(16),
        prefill_for_recycle: true,
        prefill_limit: Some(ReadableSize::mb(32)),
        ..Config::default()
    };
    Engine::open(config).doing("open")
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    let mut entry = UninterpretedOption::new();
    entry.set_string_value(payload.as_bytes().to_vec());
    Ok(Box::new(OpenEngine { engine: opened(at)?, entry, syncs: mode == Mode::Durable }))
}

impl Store for OpenEngine {
    fn append(&self) -> Result<(), MeasureError> {
        self.append_batch(1)
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let group = GROUP.with(|group| *group);
        let first = self.engine.last_index(group).unwrap_or(0) + 1;
        let numbered = |index| {
            let mut entry = self.entry.clone();
            entry.set_positive_int_value(index);
            entry
        };
        let entries: Vec<UninterpretedOption> = (first..first + records).map(numbered).collect();
        let mut batch = LogBatch::with_capacity(1);
        batch.add_entries::<Numbered>(group, &entries).doing("add entries")?;
        self.engine.write(&mut batch, self.syncs).map(drop).doing("write")
    }
}

fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    let engine = opened(at)?;
    let mut seen = 0;
    for group in engine.raft_groups() {
        seen += scan_group(&engine, group)?;
    }
    all_seen(seen, records)
}

fn scan_group(engine: &Engine, group: u64) -> Result<u64, MeasureError> {
    const AT_ONCE: usize = 4_096;
    let (first, last) = (engine.first_index(group), engine.last_index(group));
    let (Some(first), Some(last)) = (first, last) else { return Ok(0) };
    let mut seen = 0;
    for begin in (first..=last).step_by(AT_ONCE) {
        let (mut entries, end) = (Vec::new(), (begin + AT_ONCE as u64).min(last + 1));
        let fetched = engine.fetch_entries_to::<Numbered>(group, begin, end, None, &mut entries);
        seen += fetched.doing("fetch entries")? as u64;
        black_box(entries);
    }
    Ok(seen)
}
