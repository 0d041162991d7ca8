//! What is in force for a run: what is demanded, and as much more as the project and the command
//! line ask for.
//!
//! Options of the command line go before the project's file. Neither can loosen what is demanded:
//! what is said to be looser is refused, and what is not said is as tight as it has to be.

use super::Configuration;
use crate::log::configuration::effective_policy::{Demands, refused, weaker_proof};
use crate::ui::{Exit, Failure, path};
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::core::text::bounded;
use holdpoint_domain::decision_point::ApprovalPolicy;
use holdpoint_domain::human_decision::{
    EscalationTarget, HoldPolicy, HoldTerms, HumanDecisionTimeout,
};
use holdpoint_domain::log::PolicyRefusal;
use holdpoint_domain::log::{GatePolicy, GateTerms};
use holdpoint_engine::floors::{Defaults, HoldTable, Moments};

/// How much of a source's name is kept, in bytes.
const SOURCE_BYTES_MAX: usize = 256;

/// What the command line asks for. Whatever is left away, the project's file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HoldOptions {
    /// Whether a person is asked before the first attempt.
    pub(crate) before: Option<bool>,
    /// When a person is asked after an attempt.
    pub(crate) after: Option<HoldPolicy>,
    /// Whether nobody is to be asked at all.
    pub(crate) never: bool,
    /// Who may answer.
    pub(crate) approvers: Option<Vec<String>>,
    /// How many people have to approve a start.
    pub(crate) quorum: Option<u8>,
    /// What at least has to prove who answers.
    pub(crate) authentication: Option<Authentication>,
    /// Whether only another user than the one who asks may answer.
    pub(crate) separation: Option<bool>,
    /// How long people have before a start.
    pub(crate) approval_timeout: Option<HumanDecisionTimeout>,
    /// How long a person has after an attempt.
    pub(crate) decision_timeout: Option<HumanDecisionTimeout>,
    /// Whether a retry that Phase-21 permits needs a person too.
    pub(crate) retry_needs_person: Option<bool>,
    /// To whom a question may be passed on besides.
    pub(crate) escalate_to: Vec<String>,
}

/// What is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InForce {
    /// All of it, as a policy.
    pub(crate) policy: GatePolicy,
    /// The terms of the hold after attempts.
    pub(crate) hold: HoldTerms,
    /// Whether a person is asked before the start, who counts as one, and where all of this comes
    /// from.
    pub(crate) gate: GateTerms,
    /// Who has to approve a start.
    pub(crate) approval: ApprovalPolicy,
    /// How long people have before a start, where anybody says.
    pub(crate) approval_timeout: Option<HumanDecisionTimeout>,
}

impl HoldOptions {
    /// What of it is less than the defaults, as a person reads it.
    pub(crate) fn less_than(&self, defaults: &Defaults) -> Vec<String> {
        let mut less = Vec::new();
        less.extend(weaker_proof(self.authentication, defaults));
        if self.retry_needs_person == Some(false) && defaults.retry_needs_person {
            less.push("--retry-needs-person=false: nobody is asked before a retry".to_string());
        }
        less
    }

    /// Says if an option states what this key of a project's file does.
    pub(crate) fn states(&self, key: &str) -> bool {
        match key {
            "default" => self.never || self.before.is_some() || self.after.is_some(),
            "decision_timeout" => self.decision_timeout.is_some(),
            "approval_timeout" => self.approval_timeout.is_some(),
            "retry_needs_person" => self.retry_needs_person.is_some(),
            "approvers" => self.approvers.is_some(),
            "quorum" => self.quorum.is_some(),
            "authentication" => self.authentication.is_some(),
            "separation" => self.separation.is_some(),
            "escalation_targets" => !self.escalate_to.is_empty(),
            _ => false,
        }
    }

    /// Those options that are given go before what the project says.
    fn over(&self, project: &HoldTable) -> HoldTable {
        let moments = match (self.never, self.before, self.after) {
            (true, _, _) => Some(Moments { before: false, after: Some(HoldPolicy::Never) }),
            (false, None, None) => project.moments,
            (false, before, after) => Some(Moments { before: before.unwrap_or(false), after }),
        };
        let listed = |names: &Vec<String>| names.iter().map(Text::from).collect();
        HoldTable {
            moments,
            decision_timeout: self.decision_timeout.or(project.decision_timeout),
            approval_timeout: self.approval_timeout.or(project.approval_timeout),
            retry_needs_person: self.retry_needs_person.or(project.retry_needs_person),
            approvers: self.approvers.as_ref().map(listed).or_else(|| project.approvers.clone()),
            quorum: self.quorum.or(project.quorum),
            authentication: self.authentication.or(project.authentication),
            separation: self.separation.or(project.separation),
            override_approvers: project.override_approvers.clone(),
            escalation_targets: project.escalation_targets.clone(),
            show_output: project.show_output,
        }
    }
}

impl Demands {
    /// What is in force for a run, under a configuration and with what the command line asks for.
    ///
    /// # Errors
    /// Something is said to be looser than it is demanded, or cannot be kept by anybody.
    pub(crate) fn in_force(
        &self,
        configuration: &Configuration,
        asked: &HoldOptions,
    ) -> Result<InForce, Failure> {
        let stated = asked.over(configuration.hold());
        let said = (configuration, asked);
        self.each_keeps(said, |floor| floor.check_kept_by(&restated(floor, &stated)))?;
        let policy = GatePolicy {
            authentication: Some(stated.authentication.unwrap_or_else(|| self.usual_proof())),
            retry_needs_person: stated
                .retry_needs_person
                .unwrap_or(self.defaults.retry_needs_person)
                || self.policy.retry_needs_person,
            ..restated(&self.policy, &stated)
        };
        policy.check().map_err(|fault| refused(&PolicyRefusal::from(fault).into()))?;
        let hold = self.hold(&policy, &stated, asked);
        let gate = self.gate(&policy, configuration, asked);
        hold.check().map_err(|fault| Failure::new(Exit::USAGE, "hold", fault))?;
        self.each_keeps(said, |floor| floor.check_run(&hold, &gate))?;
        let approval = ApprovalPolicy {
            approvers: policy.approvers.clone(),
            quorum: policy.quorum,
            authentication: gate.authentication,
            ..ApprovalPolicy::people()
        };
        let approval_timeout = policy.approval_timeout_ms;
        Ok(InForce { policy, hold, gate, approval, approval_timeout })
    }

    pub(crate) fn usual_proof(&self) -> Authentication {
        self.policy.authentication.unwrap_or(self.defaults.authentication)
    }

    fn hold(&self, policy: &GatePolicy, stated: &HoldTable, asked: &HoldOptions) -> HoldTerms {
        let most = policy.decision_timeout_ms.unwrap_or(HumanDecisionTimeout::DEFAULT);
        let decision_timeout_ms =
            stated.decision_timeout.unwrap_or_else(|| most.min(HumanDecisionTimeout::DEFAULT));
        // What one floor offers has no longer than another one leaves it.
        let in_time = |offered: &EscalationTarget| {
            let most = self.policy.decision_timeout_ms.unwrap_or(offered.timeout_ms);
            EscalationTarget { timeout_ms: offered.timeout_ms.min(most), ..offered.clone() }
        };
        let usual = || self.targets.iter().map(in_time).collect();
        let configured: List<EscalationTarget> =
            stated.escalation_targets.clone().unwrap_or_else(usual);
        let target = |name: &String| EscalationTarget {
            target: name.as_str().into(),
            approvers: List::default(),
            timeout_ms: decision_timeout_ms,
        };
        let more = asked.escalate_to.iter().map(target);
        HoldTerms {
            policy: policy.after,
            retry_needs_person: policy.retry_needs_person,
            decision_timeout_ms,
            approvers: policy.approvers.clone(),
            escalation_targets: configured.iter().cloned().chain(more).collect(),
            override_approvers: policy.override_approvers.clone().unwrap_or_default(),
        }
    }

    fn gate(&self, policy: &GatePolicy, project: &Configuration, asked: &HoldOptions) -> GateTerms {
        let layers = self.layers().iter().filter(|layer| !layer.policy.is_none());
        let mut sources: Vec<String> = layers.map(|layer| layer.source.clone()).collect();
        if let Some((file, digest)) = project.file.as_ref().zip(project.digest)
            && *project.hold() != HoldTable::default()
        {
            sources.push(format!("{} (sha256 {digest})", path(file)));
        }
        if *asked != HoldOptions::default() {
            sources.push("flags".to_string());
        }
        GateTerms {
            before: policy.before,
            authentication: policy.authentication.unwrap_or(Authentication::Terminal),
            separation: policy.separation,
            sources: sources.iter().map(|name| bounded(name, SOURCE_BYTES_MAX).into()).collect(),
        }
    }
}

/// A policy with what is stated in the place of what it said: moments are added but for `never`,
/// and an empty list of approvers states nothing.
fn restated(policy: &GatePolicy, stated: &HoldTable) -> GatePolicy {
    let moments = stated.moments.map(|moments| moments.over(policy));
    let (before, after) = moments.unwrap_or((policy.before, policy.after));
    let approvers = stated.approvers.as_ref().filter(|names| !names.is_empty());
    GatePolicy {
        before,
        after,
        approvers: approvers.unwrap_or(&policy.approvers).clone(),
        quorum: stated.quorum.unwrap_or(policy.quorum),
        authentication: stated.authentication.or(policy.authentication),
        separation: stated.separation.unwrap_or(policy.separation),
        retry_needs_person: stated.retry_needs_person.unwrap_or(policy.retry_needs_person),
        decision_timeout_ms: stated.decision_timeout.or(policy.decision_timeout_ms),
        approval_timeout_ms: stated.approval_timeout.or(policy.approval_timeout_ms),
        escalation_approvers: policy.escalation_approvers.clone(),
        override_approvers: stated
            .override_approvers
            .clone()
            .or_else(|| policy.override_approvers.clone()),
    }
}
