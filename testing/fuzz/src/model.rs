//! What a log owes its writers: which batches were tried, and which of them must be there.

use holdpoint_engine::log::{Level, NewRecord};

/// Kind and version of the model's records.
const KIND: (u16, u8) = (3, 1);

/// Bytes of a payload that say which record it is: the batch and the place in it.
const TAG_LENGTH: usize = 5;

/// What must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owed {
    /// Nothing: it failed, or was only staged.
    Nothing,
    /// It survives the process.
    Process,
    /// It survives the power.
    Power,
}

/// A batch that somebody tried to append.
#[derive(Clone, Debug)]
struct Tried {
    lengths: Vec<usize>,
    /// The log took it: it has a place in the chain.
    was_taken: bool,
    owed: Owed,
}

/// Every batch in the order in which it was tried.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model(Vec<Tried>);

impl Model {
    /// The next batch to try, with these lengths of payloads.
    pub(crate) fn next(&mut self, lengths: Vec<usize>) -> Vec<NewRecord> {
        let number = self.0.len();
        let records = (0..lengths.len()).map(|index| NewRecord {
            kind: KIND.0,
            version: KIND.1,
            payload: payload(number, index, &lengths),
        });
        let records = records.collect();
        self.0.push(Tried { lengths, was_taken: false, owed: Owed::Nothing });
        records
    }

    /// The newest batch was acknowledged: with it, all before it that the log took.
    pub(crate) fn acknowledged(&mut self, level: Level) {
        self.0.iter_mut().rev().take(1).for_each(|tried| tried.was_taken = true);
        match level {
            Level::Witnessed | Level::Always => self.owe(Owed::Power),
            Level::Os | Level::Interval(_) => self.owe(Owed::Process),
            Level::Staged => {}
        }
    }

    /// Only what was acknowledged by then counts; what was tried since may be there or not.
    pub(crate) fn acknowledged_as_in(&mut self, earlier: &Self) {
        for (number, tried) in self.0.iter_mut().enumerate() {
            let then = earlier.0.get(number);
            tried.owed = then.map_or(Owed::Nothing, |then| then.owed);
            tried.was_taken = then.is_some_and(|then| then.was_taken);
        }
    }

    /// Everything that the log took is durable.
    pub(crate) fn closed(&mut self) {
        self.owe(Owed::Power);
    }

    /// Compares what is there with what is owed after the processes, or the power as well, went
    /// away. What is there has been served by then: from here on all of it is owed.
    pub(crate) fn check(&mut self, found: &[Vec<u8>], lost_power: bool) {
        let least = if lost_power { Owed::Power } else { Owed::Process };
        let mut rest = found;
        for (number, tried) in self.0.iter_mut().enumerate() {
            let count = tried.lengths.len();
            let whole: Vec<_> = (0..count).map(|i| payload(number, i, &tried.lengths)).collect();
            let is_there = rest.starts_with(&whole);
            assert!(is_there || tried.owed < least, "batch {number} was acknowledged and is lost");
            tried.was_taken = is_there;
            tried.owed = if is_there { Owed::Power } else { Owed::Nothing };
            rest = rest.get(if is_there { count } else { 0 }..).unwrap_or_default();
        }
        assert!(rest.is_empty(), "a record is there that nobody appended, or half a batch");
    }

    fn owe(&mut self, owed: Owed) {
        let taken = self.0.iter_mut().filter(|tried| tried.was_taken);
        taken.for_each(|tried| tried.owed = tried.owed.max(owed));
    }
}

/// A payload that no other record has, of the length asked for or of its tag's.
fn payload(batch: usize, index: usize, lengths: &[usize]) -> Vec<u8> {
    let mut bytes = (batch as u32).to_le_bytes().to_vec();
    bytes.push(index as u8);
    let length = lengths.get(index).copied().unwrap_or_default().max(TAG_LENGTH);
    bytes.resize(length, batch as u8 | 1);
    bytes
}
