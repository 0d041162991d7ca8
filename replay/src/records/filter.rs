//! Records that are wanted, and by which terms an index knows them.

use super::{decision_id_of, loop_id_of, summary_of};
use crate::begun_twice::BegunOnce;
use crate::finding::named;
use crate::read::{Committed, Content};
use holdpoint_domain::core::actor::{Actor, ActorId};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::world::{REGISTRY, Term, terms_of};
use holdpoint_domain::{Envelope, Event};
use holdpoint_log_format::RecordHeader;
use serde_json::Value;
use std::collections::BTreeSet;

/// Conditions on records. Everything that is stated must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The first sequence. `None`: from the beginning.
    pub first: Option<u64>,
    /// The last sequence. `None`: to the end.
    pub last: Option<u64>,
    /// Recorded at this moment or later.
    pub since: Option<Timestamp>,
    /// Recorded at this moment or earlier.
    pub until: Option<Timestamp>,
    /// The kind's name, or its beginning up to a dot: `execution_loop.halted`, `execution_loop`.
    pub kind: Option<String>,
    /// The loop that they are about.
    pub loop_id: Option<String>,
    /// The decision point that they are about: one round of a question.
    pub decision: Option<String>,
    /// Several of a kind, one of which they are about, are caused by, or are.
    pub one_of: Option<OneOf>,
    /// Subject of the records, whatever it is: the id of a loop or of a part of it, a request to a
    /// person or a decision point, of what a refused command named, or of a thread, session or work
    /// order behind its tenant and a slash.
    pub entity: Option<String>,
    /// Actor of the records.
    pub actor: Option<ActorFilter>,
    /// The story that they belong to.
    pub correlation: Option<String>,
    /// A text that they hold.
    pub text: Option<TextFilter>,
}

/// Several of a kind, by their ids or sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneOf {
    /// Loops that records are about.
    Loops(BTreeSet<String>),
    /// Loops that records are about, by how their ids begin.
    LoopsBeginning(BTreeSet<String>),
    /// Decision points that records are about: each is one round of a question.
    Decisions(BTreeSet<String>),
    /// Stories that records belong to.
    Correlations(BTreeSet<String>),
    /// Entities that begin with records.
    Begun(BTreeSet<BegunOnce>),
    /// Records that records name as their cause.
    Causes(BTreeSet<u64>),
    /// The records themselves.
    Records(BTreeSet<u64>),
}

impl OneOf {
    fn holds(&self, envelope: Option<&Envelope>) -> bool {
        match self {
            Self::Loops(ids) => loop_id_of(envelope).is_some_and(|id| ids.contains(id)),
            Self::LoopsBeginning(beginnings) => loop_id_of(envelope)
                .is_some_and(|id| beginnings.iter().any(|it| id.starts_with(it.as_str()))),
            Self::Decisions(ids) => decision_id_of(envelope).is_some_and(|id| ids.contains(id)),
            Self::Correlations(names) => {
                envelope.is_some_and(|envelope| names.contains(&envelope.correlation))
            }
            Self::Begun(begun) => envelope
                .and_then(|it| BegunOnce::with(&it.event))
                .is_some_and(|new| begun.contains(&new)),
            Self::Causes(causes) => {
                envelope.and_then(|it| it.causation).is_some_and(|cause| causes.contains(&cause))
            }
            // Its header tells.
            Self::Records(_) => true,
        }
    }

    fn reaches(&self, header: &RecordHeader) -> bool {
        match self {
            Self::Records(sequences) => sequences.contains(&header.sequence),
            Self::Begun(_) => BEGINNINGS.contains(&header.kind),
            _ => true,
        }
    }

    /// `None`: by none.
    fn terms(&self) -> Option<Vec<Term<'_>>> {
        Some(match self {
            Self::Loops(ids) => ids.iter().map(|id| Term::Loop(id)).collect(),
            Self::Decisions(ids) => ids.iter().map(|id| Term::DecisionPoint(id)).collect(),
            Self::Correlations(names) => names.iter().map(|name| Term::Correlation(name)).collect(),
            Self::Begun(begun) => begun.iter().map(BegunOnce::term).collect(),
            Self::Causes(causes) => causes.iter().map(|cause| Term::CausedBy(*cause)).collect(),
            Self::LoopsBeginning(_) | Self::Records(_) => return None,
        })
    }
}

/// The kinds of records with which a loop, a request, a decision point or a thread begins.
const BEGINNINGS: [u16; 6] = [32, 128, 167, 168, 192, 195];

/// Actor whose records are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActorFilter {
    /// Kind of the actor; `None`: whatever has the name.
    pub kind: Option<Actor>,
    /// The name.
    pub id: String,
}

/// A text that is looked for in what records say: in the line that sums up the event, and in every
/// text in the event. Raw evidence is not searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFilter {
    /// Text that is looked for.
    pub text: String,
    /// True if capital and small letters are the same.
    pub ignores_case: bool,
}

/// Prefixes of the ids of what belongs to a loop: a person's decision, a fault, a piece of
/// evidence, an evidence chain, an observer's session, an audit trail.
const PARTS: [&str; 6] = ["DEC-", "FAULT-", "REC-", "CHAIN-", "OBS-", "AUDIT-"];

impl Filter {
    /// Returns whether a record is wanted.
    #[must_use]
    pub fn wants(&self, record: &Committed) -> bool {
        let envelope = record.envelope();
        let correlation = envelope.map(|envelope| envelope.correlation.as_str());
        self.admits(&record.header)
            && self.loop_id.as_deref().is_none_or(|id| loop_id_of(envelope) == Some(id))
            && self.decision.as_deref().is_none_or(|id| decision_id_of(envelope) == Some(id))
            && self.one_of.as_ref().is_none_or(|several| several.holds(envelope))
            && self.correlation.as_deref().is_none_or(|id| correlation == Some(id))
            && self.actor.as_ref().is_none_or(|wanted| wanted.is(envelope.map(|it| &it.actor)))
            && self.entity.as_deref().is_none_or(|id| is_about(envelope, id))
            && self.text.as_ref().is_none_or(|wanted| wanted.is_in(record))
    }

    /// Returns whether a record is wanted as far as its header tells.
    #[must_use]
    pub fn admits(&self, header: &RecordHeader) -> bool {
        self.reaches(header)
            && self.since.is_none_or(|since| header.time >= since.nanoseconds())
            && self.until.is_none_or(|until| header.time <= until.nanoseconds())
            && self.kind.as_deref().is_none_or(|kind| is_kind(&named(header.kind), kind))
    }

    /// Returns whether everything behind a record is too late to be wanted, this record included.
    pub(crate) fn ends_before(&self, header: &RecordHeader) -> bool {
        self.last.is_some_and(|last| header.sequence > last)
            || self.until.is_some_and(|until| header.time > until.nanoseconds())
    }

    /// Returns whether everything before a record is too early to be wanted.
    pub(crate) fn begins_with(&self, header: &RecordHeader) -> bool {
        self.first.is_some_and(|first| header.sequence <= first)
            || self.since.is_some_and(|since| header.time < since.nanoseconds())
    }

    /// Returns whether a record lies between the first and the last that are wanted, and can be one
    /// of several.
    fn reaches(&self, header: &RecordHeader) -> bool {
        self.first.is_none_or(|first| header.sequence >= first)
            && self.last.is_none_or(|last| header.sequence <= last)
            && self.one_of.as_ref().is_none_or(|several| several.reaches(header))
    }

    /// By which terms an index knows the wanted records: of each list, a record holds at least one.
    pub(crate) fn terms(&self) -> Vec<Vec<Term<'_>>> {
        let one = |id: &Option<String>| id.is_some();
        let mut lists = Vec::new();
        if let Some(id) = self.loop_id.as_deref() {
            lists.push(vec![Term::Loop(id)]);
        }
        if let Some(id) = self.decision.as_deref() {
            lists.push(vec![Term::DecisionPoint(id)]);
        }
        lists.extend(self.one_of.as_ref().and_then(OneOf::terms));
        if let Some(OneOf::Begun(_)) = &self.one_of {
            // What lives long is what very many records are about.
            lists.push(BEGINNINGS.map(Term::Kind).to_vec());
        }
        if let Some(id) = self.correlation.as_deref() {
            lists.push(vec![Term::Correlation(id)]);
        }
        lists.extend(self.entity.as_deref().filter(|id| !is_part(id)).map(|id| {
            let tenants = tenants_and_names(id).map(|(tenant, _)| Term::Tenant(tenant));
            entity_terms(id).into_iter().chain(tenants).collect()
        }));
        lists.extend(self.actor.as_ref().map(ActorFilter::terms));
        if one(&self.kind) {
            let kinds = REGISTRY.iter().filter(|entry| self.names(entry.name));
            let kinds: Vec<_> = kinds.map(|entry| Term::Kind(entry.kind)).collect();
            // An index need not know kinds that have no name.
            lists.extend(Some(kinds).filter(|kinds| !kinds.is_empty()));
        }
        lists
    }

    fn names(&self, kind: &str) -> bool {
        self.kind.as_deref().is_some_and(|wanted| is_kind(kind, wanted))
    }
}

impl ActorFilter {
    fn is(&self, actor: Option<&ActorId>) -> bool {
        actor.is_some_and(|actor| {
            actor.id == self.id && self.kind.is_none_or(|kind| actor.kind == kind)
        })
    }

    fn terms(&self) -> Vec<Term<'_>> {
        let kinds = Actor::ALL.iter().filter(|kind| self.kind.is_none_or(|only| **kind == only));
        kinds.map(|kind| Term::Actor { kind: *kind, id: &self.id }).collect()
    }
}

impl TextFilter {
    fn is_in(&self, record: &Committed) -> bool {
        let wanted = self.folded(&self.text);
        let says = |text: &str| self.folded(text).contains(&wanted);
        says(&summary_of(record))
            || match &record.content {
                Content::Event(envelope) => some_text(&envelope.event, &says),
                Content::Opaque
                | Content::Withheld
                | Content::NotRead
                | Content::Undecodable(_) => false,
            }
    }

    fn folded(&self, text: &str) -> String {
        if self.ignores_case { text.to_lowercase() } else { text.to_string() }
    }
}

/// Returns whether a text of an event, as it is shown to programs, is one of these.
fn some_text(event: &Event, is_one: &dyn Fn(&str) -> bool) -> bool {
    serde_json::to_value(event).is_ok_and(|value| some_text_of(&value, is_one))
}

/// An event is as deep as its type, whatever it holds.
fn some_text_of(value: &Value, is_one: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_one(text),
        Value::Array(items) => items.iter().any(|item| some_text_of(item, is_one)),
        Value::Object(fields) => fields.values().any(|field| some_text_of(field, is_one)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns whether a kind's name is the wanted one, or of the wanted system.
#[must_use]
pub fn is_kind(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn is_about(envelope: Option<&Envelope>, id: &str) -> bool {
    let Some(envelope) = envelope else { return false };
    let wanted = entity_terms(id);
    let mut is_held = false;
    terms_of(envelope, &mut |term| is_held |= wanted.contains(&term));
    is_held
        || is_part(id) && some_text(&envelope.event, &|text| text == id)
        || registers(envelope, id)
}

/// Returns whether a record registers the user or the device of this id: `TENANT/USER`,
/// `TENANT/DEVICE/USER`.
fn registers(envelope: &Envelope, id: &str) -> bool {
    let Event::Registration(_) = &envelope.event else { return false };
    tenants_and_names(id).any(|(tenant, names)| {
        let mut is_of_tenant = false;
        terms_of(envelope, &mut |term| is_of_tenant |= term == Term::Tenant(tenant));
        let says = |name: &str| some_text(&envelope.event, &|text| text == name);
        is_of_tenant && names.split('/').all(says)
    })
}

/// Every way in which an id can be a tenant and what belongs to it.
fn tenants_and_names(id: &str) -> impl Iterator<Item = (&str, &str)> {
    id.match_indices('/')
        .filter_map(|(at, _)| Some((id.get(..at)?, id.get(at.saturating_add(1)..)?)))
}

/// Returns whether an id may be that of a part of a loop, by which no index knows a record: every
/// record is looked at.
#[must_use]
pub fn is_part(id: &str) -> bool {
    PARTS.iter().any(|prefix| id.starts_with(prefix))
}

/// Every term that an id can stand for.
fn entity_terms(id: &str) -> Vec<Term<'_>> {
    let mut terms = vec![
        Term::Loop(id),
        Term::Request(id),
        Term::DecisionPoint(id),
        Term::Stream(id),
        Term::Refused(id),
        Term::Correlation(id),
        Term::Tenant(id),
    ];
    for (tenant, name) in tenants_and_names(id) {
        terms.push(Term::Thread { tenant, correlation: name });
        terms.push(Term::Session { tenant, session: name });
        terms.push(Term::WorkOrder { tenant, work_order: name });
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_wanted_by_its_name_or_by_its_system() {
        assert!(is_kind("execution_loop.halted", "execution_loop.halted"));
        assert!(is_kind("execution_loop.halted", "execution_loop"));
        assert!(!is_kind("execution_loop.halted", "execution"));
        assert!(!is_kind("execution_loop", "execution_loop.halted"));
    }

    #[test]
    fn an_id_with_slashes_is_a_thread_of_every_tenant_that_it_can_name() {
        let terms = entity_terms("a/b/c");
        assert!(terms.contains(&Term::Loop("a/b/c")));
        assert!(terms.contains(&Term::Thread { tenant: "a", correlation: "b/c" }));
        assert!(terms.contains(&Term::Thread { tenant: "a/b", correlation: "c" }));
        assert_eq!(entity_terms("abc").len(), 7);
    }
}
