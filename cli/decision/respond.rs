//! `holdpoint decision respond`: somebody answers. The first answer counts.

use super::desk::{Desk, Only};
use super::principal::Speaker;
use super::told::{standing, tell};
use crate::arguments::Global;
use crate::exit::{Exit, Failure};
use crate::hold::Turn;
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::command::{Command, RespondToDecisionPoint};
use holdpoint_domain::decision_point::Response;

/// Options of `decision respond`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The decision: its id, the beginning of its id, or its issue where one of it is open.
    #[arg(value_name = "ID")]
    decision: String,
    #[command(flatten)]
    answer: Answer,
    /// What is said beside the answer.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    comment: Option<String>,
    #[command(flatten)]
    speaker: Speaker,
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    turn: Turn,
}

/// One of the ways to answer.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Answer {
    /// Choose this option; `_accept` is `--accept`.
    #[arg(long, visible_alias = "select", value_name = "ID")]
    option: Option<String>,
    /// Answer in your own words, which ends the question.
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Ask for another proposal that heeds this.
    #[arg(long, value_name = "TEXT")]
    guidance: Option<String>,
    /// Accept the guidance that led to this round, as it is.
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

/// Hands the answer in. Exit 0 where it counts, also when it is on record already; 4 where another
/// one counts: this one is then kept, and does not; 5 where a rule says no.
pub(super) fn respond(global: &Global, args: Args) -> Result<Exit, Failure> {
    let desk = Desk::open(global, &args.turn, false)?;
    let point = desk.find(&args.decision)?;
    let by = args.speaker.principal();
    let command = Command::RespondToDecisionPoint(RespondToDecisionPoint {
        decision_id: point.decision_id.to_string(),
        entropy: desk.entropy()?,
        by: by.clone(),
        response: args.answer.response(),
        comment: args.comment,
    });
    let submitted = desk.submit(&point, &by, &args.only, &command)?;
    tell(global, desk, &point.decision_id, &submitted, standing)
}
