//! Reading again what was checked.

use super::marks::Mark;
use super::trip::walk_on;
use crate::read::ReadError;
use holdpoint_log_files::follow::VisitPlaced;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{Follower, READINGS_MAX, ReadStorage};
use holdpoint_log_format::ChainPosition;
use std::ops::ControlFlow;

/// A log, and links of it that were found when it was checked.
pub(super) struct Checked<'a, S> {
    pub(super) storage: &'a S,
    /// Those that are remembered, in order.
    pub(super) marks: &'a [Mark],
    /// The newest one.
    pub(super) newest: ChainPosition,
}

impl<S: ReadStorage> Checked<'_, S> {
    /// Shows records from a place on, across segments, until `visit` has had enough, and then reads
    /// on to the next record of which the link is known. Each link depends on all records before
    /// it: where they lead to that one, they are those that were checked.
    ///
    /// # Errors
    /// The log cannot be read, or is another one by now: nothing that `visit` saw is proven then.
    pub(super) fn walk_on(
        &self,
        place: Follower,
        visit: &mut VisitPlaced<'_>,
    ) -> Result<(), ReadError> {
        let (mut due, mut other) = (None, None);
        walk_on(self.storage, place, &mut |segment, place, record| {
            let (sequence, link) = (record.header.sequence, record.header.link);
            if due.is_none() && visit(segment, place, record).is_break() {
                due = Some(self.known_from(sequence));
            }
            match due {
                Some(known) if sequence >= known.sequence => {
                    let is_it = (sequence, link) == (known.sequence, known.link);
                    other = (!is_it).then(|| segment_path(segment.first_sequence()));
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        })?;
        other.map_or(Ok(()), |file| Err(ReadError::Changed { file }))
    }

    /// The first record, from this one on, of which the link is known.
    fn known_from(&self, sequence: u64) -> ChainPosition {
        let before = self.marks.partition_point(|mark| mark.chain.sequence < sequence);
        self.marks.get(before).map_or(self.newest, |mark| mark.chain)
    }
}

/// Goes somewhere in what `open` opened and checked. Where the log is another one by then, it is
/// opened anew, as often as a reading begins anew.
///
/// # Errors
/// Those of both; of the last attempt.
pub fn travel<L, T>(
    mut open: impl FnMut() -> Result<L, ReadError>,
    mut go: impl FnMut(&L) -> Result<T, ReadError>,
) -> Result<(L, T), ReadError> {
    let mut begun = 1;
    loop {
        let checked = open()?;
        match go(&checked) {
            Err(ReadError::Changed { .. }) if begun < READINGS_MAX => begun += 1,
            gone => return gone.map(|found| (checked, found)),
        }
    }
}
