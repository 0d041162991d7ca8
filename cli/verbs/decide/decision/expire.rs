//! `holdpoint decision expire`: the timeouts that are due are recorded.

use crate::args::{Global, LockWaitArgs};
use crate::questions::expire::record_due;
use crate::ui::{Exit, Failure};

/// Options of `decision expire`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// Records what is due, of decisions and of everything else, as `hold expire` does.
pub(super) fn expire(global: &Global, args: &Args) -> Result<Exit, Failure> {
    record_due(global, &args.turn)
}
