//! `holdpoint decision consume`: the approval of one action is spent, once.

use super::binding::binding;
use crate::args::principal::Speaker;
use crate::args::{Global, LockWaitArgs};
use crate::questions::decision_output::{came_to, show};
use crate::questions::decision_session::{DecisionSession, Only};
use crate::questions::decision_view::outcome;
use crate::questions::long_over;
use crate::questions::permits::Act;
use crate::ui::{Exit, Failure};
use holdpoint_domain::Command;
use holdpoint_domain::decision_point::{ConsumeApproval, DecisionPoint, DecisionPointCommand};

/// Options of `decision consume`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The decision: its id, the beginning of its id, or its issue.
    #[arg(value_name = "ID")]
    decision: String,
    /// The tool that is to act now.
    #[arg(long, value_name = "TOOL")]
    bind_tool: String,
    /// Its input, whose digest has to be the approved one.
    #[arg(long, value_name = "JSON|@FILE|-")]
    bind_input: String,
    #[command(flatten)]
    speaker: Speaker,
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// Spends it. Exit 0 means: act, once. Exit 5 where nobody approved this, or it was spent or has
/// lapsed; there is no key that makes spending it twice a success.
pub(super) fn consume(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let binding = binding(&args.bind_tool, &args.bind_input)?;
    let session = DecisionSession::open(global, &args.turn, false)?;
    let by = args.speaker.principal(false);
    let command = |decision_id| {
        Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(ConsumeApproval {
            decision_id,
            by: by.clone(),
            binding,
        }))
    };
    let spent = |point: &DecisionPoint| format!("spent: {}", outcome(point));
    let point = match session.find(&args.decision, Act::Consume) {
        Ok(point) => point,
        Err(unknown) => {
            let told = long_over::look_up(global, session, unknown, &args.decision, command)?;
            return show(global, &told, spent);
        }
    };
    let command = command(point.decision_id.to_string());
    let submitted = session.submit(&point, &by, &Only::default(), &command)?;
    show(global, &came_to(session, &point.decision_id, submitted)?, spent)
}
