//! What the state holds of each system: which of them are shown, and their tables for people. Loops
//! have a table of their own, with their stories.

use crate::log::verdict::and_permits;
use crate::ui::{Output, moment};
use clap::ValueEnum;
use holdpoint_domain::World;
use holdpoint_domain::application::StreamView;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::DecisionPointView;
use holdpoint_domain::evidence_capture::ChainView;
use holdpoint_domain::governed::{AttemptFault, ExecutionLoop, LoopView, RequestView};
use holdpoint_domain::interruption_thread::ThreadView;
use holdpoint_domain::world::WorldView;
use holdpoint_replay::entity::Doubted;
use holdpoint_replay::state::{doubt_of, entities_of, registrations};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A system, by the name that its events have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum System {
    /// Loops, with everything that belongs to them.
    ExecutionLoop,
    /// The evidence chain of each loop.
    EvidenceCapture,
    /// The faults of each loop's attempts.
    SandboxFault,
    /// What people were asked about loops, and what they decided.
    HumanDecision,
    /// Conversations that were interrupted.
    InterruptionThread,
    /// Decisions that were asked for.
    DecisionPoint,
    /// Streams of the application, and how far each has come.
    Application,
    /// Capabilities, tenants, users, devices, sessions, work orders and leases.
    Registration,
}

/// What the newest turn of a thread came to, and until when the next one is planned.
fn newest(thread: &ThreadView<'_>) -> String {
    let newest = match thread.last_directive.zip(thread.last_reason_code) {
        Some((directive, reason)) => format!("{directive} {reason}"),
        None => "no turn yet".into(),
    };
    let plan = thread
        .open_plan
        .map(|open| format!(", plan of turn {} until {}", open.turn_id, moment(open.expires_at)));
    newest + plan.unwrap_or_default().as_str()
}

/// What is shown of a state; what was not asked for is absent.
#[derive(Serialize)]
pub(super) struct Systems<'w> {
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_loops: Option<Vec<Doubted<LoopView<'w>>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence_chains: Option<Vec<OfLoop<'w, ChainView<'w>>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_faults: Option<Vec<OfLoop<'w, Fault<'w>>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    human_decisions: Option<Vec<Doubted<RequestView<'w>>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interruption_threads: Option<Vec<Doubted<ThreadView<'w>>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_points: Option<Vec<Doubted<DecisionPointView<'w>>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    streams: Option<Vec<StreamView<'w>>>,
    /// The newest record of a stream that is not among them; 0: all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    streams_forgotten: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registrations: Option<Map<String, Value>>,
}

/// A part of a loop that is shown by itself.
#[derive(Serialize)]
struct OfLoop<'w, T> {
    loop_id: &'w str,
    #[serde(flatten)]
    part: T,
}

/// How an attempt failed.
#[derive(Serialize)]
struct Fault<'w> {
    attempt: u8,
    #[serde(flatten)]
    fault: &'w AttemptFault,
}

impl<'w> Systems<'w> {
    /// Every system, or one alone. Evidence and faults are shown with their loops, unless they are
    /// what is asked for.
    pub(super) fn of(world: &'w World, view: WorldView<'w>, only: Option<System>) -> Self {
        let wants = |system| only.is_none_or(|only| only == system);
        let loops = || world.settled_loops().chain(world.live_loops());
        let chains = || loops().filter_map(chain_of).collect();
        let faults = || loops().flat_map(faults_of).collect();
        Self {
            execution_loops: wants(System::ExecutionLoop)
                .then(|| of_all(view.execution_loops, |it| doubt_of_loop(world, it))),
            evidence_chains: (only == Some(System::EvidenceCapture)).then(chains),
            sandbox_faults: (only == Some(System::SandboxFault)).then(faults),
            human_decisions: wants(System::HumanDecision).then(|| {
                of_all(view.human_decisions, |held| {
                    world.doubt_of_request(world.find_request(held.request_id)?)
                })
            }),
            interruption_threads: wants(System::InterruptionThread).then(|| {
                of_all(view.interruption_threads, |thread| {
                    let live = world.thread(thread.tenant_id, thread.correlation_id)?;
                    world.doubt_of_thread(live).filter(|_| !thread.is_closed)
                })
            }),
            decision_points: wants(System::DecisionPoint).then(|| {
                of_all(view.decision_points, |point| {
                    world.doubt_of_point(world.decision_point(point.id)?)
                })
            }),
            streams: wants(System::Application).then_some(view.streams),
            streams_forgotten: wants(System::Application).then(|| world.streams_forgotten()),
            registrations: wants(System::Registration).then(|| registrations(world)),
        }
    }

    /// One loop alone.
    pub(super) fn of_loop(world: &World, entity: LoopView<'w>) -> Self {
        let loops = of_all(vec![entity], |it| doubt_of_loop(world, it));
        Self {
            execution_loops: Some(loops),
            evidence_chains: None,
            sandbox_faults: None,
            human_decisions: None,
            interruption_threads: None,
            decision_points: None,
            streams: None,
            streams_forgotten: None,
            registrations: None,
        }
    }

    /// The loops that are shown.
    pub(super) fn loops(&self) -> &[Doubted<LoopView<'w>>] {
        self.execution_loops.as_deref().unwrap_or_default()
    }

    /// The tables of everything but loops: none where a system holds nothing.
    pub(super) fn tables(&self, out: &mut Output) {
        table(
            out,
            ["loop", "evidence chain", "records", "head hash"],
            &self.evidence_chains,
            |of| {
                let chain = &of.part;
                [
                    shown(of.loop_id),
                    shown(chain.chain_id),
                    chain.length.to_string(),
                    shown(chain.head_hash),
                ]
            },
        );
        table(out, ["loop", "attempt", "fault", "said"], &self.sandbox_faults, |of| {
            let Fault { attempt, fault } = &of.part;
            let kind = fault.fault_type.to_string();
            [shown(of.loop_id), attempt.to_string(), kind, shown(&fault.fault_message)]
        });
        table(
            out,
            ["request", "state", "decision", "by", "asked"],
            &self.human_decisions,
            |Doubted { shown: held, doubt }| {
                let decided = held.decision.as_ref();
                [
                    shown(held.request_id),
                    and_permits(held.state, *doubt),
                    decided.map(|decided| decided.decision.to_string()).unwrap_or_default(),
                    decided.map(|decided| shown(decided.human_id)).unwrap_or_default(),
                    moment(held.created_at),
                ]
            },
        );
        let header = ["tenant", "correlation", "state", "turns", "newest", "began"];
        table(out, header, &self.interruption_threads, |Doubted { shown: thread, doubt }| {
            [
                shown(thread.tenant_id),
                shown(thread.correlation_id),
                and_permits(if thread.is_closed { "ended" } else { "open" }, *doubt),
                thread.turns.to_string(),
                newest(thread),
                moment(thread.started_at),
            ]
        });
        table(
            out,
            ["decision", "state", "answer", "by", "created"],
            &self.decision_points,
            |Doubted { shown: point, doubt }| {
                [
                    shown(point.id),
                    and_permits(&point.state.to_string(), *doubt),
                    point.selected_option.map(shown).unwrap_or_default(),
                    point.responded_by.map(shown).unwrap_or_default(),
                    moment(point.created_at),
                ]
            },
        );
        self.tables_by_name(out);
    }

    /// Those of what has a name and little else.
    fn tables_by_name(&self, out: &mut Output) {
        table(out, ["stream", "last record"], &self.streams, |stream| {
            [shown(stream.stream), stream.version.to_string()]
        });
        if let Some(forgotten) = self.streams_forgotten.filter(|it| *it > 0) {
            out.line(format_args!(
                "streams whose last record is one up to {forgotten} may be missing here: \
                 `holdpoint log entity=STREAM` finds each"
            ));
        }
        let registered = self.registrations.as_ref().map(|all| {
            let state = json!({ "registrations": all });
            let found = entities_of("registrations", &state).into_iter();
            let status = |value: &Value| {
                and_permits(value["status"].as_str().unwrap_or_default(), doubt_of(value))
            };
            found.map(|(name, value)| (name, status(value))).collect()
        });
        table(out, ["registration", "status"], &registered, |(name, status): &(String, String)| {
            [shown(name), shown(status)]
        });
    }
}

/// Of each of these, why it is in doubt.
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

fn faults_of(entity: &ExecutionLoop) -> impl Iterator<Item = OfLoop<'_, Fault<'_>>> {
    entity.attempts.iter().filter_map(|attempt| {
        let part = Fault { attempt: attempt.number, fault: attempt.fault.as_ref()? };
        Some(OfLoop { loop_id: entity.loop_id(), part })
    })
}

fn shown(text: &str) -> String {
    visible(text).to_string()
}

fn table<T, const N: usize>(
    out: &mut Output,
    header: [&str; N],
    found: &Option<Vec<T>>,
    row: impl Fn(&T) -> [String; N],
) {
    let Some(found) = found.as_deref().filter(|found| !found.is_empty()) else { return };
    out.line("");
    out.table(header, found.iter().map(row));
}
