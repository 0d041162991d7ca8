//! The locks of the protocols between threads, in one place, so that a model checker can stand in
//! for them.

#[cfg(not(feature = "model"))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};

#[cfg(feature = "model")]
pub(crate) use modelled::{Condvar, Mutex, MutexGuard};

/// The same calls on the model checker's locks.
#[cfg(feature = "model")]
mod modelled {
    use std::ops::{Deref, DerefMut};

    /// A lock whose every acquisition is a choice of the checker.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    /// The held lock; empty only while a condition is waited for.
    #[derive(Debug)]
    pub(crate) struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

    /// A condition whose every wake-up is a choice of the checker.
    #[derive(Debug, Default)]
    pub(crate) struct Condvar(shuttle::sync::Condvar);

    const HELD: &str = "a guard is empty only inside of `wait`";

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            let held = self.0.lock();
            MutexGuard(Some(held.unwrap_or_else(std::sync::PoisonError::into_inner)))
        }
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
            Self(shuttle::sync::Condvar::new())
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let held = guard.0.take().expect(HELD);
            let again = self.0.wait(held);
            guard.0 = Some(again.unwrap_or_else(std::sync::PoisonError::into_inner));
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
