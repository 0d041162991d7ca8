//! A rule said no. That is not an error: the request was understood, nothing came of it, and the
//! sentence says what to do.
//!
//! A refusal writes nothing, with one exception (property E3): one on scope, idempotency, gating
//! or continuity is a fact of its own. [`Refusal::audit`] gives the event to be recorded.
//!
//! And why bytes are no carried state.

use alloc::string::{String, ToString as _};

use thiserror::Error;

use crate::core::codec::DecodeError;
use crate::core::doubt::{are, records_named};
use crate::core::forbidden::RefusalClass;
use crate::core::hash::Digest;
use crate::core::limits::MAX_ID_BYTES;
use crate::core::payload::Text;
use crate::core::refusal::{CommonRefusal, Malformed, refusals, through};
use crate::core::text::{IdentifierFault, bounded, shown};
use crate::decision_point::refusal::DecisionPointRefusal;
use crate::governed::refusal::LoopRefusal;
use crate::human_decision::refusal::HumanDecisionRefusal;
use crate::interruption_thread::event::RowRefused;
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::types::{ReasonCode, TtsControl};
use crate::log::event::CommandRefused;
use crate::log::policy::{Loosened, PolicyFault, PolicyRefusal};
use crate::registration::command::RegistrationRefusal;
use crate::world::World;
use crate::world::command::Command;
use crate::world::event::Event;

refusals! {
    /// Why a command is refused. Closed.
    Refusal holding {
        /// By a rule that every system has.
        Common(CommonRefusal),
        /// By the policy in force.
        Policy(PolicyRefusal),
        /// A loop.
        Loop(LoopRefusal),
        /// Something registered.
        Registration(RegistrationRefusal),
        /// An interruption thread.
        InterruptionThread(ThreadRefusal),
        /// A decision point.
        DecisionPoint(DecisionPointRefusal),
    }
    /// A run that another process records: nobody else says what becomes of it.
    #[error(
        "another process records loop {loop_id} and says what becomes of it; nothing else can \
         while it lives: end that process to end the run"
    )]
    RecordedElsewhere {
        /// The loop.
        loop_id: String,
    } = "RECORDED_ELSEWHERE" in Gating,
    /// The log contradicts what its own writer says.
    #[error("{statement} says {found}, and the log says {expected}; nothing was recorded")]
    ContradictsLog {
        /// The event that would say so.
        statement: &'static str,
        /// Value in the log.
        expected: String,
        /// Value in the statement.
        found: String,
    } = "CONTRADICTS_LOG",
    /// Automation is to go on from where only records without proof may have let it come.
    #[error(
        "{} {} unproven, and {subject} may rest on that: nothing is permitted by it; end it, and \
         begin anew, with another key where it has one",
        records_named(*first, *last),
        are(*first, *last)
    )]
    RestsOnUnproven {
        /// The loop, or the correlation id of the thread.
        subject: String,
        /// The first of these records.
        first: u64,
        /// The last of them.
        last: u64,
    } = "RESTS_ON_UNPROVEN" in Gating,
    /// Automation is to go on with what may have ended in a record that is lost.
    #[error(
        "record {sequence} says that records before it are lost or may be, and {subject} began \
             before that: it may have ended, and nothing is permitted by it; end it, and begin \
             anew, with another key where it has one"
    )]
    BeganBeforeLoss {
        /// The loop, or the correlation id of the thread.
        subject: String,
        /// The record that says so.
        sequence: u64,
    } = "BEGAN_BEFORE_LOSS" in Gating,
    /// A run that needs an approval before its start.
    #[error(
        "a person has to approve this before it starts; ask with `holdpoint run --hold before`"
    )]
    ApprovalNeeded = "APPROVAL_NEEDED" in Gating,
    /// An idempotency key was used for something else.
    #[error(
        "the idempotency key {key} was used for other content with record {first_sequence}; use \
         a new key for a new command"
    )]
    IdempotencyConflict {
        /// The key.
        key: String,
        /// The first record under the key.
        first_sequence: u64,
    } = "IDEMPOTENCY_CONFLICT" in Idempotency,
    /// The entity has changed since the caller looked.
    #[error("{entity} is at version {found}, not {expected}; look again and decide anew")]
    StaleVersion {
        /// The loop, request, thread, decision point or stream.
        entity: String,
        /// The version that the caller saw.
        expected: u64,
        /// Its version: the sequence of the last record that changed it.
        found: u64,
    } = "STALE_VERSION" in Continuity,
}

through! {
    IdentifierFault => CommonRefusal => Refusal;
    Malformed => CommonRefusal => Refusal;
    HumanDecisionRefusal => LoopRefusal => Refusal;
    Loosened => PolicyRefusal => Refusal;
    PolicyFault => PolicyRefusal => Refusal;
}

impl Refusal {
    /// The record with which exactly this was done before, whichever system says so.
    #[must_use]
    pub const fn done_before(&self) -> Option<u64> {
        if let Self::Common(refusal)
        | Self::Loop(LoopRefusal::Common(refusal))
        | Self::DecisionPoint(DecisionPointRefusal::Common(refusal)) = self
            && let CommonRefusal::AlreadyDone { sequence } = refusal
        {
            return Some(*sequence);
        }
        None
    }

    /// The same refusal, under the name that the row of a refused turn or row has for it.
    #[must_use]
    pub fn named_as_row(self, command: &Command) -> Self {
        let Self::IdempotencyConflict { key, first_sequence } = self else { return self };
        if command.turn_scope().is_none() {
            return Self::IdempotencyConflict { key, first_sequence };
        }
        Self::InterruptionThread(ThreadRefusal::Barred {
            reason_code: ReasonCode::FailIdempotencyConflict,
            field: "idempotency_key",
            expected: String::from("a new key for other content"),
            found: alloc::format!("{key}, the key of record {first_sequence}"),
        })
    }

    /// Decides what happens to speech that is under way where this command is refused: whoever
    /// interrupted it is not talked over, whatever the row says that tells of the refusal. Who is
    /// out of scope, or not sure enough to have interrupted, stops nobody's speech.
    #[must_use]
    pub fn tts_control(&self, command: &Command) -> Option<TtsControl> {
        let is_row = self.row_reason().is_some() && self.class() != Some(RefusalClass::Scope);
        let interrupts = command.interrupts(self.is_closed_gate());
        (is_row && interrupts).then_some(TtsControl::Cancel)
    }

    /// The fact that this command was refused, to be recorded in its place; `None` where a
    /// refusal leaves no trace. It carries the command's envelope but for the idempotency key,
    /// which stays free for a command that is accepted. The world is that which refused it.
    #[must_use]
    pub fn audit(&self, world: &World, command: &Command) -> Option<Event> {
        let class = self.class()?;
        if let Some(row) = self.refused_row(world, command, class) {
            return Some(row.into());
        }
        let subject = command.subject().map(|subject| bounded(subject, MAX_ID_BYTES));
        Some(Event::from(CommandRefused {
            command: command.name().into(),
            class,
            code: self.code().into(),
            subject: subject.map(|subject| Text::from(shown(subject))),
            message: shown(&self.to_string()).into(),
        }))
    }

    /// Returns whether the plan of the command stays open, to be committed by the same request.
    const fn is_closed_gate(&self) -> bool {
        matches!(self, Self::InterruptionThread(ThreadRefusal::GateClosed { .. }))
    }

    /// The reason code of the row that a refused turn or row of a thread leaves.
    const fn row_reason(&self) -> Option<ReasonCode> {
        match self {
            Self::InterruptionThread(refusal) => refusal.row_reason(),
            Self::IdempotencyConflict { .. } => Some(ReasonCode::FailIdempotencyConflict),
            Self::StaleVersion { .. } => Some(ReasonCode::FailStaleVersion),
            Self::Common(_)
            | Self::Policy(_)
            | Self::Loop(_)
            | Self::Registration(_)
            | Self::DecisionPoint(_)
            | Self::RecordedElsewhere { .. }
            | Self::ContradictsLog { .. }
            | Self::RestsOnUnproven { .. }
            | Self::BeganBeforeLoss { .. }
            | Self::ApprovalNeeded => None,
        }
    }

    /// A turn's or a row's refusal is a reason-coded row (seed PH1.X, "Failure Modes").
    fn refused_row(
        &self,
        world: &World,
        command: &Command,
        class: RefusalClass,
    ) -> Option<RowRefused> {
        let scope = command.turn_scope()?;
        let reason_code = self.row_reason()?;
        // A candidate that is not sure leaves nothing unsaid: speech goes on.
        let goes_on = !command.interrupts(self.is_closed_gate());
        let kept = world.still_kept(command);
        let lost = Some(command).filter(|_| !goes_on && kept.is_none());
        let cut = |text: &str, bytes: usize| Text::from(shown(bounded(text, bytes)));
        Some(RowRefused {
            command: command.name().into(),
            tenant_id: cut(scope.tenant_id, 64),
            correlation_id: cut(scope.correlation_id, MAX_ID_BYTES),
            turn_id: scope.turn_id,
            user_id: cut(scope.user_id, 128),
            device_id: cut(scope.device_id, 128),
            directive: command.caller_row().map(|row| row.directive),
            reason_code,
            class,
            message: shown(&self.to_string()).into(),
            idempotency_key: cut(scope.idempotency_key, 128),
            remainders: kept.or_else(|| lost.and_then(Command::unsaid)).into_iter().collect(),
            tts_control: self.tts_control(command),
            issue_fingerprint: lost.and_then(Command::interrupted_issue),
        })
    }
}

/// Why bytes are no carried state.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CarriedError {
    /// A room that this program does not have.
    #[error("the carried state has a room {found:?}, which is unknown; use a newer holdpoint")]
    UnknownRoom {
        /// Its name, shortened and made visible.
        found: String,
    },
    /// A room in a version that this program does not read.
    #[error(
        "the room {room} of the carried state has version {found}, and this program reads \
         version {expected}; use the holdpoint that wrote it, or a newer one"
    )]
    UnknownVersion {
        /// The room.
        room: &'static str,
        /// The version that is read.
        expected: u32,
        /// The version that was found.
        found: u32,
    },
    /// A state under rules that this program does not have.
    #[error("the carried state cannot be used: {0}")]
    UnknownRules(#[from] DecodeError),
    /// The bytes are not a value of the expected type.
    #[error("the {place} of the carried state is malformed: {reason}; restore it from a copy")]
    Malformed {
        /// The room, or the list of sections.
        place: &'static str,
        /// The decoder's words.
        reason: String,
    },
    /// Bytes follow the value.
    #[error("the {place} of the carried state has {found} bytes after its end; expected none")]
    Trailing {
        /// The room, or the list of sections.
        place: &'static str,
        /// The number of bytes that follow.
        found: usize,
    },
    /// The bytes are not the state that is asked for.
    #[error("the carried state has the fingerprint {found}, and {expected} is expected")]
    OtherFingerprint {
        /// The expected value.
        expected: Digest,
        /// The value that was found.
        found: Digest,
    },
    /// The bytes decode, but the same state is carried otherwise.
    #[error("the carried state is not in canonical form from byte {offset} on")]
    NotCanonical {
        /// The first byte that differs.
        offset: usize,
    },
}
