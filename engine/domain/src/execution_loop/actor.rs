//! Who acts (Phase-01): only a human has authority.

use crate::closed::closed_enum;

closed_enum! {
    /// Who did something. Phase-01 knows HUMAN and SYSTEM; what acts on a human's behalf is told
    /// apart here as AGENT (chooses its own steps) and AUTOMATION (follows a fixed script).
    pub enum Actor {
        /// A person: the only authority.
        Human = "HUMAN",
        /// A program that chooses its own steps.
        Agent = "AGENT",
        /// A program that follows a fixed script.
        Automation = "AUTOMATION",
        /// Holdpoint itself.
        System = "SYSTEM",
    }
}

closed_enum! {
    /// What an actor may do.
    pub enum Role {
        /// May initiate, confirm and override.
        Authority = "AUTHORITY",
        /// May only do what an authority initiated.
        Executor = "EXECUTOR",
    }
}

impl Actor {
    /// Phase-01: HUMAN is the sole authoritative actor; every other actor executes.
    #[must_use]
    pub const fn role(self) -> Role {
        match self {
            Self::Human => Role::Authority,
            Self::Agent | Self::Automation | Self::System => Role::Executor,
        }
    }
}
