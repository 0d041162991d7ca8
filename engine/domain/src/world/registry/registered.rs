//! What is registered as the rules see it: what the state knows, and what was found again of what
//! it does not know any more.

use super::{Registry, Session, WorkOrder, pair};
use crate::command::Command;
use crate::terms::Term;
use crate::world::World;

/// The registry, with the sessions and work orders that have left it and were found again.
#[derive(Clone, Copy)]
pub(crate) struct Registered<'a> {
    pub(super) registry: &'a Registry,
    found: Option<&'a Registry>,
}

impl<'a> Registered<'a> {
    /// What the state knows, and nothing else: as every replay knows it.
    pub(crate) const fn in_state(registry: &'a Registry) -> Self {
        Self { registry, found: None }
    }

    pub(super) fn session(&self, tenant_id: &str, session_id: &str) -> Option<&'a Session> {
        let key = pair(tenant_id, session_id);
        let known = self.registry.sessions.get(&key);
        known.or_else(|| self.found?.sessions.get(&key))
    }

    pub(super) fn work_order(&self, tenant_id: &str, work_order_id: &str) -> Option<&'a WorkOrder> {
        let key = pair(tenant_id, work_order_id);
        let known = self.registry.work_orders.get(&key);
        known.or_else(|| self.found?.work_orders.get(&key))
    }
}

impl World {
    /// What is registered, for the command in hand.
    pub(crate) const fn registered(&self) -> Registered<'_> {
        let found = Some(self.recalled.registrations());
        Registered { registry: &self.hot.registry, found }
    }
}

impl Command {
    /// The session and the work order that the command names, whatever it does with them: the
    /// rules have to know how they are registered.
    pub fn registered_names(&self) -> impl Iterator<Item = Term<'_>> {
        let (tenant, session, work_order) = match self {
            Self::RegisterSession(c) => (c.tenant_id.as_str(), Some(c.session_id.as_str()), None),
            Self::RegisterWorkOrder(c) => (&*c.tenant_id, None, Some(c.work_order_id.as_str())),
            Self::RegisterLease(c) => (&*c.tenant_id, None, Some(c.work_order_id.as_str())),
            other => match other.turn_scope() {
                Some(scope) => (scope.tenant_id, scope.session_id, Some(scope.work_order_id)),
                None => ("", None, None),
            },
        };
        let session = session.map(|session| Term::Session { tenant, session });
        session
            .into_iter()
            .chain(work_order.map(|work_order| Term::WorkOrder { tenant, work_order }))
    }
}
