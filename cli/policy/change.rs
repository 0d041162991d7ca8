//! `holdpoint policy set`: the log demands more from now on.

use super::given::Given;
use super::show::stated_rows;
use crate::arguments::Global;
use crate::decision::{DecisionSession, Only, user};
use crate::exit::{Exit, Failure};
use crate::hold::LockWaitArgs;
use crate::output::Output;
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::log::{ChangePolicy, GatePolicy, LogCommand};
use holdpoint_engine::shell::Receipt;
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
    at_a_terminal("set a policy")?;
    let session = DecisionSession::open(global, &args.turn, true)?;
    let policy = args.given.over(&session.look(|world| world.policy())?, false)?;
    let by = user(Actor::Human);
    let change =
        ChangePolicy { by: by.clone(), policy: policy.clone(), approval: None, people: None };
    let command = Command::Log(LogCommand::SetPolicy(Box::new(change)));
    let submitted = session.submit_new(None, &by, &Only::default(), &command)?;
    let (receipt, _) = session.carried_out(None, submitted)?;
    session.close()?;
    tell(global, &receipt, &policy)
}

/// Whether whoever runs this counts as a person here; told before anything is written.
pub(super) fn at_a_terminal(what: &str) -> Result<(), Failure> {
    let by = user(Actor::Human);
    if by.authenticated_by == Authentication::Terminal {
        return Ok(());
    }
    let message = format!(
        "only a person at a terminal may {what}, and this is none ({}): do it at a terminal, \
         outside of containers and of commands that are recorded",
        by.means
    );
    Err(Failure::new(Exit::REFUSED, "no_terminal", message))
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
