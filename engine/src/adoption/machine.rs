//! The machine that a log was begun on.

use holdpoint_domain::core::hash::{Digest, sha256};

/// Files in which the system keeps its id, the usual place first.
const FILES: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// Stands before the id: who sees a digest learns nothing of what others make of the id, as
/// machine-id(5) asks for.
const PURPOSE: &str = "holdpoint log registry\n";

/// A digest of the machine's id; of nothing where it has none.
pub(super) fn machine() -> Digest {
    let read = |file: &&str| std::fs::read_to_string(file).ok();
    let id = FILES.iter().find_map(read).unwrap_or_default();
    sha256(format!("{PURPOSE}{}", id.trim()).as_bytes())
}
