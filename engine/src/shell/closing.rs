//! The end of an engine: who ends it, who waits for that, and whom it wakes.

use super::callback::EngineId;
use crate::sync::{Condvar, Mutex, thread};
use std::io::{self, PipeReader, PipeWriter, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Progress of an engine's end.
#[derive(Default)]
pub(super) struct Closing {
    phase: Mutex<Phase>,
    ended: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    By(thread::ThreadId),
    Ended,
}

impl Closing {
    /// The right to end the engine; `None` where that was done. Whoever is not in a callback of the
    /// engine, for which the other one may wait, waits until it was.
    pub(super) fn begin(&self, engine: EngineId) -> Option<Ending<'_>> {
        let own = thread::current().id();
        let mut phase = self.phase.lock();
        loop {
            match *phase {
                Phase::Open => {
                    *phase = Phase::By(own);
                    return Some(Ending(self));
                }
                Phase::By(other) if other != own && !engine.is_calling() => {
                    self.ended.wait(&mut phase);
                }
                Phase::By(_) | Phase::Ended => return None,
            }
        }
    }
}

/// The end that is under way, also where a panic cuts it short.
pub(super) struct Ending<'a>(&'a Closing);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        *self.0.phase.lock() = Phase::Ended;
        self.0.ended.notify_all();
    }
}

/// Wakes those who wait by poll(2).
#[derive(Default)]
pub(super) struct CloseSignal {
    is_given: AtomicBool,
    /// Made by the first who waits: can be read once the engine is closed.
    pipe: OnceLock<Option<(PipeReader, PipeWriter)>>,
}

impl CloseSignal {
    /// Returns a descriptor that can be read once the engine is closed; `None` where the process
    /// has no more: then a wait looks once a second.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let (reader, writer) = self.pipe.get_or_init(|| pipe().ok()).as_ref()?;
        if self.is_given() {
            // Given before there was a pipe.
            let _ = wake(writer);
        }
        Some(reader.as_fd())
    }

    pub(super) fn is_given(&self) -> bool {
        self.is_given.load(Ordering::SeqCst)
    }

    pub(super) fn give(&self) {
        self.is_given.store(true, Ordering::SeqCst);
        if let Some((_, writer)) = self.pipe.get().and_then(Option::as_ref) {
            // An empty pipe has room for a byte.
            let _ = wake(writer);
        }
    }
}

fn wake(mut writer: &PipeWriter) -> io::Result<()> {
    writer.write_all(&[0])
}
