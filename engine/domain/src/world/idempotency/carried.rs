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

    /// The keys that were carried.
    pub(crate) fn from_carried((of_owners, retired): Carried) -> Self {
        let all = of_owners.iter().flat_map(|(_, entries)| entries).chain(&retired);
        let receipts = all.cloned().collect();
        let of_owners = of_owners.into_iter().map(|(owner, entries)| (owner, scopes(&entries)));
        let (of_owners, retired) = (of_owners.collect(), scopes(&retired));
        Self { receipts, retired, of_owners, forgotten: 0 }
    }
}

fn scopes(entries: &[Entry]) -> Scopes {
    entries.iter().map(|(scope, receipt)| (receipt.first_sequence, *scope)).collect()
}

impl From<Spelled> for Keys {
    fn from(spelled: Spelled) -> Self {
        let all = |scopes: BTreeMap<u64, SpelledScope>| -> Scopes {
            scopes.into_iter().map(|(first, scope)| (first, KeyScope::from(&scope))).collect()
        };
        let receipts = spelled.receipts.into_iter();
        let of_owners = spelled.of_owners.into_iter();
        Self {
            receipts: receipts.map(|(scope, receipt)| (KeyScope::from(&scope), receipt)).collect(),
            retired: all(spelled.retired),
            of_owners: of_owners.map(|(owner, scopes)| (owner, all(scopes))).collect(),
            forgotten: 0,
        }
    }
}

impl From<&SpelledScope> for KeyScope {
    fn from(spelled: &SpelledScope) -> Self {
        let SpelledScope { tenant, engine, correlation, key } = spelled;
        Self::hashed(tenant, engine, correlation, key)
    }
}
