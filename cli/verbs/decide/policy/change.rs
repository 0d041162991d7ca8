//! `holdpoint policy set`: the log demands more from now on, or less once that is approved.

use super::show::stated_rows;
use crate::args::principal::user;
use crate::args::{Global, LockWaitArgs};
use crate::questions::confirm::{self, Offer};
use crate::questions::decision_session::DecisionSession;
use crate::ui::{Exit, Failure, Output, complain};
use crate::verbs::decide::policy::policy_args::PolicySettings;
use crate::verbs::decide::policy::relax::relax;
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::log::{ChangePolicy, GatePolicy, LogCommand};
use holdpoint_engine::shell::{Receipt, TypedLine};
use serde_json::json;

/// Options of `policy set`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    settings: PolicySettings,
    /// When loosening: print the ID of the question and exit with 10; `--approval ID` applies the
    /// change later.
    #[arg(long, conflicts_with = "approval")]
    no_wait: bool,
    /// Decision that approved exactly this change.
    #[arg(long, value_name = "ID")]
    approval: Option<String>,
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// Records the policy: at once where it demands more, else once that is approved. The log is made
/// where there is none. Exit 5 where nobody sits at a terminal or it is not approved, 10 where
/// nobody waits.
pub(super) fn set(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let may_begin = !args.no_wait && args.approval.is_none();
    if may_begin && !confirm::is_possible() {
        return Err(no_terminal("set a policy"));
    }
    let session = DecisionSession::open(global, &args.turn, may_begin)?;
    let (before, is_lost) = session.look(|world| (world.policy(), world.is_policy_lost()))?;
    let after = args.settings.over(&before)?;
    let loosened = before.check_kept_by(&after).err().filter(|_| !is_lost);
    if let Some(loosened) = &loosened {
        complain(&format!("this is less than before: {loosened}"));
    }
    if loosened.is_some() || args.approval.is_some() {
        let terms = (args.approval.as_deref(), !args.no_wait);
        return relax(global, session, (&before, &after), terms);
    }
    let line = confirmed("set a policy", "set", &before, &after)?;
    let by = user(Actor::Human);
    let change =
        ChangePolicy { by: by.clone(), policy: after.clone(), approval: None, people: None };
    let command = Command::Log(LogCommand::SetPolicy(Box::new(change)));
    let submitted = session.submit_typed(&by, &command, line)?;
    let (receipt, _) = session.carried_out(None, submitted)?;
    session.close()?;
    tell(global, &receipt, &after)
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
    let line = Offer::of_change(lines, "holdpoint policy set", word).typed()?;
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
