//! Who asks or answers, as this process can prove it.

use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::core::actor::{Actor, Principal};
use holdpoint_engine::shell::{Identity, terminal_name};

/// In whose name a verb acts.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Speaker {
    /// Act under this name instead of the user's; an unverified claim, which counts only for
    /// policies that accept claims.
    #[arg(long = "as", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// Act as a program, not a person.
    #[arg(long)]
    agent: bool,
}

impl Speaker {
    /// Whether anything is said of who acts.
    pub(crate) const fn is_given(&self) -> bool {
        self.name.is_some() || self.agent
    }

    /// Whether it is the user of this process as a person.
    pub(crate) fn is_user(&self) -> bool {
        let is_own = |name: &str| name == Identity::of_process().name();
        !self.agent && self.name.as_deref().is_none_or(is_own)
    }

    /// Who acts: the user of this process, unless another name is claimed. `takes_person`: what is
    /// done is a person's to do, so that what proves one is looked at.
    pub(crate) fn principal(&self, takes_person: bool) -> Principal {
        let kind = if self.agent { Actor::Agent } else { kind_of_caller(takes_person) };
        self.name.as_deref().map_or_else(|| user(kind), |name| claimed(kind, name))
    }
}

/// What a caller is that does not say: a person at a terminal, else an automation. Without a
/// terminal somebody is a person only where one is asked for: then the policy of that question says
/// whether the system's user is proof enough.
pub(crate) fn kind_of_caller(takes_person: bool) -> Actor {
    match takes_person || terminal_name().is_some() {
        true => Actor::Human,
        false => Actor::Automation,
    }
}

/// The user of this process, at a terminal or without one.
pub(crate) fn user(kind: Actor) -> Principal {
    let identity = Identity::of_process();
    identity.principal(kind, identity.name())
}

/// A name that nothing proves. The user's own name is no claim.
pub(crate) fn claimed(kind: Actor, name: &str) -> Principal {
    Identity::of_process().principal(kind, name)
}
