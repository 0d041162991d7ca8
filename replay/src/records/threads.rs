//! Work on several things at once.

use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, available_parallelism, scope};

/// More threads than this gain nothing: they wait for the same memory.
const THREADS_MAX: usize = 8;

/// Returns what `make` makes of each, in their order, by as many threads as the processor runs at
/// once, of which this one is one. Where the system gives no more, this one does it alone.
pub(super) fn made_of_each<T: Send, M: Send>(
    things: Vec<T>,
    make: &(dyn Fn(T) -> M + Sync),
) -> Vec<M> {
    let others = available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX) - 1;
    let others = others.min(things.len().saturating_sub(1));
    let made = Mutex::new(Vec::with_capacity(things.len()));
    let waiting = Mutex::new(things.into_iter().enumerate());
    let work = || {
        while let Some((at, thing)) = next(&waiting) {
            let one = make(thing);
            locked(&made).push((at, one));
        }
    };
    scope(|scope| {
        for _ in 0..others {
            // One that is not given is not needed.
            let _ = Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_unstable_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, made)| made).collect()
}

fn next<T>(waiting: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    locked(waiting).next()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_comes_in_the_order_of_the_things() {
        for count in [0, 1, 2, 100] {
            let things: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = things.iter().map(|thing| thing * 2).collect();
            assert_eq!(made_of_each(things, &|thing| thing * 2), doubled);
        }
    }
}
