//! Counts of a log's records, by kind.

use crate::args::Global;
use crate::log::coverage::followed;
use crate::log::verdict::{exit_of, show_reach};
use crate::log::{ArchiveArgs, Directory, warn};
use crate::ui::screen::columns;
use crate::ui::{Bar, Exit, Failure, Output, moment};
use holdpoint_replay::{Statistics, statistics};

/// Length of the longest bar, and of the shortest one that is worth its room.
const BAR_LENGTH: usize = 40;
const BAR_LENGTH_MIN: usize = 8;

/// How wide a kind and its count are, with the blanks around them.
const KIND_COLUMNS: usize = 53;

/// Shows what the log holds. Exit 6 when it does not verify, 3 when there is none.
pub(super) fn stat(global: &Global, archives: &ArchiveArgs) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, archives)?;
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
    let room = columns().saturating_sub(KIND_COLUMNS).min(BAR_LENGTH);
    for (kind, count) in &found.records_by_kind {
        match room < BAR_LENGTH_MIN {
            true => out.line(format_args!("  {count:>8}  {kind}")),
            false => {
                out.line(format_args!("  {kind:<40} {count:>8}  {}", bar_of(*count, most, room)));
            }
        }
    }
}

/// A bar of at least one mark, and of `longest` for the most.
fn bar_of(count: u64, most: u64, longest: usize) -> String {
    let length = u128::from(count) * longest as u128 / u128::from(most.max(1));
    "#".repeat(usize::try_from(length.max(1)).unwrap_or(0))
}
