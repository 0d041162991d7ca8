//! The locks, threads and clock of the protocols between threads, in one place, so that a model
//! checker can stand in for them.

#[cfg(all(test, feature = "model"))]
pub(crate) mod tests;

#[cfg(not(all(test, feature = "model")))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(not(all(test, feature = "model")))]
pub(crate) use real::now;
#[cfg(all(test, feature = "model"))]
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(all(test, feature = "model"))]
pub(crate) use shuttle::thread_local;
#[cfg(not(all(test, feature = "model")))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(not(all(test, feature = "model")))]
pub(crate) use std::{thread, thread_local};
/// Locks and conditions for many who wait for the same moment.
#[cfg(all(test, feature = "model"))]
pub(crate) use tests as crowd;
#[cfg(all(test, feature = "model"))]
pub(crate) use tests::{Condvar, Mutex, MutexGuard, lock_within, now, thread};

#[cfg(not(all(test, feature = "model")))]
pub(crate) use real::lock_within;

#[cfg(not(all(test, feature = "model")))]
mod real {
    use super::{Mutex, MutexGuard};
    use std::time::{Duration, Instant};

    /// The held lock, where it is free within `wait`.
    pub(crate) fn lock_within<T>(mutex: &Mutex<T>, wait: Duration) -> Option<MutexGuard<'_, T>> {
        mutex.try_lock_for(wait)
    }

    /// The moment by which deadlines are met.
    pub(crate) fn now() -> Instant {
        Instant::now()
    }
}

/// The same calls on the locks of the standard library: a condition wakes all who wait for it with
/// one system call, where `parking_lot` wakes one and lets it wake the next. They are not fair: for
/// what is never held for long.
#[cfg(not(all(test, feature = "model")))]
pub(crate) mod crowd {
    use std::ops::{Deref, DerefMut};
    use std::sync::{self, LockResult, PoisonError};

    #[derive(Debug)]
    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    /// The held lock; empty only while a condition is waited for.
    #[derive(Debug)]
    pub(crate) struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>);

    #[derive(Debug)]
    pub(crate) struct Condvar(sync::Condvar);

    const HELD: &str = "a guard is empty only inside of `wait`";

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(unpoisoned(self.0.lock())))
        }
    }

    /// Returns the value of a lock in any case, as the other locks do, which know no poison.
    fn unpoisoned<T>(result: LockResult<T>) -> T {
        result.unwrap_or_else(PoisonError::into_inner)
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_ref().expect(HELD)
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect(HELD)
        }
    }

    impl Condvar {
        pub(crate) const fn new() -> Self {
            Self(sync::Condvar::new())
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let held = guard.0.take().expect(HELD);
            guard.0 = Some(unpoisoned(self.0.wait(held)));
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
