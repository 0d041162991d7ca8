//! Opening a log for writing, where a person may be asked whether it is theirs.

use crate::args::{Global, LockWaitArgs, expect_writable};
use crate::log::open::{not_opened, open_log};
use crate::questions::adoption;
use crate::ui::Failure;
use holdpoint_engine::Engine;

/// Opens the log for writing. A log that is not there is not made.
pub(crate) fn open(global: &Global, turn: &LockWaitArgs) -> Result<Engine, Failure> {
    open_or_make(global, turn, false)
}

/// Opens the log for writing, and makes it where there is none if that is asked for.
pub(crate) fn open_or_make(
    global: &Global,
    turn: &LockWaitArgs,
    make: bool,
) -> Result<Engine, Failure> {
    expect_writable()?;
    let engine = open_log(&global.log, turn.lock_wait, make);
    let engine = engine.map_err(|error| not_opened(global, &error))?;
    adoption::offer(global, &engine)?;
    Ok(engine)
}
