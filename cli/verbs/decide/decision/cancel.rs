//! `holdpoint decision cancel`: a question is taken back.

use crate::args::Global;
use crate::questions::decision_change::Change;
use crate::questions::decision_output::standing;
use crate::questions::permits::Act;
use crate::ui::{Exit, Failure};
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::decision_point::{CancelDecisionPoint, DecisionPointCommand};

/// Options of `decision cancel`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Reason, at most 4 KiB.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    reason: Option<String>,
    #[command(flatten)]
    change: Change,
}

/// Takes it back; what waits for it goes on waiting. Only the requester or a person may. Exit 4
/// where it ended otherwise before.
pub(super) fn cancel(global: &Global, args: Args) -> Result<Exit, Failure> {
    let Args { reason, change } = args;
    let command = |decision_id, by| {
        let cancel = CancelDecisionPoint { decision_id, by, reason };
        DecisionPointCommand::CancelDecisionPoint(cancel)
    };
    change.carry_out(global, Act::Cancel, command, standing)
}
