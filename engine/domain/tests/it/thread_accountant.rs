//! Knows what became of all words that were left unsaid, from audit rows alone. What was
//! interrupted it is told by whoever talks; turns, plans and commits are hidden from it.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_domain::Event;
use holdpoint_domain::interruption_thread::{
    DecidedBy, Fate, FateReason, InterruptionThreadEvent, OutcomeRow, ReasonCode, Remainder,
    ResumePolicy, RowCommitted, RowRefused,
};

/// Words, by the turn whose interruption leaves them and the answer that they belong to.
pub(crate) type Words = (u64, u64);

/// The words of a thread that no row has ended.
#[derive(Debug, Default)]
struct Open {
    /// What the thread keeps.
    kept: BTreeSet<Words>,
    /// What its open plan owns, and whether somebody surely interrupted it.
    planned: BTreeMap<Words, bool>,
    /// What passed from a plan to the turn that follows, and the same of it.
    passing: BTreeMap<Words, bool>,
}

/// The books of all threads.
#[derive(Debug, Default)]
pub(crate) struct Books {
    threads: BTreeMap<String, Open>,
    /// How often words ended, or went from one place to another, and how.
    pub(crate) ends: BTreeMap<&'static str, u64>,
}

impl Books {
    /// The words that a thread keeps, and those that its plan owns.
    pub(crate) fn open(&mut self, thread: &str) -> (Vec<Words>, Vec<Words>) {
        let open = self.of(thread);
        assert!(open.passing.is_empty(), "{thread}: words passed on to nobody: {open:?}");
        (open.kept.iter().copied().collect(), open.planned.keys().copied().collect())
    }

    fn of(&mut self, thread: &str) -> &mut Open {
        self.threads.entry(thread.to_owned()).or_default()
    }

    fn count(&mut self, how: &'static str) {
        *self.ends.entry(how).or_default() += 1;
    }

    /// Somebody drafted a plan whose turn interrupts this, and says whether that is sure.
    pub(crate) fn drafted(&mut self, thread: &str, (words, is_sure): (Words, bool)) {
        let open = self.of(thread);
        let was_sure = open.passing.remove(&words).unwrap_or_default();
        let before = open.planned.insert(words, is_sure || was_sure);
        assert_eq!(before, None, "{thread} plans {words:?} twice");
    }

    /// Reads a row; `unsaid` are the words that the turn has just interrupted, if any, and whether
    /// that was sure.
    pub(crate) fn read(&mut self, event: &Event, unsaid: Option<(Words, bool)>) {
        let Event::InterruptionThread(event) = event else { return };
        match event {
            InterruptionThreadEvent::RowCommitted(row) => self.committed(row, unsaid),
            InterruptionThreadEvent::RowRefused(row) => self.refused(row, unsaid),
            other => other.outcome_rows().iter().for_each(|row| self.ended(row)),
        }
    }

    fn committed(&mut self, row: &RowCommitted, unsaid: Option<(Words, bool)>) {
        if row.decided_by == DecidedBy::Caller {
            let says = (row.payload.interrupt_resume_policy, row.remainders.len());
            return assert_eq!(says, (None, 0), "{row:?}");
        }
        let named: Vec<Words> = row.remainders.iter().map(words_of).collect();
        let is_named = unsaid.is_none_or(|(words, _)| named.contains(&words));
        assert!(is_named, "interrupted, and not named: {unsaid:?} {row:?}");
        // What a plan owned of this turn is its commit's, and only that.
        let thread = row.correlation_id.as_str();
        let own = self.of(thread).planned.extract_if(.., |words, _| words.0 <= row.turn_id);
        let own: Vec<Words> = own.map(|(words, _)| words).collect();
        assert!(own.iter().all(|words| named.contains(words)), "lost: {own:?} {row:?}");
        for words in row.remainders.iter() {
            self.touched(row, words);
        }
        let policies: Vec<_> = row.remainders.iter().map(|words| words.fate.policy()).collect();
        let stated = row.payload.interrupt_resume_policy;
        assert!(stated.is_none_or(|stated| policies.contains(&stated)), "{row:?}");
    }

    fn touched(&mut self, row: &RowCommitted, remainder: &Remainder) {
        let words = words_of(remainder);
        let open = self.of(&row.correlation_id);
        let how = match remainder.fate {
            Fate::Captured => {
                open.passing.remove(&words);
                open.kept.insert(words);
                "kept by a turn"
            }
            Fate::KeptForLater => {
                return assert!(open.kept.contains(&words), "kept, but not there: {row:?}");
            }
            Fate::Resumed => {
                assert!(open.kept.remove(&words), "said, but not there: {row:?}");
                "said"
            }
            Fate::Discarded if open.kept.remove(&words) => "given up",
            Fate::Discarded => {
                open.passing.remove(&words);
                assert_eq!(words.0, row.turn_id, "given up, but not there: {row:?}");
                "given up at once"
            }
        };
        self.count(how);
    }

    fn refused(&mut self, row: &RowRefused, unsaid: Option<(Words, bool)>) {
        let Some((words, is_sure)) = unsaid else {
            return assert_eq!(row.remainders.len(), 0, "{row:?}");
        };
        let open = self.of(&row.correlation_id);
        let how = match &row.remainders[..] {
            // Speech goes on: nothing is left unsaid.
            [] => {
                assert!(!is_sure && row.tts_control.is_none(), "{row:?}");
                "spoken on"
            }
            [kept] if kept.fate == Fate::KeptForLater => {
                let kept = words_of(kept);
                assert_eq!(kept.1, words.1, "other words: {row:?}");
                match open.planned.get_mut(&kept) {
                    Some(was_sure) => *was_sure |= row.tts_control.is_some(),
                    None => assert!(open.kept.contains(&kept), "{row:?}"),
                }
                "still kept"
            }
            [gone] => {
                assert_eq!((gone.fate, gone.reason), (Fate::Discarded, FateReason::TurnRefused));
                assert_eq!(words_of(gone), words, "{row:?}");
                let is_kept = open.kept.contains(&words) || open.planned.contains_key(&words);
                assert!(!is_kept, "refused, and kept: {row:?}");
                "refused"
            }
            _ => panic!("more than one interruption: {row:?}"),
        };
        self.count(how);
    }

    fn ended(&mut self, row: &OutcomeRow) {
        if row.reason_code == ReasonCode::ReturnCheckExpired || row.pending_state.is_some() {
            return;
        }
        let turn = row.turn_id.expect("a row of today names the turn");
        let words = (turn, row.answer_id.expect("and the answer"));
        let open = self.of(&row.correlation_id);
        let of_plan = [ReasonCode::PlanLapsed, ReasonCode::PlanReplaced, ReasonCode::PlanPassedBy];
        if row.interrupt_resume_policy == ResumePolicy::Discard {
            if of_plan.contains(&row.reason_code)
                && let Some(is_sure) = open.planned.remove(&words)
            {
                assert!(!is_sure, "surely interrupted, and given up: {row:?}");
                return self.count("spoken to the end");
            }
            let is_there = open.kept.remove(&words) || open.planned.remove(&words).is_some();
            assert!(is_there, "given up, but not there: {row:?}");
        } else {
            assert_eq!(row.interrupt_resume_policy, ResumePolicy::ResumeLater, "{row:?}");
            let is_sure = open.planned.remove(&words).expect("words of a plan");
            if let Some(turn) = row.passed_to_turn {
                open.passing.insert((turn, words.1), is_sure);
            } else {
                open.kept.insert(words);
                if !is_sure {
                    self.count("asked for");
                }
            }
        }
        self.count(row.reason_code.name());
    }
}

fn words_of(remainder: &Remainder) -> Words {
    (remainder.captured_turn, remainder.answer_id)
}
