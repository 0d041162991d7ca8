//! Going to a moment of a log: opening it, naming a place in it, and saying where the state is not
//! that of the place that was asked for.

use crate::log::Directory;
use crate::log::position::{self, Point};
use crate::log::verdict::warn_saying;
use crate::ui::suggest::Closest;
use crate::ui::{Bar, Exit, Failure, closest, complain, excerpt, moment, now};
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_replay::report::Head;
use holdpoint_replay::{
    ArchivedLog, Moment, NameKind, ReadError, Report, Timeline, Until, each_name, ids, leading,
    read_directory, travel,
};
use std::collections::BTreeSet;

/// Which states may be taken up.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Shortcuts {
    /// Rebuild from the first record instead of a snapshot; slower, with the same result.
    #[arg(long)]
    whole: bool,
}

/// A log that was checked whole, with what may be taken from snapshots.
fn line(
    directory: &Directory,
    shortcuts: Shortcuts,
) -> Result<Timeline<'_, ArchivedLog>, ReadError> {
    let mut bar = Bar::new();
    let line = read_directory(&directory.storage, |options| {
        Timeline::open(&directory.log, options, &mut |progress| bar.update(progress))
    })?;
    Ok(if shortcuts.whole { line.without_snapshots() } else { line })
}

/// Checks a log and goes somewhere in it; anew where it is another one by then.
pub(crate) fn travelled<T>(
    directory: &Directory,
    shortcuts: Shortcuts,
    mut go: impl FnMut(&Timeline<'_, ArchivedLog>) -> Result<Result<T, Failure>, ReadError>,
) -> Result<(Timeline<'_, ArchivedLog>, T), Failure> {
    let open = || line(directory, shortcuts);
    let gone = travel(open, |line| match directory.expect_log(line.report()) {
        Ok(()) => go(line),
        Err(failure) => Ok(Err(failure)),
    });
    let (line, found) = gone.map_err(|error| directory.unreadable(&error))?;
    Ok((line, found?))
}

/// The same of two logs at once.
pub(crate) fn travelled_both<'d, T>(
    directories: [&'d Directory; 2],
    shortcuts: Shortcuts,
    mut go: impl FnMut(&[Timeline<'d, ArchivedLog>; 2]) -> Result<T, ReadError>,
) -> Result<([Timeline<'d, ArchivedLog>; 2], T), Failure> {
    let [ours, theirs] = directories;
    let open = || Ok([line(ours, shortcuts)?, line(theirs, shortcuts)?]);
    let gone = travel(open, |lines| {
        let are_there = directories
            .iter()
            .zip(lines)
            .try_for_each(|(directory, line)| directory.expect_log(line.report()));
        match are_there {
            Ok(()) => go(lines).map(Ok),
            Err(failure) => Ok(Err(failure)),
        }
    });
    let (lines, found) = gone.map_err(|error| ours.unreadable_with(theirs, &error))?;
    Ok((lines, found?))
}

/// The last record or moment that counts, as a person says it: of a day its last instant.
pub(crate) fn parse_end(text: &str) -> Result<Until, String> {
    position::parse(text).map(end)
}

/// The place that begins with a point.
pub(crate) const fn begin(point: Point) -> Until {
    match point {
        Point::Record(sequence) => Until::Sequence(sequence),
        Point::Time(first, _) => Until::Time(first),
    }
}

/// The place that ends with a point.
pub(crate) const fn end(point: Point) -> Until {
    match point {
        Point::Record(sequence) => Until::Sequence(sequence),
        Point::Time(_, last) => Until::Time(last),
    }
}

/// Where a state is looked at, as a person says it: behind a record, at a moment, at the end of a
/// day, and of today now. What will be then is known of no moment that is still to come.
pub(crate) fn parse_at(text: &str) -> Result<Until, String> {
    match position::parse(text)? {
        Point::Record(sequence) => Ok(Until::Sequence(sequence)),
        Point::Time(first, last) => {
            // Behind the parsing: what is so long ago as nothing is not ahead.
            let now = now();
            match first > now {
                true => Err(format!(
                    "{} lies in the future: a moment up to now can be looked at",
                    moment(first)
                )),
                false => Ok(Until::Time(last.min(now))),
            }
        }
    }
}

/// When somebody looked who saw this state: at the moment that was asked for, else at that of the
/// last record. So what is shown does not depend on when it is asked for.
pub(crate) fn seen_at(asked: Until, world: &World) -> Timestamp {
    let last = world.totals().last_at;
    match asked {
        Until::Time(time) => time.max(last),
        Until::Sequence(_) | Until::End => last,
    }
}

/// Says on stderr where a state is not that of the place that was asked for, and why; one before a
/// record that cannot be read is told of with that, by [`warn_of_states`].
pub(crate) fn tell_place(asked: Until, found: &Moment, line: &Timeline<'_, ArchivedLog>) {
    if found.stopped_before.is_none() {
        tell_reach(asked, found.inside_batch_until, found.head().as_ref(), line.report());
    }
}

/// Says on stderr that a log does not verify, and which of some states of it are those before a
/// record that cannot be read: of each such record in one sentence.
pub(crate) fn warn_of_states(report: &Report, states: &[&Moment]) {
    let stopped = states.iter().filter_map(|state| state.stopped_before.as_ref());
    let mut stopped: BTreeSet<u64> = stopped.map(|finding| finding.place.sequence).collect();
    let named = leading(&report.findings).is_some_and(|it| stopped.remove(&it.place.sequence));
    for record in stopped {
        complain(&format!("record {record} is withheld or cannot be read: {BEFORE_IT}"));
    }
    warn_saying(report, if named { BEFORE_IT } else { "" });
}

/// What is shown of a state that was asked for behind a record which cannot be read.
const BEFORE_IT: &str = "this is the state before it";

/// The same for a state of which only its place is known.
pub(crate) fn tell_reach(
    asked: Until,
    inside_batch_until: Option<u64>,
    reached: Option<&Head>,
    report: &Report,
) {
    let told = reach(asked, inside_batch_until, reached, report);
    told.iter().for_each(|sentence| complain(sentence));
}

/// What is shown of a log of which the first record is damaged.
const NOTHING_FOLLOWED: &str =
    "no record of the log can be followed: this is the state before the first";

/// What is to be said where a state is not that of the place that was asked for.
pub(crate) fn reach(
    asked: Until,
    inside_batch_until: Option<u64>,
    reached: Option<&Head>,
    report: &Report,
) -> Option<String> {
    match (asked, inside_batch_until, reached) {
        (Until::End, _, _) => None,
        (Until::Sequence(asked), Some(until), _) => Some(format!(
            "record {asked} is inside a batch that ends with {until}: this is the state before it"
        )),
        (Until::Time(time), _, None) => {
            let time = moment(time);
            Some(format!("no record is as old as {time}: this is the state before the first"))
        }
        _ => {
            let Some(end) = &report.followed_to else {
                return report.failed().then(|| NOTHING_FOLLOWED.to_string());
            };
            let (sequence, time) = (end.sequence, moment(end.time));
            let followed =
                if report.failed() { "what can be followed of the log" } else { "the log" };
            let told = || {
                format!(
                    "{followed} ends with record {sequence}, {time}: this is the state after it"
                )
            };
            is_beyond(asked, end).then(told)
        }
    }
}

/// Whether a place lies behind a record.
fn is_beyond(asked: Until, newest: &Head) -> bool {
    match asked {
        Until::End => false,
        Until::Sequence(sequence) => sequence > newest.sequence,
        Until::Time(time) => time > newest.time,
    }
}

/// The failure that nothing has an id, up to a moment. The closest id in its state is suggested,
/// else the closest one that the log has at all.
pub(crate) fn unknown(directory: &Directory, moment: &Moment, wanted: &str) -> Failure {
    let in_state = closest(ids(&moment.world), wanted).map(str::to_string);
    let advice = match in_state.or_else(|| in_log(directory, wanted)) {
        Some(name) if name == wanted => "it is named by a later record first".to_string(),
        Some(name) => format!("did you mean {}?", visible(&name)),
        None => "`holdpoint replay` shows what there is".to_string(),
    };
    let shown = excerpt(wanted);
    let message = format!(
        "no loop, request, thread or decision with the ID {shown} up to record {}: \
         {advice}",
        moment.sequence()
    );
    directory.or_missing(Failure::new(Exit::NOT_FOUND, "not_found", message))
}

/// The closest name of an entity that the log has anywhere. A suggestion is not worth a failure.
fn in_log(directory: &Directory, wanted: &str) -> Option<String> {
    let mut closest = Closest::to(wanted);
    let read = directory.read(|storage, options| {
        each_name(storage, options, &mut |name| {
            if name.of == NameKind::Entity {
                closest.take(name.name);
            }
        })
    });
    read.ok()?;
    closest.found()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_that_behind_a_record_at_a_moment_or_at_the_end_of_a_day() {
        assert_eq!(parse_at("12"), Ok(Until::Sequence(12)));
        let moment = "2026-01-25T03:00:00Z";
        assert_eq!(parse_at(moment), Ok(Until::Time(moment.parse().unwrap())));
        let Ok(Until::Time(end)) = parse_at("2026-01-25") else { panic!("a day") };
        let Ok(Point::Time(_, last)) = position::parse("2026-01-25") else { panic!("a day") };
        assert_eq!(end, last);
        let Ok(Until::Time(today)) = parse_at("today") else { panic!("a day") };
        assert!(today <= now(), "what is to come today is not looked at");
        assert!(parse_at("2101-01-01").is_err_and(|words| words.contains("lies in the future")));
        assert!(parse_at("3 a.m.").is_err_and(|words| words.contains("a local time such as")));
    }

    #[test]
    fn an_end_is_any_point_also_one_that_is_still_to_come() {
        assert_eq!(parse_end("12"), Ok(Until::Sequence(12)));
        let later = "2101-01-25T03:00:00Z";
        assert_eq!(parse_end(later), Ok(Until::Time(later.parse().unwrap())));
        let Ok(Point::Time(_, last)) = position::parse("2026-01-25") else { panic!("a day") };
        assert_eq!(parse_end("2026-01-25"), Ok(Until::Time(last)));
        for text in ["5m", "yesterday"] {
            assert!(matches!(parse_end(text), Ok(Until::Time(time)) if time < now()), "{text}");
        }
        assert!(parse_end("3 a.m.").is_err_and(|words| words.contains("a local time such as")));
    }

    #[test]
    fn a_day_is_from_its_first_instant_where_it_begins_something_to_its_last_where_it_ends_it() {
        let parse_begin = |text: &str| position::parse(text).map(begin);
        assert_eq!(parse_begin("12"), Ok(Until::Sequence(12)));
        let moment = "1970-01-01T00:00:01Z";
        let second = Until::Time(Timestamp::from_nanoseconds(1_000_000_000));
        assert_eq!((parse_begin(moment), parse_end(moment)), (Ok(second), Ok(second)));
        let Ok(Point::Time(first, last)) = position::parse("2026-01-25") else { panic!("a day") };
        assert_eq!(parse_begin("2026-01-25"), Ok(Until::Time(first)));
        assert_eq!(parse_end("2026-01-25"), Ok(Until::Time(last)));
        for text in ["", "-1", "x", "99999999999999999999", "2026-13-01"] {
            assert!(parse_begin(text).is_err() && parse_end(text).is_err(), "{text}");
        }
    }
}
