//! The closed enums of decision points, by the names that programs read.

use crate::closed::closed_enum;

closed_enum! {
    /// Where a round stands.
    pub enum DecisionPointState {
        /// It waits for an answer.
        Pending = "pending",
        /// Guidance was given: it waits for its requester to propose anew.
        Refining = "refining",
        /// Somebody answered.
        Resolved = "resolved",
        /// Guidance was given: the next round took its place.
        Iterated = "iterated",
        /// Nobody answered in time, and the default was taken, as its creator asked.
        Expired = "expired",
        /// Nobody answered in time: nothing was decided.
        Aborted = "aborted",
        /// It was taken back.
        Cancelled = "cancelled",
        /// Another decision point took its place.
        Superseded = "superseded",
    }
}

impl DecisionPointState {
    /// Whether it may still be answered.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Refining)
    }
}

closed_enum! {
    /// How a round ended.
    pub enum ResolutionKind {
        /// An option was chosen.
        Option = "option",
        /// A text was given instead of an option.
        Text = "text",
        /// The guidance that led to the round was accepted as it is.
        Accept = "accept",
        /// Nobody answered in time: the default.
        Default = "default",
        /// Nobody answered in time: nothing.
        Abort = "abort",
        /// It was taken back.
        Cancel = "cancel",
        /// Another decision point took its place.
        Supersede = "supersede",
    }
}

closed_enum! {
    /// What becomes of a round that nobody answers in time.
    pub enum OnTimeout {
        /// Its default is taken.
        Default = "default",
        /// It ends without a decision.
        Abort = "abort",
        /// It goes on waiting, overdue.
        Hold = "hold",
    }
}

closed_enum! {
    /// How much an answer presses.
    pub enum Urgency {
        /// Whenever it suits.
        Low = "low",
        /// As usual.
        Medium = "medium",
        /// At once.
        High = "high",
    }
}

closed_enum! {
    /// What proves who somebody is, the weakest first.
    pub enum Authentication {
        /// Nothing: a name that was claimed.
        None = "none",
        /// The operating system's user, by its number.
        OsUser = "os-user",
        /// The operating system's user, at a terminal.
        Terminal = "terminal",
    }
}
