//! Rules that need several of the first four systems at once: one execution loop with its attempts,
//! evidence, faults and questions to a person, and the rules that move it.

pub(crate) mod aggregate;
pub(crate) mod answer;
pub(crate) mod apply;
pub(crate) mod apply_question;
pub(crate) mod attempt;
pub(crate) mod batch;
pub(crate) mod capture;
pub(crate) mod initialization;
pub(crate) mod pieces;
pub(crate) mod refusal;
pub(crate) mod request;
pub(crate) mod view;

use crate::core::union_of;
use crate::evidence_capture::event::EvidenceCaptureEvent;
use crate::execution_loop::event::ExecutionLoopEvent;
use crate::human_decision::event::HumanDecisionEvent;
use crate::sandbox_fault::event::SandboxFaultEvent;

pub use aggregate::*;
pub use refusal::*;
pub use view::*;

union_of! {
    /// Event of a loop.
    GovernedEvent {
        /// The loop itself.
        ExecutionLoop(ExecutionLoopEvent),
        /// Its evidence.
        EvidenceCapture(EvidenceCaptureEvent),
        /// Its attempts that failed.
        SandboxFault(SandboxFaultEvent),
        /// Questions about it to a person.
        HumanDecision(HumanDecisionEvent),
    }
}
