//! The events in order, applied to a world, and what the rules forbid about them.

use crate::anchor::{Anchor, Archived, Before, Start};
use crate::archive_statements::ArchiveStatements;
use crate::evidence_copies::EvidenceCopies;
use crate::finding::{Finding, Problem};
use crate::read::{Committed, Content, ReadError, ReadOptions, Reading};
use crate::rebuild::Until;
use crate::report::MEANING_FINDINGS_MAX;
use crate::second_beginnings::Beginnings;
use crate::statements::{Statements, of_untied};
use crate::whole_output::WholeOutputs;
use holdpoint_domain::application::ApplicationEvent;
use holdpoint_domain::core::forbidden::{ForbiddenEvent, Rule, Rules};
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::log::{LogEvent, RecordsUnproven, UnprovenReason};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::{Envelope, Event, World};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{Place, ReadStorage};
use holdpoint_log_format::{ChainPosition, names};
use std::collections::BTreeSet;

/// A world that takes batches.
pub(crate) struct Meaning {
    /// The state after [`Self::applied`].
    pub(crate) world: World,
    /// Anchor at which the log begins.
    pub(crate) anchor: Anchor,
    /// Statement of the log about the records before that.
    pub(crate) archived: Option<Archived>,
    /// Knowledge of those records.
    pub(crate) before: Before,
    /// The newest record applied; at first the anchor.
    pub(crate) applied: ChainPosition,
    /// Why nothing is applied any more.
    pub(crate) stopped: Option<Stopped>,
    /// The record before which the state was left standing, where only a newer program knows what
    /// it says. To verify that is no finding.
    pub(crate) unknown: Option<Finding>,
    /// Findings, at most [`MEANING_FINDINGS_MAX`].
    pub(crate) findings: Vec<Finding>,
    /// Number of findings beyond that.
    pub(crate) left_out: u64,
    /// The first record that tells of lost records, in a salvaged log.
    pub(crate) hole: Option<u64>,
    /// The first record that a salvaged log took over behind damage without proof.
    unproven_from: Option<u64>,
    /// Events behind either that the rules forbid, at most [`MEANING_FINDINGS_MAX`]. Records that
    /// were lost may have allowed them, so they are no findings.
    pub(crate) notes: Vec<Finding>,
    /// Such events beyond that.
    pub(crate) notes_left_out: u64,
    /// Number of records the notes are about: the rules may forbid one for several reasons.
    pub(crate) records_noted: u64,
    /// The last of these records.
    last_noted: u64,
    /// Recorded fingerprints that are those of the state.
    pub(crate) fingerprints_proven: u64,
    /// Recorded fingerprints of another state schema, or of the log that this one was salvaged
    /// from: a state holds sequences, and those have moved.
    pub(crate) fingerprints_not_checked: u64,
    /// Records that nobody judges: the application's events, whose bytes are its own, and opaque
    /// records.
    pub(crate) unjudged: Unjudged,
    /// Events for which the rules in force have no words.
    pub(crate) under_rules: Option<UnderRules>,
    /// Statements about indexes.
    statements: Statements,
    /// Statements about moves to an archive.
    moves: ArchiveStatements,
    /// Terms that began.
    pub(crate) beginnings: Beginnings,
    /// Records yet to come that salvage copied; `None` in a log that was not salvaged.
    copies: Option<u64>,
    /// The output of attempts that run.
    outputs: WholeOutputs,
    /// Readable copies of evidence.
    pub(crate) copies_of_evidence: EvidenceCopies,
    until: Until,
}

/// Events under rules that have no words for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnderRules {
    /// The number of the rules of the first one.
    pub(crate) number: u32,
    /// The record of the first one.
    pub(crate) first: u64,
    /// Number of them.
    pub(crate) count: u64,
}

/// Maximum number of reducers whose names are told.
const REDUCERS_NAMED_MAX: usize = 16;

/// Records that are chained, and whose contents are not judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unjudged {
    /// Events of the application.
    pub(crate) application: u64,
    /// The reducers whose states are stated, at most [`REDUCERS_NAMED_MAX`] of them.
    pub(crate) reducers: BTreeSet<Text>,
    /// True if there are more.
    pub(crate) has_more_reducers: bool,
    /// Records of kinds that are the log's user's own.
    pub(crate) opaque: u64,
}

impl Unjudged {
    fn take(&mut self, event: &ApplicationEvent) {
        match event {
            ApplicationEvent::ApplicationRecorded(_) => {
                self.application = self.application.saturating_add(1);
            }
            ApplicationEvent::ReducerFingerprintRecorded(body) => {
                if self.reducers.contains(&body.reducer) {
                    return;
                }
                if self.reducers.len() < REDUCERS_NAMED_MAX {
                    self.reducers.insert(body.reducer.clone());
                } else {
                    self.has_more_reducers = true;
                }
            }
        }
    }
}

/// Why events are not applied any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The state at the log's anchor is not known.
    NoBeginning,
    /// The caller wanted the state up to here.
    Until,
    /// This record's payload is withheld.
    Withheld(u64),
    /// Only a newer program knows what this record says.
    Unknown(u64),
    /// This record's payload cannot be read.
    Undecodable(u64),
}

impl Meaning {
    /// Begins at a log's anchor.
    pub(crate) fn new(start: Start, until: Until) -> Self {
        let stopped = start.world.is_none().then_some(Stopped::NoBeginning);
        let world = start.world.unwrap_or_default();
        Self {
            beginnings: Beginnings::behind(&world),
            world,
            anchor: start.anchor,
            archived: start.archived,
            before: Before::NotLookedAt,
            applied: start.anchor.position,
            stopped,
            unknown: None,
            findings: start.finding.into_iter().collect(),
            left_out: 0,
            hole: None,
            unproven_from: None,
            notes: Vec::new(),
            notes_left_out: 0,
            records_noted: 0,
            last_noted: 0,
            fingerprints_proven: 0,
            fingerprints_not_checked: 0,
            unjudged: Unjudged::default(),
            under_rules: None,
            statements: Statements::default(),
            moves: ArchiveStatements::default(),
            copies: None,
            outputs: WholeOutputs::default(),
            copies_of_evidence: EvidenceCopies::default(),
            until,
        }
    }

    /// Applies a whole batch or none of it. Says whether it was applied.
    pub(crate) fn apply(&mut self, batch: &[Committed]) -> bool {
        self.stop_before(batch);
        if self.stopped == Some(Stopped::NoBeginning) {
            self.take_stated(batch);
        }
        if self.stopped.is_some() {
            return false;
        }
        self.check_labels(batch);
        for record in batch {
            if let Some(envelope) = record.envelope() {
                self.evolve(record, envelope);
            } else {
                self.world.pass_over(record.header.sequence, record.time());
                self.unjudged.opaque = self.unjudged.opaque.saturating_add(1);
            }
            let header = &record.header;
            self.applied =
                ChainPosition { sequence: header.sequence, link: header.link, time: header.time };
        }
        true
    }

    /// Labels are of their own batch, and its last records, but for what a salvage says behind
    /// them. What else they have to be is judged with every event.
    fn check_labels(&mut self, batch: &[Committed]) {
        let first = batch.first().map_or(0, |record| record.header.sequence);
        for (place, record) in batch.iter().enumerate() {
            let Some(envelope) = record.envelope() else { continue };
            let Event::Log(LogEvent::RecordsLabelled(body)) = &envelope.event else { continue };
            let mut behind = batch.iter().skip(place.saturating_add(1));
            let is_last = behind.all(may_follow_labels);
            let is_checked = self.world.rules_not_checked(&envelope.event).is_none();
            if !is_checked || (is_last && body.first_sequence >= first) {
                continue;
            }
            let (sequence, from) = (record.header.sequence, body.first_sequence);
            self.find(
                record,
                Problem::Forbidden(ForbiddenEvent {
                    sequence,
                    kind: record.header.kind,
                    loop_id: None,
                    rule: Rule::Labels,
                    expected: format!("a last record of its batch, from record {first} on"),
                    found: format!("record {sequence}, from record {from} on"),
                }),
            );
        }
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
                _ if record.is_opaque() => {}
                Content::Event(_) | Content::Opaque => {}
                // What lies behind the asked place is not read.
                Content::NotRead => {
                    self.stopped.get_or_insert(Stopped::Until);
                }
                Content::Withheld => {
                    self.stopped.get_or_insert(Stopped::Withheld(sequence));
                }
                Content::Undecodable(error) if error.is_of_unknown_kind() => {
                    if self.stopped.is_none() {
                        self.stopped = Some(Stopped::Unknown(sequence));
                        self.unknown = record.unread();
                    }
                }
                Content::Undecodable(_) => {
                    self.stopped.get_or_insert(Stopped::Undecodable(sequence));
                    let unread = record.unread().map(|finding| finding.problem);
                    unread.into_iter().for_each(|problem| self.find(record, problem));
                }
            }
        }
    }

    fn evolve(&mut self, record: &Committed, envelope: &Envelope) {
        let (sequence, event) = (record.header.sequence, &envelope.event);
        let unchecked = self.world.rules_not_checked(event);
        let new = self.world.begins_with(event).filter(|_| unchecked.is_none());
        let key = self.world.new_key(envelope).filter(|_| unchecked.is_none());
        let (at, evidence) = (record.time(), record.beside.evidence);
        let forbidden = self.world.judge_and_evolve_hashed(sequence, at, envelope, evidence);
        if let Some(number) = unchecked {
            let none = UnderRules { number, first: sequence, count: 0 };
            let under = self.under_rules.get_or_insert(none);
            under.count = under.count.saturating_add(1);
        }
        if let Event::Application(event) = event {
            self.unjudged.take(event);
        }
        if let Some(new) = new.filter(|_| forbidden.is_empty()) {
            self.beginnings.take(record, &new, !self.is_own());
        }
        key.iter().for_each(|key| self.beginnings.take_key(record, key, !self.is_own()));
        let report = self.misplaced_report(record, event);
        self.follow_salvage(sequence, event);
        self.count_fingerprint(event, unchecked.is_none(), &forbidden);
        self.take_statement(record, &envelope.event);
        let output = self.outputs.take(sequence, event).filter(|_| unchecked.is_none());
        for event in forbidden.into_iter().chain(output).chain(report) {
            self.find(record, Problem::Forbidden(event));
        }
        // A newer program may word a copy otherwise.
        let is_known = unchecked.is_none_or(|number| number <= Rules::NEWEST.number);
        let contradicted = self.copies_of_evidence.take(record, event);
        for Finding { place, problem } in contradicted.into_iter().filter(|_| is_known) {
            self.find_at(place, problem);
        }
    }

    /// Takes the statements about segments, which are true or false whatever the state is.
    fn take_stated(&mut self, batch: &[Committed]) {
        for record in batch {
            if let Some(envelope) = record.envelope() {
                self.follow_salvage(record.header.sequence, &envelope.event);
                self.take_statement(record, &envelope.event);
            }
        }
    }

    /// Returns whether what comes next was not copied by a salvage.
    fn is_own(&self) -> bool {
        self.copies.is_none_or(|left| left == 0)
    }

    fn take_statement(&mut self, record: &Committed, event: &Event) {
        // Segments of the log that was salvaged are not those of this one.
        let is_own = self.is_own();
        match event {
            Event::Log(LogEvent::SegmentIndexed(body)) if is_own => {
                self.statements.take(record, body)
            }
            Event::Log(LogEvent::HistoryArchived(body)) if is_own => self.moves.take(record, body),
            // What was stated before is of the segments of another log.
            Event::Log(LogEvent::LogContinued(_)) => {
                (self.statements, self.moves) = Default::default();
            }
            _ => {}
        }
    }

    /// Finds a salvage's report that neither begins the log nor was copied from one that it began.
    /// Of a log whose beginning is in an archive nobody knows here what made it.
    fn misplaced_report(&self, record: &Committed, event: &Event) -> Option<ForbiddenEvent> {
        let (sequence, kind) = (record.header.sequence, record.header.kind);
        let anchor = self.anchor.position.sequence;
        let is_report = matches!(event, Event::Log(LogEvent::Salvaged(_)));
        let is_known = anchor == 0 || self.copies.is_some();
        let is_misplaced = is_report && sequence != anchor.saturating_add(1) && self.is_own();
        (is_misplaced && is_known).then(|| ForbiddenEvent {
            sequence,
            kind,
            loop_id: None,
            rule: Rule::SalvageReport,
            expected: "the first record".into(),
            found: format!("record {sequence}"),
        })
    }

    /// A log that begins with `log.salvaged` is the copy of another one, with holes where records
    /// were lost. An event that stands for bytes alone is no hole, nor is one that says that
    /// records may be missing at the end: none of the copies lies behind it.
    fn follow_salvage(&mut self, sequence: u64, event: &Event) {
        let first = self.anchor.position.sequence.saturating_add(1);
        match (event, &mut self.copies) {
            (Event::Log(LogEvent::Salvaged(body)), None) if sequence == first => {
                self.copies = Some(body.records_kept.saturating_add(1));
            }
            (Event::Log(LogEvent::RecordsLost(body)), Some(_)) => {
                let is_at_end = *body.file == *names::SEGMENTS && body.source_last_sequence == 0;
                if body.is_of_records() && !is_at_end {
                    self.hole.get_or_insert(sequence);
                }
            }
            (Event::Log(LogEvent::RecordsUnproven(body)), Some(_)) => self.follow_unproven(body),
            (_, Some(left)) => *left = left.saturating_sub(1),
            (_, None) => {}
        }
    }

    /// Ends the judging at records that may be made up: these can be forbidden, and can stand in
    /// the place of what allowed the rest. What no witness reached is judged as all the rest is,
    /// where the rules allow it.
    fn follow_unproven(&mut self, body: &RecordsUnproven) {
        let range = body.first_sequence..=body.last_sequence;
        let is_of_these = |it: &Finding| {
            range.contains(&it.place.sequence) && matches!(it.problem, Problem::Forbidden(_))
        };
        if body.reason != UnprovenReason::Damage && !self.findings.iter().any(is_of_these) {
            return;
        }
        self.judge_up_to(body.first_sequence);
    }

    /// Nothing from an unproven record on can be judged.
    fn judge_up_to(&mut self, first: u64) {
        self.unproven_from = Some(self.unproven_from.map_or(first, |from| from.min(first)));
        let found = std::mem::take(&mut self.findings);
        let count = found.len();
        found.into_iter().for_each(|finding| self.find_at(finding.place, finding.problem));
        // What had no room among the findings is of later records than those that had.
        if self.findings.len() < count {
            let left_out = std::mem::take(&mut self.left_out);
            self.notes_left_out = self.notes_left_out.saturating_add(left_out);
        }
    }

    /// The first record that cannot be judged, because of what a salvage lost or could not prove.
    pub(crate) fn unjudged_from(&self) -> Option<u64> {
        self.hole.into_iter().chain(self.unproven_from).min()
    }

    fn count_fingerprint(&mut self, event: &Event, is_checked: bool, forbidden: &[ForbiddenEvent]) {
        let Event::Log(LogEvent::FingerprintRecorded(body)) = event else { return };
        if body.schema != STATE_SCHEMA_VERSION || !is_checked {
            self.fingerprints_not_checked = self.fingerprints_not_checked.saturating_add(1);
        } else if !forbidden.iter().any(|event| event.rule == Rule::Fingerprint) {
            self.fingerprints_proven = self.fingerprints_proven.saturating_add(1);
        }
    }

    /// Compares what was stated of indexes and of moves to an archive with what the segments give,
    /// and in a damaged log what is stated behind the damage with what ties it.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(crate) fn check_statements<S: ReadStorage>(
        &mut self,
        storage: &S,
        reading: &Reading,
        options: ReadOptions<'_>,
    ) -> Result<(), ReadError> {
        let is_damaged = !reading.survey.findings.is_empty();
        let as_read = (!is_damaged).then_some(&reading.indexes);
        let mut found = self.statements.check(storage, self.anchor.position.sequence, as_read)?;
        let moves = std::mem::take(&mut self.moves);
        found.extend(moves.check(storage, &self.anchor, is_damaged, options)?);
        if is_damaged {
            found.extend(of_untied(storage)?);
        }
        let room = MEANING_FINDINGS_MAX.saturating_sub(self.findings.len());
        self.left_out = self.left_out.saturating_add(found.len().saturating_sub(room) as u64);
        self.findings.extend(found.into_iter().take(room));
        self.findings.sort_by(|a, b| a.place.in_order().cmp(&b.place.in_order()));
        Ok(())
    }

    /// Takes up what began a second time, as everything else that the rules forbid: in unproven
    /// records it is no finding.
    pub(crate) fn take_second_beginnings(&mut self, found: Vec<Finding>, left_out: u64) {
        for Finding { place, problem } in found {
            let mut known = self.findings.iter().chain(&self.notes);
            if known.any(|it| it.place.sequence == place.sequence) {
                continue;
            }
            let sequence = place.sequence;
            if let Some((first, _)) = self.world.unproven_records().among(sequence, sequence) {
                self.judge_up_to(first);
            }
            self.find_at(place, problem);
        }
        self.left_out = self.left_out.saturating_add(left_out);
        self.findings.sort_by(|a, b| a.place.in_order().cmp(&b.place.in_order()));
        self.notes.sort_by(|a, b| a.place.in_order().cmp(&b.place.in_order()));
    }

    /// Returns whether the log begins as what a salvage made.
    pub(crate) const fn is_salvaged(&self) -> bool {
        self.copies.is_some()
    }

    /// Returns the number of statements about indexes that are right, and of those that were not
    /// checked.
    pub(crate) fn statements(&self) -> (u64, u64) {
        (self.statements.proven, self.statements.not_checked)
    }

    /// The last record whose ids were not compared with those used behind the log's anchor; 0:
    /// there is none.
    pub(crate) const fn uncompared_to(&self) -> u64 {
        match self.before {
            Before::CheckedFrom(first) => first.saturating_sub(1),
            Before::NotLookedAt | Before::OfArchive | Before::NotProven => {
                self.anchor.position.sequence
            }
        }
    }

    fn find(&mut self, record: &Committed, problem: Problem) {
        self.find_at(place_of(record), problem);
    }

    fn find_at(&mut self, place: Place, problem: Problem) {
        let is_unjudged = self.unjudged_from().is_some_and(|from| place.sequence >= from);
        let is_note = is_unjudged && matches!(problem, Problem::Forbidden(_));
        if is_note && self.last_noted != place.sequence {
            self.last_noted = place.sequence;
            self.records_noted = self.records_noted.saturating_add(1);
        }
        let (kept, left_out) = match is_note {
            true => (&mut self.notes, &mut self.notes_left_out),
            false => (&mut self.findings, &mut self.left_out),
        };
        if kept.len() < MEANING_FINDINGS_MAX {
            kept.push(Finding { place, problem });
        } else {
            *left_out = left_out.saturating_add(1);
        }
    }
}

/// Each loop that begins in a batch has labels of its own.
fn may_follow_labels(record: &Committed) -> bool {
    let event = record.envelope().map(|envelope| &envelope.event);
    let Some(Event::Log(event)) = event else { return false };
    matches!(event, LogEvent::RecordsLabelled(_) | LogEvent::PolicyUnknown(_))
}

/// A record's place as findings name it.
pub(crate) fn place_of(record: &Committed) -> Place {
    Place {
        file: segment_path(record.place.segment),
        offset: record.place.offset,
        sequence: record.header.sequence,
    }
}
