//! The second reading of the source: into the new log, piece by piece. Every record is checked
//! again on the way, so that what is copied is what was surveyed.

use super::cut::Cuts;
use super::error::{SalvageError, unreadable};
use super::sequences::Sequences;
use crate::log::{AppendError, Level, Log, NewRecord};
use crate::shell::engine::system_actor;
use holdpoint_domain::core::codec::DecodeError;
use holdpoint_domain::core::payload::List;
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::log::{
    LogEvent, POLICY_CHANGED, PolicyUnknown, RecordsLost, RecordsUnproven, UnprovenReason,
};
use holdpoint_domain::world::envelope;
use holdpoint_domain::{Envelope, Event};
use holdpoint_log_files::damage_scan::{ChainPart, DamageScan, Loss, Payload, Piece, Unproven};
use holdpoint_log_files::run::walk;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{ReadFile, ReadStorage, RecordPlace, Run, Standing};
use holdpoint_log_format::{Item, Record};
use std::ops::ControlFlow;

/// Longest text of an event that salvage writes, in bytes.
const TEXT_BYTES_MAX: usize = 4_096;

/// The state schema of a fingerprint that is not compared with any state.
const OF_NO_STATE: u32 = 0;

/// Returns whether an event that nobody proves is not from before there were policies. An archive
/// may have taken one with it.
const fn follows_policies(event: &Event) -> bool {
    matches!(event, Event::Log(LogEvent::RulesAdopted(_) | LogEvent::HistoryArchived(_)))
}

/// Copies a plan into a new log.
pub(super) struct Copier<'a, S> {
    /// The source.
    pub(super) storage: &'a S,
    /// The new log.
    pub(super) log: &'a Log,
    /// Map from the records of the source to those of the new log.
    pub(super) sequences: &'a Sequences,
    /// The story that the events of the salvage belong to.
    pub(super) correlation: &'a str,
    /// Destination of bytes that are not kept.
    pub(super) cuts: Cuts,
    /// The newest batch and its time: it is not appended yet.
    pub(super) held: Option<(Vec<NewRecord>, u64)>,
    /// True if the newest policy may be among what was lost so far.
    pub(super) is_policy_unknown: bool,
    /// The record in the source that stated the newest policy so far; 0: none did.
    pub(super) policy_at: u64,
    /// True if some record is of a time in which there were policies.
    pub(super) knows_policies: bool,
    /// Number of records that were cut out so far that nothing proves and nobody can read.
    pub(super) unreadable: u64,
    /// Statements recorded so far about what was lost, and about what is unproven.
    pub(super) losses: Vec<RecordsLost>,
    pub(super) unproven: Vec<RecordsUnproven>,
    /// Told of the newest record now and then.
    pub(super) progress: &'a mut dyn FnMut(u64),
}

/// A batch that is being gathered, and the time of its records.
#[derive(Default)]
struct SalvageBatch {
    records: Vec<NewRecord>,
    time: u64,
}

impl<S: ReadStorage> Copier<'_, S> {
    /// Copies every piece.
    pub(super) fn copy(&mut self, plan: &DamageScan) -> Result<(), SalvageError> {
        let mut time = first_time(plan);
        for (index, piece) in plan.pieces.iter().enumerate() {
            match piece {
                Piece::Kept(kept) => {
                    // What was changed in a record that is alone may be its time, and in the new
                    // log no time goes back.
                    let behind = plan.pieces.get(index + 1..).filter(|_| !kept.is_linked);
                    let latest = behind.and_then(time_of_next).unwrap_or(u64::MAX);
                    self.copy_kept(kept, latest)?;
                    time = kept.last.time.min(latest);
                }
                Piece::Lost(loss) => {
                    let behind = plan.pieces.get(index..).unwrap_or_default();
                    let lost = self.copy_lost(loss)?;
                    let time = time_of_next(behind).unwrap_or(time);
                    self.append(vec![recorded(self.correlation, lost.clone().into())?], time)?;
                    self.is_policy_unknown |= lost.is_of_records();
                    self.losses.push(lost);
                }
                Piece::Unproven(range) => {
                    let unproven = self.unproven(range);
                    let event = recorded(self.correlation, unproven.clone().into())?;
                    self.append(vec![event], time)?;
                    // What was changed or made up may have been the policy; where no witness
                    // reached, what stands there is all that is in doubt.
                    self.is_policy_unknown |= range.standing == Standing::Unproven
                        || (range.first..=range.last).contains(&self.policy_at);
                    self.unproven.push(unproven);
                }
            }
        }
        self.end(plan.records_lost())
    }

    /// Writes the batch that is held; what is not known of the policy is no batch of its own: it
    /// cannot be cut off without the record before it, and that one the report names.
    fn end(&mut self, records_lost: u64) -> Result<(), SalvageError> {
        let Some((mut batch, time)) = self.held.take() else { return Ok(()) };
        if self.is_policy_unknown && self.knows_policies {
            batch.push(recorded(self.correlation, PolicyUnknown { records_lost }.into())?);
        }
        self.write(&batch, time)
    }

    fn unproven(&self, range: &Unproven) -> RecordsUnproven {
        RecordsUnproven {
            first_sequence: self.sequences.new_of(range.first),
            last_sequence: self.sequences.new_of(range.last),
            reason: match range.standing {
                Standing::Unwitnessed => UnprovenReason::NoWitness,
                _ => UnprovenReason::Damage,
            },
        }
    }

    fn copy_lost(&mut self, loss: &Loss) -> Result<RecordsLost, SalvageError> {
        let copied_to = self.cuts.copy(self.storage, loss)?;
        Ok(RecordsLost {
            source_first_sequence: loss.first,
            source_last_sequence: loss.last,
            file: loss.file.as_str().into(),
            offset: loss.offset,
            length: loss.length,
            copied_to: copied_to.map(Into::into),
            problem: sentence(&loss.problem).into(),
        })
    }

    /// Copies consecutive records batch by batch. Where a hole parts a batch, what is left of it
    /// is a batch of its own.
    fn copy_kept(&mut self, kept: &ChainPart, latest: u64) -> Result<(), SalvageError> {
        let file = segment_path(kept.segment);
        let opened = self.storage.open(&file).map_err(unreadable(&file))?;
        let changed = || SalvageError::Changed { file: file.clone() };
        let mut window = Window::new(opened.ok_or_else(changed)?).map_err(unreadable(&file))?;
        if !kept.is_linked {
            return self.copy_alone(kept, latest, &mut window);
        }
        let mut batch = SalvageBatch::default();
        let mut failure = None;
        let mut reached = kept.from.sequence;
        let is_proven = kept.standing == Standing::Proven;
        let mut visit = |place: &RecordPlace, record: &Record<'_>| {
            reached = record.header.sequence;
            let is_last = reached == kept.last.sequence;
            let time = record.header.time;
            let place = RecordPlace { segment: kept.segment, ..*place };
            failure = self.take(&mut batch, &place, record, (is_proven, is_last, time)).err();
            if is_last || failure.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let from = Run::from(kept.from, 0, kept.offset);
        walk(&mut window, &kept.header, from, &mut visit).map_err(unreadable(&file))?;
        match failure {
            Some(failure) => Err(failure),
            None if reached == kept.last.sequence => Ok(()),
            None => Err(changed()),
        }
    }

    /// Copies a record that does not follow from the one before it, with no later time than this.
    fn copy_alone<F: ReadFile>(
        &mut self,
        kept: &ChainPart,
        latest: u64,
        window: &mut Window<F>,
    ) -> Result<(), SalvageError> {
        let file = segment_path(kept.segment);
        let item = window.item(kept.offset, &kept.header).map_err(unreadable(&file))?;
        let is_it = |record: &Record<'_>| {
            (record.header.sequence, record.header.link) == (kept.last.sequence, kept.last.link)
        };
        match item {
            Ok((Item::Record(record), length)) if is_it(&record) => {
                let (segment, offset) = (kept.segment, kept.offset);
                let place = RecordPlace { segment, offset, length };
                let time = record.header.time.min(latest);
                self.take(&mut SalvageBatch::default(), &place, &record, (false, true, time))
            }
            _ => Err(SalvageError::Changed { file }),
        }
    }

    fn take(
        &mut self,
        batch: &mut SalvageBatch,
        place: &RecordPlace,
        record: &Record<'_>,
        (is_proven, is_last, time): (bool, bool, u64),
    ) -> Result<(), SalvageError> {
        self.follow_policy(record);
        let is_withheld = record.header.flags.withheld();
        // A writer gives one time to a batch: where there are two, one is forged, and each record
        // keeps its own.
        if batch.time != time && !batch.records.is_empty() {
            self.append(std::mem::take(&mut batch.records), batch.time)?;
        }
        batch.time = time;
        batch.records.push(
            match is_proven || is_withheld || payload_of(record) == Payload::Readable {
                true => self.moved(place, record)?,
                false => self.unreadable(place, record)?,
            },
        );
        if is_last || !record.header.flags.more_follows() {
            self.append(std::mem::take(&mut batch.records), time)?;
            (self.progress)(record.header.sequence);
        }
        Ok(())
    }

    /// Returns the event in the place of a record that nothing proves and nobody can read, which
    /// would keep the new log from being opened; the record's bytes are copied aside.
    fn unreadable(
        &mut self,
        place: &RecordPlace,
        record: &Record<'_>,
    ) -> Result<NewRecord, SalvageError> {
        self.is_policy_unknown = true;
        let (sequence, kind) = (record.header.sequence, record.header.kind);
        let problem = format!("its payload, of kind {kind}, cannot be read, and nothing proves it");
        let loss = Loss::new(place.segment, place.offset, place.length, problem);
        let lost = self.copy_lost(&Loss { first: sequence, last: sequence, ..loss })?;
        self.losses.push(lost.clone());
        self.unreadable += 1;
        recorded(self.correlation, lost.into())
    }

    /// A policy that is kept stands for whatever was lost before it.
    fn follow_policy(&mut self, record: &Record<'_>) {
        if record.header.flags.withheld() {
            self.is_policy_unknown = true;
        } else if record.header.kind == POLICY_CHANGED {
            self.is_policy_unknown = false;
            self.policy_at = record.header.sequence;
        }
    }

    /// The newest batch is held back, for what may come into it at the end.
    fn append(&mut self, records: Vec<NewRecord>, time: u64) -> Result<(), SalvageError> {
        match self.held.replace((records, time)) {
            Some((before, time)) => self.write(&before, time),
            None => Ok(()),
        }
    }

    /// A batch may have grown beyond the limit with the numbers in it. It is parted then: half of
    /// it is far from the limit.
    fn write(&self, records: &[NewRecord], time: u64) -> Result<(), SalvageError> {
        match self.log.append_batch(records, time, Level::Os) {
            Err(AppendError::BatchTooLarge { .. }) if records.len() > 1 => {
                let (front, rest) = records.split_at(records.len() / 2);
                self.write(front, time)?;
                self.write(rest, time)
            }
            appended => Ok(appended.map(drop)?),
        }
    }

    /// The record as it goes on: with the sequences in it moved, or, where its payload is withheld,
    /// the event that tells so. A proven payload that nobody can read stays as it is, and so
    /// does one that has no room for larger numbers.
    fn moved(
        &mut self,
        place: &RecordPlace,
        record: &Record<'_>,
    ) -> Result<NewRecord, SalvageError> {
        let header = &record.header;
        if header.flags.withheld() {
            return recorded(self.correlation, withheld(place, record).into());
        }
        let moved = envelope::decode(header.kind, header.version, record.payload).ok().and_then(
            |mut envelope| {
                self.knows_policies |=
                    envelope.proof.is_some() || follows_policies(&envelope.event);
                envelope.map_sequences(|sequence| self.sequences.new_of(sequence));
                // A state holds sequences, so that no state of the new log has this fingerprint.
                match &mut envelope.event {
                    Event::Log(LogEvent::FingerprintRecorded(body)) => body.schema = OF_NO_STATE,
                    // What it says of the source is said anew.
                    Event::Log(LogEvent::Salvaged(body)) => {
                        (body.last_sequence, body.unproven) = (0, List::default());
                    }
                    _ => {}
                }
                envelope::encode(&envelope).ok()
            },
        );
        Ok(match moved {
            Some(moved) => {
                NewRecord { kind: moved.kind, version: moved.version, payload: moved.payload }
            }
            None => NewRecord {
                kind: header.kind,
                version: header.version,
                payload: record.payload.to_vec(),
            },
        })
    }
}

/// Returns whether a payload can be read.
pub(super) fn payload_of(record: &Record<'_>) -> Payload {
    let decoded = envelope::decode(record.header.kind, record.header.version, record.payload);
    Payload::of(&decoded, DecodeError::is_opaque, DecodeError::is_of_unknown_kind)
}

/// An event of the salvage itself as a record.
pub(super) fn recorded(correlation: &str, event: Event) -> Result<NewRecord, SalvageError> {
    let correlation = correlation.to_string();
    let envelope = Envelope {
        clock: None,
        proof: None,
        actor: system_actor(),
        correlation,
        causation: None,
        idempotency: None,
        event,
    };
    let encoded = envelope::encode(&envelope)?;
    Ok(NewRecord { kind: encoded.kind, version: encoded.version, payload: encoded.payload })
}

/// Time of the first record that is kept, nanoseconds.
pub(super) fn first_time(plan: &DamageScan) -> u64 {
    time_of_next(&plan.pieces).unwrap_or(0)
}

/// A text of the report: visible, and not longer than one may be.
pub(super) fn sentence(text: &str) -> String {
    bounded(&visible(text).to_string(), TEXT_BYTES_MAX).to_string()
}

/// The time of the next record that follows from one, or an earlier one of those before it.
fn time_of_next(pieces: &[Piece]) -> Option<u64> {
    let mut latest: Option<u64> = None;
    for piece in pieces {
        let Piece::Kept(kept) = piece else { continue };
        latest = Some(latest.map_or(kept.first_time, |latest| latest.min(kept.first_time)));
        if kept.is_linked {
            break;
        }
    }
    latest
}

/// Returns what stands for a withheld record. Its bytes are its digest, which is told in words.
fn withheld(place: &RecordPlace, record: &Record<'_>) -> RecordsLost {
    let header = &record.header;
    let digest = base16ct::lower::encode_string(&record.digest());
    RecordsLost {
        source_first_sequence: header.sequence,
        source_last_sequence: header.sequence,
        file: segment_path(place.segment).into(),
        offset: place.offset,
        length: place.length,
        copied_to: None,
        problem: format!(
            "its payload, of kind {}, is withheld: its SHA-256 is {digest}",
            header.kind
        )
        .into(),
    }
}
