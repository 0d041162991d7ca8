//! Outcome of a command.

use super::append::is_label;
use super::conditions::DoneBefore;
use super::rebuild::Recorded;
use holdpoint_domain::{Event, Refusal, Time};
use std::ops::ControlFlow;

/// Outcome of a command.
///
/// ```
/// # use holdpoint_domain::application::RecordEvent;
/// # use holdpoint_engine::{Engine, Origin};
/// # use holdpoint_engine::shell::{Conditions, Submitted};
/// # let home = tempfile::tempdir()?;
/// # let engine = Engine::open(home.path().join("log"))?;
/// let (shop, key) = (Origin::automation("shop"), Conditions::once("payment-7"));
/// let pay = |cents| engine.record(&shop, &key, RecordEvent::new("order-1", "paid", cents));
/// assert!(matches!(pay("42")?, Submitted::Accepted(_)));
/// assert!(matches!(pay("42")?, Submitted::Repeated(_)));
/// assert!(matches!(pay("43")?, Submitted::Refused(_)));
/// # engine.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a rule may have refused the command: `accepted` makes that an error"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// Recorded.
    Accepted(Receipt),
    /// Recorded before, under the same idempotency key or as exactly this answer: the first
    /// receipt, without its events where they were moved to an archive. Nothing was written.
    Repeated(Receipt),
    /// A rule said no. Nothing came of the command; a refusal on scope, idempotency, gating or
    /// continuity is itself on the record (property E3).
    Refused(Refusal),
}

impl Submitted {
    /// The receipt of a command that is carried out, now or before.
    #[must_use]
    pub fn receipt(&self) -> Option<&Receipt> {
        match self {
            Self::Accepted(receipt) | Self::Repeated(receipt) => Some(receipt),
            Self::Refused(_) => None,
        }
    }

    /// The receipt, for whoever goes on only with one.
    ///
    /// ```
    /// # use holdpoint_domain::application::RecordEvent;
    /// # use holdpoint_engine::{Engine, Origin};
    /// # let home = tempfile::tempdir()?;
    /// # let engine = Engine::open(home.path().join("log"))?;
    /// let placed = RecordEvent::new("order-1", "order.placed", "42");
    /// let receipt = engine.record(&Origin::automation("shop"), (), placed)?.accepted()?;
    /// assert_eq!(receipt.events.len(), 1);
    ///
    /// let nameless = RecordEvent::new("", "order.placed", "42");
    /// let refusal = engine.record(&Origin::automation("shop"), (), nameless)?.accepted();
    /// assert_eq!(refusal.expect_err("a stream has a name").code(), "MALFORMED_REQUEST");
    /// # engine.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The refusal.
    pub fn accepted(self) -> Result<Receipt, Refusal> {
        match self {
            Self::Accepted(receipt) | Self::Repeated(receipt) => Ok(receipt),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}

/// Proof that a command was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Sequence of its first event.
    pub first_sequence: u64,
    /// Sequence of its last event; of the first one where the last is not known, because the
    /// events were moved to an archive.
    pub last_sequence: u64,
    /// Time of its events; `None` where they were moved to an archive.
    pub at: Option<Time>,
    /// The events; none where they were moved to an archive.
    pub events: Vec<Event>,
}

impl Receipt {
    /// The receipt of what was done before, without its events.
    pub(super) const fn of(done: DoneBefore) -> Self {
        let first_sequence = done.first_sequence;
        Self { first_sequence, last_sequence: first_sequence, at: None, events: Vec::new() }
    }

    /// Takes the next of its events, up to `last` or to the end of the batch.
    pub(super) fn take(&mut self, event: Recorded, last: Option<u64>) -> ControlFlow<()> {
        let is_last = last.map_or(event.ends_batch, |last| event.sequence >= last);
        if is_label(&event.envelope.event) {
            return if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        }
        (self.last_sequence, self.at) = (event.sequence, Some(event.at));
        self.events.push(event.envelope.event);
        if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
