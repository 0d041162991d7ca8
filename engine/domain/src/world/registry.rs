//! Who may call PH1.X, and the tenants, users, devices, sessions, work orders and leases that its
//! scope and gating rules presume.

use serde::{Deserialize, Serialize};

use super::World;
use crate::command::{Command, TurnScope};
use crate::envelope::ActorId;
use crate::hash::Digest;
use crate::interruption_thread::SessionStatus;
use crate::refusal::{Refusal, ThreadRefusal};
use crate::time::Timestamp;

/// Everything that is registered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registry {}

impl World {
    /// Whether this actor may give this command.
    ///
    /// # Errors
    /// [`ThreadRefusal::Barred`] with `X_FAIL_CALLER_NOT_ALLOWED`.
    pub fn check_caller(&self, _actor: &ActorId, _command: &Command) -> Result<(), Refusal> {
        Ok(())
    }
}

impl Registry {
    /// Whether tenant, user, device and session belong together and may be used; where the session
    /// is (ACTIVE where there is none).
    pub(crate) fn session_of(
        &self,
        _scope: &TurnScope<'_>,
    ) -> Result<SessionStatus, ThreadRefusal> {
        Ok(SessionStatus::Active)
    }

    /// Whether the work order is of this tenant and correlation, and is as the caller states.
    pub(crate) fn check_work_order(&self, _scope: &TurnScope<'_>) -> Result<(), ThreadRefusal> {
        Ok(())
    }

    /// Whether a lease allows a dispatch under the scope's work order now.
    pub(crate) fn check_lease(
        &self,
        _scope: &TurnScope<'_>,
        _lease_token_hash: Option<Digest>,
        _at: Timestamp,
    ) -> Result<(), ThreadRefusal> {
        Ok(())
    }
}
