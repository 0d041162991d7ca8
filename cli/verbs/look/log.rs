//! `holdpoint log`: the records themselves, one line for each.

mod follow;
mod stat;

use crate::args::{Global, settle};
use crate::log::coverage::{UntiedRecords, WitnessWait};
use crate::log::position::{self, Point};
use crate::log::record_filter::{SHOW_ALL, WantedArgs, expect_known, range};
use crate::log::records::{breakable, conclude, expect_archives, said_of_nothing, telling_durable};
use crate::log::{ArchiveArgs, Directory};
use crate::ui::screen::{columns_of_screen, folded, width};
use crate::ui::text::doer;
use crate::ui::{Bar, Exit, Failure, Output, complain, moment};
use holdpoint_engine::shell::Watch;
use holdpoint_log_files::Standing;
use holdpoint_replay::{Filter, Line, Order, Searched, search};
use std::ops::ControlFlow;

/// From so many columns on, what goes on stands below the moments.
const ROOMY_COLUMNS: usize = 60;
/// Columns before text that goes on below the moments.
const INDENT: usize = 10;

/// So many of the newest records stand before those that follow.
const FOLLOWED: u64 = 10;

/// Options of `log`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Newest N records only [default: all; 10 with `--follow`].
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<u64>,
    /// Follow: print new records, until Ctrl-C or a closed pipe.
    #[arg(short, long, conflicts_with_all = ["since", "until", "reverse"])]
    follow: bool,
    /// Count records, segments and bytes.
    #[arg(long, conflicts_with_all = ["limit", "follow", "since", "until", "reverse", "wanted"])]
    stat: bool,
    /// Start at this point: a record, a moment such as 2026-01-25T16:00:00Z, a day, `yesterday`, or
    /// how long ago, such as 2h.
    #[arg(long, value_name = "POINT", value_parser = position::parse)]
    since: Option<Point>,
    /// End at this point; a day includes its end.
    #[arg(long, value_name = "POINT", value_parser = position::parse)]
    until: Option<Point>,
    #[command(flatten)]
    wanted: WantedArgs,
    /// Print the newest record first.
    #[arg(long)]
    reverse: bool,
    #[command(flatten)]
    archives: ArchiveArgs,
}

/// Shows the records of complete batches; with `--json` as JSON Lines. Never writes to the log.
/// Exit 6 when the log does not verify as far as it was read, 3 when there is no log or nothing of
/// a name that was asked for.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    match args.stat {
        true => settle(global, stat::stat(global, &args.archives)),
        false => show(global, args).unwrap_or_else(|failure| failure.tell()),
    }
}

fn show(global: &Global, args: Args) -> Result<Exit, Failure> {
    if !args.follow && args.limit == Some(0) {
        let message = "--limit is a number from 1 on; 0 shows what follows, with --follow";
        return Err(Failure::new(Exit::USAGE, "no_records", message));
    }
    let Filter { first: from, last: to, since, until, .. } = range(args.since, args.until)?;
    let directory = Directory::open_with_archives(global, &args.archives)?;
    let Args { wanted, limit, reverse, follow, .. } = args;
    let mut filter = Filter { first: from, last: to, since, until, ..wanted.filter(&directory)? };
    if follow {
        return show_and_follow(global, &directory, filter, limit.unwrap_or(FOLLOWED));
    }
    let (order, most) = match reverse {
        true => (Order::NewestFirst, limit.unwrap_or(u64::MAX)),
        false => (Order::OldestFirst, u64::MAX),
    };
    let mut looked = None;
    if let Some(count) = limit.filter(|_| !reverse) {
        let (found, searched) = newest(&directory, &filter, count)?;
        if let Some((oldest, newest)) = found {
            // What is written from now on is not among them.
            (filter.first, filter.last) = (Some(oldest), Some(newest));
        }
        looked = Some(searched);
    }
    let (searched, shown) =
        stream(global, &directory, &filter, (order, most), Output::paged(global.json))?;
    let searched = both(looked, searched);
    if shown == 0 && searched.is_sound() {
        expect_known(&directory, &filter, SHOW_ALL)?;
        complain(&said_of_nothing(&directory, &filter)?);
    }
    let exit = conclude(global, &directory, &searched)?;
    let has_enough = limit.is_some_and(|limit| shown >= limit);
    Ok(match searched.is_sound() && !has_enough {
        true => expect_archives(&directory, from, to),
        false => exit,
    })
}

/// Shows the newest so many of the wanted records, and what follows; up to the last that can be
/// read where the end of the log cannot.
fn show_and_follow(
    global: &Global,
    directory: &Directory,
    filter: Filter,
    count: u64,
) -> Result<Exit, Failure> {
    // Watched before it is read: what is written after the reading is not slept through.
    let watch = Watch::of_log(&directory.path);
    let end = directory.read(|storage, _| holdpoint_replay::newest(storage))?;
    let mut first_ones = Filter { last: end, ..filter.clone() };
    let (mut looked, mut newest_shown) = (None, 0);
    if count > 0 {
        let (found, searched) = newest(directory, &first_ones, count)?;
        (first_ones.first, looked) = (found.map(|(oldest, _)| oldest), Some(searched));
        newest_shown = found.map_or(0, |(_, newest)| newest);
    }
    if first_ones.first.is_none() {
        // Nothing to show: the reading tells whether there is a log.
        first_ones.first = Some(end.unwrap_or(0).saturating_add(1));
    }
    let all = (Order::OldestFirst, u64::MAX);
    let (searched, shown) = stream(global, directory, &first_ones, all, Output::stdout())?;
    let searched = both(looked, searched);
    if shown < count {
        directory.tell_unread();
    }
    let awaited = WitnessWait::behind(searched.reach(), newest_shown);
    let exit = conclude(global, directory, &searched)?;
    if end.is_none() && exit != Exit::DONE {
        return Ok(exit);
    }
    follow::follow(global, directory, &filter, (end.unwrap_or(0), awaited), &watch)
}

/// Adds the reading for the selection to that for showing it.
fn both(looked: Option<Searched>, mut shown: Searched) -> Searched {
    looked.into_iter().for_each(|looked| shown.join(looked));
    shown
}

/// The sequences of the first and the last of so many newest records that are wanted, or of all of
/// them where there are fewer, `None` where there is none; and what was read to find them.
fn newest(
    directory: &Directory,
    filter: &Filter,
    count: u64,
) -> Result<(Option<(u64, u64)>, Searched), Failure> {
    let (mut found, mut seen) = (None, 0_u64);
    let searched = directory.read(|storage, options| {
        search(storage, filter, Order::NewestFirst, options, &mut |_| {}, &mut |line, _| {
            let newest = found.map_or(line.sequence, |(_, newest)| newest);
            (found, seen) = (Some((line.sequence, newest)), seen.saturating_add(1));
            if seen >= count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    })?;
    Ok((found, searched))
}

/// Shows the wanted records, and says how many there were.
fn stream(
    global: &Global,
    directory: &Directory,
    filter: &Filter,
    (order, most): (Order, u64),
    mut out: Output,
) -> Result<(Searched, u64), Failure> {
    let mut bar = Bar::beside(&out);
    let mut shown = 0_u64;
    let mut untied = UntiedRecords::default();
    let (durable, columns) = (durable_to(global, directory)?, columns_of_screen());
    let searched = directory.read(|storage, options| {
        let mut show = |line: Line, standing: Standing| {
            untied.take(line.sequence, standing);
            put(&mut out, line.standing(standing), durable, columns);
            shown = shown.saturating_add(1);
            if shown >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        search(storage, filter, order, options, &mut |progress| bar.update(progress), &mut show)
    })?;
    drop(bar);
    out.finish()?;
    if !global.json {
        untied.tell(searched.reach());
    }
    Ok((searched, shown))
}

/// The newest record that is known to be durable, for a program; a person is not told.
pub(crate) fn durable_to(global: &Global, directory: &Directory) -> Result<Option<u64>, Failure> {
    let read =
        || directory.read(|storage, options| holdpoint_replay::durable_to(storage, options.boot));
    global.json.then(read).transpose()
}

/// Writes a record: as one line of JSON, where it is said how far the log is durable; in so many
/// columns as many lines as it takes; else as one.
pub(crate) fn put(out: &mut Output, line: Line, durable: Option<u64>, columns: Option<usize>) {
    match durable {
        Some(durable) => out.json_line(&telling_durable(line, durable)),
        None => of_person(&line, columns).iter().for_each(|line| out.line(line)),
    }
}

/// A record for a person. Where its line is too long, what it says stands below what it is.
fn of_person(line: &Line, columns: Option<usize>) -> Vec<String> {
    let doer = line.actor.as_ref().map(|it| doer(it, line.proof)).unwrap_or_default();
    let (sequence, moment) = (line.sequence, moment(line.time));
    let whole = format!("{sequence:>8}  {moment}  {:<41}  {doer:<24}  {}", line.kind, line.summary);
    let Some(columns) = columns.filter(|columns| width(&whole) > *columns) else {
        return vec![whole];
    };
    let indent = " ".repeat(if columns >= ROOMY_COLUMNS { INDENT } else { 2 });
    let room = columns.saturating_sub(indent.len());
    let kind = breakable(line.kind.as_ref(), room);
    let mut lines = vec![format!("{sequence:>8}")];
    for cell in [moment, kind, doer] {
        let room = if lines.len() == 1 { columns } else { room };
        let last = lines.last_mut().map(|last| (format!("{last}  {cell}"), last));
        match last.filter(|(longer, _)| width(longer) <= room) {
            Some((longer, last)) => *last = longer,
            None => lines.push(cell),
        }
    }
    lines.push(line.summary.to_string());
    let lines = lines.iter().enumerate();
    let fold = |(at, line): (usize, &String)| {
        let before = if at == 0 { "" } else { &indent };
        folded(line, (before, &indent), columns)
    };
    lines.flat_map(fold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Sample};
    use holdpoint_log_format::BootId;
    use holdpoint_replay::ReadOptions;

    #[test]
    fn each_record_keeps_its_words_and_its_columns_at_every_width() {
        let sample = Sample::begun_again();
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let mut records = Vec::new();
        search(
            &sample.storage(),
            &Filter::default(),
            Order::OldestFirst,
            options,
            &mut |_| {},
            &mut |line, _| {
                records.push(line);
                ControlFlow::Continue(())
            },
        )
        .unwrap();
        for columns in golden::COLUMNS {
            let shown = |line| of_person(line, Some(columns));
            let shown: Vec<String> = records.iter().flat_map(shown).collect();
            golden::compare("log", columns, &shown);
        }
        let whole = |line| of_person(line, None).len();
        assert!(records.iter().map(whole).all(|lines| lines == 1), "nothing is folded on a pipe");
    }
}
