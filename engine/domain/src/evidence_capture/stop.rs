//! The ten stop conditions: what triggers each, and that the unknown halts (Phase-31).

use serde::{Deserialize, Serialize};

use super::{ObservationContext, StopCondition};

/// What the caller knows. `None` is "not known" and halts, as everything does that
/// [`check_stop`] is not told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
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
    /// The fact that it depends on, by name.
    pub fact: &'static str,
    /// The value of the fact with which the loop may go on. The other value halts, and so does
    /// not knowing.
    pub goes_on_when: bool,
    /// Looks the fact up.
    known: fn(&ObservationContext, &StopFacts) -> Option<bool>,
}

/// What triggers each of the ten; [`check_stop`] decides by this table. CONTEXT_UNINITIALIZED
/// depends on the context itself: it goes on when no field is blank. Whatever the condition, a
/// missing or a halted context halts.
///
/// | condition | halts when | and also when |
/// |---|---|---|
/// | MISSING_AUTHORIZATION | `authorization_present` is false | unknown |
/// | EXECUTOR_NOT_REGISTERED | `executor_registered` is false | unknown |
/// | ENVELOPE_HASH_MISMATCH | `envelope_hash_matches` is false | unknown |
/// | CONTEXT_UNINITIALIZED | a field of the context is blank | there is no context |
/// | EVIDENCE_CHAIN_BROKEN | `chain_valid` is false | unknown |
/// | RESOURCE_LIMIT_EXCEEDED | `resources_available` is false | unknown |
/// | TIMESTAMP_INVALID | `timestamp_valid` is false | unknown |
/// | PRIOR_EXECUTION_PENDING | `prior_execution_complete` is false | unknown |
/// | AMBIGUOUS_INTENT | `intent_clear` is false | unknown |
/// | HUMAN_ABORT | `human_abort_signaled` is true | unknown |
pub const STOP_TRIGGERS: [StopTrigger; 10] = {
    use StopCondition as C;
    [
        needs(C::MissingAuthorization, "authorization_present", |_, f| f.authorization_present),
        needs(C::ExecutorNotRegistered, "executor_registered", |_, f| f.executor_registered),
        needs(C::EnvelopeHashMismatch, "envelope_hash_matches", |_, f| f.envelope_hash_matches),
        needs(C::ContextUninitialized, "is_initialized", |c, _| Some(c.is_initialized())),
        needs(C::EvidenceChainBroken, "chain_valid", |_, f| f.chain_valid),
        needs(C::ResourceLimitExceeded, "resources_available", |_, f| f.resources_available),
        needs(C::TimestampInvalid, "timestamp_valid", |_, f| f.timestamp_valid),
        needs(C::PriorExecutionPending, "prior_execution_complete", |_, f| {
            f.prior_execution_complete
        }),
        needs(C::AmbiguousIntent, "intent_clear", |_, f| f.intent_clear),
        StopTrigger {
            condition: C::HumanAbort,
            fact: "human_abort_signaled",
            goes_on_when: false,
            known: |_, f| f.human_abort_signaled,
        },
    ]
};

/// A row whose fact has to be true for the loop to go on.
const fn needs(
    condition: StopCondition,
    fact: &'static str,
    known: fn(&ObservationContext, &StopFacts) -> Option<bool>,
) -> StopTrigger {
    StopTrigger { condition, fact, goes_on_when: true, known }
}

/// Whether the condition halts the loop: `true` is HALT. Missing context, halted context and
/// unknown fact all halt; only the fact of this condition is looked at.
#[must_use]
pub fn check_stop(
    context: Option<&ObservationContext>,
    condition: StopCondition,
    facts: &StopFacts,
) -> bool {
    let Some(context) = context else { return true };
    let row = STOP_TRIGGERS.iter().find(|row| row.condition == condition);
    let goes_on = row.is_some_and(|row| (row.known)(context, facts) == Some(row.goes_on_when));
    context.is_halted || !goes_on
}

/// Every condition that halts the loop now, in the seed's order: all ten are checked.
pub fn triggered_conditions<'a>(
    context: Option<&'a ObservationContext>,
    facts: &'a StopFacts,
) -> impl Iterator<Item = StopCondition> + 'a {
    let halts = move |condition: &StopCondition| check_stop(context, *condition, facts);
    StopCondition::ALL.iter().copied().filter(halts)
}
