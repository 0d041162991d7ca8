//! Answers to a question, whichever rules it follows: `decision respond`, `approve` and `deny`.

use crate::args::{Global, LockWaitArgs, settle};
use crate::log::ids::{self, are_digits, begins};
use crate::log::question_look::about;
use crate::log::verdict::and_permits;
use crate::log::{Directory, IdOf, LiveState, Question, decision_id, or_archived, other_logs};
use crate::questions::choice::{self, Answer};
use crate::questions::decision_change::{ActArgs, Change, responding};
use crate::questions::decision_output::{ChangeOutput, standing, told_whole};
use crate::questions::hold_answer::HoldAnswer;
use crate::questions::permits::NOT_OF_A_HOLD;
use crate::questions::waiting_logs;
use crate::ui::{Exit, Failure, excerpt, path};
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;
use holdpoint_replay::Tells;
use holdpoint_replay::id_text::DIGITS_MIN;
use std::path::PathBuf;

/// Options of everything that answers.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplyArgs {
    /// ID of the question, at least six of its digits, or the issue of a decision; without `--log`,
    /// in any log of the inbox.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Reason, in one line; RETRY and ESCALATE need one.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) terms: Terms,
}

/// Options that say under which conditions an answer is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Terms {
    /// Answer a hold without a terminal, as a user other than the requester; this is recorded.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) by: ActArgs,
}

/// An answer to a question, as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) id: String,
    pub(crate) answer: Answer,
    pub(crate) reason: Option<String>,
    /// Who is asked instead, by ESCALATE.
    pub(crate) to: Option<String>,
}

/// The outcome of an answer.
pub(crate) enum ReplyOutput {
    Hold(Box<HoldAnswer>),
    Decision(Box<ChangeOutput>),
}

impl ReplyOutput {
    /// Puts it into words. A failure where the answer does not count.
    pub(crate) fn words(&self) -> Result<String, Failure> {
        match self {
            Self::Hold(answer) => answer.words(),
            Self::Decision(output) => {
                Ok(and_permits(&standing(&output.points.0), output.doubt_of_person()))
            }
        }
    }

    fn show(&self, global: &Global) -> Result<Exit, Failure> {
        match self {
            Self::Hold(answer) => answer.show(global),
            Self::Decision(output) => output.show(global, standing),
        }
    }
}

/// Hands the answer in. Exit 0 where it counts, also when it is on record already; 4 where another
/// one counts; 5 where a rule says no. Where no log is named, a question that does not wait in the
/// log of this place is looked for in the inbox.
pub(crate) fn main(
    global: &Global,
    is_named: bool,
    args: ReplyArgs,
    answer: Answer,
    to: Option<String>,
) -> Exit {
    let ReplyArgs { id, reason, terms } = args;
    let reply = Reply { id: id.clone(), answer, reason, to };
    let answered = respond(global, is_named, reply, terms);
    let answered = answered.map_err(|failure| match global.json {
        true => told_whole(about(global, &id, failure)),
        false => failure,
    });
    settle(global, answered)
}

fn respond(global: &Global, is_named: bool, reply: Reply, terms: Terms) -> Result<Exit, Failure> {
    let id = &reply.id;
    ids::expect_long_enough(id)?;
    if !is_named && is_of_an_id(id) {
        if !waits_here(global, id) {
            return answer_in_inbox(global, reply, terms);
        }
        expect_no_other_log(global, id)?;
    }
    or_archived(global, answer(global, reply, terms))
}

/// Answers what waits in a log of the inbox, where no other one that can be read has such an id:
/// what was read may be that, though it is over. A log that cannot be read is warned of, and where
/// the id is not given whole it may be the one that was meant.
fn answer_in_inbox(global: &Global, mut reply: Reply, terms: Terms) -> Result<Exit, Failure> {
    let wanted = reply.id.clone();
    let waiting = waiting_logs::waiting(|id| begins(id, &wanted));
    match waiting.found.as_slice() {
        [] => or_archived(global, answer(global, reply, terms))
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
            reply.id.clone_from(id);
            let (log, config) = (log.clone(), global.config.clone());
            answer(&Global { log, config, json: global.json, lists: false }, reply, terms)
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

fn answer(global: &Global, mut reply: Reply, terms: Terms) -> Result<Exit, Failure> {
    reply.id = question(global, &reply.id)?;
    hand_in(global, reply, terms)?.show(global)
}

/// Hands in an answer to a question of which it is known what it is, and prints nothing.
pub(crate) fn hand_in(global: &Global, reply: Reply, terms: Terms) -> Result<ReplyOutput, Failure> {
    if is_request(&reply.id) {
        terms.expect_of_hold(&reply.id)?;
        let decision = choice::of_hold(global, &reply.id, &reply.answer)?;
        let answer = HoldAnswer::hand_in(global, reply, decision, &terms)?;
        return Ok(ReplyOutput::Hold(Box::new(answer)));
    }
    terms.expect_of_decision(&reply)?;
    let act = reply.answer.act();
    let response = choice::of_decision(global, &reply.id, reply.answer)?;
    let command = responding(response, reply.reason);
    let change = Change { decision: reply.id, by: terms.by };
    let output = change.hand_in(global, act, command)?;
    Ok(ReplyOutput::Decision(Box::new(output)))
}

impl Terms {
    /// The user at this terminal.
    pub(crate) fn of_user(turn: LockWaitArgs) -> Self {
        Self { yes: false, by: ActArgs::of_user(turn) }
    }

    fn expect_of_hold(&self, request: &str) -> Result<(), Failure> {
        if !self.by.speaker.is_given() && !self.by.only.is_given() {
            return Ok(());
        }
        let message = format!(
            "{} is a question of a hold, which the user at this terminal answers: no --as, \
             --agent, --expected-version or --idempotency-key",
            visible(request)
        );
        Err(Failure::new(Exit::REFUSED, NOT_OF_A_HOLD, message))
    }

    fn expect_of_decision(&self, reply: &Reply) -> Result<(), Failure> {
        if reply.to.is_none() && !self.yes {
            return Ok(());
        }
        let message = format!(
            "{} is a decision: --to and --yes are for the questions of holds; `holdpoint decision \
             notify` tells somebody else of it",
            excerpt(&reply.id)
        );
        Err(Failure::new(Exit::USAGE, "not_of_a_decision", message))
    }
}

/// Tells whether an id is of a request. In the wrong case it names none, and it is said which one
/// is like it.
fn is_request(id: &str) -> bool {
    let prefix = IdOf::Request.prefix();
    id.get(..prefix.len()).is_some_and(|it| it.eq_ignore_ascii_case(prefix))
}

/// The question that is answered. Digits alone name what waits, or what is over. Exit 4 where
/// several begin so, or an issue is called so as well.
fn question(global: &Global, wanted: &str) -> Result<String, Failure> {
    let is_request = is_request(wanted);
    let is_clear = match is_request {
        true => ids::is_whole(wanted),
        false => !are_digits(wanted) || wanted.len() < DIGITS_MIN,
    };
    if is_clear {
        return Ok(wanted.to_string());
    }
    let directory = Directory::open(global)?;
    let state = LiveState::read(&directory, false, Tells::Questions)?;
    state.expect_log(&directory)?;
    decision_id::expect_one_meaning(state.world(), wanted)?;
    if is_request {
        return Ok(wanted.to_string());
    }
    // What is over may be what was read: the answer to that comes too late, and is told so.
    let mut found = ids::of_whole_log(global, &ids::beginnings(wanted, &IdOf::ALL))?;
    found.extend(beginning(state.world(), wanted));
    let found: Vec<String> = found.into_iter().collect();
    match found.as_slice() {
        [only] if IdOf::of(only) != Some(IdOf::Run) => Ok(only.clone()),
        [] | [_] => Ok(wanted.to_string()),
        several => {
            let message = format!(
                "{} ids begin with {wanted}: {}; give more digits",
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
        true => "name the log with --log DIR",
        false => "give more digits, or name the log with --log DIR",
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
