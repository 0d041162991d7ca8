//! Requester, story and cause of a command.

use super::entropy::{EntropySource, SystemEntropy};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::text::{check_legible, is_reserved_name, visible};
use holdpoint_domain::decision_point::DecisionPointRefusal;
use holdpoint_domain::{ActorId, Refusal};

/// Requester, story and cause of a command. The name is a claim: what the process proves of it is
/// recorded beside it.
///
/// ```
/// use holdpoint_engine::Origin;
///
/// // One line where a story begins: it gets a name of its own.
/// let order = Origin::automation("shop");
///
/// // The same caller in a story that has a name, because of what record 7 says.
/// let payment = Origin::automation("shop").within("order-1").caused_by(7);
/// assert_eq!(payment.correlation, "order-1");
/// assert_ne!(order.correlation, Origin::automation("shop").correlation);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Actor who asks.
    pub actor: ActorId,
    /// The story that the command belongs to: 128 random bits in hex, or the caller's own name.
    pub correlation: String,
    /// Sequence of the record that caused the command. `None`: the one that asked, where the
    /// command is about a question; else a story begins.
    pub causation: Option<u64>,
}

impl Origin {
    /// Checks whether the actor's name may be recorded: it can be read, and it is none of
    /// Holdpoint's own.
    pub(super) fn check_name(&self) -> Result<(), Refusal> {
        let (field, name) = ("actor id", &*self.actor.id);
        check_legible(field, name)?;
        if is_reserved_name(name) {
            let found = visible(name).to_string();
            return Err(DecisionPointRefusal::ReservedName { field, found }.into());
        }
        Ok(())
    }

    /// Somebody, in a story that begins here: its correlation is 128 fresh random bits. Where the
    /// system has none to give it is empty, and whatever is submitted is refused until
    /// [`Origin::within`] names a story.
    #[must_use]
    pub fn new(actor: ActorId) -> Self {
        let correlation = SystemEntropy.draw().map(|bits| bits.to_string()).unwrap_or_default();
        Self { actor, correlation, causation: None }
    }

    /// A program that decides nothing by itself, under a name: see [`Origin::new`].
    #[must_use]
    pub fn automation(name: impl Into<String>) -> Self {
        Self::new(ActorId { kind: Actor::Automation, id: name.into() })
    }

    /// An agent, under a name: see [`Origin::new`].
    #[must_use]
    pub fn agent(name: impl Into<String>) -> Self {
        Self::new(ActorId { kind: Actor::Agent, id: name.into() })
    }

    /// A person, under the name of a user of this machine: see [`Origin::new`].
    #[must_use]
    pub fn human(name: impl Into<String>) -> Self {
        Self::new(ActorId { kind: Actor::Human, id: name.into() })
    }

    /// The same in a story that has a name.
    #[must_use]
    pub fn within(self, correlation: impl Into<String>) -> Self {
        Self { correlation: correlation.into(), ..self }
    }

    /// The same because of what a record says.
    #[must_use]
    pub fn caused_by(self, sequence: u64) -> Self {
        Self { causation: Some(sequence), ..self }
    }
}
