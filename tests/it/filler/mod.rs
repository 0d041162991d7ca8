//! Records that fill segments and change no state, appended beneath any engine.

use std::path::Path;

use crate::real_support::record;
use holdpoint_engine::log::{Level, Log, Options};
use holdpoint_log_files::DirectoryStorage;

/// A record of about this many bytes, so that a few fill a segment.
const FILLER_BYTES: usize = 4_000;

/// Appends so many, at the time of the newest record.
pub(crate) fn fill(log: &Path, count: u64) {
    let (log, _) = Log::open(DirectoryStorage::new(log), Options::default()).unwrap();
    for _ in 0..count {
        log.append_any_kind(&[record(FILLER_BYTES)], 0, Level::Os).unwrap();
    }
    log.close().unwrap();
}
