//! `holdpoint thread list`: every thread in a line.

use super::reading::{read, threads};
use crate::arguments::Global;
use crate::directory::Directory;
use crate::exit::{Exit, Failure, complain};
use crate::missing::missing;
use crate::output::Output;
use crate::text::{aligned, moment};
use crate::verify::{exit_of, refuse_damaged_list, warn};
use holdpoint_domain::text::visible;
use holdpoint_domain::world::Thread;
use holdpoint_replay::Until;

/// Options of `thread list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only threads of this tenant.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
}

/// Lists the live threads, then those that ended, in the order in which they did; exit 3 where
/// there is no log. What the log does not hold any more is said below them.
pub(super) fn list(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let rebuilt = read(&directory, Until::End, &mut |_| {})?;
    directory.expect_log(&rebuilt.report)?;
    refuse_damaged_list(global, &rebuilt.report)?;
    let is_wanted = |thread: &&Thread| {
        args.tenant.as_deref().is_none_or(|tenant| thread.tenant_id.as_str() == tenant)
    };
    let found: Vec<&Thread> = threads(&rebuilt.world).filter(is_wanted).collect();
    let missing = missing(&directory, &rebuilt, "threads that ended there may not be listed");
    let mut out = Output::stdout();
    if global.json {
        out.json(&found);
        missing.iter().for_each(|missing| complain(missing));
    } else {
        show(&mut out, &found);
        missing.iter().for_each(|missing| out.line(format_args!("not here: {missing}")));
    }
    out.finish()?;
    if !global.json && found.is_empty() && !rebuilt.report.failed() {
        complain(match args.tenant {
            Some(_) => "no thread is this tenant's",
            None => "there is no thread",
        });
    }
    warn(&rebuilt.report);
    Ok(exit_of(&rebuilt.report))
}

fn show(out: &mut Output, threads: &[&Thread]) {
    if threads.is_empty() {
        return;
    }
    let header =
        ["tenant", "correlation", "turns", "state", "pending", "unsaid", "began", "newest"];
    let rows = threads.iter().map(|thread| row_of(thread));
    let rows: Vec<_> = std::iter::once(header.map(String::from)).chain(rows).collect();
    aligned(&rows).iter().for_each(|line| out.line(line));
}

fn row_of(thread: &Thread) -> [String; 8] {
    let (directive, reason) = (thread.last_directive, thread.last_reason_code);
    [
        visible(&thread.tenant_id).to_string(),
        visible(&thread.correlation_id).to_string(),
        thread.turns.to_string(),
        if thread.is_closed { "ended" } else { "open" }.to_string(),
        thread.state.pending_state().to_string(),
        thread.state.resume_buffers.len().to_string(),
        moment(thread.started_at),
        format!("turn {}: {directive} {reason}", thread.last_turn_id),
    ]
}
