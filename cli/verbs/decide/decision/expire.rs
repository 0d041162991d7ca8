//! `holdpoint decision expire`: what is due is recorded.

use crate::args::{Global, LockWaitArgs};
use crate::log::recorders;
use crate::ui::{Exit, Failure, Output, complain, moment, named};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::DecisionPointEvent;
use holdpoint_domain::execution_loop::{ExecutionLoopEvent, HaltReason};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::human_decision::HumanDecisionEvent;
use holdpoint_domain::interruption_thread::InterruptionThreadEvent;
use holdpoint_domain::{Event, Time};
use holdpoint_engine::shell::{Engine, Receipt};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_replay::machine::{Recorder, recorder_of};
use holdpoint_replay::waiting::all_waiting;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Options of `decision expire`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// One thing that was due.
#[derive(Serialize)]
struct Expired {
    sequence: u64,
    kind: &'static str,
    #[serde(flatten)]
    of: Subject,
    due_at: Time,
    recorded_at: Option<Time>,
}

/// What it was due for.
#[derive(Serialize)]
#[serde(untagged)]
enum Subject {
    /// A question to a person.
    Request { request_id: String },
    /// An interruption thread.
    Thread { tenant_id: String, correlation_id: String },
    /// A decision point.
    Decision { decision_id: String },
    /// A loop whose recorder is gone.
    Loop { loop_id: String },
}

impl Subject {
    fn thread(tenant_id: &str, correlation_id: &str) -> Self {
        Self::Thread { tenant_id: tenant_id.into(), correlation_id: correlation_id.into() }
    }

    fn shown(&self) -> String {
        match self {
            Self::Request { request_id } => visible(request_id).to_string(),
            Self::Thread { tenant_id, correlation_id } => {
                format!("thread {}/{}", visible(tenant_id), visible(correlation_id))
            }
            Self::Decision { decision_id } => visible(decision_id).to_string(),
            Self::Loop { loop_id } => {
                format!("{}, whose recorder is gone", visible(loop_id))
            }
        }
    }
}

/// Records what is due, and shows it.
pub(crate) fn expire(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let engine = crate::questions::open::open(global, &args.turn)?;
    let receipts = engine.expire().map_err(|error| crate::log::open::failed(global, error))?;
    let unsure = left_over(&engine, global)?;
    engine.close().map_err(|error| crate::log::open::failed(global, error))?;
    let expired: Vec<Expired> = receipts.iter().flat_map(expired_of).collect();
    let mut out = Output::stdout();
    if global.json {
        out.json(&expired);
    } else {
        for one in &expired {
            out.line(format_args!(
                "{:>8}  {}  {}  due {}",
                one.sequence,
                one.kind,
                one.of.shown(),
                moment(one.due_at)
            ));
        }
    }
    out.finish()?;
    let Some(why) = unsure else { return Ok(Exit::DONE) };
    complain(&why);
    Ok(Exit::FAILED)
}

/// Why a run has not ended that may be due for its end: nothing tells whether it is, or what waits
/// for it was not taken up.
fn left_over(engine: &Engine, global: &Global) -> Result<Option<String>, Failure> {
    let path: PathBuf = global.log.components().collect();
    let storage = DirectoryStorage::new(&path);
    let live = engine.query(|world| {
        let live = world.live_loops().map(ExecutionLoop::loop_id);
        live.map(ToString::to_string).collect::<Vec<_>>()
    });
    let live = live.map_err(|error| crate::log::open::failed(global, error))?;
    let waiting = all_waiting(&storage).into_iter().filter(|it| !it.entries.is_empty());
    let waiting: BTreeSet<String> = waiting.map(|it| it.run).collect();
    Ok(live.iter().find_map(|id| match recorder_of(&storage, id) {
        Recorder::NotToBeTold => Some(recorders::not_told(&named(id))),
        Recorder::Gone if waiting.contains(id) => Some(format!(
            "what waits in runs/{} was not taken up: see that the disk has room (`df`), and say \
             `holdpoint decision expire` again",
            named(id)
        )),
        _ => None,
    }))
}

fn expired_of(receipt: &Receipt) -> Vec<Expired> {
    let numbered = (receipt.first_sequence..).zip(&receipt.events);
    let expired = numbered.filter_map(|(sequence, event)| {
        let (of, due_at) = lost(event, receipt.at?).or_else(|| due_of(event))?;
        let (kind, recorded_at) = (event.kind().name, receipt.at);
        Some(Expired { sequence, kind, of, due_at, recorded_at })
    });
    expired.collect()
}

/// A loop whose recorder is gone was due for its end when that was found out.
fn lost(event: &Event, at: Time) -> Option<(Subject, Time)> {
    match event {
        Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(body))
            if body.reason == HaltReason::RecorderLost =>
        {
            Some((Subject::Loop { loop_id: body.loop_id.to_string() }, at))
        }
        _ => None,
    }
}

fn due_of(event: &Event) -> Option<(Subject, Time)> {
    let request = |request_id: &str| Subject::Request { request_id: request_id.into() };
    let decision = |decision_id: &str| Subject::Decision { decision_id: decision_id.into() };
    Some(match event {
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionWarned(body)) => {
            (request(&body.request_id), body.due_at)
        }
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(body)) => {
            (request(&body.record.request_id), body.due_at)
        }
        Event::InterruptionThread(InterruptionThreadEvent::BufferExpired(body)) => {
            (Subject::thread(&body.tenant_id, &body.correlation_id), body.expires_at)
        }
        Event::InterruptionThread(InterruptionThreadEvent::ReturnCheckExpired(body)) => {
            (Subject::thread(&body.tenant_id, &body.correlation_id), body.expires_at)
        }
        Event::DecisionPoint(DecisionPointEvent::DefaultTaken(body)) => {
            (decision(&body.decision_id), body.expires_at)
        }
        Event::DecisionPoint(DecisionPointEvent::DecisionPointAborted(body)) => {
            (decision(&body.decision_id), body.expires_at)
        }
        Event::DecisionPoint(DecisionPointEvent::DecisionPointWarned(body)) => {
            (decision(&body.decision_id), body.due_at)
        }
        Event::DecisionPoint(DecisionPointEvent::ApprovalLapsed(body)) => {
            (decision(&body.decision_id), body.valid_until)
        }
        _ => return None,
    })
}
