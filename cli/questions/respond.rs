//! Answers to a question, whichever rules it follows: `decision respond`, `approve` and `deny`.

use crate::args::principal::Speaker;
use crate::args::{Global, LockWaitArgs, settle};
use crate::log::ids::{self, are_digits, begins};
use crate::log::question::Kind;
use crate::log::{Directory, IdOf, LiveState, Question, decision_id, or_archived, other_logs};
use crate::questions::choice::{self, Answer};
use crate::questions::decision_change::Change;
use crate::questions::decision_session::Only;
use crate::questions::hold_answer::{self, HoldAnswer};
use crate::questions::permits::NOT_OF_A_HOLD;
use crate::questions::{decision_output, decision_response, waiting_logs};
use crate::ui::short_id::DIGITS_MIN;
use crate::ui::{Exit, Failure, excerpt, path};
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;
use holdpoint_replay::Tells;
use std::path::PathBuf;

/// Options of everything that answers.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplyArgs {
    /// The question: its id, at least six of its digits, or the issue of a decision. Without
    /// `--log`, a question of any log of the inbox.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Why, in one line. RETRY and ESCALATE need a reason.
    #[arg(long, visible_alias = "comment", value_name = "TEXT")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,
    /// Answer a hold without a terminal, as another user than the one who asks; goes on record.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    speaker: Speaker,
    #[command(flatten)]
    only: Only,
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// An answer, and under which conditions it is given.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) args: ReplyArgs,
    pub(crate) answer: Answer,
    /// Who is asked instead, by ESCALATE.
    pub(crate) to: Option<String>,
}

/// Hands the answer in. Exit 0 where it counts, also when it is on record already; 4 where another
/// one counts; 5 where a rule says no. Where no log is named, a question that does not wait in the
/// log of this place is looked for in the inbox.
pub(crate) fn main(global: &Global, is_named: bool, reply: Reply) -> Exit {
    settle(global, respond(global, is_named, reply).map_err(decision_output::told_whole))
}

fn respond(global: &Global, is_named: bool, reply: Reply) -> Result<Exit, Failure> {
    let id = &reply.args.id;
    ids::expect_long_enough(id)?;
    if is_named || !is_of_an_id(id) {
        return or_archived(global, answer(global, reply));
    }
    if !waits_here(global, id) {
        return answer_in_inbox(global, reply);
    }
    expect_no_other_log(global, id)?;
    or_archived(global, answer(global, reply))
}

/// Answers what waits in a log of the inbox, where no other one that can be read has such an id:
/// what was read may be that, though it is over. A log that cannot be read is warned of, and where
/// the id is not given whole it may be the one that was meant.
fn answer_in_inbox(global: &Global, mut reply: Reply) -> Result<Exit, Failure> {
    let wanted = reply.args.id.clone();
    let waiting = waiting_logs::waiting(|id| begins(id, &wanted));
    match waiting.found.as_slice() {
        [] => or_archived(global, answer(global, reply))
            .map_err(|failure| waiting.not_all_read(failure)),
        [(log, id)] => {
            let (all, unknown) = beginning_anywhere(global, &wanted);
            if all.len() > 1 {
                return Err(several_begin(&all, &wanted));
            }
            // Of an id that is given whole nothing is left to be guessed.
            match ids::is_whole(&wanted) {
                true => waiting_logs::warn_of_unknown(&waiting.unknown, id, log),
                false => {
                    waiting_logs::expect_known(&waiting.unknown, id, log)?;
                    waiting_logs::expect_known(&unknown, id, log)?;
                }
            }
            reply.args.id.clone_from(id);
            let config = global.config.clone();
            answer(&Global { log: log.clone(), config, json: global.json, lists: false }, reply)
        }
        several => Err(several_begin(several, &wanted)),
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
    found.retain(|(_, id)| matches!(IdOf::of(id), Some(IdOf::Request | IdOf::Decision)));
    (found, unknown)
}

fn answer(global: &Global, reply: Reply) -> Result<Exit, Failure> {
    let (kind, id) = question(global, &reply.args.id)?;
    match kind {
        Kind::Hold => answer_hold(global, id, reply),
        Kind::Decision => answer_decision(global, id, reply),
    }
}

fn answer_hold(global: &Global, request: String, reply: Reply) -> Result<Exit, Failure> {
    let Reply { args, answer, to } = reply;
    if args.speaker.is_given() || args.only.is_given() {
        let message = format!(
            "{} is a question of a hold, which the user at this terminal answers: no --as, \
             --agent, --expect-version or --idempotency-key",
            visible(&request)
        );
        return Err(Failure::new(Exit::REFUSED, NOT_OF_A_HOLD, message));
    }
    let decision = choice::of_hold(global, &request, answer)?;
    let ReplyArgs { reason, yes, turn, .. } = args;
    hold_answer::answer(global, HoldAnswer { request, decision, reason, to, yes, turn })
}

fn answer_decision(global: &Global, decision: String, reply: Reply) -> Result<Exit, Failure> {
    let Reply { args, answer, to } = reply;
    if to.is_some() || args.yes {
        let message = format!(
            "{} is a decision: --to and --yes are for the questions of holds; `holdpoint decision \
             notify` tells somebody else of it",
            excerpt(&decision)
        );
        return Err(Failure::new(Exit::USAGE, "not_of_a_decision", message));
    }
    let response = choice::of_decision(global, &decision, answer)?;
    let ReplyArgs { reason, speaker, only, turn, .. } = args;
    let change = Change::of(decision, speaker, only, turn);
    decision_response::respond(global, &change, response, reason)
}

/// The question that is answered. Digits alone name what waits, or what is over. Exit 4 where
/// several begin so, or an issue is called so as well.
fn question(global: &Global, wanted: &str) -> Result<(Kind, String), Failure> {
    // In the wrong case it names none, and it is said which one is like it.
    let prefix = IdOf::Request.prefix();
    let is_request = wanted.get(..prefix.len()).is_some_and(|it| it.eq_ignore_ascii_case(prefix));
    if is_request && ids::is_whole(wanted) {
        return Ok((Kind::Hold, wanted.to_string()));
    }
    if !is_request && (!are_digits(wanted) || wanted.len() < DIGITS_MIN) {
        return Ok((Kind::Decision, wanted.to_string()));
    }
    let directory = Directory::open(global)?;
    let state = LiveState::read(&directory, false, Tells::Questions)?;
    state.expect_log(&directory)?;
    decision_id::expect_one_meaning(state.world(), wanted)?;
    if is_request {
        return Ok((Kind::Hold, wanted.to_string()));
    }
    // What is over may be what was read: the answer to that comes too late, and is told so.
    let beginnings = ids::beginnings(wanted, &[IdOf::Decision, IdOf::Request]);
    let mut found = ids::of_whole_log(global, &beginnings)?;
    found.extend(beginning(state.world(), wanted));
    let found: Vec<String> = found.into_iter().collect();
    match found.as_slice() {
        [] => Ok((Kind::Decision, wanted.to_string())),
        [only] if only.starts_with(prefix) => Ok((Kind::Hold, only.clone())),
        [only] => Ok((Kind::Decision, only.clone())),
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

/// The ids of the open questions that begin so, or whose digits do.
fn beginning(world: &World, wanted: &str) -> Vec<String> {
    let open = Question::all(world).filter(|question| question.is_open());
    let found = open.map(Question::id).filter(|id| begins(id, wanted));
    found.map(|id| visible(id).to_string()).collect()
}

/// Whether a text can be the beginning of an id and of nothing else: of so many digits at least.
fn is_of_an_id(wanted: &str) -> bool {
    let digits = ids::digits_of(wanted);
    digits.len() >= DIGITS_MIN && are_digits(digits)
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
