//! `holdpoint policy`: who may pass a hold point, by whose word, and changing what the log demands.

mod change;
pub(crate) mod policy_args;
mod relax;
mod show;

use crate::args::{Global, settle};
use crate::ui::Exit;
use clap::Subcommand;

/// What to do with the policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Show what each file, the log and the project demand, and what is in force.
    Show(show::Args),
    /// Let the log demand more from now on. Only a person at a terminal may.
    Set(change::SetArgs),
    /// Let the log demand less: its approvers are asked, and where it names none, its owner.
    Relax(relax::Args),
}

/// Carries the verb out. Exit 5 where a rule says no.
pub(crate) fn main(global: &Global, verb: PolicyVerb) -> Exit {
    let outcome = match verb {
        PolicyVerb::Show(args) => show::show(global, &args),
        PolicyVerb::Set(args) => change::set(global, &args),
        PolicyVerb::Relax(args) => relax::relax(global, &args),
    };
    settle(global, outcome)
}
