//! Sessions that were closed and work orders that ended: the newest stay known, so that none begins
//! again under its name. That an older one ended is found in the log.

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Registry, pair};
use crate::event::{Event, Text};
use crate::interruption_thread::{SessionStatus, WorkOrderStatus};
use crate::terms::Term;
use crate::world::World;

/// Most sessions and work orders that are known after they ended: the newest.
pub const MAX_ENDED_REGISTRATIONS: usize = 1_024;

/// Something registered that ended, by tenant and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum EndedName {
    Session(Text, Text),
    WorkOrder(Text, Text),
}

/// What ended, in the order in which it did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// By the record that ended it; the newest 1024.
    names: BTreeMap<u64, EndedName>,
    /// The newest record that ended something which is known no longer.
    forgotten: u64,
}

impl Registry {
    /// What ended is known for a while.
    pub(super) fn follow_ending(&mut self, event: &Event, sequence: u64) {
        let Some(name) = name_of_ended(event) else { return };
        self.ended.names.insert(sequence, name);
        while self.ended.names.len() > MAX_ENDED_REGISTRATIONS {
            let Some((oldest, name)) = self.ended.names.pop_first() else { break };
            self.forget(name);
            self.ended.forgotten = self.ended.forgotten.max(oldest);
        }
    }

    /// What was registered anew, against the rules, stays.
    fn forget(&mut self, name: EndedName) {
        match name {
            EndedName::Session(tenant_id, session_id) => {
                let key = (tenant_id, session_id);
                let known = self.sessions.get(&key);
                if known.is_some_and(|known| known.status == SessionStatus::Closed) {
                    self.sessions.remove(&key);
                }
            }
            EndedName::WorkOrder(tenant_id, work_order_id) => {
                let key = (tenant_id, work_order_id);
                if self.work_orders.get(&key).is_some_and(|known| known.status.is_final()) {
                    self.work_orders.remove(&key);
                }
            }
        }
    }

    pub(crate) const fn ended(&self) -> &Ended {
        &self.ended
    }

    pub(crate) fn has_ended(&mut self, ended: Ended) {
        self.ended = ended;
    }

    /// Whether a session that is not known may have been closed long ago.
    pub(crate) fn may_have_forgotten(&self, tenant_id: &str, session_id: &str) -> bool {
        self.ended.forgotten > 0 && !self.sessions.contains_key(&pair(tenant_id, session_id))
    }
}

impl World {
    /// The newest record that ended a session or a work order which is known no longer; 0: all are.
    #[must_use]
    pub const fn registrations_forgotten(&self) -> u64 {
        self.hot.registry.ended.forgotten
    }

    /// How many sessions and work orders are known: those that live, and the newest that ended.
    #[must_use]
    pub fn registrations_known(&self) -> usize {
        self.hot.registry.sessions.len() + self.hot.registry.work_orders.len()
    }

    /// Whether the state knows the session or the work order of this term. Of whatever else is
    /// registered it knows everything.
    #[must_use]
    pub fn knows_registration(&self, term: &Term<'_>) -> bool {
        let Registry { sessions, work_orders, .. } = &self.hot.registry;
        match *term {
            Term::Session { tenant, session } => sessions.contains_key(&pair(tenant, session)),
            Term::WorkOrder { tenant, work_order } => {
                work_orders.contains_key(&pair(tenant, work_order))
            }
            _ => true,
        }
    }
}

/// What the event ends for ever.
fn name_of_ended(event: &Event) -> Option<EndedName> {
    match event {
        Event::SessionRegistered(body) if body.status == SessionStatus::Closed => {
            Some(EndedName::Session(body.tenant_id.clone(), body.session_id.clone()))
        }
        Event::WorkOrderRegistered(body) if WorkOrderStatus::is_final(body.status) => {
            Some(EndedName::WorkOrder(body.tenant_id.clone(), body.work_order_id.clone()))
        }
        _ => None,
    }
}
