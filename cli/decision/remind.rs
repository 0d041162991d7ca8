//! `holdpoint decision remind`: whoever is asked is reminded.

use super::desk::{Desk, Only};
use super::principal::Speaker;
use super::told::tell;
use crate::arguments::Global;
use crate::exit::{Exit, Failure};
use crate::hold::Turn;
use crate::text::counted;
use holdpoint_domain::command::{Command, RemindDecisionPoint};

/// Options of `decision remind`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The decision: its id, the beginning of its id, or its issue where one of it is open.
    #[arg(value_name = "ID")]
    decision: String,
    #[command(flatten)]
    speaker: Speaker,
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    turn: Turn,
}

/// Puts it on record, where `decision watch` shows it; nothing is sent.
pub(super) fn remind(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let desk = Desk::open(global, &args.turn, false)?;
    let point = desk.find(&args.decision)?;
    let by = args.speaker.principal();
    let command = Command::RemindDecisionPoint(RemindDecisionPoint {
        decision_id: point.decision_id.to_string(),
        by: by.clone(),
    });
    let submitted = desk.submit(&point, &by, &args.only, &command)?;
    tell(global, desk, &point.decision_id, &submitted, |point| {
        format!("{}: {}", point.state, counted(point.reminders, "reminder"))
    })
}
