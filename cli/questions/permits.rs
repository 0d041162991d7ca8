//! What each kind of question permits, in one closed table.

use crate::log::question::Kind;
use crate::ui::{Exit, Failure};
use holdpoint_domain::core::text::visible;

/// The code of the refusal of an act that holds do not take.
pub(crate) const NOT_OF_A_HOLD: &str = "NOT_OF_A_HOLD";

/// An act on a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Choose,
    Text,
    Guidance,
    Accept,
    Revise,
    Notify,
    Cancel,
    Consume,
}

impl Act {
    /// What it does to a question.
    const fn words(self) -> &'static str {
        match self {
            Self::Choose => "answered here",
            Self::Text => "answered in own words",
            Self::Guidance => "given guidance",
            Self::Accept => "accepted as it is",
            Self::Revise => "revised",
            Self::Notify => "passed on but by ESCALATE",
            Self::Cancel => "cancelled",
            Self::Consume => "spent",
        }
    }
}

impl Kind {
    /// Tells whether questions of this kind take an act. Who may do it is for the rules to say; an
    /// answer to a hold is a person's alone.
    pub(crate) const fn permits(self, act: Act) -> bool {
        match (self, act) {
            (Self::Decision, _) | (Self::Hold, Act::Choose) => true,
            (
                Self::Hold,
                Act::Text
                | Act::Guidance
                | Act::Accept
                | Act::Revise
                | Act::Notify
                | Act::Cancel
                | Act::Consume,
            ) => false,
        }
    }
}

/// The refusal of an act that a hold does not take.
pub(crate) fn not_of_a_hold(id: &str, act: Act) -> Failure {
    let message = format!(
        "{} is a question of a hold and cannot be {}: a person at a terminal answers it with \
         CONTINUE, RETRY, ABORT or ESCALATE",
        visible(id),
        act.words()
    );
    Failure::new(Exit::REFUSED, NOT_OF_A_HOLD, message)
}
