//! What other engines suggest, and how little of it is used (seed, "Related Engine Boundary").
//! Nothing here sees a state or a directive, so nothing here can change one.

use core::fmt::Debug;

use super::reason::ReasonCode;
use super::request::{
    Advice, ExplainTrigger, Interruption, Ph1kToPh1xInterruptHandoff, StyleAdvice, ValidationStatus,
};
use super::validate::malformed;
use crate::event::Text;
use crate::refusal::ThreadRefusal;

/// Which missing field is asked for: PH1.PRUNE's, where several are missing and it is one of them;
/// else the first (seed, "Related Engine Boundary (`PH1.PRUNE`)"). `None` where none is missing.
#[must_use]
pub fn selected_missing_field<'a>(missing: &'a [Text], advice: &Advice) -> Option<&'a Text> {
    let is_selected = |field: &&Text| advice.prune_selected_missing_field.as_ref() == Some(*field);
    missing.iter().find(is_selected).or_else(|| missing.first())
}

/// How the words may be said. It says nothing about which words, or whether.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style<'a> {
    /// PH1.EMO.GUIDE's profile, where it was validated.
    pub emo_guide: Option<&'a Text>,
    /// PH1.PERSONA's profile, where it was validated.
    pub persona: Option<&'a Text>,
}

/// The profiles that may be used: those whose `validation_status` is OK (seed, "Related Engine
/// Boundary (`PH1.EMO.GUIDE`)" and "(`PH1.PERSONA`)").
#[must_use]
pub fn style(advice: &Advice) -> Style<'_> {
    Style {
        emo_guide: advice.emo_guide.as_ref().and_then(validated),
        persona: advice.persona.as_ref().and_then(validated),
    }
}

/// PH1.EXPLAIN's words, where the user asked for them, or where an answer accounts for a refusal
/// or a failure (seed, "Related Engine Boundary (`PH1.EXPLAIN`)").
#[must_use]
pub fn explanation(advice: &Advice, reason_code: ReasonCode) -> Option<&Text> {
    let explain = advice.explain.as_ref()?;
    let is_asked_for = match explain.trigger {
        ExplainTrigger::Explicit => true,
        ExplainTrigger::Accountability => is_accounted_for(reason_code),
        ExplainTrigger::None => false,
    };
    is_asked_for.then_some(&explain.text)
}

/// Whether PH1.K's handoff speaks of this very interruption: its four fields are those of the
/// interruption (seed, "PH1.K handoff projection lock").
///
/// # Errors
/// [`ThreadRefusal::Malformed`] names the first field that differs.
pub fn check_handoff(
    interruption: &Interruption,
    handoff: &Ph1kToPh1xInterruptHandoff,
) -> Result<(), ThreadRefusal> {
    same(
        "request.advice.interrupt_handoff.candidate_confidence_band",
        &interruption.candidate_confidence_band,
        &handoff.candidate_confidence_band,
    )?;
    same(
        "request.advice.interrupt_handoff.gate_confidences",
        &interruption.gate_confidences,
        &handoff.gate_confidences,
    )?;
    same(
        "request.advice.interrupt_handoff.degradation_context",
        &interruption.degradation_context,
        &handoff.degradation_context,
    )?;
    same(
        "request.advice.interrupt_handoff.risk_context_class",
        &interruption.risk_context_class,
        &handoff.risk_context_class,
    )
}

fn validated(style: &StyleAdvice) -> Option<&Text> {
    (style.validation_status == ValidationStatus::Ok).then_some(&style.profile)
}

const fn is_accounted_for(reason_code: ReasonCode) -> bool {
    reason_code.is_refusal()
        || matches!(reason_code, ReasonCode::LastFailure | ReasonCode::ToolFail)
}

fn same<T: PartialEq + Debug>(
    field: &'static str,
    stated: &T,
    handed_over: &T,
) -> Result<(), ThreadRefusal> {
    if stated == handed_over {
        return Ok(());
    }
    let expected = "the same as in the interruption";
    Err(malformed(field, expected, format_args!("{handed_over:?}")))
}
