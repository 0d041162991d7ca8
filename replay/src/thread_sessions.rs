//! What became of the sessions in which a thread was talked in.

use crate::read::Committed;
use holdpoint_domain::Event;
use holdpoint_domain::interruption_thread::InterruptionThreadEvent;
use holdpoint_domain::registration::{RegistrationEvent, SessionRegistered, SessionStatus};
use std::collections::BTreeSet;

/// The registrations of sessions, of any tenant, in the order of the log.
#[derive(Default)]
pub struct Sessions {
    registrations: Vec<Committed>,
}

impl Sessions {
    /// Keeps a record that registers a session.
    pub fn see(&mut self, record: &Committed) {
        if registration(record).is_some() {
            self.registrations.push(record.clone());
        }
    }

    /// Records behind `began` that suspend or close one of these sessions of a tenant, or open
    /// it again.
    #[must_use]
    pub fn changes<'r>(
        &'r self,
        tenant: &str,
        sessions: &BTreeSet<&str>,
        began: u64,
    ) -> Vec<&'r Committed> {
        let mut away = BTreeSet::new();
        let is_change = |record: &&Committed| {
            let Some(body) = registration(record) else { return false };
            let is_its = body.tenant_id.as_str() == tenant && sessions.contains(&*body.session_id);
            is_its && record.header.sequence > began && changes(&mut away, body)
        };
        self.registrations.iter().filter(is_change).collect()
    }
}

/// Tells whether a registration takes a session away or brings it back.
fn changes(away: &mut BTreeSet<String>, body: &SessionRegistered) -> bool {
    let name = body.session_id.to_string();
    match body.status {
        SessionStatus::Active => away.remove(&name),
        SessionStatus::Suspended | SessionStatus::Closed => {
            away.insert(name);
            true
        }
    }
}

fn registration(record: &Committed) -> Option<&SessionRegistered> {
    match &record.envelope()?.event {
        Event::Registration(RegistrationEvent::SessionRegistered(body)) => Some(body),
        _ => None,
    }
}

/// The session that a record of a thread names.
#[must_use]
pub fn session_of(record: &Committed) -> Option<&str> {
    match &record.envelope()?.event {
        Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(body)) => {
            body.session_id.as_deref()
        }
        Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(body)) => {
            body.session_id.as_deref()
        }
        Event::InterruptionThread(InterruptionThreadEvent::PlanDrafted(body)) => {
            body.session_id.as_deref()
        }
        Event::InterruptionThread(InterruptionThreadEvent::RemaindersDiscarded(body)) => {
            body.session_id.as_deref()
        }
        Event::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(body)) => {
            Some(&*body.session_id)
        }
        Event::InterruptionThread(InterruptionThreadEvent::ThreadMoved(body)) => {
            Some(&*body.session_id)
        }
        _ => None,
    }
}
