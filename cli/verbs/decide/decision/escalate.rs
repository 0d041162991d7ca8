//! `holdpoint decision escalate`: somebody else is told of a question.

use crate::args::Global;
use crate::questions::decision_change::Change;
use crate::ui::{Exit, Failure};
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::Command;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{
    DecisionPoint, DecisionPointCommand, EscalateDecisionPoint,
};

/// Options of `decision escalate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// To whom.
    #[arg(long, value_name = "NAME")]
    to: String,
    /// Why, at most 4 KiB.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    reason: Option<String>,
    #[command(flatten)]
    change: Change,
}

/// Puts it on record, where `decision watch` and `decision list` show it; nothing is sent. Who may
/// answer stays as it was.
pub(super) fn escalate(global: &Global, args: Args) -> Result<Exit, Failure> {
    let Args { to, reason, change } = args;
    let command =
        |decision_id, by| {
            Command::DecisionPoint(DecisionPointCommand::EscalateDecisionPoint(
                EscalateDecisionPoint { decision_id, by, to, reason },
            ))
        };
    change.carry_out(global, command, escalated)
}

fn escalated(point: &DecisionPoint) -> String {
    let to = point.escalation.as_ref().map_or("", |escalation| &escalation.to);
    format!("{}: escalated to {}", point.state, visible(to))
}
