//! Keys as they are carried: each once, with its owner.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::{KeyReceipt, KeyScope, Keys, Scopes};

/// A key, and what was recorded under it.
type Entry = (KeyScope, KeyReceipt);

/// The keys of what lives, by their owner; and those without one.
pub(crate) type Carried = (Vec<(String, Vec<Entry>)>, Vec<Entry>);

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
    /// What is carried: every key has its receipt, and an owner or none.
    pub(crate) fn carried(&self) -> Carried {
        let entry = |scope: &KeyScope| Some((*scope, self.receipts.get(scope)?.clone()));
        let entries = |scopes: &Scopes| scopes.values().filter_map(entry).collect::<Vec<_>>();
        let of_owners = self.of_owners.iter();
        let of_owners = of_owners.map(|(owner, scopes)| (owner.clone(), entries(scopes)));
        (of_owners.collect(), entries(&self.retired))
    }

    /// The keys that were carried. Each counts once, and of two with one first record the first:
    /// whatever the bytes say, what is held is what is carried on.
    pub(crate) fn from_carried((of_owners, retired): Carried) -> Self {
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

impl From<Spelled> for Keys {
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
