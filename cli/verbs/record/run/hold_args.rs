//! When and how a person is asked: what the command line says of it.

use super::not_started;
use crate::args::durations;
use crate::log::configuration::{HoldOptions, InForce};
use crate::ui::Failure;
use clap::ValueEnum;
use clap::builder::{OsStringValueParser, TypedValueParser};
use holdpoint_domain::core::limits::MAX_LIST_ITEMS;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::human_decision::{HoldPolicy, HumanDecisionTimeout};
use holdpoint_engine::floors::names_nobody;
use holdpoint_engine::shell::BindingOptions;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// How many attempts a person may allow where nothing else is said.
const MAX_ATTEMPTS_HELD: u8 = 3;

/// When and how a person is asked: where nothing is said here, the configuration says it.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Hold points")]
pub(super) struct HoldArgs {
    /// Ask a person before the command starts, or about what follows an attempt [default: never].
    #[arg(long, value_name = "WHEN", value_enum, conflicts_with = "resume")]
    hold: Option<Hold>,
    /// Approvers, by user name [default: every person].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with = "resume")]
    approvers: Vec<String>,
    /// Number of distinct people who must approve the start, 1 to 16 [default: 1].
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    quorum: Option<u8>,
    /// Time until a question expires, 1ms to 366d: `before=` the start, then nothing starts
    /// [default: 5m; 24h with --no-wait]; `after=` an attempt, which then is ABORT [default: 5m];
    /// or both.
    #[arg(long, value_name = "[before=|after=]DURATION", value_parser = expiry)]
    expires: Vec<Expiry>,
    /// Exit with 122 and leave the question open instead of waiting.
    #[arg(long)]
    pub(super) no_wait: bool,
    /// Ask a person before an automatic retry after a crash or timeout too [default: true].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    retry_needs_person: Option<bool>,
    /// Allow escalation to this person; repeatable.
    #[arg(long, value_name = "NAME")]
    to: Vec<String>,
}

/// Times in which the question before a start and those after an attempt can be answered.
type Expiry = [Option<HumanDecisionTimeout>; 2];

fn expiry(text: &str) -> Result<Expiry, String> {
    let time = |text| durations::decision(text).map(Some);
    Ok(match text.split_once('=') {
        Some(("before", text)) => [time(text)?, None],
        Some(("after", text)) => [None, time(text)?],
        _ => [time(text)?; 2],
    })
}

/// What a start is bound to, and what lets it begin.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct StartArgs {
    /// Bind the approval to the path and content of this file too; files that the command names are
    /// bound already.
    #[arg(long, value_name = "file=PATH", num_args = 1.., conflicts_with = "resume")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|text| named(&text, &["file"])))]
    bind: Vec<NamedBinding>,
    /// Exclude from the binding a file that the command writes, or a variable that changes in every
    /// step of a pipeline, such as GITHUB_OUTPUT. The question shows it.
    #[arg(long, value_name = "file=NAME|env=NAME", num_args = 1.., conflicts_with = "resume")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|text| named(&text, &["file", "env"])))]
    unbind: Vec<NamedBinding>,
    /// Consume this approval of a question that `--hold before --no-wait` left open.
    #[arg(long, value_name = "ID", conflicts_with = "resume")]
    pub(super) approval: Option<String>,
    /// Start the next attempt of a run whose question was answered RETRY after `--no-wait`.
    #[arg(long, value_name = "REQ")]
    pub(super) resume: Option<String>,
}

/// A kind of what is bound or not, and which one.
type NamedBinding = (&'static str, OsString);

fn named(text: &OsStr, kinds: &[&'static str]) -> Result<NamedBinding, String> {
    let name_of = |kind: &&'static str| {
        let name = text.as_bytes().strip_prefix(kind.as_bytes())?.strip_prefix(b"=")?;
        Some((*kind, OsStr::from_bytes(name).to_os_string()))
    };
    let found = kinds.iter().find_map(name_of);
    found.ok_or_else(|| format!("write {}=NAME", kinds.join("=NAME or ")))
}

impl StartArgs {
    /// What is bound besides the command, and what of it is not.
    pub(super) fn binding(&self) -> BindingOptions {
        let mut options = BindingOptions::default();
        options.files = self.bind.iter().map(|(_, name)| name.into()).collect();
        let unbound = |kind| {
            let of_kind = self.unbind.iter().filter(move |(of, _)| *of == kind);
            of_kind.map(|(_, name)| name.clone()).collect()
        };
        (options.unbound_files, options.unbound_variables) = (unbound("file"), unbound("env"));
        options
    }
}

/// When a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Hold {
    /// Never; Phase-21 alone decides.
    Never,
    /// Before the first attempt.
    Before,
    /// After an attempt that failed.
    OnFailure,
    /// After every attempt that Phase-21 did not terminate.
    After,
    /// Before the first attempt, and after every one.
    Always,
}

impl Hold {
    const fn is_before(self) -> bool {
        matches!(self, Self::Before | Self::Always)
    }

    const fn after(self) -> HoldPolicy {
        match self {
            Self::Never | Self::Before => HoldPolicy::Never,
            Self::OnFailure => HoldPolicy::OnFailure,
            Self::After | Self::Always => HoldPolicy::After,
        }
    }
}

/// How many attempts there may be. One approval before the start is for one start.
pub(super) fn attempts(
    in_force: &InForce,
    start: &StartArgs,
    wanted: Option<u8>,
) -> Result<u8, Failure> {
    let is_approved = in_force.gate.before || start.approval.is_some();
    let is_held = in_force.hold.policy != HoldPolicy::Never;
    let most = if is_held { MAX_ATTEMPTS_HELD } else { 1 };
    match wanted {
        Some(2..) if is_approved && !is_held => {
            let advice = "leave --max-attempts away, or give --hold always, where a person \
                          decides about every further attempt";
            Err(not_started("attempts", format!("an approval is for one start: {advice}")))
        }
        wanted => Ok(wanted.unwrap_or(most)),
    }
}

/// Whoever is asked has to be somebody: else the run would wait for nobody.
pub(super) fn names_somebody(in_force: &InForce) -> Result<(), Failure> {
    let asks = in_force.gate.before || in_force.hold.policy != HoldPolicy::Never;
    if !asks || !names_nobody(&in_force.policy) {
        return Ok(());
    }
    let named: Vec<String> =
        in_force.policy.approvers.iter().map(|name| visible(name).to_string()).collect();
    let message = format!(
        "no possible approver: unknown user {}; name users of this system, or `uid 1000` \
         for a number that has no name there",
        named.join(" or ")
    );
    Err(not_started("nobody", message))
}

/// What is said of a question would be in vain where nobody is asked: whoever says it may believe
/// that somebody is.
pub(super) fn expect_asked(
    in_force: &InForce,
    hold: &HoldArgs,
    start: &StartArgs,
) -> Result<(), Failure> {
    let asks_before = in_force.gate.before || start.approval.is_some();
    let asks = asks_before || in_force.hold.policy != HoldPolicy::Never;
    let of_any = [
        ("--approvers", !hold.approvers.is_empty()),
        ("--to", !hold.to.is_empty()),
        ("--expires", !hold.expires.is_empty()),
        ("--quorum", hold.quorum.is_some()),
    ];
    let of_start = [
        ("--expires before=", hold.expires.iter().any(|[_, after]| after.is_none())),
        ("--bind", !start.bind.is_empty()),
        ("--unbind", !start.unbind.is_empty()),
    ];
    let in_vain = of_any.iter().filter(|_| !asks).chain(of_start.iter().filter(|_| !asks_before));
    match in_vain.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        _ if start.resume.is_some() => Ok(()),
        Some((option, _)) => {
            let (whom, add) = match asks {
                true => ("no question is asked before the start", "--hold always"),
                false => ("nobody is asked", "--hold before or another --hold"),
            };
            let message = format!("{option} is of a question, and {whom}: add {add}, or leave it");
            Err(not_started("hold", message))
        }
    }
}

impl HoldArgs {
    /// What the command line asks for.
    pub(super) fn asked(&self) -> Result<HoldOptions, Failure> {
        if self.approvers.len() > MAX_LIST_ITEMS {
            let found = self.approvers.len();
            let message = format!("{found} approvers; the limit is {MAX_LIST_ITEMS}");
            return Err(not_started("hold", message));
        }
        let approvers: Vec<_> = self.approvers.iter().map(|name| name.trim().to_string()).collect();
        Ok(HoldOptions {
            never: self.hold == Some(Hold::Never),
            before: self.hold.map(Hold::is_before),
            after: self.hold.map(Hold::after),
            approvers: Some(approvers).filter(|approvers| !approvers.is_empty()),
            quorum: self.quorum,
            approval_timeout: self.expires.iter().find_map(|[before, _]| *before),
            decision_timeout: self.expires.iter().find_map(|[_, after]| *after),
            retry_needs_person: self.retry_needs_person,
            escalate_to: self.to.clone(),
            ..HoldOptions::default()
        })
    }
}
