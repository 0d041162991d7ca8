//! `holdpoint decision remind`: whoever is asked is reminded.

use crate::args::Global;
use crate::questions::decision_change::Change;
use crate::ui::{Exit, Failure, counted};
use holdpoint_domain::Command;
use holdpoint_domain::decision_point::{DecisionPointCommand, RemindDecisionPoint};

/// Options of `decision remind`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    change: Change,
}

/// Puts it on record, where `decision watch` shows it; nothing is sent.
pub(super) fn remind(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let command = |decision_id, by| {
        Command::DecisionPoint(DecisionPointCommand::RemindDecisionPoint(RemindDecisionPoint {
            decision_id,
            by,
        }))
    };
    args.change.carry_out(global, command, |point| {
        format!("{}: {}", point.state, counted(point.reminders, "reminder"))
    })
}
