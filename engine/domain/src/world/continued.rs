//! A log that ends before its HEAD is continued under another identity: all that was open ends, and
//! every approval that was not spent is revoked.
//!
//! The records that are missing may have ended a question, spent an approval or taken one back. So
//! nothing that began before is permitted anything after.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::core::actor::{Actor, Authentication, HOLDPOINT, Principal};
use crate::core::clocks::Moment;
use crate::core::forbidden::{Record, Rule, RuleChecks};
use crate::core::ids::Entropy;
use crate::core::payload::Text;
use crate::decision_point::event::{ApprovalRevoked, DecisionPointCancelled};
use crate::decision_point::state::DecisionPoint;
use crate::log::command::WriterCommand;
use crate::log::event::LogContinued;
use crate::world::decide::{decide_for_writer, unless};
use crate::world::event::Event;
use crate::world::refusal::Refusal;
use crate::world::{LiveState, World};

/// The ends of all that is open, and then that a person continued the log.
pub(super) fn continue_log(
    world: &World,
    body: &LogContinued,
    lost: &[(String, Entropy)],
    now: Moment,
) -> Result<Vec<Event>, Refusal> {
    let newest = world.totals().last_sequence;
    let statement = "a continued log";
    let is_other = body.kept_sequence != newest;
    unless(is_other, statement, format!("record {newest} as the newest"), body.kept_sequence)?;
    let is_whole = body.stated_sequence <= body.kept_sequence;
    unless(is_whole, statement, "a HEAD that states a later record", body.stated_sequence)?;
    let missing = world.live_loops().count().saturating_sub(lost.len());
    unless(missing > 0, statement, "the end of every live loop", missing)?;
    let mut events = Vec::new();
    for (loop_id, entropy) in lost {
        let (loop_id, entropy, end) = (loop_id.clone(), *entropy, None);
        let command = WriterCommand::DeclareLost { loop_id, entropy, end };
        events.extend(decide_for_writer(world, &command, now)?);
    }
    let points = world.live_decision_points().chain(world.closed_decision_points());
    events.extend(points.filter_map(|point| end_of(point, body)));
    events.push(body.clone().into());
    Ok(events)
}

/// The end of a question that is open, or of an approval that was not spent.
fn end_of(point: &DecisionPoint, body: &LogContinued) -> Option<Event> {
    let (decision_id, by) = (point.decision_id.clone(), holdpoint());
    let reason = format!(
        "the log was continued without records {} to {}, which may have ended it",
        body.kept_sequence.saturating_add(1),
        body.stated_sequence
    );
    let reason = Some(Text::from(reason));
    if point.is_open() {
        return Some(DecisionPointCancelled { decision_id, by, reason }.into());
    }
    point.is_revocable().then(|| ApprovalRevoked { decision_id, by, reason }.into())
}

/// Holdpoint itself, which nothing has to prove.
pub(crate) fn holdpoint() -> Principal {
    Principal {
        kind: Actor::System,
        id: HOLDPOINT.into(),
        authenticated_by: Authentication::None,
        means: Text::default(),
    }
}

/// Judges that a person at a terminal continued the log, when all that was open had ended.
pub(super) fn judge(
    world: &World,
    record: Record<'_>,
    body: &LogContinued,
    checks: &mut RuleChecks,
) {
    let rule = Rule::LogContinuation;
    let is_person = record.proof.is_some_and(|proof| proof.by == Authentication::Terminal)
        && record.actor.kind == Actor::Human
        && body.by.is(record.actor);
    checks.demand(is_person, rule, "a person at a terminal", &body.by.id);
    let (kept, stated) = (body.kept_sequence, body.stated_sequence);
    let is_in_order = kept < record.sequence && kept < stated;
    let found = format!("records {kept} and {stated}");
    checks.demand(is_in_order, rule, "a record before this one, short of the stated one", found);
    let open = world.live_loops().count().saturating_add(world.live_decision_points().count());
    checks.demand(open == 0, rule, "the end of all that was open", open);
}

impl LiveState {
    /// Follows a log that is continued: what began before may have ended in a record that is
    /// missing, and the segments of the other log are not those of this one.
    pub(super) fn log_continued(&mut self, sequence: u64) {
        self.lost_before = sequence;
        self.indexes = Default::default();
    }
}
