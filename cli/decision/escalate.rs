//! `holdpoint decision escalate`: somebody else is told of a question.

use super::desk::{Desk, Only};
use super::principal::Speaker;
use super::told::tell;
use crate::arguments::Global;
use crate::exit::{Exit, Failure};
use crate::hold::Turn;
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::command::{Command, EscalateDecisionPoint};
use holdpoint_domain::text::visible;
use holdpoint_domain::world::DecisionPoint;

/// Options of `decision escalate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The decision: its id, the beginning of its id, or its issue where one of it is open.
    #[arg(value_name = "ID")]
    decision: String,
    /// To whom.
    #[arg(long, value_name = "NAME")]
    to: String,
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

/// Puts it on record, where `decision watch` and `decision list` show it; nothing is sent. Who may
/// answer stays as it was.
pub(super) fn escalate(global: &Global, args: Args) -> Result<Exit, Failure> {
    let desk = Desk::open(global, &args.turn, false)?;
    let point = desk.find(&args.decision)?;
    let by = args.speaker.principal();
    let command = Command::EscalateDecisionPoint(EscalateDecisionPoint {
        decision_id: point.decision_id.to_string(),
        by: by.clone(),
        to: args.to,
        reason: args.reason,
    });
    let submitted = desk.submit(&point, &by, &args.only, &command)?;
    tell(global, desk, &point.decision_id, &submitted, escalated)
}

fn escalated(point: &DecisionPoint) -> String {
    let to = point.escalation.as_ref().map_or("", |escalation| &escalation.to);
    format!("{}: escalated to {}", point.state, visible(to))
}
