//! Answers to the questions about the tools of a session.

use crate::sessions::Session;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::decision_point::{DecisionPoint, ResolutionKind};
use serde::Serialize;

/// Outcomes of the questions about the tools of a session, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tools {
    asked: usize,
    approved: usize,
    denied: usize,
    waiting: usize,
    unanswered: usize,
    taken_back: usize,
    outcome_unknown: usize,
}

holdpoint_domain::worded_enum! {
    /// Outcome of one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ToolAnswer {
        /// A person said yes.
        Approved = "approved",
        /// A person said no.
        Denied = "denied",
        /// No answer yet.
        Waiting = "waiting",
        /// Nobody answered in time.
        Unanswered = "unanswered",
        /// The question was cancelled.
        TakenBack = "taken back",
    }
}

/// Outcome of a question.
#[must_use]
pub fn answered(point: &DecisionPoint) -> ToolAnswer {
    let kind = point.ending.as_ref().and_then(|ending| ending.kind);
    match kind {
        _ if point.is_open() => ToolAnswer::Waiting,
        _ if point.approves() => ToolAnswer::Approved,
        Some(ResolutionKind::Option) => ToolAnswer::Denied,
        Some(ResolutionKind::Cancel) => ToolAnswer::TakenBack,
        _ => ToolAnswer::Unanswered,
    }
}

/// True if the tool may have run, and nobody said what became of it.
#[must_use]
pub fn is_unknown(point: &DecisionPoint) -> bool {
    point.consumed.is_some() && point.outcome.is_none()
}

impl Tools {
    /// Those of a session.
    #[must_use]
    pub fn of(session: &Session) -> Self {
        let count = |wanted: ToolAnswer| {
            session.calls.iter().filter(|point| answered(point) == wanted).count()
        };
        Self {
            asked: session.calls.len(),
            approved: count(ToolAnswer::Approved),
            denied: count(ToolAnswer::Denied),
            waiting: count(ToolAnswer::Waiting),
            unanswered: count(ToolAnswer::Unanswered),
            taken_back: count(ToolAnswer::TakenBack),
            outcome_unknown: session.calls.iter().filter(|point| is_unknown(point)).count(),
        }
    }

    /// The numbers in words, without those that are 0.
    #[must_use]
    pub fn words(&self) -> String {
        let said = [
            (self.approved, ToolAnswer::Approved.name()),
            (self.denied, ToolAnswer::Denied.name()),
            (self.waiting, ToolAnswer::Waiting.name()),
            (self.unanswered, ToolAnswer::Unanswered.name()),
            (self.taken_back, ToolAnswer::TakenBack.name()),
            (self.outcome_unknown, "outcome unknown"),
        ];
        let said = said.iter().filter(|(count, _)| *count > 0);
        let more: String = said.map(|(count, word)| format!(", {count} {word}")).collect();
        format!("{} asked{more}", self.asked)
    }
}

/// Those who said yes to one of its calls.
pub fn approvers(session: &Session) -> impl Iterator<Item = &Principal> {
    let approved = session.calls.iter().filter(|point| answered(point) == ToolAnswer::Approved);
    approved.filter_map(|point| point.ending.as_ref()?.by.as_ref())
}
