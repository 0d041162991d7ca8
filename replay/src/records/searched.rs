//! Result of a search, besides the records.

use super::part::Part;
use super::seen::NewestSegment;
use crate::finding::Finding;
use crate::reach::Reach;
use crate::report::{Report, Verdict};

/// Extent of a log that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Searched {
    /// All of it: what the bytes prove. Events are not judged.
    Whole(Box<Report>),
    /// The part that was needed.
    Part(Box<Part>),
}

impl Searched {
    /// Returns how far it reached.
    #[must_use]
    pub fn reach(&self) -> &Reach {
        match self {
            Self::Whole(report) => &report.reach,
            Self::Part(part) => &part.reach,
        }
    }

    /// Returns what was found wrong.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Whole(report) => &report.findings,
            Self::Part(part) => &part.findings,
        }
    }

    /// Adds what else was found. A reading of the whole log has found it.
    pub(crate) fn add(&mut self, found: Option<Finding>) {
        if let Self::Part(part) = self {
            part.extend(found);
        }
    }

    /// Returns whether there is a log, and nothing wrong was met.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        match self {
            Self::Whole(report) => !report.failed() && report.verdict != Verdict::NothingHere,
            Self::Part(part) => part.findings.is_empty(),
        }
    }

    /// Returns what the records of the newest segment said, where they were asked and nothing wrong
    /// was met.
    pub(crate) fn newest_said(&self) -> Option<&NewestSegment> {
        match self {
            Self::Part(part) if part.findings.is_empty() => part.newest.as_ref(),
            Self::Part(_) | Self::Whole(_) => None,
        }
    }

    /// Joins two readings for one answer: the one that met something wrong, else this one; its
    /// reach is that of both.
    pub fn join(&mut self, other: Self) {
        let is_worse = self.is_sound() && !other.is_sound();
        let other = if is_worse { std::mem::replace(self, other) } else { other };
        if let Self::Part(part) = self {
            part.reach.join(other.reach());
        }
    }
}
