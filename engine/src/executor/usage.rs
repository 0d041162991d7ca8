//! Counts of the kernel for a process.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Usage that the kernel counted for a child and the descendants that it waited for.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Usage {
    /// Time in user mode.
    pub(super) user_cpu: Duration,
    /// Time in the kernel.
    pub(super) system_cpu: Duration,
    /// The largest resident size of one of these processes, in bytes. At least the size that this
    /// process had when it started the child.
    pub(super) max_resident_bytes: u64,
}

impl From<&libc::rusage> for Usage {
    fn from(usage: &libc::rusage) -> Self {
        Self {
            user_cpu: duration_of(&usage.ru_utime),
            system_cpu: duration_of(&usage.ru_stime),
            max_resident_bytes: max_resident_bytes(usage),
        }
    }
}

fn duration_of(time: &libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let microseconds = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds).saturating_add(Duration::from_micros(microseconds))
}

/// The kernel counts kibibytes, Apple's counts bytes.
fn max_resident_bytes(usage: &libc::rusage) -> u64 {
    let counted = u64::try_from(usage.ru_maxrss).unwrap_or(0);
    if cfg!(target_vendor = "apple") { counted } else { counted.saturating_mul(1024) }
}
