//! By whom, and under which policy, what waits for a person was asked: what judges its answer.
//!
//! Only what was recorded with proofs is here. What is older is judged by the rules of its time.

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{DecisionPoint, World};
use crate::decision_point::Authentication;
use crate::event::LoopInitialized;
use crate::policy::{GatePolicy, GateTerms};
use crate::principal::{PersonTerms, Proof};

/// The policy of the log, and the gates of what lives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gates {
    /// What a person recorded last; `None`: nothing yet.
    pub(crate) policy: Option<GatePolicy>,
    /// The record that says so. 0: none.
    pub(crate) policy_record: u64,
    /// Whether records were lost that may have held a policy.
    pub(crate) is_policy_lost: bool,
    loops: BTreeMap<String, Gate>,
    points: BTreeMap<String, Gate>,
}

/// The gate of one loop or decision point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gate {
    /// The number of the user whose process asks.
    asked_by: u32,
    /// What at least has to prove who answers.
    authentication: Authentication,
    /// Whether only another user may answer.
    separation: bool,
}

impl Gate {
    const fn terms(self) -> PersonTerms {
        let Self { asked_by, authentication, separation } = self;
        PersonTerms { authentication, separation, asked_by: Some(asked_by) }
    }
}

impl Gates {
    /// A loop began.
    pub(crate) fn loop_began(&mut self, body: &LoopInitialized, proof: Option<Proof>) {
        let Some(Proof { user, .. }) = proof else { return };
        let default = GateTerms::default();
        let terms = body.gate.as_ref().unwrap_or(&default);
        let (authentication, separation) = (terms.authentication, terms.separation);
        let gate = Gate { asked_by: user, authentication, separation };
        self.loops.insert(String::from(body.loop_id.as_str()), gate);
    }

    /// A loop settled.
    pub(crate) fn loop_settled(&mut self, loop_id: &str) {
        self.loops.remove(loop_id);
    }

    /// Who counts as the person who is asked about a loop; `None`: it is judged as it was before
    /// there were proofs.
    pub(crate) fn of_loop(&self, loop_id: &str) -> Option<PersonTerms> {
        self.loops.get(loop_id).map(|gate| gate.terms())
    }

    /// A question was asked.
    pub(crate) fn point_began(
        &mut self,
        point: &DecisionPoint,
        separation: bool,
        proof: Option<Proof>,
    ) {
        let Some(Proof { user, .. }) = proof else { return };
        let policy = point.terms.policy.as_ref();
        let of_log = self.policy.as_ref().and_then(|policy| policy.authentication);
        let usual = of_log.unwrap_or(Authentication::OsUser);
        let authentication = policy.map_or(usual, |policy| policy.authentication);
        let gate = Gate { asked_by: user, authentication, separation };
        self.points.insert(String::from(point.decision_id.as_str()), gate);
    }

    /// The next round of a question has the gate of the one before.
    pub(crate) fn round_began(&mut self, prior_id: &str, next_id: &str) {
        if let Some(gate) = self.points.get(prior_id).copied() {
            self.points.insert(String::from(next_id), gate);
        }
    }

    /// A question that ended is remembered no longer.
    pub(crate) fn point_forgotten(&mut self, decision_id: &str) {
        self.points.remove(decision_id);
    }

    /// As [`Gates::of_loop`], about a decision point.
    pub(crate) fn of_point(&self, decision_id: &str) -> Option<PersonTerms> {
        self.points.get(decision_id).map(|gate| gate.terms())
    }
}

impl World {
    /// The policy that a person recorded in the log, which every hold point in it keeps; one that
    /// demands nothing where nobody recorded any.
    #[must_use]
    pub fn policy(&self) -> GatePolicy {
        self.hot.gates.policy.clone().unwrap_or_default()
    }

    /// The record with which a person set the policy of the log; `None` where nobody did.
    #[must_use]
    pub fn policy_record(&self) -> Option<u64> {
        self.hot.gates.policy.as_ref().map(|_| self.hot.gates.policy_record)
    }

    /// Whether the records that were lost may have held the policy of the log: then nothing begins
    /// that a policy could hold, until a person sets one.
    #[must_use]
    pub const fn is_policy_lost(&self) -> bool {
        self.hot.gates.is_policy_lost
    }

    /// Who counts as the person who may answer about a loop; `None` for one of before there were
    /// proofs.
    #[must_use]
    pub fn person_for_loop(&self, loop_id: &str) -> Option<PersonTerms> {
        self.hot.gates.of_loop(loop_id)
    }

    /// Who counts as the person who may answer a decision point that needs one; `None` for one of
    /// before there were proofs.
    #[must_use]
    pub fn person_for_point(&self, decision_id: &str) -> Option<PersonTerms> {
        self.hot.gates.of_point(decision_id)
    }

    /// Whether what waits for the answer of a decision point may go on. Where a person is needed,
    /// silence releases nothing; questions of before that was a rule keep theirs.
    #[must_use]
    pub fn is_released(&self, point: &DecisionPoint) -> bool {
        let is_silence = point.ending.as_ref().is_some_and(|ending| ending.by.is_none());
        let is_gated = self.person_for_point(&point.decision_id).is_some();
        point.releases() && !(is_silence && is_gated && point.needs_person())
    }
}
