//! Rules for who may pass a hold point, and when somebody is asked: the demands of a floor, and
//! whether terms keep them.
//!
//! Floors only add up: the union of the moments, the intersection of the approvers, the highest
//! quorum and proof, the shortest times. Whoever is governed may ask for more, never for less.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::core::actor::Authentication;
use crate::core::hash::{Digest, HashBuilder};
use crate::core::payload::{List, Text};
use crate::core::refusal::refusals;
use crate::core::text::{check_identifier, visible};
use crate::decision_point::types::ApprovalPolicy;
use crate::human_decision::terms::{EscalationTarget, HoldPolicy, HoldTerms, HumanDecisionTimeout};

/// The tool that an approval of a run is bound to; the input is [`run_binding`].
pub const RUN_TOOL: &str = "holdpoint run";

/// The tool that an approval of a looser policy is bound to; the input is [`relax_binding`].
pub const RELAX_TOOL: &str = "holdpoint policy relax";

/// Owner of a log's own policy, in refusals.
pub const OF_THE_LOG: &str = "this log";

/// Owner of the built-in defaults, in refusals.
pub const BUILT_IN: &str = "the built-in defaults";

/// Minimum that is demanded. The default demands nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct GatePolicy {
    /// True if a person is asked before a run's first attempt.
    pub before: bool,
    /// Condition on which a person is asked after an attempt.
    pub after: HoldPolicy,
    /// People who may answer, at most 16. Empty: anybody.
    pub approvers: List<Text>,
    /// Number of distinct people who have to approve before a start, 1 to 16.
    pub quorum: u8,
    /// Weakest proof of who answers that counts. `None`: nothing is stated, and then a policy that
    /// demands anything demands `os-user`; `none`: claimed names count.
    pub authentication: Option<Authentication>,
    /// True if only another user than the one who asks may answer.
    pub separation: bool,
    /// True if a retry that Phase-21 permits needs a person too.
    pub retry_needs_person: bool,
    /// The longest time that a person has after an attempt, in milliseconds.
    pub decision_timeout_ms: Option<HumanDecisionTimeout>,
    /// The longest time that a person has before a start, in milliseconds.
    pub approval_timeout_ms: Option<HumanDecisionTimeout>,
    /// People who may answer besides the approvers once a question was passed on. `None`: nothing
    /// is demanded, but where approvers are named, they alone may.
    pub escalation_approvers: Option<List<Text>>,
    /// People who may allow a hidden field to be shown. `None`: nothing is demanded.
    pub override_approvers: Option<List<Text>>,
}

impl Default for GatePolicy {
    fn default() -> Self {
        Self {
            before: false,
            after: HoldPolicy::Never,
            approvers: List::default(),
            quorum: 1,
            authentication: None,
            separation: false,
            retry_needs_person: false,
            decision_timeout_ms: None,
            approval_timeout_ms: None,
            escalation_approvers: None,
            override_approvers: None,
        }
    }
}

/// The terms of a run's gate besides those of its hold, as they were in force when it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct GateTerms {
    /// True if a person was asked before the first attempt.
    pub before: bool,
    /// Weakest proof of who answers that counts.
    pub authentication: Authentication,
    /// True if only another user than the one who asks may answer.
    pub separation: bool,
    /// Sources of the policy in force, the strongest first: at most 16 names.
    pub sources: List<Text>,
}

impl Default for GateTerms {
    fn default() -> Self {
        Self {
            before: false,
            authentication: Authentication::Terminal,
            separation: false,
            sources: List::default(),
        }
    }
}

/// Terms demand less than a floor does, or floors contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: {expected} is demanded, and {found} is asked for")]
pub struct Loosened {
    /// Field of the terms.
    pub field: &'static str,
    /// Value that the floor demands.
    pub expected: String,
    /// Value in the terms.
    pub found: String,
}

/// Why a policy is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PolicyFault {
    /// A name that is missing, too long or hides characters.
    #[error(transparent)]
    Name(#[from] crate::core::text::IdentifierFault),
    /// A quorum that nobody can meet.
    #[error("a quorum of {quorum} with {approvers} approvers; ask for 1 to 16, and name as many")]
    Quorum {
        /// The quorum.
        quorum: u8,
        /// Number of approvers that are named; 0: anybody.
        approvers: usize,
    },
    /// More people than one answer after an attempt comes from.
    #[error(
        "a quorum of {quorum} and a hold after attempts, which one person answers; ask for a \
         quorum before the start alone"
    )]
    QuorumAfter {
        /// The quorum.
        quorum: u8,
    },
}

refusals! {
    /// Refusal by the policy of a log, or by another floor. Closed.
    PolicyRefusal holding {}
    /// Terms that demand less than the policy in force.
    #[error("the policy of {floor} says otherwise: {loosened}; {}", advice(floor))]
    Loosened {
        /// Owner of the policy.
        floor: String,
        /// Terms that are asked for, and those that are demanded.
        loosened: Loosened,
    } = "POLICY_LOOSENED" in Gating,
    /// A policy that is set already.
    #[error("this changes nothing: the policy of this log says so already")]
    Unchanged = "POLICY_UNCHANGED",
    /// A policy that cannot be kept.
    #[error("the policy cannot be kept: {0}")]
    Invalid(#[from] PolicyFault) = "INVALID_POLICY",
    /// Records that are or may be lost may have held the log's policy.
    #[error(
        "records of this log are unproven, or may be lost, and its policy may be among them; a \
         person has to set one first, at a terminal, with all that the lost one demanded: \
         `holdpoint policy set`"
    )]
    Lost = "POLICY_LOST" in Gating,
    /// A log that this user has neither begun on this machine nor adopted.
    #[error("{reason}")]
    NotAdopted {
        /// Why not, and what to do.
        reason: String,
    } = "LOG_NOT_ADOPTED",
}

/// Terms that the log's own policy does not let pass.
impl From<Loosened> for PolicyRefusal {
    fn from(loosened: Loosened) -> Self {
        Self::Loosened { floor: OF_THE_LOG.to_string(), loosened }
    }
}

/// Returns what helps against a policy: that of a log can be relaxed, a file is its owner's.
fn advice(floor: &str) -> &'static str {
    match floor {
        OF_THE_LOG => {
            "ask for at least that, or let its approvers relax it (`holdpoint policy set`)"
        }
        BUILT_IN => {
            "ask for at least that: only /etc/holdpoint/config.toml, .config/holdpoint/config.toml \
             in the home that the user database names, and a person at a terminal may say less"
        }
        _ => "ask for at least that: who may change the file decides about it",
    }
}

/// Two policies that nobody could keep at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction<'a, T> {
    /// Owner of the first.
    pub one: &'a T,
    /// Owner of the other.
    pub other: &'a T,
    /// In what.
    pub reason: String,
}

impl GatePolicy {
    /// Joins the demands of all those that have a policy.
    ///
    /// # Errors
    /// Names two that leave nothing over together.
    pub fn join<'a, T>(
        demanding: &'a [T],
        policy: impl Fn(&T) -> &Self,
    ) -> Result<Self, Contradiction<'a, T>> {
        let mut joined = Self::default();
        for (place, other) in demanding.iter().enumerate() {
            joined = joined.kept_with(policy(other)).map_err(|reason| {
                let before = demanding.get(..place).unwrap_or_default();
                let contradicts = |one: &&T| policy(one).kept_with(policy(other)).is_err();
                let one = before.iter().find(contradicts).or(before.last()).unwrap_or(other);
                Contradiction { one, other, reason }
            })?;
        }
        Ok(joined)
    }

    /// Both at once, where somebody can keep that.
    fn kept_with(&self, other: &Self) -> Result<Self, String> {
        let both = self.and(other).map_err(|loosened| loosened.to_string())?;
        both.check().map_err(|fault| fault.to_string())?;
        Ok(both)
    }

    /// Returns whether it demands nothing.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Checks whether it can be kept by anybody.
    ///
    /// # Errors
    /// [`PolicyFault`] names what cannot.
    pub fn check(&self) -> Result<(), PolicyFault> {
        let (quorum, approvers) = (self.quorum, self.approvers.len());
        if !(1..=16).contains(&quorum) || (approvers > 0 && usize::from(quorum) > approvers) {
            return Err(PolicyFault::Quorum { quorum, approvers });
        }
        if quorum > 1 && self.after != HoldPolicy::Never {
            return Err(PolicyFault::QuorumAfter { quorum });
        }
        for name in self.names() {
            check_identifier("approver", name)?;
        }
        Ok(())
    }

    /// Returns each name in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let lists = [Some(&self.approvers), self.escalation_approvers.as_ref()];
        let lists = lists.into_iter().chain([self.override_approvers.as_ref()]).flatten();
        lists.flat_map(|list| list.iter()).map(|name| &**name)
    }

    /// Both at once: what either demands.
    ///
    /// # Errors
    /// [`Loosened`] where nobody is left who may answer.
    pub fn and(&self, other: &Self) -> Result<Self, Loosened> {
        Ok(Self {
            before: self.before || other.before,
            after: self.after.max(other.after),
            approvers: both("approvers", &self.approvers, &other.approvers)?,
            quorum: self.quorum.max(other.quorum),
            authentication: self.proof_with(other),
            separation: self.separation || other.separation,
            retry_needs_person: self.retry_needs_person || other.retry_needs_person,
            decision_timeout_ms: least(self.decision_timeout_ms, other.decision_timeout_ms),
            approval_timeout_ms: least(self.approval_timeout_ms, other.approval_timeout_ms),
            escalation_approvers: both_stated(
                self.escalation_approvers.as_ref(),
                other.escalation_approvers.as_ref(),
            ),
            override_approvers: both_stated(
                self.override_approvers.as_ref(),
                other.override_approvers.as_ref(),
            ),
        })
    }

    /// Checks whether another policy demands at least as much everywhere.
    ///
    /// # Errors
    /// [`Loosened`] names the first field in which it does not.
    pub fn check_kept_by(&self, other: &Self) -> Result<(), Loosened> {
        demand("before", !self.before || other.before, &"asked before the start", &"never")?;
        demand("after", other.after >= self.after, &self.after, &other.after)?;
        check_names("approvers", &self.approvers, &other.approvers)?;
        demand("quorum", other.quorum >= self.quorum, &self.quorum, &other.quorum)?;
        let (least_proof, proof) = (self.least_proof(), other.least_proof());
        demand("authentication", proof >= least_proof, &least_proof, &proof)?;
        demand("separation", !self.separation || other.separation, &"another user", &"any user")?;
        let retry = !self.retry_needs_person || other.retry_needs_person;
        demand("retry_needs_person", retry, &true, &false)?;
        check_time("decision_timeout", self.decision_timeout_ms, other.decision_timeout_ms)?;
        check_time("approval_timeout", self.approval_timeout_ms, other.approval_timeout_ms)?;
        let (before, after) = (&self.escalation_approvers, &other.escalation_approvers);
        check_stated("escalation_approvers", before.as_ref(), after.as_ref())?;
        let (before, after) = (&self.override_approvers, &other.override_approvers);
        check_stated("override_approvers", before.as_ref(), after.as_ref())
    }

    /// Checks whether a run under these terms keeps the policy, but for the approval before its
    /// start.
    ///
    /// # Errors
    /// [`Loosened`] names the first field in which it does not.
    pub fn check_run(&self, hold: &HoldTerms, gate: &GateTerms) -> Result<(), Loosened> {
        demand("hold", !self.before || gate.before, &"before the start", &"no question there")?;
        demand("hold", hold.policy >= self.after, &self.after, &hold.policy)?;
        self.check_proof(gate.authentication, gate.separation)?;
        if hold.policy == HoldPolicy::Never {
            return self.check_overrides(hold);
        }
        let retry = !self.retry_needs_person || hold.retry_needs_person;
        demand("retry_needs_person", retry, &true, &false)?;
        self.check_answers(hold)?;
        self.check_overrides(hold)
    }

    /// Tells whether a loop may be given another instruction, which nobody saw before.
    ///
    /// # Errors
    /// [`Loosened`]: a person is to be asked before every start.
    pub fn check_instruction(&self) -> Result<(), Loosened> {
        demand("hold", !self.before, &"before the start", &"another instruction of a loop")
    }

    /// Checks whether whoever is asked about an attempt under these terms is one whom the policy
    /// lets answer, in the time that it leaves.
    ///
    /// # Errors
    /// [`Loosened`] names the first field in which they do not keep it.
    pub fn check_answers(&self, hold: &HoldTerms) -> Result<(), Loosened> {
        let one = self.quorum <= 1;
        demand("quorum", one, &self.quorum, &"one answer after an attempt")?;
        check_names("approvers", &self.approvers, &hold.approvers)?;
        let most = self.decision_timeout_ms;
        check_time("decision_timeout", most, Some(hold.decision_timeout_ms))?;
        hold.escalation_targets.iter().try_for_each(|target| {
            self.check_target(target)?;
            check_time("escalation_targets.timeout", most, Some(target.timeout_ms))
        })
    }

    /// Checks whether an approval that is asked for under this policy keeps it. `left_ms`: how long
    /// there is to answer.
    ///
    /// # Errors
    /// [`Loosened`] names the first field in which it does not.
    pub fn check_approval(
        &self,
        policy: &ApprovalPolicy,
        separation: bool,
        left_ms: Option<u64>,
    ) -> Result<(), Loosened> {
        check_names("approvers", &self.approvers, &policy.approvers)?;
        demand("quorum", policy.quorum >= self.quorum, &self.quorum, &policy.quorum)?;
        self.check_proof(policy.authentication, separation)?;
        demand("agents", self.is_none() || !policy.allow_agents, &"people", &"agents too")?;
        let most = self.approval_timeout_ms.map(HumanDecisionTimeout::milliseconds);
        let in_time = most.is_none_or(|most| left_ms.is_some_and(|left| left <= most));
        let found = left_ms.map_or_else(|| "no end".to_string(), |left| format!("{left} ms"));
        demand("approval_timeout", in_time, &format!("{} ms", most.unwrap_or_default()), &found)
    }

    /// Whom a question may be passed on to: somebody whom the policy names, where it names any.
    ///
    /// # Errors
    /// [`Loosened`] says whom it names.
    pub fn check_target(&self, target: &EscalationTarget) -> Result<(), Loosened> {
        if self.approvers.is_empty() {
            return Ok(());
        }
        let mut allowed: Vec<Text> = self.approvers.iter().cloned().collect();
        allowed.extend(self.escalation_approvers.iter().flat_map(|list| list.iter().cloned()));
        let own: List<Text> = match target.approvers.is_empty() {
            true => [target.target.clone()].into_iter().collect(),
            false => target.approvers.clone(),
        };
        check_names("escalation_approvers", &allowed, &own)
    }

    fn check_overrides(&self, hold: &HoldTerms) -> Result<(), Loosened> {
        let may = |name: &&Text| {
            self.override_approvers.as_ref().is_none_or(|allowed| allowed.contains(name))
        };
        let is_allowed = hold.override_approvers.iter().all(|name| may(&name));
        let expected = names(self.override_approvers.as_deref().unwrap_or_default());
        demand("override_approvers", is_allowed, &expected, &names(&hold.override_approvers))
    }

    fn check_proof(&self, proof: Authentication, separation: bool) -> Result<(), Loosened> {
        let least = self.least_proof();
        demand("authentication", proof >= least, &least, &proof)?;
        demand("separation", !self.separation || separation, &"another user", &"any user")
    }

    /// Returns the weakest proof that counts for whoever answers: whatever is demanded of people is
    /// demanded of people who are proven to be, unless it is stated that claims are taken.
    #[must_use]
    pub fn least_proof(&self) -> Authentication {
        let unstated = if self.is_none() { Authentication::None } else { Authentication::OsUser };
        self.authentication.unwrap_or(unstated)
    }

    /// Returns what both state: that claims are taken counts only where each says so.
    fn proof_with(&self, other: &Self) -> Option<Authentication> {
        let most = self.authentication.max(other.authentication);
        let is_silent = |policy: &Self| policy.authentication.is_none() && !policy.is_none();
        let is_claim = most == Some(Authentication::None);
        most.filter(|_| !(is_claim && (is_silent(self) || is_silent(other))))
    }

    /// SHA-256 of everything that it says.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let optional = |fields: HashBuilder, time: Option<HumanDecisionTimeout>| {
            fields.number(time.map_or(0, HumanDecisionTimeout::milliseconds))
        };
        let fields = HashBuilder::new("holdpoint.gate-policy", 1)
            .number(u64::from(self.before))
            .text(self.after.name())
            .number(u64::from(self.quorum))
            .optional_text(self.authentication.map(Authentication::name))
            .number(u64::from(self.separation))
            .number(u64::from(self.retry_needs_person));
        let fields = optional(fields, self.decision_timeout_ms);
        let fields = optional(fields, self.approval_timeout_ms);
        let lists = [
            Some(&self.approvers),
            self.escalation_approvers.as_ref(),
            self.override_approvers.as_ref(),
        ];
        let listed = |fields: HashBuilder, list: Option<&List<Text>>| match list {
            None => fields.absent(),
            Some(list) => {
                list.iter().fold(fields.number(list.len() as u64), |fields, name| fields.text(name))
            }
        };
        lists.into_iter().fold(fields, listed).finish()
    }
}

/// Returns what an approval of a run is bound to: exactly this instruction, and everything else
/// about the start that `details` is the digest of.
#[must_use]
pub fn run_binding(envelope_hash: &str, details: &Digest) -> Digest {
    HashBuilder::new("holdpoint.run-binding", 1).text(envelope_hash).digest(details).finish()
}

/// Returns what an approval of another policy is bound to: the one before and the one after.
#[must_use]
pub fn relax_binding(before: &GatePolicy, after: &GatePolicy) -> Digest {
    HashBuilder::new("holdpoint.relax-binding", 1)
        .digest(&before.digest())
        .digest(&after.digest())
        .finish()
}

fn demand(
    field: &'static str,
    is_kept: bool,
    expected: &dyn core::fmt::Display,
    found: &dyn core::fmt::Display,
) -> Result<(), Loosened> {
    match is_kept {
        true => Ok(()),
        false => Err(Loosened { field, expected: expected.to_string(), found: found.to_string() }),
    }
}

/// Those in both lists; an empty list is anybody.
fn both(field: &'static str, one: &List<Text>, other: &List<Text>) -> Result<List<Text>, Loosened> {
    if one.is_empty() || other.is_empty() {
        return Ok(if one.is_empty() { other.clone() } else { one.clone() });
    }
    let common: List<Text> = one.iter().filter(|name| other.contains(name)).cloned().collect();
    demand(field, !common.is_empty(), &names(one), &names(other))?;
    Ok(common)
}

/// Those in both lists; an empty list is nobody.
fn both_stated(one: Option<&List<Text>>, other: Option<&List<Text>>) -> Option<List<Text>> {
    match (one, other) {
        (Some(one), Some(other)) => {
            Some(one.iter().filter(|name| other.contains(name)).cloned().collect())
        }
        (one, other) => one.or(other).cloned(),
    }
}

fn least(
    one: Option<HumanDecisionTimeout>,
    other: Option<HumanDecisionTimeout>,
) -> Option<HumanDecisionTimeout> {
    [one, other].into_iter().flatten().min()
}

/// Names out of those that are demanded, and at least one; no demand is anybody.
fn check_names(field: &'static str, demanded: &[Text], found: &[Text]) -> Result<(), Loosened> {
    if demanded.is_empty() {
        return Ok(());
    }
    let is_kept = !found.is_empty() && found.iter().all(|name| demanded.contains(name));
    demand(field, is_kept, &names(demanded), &names(found))
}

fn check_stated(
    field: &'static str,
    demanded: Option<&List<Text>>,
    found: Option<&List<Text>>,
) -> Result<(), Loosened> {
    let Some(demanded) = demanded else { return Ok(()) };
    let is_kept = found.is_some_and(|found| found.iter().all(|name| demanded.contains(name)));
    demand(field, is_kept, &names(demanded), &names(found.map_or(&[], |list| list)))
}

fn check_time(
    field: &'static str,
    most: Option<HumanDecisionTimeout>,
    found: Option<HumanDecisionTimeout>,
) -> Result<(), Loosened> {
    let Some(most) = most else { return Ok(()) };
    let is_kept = found.is_some_and(|found| found <= most);
    let said = |time: HumanDecisionTimeout| format!("{} ms", time.milliseconds());
    demand(field, is_kept, &said(most), &found.map_or_else(|| "no end".to_string(), said))
}

/// Names as a person reads them; none is anybody.
fn names(list: &[Text]) -> String {
    let shown: Vec<String> = list.iter().map(|name| visible(name).to_string()).collect();
    if shown.is_empty() { "anybody".to_string() } else { shown.join(", ") }
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::made_of! {
    GatePolicy {
        before, after, approvers, quorum, authentication, separation, retry_needs_person,
        decision_timeout_ms, approval_timeout_ms, escalation_approvers, override_approvers,
    }
    GateTerms { before, authentication, separation, sources }
}
