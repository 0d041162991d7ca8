//! `holdpoint answer`: a person answers whatever waits, a hold or a decision, by the words that it
//! offers.

use crate::args::principal::Speaker;
use crate::args::{Global, LockWaitArgs, settle};
use crate::log::ids::{self, DIGITS, are_digits, begins};
use crate::log::{Directory, IdOf, LiveState, decision_id, or_archived, other_logs};
use crate::questions::answer::decision_of;
use crate::questions::decision_response::{self, Answered};
use crate::questions::{decision_output, hold_answer, waiting_logs};
use crate::ui::short_id::DIGITS_MIN;
use crate::ui::{Exit, Failure, excerpt, path};
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;
use holdpoint_replay::Tells;
use std::path::PathBuf;

/// What the id of a request to a person begins with.
const REQUEST: &str = IdOf::Request.prefix();
/// What the id of a decision begins with.
const DECISION: &str = IdOf::Decision.prefix();

/// Options of `answer`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is answered: the id of a hold's request or of a decision, at least six of its first
    /// digits, or the issue of a decision. Without `--log` an id of any log of the inbox.
    #[arg(value_name = "ID")]
    id: String,
    /// The answer, as the question offers it: CONTINUE, RETRY, ABORT or ESCALATE of a hold, the id
    /// of an option of a decision. None of them stands for another one.
    #[arg(value_name = "WORD", required_unless_present_any = ["text", "guidance"])]
    word: Option<String>,
    /// Why. RETRY and ESCALATE need a reason, of one line; of a decision it is said beside the
    /// answer.
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
    #[arg(long, visible_alias = "target", value_name = "NAME")]
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

/// Hands the answer in, as `hold answer` and `decision respond` do: with their exit codes. Where no
/// log is named, what does not wait in the log that is meant here is looked for in the inbox.
pub(crate) fn main(global: &Global, is_named: bool, args: Args) -> Exit {
    if is_cut_short(&args.id) {
        let message = format!(
            "{} is too little of an id to answer: give at least {DIGITS_MIN} of its digits",
            excerpt(&args.id)
        );
        return settle(global, Err(Failure::new(Exit::USAGE, "short_id", message)));
    }
    if is_named || !is_of_an_id(&args.id) {
        return settle(global, or_archived(global, answer(global, args)));
    }
    let outcome = match waits_here(global, &args.id) {
        true => expect_no_other_log(global, &args.id)
            .and_then(|()| or_archived(global, answer(global, args))),
        false => answer_in_inbox(global, args),
    };
    settle(global, outcome)
}

/// Answers what waits in a log of the inbox, where no other one that can be read has such an id:
/// what was read may be that, though it is over. A log that cannot be read is warned of, and where
/// the id is not given whole it may be the one that was meant.
fn answer_in_inbox(global: &Global, mut args: Args) -> Result<Exit, Failure> {
    let waiting = waiting_logs::waiting(|id| begins(id, &args.id));
    match waiting.found.as_slice() {
        [] => or_archived(global, answer(global, args))
            .map_err(|failure| waiting.not_all_read(failure)),
        [(log, id)] => {
            let (all, unknown) = beginning_anywhere(global, &args.id);
            if all.len() > 1 {
                return Err(several_begin(&all, &args.id));
            }
            // Of an id that is given whole nothing is left to be guessed.
            match is_whole(&args.id) {
                true => waiting_logs::warn_of_unknown(&waiting.unknown, id, log),
                false => {
                    waiting_logs::expect_known(&waiting.unknown, id, log)?;
                    waiting_logs::expect_known(&unknown, id, log)?;
                }
            }
            args.id.clone_from(id);
            let config = global.config.clone();
            answer(&Global { log: log.clone(), config, json: global.json, lists: false }, args)
        }
        several => Err(several_begin(several, &args.id)),
    }
}

/// That no log of the inbox besides the one that is meant here has a question that begins so, as
/// far as they can be read; of the others is warned.
fn expect_no_other_log(global: &Global, wanted: &str) -> Result<(), Failure> {
    let (found, unknown) = beginning_anywhere(global, wanted);
    match found.iter().any(|(log, _)| found.first().is_some_and(|(first, _)| first != log)) {
        true => Err(several_begin(&found, wanted)),
        false => {
            waiting_logs::warn_of_unknown(&unknown, wanted, &global.log);
            Ok(())
        }
    }
}

/// The questions of all logs that begin so, waiting or over, and why there may be more.
fn beginning_anywhere(global: &Global, wanted: &str) -> (Vec<(PathBuf, String)>, Vec<Failure>) {
    let (mut found, unknown) = other_logs::having(global, wanted);
    found.retain(|(_, id)| id.starts_with(REQUEST) || id.starts_with(DECISION));
    (found, unknown)
}

fn answer(global: &Global, args: Args) -> Result<Exit, Failure> {
    match asked(global, &args.id)? {
        Asked::Request(id) => answer_request(global, id, args),
        Asked::Decision(id) => respond(global, id, args).map_err(decision_output::told_whole),
    }
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
    let decision = decision_of(global, &request, word)?;
    hold_answer::answer(global, hold_answer::Args::of(request, decision, (reason, to), yes, turn))
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
    decision_response::answer(global, answered, speaker, turn)
}

/// What is answered. Digits alone name what waits, or what is over. Exit 4 where several begin so,
/// or an issue is called so as well.
fn asked(global: &Global, wanted: &str) -> Result<Asked, Failure> {
    // In the wrong case it names none, and it is said which one is like it.
    let is_request = wanted.get(..REQUEST.len()).is_some_and(|it| it.eq_ignore_ascii_case(REQUEST));
    if is_request && wanted.len() == REQUEST.len() + DIGITS {
        return Ok(Asked::Request(wanted.to_string()));
    }
    if !is_request && (!are_digits(wanted) || wanted.len() < DIGITS_MIN) {
        return Ok(Asked::Decision(wanted.to_string()));
    }
    let directory = Directory::open(global)?;
    let state = LiveState::read(&directory, false, Tells::Questions)?;
    state.expect_log(&directory)?;
    decision_id::expect_one_meaning(state.world(), wanted)?;
    if is_request {
        return Ok(Asked::Request(wanted.to_string()));
    }
    // What is over may be what was read: the answer to that comes too late, and is told so.
    let beginnings = ids::beginnings(wanted, &[IdOf::Decision, IdOf::Request]);
    let mut found = ids::of_whole_log(global, &beginnings)?;
    found.extend(beginning(state.world(), wanted));
    let found: Vec<String> = found.into_iter().collect();
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

/// The ids of the questions that wait and begin so, or whose digits do.
fn beginning(world: &World, wanted: &str) -> Vec<String> {
    let requests = world.open_requests().map(|(_, held)| held.request_id());
    let points = world.live_decision_points().map(|point| point.decision_id.as_str());
    let waiting = requests.chain(points).filter(|id| begins(id, wanted));
    waiting.map(|id| visible(id).to_string()).collect()
}

/// Whether an id is given with fewer digits than an answer, which is final, asks for.
fn is_cut_short(wanted: &str) -> bool {
    let own = wanted.strip_prefix(REQUEST).or_else(|| wanted.strip_prefix(DECISION));
    own.is_some_and(|digits| digits.len() < DIGITS_MIN && are_digits(digits))
}

/// Whether a text can be the beginning of an id and of nothing else: of so many digits at least.
fn is_of_an_id(wanted: &str) -> bool {
    let own = wanted.strip_prefix(REQUEST).or_else(|| wanted.strip_prefix(DECISION));
    let digits = own.unwrap_or(wanted);
    digits.len() >= DIGITS_MIN && are_digits(digits)
}

/// Whether a text is a whole id.
fn is_whole(wanted: &str) -> bool {
    let own = wanted.strip_prefix(REQUEST).or_else(|| wanted.strip_prefix(DECISION));
    own.unwrap_or(wanted).len() == DIGITS
}

/// Whether it is that of a question of the log that is meant here. What cannot be read is told
/// by whoever needs it.
fn waits_here(global: &Global, wanted: &str) -> bool {
    let state = Directory::open(global)
        .and_then(|directory| LiveState::read(&directory, false, Tells::Questions));
    state.is_ok_and(|state| !beginning(state.world(), wanted).is_empty())
}

/// That several questions of the logs of the inbox begin so.
fn several_begin(found: &[(PathBuf, String)], wanted: &str) -> Failure {
    let is_whole = found.iter().all(|(_, id)| id == wanted);
    let advice = match is_whole {
        true => "name the log that is meant with --log DIR",
        false => "give more digits, or name the log that is meant with --log DIR",
    };
    let named: Vec<String> =
        found.iter().map(|(log, id)| format!("{} in {}", visible(id), path(log))).collect();
    let message = format!(
        "{} questions begin with {wanted}, waiting or over: {}; {advice}",
        found.len(),
        named.join(", ")
    );
    Failure::new(Exit::CONFLICT, "ambiguous_question", message)
}
