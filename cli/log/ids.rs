//! What an id names by how it begins: a run, a decision or a request to a person.

use crate::args::Global;
use crate::log::run_id::expect_sound;
use crate::log::{Directory, LiveState, decision_id};
use crate::ui::{Exit, Failure, complain, excerpt};
use holdpoint_domain::core::text::{bounded, visible};
pub(crate) use holdpoint_replay::id_text::{
    DIGITS, IdOf, IdText, are_digits, beginnings, begins, digits_of, is_whole,
    own_in_small_letters, record,
};
use holdpoint_replay::id_text::{DIGITS_MIN, in_small_letters};
use holdpoint_replay::{
    IdMatches, RunLookup, Searched, Tells, ids_beginning_with, run_beginning_with, span,
};
use std::collections::BTreeSet;
use strsim::damerau_levenshtein;

/// So many ids are named, where several begin alike.
const NAMED_MAX: usize = 5;

/// So many digits an id has in common with what is like it, and of so many one may be another.
const DIGITS_ALIKE_MIN: usize = 2;
const DIGITS_OF_A_SLIP: usize = 8;

/// That the beginning of an id has as many digits as what is final asks for. Exit 2.
pub(crate) fn expect_long_enough(id: &str) -> Result<(), Failure> {
    let digits = digits_of(id);
    if digits.len() >= DIGITS_MIN || digits.len() == id.len() || !are_digits(digits) {
        return Ok(());
    }
    let message = format!("{}: ID prefix too short, at least {DIGITS_MIN} digits", excerpt(id));
    Err(Failure::new(Exit::USAGE, "short_id", message))
}

/// What is no id by its capitals alone is told with the id.
pub(crate) fn unlike(text: &str) -> Option<String> {
    let id = in_small_letters(text)?;
    Some(format!("{} is no id, as ids have no capitals: did you mean {id}?", excerpt(text)))
}

/// The ids of such things whose digits begin so. Exit 6 where the log is damaged where they would
/// be.
pub(crate) fn beginning_with(
    directory: &Directory,
    digits: &str,
    of: &[IdOf],
) -> Result<BTreeSet<String>, Failure> {
    let beginnings = beginnings(digits, of);
    let (found, searched) =
        directory.read(|log, options| ids_beginning_with(log, &beginnings, options))?;
    expect_sound(&searched)?;
    Ok(found)
}

/// As [`beginning_with`], of the whole log with its archives. Exit 3 where one of them cannot be
/// read: an id in it may begin so.
pub(crate) fn of_whole_log(
    global: &Global,
    beginnings: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Failure> {
    let directory = Directory::open(global)?.following_archives()?;
    let (found, searched) =
        directory.read(|log, options| ids_beginning_with(log, beginnings, options))?;
    expect_sound(&searched)?;
    directory.expect_archives_read()?;
    Ok(found)
}

/// That no other id of the whole log begins as the one does that was found by its beginning: what
/// ended and left the state may be what was read. Exit 4 where one does.
pub(crate) fn expect_only(global: &Global, wanted: &str, found: &str) -> Result<(), Failure> {
    let of = match IdOf::of(wanted) {
        Some(of) => vec![of],
        None => IdOf::ALL.to_vec(),
    };
    let digits = digits_of(wanted);
    let ids = of_whole_log(global, &beginnings(digits, &of));
    let mut ids = ids.map_err(|failure| failure.adding("; the whole id can be given instead"))?;
    ids.insert(found.to_string());
    if ids.len() == 1 {
        return Ok(());
    }
    Err(several(digits, &of, ids.len(), &ids))
}

/// The one id whose digits begin so. Exit 3 where there is none, 4 where there are several.
pub(crate) fn only(directory: &Directory, digits: &str, of: &[IdOf]) -> Result<String, Failure> {
    let found = beginning_with(directory, digits, of)?;
    expect_one(directory, digits, of, found)
}

/// As [`only`]; with the run where that is what begins so, and what was read, as far as it was met
/// on the way.
pub(crate) fn only_with_run(
    directory: &Directory,
    digits: &str,
    of: &[IdOf],
) -> Result<(String, Option<(RunLookup, Searched)>), Failure> {
    let beginnings = beginnings(digits, of);
    let IdMatches { ids, run, searched } =
        directory.read(|log, options| run_beginning_with(log, &beginnings, options))?;
    expect_sound(&searched)?;
    let id = expect_one(directory, digits, of, ids)?;
    Ok((id, run.map(|run| (run, searched))))
}

fn expect_one(
    directory: &Directory,
    digits: &str,
    of: &[IdOf],
    mut found: BTreeSet<String>,
) -> Result<String, Failure> {
    found.extend(in_state(directory, &beginnings(digits, of))?);
    match (found.len(), found.pop_first()) {
        (1, Some(only)) => Ok(only),
        (0, _) | (_, None) => {
            expect_there(directory)?;
            Err(directory.or_missing(none(directory, digits, of)))
        }
        (count, Some(first)) => {
            found.insert(first);
            Err(several(digits, of, count, &found))
        }
    }
}

/// The ids of the state that begin so, where the records that began them may be in an archive that
/// is not read.
fn in_state(
    directory: &Directory,
    beginnings: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Failure> {
    if directory.log.unread().is_none() {
        return Ok(BTreeSet::new());
    }
    let state = LiveState::read(directory, false, Tells::Questions)?;
    let begins = |id: &&str| beginnings.iter().any(|beginning| id.starts_with(beginning));
    Ok(decision_id::ids_of(state.world()).filter(begins).map(str::to_string).collect())
}

/// Where there is no log, no id is said to be missing.
fn expect_there(directory: &Directory) -> Result<(), Failure> {
    if directory.read(|log, _| span(log))?.is_some() {
        return Ok(());
    }
    directory.expect_log(&directory.verified()?)
}

fn none(directory: &Directory, digits: &str, of: &[IdOf]) -> Failure {
    let (code, message) = match of {
        [one] => (
            code("no_such", of),
            format!("no {}'s id begins with {}{digits}", one.name(), one.prefix()),
        ),
        _ => (code("no_such", of), format!("no run, decision or request begins with {digits}")),
    };
    let advice = match of {
        [IdOf::Decision] => "`holdpoint decision list state=all` lists all",
        [IdOf::Request] => "`holdpoint decision list` lists what waits",
        _ => "`holdpoint runs` lists the runs",
    };
    let advice = did_you_mean(directory, digits, of).unwrap_or_else(|| advice.to_string());
    Failure::new(Exit::NOT_FOUND, code, format!("{message}: {advice}"))
}

/// The id of the log that is most like digits that begin none, as a question. Those are looked at
/// that begin with the same few digits: what resolves a beginning reads no less.
pub(crate) fn did_you_mean(directory: &Directory, digits: &str, of: &[IdOf]) -> Option<String> {
    let known = digits.get(..DIGITS_ALIKE_MIN)?;
    let found = beginning_with(directory, known, of).ok()?;
    let most = (digits.len() / DIGITS_OF_A_SLIP).max(1);
    let likeness = |id: &String| {
        let (_, own) = id.split_once('-')?;
        let slips = damerau_levenshtein(bounded(own, digits.len()), digits);
        (slips <= most).then_some(slips)
    };
    let alike = found.iter().filter_map(|id| Some((likeness(id)?, id)));
    alike.min().map(|(_, id)| format!("did you mean {}?", visible(id)))
}

/// That several ids begin so, some of which are named.
pub(crate) fn several(
    digits: &str,
    of: &[IdOf],
    count: usize,
    found: &BTreeSet<String>,
) -> Failure {
    let named: Vec<String> =
        found.iter().take(NAMED_MAX).map(|id| visible(id).to_string()).collect();
    let more = if count > NAMED_MAX { ", .." } else { "" };
    let what = match of {
        [one] => format!("{}s begin with {}", one.name(), one.prefix()),
        _ => "ids begin with ".to_string(),
    };
    let message = format!("{count} {what}{digits}: {}{more}; give more digits", named.join(", "));
    Failure::new(Exit::CONFLICT, code("ambiguous", of), message)
}

fn code(what: &str, of: &[IdOf]) -> String {
    match of {
        [one] => format!("{what}_{}", one.name()),
        _ => format!("{what}_id"),
    }
}

/// Says what to write where digits were taken for a record's number and ids begin with them.
pub(crate) fn tell_meaning(directory: &Directory, digits: &str, of: &[IdOf]) {
    if let Some(ways) = meaning(directory, digits, of) {
        complain(&format!("{digits} is taken for a record: {ways}"));
    }
}

/// What to write where digits were taken for a record's number, and ids begin with them as well.
/// What cannot be read of those is told by whoever needs it.
pub(crate) fn meaning(directory: &Directory, digits: &str, of: &[IdOf]) -> Option<String> {
    if digits.len() < DIGITS_MIN || !are_digits(digits) {
        return None;
    }
    let found = beginning_with(directory, digits, of).ok()?;
    let begins = |of: &IdOf| found.iter().any(|id| id.starts_with(of.prefix()));
    let ways = of
        .iter()
        .filter(|of| begins(of))
        .map(|of| format!("to mean the {}, write {}{digits}", of.name(), of.prefix()));
    let ways: Vec<String> = ways.collect();
    (!ways.is_empty()).then(|| ways.join(", "))
}
