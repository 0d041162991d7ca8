//! `holdpoint decision cancel`.

use crate::arguments::Global;
use crate::exit::{Exit, Failure};

/// Options of `decision cancel`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// In the making.
pub(super) fn cancel(_global: &Global, _args: Args) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::FAILED, "absent", "in the making"))
}
