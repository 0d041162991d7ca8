//! Statements of a log about the indexes of its segments: every index is built again and compared.
//!
//! Readers leave out what an index does not name. So a statement that vouches for a wrong index
//! hides records, whoever made it, and only building the index again tells.

use crate::finding::{Finding, Problem};
use crate::indexed_as_read::{Built, IndexedAsRead};
use crate::meaning::place_of;
use crate::read::Committed;
use crate::records::indexes::{RecordStatement, statement_of};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::SegmentIndexed;
use holdpoint_domain::world::{TERMS_VERSION, row_of_record, terms_of_record};
use holdpoint_log_files::reader::Disregard;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{LogReader, Place, ReadStorage, SurveyError, Ties};
use holdpoint_log_format::Link;
use holdpoint_log_index::IndexDigest;
use holdpoint_log_index::file::{BuildError, build_index};
use holdpoint_log_index::layout::INDEX_VERSION;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// So many statements that differ are kept for one segment: two are one too many.
const DIFFERENT_MAX: usize = 4;

/// Statements, by the first record of the segment that each is about.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    made: BTreeMap<u64, Vec<FirstStatement>>,
    /// Number of right statements.
    pub(crate) proven: u64,
    /// Number of statements about an index that this program cannot build, or a segment that is not
    /// here.
    pub(crate) not_checked: u64,
}

/// The first statement of one kind.
#[derive(Debug)]
struct FirstStatement {
    place: Place,
    last_sequence: u64,
    digest: Digest,
}

impl Statements {
    /// Takes a statement of a record.
    pub(crate) fn take(&mut self, record: &Committed, body: &SegmentIndexed) {
        if body.format != INDEX_VERSION {
            self.not_checked = self.not_checked.saturating_add(1);
            return;
        }
        let made = self.made.entry(body.first_sequence).or_default();
        let says_the_same = |one: &FirstStatement| {
            (one.last_sequence, one.digest) == (body.last_sequence, body.digest)
        };
        if made.len() < DIFFERENT_MAX && !made.iter().any(says_the_same) {
            let (place, last_sequence) = (place_of(record), body.last_sequence);
            made.push(FirstStatement { place, last_sequence, digest: body.digest });
        }
    }

    /// Builds the index of every segment that is spoken of, unless it was built as the segment was
    /// read, in a log that is not damaged. Gives the statements that are false. Of a segment before
    /// the log's beginning, and of one that does not hold, nothing is said here.
    ///
    /// # Errors
    /// A segment cannot be read, or does not hold in a log that is not damaged: it was changed
    /// since.
    pub(crate) fn check<S: ReadStorage>(
        &mut self,
        storage: &S,
        anchor: u64,
        as_read: Option<&IndexedAsRead>,
    ) -> Result<Vec<Finding>, SurveyError> {
        let mut findings = Vec::new();
        for (first, made) in std::mem::take(&mut self.made) {
            let built = match as_read.and_then(|indexes| indexes.of(first)) {
                _ if first <= anchor => None,
                Some(built) => Some(built),
                None => build(storage, first, due_of(first, &made, as_read.is_none()))?,
            };
            let Some((last, digest)) = built else {
                self.not_checked = self.not_checked.saturating_add(made.len() as u64);
                continue;
            };
            for statement in made {
                if (statement.last_sequence, statement.digest) == (last.sequence, digest) {
                    self.proven = self.proven.saturating_add(1);
                } else {
                    findings.push(statement.refuted(first, digest));
                }
            }
        }
        Ok(findings)
    }
}

impl FirstStatement {
    fn refuted(self, first: u64, expected: Digest) -> Finding {
        let found = self.digest;
        let problem = Problem::IndexStatement { segment: first, expected, found };
        Finding { place: self.place, problem }
    }
}

/// The statements that are tied to HEAD and vouch for a changed segment as it lies there, although
/// what is tied behind it says that it ended otherwise. Only in a damaged log can there be any.
///
/// # Errors
/// A segment cannot be read.
pub(crate) fn of_untied<S: ReadStorage>(storage: &S) -> Result<Vec<Finding>, SurveyError> {
    let reader = LogReader::of(storage)?;
    let mut ties = Ties::begin(&reader);
    let mut made: BTreeMap<u64, Vec<(Place, SegmentIndexed)>> = BTreeMap::new();
    let mut behind = None;
    let mut found = Disregard("what is wrong with a damaged log was found before");
    while let Some(due) = ties.due(&reader) {
        let Some(mut segment) = reader.open(due, &mut found)? else { break };
        let is_tied = ties.read_back(&reader, &mut segment, &mut |_, place, record| {
            if let Some(RecordStatement::Index(body)) = statement_of(record) {
                let of_segment = made.entry(body.first_sequence).or_default();
                if of_segment.len() < DIFFERENT_MAX {
                    let file = segment_path(place.segment);
                    let sequence = record.header.sequence;
                    of_segment.push((Place { file, offset: place.offset, sequence }, body));
                }
            }
            ControlFlow::Continue(())
        })?;
        if !is_tied {
            let made = made.remove(&due).unwrap_or_default();
            return refuted_by(storage, due, behind, made);
        }
        behind = Some(segment.header.previous.link);
    }
    Ok(Vec::new())
}

/// Returns findings on those of these statements on a segment that fit it as it lies there, where
/// what follows says that its last record has another link.
fn refuted_by<S: ReadStorage>(
    storage: &S,
    segment: u64,
    behind: Option<Link>,
    made: Vec<(Place, SegmentIndexed)>,
) -> Result<Vec<Finding>, SurveyError> {
    let (Some(expected), false) = (behind, made.is_empty()) else { return Ok(Vec::new()) };
    let Some((last, digest)) = build(storage, segment, Due::Anything)? else {
        return Ok(Vec::new());
    };
    let problem = Problem::IndexOfUntied { segment, expected, found: last.link };
    let of_what_lies_there = made.into_iter().filter(|(_, body)| {
        body.format == INDEX_VERSION && body.digest == digest && last.link != expected
    });
    Ok(of_what_lies_there.map(|(place, _)| Finding { place, problem: problem.clone() }).collect())
}

/// Expected state of a segment that nobody changes while it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// It may be damaged.
    Anything,
    Whole,
    Sealed,
}

/// Returns the expected state of a segment: whoever recorded a statement in a later segment had
/// sealed this one.
fn due_of(first: u64, made: &[FirstStatement], is_damaged: bool) -> Due {
    let own = segment_path(first);
    match made.iter().any(|statement| statement.place.file != own) {
        _ if is_damaged => Due::Anything,
        true => Due::Sealed,
        false => Due::Whole,
    }
}

/// The last record of a segment, and the digest of its index; `None` where it has none.
fn build<S: ReadStorage>(storage: &S, first: u64, due: Due) -> Result<Option<Built>, SurveyError> {
    let built = build_index(storage, first, TERMS_VERSION, &mut |record, terms| {
        terms.add_record(record, terms_of_record, row_of_record);
    });
    match built {
        Ok(built) => {
            let digest = IndexDigest::of(&built.bytes);
            Ok(digest.map(|it| (built.scope.last, Digest::from_bytes(it.0))))
        }
        Err(BuildError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(None)
        }
        Err(BuildError::Io { file, source }) => Err(SurveyError::Io { file, source }),
        Err(BuildError::Damaged { file, fault, .. }) if due != Due::Anything => {
            Err(changed(file, &fault.to_string()))
        }
        Err(BuildError::NotSealed { file }) if due == Due::Sealed => {
            Err(changed(file, "its seal is gone"))
        }
        Err(_) => Ok(None),
    }
}

fn changed(file: String, how: &str) -> SurveyError {
    let source = std::io::Error::other(format!("it was changed while it was read: {how}"));
    SurveyError::Io { file, source }
}
