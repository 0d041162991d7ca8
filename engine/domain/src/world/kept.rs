//! What of the state is there only when somebody asks for it: parts that are decoded then, so that
//! taking up a state takes no longer than its length does; and what has left the state and was
//! found again in the log, for the command in hand, by whoever has the log.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::fmt;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::core::codec::{configuration, read_first};
use crate::core::limits::MAX_CLOSED_REQUESTS;
use crate::core::payload::Text;
use crate::decision_point::state::DecisionPoint;
use crate::decision_point::types::MAX_CLOSED_DECISION_POINTS;
use crate::governed::aggregate::ExecutionLoop;
use crate::interruption_thread::state::{ClosedThread, MAX_CLOSED_THREADS};
use crate::registration::event::RegistrationEvent;
use crate::registration::state::Registry;
use crate::world::World;

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
    pub(crate) fn decode(&mut self) -> bool {
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
    pub(crate) const fn carried(&self) -> &BTreeMap<String, Kept<ExecutionLoop>> {
        &self.0
    }

    pub(crate) fn from_carried(carried: Vec<(String, Kept<ExecutionLoop>)>) -> Self {
        Self(carried.into_iter().collect())
    }

    /// Decodes all of them; the ids by which they are found are then theirs. Says whether each is
    /// one.
    pub(crate) fn decode(&mut self) -> bool {
        let are_loops = self.0.values_mut().all(Kept::decode);
        let loops = core::mem::take(&mut self.0).into_values().filter_map(Kept::into_value);
        loops.for_each(|entity| self.insert(String::from(entity.loop_id()), entity));
        are_loops
    }
}

/// What was found again. Each is what the log says: the rules believe it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recalled {
    /// A thread that was closed, and with which record.
    pub(crate) closed_thread: Option<ClosedThread>,
    /// The id of a loop, request or decision point that the command would begin, and that one had
    /// before.
    used_id: Option<String>,
    /// The session and the work order that the command names, as they were registered last.
    registrations: Registry,
    /// The decision point that the command is about: it ended.
    pub(crate) decision_point: Option<DecisionPoint>,
}

impl Recalled {
    /// A thread was closed with this record.
    pub fn thread_was_closed(&mut self, tenant_id: &str, correlation_id: &str, sequence: u64) {
        let key = (Text::from(tenant_id), Text::from(correlation_id));
        self.closed_thread = Some((key, sequence));
    }

    /// A session or a work order was registered like this, last.
    pub fn was_registered(&mut self, event: &RegistrationEvent) {
        self.registrations.apply(event, 0);
    }

    pub(crate) const fn registrations(&self) -> &Registry {
        &self.registrations
    }

    /// A decision point went like this. One that is not over is in the state, and not taken.
    pub fn decision_point_ended(&mut self, point: DecisionPoint) {
        self.decision_point = Some(point).filter(|point| !point.is_live());
    }
}

impl World {
    /// Tells the rules what the log says of what the state has forgotten: until the next time that
    /// this is called.
    pub fn recall(&mut self, recalled: Recalled) {
        self.recalled = recalled;
    }

    /// Adds to what was recalled for the command in hand that a loop, request or decision point
    /// had this id.
    pub fn recall_used_id(&mut self, id: String) {
        self.recalled.used_id = Some(id);
    }

    /// Whether loops have left the state.
    #[must_use]
    pub fn forgets_loops(&self) -> bool {
        !self.hot.totals.loops_settled.is_empty()
    }

    /// Whether requests of loops that settled may have left the state.
    #[must_use]
    pub fn forgets_requests(&self) -> bool {
        self.hot.requests.closed_count() >= MAX_CLOSED_REQUESTS
    }

    /// Whether decision points that ended may have left the state.
    #[must_use]
    pub fn forgets_decision_points(&self) -> bool {
        self.hot.decision_points.closed_count() >= MAX_CLOSED_DECISION_POINTS
    }

    /// Whether threads that ended may have left the state.
    #[must_use]
    pub fn forgets_threads(&self) -> bool {
        self.hot.threads.closed_count() >= MAX_CLOSED_THREADS
    }

    /// Whether something that is not in the state any more had this id, as far as was looked.
    pub(crate) fn was_used(&self, id: &str) -> bool {
        self.recalled.used_id.as_deref() == Some(id)
    }

    /// Whether a decision point is in the state, and was not only found again.
    pub(crate) fn remembers(&self, point: &DecisionPoint) -> bool {
        self.hot.decision_points.find(&point.decision_id).is_some()
    }

    /// The decision point with this id: in the state, or found again for the command in hand.
    pub(crate) fn known_point(&self, decision_id: &str) -> Option<&DecisionPoint> {
        let recalled = self.recalled.decision_point.as_ref();
        let recalled = recalled.filter(|point| *point.decision_id == *decision_id);
        self.hot.decision_points.find(decision_id).or(recalled)
    }
}
