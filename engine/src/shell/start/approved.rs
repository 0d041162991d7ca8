//! The start that an approval was given for: everything is looked at again, and the approval is
//! spent in the very batch in which the loop begins to exist.

use super::ask::shows;
use super::context::differences;
use super::facts::Facts;
use super::unbound_in;
use super::variables::{NOT_SET, UnboundValue};
use super::{ApprovalKeys, ApprovedProgram, Bound, BoundFiles, StartError};
use crate::executor::{InstructionEnvelope, OutputSink, SignalSource};
use crate::log::Storage;
use crate::shell::conditions::Conditions;
use crate::shell::engine::Engine;
use crate::shell::governed::Runner;
use crate::shell::prompter::Prompter;
use crate::shell::run::{ASKING, GovernedRun, HeldRun, RunError};
use crate::shell::submit::Origin;
use holdpoint_domain::ActorId;
use holdpoint_domain::core::limits::MAX_ID_BYTES;
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::decision_point::{ApprovalPolicy, DecisionPoint, DecisionPointRefusal};
use holdpoint_domain::execution_loop::SpentApproval;
use holdpoint_domain::human_decision::HoldTerms;
use holdpoint_domain::log::PolicyRefusal;
use holdpoint_domain::log::{GatePolicy, RUN_TOOL, run_binding};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// A start, and the approval for it.
#[derive(Clone, Copy, Debug)]
pub struct ApprovedStart<'a> {
    /// Run to start.
    pub run: &'a GovernedRun,
    /// Terms on which a person is asked after an attempt.
    pub terms: &'a HoldTerms,
    /// Policy that is demanded of the approval now, however it was asked for.
    pub policy: &'a GatePolicy,
    /// Facts that the start is bound to besides.
    pub bound: &'a Bound,
    /// The question that was approved.
    pub decision_id: &'a str,
    /// Labels of the run: see [`Conditions::labels`].
    pub labels: &'a BTreeMap<String, String>,
}

/// A start that was compared with its approval.
struct Checked {
    /// The run with its approval.
    run: GovernedRun,
    program: ApprovedProgram,
    files: BoundFiles,
    labels: BTreeMap<String, String>,
}

impl<S: Storage> Engine<S> {
    /// Runs like [`Engine::run_held`], for a start that a person approved. The approval is spent by
    /// it, once; the run belongs to the story of the question, and is caused by its answer.
    ///
    /// # Errors
    /// As [`Engine::run_held`], and where the approval is none, is not for exactly this start, or
    /// is spent: nothing is started then.
    pub fn run_approved(
        &self,
        origin: &Origin,
        start: &ApprovedStart<'_>,
        prompter: &mut dyn Prompter,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<HeldRun, StartError> {
        self.expect_adopted()?.map_err(StartError::Refused)?;
        let checked = self.check_approved(&origin.actor, start)?;
        let Checked { run, program, files, labels } = checked;
        let conditions = Conditions { labels, ..Conditions::default() };
        let mut runner = match Runner::begin(self, origin, &conditions, &run, start.terms) {
            Ok(ControlFlow::Continue(runner)) => runner,
            Ok(ControlFlow::Break(first)) => {
                let first_sequence = first.first_sequence;
                return Err(RunError::BegunBefore { first_sequence }.into());
            }
            Err(RunError::Refused(refusal)) => return Err(StartError::Refused(refusal)),
            Err(error) => return Err(error.into()),
        };
        start.bound.keys.remove(start.decision_id);
        runner.expect_program(program);
        runner.expect_files(files);
        Ok(runner.conclude(prompter, sink, signals)?)
    }

    /// The run with its approval, where it is for exactly this.
    fn check_approved(
        &self,
        actor: &ActorId,
        start: &ApprovedStart<'_>,
    ) -> Result<Checked, StartError> {
        let decision_id = start.decision_id;
        let keys = &start.bound.keys;
        let point = self.spendable(decision_id, keys)?;
        self.check_policy(start.policy, &point)?;
        let Some(key) = keys.find(decision_id)? else {
            // Somebody else may just have spent it.
            self.spendable(decision_id, keys)?;
            let (decision_id, file) = (decision_id.to_string(), keys.file(decision_id));
            return Err(StartError::KeyMissing { decision_id, file });
        };
        let asked = point.terms.proposal.context.as_deref().unwrap_or_default();
        let (mut run, facts) = start.bound.facts(self, start.run, &key, Some(asked))?;
        let details = facts.digest();
        let envelope = InstructionEnvelope::of(&run.command, &run.environment).hex();
        let approved = point.binding().map(|binding| binding.input_sha256);
        if approved != Some(run_binding(&envelope, &details)) {
            let differences = differences(asked, &facts);
            let decision_id = decision_id.to_string();
            return Err(StartError::Differs { decision_id, differences });
        }
        if !shows(&point, &run, &facts) {
            let decision_id = decision_id.to_string();
            return Err(DecisionPointRefusal::ShowsOtherwise { decision_id, tool: ASKING }.into());
        }
        let by = self.identity().principal(actor.kind, &actor.id);
        let approval = SpentApproval { decision_id: decision_id.to_string(), by, details };
        run.approval = Some(approval);
        run.gate.before = true;
        let mut labels = start.labels.clone();
        labels.extend(unbound_labels(&facts, asked));
        let (program, files) = (facts.program, BoundFiles::of(facts.last_look));
        Ok(Checked { run, program, files, labels })
    }

    /// Checks whether those were asked whom the policy in force demands now. How long there was to
    /// answer is over.
    fn check_policy(&self, policy: &GatePolicy, point: &DecisionPoint) -> Result<(), StartError> {
        let policy = GatePolicy { approval_timeout_ms: None, ..policy.clone() };
        let people = ApprovalPolicy::people();
        let asked = point.terms.policy.as_ref().unwrap_or(&people);
        let terms = self.query(|world| world.person_for_point(&point.decision_id))?;
        let separation = terms.is_some_and(|terms| terms.separation);
        policy.check_approval(asked, separation, None).map_err(|loosened| {
            let floor = "this run".to_string();
            StartError::Refused(PolicyRefusal::Loosened { floor, loosened }.into())
        })
    }

    /// The question, where it is one before a start and its approval can be spent. The key of one
    /// that is over is removed.
    fn spendable(
        &self,
        decision_id: &str,
        keys: &ApprovalKeys,
    ) -> Result<DecisionPoint, StartError> {
        self.expire()?;
        let point = self.decision_point(decision_id)?.ok_or_else(|| {
            let decision_id = visible(decision_id).to_string();
            DecisionPointRefusal::UnknownDecision { decision_id }
        })?;
        let tool = point.binding().map(|binding| binding.tool.to_string());
        if tool.as_deref() != Some(RUN_TOOL) {
            return Err(DecisionPointRefusal::BindingMismatch {
                decision_id: decision_id.to_string(),
                expected: tool
                    .map_or_else(|| "no action".to_string(), |tool| visible(&tool).to_string()),
                found: RUN_TOOL.to_string(),
            }
            .into());
        }
        let doubt = self.query(|world| world.doubt_of_point(&point))?;
        match (point.spendable_until(), doubt) {
            (Some(_), None) => Ok(point),
            (Some(_), Some(doubt)) => Err(point.in_doubt(doubt).into()),
            (None, _) => {
                if !point.is_live() {
                    keys.remove(decision_id);
                }
                Err(point.not_spendable().into())
            }
        }
    }
}

/// The labels that put on record what the approval does not bind: of each variable the value now,
/// and the one that was asked about.
fn unbound_labels(facts: &Facts, asked: &str) -> BTreeMap<String, String> {
    let then = unbound_in(asked);
    let label = |value: Option<&str>| match value {
        None => NOT_SET.to_string(),
        Some("") => "(empty)".to_string(),
        Some(value) => bounded(value, MAX_ID_BYTES).to_string(),
    };
    let of = |now: &UnboundValue| {
        let asked = then.iter().find(|then| then.name == now.name);
        let asked = asked.and_then(|then| then.value.as_deref());
        [
            (format!("unbound.{}", now.name), label(now.value.as_deref())),
            (format!("unbound.{}.asked", now.name), label(asked)),
        ]
    };
    facts.unbound.iter().flat_map(of).collect()
}
