//! Looking at interruption threads: a thread's state, and its audit rows from the log itself.

use super::engine::Engine;
use super::error::SubmitError;
use super::rebuild::Recorded;
use super::rebuild::{first_kept, read_events};
use super::submit::{Origin, Submitted, permitted};
use crate::log::Storage;
use holdpoint_domain::core::text::check_identifier;
use holdpoint_domain::interruption_thread::{
    InterruptionThreadCommand, InterruptionThreadEvent, OutcomeRow, RowCommitted, RowRefused,
    Thread, ThreadCommand,
};
use holdpoint_domain::{ActorId, Command, Event, Refusal, Time};
use std::ops::ControlFlow;
use thiserror::Error;

/// Mode of reading audit rows (seed PH1.X, `PH1X_READ_AUDIT_ROWS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// Without a trace.
    Plain,
    /// To find out what happened: that the rows are read is on record before they are shown.
    Diagnostic,
}

/// One audit row, as it is on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Sequence of its record: the row's id.
    pub sequence: u64,
    /// Time of its record.
    pub at: Time,
    /// Content of the row.
    pub content: RowContent,
}

/// Content of an audit row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowContent {
    /// A directive was committed.
    Committed(Box<RowCommitted>),
    /// A turn or a row was refused.
    Refused(Box<RowRefused>),
    /// Words that were left unsaid, or the question about them, came to an end by no turn.
    Ended(Box<OutcomeRow>),
}

/// Nothing of a thread is shown.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ThreadReadError {
    /// The log failed or cannot be read.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// A rule said no. Where it is one on scope, that is on record.
    #[error("{} ({})", .0, .0.code())]
    Refused(Refusal),
}

impl<S: Storage> Engine<S> {
    /// The thread with this tenant and correlation, live or among the newest of closed ones, as it
    /// is after every record: what expired since then is still in it. `None` where there is none.
    /// The caller needs the capability that its turns need.
    ///
    /// # Errors
    /// [`ThreadReadError::Refused`] where the caller may not look, or a name cannot be one;
    /// otherwise the log failed or cannot be read.
    pub fn thread(
        &self,
        caller: &ActorId,
        tenant_id: &str,
        correlation_id: &str,
    ) -> Result<Option<Thread>, ThreadReadError> {
        let reading = ThreadReading::of(caller, tenant_id, correlation_id)?;
        let found = permitted(self.core(), &reading.origin, &reading.command, |world, _| {
            world.thread(tenant_id, correlation_id).cloned()
        })?;
        found.map_err(ThreadReadError::Refused)
    }

    /// The audit rows of this tenant and correlation, oldest first: committed, refused, and of what
    /// ended by no turn; all that the log holds. Rows that were moved to an archive are not among
    /// them. The whole log is read.
    ///
    /// # Errors
    /// As [`Engine::thread`].
    pub fn audit_rows(
        &self,
        caller: &ActorId,
        tenant_id: &str,
        correlation_id: &str,
        mode: ReadMode,
    ) -> Result<Vec<AuditRow>, ThreadReadError> {
        let reading = ThreadReading::of(caller, tenant_id, correlation_id)?;
        let newest = match mode {
            ReadMode::Plain => {
                permitted(self.core(), &reading.origin, &reading.command, |_, newest| newest)?
                    .map_err(ThreadReadError::Refused)?
            }
            ReadMode::Diagnostic => match self.submit(&reading.origin, (), &reading.command)? {
                Submitted::Accepted(receipt) | Submitted::Repeated(receipt) => {
                    receipt.last_sequence
                }
                Submitted::Refused(refusal) => return Err(ThreadReadError::Refused(refusal)),
            },
        };
        Ok(self.rows_up_to(newest, tenant_id, correlation_id)?)
    }

    /// The rows among the records up to `newest`, all of which are durable.
    fn rows_up_to(
        &self,
        newest: u64,
        tenant_id: &str,
        correlation_id: &str,
    ) -> Result<Vec<AuditRow>, SubmitError> {
        let mut rows = Vec::new();
        let core = self.core();
        read_events(core, first_kept(core)?, &mut |record| {
            if record.sequence > newest {
                return ControlFlow::Break(());
            }
            let is_last = record.sequence == newest;
            rows.extend(rows_of(record, tenant_id, correlation_id));
            if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(rows)
    }
}

/// Reader and thread of one look: what is checked and, in the diagnostic mode, recorded.
struct ThreadReading {
    origin: Origin,
    command: Command,
}

impl ThreadReading {
    fn of(
        caller: &ActorId,
        tenant_id: &str,
        correlation_id: &str,
    ) -> Result<Self, ThreadReadError> {
        let checked = check_identifier("actor id", &caller.id)
            .and_then(|()| check_identifier("tenant", tenant_id))
            .and_then(|()| check_identifier("correlation", correlation_id));
        checked.map_err(|fault| ThreadReadError::Refused(fault.into()))?;
        let (tenant_id, correlation) = (tenant_id.to_string(), correlation_id.to_string());
        let correlation_id = correlation.clone();
        Ok(Self {
            origin: Origin { actor: caller.clone(), correlation, causation: None },
            command: Command::InterruptionThread(InterruptionThreadCommand::ReadAuditRows(
                ThreadCommand { tenant_id, correlation_id },
            )),
        })
    }
}

/// The rows that a record holds, if they are of this tenant and correlation.
fn rows_of(record: Recorded, tenant_id: &str, correlation_id: &str) -> Vec<AuditRow> {
    let Event::InterruptionThread(event) = record.envelope.event else { return Vec::new() };
    if event.thread() != (tenant_id, correlation_id) {
        return Vec::new();
    }
    let contents = match event {
        InterruptionThreadEvent::RowCommitted(row) => vec![RowContent::Committed(row)],
        InterruptionThreadEvent::RowRefused(row) => vec![RowContent::Refused(Box::new(row))],
        other => {
            let rows = other.outcome_rows().into_iter();
            rows.map(|row| RowContent::Ended(Box::new(row))).collect()
        }
    };
    let (sequence, at) = (record.sequence, record.at);
    contents.into_iter().map(|content| AuditRow { sequence, at, content }).collect()
}
