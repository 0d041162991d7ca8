//! What is demanded of every hold point, by whomever the governed side cannot overrule: the files
//! of the machine and of its user, and what a person recorded in the log.

use super::{Configuration, HoldOptions};
use crate::log::open::failed_at;
use crate::ui::text::visible_once;
use crate::ui::{Exit, Failure};
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::decision_point::{ApprovalPolicy, CreateDecisionPoint};
use holdpoint_domain::human_decision::EscalationTarget;
use holdpoint_domain::log::PolicyRefusal;
use holdpoint_domain::log::{Contradiction, GatePolicy, Loosened, OF_THE_LOG};
use holdpoint_domain::{Refusal, World};
use holdpoint_engine::Engine;
use holdpoint_engine::floors::{Defaults, FloorFiles, Floors, FloorsError};
use std::path::Path;

/// One of those who demand something.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// As refusals name it.
    pub(crate) floor: String,
    /// As what is in force names its sources.
    pub(crate) source: String,
    /// What it demands.
    pub(crate) policy: GatePolicy,
}

/// All of them, the strongest first.
#[derive(Clone, Debug)]
pub(crate) struct Demands {
    layers: Vec<Layer>,
    /// What all demand together.
    pub(crate) policy: GatePolicy,
    /// To whom a question may be passed on where nobody says otherwise.
    pub(crate) targets: Vec<EscalationTarget>,
    /// What holds where nobody says otherwise.
    pub(crate) defaults: Defaults,
}

/// What is said of an approval that is asked for. What is left away is as it is demanded.
#[derive(Clone, Debug, Default)]
pub(crate) struct AskedApproval {
    /// Who may answer; none: whoever is demanded, or every person.
    pub(crate) approvers: List<Text>,
    /// How many distinct people.
    pub(crate) quorum: Option<u8>,
    /// What at least has to prove who answers.
    pub(crate) authentication: Option<Authentication>,
    /// Whether only another user than the one who asks may answer.
    pub(crate) separation: bool,
    /// Whether the requester may answer too.
    pub(crate) allow_requester: bool,
    /// Whether agents may answer too.
    pub(crate) allow_agents: bool,
}

impl AskedApproval {
    /// What of it is less than the defaults, as a person reads it.
    pub(crate) fn less_than(&self, defaults: &Defaults) -> Vec<String> {
        let mut less = Vec::new();
        less.extend(weaker_proof(self.authentication, defaults));
        if self.allow_agents && defaults.authentication > Authentication::None {
            less.push("--allow agents: agents approve in the place of people".to_string());
        }
        less
    }
}

/// The option that asks for a weaker proof of who answers than the defaults do.
pub(crate) fn weaker_proof(asked: Option<Authentication>, defaults: &Defaults) -> Option<String> {
    let option = match asked.filter(|proof| *proof < defaults.authentication)? {
        Authentication::None => "--authentication none: claimed names count",
        _ => "--authentication os-user: a program of another user counts as a person",
    };
    Some(option.to_string())
}

/// What the files of the machine and of its user demand. Nothing is done before that is known.
pub(crate) fn floors() -> Result<Floors, Failure> {
    FloorFiles::of_machine().read().map_err(|error| unknown(&error))
}

/// The failure of files that cannot be believed.
fn unknown(error: &FloorsError) -> Failure {
    Failure::new(Exit::REFUSED, "policy", visible_once(&error.to_string()))
}

impl Demands {
    /// The files and the log, which is open for writing.
    pub(crate) fn of(log: &Path, engine: &Engine) -> Result<Self, Failure> {
        let floors = engine.floors().map_err(|error| unknown(&error))?;
        let layer = engine.query(of_log).map_err(|error| failed_at(log, error))?;
        Self::join(&floors, layer)
    }

    /// The files, and the log as it was read; `None`: there is no log yet.
    pub(crate) fn read(floors: &Floors, world: Option<&World>) -> Result<Self, Failure> {
        Self::join(floors, world.and_then(of_log))
    }

    fn join(floors: &Floors, log: Option<Layer>) -> Result<Self, Failure> {
        let of_file = |floor: &holdpoint_engine::floors::Floor| Layer {
            floor: floor.name(),
            source: format!("{} (sha256 {})", floor.name(), floor.sha256),
            policy: floor.policy.clone(),
        };
        let layers: Vec<Layer> = floors.each().iter().map(of_file).chain(log).collect();
        let policy = GatePolicy::join(&layers, |layer| &layer.policy)
            .map_err(|found| contradiction(&found))?;
        let mut targets: Vec<EscalationTarget> = Vec::new();
        let offered = floors.each().iter().flat_map(|floor| floor.escalation_targets.iter());
        for target in offered {
            let is_new = !targets.iter().any(|known| known.target == target.target);
            let is_let = layers.iter().all(|layer| layer.policy.check_target(target).is_ok());
            if is_new && is_let {
                targets.push(target.clone());
            }
        }
        let defaults = floors.defaults().clone();
        Ok(Self { layers, policy, targets, defaults })
    }

    /// Each that demands something, or was asked whether it does.
    pub(crate) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Checks each; the refusal names the first that is not kept, and the line of the project's
    /// file that keeps it not, if it is one.
    pub(crate) fn each_keeps(
        &self,
        (project, asked): (&Configuration, &HoldOptions),
        keeps: impl Fn(&GatePolicy) -> Result<(), Loosened>,
    ) -> Result<(), Failure> {
        self.layers.iter().try_for_each(|layer| {
            keeps(&layer.policy).map_err(|loosened| {
                let key = key_of(loosened.field);
                let refusal = PolicyRefusal::Loosened { floor: layer.floor.clone(), loosened };
                let failure = refused(&refusal.into());
                match asked.states(key) {
                    true => failure,
                    false => project.blamed(key, failure),
                }
            })
        })
    }

    /// The terms of an approval, as tight as is demanded where nothing is said, and whether only
    /// another user may answer. What is said to be looser is for the engine to refuse.
    pub(crate) fn approval(&self, asked: &AskedApproval) -> (ApprovalPolicy, bool) {
        let demanded = &self.policy;
        let least = self.usual_proof();
        let is_silent = asked.approvers.is_empty();
        let approvers = if is_silent { &demanded.approvers } else { &asked.approvers };
        let policy = ApprovalPolicy {
            approvers: approvers.clone(),
            quorum: asked.quorum.unwrap_or(demanded.quorum),
            allow_requester: asked.allow_requester,
            allow_agents: asked.allow_agents,
            authentication: asked.authentication.unwrap_or(least),
            default_approves: false,
        };
        (policy, asked.separation || demanded.separation)
    }

    /// Completes a question by what is asked for of its approval, and where that is nothing and a
    /// person is needed all the same, by what is demanded.
    pub(crate) fn tighten(
        &self,
        question: &mut CreateDecisionPoint,
        asked: Option<&AskedApproval>,
    ) {
        let people = AskedApproval { allow_requester: true, ..AskedApproval::default() };
        let needs_more = question.needs_person() && !self.policy.is_none();
        if asked.is_none() && needs_more {
            // The terms of who answers change, and not in which form.
            question.allow_text.get_or_insert(question.binding.is_none());
        }
        let Some(asked) = asked.or(Some(&people).filter(|_| needs_more)) else { return };
        let (policy, separation) = self.approval(asked);
        (question.policy, question.separation) = (Some(policy), separation);
        if question.expires_at.is_none() {
            question.timeout_ms = self.approval_time(question.timeout_ms, None);
        }
    }

    /// How long people have to answer, in milliseconds: as long as is asked for, or the shorter of
    /// what is usual and what is demanded.
    pub(crate) fn approval_time(&self, asked: Option<u64>, usual: Option<u64>) -> Option<u64> {
        let most = self.policy.approval_timeout_ms.map(|most| most.milliseconds());
        asked.or_else(|| usual.into_iter().chain(most).min())
    }
}

/// What a person recorded in the log.
fn of_log(world: &World) -> Option<Layer> {
    let record = world.policy_record()?;
    let (floor, source) = (OF_THE_LOG.to_string(), format!("log record {record}"));
    Some(Layer { floor, source, policy: world.policy() })
}

/// The key of a project's file that states a field of a policy.
fn key_of(field: &'static str) -> &'static str {
    match field {
        "before" | "after" | "hold" => "default",
        field if field.starts_with("escalation") => "escalation_targets",
        field => field,
    }
}

/// The failure of a refusal.
pub(crate) fn refused(refusal: &Refusal) -> Failure {
    let code = refusal.code().to_ascii_lowercase();
    Failure::new(Exit::REFUSED, code, visible_once(&refusal.to_string()))
}

/// The failure of two that nobody could keep at once.
fn contradiction(found: &Contradiction<'_, Layer>) -> Failure {
    let Contradiction { one, other, reason } = found;
    let (one, other) = (&one.floor, &other.floor);
    let message =
        format!("the policies of {one} and {other} contradict each other ({reason}): change one");
    Failure::new(Exit::REFUSED, "policy", visible_once(&message))
}
