//! The documented categories of whole sessions that run as commands; see `categories.rs`. More than
//! one may apply to a session. Each is found by what goes in, before anything is run, and then the
//! World has to do what it says, to the last event.

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    /// What goes in.
    pub(crate) name: &'static str,
    /// Why the World does otherwise.
    pub(crate) reason: &'static str,
}

/// Every session.
pub(crate) const HASHES: Departure = Departure {
    name: "hashes of a session",
    reason: "ids, times and evidence are ours: hashed by the recorded formula all the same",
};
pub(crate) const OUTSIDE: Departure = Departure {
    name: "session with a value that has no place",
    reason: "names are of closed sets, and a deadline is 1 s to 366 days: it does not decode",
};
/// No executor or no instruction.
pub(crate) const NAMELESS: Departure = Departure {
    name: "session halted from the start",
    reason: "a loop of nobody or of nothing is refused: nothing is written",
};
pub(crate) const ATTEMPTS: Departure = Departure {
    name: "session with more attempts than there may be",
    reason: "attempts are 1 to 3: more are refused by name, and the fourth is not offered",
};
pub(crate) const UNDATED: Departure = Departure {
    name: "session with a time that is none",
    reason: "a record always has a time: its own",
};
pub(crate) const BACKWARDS: Departure = Departure {
    name: "session dated backwards",
    reason: "a time before the newest evidence stops the loop: TIMESTAMP_INVALID",
};
pub(crate) const TOO_EARLY: Departure = Departure {
    name: "session answered before it was asked",
    reason: "an answer dated before its question is refused",
};
pub(crate) const TOO_LATE: Departure = Departure {
    name: "session answered past the deadline",
    reason: "nobody answered in time: ABORT, and the answer is kept as a late one",
};
pub(crate) const EXECUTOR: Departure = Departure {
    name: "session with the answer of another executor",
    reason: "only the loop's own executor is heard",
};
pub(crate) const LONG_HASH: Departure = Departure {
    name: "session with a hash too long to be one",
    reason: "it is rejected and not quoted",
};
pub(crate) const OFFER: Departure = Departure {
    name: "session in which not every decision is possible",
    reason: "RETRY is offered while attempts are left, ESCALATE while somebody can be asked",
};
pub(crate) const NOT_OFFERED: Departure = Departure {
    name: "session with a decision that is not offered",
    reason: "it is refused and counts for nothing: the question stays open to its deadline",
};
pub(crate) const UNSEEN: Departure = Departure {
    name: "session with a name or reason that nobody sees",
    reason: "it is refused and counts for nothing: the question stays open to its deadline",
};
pub(crate) const CONTINUE: Departure = Departure {
    name: "session that is continued",
    reason: "no next instruction is given: the loop is ended, and what follows is another loop",
};
pub(crate) const ESCALATE: Departure = Departure {
    name: "session that is passed on",
    reason: "the target is asked, and the loop halts when nobody answers for it",
};
pub(crate) const TIMEOUT: Departure = Departure {
    name: "session with a timeout",
    reason: "its outcome is TIMEOUT (seed, DecisionOutcome), at the deadline",
};
pub(crate) const WORDS: Departure = Departure {
    name: "session with words that hide something",
    reason: "what is hidden in a reason is recorded visibly",
};

/// The rows, in order.
pub(crate) const SESSIONS: [Departure; 17] = [
    HASHES,
    OUTSIDE,
    NAMELESS,
    ATTEMPTS,
    UNDATED,
    BACKWARDS,
    TOO_EARLY,
    TOO_LATE,
    EXECUTOR,
    LONG_HASH,
    OFFER,
    NOT_OFFERED,
    UNSEEN,
    CONTINUE,
    ESCALATE,
    TIMEOUT,
    WORDS,
];
