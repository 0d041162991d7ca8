//! `holdpoint decision`: questions that a program waits at and a person answers.

mod binding;
mod cancel;
mod change;
mod consume;
mod create;
mod escalate;
mod evidence;
mod expire;
mod following;
mod list;
pub(crate) mod long_over;
mod meant;
mod offered;
mod overdue;
mod policy;
mod refine;
mod remind;
mod respond;
mod session;
mod show;
mod shown;
mod told;
mod wait;
pub(crate) mod waiting;
mod watch;

use crate::args::global::{Global, settle};
use crate::log::archives::or_archived;
use crate::ui::exit::{Exit, Failure};
use clap::Subcommand;
pub(crate) use shown::{
    CLAIM_WAITS, Doubts, brief_lines, doubt, how_to_answer, lines, outcome, outcome_with_reason,
    tell_how_to_answer, what_starts,
};

pub(crate) use following::Following;
pub(crate) use list::place;
pub(crate) use meant::{expect_a_no, expect_refined_rejecting, expect_rejecting};
pub(crate) use overdue::{Attempt, Overdue};
pub(crate) use policy::Proof;
pub(crate) use respond::{Answered, answer, give};
pub(crate) use session::{DecisionSession, Only, is_late, unproven};

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
    Respond(respond::Args),
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
        DecisionVerb::Respond(args) => respond::respond(global, args),
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

/// A failure tells a program always which decision it is about and how that stands, or null.
pub(crate) fn told_whole(failure: Failure) -> Failure {
    ["decision_id", "current"].into_iter().fold(failure, Failure::with_key)
}
