//! `holdpoint mcp`: decisions and audits for agents, over the Model Context Protocol.

mod act;
mod arguments;
mod audit;
mod caller;
mod fit;
mod line;
mod look;
mod page;
mod progress;
mod schema;
mod server;
mod tools;
mod waiting;
mod wire;

use crate::args::{Global, LockWaitArgs, settle};
use crate::ui::Exit;
use holdpoint_domain::core::text::check_identifier;

/// Options of `mcp`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Allow the agent to answer decisions; its answers are recorded as an agent's, under an
    /// unverified name.
    #[arg(long)]
    allow_respond: bool,
    /// Requester of the agent's questions [default: `mcp:` and the client's name].
    #[arg(long, value_name = "NAME", value_parser = name)]
    requested_by: Option<String>,
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// Serves the client on stdin and stdout until stdin ends.
pub(crate) fn main(global: &Global, args: &Args) -> Exit {
    settle(global, server::serve(caller::ServerContext::new(global, args.clone())))
}

fn name(text: &str) -> Result<String, String> {
    check_identifier("name", text).map_err(|error| error.to_string())?;
    Ok(text.to_string())
}
