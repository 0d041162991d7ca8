//! The whole command line, for modules below the one that declares it.

use clap::Command;
use std::sync::OnceLock;

/// The function that declares it.
static DECLARED: OnceLock<fn() -> Command> = OnceLock::new();

/// Takes the function that declares the command line of this process.
pub(crate) fn declare(command: fn() -> Command) {
    // A process has one command line.
    let _ = DECLARED.set(command);
}

/// The command line, with every verb and option.
pub(crate) fn declared() -> Command {
    DECLARED.get().map_or_else(|| Command::new("holdpoint"), |declare| declare())
}
