//! `holdpoint log stat`: how much a log holds, and of what.

use crate::archives::ArchiveArgs;
use crate::arguments::Global;
use crate::directory::Directory;
use crate::exit::{Exit, Failure, settle};
use crate::output::Output;
use crate::progress::Bar;
use crate::reach::followed;
use crate::text::moment;
use crate::verify::{exit_of, show_reach, warn};
use holdpoint_replay::{Statistics, statistics};

/// Length of the longest bar.
const BAR_LENGTH: u64 = 40;

/// Options of `log stat`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    archives: ArchiveArgs,
}

/// Shows what the log holds. Exit 6 when it does not verify, 3 when there is none.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    settle(global, stat(global, &args))
}

fn stat(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, &args.archives)?;
    let mut bar = Bar::new();
    let found = directory.read(|storage, options| {
        statistics(storage, options, &mut |progress| bar.update(progress))
    })?;
    drop(bar);
    directory.expect_log(&found.report)?;
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&found)
    } else {
        show(&mut out, &found)
    }
    out.finish()?;
    directory.tell_unread();
    warn(&found.report);
    followed(&found.report.reach);
    Ok(exit_of(&found.report))
}

fn show(out: &mut Output, found: &Statistics) {
    show_reach(out, &found.report);
    out.line(format_args!("batches         {}", found.batches));
    if let (Some(first), Some(last)) = (found.first_time, found.last_time) {
        out.line(format_args!("times           {} to {}", moment(first), moment(last)));
    }
    let most = found.records_by_kind.values().copied().max().unwrap_or(0);
    for (kind, count) in &found.records_by_kind {
        out.line(format_args!("  {kind:<40} {count:>8}  {}", bar_of(*count, most)));
    }
}

/// A bar of at least one mark for a count that is not 0.
fn bar_of(count: u64, most: u64) -> String {
    let length = u128::from(count) * u128::from(BAR_LENGTH) / u128::from(most.max(1));
    "#".repeat(usize::try_from(length.max(1)).unwrap_or(0))
}
