//! The question about one call of a tool: which answers there are, who may give them, and for what
//! they are good.

use super::pre_tool_use::Args;
use holdpoint_domain::command::{Command, CreateDecisionPoint, Entropy};
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, DecisionOption, OnTimeout, Principal,
};
use holdpoint_domain::hash::{Digest, HashBuilder};
use holdpoint_domain::text::bounded;
use holdpoint_domain::world::DecisionPoint;

/// How much of an input a person is shown, in bytes.
const INPUT_BYTES_MAX: usize = 60 * 1024;
/// How much of a directory's name a prompt shows, in bytes.
const DIRECTORY_BYTES_MAX: usize = 2 * 1024;

/// One call of a tool, by one session in one directory, and the question about it.
pub(super) struct Ask {
    /// Who asks.
    pub(super) by: Principal,
    /// What is asked for.
    pub(super) binding: ActionBinding,
    prompt: String,
    context: String,
    policy: ApprovalPolicy,
    timeout_ms: u64,
    valid_for_ms: u64,
}

/// What a call is about, as the host tells it.
pub(super) struct Call<'a> {
    /// Which tool.
    pub(super) tool: &'a str,
    /// What it is given, as JSON.
    pub(super) input: &'a str,
    /// SHA-256 of the canonical form of that.
    pub(super) digest: Digest,
    /// Where it runs.
    pub(super) cwd: Option<&'a str>,
}

impl Ask {
    /// The question about a call.
    pub(super) fn new(by: Principal, call: &Call<'_>, args: &Args) -> Self {
        let Call { tool, input, digest, cwd } = call;
        Self {
            by,
            binding: ActionBinding { tool: (*tool).into(), input_sha256: *digest },
            prompt: prompt(tool, *cwd),
            context: context(input),
            policy: args.policy(),
            timeout_ms: args.timeout_ms(),
            valid_for_ms: args.valid_for_ms(),
        }
    }

    /// Whether a decision is the answer to this question: asked by this session in this directory,
    /// about this call, in these words, under this policy. One that somebody else worded, or that
    /// fewer people may answer, approves nothing here.
    pub(super) fn is_answered_by(&self, point: &DecisionPoint) -> bool {
        let (terms, proposal) = (&point.terms, &point.terms.proposal);
        point.requested_by == self.by
            && terms.binding.as_ref() == Some(&self.binding)
            && terms.policy.as_ref() == Some(&self.policy)
            && terms.on_timeout == OnTimeout::Abort
            && *proposal.prompt == *self.prompt
            && proposal.context.as_deref() == Some(self.context.as_str())
            && *proposal.options == options()
    }

    /// The command that puts the question on record.
    pub(super) fn command(&self, entropy: Entropy) -> Command {
        Command::CreateDecisionPoint(Box::new(CreateDecisionPoint {
            entropy,
            by: self.by.clone(),
            issue_id: None,
            prompt: self.prompt.clone(),
            context: Some(self.context.clone()),
            options: options().to_vec(),
            default_option: None,
            allow_text: Some(false),
            timeout_ms: Some(self.timeout_ms),
            expires_at: None,
            timeout_per_round: false,
            on_timeout: Some(OnTimeout::Abort),
            max_iterations: Some(1),
            urgency: None,
            policy: Some(self.policy.clone()),
            blocks: Vec::new(),
            evidence: Vec::new(),
            binding: Some(self.binding.clone()),
            valid_for_ms: Some(self.valid_for_ms),
            supersedes: None,
        }))
    }

    /// The name of this one asking, behind the last time that the same was asked: two hooks that
    /// run at the same time for the same call ask once.
    pub(super) fn key(&self, before: Option<&DecisionPoint>, salt: Option<Entropy>) -> String {
        let content = self.command(Entropy::default()).content();
        let salt = salt.map(|salt| salt.to_string());
        let digest = HashBuilder::new("holdpoint.hook-question", 1)
            .digest(&content)
            .text(&self.by.means)
            .optional_text(before.map(|point| point.decision_id.as_str()))
            .optional_text(salt.as_deref())
            .finish();
        format!("hook {digest}")
    }
}

/// What a person may answer.
fn options() -> [DecisionOption; 2] {
    [
        ("approve", "Approve", "Let exactly this call run, once", false),
        ("deny", "Deny", "Do not let it run", true),
    ]
    .map(|(id, short, label, reject)| DecisionOption {
        id: id.into(),
        short: short.into(),
        label: label.into(),
        description: None,
        reject,
    })
}

fn prompt(tool: &str, cwd: Option<&str>) -> String {
    let Some(cwd) = cwd else { return format!("May {tool} run, in no stated directory?") };
    let shown = bounded(cwd, DIRECTORY_BYTES_MAX);
    let more = if shown.len() < cwd.len() { ".. (cut)" } else { "" };
    format!("May {tool} run in {shown}{more}?")
}

/// The input over several lines. One that is cut says so before it begins.
fn context(input: &str) -> String {
    let pretty = serde_json::from_str::<serde_json::Value>(input)
        .and_then(|value| serde_json::to_string_pretty(&value));
    let pretty = pretty.unwrap_or_else(|_| input.to_string());
    let shown = bounded(&pretty, INPUT_BYTES_MAX);
    match shown.len() == pretty.len() {
        true => pretty,
        false => format!(
            "CUT: only the first {} of {} bytes of the input are shown here, and the answer is \
             about all of them.\n{shown}",
            shown.len(),
            pretty.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::decision_point::{MAX_CONTEXT_BYTES, MAX_PROMPT_BYTES};

    #[test]
    fn what_is_too_long_is_cut_and_says_so_first() {
        let input = format!("{{\"command\":\"{}\"}}", "x".repeat(1 << 20));
        let context = context(&input);
        assert!(context.starts_with("CUT: only the first 61440 of 1048595 bytes"), "{context:.99}");
        assert!(context.len() <= MAX_CONTEXT_BYTES);
        let prompt = prompt(&"t".repeat(256), Some(&"/d".repeat(4096)));
        assert!(prompt.ends_with(".. (cut)?") && prompt.len() <= MAX_PROMPT_BYTES);
    }

    #[test]
    fn a_short_input_is_shown_whole() {
        assert_eq!(context(r#"{"b":1,"a":[2]}"#), "{\n  \"a\": [\n    2\n  ],\n  \"b\": 1\n}");
    }
}
