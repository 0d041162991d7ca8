//! `holdpoint approve` and `holdpoint deny`: a person says yes or no to a pending question.

use crate::args::Global;
use crate::questions::choice::Answer;
use crate::questions::respond::{self, ReplyArgs};
use crate::ui::Exit;

/// Options of `approve` and `deny`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reply: ReplyArgs,
}

/// Says yes: CONTINUE to a hold, to a decision the only choice that does not reject.
pub(crate) fn approve(global: &Global, is_named: bool, args: Args) -> Exit {
    respond::main(global, is_named, args.reply, Answer::Approve, None)
}

/// Says no: ABORT to a hold, to a decision the only choice that rejects.
pub(crate) fn deny(global: &Global, is_named: bool, args: Args) -> Exit {
    respond::main(global, is_named, args.reply, Answer::Deny, None)
}
