//! A log that is followed without writing to it: verified and read once, then only what is new.

use crate::args::Global;
use crate::log::damage::LogError;
use crate::log::question_look::{self, Links};
use crate::log::verdict::{damaged, verify_tells};
use crate::log::{Directory, Question};
use crate::ui::{Exit, Failure, path};
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;
use holdpoint_engine::shell::{Delivered, Subscription, SubscriptionError, Watch};
use holdpoint_log_files::READINGS_MAX;
use holdpoint_replay::machine::is_locked;
use holdpoint_replay::{Rebuilt, Until};
use std::io;
use std::time::Duration;

/// How long to wait before looking again for the proof that a record is durable, which nothing
/// announces: doubled each time, up to the longest.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LAST_LOOK: Duration = Duration::from_secs(1);

/// The questions of a log, as it grows. It is watched before it is read, so that nothing that is
/// written after the reading is slept through. Only durable records are taken in.
pub(crate) struct Following {
    directory: Directory,
    watch: Watch,
    state: State,
    subscription: Subscription,
    /// Whether each record has to be seen; else only what they come to.
    sees_each: bool,
    next_look: Duration,
}

/// Is shown a record, and the state that holds it.
type See<'s> = dyn FnMut(&Delivered, &World) + 's;

/// What was read so far.
struct State {
    world: World,
    links: Links,
    /// The newest record that the state holds.
    applied: u64,
    /// The newest record that is known to be durable.
    durable: u64,
}

impl Following {
    /// Follows what the records come to.
    pub(crate) fn of_state(global: &Global) -> Result<Self, Failure> {
        Self::begin(global, None, false)
    }

    /// Follows each record from `from` on, 0 standing for the first one and `None` for the next
    /// one that becomes durable.
    pub(crate) fn of_records(global: &Global, from: Option<u64>) -> Result<Self, Failure> {
        Self::begin(global, from, true)
    }

    fn begin(global: &Global, from: Option<u64>, sees_each: bool) -> Result<Self, Failure> {
        let directory = Directory::open(global)?;
        let watch = Watch::of_log(&directory.path);
        let (state, subscription) = open(&directory, from)?;
        Ok(Self { directory, watch, state, subscription, sees_each, next_look: FIRST_LOOK })
    }

    /// Takes in what is new and durable, each record once and in order; does not wait.
    pub(crate) fn catch_up(&mut self, see: &mut See<'_>) -> Result<(), Failure> {
        self.directory.expect_same()?;
        if self.take_new(see).is_ok() {
            return Ok(());
        }
        // The place was moved to an archive, or the log is damaged: reading it anew tells.
        let from = self.sees_each.then(|| self.subscription.next_sequence());
        (self.state, self.subscription) = open(&self.directory, from)?;
        self.take_new(see).map_err(|error| not_followed(&self.directory, &error))
    }

    fn take_new(&mut self, see: &mut See<'_>) -> Result<(), SubscriptionError> {
        while let Some(delivered) = self.subscription.try_next()? {
            self.state.take(&delivered);
            see(&delivered, &self.state.world);
        }
        Ok(())
    }

    /// Waits until the log may have grown, at most this long, and at most about a second: clocks
    /// are set. Whether it may have grown.
    pub(crate) fn block(&mut self, at_most: Duration) -> bool {
        if !self.subscription.awaits_proof() {
            self.next_look = FIRST_LOOK;
            return self.watch.wait(at_most);
        }
        let look = self.next_look;
        self.next_look = look.saturating_mul(2).min(LAST_LOOK);
        self.watch.wait(at_most.min(look))
    }

    /// The state.
    pub(crate) fn world(&self) -> &World {
        &self.state.world
    }

    /// Whether a question ended, and the record that says so is durable.
    pub(crate) fn has_ended(&self, question: Question<'_>) -> bool {
        question.ended_sequence().is_some_and(|sequence| sequence <= self.state.durable)
    }

    /// Whether another process has the log open for writing.
    ///
    /// # Errors
    /// LOCK cannot be looked at.
    pub(crate) fn is_locked(&self) -> io::Result<bool> {
        is_locked(&self.directory.storage)
    }

    /// The link of the newest record of a question; `None` where it is in an archive.
    pub(crate) fn link(&self, question: Question<'_>) -> Option<&str> {
        self.state.links.of(question)
    }
}

impl State {
    /// Reads and verifies the whole log. Exit 3 where there is none, 6 where it does not verify.
    fn read(directory: &Directory) -> Result<Self, Failure> {
        let (rebuilt, links) = question_look::read(directory, Until::End)?;
        directory.expect_log(&rebuilt.report)?;
        if rebuilt.report.failed() {
            return Err(damaged(&rebuilt.report, &verify_tells(&rebuilt.report.findings)));
        }
        let Rebuilt { world, head, report, .. } = rebuilt;
        let applied = head.map_or(0, |head| head.sequence);
        let durable = report.unproven.map_or(applied, |unproven| unproven.first.saturating_sub(1));
        Ok(Self { world, links, applied, durable })
    }

    /// Takes in a durable record.
    fn take(&mut self, delivered: &Delivered) {
        let Delivered { sequence, at, link, envelope, .. } = delivered;
        self.durable = self.durable.max(*sequence);
        if *sequence <= self.applied {
            return;
        }
        self.applied = *sequence;
        if let Some(id) = envelope.event.question() {
            self.links.take(id, *sequence, link);
        }
        self.world.evolve(*sequence, *at, envelope);
    }
}

/// The state, and what follows it: from a record on, or from the first one that the reading could
/// not prove to be durable.
fn open(directory: &Directory, from: Option<u64>) -> Result<(State, Subscription), Failure> {
    let mut readings = 0;
    loop {
        let state = State::read(directory)?;
        readings += 1;
        let next = from.unwrap_or(state.durable.saturating_add(1));
        match Subscription::of_log(directory.storage.clone(), next) {
            Ok(subscription) => return Ok((state, subscription)),
            Err(SubscriptionError::Before { .. }) if from.is_none() && readings < READINGS_MAX => {}
            Err(error) => return Err(not_followed(directory, &error)),
        }
    }
}

fn not_followed(directory: &Directory, error: &SubscriptionError) -> Failure {
    let (exit, code) = match error {
        SubscriptionError::Before { .. } => (Exit::NOT_FOUND, "before_the_log"),
        error => error.exit(),
    };
    let message = format!("{}: {}", path(&directory.path), visible(&error.to_string()));
    Failure::new(exit, code, message)
}
