//! `holdpoint policy set`: the log demands more from now on.

use super::show::stated_rows;
use crate::args::principal::user;
use crate::args::{Global, LockWaitArgs};
use crate::questions::confirm::{self, Offer};
use crate::questions::decision_session::DecisionSession;
use crate::ui::{Exit, Failure, Output};
use crate::verbs::decide::policy::policy_args::Given;
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::log::{ChangePolicy, GatePolicy, LogCommand};
use holdpoint_engine::shell::{Receipt, TypedLine};
use serde_json::json;

/// Options of `policy set`.
#[derive(Debug, clap::Args)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    turn: LockWaitArgs,
    #[command(flatten)]
    given: Given,
}

/// Records the policy. The log is made where there is none. Exit 5 where it would demand less, and
/// where nobody sits at a terminal.
pub(super) fn set(global: &Global, args: &SetArgs) -> Result<Exit, Failure> {
    expect_terminal("set a policy")?;
    let session = DecisionSession::open(global, &args.turn, true)?;
    let before = session.look(|world| world.policy())?;
    let policy = args.given.over(&before, false)?;
    let line = confirmed("set a policy", "set", &before, &policy)?;
    let by = user(Actor::Human);
    let change =
        ChangePolicy { by: by.clone(), policy: policy.clone(), approval: None, people: None };
    let command = Command::Log(LogCommand::SetPolicy(Box::new(change)));
    let submitted = session.submit_typed(&by, &command, line)?;
    let (receipt, _) = session.carried_out(None, submitted)?;
    session.close()?;
    tell(global, &receipt, &policy)
}

/// Whether a person could type here; told before anything is written.
pub(super) fn expect_terminal(what: &str) -> Result<(), Failure> {
    if confirm::is_possible() { Ok(()) } else { Err(no_terminal(what)) }
}

pub(super) fn no_terminal(what: &str) -> Failure {
    let message = format!(
        "only a person at a terminal may {what}, and this is none ({}): do it at a terminal, \
         outside of containers and of commands that are recorded",
        user(Actor::Human).means
    );
    Failure::new(Exit::REFUSED, "no_terminal", message)
}

/// Shows what the log would demand, and reads the word by which a person says so.
pub(super) fn confirmed(
    what: &str,
    word: &str,
    before: &GatePolicy,
    after: &GatePolicy,
) -> Result<TypedLine, Failure> {
    let rows = stated_rows(before).into_iter().zip(stated_rows(after));
    let row = |((name, was), (_, is)): ((&str, String), (&str, String))| match was == is {
        true => format!("{name:<22}{is}"),
        false => format!("{name:<22}{is}   <- before: {was}"),
    };
    let title = format!("to {what}: what the log demands from then on");
    let lines = std::iter::once(title).chain(rows.map(row)).collect();
    let line = Offer::of_change(lines, &format!("holdpoint policy {word}"), word).typed()?;
    line.ok_or_else(|| no_terminal(what))
}

/// What the log demands now.
pub(super) fn tell(
    global: &Global,
    receipt: &Receipt,
    policy: &GatePolicy,
) -> Result<Exit, Failure> {
    let mut out = Output::stdout().folding();
    let record = receipt.last_sequence;
    if global.json {
        out.json(&json!({ "record": record, "policy": policy }));
    } else {
        out.line(format_args!("{:<22}{record}", "record"));
        for (name, value) in stated_rows(policy) {
            out.line(format_args!("{name:<22}{value}"));
        }
    }
    out.finish()?;
    Ok(Exit::DONE)
}
