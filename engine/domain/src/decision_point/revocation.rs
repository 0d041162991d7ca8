//! Taking an approval back before it is spent.

use alloc::string::ToString as _;

use crate::core::actor::{Authentication, Principal};
use crate::core::text::visible;
use crate::core::time::Timestamp;
use crate::decision_point::event::ApprovalRevoked;
use crate::decision_point::refusal::DecisionPointRefusal as No;
use crate::decision_point::round::name;
use crate::decision_point::state::{Consumed, DecisionPoint, Revocation};

impl DecisionPoint {
    /// Whether somebody may revoke the approval: who asked, who answered, or an approver. Their
    /// names are proven where those of before were.
    pub(crate) fn check_revocation(&self, by: &Principal) -> Result<(), No> {
        let voters = self.votes.iter().map(|vote| &vote.by);
        let answered = self.ending.iter().filter_map(|ending| ending.by.as_ref());
        let mut involved = voters.chain(answered).chain([&self.requested_by]);
        let is_proven = |before: &Principal| {
            by.authenticated_by >= before.authenticated_by.min(Authentication::OsUser)
        };
        if involved.any(|before| before.id == by.id && is_proven(before)) {
            return Ok(());
        }
        match &self.terms.policy {
            Some(policy) => self.check_approver(policy, by),
            None => self.check_requester(by),
        }
    }

    /// Why an approval that was spent cannot be revoked: what it started.
    pub(crate) fn already_spent(&self, consumed: &Consumed) -> No {
        No::AlreadySpent {
            decision_id: self.decision_id.to_string(),
            at: consumed.at,
            by: name(&consumed.by),
            tool: self.binding().map(|to| visible(&to.tool).to_string()).unwrap_or_default(),
            sequence: consumed.sequence,
        }
    }

    pub(crate) fn revoke(&mut self, body: &ApprovalRevoked, at: Timestamp, sequence: u64) {
        let (by, reason) = (body.by.clone(), body.reason.clone());
        self.revoked = Some(Revocation { by, reason, at, sequence });
    }
}
