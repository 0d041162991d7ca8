//! `holdpoint decision refine`: after guidance, the question is asked anew.

use crate::args::Global;
use crate::args::values::text;
use crate::questions::decision_change::Change;
use crate::questions::decision_output::standing;
use crate::questions::offered_options::Offered;
use crate::ui::{Exit, Failure};
use holdpoint_domain::Command;
use holdpoint_domain::decision_point::{
    DecisionPointCommand, MAX_CONTEXT_BYTES, RefineDecisionPoint,
};

/// Options of `decision refine`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The question; left away: as before.
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    #[command(flatten)]
    offered: Offered,
    /// The option that you prefer; left away: as before.
    #[arg(long, value_name = "ID")]
    default: Option<String>,
    /// You prefer none any more: where silence took the default, it aborts.
    #[arg(long, conflicts_with = "default")]
    no_default: bool,
    /// What one should know to answer, at most 64 KiB; `@FILE` reads a file.
    #[arg(long, value_name = "TEXT|@FILE")]
    context: Option<String>,
    #[command(flatten)]
    change: Change,
}

/// Asks anew. Options replace those of the round before; what is left away stays, and has to fit.
/// Only the requester or a person may, and only after guidance.
pub(super) fn refine(global: &Global, args: Args) -> Result<Exit, Failure> {
    let options = args.offered.read()?;
    let context = args.context.as_deref();
    let context = context.map(|given| text("--context", given, MAX_CONTEXT_BYTES)).transpose()?;
    let Args { prompt, default: default_option, no_default: drop_default, change, .. } = args;
    let command = |decision_id, by| {
        Command::DecisionPoint(DecisionPointCommand::RefineDecisionPoint(RefineDecisionPoint {
            decision_id,
            by,
            prompt,
            context,
            options,
            default_option,
            drop_default,
        }))
    };
    change.carry_out(global, command, standing)
}
