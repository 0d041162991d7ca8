//! Verifying a log together with the archive that its first records were moved to.

use crate::anchor::{Archived, Start};
use crate::axes::report;
use crate::finding::{Finding, Problem};
use crate::meaning::Meaning;
use crate::progress::Progress;
use crate::read::{ReadError, ReadOptions, read};
use crate::rebuild::Until;
use crate::records::{Filter, records};
use crate::report::{Head, Report, Verdict};
use crate::verify::verify_judged;
use holdpoint_domain::hash::Digest;
use holdpoint_log_files::{Place, ReadStorage};
use holdpoint_log_format::{ChainPosition, names};
use serde::Serialize;

/// What a log and its archive prove together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Together {
    /// All in one.
    pub verdict: Verdict,
    /// What does not fit between the two.
    pub findings: Vec<Finding>,
    /// The archive. Events behind the log's anchor are judged in the log.
    pub archive: Report,
    /// The log.
    pub log: Report,
}

impl Together {
    /// Whether something failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        matches!(self.verdict, Verdict::Corrupt | Verdict::ForbiddenEvents)
    }
}

/// Verifies a log and the archive of the records before its first one: each by itself, that both
/// are of one identity, that the archive reaches the log's anchor with the anchor's link, and that
/// the state rebuilt from the archive is the one that the log begins with.
///
/// # Errors
/// As [`crate::verify()`], for either of them.
pub fn verify_together<A: ReadStorage, S: ReadStorage>(
    archive: (&A, ReadOptions<'_>),
    log: (&S, ReadOptions<'_>),
    progress: &mut dyn FnMut(Progress),
) -> Result<Together, ReadError> {
    let of_log = verify_judged(log.0, log.1, true, progress)?;
    let anchor = of_log.archived.as_ref().map_or(0, |archived| archived.anchor_sequence);
    let until = if anchor == 0 { Until::End } else { Until::Sequence(anchor) };
    let (of_archive, reached) = read_archive(archive.0, until, archive.1, progress)?;
    let mut findings = Vec::new();
    let mut find = |expected: String, found: String| {
        let place = Place { file: names::HEAD.to_string(), offset: 0, sequence: anchor };
        findings.push(Finding { place, problem: Problem::Archive { expected, found } });
    };
    let is_there = [of_archive.verdict, of_log.verdict].iter().all(|v| *v != Verdict::NothingHere);
    if is_there {
        compare_identity(&of_archive, &of_log, &mut find);
        if let Some(stated) = &of_log.archived {
            compare_beginning(stated, &reached, &mut find);
        }
        let newest = of_archive.head.as_ref().filter(|head| head.sequence > anchor);
        if let Some(newest) = newest {
            compare_overlap(log, newest, &mut find)?;
        }
    }
    let verdict = verdict(&of_archive, &of_log, !findings.is_empty());
    Ok(Together { verdict, findings, archive: of_archive, log: of_log })
}

/// Where the state rebuilt from an archive stands, and its fingerprint.
struct Reached {
    applied: ChainPosition,
    fingerprint: Digest,
}

fn read_archive<A: ReadStorage>(
    storage: &A,
    until: Until,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Report, Reached), ReadError> {
    let start = Start::of(storage);
    let anchor = start.anchor;
    let mut meaning = Meaning::new(start, until);
    let reading = read(storage, anchor, options, progress, &mut |batch| {
        meaning.apply(batch);
    })?;
    let fingerprint = meaning.world.fingerprint_digest();
    let reached = Reached { applied: meaning.applied, fingerprint };
    Ok((report(reading, Some(&meaning)), reached))
}

fn compare_identity(archive: &Report, log: &Report, find: &mut dyn FnMut(String, String)) {
    if archive.log_id != log.log_id {
        let named = |report: &Report| format!("log {}", report.log_id.as_deref().unwrap_or("?"));
        find(named(log), named(archive));
    }
}

fn compare_beginning(stated: &Archived, reached: &Reached, find: &mut dyn FnMut(String, String)) {
    let applied = &reached.applied;
    let link = applied.link.to_string();
    if applied.sequence != stated.anchor_sequence || link != stated.anchor_link {
        let due = format!("record {} with link {}", stated.anchor_sequence, stated.anchor_link);
        find(due, format!("record {} with link {link} there", applied.sequence));
        return;
    }
    if let Some(due) = stated.state_fingerprint.filter(|due| *due != reached.fingerprint) {
        let state = |digest: Digest| format!("a state with fingerprint {digest}");
        find(state(due), state(reached.fingerprint));
    }
}

/// Records that both hold, because a move to the archive was interrupted, are the same.
fn compare_overlap<S: ReadStorage>(
    log: (&S, ReadOptions<'_>),
    newest: &Head,
    find: &mut dyn FnMut(String, String),
) -> Result<(), ReadError> {
    let one = Some(newest.sequence);
    let filter = Filter { first: one, last: one, ..Filter::default() };
    let mut found = None;
    records(log.0, &filter, log.1, &mut |_| {}, &mut |line| found = Some(line.link))?;
    if found.as_ref() != Some(&newest.link) {
        let due = found.map_or("no such record".to_string(), |link| format!("link {link}"));
        let at = newest.sequence;
        find(format!("{due} at record {at}"), format!("link {} at record {at}", newest.link));
    }
    Ok(())
}

fn verdict(archive: &Report, log: &Report, differs: bool) -> Verdict {
    let either = |verdict| archive.verdict == verdict || log.verdict == verdict;
    if either(Verdict::Corrupt) || differs {
        return Verdict::Corrupt;
    }
    let worst = [Verdict::NothingHere, Verdict::ForbiddenEvents, Verdict::TailUnproven];
    worst.into_iter().find(|verdict| either(*verdict)).unwrap_or(Verdict::Intact)
}
