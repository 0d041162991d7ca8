//! Runs of a log, and those that are not told.

use crate::log::captured_output::read;
use crate::log::coverage::UntiedRecords;
use crate::log::{Directory, IdOf, VERIFY_TELLS, ids, run_id, sessions};
use crate::ui::text::command_line;
use crate::ui::{Exit, Failure, complain, counted};
use holdpoint_replay::{Begun, BegunTwice, Doer, Filter, Reach, Run, begun, decision_points};
use std::collections::{BTreeMap, BTreeSet};

/// Characters of an id in a table: enough to name it again.
pub(crate) const ID_CHARACTERS: usize = 15;

/// So many runs that began twice are told one by one.
const BEGUN_TWICE_TOLD: usize = 5;

/// What stands in the place of `running` where nobody records it.
pub(crate) const UNFINISHED: &str = "unfinished";

/// Says which records begin a run that is not told, and how a verb ends that tells some. What they
/// rest on may be in an archive that is not read, which is said beside it.
pub(crate) fn tell_uncounted(directory: &Directory, uncounted: &[Begun]) -> Exit {
    let twice: Vec<&BegunTwice> = uncounted.iter().filter_map(|it| it.twice.as_ref()).collect();
    for twice in twice.iter().take(BEGUN_TWICE_TOLD) {
        complain(&format!("not shown: {twice}; {VERIFY_TELLS}"));
    }
    if let Some(more @ 1..) = twice.len().checked_sub(BEGUN_TWICE_TOLD) {
        let more = counted(more as u64, "more run");
        complain(&format!("not shown: {more} that began twice; {VERIFY_TELLS}"));
    }
    let others: Vec<&Begun> = uncounted.iter().filter(|begun| begun.twice.is_none()).collect();
    if let Some(first) = others.first() {
        let tells = match directory.log.unread() {
            Some(_) => "they may be in the archive that was not read",
            None => "`holdpoint verify` says which",
        };
        complain(&format!(
            "not shown: {}, the newest of them begun by record {}, which the rules forbid, or \
             whose approval or other records cannot be read; {tells}",
            counted(others.len() as u64, "run"),
            first.sequence
        ));
    }
    match directory.exit_of_uncounted() {
        _ if !twice.is_empty() => Exit::VERIFICATION_FAILED,
        Exit::VERIFICATION_FAILED if !others.is_empty() => Exit::VERIFICATION_FAILED,
        _ => Exit::DONE,
    }
}

/// Says which runs were given another command than their records state, and how a verb ends that
/// shows them.
pub(crate) fn tell_other_commands<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Exit {
    let other = |run: &'r Run| Some((run, *run.hashed_commands().first_key_value()?.1));
    let others: Vec<(&Run, &str)> = runs.into_iter().filter_map(other).collect();
    let Some((run, hashed)) = others.first() else { return Exit::DONE };
    complain(&format!(
        "the records of {} state another command than was hashed, of {} `{}`: it is shown as \
         claimed; {VERIFY_TELLS}",
        counted(others.len() as u64, "run"),
        run.entity.loop_id(),
        command_line(hashed)
    ));
    Exit::VERIFICATION_FAILED
}

/// The record that begins the run or the session of an id, or the decision about a start.
pub(crate) fn beginning(directory: &Directory, id: &str) -> Result<u64, Failure> {
    if id.starts_with(sessions::PREFIX) {
        let found = sessions::find(directory, id)?;
        run_id::expect_sound(&found.searched)?;
        return Ok(found.sessions.first().map_or(0, |session| session.first));
    }
    if IdOf::of(id) == Some(IdOf::Decision) {
        let ids = BTreeSet::from([ids::only(directory, ids::digits_of(id), &[IdOf::Decision])?]);
        let (points, read) = directory.read(|log, options| decision_points(log, &ids, options))?;
        read.iter().try_for_each(run_id::expect_sound)?;
        return Ok(points.first().map_or(0, |point| point.created_sequence));
    }
    let loop_id = run_id::find(directory, id)?;
    let wanted = Filter { loop_id: Some(loop_id.clone()), ..Filter::default() };
    let (begun, searched) = directory.read(|log, options| begun(log, &wanted, 1, options))?;
    if let Some(found) = begun.first() {
        return Ok(found.sequence);
    }
    run_id::expect_sound(&searched)?;
    Ok(read(directory, &loop_id)?.run.first)
}

/// Says what of some runs is not shown, and where what is shown of them ceases to be proven.
pub(crate) fn tell_standing(runs: &[&Run], reach: &Reach) {
    for run in runs {
        if let Some(record) = run.unread.first() {
            complain(&format!(
                "{} of the records of {} cannot be read, the first of them record {record}: what \
                 they say is not shown",
                run.unread.len(),
                run.entity.loop_id()
            ));
        }
    }
    tell_doers(runs.iter().map(|run| &run.doers), reach);
}

/// Says where what some records say ceases to be proven.
pub(crate) fn tell_doers<'d>(
    doers: impl IntoIterator<Item = &'d BTreeMap<u64, Doer>>,
    reach: &Reach,
) {
    let mut untied = UntiedRecords::default();
    let all = doers.into_iter().flatten();
    all.for_each(|(sequence, doer)| untied.take(*sequence, doer.standing));
    untied.tell(reach);
}

#[cfg(test)]
mod tests {
    use crate::golden::Sample;
    use holdpoint_domain::execution_loop::HaltReason;

    #[test]
    fn what_a_run_took_holds_no_wait_for_a_person_and_no_end_that_nobody_saw() {
        let mut runs = Sample::begun_again().listed();
        let run = &mut runs[2];
        let (began, end) = (run.entity.started_at, run.entity.halt.as_ref().unwrap().at);
        assert_eq!((run.waited(end), run.lasted()), (1_000_000, Some(6_000_000)));
        assert_eq!(end.nanoseconds_since(began), 7_000_000);
        run.entity.halt.as_mut().unwrap().reason = HaltReason::RecorderLost;
        let attempt = run.entity.attempts.last().unwrap();
        assert_eq!(run.lasted(), attempt.resources.map(|usage| usage.wall_ns));
        run.entity.attempts.last_mut().unwrap().response = None;
        assert_eq!(run.lasted(), None);
    }
}
