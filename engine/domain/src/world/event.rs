//! The closed union of everything that can have happened.
//!
//! One table, below, pins each event's kind for ever (property E10). Ranges: the log itself 1 to
//! 31, `execution_loop` 32 to 63, `evidence_capture` 64 to 95, `sandbox_fault` 96 to 127,
//! `human_decision` 128 to 159, `interruption_thread` 160 to 191, `decision_point` 192 to 223.

use alloc::boxed::Box;

use serde::Serialize;

use crate::core::codec::{BodyReader, BodyWriter, DecodeError, EncodeError};
use crate::decision_point::event::{
    ApprovalConsumed, ApprovalLapsed, DecisionPointAborted, DecisionPointCancelled,
    DecisionPointCreated, DecisionPointCreatedV1, DecisionPointEscalated, DecisionPointRefined,
    DecisionPointReminded, DecisionPointResolved, DecisionPointSuperseded, DefaultTaken,
    DependentsReleased, GuidanceGiven, LateResponseRecorded, RoundOpened, VoteCast,
};
use crate::evidence_capture::event::{
    ChainSealed, EvidenceCaptured, ObserverAttached, StopConditionDetected,
};
use crate::execution_loop::event::{
    LoopDispatched, LoopHalted, LoopInitialized, LoopInitializedV1, ResponseAwaited,
    ResponseEvaluated,
};
use crate::human_decision::event::{
    DecisionAnswered, DecisionRequested, DecisionTimedOut, DecisionWarned, LateAnswerRecorded,
    RequestWithdrawn, VisibilityOverridden,
};
use crate::interruption_thread::event::{
    BufferExpired, PendingDisarmed, RemaindersDiscarded, ReturnCheckExpired, RowCommitted,
    RowRefused, RowsRead, ThreadClosed, ThreadMoved, TurnTaken,
};
use crate::log::event::{
    ClockStepped, CommandRefused, ConfigurationChanged, FingerprintRecorded, HeadMissingAccepted,
    HistoryArchived, PolicyChanged, PolicyUnknown, RecordsLost, RecordsUnproven, RecoveryPerformed,
    Salvaged, SegmentIndexed,
};
use crate::registration::event::{
    CapabilityChanged, DeviceRegistered, LeaseRegistered, SessionRegistered, TenantRegistered,
    UserRegistered, WorkOrderRegistered,
};
use crate::sandbox_fault::event::{FaultReported, SandboxDecided};

/// One line of the registry of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The number in the record's header.
    pub kind: u16,
    /// The version of the payload that is written today.
    pub version: u8,
    /// The system that the event belongs to.
    pub system: &'static str,
    /// The name, `system.what_happened`.
    pub name: &'static str,
}

impl Event {
    /// The loop that the event belongs to; `None` for events of the log itself, of threads and of
    /// decision points.
    #[must_use]
    pub fn loop_id(&self) -> Option<&str> {
        Some(match self {
            Self::RecoveryPerformed(_)
            | Self::HeadMissingAccepted(_)
            | Self::ClockStepped(_)
            | Self::FingerprintRecorded(_)
            | Self::CommandRefused(_)
            | Self::ConfigurationChanged(_)
            | Self::Salvaged(_)
            | Self::RecordsLost(_)
            | Self::HistoryArchived(_)
            | Self::SegmentIndexed(_)
            | Self::PolicyChanged(_)
            | Self::PolicyUnknown(_)
            | Self::RecordsUnproven(_)
            | Self::CapabilityChanged(_)
            | Self::TenantRegistered(_)
            | Self::UserRegistered(_)
            | Self::DeviceRegistered(_)
            | Self::SessionRegistered(_)
            | Self::WorkOrderRegistered(_)
            | Self::LeaseRegistered(_)
            | Self::TurnTaken(_)
            | Self::RowCommitted(_)
            | Self::RowRefused(_)
            | Self::BufferExpired(_)
            | Self::ReturnCheckExpired(_)
            | Self::RemaindersDiscarded(_)
            | Self::RowsRead(_)
            | Self::ThreadClosed(_)
            | Self::PendingDisarmed(_)
            | Self::ThreadMoved(_)
            | Self::DecisionPointCreated(_)
            | Self::DecisionPointRefined(_)
            | Self::GuidanceGiven(_)
            | Self::RoundOpened(_)
            | Self::VoteCast(_)
            | Self::DecisionPointResolved(_)
            | Self::DefaultTaken(_)
            | Self::DecisionPointAborted(_)
            | Self::DecisionPointCancelled(_)
            | Self::DecisionPointSuperseded(_)
            | Self::DecisionPointReminded(_)
            | Self::DecisionPointEscalated(_)
            | Self::LateResponseRecorded(_)
            | Self::ApprovalConsumed(_)
            | Self::ApprovalLapsed(_)
            | Self::DependentsReleased(_) => return None,
            Self::LoopInitialized(body) => &body.loop_id,
            Self::LoopDispatched(body) => &body.loop_id,
            Self::ResponseAwaited(body) => &body.loop_id,
            Self::ResponseEvaluated(body) => &body.loop_id,
            Self::LoopHalted(body) => &body.loop_id,
            Self::ObserverAttached(body) => &body.loop_id,
            Self::EvidenceCaptured(body) => &body.loop_id,
            Self::StopConditionDetected(body) => &body.loop_id,
            Self::ChainSealed(body) => &body.loop_id,
            Self::FaultReported(body) => &body.loop_id,
            Self::SandboxDecided(body) => &body.loop_id,
            Self::DecisionRequested(body) => &body.context.loop_id,
            Self::VisibilityOverridden(body) => &body.loop_id,
            Self::DecisionWarned(body) => &body.loop_id,
            Self::DecisionAnswered(body) => &body.loop_id,
            Self::DecisionTimedOut(body) => &body.loop_id,
            Self::LateAnswerRecorded(body) => &body.loop_id,
            Self::RequestWithdrawn(body) => &body.loop_id,
        })
    }
}

impl Event {
    /// Tenant and correlation of the interruption thread that the event is about; `None` for events
    /// of other systems, and for registrations, which are about a tenant.
    #[must_use]
    pub fn thread(&self) -> Option<(&str, &str)> {
        Some(match self {
            Self::TurnTaken(body) => (&body.tenant_id, &body.correlation_id),
            Self::RowCommitted(body) => (&body.tenant_id, &body.correlation_id),
            Self::RowRefused(body) => (&body.tenant_id, &body.correlation_id),
            Self::BufferExpired(body) => (&body.tenant_id, &body.correlation_id),
            Self::ReturnCheckExpired(body) => (&body.tenant_id, &body.correlation_id),
            Self::RemaindersDiscarded(body) => (&body.tenant_id, &body.correlation_id),
            Self::RowsRead(body) => (&body.tenant_id, &body.correlation_id),
            Self::ThreadClosed(body) => (&body.tenant_id, &body.correlation_id),
            Self::PendingDisarmed(body) => (&body.tenant_id, &body.correlation_id),
            Self::ThreadMoved(body) => (&body.tenant_id, &body.correlation_id),
            _ => return None,
        })
    }
}

impl Event {
    /// The decision point that the event is about; `None` for events of other systems.
    #[must_use]
    pub fn decision_point(&self) -> Option<&str> {
        Some(match self {
            Self::DecisionPointCreated(body) => &body.decision_id,
            Self::DecisionPointRefined(body) => &body.decision_id,
            Self::GuidanceGiven(body) => &body.decision_id,
            Self::RoundOpened(body) => &body.decision_id,
            Self::VoteCast(body) => &body.decision_id,
            Self::DecisionPointResolved(body) => &body.decision_id,
            Self::DefaultTaken(body) => &body.decision_id,
            Self::DecisionPointAborted(body) => &body.decision_id,
            Self::DecisionPointCancelled(body) => &body.decision_id,
            Self::DecisionPointSuperseded(body) => &body.decision_id,
            Self::DecisionPointReminded(body) => &body.decision_id,
            Self::DecisionPointEscalated(body) => &body.decision_id,
            Self::LateResponseRecorded(body) => &body.decision_id,
            Self::ApprovalConsumed(body) => &body.decision_id,
            Self::ApprovalLapsed(body) => &body.decision_id,
            Self::DependentsReleased(body) => &body.decision_id,
            _ => return None,
        })
    }
}

impl Event {
    /// Whether the event is about interruption threads, or about what is registered for them.
    pub(crate) const fn is_of_threads(&self) -> bool {
        matches!(self.kind().kind, 160..=191)
    }
}

/// The name of a kind, or `None` if this program does not know it.
#[must_use]
pub fn kind_name(kind: u16) -> Option<&'static str> {
    REGISTRY.iter().find(|entry| entry.kind == kind).map(|entry| entry.name)
}

/// How a body is held: in its place, or apart, where it is much larger than the others.
macro_rules! held {
    ($Body:ident) => { $Body };
    ($Body:ident Box) => { Box<$Body> };
}

/// Writes the union, the registry and the choice of body from one table, so that they agree.
macro_rules! events {
    ($($(#[$doc:meta])* $kind:literal v $version:literal $system:literal $name:literal
        => $Body:ident $(in $Box:ident)? $(, before $old:literal => $Before:ident)?,)+) => {
        /// A fact, past tense: the only thing that the log stores.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind")]
        pub enum Event {
            $($(#[$doc])* #[serde(rename = $name)] $Body(held!($Body $($Box)?)),)+
        }

        /// Every kind of event, in ascending order.
        pub const REGISTRY: &[Kind] = &[
            $(Kind { kind: $kind, version: $version, system: $system, name: $name },)+
        ];

        /// Whether payloads of this kind and version can be read.
        pub(crate) const fn is_registered(kind: u16, version: u8) -> bool {
            matches!((kind, version), $(($kind, $version) $(| ($kind, $old))?)|+)
        }

        impl Event {
            /// The event's line in the registry.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Self::$Body(_) => Kind {
                        kind: $kind, version: $version, system: $system, name: $name,
                    },)+
                }
            }

            pub(crate) fn write_body(&self, to: BodyWriter) -> Result<BodyWriter, EncodeError> {
                match self { $(Self::$Body(body) => to.write(body),)+ }
            }

            #[inline(always)]
            pub(crate) fn read_body(from: BodyReader<'_, '_>) -> Result<Self, DecodeError> {
                match (from.kind, from.version) {
                    $(($kind, $version) => from.read().map(Self::$Body),
                    $(($kind, $old) => {
                        from.read::<$Before>().map(|before| $Body::from(before).into())
                    })?)+
                    (kind, version) => Err(DecodeError::unknown(kind, version)),
                }
            }
        }

        #[cfg(feature = "arbitrary")]
        crate::core::arbitrary::one_of! { Event: $(|input| input.arbitrary().map(Event::$Body),)+ }

        $(impl From<$Body> for Event {
            fn from(body: $Body) -> Self {
                Self::$Body(body.into())
            }
        }

        $(impl From<$Box<$Body>> for Event {
            fn from(body: $Box<$Body>) -> Self {
                Self::$Body(body)
            }
        })?)+
    };
}

events! {
    /// The log's end was put in order.
    1 v 1 "log" "log.recovery_performed" => RecoveryPerformed,
    /// HEAD was missing and its absence accepted.
    2 v 1 "log" "log.head_missing_accepted" => HeadMissingAccepted,
    /// The clock stepped.
    3 v 1 "log" "log.clock_stepped" => ClockStepped,
    /// The state's fingerprint was recorded.
    4 v 1 "log" "log.fingerprint_recorded" => FingerprintRecorded,
    /// A command was refused by a rule whose refusals are facts.
    5 v 1 "log" "log.command_refused" => CommandRefused,
    /// Another configuration is in force.
    6 v 1 "log" "log.configuration_changed" => ConfigurationChanged,
    /// The log was made of what could be kept of another one.
    7 v 1 "log" "log.salvaged" => Salvaged,
    /// A stretch of the salvaged log did not verify.
    8 v 1 "log" "log.records_lost" => RecordsLost,
    /// Records were moved to an archive.
    9 v 1 "log" "log.history_archived" => HistoryArchived,
    /// A sealed segment has an index.
    10 v 1 "log" "log.segment_indexed" => SegmentIndexed,
    /// A person set the policy of the log.
    11 v 1 "log" "log.policy_changed" => PolicyChanged in Box,
    /// The policy of the log may be lost.
    12 v 1 "log" "log.policy_unknown" => PolicyUnknown,
    /// Records were taken over from a damaged log without proof.
    13 v 1 "log" "log.records_unproven" => RecordsUnproven,
    /// A loop exists.
    32 v 2 "execution_loop" "execution_loop.initialized"
        => LoopInitialized, before 1 => LoopInitializedV1,
    /// An attempt was dispatched.
    33 v 1 "execution_loop" "execution_loop.dispatched" => LoopDispatched,
    /// An attempt's response is awaited.
    34 v 1 "execution_loop" "execution_loop.response_awaited" => ResponseAwaited,
    /// An attempt's response was evaluated.
    35 v 1 "execution_loop" "execution_loop.response_evaluated" => ResponseEvaluated,
    /// A loop halted.
    36 v 1 "execution_loop" "execution_loop.halted" => LoopHalted,
    /// An observer was attached.
    64 v 1 "evidence_capture" "evidence_capture.observer_attached" => ObserverAttached,
    /// Evidence was captured.
    65 v 1 "evidence_capture" "evidence_capture.evidence_captured" => EvidenceCaptured,
    /// A stop condition was found.
    66 v 1 "evidence_capture" "evidence_capture.stop_condition_detected" => StopConditionDetected,
    /// A chain was sealed.
    67 v 1 "evidence_capture" "evidence_capture.chain_sealed" => ChainSealed,
    /// An attempt failed.
    96 v 1 "sandbox_fault" "sandbox_fault.fault_reported" => FaultReported,
    /// It was decided what becomes of a failed attempt.
    97 v 1 "sandbox_fault" "sandbox_fault.sandbox_decided" => SandboxDecided,
    /// A person is asked.
    128 v 1 "human_decision" "human_decision.requested" => DecisionRequested in Box,
    /// A field was allowed to be shown.
    129 v 1 "human_decision" "human_decision.visibility_overridden" => VisibilityOverridden,
    /// 80 % of the time are over.
    130 v 1 "human_decision" "human_decision.warned" => DecisionWarned,
    /// A person answered.
    131 v 1 "human_decision" "human_decision.answered" => DecisionAnswered in Box,
    /// Nobody answered: ABORT.
    132 v 1 "human_decision" "human_decision.timed_out" => DecisionTimedOut in Box,
    /// An answer came too late.
    133 v 1 "human_decision" "human_decision.late_answer_recorded" => LateAnswerRecorded,
    /// Nobody needs to answer any more.
    134 v 1 "human_decision" "human_decision.request_withdrawn" => RequestWithdrawn,
    /// An actor may call the capabilities of PH1.X, or may no longer.
    160 v 1 "interruption_thread" "interruption_thread.capability_changed" => CapabilityChanged,
    /// A tenant was registered, or its status changed.
    161 v 1 "interruption_thread" "interruption_thread.tenant_registered" => TenantRegistered,
    /// A user was registered, or the status changed.
    162 v 1 "interruption_thread" "interruption_thread.user_registered" => UserRegistered,
    /// A device was registered for a user, or the status changed.
    163 v 1 "interruption_thread" "interruption_thread.device_registered" => DeviceRegistered,
    /// A session was registered, or its status changed.
    164 v 1 "interruption_thread" "interruption_thread.session_registered" => SessionRegistered,
    /// A work order was registered, or its status changed.
    165 v 1 "interruption_thread" "interruption_thread.work_order_registered"
        => WorkOrderRegistered,
    /// A lease was registered, or its status changed.
    166 v 1 "interruption_thread" "interruption_thread.lease_registered" => LeaseRegistered,
    /// A turn was taken.
    167 v 1 "interruption_thread" "interruption_thread.turn_taken" => TurnTaken,
    /// An audit row was committed.
    168 v 1 "interruption_thread" "interruption_thread.row_committed" => RowCommitted in Box,
    /// A turn or a row was refused.
    169 v 1 "interruption_thread" "interruption_thread.row_refused" => RowRefused,
    /// Words that were left unsaid expired.
    170 v 1 "interruption_thread" "interruption_thread.buffer_expired" => BufferExpired,
    /// The question whether to go back expired.
    171 v 1 "interruption_thread" "interruption_thread.return_check_expired" => ReturnCheckExpired,
    /// Words that were left unsaid were given up with their session or thread.
    172 v 1 "interruption_thread" "interruption_thread.remainders_discarded"
        => RemaindersDiscarded,
    /// Audit rows were read in the diagnostic mode.
    173 v 1 "interruption_thread" "interruption_thread.rows_read" => RowsRead,
    /// A thread ended.
    174 v 1 "interruption_thread" "interruption_thread.thread_closed" => ThreadClosed,
    /// What a thread waited for ended with the session in which it was asked.
    175 v 1 "interruption_thread" "interruption_thread.pending_disarmed" => PendingDisarmed,
    /// A thread goes on in another session.
    176 v 1 "interruption_thread" "interruption_thread.thread_moved" => ThreadMoved,
    /// A question was asked.
    192 v 2 "decision_point" "decision_point.created"
        => DecisionPointCreated, before 1 => DecisionPointCreatedV1,
    /// The requester proposed anew.
    193 v 1 "decision_point" "decision_point.refined" => DecisionPointRefined,
    /// Guidance ended a round.
    194 v 1 "decision_point" "decision_point.guidance_given" => GuidanceGiven,
    /// Another round of a question.
    195 v 1 "decision_point" "decision_point.round_opened" => RoundOpened,
    /// Somebody voted.
    196 v 1 "decision_point" "decision_point.vote" => VoteCast,
    /// A round was answered.
    197 v 1 "decision_point" "decision_point.resolved" => DecisionPointResolved,
    /// Nobody answered in time: the default.
    198 v 1 "decision_point" "decision_point.default_taken" => DefaultTaken,
    /// Nobody answered in time: nothing.
    199 v 1 "decision_point" "decision_point.aborted" => DecisionPointAborted,
    /// A question was taken back.
    200 v 1 "decision_point" "decision_point.cancelled" => DecisionPointCancelled,
    /// Another question took its place.
    201 v 1 "decision_point" "decision_point.superseded" => DecisionPointSuperseded,
    /// Whoever is asked was reminded.
    202 v 1 "decision_point" "decision_point.reminded" => DecisionPointReminded,
    /// Somebody else was told.
    203 v 1 "decision_point" "decision_point.escalated" => DecisionPointEscalated,
    /// An answer came when the round was over.
    204 v 1 "decision_point" "decision_point.late_response" => LateResponseRecorded,
    /// An approval was spent.
    205 v 1 "decision_point" "decision_point.consumed" => ApprovalConsumed,
    /// An approval was not spent in time.
    206 v 1 "decision_point" "decision_point.approval_lapsed" => ApprovalLapsed,
    /// What waited may go on.
    207 v 1 "decision_point" "decision_point.released" => DependentsReleased,
}
