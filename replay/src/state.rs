//! The state as one value: what `diff` compares and what `bisect` asks about.

use crate::entity::value;
use crate::timeline::Moment;
use holdpoint_domain::time::Timestamp;
use holdpoint_domain::world::{STATE_SCHEMA_VERSION, World};
use serde_json::{Map, Value, json};

/// The rooms of a state that hold entities by id.
pub const ROOMS: [&str; 4] =
    ["execution_loops", "human_decisions", "interruption_threads", "decision_points"];

/// The readable state of a moment: entities by id (threads by tenant and correlation), counts, the
/// record that it is the state behind, the fingerprint. What settled has left it, but for the
/// newest requests, threads and decision points that ended, which a writer remembers too.
#[must_use]
pub fn state_of(moment: &Moment) -> Value {
    let world = &moment.world;
    let now = world.totals().last_at;
    json!({
        "head": moment.head(),
        "fingerprint": world.fingerprint_digest().to_string(),
        "state_schema": STATE_SCHEMA_VERSION,
        "totals": world.totals(),
        "decision_point_totals": world.decision_point_totals(),
        "execution_loops": loops(world),
        "human_decisions": requests(world),
        "interruption_threads": threads(world),
        "decision_points": points(world, now),
    })
}

fn loops(world: &World) -> Map<String, Value> {
    let loops = world.live_loops();
    loops.map(|entity| (entity.loop_id().to_string(), value(entity.view()))).collect()
}

fn requests(world: &World) -> Map<String, Value> {
    let closed = world.closed_requests().map(|held| (held.request_id(), value(held.view())));
    let of_loops = world.live_loops().flat_map(|entity| {
        let held = entity.decisions.requests.iter();
        held.map(move |held| (held.request_id(), value(entity.request_view(held))))
    });
    closed.chain(of_loops).map(|(id, view)| (id.to_string(), view)).collect()
}

fn threads(world: &World) -> Map<String, Value> {
    let mut tenants = Map::new();
    // A thread that was closed and has begun again is shown as it is now.
    for thread in world.closed_threads().chain(world.live_threads()) {
        let of_tenant = tenants.entry(thread.tenant_id.to_string()).or_insert_with(|| json!({}));
        if let Value::Object(of_tenant) = of_tenant {
            of_tenant.insert(thread.correlation_id.to_string(), value(thread));
        }
    }
    tenants
}

fn points(world: &World, now: Timestamp) -> Map<String, Value> {
    let all = world.closed_decision_points().chain(world.live_decision_points());
    all.map(|point| (point.decision_id.to_string(), value(point.view(now, None)))).collect()
}
