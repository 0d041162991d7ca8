//! The types of decision points: bounds, closed enums by the names that programs read, what is
//! asked under which terms, and what an answer is.

use serde::{Deserialize, Serialize};

use crate::core::actor::Authentication;
use crate::core::hash::Digest;
use crate::core::payload::{List, Text};
use crate::core::{bodies, closed_enum, recorded};

/// Most options of a proposal.
pub const MAX_OPTIONS: usize = 32;

/// Longest prompt, in bytes.
pub const MAX_PROMPT_BYTES: usize = 4 * 1024;

/// Longest context, in bytes.
pub const MAX_CONTEXT_BYTES: usize = 64 * 1024;

/// Longest text, guidance or comment of an answer, in bytes. A longer one is refused, not cut.
pub const MAX_RESPONSE_BYTES: usize = 32 * 1024;

/// Longest id of an option, in bytes.
pub const MAX_OPTION_ID_BYTES: usize = 32;

/// Longest short form of an option, in bytes.
pub const MAX_SHORT_BYTES: usize = 64;

/// Longest label of an option, in bytes.
pub const MAX_LABEL_BYTES: usize = 1024;

/// Longest description of an option, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;

/// Longest reason for a cancellation or an escalation, in bytes.
pub const MAX_REASON_BYTES: usize = 4 * 1024;

/// Most rounds that guidance may lead to.
pub const MAX_ITERATIONS: u8 = 20;

/// Rounds where the creator says nothing (seed, "DecisionPoint Type").
pub const DEFAULT_MAX_ITERATIONS: u8 = 3;

/// Longest time in which an answer may be awaited or an approval spent: 366 days, in milliseconds.
pub const MAX_TIMEOUT_MS: u64 = 366 * 24 * 60 * 60 * 1000;

/// Time in which an approval may be spent where the creator says nothing: 24 hours, in
/// milliseconds.
pub const DEFAULT_VALID_FOR_MS: u64 = 24 * 60 * 60 * 1000;

/// Most late responses of one round that are remembered; more are recorded all the same.
pub const MAX_LATE_RESPONSES: usize = 16;

/// Most votes of one round.
pub const MAX_VOTES: usize = 64;

/// Most decision points that are remembered after they ended: the newest.
pub const MAX_CLOSED_DECISION_POINTS: usize = 1024;

closed_enum! {
    /// State of a round.
    pub enum DecisionPointState {
        /// It waits for an answer.
        Pending = "pending",
        /// Guidance was given: it waits for its requester to propose anew.
        Refining = "refining",
        /// Somebody answered.
        Resolved = "resolved",
        /// Guidance was given: the next round took its place.
        Iterated = "iterated",
        /// Nobody answered in time, and the default was taken, as its terms say.
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
    /// Returns whether it may still be answered.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Refining)
    }
}

closed_enum! {
    /// Kind of a round's end.
    pub enum ResolutionKind {
        /// An option was chosen.
        Option = "option",
        /// A text was given instead of an option.
        Text = "text",
        /// The proposal was accepted; under rules before number 6, the guidance that led to it.
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
    /// Fate of a round that nobody answers in time.
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
    /// Pressure of an answer.
    pub enum Urgency {
        /// Whenever it suits.
        Low = "low",
        /// The usual.
        Medium = "medium",
        /// At once.
        High = "high",
    }
}

/// The options of a proposal: at most [`MAX_OPTIONS`].
pub type OptionList = List<DecisionOption, MAX_OPTIONS>;

/// The option that approves, of a question that is approved or denied.
pub const APPROVE: &str = "approve";

/// The option that denies it.
pub const DENY: &str = "deny";

bodies! {
    /// One way to answer (seed, "DecisionOption Type").
    DecisionOption {
        /// `[A-Za-z0-9][A-Za-z0-9._-]{0,31}`, unique in its proposal.
        id: Text,
        /// One to three words, at most 64 bytes. Empty: the id.
        #[serde(default)]
        short: Text,
        /// A sentence, 1 to 1,024 bytes.
        label: Text,
        /// More, as Markdown, at most 8 KiB.
        #[serde(default)]
        description: Option<Text>,
        /// True if choosing it says no: it ends a vote at once, releases nothing and approves
        /// nothing.
        #[serde(default)]
        reject: bool,
    }
}

impl DecisionOption {
    /// The option that accepts the current proposal.
    #[must_use]
    pub fn accept() -> Self {
        Self::own(ACCEPT, "Accept", "Accept the proposal as it is")
    }

    /// The option that answers with the guidance that led to the round.
    #[must_use]
    pub fn guidance() -> Self {
        Self::own(GUIDANCE, "Guidance", "Accept the guidance as it is")
    }

    fn own(id: &str, short: &str, label: &str) -> Self {
        Self {
            id: id.into(),
            short: short.into(),
            label: label.into(),
            description: None,
            reject: false,
        }
    }

    /// The two answers to a question that is approved or denied, by their short words and by what
    /// each of them lets happen.
    #[must_use]
    pub fn approve_or_deny(short: [&str; 2], label: [&str; 2]) -> [Self; 2] {
        let ([approve, deny], [approves, denies]) = (short, label);
        [(APPROVE, approve, approves, false), (DENY, deny, denies, true)].map(
            |(id, short, label, reject)| Self {
                id: id.into(),
                short: short.into(),
                label: label.into(),
                description: None,
                reject,
            },
        )
    }
}

bodies! {
    /// Content of the question: the part that each round may propose anew.
    Proposal {
        /// The question, 1 to 4,096 bytes.
        prompt: Text,
        /// Context that one should know to answer it, at most 64 KiB.
        #[serde(default)]
        context: Option<Text>,
        /// The ways to answer; none where only a text is wanted.
        #[serde(default)]
        options: OptionList,
        /// The option that the requester prefers; taken at the deadline only under
        /// [`OnTimeout::Default`].
        #[serde(default)]
        default_option: Option<Text>,
    }
}

impl Proposal {
    /// The option with this id.
    #[must_use]
    pub fn option(&self, id: &str) -> Option<&DecisionOption> {
        self.options.iter().find(|option| *option.id == *id)
    }
}

bodies! {
    /// Something that an answer may rest on, by its digest. The bytes are kept elsewhere.
    EvidenceAttachment {
        /// SHA-256 of the bytes.
        sha256: Digest,
        /// Number of bytes.
        bytes: u64,
        /// Their media type, at most 256 bytes.
        media_type: Text,
        /// Description of them, at most 256 bytes.
        label: Text,
    }
}

bodies! {
    /// The one action that an approval is for.
    #[derive(PartialOrd, Ord)]
    ActionBinding {
        /// The tool, 1 to 256 bytes.
        tool: Text,
        /// SHA-256 of its input in the canonical form of RFC 8785.
        input_sha256: Digest,
    }
}

/// Longest beginning, and longest end, of what a tool answered that is kept, in bytes.
pub const MAX_EXCERPT_BYTES: usize = 4 * 1024;

closed_enum! {
    /// Claim of a host about an action that was approved.
    pub enum ClaimedStatus {
        /// It was done.
        Succeeded = "SUCCEEDED",
        /// It failed.
        Failed = "FAILED",
        /// It was stopped before its end.
        Interrupted = "INTERRUPTED",
    }
}

bodies! {
    /// Statement of a host about an action that was approved and done: a claim, which nothing here
    /// proves and nothing rests on.
    OutcomeClaim {
        /// The host's own name of this one call, 1 to 256 bytes.
        tool_use_id: Text,
        /// Outcome of the action.
        status: ClaimedStatus,
        /// Length of the whole answer of the tool, in bytes.
        response_bytes: u64,
        /// SHA-256 of the whole answer.
        response_sha256: Digest,
        /// The beginning of it without secrets, at most 4,096 bytes.
        head: Text,
        /// The end of it without secrets, behind the beginning, at most 4,096 bytes.
        tail: Text,
    }
}

bodies! {
    /// Policy that says who has to approve. Where there is none, anybody may answer.
    ApprovalPolicy {
        /// Names of those who may answer; empty: every person.
        #[serde(default)]
        approvers: List<Text>,
        /// Number of distinct people who have to choose the same, 1 to 16. One choice of an option
        /// that rejects ends it at once.
        quorum: u8,
        /// True if the requester may answer too.
        #[serde(default)]
        allow_requester: bool,
        /// True if agents may answer too.
        #[serde(default)]
        allow_agents: bool,
        /// Least authentication that has to prove who answers.
        authentication: Authentication,
        /// True if a default that is taken at the deadline counts as approval.
        #[serde(default)]
        default_approves: bool,
    }
}

impl ApprovalPolicy {
    /// One person, whoever it is, at a terminal.
    #[must_use]
    pub fn people() -> Self {
        Self {
            approvers: List::default(),
            quorum: 1,
            allow_requester: true,
            allow_agents: false,
            authentication: Authentication::Terminal,
            default_approves: false,
        }
    }
}

recorded! {
    /// The terms of a question: they hold for every round.
    Terms {
        /// The work item that it is about, 1 to 256 bytes.
        issue_id: Option<Text>,
        /// Proposal that is asked in the first round.
        proposal: Proposal,
        /// True if a text of one's own is an answer.
        allow_text: bool,
        /// Fate of a round that nobody answers in time.
        on_timeout: OnTimeout,
        /// Time when the time is over; `None`: never.
        expires_at: Option<crate::core::time::Timestamp>,
        /// Time that each round has, in milliseconds, where the time begins anew with every round.
        round_timeout_ms: Option<u64>,
        /// Number of rounds there may be, 1 to 20.
        max_iterations: u8,
        /// Urgency of the question.
        urgency: Urgency,
        /// Policy that says who has to approve.
        policy: Option<ApprovalPolicy>,
        /// Work that waits for the answer, by the requester's own names.
        blocks: List<Text>,
        /// Evidence that the answer may rest on.
        evidence: List<EvidenceAttachment>,
        /// The one action that an approval is for.
        binding: Option<ActionBinding>,
        /// Time that after the answer an approval may be spent, in milliseconds.
        valid_for_ms: u64,
        /// The decision point whose place it takes.
        supersedes: Option<Text>,
    }
}

impl Terms {
    /// Returns whether the answer is a person's: approval is asked for, or something waits for it.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.policy.is_some() || self.binding.is_some() || !self.blocks.is_empty()
    }

    /// Returns whether people are shown exactly this, once, and nothing besides: whoever may ask
    /// can bind a question that shows something else to the same action.
    #[must_use]
    pub fn shows(&self, proposal: &Proposal) -> bool {
        let is_bare = self.issue_id.is_none() && self.blocks.is_empty() && self.evidence.is_empty();
        self.proposal == *proposal && !self.allow_text && self.max_iterations == 1 && is_bare
    }
}

/// The seed's name for "accept the current proposal". No option may be called so.
pub const ACCEPT: &str = "_accept";

/// The name for "accept my guidance as it is". No option may be called so.
pub const GUIDANCE: &str = "_guidance";

/// Answer of somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Response {
    /// The option with this id.
    Option(Text),
    /// A text of one's own, which ends the question.
    Text(Text),
    /// The current proposal, to be recorded as [`Response::Proposal`]. In records that were made
    /// under rules before number 6 it is the guidance that led to the round. Not in the first
    /// round.
    Accept,
    /// Guidance: another round, with a proposal that heeds it.
    Guidance(Text),
    /// The current proposal: its default option, where it has one. Not in the first round.
    Proposal(Option<Text>),
}

impl Response {
    /// The option with this id; the seed's `_accept` stands for [`Response::Accept`].
    #[must_use]
    pub fn option(id: &str) -> Self {
        if id == ACCEPT { Self::Accept } else { Self::Option(id.into()) }
    }

    /// The words of the answer, where it has some.
    #[must_use]
    pub fn words(&self) -> Option<&Text> {
        match self {
            Self::Text(words) | Self::Guidance(words) => Some(words),
            Self::Option(_) | Self::Accept | Self::Proposal(_) => None,
        }
    }

    /// The option that it chooses: by its id, or as the default of what is proposed.
    #[must_use]
    pub fn chosen(&self) -> Option<&Text> {
        match self {
            Self::Option(id) => Some(id),
            Self::Proposal(default) => default.as_ref(),
            Self::Text(_) | Self::Accept | Self::Guidance(_) => None,
        }
    }

    /// Tells whether it accepts what is there, instead of choosing or saying something.
    #[must_use]
    pub const fn is_acceptance(&self) -> bool {
        matches!(self, Self::Accept | Self::Proposal(_))
    }

    /// Tells whether two people who answer so choose the same.
    pub(crate) fn is_same_choice(&self, other: &Self) -> bool {
        let chosen = self.chosen();
        self == other || (chosen.is_some() && chosen == other.chosen())
    }
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::one_of! {
    Response:
        |input| input.arbitrary().map(Response::Option),
        |input| input.arbitrary().map(Response::Text),
        |_| Ok(Response::Accept),
        |input| input.arbitrary().map(Response::Guidance),
        |input| input.arbitrary().map(Response::Proposal),
}
