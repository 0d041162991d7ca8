//! Verifying a log together with the archive that its first records were moved to.

use crate::anchor::{Archived, Before};
use crate::axes::report;
use crate::finding::{Finding, Problem};
use crate::meaning::Meaning;
use crate::progress::Progress;
use crate::read::{ReadError, ReadOptions};
use crate::rebuild::Until;
use crate::records::{Filter, records};
use crate::report::{Head, Report, Verdict};
use crate::verify::judge;
use holdpoint_domain::core::hash::Digest;
use holdpoint_log_files::{Place, ReadStorage};
use holdpoint_log_format::{ChainPosition, names};
use serde::Serialize;

/// Proof of a log and its archive together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Together {
    /// All in one, for the records from [`Self::first_sequence`] on.
    pub verdict: Verdict,
    /// The verdict in a sentence, which names the records that were not checked.
    pub reason: String,
    /// The first record that was checked. More than 1: the archive goes on from an earlier one.
    pub first_sequence: u64,
    /// Findings of what does not fit between the two.
    pub findings: Vec<Finding>,
    /// The archive. Events behind the log's anchor are judged in the log.
    pub archive: Report,
    /// The log.
    pub log: Report,
}

impl Together {
    /// Returns whether something failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.verdict.is_of_damage() || self.verdict == Verdict::ForbiddenEvents
    }
}

/// Verifies a log and the archive of the records before its first one: each by itself, that the one
/// is marked as an archive, that both are of one identity, that the archive reaches the log's
/// anchor with the anchor's link, and that the state rebuilt from the archive is the one that the
/// log begins with.
///
/// # Errors
/// As [`crate::verify()`], for either of them.
pub fn verify_together<A: ReadStorage, S: ReadStorage>(
    archive: (&A, ReadOptions<'_>),
    log: (&S, ReadOptions<'_>),
    progress: &mut dyn FnMut(Progress),
) -> Result<Together, ReadError> {
    let (reading, mut meaning) = judge(log.0, Until::End, log.1, progress)?;
    let anchor = meaning.anchor.position.sequence;
    let until = if anchor == 0 { Until::End } else { Until::Sequence(anchor) };
    let (read, mut before) = judge(archive.0, until, archive.1, progress)?;
    before.before = Before::OfArchive;
    let of_archive = report(read, Some(&before));
    let (applied, fingerprint) = (before.applied, before.world.fingerprint_digest());
    let reached = Reached { applied, fingerprint };
    let is_there = of_archive.verdict != Verdict::NothingHere
        && Verdict::of_log(reading.survey.row.verdict()) != Verdict::NothingHere;
    let id = reading.survey.log.map(|log| log.to_string());
    let findings = match is_there {
        true => compare((log, id, &meaning), (&of_archive, &reached))?,
        false => Vec::new(),
    };
    let is_proven = is_there && findings.is_empty() && !of_archive.failed();
    if is_proven {
        meaning.check_beginnings_behind(&before, archive, log)?;
    }
    let before = of_archive.archived.as_ref().filter(|_| is_there);
    let first = before.map_or(1, |before| before.anchor_sequence.saturating_add(1));
    meaning.before = if is_proven { Before::CheckedFrom(first) } else { Before::NotProven };
    let of_log = report(reading, Some(&meaning));
    let verdict = verdict(&of_archive, &of_log, !findings.is_empty());
    let first_sequence = first.min(anchor.saturating_add(1));
    let reason = reason(verdict, first_sequence);
    Ok(Together { verdict, reason, first_sequence, findings, archive: of_archive, log: of_log })
}

/// The verdict in words. Whatever an earlier archive holds is no part of it.
fn reason(verdict: Verdict, first: u64) -> String {
    match first {
        0 | 1 => verdict.to_string(),
        2 => format!(
            "{verdict} from record 2 on; record 1 is in an earlier archive and was not checked"
        ),
        _ => format!(
            "{verdict} from record {first} on; records 1 to {} are in an earlier archive and were \
             not checked",
            first - 1
        ),
    }
}

/// Returns what does not fit between a log, with its identity and what its events gave, and an
/// archive.
fn compare<S: ReadStorage>(
    (log, id, meaning): ((&S, ReadOptions<'_>), Option<String>, &Meaning),
    (archive, reached): (&Report, &Reached),
) -> Result<Vec<Finding>, ReadError> {
    let anchor = meaning.anchor.position.sequence;
    let mut findings = Vec::new();
    let mut find = |expected: String, found: String| {
        let place = Place { file: names::HEAD.to_string(), offset: 0, sequence: anchor };
        findings.push(Finding { place, problem: Problem::Archive { expected, found } });
    };
    if !archive.is_archive {
        find("an archive".to_string(), format!("a log, without the file {}", names::ARCHIVE));
    }
    compare_identity(archive.log_id.as_deref(), id.as_deref(), &mut find);
    if let Some(stated) = &meaning.archived {
        compare_beginning(stated, reached, archive.reach.witnessed_to, &mut find);
    }
    let newest = archive.head.as_ref().filter(|head| head.sequence > anchor);
    if let Some(newest) = newest {
        compare_overlap(log, newest, &mut find)?;
    }
    findings.extend(meaning.archived.as_ref().and_then(|stated| false_state(stated, reached)));
    Ok(findings)
}

/// Place of the state rebuilt from an archive, and its fingerprint.
struct Reached {
    applied: ChainPosition,
    fingerprint: Digest,
}

fn compare_identity(
    archive: Option<&str>,
    log: Option<&str>,
    find: &mut dyn FnMut(String, String),
) {
    if archive != log {
        let named = |id: Option<&str>| format!("log {}", id.unwrap_or("?"));
        find(named(log), named(archive));
    }
}

/// The archive has to reach the place where the log begins, and its HEAD to name that record or a
/// later one.
fn compare_beginning(
    stated: &Archived,
    reached: &Reached,
    named: Option<u64>,
    find: &mut dyn FnMut(String, String),
) {
    let anchor = stated.anchor_sequence;
    if !reached.is_at(stated) {
        let (applied, link) = (&reached.applied, &reached.applied.link);
        let due = format!("record {anchor} with link {}", stated.anchor_link);
        find(due, format!("record {} with link {link} there", applied.sequence));
    } else if let Some(named) = named.filter(|named| *named < anchor) {
        find(
            format!("a HEAD that names record {anchor}"),
            format!("one that names record {named}"),
        );
    }
}

impl Reached {
    /// Returns whether it is where the log begins.
    fn is_at(&self, stated: &Archived) -> bool {
        self.applied.sequence == stated.anchor_sequence
            && self.applied.link.to_string() == stated.anchor_link
    }
}

/// The record that states another state at the log's beginning than the archive leads to.
fn false_state(stated: &Archived, reached: &Reached) -> Option<Finding> {
    let due = stated.state_fingerprint.filter(|due| *due != reached.fingerprint)?;
    let place = stated.place.clone().filter(|_| reached.is_at(stated))?;
    let state = |digest: Digest| format!("a state with fingerprint {digest}");
    let (expected, found) = (state(due), state(reached.fingerprint));
    Some(Finding { place, problem: Problem::Archive { expected, found } })
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
    if either(Verdict::ShortOfHead) {
        return Verdict::ShortOfHead;
    }
    let (unproven, tail) = (Verdict::UnprovenRecords, Verdict::TailUnproven);
    let worst = [Verdict::NothingHere, Verdict::ForbiddenEvents, unproven, tail];
    worst.into_iter().find(|verdict| either(*verdict)).unwrap_or(Verdict::Intact)
}
