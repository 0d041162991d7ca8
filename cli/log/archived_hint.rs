//! What of a history is not in the log that is read, and where to look for it.

use crate::log::archives::told;
use crate::log::verdict::lost_before;
use crate::log::{Directory, LiveState};
use crate::ui::{Exit, Failure};
use holdpoint_domain::core::text::visible;
use holdpoint_replay::{Archived, Rebuilt, Tells, records_named};
use serde_json::json;

/// What is said of records that are not here, where something was not found.
pub(crate) const AMONG_THEM: &str = "and what is asked for may be among them";

/// What a program is told of records that are lost, where something was not found.
const LOST_BEFORE: &str = "lost_before";

impl Directory {
    /// The same failure; where something was not found that may be in an archive which is not read,
    /// or was in records that are lost, it says so.
    pub(crate) fn or_missing(&self, failure: Failure) -> Failure {
        self.or_unread(self.or_lost(failure))
    }

    /// The same failure; where something was not found that may have been in records which are
    /// lost, it says so.
    pub(crate) fn or_lost(&self, failure: Failure) -> Failure {
        if failure.exit != Exit::NOT_FOUND || failure.tells(LOST_BEFORE) {
            return failure;
        }
        // What cannot be read of the state is told by whoever needs it.
        let state = LiveState::read(self, false, Tells::Questions).ok();
        match state.and_then(|state| state.world().lost_before()) {
            Some(record) => failure
                .adding(&format!("; {}, {AMONG_THEM}", lost_before(record)))
                .with(LOST_BEFORE, json!(record)),
            None => failure,
        }
    }
}

/// One sentence, which ends with `whom`: what the records that are not here may tell of. `None`
/// where the log is whole.
pub(crate) fn missing(directory: &Directory, rebuilt: &Rebuilt, whom: &str) -> Option<String> {
    let lost = rebuilt.lost_at.map(|sequence| {
        format!(
            "record {sequence} tells of records that were lost when this log was salvaged \
             (`holdpoint log kind=log.records_lost` shows which)"
        )
    });
    let report = &rebuilt.report;
    let later = report.head.as_ref().filter(|_| report.is_archive).map(|head| {
        let newest = head.sequence;
        format!("records behind {newest} are in the log that this archive was moved from")
    });
    let unread = directory.log.unread();
    let advice = unread.as_ref().map_or("", |unread| directory.advice(unread));
    let unread = unread.map(|unread| told(&unread));
    let archived = unread.or_else(|| report.archived.as_ref().map(archived));
    let parts: Vec<String> = [archived, lost, later].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{}: {whom}{advice}", parts.join("; ")))
}

/// The first record that is here.
pub(crate) fn first_record(rebuilt: &Rebuilt) -> u64 {
    let anchor = rebuilt.report.archived.as_ref().map_or(0, |before| before.anchor_sequence);
    anchor.saturating_add(1)
}

fn archived(before: &Archived) -> String {
    lying_in((1, before.anchor_sequence), before.archived_to.as_deref())
}

/// That records are in an archive, from the first of them to the last, and in which.
pub(crate) fn lying_in((first, last): (u64, u64), archive: Option<&str>) -> String {
    let are = if first == last { "is" } else { "are" };
    let records = records_named(first, last);
    match archive {
        Some(archive) => {
            format!("{records} {are} in the archive {} (`--log` shows it)", visible(archive))
        }
        None => format!("{records} {are} in an archive that the log does not name"),
    }
}
