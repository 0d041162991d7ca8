//! `holdpoint decision wait`: block until a decision ended; the exit code tells how.

use super::follow::{Followed, follow};
use crate::args::Global;
use crate::log::Directory;
use crate::log::question_look::of_run;
use crate::log::verdict::{warn_doubt, warn_permits_nothing};
use crate::questions::waiting::{Waited, until_ended};
use crate::ui::{Exit, Failure, Output, complain};
use holdpoint_domain::decision_point::MAX_TIMEOUT_MS;
use holdpoint_engine::shell::WaitOutcome;
use std::time::Duration;

/// Options of `decision wait`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// ID of the question, at least six of its digits, or the issue of its one open decision; of a
    /// run, or `@`: its newest question. Of several, the first to close ends the wait. With
    /// `--follow`, `issue=ISSUE` selects the decisions of an issue.
    #[arg(value_name = "ID", required_unless_present = "follow")]
    ids: Vec<String>,
    /// Maximum wait [default: none]; giving up changes nothing.
    #[arg(long, value_name = "DURATION", value_parser = timeout, conflicts_with = "follow")]
    timeout: Option<Duration>,
    /// Print the events of one question, or of all, as they happen, until Ctrl-C.
    #[arg(long, short)]
    follow: bool,
    /// Follow from this record on, 0 for the first of the log [default: the next record].
    #[arg(long, value_name = "SEQ", requires = "follow")]
    since: Option<u64>,
}

/// Waits: exit codes 0, 5 and 10 to 17 tell how the question ended. Exit 3 where there is none.
pub(super) fn wait(global: &Global, args: &Args) -> Result<Exit, Failure> {
    if !args.follow {
        let directory = Directory::open(global)?;
        let ids: Result<Vec<String>, Failure> =
            args.ids.iter().map(|id| of_run(&directory, id)).collect();
        return show(global, &until_ended(global, &ids?, args.timeout, &|| false)?);
    }
    if args.ids.len() > 1 {
        let message = "--follow takes one question, or none for all";
        return Err(Failure::new(Exit::USAGE, "several_questions", message));
    }
    let id = args.ids.first().map(String::as_str);
    let issue = id.and_then(|id| id.strip_prefix("issue="));
    follow(global, &Followed { from: args.since, issue, id: id.filter(|_| issue.is_none()) })
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
