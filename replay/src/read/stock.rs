//! Envelopes that are decoded into again. What the threads that check records allocate goes back to
//! them: memory that another thread frees is slow in the system's allocator, for both.
#![expect(clippy::vec_box, reason = "the box itself is used again: what a record says lies in one")]

use super::Content;
use holdpoint_domain::Envelope;
use holdpoint_domain::core::codec::DecodeError;
use holdpoint_domain::world::envelope::decode;
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// So many are kept by one thread: those of some blocks of records.
const STOCK_MAX: usize = 2_048;

/// The most that what hangs on an envelope which is kept may take, in bytes of its payload.
const PAYLOAD_BYTES_MAX: u32 = 4_096;

/// So many are gathered before they are given back.
const GATHERED: usize = 128;

thread_local! {
    /// Stock of this thread.
    static STOCK: RefCell<Vec<Box<Envelope>>> = const { RefCell::new(Vec::new()) };
}

/// [`decode`], into an envelope of this thread's stock where it has one.
pub(super) fn decode_boxed(
    kind: u16,
    version: u8,
    payload: &[u8],
) -> Result<Box<Envelope>, DecodeError> {
    match STOCK.with_borrow_mut(Vec::pop) {
        Some(mut envelope) => {
            *envelope = decode(kind, version, payload)?;
            Ok(envelope)
        }
        None => decode(kind, version, payload).map(Box::new),
    }
}

fn keep(envelopes: impl Iterator<Item = Box<Envelope>>) {
    STOCK.with_borrow_mut(|stock| {
        let room = STOCK_MAX.saturating_sub(stock.len());
        stock.extend(envelopes.take(room));
    });
}

/// Envelopes, each by the thread that made it, until that one comes for them.
#[derive(Default)]
pub(super) struct Returns(Mutex<Vec<Pile>>);

struct Pile {
    made_by: ThreadId,
    envelopes: Vec<Box<Envelope>>,
}

impl Returns {
    /// Takes into this thread's stock what it made and was given back.
    pub(super) fn take_own(&self) {
        let own = thread::current().id();
        let mut piles = self.piles();
        let place = piles.iter().position(|pile| pile.made_by == own);
        let pile = place.map(|place| piles.swap_remove(place));
        drop(piles);
        pile.into_iter().for_each(|pile| keep(pile.envelopes.into_iter()));
    }

    /// For the thread that calls.
    pub(super) fn spent(&self) -> Spent<'_> {
        let own = thread::current().id();
        Spent { returns: self, own, made_by: own, envelopes: Vec::new() }
    }

    fn take(&self, made_by: ThreadId, envelopes: &mut Vec<Box<Envelope>>) {
        let mut piles = self.piles();
        match piles.iter_mut().find(|pile| pile.made_by == made_by) {
            Some(pile) => pile.envelopes.append(envelopes),
            None => piles.push(Pile { made_by, envelopes: std::mem::take(envelopes) }),
        }
    }

    fn piles(&self) -> MutexGuard<'_, Vec<Pile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Envelopes that the thread that takes records has done with.
pub(super) struct Spent<'r> {
    returns: &'r Returns,
    own: ThreadId,
    made_by: ThreadId,
    envelopes: Vec<Box<Envelope>>,
}

impl Spent<'_> {
    /// Takes what is needed no more, of a payload of so many bytes.
    pub(super) fn take(&mut self, made_by: Option<ThreadId>, content: Content, length: u32) {
        let (Some(made_by), Content::Event(envelope)) = (made_by, content) else { return };
        if length > PAYLOAD_BYTES_MAX {
            return;
        }
        if made_by == self.own {
            return keep(std::iter::once(envelope));
        }
        if made_by != self.made_by || self.envelopes.len() >= GATHERED {
            self.give_back();
            self.made_by = made_by;
        }
        self.envelopes.push(envelope);
    }

    /// The threads that made what was taken have ended: nobody comes for it any more.
    pub(super) fn free_all(&mut self) {
        self.envelopes.clear();
        let piles = std::mem::take(&mut *self.returns.piles());
        drop(piles);
    }

    fn give_back(&mut self) {
        if !self.envelopes.is_empty() {
            self.returns.take(self.made_by, &mut self.envelopes);
        }
    }
}

/// The other threads' stocks end with them.
impl Drop for Spent<'_> {
    fn drop(&mut self) {
        STOCK.take();
    }
}
