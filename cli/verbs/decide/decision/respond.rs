//! `holdpoint decision respond`: answers a question with one of its choices.

use crate::args::Global;
use crate::questions::choice::Answer;
use crate::questions::respond::{self, ReplyArgs};
use crate::ui::Exit;

/// Options of `decision respond`.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    reply: ReplyArgs,
    #[command(flatten)]
    words: Words,
    /// Target of ESCALATE, one that the hold offers.
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
}

/// One of the ways to answer.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Words {
    /// Choice: CONTINUE, RETRY, ABORT or ESCALATE of a hold, the id of an option of a decision;
    /// from the second round on, `_accept` accepts the proposal with its default.
    #[arg(value_name = "CHOICE")]
    choice: Option<String>,
    /// Choice, as an option.
    #[arg(long, value_name = "ID")]
    option: Option<String>,
    /// Answer with free text, which closes the question.
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Ask for a revised proposal that follows this guidance.
    #[arg(long, value_name = "TEXT")]
    guidance: Option<String>,
}

impl Words {
    fn answer(self) -> Answer {
        let choice = self.choice.or(self.option).map(Answer::Choice);
        let words = self.text.map(Answer::Text).or(self.guidance.map(Answer::Guidance));
        choice.or(words).unwrap_or_else(|| Answer::Choice(String::new()))
    }
}

/// Hands the answer in.
pub(super) fn main(global: &Global, is_named: bool, args: Args) -> Exit {
    respond::main(global, is_named, args.reply, args.words.answer(), args.to)
}
