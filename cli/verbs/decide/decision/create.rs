//! `holdpoint decision create`: a question is put on record.

use super::binding::BindArgs;
use super::evidence::attachment;
use super::wait::wait_for;
use crate::args::principal::{Speaker, claimed, kind_of_caller, user};
use crate::args::values::{milliseconds, moment, text};
use crate::args::{Global, LockWaitArgs};
use crate::log::configuration::floors;
use crate::log::damage::NEWER_VERSION;
use crate::log::open::UNWITNESSED;
use crate::log::verdict::warn_permits_nothing;
use crate::questions::approval_args::PolicyArgs;
use crate::questions::confirm_less::confirm_less;
use crate::questions::decision_change::{ActArgs, Change};
use crate::questions::decision_output::standing;
use crate::questions::decision_session::{DecisionSession, Only};
use crate::questions::decision_view::{how_to_answer, tell_how_to_answer};
use crate::questions::offered_options::{HOW_TO_REJECT, Offered};
use crate::questions::permits::Act;
use crate::questions::rejecting::expect_rejecting;
use crate::ui::{Exit, Failure, Output, complain};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{
    CreateDecisionPoint, DecisionPoint, DecisionPointCommand, MAX_CONTEXT_BYTES, OnTimeout,
    RefineDecisionPoint, Urgency,
};
use holdpoint_replay::words::each_once;
use serde_json::Value;
use std::io::IsTerminal;
use std::time::Duration;

/// Options of a question that another round has from the round before.
const NOT_REVISED: &str = "\
    issue evidence urgency requested_by text_allowed max_iterations expires per_round \
    on_timeout approvers quorum allow authentication separation bind valid_for blocks \
    supersedes wait";

/// Options of `decision create`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Work item that the question is about.
    #[arg(value_name = "ISSUE")]
    issue: Option<String>,
    /// Revise this round after guidance: prompt, context, options and default are replaced, the
    /// rest is kept.
    #[arg(long, value_name = "ID", conflicts_with_all = NOT_REVISED.split(' '))]
    revises: Option<String>,
    /// The question, at most 4 KiB.
    #[arg(long, value_name = "TEXT", required_unless_present = "revises")]
    prompt: Option<String>,
    #[command(flatten)]
    offered: Offered,
    /// Preferred choice, taken at the deadline unless `--on-timeout` says otherwise; for approvals
    /// and with `--blocks` only under `--on-timeout default`. An empty value drops the default of
    /// the round before.
    #[arg(long, value_name = "ID")]
    default: Option<String>,
    /// Context for whoever answers, at most 64 KiB; `@FILE` reads a file.
    #[arg(long, value_name = "TEXT|@FILE")]
    context: Option<String>,
    /// File that the answer may rest on; repeatable. Only its digest is recorded.
    #[arg(long, value_name = "PATH[:LABEL]")]
    evidence: Vec<String>,
    /// Urgency: low, medium or high [default: medium].
    #[arg(long, value_name = "URGENCY", value_parser = urgency)]
    urgency: Option<Urgency>,
    /// Ask as the program of this name [default: as yourself].
    #[arg(long, value_name = "NAME")]
    requested_by: Option<String>,
    /// Accept free text as the answer [default: `false` for approvals, else `true`].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    text_allowed: Option<bool>,
    /// Maximum number of rounds, 1 to 20 [default: 3].
    #[arg(long, value_name = "N")]
    max_iterations: Option<u8>,
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    speaker: Speaker,
    #[command(flatten)]
    turn: LockWaitArgs,
    // What has a heading of its own comes last: a heading holds for all that follows.
    #[command(flatten)]
    time: TimeArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    purpose: PurposeArgs,
    #[command(flatten)]
    waiting: WaitArgs,
}

/// How long an answer is awaited, and what becomes of the question then.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Time")]
struct TimeArgs {
    /// Time until the question expires, such as 15m, at most 366 days, or a moment such as
    /// 2026-01-25T16:00:00Z [default: never].
    #[arg(long, value_name = "DURATION|TIME", allow_hyphen_values = true)]
    expires: Option<String>,
    /// Restart the time with every round.
    #[arg(long)]
    per_round: bool,
    /// Effect of expiry: `default` takes the default, `abort` decides nothing, `hold` keeps waiting
    /// [default: `default` where `--default` applies, else `abort`].
    #[arg(long, value_name = "WHAT", value_parser = on_timeout)]
    on_timeout: Option<OnTimeout>,
}

/// Whether the end of the question is waited for.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Waiting")]
struct WaitArgs {
    /// Wait for the answer, at most this long, with the exit codes of `decision wait`. Giving up
    /// changes nothing.
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = super::wait::timeout)]
    wait: Option<Option<Duration>>,
}

/// What the answer is for.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Purpose")]
struct PurposeArgs {
    #[command(flatten)]
    bind: BindArgs,
    /// Lifetime of the approval after the answer [default: 24h].
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, requires = "bind")]
    valid_for: Option<String>,
    /// Name of work that waits for the answer; repeatable. Every answer but a rejection releases
    /// it.
    #[arg(long, value_name = "NAME")]
    blocks: Vec<String>,
    /// Open decision that this one replaces.
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
}

/// Puts the question on record, and says its id. The log is made where there is none. Exit 5 where
/// a rule says no.
pub(super) fn create(global: &Global, args: Args) -> Result<Exit, Failure> {
    if args.revises.is_some() {
        return args.revise(global);
    }
    args.expect_new()?;
    // Whatever is wrong with the command line is told before a log is made.
    let (mut command, asked) = (args.command()?, args.policy.read()?);
    if command.binding.is_some() {
        expect_rejecting(&command.options, HOW_TO_REJECT)?;
    }
    let floors = floors()?;
    let less = asked.as_ref().map(|asked| asked.less_than(floors.defaults()));
    let confirmed = confirm_less(&less.unwrap_or_default())?;
    let session = DecisionSession::open(global, &args.turn, true)?;
    confirmed.iter().for_each(|line| session.allow_below_defaults(line));
    session.demands()?.tighten(&mut command, asked.as_ref());
    if let Some(wanted) = &args.purpose.supersedes {
        command.supersedes = Some(session.find(wanted, Act::Revise)?.decision_id.into_string());
    }
    command.entropy = session.entropy()?;
    let created = session
        .ask(&args.only, command)
        .and_then(|(point, _)| Ok((session.value(&point)?, session.doubt(&point)?, point)));
    let recorded = session.recorded();
    let closed = session.close();
    let (value, doubt, point) = created.map_err(|why| match &recorded {
        Some(recorded) => why.behind(recorded),
        None => may_be_there(why),
    })?;
    closed?;
    if args.waiting.wait.is_some() && global.json {
        // The one value on stdout is what became of it; who answers needs the id before.
        complain(&format!("decision {} waits for an answer", point.decision_id));
    } else {
        tell(global, &point, &value).map_err(|why| why.behind_any(recorded.as_ref()))?;
    }
    match args.waiting.wait {
        Some(timeout) => wait_for(global, &point.decision_id, timeout),
        None => {
            // What was asked before under the same key.
            warn_permits_nothing(doubt, if point.is_open() { "an answer" } else { "the answer" });
            Ok(Exit::DONE)
        }
    }
}

/// Where the disk failed, the record may have been written all the same.
fn may_be_there(failure: Failure) -> Failure {
    match failure.exit {
        Exit::FAILED if ![UNWITNESSED, NEWER_VERSION].contains(&failure.code()) => failure.adding(
            "; the question may be on record: look with `holdpoint decision list` before it is \
             asked again",
        ),
        _ => failure,
    }
}

fn tell(global: &Global, point: &DecisionPoint, value: &Value) -> Result<(), Failure> {
    let mut out = Output::stdout();
    if global.json {
        out.json(value);
        return out.finish();
    }
    out.line(&point.decision_id);
    if std::io::stdout().is_terminal() {
        how_to_answer(global, point, crate::ui::screen::columns())
            .iter()
            .for_each(|line| out.line(line));
        return out.finish();
    }
    // What reads stdout elsewhere wants the id alone.
    out.finish()?;
    tell_how_to_answer(global, point);
    Ok(())
}

impl Args {
    /// Asks anew. Only the requester or a person may, and only after guidance.
    fn revise(self, global: &Global) -> Result<Exit, Failure> {
        let (context, options) = (self.context()?, self.offered.read()?);
        let by = ActArgs { speaker: self.speaker, only: self.only, turn: self.turn };
        let change = Change { decision: self.revises.unwrap_or_default(), by };
        let drop_default = self.default.as_deref() == Some("");
        let command = |decision_id, by| {
            DecisionPointCommand::RefineDecisionPoint(RefineDecisionPoint {
                decision_id,
                by,
                prompt: self.prompt,
                context,
                options,
                default_option: self.default.filter(|_| !drop_default),
                drop_default,
            })
        };
        change.carry_out(global, Act::Revise, command, standing)
    }

    /// Checks that nothing is given that only another round takes.
    fn expect_new(&self) -> Result<(), Failure> {
        if !self.speaker.is_given() && !self.only.names_version() {
            return Ok(());
        }
        let message = "--as, --agent and --expected-version are for --revises; ask as a program by \
                       --requested-by NAME";
        Err(Failure::new(Exit::USAGE, "usage", message))
    }

    fn context(&self) -> Result<Option<String>, Failure> {
        let context = self.context.as_deref();
        context.map(|given| text("--context", given, MAX_CONTEXT_BYTES)).transpose()
    }

    fn command(&self) -> Result<CreateDecisionPoint, Failure> {
        let (time, purpose) = (&self.time, &self.purpose);
        let is_moment = |given: &&str| given.contains('T');
        let expires = time.expires.as_deref();
        let expires_at = expires.filter(is_moment).map(|given| moment("--expires", given));
        let timeout = expires.filter(|given| !is_moment(given));
        let timeout = timeout.map(|given| milliseconds("--expires", given));
        let valid_for = purpose.valid_for.as_deref();
        let valid_for = valid_for.map(|given| milliseconds("--valid-for", given));
        let evidence = self.evidence.iter().map(|given| attachment(given));
        let requester = self.requested_by.as_deref();
        Ok(CreateDecisionPoint {
            people: None,
            entropy: Entropy::default(),
            by: requester
                .map_or_else(|| user(kind_of_caller(false)), |name| claimed(Actor::Agent, name)),
            issue_id: self.issue.clone(),
            prompt: self.prompt.clone().unwrap_or_default(),
            context: self.context()?,
            options: self.offered.read()?.unwrap_or_default(),
            default_option: self.default.clone(),
            allow_text: self.text_allowed,
            timeout_ms: timeout.transpose()?,
            expires_at: expires_at.transpose()?,
            timeout_per_round: time.per_round,
            on_timeout: time.on_timeout,
            max_iterations: self.max_iterations,
            urgency: self.urgency,
            policy: None,
            blocks: each_once(purpose.blocks.iter().cloned()),
            evidence: evidence.collect::<Result<_, Failure>>()?,
            binding: purpose.bind.read()?,
            valid_for_ms: valid_for.transpose()?,
            supersedes: None,
            separation: false,
        })
    }
}

fn on_timeout(name: &str) -> Result<OnTimeout, String> {
    OnTimeout::from_name(name).ok_or_else(|| "write default, abort or hold".to_string())
}

/// How much something presses, by its name.
pub(super) fn urgency(name: &str) -> Result<Urgency, String> {
    Urgency::from_name(name).ok_or_else(|| "write low, medium or high".to_string())
}
