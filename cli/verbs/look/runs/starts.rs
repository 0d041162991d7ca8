//! Starts that nobody approved: a row each among runs, by the command that was asked about.

use crate::log::Directory;
use crate::log::run_records::ID_CHARACTERS;
use crate::log::sessions::claimed;
use crate::questions::decision_view::what_starts;
use crate::ui::Failure;
use crate::ui::table::NOTHING;
use crate::ui::text::visible_once;
use crate::ui::time_format::Clock;
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::core::text::bounded;
use holdpoint_replay::unapproved_starts::{
    UnapprovedStart, UnapprovedStarts, find_unapproved_starts,
};
use holdpoint_replay::{Filter, QUESTIONS_MAX, RunFilter, RunStatus};

/// Those that a list shows, by where it ends. None is running, has labels or was approved.
pub(super) fn read(
    directory: &Directory,
    (range, wanted): (&Filter, &RunFilter),
    (least, most): (Option<u64>, usize),
) -> Result<Option<UnapprovedStarts>, Failure> {
    let is_run = matches!(wanted.status, Some(RunStatus::Outcome(_) | RunStatus::Exit(_)));
    if is_run || wanted.running || wanted.approved_by.is_some() || !wanted.labels.is_empty() {
        return Ok(None);
    }
    let range = Filter { first: least.max(range.first), ..range.clone() };
    let is_wanted = |start: &UnapprovedStart| {
        let (by, command) = (&start.question.requested_by.id, what_starts(&start.question));
        wanted.status.is_none_or(|status| status == RunStatus::Start(start.end))
            && wanted.by.as_ref().is_none_or(|name| **by == **name)
            && wanted.command.as_ref().is_none_or(|text| command.contains(text))
    };
    let bounds = (most, QUESTIONS_MAX);
    directory
        .read(|log, options| find_unapproved_starts(log, &range, bounds, &is_wanted, options))
        .map(Some)
}

/// The cells of its row.
pub(super) fn cells(start: &UnapprovedStart, clock: &Clock) -> Vec<String> {
    let (question, by) = (&start.question, &start.question.requested_by);
    vec![
        clock.told(question.created_at),
        start.end.name().to_string(),
        NOTHING.to_string(),
        NOTHING.to_string(),
        claimed(&by.id, by.authenticated_by == Authentication::None),
        NOTHING.to_string(),
        bounded(&question.decision_id, ID_CHARACTERS).to_string(),
        visible_once(&what_starts(question)),
    ]
}
