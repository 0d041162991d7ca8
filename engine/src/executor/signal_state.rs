//! Effect of signals on a process when it begins.

use serde::{Deserialize, Serialize};

/// Dispositions of signals that a process hands on to what it executes: which are ignored, and
/// which are blocked. Every other one has its default action.
///
/// The default is that of most commands: none is ignored, none is blocked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SignalState {
    /// Bit n is of signal n + 1.
    pub ignored: u64,
    /// Bit n is of signal n + 1.
    pub blocked: u64,
}

impl SignalState {
    /// The numbers that a signal may have here.
    pub const NUMBERS: std::ops::RangeInclusive<i32> = 1..=64;

    /// The bit of the signal with this number.
    #[must_use]
    pub const fn bit(number: i32) -> u64 {
        1_u64.rotate_left(number.saturating_sub(1).cast_unsigned())
    }
}
