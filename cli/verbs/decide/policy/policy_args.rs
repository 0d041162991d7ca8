//! A policy, as it is given on the command line.

use crate::args::durations;
use crate::questions::approval_args::Proof;
use crate::ui::{Exit, Failure};
use holdpoint_domain::core::limits::MAX_LIST_ITEMS;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::human_decision::{HoldPolicy, HumanDecisionTimeout};
use holdpoint_domain::log::GatePolicy;
use holdpoint_engine::floors::{Moments, each_once};

/// What of a policy is given. The rest stays as it is.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Policy: what is left away stays as it is")]
pub(super) struct Given {
    /// Ask before every start.
    #[arg(long)]
    before: bool,
    /// When a person is asked: never, before, on-failure, after or always; several with commas.
    #[arg(long, value_name = "MOMENTS")]
    hold: Option<Moments>,
    /// Who may answer; an empty name: anybody.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    approvers: Option<Vec<String>>,
    /// How many distinct people have to approve a start, 1 to 16.
    #[arg(long, value_name = "N")]
    quorum: Option<u8>,
    /// What at least has to prove who answers.
    #[arg(long, value_name = "PROOF")]
    authentication: Option<Proof>,
    /// Let only another user than the one who asks answer.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    separation: Option<bool>,
    /// The longest time that a person has after an attempt; `any`: no limit.
    #[arg(long, value_name = "DURATION", value_parser = limit)]
    decision_timeout: Option<Limit>,
    /// The longest time that people have before a start; `any`: no limit.
    #[arg(long, value_name = "DURATION", value_parser = limit)]
    approval_timeout: Option<Limit>,
    /// Ask a person also where another attempt is permitted after a crash or timeout.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    retry_needs_person: Option<bool>,
    /// Who may answer besides once a question was passed on.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    escalation_approvers: Option<Vec<String>>,
    /// Who may allow a hidden field to be shown.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    override_approvers: Option<Vec<String>>,
}

/// A longest time, or none.
#[derive(Clone, Copy, Debug)]
struct Limit(Option<HumanDecisionTimeout>);

impl Given {
    /// The policy before, with what is given in the place of what it said. `--hold` is all moments
    /// where a looser policy is asked for; else those of before stay, but for `never`.
    pub(super) fn over(
        &self,
        before: &GatePolicy,
        is_relaxing: bool,
    ) -> Result<GatePolicy, Failure> {
        let (start, after) = match self.hold {
            None => (before.before, before.after),
            Some(moments) if is_relaxing => {
                (moments.before, moments.after.unwrap_or(HoldPolicy::Never))
            }
            Some(moments) => moments.over(before),
        };
        let time = |given: Option<Limit>, own| given.map_or(own, |limit| limit.0);
        let approvers = named("--approvers", self.approvers.as_ref())?;
        let escalation = named("--escalation-approvers", self.escalation_approvers.as_ref())?;
        let overrides = named("--override-approvers", self.override_approvers.as_ref())?;
        Ok(GatePolicy {
            before: start || self.before,
            after,
            approvers: approvers.unwrap_or_else(|| before.approvers.clone()),
            quorum: self.quorum.unwrap_or(before.quorum),
            authentication: self
                .authentication
                .map(Proof::authentication)
                .or(before.authentication),
            separation: self.separation.unwrap_or(before.separation),
            retry_needs_person: self.retry_needs_person.unwrap_or(before.retry_needs_person),
            decision_timeout_ms: time(self.decision_timeout, before.decision_timeout_ms),
            approval_timeout_ms: time(self.approval_timeout, before.approval_timeout_ms),
            escalation_approvers: escalation.or_else(|| before.escalation_approvers.clone()),
            override_approvers: overrides.or_else(|| before.override_approvers.clone()),
        })
    }
}

/// Each name once; empty ones name nobody.
fn named(option: &str, given: Option<&Vec<String>>) -> Result<Option<List<Text>>, Failure> {
    let Some(given) = given else { return Ok(None) };
    let names = given.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    let names = each_once(names.map(Text::from));
    if names.len() > MAX_LIST_ITEMS {
        let message = format!("{option} has {} names; give at most {MAX_LIST_ITEMS}", names.len());
        return Err(Failure::new(Exit::USAGE, "too_many", message));
    }
    Ok(Some(names.into_iter().collect()))
}

fn limit(text: &str) -> Result<Limit, String> {
    match text {
        "any" => Ok(Limit(None)),
        text => durations::decision(text).map(|time| Limit(Some(time))),
    }
}
