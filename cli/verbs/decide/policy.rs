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
    /// Show the policy of each file, the log and the project, and the effective one.
    Show,
    /// Change the policy of the log. A person at a terminal may tighten it; loosening it asks its
    /// approvers, or its owner where it names none.
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
