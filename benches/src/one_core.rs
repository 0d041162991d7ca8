//! Work that has one core alone, whatever number of threads it would begin.

use crate::error::{Doing, MeasureError};

/// Does some work on one of the cores that this thread may use. Threads that begin meanwhile have
/// no other one either.
pub(crate) fn on_one_core<T>(
    work: impl FnOnce() -> Result<T, MeasureError>,
) -> Result<T, MeasureError> {
    let _confined = Confined::to_first()?;
    work()
}

/// Gives the cores back when it is dropped, also where the work panics.
#[cfg(target_os = "linux")]
struct Confined(rustix::thread::CpuSet);

#[cfg(target_os = "linux")]
impl Confined {
    fn to_first() -> Result<Self, MeasureError> {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let allowed = sched_getaffinity(None).doing("ask for this thread's cores")?;
        let first = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core)).unwrap_or_default();
        let mut one = CpuSet::new();
        one.set(first);
        sched_setaffinity(None, &one).doing("keep to one core")?;
        Ok(Self(allowed))
    }
}

#[cfg(target_os = "linux")]
impl Drop for Confined {
    fn drop(&mut self) {
        // They were allowed before.
        let _ = rustix::thread::sched_setaffinity(None, &self.0);
    }
}

#[cfg(not(target_os = "linux"))]
struct Confined;

#[cfg(not(target_os = "linux"))]
impl Confined {
    fn to_first() -> Result<Self, MeasureError> {
        Err(MeasureError::NotOffered("this system does not keep a thread to one core"))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::thread::available_parallelism;

    #[test]
    fn the_cores_are_one_meanwhile_and_all_again_afterwards() {
        let before = available_parallelism().map_or(0, usize::from);
        let meanwhile = on_one_core(|| Ok(available_parallelism().map_or(0, usize::from)));
        assert!(matches!(meanwhile, Ok(1)));
        assert_eq!(available_parallelism().map_or(0, usize::from), before);
    }
}
