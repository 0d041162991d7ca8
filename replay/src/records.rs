//! The records as lines: all of them, some, or the story of one loop. Raw evidence is hidden.

use crate::anchor::Anchor;
use crate::axes::report;
use crate::finding::named;
use crate::progress::Progress;
use crate::read::{Committed, Content, ReadError, ReadOptions, read_wanted, steadily};
use crate::report::Report;
use crate::summary::summary;
use holdpoint_domain::envelope::{ActorId, Envelope};
use holdpoint_domain::event::Event;
use holdpoint_domain::time::Timestamp;
use holdpoint_log_files::ReadStorage;
use holdpoint_log_format::RecordHeader;
use serde::Serialize;

/// One record as a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its sequence.
    pub sequence: u64,
    /// When it was recorded.
    pub time: Timestamp,
    /// Its kind: a name of the registry, or `kind N` where this program does not know it.
    pub kind: String,
    /// Who caused it.
    pub actor: Option<ActorId>,
    /// The story that it belongs to.
    pub correlation: Option<String>,
    /// The sequence of the record that caused it.
    pub causation: Option<u64>,
    /// The loop that it is about.
    pub loop_id: Option<String>,
    /// The decision point that it is about.
    pub decision_id: Option<String>,
    /// What happened, in one line, control characters visible.
    pub summary: String,
    /// Its link, 64 hexadecimal digits.
    pub link: String,
    /// The event itself, by the seeds' names, raw evidence as length and SHA-256.
    pub event: Option<Event>,
}

/// Which records are wanted. Everything that is stated must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The first sequence. `None`: from the beginning.
    pub first: Option<u64>,
    /// The last sequence. `None`: to the end.
    pub last: Option<u64>,
    /// The kind's name, or its beginning up to a dot: `execution_loop.halted`, `execution_loop`.
    pub kind: Option<String>,
    /// The loop that they are about.
    pub loop_id: Option<String>,
    /// The decision point that they are about: one round of a question.
    pub decision: Option<String>,
    /// The story that they belong to.
    pub correlation: Option<String>,
}

/// Shows every wanted record of complete batches, in order, while the log is read and verified.
/// Nothing behind damage is shown. The report says what the bytes prove; events are not judged.
///
/// # Errors
/// As [`crate::verify()`].
pub fn records<S: ReadStorage>(
    storage: &S,
    filter: &Filter,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    visit: &mut dyn FnMut(Line),
) -> Result<Report, ReadError> {
    let (reading, ()) = steadily(|| {
        let anchor = Anchor::of(storage);
        let is_there = |header: &RecordHeader| filter.reaches(header.sequence);
        let reading = read_wanted(storage, anchor, options, &is_there, progress, &mut |batch| {
            let wanted = batch.iter().filter(|record| filter.wants(record));
            wanted.map(Line::of).for_each(&mut *visit);
        })?;
        Ok((reading, ()))
    })?;
    Ok(report(reading, None))
}

/// The story of one loop: what happened, when, by whom. Empty when no record is about it.
///
/// # Errors
/// As [`crate::verify()`].
pub fn story<S: ReadStorage>(
    storage: &S,
    loop_id: &str,
    options: ReadOptions<'_>,
) -> Result<Vec<Line>, ReadError> {
    let filter = Filter { loop_id: Some(loop_id.to_string()), ..Filter::default() };
    let mut lines = Vec::new();
    records(storage, &filter, options, &mut |_| {}, &mut |line| lines.push(line))?;
    Ok(lines)
}

impl Line {
    /// The line of a record.
    #[must_use]
    pub fn of(record: &Committed) -> Self {
        let envelope = record.envelope();
        Self {
            sequence: record.header.sequence,
            time: record.time(),
            kind: named(record.header.kind),
            actor: envelope.map(|envelope| envelope.actor.clone()),
            correlation: envelope.map(|envelope| envelope.correlation.clone()),
            causation: envelope.and_then(|envelope| envelope.causation),
            loop_id: loop_id_of(envelope).map(str::to_string),
            decision_id: decision_id_of(envelope).map(str::to_string),
            summary: summary_of(record),
            link: record.header.link.to_string(),
            event: envelope.map(|envelope| envelope.event.clone()),
        }
    }
}

impl Filter {
    /// Whether a record is wanted.
    #[must_use]
    pub fn wants(&self, record: &Committed) -> bool {
        let (sequence, envelope) = (record.header.sequence, record.envelope());
        let correlation = envelope.map(|envelope| envelope.correlation.as_str());
        self.reaches(sequence)
            && self.kind.as_deref().is_none_or(|kind| is_kind(&named(record.header.kind), kind))
            && self.loop_id.as_deref().is_none_or(|id| loop_id_of(envelope) == Some(id))
            && self.decision.as_deref().is_none_or(|id| decision_id_of(envelope) == Some(id))
            && self.correlation.as_deref().is_none_or(|id| correlation == Some(id))
    }

    /// Whether a record lies between the first and the last that are wanted.
    fn reaches(&self, sequence: u64) -> bool {
        self.first.is_none_or(|first| sequence >= first)
            && self.last.is_none_or(|last| sequence <= last)
    }
}

fn is_kind(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn loop_id_of(envelope: Option<&Envelope>) -> Option<&str> {
    envelope.and_then(|envelope| envelope.event.loop_id())
}

fn decision_id_of(envelope: Option<&Envelope>) -> Option<&str> {
    envelope.and_then(|envelope| envelope.event.decision_point())
}

fn summary_of(record: &Committed) -> String {
    match &record.content {
        Content::Event(envelope) => summary(&envelope.event),
        Content::Withheld => "the payload is withheld".into(),
        Content::NotRead => "the payload was not read".into(),
        Content::Undecodable(error) => error.to_string(),
    }
}
