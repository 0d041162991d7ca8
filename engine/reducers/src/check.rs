//! Check of what is stated of a reducer's states: it is what the reducer makes of the events.

use crate::error::ReducerError;
use crate::fold::Fold;
use crate::history::StateHistory;
use crate::reducer::Reducer;
use crate::table::{BlockBuilder, BlockEntry, StateRow, fingerprint};
use holdpoint_domain::Event;
use holdpoint_domain::application::{ApplicationEvent as Recorded, ReducerFingerprintRecorded};
use holdpoint_log_files::ReadStorage;
use holdpoint_replay::{Filter, Order};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Statements of a reducer's states, each compared with what the reducer makes of the events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// The reducer's name.
    pub reducer: &'static str,
    /// Each statement, in the order of the log.
    pub fingerprints: Vec<CheckedFingerprint>,
}

impl Checked {
    /// Returns whether the statement is what the reducer makes of the events; `None`: nothing could
    /// be compared.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        let outcomes = self.fingerprints.iter().map(|it| it.outcome);
        let mut compared = outcomes.filter(|it| *it != Outcome::NotChecked).peekable();
        compared.peek()?;
        Some(compared.all(|it| it == Outcome::Agrees))
    }
}

/// One statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedFingerprint {
    /// The record that states it.
    pub record: u64,
    /// The last record whose event is in the states.
    pub covers: u64,
    /// Outcome of the comparison.
    pub outcome: Outcome,
}

/// Outcome of comparing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The reducer makes the same states.
    Agrees,
    /// It makes others: it is not deterministic, was changed without a new version, or the
    /// statement is false.
    Differs {
        /// Digest that is stated.
        stated: [u8; 32],
        /// Digest that the reducer makes.
        made: [u8; 32],
    },
    /// It is of another version or scope.
    NotChecked,
}

/// A record, and what it states.
type RecordedFingerprint = (u64, ReducerFingerprintRecorded);

impl<R: Reducer, S: ReadStorage> StateHistory<R, S> {
    /// Compares every fingerprint that the log states of this reducer with what the reducer makes
    /// of the events. The log is read twice, and all states are held in memory.
    ///
    /// # Errors
    /// As [`StateHistory::state`].
    pub fn check(&self) -> Result<Checked, ReducerError> {
        let (statements, mut due) = self.stated()?;
        let mut made: BTreeMap<u64, [u8; 32]> = BTreeMap::new();
        let mut fold = Fold::<R>::default();
        let filter =
            Filter { kind: Some(crate::history::RECORDED.to_string()), ..Filter::default() };
        self.events(&filter, &mut |event| {
            while let Some(covers) = due.first().copied().filter(|it| *it < event.sequence) {
                due.pop_first();
                made.insert(covers, fingerprint_of(&fold, covers)?);
            }
            fold.take(event, &mut |_| Ok(None))
        })?;
        for covers in due {
            made.insert(covers, fingerprint_of(&fold, covers)?);
        }
        let fingerprints = statements.into_iter().map(|(record, body)| {
            let stated = *body.fingerprint.as_bytes();
            let made = made.get(&body.covers).filter(|_| is_of::<R>(&body));
            let outcome = made.map_or(Outcome::NotChecked, |made| {
                if stated == *made {
                    return Outcome::Agrees;
                }
                Outcome::Differs { stated, made: *made }
            });
            CheckedFingerprint { record, covers: body.covers, outcome }
        });
        Ok(Checked { reducer: R::NAME, fingerprints: fingerprints.collect() })
    }

    /// Returns what is stated of this reducer, each with its record, and behind which records.
    fn stated(&self) -> Result<(Vec<RecordedFingerprint>, BTreeSet<u64>), ReducerError> {
        let mut statements = Vec::new();
        let name = "application.reducer_fingerprint_recorded";
        let filter = Filter { kind: Some(name.to_string()), ..Filter::default() };
        self.search(&filter, Order::OldestFirst, &mut |line| {
            if let Some(Event::Application(Recorded::ReducerFingerprintRecorded(body))) =
                &line.event
                && *body.reducer == *R::NAME
            {
                statements.push((line.sequence, body.clone()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let due = statements.iter().filter(|(_, body)| is_of::<R>(body));
        let due = due.map(|(_, body)| body.covers).collect();
        Ok((statements, due))
    }
}

fn is_of<R: Reducer>(body: &ReducerFingerprintRecorded) -> bool {
    (body.version, &*body.encoding) == (R::VERSION, R::SCOPE.encoding())
}

/// Returns what would be stated of the states.
fn fingerprint_of<R: Reducer>(fold: &Fold<R>, covers: u64) -> Result<[u8; 32], ReducerError> {
    let (states, mut builder) = (fold.encoded()?, BlockBuilder::default());
    let mut blocks = Vec::new();
    for (stream, (version, state)) in &states {
        blocks.extend(builder.push(StateRow { stream, version: *version, state }));
    }
    blocks.extend(builder.finish());
    let entries = blocks.iter().map(|(first, bytes)| BlockEntry {
        first: first.clone(),
        offset: 0,
        length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        digest: *blake3::hash(bytes).as_bytes(),
    });
    let entries: Vec<BlockEntry> = entries.collect();
    Ok(fingerprint((R::NAME, R::VERSION, R::SCOPE.encoding()), covers, &entries))
}
