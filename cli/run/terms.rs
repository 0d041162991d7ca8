//! When and how a person is asked: what is in force for one run.

use super::{limits, not_started};
use crate::exit::Failure;
use clap::ValueEnum;
use holdpoint_domain::decision_point::ApprovalPolicy;
use holdpoint_domain::event::{List, Text};
use holdpoint_domain::human_decision::{DecisionTimeout, EscalationTarget, HoldPolicy, HoldTerms};
use holdpoint_domain::limits::MAX_LIST_ITEMS;
use holdpoint_domain::policy::{GatePolicy, GateTerms};
use std::path::PathBuf;

/// How many attempts a person may allow where nothing else is said.
const MAX_ATTEMPTS_HELD: u8 = 3;
/// What the terms of a run are recorded to come from.
const COMMAND_LINE: &str = "command line";

/// When and how a person is asked: where nothing is said here, the configuration says it.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Hold points")]
pub(super) struct HoldArgs {
    /// When a person decides: before the command starts, or what becomes of it afterwards.
    /// [default: never]
    #[arg(long, value_name = "WHEN", value_enum, conflicts_with = "resume")]
    hold: Option<Hold>,
    /// Who may answer; left away: every person.
    #[arg(long, value_name = "NAME", num_args = 1.., conflicts_with = "resume")]
    approver: Vec<String>,
    /// How many distinct people have to approve before the start, 1 to 16. [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    quorum: Option<u8>,
    /// How long there is to approve before the start; then nothing is started. [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = limits::decision)]
    approval_timeout: Option<DecisionTimeout>,
    /// How long the person has after an attempt, 1ms to 366d; then it is ABORT. [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = limits::decision)]
    decision_timeout: Option<DecisionTimeout>,
    /// Leave the question open and exit with 122 instead of waiting for the answer.
    #[arg(long)]
    pub(super) no_wait: bool,
    /// Ask a person also where another attempt is permitted after a crash or timeout. [default:
    /// true]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    retry_needs_person: Option<bool>,
    /// Let a question be passed on to this person too; may be given several times.
    #[arg(long, value_name = "NAME")]
    escalate_to: Vec<String>,
}

/// What a start is bound to, and what lets it begin.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct StartArgs {
    /// Bind the approval to this file too: its path and content.
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with = "resume")]
    pub(super) bind_file: Vec<PathBuf>,
    /// Spend this approval, given to a question that `--hold before --no-wait` left open.
    #[arg(long, value_name = "ID", conflicts_with = "resume")]
    pub(super) approval: Option<String>,
    /// Begin the next attempt of the run whose question was decided RETRY when nobody waited.
    #[arg(long, value_name = "REQ")]
    pub(super) resume: Option<String>,
}

/// When a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Hold {
    /// Never: the command is recorded, and what Phase-21 permits is done at once.
    Never,
    /// Before the first attempt starts.
    Before,
    /// After an attempt that did not end well.
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

/// What is in force.
#[derive(Clone, Debug)]
pub(super) struct InForce {
    /// The terms of the hold after an attempt.
    pub(super) hold: HoldTerms,
    /// The terms of the gate, as they are recorded.
    pub(super) gate: GateTerms,
    /// Who has to approve before the start.
    pub(super) approval: ApprovalPolicy,
    /// How long there is to approve.
    pub(super) approval_timeout: DecisionTimeout,
}

impl InForce {
    /// The configured terms, as far as the command line does not say otherwise.
    pub(super) fn of(args: &HoldArgs, configured: HoldTerms) -> Result<Self, Failure> {
        let approvers = args.approvers()?.unwrap_or_else(|| configured.approvers.clone());
        let is_said = args.hold.is_some() || !args.approver.is_empty() || args.quorum.is_some();
        let sources: List<Text> = is_said.then(|| COMMAND_LINE.into()).into_iter().collect();
        let before = args.hold.is_some_and(Hold::is_before);
        let gate = GateTerms { before, sources, ..GateTerms::default() };
        let hold = HoldTerms { approvers: approvers.clone(), ..args.terms(configured) };
        hold.check().map_err(|fault| not_started("hold", fault))?;
        let policy = GatePolicy {
            before,
            after: hold.policy,
            approvers: approvers.clone(),
            quorum: args.quorum.unwrap_or(1),
            ..GatePolicy::default()
        };
        policy.check().map_err(|fault| not_started("hold", fault))?;
        let approval = ApprovalPolicy {
            approvers,
            quorum: policy.quorum,
            allow_requester: !gate.separation,
            allow_agents: false,
            authentication: gate.authentication,
            default_approves: false,
        };
        let approval_timeout = args.approval_timeout.unwrap_or(DecisionTimeout::DEFAULT);
        Ok(Self { hold, gate, approval, approval_timeout })
    }

    /// How many attempts there may be. One approval before the start is for one start.
    pub(super) fn attempts(&self, wanted: Option<u8>) -> Result<u8, Failure> {
        let is_held = self.hold.policy != HoldPolicy::Never;
        let most = if is_held { MAX_ATTEMPTS_HELD } else { 1 };
        match wanted {
            Some(2..) if self.gate.before && !is_held => {
                let advice = "leave --max-attempts away, or give --hold always, where a person \
                              decides about every further attempt";
                Err(not_started("attempts", format!("an approval is for one start: {advice}")))
            }
            wanted => Ok(wanted.unwrap_or(most)),
        }
    }
}

impl HoldArgs {
    fn terms(&self, configured: HoldTerms) -> HoldTerms {
        let decision_timeout_ms = self.decision_timeout.unwrap_or(configured.decision_timeout_ms);
        let target = |name: &String| EscalationTarget {
            target: name.as_str().into(),
            approvers: List::default(),
            timeout_ms: decision_timeout_ms,
        };
        let targets = configured.escalation_targets.iter().cloned();
        HoldTerms {
            policy: self.hold.map_or(configured.policy, Hold::after),
            retry_needs_person: self.retry_needs_person.unwrap_or(configured.retry_needs_person),
            decision_timeout_ms,
            escalation_targets: targets.chain(self.escalate_to.iter().map(target)).collect(),
            ..configured
        }
    }

    /// The approvers of the command line, where there are any.
    fn approvers(&self) -> Result<Option<List<Text>>, Failure> {
        if self.approver.len() > MAX_LIST_ITEMS {
            let found = self.approver.len();
            let message = format!("{found} approvers; the limit is {MAX_LIST_ITEMS}");
            return Err(not_started("hold", message));
        }
        let named = self.approver.iter().map(|name| name.trim().into());
        Ok((!self.approver.is_empty()).then(|| named.collect()))
    }
}
