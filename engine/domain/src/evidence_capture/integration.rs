//! Transition, observation point, evidence type: the one table (Phase-31, "Integration points").

use crate::core::closed_enum;
use crate::evidence_capture::types::{EvidenceType, ObservationPoint};
use crate::execution_loop::types::{ExecutionLoopState, HaltReason};

closed_enum! {
    /// Step of a loop that may have to be observed.
    pub enum LoopStep {
        /// The loop was initialized.
        Initialized = "INITIALIZED",
        /// INIT -> DISPATCHED, and again after a retry.
        Dispatched = "DISPATCHED",
        /// DISPATCHED -> AWAITING_RESPONSE.
        Awaiting = "AWAITING",
        /// The executor put something out.
        OutputReceived = "OUTPUT_RECEIVED",
        /// The executor's resource use was measured.
        ResourcesMeasured = "RESOURCES_MEASURED",
        /// A time was observed.
        TimeObserved = "TIME_OBSERVED",
        /// AWAITING_RESPONSE -> EVALUATED.
        Evaluated = "EVALUATED",
        /// The response was normalized: ACCEPT, REJECT or ESCALATE.
        ResultDecided = "RESULT_DECIDED",
        /// EVALUATED, and the loop goes on.
        Continued = "CONTINUED",
        /// Any state -> HALTED, the work being done.
        Completed = "COMPLETED",
        /// Any state -> HALTED, by a stop condition, a fault or an illegal transition.
        Stopped = "STOPPED",
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct IntegrationRow {
    /// Step that is taken.
    pub step: LoopStep,
    /// The state that the loop is in while the evidence is captured: the state before the step
    /// for a "pre" capture, the state after it otherwise.
    pub captured_in: ExecutionLoopState,
    /// Place and type of its capture; nothing for the internal step.
    pub place: Option<(ObservationPoint, EvidenceType)>,
}

/// The table. Raw output is captured *before* normalization, the decision after it.
///
/// | step | captured in | observation point | evidence type | Phase-31's row |
/// |---|---|---|---|---|
/// | INITIALIZED | INIT | PRE_DISPATCH | STATE_TRANSITION | `initialize_execution_loop()` |
/// | DISPATCHED | DISPATCHED | POST_DISPATCH | STATE_TRANSITION | `transition(DISPATCHED)` |
/// | AWAITING | AWAITING_RESPONSE | - | - | `transition(AWAITING)`: none (internal) |
/// | OUTPUT_RECEIVED | AWAITING_RESPONSE | PRE_EVALUATE | EXECUTOR_OUTPUT | raw, before normalize |
/// | RESOURCES_MEASURED | AWAITING_RESPONSE | PRE_EVALUATE | RESOURCE_SNAPSHOT | resource metrics |
/// | TIME_OBSERVED | AWAITING_RESPONSE | PRE_EVALUATE | TIMESTAMP_EVENT | timed observation |
/// | EVALUATED | AWAITING_RESPONSE | PRE_EVALUATE | STATE_TRANSITION | `transition(EVALUATED)` |
/// | RESULT_DECIDED | EVALUATED | POST_EVALUATE | STATE_TRANSITION | result decision |
/// | CONTINUED | EVALUATED | POST_EVALUATE | STATE_TRANSITION | loop continuation |
/// | COMPLETED | HALTED | HALT_ENTRY | STATE_TRANSITION | `transition(HALTED)` |
/// | STOPPED | HALTED | HALT_ENTRY | STOP_CONDITION | `transition(HALTED)`, stop enforcement |
pub const INTEGRATION: [IntegrationRow; 11] = {
    use EvidenceType::*;
    use ExecutionLoopState::*;
    use LoopStep as Step;
    use ObservationPoint::*;
    [
        row(Step::Initialized, Init, Some((PreDispatch, StateTransition))),
        row(Step::Dispatched, Dispatched, Some((PostDispatch, StateTransition))),
        row(Step::Awaiting, AwaitingResponse, None),
        row(Step::OutputReceived, AwaitingResponse, Some((PreEvaluate, ExecutorOutput))),
        row(Step::ResourcesMeasured, AwaitingResponse, Some((PreEvaluate, ResourceSnapshot))),
        row(Step::TimeObserved, AwaitingResponse, Some((PreEvaluate, TimestampEvent))),
        row(Step::Evaluated, AwaitingResponse, Some((PreEvaluate, StateTransition))),
        row(Step::ResultDecided, Evaluated, Some((PostEvaluate, StateTransition))),
        row(Step::Continued, Evaluated, Some((PostEvaluate, StateTransition))),
        row(Step::Completed, Halted, Some((HaltEntry, StateTransition))),
        row(Step::Stopped, Halted, Some((HaltEntry, StopCondition))),
    ]
};

const fn row(
    step: LoopStep,
    captured_in: ExecutionLoopState,
    place: Option<(ObservationPoint, EvidenceType)>,
) -> IntegrationRow {
    IntegrationRow { step, captured_in, place }
}

/// Returns where and as what a step is captured; `None` for the internal step.
#[must_use]
pub fn capture_place(step: LoopStep) -> Option<(ObservationPoint, EvidenceType)> {
    INTEGRATION.iter().find(|row| row.step == step)?.place
}

/// Returns whether evidence of this point and type may be captured while the loop is in this state.
#[must_use]
pub fn may_capture(
    state: ExecutionLoopState,
    point: ObservationPoint,
    evidence_type: EvidenceType,
) -> bool {
    let place = Some((point, evidence_type));
    INTEGRATION.iter().any(|row| row.captured_in == state && row.place == place)
}

impl HaltReason {
    /// The row of the integration table that captures a halt for this reason.
    #[must_use]
    pub const fn step(self) -> LoopStep {
        match self {
            Self::Completed | Self::ResponseRejected | Self::ResponseEscalated => {
                LoopStep::Completed
            }
            Self::FaultTerminated
            | Self::FaultEscalated
            | Self::FaultNotRetried
            | Self::StopCondition
            | Self::IllegalTransition
            | Self::HandshakeFailed
            | Self::HumanDecisionTimedOut
            | Self::Interrupted
            | Self::RecorderLost => LoopStep::Stopped,
        }
    }
}
