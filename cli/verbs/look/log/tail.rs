//! `holdpoint log tail`: the newest records, and what follows them as it is written.

use crate::args::Global;
use crate::log::coverage::Awaited;
use crate::log::record_filter::{WantedArgs, expect_known};
use crate::log::records::{conclude, failed};
use crate::log::{ArchiveArgs, Directory, damage_in_part};
use crate::ui::screen::columns_of_screen;
use crate::ui::{Exit, Failure, Output, complain};
use crate::verbs::look::log::show::{self, both, durable_to, put, stream};
use holdpoint_engine::shell::Watch;
use holdpoint_log_files::Standing;
use holdpoint_replay::{Filter, LogTail, Missed, Order, newest, records_named};
use std::time::Duration;

/// Options of `log tail`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Begin with the newest so many records.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    lines: u64,
    /// Go on with what is written from now on, until Ctrl-C or until nobody reads any more.
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    wanted: WantedArgs,
    #[command(flatten)]
    archives: ArchiveArgs,
}

/// Shows the newest records of complete batches; with `--json` as JSON Lines. Never writes to the
/// log. Exit 6 when the log does not verify as far as it was read, 3 when there is no log or
/// nothing of a name that was asked for.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    tail(global, args).unwrap_or_else(|failure| failure.tell())
}

fn tail(global: &Global, args: Args) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, &args.archives)?;
    // Watched before it is read: what is written after the reading is not slept through.
    let watch = Watch::of_log(&directory.path);
    let filter = args.wanted.filter(&directory)?;
    let newest = directory.read(|storage, _| newest(storage))?;
    let (exit, awaited) =
        show_newest(global, &directory, &filter, newest, args.lines, args.follow)?;
    if !args.follow || newest.is_none() && exit != Exit::DONE {
        return Ok(exit);
    }
    follow(global, &directory, &filter, (newest.unwrap_or(0), awaited), &watch)
}

/// Shows the newest so many of the wanted records up to one; up to the last that can be read where
/// the end of the log cannot.
fn show_newest(
    global: &Global,
    directory: &Directory,
    filter: &Filter,
    newest: Option<u64>,
    count: u64,
    follows: bool,
) -> Result<(Exit, Awaited), Failure> {
    let mut filter = Filter { last: newest, ..filter.clone() };
    let (mut looked, mut newest_shown) = (None, 0);
    if count > 0 {
        let (found, searched) = show::newest(directory, &filter, count)?;
        (filter.first, looked) = (found.map(|(oldest, _)| oldest), Some(searched));
        newest_shown = found.map_or(0, |(_, newest)| newest);
    }
    if filter.first.is_none() {
        // Nothing to show: the reading tells whether there is a log.
        filter.first = Some(newest.unwrap_or(0).saturating_add(1));
    }
    let all = (Order::OldestFirst, u64::MAX);
    let (searched, shown) = stream(global, directory, &filter, all, Output::stdout())?;
    let searched = both(looked, searched);
    if shown == 0 && count > 0 && !follows && searched.is_sound() {
        expect_known(directory, &filter)?;
    }
    if shown < count {
        directory.tell_unread();
    }
    let awaited = Awaited::behind(searched.reach(), newest_shown);
    Ok((conclude(global, directory, &searched)?, awaited))
}

fn follow(
    global: &Global,
    directory: &Directory,
    filter: &Filter,
    (newest, mut awaited): (u64, Awaited),
    watch: &Watch,
) -> Result<Exit, Failure> {
    let mut tail = LogTail::behind(newest);
    let (mut out, mut exit) = (Output::stdout(), Exit::DONE);
    loop {
        directory.expect_same()?;
        let durable = durable_to(global, directory)?;
        let caught_up = tail.catch_up(&directory.log, filter, &mut |line| {
            awaited.take(line.sequence);
            put(&mut out, line.standing(Standing::Unwitnessed), durable, columns_of_screen());
        });
        if let Some(found) = damage_in_part(tail.take_unread().as_slice()) {
            complain(&found);
            exit = Exit::VERIFICATION_FAILED;
        }
        out.flush();
        if let Some(Missed { first, last }) =
            caught_up.map_err(|error| failed(directory, &error))?
        {
            complain(&format!(
                "{}: moved to an archive before that was shown; `holdpoint log show --archive DIR` \
                 shows it",
                records_named(first, last)
            ));
        }
        if !global.json {
            awaited.look(tail.witnessed());
        }
        // Looked at though nothing was written: whoever closes a pipe is not kept waiting for us.
        if !out.has_reader() {
            break;
        }
        // What was written is looked for in any case.
        let _ = watch.wait(Duration::MAX);
    }
    out.finish()?;
    Ok(exit)
}
