//! Commands on questions to a person (Phase-32).

use alloc::string::String;

use crate::core::actor::Actor;
use crate::core::ids::Entropy;
use crate::core::{bodies, commands};
use crate::human_decision::types::{AnswerMeans, HumanDecision, OverrideField};

commands! {
    /// Command on a question to a person.
    HumanDecisionCommand {
        /// Ask a person what becomes of an EVALUATED loop.
        "human_decision.request" RequestHumanDecision(RequestHumanDecision) with entropy;
        /// Answer such a question. What follows is in the same batch: CONTINUE ends the loop as its
        /// evaluation gives, ABORT halts it, ESCALATE asks the target, RETRY permits another
        /// attempt.
        "human_decision.answer" AnswerHumanDecision(AnswerHumanDecision) with entropy;
        /// Record what is due for a request: the warning at 80 %, ABORT at the deadline.
        "human_decision.expire" ExpireDue(ExpireDue) with entropy;
        /// Allow a field that is OVERRIDE_REQUIRED to be shown to whoever decides.
        "human_decision.override_visibility" OverrideVisibility(OverrideVisibility);
        /// Record that what the command printed is shown at the prompt of an open question.
        "human_decision.show_output" ShowOutput(ShowOutput);
    }
}

bodies! {
    /// See [`HumanDecisionCommand::RequestHumanDecision`]. The request's id is
    /// `REQ-` and the entropy; the summary is made of the loop's own evidence, the deadline of the
    /// terms of its hold.
    RequestHumanDecision {
        /// The loop.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
    }

    /// See [`HumanDecisionCommand::AnswerHumanDecision`]. The decision's id is `DEC-`
    /// and the entropy. The record's envelope has to carry the same actor and human id.
    AnswerHumanDecision {
        /// The request.
        request_id: String,
        /// Its loop, where the caller wants it checked.
        #[serde(default)]
        loop_id: Option<String>,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// Kind of actor that answers: only HUMAN may.
        actor: Actor,
        /// Name of who answers.
        human_id: String,
        /// Decision that is given.
        decision: HumanDecision,
        /// Why, at most 4096 bytes. Required for RETRY and ESCALATE.
        #[serde(default)]
        reason: Option<String>,
        /// To whom. Required for ESCALATE, and a target of the hold.
        #[serde(default)]
        escalation_target: Option<String>,
        /// By what means.
        means: AnswerMeans,
    }

    /// See [`HumanDecisionCommand::ExpireDue`]. A timeout's decision has the id
    /// `DEC-` and the entropy.
    ExpireDue {
        /// The request.
        request_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
    }

    /// See [`HumanDecisionCommand::ShowOutput`].
    ShowOutput {
        /// At the prompt of which request.
        request_id: String,
    }

    /// See [`HumanDecisionCommand::OverrideVisibility`].
    OverrideVisibility {
        /// In the view of which request.
        request_id: String,
        /// Kind of actor that allows it: only HUMAN may.
        actor: Actor,
        /// Name of who allows it.
        human_id: String,
        /// The field.
        field: OverrideField,
        /// Why, at most 4096 bytes.
        reason: String,
        /// By what means.
        means: AnswerMeans,
    }
}
