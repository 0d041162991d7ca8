//! A limit on the size of files, as `ulimit -f` sets it, is an error to tell and not a death.

use std::io;

/// From here on a write beyond the limit fails with an error, where the signal SIGXFSZ would
/// otherwise end this process without a word. Commands that are started have the signal's default
/// action, as ever.
///
/// # Errors
/// The system refuses a handler.
pub fn file_size_limit_is_an_error() -> io::Result<()> {
    signal_hook::flag::register(libc::SIGXFSZ, std::sync::Arc::default()).map(drop)
}
