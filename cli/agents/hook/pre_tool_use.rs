//! `holdpoint hook pre-tool-use`: the agent's host is about to run a tool. A person's approval of
//! exactly this call, by exactly this session in exactly this directory, is spent and lets it run;
//! without one a person is asked and the call is denied. What fails, denies.

use super::answer::Answer;
use super::ask::{Ask, Call};
use super::bound_input::BoundInput;
use super::deadline::{self, Question};
use super::gate::Gate;
use super::input::{Input, read};
use super::own::only_looks;
use super::stop::{look, of_session};
use super::{LOCK_WAIT, Terms};
use crate::args::durations::wait;
use crate::args::host::Event;
use crate::log::agent_sessions::requester;
use crate::log::configuration::{AskedApproval, Demands};
use crate::questions::approval_args::Proof;
use crate::ui::excerpt;
use holdpoint_domain::core::limits::MAX_LIST_ITEMS;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::core::text::check_identifier;
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalPolicy, MAX_TIMEOUT_MS, check_policy,
};
use holdpoint_engine::shell::canonical_input;
use humantime::format_duration;
use std::path::Path;
use std::time::{Duration, Instant};

/// Default time to answer, and to use an approval.
const USUAL_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Options of `hook pre-tool-use`.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(id = "of_pre_tool_use", multiple = true)]
#[command(next_help_heading = "Options of pre-tool-use")]
pub(crate) struct Args {
    /// Guard this tool; a trailing `*` matches any suffix; repeatable [default: every tool for
    /// which the host runs the hook].
    #[arg(long = "tool", value_name = "NAME", value_parser = tool_name)]
    tools: Vec<String>,
    /// Host's name of this program's MCP server, whose tools that wait for decisions or show them
    /// are allowed; repeatable.
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    own_mcp: Vec<String>,
    /// Approvers, by user name [default: every person].
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    approvers: Vec<String>,
    /// Number of people who must approve, 1 to 16 [default: 1].
    #[arg(long, value_name = "N")]
    quorum: Option<u8>,
    /// Minimum proof of who approves [default: terminal].
    #[arg(long, value_name = "PROOF")]
    authentication: Option<Proof>,
    /// Time until the question expires [default: 1h].
    #[arg(long, value_name = "DURATION", value_parser = bounded_time)]
    timeout: Option<Duration>,
    /// Lifetime of the approval after the answer [default: 1h].
    #[arg(long, value_name = "DURATION", value_parser = bounded_time)]
    valid_for: Option<Duration>,
    /// Maximum wait for the answer before denying, up to the deadline [default: 0s].
    #[arg(long, value_name = "DURATION", value_parser = wait)]
    wait: Option<Duration>,
    /// Ask again about a call that a person denied in this session.
    #[arg(long)]
    ask_again: bool,
}

impl Args {
    /// Tells whether a call that was denied may be asked about again.
    pub(super) const fn asks_again(&self) -> bool {
        self.ask_again
    }

    /// How long a person has, in milliseconds: as it is given here, or as is usual and demanded.
    pub(super) fn timeout_ms(&self, demands: &Demands) -> u64 {
        let (asked, usual) = (self.timeout.map(milliseconds), milliseconds(USUAL_TIMEOUT));
        demands.approval_time(asked, Some(usual)).unwrap_or(usual)
    }

    /// How long an approval is good, in milliseconds.
    pub(super) fn valid_for_ms(&self) -> u64 {
        milliseconds(self.valid_for.unwrap_or(USUAL_TIMEOUT))
    }

    /// People only, and never whoever asks. What is not given here is as it is demanded.
    pub(super) fn asked(&self) -> AskedApproval {
        AskedApproval {
            approvers: self.approvers.iter().map(|name| Text::from(name.trim())).collect(),
            quorum: self.quorum,
            authentication: self.authentication.map(Proof::authentication),
            ..AskedApproval::default()
        }
    }

    /// Tells whether this tool is guarded.
    fn guards(&self, tool: &str) -> bool {
        let is_meant = |name: &String| match name.strip_suffix('*') {
            Some(beginning) => tool.starts_with(beginning),
            None => tool == name,
        };
        self.tools.is_empty() || self.tools.iter().any(is_meant)
    }

    /// The tools that are guarded, as they are named; none stands for all.
    pub(super) fn tools(&self) -> &[String] {
        &self.tools
    }

    /// What of the options cannot be kept within this deadline.
    pub(super) fn check(&self, deadline: Duration) -> Result<(), String> {
        if let Some(wait) = self.wait.filter(|wait| *wait > deadline) {
            let (wait, deadline) = (format_duration(wait), format_duration(deadline));
            return Err(format!(
                "--wait {wait} is longer than the deadline of {deadline} within which this hook \
                 answers: shorten it, or raise --deadline and the host's own timeout above it; \
                 `holdpoint decision wait` waits longer"
            ));
        }
        if self.approvers.len() > MAX_LIST_ITEMS {
            return Err(format!("more than {MAX_LIST_ITEMS} approvers: name fewer"));
        }
        let policy = ApprovalPolicy {
            approvers: self.asked().approvers,
            quorum: self.quorum.unwrap_or(1),
            ..ApprovalPolicy::people()
        };
        check_policy(&policy, "").map_err(|refusal| refusal.to_string())
    }
}

/// The answer.
pub(super) fn decide(log: &Path, terms: &Terms, args: &Args) -> Result<Answer, String> {
    let until = Instant::now().checked_add(args.wait.unwrap_or_default());
    args.check(terms.deadline())?;
    let text = read()?;
    let input = Input::parse(&text, &[Event::PreToolUse], terms.host)?;
    let host = input.host.ok_or("the input on stdin is that of no host that is recognised")?;
    deadline::is_of(host);
    let tool = input.tool_name.as_deref().ok_or("the input on stdin has no tool_name")?;
    if !args.guards(tool) {
        return Ok(Answer::no_objection());
    }
    check_identifier("tool_name", tool).map_err(|fault| fault.to_string())?;
    let directory = input.directory()?;
    let by = requester(host, input.session_id()?, directory.as_ref())?;
    let tool_input = input.tool_input.as_deref().ok_or("the input on stdin has no tool_input")?;
    if canonical_input(tool_input).is_ok_and(|it| only_looks(host, tool, &it, &args.own_mcp)) {
        return Ok(Answer::no_objection());
    }
    let bound = BoundInput::of(host, tool, tool_input)
        .map_err(|reason| format!("no approval is possible for {}: {reason}", excerpt(tool)))?;
    let call = Call { tool, input: &bound, directory: directory.as_ref() };
    let binding = bound.binding(tool);
    let lock_wait = LOCK_WAIT.min(deadline::left(terms.deadline()) / 4);
    let session = by.id.to_string();
    let gate =
        Gate::open(log, lock_wait, args.asks_again(), |demands| Ask::new(by, &call, args, demands));
    let gate = gate.map_err(|reason| match asked_before(log, &session, &binding) {
        Some(id) => format!("{reason}; pending, decision {id}"),
        None => reason,
    })?;
    let answer = gate.answer(until);
    gate.close();
    answer
}

/// The question about this call that is open, as far as that can be read without the lock.
fn asked_before(log: &Path, session: &str, binding: &ActionBinding) -> Option<String> {
    let look = look(log).ok()?;
    let mine = of_session(&look, &[session.to_string()]);
    let mut open = mine.iter().filter(|point| point.is_open() && point.binding() == Some(binding));
    let id = open.next_back().map(|point| point.decision_id.to_string())?;
    deadline::is_at(Question::Asked(id.clone()));
    Some(id)
}

/// The name of a tool, or the beginning of names.
fn tool_name(text: &str) -> Result<String, String> {
    let beginning = text.strip_suffix('*').unwrap_or(text);
    if text.is_empty() {
        Err("an empty name is that of no tool; leave --tool away to guard every tool".to_string())
    } else if beginning.contains('*') {
        Err("a `*` stands at the end alone, for any rest of the name".to_string())
    } else {
        Ok(text.to_string())
    }
}

/// The name of a server, as the host writes it in the names of its tools.
fn server_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Ok(text.to_string()),
        false => Err("a server's name has letters, digits, _ and - alone".to_string()),
    }
}

/// A time that the rules take.
fn bounded_time(text: &str) -> Result<Duration, String> {
    let time = wait(text)?;
    match u64::try_from(time.as_millis()) {
        Ok(1..=MAX_TIMEOUT_MS) => Ok(time),
        _ => Err("it has to be between 1ms and 366 days".to_string()),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(options: &[&str]) -> Option<Args> {
        let line = Line::try_parse_from([&["hook"], options].concat()).ok()?;
        Some(line.args).filter(|args| args.check(deadline::USUAL).is_ok())
    }

    #[test]
    fn tools_are_named_whole_or_by_their_beginning() {
        let all = parsed(&[]).unwrap();
        assert!(all.guards("Bash") && all.guards(""));
        let some = parsed(&["--tool", "Bash", "--tool", "mcp__prod__*"]).unwrap();
        for (tool, is_guarded) in [
            ("Bash", true),
            ("BashOutput", false),
            ("bash", false),
            ("mcp__prod__drop", true),
            ("mcp__prod__", true),
            ("mcp__dev__drop", false),
        ] {
            assert_eq!(some.guards(tool), is_guarded, "{tool}");
        }
    }

    #[test]
    fn options_that_could_not_be_kept_are_refused() {
        let bad: [&[&str]; 15] = [
            &["--own-mcp", ""],
            &["--own-mcp", "a b"],
            &["--tool", ""],
            &["--tool", "*Bash"],
            &["--tool", "mcp__**"],
            &["--quorum", "0"],
            &["--quorum", "17"],
            &["--quorum", "2", "--approvers", "ada"],
            &["--approvers", "ada,ada"],
            &["--approvers", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"],
            &["--wait", "26s"],
            &["--timeout", "0s"],
            &["--valid-for", "400days"],
            &["--timeout=-1s"],
            &["--authentication", "vibes"],
        ];
        for options in bad {
            assert!(parsed(options).is_none(), "{options:?}");
        }
        assert!(parsed(&["--quorum", "2", "--approvers", "ada,bob", "--wait", "25s"]).is_some());
    }
}
