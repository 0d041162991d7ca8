//! What became of a change, as it is told.

use crate::args::Global;
use crate::log::verdict::warn_permits_nothing;
use crate::questions::decision_session::{DecisionSession, is_late, no};
use crate::questions::decision_view::{how_to_answer, outcome, votes, what_starts};
use crate::ui::screen::{self, quoted_up_to};
use crate::ui::{Exit, Failure, Output, named};
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::decision_point::{DecisionPoint, DecisionPointRefusal};
use holdpoint_engine::shell::Submitted;
use serde::Serialize;
use serde_json::{Value, json};

/// The code of a refusal to revoke an approval that was spent.
const ALREADY_SPENT: &str = "already_spent";
/// The longest beginning of a command that a refusal names, in characters.
const COMMAND_CHARACTERS: usize = 300;

/// A decision that was changed, as programs read it.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeOutput {
    /// The decision, as it is now.
    pub(crate) decision: Value,
    /// The round that guidance led to.
    pub(crate) next_decision: Option<Value>,
    /// The first record of the change.
    pub(crate) event: Value,
    /// True if it was done before, and nothing was written now.
    pub(crate) replayed: bool,
    /// Why it permits nothing, where it is in doubt.
    #[serde(flatten)]
    pub(crate) doubt: Option<Doubt>,
    #[serde(skip)]
    pub(crate) points: (DecisionPoint, Option<DecisionPoint>),
}

impl ChangeOutput {
    /// The outcome of a command on a decision. An answer that came too late is on record, and a
    /// failure.
    pub(crate) fn of(
        session: &DecisionSession<'_>,
        decision_id: &str,
        submitted: Submitted,
    ) -> Result<Self, Failure> {
        let (receipt, replayed) = session.carried_out(Some(decision_id), submitted)?;
        let found = session.point(decision_id)?;
        let point = found.ok_or_else(|| no(forgotten(decision_id)))?;
        if is_late(&receipt) {
            return Err(session.too_late(&point, &receipt)?);
        }
        // That it is spent was judged before; what permits no more is told as it is.
        let is_spent = point.consumed.is_some();
        let next = point.next_id.as_deref().map(|next| session.point(next)).transpose()?.flatten();
        Ok(Self {
            decision: session.value(&point)?,
            next_decision: next.as_ref().map(|next| session.value(next)).transpose()?,
            event: session.record(receipt.first_sequence)?,
            replayed,
            doubt: session.doubt(&point)?.filter(|_| !is_spent),
            points: (point, next),
        })
    }

    /// Why an answer of a person permits nothing.
    pub(crate) fn doubt_of_person(&self) -> Option<Doubt> {
        self.doubt.filter(|_| self.points.0.needs_person())
    }

    /// Shows it; to a person with `what` became of the decision.
    pub(crate) fn show(
        &self,
        global: &Global,
        what: impl FnOnce(&DecisionPoint) -> String,
    ) -> Result<Exit, Failure> {
        let mut out = Output::stdout();
        if global.json {
            out.json(self);
        } else {
            let (point, next) = &self.points;
            let again = if self.replayed { " (on record before)" } else { "" };
            let mut put = |line: String| screen::told(&line).iter().for_each(|line| out.line(line));
            put(format!("{}  {}{again}", point.decision_id, what(point)));
            let blocks = point.terms.blocks.iter().filter(|_| point.released_at.is_some());
            blocks.for_each(|name| put(format!("released        {}", named(name))));
            if let Some(next) = next {
                put(format!("next round      {}", next.decision_id));
                how_to_answer(global, next, screen::columns())
                    .iter()
                    .for_each(|line| out.line(line));
            }
        }
        out.finish()?;
        warn_permits_nothing(self.doubt_of_person(), "the answer");
        Ok(Exit::DONE)
    }
}

/// Where a decision stands, in a line.
pub(crate) fn standing(point: &DecisionPoint) -> String {
    let state = point.state;
    match (point.is_open(), votes(point)) {
        (true, Some(votes)) => format!("{state}: {votes}"),
        (true, None) => state.to_string(),
        (false, _) => format!("{state}: {}", outcome(point)),
    }
}

/// The failure to revoke what was spent, with the run that it started and what that was.
pub(crate) fn naming_what_started(
    session: &DecisionSession<'_>,
    decision_id: &str,
    failure: Failure,
) -> Result<Failure, Failure> {
    let spent = session.point(decision_id)?.filter(|_| failure.code() == ALREADY_SPENT);
    let Some(point) = spent else { return Ok(failure) };
    let command = quoted_up_to(COMMAND_CHARACTERS, &what_starts(&point));
    Ok(match session.run_started_by(&point)? {
        Some(run) => failure
            .adding(&format!("; it began run {run}, of {command}: `holdpoint show {run}` has it"))
            .with("run_id", json!(run)),
        None => failure.adding(&format!("; it was about {command}")),
    })
}

/// A decision that ended so long ago that it is looked up in the log only.
fn forgotten(decision_id: &str) -> DecisionPointRefusal {
    DecisionPointRefusal::UnknownDecision { decision_id: decision_id.to_string() }
}

/// A failure tells a program always which decision it is about and how that stands, or null.
pub(crate) fn told_whole(failure: Failure) -> Failure {
    ["decision_id", "current"].into_iter().fold(failure, Failure::with_key)
}
