//! `thread show --story`: one thread turn by turn.

use crate::args::Global;
use crate::log::thread_reading::{Name, Reading};
use crate::log::{ArchiveArgs, Directory, coverage};
use crate::ui::{Exit, Failure, Output, complain, moment};
use crate::verbs::thread::view::title;
use holdpoint_replay::records::Line;
use holdpoint_replay::{Committed, Until, story_row};

/// Tells the story from the records that are in the log.
pub(super) fn story(global: &Global, name: &Name, archives: &ArchiveArgs) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, archives)?;
    let reading = Reading::of(&directory, Until::End, &name.correlation)?;
    directory.expect_log(&reading.rebuilt.report)?;
    let (tenant, records) = reading.thread(&directory, name)?;
    let correlation = name.correlation.as_str();
    let records = reading.with_sessions((&tenant, correlation), records);
    let newest = records.last().map_or(0, |record| record.header.sequence);
    let missing = reading.missing(&directory, &tenant, correlation);
    let mut out = Output::stdout().folding();
    if global.json {
        let within = |record| Line::within(record, &reading.rebuilt.report.reach);
        let lines: Vec<Line> = records.into_iter().map(within).collect();
        out.json(&lines);
        missing.iter().for_each(|missing| complain(missing));
    } else {
        out.line(title(&tenant, correlation));
        missing.iter().for_each(|missing| out.line(format_args!("not here: {missing}")));
        records.into_iter().for_each(|record| put(&mut out, record));
    }
    out.finish()?;
    Ok(coverage::conclude(global, &reading.rebuilt.report, newest))
}

fn put(out: &mut Output, record: &Committed) {
    let Some(envelope) = record.envelope() else { return };
    let (words, details) = story_row(envelope);
    out.line(format_args!("{:>8}  {}  {words}", record.header.sequence, moment(record.time())));
    for (name, value) in details {
        out.line(format_args!("{:10}{name:<10}  {value}", ""));
    }
}
