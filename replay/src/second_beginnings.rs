//! Second beginnings under one id, and keys that are used for something else. Once the state has
//! forgotten what ended, no state tells; a writer looks the id up in the log, and here every
//! beginning is compared with every other one.
//!
//! Of each beginning a hash is kept. Where two agree, the log is read again and the terms
//! themselves are compared: different terms with one hash are no finding.

use crate::anchor::Start;
use crate::finding::{Finding, Problem};
use crate::meaning::{Meaning, place_of};
use crate::question::known_decisions;
use crate::read::{Committed, ReadError, ReadOptions, Reading, read, steadily};
use crate::rebuild::Until;
use crate::report::MEANING_FINDINGS_MAX;
use holdpoint_domain::World;
use holdpoint_domain::core::forbidden::{ForbiddenEvent, Rule};
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::world::{KeyUse, NewEntity, Term};
use holdpoint_log_files::ReadStorage;
use holdpoint_log_format::{ChainPosition, RecordHeader, names};
use holdpoint_log_index::TermHash;
use std::collections::BTreeMap;

/// So many hashes that two beginnings have are looked for in one reading.
const SOUGHT_TOGETHER: usize = 65_536;

/// Hashes of what began so far: 8 bytes each, and as many again while there is more and more of it.
#[derive(Debug, Default)]
pub(crate) struct Beginnings {
    /// Terms that the state at the log's beginning knows, in order.
    stated: Vec<TermHash>,
    /// Terms with an id of their own.
    ids: Vec<TermHash>,
    /// Terms with a name that a caller chose. Whoever writes looks the name up in the log alone, so
    /// that it may begin again once the records of the first one are in an archive.
    names: Vec<TermHash>,
    /// Terms that are looked for in a second reading, instead of all this.
    sought: Option<Suspects>,
}

/// Terms that seem to begin twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suspects {
    /// The hashes, in order.
    hashes: Vec<TermHash>,
    /// The record with which each first began, by the SHA-256 of its term's canonical bytes: these
    /// are as long as whoever wrote them liked. Of a key, also what it stands for.
    first: BTreeMap<Digest, (u64, Option<Digest>)>,
    /// The second beginnings, at most [`MEANING_FINDINGS_MAX`].
    found: Vec<Finding>,
    /// Those beyond that.
    left_out: u64,
}

impl Beginnings {
    /// Behind a state with which a log begins.
    pub(crate) fn behind(world: &World) -> Self {
        let mut stated = Vec::new();
        each_known(world, &mut |term, _| stated.push(TermHash::of(&term.canonical())));
        stated.extend(world.known_keys().map(|(key, _)| TermHash::of(key.scope.as_bytes())));
        stated.sort_unstable();
        Self { stated, ..Self::default() }
    }

    /// Something begins with a record, which the rules allow by the state before it. `is_copy`: a
    /// salvage copied it, maybe from a log together with its archives.
    pub(crate) fn take(&mut self, record: &Committed, new: &NewEntity<'_>, is_copy: bool) {
        let has_id = matches!(&new.term, Term::Loop(_) | Term::Request(_) | Term::DecisionPoint(_));
        if is_copy && !has_id {
            return;
        }
        let canonical = new.term.canonical();
        let hash = TermHash::of(&canonical);
        match &mut self.sought {
            Some(sought) => {
                let found = |first| SecondBeginning {
                    rule: new.rule,
                    expected: "what never began before".into(),
                    found: format!("what began with record {first}, which alone counts"),
                };
                sought.take(record, (hash, &canonical, None), &found);
            }
            None if has_id => self.ids.push(hash),
            None => self.names.push(hash),
        }
    }

    /// A key is used with a record, by which the state before it knows none: as a name that a
    /// caller chose, it is looked up in the log alone. It may be used again for the same.
    pub(crate) fn take_key(&mut self, record: &Committed, key: &KeyUse, is_copy: bool) {
        let (scope, content) = (key.scope.as_bytes(), Some(key.content));
        let hash = TermHash::of(scope);
        match &mut self.sought {
            _ if is_copy => {}
            Some(sought) => {
                let found = |first| SecondBeginning {
                    rule: Rule::Idempotency,
                    expected: format!("what record {first} was recorded for, under the same key"),
                    found: "something else".into(),
                };
                sought.take(record, (hash, scope, content), &found);
            }
            None => self.names.push(hash),
        }
    }

    /// The hashes that several have, in order. `has_names`: names are compared as well.
    fn twice(&mut self, has_names: bool) -> Vec<TermHash> {
        let mut twice = Vec::new();
        for hashes in [&mut self.ids, &mut self.names].into_iter().take(1 + usize::from(has_names))
        {
            hashes.sort_unstable();
            twice.extend(hashes.windows(2).filter_map(|pair| match pair {
                [one, other] if one == other => Some(*one),
                _ => None,
            }));
            twice.extend(both(&self.stated, hashes));
        }
        in_order(twice)
    }
}

/// The hashes that are in both of two lists, which are in order.
fn both<'h>(few: &'h [TermHash], many: &'h [TermHash]) -> impl Iterator<Item = TermHash> + 'h {
    few.iter().filter(|hash| many.binary_search(hash).is_ok()).copied()
}

fn in_order(mut hashes: Vec<TermHash>) -> Vec<TermHash> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// Shows each term that a state knows and that may not begin behind it, and the record with which
/// it began. A thread that was closed before the log begins may: its name is in the archive alone.
fn each_known(world: &World, each: &mut dyn FnMut(Term<'_>, u64)) {
    for entity in world.live_loops() {
        each(Term::Loop(entity.loop_id()), entity.started_sequence);
        let requests = entity.decisions.requests.iter();
        requests.for_each(|held| each(Term::Request(held.request_id()), held.requested_sequence));
    }
    for held in world.closed_requests() {
        each(Term::Request(held.request_id()), held.requested_sequence);
    }
    for point in known_decisions(world) {
        each(Term::DecisionPoint(&point.decision_id), point.created_sequence);
    }
    for thread in world.live_threads() {
        let (tenant, correlation) = (&thread.tenant_id, &thread.correlation_id);
        each(Term::Thread { tenant, correlation }, thread.started_sequence);
    }
}

/// Term that a record uses: its hash, its canonical bytes, and of a key what it stands for.
type Used<'u> = (TermHash, &'u [u8], Option<Digest>);

/// Statement about something that was used before.
struct SecondBeginning {
    rule: Rule,
    expected: String,
    found: String,
}

impl Suspects {
    fn of(hashes: &[TermHash]) -> Self {
        Self { hashes: hashes.to_vec(), ..Self::default() }
    }

    fn take(&mut self, record: &Committed, used: Used<'_>, said: &dyn Fn(u64) -> SecondBeginning) {
        let sequence = record.header.sequence;
        let Some(first) = self.first_of(used, sequence) else { return };
        if self.found.len() >= MEANING_FINDINGS_MAX {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        let loop_id = record.envelope().and_then(|envelope| envelope.event.loop_id());
        let SecondBeginning { rule, expected, found } = said(first);
        let problem = Problem::Forbidden(ForbiddenEvent {
            sequence,
            kind: record.header.kind,
            loop_id: loop_id.map(str::to_string),
            rule,
            expected,
            found,
        });
        self.found.push(Finding { place: place_of(record), problem });
    }

    /// The record with which something first began, where that is another one; with which a key was
    /// first used, where that was for something else.
    fn first_of(&mut self, (hash, canonical, content): Used<'_>, sequence: u64) -> Option<u64> {
        self.hashes.binary_search(&hash).ok()?;
        let used = (sequence, content);
        let (first, before) = *self.first.entry(sha256(canonical)).or_insert(used);
        (first != sequence && (content.is_none() || content != before)).then_some(first)
    }

    /// The same behind an archive that was gone through.
    fn behind(self) -> Self {
        Self { found: Vec::new(), left_out: 0, ..self }
    }
}

impl Meaning {
    /// Finds what began a second time, as far as the events were judged.
    ///
    /// # Errors
    /// The log cannot be read again, or was changed meanwhile.
    pub(crate) fn check_beginnings<S: ReadStorage>(
        &mut self,
        storage: &S,
        reading: &Reading,
        options: ReadOptions<'_>,
    ) -> Result<(), ReadError> {
        let is_of_one_part = !reading.survey.is_archive && reading.archives.all().is_empty();
        let (twice, end) = (self.beginnings.twice(is_of_one_part), self.applied);
        self.confirm(&twice, &|sought| seek(storage, options, end, &sought))
    }

    /// Finds what began in an archive, and began a second time in the log behind it. The ones of
    /// each alone were found.
    ///
    /// # Errors
    /// As [`Self::check_beginnings`], for either of them.
    pub(crate) fn check_beginnings_behind<A: ReadStorage, S: ReadStorage>(
        &mut self,
        before: &Self,
        archive: (&A, ReadOptions<'_>),
        log: (&S, ReadOptions<'_>),
    ) -> Result<(), ReadError> {
        let end = (before.applied, self.applied);
        let twice: Vec<_> = both(&before.beginnings.ids, &self.beginnings.ids).collect();
        self.confirm(&in_order(twice), &|sought| {
            let sought = seek(archive.0, archive.1, end.0, &sought)?;
            seek(log.0, log.1, end.1, &sought.behind())
        })
    }

    /// Confirms what seems to begin twice: what two hashes say, two terms have to say as well.
    /// Where so many are the same that they are not sought in one reading, those of the first
    /// reading that finds any are told, and the rest is counted.
    fn confirm(
        &mut self,
        twice: &[TermHash],
        seek: &dyn Fn(Suspects) -> Result<Suspects, ReadError>,
    ) -> Result<(), ReadError> {
        let mut left = twice.len();
        for hashes in twice.chunks(SOUGHT_TOGETHER) {
            left = left.saturating_sub(hashes.len());
            let Suspects { found, left_out, .. } = seek(Suspects::of(hashes))?;
            if !found.is_empty() {
                self.take_second_beginnings(found, left_out.saturating_add(left as u64));
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Goes through the events of a log once more, up to where they were judged.
fn seek<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    end: ChainPosition,
    sought: &Suspects,
) -> Result<Suspects, ReadError> {
    let until = Until::Sequence(end.sequence);
    let wanted = |header: &RecordHeader| until.includes(header);
    let (_, meaning) = steadily(options, |mut attempt| {
        attempt.judges = true;
        let start = Start::of(storage)?;
        let anchor = start.anchor;
        let mut meaning = Meaning::new(start, until);
        let mut sought = sought.clone();
        each_known(&meaning.world, &mut |term, sequence| {
            let canonical = term.canonical();
            sought.first_of((TermHash::of(&canonical), &canonical, None), sequence);
        });
        for (key, sequence) in meaning.world.known_keys() {
            let scope = key.scope.as_bytes();
            sought.first_of((TermHash::of(scope), scope, Some(key.content)), sequence);
        }
        meaning.beginnings.sought = Some(sought);
        let mut take = |batch: &[Committed]| {
            meaning.apply(batch);
        };
        let reading = read(storage, anchor, attempt, &wanted, &mut |_| {}, &mut take)?;
        Ok((reading, meaning))
    })?;
    let is_same = meaning.applied == end;
    let sought = meaning.beginnings.sought.filter(|_| is_same);
    sought.ok_or_else(|| ReadError::Changed { file: names::HEAD.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_terms_with_one_hash_are_no_second_beginning() {
        let hash = TermHash(7);
        let mut sought = Suspects::of(&[hash]);
        let terms = [Term::Loop("LOOP-1"), Term::Request("LOOP-1"), Term::Loop("LOOP-2")];
        for (term, sequence) in terms.iter().zip(1..) {
            assert_eq!(sought.first_of((hash, &term.canonical(), None), sequence), None);
        }
        let again = terms[0].canonical();
        assert_eq!(sought.first_of((hash, &again, None), 4), Some(1));
        assert_eq!(sought.first_of((TermHash(8), &again, None), 5), None, "not sought");
    }
}
