//! The zone of this machine, in which local times are read and shown.

use crate::ui::{complain, excerpt};
use jiff::tz::TimeZone;
use std::env::var_os;
use std::sync::atomic::{AtomicBool, Ordering};

/// The variable that names it.
const VARIABLE: &str = "TZ";

/// Whether the variable was asked for a zone that is not known here.
static IS_UNKNOWN: AtomicBool = AtomicBool::new(false);

/// Whether that was said.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// The zone that `TZ` names, else that of this machine. Where it is not known it is UTC, which
/// [`tell_unknown`] says.
pub(crate) fn local() -> TimeZone {
    TimeZone::try_system().unwrap_or_else(|_| {
        IS_UNKNOWN.store(true, Ordering::Relaxed);
        TimeZone::UTC
    })
}

/// Says once that local times are those of UTC, where that is not what `TZ` says. Nothing is said
/// of a machine on which nobody named a zone.
pub(crate) fn tell_unknown() {
    if !IS_UNKNOWN.load(Ordering::Relaxed) || IS_TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    if let Some(named) = var_os(VARIABLE) {
        let named = excerpt(&named.to_string_lossy());
        complain(&format!("{VARIABLE}={named} names no zone that is known here; times are UTC"));
    }
}
