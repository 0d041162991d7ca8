//! `holdpoint mcp`: decisions and audits for agents, over the Model Context Protocol.

#[cfg(feature = "mcp")]
mod act;
#[cfg(feature = "mcp")]
mod arguments;
#[cfg(feature = "mcp")]
mod audit;
#[cfg(feature = "mcp")]
mod caller;
#[cfg(feature = "mcp")]
mod fit;
#[cfg(feature = "mcp")]
mod line;
#[cfg(feature = "mcp")]
mod look;
#[cfg(feature = "mcp")]
mod page;
#[cfg(feature = "mcp")]
mod progress;
#[cfg(feature = "mcp")]
mod result;
#[cfg(feature = "mcp")]
mod schema;
#[cfg(feature = "mcp")]
mod server;
#[cfg(feature = "mcp")]
mod tools;
#[cfg(feature = "mcp")]
mod waiting;
#[cfg(feature = "mcp")]
mod waits;
#[cfg(feature = "mcp")]
mod wire;

use crate::arguments::Global;
use crate::exit::{Exit, Failure, settle};
use crate::hold::LockWaitArgs;
use crate::run::limits::wait;
use holdpoint_domain::core::text::check_identifier;
use std::time::Duration;

/// Options of `mcp`.
#[derive(Clone, Debug, clap::Args)]
#[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "only the server reads them"))]
pub(crate) struct Args {
    /// Let the agent answer decisions as well. What it answers is recorded as an agent's, whose
    /// name nothing proves.
    #[arg(long)]
    allow_respond: bool,
    /// Record what the agent asks for under this name; else under `mcp:` and the client's own name.
    #[arg(long, value_name = "NAME", value_parser = name)]
    requested_by: Option<String>,
    /// How often a wait tells its progress to a client that asked for that.
    #[arg(long, hide = true, value_name = "DURATION", default_value = "10s", value_parser = wait)]
    progress_every: Duration,
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// Serves the client on stdin and stdout until stdin ends.
pub(crate) fn main(global: &Global, args: &Args) -> Exit {
    settle(global, serve(global, args))
}

#[cfg(feature = "mcp")]
fn serve(global: &Global, args: &Args) -> Result<Exit, Failure> {
    server::serve(caller::ServerContext::new(global, args.clone()))
}

#[cfg(not(feature = "mcp"))]
fn serve(_global: &Global, _args: &Args) -> Result<Exit, Failure> {
    let message = "this program was built without its MCP server; build it with `--features mcp`";
    Err(Failure::new(Exit::FAILED, "not_built_in", message))
}

fn name(text: &str) -> Result<String, String> {
    check_identifier("name", text).map_err(|error| error.to_string())?;
    Ok(text.to_string())
}
