//! States that events have changed since the newest snapshot.

use crate::error::{ReducerError, ReducerFault, named};
use crate::event::ApplicationEvent;
use crate::reducer::Reducer;
use crate::table::MAX_STATE_BYTES;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Number of bytes of an entry beside its name and its state.
const ENTRY_BYTES: usize = 128;

/// Gives the state that a stream had in the newest snapshot: the sequence of its last event, and
/// its encoding.
pub(crate) type Before<'b> = dyn FnMut(&str) -> Result<Option<(u64, Vec<u8>)>, ReducerError> + 'b;

/// Changed states, one by one.
pub(crate) struct Fold<R: Reducer> {
    states: BTreeMap<String, FoldState<R>>,
    /// About how many bytes the states take: each the length of its encoding before, and of the
    /// events since.
    bytes: usize,
    /// Number of events that are in them.
    events: u64,
}

/// A state, or the record at which the reducer ended for its stream, and why.
enum FoldState<R: Reducer> {
    State(Twin<R>),
    Ended(u64, ReducerFault),
}

/// A state, made twice of the same events: where the two come to differ, the reducer is not
/// deterministic, or its state is more than its encoding.
pub(crate) struct Twin<R: Reducer> {
    first: R::State,
    /// Now and then what its own encoding gives, as after a snapshot.
    second: R::State,
    /// The sequence of the last event.
    version: u64,
    /// Number of events that were applied.
    applied: u64,
}

impl<R: Reducer> Twin<R> {
    /// The state as it was kept; without that the one before the first event.
    pub(crate) fn of(key: &str, version: u64, kept: Option<&[u8]>) -> Result<Self, ReducerFault> {
        let (first, second) = (decoded::<R>(key, kept)?, decoded::<R>(key, kept)?);
        Ok(Self { first, second, version, applied: 0 })
    }

    /// Applies an event.
    pub(crate) fn take(
        &mut self,
        key: &str,
        event: &ApplicationEvent<'_>,
    ) -> Result<(), ReducerFault> {
        applied::<R>(&mut self.first, event)?;
        applied::<R>(&mut self.second, event)?;
        (self.version, self.applied) = (event.sequence, self.applied.saturating_add(1));
        // Behind the first event, the second, the fourth, and so on: so it costs little.
        if self.applied.is_power_of_two() {
            self.second = decoded::<R>(key, Some(&encoded::<R>(key, &self.second)?))?;
        }
        Ok(())
    }

    /// Returns what is kept of the state: that both have the same encoding, and that it can be read
    /// again.
    pub(crate) fn kept(&self, key: &str) -> Result<(u64, Vec<u8>), ReducerFault> {
        let first = encoded::<R>(key, &self.first)?;
        let again = encoded::<R>(key, &decoded::<R>(key, Some(&first))?)?;
        if first != encoded::<R>(key, &self.second)? || first != again {
            return Err(ReducerFault::NotDeterministic {
                reducer: R::NAME,
                sequence: self.version,
                what: named(key),
            });
        }
        Ok((self.version, first))
    }
}

impl<R: Reducer> Default for Fold<R> {
    fn default() -> Self {
        Self { states: BTreeMap::new(), bytes: 0, events: 0 }
    }
}

impl<R: Reducer> Fold<R> {
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) const fn events(&self) -> u64 {
        self.events
    }

    /// Applies an event.
    pub(crate) fn take(
        &mut self,
        event: &ApplicationEvent<'_>,
        before: &mut Before<'_>,
    ) -> Result<(), ReducerError> {
        let key = R::SCOPE.key(event.stream());
        if !self.states.contains_key(key) {
            let (version, kept) = before(key)?.unzip();
            let length = kept.as_ref().map_or(0, Vec::len);
            let (version, kept) = (version.unwrap_or(0), kept.as_deref());
            let state = match kept.and_then(|kept| ended::<R>(key, version, kept)) {
                Some(fault) => FoldState::Ended(version, fault),
                None => FoldState::State(Twin::of(key, version, kept)?),
            };
            self.bytes = self.bytes.saturating_add(2 * (length + key.len() + ENTRY_BYTES));
            self.states.insert(key.to_string(), state);
        }
        if let Some(FoldState::State(twin)) = self.states.get_mut(key) {
            match twin.take(key, event) {
                // The states of other streams do not depend on it.
                Err(fault) if fault.is_of_event() => {
                    self.states.insert(key.to_string(), FoldState::Ended(event.sequence, fault));
                }
                taken => taken?,
            }
        }
        self.bytes = self.bytes.saturating_add(2 * event.body.data.as_bytes().len());
        self.events = self.events.saturating_add(1);
        Ok(())
    }

    /// The state under a name, encoded, with the sequence of its last event, if it was changed.
    pub(crate) fn get(&self, key: &str) -> Result<Option<(u64, Vec<u8>)>, ReducerFault> {
        self.states.get(key).map(|state| state.kept(key)).transpose()
    }

    /// Why the reducer ended for a stream since the newest snapshot.
    pub(crate) fn ended(&self, key: &str) -> Option<ReducerFault> {
        match self.states.get(key)? {
            FoldState::Ended(_, fault) => Some(fault.clone()),
            FoldState::State(_) => None,
        }
    }

    /// Every state that was changed, encoded.
    pub(crate) fn encoded(&self) -> Result<BTreeMap<String, (u64, Vec<u8>)>, ReducerFault> {
        let each = self.states.iter();
        each.map(|(key, state)| Ok((key.clone(), state.kept(key)?))).collect()
    }
}

impl<R: Reducer> FoldState<R> {
    /// Returns what is kept: of an end its record, and no state, which no encoding is.
    fn kept(&self, key: &str) -> Result<(u64, Vec<u8>), ReducerFault> {
        match self {
            Self::State(twin) => twin.kept(key),
            Self::Ended(sequence, _) => Ok((*sequence, Vec::new())),
        }
    }
}

/// The fault of what is kept, where that is an end and no state.
pub(crate) fn ended<R: Reducer>(key: &str, sequence: u64, kept: &[u8]) -> Option<ReducerFault> {
    let (reducer, what) = (R::NAME, named(key));
    kept.is_empty().then_some(ReducerFault::Ended { reducer, sequence, what })
}

/// Applies an event to a state; a panic is told and goes no further.
fn applied<R: Reducer>(
    state: &mut R::State,
    event: &ApplicationEvent<'_>,
) -> Result<(), ReducerFault> {
    match catch_unwind(AssertUnwindSafe(|| R::apply(state, event))) {
        Ok(applied) => applied
            .map_err(|source| ReducerFault::Event { reducer: R::NAME, source: Arc::new(source) }),
        Err(panic) => Err(ReducerFault::Panicked {
            reducer: R::NAME,
            sequence: event.sequence,
            message: message_of(&*panic),
        }),
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

/// A state's encoding.
pub(crate) fn encoded<R: Reducer>(key: &str, state: &R::State) -> Result<Vec<u8>, ReducerFault> {
    let bytes = guarded::<R, _>(key, || serde_json::to_vec(state))?;
    if bytes.len() > MAX_STATE_BYTES {
        let (expected, found) = (MAX_STATE_BYTES, bytes.len());
        return Err(ReducerFault::TooLong { reducer: R::NAME, what: named(key), expected, found });
    }
    Ok(bytes)
}

/// The state of an encoding; without one the state before the first event.
pub(crate) fn decoded<R: Reducer>(
    key: &str,
    encoded: Option<&[u8]>,
) -> Result<R::State, ReducerFault> {
    guarded::<R, _>(key, || encoded.map_or_else(|| Ok(R::State::default()), serde_json::from_slice))
}

/// The state's own code runs here, too: what it panics with is why there is no encoding.
fn guarded<R: Reducer, T>(
    key: &str,
    work: impl FnOnce() -> Result<T, serde_json::Error>,
) -> Result<T, ReducerFault> {
    let done = catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message_of(&*panic));
    done.and_then(|done| done.map_err(|error| error.to_string()))
        .map_err(|reason| ReducerFault::Encoding { reducer: R::NAME, what: named(key), reason })
}
