//! The logs of the inbox as they were read, each anew where it changed.

use crate::log::at_point::reach;
use crate::log::named_logs::Place;
use crate::log::verdict::{damaged, verify_tells};
use crate::log::{Directory, LiveState, clock, open};
use crate::questions::waiting_item::{Item, Stands, ending, items};
use crate::ui::{Exit, Failure, now};
use holdpoint_engine::executor::command_line;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_files::head::read_witness;
use holdpoint_log_format::names;
use holdpoint_replay::{Tells, Until};
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// A log is read no more often than this, and no more than a tenth of the time.
const BETWEEN_READINGS: Duration = Duration::from_millis(100);
const REST: u32 = 9;

/// What of a log is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SnapshotScope {
    /// Also what is the requester's turn, and what ended lately.
    pub(crate) has_all: bool,
    /// How it was at an earlier point; `None`: how it is.
    pub(crate) at: Option<Until>,
}

/// A log as it was read.
pub(crate) struct LogSnapshot {
    pub(crate) place: Place,
    /// `None`: it could not be read.
    pub(crate) state: Option<LiveState>,
    /// Why it, or what lies behind it, cannot be known.
    pub(crate) problem: Option<Failure>,
    pub(crate) items: Vec<Item>,
    /// Where the state is not that of the point that was asked for.
    pub(crate) elsewhere: Option<String>,
    stamp: Stamp,
    rests_until: Instant,
}

/// What came of reading a log again.
pub(crate) struct Change {
    /// Its place in the list.
    pub(crate) log: usize,
    /// What waits now and did not.
    pub(crate) come: Vec<Item>,
    /// What waited and does not any more, and what became of it.
    pub(crate) ended: Vec<(Item, String)>,
    /// What cannot be known now and could be.
    pub(crate) problem: Option<Failure>,
}

/// What tells that a log changed: nothing is appended that leaves all of it as it is, for longer
/// than HEAD takes to follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stamp {
    directory: Option<(u64, u64, u32)>,
    head: Option<Vec<u8>>,
    newest: Option<(OsString, i64, i64, u64)>,
}

impl Stamp {
    fn of(place: &Place) -> Self {
        let directory = place.path.symlink_metadata().ok();
        let storage = DirectoryStorage::new(&place.path);
        let head = read_witness(&storage, names::HEAD).ok().flatten().and_then(Result::ok);
        let listed = place.path.join(names::SEGMENTS).read_dir().into_iter().flatten().flatten();
        let segments = listed.map(|entry| entry.file_name());
        let is_segment = |name: &OsString| name.to_str().and_then(names::parse_segment).is_some();
        let newest = segments.filter(is_segment).max().and_then(|name| {
            let found = place.path.join(names::SEGMENTS).join(&name).symlink_metadata().ok()?;
            Some((name, found.mtime(), found.mtime_nsec(), found.len()))
        });
        let directory = directory.map(|found| (found.dev(), found.ino(), found.uid()));
        Self { directory, head, newest }
    }
}

impl LogSnapshot {
    /// By how much its newest record is ahead of this clock.
    pub(crate) fn ahead_ns(&self) -> Option<u64> {
        clock::ahead_ns(self.state.as_ref()?.world().totals().last_at)
    }

    /// That its newest record is ahead of this clock.
    pub(crate) fn ahead(&self) -> Option<String> {
        let ahead_ns = self.ahead_ns()?;
        let log = command_line(self.place.path.as_os_str(), &[]);
        Some(format!("{log}: {}", clock::sentence(ahead_ns)))
    }

    /// Reads a log; `at` is its place in the list.
    pub(crate) fn read(at: usize, mut place: Place, asked: SnapshotScope) -> Self {
        let (begun, stamp) = (Instant::now(), Stamp::of(&place));
        let mut elsewhere = None;
        let (state, problem) = match read(&place, asked.at) {
            Ok((state, told)) => {
                elsewhere = told;
                let report = state.report().filter(|report| report.failed());
                let problem = report.map(|report| damaged(report, &verify_tells(&report.findings)));
                (Some(state), problem.map(|failure| of_log(&place, failure)))
            }
            Err(failure) => (None, Some(unreadable(failure))),
        };
        let found = state.as_ref().map(|state| items((at, &place), state, asked));
        let unsure = found.iter().flatten().find(|item| item.stands == Stands::Unsure);
        let problem = problem.or_else(|| unsure.and_then(|item| untold(&place, item)));
        let problem = problem.map(|it| it.on(&place.path));
        let problem = problem.map(|it| it.with("log", json!(place.path.to_string_lossy())));
        let rest = begun.elapsed().saturating_mul(REST).max(BETWEEN_READINGS);
        let rests_until = Instant::now().checked_add(rest).unwrap_or(begun);
        let items = found.unwrap_or_default();
        place.was_read |= state.is_some();
        Self { place, state, problem, items, elsewhere, stamp, rests_until }
    }

    /// Reads the log again where it changed and is due: what came of that.
    pub(crate) fn refresh(&mut self, at: usize, asked: SnapshotScope) -> Option<Change> {
        if Instant::now() < self.rests_until || Stamp::of(&self.place) == self.stamp {
            return None;
        }
        let before = std::mem::replace(self, Self::read(at, self.place.clone(), asked));
        let waiting = |log: &Self| -> BTreeSet<String> {
            log.items.iter().filter(|item| item.waits()).map(|item| item.id.clone()).collect()
        };
        let (had, has) = (waiting(&before), waiting(self));
        let come = self.items.iter().filter(|item| item.waits() && !had.contains(&item.id));
        let come = come.cloned().collect();
        let gone = before.items.into_iter().filter(|item| item.waits() && !has.contains(&item.id));
        // Of a log that cannot be read any more it is not known what became of them.
        let ended = self.state.as_ref().map(|state| {
            let ended = gone.map(|item| {
                let ending = ending(state, &item);
                (item, ending.unwrap_or_else(|| "waits no more".to_string()))
            });
            ended.collect()
        });
        let ended = ended.unwrap_or_default();
        let problem = self.problem.clone().filter(|new| before.problem.as_ref() != Some(new));
        Some(Change { log: at, come, ended, problem })
    }
}

/// The state, and what is to be said where it is not that of the point that was asked for.
fn read(place: &Place, at: Option<Until>) -> Result<(LiveState, Option<String>), Failure> {
    place.expect_listed()?;
    let directory = Directory::open(&place.global(false)).map_err(|failure| {
        // One that cannot be read now may be there, and its questions with it.
        if failure.code() == "io" { failure } else { place.no_more(failure) }
    })?;
    let Some(at) = at else {
        let state = LiveState::read_quietly(&directory, Tells::Questions)?;
        state.expect_log(&directory).map_err(|failure| place.no_more(failure))?;
        return Ok((state, None));
    };
    let rebuilt = open::read(&directory, at)?;
    directory.expect_log(&rebuilt.report).map_err(|failure| place.no_more(failure))?;
    let told = reach(at, rebuilt.inside_batch_until, rebuilt.head.as_ref(), &rebuilt.report);
    // What ended before a moment that is over was so at that moment too.
    let is_past = matches!(at, Until::Time(time) if rebuilt.head.is_some() && time <= now());
    let told = told.filter(|_| !is_past);
    Ok((LiveState::Whole(Box::new(rebuilt)), told))
}

/// That whether anybody waits for an answer cannot be told.
fn untold(place: &Place, item: &Item) -> Option<Failure> {
    let name = crate::ui::screen::named(item.loop_id.as_deref()?);
    let message = format!(
        "{}: whether the recorder of {name} lives cannot be told: look at runs/{name} there, which \
         is to be a regular file of this user",
        crate::ui::text::path(&place.path)
    );
    Some(Failure::new(Exit::NOT_FOUND, "io", message))
}

/// What a log says of itself, under its name.
fn of_log(place: &Place, failure: Failure) -> Failure {
    let message = format!("{}: {}", crate::ui::text::path(&place.path), failure.message());
    Failure::new(failure.exit, failure.code().to_string(), message)
}

/// That nothing is known of it is one and the same for the inbox, whatever the reason.
fn unreadable(failure: Failure) -> Failure {
    match failure.exit {
        Exit::VERIFICATION_FAILED => failure,
        _ => failure.exiting(Exit::NOT_FOUND),
    }
}
