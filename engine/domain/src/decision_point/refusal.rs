//! Why a command on a decision point is refused.

use alloc::string::String;

use crate::core::actor::Authentication;
use crate::core::doubt::{are, records_named};
use crate::core::ids::OWN_PREFIXES;
use crate::core::refusal::{CommonRefusal, refusals, through};
use crate::core::text::IdentifierFault;
use crate::core::time::Timestamp;
use crate::decision_point::types::{
    ClaimedStatus, DecisionPointState, MAX_ITERATIONS, MAX_OPTIONS,
};
use crate::log::policy::{Loosened, PolicyRefusal};

refusals! {
    /// Why a command on a decision point is refused. Closed.
    DecisionPointRefusal holding {
        /// By a rule that every system has.
        Common(CommonRefusal),
        /// By the policy in force.
        Policy(PolicyRefusal),
    }
    /// Two options of one proposal have the same id.
    #[error("two options are called {id}; give each an id of its own")]
    DuplicateOption {
        /// The id.
        id: String,
    } = "DUPLICATE_OPTION",
    /// Ids that begin with an underscore are Holdpoint's own.
    #[error("an option may not be called {id}: ids that begin with _ are reserved; rename it")]
    ReservedOption {
        /// The id.
        id: String,
    } = "RESERVED_OPTION",
    /// An option id that people could not type or tell apart.
    #[error(
        "{id:?} is no option id; use 1 to 32 letters, digits, dots, hyphens and underscores, the \
         first a letter or digit"
    )]
    InvalidOptionId {
        /// The given value, cut to 96 bytes, control characters visible.
        id: String,
    } = "INVALID_OPTION_ID",
    /// A name that could be taken for one of Holdpoint's own.
    #[error("the {field} may not be {found}: names that begin with DP- or system: are reserved")]
    ReservedName {
        /// The name.
        field: &'static str,
        /// The given value.
        found: String,
    } = "RESERVED_NAME",
    /// An issue that could be taken for the id of something, or for a name of another kind.
    #[error(
        "the issue {found} could be taken for an id: begin it with a word of its own, such as \
         issue-{found}; ids begin with {} or are hexadecimal digits alone, and session:, thread:, \
         correlation: and stream: say what a name is of",
        OWN_PREFIXES.join(", ")
    )]
    IssueLikeAnId {
        /// The given value.
        found: String,
    } = "ISSUE_LIKE_AN_ID",
    /// A name that could be taken for another one.
    #[error("the {field} \"{found}\" has blanks around it; leave them away")]
    BlankAround {
        /// The name.
        field: &'static str,
        /// The given value.
        found: String,
    } = "BLANK_AROUND",
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
    } = "REJECT_DROPPED",
    /// A key under which spending twice would look like success.
    #[error(
        "an approval is spent without an idempotency key; leave it away, and ask anew if unsure"
    )]
    KeyNotTaken = "KEY_NOT_TAKEN",
    /// Too many ways to answer, or none at all.
    #[error(
        "{found} options are offered; offer 1 to {MAX_OPTIONS}, or none where a text is an answer"
    )]
    OptionCount {
        /// The count.
        found: usize,
    } = "OPTION_COUNT",
    /// The default is not among the options, or there is none where one is needed.
    #[error("the default is {found}, and {}", match options.as_str() {
        "" => "no options are offered, so that nothing can be the default".into(),
        ids => alloc::format!("the options are {ids}; name one of them"),
    })]
    BadDefault {
        /// The default.
        found: String,
        /// The ids of the options; nothing where there are none.
        options: String,
    } = "BAD_DEFAULT",
    /// Nothing that a reader could see.
    #[error("the {field} is missing or invisible; say something")]
    Missing {
        /// The text.
        field: &'static str,
    } = "MISSING_TEXT",
    /// A text that is longer than it may be. It is not cut.
    #[error("the {field} has {found} bytes; the limit is {expected}; shorten it")]
    TooLong {
        /// The text.
        field: &'static str,
        /// The limit, in bytes.
        expected: usize,
        /// Its length, in bytes.
        found: usize,
    } = "TOO_LONG",
    /// More items than a list may have.
    #[error("{found} {field} are given; the limit is {expected}; give fewer")]
    TooMany {
        /// The list.
        field: &'static str,
        /// The limit.
        expected: usize,
        /// The count.
        found: usize,
    } = "TOO_MANY",
    /// More questions than may be open at once.
    #[error(
        "{found} questions of {whose} are open, and {expected} may be; wait for answers, or take \
         questions back: `holdpoint decision list` names them, and \
         `holdpoint decision cancel ID` takes one back"
    )]
    TooManyOpen {
        /// The principal whose questions are counted.
        whose: &'static str,
        /// The most that may be open.
        expected: usize,
        /// Number of are.
        found: usize,
    } = "TOO_MANY_OPEN" in Gating,
    /// A time in which nobody can answer, or that never comes.
    #[error("{field}: {found}; give a time of 1 ms to 366 days from now")]
    BadTimeout {
        /// The time.
        field: &'static str,
        /// The given value.
        found: String,
    } = "BAD_TIMEOUT",
    /// A number of rounds outside 1 to 20.
    #[error("{found} rounds are not possible; allow 1 to {MAX_ITERATIONS}")]
    IterationsOutOfRange {
        /// The count.
        found: u8,
    } = "ITERATIONS_OUT_OF_RANGE",
    /// A policy that nobody could meet, or that would approve by silence.
    #[error("the approval policy: {reason}")]
    BadPolicy {
        /// Why, and what to do.
        reason: &'static str,
    } = "BAD_POLICY",
    /// Nothing is proposed anew.
    #[error("nothing is refined; give a prompt, options or a default")]
    NothingRefined = "NOTHING_REFINED",
    /// A decision point with this id exists.
    #[error("decision {decision_id} exists; supply fresh random bits for a new one")]
    DecisionExists {
        /// The decision point.
        decision_id: String,
    } = "DECISION_EXISTS",
    /// No decision point has this id.
    #[error("there is no decision {decision_id}; `holdpoint decision list` shows what waits")]
    UnknownDecision {
        /// The given name.
        decision_id: String,
    } = "UNKNOWN_DECISION" in Scope,
    /// An option that is not offered.
    #[error("decision {decision_id} {}", match options.as_str() {
        "" => alloc::format!("offers no options, and {found} is none: answer it with a text"),
        ids => alloc::format!("has no option {found}; choose one of {ids}"),
    })]
    BadOption {
        /// The decision point.
        decision_id: String,
        /// The choice.
        found: String,
        /// The ids of the options; nothing where there are none.
        options: String,
    } = "BAD_OPTION",
    /// A text where only an option is an answer.
    #[error("decision {decision_id} takes no text as its answer; choose one of {options}")]
    TextNotAllowed {
        /// The decision point.
        decision_id: String,
        /// The ids of the options; nothing where there are none.
        options: String,
    } = "TEXT_NOT_ALLOWED",
    /// Guidance in the last round.
    #[error(
        "decision {decision_id} is in round {max} of {max}; guidance would need another one: \
         choose an option; it is still open"
    )]
    IterationLimit {
        /// The decision point.
        decision_id: String,
        /// Number of rounds there may be.
        max: u8,
    } = "ITERATION_LIMIT" in Gating,
    /// Nothing can be accepted before guidance was given.
    #[error("decision {decision_id} is in its first round: there is no guidance to accept")]
    NothingToAccept {
        /// The decision point.
        decision_id: String,
    } = "NOTHING_TO_ACCEPT",
    /// The options are those of the round before.
    #[error(
        "decision {decision_id} waits for {requester} to propose anew; wait for that, or accept \
         the guidance as it is (_guidance)"
    )]
    NotRefined {
        /// The decision point.
        decision_id: String,
        /// Requester who has to propose anew.
        requester: String,
    } = "NOT_REFINED",
    /// A proposal that people may have read is not exchanged under their eyes.
    #[error(
        "decision {decision_id} is {state}, and a proposal is made anew only after guidance; \
         create another one with --supersedes"
    )]
    NotRefining {
        /// The decision point.
        decision_id: String,
        /// Its state.
        state: DecisionPointState,
    } = "NOT_REFINING",
    /// Somebody who is not asked.
    #[error("{by} is not among the approvers of decision {decision_id}: {approvers}")]
    NotAnApprover {
        /// The decision point.
        decision_id: String,
        /// The principal.
        by: String,
        /// Names of the approvers.
        approvers: String,
    } = "NOT_AN_APPROVER" in Gating,
    /// The requester does not approve what it asked for.
    #[error("{by} asked for decision {decision_id} and may not approve it; somebody else has to")]
    SelfApproval {
        /// The decision point.
        decision_id: String,
        /// The principal.
        by: String,
    } = "SELF_APPROVAL" in Gating,
    /// A program where a person has to approve.
    #[error("{by} is no person, and decision {decision_id} has to be approved by people")]
    AgentExcluded {
        /// The decision point.
        decision_id: String,
        /// The principal.
        by: String,
    } = "AGENT_EXCLUDED" in Gating,
    /// A name that is proven less than the policy asks.
    #[error(
        "decision {decision_id} has to be approved by somebody whose name is proven by \
         {expected} at least, and {by} is proven by {found}"
    )]
    NotAuthenticated {
        /// The decision point.
        decision_id: String,
        /// The principal.
        by: String,
        /// The question.
        expected: Authentication,
        /// Authentication that proves the name.
        found: Authentication,
    } = "NOT_AUTHENTICATED" in Gating,
    /// Nobody asks or answers in another's name.
    #[error("the command names {found}, and {expected} gives it; name who gives it")]
    NotOneself {
        /// Name of who gives the command.
        expected: String,
        /// Whom it names.
        found: String,
    } = "NOT_ONESELF" in Gating,
    /// Another program than the one that asked.
    #[error(
        "{by} did not ask for decision {decision_id}; only {requester} or a person may do this"
    )]
    NotRequester {
        /// The decision point.
        decision_id: String,
        /// The principal.
        by: String,
        /// The requester.
        requester: String,
    } = "NOT_REQUESTER" in Gating,
    /// The time was over.
    #[error("the time of decision {decision_id} was over at {expires_at}: it is {state}")]
    Expired {
        /// The decision point.
        decision_id: String,
        /// Its outcome.
        state: DecisionPointState,
        /// Time when its time was over.
        expires_at: Timestamp,
    } = "EXPIRED" in Continuity,
    /// It ended, and otherwise.
    #[error("decision {decision_id} is {state}: {outcome}")]
    AlreadyEnded {
        /// The decision point.
        decision_id: String,
        /// Its state.
        state: DecisionPointState,
        /// Its end, in words.
        outcome: String,
    } = "ALREADY_ENDED" in Continuity,
    /// Somebody votes twice, and otherwise.
    #[error("{by} chose {before} in decision {decision_id} already; a vote is not taken back")]
    VoteConflict {
        /// The decision point.
        decision_id: String,
        /// The principal.
        by: String,
        /// The first choice.
        before: String,
    } = "VOTE_CONFLICT" in Continuity,
    /// The same user votes under another name.
    #[error(
        "{by} is the user who chose as {before} in decision {decision_id}: two names of one number \
         are one person; another person has to answer"
    )]
    SamePerson {
        /// The decision point.
        decision_id: String,
        /// The principal.
        by: String,
        /// The name of the first vote.
        before: String,
    } = "SAME_PERSON" in Gating,
    /// An approval is spent for something else than it was given for.
    #[error("decision {decision_id} is bound to {expected}, not to {found}; ask anew for that")]
    BindingMismatch {
        /// The decision point.
        decision_id: String,
        /// Action that it was given for.
        expected: String,
        /// Action that is to be done.
        found: String,
    } = "BINDING_MISMATCH" in Scope,
    /// The people were asked something else than what is to be done.
    #[error(
        "decision {decision_id} shows something else than it is bound to, and approves nothing; \
         ask anew with `{tool}`"
    )]
    ShowsOtherwise {
        /// The decision point.
        decision_id: String,
        /// Tool that asks as it has to be asked.
        tool: &'static str,
    } = "BINDING_MISMATCH" in Scope,
    /// An approval is good for one action.
    #[error("decision {decision_id} was spent at {at} by {by}; ask anew")]
    AlreadyConsumed {
        /// The decision point.
        decision_id: String,
        /// Time.
        at: Timestamp,
        /// By whom.
        by: String,
    } = "ALREADY_CONSUMED" in Continuity,
    /// Somebody took the approval back.
    #[error("the approval of decision {decision_id} was revoked at {at} by {by}; ask anew")]
    Revoked {
        /// The decision point.
        decision_id: String,
        /// Time.
        at: Timestamp,
        /// By whom.
        by: String,
    } = "REVOKED" in Continuity,
    /// The approved action has started.
    #[error(
        "the approval of decision {decision_id} was spent at {at} by {by}, and started {tool}: \
         `holdpoint show {sequence} --trace` shows it; an approval is revoked before it is spent"
    )]
    AlreadySpent {
        /// The decision point.
        decision_id: String,
        /// Time.
        at: Timestamp,
        /// By whom.
        by: String,
        /// Tool that it was spent for.
        tool: String,
        /// The record of the spending.
        sequence: u64,
    } = "ALREADY_SPENT" in Continuity,
    /// Nothing proves the approval.
    #[error(
        "{} {} unproven, and decision {decision_id} may rest on that: it approves nothing; ask \
         anew",
        records_named(*first, *last), are(*first, *last)
    )]
    ApprovalUnproven {
        /// The decision point.
        decision_id: String,
        /// The first of the unproven records.
        first: u64,
        /// The last of them.
        last: u64,
    } = "APPROVAL_UNPROVEN" in Gating,
    /// The approval may be spent in a record that is lost.
    #[error(
        "record {sequence} says that records before it are lost or may be, and decision \
         {decision_id} was asked before that: it may be spent, and approves nothing; ask anew"
    )]
    ApprovalBeforeLoss {
        /// The decision point.
        decision_id: String,
        /// The record that says so.
        sequence: u64,
    } = "APPROVAL_BEFORE_LOSS" in Gating,
    /// Nobody approved.
    #[error("decision {decision_id} is {state}, which approves nothing: {outcome}")]
    NotApproved {
        /// The decision point.
        decision_id: String,
        /// Its state.
        state: DecisionPointState,
        /// Its end, in words.
        outcome: String,
    } = "NOT_APPROVED" in Gating,
    /// The approval was not spent in time.
    #[error("the approval of decision {decision_id} was good until {until}; ask anew")]
    ApprovalLapsed {
        /// The decision point.
        decision_id: String,
        /// Time when it ended.
        until: Timestamp,
    } = "APPROVAL_LAPSED" in Continuity,
    /// The approved action spends its approval itself.
    #[error("the approval of decision {decision_id} is spent by {tool} itself; use that")]
    SpentElsewhere {
        /// The decision point.
        decision_id: String,
        /// Tool that it is bound to.
        tool: String,
    } = "SPENT_ELSEWHERE" in Gating,
    /// There is no outcome where nothing was approved and spent.
    #[error(
        "decision {decision_id} is {state}, and no approval of it was spent lately: there is no \
         outcome to report"
    )]
    NotSpent {
        /// The decision point.
        decision_id: String,
        /// Its state.
        state: DecisionPointState,
    } = "NOT_SPENT" in Gating,
    /// Somebody else than who spent the approval.
    #[error("{by} did not spend the approval of decision {decision_id}; {spender} reports of it")]
    NotSpender {
        /// The decision point.
        decision_id: String,
        /// The principal.
        by: String,
        /// Principal who spent it.
        spender: String,
    } = "NOT_SPENDER" in Gating,
    /// An outcome is reported once.
    #[error(
        "the outcome of decision {decision_id} was reported at {at}, as {status}; what was said \
         first stays"
    )]
    OutcomeReported {
        /// The decision point.
        decision_id: String,
        /// Time.
        at: Timestamp,
        /// Status that was reported.
        status: ClaimedStatus,
    } = "OUTCOME_REPORTED" in Continuity,
    /// Nothing of it is due.
    #[error("nothing of decision {decision_id} is due; ask again when it is")]
    NothingDue {
        /// The decision point.
        decision_id: String,
    } = "NOTHING_DUE",
}

through! {
    IdentifierFault => CommonRefusal => DecisionPointRefusal;
    Loosened => PolicyRefusal => DecisionPointRefusal;
}

impl DecisionPointRefusal {
    /// Returns whether somebody else was first: the same command may have been fine before.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(
            self,
            Self::AlreadyEnded { .. }
                | Self::AlreadySpent { .. }
                | Self::VoteConflict { .. }
                | Self::OutcomeReported { .. }
        )
    }
}
