//! A deadline that passed and that nobody recorded: the one thing that a waiter may write.

use crate::args::{Global, expect_writable};
use crate::log::open::open_log;
use crate::ui::complain;
use holdpoint_domain::core::text::visible;
use holdpoint_engine::shell::Reading;
use std::io;
use std::time::{Duration, Instant};

/// How long another process may hold the log before this one goes on waiting.
const LOCK_WAIT: Duration = Duration::from_secs(1);
/// How long to wait before trying again: doubled each time, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(60);

/// Records what is due, again and again until it is on record.
pub(crate) struct Overdue<'g> {
    global: &'g Global,
    next_try: Option<Instant>,
    pause: Duration,
}

/// What became of the attempt to record what is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It is on record.
    Recorded,
    /// It is not time to try again, or another process writes: it may be what that writes.
    NotYet,
    /// This process cannot record it, and nobody else writes now. Whoever writes next records it
    /// before anything else: nobody can answer any more.
    Impossible,
}

impl<'g> Overdue<'g> {
    pub(crate) fn new(global: &'g Global) -> Self {
        Self { global, next_try: None, pause: FIRST_PAUSE }
    }

    /// Records what is due, if it is time to try; nothing else. The question with this id was
    /// waited for, since that reading of the clocks. Another writer is waited for at most so long.
    /// Where it cannot be done that is said.
    pub(crate) fn record(
        &mut self,
        (id, since): (&str, Reading),
        at_most: Duration,
        is_locked: impl FnOnce() -> io::Result<bool>,
    ) -> Attempt {
        if self.next_try.is_some_and(|next| next > Instant::now()) {
            return Attempt::NotYet;
        }
        let recorded = record(self.global, at_most.min(LOCK_WAIT), (id, since));
        self.next_try = Instant::now().checked_add(self.pause);
        self.pause = self.pause.saturating_mul(2).min(LAST_PAUSE);
        match recorded {
            Ok(()) => Attempt::Recorded,
            // Where LOCK cannot be looked at, that is why nothing could be recorded either.
            Err(_) if matches!(is_locked(), Ok(true)) => Attempt::NotYet,
            Err(why) => {
                complain(&format!(
                    "the time of {} is over, and this process cannot record that: {}; it \
                     is not on record until somebody who may write does that (`holdpoint decision \
                     expire`)",
                    visible(id),
                    visible(&why)
                ));
                Attempt::Impossible
            }
        }
    }

    /// How long until it is time to try again.
    pub(crate) fn next_try_in(&self) -> Duration {
        self.next_try.map_or(Duration::ZERO, |next| next.saturating_duration_since(Instant::now()))
    }
}

fn record(
    global: &Global,
    lock_wait: Duration,
    (id, since): (&str, Reading),
) -> Result<(), String> {
    expect_writable().map_err(|failure| failure.message().to_string())?;
    let engine = open_log(&global.log, lock_wait, false).map_err(|error| error.to_string())?;
    engine.expire_waited(id, since).map_err(|error| error.to_string())?;
    engine.close().map_err(|error| error.to_string())
}
