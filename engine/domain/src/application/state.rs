//! Positions of streams that the state knows: how far each has come. What is in them is for the
//! application's own reducers.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::core::codec::LazyPart;

/// So many streams are known, those that were written to last. How far an older one has come is
/// found in the log.
pub const MAX_KNOWN_STREAMS: usize = 65_536;

/// A stream as the state knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StreamView<'a> {
    /// Its name.
    pub stream: &'a str,
    /// Its version: the sequence of its last event.
    pub version: u64,
}

/// A stream's name, in an order that two names are told apart by at once: opening a log puts all of
/// them into it. Nothing that is shown or carried is in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    hash: u64,
    text: Arc<str>,
}

impl Name {
    fn of(text: &str) -> Self {
        Self { hash: fnv_1a(text), text: Arc::from(text) }
    }
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo). Names that are made to meet here are told apart by their
/// texts: that only takes longer.
fn fnv_1a(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Version of each stream, of those that are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Streams(LazyPart<StreamIndex>);

/// The streams that are known. Each is listed by its name and by its version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StreamIndex {
    versions: BTreeMap<Name, u64>,
    by_version: BTreeMap<u64, Arc<str>>,
    /// The newest version of a stream that is known no longer; 0: all are.
    forgotten: u64,
}

/// Form in which streams are carried: in the order of their versions.
type StreamsCheckpoint<T> = (Vec<(u64, T)>, u64);

impl Serialize for StreamIndex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let streams = self.by_version.iter().map(|(version, stream)| (*version, &**stream));
        let carried: StreamsCheckpoint<&str> = (streams.collect(), self.forgotten);
        carried.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StreamIndex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        StreamsCheckpoint::<&str>::deserialize(deserializer).map(Self::from_carried)
    }
}

impl Streams {
    /// The version of a stream: the sequence of its last event.
    pub(crate) fn version(&self, stream: &str) -> Option<u64> {
        self.0.versions.get(&Name::of(stream)).copied()
    }

    pub(crate) fn forgotten(&self) -> u64 {
        self.0.forgotten
    }

    /// Every one that is known, in the order of their last events.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = StreamView<'_>> {
        let streams = self.0.by_version.iter();
        streams.map(|(version, stream)| StreamView { stream, version: *version })
    }

    /// A stream has come to this record.
    pub(crate) fn follow(&mut self, stream: &str, sequence: u64) {
        self.0.follow(stream, sequence);
    }

    pub(crate) const fn held(&self) -> &LazyPart<StreamIndex> {
        &self.0
    }

    pub(crate) const fn held_mut(&mut self) -> &mut LazyPart<StreamIndex> {
        &mut self.0
    }
}

impl StreamIndex {
    fn follow(&mut self, stream: &str, sequence: u64) {
        let name = Name::of(stream);
        if let Some(version) = self.versions.get_mut(&name) {
            let known = self.by_version.remove(version);
            *version = sequence;
            self.by_version.insert(sequence, known.unwrap_or(name.text));
            return;
        }
        self.by_version.insert(sequence, Arc::clone(&name.text));
        self.versions.insert(name, sequence);
        if self.by_version.len() > MAX_KNOWN_STREAMS
            && let Some((version, oldest)) = self.by_version.pop_first()
        {
            self.versions.remove(&Name { hash: fnv_1a(&oldest), text: oldest });
            self.forgotten = version;
        }
    }

    /// Each counts once: whatever the bytes say, what is held is what is carried on.
    fn from_carried((streams, forgotten): StreamsCheckpoint<&str>) -> Self {
        let carried = streams.into_iter().take(MAX_KNOWN_STREAMS);
        let carried: Vec<(Name, u64)> =
            carried.map(|(version, stream)| (Name::of(stream), version)).collect();
        // Made of whole lists, which is faster than one by one.
        let text = |(name, version): &(Name, u64)| (*version, Arc::clone(&name.text));
        let by_version: BTreeMap<u64, Arc<str>> = carried.iter().map(text).collect();
        let versions: BTreeMap<Name, u64> = carried.iter().cloned().collect();
        if by_version.len() == carried.len() && versions.len() == carried.len() {
            return Self { versions, by_version, forgotten };
        }
        let mut all = Self { forgotten, ..Self::default() };
        for (name, version) in carried {
            if !all.versions.contains_key(&name) && !all.by_version.contains_key(&version) {
                all.by_version.insert(version, Arc::clone(&name.text));
                all.versions.insert(name, version);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{LazyPart, MAX_KNOWN_STREAMS, StreamIndex, Streams};
    use crate::core::codec::{Carrier, Unreadable, configuration};
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    fn written(streams: &Streams) -> Vec<u8> {
        let encoded = || bincode::serde::encode_to_vec(&**streams.held(), configuration()).unwrap();
        streams.held().carried().map_or_else(encoded, Vec::from)
    }

    fn taken_from(bytes: Vec<u8>, unreadable: &Unreadable) -> Streams {
        let carrier = Carrier::new(Arc::new(bytes), unreadable.clone());
        Streams(LazyPart::from(carrier.part(carrier.bytes())))
    }

    #[test]
    fn the_streams_that_were_written_to_last_are_known_and_carried() {
        let mut streams = Streams::default();
        let last = MAX_KNOWN_STREAMS as u64 + 1;
        (1..=last).for_each(|at| streams.follow(&alloc::format!("s{at}"), at));
        assert_eq!((streams.version("s1"), streams.forgotten()), (None, 1));
        streams.follow("s2", last + 1);
        streams.follow("new", last + 2);
        assert_eq!((streams.version("s2"), streams.version("s3")), (Some(last + 1), None));
        assert_eq!((streams.forgotten(), streams.iter().count()), (3, MAX_KNOWN_STREAMS));
        let carried = taken_from(written(&streams), &Unreadable::default());
        assert_eq!((&carried, written(&carried)), (&streams, written(&streams)));
    }

    #[test]
    fn what_was_carried_is_changed_by_the_next_event_as_if_it_had_not_been() {
        let mut streams = Streams::default();
        (1..=9).for_each(|at| streams.follow(&alloc::format!("s{}", at % 4), at));
        let unreadable = Unreadable::default();
        let mut carried = taken_from(written(&streams), &unreadable);
        for (at, stream) in ["s2", "new", "s3"].into_iter().enumerate() {
            streams.follow(stream, 10 + at as u64);
            carried.follow(stream, 10 + at as u64);
            assert_eq!((&carried, written(&carried)), (&streams, written(&streams)));
        }
        assert!(!unreadable.is_noted());
    }

    #[test]
    fn bytes_that_are_no_streams_are_none_and_are_noted_when_somebody_asks() {
        let unreadable = Unreadable::default();
        let none = taken_from(b"no streams".to_vec(), &unreadable);
        assert!(!unreadable.is_noted());
        assert_eq!(none.version("s1"), None);
        assert!(unreadable.is_noted());
    }

    #[test]
    fn what_is_carried_twice_counts_once() {
        let twice = alloc::vec![(1, "a"), (2, "a"), (2, "b"), (2, "c")];
        let known = StreamIndex::from_carried((twice, 0));
        let bytes = bincode::serde::encode_to_vec(
            ([(1u64, "a"), (2, "b")].to_vec(), 0u64),
            configuration(),
        );
        assert_eq!(known, **taken_from(bytes.unwrap(), &Unreadable::default()).held());
    }
}
