//! What a log may hold and must hold: kept beside it by a program that is told of every append and
//! every acknowledgement, and looks at no byte.

use holdpoint_engine::log::NewRecord;

/// The kind of every record that is handed in.
pub(crate) const KIND: u16 = 32_775;

/// A record that was handed to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelRecord {
    /// No two attempts have the same, so that a record is never taken for another one.
    pub(crate) tag: u64,
    pub(crate) length: usize,
    pub(crate) ends_batch: bool,
}

/// Everything that was promised so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    /// By sequence, from 1: whatever is in the log is one of these, or behind them.
    pub(crate) records: Vec<ModelRecord>,
    /// Acknowledged as surviving power loss.
    pub(crate) durable: u64,
    /// Acknowledged as surviving the process.
    pub(crate) written: u64,
    /// Acknowledged as covered by a durable mark.
    pub(crate) witnessed: u64,
    /// An append failed: how much of the newest records is there is known at the next turn.
    pub(crate) is_uncertain: bool,
    next_tag: u64,
}

impl ModelRecord {
    pub(crate) fn payload(&self) -> Vec<u8> {
        let tag = self.tag.to_le_bytes().into_iter();
        tag.chain(std::iter::repeat(0xa5)).take(self.length).collect()
    }
}

impl Model {
    /// A batch of payloads of these lengths that nobody has handed in before.
    pub(crate) fn batch(&mut self, lengths: &[usize]) -> Vec<ModelRecord> {
        let known = lengths.iter().enumerate().map(|(index, length)| {
            self.next_tag += 1;
            ModelRecord {
                tag: self.next_tag,
                length: *length,
                ends_batch: index + 1 == lengths.len(),
            }
        });
        known.collect()
    }

    /// The log was found to reach `newest`: everything behind it never was.
    pub(crate) fn settle(&mut self, newest: u64, at_least: u64) -> Result<(), String> {
        if newest < at_least {
            return Err(format!("{at_least} was acknowledged, and the log ends at {newest}"));
        }
        let reached = newest as usize;
        if reached > self.records.len() {
            let appended = self.records.len();
            return Err(format!("the log ends at {newest}, and {appended} were appended"));
        }
        if reached > 0 && !self.records[reached - 1].ends_batch {
            return Err(format!("the log ends at {newest}, inside a batch"));
        }
        self.records.truncate(reached);
        self.is_uncertain = false;
        Ok(())
    }

    /// What opening serves is durable.
    pub(crate) fn opened(&mut self, newest: u64) {
        self.durable = newest;
        self.written = newest;
        self.witnessed = self.witnessed.min(newest);
    }

    /// A batch went behind `before`, at some level.
    pub(crate) fn push(&mut self, batch: &[ModelRecord]) {
        self.records.extend_from_slice(batch);
    }
}

pub(crate) fn new_records(batch: &[ModelRecord]) -> Vec<NewRecord> {
    let record =
        |known: &ModelRecord| NewRecord { kind: KIND, version: 1, payload: known.payload() };
    batch.iter().map(record).collect()
}
