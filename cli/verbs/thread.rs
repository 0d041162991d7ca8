//! `holdpoint thread`: conversations that were interrupted, as the log tells them.

mod list;
mod render;
mod rows;
mod show;
mod story;
pub(crate) mod view;

use crate::args::{Global, settle};
use crate::ui::Exit;
use clap::Subcommand;

/// What to do with interruption threads.
#[derive(Debug, Subcommand)]
pub(crate) enum ThreadVerb {
    /// List open and ended threads with their state.
    List(list::Args),
    /// Show a thread: its unsaid remainder and until when it is kept; its audit rows; or its turns.
    Show(show::Args),
    /// Render the text of a tool's answer; no log is read or written.
    Render(render::Args),
}

impl ThreadVerb {
    /// Returns whether its JSON is an array of all items.
    pub(crate) const fn is_array(&self) -> bool {
        matches!(self, Self::List(args) if args.is_array())
    }
}

/// Carries the verb out. Exit 3 when there is no log or no such thread, 4 when several tenants have
/// one of this name, 5 when a rule said no, 6 when the log does not verify.
pub(crate) fn main(global: &Global, verb: ThreadVerb) -> Exit {
    let outcome = match verb {
        ThreadVerb::List(args) => list::list(global, args),
        ThreadVerb::Show(args) => show::show(global, &args),
        ThreadVerb::Render(args) => render::render(global, &args),
    };
    settle(global, outcome)
}
