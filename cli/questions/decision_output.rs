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

/// What a program is told.
#[derive(Serialize)]
pub(crate) struct Told {
    /// The decision, as it is now.
    pub(crate) decision: Value,
    /// The round that guidance led to.
    pub(crate) next_decision: Option<Value>,
    /// The first record of the change.
    pub(crate) event: Value,
    /// Whether it was done before, and nothing was written now.
    pub(crate) replayed: bool,
    /// Why it permits nothing, where it is in doubt.
    #[serde(flatten)]
    pub(crate) doubt: Option<Doubt>,
    #[serde(skip)]
    pub(crate) points: (DecisionPoint, Option<DecisionPoint>),
}

/// What a change of a decision came to; closes the log. An answer that came too late is on record,
/// and a failure.
pub(crate) fn came_to(
    session: DecisionSession<'_>,
    decision_id: &str,
    submitted: Submitted,
) -> Result<Told, Failure> {
    let told = told(&session, decision_id, submitted);
    session.close()?;
    told
}

/// Tells what a change came to.
pub(crate) fn show(
    global: &Global,
    told: &Told,
    what: impl FnOnce(&DecisionPoint) -> String,
) -> Result<Exit, Failure> {
    let mut out = Output::stdout();
    if global.json {
        out.json(told);
    } else {
        let (point, next) = &told.points;
        let again = if told.replayed { " (on record before)" } else { "" };
        let mut tell = |line: String| screen::told(&line).iter().for_each(|line| out.line(line));
        tell(format!("{}  {}{again}", point.decision_id, what(point)));
        let blocks = point.terms.blocks.iter().filter(|_| point.released_at.is_some());
        blocks.for_each(|name| tell(format!("released        {}", named(name))));
        if let Some(next) = next {
            tell(format!("next round      {}", next.decision_id));
            how_to_answer(global, next).iter().for_each(|line| out.line(line));
        }
    }
    out.finish()?;
    let doubt = told.doubt.filter(|_| told.points.0.needs_person());
    warn_permits_nothing(doubt, "the answer");
    Ok(Exit::DONE)
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

fn told(
    session: &DecisionSession<'_>,
    decision_id: &str,
    submitted: Submitted,
) -> Result<Told, Failure> {
    let (receipt, replayed) = match session.carried_out(Some(decision_id), submitted) {
        Ok(carried_out) => carried_out,
        Err(failure) => return Err(naming_what_started(session, decision_id, failure)?),
    };
    let found = session.point(decision_id)?;
    let point = found.ok_or_else(|| no(forgotten(decision_id)))?;
    if is_late(&receipt) {
        return Err(session.too_late(&point, &receipt)?);
    }
    // That it is spent was judged before; what permits no more is told as it is.
    let is_spent = point.consumed.is_some();
    let next = point.next_id.as_deref().map(|next| session.point(next)).transpose()?.flatten();
    Ok(Told {
        decision: session.value(&point)?,
        next_decision: next.as_ref().map(|next| session.value(next)).transpose()?,
        event: session.record(receipt.first_sequence)?,
        replayed,
        doubt: session.doubt(&point)?.filter(|_| !is_spent),
        points: (point, next),
    })
}

/// The failure to revoke what was spent, with the run that it started and what that was.
fn naming_what_started(
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
