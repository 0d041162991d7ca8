//! Tying a sealed segment without reading what lies between it and the newest records.
//!
//! A record close to HEAD states the fingerprint of a state, and that state says which index of
//! each sealed segment the log vouches for. So what is hashed is the records from HEAD back to that
//! one, the state, the index, and what is shown. What lies between is in nobody's reach: it is
//! neither shown nor searched.

use super::indexes::LogTies;
use super::vouched::{Believed, Vouched};
use crate::read::{Committed, ReadError};
use holdpoint_domain::World;
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_log_files::snapshot::{list_snapshots, read_snapshot};
use holdpoint_log_files::{Finding, LogReader, ReadStorage, RecordPlace, Standing, Ties};
use holdpoint_log_format::{ChainPosition, Record};
use holdpoint_log_index::{Copies, Index, Section};
use std::ops::ControlFlow;

/// So many bytes behind the record that states a state are hashed at most: where it lies further
/// back, nothing is gained.
const HASHED_MAX: u64 = 8 << 20;

/// State by which segments can be tied without what lies behind them.
#[derive(Default)]
pub(super) enum Leap {
    /// Nobody asked yet.
    #[default]
    Unknown,
    /// By nothing.
    Nothing,
    /// By this.
    From(Box<LeapSource>),
    /// By what was taken over from there.
    Taken,
}

/// Ties and knowledge from HEAD back to the record that states a state.
pub(super) struct LeapSource {
    ties: Ties,
    vouched: Vouched,
    by: u64,
}

impl Leap {
    /// Returns what the state says, as long as nothing was taken over from there.
    pub(super) fn vouched(&self) -> Option<&Vouched> {
        if let Self::From(stated) = self { Some(&stated.vouched) } else { None }
    }
}

impl LogTies {
    /// Ties the sealed segment at a place of the list by its index, by the right of the newest
    /// state that the chain states, whatever lies behind the segment. `false`: nothing was tied;
    /// what lies behind it has to lead there. Segments must be asked for from the newest one on.
    pub(crate) fn leap_to<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        at: usize,
    ) -> Result<bool, ReadError> {
        let firsts = (reader.firsts().get(at), reader.firsts().get(at.saturating_add(1)));
        let (Some(first), Some(next)) = firsts else { return Ok(false) };
        if !self.uses_indexes || self.is_by_index(*first) {
            return Ok(false);
        }
        let Some(believed) = self.index_by_state(reader, *first)? else { return Ok(false) };
        let mut ties = match &self.leap {
            Leap::From(stated) if self.ties.segments() == 0 => stated.ties.clone(),
            // What was tied already has to hold the record that states the state.
            Leap::From(stated) if self.standing_of(stated.by) != Standing::Proven => {
                return Ok(false);
            }
            _ => self.ties.clone(),
        };
        // Whatever is wrong with one of them is found on the way that is taken then.
        let mut found: Vec<Finding> = Vec::new();
        let opened = (reader.open(*first, &mut found)?, reader.open(*next, &mut found)?);
        let (Some(segment), Some(next), true) = (opened.0, opened.1, found.is_empty()) else {
            return Ok(false);
        };
        let Ok(Some(stretch)) = believed.index.stretch_of(*first) else { return Ok(false) };
        let last = believed.index.scope().last;
        if !ties.leap_to(&segment.header, &last, stretch.before, &next.header) {
            return Ok(false);
        }
        if let Leap::From(stated) = std::mem::replace(&mut self.leap, Leap::Taken) {
            let read = std::mem::replace(&mut self.vouched, stated.vouched);
            self.vouched.join(&read);
            self.stated_by = Some(stated.by);
        }
        self.ties = ties;
        self.keep(*first, believed);
        Ok(true)
    }

    /// The index of a sealed segment, as the newest state says that it is. Nothing is tied by it.
    pub(crate) fn index_by_state<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        first: u64,
    ) -> Result<Option<Believed>, ReadError> {
        let Some(vouched) = self.vouched_by_state(reader)? else { return Ok(None) };
        vouched.index(reader.storage(), first)
    }

    /// One section of that index. Nothing is tied by it.
    pub(crate) fn section_by_state<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        first: u64,
        section: Section,
    ) -> Result<Option<Index<Copies>>, ReadError> {
        let Some(vouched) = self.vouched_by_state(reader)? else { return Ok(None) };
        let copy = |opened: &Index<S::File>| opened.copied_sections(&[section]);
        vouched.copied(reader.storage(), first, &copy)
    }

    /// Returns what the newest state says of indexes; `None` where none is known.
    pub(super) fn vouched_by_state<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
    ) -> Result<Option<&mut Vouched>, ReadError> {
        if matches!(self.leap, Leap::Unknown) {
            self.leap = LeapSource::of(reader, self)?.map_or(Leap::Nothing, Leap::From);
        }
        Ok(match &mut self.leap {
            Leap::From(stated) => Some(&mut stated.vouched),
            Leap::Taken => Some(&mut self.vouched),
            Leap::Nothing | Leap::Unknown => None,
        })
    }
}

impl LeapSource {
    /// Goes back from HEAD to the record that states the newest state of which there is a snapshot.
    fn of<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        begun: &LogTies,
    ) -> Result<Option<Box<Self>>, ReadError> {
        // Snapshots are caches: where none can be had, the long way is taken.
        let listed = list_snapshots(reader.storage()).unwrap_or_default();
        let Some(oldest) = listed.first().map(|(sequence, _)| *sequence) else { return Ok(None) };
        let mut tied = begun.again(reader);
        let (mut world, mut hashed, mut found) = (None, 0, Vec::<Finding>::new());
        while let Some(due) = tied.ties.due(reader).filter(|_| world.is_none()) {
            let Some(mut segment) = reader.open(due, &mut found)? else { return Ok(None) };
            let is_tied =
                tied.read_back(reader, &mut segment, &mut |before, place, record, _| {
                    hashed += place.length;
                    let is_listed =
                        listed.binary_search_by_key(&before.sequence, |(one, _)| *one).is_ok();
                    if is_listed {
                        world = state_behind(reader, before, place, record);
                    }
                    let is_over = hashed > HASHED_MAX || before.sequence <= oldest;
                    match world.is_some() || is_over {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                })?;
            if !is_tied || !found.is_empty() {
                return Ok(None);
            }
        }
        let Some((by, world)) = world else { return Ok(None) };
        let LogTies { ties, mut vouched, .. } = tied;
        vouched.take_state(by, world.segment_indexes(), world.unproven_records());
        // What the log says is unproven states nothing.
        Ok((!vouched.says_unproven(by)).then(|| Box::new(Self { ties, vouched, by })))
    }
}

/// The state behind a record, where the next one states its fingerprint and there is a snapshot of
/// it; and that next one.
fn state_behind<S: ReadStorage>(
    reader: &LogReader<'_, S>,
    before: &ChainPosition,
    place: &RecordPlace,
    record: &Record<'_>,
) -> Option<(u64, World)> {
    let read = read_snapshot(reader.storage(), before.sequence, reader.log(), STATE_SCHEMA_VERSION);
    let snapshot = read.ok().filter(|snapshot| snapshot.header.chain == *before)?;
    // Of the state, no more is decoded than what is asked for.
    let statement = Committed::of(place, record);
    let world = World::stated_by(snapshot.shared_state(), &statement.envelope()?.event)?;
    Some((record.header.sequence, world))
}
