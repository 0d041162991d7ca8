//! `holdpoint decision respond`: somebody answers. The first answer counts.

use crate::args::principal::Speaker;
use crate::args::{Global, LockWaitArgs};
use crate::log::verdict::and_permits;
use crate::questions::decision_change::Change;
use crate::questions::decision_output::standing;
use crate::ui::{Exit, Failure};
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{DecisionPointCommand, RespondToDecisionPoint, Response};

/// Options of `decision respond`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    answer: Answer,
    /// What is said beside the answer.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    comment: Option<String>,
    #[command(flatten)]
    change: Change,
}

/// One of the ways to answer.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Answer {
    /// Choose this option; `_accept` is `--accept`, `_guidance` accepts the guidance as it is.
    #[arg(long, visible_alias = "select", value_name = "ID")]
    option: Option<String>,
    /// Answer in your own words, which ends the question.
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Ask for another proposal that heeds this.
    #[arg(long, value_name = "TEXT")]
    guidance: Option<String>,
    /// Accept the current proposal as it is, with its default, from the second round on.
    #[arg(long)]
    accept: bool,
}

impl Answer {
    fn response(self) -> Response {
        let option = self.option.map(|id| Response::option(&id));
        let text = self.text.map(|words| Response::Text(words.into()));
        let guidance = self.guidance.map(|words| Response::Guidance(words.into()));
        option.or(text).or(guidance).unwrap_or(Response::Accept)
    }
}

/// An answer as another verb is given it: an option, a text or guidance.
pub(crate) struct Answered {
    pub(crate) decision: String,
    pub(crate) option: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) guidance: Option<String>,
    pub(crate) comment: Option<String>,
}

impl Answered {
    fn args(self, speaker: Speaker, turn: LockWaitArgs) -> Args {
        let Self { decision, option, text, guidance, comment } = self;
        let answer = Answer { option, text, guidance, accept: false };
        Args { answer, comment, change: Change::of(decision, speaker, turn) }
    }
}

/// Hands in an answer that another verb was given.
pub(crate) fn answer(
    global: &Global,
    answered: Answered,
    speaker: Speaker,
    turn: LockWaitArgs,
) -> Result<Exit, Failure> {
    respond(global, answered.args(speaker, turn))
}

/// The same, of the user at this terminal, and prints nothing: what it came to, in words.
pub(crate) fn give(
    global: &Global,
    answered: Answered,
    turn: LockWaitArgs,
) -> Result<String, Failure> {
    let Args { answer, comment, change } = answered.args(Speaker::default(), turn);
    let told = change.hand_in(global, response(answer, comment))?;
    let doubt = told.doubt.filter(|_| told.points.0.needs_person());
    Ok(and_permits(&standing(&told.points.0), doubt))
}

/// Hands the answer in. Exit 0 where it counts, also when it is on record already; 4 where another
/// one counts: this one is then kept, and does not; 5 where a rule says no.
pub(crate) fn respond(global: &Global, args: Args) -> Result<Exit, Failure> {
    let Args { answer, comment, change } = args;
    change.carry_out(global, response(answer, comment), standing)
}

fn response(answer: Answer, comment: Option<String>) -> impl FnOnce(String, Principal) -> Command {
    let response = answer.response();
    move |decision_id, by| {
        Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(
            RespondToDecisionPoint {
                decision_id,
                entropy: Entropy::default(),
                by,
                response,
                comment,
            },
        ))
    }
}
