//! The keys under which callers repeat commands without effect (property E5).
//!
//! The keys of live loops and threads are remembered for as long as those live; of the others, the
//! newest 1024; older ones are found again in the log, by whoever has it. All of it follows from
//! the envelopes of recorded events, so it survives a restart.
//!
//! Keys as they are carried: each once, with its owner.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::core::codec::LazyPart;
use crate::core::hash::{Digest, HashBuilder};
use crate::core::ids::Idempotency;
use crate::core::limits::MAX_RETIRED_KEYS;
use crate::interruption_thread::decision::ENGINE_ID;
use crate::interruption_thread::event::InterruptionThreadEvent;
use crate::world::command::Command;
use crate::world::envelope::Envelope;
use crate::world::event::Event;
use crate::world::refusal::Refusal;
use crate::world::{LiveState, World};

/// A key and within what it is unique, as an injective hash: however long they are, a key takes the
/// same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct KeyScope(Digest);

impl KeyScope {
    fn of(correlation: &str, idempotency: &Idempotency) -> Self {
        let Idempotency { tenant, engine, key, .. } = idempotency;
        Self::hashed(tenant, engine, correlation, key)
    }

    fn hashed(tenant: &str, engine: &str, correlation: &str, key: &str) -> Self {
        let hash = HashBuilder::new("holdpoint idempotency key", 1).text(tenant).text(engine);
        Self(hash.text(correlation).text(key).finish())
    }
}

/// Record of a command under a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyReceipt {
    /// SHA-256 of the command's content.
    pub content: Digest,
    /// The first record.
    pub first_sequence: u64,
    /// The last record.
    pub last_sequence: u64,
}

impl KeyReceipt {
    /// This receipt, for whoever uses its key again.
    ///
    /// # Errors
    /// [`Refusal::IdempotencyConflict`]: the key was used for other content.
    pub fn given_again(&self, idempotency: &Idempotency) -> Result<Option<&Self>, Refusal> {
        if self.content == idempotency.content {
            return Ok(Some(self));
        }
        let (key, first_sequence) = (idempotency.key.clone(), self.first_sequence);
        Err(Refusal::IdempotencyConflict { key, first_sequence })
    }
}

/// A key within what it is unique, and what it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    /// The key with its tenant, engine and correlation, as an injective hash.
    pub scope: Digest,
    /// SHA-256 of the command's content.
    pub content: Digest,
}

/// Every key that is remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    held: LazyPart<HeldKeys>,
    /// The newest first record of a key that is remembered no longer. Carried by the room of the
    /// indexes, through which such a key is found again.
    forgotten: u64,
}

/// The keys themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HeldKeys {
    receipts: BTreeMap<KeyScope, KeyReceipt>,
    /// Keys without a live owner, by their first record.
    retired: Scopes,
    /// The keys of what lives: of loops and decision points by their id, of threads by
    /// [`thread_owner`].
    of_owners: BTreeMap<String, Scopes>,
}

/// Keys by their first record.
type Scopes = BTreeMap<u64, KeyScope>;

impl World {
    /// Returns what was recorded under this key within this correlation: the receipt to be given
    /// again, or `None` where the key is new.
    ///
    /// # Errors
    /// [`Refusal::IdempotencyConflict`]: the key was used for other content.
    pub fn receipt_of(
        &self,
        correlation: &str,
        idempotency: &Idempotency,
    ) -> Result<Option<&KeyReceipt>, Refusal> {
        let scope = KeyScope::of(correlation, idempotency);
        let receipt = self.hot.keys.held.receipts.get(&scope);
        receipt.map_or(Ok(None), |receipt| receipt.given_again(idempotency))
    }

    /// The key of a record, where this very world does not know it. Whether it stood for something
    /// long ago, the state has forgotten.
    #[must_use]
    pub fn new_key(&self, envelope: &Envelope) -> Option<KeyUse> {
        let idempotency = envelope.idempotency.as_ref()?;
        let scope = KeyScope::of(&envelope.correlation, idempotency);
        let is_known = self.hot.keys.held.receipts.contains_key(&scope);
        (!is_known).then_some(KeyUse { scope: scope.0, content: idempotency.content })
    }

    /// Every key that is known, and the first record under it.
    pub fn known_keys(&self) -> impl Iterator<Item = (KeyUse, u64)> {
        let held = self.hot.keys.held.receipts.iter();
        held.map(|(scope, KeyReceipt { content, first_sequence, .. })| {
            (KeyUse { scope: scope.0, content: *content }, *first_sequence)
        })
    }

    /// The record that drafted the plan which this event commits: the plan's key is that of its
    /// draft. `None` of any other event.
    #[must_use]
    pub fn drafted_with(&self, event: &Event) -> Option<u64> {
        let Event::InterruptionThread(InterruptionThreadEvent::TurnCommitted(body)) = event else {
            return None;
        };
        let scope =
            KeyScope::hashed(&body.tenant_id, ENGINE_ID, &body.correlation_id, &body.plan_key);
        self.hot.keys.held.receipts.get(&scope).map(|receipt| receipt.last_sequence)
    }

    /// Checks whether tenant, user, device and session of a turn or a row may be used now. Of any
    /// other command that is not asked.
    ///
    /// # Errors
    /// [`ThreadRefusal::Barred`](crate::interruption_thread::ThreadRefusal::Barred) with
    /// `X_FAIL_TENANT_SCOPE_INVALID`.
    pub fn check_scope(&self, command: &Command) -> Result<(), Refusal> {
        let Some(scope) = command.turn_scope() else { return Ok(()) };
        self.registered().session_of(&scope).map(drop).map_err(Refusal::from)
    }
}

impl LiveState {
    /// Follows the key of a record.
    pub(crate) fn follow_key(&mut self, sequence: u64, envelope: &Envelope) {
        let Self { loops, threads, keys, decision_points, .. } = self;
        let live_owner = || match thread_of(&envelope.event) {
            Some((tenant_id, correlation_id)) => {
                let found = threads.find(tenant_id, correlation_id);
                let live = found.filter(|thread| !thread.is_closed);
                live.map(|_| thread_owner(tenant_id, correlation_id))
            }
            None if envelope.event.decision_point().is_some() => {
                let id = envelope.event.decision_point();
                id.filter(|id| decision_points.is_live(id)).map(String::from)
            }
            None => envelope.event.loop_id().filter(|id| loops.contains_key(id)).map(String::from),
        };
        keys.follow(sequence, envelope, live_owner);
        if let Event::InterruptionThread(InterruptionThreadEvent::ThreadClosed(body)) =
            &envelope.event
        {
            keys.close(&thread_owner(&body.tenant_id, &body.correlation_id));
        }
    }
}

impl Keys {
    /// Returns whether a record's key was used for other content before.
    pub(crate) fn conflicts(&self, envelope: &Envelope) -> bool {
        envelope.idempotency.as_ref().is_some_and(|idempotency| {
            let receipt = self.held.receipts.get(&KeyScope::of(&envelope.correlation, idempotency));
            receipt.is_some_and(|receipt| receipt.content != idempotency.content)
        })
    }

    /// Follows a record. A key that is new belongs to `live_owner`, for as long as that lives.
    fn follow(
        &mut self,
        sequence: u64,
        envelope: &Envelope,
        live_owner: impl FnOnce() -> Option<String>,
    ) {
        let Some(idempotency) = &envelope.idempotency else { return };
        let scope = KeyScope::of(&envelope.correlation, idempotency);
        let held = &mut *self.held;
        if let Some(receipt) = held.receipts.get_mut(&scope) {
            receipt.last_sequence = sequence;
            return;
        }
        let content = idempotency.content;
        let receipt = KeyReceipt { content, first_sequence: sequence, last_sequence: sequence };
        held.receipts.insert(scope, receipt);
        match live_owner() {
            Some(owner) => {
                let before = held.of_owners.entry(owner).or_default().insert(sequence, scope);
                before.map(|before| held.receipts.remove(&before));
            }
            None => self.retire(Scopes::from([(sequence, scope)])),
        }
    }

    pub(crate) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(crate) const fn has_forgotten(&mut self, first_sequence: u64) {
        self.forgotten = first_sequence;
    }

    /// A loop settled, a thread or a decision point ended: its keys are remembered for a while.
    pub(crate) fn close(&mut self, owner: &str) {
        if let Some(keys) = self.held.of_owners.remove(owner) {
            self.retire(keys);
        }
    }

    /// Retires keys: what is retired is little, and what is remembered is much: `append` would go
    /// through both.
    fn retire(&mut self, keys: Scopes) {
        let Self { held, forgotten } = self;
        let HeldKeys { receipts, retired, .. } = &mut **held;
        for (first_sequence, scope) in keys {
            let before = retired.insert(first_sequence, scope);
            before.map(|before| receipts.remove(&before));
        }
        while retired.len() > MAX_RETIRED_KEYS {
            if let Some((first_sequence, scope)) = retired.pop_first() {
                receipts.remove(&scope);
                *forgotten = (*forgotten).max(first_sequence);
            }
        }
    }
}

/// The owner of a thread's keys. Threads with different tenants or correlations have different
/// ones, and none is the id of a loop, which begins with `LOOP-`.
fn thread_owner(tenant_id: &str, correlation_id: &str) -> String {
    format!("THREAD-{}:{tenant_id}{correlation_id}", tenant_id.len())
}

/// The thread that an event's key belongs to. One of a refusal is nobody's: it takes no key.
fn thread_of(event: &Event) -> Option<(&str, &str)> {
    event.thread().filter(|_| {
        !matches!(event, Event::InterruptionThread(InterruptionThreadEvent::RowRefused(_)))
    })
}

/// A key, and what was recorded under it.
type Entry = (KeyScope, KeyReceipt);

/// The keys of what lives, by their owner; and those without one.
type KeysCheckpoint = (Vec<(String, Vec<Entry>)>, Vec<Entry>);

/// The same, of keys that are held.
type Lent<'a> = (Vec<(&'a str, Vec<LentEntry<'a>>)>, Vec<LentEntry<'a>>);

type LentEntry<'a> = (&'a KeyScope, &'a KeyReceipt);

/// Keys as they were carried before they were hashed.
#[derive(Deserialize)]
pub(crate) struct Spelled {
    receipts: BTreeMap<SpelledScope, KeyReceipt>,
    retired: BTreeMap<u64, SpelledScope>,
    of_owners: BTreeMap<String, BTreeMap<u64, SpelledScope>>,
}

/// Within what a key is unique.
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct SpelledScope {
    tenant: String,
    engine: String,
    correlation: String,
    key: String,
}

impl Keys {
    /// The keys of a room.
    pub(crate) fn of(held: impl Into<LazyPart<HeldKeys>>) -> Self {
        Self { held: held.into(), forgotten: 0 }
    }

    pub(crate) const fn held(&self) -> &LazyPart<HeldKeys> {
        &self.held
    }

    pub(crate) const fn held_mut(&mut self) -> &mut LazyPart<HeldKeys> {
        &mut self.held
    }
}

impl Serialize for HeldKeys {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.carried().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HeldKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        KeysCheckpoint::deserialize(deserializer).map(Self::from_carried)
    }
}

impl HeldKeys {
    /// Returns what is carried: every key has its receipt, and an owner or none.
    fn carried(&self) -> Lent<'_> {
        let of_owners = self.of_owners.iter();
        let of_owners = of_owners.map(|(owner, scopes)| (owner.as_str(), self.lent(scopes)));
        (of_owners.collect(), self.lent(&self.retired))
    }

    fn lent<'a>(&'a self, scopes: &'a Scopes) -> Vec<LentEntry<'a>> {
        scopes.values().filter_map(|scope| Some((scope, self.receipts.get(scope)?))).collect()
    }

    /// The keys that were carried. Each counts once, and of two with one first record the first:
    /// whatever the bytes say, what is held is what is carried on.
    fn from_carried((of_owners, retired): KeysCheckpoint) -> Self {
        let mut keys = Self::default();
        for (owner, entries) in of_owners {
            admit(entries, &mut keys.receipts, keys.of_owners.entry(owner).or_default());
        }
        admit(retired, &mut keys.receipts, &mut keys.retired);
        keys
    }
}

/// Takes keys that are new, each under a first record that no other one has.
fn admit(entries: Vec<Entry>, receipts: &mut BTreeMap<KeyScope, KeyReceipt>, scopes: &mut Scopes) {
    for (scope, receipt) in entries {
        let first_sequence = receipt.first_sequence;
        if !receipts.contains_key(&scope) && !scopes.contains_key(&first_sequence) {
            scopes.insert(first_sequence, scope);
            receipts.insert(scope, receipt);
        }
    }
}

impl From<Spelled> for HeldKeys {
    fn from(spelled: Spelled) -> Self {
        let Spelled { receipts, retired, of_owners } = spelled;
        let entry = |scope: &SpelledScope| Some((scope.into(), receipts.get(scope)?.clone()));
        let entries = |scopes: &BTreeMap<u64, SpelledScope>| -> Vec<Entry> {
            scopes.values().filter_map(entry).collect()
        };
        let of_owners = of_owners.iter().map(|(owner, scopes)| (owner.clone(), entries(scopes)));
        Self::from_carried((of_owners.collect(), entries(&retired)))
    }
}

impl From<&SpelledScope> for KeyScope {
    fn from(spelled: &SpelledScope) -> Self {
        let SpelledScope { tenant, engine, correlation, key } = spelled;
        Self::hashed(tenant, engine, correlation, key)
    }
}
