//! What each kind of question permits, in one closed table.

use crate::ui::{Exit, Failure};
use holdpoint_domain::core::text::visible;

/// The code of the refusal of an act that holds do not take.
pub(crate) const NOT_OF_A_HOLD: &str = "NOT_OF_A_HOLD";

/// An act on a question. A decision point takes each of them, as far as its rules allow.
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

/// The principal who may act on a decision point, where its rules name nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doer {
    /// A person, where the question needs one.
    Answerer,
    /// The requester, as whatever they are, or a person: at a terminal, where Holdpoint asked.
    Requester,
    /// Any program.
    Anybody,
}

impl Act {
    /// Tells whether a hold takes the act, by a person alone; and who acts on a decision point.
    const fn row(self) -> (bool, Doer) {
        match self {
            Self::Choose => (true, Doer::Answerer),
            Self::Text | Self::Guidance | Self::Accept => (false, Doer::Answerer),
            Self::Revise | Self::Notify | Self::Cancel => (false, Doer::Requester),
            Self::Consume => (false, Doer::Anybody),
        }
    }

    /// Returns who acts on a decision point.
    pub(crate) const fn doer(self) -> Doer {
        self.row().1
    }

    /// Tells whether the act may end a question that is still open.
    pub(crate) const fn may_end(self) -> bool {
        matches!(self.doer(), Doer::Answerer) || matches!(self, Self::Cancel)
    }

    /// Refuses the act where a hold with this id does not take it.
    pub(crate) fn expect_of_hold(self, id: &str) -> Result<(), Failure> {
        if self.row().0 { Ok(()) } else { Err(self.not_of_a_hold(id)) }
    }

    /// Returns the refusal of the act on a hold.
    pub(crate) fn not_of_a_hold(self, id: &str) -> Failure {
        let done = match self {
            Self::Choose => "answered here",
            Self::Text => "answered in own words",
            Self::Guidance => "given guidance",
            Self::Accept => "accepted as it is",
            Self::Revise => "revised",
            Self::Notify => "passed on but by ESCALATE",
            Self::Cancel => "cancelled",
            Self::Consume => "spent",
        };
        let message = format!(
            "{} is a question of a hold and cannot be {done}: a person at a terminal answers it \
             with CONTINUE, RETRY, ABORT or ESCALATE",
            visible(id)
        );
        Failure::new(Exit::REFUSED, NOT_OF_A_HOLD, message)
    }
}
