//! What the state knows of streams: how far each has come. What is in them is for the application's
//! own reducers.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::Serialize;

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

/// The streams that are known. Each is listed by its name and by its version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Streams {
    versions: BTreeMap<Arc<str>, u64>,
    by_version: BTreeMap<u64, Arc<str>>,
    /// The newest version of a stream that is known no longer; 0: all are.
    forgotten: u64,
}

/// As streams are carried: in the order of their versions.
pub(crate) type Carried<T> = (Vec<(u64, T)>, u64);

impl Streams {
    /// The version of a stream: the sequence of its last event.
    pub(crate) fn version(&self, stream: &str) -> Option<u64> {
        self.versions.get(stream).copied()
    }

    pub(crate) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Every one that is known, in the order of their last events.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = StreamView<'_>> {
        self.by_version.iter().map(|(version, stream)| StreamView { stream, version: *version })
    }

    /// A stream has come to this record.
    pub(crate) fn follow(&mut self, stream: &str, sequence: u64) {
        let before = self.versions.get(stream).and_then(|it| self.by_version.remove(it));
        let name = before.unwrap_or_else(|| Arc::from(stream));
        self.versions.insert(Arc::clone(&name), sequence);
        self.by_version.insert(sequence, name);
        if self.by_version.len() > MAX_KNOWN_STREAMS
            && let Some((version, oldest)) = self.by_version.pop_first()
        {
            self.versions.remove(&oldest);
            self.forgotten = version;
        }
    }

    pub(crate) fn carried(&self) -> Carried<&str> {
        let streams = self.by_version.iter().map(|(version, stream)| (*version, &**stream));
        (streams.collect(), self.forgotten)
    }

    /// The streams that were carried. Each counts once: whatever the bytes say, what is held is
    /// what is carried on.
    pub(crate) fn from_carried((streams, forgotten): Carried<&str>) -> Self {
        let mut all = Self { forgotten, ..Self::default() };
        for (version, stream) in streams.into_iter().take(MAX_KNOWN_STREAMS) {
            let is_new = !all.versions.contains_key(stream);
            if is_new && !all.by_version.contains_key(&version) {
                let name: Arc<str> = Arc::from(stream);
                all.versions.insert(Arc::clone(&name), version);
                all.by_version.insert(version, name);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_KNOWN_STREAMS, Streams};

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
        assert_eq!(Streams::from_carried(streams.carried()), streams);
    }

    #[test]
    fn what_is_carried_twice_counts_once() {
        let twice = alloc::vec![(1, "a"), (2, "a"), (2, "b"), (2, "c")];
        let streams = Streams::from_carried((twice, 0));
        let known: alloc::vec::Vec<_> = streams.iter().map(|it| (it.stream, it.version)).collect();
        assert_eq!(known, [("a", 1), ("b", 2)]);
    }
}
