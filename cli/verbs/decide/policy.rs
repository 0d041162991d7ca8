//! `holdpoint policy`: who may pass a hold point, by whose word, and changing what the log demands.

mod change;
mod policy_args;
mod relax;
mod show;

use crate::args::{Global, settle};
use crate::ui::Exit;
use clap::Subcommand;

/// What to do with the policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Show what each file, the log and the project demand, and what is in force.
    Show,
    /// Change what the log demands. A person at a terminal may let it demand more; for less, its
    /// approvers are asked, and where it names none, its owner.
    Set(change::Args),
}

/// Carries the verb out. Exit 5 where a rule says no.
pub(crate) fn main(global: &Global, verb: PolicyVerb) -> Exit {
    let outcome = match verb {
        PolicyVerb::Show => show::show(global),
        PolicyVerb::Set(args) => change::set(global, &args),
    };
    settle(global, outcome)
}
