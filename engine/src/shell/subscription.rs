//! A subscription: every committed record from any sequence on, once, in order, and then live.

use super::callback::Callback;
use super::error::SubmitError;
use super::rebuild::Recorded;
use super::subscription_notifier::Notifier;
use super::subscription_reader::{Linked, Reader};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::{Envelope, Time};
use holdpoint_log_files::{DirectoryStorage, FollowError, ReadStorage, SurveyError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Interval at which the log is looked at for what other processes append. This engine's own
/// records wake a subscription at once.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// One record of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its sequence.
    pub sequence: u64,
    /// Its time.
    pub at: Time,
    /// Its link in the chain.
    pub link: Digest,
    /// The event, with who caused it and why.
    pub envelope: Envelope,
    /// True if it is proven durable. Always so unless the subscription was asked for what is
    /// written as well.
    pub is_durable: bool,
}

/// A subscription cannot go on. It gives nothing more, but after [`SubscriptionError::Reentrant`]:
/// open another one from [`Subscription::next_sequence`] on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SubscriptionError {
    /// The log begins behind the record that was asked for.
    #[error(
        "the log begins at record {first}, behind {from}: subscribe from {first} on, or from 0"
    )]
    Before {
        /// Position that was asked for.
        from: u64,
        /// The log's first record.
        first: u64,
    },
    /// The log cannot be read, or what was committed is damaged.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// A record that this program cannot show.
    #[error(transparent)]
    Record(#[from] SubmitError),
    /// The engine was closed, and everything durable was given.
    #[error("the engine is closed, and all that is durable was given: open the log again")]
    Closed,
    /// It was waited for inside of a callback of its engine, which keeps everybody from writing.
    #[error(
        "a wait for a record inside {inside} would wait for itself: wait when that has returned, \
         or on another thread"
    )]
    Reentrant {
        /// The callback.
        inside: Callback,
    },
}

impl From<SurveyError> for SubscriptionError {
    fn from(error: SurveyError) -> Self {
        Self::Follow(error.into())
    }
}

/// Every committed record from a sequence on, each exactly once, in order; where the log ends it
/// waits for the next one. Records of this engine and of other processes come alike.
///
/// It reads the log itself, in pieces of bounded size: a slow consumer holds up no writer and fills
/// no queue. A record is given when it is durable: when this engine has synced it, or when the log
/// proves it (a later record, a seal, HEAD, LOCK). Of a process that holds the lock for as long as
/// it is open, that can be a second later. Batches are given whole.
///
/// When the engine is closed, what is durable by then is still given; then it says
/// [`SubscriptionError::Closed`], once, and ends.
///
/// As an [`Iterator`] it waits for each record, and ends behind an error.
///
/// ```
/// # use holdpoint_domain::application::RecordEvent;
/// # use holdpoint_engine::{Engine, Origin};
/// # let home = tempfile::tempdir()?;
/// # let engine = Engine::open(home.path().join("log"))?;
/// let placed = RecordEvent::new("order-1", "order.placed", "42");
/// let receipt = engine.record(&Origin::automation("shop"), (), placed)?.accepted()?;
///
/// let mut records = engine.subscribe(receipt.first_sequence)?;
/// let record = records.try_next()?.expect("it is durable");
/// assert_eq!(record.sequence, receipt.first_sequence);
/// assert_eq!(record.envelope.event.kind().name, "application.recorded");
/// assert!(records.try_next()?.is_none());
/// # engine.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Subscription<S: ReadStorage = DirectoryStorage> {
    reader: Reader<S>,
    notifier: Notifier,
    with_unproven: bool,
    has_ended: bool,
}

impl<S: ReadStorage> Subscription<S> {
    /// Follows a log that others write: every committed record from sequence `from` on, 0 standing
    /// for the log's first one. It takes no lock and writes nothing, and never ends by itself. What
    /// is durable is told by the log alone.
    ///
    /// # Errors
    /// The log begins behind `from`, or cannot be read.
    pub fn of_log(storage: S, from: u64) -> Result<Self, SubscriptionError> {
        Self::open(Arc::new(storage), Notifier::default(), from)
    }

    pub(super) fn open(
        storage: Arc<S>,
        notifier: Notifier,
        from: u64,
    ) -> Result<Self, SubscriptionError> {
        let reader = Reader::at(storage, from)?;
        Ok(Self { reader, notifier, with_unproven: false, has_ended: false })
    }

    /// Gives records as soon as they are written, before anything proves that they survive the
    /// power: each says whether it is durable.
    #[must_use]
    pub fn with_unproven(self) -> Self {
        Self { with_unproven: true, ..self }
    }

    /// Sequence of the record that is given next; the place from which another subscription goes on
    /// without a gap.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.reader.next_sequence()
    }

    /// Returns whether a record was read that nothing proves to be durable yet: its writer is about
    /// to prove it, or died. Where nothing announces that proof, it is to be looked for.
    #[must_use]
    pub fn awaits_proof(&self) -> bool {
        self.reader.holds_some()
    }

    /// Returns whether nothing more will come: an error was given, such as
    /// [`SubscriptionError::Closed`].
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The next record, if it is there; does not wait.
    ///
    /// # Errors
    /// The log cannot be read, or a committed record is damaged, or the engine was closed; the
    /// subscription ends.
    pub fn try_next(&mut self) -> Result<Option<Delivered>, SubscriptionError> {
        self.next_until(Some(Instant::now()))
    }

    /// The next record; waits for it, at most this long. `None` when none came, or when the
    /// subscription [has ended](Self::has_ended).
    ///
    /// # Errors
    /// As [`Subscription::try_next`].
    pub fn next_timeout(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<Delivered>, SubscriptionError> {
        self.next_until(Instant::now().checked_add(timeout))
    }

    /// The next record, or `None` at `deadline` or at the end.
    fn next_until(
        &mut self,
        deadline: Option<Instant>,
    ) -> Result<Option<Delivered>, SubscriptionError> {
        while !self.has_ended {
            // Seen before the log is looked at: what is committed after that look notifies again.
            let seen = self.notifier.seen();
            let found = self.look(seen.durable).inspect_err(|_| self.has_ended = true)?;
            if found.is_some() {
                return Ok(found);
            }
            let now = Instant::now();
            if seen.is_closed {
                self.has_ended = true;
                return Err(SubscriptionError::Closed);
            } else if deadline.is_some_and(|deadline| deadline <= now) {
                break;
            } else {
                if let Some(inside) = self.notifier.turn_in() {
                    return Err(SubscriptionError::Reentrant { inside });
                }
                let next_look = now + LOOK_EVERY;
                self.notifier.wait(&seen, deadline.map_or(next_look, |end| end.min(next_look)));
            }
        }
        Ok(None)
    }

    fn look(&mut self, durable: u64) -> Result<Option<Delivered>, SubscriptionError> {
        let found = match self.with_unproven {
            true => self.reader.next_written(durable)?,
            false => self.reader.next_durable(durable)?,
        };
        Ok(found.map(|read| self.delivered(read)))
    }

    fn delivered(&self, read: Linked) -> Delivered {
        let Linked { record: Recorded { sequence, at, envelope, .. }, link } = read;
        Delivered { sequence, at, link, envelope, is_durable: self.reader.is_proven(sequence) }
    }
}

impl<S: ReadStorage> Iterator for Subscription<S> {
    type Item = Result<Delivered, SubscriptionError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_until(None).transpose()
    }
}
