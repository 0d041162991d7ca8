//! Tables for people of the systems that are shown. Loops have their own, with their stories.

use crate::log::verdict::and_permits;
use crate::ui::{Output, moment};
use clap::ValueEnum;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::interruption_thread::ThreadView;
use holdpoint_replay::entity::Doubted;
use holdpoint_replay::state::{doubt_of, entities_of};
use holdpoint_replay::systems::{LoopFault, Systems};
use serde_json::{Value, json};

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

/// The tables of everything but loops: none where a system holds nothing.
pub(super) fn tables(systems: &Systems<'_>, out: &mut Output) {
    table(
        out,
        ["loop", "evidence chain", "records", "head hash"],
        &systems.evidence_chains,
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
    table(out, ["loop", "attempt", "fault", "said"], &systems.sandbox_faults, |of| {
        let LoopFault { attempt, fault, .. } = &of.part;
        let kind = fault.fault_type.to_string();
        [shown(of.loop_id), attempt.to_string(), kind, shown(&fault.fault_message)]
    });
    table(
        out,
        ["request", "state", "decision", "by", "asked"],
        &systems.human_decisions,
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
    table(out, header, &systems.interruption_threads, |Doubted { shown: thread, doubt }| {
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
        &systems.decision_points,
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
    tables_by_name(systems, out);
}

/// Those of what has a name and little else.
fn tables_by_name(systems: &Systems<'_>, out: &mut Output) {
    table(out, ["stream", "last record"], &systems.streams, |stream| {
        [shown(stream.stream), stream.version.to_string()]
    });
    if let Some(forgotten) = systems.streams_forgotten.filter(|it| *it > 0) {
        out.line(format_args!(
            "streams whose last record is one up to {forgotten} may be missing here: \
             `holdpoint log entity=STREAM` finds each"
        ));
    }
    let registered = systems.registrations.as_ref().map(|all| {
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
