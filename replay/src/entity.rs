//! Everything of the state that has an id, in the form in which people and programs read it.

use crate::question::known_decisions;
use holdpoint_domain::World;
use holdpoint_domain::application::StreamView;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_domain::governed::{ExecutionLoop, RequestPlace};
use holdpoint_domain::interruption_thread::Thread;
use serde::Serialize;
use serde_json::Value;

/// Something that has an id, by the names of the systems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entity {
    /// `execution_loop`, `human_decision`, `interruption_thread`, `decision_point` or
    /// `application`.
    pub system: &'static str,
    /// Its id; of a thread tenant and correlation, with `/` between them.
    pub id: String,
    /// Its readable form.
    pub state: Value,
}

impl Entity {
    fn new(system: &'static str, id: &str, state: impl Serialize) -> Self {
        Self { system, id: id.to_string(), state: value(state) }
    }

    fn of_thread(world: &World, thread: &Thread) -> Self {
        let id = format!("{}/{}", thread.tenant_id, thread.correlation_id);
        Self::new("interruption_thread", &id, of_thread(world, thread))
    }
}

/// Something that is shown, and why it permits nothing after a salvage, where it does not.
#[derive(Debug, Serialize)]
pub struct Doubted<T> {
    /// Value that is shown.
    #[serde(flatten)]
    pub shown: T,
    /// Why it is in doubt: `unproven_part` or `lost_before`.
    #[serde(flatten)]
    pub doubt: Option<Doubt>,
}

pub(crate) fn of_loop(world: &World, entity: &ExecutionLoop) -> Value {
    let is_live = world.live_loop(entity.loop_id()).is_some();
    let doubt = world.doubt_of_loop(entity).filter(|_| is_live);
    value(Doubted { shown: entity.view(), doubt })
}

pub(crate) fn of_request(world: &World, place: RequestPlace<'_>) -> Value {
    let shown = match place {
        RequestPlace::Live(entity, held) => value(entity.request_view(held)),
        RequestPlace::Closed(held) => value(held.view()),
    };
    value(Doubted { shown, doubt: world.doubt_of_request(place) })
}

/// Returns the value of a thread: what expires in it is told at the state's own time.
pub(crate) fn of_thread(world: &World, thread: &Thread) -> Value {
    let (shown, doubt) = (thread.view(world.totals().last_at), world.doubt_of_thread(thread));
    value(Doubted { shown, doubt })
}

/// Returns the value of a decision point: what is overdue is so at the state's own time.
pub(crate) fn of_point(world: &World, point: &DecisionPoint) -> Value {
    let (shown, doubt) = (point.view(world.totals().last_at, None), world.doubt_of_point(point));
    value(Doubted { shown, doubt })
}

/// Prefix of a stream's name, where something else may have it too.
pub(crate) const STREAM_PREFIX: &str = "stream:";

/// Finds what has this id in a state: a loop, a request or a decision point, or the threads of this
/// correlation, of which `TENANT/CORRELATION` names one; where there is none of these, the stream
/// of this name, which `stream:NAME` names whatever else there is. What is overdue is so at the
/// state's own time.
#[must_use]
pub fn find_entities(world: &World, id: &str) -> Vec<Entity> {
    let entity = |system, state| Entity::new(system, id, state);
    let a_loop =
        || world.find_loop(id).map(|found| entity("execution_loop", of_loop(world, found)));
    let request =
        || world.find_request(id).map(|place| entity("human_decision", of_request(world, place)));
    let point =
        || world.decision_point(id).map(|point| entity("decision_point", of_point(world, point)));
    let found = a_loop().or_else(request).or_else(|| settled_request(world, id)).or_else(point);
    let found = found.map_or_else(|| threads(world, id), |entity| vec![entity]);
    if found.is_empty() { stream(world, id).into_iter().collect() } else { found }
}

/// Returns a stream as an entity: whoever records events chooses the names of streams, and none
/// takes the place of anything else.
fn stream(world: &World, id: &str) -> Option<Entity> {
    let stream = id.strip_prefix(STREAM_PREFIX).unwrap_or(id);
    let version = Some(world.stream_version(stream)).filter(|version| *version > 0)?;
    Some(Entity::new("application", stream, StreamView { stream, version }))
}

/// A request that is remembered with its loop alone, which settled.
fn settled_request(world: &World, id: &str) -> Option<Entity> {
    let found =
        |entity: &ExecutionLoop| entity.request(id).map(|held| value(entity.request_view(held)));
    let view = world.settled_loops().find_map(found)?;
    Some(Entity::new("human_decision", id, view))
}

fn threads(world: &World, id: &str) -> Vec<Entity> {
    let is_named = |thread: &&Thread| {
        *thread.correlation_id == *id
            || id.split_once('/') == Some((&thread.tenant_id, &thread.correlation_id))
    };
    let all = world.live_threads().chain(world.closed_threads());
    let named = all.filter(is_named);
    let mut found: Vec<Entity> = named.map(|thread| Entity::of_thread(world, thread)).collect();
    // One that was closed and has begun again is meant as it is now.
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found.dedup_by(|a, b| a.id == b.id);
    found
}

/// Every id in a state: of loops, requests, decision points and streams, and the correlations of
/// threads.
pub fn ids(world: &World) -> impl Iterator<Item = &str> {
    let loops = world.live_loops().map(|entity| entity.loop_id());
    let open = world.live_loops().flat_map(|entity| &entity.decisions.requests);
    let requests = open.chain(world.closed_requests()).map(|held| held.request_id());
    let points = known_decisions(world);
    let threads = world.live_threads().chain(world.closed_threads());
    loops
        .chain(requests)
        .chain(points.map(|point| point.decision_id.as_str()))
        .chain(threads.map(|thread| thread.correlation_id.as_str()))
        .chain(world.streams().map(|it| it.stream))
}

/// A readable form as a value. They are made of names, numbers and texts, which every value can
/// hold; what could not be is null.
pub(crate) fn value(view: impl Serialize) -> Value {
    serde_json::to_value(view).unwrap_or_default()
}
