//! What the state knows of streams: how far each has come. What is in them is for the application's
//! own reducers.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::OnceCell;

use serde::Serialize;

use crate::core::codec::read_first;

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

/// How far each stream has come, of those that are known. What a snapshot carried is decoded when
/// somebody first asks, or an event comes: most of those who open a log do neither.
#[derive(Debug, Clone, Default)]
pub(crate) struct Streams {
    /// Empty where nothing was carried, or something has changed since.
    carried: OnceCell<Box<[u8]>>,
    known: OnceCell<Known>,
}

/// The streams that are known. Each is listed by its name and by its version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Known {
    versions: BTreeMap<Name, u64>,
    by_version: BTreeMap<u64, Arc<str>>,
    /// The newest version of a stream that is known no longer; 0: all are.
    forgotten: u64,
}

/// As streams are carried: in the order of their versions.
type Carried<T> = (Vec<(u64, T)>, u64);

impl PartialEq for Streams {
    fn eq(&self, other: &Self) -> bool {
        self.known() == other.known()
    }
}

impl Eq for Streams {}

impl Streams {
    /// The version of a stream: the sequence of its last event.
    pub(crate) fn version(&self, stream: &str) -> Option<u64> {
        self.known().versions.get(&Name::of(stream)).copied()
    }

    pub(crate) fn forgotten(&self) -> u64 {
        self.known().forgotten
    }

    /// Every one that is known, in the order of their last events.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = StreamView<'_>> {
        let streams = self.known().by_version.iter();
        streams.map(|(version, stream)| StreamView { stream, version: *version })
    }

    /// A stream has come to this record.
    pub(crate) fn follow(&mut self, stream: &str, sequence: u64) {
        self.known();
        self.carried.take();
        if let Some(known) = self.known.get_mut() {
            known.follow(stream, sequence);
        }
    }

    /// The streams as bytes.
    pub(crate) fn write(&self, encoded: impl FnOnce(&Carried<&str>) -> Vec<u8>) -> Vec<u8> {
        if let Some(carried) = self.carried.get() {
            return carried.to_vec();
        }
        let Known { by_version, forgotten, .. } = self.known();
        let streams = by_version.iter().map(|(version, stream)| (*version, &**stream));
        encoded(&(streams.collect(), *forgotten))
    }

    /// The streams that were carried, not decoded yet.
    pub(crate) fn from_carried(bytes: &[u8]) -> Self {
        Self { carried: OnceCell::from(Box::from(bytes)), known: OnceCell::new() }
    }

    /// Decodes them now and forgets the bytes. Says whether they are streams.
    pub(crate) fn decode(&mut self) -> bool {
        let Some(bytes) = self.carried.take() else { return true };
        let known = known_of(&bytes);
        let is_read = known.is_some();
        self.known = OnceCell::from(known.unwrap_or_default());
        is_read
    }

    /// Bytes that are no streams are none of them. A state that is believed has no such bytes: it
    /// was carried by a program that had the streams.
    fn known(&self) -> &Known {
        let carried = || self.carried.get().and_then(|bytes| known_of(bytes));
        self.known.get_or_init(|| carried().unwrap_or_default())
    }
}

fn known_of(bytes: &[u8]) -> Option<Known> {
    let (carried, read) = read_first::<Carried<&str>>(bytes).ok()?;
    (read == bytes.len()).then(|| Known::from_carried(carried))
}

impl Known {
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
    fn from_carried((streams, forgotten): Carried<&str>) -> Self {
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
    use super::{Known, MAX_KNOWN_STREAMS, Streams};
    use crate::core::codec::configuration;
    use alloc::vec::Vec;

    fn written(streams: &Streams) -> Vec<u8> {
        streams.write(|carried| bincode::serde::encode_to_vec(carried, configuration()).unwrap())
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
        let carried = Streams::from_carried(&written(&streams));
        assert_eq!((&carried, written(&carried)), (&streams, written(&streams)));
    }

    #[test]
    fn what_was_carried_is_changed_by_the_next_event_as_if_it_had_not_been() {
        let mut streams = Streams::default();
        (1..=9).for_each(|at| streams.follow(&alloc::format!("s{}", at % 4), at));
        let mut carried = Streams::from_carried(&written(&streams));
        for (at, stream) in ["s2", "new", "s3"].into_iter().enumerate() {
            streams.follow(stream, 10 + at as u64);
            carried.follow(stream, 10 + at as u64);
            assert_eq!((&carried, written(&carried)), (&streams, written(&streams)));
        }
        let mut none = Streams::from_carried(b"no streams");
        assert!(!none.decode() && none == Streams::default());
        assert!(Streams::from_carried(&written(&streams)).decode());
    }

    #[test]
    fn what_is_carried_twice_counts_once() {
        let twice = alloc::vec![(1, "a"), (2, "a"), (2, "b"), (2, "c")];
        let known = Known::from_carried((twice, 0));
        let bytes = bincode::serde::encode_to_vec(
            ([(1u64, "a"), (2, "b")].to_vec(), 0u64),
            configuration(),
        );
        assert_eq!(known, *Streams::from_carried(&bytes.unwrap()).known());
    }
}
