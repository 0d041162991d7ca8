//! `holdpoint decision notify`: reminds whoever is asked, or tells somebody else.

use crate::args::Global;
use crate::questions::decision_change::Change;
use crate::questions::permits::Act;
use crate::ui::{Exit, Failure, counted};
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{
    DecisionPoint, DecisionPointCommand, EscalateDecisionPoint, RemindDecisionPoint,
};

/// Options of `decision notify`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Person to notify [default: the approvers].
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Reason for the notification, at most 4 KiB.
    #[arg(long, value_name = "TEXT", requires = "to")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    reason: Option<String>,
    #[command(flatten)]
    change: Change,
}

/// Records a reminder or an escalation, which `decision wait --follow` shows; sends nothing. Who
/// may answer stays as it was.
pub(super) fn notify(global: &Global, args: Args) -> Result<Exit, Failure> {
    let Args { to, reason, change } = args;
    let is_reminder = to.is_none();
    let command = |decision_id, by| match to {
        Some(to) => {
            let escalation = EscalateDecisionPoint { decision_id, by, to, reason };
            DecisionPointCommand::EscalateDecisionPoint(escalation)
        }
        None => DecisionPointCommand::RemindDecisionPoint(RemindDecisionPoint { decision_id, by }),
    };
    change.carry_out(global, Act::Notify, command, |point| match is_reminder {
        true => format!("{}: {}", point.state, counted(point.reminders, "reminder")),
        false => escalated(point),
    })
}

fn escalated(point: &DecisionPoint) -> String {
    let to = point.escalation.as_ref().map_or("", |escalation| &escalation.to);
    format!("{}: escalated to {}", point.state, visible(to))
}
