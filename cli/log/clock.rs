//! A log whose newest record is ahead of this clock: it is told, and what any clock says is over is
//! shown as that.

use crate::log::Directory;
use crate::ui::complain;
use crate::ui::time_format::span;
use holdpoint_domain::core::clocks::{Moment, Times};
use holdpoint_domain::core::limits::CLOCK_AHEAD_NS;
use holdpoint_domain::{Time, World};
use holdpoint_engine::shell::{Clock, Reading, SystemClock};
use serde::Serialize;

/// By how much the newest record is ahead of this clock, where that is more than a minute.
pub(crate) fn ahead_ns(newest: Time) -> Option<u64> {
    let now = Time::from_nanoseconds(SystemClock.now().wall_ns);
    Some(newest.nanoseconds_since(now)).filter(|ahead_ns| *ahead_ns > CLOCK_AHEAD_NS)
}

/// The same of the log in a directory. One that cannot be read is told of by whoever reads it.
pub(crate) fn ahead_of(directory: &Directory) -> Option<u64> {
    let found = directory.read(|storage, _| holdpoint_replay::span(storage)).ok().flatten();
    ahead_ns(found?.until)
}

/// What is listed, with by how much the newest record of its log is ahead of this clock.
#[derive(Serialize)]
pub(crate) struct Dated<T> {
    #[serde(flatten)]
    of: T,
    /// Nanoseconds, where that is more than a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead_of_clock_ns: Option<u64>,
}

impl<T> Dated<T> {
    pub(crate) const fn of(of: T, ahead_of_clock_ns: Option<u64>) -> Self {
        Self { of, ahead_of_clock_ns }
    }
}

/// Tells it, with by how much.
pub(crate) fn tell(ahead_ns: Option<u64>) {
    if let Some(ahead_ns) = ahead_ns {
        complain(&sentence(ahead_ns));
    }
}

/// In words.
pub(crate) fn sentence(ahead_ns: u64) -> String {
    format!(
        "the newest record is {} ahead of this clock: the time of records stands still until the \
         clock is there, and limits end by this clock; `holdpoint doctor` tells more",
        span(ahead_ns)
    )
}

/// The moment, where somebody waits since a reading of the clocks.
pub(crate) fn moment_since(world: &World, since: Reading) -> Moment {
    let now = SystemClock.now();
    let own = Time::from_nanoseconds(now.wall_ns);
    let seen = Moment::seen(world.totals().last_at, own);
    Moment { steady: Some(since.continued(now)), ..seen }
}

/// The same on the scale of a question's times.
pub(crate) fn times_since(world: &World, id: &str, since: Reading) -> Times {
    world.times_of(id, moment_since(world, since))
}
