//! `holdpoint answer`: a person answers whatever waits, a hold or a decision, by the words that it
//! offers.

use crate::arguments::Global;
use crate::decision::{self, Answered, Speaker};
use crate::directory::Directory;
use crate::exit::{Exit, Failure, settle};
use crate::hold::{self, LockWaitArgs, NamedHumanDecision};
use crate::live::LiveState;
use crate::text::excerpt;
use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;

/// What the id of a request to a person begins with.
const REQUEST: &str = "REQ-";
/// What the id of a decision begins with.
const DECISION: &str = "DP-";
/// So many digits are asked for at least, where they stand alone.
const DIGITS_MIN: usize = 6;

/// Options of `answer`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is answered: the id of a hold's request or of a decision, at least six of its first
    /// digits, or the issue of a decision.
    #[arg(value_name = "ID")]
    id: String,
    /// The answer, as the question offers it: CONTINUE, RETRY, ABORT or ESCALATE of a hold, the id
    /// of an option of a decision. None of them stands for another one.
    #[arg(value_name = "WORD", required_unless_present_any = ["text", "guidance"])]
    word: Option<String>,
    /// Why. RETRY and ESCALATE need a reason; of a decision it is said beside the answer.
    #[arg(long, visible_alias = "comment", value_name = "TEXT")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    reason: Option<String>,
    /// Of a decision: answer in your own words, which ends the question.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["word", "guidance"])]
    text: Option<String>,
    /// Of a decision: ask for another proposal that heeds this.
    #[arg(long, value_name = "TEXT", conflicts_with = "word")]
    guidance: Option<String>,
    /// Of a hold: who is asked instead. ESCALATE needs one of the hold's targets.
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Of a hold: answer without a terminal, as another user than the one who asks; goes on record.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    speaker: Speaker,
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// What an id is of.
enum Asked {
    /// A request of a hold.
    Request(String),
    /// A decision.
    Decision(String),
}

/// Hands the answer in, as `hold answer` and `decision respond` do: with their exit codes.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    let asked = Directory::open(global).and_then(|directory| asked(&directory, &args.id));
    let outcome = asked.and_then(|asked| match asked {
        Asked::Request(id) => answer_request(global, id, args),
        Asked::Decision(id) => respond(global, id, args).map_err(decision::told_whole),
    });
    settle(global, outcome)
}

fn answer_request(global: &Global, request: String, args: Args) -> Result<Exit, Failure> {
    let Args { word, reason, text, guidance, to, yes, speaker, turn, .. } = args;
    if text.or(guidance).is_some() || speaker.is_given() {
        let message = format!(
            "{} is the question of a hold, which takes one of its words from the user at this \
             terminal: no --text, --guidance, --as or --agent",
            visible(&request)
        );
        return Err(Failure::new(Exit::USAGE, "not_of_a_hold", message));
    }
    let word = word.unwrap_or_default();
    let decision = NamedHumanDecision::from_str(&word, true).map_err(|_| {
        let words = NamedHumanDecision::value_variants();
        let offered = words.iter().filter_map(|it| Some(it.to_possible_value()?.get_name().into()));
        not_offered(&request, &word, &offered.collect::<Vec<String>>())
    })?;
    hold::answer(global, hold::AnswerArgs::of(request, decision, (reason, to), yes, turn))
}

fn not_offered(id: &str, word: &str, offered: &[String]) -> Failure {
    let message = format!(
        "{} does not offer {}: its words are {}",
        visible(id),
        excerpt(word),
        offered.join(", ")
    );
    Failure::new(Exit::REFUSED, "bad_option", message)
}

fn respond(global: &Global, decision: String, args: Args) -> Result<Exit, Failure> {
    let Args { word, reason, text, guidance, to, yes, speaker, turn, .. } = args;
    if to.is_some() || yes {
        let message = format!(
            "{} is a decision: --to and --yes are for the questions of holds; `holdpoint decision \
             escalate` tells somebody else of it",
            excerpt(&decision)
        );
        return Err(Failure::new(Exit::USAGE, "not_of_a_decision", message));
    }
    let answered = Answered { decision, option: word, text, guidance, comment: reason };
    decision::answer(global, answered, speaker, turn)
}

/// What is answered. Digits alone name what waits. Exit 4 where several begin so.
fn asked(directory: &Directory, wanted: &str) -> Result<Asked, Failure> {
    if wanted.starts_with(REQUEST) {
        return Ok(Asked::Request(wanted.to_string()));
    }
    let are_digits = wanted.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if wanted.starts_with(DECISION) || !are_digits || wanted.len() < DIGITS_MIN {
        return Ok(Asked::Decision(wanted.to_string()));
    }
    let state = LiveState::read(directory, false)?;
    state.expect_log(directory)?;
    let found = beginning(state.world(), wanted);
    match found.as_slice() {
        [] => Ok(Asked::Decision(wanted.to_string())),
        [only] if only.starts_with(REQUEST) => Ok(Asked::Request(only.clone())),
        [only] => Ok(Asked::Decision(only.clone())),
        several => {
            let message = format!(
                "{} questions begin with {wanted}: {}; give more digits",
                several.len(),
                several.join(", ")
            );
            Err(Failure::new(Exit::CONFLICT, "ambiguous_question", message))
        }
    }
}

/// The ids of the questions that wait and whose digits begin so.
fn beginning(world: &World, digits: &str) -> Vec<String> {
    let requests = world.open_requests().map(|(_, held)| held.request_id());
    let points = world.live_decision_points().map(|point| point.decision_id.as_str());
    let digits_of = |id: &str| id.split_once('-').is_some_and(|(_, own)| own.starts_with(digits));
    requests.chain(points).filter(|id| digits_of(id)).map(|id| visible(id).to_string()).collect()
}
