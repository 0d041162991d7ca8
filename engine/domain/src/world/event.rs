//! The closed union of everything that can have happened.
//!
//! Every system has a table that pins each event's kind for ever (property E10). Ranges: the log
//! itself 1 to 31, `execution_loop` 32 to 63, `evidence_capture` 64 to 95, `sandbox_fault` 96 to
//! 127, `human_decision` 128 to 159, `registration` and `interruption_thread` 160 to 191,
//! `decision_point` 192 to 223.

use crate::core::codec::{BodyReader, BodyWriter, DecodeError, EncodeError};
use crate::core::{joined, union_of};
use crate::decision_point::event::DecisionPointEvent;
use crate::evidence_capture::event::EvidenceCaptureEvent;
use crate::evidence_capture::types::EvidenceContent;
use crate::execution_loop::event::ExecutionLoopEvent;
use crate::execution_loop::types::HaltReason;
use crate::governed::GovernedEvent;
use crate::human_decision::event::HumanDecisionEvent;
use crate::interruption_thread::event::InterruptionThreadEvent;
use crate::log::event::LogEvent;
use crate::registration::event::RegistrationEvent;
use crate::sandbox_fault::event::SandboxFaultEvent;

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

        /// Whether payloads of this kind and version can be read.
        pub(crate) const fn is_registered(kind: u16, version: u8) -> bool {
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
            $Union: $(|input| input.arbitrary().map($Union::$System),)+
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
        /// What is registered for interruption threads.
        Registration(RegistrationEvent),
        /// Interruption threads.
        InterruptionThread(InterruptionThreadEvent),
        /// Decision points.
        DecisionPoint(DecisionPointEvent),
    }
}

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
    /// The loop that the event belongs to; `None` for events of the log itself, of threads and of
    /// decision points.
    #[must_use]
    pub fn loop_id(&self) -> Option<&str> {
        match self {
            Self::ExecutionLoop(event) => Some(event.loop_id()),
            Self::EvidenceCapture(event) => Some(event.loop_id()),
            Self::SandboxFault(event) => Some(event.loop_id()),
            Self::HumanDecision(event) => Some(event.loop_id()),
            Self::Log(_)
            | Self::Registration(_)
            | Self::InterruptionThread(_)
            | Self::DecisionPoint(_) => None,
        }
    }

    /// Whether the event says what the rules before the newest had no words for.
    pub(crate) const fn has_newest_words(&self) -> bool {
        match self {
            Self::Log(LogEvent::PolicyChanged(_))
            | Self::InterruptionThread(
                InterruptionThreadEvent::PendingDisarmed(_)
                | InterruptionThreadEvent::ThreadMoved(_),
            ) => true,
            Self::ExecutionLoop(ExecutionLoopEvent::LoopHalted(body)) => {
                matches!(body.reason, HaltReason::Interrupted | HaltReason::RecorderLost)
            }
            Self::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) => {
                matches!(body.content, EvidenceContent::OutputCut(_))
            }
            _ => false,
        }
    }

    /// Tenant and correlation of the interruption thread that the event is about; `None` for events
    /// of other systems, and for registrations, which are about a tenant.
    #[must_use]
    pub fn thread(&self) -> Option<(&str, &str)> {
        let Self::InterruptionThread(event) = self else { return None };
        Some(event.thread())
    }

    /// The decision point that the event is about; `None` for events of other systems.
    #[must_use]
    pub fn decision_point(&self) -> Option<&str> {
        let Self::DecisionPoint(event) = self else { return None };
        Some(event.decision_id())
    }
}
