//! The model checker's locks, threads and randomness, in the place of the real ones.

use shuttle::rand::{Rng, thread_rng};
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Threads that are the checker's to run.
pub(crate) mod thread {
    pub(crate) use shuttle::thread::{Builder, JoinHandle, ThreadId, current, yield_now};
    use std::time::Duration;

    pub(crate) fn sleep(duration: Duration) {
        super::pass(duration);
        yield_now();
    }
}

/// A wait for a moment farther away than this is one for a wake-up: one that is lost is
/// found as a deadlock.
const NEVER: Duration = Duration::from_secs(24 * 60 * 60);

/// By how much the clock leaps, now and then, between two looks at it: further than any bound
/// of the protocols that is not to be met at once.
const LEAP: Duration = Duration::from_millis(70);

thread_local! {
    /// Time by the clock: all threads of a model are run by one real thread.
    static PASSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The moment by which deadlines are met: it stands still or leaps, as the checker likes.
pub(crate) fn now() -> Instant {
    if thread_rng().gen_ratio(1, 8) {
        pass(LEAP);
    }
    shown()
}

fn shown() -> Instant {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    *BEGINNING.get_or_init(Instant::now) + PASSED.get()
}

fn pass(duration: Duration) {
    PASSED.set(PASSED.get() + duration);
}

/// A lock whose every acquisition is a choice of the checker.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

/// The held lock: nobody in a model keeps one for long.
pub(crate) fn lock_within<T>(mutex: &Mutex<T>, _: Duration) -> Option<MutexGuard<'_, T>> {
    Some(mutex.lock())
}

/// The held lock; empty only while a condition is waited for.
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T>(Held<'a, T>);

type Held<'a, T> = Option<(shuttle::sync::MutexGuard<'a, T>, &'a shuttle::sync::Mutex<T>)>;

/// A condition whose every wake-up is a choice of the checker.
#[derive(Debug, Default)]
pub(crate) struct Condvar(shuttle::sync::Condvar);

/// End of a wait for a moment.
#[derive(Debug)]
pub(crate) struct WaitEnd {
    has_timed_out: bool,
}

const HELD: &str = "a guard is empty only inside of `wait`";

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some((unpoisoned(self.0.lock()), &self.0)))
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        unpoisoned(self.0.get_mut())
    }
}

/// Returns the value in any case, as the real locks do, which know no poison.
fn unpoisoned<T>(result: std::sync::LockResult<T>) -> T {
    result.unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.as_ref().expect(HELD).0
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0.as_mut().expect(HELD).0
    }
}

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(shuttle::sync::Condvar::new())
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let (held, mutex) = guard.0.take().expect(HELD);
        guard.0 = Some((unpoisoned(self.0.wait(held)), mutex));
    }

    /// Waits for nothing in particular while others go on, and then was woken or was not:
    /// whoever waits for a moment copes with both.
    pub(crate) fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, moment: Instant) -> WaitEnd {
        if moment.saturating_duration_since(shown()) > NEVER {
            self.wait(guard);
            return WaitEnd { has_timed_out: false };
        }
        let (held, mutex) = guard.0.take().expect(HELD);
        drop(held);
        thread::yield_now();
        guard.0 = Some((unpoisoned(mutex.lock()), mutex));
        let has_timed_out = thread_rng().gen_bool(0.5);
        if has_timed_out {
            pass(moment.saturating_duration_since(shown()));
        }
        WaitEnd { has_timed_out }
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

impl WaitEnd {
    pub(crate) fn timed_out(&self) -> bool {
        self.has_timed_out
    }
}
