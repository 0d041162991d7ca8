//! A log as a line in time: the state at any record or moment of it, from the nearest place where
//! the state is known.
//!
//! # Architecture invariants
//!
//! - The whole log is checked once, when the line is opened: every byte against the chain. A state
//!   is only taken from records that were found whole then: reading them again has to lead to a
//!   link that was found then, else the log is another one by now.
//! - A snapshot is believed where it stands behind the very record that it names, and the next
//!   record, which is tied to HEAD, states its fingerprint (property E9). With or without snapshots
//!   that are stated rightly the states are equal.
//! - The states are those that a writer has: what settled has left them.

mod checked;
mod marks;
mod moment;
pub(crate) mod snapshot;
pub(crate) mod trip;
mod watch;

use crate::anchor::Start;
use crate::axes::report;
use crate::finding::Finding;
use crate::live::is_salvaged;
use crate::progress::Progress;
use crate::reach::tie;
use crate::read::{Committed, ReadError, ReadOptions, read, steadily};
use crate::rebuild::Until;
use crate::records::Line;
use crate::report::{Head, Report};
use checked::Checked;
pub use checked::travel;
use holdpoint_domain::World;
use holdpoint_log_files::{Follower, ReadStorage, RecordPlace};
use holdpoint_log_format::{ChainPosition, Link, LogId, Record};
pub(crate) use marks::Mark;
use marks::Marks;
pub use moment::Moment;
use snapshot::SnapshotSource;
use std::ops::ControlFlow;
use trip::Trip;
use watch::Watch;

/// A log that was checked, open for going to any moment of it.
pub struct Timeline<'s, S> {
    storage: &'s S,
    report: Report,
    log: Option<LogId>,
    beginning: Result<World, Finding>,
    anchor: ChainPosition,
    newest: ChainPosition,
    marks: Marks,
    is_believing: bool,
}

impl<'s, S: ReadStorage> Timeline<'s, S> {
    /// Checks a log whole. Its events are not judged.
    ///
    /// # Errors
    /// As [`crate::verify()`]. Damage is no error: nothing behind it is gone to.
    pub fn open(
        storage: &'s S,
        options: ReadOptions<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, ReadError> {
        let (reading, (start, marks)) = steadily(options, |attempt| {
            let start = Start::of(storage)?;
            let mut marks = Marks::new(snapshot::sequences(storage));
            let read = read(storage, start.anchor, attempt, &|_| false, progress, &mut |b| {
                marks.take(b);
            })?;
            Ok((read, (start, marks)))
        })?;
        let (log, newest, anchor) = (reading.survey.log, reading.handed_on, start.anchor.position);
        let mut report = report(reading, None);
        report.is_salvaged = start.archived.is_some() && is_salvaged(storage).is_ok_and(|it| it);
        report.take_archived(start.archived);
        tie(storage, &mut report)?;
        let beginning = match (start.world, start.finding) {
            (_, Some(finding)) => Err(finding),
            (world, None) => Ok(world.unwrap_or_default()),
        };
        beginning.iter().for_each(|world| report.take_state(world));
        Ok(Self { storage, report, log, beginning, anchor, newest, marks, is_believing: true })
    }

    /// The same line, on which every state is made from the beginning of the log.
    #[must_use]
    pub fn without_snapshots(self) -> Self {
        Self { is_believing: false, ..self }
    }

    /// Returns what the bytes of the log prove.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The same, and how these states are known: why they are not those of their places
    /// ([`Moment::stopped_before`]), and which records state them ([`Moment::stated_by`]).
    #[must_use]
    pub fn report_on(&self, states: &[&Moment]) -> Report {
        let unread = states.iter().filter_map(|state| state.stopped_before.as_ref());
        self.report_of(unread, states.iter().filter_map(|state| state.stated_by))
    }

    /// The same of states that were asked about and are not kept.
    #[must_use]
    pub fn report_of<'f>(
        &self,
        unread: impl IntoIterator<Item = &'f Finding>,
        stated_by: impl IntoIterator<Item = u64>,
    ) -> Report {
        let mut report = self.report.clone();
        report.take_unread(unread);
        report.reach.take_stated(stated_by);
        report
    }

    /// The newest record that can be gone to; none where there is none.
    #[must_use]
    pub fn newest(&self) -> Option<Head> {
        Head::at(&self.newest)
    }

    /// The last record before the first one that is here; 0 in a whole log.
    #[must_use]
    pub const fn anchor(&self) -> u64 {
        self.anchor.sequence
    }

    /// The state at a place, from the nearest snapshot before it that is believed, else from the
    /// log's beginning.
    ///
    /// # Errors
    /// [`ReadError`]: the log cannot be read any more, or begins behind the place, or the state at
    /// its beginning is not known.
    pub fn at(&self, until: Until) -> Result<Moment, ReadError> {
        self.check(until)?;
        let known = self.known().newest_within(until, self.anchor.sequence)?;
        let moment = known.map_or_else(|| self.begin(), Ok)?;
        self.go(moment, until, &mut |_| {})
    }

    /// The state at a place, from the log's beginning, with the newest form of one entity, which is
    /// kept when it leaves the state.
    ///
    /// # Errors
    /// As [`Timeline::at`].
    pub fn at_watching(&self, until: Until, entity: &str) -> Result<Moment, ReadError> {
        self.check(until)?;
        let moment = Moment { watch: Some(Watch::new(entity)), ..self.begin()? };
        self.go(moment, until, &mut |_| {})
    }

    /// The state at a place that is not before a moment: from there, or from a snapshot between
    /// the two, unless an entity is watched.
    ///
    /// # Errors
    /// As [`Timeline::at`].
    pub fn onward(&self, from: &Moment, until: Until) -> Result<Moment, ReadError> {
        let nearer = match &from.watch {
            Some(_) => None,
            None => self.known().newest_within(until, from.applied.sequence)?,
        };
        self.go(nearer.unwrap_or_else(|| from.departing()), until, &mut |_| {})
    }

    /// The state at a place that is not before a moment; `witness` sees every record in between.
    ///
    /// # Errors
    /// As [`Timeline::at`].
    pub fn pass(
        &self,
        from: &Moment,
        until: Until,
        witness: &mut dyn FnMut(&Committed),
    ) -> Result<Moment, ReadError> {
        self.go(from.departing(), until, witness)
    }

    /// The records from one to another, as lines, as far as they are here.
    ///
    /// # Errors
    /// The log cannot be read any more.
    pub fn lines(&self, first: u64, last: u64) -> Result<Vec<Line>, ReadError> {
        let mut lines = Vec::new();
        self.each_within(first, last, &mut |place, record| {
            let line = Line::within(&Committed::of(place, record), &self.report.reach);
            lines.push(line.lying_in(&self.storage.archives()));
        })?;
        Ok(lines)
    }

    /// The links of the records from one to another, as far as they are here.
    pub(crate) fn links(&self, first: u64, last: u64) -> Result<Vec<Link>, ReadError> {
        let mut links = Vec::new();
        self.each_within(first, last, &mut |_, record| links.push(record.header.link))?;
        Ok(links)
    }

    /// Places that are known without reading, in order.
    pub(crate) fn marks(&self) -> &[Mark] {
        self.marks.known()
    }

    pub(crate) const fn log(&self) -> Option<LogId> {
        self.log
    }

    pub(crate) const fn anchor_position(&self) -> ChainPosition {
        self.anchor
    }

    pub(crate) const fn newest_position(&self) -> ChainPosition {
        self.newest
    }

    /// Shows the records from one to another, as far as they are here.
    fn each_within(
        &self,
        first: u64,
        last: u64,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>),
    ) -> Result<(), ReadError> {
        let (first, last) = (first.max(self.anchor.sequence + 1), last.min(self.newest.sequence));
        if first > last {
            return Ok(());
        }
        let place = match self.marks.last_before(first) {
            Some(mark) => mark.follower(self.storage)?,
            None => self.first_segment()?,
        };
        self.checked().walk_on(place, &mut |_, place, record| {
            let sequence = record.header.sequence;
            if (first..=last).contains(&sequence) {
                visit(place, record);
            }
            if sequence >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    fn known(&self) -> SnapshotSource<'_, S> {
        let marks = if self.is_believing { self.marks.with_snapshots() } else { &[] };
        let (withheld, reach) = (self.marks.first_withheld(), &self.report.reach);
        SnapshotSource { checked: self.checked(), log: self.log, marks, withheld, reach }
    }

    fn checked(&self) -> Checked<'_, S> {
        let (storage, marks) = (self.storage, self.marks.known());
        Checked { storage, marks, newest: self.newest }
    }

    fn check(&self, until: Until) -> Result<(), ReadError> {
        match until.reaches(&self.anchor) {
            true => Ok(()),
            false => Err(ReadError::BeforeAnchor { anchor: self.anchor.sequence }),
        }
    }

    fn begin(&self) -> Result<Moment, ReadError> {
        let world = self.beginning.clone();
        let world = world.map_err(|finding| ReadError::NoBeginning { finding: finding.into() })?;
        Ok(Moment::beginning(world, self.anchor))
    }

    fn first_segment(&self) -> Result<Follower, ReadError> {
        trip::at_segment(self.storage, self.anchor.sequence.saturating_add(1))
    }

    fn go(
        &self,
        moment: Moment,
        until: Until,
        witness: &mut dyn FnMut(&Committed),
    ) -> Result<Moment, ReadError> {
        let mut trip = Trip::new(moment, until, self.newest.sequence);
        if trip.is_over() {
            return Ok(trip.into_moment());
        }
        let place = match trip.place() {
            Some(place) => place,
            None => self.first_segment()?,
        };
        self.checked().walk_on(place, &mut |segment, place, record| {
            trip.take(segment, place, record, witness)
        })?;
        Ok(trip.into_moment())
    }
}
