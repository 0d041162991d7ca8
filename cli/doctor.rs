//! `holdpoint doctor`.

use crate::arguments::Global;
use crate::exit::{Exit, Failure, settle};

/// Options of `doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// In the making.
pub(crate) fn main(global: &Global, _args: &Args) -> Exit {
    settle(global, Err(Failure::new(Exit::FAILED, "absent", "in the making")))
}
