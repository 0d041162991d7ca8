//! Programs of agents: the hooks of their hosts, and a server of tools.

pub(crate) mod hook;
pub(crate) mod mcp;
