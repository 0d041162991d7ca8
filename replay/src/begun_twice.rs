//! Search for something that began twice. An id is used once, and a reading that tells something by
//! a part of the log meets one of its beginnings alone: the other one is looked up in the whole
//! log, by the indexes that it vouches for. What is damaged on the way is not in the reach of that.

use crate::finding::Finding;
use crate::live::is_salvaged;
use crate::read::ReadError;
use crate::records::{Line, beginnings};
use crate::tell::shown;
use holdpoint_domain::world::Term;
use holdpoint_domain::{Event, World};
use holdpoint_log_files::ReadStorage;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// So many are looked up at most, those that began last: of more, the index of every other segment
/// would seem to hold one and be read.
const LOOKED_UP_MAX: usize = 64;

/// Entity that begins once, under an id or a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BegunOnce {
    /// A loop.
    Loop(String),
    /// A request to a person.
    Request(String),
    /// A decision point: one round of a question.
    Decision(String),
    /// A thread, by its tenant and its correlation.
    Thread(String, String),
}

/// Entity that began twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunTwice {
    /// Entity of it.
    pub what: BegunOnce,
    /// The record of the first beginning.
    pub first: u64,
    /// The record of another one.
    pub again: u64,
}

impl BegunOnce {
    /// Returns what begins with an event, where nothing is known of what was before.
    pub(crate) fn with(event: &Event) -> Option<Self> {
        Some(match World::default().begins_with(event)?.term {
            Term::Loop(id) => Self::Loop(id.to_string()),
            Term::Request(id) => Self::Request(id.to_string()),
            Term::DecisionPoint(id) => Self::Decision(id.to_string()),
            Term::Thread { tenant, correlation } => Self::Thread(tenant.into(), correlation.into()),
            _ => return None,
        })
    }

    /// By what an index knows it.
    pub(crate) fn term(&self) -> Term<'_> {
        match self {
            Self::Loop(id) => Term::Loop(id),
            Self::Request(id) => Term::Request(id),
            Self::Decision(id) => Term::DecisionPoint(id),
            Self::Thread(tenant, correlation) => Term::Thread { tenant, correlation },
        }
    }

    const fn is_thread(&self) -> bool {
        matches!(self, Self::Thread(..))
    }

    /// Its id, or the correlation of a thread.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Loop(id) | Self::Request(id) | Self::Decision(id) | Self::Thread(_, id) => id,
        }
    }
}

impl fmt::Display for BegunTwice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, first, again } = self;
        write!(
            out,
            "{} began twice, with record {first} and again with record {again}: only the first \
             beginning counts, and nobody can tell which of the records behind are about which",
            shown(what.id())
        )
    }
}

/// By what begins, the records with which it does.
type Beginnings = BTreeMap<BegunOnce, BTreeSet<u64>>;

/// Result of the search.
#[derive(Debug, Default)]
pub struct BegunLookup {
    /// Those that began twice.
    pub twice: Vec<BegunTwice>,
    /// The first record met that only a newer program knows: nothing from it on is judged.
    pub not_known: Option<Finding>,
}

/// Looks up which of some began twice, each of which is told with the record that begins it.
///
/// # Errors
/// As [`crate::verify()`].
pub fn begun_twice<S: ReadStorage>(
    storage: &S,
    mut told: Vec<(BegunOnce, u64)>,
) -> Result<BegunLookup, ReadError> {
    // A thread may have the name of one that is in an archive, and salvage copies both.
    if told.iter().any(|(what, _)| what.is_thread())
        && (!storage.archives().all().is_empty() || is_salvaged(storage)?)
    {
        told.retain(|(what, _)| !what.is_thread());
    }
    told.sort_unstable_by_key(|(_, began)| Reverse(*began));
    told.truncate(LOOKED_UP_MAX);
    let begun = told.into_iter().map(|(what, began)| (what, [began].into()));
    let mut begun: Beginnings = begun.collect();
    if begun.is_empty() {
        return Ok(BegunLookup::default());
    }
    let wanted = begun.keys().cloned().collect();
    let not_known = beginnings(storage, wanted, &mut |line| take(&mut begun, &line))?;
    let twice = begun.into_iter().filter_map(|(what, begun)| {
        let mut begun = begun.into_iter();
        let (first, again) = begun.next().zip(begun.next())?;
        Some(BegunTwice { what, first, again })
    });
    Ok(BegunLookup { twice: twice.collect(), not_known })
}

/// Takes a record that begins something, of whichever segment.
fn take(begun: &mut Beginnings, line: &Line) {
    let Some(what) = line.event.as_ref().and_then(BegunOnce::with) else { return };
    let Some(begun) = begun.get_mut(&what) else { return };
    if what.is_thread() {
        // It goes on with such records as it begins with: of those before, the first one counts.
        if begun.first().is_none_or(|first| line.sequence >= *first) {
            return;
        }
        (begun.len() > 1).then(|| begun.pop_first());
    }
    begun.insert(line.sequence);
}
