//! `holdpoint decision`: questions that a program waits at and a person answers.

mod binding;
mod cancel;
mod consume;
mod create;
mod escalate;
mod evidence;
mod expire;
mod list;
mod refine;
mod remind;
mod show;
mod wait;
mod watch;

use crate::args::{Global, settle};
use crate::log::or_archived;
use crate::questions::decision_output::told_whole;
use crate::questions::decision_response;
use crate::ui::Exit;
use clap::Subcommand;

/// What to do with decisions.
#[derive(Debug, Subcommand)]
pub(crate) enum DecisionVerb {
    /// Ask: put a question on record, and give its id.
    Create(Box<create::Args>),
    /// List the decisions that wait for an answer.
    List(list::Args),
    /// Show a decision: what is asked, and what became of it.
    Show(show::Args),
    /// Answer a decision. The first answer counts.
    Respond(decision_response::Args),
    /// Propose anew, after guidance.
    Refine(refine::Args),
    /// Take a decision back.
    Cancel(cancel::Args),
    /// Tell somebody else of a decision.
    Escalate(escalate::Args),
    /// Remind whoever is asked.
    Remind(remind::Args),
    /// Wait until a decision is answered; the exit code tells how.
    Wait(wait::Args),
    /// Follow what happens to decisions, as JSON Lines.
    Watch(watch::Args),
    /// Record the timeouts that are due.
    Expire(expire::Args),
    /// Spend the approval of one action, once.
    Consume(consume::Args),
}

/// Carries the verb out.
pub(crate) fn main(global: &Global, verb: DecisionVerb) -> Exit {
    let outcome = match verb {
        DecisionVerb::Create(args) => create::create(global, *args),
        DecisionVerb::List(args) => list::list(global, &args),
        DecisionVerb::Show(args) => show::show(global, &args),
        DecisionVerb::Respond(args) => decision_response::respond(global, args),
        DecisionVerb::Refine(args) => refine::refine(global, args),
        DecisionVerb::Cancel(args) => cancel::cancel(global, args),
        DecisionVerb::Escalate(args) => escalate::escalate(global, args),
        DecisionVerb::Remind(args) => remind::remind(global, &args),
        DecisionVerb::Wait(args) => wait::wait(global, &args),
        DecisionVerb::Watch(args) => watch::watch(global, &args),
        DecisionVerb::Expire(args) => expire::expire(global, &args),
        DecisionVerb::Consume(args) => consume::consume(global, &args),
    };
    settle(global, or_archived(global, outcome).map_err(told_whole))
}
