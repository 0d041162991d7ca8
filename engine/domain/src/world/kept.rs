//! Parts of the state that are decoded when somebody first asks for them, so that taking up a
//! state takes no longer than its length does.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::fmt;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ExecutionLoop;
use crate::codec::{configuration, read_first};

/// A value, or the bytes in which it is carried, or both. What is not asked for stays bytes, and is
/// carried on as they are; what does not change is encoded once.
#[derive(Clone)]
pub(crate) struct Kept<T> {
    /// Empty where the value was made here or may have changed, and was not carried since.
    carried: OnceCell<Box<[u8]>>,
    /// Empty until somebody asks; `None` inside: the bytes are no such value.
    value: OnceCell<Option<Box<T>>>,
}

impl<T> From<Box<T>> for Kept<T> {
    fn from(value: Box<T>) -> Self {
        Self { carried: OnceCell::new(), value: OnceCell::from(Some(value)) }
    }
}

/// Bytes that are no such value are `None` everywhere. A state that is believed has none: it was
/// carried by a program that had the values.
impl<T: DeserializeOwned> Kept<T> {
    /// The value.
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get_or_init(|| decoded(self.carried.get()?)).as_deref()
    }

    /// The value, which may change.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.get()?;
        self.carried.take();
        self.value.get_mut()?.as_deref_mut()
    }

    /// The value alone.
    pub(crate) fn into_value(self) -> Option<Box<T>> {
        self.get()?;
        self.value.into_inner().flatten()
    }

    /// Decodes it now and forgets the bytes, so that it is carried as the value is. Says whether
    /// they are one.
    pub(super) fn decode(&mut self) -> bool {
        self.get_mut().is_some()
    }
}

fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Option<Box<T>> {
    let (value, read) = read_first(bytes).ok()?;
    (read == bytes.len()).then(|| Box::new(value))
}

impl<T: DeserializeOwned + PartialEq> PartialEq for Kept<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: DeserializeOwned + Eq> Eq for Kept<T> {}

impl<T: DeserializeOwned + fmt::Debug> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// As a run of bytes, of whatever length, in which the value is.
impl<T: Serialize> Serialize for Kept<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(bytes) = self.carried.get() {
            return serializer.serialize_bytes(bytes);
        }
        let value = self.value.get().and_then(Option::as_deref);
        let value = value.ok_or_else(|| S::Error::custom("there is neither value nor bytes"))?;
        let bytes = bincode::serde::encode_to_vec(value, configuration());
        let bytes = bytes.map_err(S::Error::custom)?.into_boxed_slice();
        serializer.serialize_bytes(self.carried.get_or_init(|| bytes))
    }
}

impl<'de, T> Deserialize<'de> for Kept<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = deserializer.deserialize_bytes(RunVisitor)?;
        Ok(Self { carried: OnceCell::from(Box::from(bytes)), value: OnceCell::new() })
    }
}

struct RunVisitor;

impl<'de> Visitor<'de> for RunVisitor {
    type Value = &'de [u8];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a run of bytes")
    }

    fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<&'de [u8], E> {
        Ok(bytes)
    }
}

/// Live loops by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Loops(BTreeMap<String, Kept<ExecutionLoop>>);

impl Loops {
    pub(crate) fn get(&self, loop_id: &str) -> Option<&ExecutionLoop> {
        self.0.get(loop_id)?.get()
    }

    pub(crate) fn get_mut(&mut self, loop_id: &str) -> Option<&mut ExecutionLoop> {
        self.0.get_mut(loop_id)?.get_mut()
    }

    pub(crate) fn contains_key(&self, loop_id: &str) -> bool {
        self.0.contains_key(loop_id)
    }

    pub(crate) fn insert(&mut self, loop_id: String, entity: impl Into<Box<ExecutionLoop>>) {
        self.0.insert(loop_id, Kept::from(entity.into()));
    }

    pub(crate) fn remove(&mut self, loop_id: &str) -> Option<Box<ExecutionLoop>> {
        self.0.remove(loop_id)?.into_value()
    }

    /// By id.
    pub(crate) fn values(&self) -> impl Iterator<Item = &ExecutionLoop> {
        self.0.values().filter_map(Kept::get)
    }

    /// What is carried, by id.
    pub(super) const fn carried(&self) -> &BTreeMap<String, Kept<ExecutionLoop>> {
        &self.0
    }

    pub(super) fn from_carried(carried: Vec<(String, Kept<ExecutionLoop>)>) -> Self {
        Self(carried.into_iter().collect())
    }

    /// Decodes all of them; the ids by which they are found are then theirs. Says whether each is
    /// one.
    pub(super) fn decode(&mut self) -> bool {
        let are_loops = self.0.values_mut().all(Kept::decode);
        let loops = core::mem::take(&mut self.0).into_values().filter_map(Kept::into_value);
        loops.for_each(|entity| self.insert(String::from(entity.loop_id()), entity));
        are_loops
    }
}
