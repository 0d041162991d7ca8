//! `holdpoint decision refine`: after guidance, the question is asked anew.

use super::desk::{Desk, Only};
use super::given::text;
use super::offered::Offered;
use super::principal::Speaker;
use super::told::{standing, tell};
use crate::arguments::Global;
use crate::exit::{Exit, Failure};
use crate::hold::Turn;
use holdpoint_domain::command::{Command, RefineDecisionPoint};
use holdpoint_domain::decision_point::MAX_CONTEXT_BYTES;

/// Options of `decision refine`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The decision: its id, the beginning of its id, or its issue where one of it is open.
    #[arg(value_name = "ID")]
    decision: String,
    /// The question; left away: as before.
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    #[command(flatten)]
    offered: Offered,
    /// The option that you prefer; left away: as before.
    #[arg(long, value_name = "ID")]
    default: Option<String>,
    /// What one should know to answer, at most 64 KiB; `@FILE` reads a file.
    #[arg(long, value_name = "TEXT|@FILE")]
    context: Option<String>,
    #[command(flatten)]
    speaker: Speaker,
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    turn: Turn,
}

/// Asks anew. Options replace those of the round before; what is left away stays, and has to fit.
/// Only the requester or a person may, and only after guidance.
pub(super) fn refine(global: &Global, args: Args) -> Result<Exit, Failure> {
    let options = args.offered.read()?;
    let context = args.context.as_deref();
    let context = context.map(|given| text("--context", given, MAX_CONTEXT_BYTES)).transpose()?;
    let desk = Desk::open(global, &args.turn, false)?;
    let point = desk.find(&args.decision)?;
    let by = args.speaker.principal();
    let command = Command::RefineDecisionPoint(RefineDecisionPoint {
        decision_id: point.decision_id.to_string(),
        by: by.clone(),
        prompt: args.prompt,
        context,
        options,
        default_option: args.default,
    });
    let submitted = desk.submit(&point, &by, &args.only, &command)?;
    tell(global, desk, &point.decision_id, &submitted, standing)
}
