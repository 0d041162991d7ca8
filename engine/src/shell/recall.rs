//! What the state has forgotten and the rules must still know: idempotency keys of long ago
//! (property E5), and threads that were closed long ago. Both are found again in the log.

use super::engine::Core;
use super::error::SubmitError;
use super::lookup::Scope;
use super::rebuild::{Hot, Recorded};
use super::submit::Origin;
use crate::log::{Storage, Turn};
use holdpoint_domain::event::Event;
use holdpoint_domain::terms::Term;
use holdpoint_domain::world::KeyReceipt;
use holdpoint_domain::{Command, Envelope, Idempotency, Time};

/// A record that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRecord {
    /// Its sequence.
    pub sequence: u64,
    /// Its time.
    pub at: Time,
    /// What it says, and who caused it.
    pub envelope: Envelope,
}

/// Tells the state what it has forgotten of a command's thread, and gives what was recorded under
/// its key, where the state has forgotten that.
///
/// # Errors
/// A segment that must be read cannot be, or is damaged.
pub(super) fn recall<S: Storage>(
    engine: &Core<S>,
    hot: &mut Hot,
    turn: &mut Turn<'_, S>,
    origin: &Origin,
    idempotency: Option<&Idempotency>,
    command: &Command,
) -> Result<Option<KeyReceipt>, SubmitError> {
    hot.world.recall_closed_thread(None);
    if let Some((tenant, correlation)) = command.thread() {
        recall_thread(engine, hot, turn, tenant, correlation)?;
    }
    match idempotency {
        Some(idempotency) => receipt(engine, hot, turn, &origin.correlation, idempotency),
        None => Ok(None),
    }
}

fn recall_thread<S: Storage>(
    engine: &Core<S>,
    hot: &mut Hot,
    turn: &mut Turn<'_, S>,
    tenant: &str,
    correlation: &str,
) -> Result<(), SubmitError> {
    let forgotten = hot.world.threads_forgotten();
    let is_known = hot.world.thread(tenant, correlation).is_some();
    if forgotten == 0 || is_known {
        return Ok(());
    }
    let records = look(engine, hot, turn, &Term::Thread { tenant, correlation }, forgotten)?;
    let closed = |event: &&Recorded| matches!(event.envelope.event, Event::ThreadClosed(_));
    if let Some(event) = records.iter().rev().find(closed) {
        hot.world.recall_closed_thread(Some((tenant, correlation, event.sequence)));
    }
    Ok(())
}

/// What was recorded under a key that the state does not remember.
fn receipt<S: Storage>(
    engine: &Core<S>,
    hot: &mut Hot,
    turn: &mut Turn<'_, S>,
    correlation: &str,
    idempotency: &Idempotency,
) -> Result<Option<KeyReceipt>, SubmitError> {
    let forgotten = hot.world.keys_forgotten();
    let is_remembered = !matches!(hot.world.receipt_of(correlation, idempotency), Ok(None));
    if forgotten == 0 || is_remembered {
        return Ok(None);
    }
    let Idempotency { tenant, engine: issuer, key, .. } = idempotency;
    let term = Term::Key { tenant, engine: issuer, correlation, key };
    let records = look(engine, hot, turn, &term, hot.place.run.chain.sequence)?;
    let content = |event: &Recorded| event.envelope.idempotency.as_ref().map(|i| i.content);
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(None) };
    Ok(content(first).map(|content| KeyReceipt {
        content,
        first_sequence: first.sequence,
        last_sequence: last.sequence,
    }))
}

/// Every record up to the newest one that holds a term.
///
/// # Errors
/// A segment that must be read cannot be, or is damaged.
pub(super) fn records_with<S: Storage>(
    engine: &Core<S>,
    hot: &mut Hot,
    turn: &mut Turn<'_, S>,
    term: &Term<'_>,
) -> Result<Vec<FoundRecord>, SubmitError> {
    let found = look(engine, hot, turn, term, hot.place.run.chain.sequence)?;
    let shown = |event: Recorded| FoundRecord {
        sequence: event.sequence,
        at: event.at,
        envelope: event.envelope,
    };
    Ok(found.into_iter().map(shown).collect())
}

fn look<S: Storage>(
    engine: &Core<S>,
    hot: &mut Hot,
    turn: &mut Turn<'_, S>,
    term: &Term<'_>,
    until: u64,
) -> Result<Vec<Recorded>, SubmitError> {
    if hot.lookup.reads(hot.place.header.first_sequence(), term) {
        // What is staged is in no file yet.
        turn.sync()?;
    }
    let Hot { world, place, lookup, .. } = hot;
    let scope = Scope { disk: &engine.caches, known: world.segment_indexes(), newest: place };
    lookup.records_with(&scope, term, until)
}
