//! The closed union of everything that can have happened.
//!
//! Every system has a table that pins each event's kind for ever (property E10). Ranges: the log
//! itself 1 to 31, `execution_loop` 32 to 63, `evidence_capture` 64 to 95, `sandbox_fault` 96 to
//! 127, `human_decision` 128 to 159, `registration` and `interruption_thread` 160 to 191,
//! `decision_point` 192 to 223, `application` 224 to 255. From [`FIRST_OPAQUE_KIND`] on a kind is
//! the log's user's own, and no event at all.

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::application::event::ApplicationEvent;
use crate::core::codec::{BodyReader, BodyWriter, DecodeError, EncodeError};
use crate::core::forbidden::Rules;
use crate::core::time::Timestamp;
use crate::core::{joined, union_of};
use crate::decision_point::event::DecisionPointEvent;
use crate::evidence_capture::event::{EvidenceCaptureEvent, EvidenceCaptured};
use crate::evidence_capture::pieces::RecordedStream;
use crate::evidence_capture::types::EvidenceContent;
use crate::execution_loop::event::ExecutionLoopEvent;
use crate::execution_loop::types::HaltReason;
use crate::governed::GovernedEvent;
use crate::governed::aggregate::ExecutionLoop;
use crate::human_decision::event::HumanDecisionEvent;
use crate::interruption_thread::event::InterruptionThreadEvent;
use crate::interruption_thread::types::FateReason;
use crate::log::event::{LogEvent, RULES_ADOPTED};
use crate::registration::event::RegistrationEvent;
use crate::sandbox_fault::event::SandboxFaultEvent;
use crate::world::World;

pub use crate::core::Kind;

/// Writes the union and what it hands on to a system, from one list.
macro_rules! systems {
    (#[doc = $doc:literal] $Union:ident {
        $($(#[$system_doc:meta])* $System:ident($Event:ident),)+
    }) => {
        union_of! { #[doc = $doc] $Union { $($(#[$system_doc])* $System($Event),)+ } }

        const KIND_COUNT: usize = 0 $(+ $Event::KINDS.len())+;

        /// Every kind of event, in ascending order.
        pub const REGISTRY: &[Kind] = &joined::<_, KIND_COUNT>(
            Kind { kind: 0, version: 0, system: "", name: "" },
            &[$($Event::KINDS),+],
        );

        /// Every system, as the names of its events begin, in the order of the enum.
        pub(crate) const SYSTEMS: &[&str] = &[$(match $Event::KINDS {
            [first, ..] => first.system,
            [] => "",
        }),+];

        /// Returns whether payloads of this kind and version can be read.
        pub const fn is_registered(kind: u16, version: u8) -> bool {
            $($Event::is_registered(kind, version))||+
        }

        impl $Union {
            /// The event's line in the registry.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$System(event) => event.kind(),)+ }
            }

            pub(crate) fn write_body(&self, to: BodyWriter) -> Result<BodyWriter, EncodeError> {
                match self { $(Self::$System(event) => event.write_body(to),)+ }
            }

            #[inline(always)]
            pub(crate) fn read_body(from: BodyReader<'_, '_>) -> Result<Self, DecodeError> {
                $(if $Event::has(from.kind) {
                    return $Event::read_body(from).map(Self::$System);
                })+
                Err(DecodeError::unknown(from.kind, from.version))
            }
        }

        #[cfg(feature = "arbitrary")]
        crate::core::arbitrary::one_of! {
            $Union of $($System($Event)),+
        }

        #[cfg(feature = "schema")]
        crate::core::schema::flat_union! { $doc $Union: $($Event),+ }
    };
}

systems! {
    /// A fact, past tense: the only thing that the log stores.
    Event {
        /// The log itself.
        Log(LogEvent),
        /// Execution loops.
        ExecutionLoop(ExecutionLoopEvent),
        /// Their evidence.
        EvidenceCapture(EvidenceCaptureEvent),
        /// Their attempts that failed.
        SandboxFault(SandboxFaultEvent),
        /// Questions about them to a person.
        HumanDecision(HumanDecisionEvent),
        /// Registrations for interruption threads.
        Registration(RegistrationEvent),
        /// Interruption threads.
        InterruptionThread(InterruptionThreadEvent),
        /// Decision points.
        DecisionPoint(DecisionPointEvent),
        /// Events of the application.
        Application(ApplicationEvent),
    }
}

/// Kinds from here on, up to 65535, are whose log it is to give: chained, and opaque. No rule says
/// anything of them, no state follows from them, and no event ever gets one.
pub const FIRST_OPAQUE_KIND: u16 = 32_768;

/// The name of a kind, or `None` if this program does not know it.
#[must_use]
pub fn kind_name(kind: u16) -> Option<&'static str> {
    REGISTRY.iter().find(|entry| entry.kind == kind).map(|entry| entry.name)
}

impl From<GovernedEvent> for Event {
    fn from(event: GovernedEvent) -> Self {
        match event {
            GovernedEvent::ExecutionLoop(event) => Self::ExecutionLoop(event),
            GovernedEvent::EvidenceCapture(event) => Self::EvidenceCapture(event),
            GovernedEvent::SandboxFault(event) => Self::SandboxFault(event),
            GovernedEvent::HumanDecision(event) => Self::HumanDecision(event),
        }
    }
}

impl Event {
    /// The evidence that the event says was captured.
    #[must_use]
    pub const fn captured(&self) -> Option<&EvidenceCaptured> {
        let Self::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = self else {
            return None;
        };
        Some(body)
    }

    /// The loop that the event belongs to; `None` for events of the log itself, but the labels of
    /// a loop, of threads and of decision points.
    #[must_use]
    pub fn loop_id(&self) -> Option<&str> {
        match self {
            Self::ExecutionLoop(event) => Some(event.loop_id()),
            Self::EvidenceCapture(event) => Some(event.loop_id()),
            Self::SandboxFault(event) => Some(event.loop_id()),
            Self::HumanDecision(event) => Some(event.loop_id()),
            Self::Log(LogEvent::RecordsLabelled(body)) => body.loop_id.as_deref(),
            Self::Log(_)
            | Self::Registration(_)
            | Self::InterruptionThread(_)
            | Self::DecisionPoint(_)
            | Self::Application(_) => None,
        }
    }

    /// Returns whether the event says what the rules before the newest had no words for.
    pub(crate) const fn has_newest_words(&self) -> bool {
        if let Self::ExecutionLoop(ExecutionLoopEvent::LoopHalted(body)) = self {
            return matches!(body.reason, HaltReason::Interrupted | HaltReason::RecorderLost);
        }
        if let Self::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = self {
            return matches!(body.content, EvidenceContent::OutputCut(_));
        }
        matches!(
            self,
            Self::Application(_)
                | Self::Log(LogEvent::PolicyChanged(_))
                | Self::InterruptionThread(
                    InterruptionThreadEvent::PendingDisarmed(_)
                        | InterruptionThreadEvent::ThreadMoved(_)
                        | InterruptionThreadEvent::RemainderDisplaced(_)
                        | InterruptionThreadEvent::PlanDrafted(_)
                        | InterruptionThreadEvent::TurnCommitted(_)
                )
        )
    }

    /// The question, or the approval that it became, by whose times the event is judged.
    pub(crate) fn limit(&self) -> Option<&str> {
        match self {
            Self::DecisionPoint(event) => Some(event.decision_id()),
            Self::HumanDecision(event) => Some(event.request_id()),
            Self::Log(_)
            | Self::ExecutionLoop(_)
            | Self::EvidenceCapture(_)
            | Self::SandboxFault(_)
            | Self::Registration(_)
            | Self::InterruptionThread(_)
            | Self::Application(_) => None,
        }
    }

    /// Returns whether the event says what the rules before number 4 had no words for.
    pub(crate) const fn has_fourth_words(&self) -> bool {
        matches!(
            self,
            Self::Log(LogEvent::PolicyUnlocked(_))
                | Self::DecisionPoint(DecisionPointEvent::ApprovalRevoked(_))
        )
    }

    /// Returns whether the event says what the rules before number 5 had no words for.
    pub(crate) fn has_fifth_words(&self) -> bool {
        if let Self::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = self {
            return matches!(
                body.content,
                EvidenceContent::OutputPieces(_) | EvidenceContent::Snapshot(_)
            );
        }
        if let Self::DecisionPoint(event) = self {
            return event.is_end_by_system();
        }
        matches!(
            self,
            Self::EvidenceCapture(EvidenceCaptureEvent::OutputRecorded(_))
                | Self::Log(LogEvent::ClockStepAccepted(_) | LogEvent::LogContinued(_))
        )
    }

    /// Returns whether the event says what the rules before number 6 had no words for.
    pub(crate) fn has_sixth_words(&self) -> bool {
        if let Self::DecisionPoint(event) = self {
            return event.accepts_proposal();
        }
        if let Self::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(body)) = self {
            return body.instruction.is_some();
        }
        if let Self::InterruptionThread(InterruptionThreadEvent::PlanDrafted(body)) = self {
            return body.unsaid.is_some();
        }
        matches!(self, Self::InterruptionThread(InterruptionThreadEvent::PlanEnded(_)))
    }

    /// Tells whether the event says what the rules before number 7 had no words for.
    pub(crate) const fn has_seventh_words(&self) -> bool {
        if let Self::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(body)) = self {
            return body.ends_thread();
        }
        matches!(self, Self::DecisionPoint(DecisionPointEvent::DecisionPointWarned(_)))
    }

    /// Tells whether the event says what the rules before number 9 had no words for.
    pub(crate) fn has_ninth_words(&self) -> bool {
        let Self::InterruptionThread(event) = self else { return false };
        let words = if let InterruptionThreadEvent::PlanDrafted(body) = event {
            body.unsaid.as_ref()
        } else if let InterruptionThreadEvent::PlanEnded(body) = event {
            Some(&body.remainder)
        } else {
            None
        };
        words.is_some_and(|words| words.reason == FateReason::NotSure)
    }

    /// Tenant and correlation of the interruption thread that the event is about; `None` for events
    /// of other systems, and for registrations, which are about a tenant.
    #[must_use]
    pub fn thread(&self) -> Option<(&str, &str)> {
        let Self::InterruptionThread(event) = self else { return None };
        Some(event.thread())
    }

    /// The stream of the application that the event is about; `None` for events of other systems,
    /// and for what is about a reducer.
    #[must_use]
    pub fn stream(&self) -> Option<&str> {
        let Self::Application(event) = self else { return None };
        event.stream()
    }

    /// The decision point that the event is about; `None` for events of other systems.
    #[must_use]
    pub fn decision_point(&self) -> Option<&str> {
        let Self::DecisionPoint(event) = self else { return None };
        Some(event.decision_id())
    }

    /// Returns whether SYSTEM alone records it: what happened to the log itself.
    #[must_use]
    pub const fn is_of_system(&self) -> bool {
        use LogEvent::{
            ClockStepped, HeadMissingAccepted, HistoryArchived, PolicyUnknown, RecordsLost,
            RecordsUnproven, RecoveryPerformed, Salvaged, SegmentIndexed,
        };
        matches!(
            self,
            Self::Log(
                ClockStepped(_)
                    | HeadMissingAccepted(_)
                    | HistoryArchived(_)
                    | PolicyUnknown(_)
                    | RecordsLost(_)
                    | RecordsUnproven(_)
                    | RecoveryPerformed(_)
                    | Salvaged(_)
                    | SegmentIndexed(_)
            )
        )
    }

    /// The question that the event changes, a decision point or a request to a person; `None` for
    /// events that change none.
    #[must_use]
    pub fn question(&self) -> Option<&str> {
        use HumanDecisionEvent::{LateAnswerRecorded, OutputShown};
        let Self::HumanDecision(event) = self else { return self.decision_point() };
        let changes_none = matches!(event, LateAnswerRecorded(_) | OutputShown(_));
        (!changes_none).then(|| event.request_id())
    }
}

impl World {
    /// The number of the rules under which an event is not checked here, where it is not: this
    /// program does not have them, or they have no words for it.
    #[must_use]
    pub fn rules_not_checked(&self, event: &Event) -> Option<u32> {
        let kind = event.kind();
        let number = self.rules_of(kind);
        let has_words = |rules: &Rules| {
            (rules.has_newest_words || !event.has_newest_words())
                && (rules.has_fourth_words || !event.has_fourth_words())
                && (rules.has_fifth_words || !event.has_fifth_words())
                && (rules.has_sixth_words || !event.has_sixth_words())
                && (rules.has_seventh_words || !event.has_seventh_words())
                && (rules.ends_unsure_words || !event.has_ninth_words())
        };
        let is_checked =
            kind.kind == RULES_ADOPTED || Rules::numbered(number).is_some_and(has_words);
        (!is_checked).then_some(number)
    }

    /// The streams of the attempt of a loop that runs, of which pieces are recorded.
    #[must_use]
    pub fn recorded_output(&self, loop_id: &str) -> &[RecordedStream] {
        self.hot.outputs.of(loop_id)
    }
}

/// Counts over all events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Events applied.
    pub events: u64,
    /// The sequence of the last record. 0: none.
    pub last_sequence: u64,
    /// The time of the last record.
    pub last_at: Timestamp,
    /// Loops that were initialized.
    pub loops_initialized: u64,
    /// Attempts that were dispatched.
    pub attempts_dispatched: u64,
    /// Evidence records that were captured.
    pub evidence_records: u64,
    /// Faults that were reported.
    pub faults_reported: u64,
    /// Requests for a person's decision.
    pub decisions_requested: u64,
    /// Answers that counted.
    pub decisions_answered: u64,
    /// Requests that nobody answered in time.
    pub decisions_timed_out: u64,
    /// Answers that came too late.
    pub late_answers: u64,
    /// Commands that were refused on the record.
    pub commands_refused: u64,
    /// Loops that settled, by the reason for which they halted.
    pub loops_settled: BTreeMap<HaltReason, u64>,
}

impl Totals {
    /// Goes on to a record.
    pub(crate) const fn reach(&mut self, sequence: u64, at: Timestamp) {
        self.last_sequence = sequence;
        self.last_at = at;
    }

    pub(crate) fn count(&mut self, sequence: u64, at: Timestamp, event: &Event) {
        self.reach(sequence, at);
        increment(&mut self.events);
        let counted = match event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(_)) => {
                &mut self.loops_initialized
            }
            Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(_)) => {
                &mut self.attempts_dispatched
            }
            Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(_)) => {
                &mut self.evidence_records
            }
            Event::SandboxFault(SandboxFaultEvent::FaultReported(_)) => &mut self.faults_reported,
            Event::HumanDecision(event) => match event {
                HumanDecisionEvent::HumanDecisionRequested(_) => &mut self.decisions_requested,
                HumanDecisionEvent::HumanDecisionAnswered(_) => &mut self.decisions_answered,
                HumanDecisionEvent::HumanDecisionTimedOut(_) => &mut self.decisions_timed_out,
                HumanDecisionEvent::LateAnswerRecorded(_) => &mut self.late_answers,
                HumanDecisionEvent::VisibilityOverridden(_)
                | HumanDecisionEvent::HumanDecisionWarned(_)
                | HumanDecisionEvent::RequestWithdrawn(_)
                | HumanDecisionEvent::OutputShown(_) => return,
            },
            Event::Log(LogEvent::CommandRefused(_))
            | Event::InterruptionThread(InterruptionThreadEvent::RowRefused(_)) => {
                &mut self.commands_refused
            }
            Event::Log(_)
            | Event::ExecutionLoop(_)
            | Event::EvidenceCapture(_)
            | Event::SandboxFault(_)
            | Event::Registration(_)
            | Event::InterruptionThread(_)
            | Event::DecisionPoint(_)
            | Event::Application(_) => return,
        };
        increment(counted);
    }

    pub(crate) fn settled(&mut self, done: &ExecutionLoop) {
        if let Some(halt) = &done.halt {
            increment(self.loops_settled.entry(halt.reason).or_default());
        }
    }
}

/// Counts over all events of decision points. A room of their own carries them, so that a state
/// that was carried before there were any is still read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionPointTotals {
    /// Questions that were asked.
    pub decision_points_created: u64,
    /// Rounds that somebody answered, guidance aside.
    pub decision_points_resolved: u64,
    /// Rounds that nobody answered in time: the default was taken, or nothing was decided.
    pub decision_points_timed_out: u64,
    /// Answers that came when their round was over.
    pub late_responses: u64,
}

impl DecisionPointTotals {
    pub(crate) fn count(&mut self, event: &Event) {
        let Event::DecisionPoint(event) = event else { return };
        if matches!(event, DecisionPointEvent::DecisionPointCreated(_)) {
            increment(&mut self.decision_points_created);
        } else if matches!(event, DecisionPointEvent::DecisionPointResolved(_)) {
            increment(&mut self.decision_points_resolved);
        } else if matches!(
            event,
            DecisionPointEvent::DefaultTaken(_) | DecisionPointEvent::DecisionPointAborted(_)
        ) {
            increment(&mut self.decision_points_timed_out);
        } else if matches!(event, DecisionPointEvent::LateResponseRecorded(_)) {
            increment(&mut self.late_responses);
        }
    }
}

fn increment(count: &mut u64) {
    *count = count.saturating_add(1);
}
