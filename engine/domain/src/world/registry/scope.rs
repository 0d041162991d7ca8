//! What turns and rows presume: scope (tenant, user, device, session) and gates (work order,
//! lease).

use alloc::format;

use super::{Mismatch, Registered, pair};
use crate::command::TurnScope;
use crate::decide::shown;
use crate::hash::Digest;
use crate::interruption_thread::{LeaseStatus, ReasonCode, SessionStatus};
use crate::refusal::ThreadRefusal;
use crate::time::Timestamp;

impl Registered<'_> {
    /// Whether tenant, user, device and session belong together and may be used; where the session
    /// is (ACTIVE where there is none).
    pub(crate) fn session_of(&self, scope: &TurnScope<'_>) -> Result<SessionStatus, ThreadRefusal> {
        self.find_session(scope).map_err(|m| m.barred(ReasonCode::FailTenantScopeInvalid))
    }

    /// Where a session is; `None` where it is not known.
    pub(crate) fn session_status(&self, tenant_id: &str, session: &str) -> Option<SessionStatus> {
        self.session(tenant_id, session).map(|session| session.status)
    }

    /// Whether the work order is of this tenant and correlation, is as the caller states, and has
    /// not ended.
    pub(crate) fn check_work_order(&self, scope: &TurnScope<'_>) -> Result<(), ThreadRefusal> {
        self.open_work_order(scope).map_err(|m| m.barred(ReasonCode::FailWorkOrderScopeInvalid))
    }

    /// Whether a lease allows a dispatch under the scope's work order now: one that is held and
    /// has not expired. From its `expires_at` on it allows nothing.
    pub(crate) fn check_lease(
        &self,
        scope: &TurnScope<'_>,
        lease_token_hash: Option<Digest>,
        at: Timestamp,
    ) -> Result<(), ThreadRefusal> {
        self.held_lease(scope, lease_token_hash, at)
            .map_err(|m| m.barred(ReasonCode::FailLeaseRequired))
    }

    fn find_session(&self, scope: &TurnScope<'_>) -> Result<SessionStatus, Mismatch> {
        self.registry.active_device(scope.tenant_id, scope.device_id, scope.user_id)?;
        let Some(session_id) = scope.session_id else { return Ok(SessionStatus::Active) };
        let Some(session) = self.session(scope.tenant_id, session_id) else {
            let found = format!("{}, which is not registered", shown(session_id));
            return Err(Mismatch::of("session_id", "a session of the tenant", found));
        };
        Mismatch::unless_same("user_id", &session.user_id, scope.user_id)?;
        Mismatch::unless_same("device_id", &session.device_id, scope.device_id)?;
        Ok(session.status)
    }

    fn open_work_order(&self, scope: &TurnScope<'_>) -> Result<(), Mismatch> {
        let Some(work_order) = self.work_order(scope.tenant_id, scope.work_order_id) else {
            let found = format!("{}, which is not registered", shown(scope.work_order_id));
            return Err(Mismatch::of("work_order_id", "a work order of the tenant", found));
        };
        let (known, stated) = (work_order.status, scope.work_order_status_snapshot);
        Mismatch::unless_same("correlation_id", &work_order.correlation_id, scope.correlation_id)?;
        Mismatch::unless_same("work_order_status_snapshot", known.name(), stated.name())?;
        if known.is_final() {
            let expected = "the status of a work order that has not ended";
            return Err(Mismatch::of("work_order_status_snapshot", expected, known));
        }
        Ok(())
    }

    fn held_lease(
        &self,
        scope: &TurnScope<'_>,
        lease_token_hash: Option<Digest>,
        at: Timestamp,
    ) -> Result<(), Mismatch> {
        let fault = |expected, found| Err(Mismatch { field: "lease_token_hash", expected, found });
        let Some(hash) = lease_token_hash else {
            return fault("the hash of a lease on the work order".into(), "none".into());
        };
        let leases = self.registry.leases.get(&pair(scope.tenant_id, scope.work_order_id));
        match leases.and_then(|leases| leases.get(&hash)) {
            None => fault(
                "the hash of a lease on the work order".into(),
                format!("{hash}, which is not registered for it"),
            ),
            Some(lease) if lease.status != LeaseStatus::Active => {
                fault("a lease that is ACTIVE".into(), format!("one that is {}", lease.status))
            }
            Some(lease) if at >= lease.expires_at => fault(
                format!("a lease that ends after {at}"),
                format!("one that ended at {}", lease.expires_at),
            ),
            Some(_) => Ok(()),
        }
    }
}
