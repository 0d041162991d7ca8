//! The keys under which callers repeat commands without effect (property E5).
//!
//! The keys of live loops are remembered for as long as the loop lives; of the others, the newest
//! 4096. All of it follows from the envelopes of recorded events, so it survives a restart.

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::World;
use crate::envelope::{Envelope, Idempotency};
use crate::hash::Digest;
use crate::limits::MAX_RETIRED_KEYS;
use crate::refusal::Refusal;

/// Within what a key is unique.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct KeyScope {
    tenant: String,
    engine: String,
    correlation: String,
    key: String,
}

impl KeyScope {
    fn of(correlation: &str, idempotency: &Idempotency) -> Self {
        Self {
            tenant: idempotency.tenant.clone(),
            engine: idempotency.engine.clone(),
            correlation: String::from(correlation),
            key: idempotency.key.clone(),
        }
    }
}

/// What was recorded under a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyReceipt {
    /// SHA-256 of the command's content.
    pub content: Digest,
    /// The first record.
    pub first_sequence: u64,
    /// The last record.
    pub last_sequence: u64,
}

/// Every key that is remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Keys {
    receipts: BTreeMap<KeyScope, KeyReceipt>,
    /// Keys without a live loop, by their first record.
    retired: BTreeMap<u64, KeyScope>,
    /// The keys of live loops.
    of_loops: BTreeMap<String, BTreeMap<u64, KeyScope>>,
}

impl World {
    /// What was recorded under this key within this correlation: the receipt to be given again,
    /// or `None` where the key is new.
    ///
    /// # Errors
    /// [`Refusal::IdempotencyConflict`]: the key was used for other content.
    pub fn receipt_of(
        &self,
        correlation: &str,
        idempotency: &Idempotency,
    ) -> Result<Option<&KeyReceipt>, Refusal> {
        let scope = KeyScope::of(correlation, idempotency);
        match self.hot.keys.receipts.get(&scope) {
            Some(receipt) if receipt.content != idempotency.content => {
                let (key, first_sequence) = (scope.key, receipt.first_sequence);
                Err(Refusal::IdempotencyConflict { key, first_sequence })
            }
            found => Ok(found),
        }
    }
}

impl Keys {
    /// Follows a record. Says whether the key was used for other content before.
    pub(crate) fn follow(&mut self, sequence: u64, envelope: &Envelope, is_live: bool) -> bool {
        let Some(idempotency) = &envelope.idempotency else { return false };
        let scope = KeyScope::of(&envelope.correlation, idempotency);
        if let Some(receipt) = self.receipts.get_mut(&scope) {
            let conflicts = receipt.content != idempotency.content;
            receipt.last_sequence = sequence;
            return conflicts;
        }
        let content = idempotency.content;
        let receipt = KeyReceipt { content, first_sequence: sequence, last_sequence: sequence };
        self.receipts.insert(scope.clone(), receipt);
        match envelope.event.loop_id().filter(|_| is_live) {
            Some(id) => {
                self.of_loops.entry(String::from(id)).or_default().insert(sequence, scope);
            }
            None => self.retire(BTreeMap::from([(sequence, scope)])),
        }
        false
    }

    /// A loop settled: its keys are remembered for a while.
    pub(crate) fn close(&mut self, loop_id: &str) {
        if let Some(keys) = self.of_loops.remove(loop_id) {
            self.retire(keys);
        }
    }

    fn retire(&mut self, mut keys: BTreeMap<u64, KeyScope>) {
        self.retired.append(&mut keys);
        while self.retired.len() > MAX_RETIRED_KEYS {
            if let Some((_, scope)) = self.retired.pop_first() {
                self.receipts.remove(&scope);
            }
        }
    }
}
