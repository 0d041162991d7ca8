//! Everything in a log that has a name of its own: what a person can ask for.

use super::filter::Filter;
use super::whole::each;
use crate::read::{ReadError, ReadOptions};
use holdpoint_domain::world::{Term, terms_of};
use holdpoint_log_files::ReadStorage;

/// Kind of what a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A loop, a request to a person, a decision point, a stream of the application, what a refused
    /// command named, or a thread, session or work order behind its tenant and a slash.
    Entity,
    /// A loop.
    Loop,
    /// Name of an actor.
    Actor,
    /// A story.
    Correlation,
}

/// A name, and what it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// Kind of what has it.
    pub of: NameKind,
    /// The name.
    pub name: &'a str,
}

/// Shows every name in every record of complete batches, each as often as it is there. Reads the
/// whole log.
///
/// # Errors
/// As [`crate::verify()`].
pub fn each_name<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    visit: &mut dyn FnMut(Name<'_>),
) -> Result<(), ReadError> {
    each(storage, &Filter::default(), options, &mut |_| {}, &mut |record| {
        if let Some(envelope) = record.envelope() {
            terms_of(envelope, &mut |term| names_of(&term, visit));
        }
    })
    .map(drop)
}

fn names_of(term: &Term<'_>, visit: &mut dyn FnMut(Name<'_>)) {
    let mut entity = |name: &str| visit(Name { of: NameKind::Entity, name });
    match *term {
        Term::Loop(id) => {
            entity(id);
            visit(Name { of: NameKind::Loop, name: id });
        }
        Term::Request(id) | Term::DecisionPoint(id) | Term::Stream(id) | Term::Refused(id) => {
            entity(id);
        }
        Term::Thread { tenant, correlation: name }
        | Term::Session { tenant, session: name }
        | Term::WorkOrder { tenant, work_order: name } => entity(&format!("{tenant}/{name}")),
        Term::Actor { id, .. } => visit(Name { of: NameKind::Actor, name: id }),
        Term::Correlation(id) => visit(Name { of: NameKind::Correlation, name: id }),
        Term::Tenant(_) | Term::Kind(_) | Term::CausedBy(_) | Term::Key { .. } => {}
    }
}
