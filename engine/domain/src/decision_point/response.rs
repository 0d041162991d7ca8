//! An answer, and who gives it.

use serde::{Deserialize, Serialize};

use super::Authentication;
use crate::envelope::ActorId;
use crate::event::Text;
use crate::execution_loop::Actor;

/// The seed's name for "accept my guidance as it is". No option may be called so.
pub const ACCEPT: &str = "_accept";

/// What somebody answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Response {
    /// The option with this id.
    Option(Text),
    /// A text of one's own, which ends the question.
    Text(Text),
    /// The guidance that led to this round, as it is. Not in the first round.
    Accept,
    /// Guidance: another round, with a proposal that heeds it.
    Guidance(Text),
}

impl Response {
    /// The option with this id; the seed's `_accept` stands for [`Response::Accept`].
    #[must_use]
    pub fn option(id: &str) -> Self {
        if id == ACCEPT { Self::Accept } else { Self::Option(id.into()) }
    }

    /// The words of the answer, where it has some.
    #[must_use]
    pub fn words(&self) -> Option<&Text> {
        match self {
            Self::Text(words) | Self::Guidance(words) => Some(words),
            Self::Option(_) | Self::Accept => None,
        }
    }
}

/// Somebody who asks or answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Principal {
    /// Human, agent, automation or Holdpoint itself.
    pub kind: Actor,
    /// The name, at most 256 bytes.
    pub id: Text,
    /// What proves the name.
    pub authenticated_by: Authentication,
    /// By what means, in words: the terminal, the user's number. At most 256 bytes.
    pub means: Text,
}

impl Principal {
    /// Whether it is the actor of a record.
    #[must_use]
    pub fn is(&self, actor: &ActorId) -> bool {
        self.kind == actor.kind && *self.id == *actor.id
    }

    /// The actor of the records that follow from what it does.
    #[must_use]
    pub fn actor(&self) -> ActorId {
        ActorId { kind: self.kind, id: self.id.as_str().into() }
    }

    /// `human`, `agent` or `system`; an automation is an agent.
    #[must_use]
    pub const fn kind_name(&self) -> &'static str {
        match self.kind {
            Actor::Human => "human",
            Actor::Agent | Actor::Automation => "agent",
            Actor::System => "system",
        }
    }
}
