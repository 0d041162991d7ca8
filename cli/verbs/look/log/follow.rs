//! The records behind the newest ones, as they are written.

use crate::args::Global;
use crate::log::coverage::{WitnessWait, tell_missed};
use crate::log::records::failed;
use crate::log::{Directory, damage_in_part};
use crate::ui::screen::columns_of_screen;
use crate::ui::{Exit, Failure, Output, complain};
use crate::verbs::look::log::{durable_to, put};
use holdpoint_engine::shell::Watch;
use holdpoint_log_files::Standing;
use holdpoint_replay::{Filter, LogTail};

/// Shows each wanted record behind one, until nobody reads any more.
pub(super) fn follow(
    global: &Global,
    directory: &Directory,
    filter: &Filter,
    (newest, mut awaited): (u64, WitnessWait),
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
        tell_missed(caught_up.map_err(|error| failed(directory, &error))?, "log");
        if !awaited.wait(global, &tail, &mut out, watch) {
            break;
        }
    }
    out.finish()?;
    Ok(exit)
}
