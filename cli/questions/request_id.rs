//! The request to a person that is meant by an id, or the beginning of one.

use crate::args::Global;
use crate::log::ids::{self, own_in_small_letters};
use crate::log::open::failed;
use crate::log::{Directory, IdOf, LiveState};
use crate::questions::hold_answer;
use crate::ui::{Exit, Failure, closest, excerpt};
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::human_decision::{HeldRequest, HumanDecision};
use holdpoint_engine::Engine;
use holdpoint_replay::Tells;

/// Every request of a loop that is known, with its loop.
pub(crate) fn requests(world: &World) -> impl Iterator<Item = (&ExecutionLoop, &HeldRequest)> {
    let loops = world.live_loops().chain(world.settled_loops());
    loops.flat_map(|entity| entity.decisions.requests.iter().map(move |held| (entity, held)))
}

/// What every id begins with: by itself it names nothing, whatever there is.
pub(crate) const ID_PREFIX: &str = "REQ-";

/// The one id that is meant: exactly it, or the only one that begins so.
pub(crate) fn resolve<'a>(
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
    let found = resolve(wanted, hold_answer::request_ids(world))?;
    let place = found.and_then(|id| world.find_request(&id));
    let place = place.ok_or_else(|| unknown(wanted, hold_answer::request_ids(world)))?;
    let request = &place.held().request;
    let words = request.allowed_decisions.iter().map(|decision| typed(*decision));
    Ok((request.request_id.to_string(), words.collect()))
}

/// A decision as `holdpoint answer` takes it, with the option that it needs.
pub(crate) fn typed(decision: HumanDecision) -> String {
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
    let found = engine.query(|world| resolve(wanted, hold_answer::request_ids(world)));
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
pub(crate) fn like<'n>(requests: impl Iterator<Item = &'n str>, wanted: &str) -> Option<String> {
    let in_small = || own_in_small_letters(wanted, IdOf::Request);
    closest(requests, wanted).map(String::from).or_else(in_small)
}

pub(crate) fn unknown<'n>(wanted: &str, requests: impl Iterator<Item = &'n str>) -> Failure {
    let advice = match like(requests, wanted) {
        Some(name) => format!("did you mean {}?", visible(&name)),
        None => "`holdpoint hold list` shows what waits".to_string(),
    };
    let message = format!("there is no request {}: {advice}", excerpt(wanted));
    Failure::new(Exit::NOT_FOUND, "unknown_request", message)
}
