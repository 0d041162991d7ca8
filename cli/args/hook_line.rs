//! A command line of `hook`, as it stands in the settings of a host.

use crate::args::host::{Event, Host};
use clap::Error;
use std::path::PathBuf;
use std::time::Duration;

/// The options of such a line.
pub(crate) struct HookLine {
    /// The log that it names.
    pub(crate) log: Option<PathBuf>,
    /// The host that it names.
    pub(crate) host: Option<Host>,
    /// The events for which this hook is meant, the usual one first.
    pub(crate) events: &'static [Event],
    /// The tools that this hook guards, as they are named; none stands for all.
    pub(crate) tools: Vec<String>,
    /// The longest time that this hook takes.
    pub(crate) takes_at_most: Duration,
    /// What of the options cannot be kept, in words: the hook then answers nothing else.
    pub(crate) flaw: Option<String>,
}

/// Reads such a line; `None`: it calls another verb.
pub(crate) type HookLineReader = fn(&[String]) -> Result<Option<HookLine>, Error>;
