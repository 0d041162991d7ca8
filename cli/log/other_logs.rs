//! Where an id is that was not found: in another log of the user's inbox.

use crate::args::Global;
use crate::log::Directory;
use crate::log::ids::{self, IdText, of_whole_log, record};
use crate::log::named_logs::logs as inbox_logs;
use crate::ui::program::program_on;
use crate::ui::{Exit, Failure, complain, path};
use holdpoint_domain::core::text::visible;
use holdpoint_replay::ids_beginning_with;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// So many places of it are named.
const NAMED_MAX: usize = 3;

/// What came of looking for an id; where it was not found, with the logs of the inbox that have it.
/// Those are looked at only then.
pub(crate) fn told(
    global: &Global,
    wanted: &str,
    outcome: Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let hint = || hint(&global.log, wanted);
    match outcome {
        // What was not found is told already.
        Ok(Exit::NOT_FOUND) => {
            hint().into_iter().for_each(|hint| complain(&hint));
            Ok(Exit::NOT_FOUND)
        }
        Err(failure) if failure.exit == Exit::NOT_FOUND => Err(match hint() {
            Some(hint) => failure.adding(&format!("; {hint}")),
            None => failure,
        }),
        other => other,
    }
}

/// The logs of the inbox, and the one that is meant here, that have an id that begins so, waiting
/// or ended; and why there may be more.
pub(crate) fn having(global: &Global, wanted: &str) -> (Vec<(PathBuf, String)>, Vec<Failure>) {
    let Some(beginnings) = beginnings(wanted) else { return (Vec::new(), Vec::new()) };
    let logs = inbox_logs().into_iter().chain([global.log.clone()]);
    // What has no whole path is not there, and has no id.
    let logs: BTreeSet<PathBuf> = logs.filter_map(|log| log.canonicalize().ok()).collect();
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for log in logs {
        let of_log = Global { log: log.clone(), config: None, json: false, lists: false };
        match of_whole_log(&of_log, &beginnings) {
            Ok(ids) => found.extend(ids.into_iter().map(|id| (log.clone(), id))),
            Err(failure) => unknown.push(failure.on(&log)),
        }
    }
    (found, unknown)
}

/// In which logs it is, and what shows it there. A number is that of a record.
fn hint(log: &Path, wanted: &str) -> Option<String> {
    let beginnings = beginnings(wanted).filter(|_| record(wanted).is_none())?;
    let here = log.canonicalize().ok();
    let mut logs: BTreeSet<PathBuf> =
        inbox_logs().into_iter().filter_map(|log| log.canonicalize().ok()).collect();
    logs.retain(|log| Some(log) != here.as_ref());
    let ways = logs.into_iter().flat_map(|log| {
        let ids = ids_in(&log, &beginnings).unwrap_or_default();
        ids.into_iter().map(move |id| {
            let id = visible(&id).to_string();
            format!("{id} is in the log {}: `{} show {id}`", path(&log), program_on(&log))
        })
    });
    let ways: Vec<String> = ways.take(NAMED_MAX).collect();
    (!ways.is_empty()).then(|| ways.join("; "))
}

/// What can begin the id that is wanted; `None`: it is no id.
fn beginnings(wanted: &str) -> Option<BTreeSet<String>> {
    let (digits, of) = match IdText::read(wanted)? {
        IdText::Whole(of) => (ids::digits_of(wanted), vec![of]),
        IdText::Beginning(digits, of) => (digits, of),
    };
    Some(ids::beginnings(digits, &of))
}

/// The ids of a log that begin so. What cannot be read of it is told by whoever needs it.
fn ids_in(log: &Path, beginnings: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let global = Global { log: log.to_path_buf(), config: None, json: false, lists: false };
    let directory = Directory::open(&global).ok()?;
    let (found, _) =
        directory.read(|log, options| ids_beginning_with(log, beginnings, options)).ok()?;
    Some(found)
}
