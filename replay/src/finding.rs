//! Something that a reading found wrong: with the bytes, with a payload, or with an event that the
//! rules forbid.

use crate::axes::told;
use crate::verify::Witnessed;
use holdpoint_domain::core::codec::DecodeError;
use holdpoint_domain::core::forbidden::ForbiddenEvent;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::kind_name;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{ArchivePlaces, Finding as LogFinding, Place, Problem as LogProblem};
use holdpoint_log_format::{Link, names};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::fmt;

/// One thing wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// File relative to the log's directory, offset in bytes, sequence.
    pub place: Place,
    /// Problem that was found.
    pub problem: Problem,
}

/// Problem of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Bytes, files or witnesses.
    Log(LogProblem),
    /// A payload that cannot be read: its kind and its schema's version, and why.
    Payload {
        /// The kind in the record's header.
        kind: u16,
        /// The version in the record's header.
        version: u8,
        /// Why.
        error: DecodeError,
    },
    /// An event that the rules forbid.
    Forbidden(ForbiddenEvent),
    /// The log begins behind an anchor, and no event says so.
    BeginningUnstated {
        /// The record before the first one.
        anchor: u64,
    },
    /// The state that the event at the log's beginning carries cannot be taken up.
    CarriedState {
        /// Why not.
        message: String,
    },
    /// A statement about the index of a segment that is false: it would hide records.
    IndexStatement {
        /// The first record of the segment.
        segment: u64,
        /// The digest of the index that the segment's records give.
        expected: Digest,
        /// The digest that is stated.
        found: Digest,
    },
    /// A statement about the index of a segment of which what is tied to HEAD says that it ends
    /// otherwise: whoever changed the segment made the statement.
    IndexOfUntied {
        /// The first record of the segment.
        segment: u64,
        /// The link of its last record, by what is tied behind it.
        expected: Link,
        /// The link of its last record, by the index that is stated.
        found: Link,
    },
    /// A statement that records were moved to an archive, which cannot be so.
    ArchiveStatement {
        /// Value that was due.
        expected: String,
        /// Value that is stated.
        found: String,
    },
    /// An archive that does not belong to the log.
    Archive {
        /// Value that was due.
        expected: String,
        /// Value that is there.
        found: String,
    },
    /// A head that was kept outside of the log, and that the log does not agree with.
    OutsideHead(Box<Witnessed>),
}

/// The finding to name where only one is: the first on what a file is, of which others are but the
/// consequences, else the first.
#[must_use]
pub fn leading(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| finding.is_of_file()).or(findings.first())
}

impl Finding {
    /// Returns whether a file is not what its name says.
    fn is_of_file(&self) -> bool {
        matches!(&self.problem, Problem::Log(problem) if problem.is_of_file())
    }

    /// Returns whether it is that only a newer program knows what a record says.
    #[must_use]
    pub fn is_of_unknown_kind(&self) -> bool {
        matches!(&self.problem, Problem::Payload { error, .. } if error.is_of_unknown_kind())
    }

    /// The same finding, with the archive before the name of a file that lies in one. What is
    /// missing at the end of an archive is met where the next segment begins, which is no fault of
    /// that one.
    pub(crate) fn located(self, archives: &ArchivePlaces) -> Self {
        self.missing_in(archives)
            .unwrap_or_else(|| Self { place: archives.located(self.place), ..self })
    }

    /// The records at the end of an archive that are missing there.
    fn missing_in(&self, archives: &ArchivePlaces) -> Option<Self> {
        let Problem::Log(
            LogProblem::Gap { expected, found } | LogProblem::NotTheAnchor { expected, found },
        ) = self.problem
        else {
            return None;
        };
        let (archive, of_found) = (archives.of(expected)?, archives.of(found));
        if expected >= found || of_found == Some(archive) {
            return None;
        }
        let file = format!("{archive}/{}", names::SEGMENTS);
        let problem = LogProblem::BelowMark { first: expected, last: found.saturating_sub(1) };
        let place = Place { file, offset: 0, sequence: expected };
        Some(Self { place, problem: Problem::Log(problem) })
    }

    /// The archive in which this was found, where it is not in the log's own directory.
    #[must_use]
    pub fn archive(&self) -> Option<&str> {
        let (archive, _) = self.place.file.rsplit_once(&format!("/{}", names::SEGMENTS))?;
        Some(archive)
    }

    /// A stable name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.problem {
            Problem::Log(problem) => problem.name(),
            Problem::Payload { .. } => "undecodable_payload",
            Problem::Forbidden(_) => "forbidden_event",
            Problem::BeginningUnstated { .. } => "beginning_unstated",
            Problem::CarriedState { .. } => "carried_state",
            Problem::IndexStatement { .. } | Problem::IndexOfUntied { .. } => {
                "false_index_statement"
            }
            Problem::ArchiveStatement { .. } => "false_archive_statement",
            Problem::Archive { .. } => "archive_differs",
            Problem::OutsideHead(_) => "outside_head",
        }
    }

    /// Returns what was due.
    #[must_use]
    pub fn expected(&self) -> String {
        match &self.problem {
            Problem::Log(problem) => problem.expected(),
            Problem::Payload { kind, .. } => format!("a payload of {}", named(*kind)),
            Problem::Forbidden(event) => event.expected.clone(),
            Problem::BeginningUnstated { anchor } => {
                format!("log.history_archived for record {anchor}")
            }
            Problem::CarriedState { .. } => "the state at the log's beginning".into(),
            Problem::IndexStatement { expected, .. } => format!("index digest {expected}"),
            Problem::IndexOfUntied { expected, .. } => format!("last link {expected}"),
            Problem::Archive { expected, .. } | Problem::ArchiveStatement { expected, .. } => {
                expected.clone()
            }
            Problem::OutsideHead(head) => format!("record {} with {}", head.sequence, head.link),
        }
    }

    /// Returns what is there.
    #[must_use]
    pub fn found(&self) -> String {
        match &self.problem {
            Problem::Log(problem) => problem.found(),
            Problem::Payload { error, .. } => error.to_string(),
            Problem::Forbidden(event) => event.found.clone(),
            Problem::BeginningUnstated { .. } => "no such event".into(),
            Problem::CarriedState { message } => message.clone(),
            Problem::IndexStatement { found, .. } => format!("index digest {found}"),
            Problem::IndexOfUntied { found, .. } => format!("last link {found}"),
            Problem::Archive { found, .. } | Problem::ArchiveStatement { found, .. } => {
                found.clone()
            }
            Problem::OutsideHead(head) => {
                head.found.clone().unwrap_or_else(|| head.state.to_string())
            }
        }
    }

    /// The event's kind, where the finding is about an event.
    #[must_use]
    pub fn kind(&self) -> Option<String> {
        match &self.problem {
            Problem::Log(_)
            | Problem::BeginningUnstated { .. }
            | Problem::CarriedState { .. }
            | Problem::IndexStatement { .. }
            | Problem::IndexOfUntied { .. }
            | Problem::Archive { .. }
            | Problem::ArchiveStatement { .. }
            | Problem::OutsideHead(_) => None,
            Problem::Payload { kind, .. } => Some(named(*kind)),
            Problem::Forbidden(event) => Some(named(event.kind)),
        }
    }

    /// The rule that an event breaks.
    #[must_use]
    pub fn rule(&self) -> Option<&'static str> {
        match &self.problem {
            Problem::Forbidden(event) => Some(event.rule.name()),
            _ => None,
        }
    }
}

impl From<LogFinding> for Finding {
    fn from(finding: LogFinding) -> Self {
        Self { place: finding.place, problem: Problem::Log(finding.problem) }
    }
}

/// Without the place.
impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(problem) => write!(out, "{problem}"),
            Self::Payload { error, .. } => write!(out, "{error}"),
            Self::BeginningUnstated { anchor } => write!(
                out,
                "HEAD says that the log begins behind record {anchor}, and no event says so: the \
                 state there is not known"
            ),
            Self::CarriedState { message } => {
                write!(
                    out,
                    "the state that the log begins with cannot be used: {}",
                    visible(message)
                )
            }
            Self::IndexStatement { segment, expected, found } => write!(
                out,
                "it vouches for an index of {} with digest {found}, and the records there give \
                 {expected}: what that index leaves out is hidden",
                segment_path(*segment)
            ),
            Self::IndexOfUntied { segment, expected, found } => write!(
                out,
                "it vouches for an index of {} that ends with link {found}, and what follows the \
                 segment says {expected}: who changed the segment made this statement",
                segment_path(*segment)
            ),
            Self::ArchiveStatement { expected, found } => {
                write!(out, "it says that {found} were moved to an archive, and {expected} was due")
            }
            Self::Archive { expected, found } => {
                write!(out, "the archive has {found}, and the log goes on from {expected}")
            }
            Self::OutsideHead(head) => write!(out, "{}", told(head)),
            Self::Forbidden(event) => write!(
                out,
                "{}: the rule {} expects {}, and the event says {}",
                named(event.kind),
                event.rule,
                visible(&event.expected),
                visible(&event.found)
            ),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.problem)?;
        match self.is_of_unknown_kind() {
            true => write!(out, "; not judged from record {}", self.place.sequence),
            false => Ok(()),
        }
    }
}

/// Place and problem side by side.
impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Finding", 9)?;
        fields.serialize_field("segment", &self.place.file)?;
        fields.serialize_field("offset", &self.place.offset)?;
        fields.serialize_field("sequence", &self.place.sequence)?;
        fields.serialize_field("problem", self.name())?;
        fields.serialize_field("kind", &self.kind())?;
        fields.serialize_field("rule", &self.rule())?;
        fields.serialize_field("expected", &self.expected())?;
        fields.serialize_field("found", &self.found())?;
        fields.serialize_field("message", &self.problem.to_string())?;
        fields.end()
    }
}

/// The name of a kind, or its number where this program does not know it.
pub(crate) fn named(kind: u16) -> String {
    kind_name(kind).map_or_else(|| format!("kind {kind}"), str::to_string)
}
