//! Reach of a reading, and what that proves of each record that it shows.

use crate::read::ReadError;
use crate::records::indexes::LogTies;
use crate::records::part::{Part, last_run};
use crate::report::{Report, Unproven, Verdict};
use holdpoint_domain::log::UnprovenRecords;
use holdpoint_log_files::reader::Disregard;
use holdpoint_log_files::{LogReader, ReadStorage, Standing, Survey, Ties};
use holdpoint_log_format::BootId;
use serde::Serialize;

/// Reach of a reading: what it read, searched or excluded, and what of that is tied to the newest
/// witness.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reach {
    /// True if every record of the log was read and checked, and what is told was made from all of
    /// them.
    pub whole: bool,
    /// The first record that the log has, with the archives that are read with it.
    pub begins: u64,
    /// The log's segments.
    pub segments: u64,
    /// Those of which records that were needed were read and checked, by way of an index too.
    pub segments_read: u64,
    /// Those that were searched by an index, which excludes what it does not name.
    pub segments_by_index: u64,
    /// Those whose records, or the last ones of them, were tied to the witness.
    pub segments_tied: u64,
    /// The first record that was tied: all from there up to `witnessed_to` are. `None`: nothing was
    /// tied.
    pub tied_from: Option<u64>,
    /// Records before that which are tied as well, by the index of their segment: a state that the
    /// chain states says which one is right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tied_by_state: Vec<TiedByState>,
    /// The records that state which indexes are right, or a state that says so: of the indexes
    /// that were asked, in their order. What these exclude was not searched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub indexes_stated_by: Vec<u64>,
    /// The records that state the snapshots which states that were told of were made from, in
    /// their order: what happened before such a record is as it states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stated_by: Vec<u64>,
    /// The record that carries the state behind which the log begins: what is from before `begins`
    /// is as stated by it, and is not among what was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried_by: Option<u64>,
    /// The newest record that a witness names: HEAD, or a head from outside that matches. `None`
    /// where none can be read.
    pub witnessed_to: Option<u64>,
    /// The first record behind that, where some were read: they have no witness yet.
    pub no_witness_from: Option<u64>,
    /// The newest record that is known to be durable; `None` where that was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable_to: Option<u64>,
    /// True if something that is no record follows the newest one, where the reading came to it,
    /// nobody was writing and nothing is damaged: an interrupted write, as [`crate::verify()`]
    /// tells.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub followed: bool,
    /// Records that others say are unproven.
    pub unproven_records: Vec<Unproven>,
}

/// Records of sealed segments that are tied while what lies behind them was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TiedByState {
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub last: u64,
    /// The record that states the fingerprint of the state which says so.
    pub stated_by: u64,
}

impl Reach {
    /// Returns the reach of a reading that has read nothing yet.
    pub(crate) fn begin<S: ReadStorage>(reader: &LogReader<'_, S>) -> Self {
        let witnessed_to = reader.head().ok().map(|head| head.newest_sequence);
        let begins = reader.firsts().first().copied();
        let begins = begins.unwrap_or_else(|| reader.anchor().saturating_add(1));
        Self { begins, segments: reader.firsts().len() as u64, witnessed_to, ..Self::default() }
    }

    /// Returns the reach of a reading of the whole log, up to a record. What is tied where
    /// something is wrong is told by [`tie`].
    pub(crate) fn of_whole(survey: &Survey, first: u64, newest: u64, verdict: Verdict) -> Self {
        let witnessed_to = survey.head.valid().map(|head| head.newest_sequence);
        let is_tied = !verdict.is_of_damage() && witnessed_to.is_some_and(|to| to >= first);
        let segments = survey.segments.len() as u64;
        let mut reach = Self {
            whole: true,
            begins: first,
            segments,
            segments_read: segments,
            segments_tied: if is_tied { segments } else { 0 },
            tied_from: is_tied.then_some(first),
            witnessed_to,
            durable_to: Some(survey.reached().durable),
            ..Self::default()
        };
        reach.take_newest(newest);
        reach
    }

    /// Returns the reach of a reading of what was needed.
    pub(crate) fn of_part<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        part: &Part,
        tied: &LogTies,
    ) -> Self {
        let Part { segments_read, segments_by_index, segments_read_by_index, .. } = *part;
        let (segments_read, followed) =
            (segments_read.saturating_add(segments_read_by_index), part.reach.followed);
        let mut reach = Self { segments_read, segments_by_index, followed, ..Self::begin(reader) };
        reach.take_ties(tied);
        reach
    }

    pub(crate) fn take_ties(&mut self, tied: &LogTies) {
        self.take_links(tied.ties());
        let by_state =
            tied.ties().ranges().into_iter().skip(1).zip(tied.stated_by().into_iter().cycle());
        let by_state =
            by_state.map(|((first, last), stated_by)| TiedByState { first, last, stated_by });
        self.tied_by_state = by_state.collect();
        self.indexes_stated_by = tied.indexes_stated_by().into_iter().collect();
        self.take_unproven(tied.said_unproven());
    }

    /// Adds records that are said to be unproven.
    fn take_unproven(&mut self, said: &UnprovenRecords) {
        let mut all = said.clone();
        self.unproven_records.iter().for_each(|known| all.add(known.first, known.last));
        self.unproven_records = all.iter().map(Unproven::from).collect();
    }

    pub(crate) fn take_links(&mut self, ties: &Ties) {
        self.segments_tied = ties.segments();
        self.tied_from = ties.first();
        self.witnessed_to = ties.witnessed();
    }

    /// Takes the records that state the snapshots on which what is told rests.
    pub(crate) fn take_stated(&mut self, by: impl IntoIterator<Item = u64>) {
        self.stated_by.extend(by);
        self.stated_by.sort_unstable();
        self.stated_by.dedup();
        self.whole &= self.stated_by.is_empty();
    }

    /// The newest record that was read.
    pub fn take_newest(&mut self, newest: u64) {
        self.no_witness_from = self.first_unwitnessed().filter(|first| newest >= *first);
    }

    /// A head that was kept outside names a record, and the log agrees.
    pub(crate) fn take_outside(&mut self, sequence: u64, newest: u64) {
        if sequence > 0 {
            self.witnessed_to = Some(self.witnessed_to.unwrap_or(0).max(sequence));
            self.take_newest(newest);
        }
    }

    /// The first record behind the witness; `None` where there is no witness.
    #[must_use]
    pub fn first_unwitnessed(&self) -> Option<u64> {
        self.witnessed_to.map(|witnessed| witnessed.saturating_add(1))
    }

    /// Adds what another reading for the same answer read.
    pub fn join(&mut self, other: &Self) {
        self.segments_read = self.segments_read.max(other.segments_read);
        self.segments_by_index = self.segments_by_index.max(other.segments_by_index);
        self.segments_tied = self.segments_tied.max(other.segments_tied);
        self.tied_from = [self.tied_from, other.tied_from].into_iter().flatten().min();
        let known = std::mem::take(&mut self.tied_by_state);
        let new = other.tied_by_state.iter().filter(|tied| !known.contains(tied)).copied();
        self.tied_by_state = known.iter().copied().chain(new).collect();
        self.indexes_stated_by.extend(&other.indexes_stated_by);
        self.indexes_stated_by.sort_unstable();
        self.indexes_stated_by.dedup();
    }

    /// The last of the records up to one that nothing ties although a witness should; `None` where
    /// all are tied, or have no witness yet.
    #[must_use]
    pub fn untied_to(&self, newest: u64) -> Option<u64> {
        let before = self.tied_from.map_or(u64::MAX, |first| first.saturating_sub(1));
        let last = before.min(self.witnessed_to.unwrap_or(u64::MAX)).min(newest);
        (last >= self.begins).then_some(last)
    }

    /// Returns what is proven of a record that was read.
    #[must_use]
    pub fn standing(&self, sequence: u64, is_withheld: bool) -> Standing {
        let is_said = self.says_unproven(sequence, sequence);
        let is_behind = self.first_unwitnessed().is_some_and(|first| sequence >= first);
        let is_tied = self.is_tied(sequence);
        match (is_said, is_behind, is_tied) {
            (true, ..) | (false, false, false) => Standing::Unproven,
            (false, true, _) => Standing::Unwitnessed,
            (false, false, true) if is_withheld => Standing::Withheld,
            (false, false, true) => Standing::Proven,
        }
    }

    /// Returns whether a record is tied: by links to the witness, or by what a state says.
    fn is_tied(&self, sequence: u64) -> bool {
        let by_state = |tied: &TiedByState| (tied.first..=tied.last).contains(&sequence);
        self.tied_from.is_some_and(|first| sequence >= first)
            || self.tied_by_state.iter().any(by_state)
    }

    /// Returns whether what began with a record is told as a later one states it: by a snapshot, or
    /// by the state behind which the log begins.
    #[must_use]
    pub fn is_stated(&self, first: u64) -> bool {
        let is_carried = self.carried_by.is_some() && first < self.begins;
        is_carried || self.stated_by.first().is_some_and(|by| first < *by)
    }

    /// Returns what is proven of all the records from one to another that were read: of the
    /// weakest.
    #[must_use]
    pub fn standing_of(&self, first: u64, last: u64) -> Standing {
        // What is before the log's first record is as stated by the one that carries the state:
        // [`Reach::is_stated`].
        match self.standing(first.max(self.begins).min(last), false) {
            _ if self.says_unproven(first, last) => Standing::Unproven,
            Standing::Proven => self.standing(last, false),
            weaker => weaker,
        }
    }

    /// Returns whether the log says of one of the records from one to another that it is unproven.
    #[must_use]
    pub fn says_unproven(&self, first: u64, last: u64) -> bool {
        let at = self.unproven_records.partition_point(|range| range.last < first);
        self.unproven_records.get(at).is_some_and(|range| range.first <= last)
    }

    /// Returns whether a record is known to be durable.
    #[must_use]
    pub fn is_durable(&self, sequence: u64) -> bool {
        self.durable_to.is_some_and(|durable| sequence <= durable)
    }
}

/// Ties the records of a whole log to its witness: for whoever shows them while they are read.
///
/// # Errors
/// The log cannot be read.
pub(crate) fn tie_whole<S: ReadStorage>(storage: &S) -> Result<Reach, ReadError> {
    let reader = LogReader::of(storage)?;
    let mut found = Disregard("whoever reads the log is told what is wrong");
    let mut tied = LogTies::by_reading(&reader, &mut found)?;
    tied.back_to(&reader, 0, &mut found)?;
    let mut reach = Reach::begin(&reader);
    reach.take_ties(&tied);
    Ok(reach)
}

/// Finds what of a log is tied nevertheless, where it does not hold.
///
/// # Errors
/// The log cannot be read.
pub(crate) fn tie<S: ReadStorage>(storage: &S, report: &mut Report) -> Result<(), ReadError> {
    if report.verdict.is_of_damage() {
        let Reach { tied_from, segments_tied, .. } = tie_whole(storage)?;
        (report.reach.tied_from, report.reach.segments_tied) = (tied_from, segments_tied);
    }
    Ok(())
}

/// The newest record that is known to be durable. Reads HEAD, LOCK and the records behind HEAD's.
///
/// # Errors
/// The log cannot be read.
pub fn durable_to<S: ReadStorage>(storage: &S, boot: BootId) -> Result<u64, ReadError> {
    let reader = LogReader::of(storage)?;
    let by_mark = last_run(&reader)?.map_or(0, |run| run.mark);
    Ok(reader.durable(boot).max(by_mark))
}
