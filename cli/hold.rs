//! `holdpoint hold`: the questions that wait for a person.

mod answer;
mod expire;
mod list;
mod reason;
mod show;
mod shown;
mod wait;

use crate::adoption;
use crate::args::global::{Global, settle};
use crate::args::lock_wait::LockWaitArgs;
use crate::log::archives::or_archived;
use crate::log::current_state::LiveState;
use crate::log::directory::Directory;
use crate::log::ids::{self, IdOf, own_in_small_letters};
use crate::log::open::{self, failed, not_opened, open_log};
use crate::ui::exit::{Exit, Failure};
use crate::ui::suggest::closest;
use crate::ui::text::excerpt;
use clap::Subcommand;
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::human_decision::{HeldRequest, HumanDecision};
use holdpoint_engine::Engine;
use holdpoint_replay::Tells;

pub(crate) use answer::{Args as AnswerArgs, answer, give};
pub(crate) use expire::record_due;
pub(crate) use reason::check_reason;
pub(crate) use shown::{
    ALL_OVER, HIDDEN, NamedHumanDecision, RECORDED_NEXT, ROOT_IS_ALL, add_root, brief_lines,
    how_to_answer, lines, outcome_line, time_left, verbose_lines, warning_line,
};

/// What to do with the questions that wait for a person.
#[derive(Debug, Subcommand)]
pub(crate) enum HoldVerb {
    /// List the questions that wait for a person, the one due first first.
    List(list::Args),
    /// Show a question as the person sees it, and what became of it.
    Show(show::Args),
    /// Answer a question. The first answer counts. `hold show` shows it, and `holdpoint output`
    /// what was printed, which nobody checked and which is no part of what is decided.
    Answer(answer::Args),
    /// Record the warnings and timeouts that are due, also of threads and decisions; nothing else.
    Expire(expire::Args),
    /// Wait until a question is answered; the exit code tells how.
    Wait(wait::Args),
}

/// Carries the verb out. Exit 3 when there is no log or no such request, 4 when it was answered
/// otherwise, 5 when a rule said no, 6 when the log does not verify.
pub(crate) fn main(global: &Global, verb: HoldVerb) -> Exit {
    let outcome = match verb {
        HoldVerb::List(args) => list::list(global, &args),
        HoldVerb::Show(args) => show::show(global, &args),
        HoldVerb::Answer(args) => answer::answer(global, args),
        HoldVerb::Expire(args) => expire::expire(global, &args),
        HoldVerb::Wait(args) => wait::wait(global, &args),
    };
    settle(global, or_archived(global, outcome))
}

/// The first and the newest record of a loop.
const fn records_of(entity: &ExecutionLoop) -> (u64, u64) {
    (entity.started_sequence, entity.version)
}

/// Every request of a loop that is known, with its loop.
fn requests(world: &World) -> impl Iterator<Item = (&ExecutionLoop, &HeldRequest)> {
    let loops = world.live_loops().chain(world.settled_loops());
    loops.flat_map(|entity| entity.decisions.requests.iter().map(move |held| (entity, held)))
}

/// Opens the log for writing. A log that is not there is not made.
pub(crate) fn open(global: &Global, turn: &LockWaitArgs) -> Result<Engine, Failure> {
    open_or_make(global, turn, false)
}

/// Opens the log for writing, and makes it where there is none if that is asked for.
pub(crate) fn open_or_make(
    global: &Global,
    turn: &LockWaitArgs,
    make: bool,
) -> Result<Engine, Failure> {
    let engine = open_log(&global.log, turn.lock_wait, make);
    let engine = engine.map_err(|error| not_opened(global, &error))?;
    adoption::offer(global, &engine)?;
    Ok(engine)
}

/// What every id begins with: by itself it names nothing, whatever there is.
const ID_PREFIX: &str = "REQ-";

/// The one id that is meant: exactly it, or the only one that begins so.
fn resolve<'a>(
    wanted: &str,
    ids: impl Iterator<Item = &'a str>,
) -> Result<Option<String>, Failure> {
    if ID_PREFIX.starts_with(wanted) {
        let message = format!("{} names no request: give its id", shown_empty(wanted));
        return Err(Failure::new(Exit::USAGE, "ambiguous_request", message));
    }
    let mut found: Vec<&str> = ids.filter(|id| id.starts_with(wanted)).collect();
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some((*only).to_string())),
        several => {
            if several.contains(&wanted) {
                return Ok(Some(wanted.to_string()));
            }
            let digits = wanted.strip_prefix(ID_PREFIX).unwrap_or(wanted);
            let ids = several.iter().map(ToString::to_string).collect();
            Err(ids::several(digits, &[IdOf::Request], several.len(), &ids))
        }
    }
}

/// The id of a request and the words that it offers, each with what it needs beside it.
pub(crate) fn offered(global: &Global, wanted: &str) -> Result<(String, Vec<String>), Failure> {
    let directory = Directory::open(global)?;
    let state = LiveState::read(&directory, false, Tells::OpenRequests)?;
    state.expect_log(&directory)?;
    let world = state.world();
    let found = resolve(wanted, answer::request_ids(world))?;
    let place = found.and_then(|id| world.find_request(&id));
    let place = place.ok_or_else(|| unknown(wanted, answer::request_ids(world)))?;
    let request = &place.held().request;
    let words = request.allowed_decisions.iter().map(|decision| typed(*decision));
    Ok((request.request_id.to_string(), words.collect()))
}

/// A decision as `holdpoint answer` takes it, with the option that it needs.
fn typed(decision: HumanDecision) -> String {
    match decision {
        HumanDecision::Escalate => format!("{decision} --to NAME"),
        _ => decision.to_string(),
    }
}

/// The request that is meant, among those that an open log remembers. Where it is named by how its
/// id begins, no other id of the whole log begins so.
pub(crate) fn find(
    global: &Global,
    engine: &Engine,
    wanted: &str,
) -> Result<Option<String>, Failure> {
    let found = engine.query(|world| resolve(wanted, answer::request_ids(world)));
    let found = found.map_err(|error| failed(global, error))??;
    if let Some(found) = found.as_deref().filter(|found| *found != wanted) {
        ids::expect_only(global, wanted, found)?;
    }
    Ok(found)
}

fn shown_empty(wanted: &str) -> &str {
    if wanted.is_empty() { "an empty name" } else { wanted }
}

/// The request that a name may have meant which no request has.
fn like<'n>(requests: impl Iterator<Item = &'n str>, wanted: &str) -> Option<String> {
    let in_small = || own_in_small_letters(wanted, IdOf::Request);
    closest(requests, wanted).map(String::from).or_else(in_small)
}

fn unknown<'n>(wanted: &str, requests: impl Iterator<Item = &'n str>) -> Failure {
    let advice = match like(requests, wanted) {
        Some(name) => format!("did you mean {}?", visible(&name)),
        None => "`holdpoint hold list` shows what waits".to_string(),
    };
    let message = format!("there is no request {}: {advice}", excerpt(wanted));
    Failure::new(Exit::NOT_FOUND, "unknown_request", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_named_by_its_id_or_by_an_unambiguous_beginning() {
        let ids = || ["REQ-12", "REQ-123", "REQ-9"].into_iter();
        assert_eq!(resolve("REQ-9", ids()), Ok(Some("REQ-9".to_string())));
        assert_eq!(resolve("REQ-123", ids()), Ok(Some("REQ-123".to_string())));
        assert_eq!(resolve("REQ-12", ids()), Ok(Some("REQ-12".to_string())));
        assert_eq!(resolve("REQ-4", ids()), Ok(None));
        assert_eq!(resolve("REQ-1", ids()).unwrap_err().exit, Exit::CONFLICT);
        for nothing in ["", "R", "REQ-"] {
            assert!(resolve(nothing, ["REQ-12"].into_iter()).is_err(), "{nothing}");
        }
    }
}
