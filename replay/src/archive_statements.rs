//! Statements of a log about records that were moved to an archive: that they were there, that a
//! segment ended with them, and what the state was behind them.
//!
//! A statement that HEAD carries out is where the log begins, and is judged there
//! ([`crate::anchor`]). One that it does not carry out yet would be the beginning after the next
//! HEAD, so that it may not be a false one either; nor may one that has the sequence or the link of
//! HEAD's anchor, and not both.

use crate::anchor::{Anchor, Start};
use crate::finding::{Finding, Problem};
use crate::meaning::{Meaning, place_of};
use crate::read::{Committed, ReadError, ReadOptions, read, steadily};
use crate::rebuild::Until;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::HistoryArchived;
use holdpoint_domain::world::{STATE_SCHEMA_VERSION, fingerprint_of};
use holdpoint_log_files::reader::read_header;
use holdpoint_log_files::{Place, ReadStorage, SurveyError, records_named};
use holdpoint_log_format::{ChainPosition, Link};
use std::collections::{BTreeMap, BTreeSet};

/// So many statements that differ are kept: an honest log has one for each move.
const STATEMENTS_MAX: usize = 4_096;

/// Claim that the statements of one kind have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AnchorClaim {
    anchor: u64,
    link: [u8; 32],
    /// The fingerprint of the state as it is stated, and as it is carried, where it is of the
    /// schema that this program has.
    fingerprints: Option<[Digest; 2]>,
}

/// The statements, each with the first place where it is made.
#[derive(Debug, Default)]
pub(crate) struct ArchiveStatements {
    made: BTreeMap<AnchorClaim, Place>,
    false_ones: Vec<Finding>,
}

impl ArchiveStatements {
    /// Takes the statement of a record.
    pub(crate) fn take(&mut self, record: &Committed, body: &HistoryArchived) {
        let (first, anchor) = (body.first_sequence, body.anchor_sequence);
        let is_before = 0 < first && first <= anchor && anchor < record.header.sequence;
        if self.made.len() + self.false_ones.len() >= STATEMENTS_MAX {
            return;
        }
        if !is_before {
            let found = records_named(first, anchor);
            self.false_ones.push(refuted(place_of(record), "records before this one", found));
            return;
        }
        let is_comparable = body.state_schema == STATE_SCHEMA_VERSION;
        let fingerprints =
            is_comparable.then(|| [body.state_fingerprint, fingerprint_of(body.state.as_bytes())]);
        let stated = AnchorClaim { anchor, link: *body.anchor_link.as_bytes(), fingerprints };
        self.made.entry(stated).or_insert_with(|| place_of(record));
    }

    /// The statements that are false. Of records before the log's first one nothing is known, and
    /// in a damaged log nothing is compared.
    ///
    /// # Errors
    /// The log cannot be read, or changes while it is read.
    pub(crate) fn check<S: ReadStorage>(
        self,
        storage: &S,
        anchor: &Anchor,
        is_damaged: bool,
        options: ReadOptions<'_>,
    ) -> Result<Vec<Finding>, ReadError> {
        let (mut findings, mut behind) = (self.false_ones, Vec::new());
        let at = anchor.position.sequence;
        for (stated, place) in self.made {
            if is_damaged {
                break;
            }
            if stated.anchor <= at {
                findings.extend(
                    stated.differs_from(anchor).map(|due| refuted(place, &due, stated.told())),
                );
                continue;
            }
            match wrong_link(storage, &stated)? {
                Some(expected) => findings.push(refuted(place, &expected, stated.told())),
                None => behind.push((stated, place)),
            }
        }
        let wanted: BTreeSet<u64> = behind.iter().map(|(stated, _)| stated.anchor).collect();
        let known = match wanted.is_empty() {
            true => BTreeMap::new(),
            false => fingerprints_at(storage, options, &wanted)?,
        };
        for (stated, place) in behind {
            let expected = known.get(&stated.anchor).zip(stated.fingerprints);
            if let Some((expected, _)) = expected.filter(|(known, found)| *found != [**known; 2]) {
                let expected = format!("the state with fingerprint {expected}");
                findings.push(refuted(place, &expected, stated.told()));
            }
        }
        Ok(findings)
    }
}

impl AnchorClaim {
    /// Returns what HEAD's anchor is, where a statement has its sequence or its link, and not both.
    fn differs_from(&self, anchor: &Anchor) -> Option<String> {
        let ChainPosition { sequence, link, .. } = anchor.position;
        let is_half = (self.anchor == sequence) != (self.link == link.0);
        is_half.then(|| format!("record {sequence} with link {link}"))
    }

    fn told(&self) -> String {
        let (anchor, link) = (self.anchor, Link(self.link));
        let state = self.fingerprints.map(|[state, carried]| {
            format!(", behind which the state was {state}, and is carried as {carried}")
        });
        format!("the records up to {anchor} with link {link}{}", state.unwrap_or_default())
    }
}

fn refuted(place: Place, expected: &str, found: String) -> Finding {
    Finding { place, problem: Problem::ArchiveStatement { expected: expected.into(), found } }
}

/// Returns what was due, where the segment behind the stated record says otherwise.
fn wrong_link<S: ReadStorage>(
    storage: &S,
    stated: &AnchorClaim,
) -> Result<Option<String>, SurveyError> {
    let header = read_header(storage, stated.anchor.saturating_add(1))?;
    Ok(match header.map(|header| header.previous) {
        Some(last) if (last.sequence, last.link.0) == (stated.anchor, stated.link) => None,
        Some(last) => Some(format!("record {} with link {}", last.sequence, last.link)),
        None => Some("the last record of a segment".to_string()),
    })
}

/// The fingerprint of the state behind each of these records, where it is known.
fn fingerprints_at<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    wanted: &BTreeSet<u64>,
) -> Result<BTreeMap<u64, Digest>, ReadError> {
    let (_, found) = steadily(options, |mut attempt| {
        attempt.judges = true;
        let start = Start::of(storage)?;
        let anchor = start.anchor;
        let (mut meaning, mut found) = (Meaning::new(start, Until::End), BTreeMap::new());
        let mut take = |batch: &[Committed]| {
            let at = meaning.applied.sequence;
            if wanted.contains(&at) && meaning.stopped.is_none() {
                found.insert(at, meaning.world.fingerprint_digest());
            }
            meaning.apply(batch);
        };
        let reading = read(storage, anchor, attempt, &|_| true, &mut |_| {}, &mut take)?;
        Ok((reading, found))
    })?;
    Ok(found)
}
