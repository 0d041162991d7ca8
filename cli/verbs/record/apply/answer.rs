//! What a line of input is answered with.

use super::turn::{PlanOutcome, TurnOutcome};
use crate::log::receipt::Recorded;
use crate::ui::Exit;
use crate::ui::text::visible_once;
use holdpoint_domain::human_decision::HumanDecisionEvent;
use holdpoint_domain::interruption_thread::{DuplexBranch, InterruptionThreadEvent, TtsControl};
use holdpoint_domain::{Command, Event, Time};
use holdpoint_engine::shell::{Receipt, Submitted};
use holdpoint_replay::json_fault::Fault;
use schemars::JsonSchema;
use serde::Serialize;

/// The answer to one line.
#[derive(Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Its number, from 1.
    pub(super) line: u64,
    /// What became of it.
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

/// What became of a line.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// Carried out, now or before.
    Receipt(Box<CommandReceipt>),
    /// A rule said no.
    Refusal {
        /// The stable reason code.
        code: &'static str,
        /// Why, and what to do.
        message: String,
        /// What happens to speech that is under way, where a turn was refused.
        #[serde(skip_serializing_if = "Option::is_none")]
        tts_control: Option<TtsControl>,
    },
    /// Not understood: nothing came of it.
    Error {
        /// What is wrong.
        message: String,
        /// The line's number, from 1.
        line: u64,
        /// Bytes from 1.
        column: usize,
        /// In which field, where it is in one.
        #[serde(skip_serializing_if = "String::is_empty")]
        field: String,
    },
}

/// The receipt of a command.
#[derive(Serialize, JsonSchema)]
pub(super) struct CommandReceipt {
    first_sequence: u64,
    last_sequence: u64,
    /// Left away where the records were moved to an archive: then `events` is empty, too, and
    /// `last_sequence` may be that of the first record.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Time>,
    /// It was carried out before: this is the first receipt again.
    repeated: bool,
    /// The loop that the events are about.
    #[serde(skip_serializing_if = "Option::is_none")]
    loop_id: Option<String>,
    /// The question to a person that the command opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// The decision that it recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_id: Option<String>,
    /// The audit row that it committed: the sequence of the row's record.
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_event_id: Option<u64>,
    /// What a turn came to: the directive, and what is said, asked or handed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnOutcome>,
    /// The plan that it drafted: words, which allow nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanOutcome>,
    /// Which way a turn went that passed the commit gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<DuplexBranch>,
    /// Names of its events, in order.
    events: Vec<&'static str>,
}

impl Outcome {
    pub(super) fn not_understood(line: u64, fault: &Fault) -> Self {
        Self::Error {
            message: visible_once(fault.message()),
            line,
            column: fault.column(),
            field: fault.field().to_string(),
        }
    }

    /// What became of a command.
    pub(super) fn of(submitted: Submitted, command: &Command) -> Self {
        match submitted {
            Submitted::Accepted(receipt) => {
                Self::Receipt(Box::new(CommandReceipt::of(receipt, false)))
            }
            Submitted::Repeated(receipt) => {
                Self::Receipt(Box::new(CommandReceipt::of(receipt, true)))
            }
            Submitted::Refused(refusal) => Self::Refusal {
                code: refusal.code(),
                message: visible_once(&refusal.to_string()),
                tts_control: refusal.tts_control(command),
            },
        }
    }

    /// The newest record that it made, or made before, and what it is about.
    pub(super) fn recorded(&self) -> Option<Recorded> {
        let Self::Receipt(carried) = self else { return None };
        let about = [&carried.loop_id, &carried.decision_id, &carried.request_id];
        let id = about.into_iter().find_map(Option::as_deref);
        Some(Recorded::new(carried.last_sequence, id))
    }

    /// The exit code of a process that ends with nothing worse.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Receipt(_) => Exit::DONE,
            Self::Refusal { .. } => Exit::REFUSED,
            Self::Error { .. } => Exit::USAGE,
        }
    }
}

impl CommandReceipt {
    fn of(receipt: Receipt, repeated: bool) -> Self {
        let events = &receipt.events;
        Self {
            first_sequence: receipt.first_sequence,
            last_sequence: receipt.last_sequence,
            at: receipt.at,
            repeated,
            loop_id: events.iter().find_map(Event::loop_id).map(String::from),
            request_id: events.iter().find_map(request_id).map(String::from),
            decision_id: events.iter().find_map(decision_id).map(String::from),
            audit_event_id: audit_event_id(&receipt),
            turn: events.iter().find_map(turn),
            plan: events.iter().find_map(plan),
            branch: events.iter().find_map(branch),
            events: events.iter().map(|event| event.kind().name).collect(),
        }
    }
}

fn request_id(event: &Event) -> Option<&str> {
    match event {
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) => {
            Some(&body.request.request_id)
        }
        _ => None,
    }
}

fn decision_id(event: &Event) -> Option<&str> {
    match event {
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionAnswered(body)) => {
            Some(&body.record.decision_id)
        }
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(body)) => {
            Some(&body.record.decision_id)
        }
        _ => None,
    }
}

fn audit_event_id(receipt: &Receipt) -> Option<u64> {
    let mut numbered = (receipt.first_sequence..).zip(&receipt.events);
    numbered
        .find(|(_, event)| {
            matches!(event, Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(_)))
        })
        .map(|(id, _)| id)
}

fn turn(event: &Event) -> Option<TurnOutcome> {
    let Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(body)) = event else {
        return None;
    };
    Some(TurnOutcome::of(body))
}

fn plan(event: &Event) -> Option<PlanOutcome> {
    let Event::InterruptionThread(InterruptionThreadEvent::PlanDrafted(body)) = event else {
        return None;
    };
    Some(PlanOutcome {
        plan_key: body.plan_key.clone(),
        plan: body.plan.clone(),
        unsaid: body.unsaid.clone(),
    })
}

fn branch(event: &Event) -> Option<DuplexBranch> {
    let Event::InterruptionThread(InterruptionThreadEvent::TurnCommitted(body)) = event else {
        return None;
    };
    Some(body.decision.branch)
}
