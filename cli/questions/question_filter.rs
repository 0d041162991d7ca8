//! The listed questions that a state knows all of.

use crate::log::decision_id;
use holdpoint_domain::{Time, World};
use holdpoint_replay::question::Question;
use holdpoint_replay::question_filter::QuestionFilter;

/// The matching questions in the order of the list, at most `limit`; `None` where a state does not
/// have all that match.
pub(crate) fn select_known<'w>(
    filter: &QuestionFilter,
    world: &'w World,
    limit: usize,
    now: Time,
) -> Option<Vec<Question<'w>>> {
    let forgets = world.forgets_decision_points() || world.forgets_requests();
    if forgets && !filter.state.is_live() {
        return None;
    }
    let after = match &filter.after {
        Some(wanted) => Some(decision_id::known(world, wanted)?),
        None => None,
    };
    let mut found = filter.select(world, after, now);
    found.truncate(limit);
    Some(found)
}
