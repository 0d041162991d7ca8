//! Sessions of agents whose tools a hook guards: a row each in a list of runs. All of it rests on
//! the questions that the hook put on record; that they are of one session is the host's claim.

use crate::log::Directory;
use crate::log::agent_sessions::{asks, is_name};
use crate::log::run_id::expect_sound;
use crate::ui::screen::quoted;
use crate::ui::table::NOTHING;
use crate::ui::time_format::Clock;
use crate::ui::{Exit, Failure, complain, excerpt, named};
use holdpoint_domain::core::actor::Authentication;
use holdpoint_replay::session_answers::{Tools, approvers};
pub(crate) use holdpoint_replay::session_row::{PREFIX, SessionRow, id};
use holdpoint_replay::{
    Filter, QUESTIONS_MAX, RunFilter, Session, SessionList, find_sessions, session_asking,
};
use std::collections::BTreeSet;

/// What stands where a run has its outcome: no record says how a session ended.
pub(crate) const OUTCOME: &str = "session";

/// Those that a list shows, by where it ends: nobody knows how a session ended or what it printed,
/// so none is shown where that is asked for.
pub(crate) fn read(
    directory: &Directory,
    (range, wanted): (&Filter, &RunFilter),
    (least, most): (Option<u64>, usize),
) -> Result<Option<SessionList>, Failure> {
    let may_be = wanted.by.as_deref().is_none_or(is_name);
    let asks_of_runs = !RunFilter { by: None, approved_by: None, ..wanted.clone() }.is_all();
    if !may_be || asks_of_runs {
        return Ok(None);
    }
    let range =
        Filter { first: least.max(range.first), correlation: wanted.by.clone(), ..range.clone() };
    // Who approved is known of a session once it was read: any of them may be one of those.
    let most = if wanted.approved_by.is_some() { QUESTIONS_MAX } else { most };
    let mut found = directory
        .read(|log, options| find_sessions(log, &range, (most, QUESTIONS_MAX), &asks, options))?;
    if let Some(wanted) = &wanted.approved_by {
        found.sessions.retain(|session| approvers(session).any(|who| *who.id == **wanted));
    }
    Ok(Some(found))
}

/// Says before which record no question was looked at.
pub(crate) fn tell_unlooked(looked_back_to: Option<u64>) {
    if let Some(record) = looked_back_to {
        complain(&format!(
            "sessions and unapproved starts whose questions all lie before record {record} are not \
             among them: the newest {QUESTIONS_MAX} questions were looked at; `--until {}` looks \
             at those before, and `by=NAME` finds a session by its name",
            record.saturating_sub(1)
        ));
    }
}

/// The session that an id names. Exit 2 for what is no id, 3 where there is none such.
pub(crate) fn find(directory: &Directory, wanted: &str) -> Result<SessionList, Failure> {
    let named = wanted.strip_prefix(PREFIX).unwrap_or(wanted);
    let name = match named.parse::<u64>() {
        Ok(sequence) => {
            let (name, searched) =
                directory.read(|log, options| session_asking(log, sequence, &asks, options))?;
            expect_sound(&searched)?;
            name
        }
        Err(_) => Some(named.to_string()),
    };
    let no_such = || {
        let message = format!("there is no {}: `holdpoint runs` lists all", excerpt(wanted));
        directory.or_missing(Failure::new(Exit::NOT_FOUND, "no_such_session", message))
    };
    let range = Filter { correlation: Some(name.ok_or_else(no_such)?), ..Filter::default() };
    let found = directory
        .read(|log, options| find_sessions(log, &range, (1, QUESTIONS_MAX), &asks, options))?;
    match found.sessions.is_empty() && found.searched.is_sound() {
        true => Err(no_such()),
        false => Ok(found),
    }
}

/// The cells of its row.
pub(crate) fn cells(session: &Session, clock: &Clock) -> Vec<String> {
    let deciders: BTreeSet<String> = approvers(session)
        .map(|by| claimed(&by.id, by.authenticated_by == Authentication::None))
        .collect();
    let deciders = deciders.into_iter().collect::<Vec<_>>().join(", ");
    vec![
        clock.told(session.began_at),
        OUTCOME.to_string(),
        NOTHING.to_string(),
        NOTHING.to_string(),
        claimed(&session.name, true),
        if deciders.is_empty() { NOTHING.to_string() } else { deciders },
        id(session),
        Tools::of(session).words(),
    ]
}

/// A name, with a question mark behind one that nothing proves. What ends as names do that are cut
/// stands in quotes.
pub(crate) fn claimed(id: &str, is_claim: bool) -> String {
    let name = if id.ends_with("..") { quoted(id) } else { named(id) };
    format!("{name}{}", if is_claim { "?" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::Sample;
    use holdpoint_log_format::BootId;
    use holdpoint_replay::ReadOptions;

    #[test]
    fn before_which_question_none_was_looked_at_is_told_where_there_are_more() {
        let sample = Sample::guarded();
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let second = sample.sessions()[0].calls[1].created_sequence;
        for (questions, due) in [(4, None), (3, Some(second))] {
            let range = Filter::default();
            let found =
                find_sessions(&sample.storage(), &range, (9, questions), &asks, options).unwrap();
            assert_eq!((found.sessions.len(), found.looked_back_to), (1, due));
        }
    }
}
