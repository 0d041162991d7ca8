//! The queue before LOCK: who came first gets it first. A ticket in LOCK says who waits, and LOCK's
//! own lock says who has it: whatever a ticket says, a place in the queue is all that it costs.
//!
//! # Invariants
//!
//! - Nobody writes by a ticket: only the lock of the file lets in.
//! - The tickets have a bounded number of places. Who finds none waits without one.
//! - Who stands first and does not go, stopped or dead, is passed after [`PATIENCE`], and whatever
//!   stands there after [`PATIENCE_MAX`].
//! - Every wait ends by itself after [`SLICE`]: whoever should have woken the next may have died.

use super::active::{DiskResult, IoContext};
use super::lock::{LockHolder, holder};
use super::storage::{Board, Storage};
use crate::sync;
use holdpoint_log_format::board::{Appended, TICKET_LENGTH, TICKETS_AT, TICKETS_MAX, Ticket, word};
use holdpoint_log_format::names;
use std::time::{Duration, Instant};

/// The longest wait for a wake-up.
pub(super) const SLICE: Duration = Duration::from_millis(20);

/// So many who wait are woken at a time.
const WOKEN: usize = 2;

/// Time that the first in the queue may leave the lock lie before others pass.
const PATIENCE: Duration = Duration::from_millis(15);

/// Time after which whoever waits looks at no ticket any more: tickets may be written by anybody.
const PATIENCE_MAX: Duration = Duration::from_secs(1);

/// Takes LOCK within `wait`, behind those who came before; the inner error names who holds it.
/// Whoever waits does what can be done `ahead` meanwhile.
pub(super) fn acquire<S: Storage>(
    storage: &S,
    board: &dyn Board,
    wait: Duration,
    ahead: &mut dyn FnMut(),
) -> DiskResult<Result<S::Lock, LockHolder>> {
    let began = sync::now();
    let mut place = QueuePlace { board, own: None };
    let mut first = First { began, seen: None };
    let mut news = News::default();
    loop {
        let page = board.read().named("read", names::LOCK)?;
        if place.is_next(&page, &mut first)
            && let Some(lock) = storage.try_lock().named("lock", names::LOCK)?
        {
            return Ok(Ok(lock));
        }
        let waited = sync::now().duration_since(began);
        if waited >= wait {
            return Ok(Err(LockHolder { pid: holder(storage), waited }));
        }
        if news.is_there(&page) {
            ahead();
        }
        if place.stands_in(&page) {
            let at = place.word_offset();
            board.wait(at, word(&page, at), u32::MAX, SLICE.min(wait - waited));
        }
    }
}

/// Wakes whoever is next, once LOCK was given back, and whoever comes then: to read meanwhile what
/// was appended.
pub(super) fn wake_next(board: &dyn Board) {
    let Ok(page) = board.read() else { return };
    let mut tickets: Vec<_> = Ticket::all(&page).collect();
    tickets.sort_unstable_by_key(|(_, ticket)| *ticket);
    for (place, _) in tickets.iter().take(WOKEN) {
        let at = Ticket::word_offset(*place);
        // Who has looked and does not wait yet looks again.
        let _ = board.write_at(at, &word(&page, at).wrapping_add(1).to_le_bytes());
        board.wake(at, u32::MAX, u32::MAX);
    }
}

/// Returns whether anybody has a ticket.
pub(super) fn has_queue(board: &dyn Board) -> bool {
    board.read().is_ok_and(|page| Ticket::all(&page).next().is_some())
}

/// Newest append at the last look of one that waits.
#[derive(Default)]
struct News(Option<Appended>);

impl News {
    /// Returns whether something was appended since.
    fn is_there(&mut self, page: &[u8]) -> bool {
        let now = Appended::find(page);
        now.is_some() && std::mem::replace(&mut self.0, now) != now
    }
}

/// Ticket that stands first, and since when, as seen by one that began to wait then.
struct First {
    began: Instant,
    seen: Option<(Ticket, Instant)>,
}

impl First {
    /// Returns whether `ticket` has stood first for too long.
    fn is_overdue(&mut self, ticket: Ticket) -> bool {
        let now = sync::now();
        let since = match self.seen {
            Some((first, since)) if first == ticket => since,
            _ => now,
        };
        self.seen = Some((ticket, since));
        now.duration_since(since) > PATIENCE || now.duration_since(self.began) > PATIENCE_MAX
    }
}

/// A place in the queue, given up when this is dropped.
struct QueuePlace<'a> {
    board: &'a dyn Board,
    own: Option<(usize, Ticket)>,
}

impl QueuePlace<'_> {
    /// Returns whether nobody comes before this one, or who does leaves the lock lie.
    fn is_next(&self, page: &[u8], first: &mut First) -> bool {
        let before = |ticket: &Ticket| self.own.is_none_or(|(_, own)| *ticket < own);
        let ahead = Ticket::all(page).filter(|(_, ticket)| before(ticket));
        let Some((place, ticket)) = ahead.min_by_key(|(_, ticket)| *ticket) else { return true };
        if !first.is_overdue(ticket) {
            return false;
        }
        if !self.board.is_there(&ticket) {
            self.clear(place, &ticket);
        }
        true
    }

    /// Returns whether the ticket stands on the page; else it is put there, and another look is
    /// due.
    fn stands_in(&mut self, page: &[u8]) -> bool {
        let (at, ticket) = self.own.unwrap_or_else(|| (0, self.board.ticket()));
        let is_own = |place: usize| Ticket::find(page, place) == Some(ticket);
        if self.own.is_some() && is_own(at) {
            return true;
        }
        // Those who come at the same time try different places first.
        let start = ticket.pid as usize % TICKETS_MAX + at;
        let free = (start..start + TICKETS_MAX).find(|place| Ticket::find(page, *place).is_none());
        // Where all are taken, one waits without: it is passed by all, and gets in between them.
        let Some(place) = free else { return true };
        let place = place % TICKETS_MAX;
        self.own = Some((place, ticket));
        // Where this cannot be written, only the order is lost.
        let _ = self.board.write_at(Ticket::offset(place), &ticket.encode());
        false
    }

    /// Returns where it is woken; who has no place is woken by nobody, and looks again by itself.
    fn word_offset(&self) -> usize {
        self.own.map_or(TICKETS_AT, |(place, _)| Ticket::word_offset(place))
    }

    /// Takes a ticket away that still stands in its place.
    fn clear(&self, place: usize, ticket: &Ticket) {
        let Ok(page) = self.board.read() else { return };
        if Ticket::find(&page, place) == Some(*ticket) {
            let _ = self.board.write_at(Ticket::offset(place), &[0; TICKET_LENGTH]);
        }
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        if let Some((place, ticket)) = self.own {
            self.clear(place, &ticket);
        }
    }
}
