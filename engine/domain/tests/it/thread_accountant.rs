//! Counts what becomes of words that were left unsaid, from audit rows alone. What was interrupted
//! it is told by whoever talks; every turn's own event is hidden from it.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_domain::Event;
use holdpoint_domain::interruption_thread::{
    DecidedBy, Fate, InterruptionThreadEvent, OutcomeRow, ReasonCode, ResumePolicy, RowCommitted,
    RowRefused,
};

/// The words of a thread that no row has ended.
#[derive(Debug, Default)]
struct Words {
    /// By the turn whose interruption left them.
    left: BTreeSet<u64>,
    /// How many of them were said or given up by rows that do not name the turn.
    ended: usize,
}

/// The books of all threads.
#[derive(Debug, Default)]
pub(crate) struct Books {
    threads: BTreeMap<String, Words>,
    /// How often words ended, and how.
    pub(crate) ends: BTreeMap<&'static str, u64>,
}

impl Books {
    /// How many words of a thread are still to come to an end.
    pub(crate) fn open(&self, thread: &str) -> usize {
        self.threads.get(thread).map_or(0, |words| words.left.len() - words.ended)
    }

    /// Reads a row; `unsaid` is the turn that has just interrupted something, if one has.
    pub(crate) fn read(&mut self, event: &Event, unsaid: Option<u64>) {
        let Event::InterruptionThread(event) = event else { return };
        match event {
            InterruptionThreadEvent::RowCommitted(row) => self.committed(row, unsaid),
            InterruptionThreadEvent::RowRefused(row) => self.refused(row, unsaid),
            other => other.outcome_rows().iter().for_each(|row| self.ended(row)),
        }
    }

    fn committed(&mut self, row: &RowCommitted, unsaid: Option<u64>) {
        if row.decided_by == DecidedBy::Caller {
            assert_eq!(row.payload.interrupt_resume_policy, None, "{row:?}");
            return;
        }
        let words = self.threads.entry(row.correlation_id.to_string()).or_default();
        if unsaid == Some(row.turn_id) {
            assert!(words.left.insert(row.turn_id), "interrupted twice: {row:?}");
        }
        let how = match row.payload.interrupt_resume_policy {
            Some(ResumePolicy::ResumeNow) => "said",
            Some(ResumePolicy::Discard) => "given up",
            Some(ResumePolicy::ResumeLater) => {
                let is_kept = words.ended < words.left.len();
                return assert!(is_kept, "kept for later, but nothing is left: {row:?}");
            }
            None => return,
        };
        words.ended += 1;
        assert!(words.ended <= words.left.len(), "{how}, but nothing was left: {row:?}");
        *self.ends.entry(how).or_default() += 1;
    }

    fn refused(&mut self, row: &RowRefused, unsaid: Option<u64>) {
        let named: Vec<_> = row.remainders.iter().map(|words| words.captured_turn).collect();
        assert_eq!(named, Vec::from_iter(unsaid), "{row:?}");
        assert!(row.remainders.iter().all(|words| words.fate == Fate::Discarded), "{row:?}");
        if !named.is_empty() {
            *self.ends.entry("refused").or_default() += 1;
        }
    }

    fn ended(&mut self, row: &OutcomeRow) {
        let turn = row.turn_id.expect("a row of today names the turn");
        let words = self.threads.entry(row.correlation_id.to_string()).or_default();
        assert!(words.left.contains(&turn), "words that nobody left: {row:?}");
        if row.reason_code == ReasonCode::ReturnCheckExpired {
            return;
        }
        assert_eq!(row.interrupt_resume_policy, ResumePolicy::Discard, "{row:?}");
        words.left.remove(&turn);
        *self.ends.entry(row.reason_code.name()).or_default() += 1;
    }
}
