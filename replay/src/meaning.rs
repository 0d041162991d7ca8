//! The events in order, applied to a world, and what the rules forbid about them.

use crate::finding::{Finding, Problem};
use crate::read::{Committed, Content};
use crate::rebuild::Until;
use crate::report::MEANING_FINDINGS_MAX;
use holdpoint_domain::envelope::Envelope;
use holdpoint_domain::event::Event;
use holdpoint_domain::evolve::{ForbiddenEvent, Rule};
use holdpoint_domain::world::{STATE_SCHEMA_VERSION, World};
use holdpoint_log_files::Place;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::{ChainPosition, Link};

/// A world that takes batches.
pub(crate) struct Meaning {
    /// The state after [`Self::applied`].
    pub(crate) world: World,
    /// The newest record applied; sequence 0: none.
    pub(crate) applied: ChainPosition,
    /// Why nothing is applied any more.
    pub(crate) stopped: Option<Stopped>,
    /// What was found, at most [`MEANING_FINDINGS_MAX`].
    pub(crate) findings: Vec<Finding>,
    /// What was found beyond that.
    pub(crate) left_out: u64,
    /// Recorded fingerprints that are those of the state.
    pub(crate) fingerprints_proven: u64,
    /// Recorded fingerprints of another state schema.
    pub(crate) fingerprints_not_checked: u64,
    until: Until,
}

/// Why events are not applied any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The caller wanted the state up to here.
    Until,
    /// This record's payload is withheld.
    Withheld(u64),
    /// This record's payload cannot be read.
    Undecodable(u64),
}

impl Meaning {
    pub(crate) fn new(world: World, until: Until) -> Self {
        Self {
            world,
            applied: ChainPosition { sequence: 0, link: Link([0; 32]), time: 0 },
            stopped: None,
            findings: Vec::new(),
            left_out: 0,
            fingerprints_proven: 0,
            fingerprints_not_checked: 0,
            until,
        }
    }

    /// Applies a whole batch or none of it. Says whether it was applied.
    pub(crate) fn apply(&mut self, batch: &[Committed]) -> bool {
        self.stop_before(batch);
        if self.stopped.is_some() {
            return false;
        }
        for record in batch {
            if let Some(envelope) = record.envelope() {
                self.evolve(record, envelope);
            }
            let header = &record.header;
            self.applied =
                ChainPosition { sequence: header.sequence, link: header.link, time: header.time };
        }
        true
    }

    /// An event that cannot be read changes the state in a way that is not known, so that nothing
    /// behind it can be judged. What else cannot be read is still found, up to the asked place.
    fn stop_before(&mut self, batch: &[Committed]) {
        if self.stopped == Some(Stopped::Until) {
            return;
        }
        let Some(last) = batch.last() else { return };
        if !self.until.includes(&last.header) {
            self.stopped.get_or_insert(Stopped::Until);
            return;
        }
        for record in batch {
            let sequence = record.header.sequence;
            match &record.content {
                Content::Event(_) => {}
                Content::Withheld => {
                    self.stopped.get_or_insert(Stopped::Withheld(sequence));
                }
                Content::Undecodable(error) => {
                    self.stopped.get_or_insert(Stopped::Undecodable(sequence));
                    let (kind, version) = (record.header.kind, record.header.version);
                    let error = error.clone();
                    self.find(record, Problem::Payload { kind, version, error });
                }
            }
        }
    }

    fn evolve(&mut self, record: &Committed, envelope: &Envelope) {
        let forbidden = self.world.evolve(record.header.sequence, record.time(), envelope);
        self.count_fingerprint(&envelope.event, &forbidden);
        for event in forbidden {
            self.find(record, Problem::Forbidden(event));
        }
    }

    fn count_fingerprint(&mut self, event: &Event, forbidden: &[ForbiddenEvent]) {
        let Event::FingerprintRecorded(body) = event else { return };
        if body.schema != STATE_SCHEMA_VERSION {
            self.fingerprints_not_checked = self.fingerprints_not_checked.saturating_add(1);
        } else if !forbidden.iter().any(|event| event.rule == Rule::Fingerprint) {
            self.fingerprints_proven = self.fingerprints_proven.saturating_add(1);
        }
    }

    fn find(&mut self, record: &Committed, problem: Problem) {
        if self.findings.len() < MEANING_FINDINGS_MAX {
            self.findings.push(Finding { place: place_of(record), problem });
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }
}

/// A record's place as findings name it.
pub(crate) fn place_of(record: &Committed) -> Place {
    Place {
        file: segment_path(record.place.segment),
        offset: record.place.offset,
        sequence: record.header.sequence,
    }
}
