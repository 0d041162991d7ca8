//! `holdpoint decision cancel`: a question is taken back.

use super::desk::{Desk, Only};
use super::principal::Speaker;
use super::told::{standing, tell};
use crate::arguments::Global;
use crate::exit::{Exit, Failure};
use crate::hold::Turn;
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::command::{CancelDecisionPoint, Command};

/// Options of `decision cancel`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The decision: its id, the beginning of its id, or its issue where one of it is open.
    #[arg(value_name = "ID")]
    decision: String,
    /// Why, at most 4 KiB.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    reason: Option<String>,
    #[command(flatten)]
    speaker: Speaker,
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    turn: Turn,
}

/// Takes it back; what waits for it goes on waiting. Only the requester or a person may. Exit 4
/// where it ended otherwise before.
pub(super) fn cancel(global: &Global, args: Args) -> Result<Exit, Failure> {
    let desk = Desk::open(global, &args.turn, false)?;
    let point = desk.find(&args.decision)?;
    let by = args.speaker.principal();
    let command = Command::CancelDecisionPoint(CancelDecisionPoint {
        decision_id: point.decision_id.to_string(),
        by: by.clone(),
        reason: args.reason,
    });
    let submitted = desk.submit(&point, &by, &args.only, &command)?;
    tell(global, desk, &point.decision_id, &submitted, standing)
}
