//! Names of which the beginning is given: `by` and `approver` take it where one name on
//! record begins so.

use crate::log::Directory;
use crate::log::agent_sessions::{asks, may_begin_name};
use crate::log::run_id::expect_sound;
use crate::ui::{Exit, Failure, complain, named};
use holdpoint_replay::session_answers::approvers;
use holdpoint_replay::{Filter, QUESTIONS_MAX, RunFilter, Session, find_sessions, names_of_runs};
use std::collections::BTreeSet;

/// So many names are told at most.
const TOLD_MAX: usize = 5;

/// So many sessions are looked at for their names at most.
const SESSIONS_MAX: usize = 1_000;

/// What is wanted, with whole names where only their beginnings were given, as a list shows them;
/// `None` where nothing changes by that. Exit 4 where several names begin so.
pub(super) fn completed(
    directory: &Directory,
    wanted: &RunFilter,
) -> Result<Option<RunFilter>, Failure> {
    if wanted.by.is_none() && wanted.approved_by.is_none() {
        return Ok(None);
    }
    let (names, searched) = directory.read(names_of_runs)?;
    expect_sound(&searched)?;
    let mut whole = wanted.clone();
    if let Some(by) = &wanted.by {
        let mut began = names.began;
        began.extend(of_sessions(directory, by)?);
        whole.by = Some(only(("by", "no run is by"), by, &began)?);
    }
    if let Some(by) = &wanted.approved_by {
        let option = ("approver", "no run was approved by");
        let mut answered = names.answered;
        let sessions = newest_sessions(directory)?;
        answered.extend(sessions.iter().flat_map(approvers).map(|who| who.id.to_string()));
        whole.approved_by = Some(only(option, by, &answered)?);
    }
    Ok((whole != *wanted).then_some(whole))
}

/// The names of sessions, where one can be meant.
fn of_sessions(directory: &Directory, wanted: &str) -> Result<BTreeSet<String>, Failure> {
    if !may_begin_name(beginning(wanted)) {
        return Ok(BTreeSet::new());
    }
    Ok(newest_sessions(directory)?.into_iter().map(|session| session.name).collect())
}

fn newest_sessions(directory: &Directory) -> Result<Vec<Session>, Failure> {
    let range = Filter::default();
    let found = directory.read(|log, options| {
        find_sessions(log, &range, (SESSIONS_MAX, QUESTIONS_MAX), &asks, options)
    })?;
    expect_sound(&found.searched)?;
    Ok(found.sessions)
}

/// What a name begins with, as a list shows it.
fn beginning(wanted: &str) -> &str {
    let shown = wanted.strip_suffix('?').unwrap_or(wanted);
    shown.strip_suffix("..").unwrap_or(shown)
}

/// The one name that is meant: itself where it is on record or where none begins so.
fn only(
    (option, none): (&str, &str),
    wanted: &str,
    names: &BTreeSet<String>,
) -> Result<String, Failure> {
    let beginning = beginning(wanted);
    if names.contains(wanted) {
        return Ok(wanted.to_string());
    }
    let alike: Vec<&String> = names.iter().filter(|name| name.starts_with(beginning)).collect();
    match &alike[..] {
        [] => {
            let all: Vec<&String> = names.iter().collect();
            let known = match all.is_empty() {
                true => "and no name is on record for that".to_string(),
                false => format!("names on record are {}", told(&all)),
            };
            complain(&format!("{none} {}: {known}", named(wanted)));
            Ok(wanted.to_string())
        }
        [name] => {
            complain(&format!("{option} {} is taken for {}", named(wanted), named(name)));
            Ok((*name).clone())
        }
        several => {
            let message = format!(
                "{} names begin with {}: {}; give more of the one that is meant",
                several.len(),
                named(beginning),
                told(several)
            );
            Err(Failure::new(Exit::CONFLICT, "ambiguous_name", message))
        }
    }
}

fn told(names: &[&String]) -> String {
    let told: Vec<String> = names.iter().take(TOLD_MAX).map(|name| named(name)).collect();
    let more = if names.len() > TOLD_MAX { ", .." } else { "" };
    format!("{}{more}", told.join(", "))
}
