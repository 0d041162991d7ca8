//! The state of each system, as people and programs read it.

use crate::entity::Doubted;
use crate::state::registrations;
use holdpoint_domain::World;
use holdpoint_domain::application::StreamView;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::decision_point::DecisionPointView;
use holdpoint_domain::evidence_capture::ChainView;
use holdpoint_domain::governed::{AttemptFault, ExecutionLoop, LoopView, RequestView};
use holdpoint_domain::interruption_thread::ThreadView;
use holdpoint_domain::world::WorldView;
use serde::Serialize;
use serde_json::{Map, Value};

/// The systems of a state that are shown; others are absent.
#[derive(Default, Serialize)]
pub struct Systems<'w> {
    /// The loops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_loops: Option<Vec<Doubted<LoopView<'w>>>>,
    /// The evidence chain of each loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_chains: Option<Vec<OfLoop<'w, ChainView<'w>>>>,
    /// The faults of attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_faults: Option<Vec<OfLoop<'w, LoopFault<'w>>>>,
    /// The requests about loops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub human_decisions: Option<Vec<Doubted<RequestView<'w>>>>,
    /// The conversations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interruption_threads: Option<Vec<Doubted<ThreadView<'w>>>>,
    /// The decision points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_points: Option<Vec<Doubted<DecisionPointView<'w>>>>,
    /// The streams of the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<Vec<StreamView<'w>>>,
    /// The newest record of a stream that is not among them; 0: all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams_forgotten: Option<u64>,
    /// The registrations, by kind, tenant and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registrations: Option<Map<String, Value>>,
}

/// A part of a loop that is shown by itself.
#[derive(Serialize)]
pub struct OfLoop<'w, T> {
    /// The loop.
    pub loop_id: &'w str,
    /// The part.
    #[serde(flatten)]
    pub part: T,
}

/// The failure of an attempt.
#[derive(Serialize)]
#[non_exhaustive]
pub struct LoopFault<'w> {
    /// The number of the attempt.
    pub attempt: u8,
    /// The fault.
    #[serde(flatten)]
    pub fault: &'w AttemptFault,
}

impl<'w> Systems<'w> {
    /// Returns every system, or one alone, by the name that its events have. Evidence and faults
    /// are shown with their loops, unless they are what is asked for.
    pub fn of(world: &'w World, view: WorldView<'w>, only: Option<&str>) -> Self {
        let wants = |system: &str| only.is_none_or(|only| only == system);
        let loops = || world.settled_loops().chain(world.live_loops());
        let chains = || loops().filter_map(chain_of).collect();
        let faults = || loops().flat_map(faults_of).collect();
        Self {
            execution_loops: wants("execution_loop")
                .then(|| of_all(view.execution_loops, |it| doubt_of_loop(world, it))),
            evidence_chains: (only == Some("evidence_capture")).then(chains),
            sandbox_faults: (only == Some("sandbox_fault")).then(faults),
            human_decisions: wants("human_decision").then(|| {
                of_all(view.human_decisions, |held| {
                    world.doubt_of_request(world.find_request(held.request_id)?)
                })
            }),
            interruption_threads: wants("interruption_thread").then(|| {
                of_all(view.interruption_threads, |thread| {
                    let live = world.thread(thread.tenant_id, thread.correlation_id)?;
                    world.doubt_of_thread(live).filter(|_| !thread.is_closed)
                })
            }),
            decision_points: wants("decision_point").then(|| {
                of_all(view.decision_points, |point| {
                    world.doubt_of_point(world.decision_point(point.id)?)
                })
            }),
            streams: wants("application").then_some(view.streams),
            streams_forgotten: wants("application").then(|| world.streams_forgotten()),
            registrations: wants("registration").then(|| registrations(world)),
        }
    }

    /// One loop alone.
    pub fn of_loop(world: &World, entity: LoopView<'w>) -> Self {
        let loops = of_all(vec![entity], |it| doubt_of_loop(world, it));
        Self { execution_loops: Some(loops), ..Self::default() }
    }

    /// The loops that are shown.
    pub fn loops(&self) -> &[Doubted<LoopView<'w>>] {
        self.execution_loops.as_deref().unwrap_or_default()
    }
}

/// Each of these, with why it is in doubt.
fn of_all<T>(all: Vec<T>, doubt_of: impl Fn(&T) -> Option<Doubt>) -> Vec<Doubted<T>> {
    let doubted = |shown| Doubted { doubt: doubt_of(&shown), shown };
    all.into_iter().map(doubted).collect()
}

fn doubt_of_loop(world: &World, entity: &LoopView<'_>) -> Option<Doubt> {
    world.doubt_of_loop(world.live_loop(entity.loop_id)?)
}

fn chain_of(entity: &ExecutionLoop) -> Option<OfLoop<'_, ChainView<'_>>> {
    Some(OfLoop { loop_id: entity.loop_id(), part: entity.chain.as_ref()?.view() })
}

fn faults_of(entity: &ExecutionLoop) -> impl Iterator<Item = OfLoop<'_, LoopFault<'_>>> {
    entity.attempts.iter().filter_map(|attempt| {
        let part = LoopFault { attempt: attempt.number, fault: attempt.fault.as_ref()? };
        Some(OfLoop { loop_id: entity.loop_id(), part })
    })
}
