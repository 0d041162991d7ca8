//! `holdpoint decision consume`: the approval of one action is spent, once.

use super::binding::BindArgs;
use crate::args::principal::Speaker;
use crate::args::{Global, LockWaitArgs};
use crate::questions::decision_change::{ActArgs, Change};
use crate::questions::decision_session::Only;
use crate::questions::decision_view::outcome;
use crate::questions::permits::Act;
use crate::ui::{Exit, Failure};
use holdpoint_domain::decision_point::{ConsumeApproval, DecisionPoint, DecisionPointCommand};

/// Options of `decision consume`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// ID of the decision, a prefix of it, or its issue.
    #[arg(value_name = "ID")]
    decision: String,
    #[command(flatten)]
    bind: BindArgs,
    #[command(flatten)]
    speaker: Speaker,
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// Spends it. Exit 0 means: act, once. Exit 5 where nobody approved this, or it was spent or has
/// lapsed; there is no key that makes spending it twice a success.
pub(super) fn consume(global: &Global, args: Args) -> Result<Exit, Failure> {
    let Args { decision, bind, speaker, turn } = args;
    let missing = || Failure::new(Exit::USAGE, "usage", "name the action by --bind");
    let binding = bind.read()?.ok_or_else(missing)?;
    let change = Change { decision, by: ActArgs { speaker, only: Only::default(), turn } };
    let command = |decision_id, by| {
        DecisionPointCommand::ConsumeApproval(ConsumeApproval { decision_id, by, binding })
    };
    let spent = |point: &DecisionPoint| format!("spent: {}", outcome(point));
    change.carry_out(global, Act::Consume, command, spent)
}
