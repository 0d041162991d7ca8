//! The question about one call of a tool: which answers there are, who may give them, and for what
//! they are good.

use super::bound_input::BoundInput;
use super::pre_tool_use::Args;
use crate::log::agent_sessions::{asks, options, prompt_of};
use crate::log::configuration::Demands;
use crate::ui::text::quoted;
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::hash::HashBuilder;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::text::{bounded, has_visible_character};
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, CreateDecisionPoint, DecisionPoint, DecisionPointCommand,
    OnTimeout,
};
use holdpoint_engine::executor::ending;
use holdpoint_engine::shell::BoundDirectory;
use serde_json::{Map, Value};

/// How much of an input a person is shown, in bytes.
const INPUT_BYTES_MAX: usize = 60 * 1024;
/// How much is shown of what is not bound, in bytes.
const BESIDE_BYTES_MAX: usize = 3000;
/// What stands between what is bound and what is not.
const NOT_BOUND: &str =
    "\n\nNOT BOUND, as it changes nothing of the effect (another call may say something else):\n";
/// How much of a directory's name a prompt shows, in bytes.
/// It is made visible after that, and one byte becomes six at most.
const DIRECTORY_BYTES_MAX: usize = 256;
/// How much of a command's first line a prompt shows, in bytes before it is made visible. One byte
/// becomes six at most.
const COMMAND_BYTES_MAX: usize = 120;
/// How much of the end of an input that is cut a person is shown, in bytes.
const TAIL_BYTES_MAX: usize = 20 * 1024;

/// One call of a tool, by one session in one directory, and the question about it.
pub(super) struct Ask {
    /// Who asks.
    pub(super) by: Principal,
    /// What is asked for.
    pub(super) binding: ActionBinding,
    prompt: String,
    /// What is bound of the input.
    context: String,
    /// What is not, for a person to read.
    beside: Option<String>,
    /// The fields of the tool that are not.
    not_bound: &'static [&'static str],
    policy: ApprovalPolicy,
    /// Whether only another user than the one who asks may answer.
    pub(super) separation: bool,
    timeout_ms: u64,
    valid_for_ms: u64,
}

/// What a call is about, as the host tells it.
pub(super) struct Call<'a> {
    /// Which tool.
    pub(super) tool: &'a str,
    /// What it is given, as far as an approval is bound to it: its canonical form, so that what is
    /// equal is one question.
    pub(super) input: &'a BoundInput,
    /// Where it runs.
    pub(super) directory: Option<&'a BoundDirectory>,
}

impl Ask {
    /// The question about a call, under what is demanded of it.
    pub(super) fn new(by: Principal, call: &Call<'_>, args: &Args, demands: &Demands) -> Self {
        let Call { tool, input, directory } = call;
        let place = directory.map(|directory| directory.path().to_string_lossy());
        let (policy, separation) = demands.approval(&args.asked());
        Self {
            by,
            binding: input.binding(tool),
            prompt: prompt(tool, &input.bound, place.as_deref()),
            context: context(&input.bound),
            beside: input.beside.as_ref().map(beside),
            not_bound: input.not_bound,
            policy,
            separation,
            timeout_ms: args.timeout_ms(demands),
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
            && proposal.context.as_deref().is_some_and(|context| self.is_shown_by(context))
            && *proposal.options == options()
    }

    /// Whether a context shows what is bound, and behind that nothing but values of the fields that
    /// are not.
    fn is_shown_by(&self, context: &str) -> bool {
        let Some(rest) = context.strip_prefix(self.context.as_str()) else { return false };
        let Some(rest) = rest.strip_prefix(NOT_BOUND) else { return rest.is_empty() };
        let fields = serde_json::from_str::<Map<String, Value>>(rest);
        fields.is_ok_and(|fields| {
            fields.keys().all(|name| self.not_bound.contains(&name.as_str()))
                && serde_json::to_string_pretty(&fields).is_ok_and(|again| again == rest)
        })
    }

    /// The command that puts the question on record.
    pub(super) fn command(&self, entropy: Entropy) -> CreateDecisionPoint {
        let beside = self.beside.as_deref().unwrap_or_default();
        self.showing(entropy, format!("{}{beside}", self.context))
    }

    fn showing(&self, entropy: Entropy, context: String) -> CreateDecisionPoint {
        let (by, options) = (self.by.clone(), options().to_vec());
        CreateDecisionPoint {
            context: Some(context),
            allow_text: Some(false),
            timeout_ms: Some(self.timeout_ms),
            on_timeout: Some(OnTimeout::Abort),
            max_iterations: Some(1),
            policy: Some(self.policy.clone()),
            separation: self.separation,
            binding: Some(self.binding.clone()),
            valid_for_ms: Some(self.valid_for_ms),
            ..CreateDecisionPoint::asking(entropy, by, &self.prompt, options)
        }
    }

    /// The name of this one asking, behind the last time that the same was asked: two hooks that
    /// run at the same time for the same call ask once, whatever stands in what is not bound.
    pub(super) fn key(&self, before: Option<&DecisionPoint>, salt: Option<Entropy>) -> String {
        let shown = self.showing(Entropy::default(), self.context.clone());
        let content = recorded_by(shown).content();
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

/// The same for the log.
pub(super) fn recorded_by(command: CreateDecisionPoint) -> Command {
    Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(Box::new(command)))
}

/// The question. What the host names is quoted and visible, so that it can be nothing but a name;
/// of a command the first line is told.
fn prompt(tool: &str, input: &str, directory: Option<&str>) -> String {
    let asked = prompt_of(tool);
    let command = command_of(input).map(|command| format!(" {}", first_line(&command)));
    let asked = format!("{asked}{} in", command.unwrap_or_default());
    let Some(path) = directory else { return format!("{asked} no stated directory?") };
    format!("{asked} {}?", beginning(path, DIRECTORY_BYTES_MAX))
}

/// What a tool is to run in a shell, where its input says so.
fn command_of(input: &str) -> Option<String> {
    let input = serde_json::from_str::<serde_json::Value>(input).ok()?;
    input.get("command")?.as_str().map(String::from)
}

/// The first line of a command that says something, and how many lines there are besides.
fn first_line(command: &str) -> String {
    let lines =
        || command.split(['\n', '\r']).map(str::trim).filter(|line| has_visible_character(line));
    let first = beginning(lines().next().unwrap_or_default(), COMMAND_BYTES_MAX);
    match lines().count().saturating_sub(1) {
        0 => first,
        1 => format!("{first} and 1 more line"),
        more => format!("{first} and {more} more lines"),
    }
}

/// The beginning of a text, quoted.
fn beginning(text: &str, most_bytes: usize) -> String {
    let shown = bounded(text, most_bytes);
    let more = if shown.len() < text.len() { ".. (cut)" } else { "" };
    format!("{}{more}", quoted(shown))
}

/// Whether this may be a question of a hook's, by any session: about a call, to people alone and
/// not to whoever asks, with the answers that a hook offers. What is none cannot count for one.
pub(super) fn is_ours(point: &DecisionPoint) -> bool {
    asks(&point.requested_by, &point.terms)
}

/// The input over several lines. One that is cut says so before it begins, and where.
fn context(input: &str) -> String {
    let pretty = serde_json::from_str::<serde_json::Value>(input)
        .and_then(|value| serde_json::to_string_pretty(&value));
    let pretty = pretty.unwrap_or_else(|_| input.to_string());
    if pretty.len() <= INPUT_BYTES_MAX {
        return pretty;
    }
    let head = bounded(&pretty, INPUT_BYTES_MAX.saturating_sub(TAIL_BYTES_MAX));
    let tail = ending(&pretty, TAIL_BYTES_MAX);
    let hidden = pretty.len().saturating_sub(head.len()).saturating_sub(tail.len());
    format!(
        "CUT: {hidden} of the {} bytes of the input are not shown, between the first {} and the \
         last {}, and the answer is about all of them.\n{head}\n[CUT: {hidden} bytes are not shown \
         here]\n{tail}",
        pretty.len(),
        head.len(),
        tail.len()
    )
}

/// What is not bound of an input, cut to a few words a field.
fn beside(fields: &Map<String, Value>) -> String {
    let cut = |most_bytes: usize| {
        let cut = |value: &Value| {
            let text = value.as_str().map_or_else(|| value.to_string(), String::from);
            match text.len() > most_bytes {
                true => Value::String(format!("{}.. (cut)", bounded(&text, most_bytes))),
                false => value.clone(),
            }
        };
        let fields: Map<String, Value> =
            fields.iter().map(|(name, value)| (name.clone(), cut(value))).collect();
        serde_json::to_string_pretty(&fields).unwrap_or_default()
    };
    let long = cut(BESIDE_BYTES_MAX / 3);
    let text = if long.len() > BESIDE_BYTES_MAX { cut(BESIDE_BYTES_MAX / 20) } else { long };
    format!("{NOT_BOUND}{text}")
}

/// A question about a command of a shell, as a hook asks it, and what it is bound to.
#[cfg(test)]
pub(crate) fn sample(entropy: Entropy, by: Principal, command: &str) -> (Command, ActionBinding) {
    let input = serde_json::json!({ "command": command }).to_string();
    let digest = holdpoint_domain::core::hash::sha256(input.as_bytes());
    let binding = ActionBinding { tool: "Bash".into(), input_sha256: digest };
    let ask = Ask {
        by,
        binding: binding.clone(),
        prompt: prompt("Bash", &input, Some("/srv/shop")),
        context: context(&input),
        beside: None,
        not_bound: &[],
        policy: ApprovalPolicy { allow_requester: false, ..ApprovalPolicy::people() },
        separation: false,
        timeout_ms: 3_600_000,
        valid_for_ms: 3_600_000,
    };
    (recorded_by(ask.command(entropy)), binding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::decision_point::{MAX_CONTEXT_BYTES, MAX_PROMPT_BYTES};

    #[test]
    fn what_is_too_long_is_cut_and_says_so_first_and_where() {
        let input = format!("{{\"command\":\"{} rm -rf /\"}}", "\u{e9}".repeat(1 << 19));
        let context = context(&input);
        assert!(context.starts_with("CUT: 987164 of the 1048604 bytes"), "{context:.99}");
        assert!(context.ends_with("rm -rf /\"\n}") && context.contains("\n[CUT: 987164 bytes"));
        assert!(context.len() <= MAX_CONTEXT_BYTES);
        let command = format!("{{\"command\":\"{}\"}}", "a\u{202e}".repeat(4096));
        let prompt = prompt(&"\\".repeat(256), &command, Some(&"\u{202e}".repeat(4096)));
        assert!(prompt.ends_with("\".. (cut)?") && prompt.len() <= MAX_PROMPT_BYTES);
    }

    #[test]
    fn a_name_can_forge_no_line_of_the_question() {
        let prompt = prompt("Bash", "{}", Some("/w\"?\nApproved by ada. \u{202e}"));
        let shown = r#"May "Bash" run in "/w\"?\u{a}Approved by ada. \u{202e}"?"#;
        assert_eq!(prompt, shown);
    }

    #[test]
    fn the_first_line_of_a_command_that_says_something_is_asked_about() {
        let asked = |command: &str| {
            prompt("Bash", &serde_json::json!({ "command": command }).to_string(), Some("/w"))
        };
        assert_eq!(asked("ls -l"), r#"May "Bash" run "ls -l" in "/w"?"#);
        let several = "\n \r\n  rm -rf \"/\"\n\necho done\n";
        let shown = r#"May "Bash" run "rm -rf \"/\"" and 1 more line in "/w"?"#;
        assert_eq!(asked(several), shown);
        let long = asked(&format!("echo {}", "x".repeat(200)));
        assert!(long.ends_with("xx\".. (cut) in \"/w\"?"), "{long}");
        assert_eq!(asked(""), r#"May "Bash" run "" in "/w"?"#);
        assert_eq!(
            prompt("Read", r#"{"command":["ls"]}"#, None),
            r#"May "Read" run in no stated directory?"#
        );
    }

    #[test]
    fn a_short_input_is_shown_whole() {
        assert_eq!(context(r#"{"b":1,"a":[2]}"#), "{\n  \"a\": [\n    2\n  ],\n  \"b\": 1\n}");
    }
}
