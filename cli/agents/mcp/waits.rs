//! Calls that wait, and the end of stdin, at which they end: nobody is there to hear of more.

use std::sync::{Mutex, PoisonError};
use tokio::task::AbortHandle;

/// The waits that are under way.
#[derive(Debug, Default)]
pub(super) struct Waits(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    has_ended: bool,
    under_way: Vec<AbortHandle>,
}

impl Waits {
    /// Takes a wait in. It is ended at once where stdin has ended.
    pub(super) fn begin(&self, wait: AbortHandle) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.under_way.retain(|wait| !wait.is_finished());
        match state.has_ended {
            true => wait.abort(),
            false => state.under_way.push(wait),
        }
    }

    /// Stdin has ended.
    pub(super) fn end(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.has_ended = true;
        state.under_way.drain(..).for_each(|wait| wait.abort());
    }
}
