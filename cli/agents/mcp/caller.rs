//! Who calls a tool, and where the log is.

use super::Args;
use crate::args::Global;
use crate::args::durations::wait;
use crate::questions::decision_session::DecisionSession;
use crate::ui::Failure;
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::text::{bounded, has_visible_character, visible};
use holdpoint_domain::world::MEANS_OF_MCP;
use holdpoint_engine::shell::user_number;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Before the name that a client gives itself.
const CLIENT_PREFIX: &str = "mcp:";
/// How much of that name is kept, in bytes.
const CLIENT_NAME_BYTES: usize = 96;
/// The name of a client that gives none.
const UNNAMED: &str = "unnamed";

/// Longest time that a call waits for another writer: clients give up on a call after about 60
/// seconds.
const TURN_MAX: Duration = Duration::from_secs(45);

/// What every call has in common.
#[derive(Debug)]
pub(super) struct ServerContext {
    pub(super) global: Global,
    /// True once stdin has ended: a call that waits tells how things stand.
    pub(super) has_ended: Arc<AtomicBool>,
    args: Args,
}

/// One call: the server, and in whose name it acts.
pub(super) struct Caller<'s> {
    pub(super) server: &'s ServerContext,
    pub(super) by: Principal,
    given_up: &'s AtomicBool,
}

impl ServerContext {
    pub(super) fn new(global: &Global, mut args: Args) -> Self {
        args.turn = args.turn.at_most(TURN_MAX);
        let (log, config) = (global.log.clone(), global.config.clone());
        let global = Global { log, config, json: false, lists: false };
        Self { global, has_ended: Arc::default(), args }
    }

    /// Whether the agent may answer decisions.
    pub(super) fn lets_respond(&self) -> bool {
        self.args.allow_respond
    }

    /// Interval at which a waiting call tells its progress: ten seconds, or as tests have it.
    pub(super) fn progress_every() -> Duration {
        let stated = std::env::var("HOLDPOINT_PROGRESS_EVERY").ok();
        stated.and_then(|text| wait(&text).ok()).unwrap_or(Duration::from_secs(10))
    }

    /// A call of the client that calls itself so: an agent, and nothing proves its name.
    /// It may be given up meanwhile.
    pub(super) fn caller<'s>(
        &'s self,
        client: Option<&str>,
        given_up: &'s AtomicBool,
    ) -> Caller<'s> {
        let id = self.args.requested_by.clone().unwrap_or_else(|| name_of(client));
        let means = format!("{MEANS_OF_MCP}{}", user_number());
        let (kind, authenticated_by) = (Actor::Agent, Authentication::None);
        let by = Principal { kind, id: id.into(), authenticated_by, means: means.into() };
        Caller { server: self, by, given_up }
    }
}

impl Caller<'_> {
    /// The log, open for writing until the call is over.
    pub(super) fn session(&self, make: bool) -> Result<DecisionSession<'_>, Failure> {
        DecisionSession::open(&self.server.global, &self.server.args.turn, make)
    }

    /// Tells whether the client wants no answer any more, or has gone.
    pub(super) fn is_given_up(&self) -> bool {
        [self.given_up, &*self.server.has_ended].iter().any(|flag| flag.load(Ordering::Relaxed))
    }
}

/// A client says of itself what it likes: hidden characters are made visible, the rest is cut.
fn name_of(client: Option<&str>) -> String {
    let given = client.filter(|name| has_visible_character(name)).unwrap_or(UNNAMED);
    let shown = visible(bounded(given, CLIENT_NAME_BYTES)).to_string();
    format!("{CLIENT_PREFIX}{}", bounded(&shown, 2 * CLIENT_NAME_BYTES).trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::core::text::check_identifier;

    #[test]
    fn whatever_a_client_calls_itself_is_a_name_that_may_be_recorded() {
        assert_eq!(name_of(Some("claude-code")), "mcp:claude-code");
        assert_eq!(name_of(None), "mcp:unnamed");
        let long = "x".repeat(10_000);
        let hidden = "\u{202e}".repeat(5_000);
        for client in ["", " ", "S1 ", " S1", "\u{0}", "a\nb", "\u{200b}", "\\", &long, &hidden] {
            let name = name_of(Some(client));
            assert_eq!(check_identifier("name", &name), Ok(()), "{client:?}");
        }
    }
}
