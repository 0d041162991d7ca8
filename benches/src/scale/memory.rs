//! What a process has in memory.

use crate::error::{Doing, MeasureError};
use serde::{Deserialize, Serialize};

/// Bytes of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// That no file backs, now.
    pub private_bytes: u64,
    /// At most until now, with what is mapped of files: what a system counts that limits it.
    pub peak_bytes: u64,
}

impl Memory {
    /// Of this process.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn now() -> Result<Self, MeasureError> {
        let status = std::fs::read_to_string("/proc/self/status").doing("ask for the memory")?;
        Self::of(&status).ok_or("it is not told").doing("ask for the memory")
    }

    fn of(status: &str) -> Option<Self> {
        let bytes = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(value.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
        };
        Some(Self { private_bytes: bytes("RssAnon:")?, peak_bytes: bytes("VmHWM:")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes_and_never_made_up() {
        let status = "VmPeak:\t  9000 kB\nVmHWM:\t    7 kB\nRssAnon:\t    3 kB\n";
        let memory = Memory { private_bytes: 3 * 1024, peak_bytes: 7 * 1024 };
        assert_eq!(Memory::of(status), Some(memory));
        assert_eq!(Memory::of("VmHWM:\t 7 kB\n"), None);
    }
}
