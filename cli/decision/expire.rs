//! `holdpoint decision expire`.

use crate::arguments::Global;
use crate::exit::{Exit, Failure};

/// Options of `decision expire`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// In the making.
pub(super) fn expire(_global: &Global, _args: &Args) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::FAILED, "absent", "in the making"))
}
