//! A policy, as it is given on the command line.

use crate::args::condition::{Condition, FilterFields, boolean};
use crate::args::durations;
use crate::questions::approval_args::Proof;
use crate::ui::Failure;
use clap::ValueEnum;
use holdpoint_domain::core::limits::MAX_LIST_ITEMS;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::human_decision::{HoldPolicy, HumanDecisionTimeout};
use holdpoint_domain::log::GatePolicy;
use holdpoint_engine::floors::{Moments, each_once};

/// Settings of a policy. The rest stays as it is.
#[derive(Debug, clap::Args)]
pub(super) struct PolicySettings {
    /// Settings by the keys of the configuration file; others are kept.
    ///
    /// `default`: holds of every run: never, before, on-failure, after or always, comma-separated.
    /// `approvers`: user names, comma-separated; none: anybody. `quorum`: distinct people who must
    /// approve a start, 1 to 16. `authentication`: minimum proof of who answers: none, os-user or
    /// terminal. `separation`: `true` requires a user other than the requester. `decision_timeout`
    /// and `approval_timeout`: longest time to answer after an attempt and before a start; `any`:
    /// no limit. `retry_needs_person`: `true` asks a person before an automatic retry too.
    /// `escalation_approvers`: additional approvers after an escalation. `override_approvers`:
    /// people who may allow a hidden field to be shown.
    #[arg(value_name = "KEY=VALUE", value_parser = Condition::of::<GatePolicy>)]
    settings: Vec<Condition>,
}

impl PolicySettings {
    /// The policy before, with these settings in the place of its own.
    pub(super) fn over(&self, before: &GatePolicy) -> Result<GatePolicy, Failure> {
        Condition::put(&self.settings, before.clone())
    }
}

/// The keys of the configuration file, and who may answer once a question was passed on.
impl FilterFields for GatePolicy {
    const NAMES: &'static str = "\
        default approvers quorum authentication separation decision_timeout approval_timeout \
        retry_needs_person escalation_approvers override_approvers";

    fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "default" => {
                let moments: Moments = value.parse()?;
                self.before = moments.before;
                self.after = moments.after.unwrap_or(HoldPolicy::Never);
            }
            "approvers" => self.approvers = names(value)?,
            "quorum" => self.quorum = value.parse().map_err(|_| "a number from 1 to 16")?,
            "authentication" => {
                let proof =
                    Proof::from_str(value, false).map_err(|_| "none, os-user or terminal")?;
                self.authentication = Some(proof.authentication());
            }
            "separation" => self.separation = boolean(value)?,
            "decision_timeout" => self.decision_timeout_ms = limit(value)?,
            "approval_timeout" => self.approval_timeout_ms = limit(value)?,
            "retry_needs_person" => self.retry_needs_person = boolean(value)?,
            "escalation_approvers" => self.escalation_approvers = Some(names(value)?),
            _ => self.override_approvers = Some(names(value)?),
        }
        Ok(())
    }
}

/// Each name once; empty ones name nobody.
fn names(value: &str) -> Result<List<Text>, String> {
    let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
    let names = each_once(names.map(Text::from));
    match names.len() {
        0..=MAX_LIST_ITEMS => Ok(names.into_iter().collect()),
        count => Err(format!("{count} names; give at most {MAX_LIST_ITEMS}")),
    }
}

fn limit(value: &str) -> Result<Option<HumanDecisionTimeout>, String> {
    if value == "any" { Ok(None) } else { durations::decision(value).map(Some) }
}
