//! The closed enums of Phase-32, and by what means a person answered.

use serde::{Deserialize, Serialize};

use crate::closed::closed_enum;
use crate::event::Text;

closed_enum! {
    /// What a person can decide.
    pub enum HumanDecision {
        /// Proceed to the next step. An evaluated loop has none left: it ends.
        Continue = "CONTINUE",
        /// Attempt the same step again.
        Retry = "RETRY",
        /// Terminate the execution.
        Abort = "ABORT",
        /// Defer to a higher authority.
        Escalate = "ESCALATE",
    }
}

closed_enum! {
    /// What became of an attempt to apply a decision.
    pub enum DecisionOutcome {
        /// The decision was applied.
        Applied = "APPLIED",
        /// The decision could not be applied.
        Rejected = "REJECTED",
        /// The decision awaits another one: it was passed on.
        Pending = "PENDING",
        /// Nobody decided in time: ABORT.
        Timeout = "TIMEOUT",
    }
}

closed_enum! {
    /// Who may see a field of evidence.
    pub enum EvidenceVisibility {
        /// The person who decides.
        Visible = "VISIBLE",
        /// Nobody, in a decision view. The default.
        Hidden = "HIDDEN",
        /// The person who decides, once a higher authority allowed it on the record.
        OverrideRequired = "OVERRIDE_REQUIRED",
    }
}

closed_enum! {
    /// The fields that need an override: what Holdpoint derived from raw evidence, or what an
    /// executor said in its own words. Raw evidence itself can never be overridden.
    pub enum OverrideField {
        /// How the attempt's process ended.
        AttemptExit = "attempt_exit",
        /// What the attempt used.
        AttemptResources = "attempt_resources",
        /// Length and SHA-256 of the attempt's output streams.
        AttemptOutputs = "attempt_outputs",
        /// What was said about the attempt's fault, control characters visible.
        FaultMessage = "attempt_fault",
    }
}

closed_enum! {
    /// How an answer reached Holdpoint.
    pub enum AnswerChannel {
        /// Typed at a terminal.
        Terminal = "TERMINAL",
        /// Given with a flag that says there was no terminal.
        YesFlag = "YES_FLAG",
        /// Given by a program through the library or as a command.
        Api = "API",
        /// By a process of the user of that name, without a terminal.
        OsUser = "OS_USER",
        /// By a process that claimed the name; nothing proves it.
        Claim = "CLAIM",
    }
}

/// By what means a person answered, as far as Holdpoint can tell. It is no proof that a person
/// did: a program that runs as the same user can type as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AnswerMeans {
    /// How the answer came.
    pub channel: AnswerChannel,
    /// What else is known (the terminal's device, the user's number), at most 256 bytes.
    pub detail: Text,
}
