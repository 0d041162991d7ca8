//! `holdpoint decision wait`: block until a decision ended; the exit code tells how.

use crate::args::Global;
use crate::log::verdict::{warn_doubt, warn_permits_nothing};
use crate::questions::decision_waiting::{Waited, until_ended};
use crate::ui::{Exit, Failure, Output, complain};
use holdpoint_domain::decision_point::MAX_TIMEOUT_MS;
use holdpoint_engine::shell::WaitOutcome;
use std::time::Duration;

/// Options of `decision wait`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The decision: its id, the beginning of its id, or its issue; several with --any.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Wait for the first of several decisions that ends.
    #[arg(long)]
    any: bool,
    /// How long to wait; left away: for as long as it takes. Giving up changes nothing.
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    timeout: Option<Duration>,
}

/// Waits. Exit 0 when it was answered; 5 when the answer is in doubt, or an approval that is over;
/// 10 when it is still pending at the wait's own timeout, 11 when its default was taken, 12
/// aborted, 13 cancelled or revoked, 14 superseded, 15 when guidance led to another round, 16 when
/// the option that was chosen, or taken by default, rejects; 3 when there is no such decision.
pub(super) fn wait(global: &Global, args: &Args) -> Result<Exit, Failure> {
    if args.ids.len() > 1 && !args.any {
        let message = "several decisions are named: wait for the first that ends with --any, or \
                       for each with a wait of its own";
        return Err(Failure::new(Exit::USAGE, "several_decisions", message));
    }
    show(global, &until_ended(global, &args.ids, args.timeout, &|| false)?)
}

/// Waits for one decision, and says on stdout what became of it.
pub(super) fn wait_for(
    global: &Global,
    decision_id: &str,
    timeout: Option<Duration>,
) -> Result<Exit, Failure> {
    show(global, &until_ended(global, &[decision_id.to_string()], timeout, &|| false)?)
}

/// How long a wait may last, as people write it.
pub(super) fn timeout(text: &str) -> Result<Duration, String> {
    let timeout = crate::args::durations::wait(text)?;
    match timeout.as_millis() > u128::from(MAX_TIMEOUT_MS) {
        true => Err("wait for 366 days at most, or leave the option out".to_string()),
        false => Ok(timeout),
    }
}

fn show(global: &Global, waited: &Waited) -> Result<Exit, Failure> {
    let mut out = Output::stdout();
    if global.json {
        out.json(waited)
    } else {
        out.line(&waited.line)
    }
    out.finish()?;
    match waited.outcome {
        WaitOutcome::Answered => warn_permits_nothing(waited.doubt, "the answer"),
        _ => waited.doubt.into_iter().for_each(warn_doubt),
    }
    waited.approval_over.iter().for_each(|over| complain(over.told()));
    Ok(waited.exit())
}
