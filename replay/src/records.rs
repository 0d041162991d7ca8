//! The records as lines: all of them, some, or the story of one loop. Raw evidence is hidden.

mod begun;
mod exclude;
mod facts;
mod filter;
pub(crate) mod indexes;
mod leap;
mod links;
mod names;
mod only;
pub(crate) mod part;
mod prefilter;
mod search;
mod searched;
mod seen;
mod shown;
mod threads;
mod vouched;
mod whole;

use crate::finding::{Finding, named};
use crate::reach::Reach;
use crate::read::{Committed, Content, unread};
use crate::tell::summary;
pub(crate) use begun::beginnings;
pub(crate) use exclude::{is_gone_on_from, may_hold};
pub use facts::{RunNames, ids_beginning_with, names_of_runs};
pub(crate) use facts::{SegmentFacts, row_facts};
pub use filter::{ActorFilter, Filter, OneOf, TextFilter, is_kind, is_part};
use holdpoint_domain::core::actor::ActorId;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::world::waiting::entry_of_key;
use holdpoint_domain::{Envelope, Event, Proof};
use holdpoint_log_files::{ArchivePlaces, RecordPlace, Standing};
use holdpoint_log_format::Record;
pub use links::links_of;
pub use names::{Name, NameKind, each_name};
pub(crate) use only::search_only;
pub use part::{Part, Span, newest, span};
pub(crate) use prefilter::Prefilter;
pub(crate) use search::search_asking;
pub use search::{Order, Searched, search};
pub(crate) use seen::NewestQuery;
use serde::Serialize;
pub use whole::{records, story};

/// One record as a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its sequence.
    pub sequence: u64,
    /// Time when it was recorded.
    pub time: Timestamp,
    /// Its kind: a name of the registry, or `kind N` where it has none.
    pub kind: String,
    /// Actor who caused it.
    pub actor: Option<ActorId>,
    /// Proof of it by the process that recorded it; `None` in records that state none.
    pub proof: Option<Proof>,
    /// The story that it belongs to.
    pub correlation: Option<String>,
    /// The sequence of the record that caused it.
    pub causation: Option<u64>,
    /// The loop that it is about.
    pub loop_id: Option<String>,
    /// The decision point that it is about.
    pub decision_id: Option<String>,
    /// Summary of what happened, in one line, control characters visible.
    pub summary: String,
    /// Its link, 64 hexadecimal digits.
    pub link: String,
    /// The archive that it lies in, where that is not the log's own directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// The event itself, by the seeds' names, raw evidence as length and SHA-256.
    pub event: Option<Event>,
    /// Proof of the record, where that is told: [`Standing::name`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<&'static str>,
    /// True if it is known to be durable, where that is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable: Option<bool>,
    /// True if its batch ends with it: a state lies behind it, and none between others.
    #[serde(skip)]
    pub ends_batch: bool,
    /// The attempt and number of the entry of a run's file that it was taken up from.
    #[serde(skip)]
    pub taken_up: Option<(u8, u64)>,
}

/// Outcome of a record that is due as far as its header tells.
pub(crate) struct Judged {
    /// Its line, where it is wanted.
    pub(crate) line: Option<Line>,
    /// Why nobody can tell what it says, or whether it is wanted: also of one of which its header
    /// alone says that it is.
    pub(crate) unread: Option<Finding>,
}

impl Judged {
    /// `None`: the record is passed over. Of what its bytes rule out nothing is kept; that it can
    /// be read is looked at, for what cannot be may say anything, whatever stands in it.
    pub(crate) fn of(
        place: &RecordPlace,
        record: &Record<'_>,
        filter: &Filter,
        prefilter: &Prefilter,
    ) -> Option<Self> {
        if !filter.admits(&record.header) {
            return None;
        }
        let (line, unread) = if prefilter.admits(record) {
            let committed = Committed::of(place, record);
            let line = filter.wants(&committed).then(|| Line::of(&committed));
            (line, committed.unread())
        } else {
            let is_another = prefilter.is_of_another_cause(record);
            (None, if is_another { None } else { unread(place, record) })
        };
        (line.is_some() || unread.is_some()).then_some(Self { line, unread })
    }
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
            proof: envelope.and_then(|envelope| envelope.proof),
            correlation: envelope.map(|envelope| envelope.correlation.clone()),
            causation: envelope.and_then(|envelope| envelope.causation),
            loop_id: loop_id_of(envelope).map(str::to_string),
            decision_id: decision_id_of(envelope).map(str::to_string),
            summary: summary_of(record),
            link: record.header.link.to_string(),
            archive: None,
            event: envelope.map(|envelope| envelope.event.clone()),
            standing: None,
            durable: None,
            ends_batch: !record.header.flags.more_follows(),
            taken_up: envelope.and_then(|it| entry_of_key(it.idempotency.as_ref()?)),
        }
    }

    /// The same line, which says what is proven of the record.
    #[must_use]
    pub fn standing(self, standing: Standing) -> Self {
        Self { standing: Some(standing.name()), ..self }
    }

    /// The line of a record of which a reading tells what is proven.
    #[must_use]
    pub fn within(record: &Committed, reach: &Reach) -> Self {
        let is_withheld = record.header.flags.withheld();
        Self::of(record).standing(reach.standing(record.header.sequence, is_withheld))
    }

    /// The same line, which says where the record lies.
    #[must_use]
    pub fn lying_in(self, archives: &ArchivePlaces) -> Self {
        Self { archive: archives.of(self.sequence).map(|path| path.to_string()), ..self }
    }
}

pub(crate) fn loop_id_of(envelope: Option<&Envelope>) -> Option<&str> {
    envelope.and_then(|envelope| envelope.event.loop_id())
}

fn decision_id_of(envelope: Option<&Envelope>) -> Option<&str> {
    envelope.and_then(|envelope| envelope.event.decision_point())
}

fn summary_of(record: &Committed) -> String {
    match &record.content {
        Content::Event(envelope) => summary(&envelope.event),
        Content::Opaque => "opaque: no event of holdpoint's".into(),
        Content::Withheld => "the payload is withheld".into(),
        Content::NotRead => "the payload was not read".into(),
        Content::Undecodable(error) => error.to_string(),
    }
}
