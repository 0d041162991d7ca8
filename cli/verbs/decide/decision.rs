//! `holdpoint decision`: questions that wait for a person, or for a program that asked.

mod binding;
mod cancel;
mod consume;
mod create;
mod evidence;
mod expire;
mod follow;
mod list;
mod notify;
mod respond;
mod show;
mod wait;

use crate::args::{Global, settle};
use crate::log::or_archived;
use crate::questions::decision_output::told_whole;
use crate::ui::Exit;
use clap::Subcommand;

/// What to do with questions.
#[derive(Debug, Subcommand)]
pub(crate) enum DecisionVerb {
    /// Create a question and print its ID.
    Create(Box<create::Args>),
    /// List pending questions.
    List(list::Args),
    /// Show a question and its outcome.
    Show(show::Args),
    /// Answer a question with one of its choices. The first answer counts.
    Respond(Box<respond::Args>),
    /// Cancel a decision, or revoke an unspent approval.
    Cancel(cancel::Args),
    /// Remind the approvers, or notify somebody else.
    Notify(notify::Args),
    /// Wait for the answer to a question; the exit code tells which.
    Wait(wait::Args),
    /// Record due warnings and timeouts of questions, runs and threads.
    Expire(expire::Args),
    /// Consume the approval of one action, once.
    Consume(consume::Args),
}

impl DecisionVerb {
    /// Returns whether it writes to the log at once; a wait does so where a time is over.
    pub(crate) const fn writes(&self) -> bool {
        match self {
            Self::List(_) | Self::Show(_) | Self::Wait(_) => false,
            Self::Create(_)
            | Self::Respond(_)
            | Self::Cancel(_)
            | Self::Notify(_)
            | Self::Expire(_)
            | Self::Consume(_) => true,
        }
    }
}

/// Carries the verb out. `is_named`: the log is named, and not found.
pub(crate) fn main(global: &Global, is_named: bool, verb: DecisionVerb) -> Exit {
    let outcome = match verb {
        DecisionVerb::Respond(args) => return respond::main(global, is_named, *args),
        DecisionVerb::Create(args) => create::create(global, *args),
        DecisionVerb::List(args) => list::list(global, &args),
        DecisionVerb::Show(args) => show::show(global, args),
        DecisionVerb::Cancel(args) => cancel::cancel(global, args),
        DecisionVerb::Notify(args) => notify::notify(global, args),
        DecisionVerb::Wait(args) => wait::wait(global, &args),
        DecisionVerb::Expire(args) => expire::expire(global, &args),
        DecisionVerb::Consume(args) => consume::consume(global, args),
    };
    settle(global, or_archived(global, outcome).map_err(told_whole))
}
