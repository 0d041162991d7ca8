//! The state as one value: what `diff` compares and what `bisect` asks about.

use crate::entity::{of_loop, of_point, of_request, of_thread, value};
use crate::timeline::Moment;
use holdpoint_domain::World;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::governed::RequestPlace;
use holdpoint_domain::registration::RegistrationName;
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The room of what is registered.
const REGISTRATIONS: &str = "registrations";

/// The room of the application's streams.
pub(crate) const STREAMS: &str = "streams";

/// The fields that say why an entity is in doubt.
const DOUBTS: [&str; 2] = ["unproven_part", "lost_before"];

/// The rooms of a state that hold entities by id.
pub const ROOMS: [&str; 6] = [
    "execution_loops",
    "human_decisions",
    "interruption_threads",
    "decision_points",
    STREAMS,
    REGISTRATIONS,
];

/// The readable state of a moment: entities by id (threads by tenant and correlation, registrations
/// by kind, tenant and name), counts, the record that it is the state behind, the fingerprint. What
/// settled has left it, but for the newest requests, threads and decision points that ended, which
/// a writer remembers too.
#[must_use]
pub fn state_of(moment: &Moment) -> Value {
    let world = &moment.world;
    json!({
        "head": moment.head(),
        "fingerprint": world.fingerprint_digest().to_string(),
        "state_schema": STATE_SCHEMA_VERSION,
        "totals": world.totals(),
        "decision_point_totals": world.decision_point_totals(),
        "execution_loops": loops(world),
        "human_decisions": requests(world),
        "interruption_threads": threads(world),
        "decision_points": points(world),
        (STREAMS): streams(world),
        (REGISTRATIONS): registrations(world),
    })
}

/// The entities of a room of such a state, by id: threads by `TENANT/CORRELATION`, registrations by
/// what [`registration_id`] gives.
#[must_use]
pub fn entities_of<'v>(room: &str, state: &'v Value) -> BTreeMap<String, &'v Value> {
    let mut found = BTreeMap::new();
    for (name, value) in members(state.get(room)) {
        match room {
            "interruption_threads" => {
                let of_tenant = members(Some(value));
                found.extend(of_tenant.map(|(one, thread)| (format!("{name}/{one}"), thread)));
            }
            REGISTRATIONS => collect_registrations(value, &format!("{name} "), &mut found),
            _ => drop(found.insert(name.clone(), value)),
        }
    }
    found
}

/// The id of a registration: `session TENANT/SESSION`.
#[must_use]
pub fn registration_id(name: &RegistrationName) -> String {
    format!("{} {}", name.kind, name.parts.join("/"))
}

/// The record that began an entity of a state, where the state holds it. Of what is registered that
/// is not known.
pub(crate) fn began(world: &World, room: &str, id: &str) -> Option<u64> {
    match room {
        "execution_loops" => world.find_loop(id).map(|entity| entity.started_sequence),
        "human_decisions" => match world.find_request(id)? {
            RequestPlace::Live(entity, _) => Some(entity.started_sequence),
            RequestPlace::Closed(held) => Some(held.requested_sequence),
        },
        "interruption_threads" => {
            let (tenant_id, correlation_id) = id.split_once('/')?;
            world.thread(tenant_id, correlation_id).map(|thread| thread.started_sequence)
        }
        "decision_points" => world.decision_point(id).map(|point| world.asked_from(point)),
        _ => None,
    }
}

/// Why an entity of a state permits nothing after a salvage, where it does not.
#[must_use]
pub fn doubt_of(entity: &Value) -> Option<Doubt> {
    let found = DOUBTS.into_iter().find_map(|name| Some((name, entity.get(name)?)))?;
    serde_json::from_value(json!({ (found.0): found.1 })).ok()
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

/// Collects the registrations: where there is a status, there is one; above it there are names.
fn collect_registrations<'v>(
    value: &'v Value,
    before: &str,
    found: &mut BTreeMap<String, &'v Value>,
) {
    for (name, inner) in members(Some(value)) {
        let id = format!("{before}{name}");
        match inner.get("status") {
            Some(Value::String(_)) => drop(found.insert(id, inner)),
            _ => collect_registrations(inner, &format!("{id}/"), found),
        }
    }
}

fn loops(world: &World) -> Map<String, Value> {
    let loops = world.live_loops();
    loops.map(|entity| (entity.loop_id().to_string(), of_loop(world, entity))).collect()
}

fn requests(world: &World) -> Map<String, Value> {
    let of_loops = world.live_loops().flat_map(|entity| {
        let held = entity.decisions.requests.iter();
        held.map(move |held| (held.request_id(), RequestPlace::Live(entity, held)))
    });
    let closed = world.closed_requests();
    let closed = closed.map(|held| (held.request_id(), RequestPlace::Closed(held)));
    let all = closed.chain(of_loops);
    all.map(|(id, place)| (id.to_string(), of_request(world, place))).collect()
}

fn threads(world: &World) -> Map<String, Value> {
    let mut tenants = Map::new();
    // A thread that was closed and has begun again is shown as it is now.
    for thread in world.closed_threads().chain(world.live_threads()) {
        let of_tenant = tenants.entry(thread.tenant_id.to_string()).or_insert_with(|| json!({}));
        if let Value::Object(of_tenant) = of_tenant {
            of_tenant.insert(thread.correlation_id.to_string(), of_thread(world, thread));
        }
    }
    tenants
}

fn points(world: &World) -> Map<String, Value> {
    let all = world.closed_decision_points().chain(world.live_decision_points());
    all.map(|point| (point.decision_id.to_string(), of_point(world, point))).collect()
}

fn streams(world: &World) -> Map<String, Value> {
    world.streams().map(|it| (it.stream.to_string(), value(it))).collect()
}

/// Returns what is registered, as [`state_of`] has it: by kind, and there by the parts of their
/// names.
#[must_use]
pub fn registrations(world: &World) -> Map<String, Value> {
    let mut kinds = Map::new();
    for registration in world.registrations() {
        let RegistrationName { kind, parts } = &registration.name;
        let mut at = kinds.entry(*kind).or_insert_with(|| json!({}));
        for part in parts {
            let Value::Object(members) = at else { break };
            at = members.entry(part).or_insert_with(|| json!({}));
        }
        *at = value(&registration);
    }
    kinds
}
