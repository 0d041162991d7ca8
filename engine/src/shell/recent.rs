//! Terms that are looked up with commands, of the records that no index holds yet.

use holdpoint_domain::Envelope;
use holdpoint_domain::world::{Term, terms_of};
use holdpoint_log_index::TermHash;
use std::collections::{BTreeMap, BTreeSet};

/// Terms that are looked up again and again in the records that no index holds yet: idempotency
/// keys, threads, sessions and work orders that ended, and the ids that were used.
pub(super) struct Recent {
    /// Term and sequence.
    pub(super) terms: BTreeSet<(TermHash, u64)>,
    /// The first record of everything that has an id.
    pub(super) used: BTreeMap<TermHash, u64>,
    /// Segments that were read.
    pub(super) read: BTreeSet<u64>,
    /// Everything behind this record was followed.
    pub(super) followed_behind: u64,
    /// Segments of which what was followed is not kept any more.
    forgotten: BTreeSet<u64>,
    /// A loop whose first record is known: nothing new is learned of it.
    known_loop: Option<String>,
}

impl Recent {
    pub(super) fn from(newest: u64) -> Self {
        let (terms, used) = (BTreeSet::new(), BTreeMap::new());
        let (read, forgotten) = (BTreeSet::new(), BTreeSet::new());
        Self { terms, used, read, followed_behind: newest, forgotten, known_loop: None }
    }

    /// Returns whether every record of the segment that begins here is known.
    pub(super) fn covers(&self, first: u64) -> bool {
        let was_followed = first > self.followed_behind && !self.forgotten.contains(&first);
        was_followed || self.read.contains(&first)
    }

    pub(super) fn follow(&mut self, sequence: u64, envelope: &Envelope) {
        let known = self.known_loop.as_deref();
        let Gathered { terms, used } = Gathered::besides(known, sequence, envelope);
        let newest = envelope.event.loop_id().filter(|loop_id| Some(*loop_id) != known);
        if let Some(loop_id) = newest {
            self.known_loop = Some(loop_id.to_string());
        }
        self.terms.extend(terms);
        used.into_iter().for_each(|(hash, sequence)| self.use_of(hash, sequence));
    }

    /// Takes what the records of a segment hold. It is put in order as a whole: one by one that
    /// took as long as to read them.
    pub(super) fn take(&mut self, read: Gathered) {
        let Gathered { terms, mut used } = read;
        self.terms.append(&mut terms.into_iter().collect());
        // Of an id, the first record stands first.
        used.sort_unstable();
        used.dedup_by_key(|(hash, _)| *hash);
        let known = std::mem::replace(&mut self.used, used.into_iter().collect());
        known.into_iter().for_each(|(hash, sequence)| self.use_of(hash, sequence));
    }

    fn use_of(&mut self, hash: TermHash, sequence: u64) {
        let first = self.used.entry(hash).or_insert(sequence);
        *first = sequence.min(*first);
    }

    /// The records of a segment need not be kept any more: the log vouches for an index.
    pub(super) fn forget(&mut self, first: u64, last: u64) {
        self.terms.retain(|(_, sequence)| !(first..=last).contains(sequence));
        self.used.retain(|_, sequence| !(first..=last).contains(sequence));
        self.read.remove(&first);
        self.forgotten.insert(first);
        self.known_loop = None;
    }
}

/// Facts that are looked up of some records.
#[derive(Default)]
pub(super) struct Gathered {
    /// Terms that are remembered, and the record that holds each.
    terms: Vec<(TermHash, u64)>,
    /// Whatever has an id, and the record that is about it.
    used: Vec<(TermHash, u64)>,
}

impl Gathered {
    pub(super) fn of(sequence: u64, envelope: &Envelope) -> Self {
        Self::besides(None, sequence, envelope)
    }

    /// The same without the use of one loop's id.
    fn besides(known_loop: Option<&str>, sequence: u64, envelope: &Envelope) -> Self {
        let mut gathered = Self::default();
        terms_of(envelope, &mut |term| {
            if matches!(term, Term::Loop(id) if Some(id) == known_loop) {
                return;
            }
            if is_remembered(&term) {
                gathered.terms.push((TermHash::of(&term.canonical()), sequence));
            } else if has_id(&term) {
                gathered.used.push((TermHash::of(&term.canonical()), sequence));
            }
        });
        gathered
    }

    pub(super) fn add(&mut self, mut other: Self) {
        self.terms.append(&mut other.terms);
        self.used.append(&mut other.used);
    }
}

/// Returns whether a term is looked up with commands, and not only when somebody asks.
pub(super) const fn is_remembered(term: &Term<'_>) -> bool {
    matches!(
        term,
        Term::Key { .. } | Term::Thread { .. } | Term::Session { .. } | Term::WorkOrder { .. }
    )
}

/// Returns whether a term names something by an id of its own, that nothing else ever has.
const fn has_id(term: &Term<'_>) -> bool {
    matches!(term, Term::Loop(_) | Term::Request(_) | Term::DecisionPoint(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::core::actor::Actor;
    use holdpoint_domain::execution_loop::ResponseAwaited;
    use holdpoint_domain::{ActorId, Envelope};

    fn about(loop_id: &str) -> Envelope {
        Envelope {
            clock: None,
            actor: ActorId { kind: Actor::Automation, id: "test".into() },
            proof: None,
            correlation: "a story".into(),
            causation: None,
            idempotency: None,
            event: ResponseAwaited {
                loop_id: loop_id.into(),
                attempt: 1,
                recorder_key: None,
                on_full: None,
            }
            .into(),
        }
    }

    #[test]
    fn the_first_record_of_a_loop_that_is_kept_is_known_however_often_it_is_followed() {
        let mut recent = Recent::from(0);
        let first = |recent: &Recent, id| {
            recent.used.get(&TermHash::of(&Term::Loop(id).canonical())).copied()
        };
        let followed = [(1, "A"), (2, "A"), (3, "B"), (4, "A"), (5, "B"), (6, "B")];
        followed.iter().for_each(|(sequence, id)| recent.follow(*sequence, &about(id)));
        assert_eq!((first(&recent, "A"), first(&recent, "B")), (Some(1), Some(3)));
        recent.forget(1, 6);
        recent.follow(7, &about("B"));
        assert_eq!((first(&recent, "A"), first(&recent, "B")), (None, Some(7)));
    }
}
