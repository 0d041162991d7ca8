//! The ten stop conditions: what triggers each, and that the unknown halts (Phase-31).

use serde::{Deserialize, Serialize};

use super::{ObservationContext, StopCondition};

/// What the caller knows. `None` is "not known" and halts, as everything does that
/// [`check_stop`] is not told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopFacts {
    /// A human or a rule that a human made authorized this execution.
    pub authorization_present: Option<bool>,
    /// The executor exists and is known.
    pub executor_registered: Option<bool>,
    /// The instruction to be executed hashes to the envelope's hash.
    pub envelope_hash_matches: Option<bool>,
    /// The evidence chain verifies up to its head.
    pub chain_valid: Option<bool>,
    /// Every resource limit holds.
    pub resources_available: Option<bool>,
    /// The time is a time and does not go backwards.
    pub timestamp_valid: Option<bool>,
    /// No earlier execution of this loop is still running.
    pub prior_execution_complete: Option<bool>,
    /// What is to be done has one meaning.
    pub intent_clear: Option<bool>,
    /// A human said stop.
    pub human_abort_signaled: Option<bool>,
}

impl StopFacts {
    /// Every fact known, and none of them a reason to stop.
    pub const ALL_CLEAR: Self = Self {
        authorization_present: Some(true),
        executor_registered: Some(true),
        envelope_hash_matches: Some(true),
        chain_valid: Some(true),
        resources_available: Some(true),
        timestamp_valid: Some(true),
        prior_execution_complete: Some(true),
        intent_clear: Some(true),
        human_abort_signaled: Some(false),
    };
}

/// What triggers a stop condition, as a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct StopTrigger {
    /// The condition.
    pub condition: StopCondition,
    /// The fact that it depends on, by its name in [`StopFacts`].
    pub fact: &'static str,
    /// The value of the fact with which the loop may go on. Any other value halts, and so does
    /// not knowing.
    pub goes_on_when: bool,
}

const fn trigger(condition: StopCondition, fact: &'static str, goes_on_when: bool) -> StopTrigger {
    StopTrigger { condition, fact, goes_on_when }
}

/// What triggers each of the ten. CONTEXT_UNINITIALIZED depends on the context itself: it goes on
/// when no field is blank. Whatever the condition, a missing or a halted context halts.
pub const STOP_TRIGGERS: [StopTrigger; 10] = [
    trigger(StopCondition::MissingAuthorization, "authorization_present", true),
    trigger(StopCondition::ExecutorNotRegistered, "executor_registered", true),
    trigger(StopCondition::EnvelopeHashMismatch, "envelope_hash_matches", true),
    trigger(StopCondition::ContextUninitialized, "is_initialized", true),
    trigger(StopCondition::EvidenceChainBroken, "chain_valid", true),
    trigger(StopCondition::ResourceLimitExceeded, "resources_available", true),
    trigger(StopCondition::TimestampInvalid, "timestamp_valid", true),
    trigger(StopCondition::PriorExecutionPending, "prior_execution_complete", true),
    trigger(StopCondition::AmbiguousIntent, "intent_clear", true),
    trigger(StopCondition::HumanAbort, "human_abort_signaled", false),
];

/// Whether the condition halts the loop: `true` is HALT. Missing context, halted context and
/// unknown fact all halt; only the fact of this condition is looked at.
#[must_use]
pub fn check_stop(
    context: Option<&ObservationContext>,
    condition: StopCondition,
    facts: &StopFacts,
) -> bool {
    let Some(context) = context else { return true };
    if context.is_halted {
        return true;
    }
    let (fact, goes_on_when) = match condition {
        StopCondition::MissingAuthorization => (facts.authorization_present, true),
        StopCondition::ExecutorNotRegistered => (facts.executor_registered, true),
        StopCondition::EnvelopeHashMismatch => (facts.envelope_hash_matches, true),
        StopCondition::ContextUninitialized => (Some(context.is_initialized()), true),
        StopCondition::EvidenceChainBroken => (facts.chain_valid, true),
        StopCondition::ResourceLimitExceeded => (facts.resources_available, true),
        StopCondition::TimestampInvalid => (facts.timestamp_valid, true),
        StopCondition::PriorExecutionPending => (facts.prior_execution_complete, true),
        StopCondition::AmbiguousIntent => (facts.intent_clear, true),
        StopCondition::HumanAbort => (facts.human_abort_signaled, false),
    };
    fact != Some(goes_on_when)
}

/// Every condition that halts the loop now, in the seed's order: all ten are checked.
pub fn triggered_conditions<'a>(
    context: Option<&'a ObservationContext>,
    facts: &'a StopFacts,
) -> impl Iterator<Item = StopCondition> + 'a {
    let halts = move |condition: &StopCondition| check_stop(context, *condition, facts);
    StopCondition::ALL.iter().copied().filter(halts)
}
