//! Identity of a log, and of the boot of a machine that wrote it.

use core::fmt;

/// A log's identity: 16 random bytes drawn when it is created. Every checksum and link depends on
/// it, so that no bytes of another log pass for this one's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId(pub [u8; 16]);

/// Boot of the machine: on Linux the kernel's random boot id. Nothing written in one boot can be a
/// torn page of another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootId(pub [u8; 16]);

impl BootId {
    /// "Not known": equal to no real boot.
    pub const UNKNOWN: Self = Self([0; 16]);
}

macro_rules! show_as_hex {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(&self.0, out)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

show_as_hex!(LogId);
show_as_hex!(BootId);

/// Writes `bytes` as lower-case hexadecimal.
pub(crate) fn write_hex(bytes: &[u8], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}
