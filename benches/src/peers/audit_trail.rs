//! audit-trail: a chain of SHA-256 in one file.

use super::all_seen;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use audit_trail::{
    Action, Actor, Chain, FileReader, FileSink, MonotonicClock, Outcome, Sha256Hasher, SystemClock,
    Target, Verifier,
};
use std::fs::File;
use std::hint::black_box;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Mutex;

pub(super) const CANDIDATE: Candidate = Candidate {
    is_chained: true,
    remark: "SHA-256 chain, no checksum; one writer at a time, so eight share a mutex",
    scan,
    verify,
    ..Candidate::new("audit-trail 1.1.0", open)
};

type FileChain = Chain<Sha256Hasher, FileSink<BufWriter<File>>, MonotonicClock<SystemClock>>;

struct OpenChain {
    chain: Mutex<FileChain>,
    payload: String,
    mode: Mode,
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    std::fs::create_dir_all(at).doing("make a directory")?;
    let clock = MonotonicClock::new(SystemClock::new());
    let opened = FileChain::open_file(at.join("audit"), Sha256Hasher::new(), clock);
    let (chain, _) = opened.doing("open")?;
    Ok(Box::new(OpenChain { chain: Mutex::new(chain), payload: payload.to_string(), mode }))
}

impl Store for OpenChain {
    fn append(&self) -> Result<(), MeasureError> {
        self.append_batch(1)
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let mut chain = self.chain.lock().map_err(|_| "poisoned").doing("append")?;
        for _ in 0..records {
            let target = Target::new(&self.payload);
            let appended =
                chain.append(Actor::new("bench"), Action::new("append"), target, Outcome::Success);
            appended.doing("append")?;
        }
        match self.mode {
            Mode::Staged => Ok(()),
            Mode::Os => chain.flush().doing("flush"),
            Mode::Durable => chain.sink_mut().sync().doing("sync"),
        }
    }

    fn settle(&self) -> Result<(), MeasureError> {
        self.chain.lock().map_err(|_| "poisoned").doing("flush")?.flush().doing("flush")
    }

    fn close(self: Box<Self>) -> Result<(), MeasureError> {
        let mut chain = self.chain.lock().map_err(|_| "poisoned").doing("close")?;
        chain.sink_mut().sync().doing("sync")
    }
}

fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    let mut seen = 0;
    for record in FileReader::open(at.join("audit")).doing("open")? {
        black_box(record.doing("read")?);
        seen += 1;
    }
    all_seen(seen, records)
}

fn verify(at: &Path, records: u64, threads: usize) -> Result<(), MeasureError> {
    if threads > 1 {
        return Err(MeasureError::NotOffered("verifies on one thread"));
    }
    let (mut verifier, mut seen) = (Verifier::new(Sha256Hasher::new()), 0);
    for record in FileReader::open(at.join("audit")).doing("open")? {
        verifier.verify(&record.doing("read")?.as_record()).doing("verify")?;
        seen += 1;
    }
    all_seen(seen, records)
}
