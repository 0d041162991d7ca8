//! Commands on decision points (seed "Decisions").

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::core::actor::{NamedUsers, Principal};
use crate::core::ids::Entropy;
use crate::core::time::Timestamp;
use crate::core::{bodies, commands};
use crate::decision_point::types::{
    ActionBinding, ApprovalPolicy, DecisionOption, EvidenceAttachment, OnTimeout, OutcomeClaim,
    Response, Urgency,
};

commands! {
    /// Command on a decision point.
    DecisionPointCommand {
        /// Ask: a new decision point.
        "decision_point.create" CreateDecisionPoint(Box<CreateDecisionPoint>) with entropy from by;
        /// Answer a round. The first answer counts; guidance opens the next round; what comes when
        /// the round is over is kept and does not count.
        "decision_point.respond" RespondToDecisionPoint(RespondToDecisionPoint)
            with entropy from by;
        /// Propose anew after guidance.
        "decision_point.refine" RefineDecisionPoint(RefineDecisionPoint) from by;
        /// Take a question back.
        "decision_point.cancel" CancelDecisionPoint(CancelDecisionPoint) from by;
        /// Tell somebody else of a question.
        "decision_point.escalate" EscalateDecisionPoint(EscalateDecisionPoint) from by;
        /// Remind whoever is asked.
        "decision_point.remind" RemindDecisionPoint(RemindDecisionPoint) from by;
        /// Spend the approval of one action, once.
        "decision_point.consume" ConsumeApproval(ConsumeApproval) from by;
        /// Say what became of an approved action, once, as whoever spent the approval.
        "decision_point.report_outcome" ReportOutcome(ReportOutcome) from by;
        /// Record what is due for a round: its default, its abort, the end of its approval.
        "decision_point.expire" ExpireDecisionPoint(ExpireDecisionPoint);
    }
}

bodies! {
    /// See [`DecisionPointCommand::CreateDecisionPoint`]. The new id is
    /// `DP-` and the entropy; see [`CreateDecisionPoint::decision_id`].
    CreateDecisionPoint {
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// Principal who asks.
        by: Principal,
        /// The work item that it is about, 1 to 256 bytes.
        #[serde(default)]
        issue_id: Option<String>,
        /// The question, 1 to 4,096 bytes.
        prompt: String,
        /// Context that one should know to answer it, at most 64 KiB.
        #[serde(default)]
        context: Option<String>,
        /// The ways to answer, at most 32.
        #[serde(default)]
        options: Vec<DecisionOption>,
        /// The option that the requester prefers.
        #[serde(default)]
        default_option: Option<String>,
        /// True if a text of one's own is an answer. Left away: yes, but for approvals (a policy or
        /// a binding).
        #[serde(default)]
        allow_text: Option<bool>,
        /// The time to answer, in milliseconds from the record on. Not beside `expires_at`.
        #[serde(default)]
        timeout_ms: Option<u64>,
        /// Time when the time is over.
        #[serde(default)]
        expires_at: Option<Timestamp>,
        /// True if `timeout_ms` begins anew with every round.
        #[serde(default)]
        timeout_per_round: bool,
        /// Fate of a round that nobody answers in time. Left away: it is aborted.
        #[serde(default)]
        on_timeout: Option<OnTimeout>,
        /// Number of rounds there may be, 1 to 20. Left away: 3.
        #[serde(default)]
        max_iterations: Option<u8>,
        /// Urgency of the question. Left away: medium.
        #[serde(default)]
        urgency: Option<Urgency>,
        /// Policy that says who has to approve. Left away: anybody may answer.
        #[serde(default)]
        policy: Option<ApprovalPolicy>,
        /// Work that waits for the answer, at most 16 names.
        #[serde(default)]
        blocks: Vec<String>,
        /// Evidence that the answer may rest on, at most 16 attachments.
        #[serde(default)]
        evidence: Vec<EvidenceAttachment>,
        /// The one action that an approval is for.
        #[serde(default)]
        binding: Option<ActionBinding>,
        /// Time that after the answer a bound approval may be spent, in milliseconds. Left away: 24
        /// hours.
        #[serde(default)]
        valid_for_ms: Option<u64>,
        /// The open decision point whose place it takes.
        #[serde(default)]
        supersedes: Option<String>,
        /// True if only another user than the one who asks may answer.
        #[serde(default)]
        separation: bool,
        /// The numbers of those whom it names: the engine looks them up, and nobody states them.
        #[serde(skip)]
        people: Option<NamedUsers>,
    }
    /// See [`DecisionPointCommand::RespondToDecisionPoint`].
    RespondToDecisionPoint {
        /// The round.
        decision_id: String,
        /// Fresh random bits: guidance opens a round with the id that is made of them.
        #[serde(default)]
        entropy: Entropy,
        /// Principal who answers.
        by: Principal,
        /// Response to the question.
        response: Response,
        /// Comment beside the response, at most 32 KiB.
        #[serde(default)]
        comment: Option<String>,
    }
    /// See [`DecisionPointCommand::RefineDecisionPoint`]. What is left away
    /// stays as it was, and has to fit the rest.
    RefineDecisionPoint {
        /// The round.
        decision_id: String,
        /// Principal who proposes anew: the requester, or a person.
        by: Principal,
        /// The question.
        #[serde(default)]
        prompt: Option<String>,
        /// Context that one should know to answer it.
        #[serde(default)]
        context: Option<String>,
        /// The ways to answer; they replace those of the round before.
        #[serde(default)]
        options: Option<Vec<DecisionOption>>,
        /// The option that the requester prefers.
        #[serde(default)]
        default_option: Option<String>,
        /// The requester prefers none any more: where silence took the default, it aborts.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        drop_default: bool,
    }
    /// See [`DecisionPointCommand::CancelDecisionPoint`].
    CancelDecisionPoint {
        /// The round.
        decision_id: String,
        /// Principal who takes it back: the requester, or a person.
        by: Principal,
        /// Why, at most 4,096 bytes.
        #[serde(default)]
        reason: Option<String>,
    }
    /// See [`DecisionPointCommand::EscalateDecisionPoint`].
    EscalateDecisionPoint {
        /// The round.
        decision_id: String,
        /// Principal.
        by: Principal,
        /// To whom, 1 to 256 bytes.
        to: String,
        /// Why, at most 4,096 bytes.
        #[serde(default)]
        reason: Option<String>,
    }
    /// See [`DecisionPointCommand::RemindDecisionPoint`].
    RemindDecisionPoint {
        /// The round.
        decision_id: String,
        /// Principal.
        by: Principal,
    }
    /// See [`DecisionPointCommand::ConsumeApproval`].
    ConsumeApproval {
        /// The round.
        decision_id: String,
        /// Principal.
        by: Principal,
        /// Action that is to be done now.
        binding: ActionBinding,
    }
    /// See [`DecisionPointCommand::ReportOutcome`].
    ReportOutcome {
        /// The round.
        decision_id: String,
        /// Principal: whoever spent the approval.
        by: Principal,
        /// Outcome that is claimed.
        claim: Box<OutcomeClaim>,
    }
    /// See [`DecisionPointCommand::ExpireDecisionPoint`].
    ExpireDecisionPoint {
        /// The round.
        decision_id: String,
    }
}

impl CreateDecisionPoint {
    /// A question of which nothing is said but who asks what, and how it may be answered: all the
    /// rest is left away.
    #[must_use]
    pub fn asking(
        entropy: Entropy,
        by: Principal,
        prompt: impl Into<String>,
        options: Vec<DecisionOption>,
    ) -> Self {
        Self {
            entropy,
            by,
            issue_id: None,
            prompt: prompt.into(),
            context: None,
            options,
            default_option: None,
            allow_text: None,
            timeout_ms: None,
            expires_at: None,
            timeout_per_round: false,
            on_timeout: None,
            max_iterations: None,
            urgency: None,
            policy: None,
            blocks: Vec::new(),
            evidence: Vec::new(),
            binding: None,
            valid_for_ms: None,
            supersedes: None,
            separation: false,
            people: None,
        }
    }

    /// Returns whether the answer is a person's: see [`Terms::needs_person`](
    /// crate::decision_point::Terms::needs_person).
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.policy.is_some() || self.binding.is_some() || !self.blocks.is_empty()
    }

    /// Returns what becomes of a round when its time is over: as it is stated; else a default is
    /// taken that is named, unless the answer is a person's.
    pub(crate) fn at_deadline(&self) -> OnTimeout {
        let has_deadline = self.timeout_ms.is_some() || self.expires_at.is_some();
        let takes_default = self.default_option.is_some() && has_deadline && !self.needs_person();
        self.on_timeout.unwrap_or(match takes_default {
            true => OnTimeout::Default,
            false => OnTimeout::Abort,
        })
    }

    /// The id that the new decision point will have.
    #[must_use]
    pub fn decision_id(&self) -> String {
        decision_id(self.entropy)
    }
}

/// `DP-` and the entropy.
pub(crate) fn decision_id(entropy: Entropy) -> String {
    crate::core::ids::id("DP-", &alloc::format!("{entropy}"))
}

impl DecisionPointCommand {
    /// The decision point that the command is about; `None` for a new one.
    #[must_use]
    pub fn decision_id(&self) -> Option<&str> {
        Some(match self {
            Self::CreateDecisionPoint(_) => return None,
            Self::RespondToDecisionPoint(c) => &c.decision_id,
            Self::RefineDecisionPoint(c) => &c.decision_id,
            Self::CancelDecisionPoint(c) => &c.decision_id,
            Self::EscalateDecisionPoint(c) => &c.decision_id,
            Self::RemindDecisionPoint(c) => &c.decision_id,
            Self::ConsumeApproval(c) => &c.decision_id,
            Self::ReportOutcome(c) => &c.decision_id,
            Self::ExpireDecisionPoint(c) => &c.decision_id,
        })
    }
}
