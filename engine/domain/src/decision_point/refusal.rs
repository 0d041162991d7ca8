//! Why a command on a decision point is refused.

use alloc::string::String;

use thiserror::Error;

use crate::core::actor::Authentication;
use crate::core::forbidden::RefusalClass;
use crate::core::refusal::{CommonRefusal, through};
use crate::core::text::IdentifierFault;
use crate::core::time::Timestamp;
use crate::decision_point::types::{DecisionPointState, MAX_ITERATIONS, MAX_OPTIONS};
use crate::log::policy::{Loosened, PolicyRefusal};

/// Why a command on a decision point is refused. Closed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecisionPointRefusal {
    /// By a rule that every system has.
    #[error(transparent)]
    Common(#[from] CommonRefusal),
    /// By the policy in force.
    #[error(transparent)]
    Policy(#[from] PolicyRefusal),
    /// Two options of one proposal have the same id.
    #[error("two options are called {id}; give each an id of its own")]
    DuplicateOption {
        /// The id.
        id: String,
    },
    /// Ids that begin with an underscore are Holdpoint's own.
    #[error("an option may not be called {id}: ids that begin with _ are reserved; rename it")]
    ReservedOption {
        /// The id.
        id: String,
    },
    /// An option id that people could not type or tell apart.
    #[error(
        "{id:?} is no option id; use 1 to 32 letters, digits, dots, hyphens and underscores, the \
         first a letter or digit"
    )]
    InvalidOptionId {
        /// What was given, cut to 96 bytes, control characters visible.
        id: String,
    },
    /// A name that could be taken for one of Holdpoint's own.
    #[error("the {field} may not be {found}: names that begin with DP- or system: are reserved")]
    ReservedName {
        /// Which name.
        field: &'static str,
        /// What was given.
        found: String,
    },
    /// A name that could be taken for another one.
    #[error("the {field} \"{found}\" has blanks around it; leave them away")]
    BlankAround {
        /// Which name.
        field: &'static str,
        /// What was given.
        found: String,
    },
    /// A refined proposal in which an option no longer says no.
    #[error(
        "option {option} of decision {decision_id} says no, and a refined proposal has to keep it \
         so; offer it again, marked as rejecting"
    )]
    RejectDropped {
        /// The decision point.
        decision_id: String,
        /// The option.
        option: String,
    },
    /// A key under which spending twice would look like success.
    #[error(
        "an approval is spent without an idempotency key; leave it away, and ask anew if unsure"
    )]
    KeyNotTaken,
    /// Too many ways to answer, or none at all.
    #[error(
        "{found} options are offered; offer 1 to {MAX_OPTIONS}, or none where a text is an answer"
    )]
    OptionCount {
        /// How many.
        found: usize,
    },
    /// The default is not among the options, or there is none where one is needed.
    #[error("the default is {found}, and the options are {options}; name one of them")]
    BadDefault {
        /// The default.
        found: String,
        /// The ids of the options.
        options: String,
    },
    /// Nothing that a reader could see.
    #[error("the {field} is missing or invisible; say something")]
    Missing {
        /// Which text.
        field: &'static str,
    },
    /// A text that is longer than it may be. It is not cut.
    #[error("the {field} has {found} bytes; the limit is {expected}; shorten it")]
    TooLong {
        /// Which text.
        field: &'static str,
        /// The limit, in bytes.
        expected: usize,
        /// Its length, in bytes.
        found: usize,
    },
    /// More items than a list may have.
    #[error("{found} {field} are given; the limit is {expected}; give fewer")]
    TooMany {
        /// Which list.
        field: &'static str,
        /// The limit.
        expected: usize,
        /// How many.
        found: usize,
    },
    /// A time in which nobody can answer, or that never comes.
    #[error("{field}: {found}; give a time of 1 ms to 366 days from now")]
    BadTimeout {
        /// Which time.
        field: &'static str,
        /// What was given.
        found: String,
    },
    /// A number of rounds outside 1 to 20.
    #[error("{found} rounds are not possible; allow 1 to {MAX_ITERATIONS}")]
    IterationsOutOfRange {
        /// How many.
        found: u8,
    },
    /// A policy that nobody could meet, or that would approve by silence.
    #[error("the approval policy: {reason}")]
    BadPolicy {
        /// Why, and what to do.
        reason: &'static str,
    },
    /// Nothing is proposed anew.
    #[error("nothing is refined; give a prompt, options or a default")]
    NothingRefined,
    /// A decision point with this id exists.
    #[error("decision {decision_id} exists; supply fresh random bits for a new one")]
    DecisionExists {
        /// The decision point.
        decision_id: String,
    },
    /// No decision point has this id.
    #[error("there is no decision {decision_id}; `holdpoint decision list` shows what waits")]
    UnknownDecision {
        /// What was named.
        decision_id: String,
    },
    /// An option that is not offered.
    #[error("decision {decision_id} has no option {found}; choose one of {options}")]
    BadOption {
        /// The decision point.
        decision_id: String,
        /// What was chosen.
        found: String,
        /// The ids of the options.
        options: String,
    },
    /// A text where only an option is an answer.
    #[error("decision {decision_id} takes no text as its answer; choose one of {options}")]
    TextNotAllowed {
        /// The decision point.
        decision_id: String,
        /// The ids of the options.
        options: String,
    },
    /// Guidance in the last round.
    #[error(
        "decision {decision_id} is in round {max} of {max}; guidance would need another one: \
         choose an option; it is still open"
    )]
    IterationLimit {
        /// The decision point.
        decision_id: String,
        /// How many rounds there may be.
        max: u8,
    },
    /// Nothing can be accepted before guidance was given.
    #[error("decision {decision_id} is in its first round: there is no guidance to accept")]
    NothingToAccept {
        /// The decision point.
        decision_id: String,
    },
    /// The options are those of the round before.
    #[error(
        "decision {decision_id} waits for {requester} to propose anew; wait for that, or accept \
         the guidance as it is"
    )]
    NotRefined {
        /// The decision point.
        decision_id: String,
        /// Who has to.
        requester: String,
    },
    /// What people may have read is not exchanged under their eyes.
    #[error(
        "decision {decision_id} is {state}, and a proposal is made anew only after guidance; \
         create another one with --supersedes"
    )]
    NotRefining {
        /// The decision point.
        decision_id: String,
        /// Where it stands.
        state: DecisionPointState,
    },
    /// Somebody who is not asked.
    #[error("{by} is not among the approvers of decision {decision_id}: {approvers}")]
    NotAnApprover {
        /// The decision point.
        decision_id: String,
        /// Who.
        by: String,
        /// Who is.
        approvers: String,
    },
    /// The requester does not approve what it asked for.
    #[error("{by} asked for decision {decision_id} and may not approve it; somebody else has to")]
    SelfApproval {
        /// The decision point.
        decision_id: String,
        /// Who.
        by: String,
    },
    /// A program where a person has to approve.
    #[error("{by} is no person, and decision {decision_id} has to be approved by people")]
    AgentExcluded {
        /// The decision point.
        decision_id: String,
        /// Who.
        by: String,
    },
    /// A name that is proven less than the policy asks.
    #[error(
        "decision {decision_id} has to be approved by somebody whose name is proven by \
         {expected} at least, and {by} is proven by {found}"
    )]
    NotAuthenticated {
        /// The decision point.
        decision_id: String,
        /// Who.
        by: String,
        /// What is asked.
        expected: Authentication,
        /// What there is.
        found: Authentication,
    },
    /// Nobody asks or answers in another's name.
    #[error("the command names {found}, and {expected} gives it; name who gives it")]
    NotOneself {
        /// Who gives the command.
        expected: String,
        /// Whom it names.
        found: String,
    },
    /// Another program than the one that asked.
    #[error(
        "{by} did not ask for decision {decision_id}; only {requester} or a person may do this"
    )]
    NotRequester {
        /// The decision point.
        decision_id: String,
        /// Who.
        by: String,
        /// Who asked.
        requester: String,
    },
    /// The time was over.
    #[error("the time of decision {decision_id} was over at {expires_at}: it is {state}")]
    Expired {
        /// The decision point.
        decision_id: String,
        /// What became of it.
        state: DecisionPointState,
        /// When its time was over.
        expires_at: Timestamp,
    },
    /// It ended, and otherwise.
    #[error("decision {decision_id} is {state}: {outcome}")]
    AlreadyEnded {
        /// The decision point.
        decision_id: String,
        /// Where it stands.
        state: DecisionPointState,
        /// How it ended, in words.
        outcome: String,
    },
    /// Somebody votes twice, and otherwise.
    #[error("{by} chose {before} in decision {decision_id} already; a vote is not taken back")]
    VoteConflict {
        /// The decision point.
        decision_id: String,
        /// Who.
        by: String,
        /// What was chosen first.
        before: String,
    },
    /// An approval is spent for something else than it was given for.
    #[error("decision {decision_id} is bound to {expected}, not to {found}; ask anew for that")]
    BindingMismatch {
        /// The decision point.
        decision_id: String,
        /// What it was given for.
        expected: String,
        /// What is to be done.
        found: String,
    },
    /// The people were asked something else than what is to be done.
    #[error(
        "decision {decision_id} shows something else than it is bound to, and approves nothing; \
         ask anew with `{tool}`"
    )]
    ShowsOtherwise {
        /// The decision point.
        decision_id: String,
        /// What asks as it has to be asked.
        tool: &'static str,
    },
    /// An approval is good for one action.
    #[error("decision {decision_id} was spent at {at} by {by}; ask anew")]
    AlreadyConsumed {
        /// The decision point.
        decision_id: String,
        /// When.
        at: Timestamp,
        /// By whom.
        by: String,
    },
    /// Nothing proves the approval.
    #[error(
        "records {first} to {last} are unproven, and decision {decision_id} may rest on them: it \
         approves nothing; ask anew"
    )]
    ApprovalUnproven {
        /// The decision point.
        decision_id: String,
        /// The first of the unproven records.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// Nobody approved.
    #[error("decision {decision_id} is {state}, which approves nothing: {outcome}")]
    NotApproved {
        /// The decision point.
        decision_id: String,
        /// Where it stands.
        state: DecisionPointState,
        /// How it ended, in words.
        outcome: String,
    },
    /// The approval was not spent in time.
    #[error("the approval of decision {decision_id} was good until {until}; ask anew")]
    ApprovalLapsed {
        /// The decision point.
        decision_id: String,
        /// When it ended.
        until: Timestamp,
    },
    /// What is approved spends its approval itself.
    #[error("the approval of decision {decision_id} is spent by {tool} itself; use that")]
    SpentElsewhere {
        /// The decision point.
        decision_id: String,
        /// What it is bound to.
        tool: String,
    },
    /// Nothing of it is due.
    #[error("nothing of decision {decision_id} is due; ask again when it is")]
    NothingDue {
        /// The decision point.
        decision_id: String,
    },
}

through! {
    IdentifierFault => CommonRefusal => DecisionPointRefusal;
    Loosened => PolicyRefusal => DecisionPointRefusal;
}

impl DecisionPointRefusal {
    /// The stable reason code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Common(refusal) => refusal.code(),
            Self::Policy(refusal) => refusal.code(),
            Self::DuplicateOption { .. } => "DUPLICATE_OPTION",
            Self::ReservedOption { .. } => "RESERVED_OPTION",
            Self::InvalidOptionId { .. } => "INVALID_OPTION_ID",
            Self::ReservedName { .. } => "RESERVED_NAME",
            Self::BlankAround { .. } => "BLANK_AROUND",
            Self::RejectDropped { .. } => "REJECT_DROPPED",
            Self::KeyNotTaken => "KEY_NOT_TAKEN",
            Self::OptionCount { .. } => "OPTION_COUNT",
            Self::BadDefault { .. } => "BAD_DEFAULT",
            Self::Missing { .. } => "MISSING_TEXT",
            Self::TooLong { .. } => "TOO_LONG",
            Self::TooMany { .. } => "TOO_MANY",
            Self::BadTimeout { .. } => "BAD_TIMEOUT",
            Self::IterationsOutOfRange { .. } => "ITERATIONS_OUT_OF_RANGE",
            Self::BadPolicy { .. } => "BAD_POLICY",
            Self::NothingRefined => "NOTHING_REFINED",
            Self::DecisionExists { .. } => "DECISION_EXISTS",
            Self::UnknownDecision { .. } => "UNKNOWN_DECISION",
            Self::BadOption { .. } => "BAD_OPTION",
            Self::TextNotAllowed { .. } => "TEXT_NOT_ALLOWED",
            Self::IterationLimit { .. } => "ITERATION_LIMIT",
            Self::NothingToAccept { .. } => "NOTHING_TO_ACCEPT",
            Self::NotRefined { .. } => "NOT_REFINED",
            Self::NotRefining { .. } => "NOT_REFINING",
            Self::NotAnApprover { .. } => "NOT_AN_APPROVER",
            Self::SelfApproval { .. } => "SELF_APPROVAL",
            Self::AgentExcluded { .. } => "AGENT_EXCLUDED",
            Self::NotAuthenticated { .. } => "NOT_AUTHENTICATED",
            Self::NotOneself { .. } => "NOT_ONESELF",
            Self::NotRequester { .. } => "NOT_REQUESTER",
            Self::Expired { .. } => "EXPIRED",
            Self::AlreadyEnded { .. } => "ALREADY_ENDED",
            Self::VoteConflict { .. } => "VOTE_CONFLICT",
            Self::BindingMismatch { .. } | Self::ShowsOtherwise { .. } => "BINDING_MISMATCH",
            Self::AlreadyConsumed { .. } => "ALREADY_CONSUMED",
            Self::ApprovalUnproven { .. } => "APPROVAL_UNPROVEN",
            Self::NotApproved { .. } => "NOT_APPROVED",
            Self::ApprovalLapsed { .. } => "APPROVAL_LAPSED",
            Self::NothingDue { .. } => "NOTHING_DUE",
            Self::SpentElsewhere { .. } => "SPENT_ELSEWHERE",
        }
    }

    /// The kind of rule, where the refusal is a fact of its own: who tried to decide what they
    /// may not, and who tried to spend what was not theirs.
    #[must_use]
    pub const fn class(&self) -> Option<RefusalClass> {
        match self {
            Self::Common(refusal) => refusal.class(),
            Self::Policy(refusal) => refusal.class(),
            Self::UnknownDecision { .. }
            | Self::BindingMismatch { .. }
            | Self::ShowsOtherwise { .. } => Some(RefusalClass::Scope),
            Self::NotAnApprover { .. }
            | Self::SelfApproval { .. }
            | Self::AgentExcluded { .. }
            | Self::NotAuthenticated { .. }
            | Self::NotOneself { .. }
            | Self::NotRequester { .. }
            | Self::ApprovalUnproven { .. }
            | Self::NotApproved { .. }
            | Self::SpentElsewhere { .. }
            | Self::IterationLimit { .. } => Some(RefusalClass::Gating),
            Self::AlreadyEnded { .. }
            | Self::Expired { .. }
            | Self::VoteConflict { .. }
            | Self::AlreadyConsumed { .. }
            | Self::ApprovalLapsed { .. } => Some(RefusalClass::Continuity),
            _ => None,
        }
    }

    /// Whether somebody else was first: the same command may have been fine before.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::AlreadyEnded { .. } | Self::VoteConflict { .. })
    }
}
