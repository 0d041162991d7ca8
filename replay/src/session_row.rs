//! Sessions as a program is shown them in a list of runs.

use crate::session_answers::{Tools, approvers};
use crate::sessions::Session;
use holdpoint_domain::ActorId;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::time::Timestamp;
use serde::Serialize;
use std::collections::BTreeSet;

/// The beginning of the id of a session; the number of its first record follows, or its name.
pub const PREFIX: &str = "session:";

/// The id of a session, which `show` takes.
pub fn id(session: &Session) -> String {
    format!("{PREFIX}{}", session.first)
}

/// A session for programs.
#[derive(Serialize)]
pub struct SessionRow<'s> {
    /// A session is no run.
    run: Option<&'s str>,
    session: String,
    /// The actor that it says that it is.
    by: ActorId,
    began_at: Timestamp,
    tools: Tools,
    approved_by: BTreeSet<&'s str>,
    correlation: &'s str,
    first_record: u64,
    last_record: u64,
    /// The proof of the weakest of its records.
    standing: &'static str,
}

impl<'s> SessionRow<'s> {
    /// Shows a session.
    pub fn of(session: &'s Session) -> Self {
        Self {
            run: None,
            session: id(session),
            by: ActorId { kind: Actor::Agent, id: session.name.as_str().into() },
            began_at: session.began_at,
            tools: Tools::of(session),
            approved_by: approvers(session).map(|by| by.id.as_ref()).collect(),
            correlation: &session.name,
            first_record: session.first,
            last_record: session.last,
            standing: session.standing().name(),
        }
    }
}
