//! What the tools take. The schemas that clients see are made of these types; a field that is not
//! here is refused.

use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::decision_point::{DecisionOption, EvidenceAttachment, OnTimeout, Urgency};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Of `decision_create`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// The question, 1 to 4096 bytes. A person reads it: say what you want to do, and why.
    pub(super) prompt: String,
    /// The work item that it is about, 1 to 256 bytes.
    pub(super) issue_id: Option<String>,
    /// What one should know to answer it, at most 64 KiB.
    pub(super) context: Option<String>,
    /// The ways to answer, at most 32. None where only a text is wanted.
    #[serde(default)]
    pub(super) options: Vec<DecisionOption>,
    /// The id of the option that you would prefer. It is shown, and taken at the deadline where
    /// on_timeout is "default".
    pub(super) default_option: Option<String>,
    /// Whether a text of one's own is an answer. Left away: yes, but not for approvals (approvers,
    /// quorum or binding given).
    pub(super) allow_text: Option<bool>,
    /// How long a person has to answer, in seconds. Left away: as long as it takes.
    pub(super) timeout_seconds: Option<u64>,
    /// Whether that time begins anew with every round.
    #[serde(default)]
    pub(super) timeout_per_round: bool,
    /// What becomes of it when the time is over. Left away: "default" where default_option is
    /// given and nobody has to approve (no approvers, quorum, binding or blocks), else "abort",
    /// which decides nothing. "default" takes default_option; that is no approval, and approved
    /// stays false.
    pub(super) on_timeout: Option<OnTimeout>,
    /// How many rounds guidance may lead to, 1 to 20. Left away: 3.
    #[schemars(range(min = 1, max = 20))]
    pub(super) max_iterations: Option<u8>,
    /// How much it presses. Left away: "medium".
    pub(super) urgency: Option<Urgency>,
    /// Who has to approve, by user name. It makes this an approval: neither you nor another agent
    /// can give it, and nobody whose name the operating system does not prove.
    #[serde(default)]
    pub(super) approvers: List<Text>,
    /// How many distinct people have to choose the same, 1 to 16. It makes this an approval, by
    /// any people where approvers is left away. Left away: 1.
    #[schemars(range(min = 1, max = 16))]
    pub(super) quorum: Option<u8>,
    /// The one action that the approval is for; it can be spent once. It makes this an approval, by
    /// any person where approvers and quorum are left away.
    pub(super) binding: Option<Binding>,
    /// How long after the answer a bound approval may be spent, in seconds. Left away: 24 hours.
    pub(super) valid_for_seconds: Option<u64>,
    /// What waits for the answer, by names of your own, at most 16.
    #[serde(default)]
    pub(super) blocks: Vec<String>,
    /// What the answer may rest on, by digest, at most 16. The bytes themselves are not kept.
    #[serde(default)]
    pub(super) evidence: Vec<EvidenceAttachment>,
    /// The open decision of yours whose place it takes.
    pub(super) supersedes: Option<String>,
    /// A name of your own for this call: calling again with it and the same arguments gives the
    /// same decision and asks nobody twice.
    pub(super) idempotency_key: Option<String>,
}

/// One action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Binding {
    /// The tool.
    pub(super) tool: String,
    /// Its input, as it will be called. Only the digest of its canonical form is kept.
    pub(super) input: Value,
}

/// Of `decision_list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListThem {
    /// Where they stand. Left away: "open". "refining" is your turn: call decision_refine.
    #[serde(default)]
    pub(super) state: Standing,
    /// Only those of this work item.
    pub(super) issue_id: Option<String>,
    /// Only those that were asked under this name.
    pub(super) requested_by: Option<String>,
    /// Only those that press so much.
    pub(super) urgency: Option<Urgency>,
    /// How many, 1 to 200. Left away: 50.
    #[schemars(range(min = 1, max = 200))]
    pub(super) limit: Option<u16>,
    /// Those behind this one: the next_after of the page before.
    pub(super) after: Option<String>,
}

/// Which decisions are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    Pending,
    Refining,
    /// Pending or refining.
    #[default]
    Open,
    Resolved,
    Iterated,
    Expired,
    Aborted,
    Cancelled,
    Superseded,
    All,
}

/// Of `decision_show`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Show {
    /// The decision: its id, the beginning of its id, or the issue of its one open decision.
    pub(super) decision_id: String,
}

/// Of `decision_wait`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// The decision: its id, the beginning of its id, or the issue of its one open decision.
    pub(super) decision_id: String,
    /// How long to wait, 0 to 45 seconds. Left away: 30.
    #[schemars(range(min = 0, max = 45))]
    pub(super) timeout_seconds: Option<u64>,
}

/// Of `decision_cancel`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Cancel {
    /// The decision: its id, the beginning of its id, or the issue of its one open decision.
    pub(super) decision_id: String,
    /// Why, at most 4096 bytes.
    pub(super) reason: Option<String>,
}

/// Of `decision_refine`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Refine {
    /// The round that guidance opened: the next_id of the round that ended.
    pub(super) decision_id: String,
    /// The question, where it changes.
    pub(super) prompt: Option<String>,
    /// What one should know, where that changes.
    pub(super) context: Option<String>,
    /// The ways to answer, where they change. They replace those of the round before.
    pub(super) options: Option<Vec<DecisionOption>>,
    /// The id of the option that you prefer now; one of the options.
    pub(super) default_option: Option<String>,
    /// Whether you prefer none any more. Where silence took the default, it aborts then.
    #[serde(default)]
    pub(super) drop_default: bool,
}

/// Of `decision_respond`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Respond {
    /// The decision: its id, the beginning of its id, or the issue of its one open decision.
    pub(super) decision_id: String,
    /// The answer: exactly one of the three, or accept.
    pub(super) option: Option<String>,
    /// A text of one's own, which ends the question.
    pub(super) text: Option<String>,
    /// Guidance: another round, in which the requester proposes anew.
    pub(super) guidance: Option<String>,
    /// Accept the current proposal as it is, with its default, from the second round on.
    #[serde(default)]
    pub(super) accept: bool,
    /// What is said beside it.
    pub(super) comment: Option<String>,
}

/// Of `audit_verify`: nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Verify {}

/// Of `audit_query`. Everything that is given must hold.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    /// The first sequence. Left away: the beginning.
    pub(super) from: Option<u64>,
    /// The last sequence. Left away: the end.
    pub(super) to: Option<u64>,
    /// The kind of record, or the system: "decision_point.resolved", "decision_point".
    pub(super) kind: Option<String>,
    /// Only records about this round of a question: its id, the beginning of its id, or the issue
    /// of its one open decision.
    pub(super) decision: Option<String>,
    /// Only records about the execution loop with this id.
    #[serde(rename = "loop")]
    pub(super) loop_id: Option<String>,
    /// Only records of this story.
    pub(super) correlation: Option<String>,
    /// How many, 1 to 200. Left away: 50.
    #[schemars(range(min = 1, max = 200))]
    pub(super) limit: Option<u16>,
}
