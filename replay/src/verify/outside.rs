//! Heads that were kept outside of a log: what they say, and whether the log agrees.

use crate::read::Committed;
use holdpoint_log_format::head::HEAD_MAGIC;
use holdpoint_log_format::{ChainPosition, Fault, Head, Link, LogId};
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// A sequence and its link, kept where the writer of the log cannot reach. They stand for every
/// record up to that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideHead {
    /// Place where it was kept, as the caller names it.
    pub from: String,
    /// The sequence.
    pub sequence: u64,
    /// The link of that record.
    pub link: Link,
    /// The log, where the head says so.
    pub log: Option<LogId>,
}

/// Bytes that are no head.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OutsideHeadError {
    /// A copy of HEAD that does not hold.
    #[error("it begins like a copy of HEAD and is none: {0}")]
    Head(Fault),
    /// A line that is none.
    #[error(
        "line {line}: expected `SEQUENCE LINK`, a number and 64 hexadecimal digits, as \
         `head.sequence` and `head.link` of `verify --json` give them"
    )]
    Line {
        /// Its number, from 1.
        line: usize,
    },
    /// Nothing in it.
    #[error("it is empty: expected a copy of HEAD or lines of `SEQUENCE LINK`")]
    Empty,
}

/// Result of comparing a head from outside with a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Witnessed {
    /// Place where the head was kept.
    pub from: String,
    /// Its sequence.
    pub sequence: u64,
    /// Its link, 64 hexadecimal digits.
    pub link: String,
    /// Result of it.
    pub state: OutsideState,
    /// The link that the log has there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

holdpoint_domain::worded_enum! {
    /// Result of comparing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OutsideState {
        /// The record has this link: it and everything before it is what the head stands for.
        Matches = "matches",
        /// The record has another link.
        Differs = "differs",
        /// The log ends before that record.
        Missing = "the log ends before it",
        /// The head is of another log.
        OtherLog = "of another log",
        /// The record lies before the log's first one, in an archive.
        Archived = "in an archive, not here",
        /// The record lies behind damage, or was not read: nothing can be said.
        NotReached = "not reached",
    }
}

impl OutsideHead {
    /// The heads in a file: a copy of HEAD, or lines of `SEQUENCE LINK`; empty lines are left out.
    ///
    /// # Errors
    /// [`OutsideHeadError`]: the bytes are neither.
    pub fn parse(from: &str, bytes: &[u8]) -> Result<Vec<Self>, OutsideHeadError> {
        if bytes.starts_with(&HEAD_MAGIC) {
            let head = Head::decode(bytes).map_err(OutsideHeadError::Head)?;
            let (sequence, link) = (head.newest_sequence, head.newest_link);
            return Ok(vec![Self { from: from.to_string(), sequence, link, log: Some(head.log) }]);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| OutsideHeadError::Line { line: 1 })?;
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        let heads: Result<Vec<Self>, OutsideHeadError> = lines
            .map(|(text, line)| Self::line(from, text).ok_or(OutsideHeadError::Line { line }))
            .collect();
        match heads {
            Ok(heads) if heads.is_empty() => Err(OutsideHeadError::Empty),
            other => other,
        }
    }

    fn line(from: &str, line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (sequence, link) = (words.next()?.parse().ok()?, link_of(words.next()?)?);
        let is_all = words.next().is_none();
        is_all.then(|| Self { from: from.to_string(), sequence, link, log: None })
    }
}

fn link_of(digits: &str) -> Option<Link> {
    let mut link = [0; 32];
    let is_hex = digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    for (at, byte) in link.iter_mut().enumerate().filter(|_| is_hex) {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    is_hex.then_some(Link(link))
}

/// Heads while the log is read.
#[derive(Debug)]
pub(super) struct Comparison {
    heads: Vec<OutsideHead>,
    /// The link that the log has at each sequence that a head names.
    links: BTreeMap<u64, Option<Link>>,
    anchor: ChainPosition,
}

impl Comparison {
    pub(super) fn new(heads: &[OutsideHead], anchor: &ChainPosition) -> Self {
        let links = heads.iter().map(|head| (head.sequence, None)).collect();
        Self { heads: heads.to_vec(), links, anchor: *anchor }
    }

    pub(super) fn take(&mut self, batch: &[Committed]) {
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else { return };
        for (sequence, link) in self.links.range_mut(first.header.sequence..=last.header.sequence) {
            let named = batch.iter().find(|record| record.header.sequence == *sequence);
            *link = named.map(|record| record.header.link);
        }
    }

    /// One record that holds.
    pub(super) fn take_one(&mut self, place: &ChainPosition) {
        if let Some(link) = self.links.get_mut(&place.sequence) {
            *link = Some(place.link);
        }
    }

    /// The records that heads name, with their links.
    pub(super) fn named(&self) -> Vec<(u64, Link)> {
        self.heads.iter().map(|head| (head.sequence, head.link)).collect()
    }

    /// The newest record that a head proves.
    pub(super) fn proven_to(&self) -> u64 {
        let proven = self
            .heads
            .iter()
            .filter(|head| self.links.get(&head.sequence).copied().flatten() == Some(head.link));
        proven.map(|head| head.sequence).max().unwrap_or(0)
    }

    /// Returns what came of it, in a log that ends with a record, where that is known.
    pub(super) fn finish(self, log: Option<LogId>, end: Option<u64>) -> Vec<Witnessed> {
        self.heads.iter().map(|head| self.judged(head, log, end)).collect()
    }

    fn judged(&self, head: &OutsideHead, log: Option<LogId>, end: Option<u64>) -> Witnessed {
        let found = match head.sequence == self.anchor.sequence {
            true if head.sequence > 0 => Some(self.anchor.link),
            true => log.map(Link::genesis),
            false => self.links.get(&head.sequence).copied().flatten(),
        };
        let is_other = head.log.is_some_and(|named| log.is_some_and(|log| log != named));
        let state = match found {
            _ if is_other => OutsideState::OtherLog,
            Some(found) if found == head.link => OutsideState::Matches,
            Some(_) => OutsideState::Differs,
            None if head.sequence < self.anchor.sequence => OutsideState::Archived,
            None if end.is_some_and(|end| end < head.sequence) => OutsideState::Missing,
            None => OutsideState::NotReached,
        };
        Witnessed {
            from: head.from.clone(),
            sequence: head.sequence,
            link: head.link.to_string(),
            state,
            found: found.filter(|found| *found != head.link).map(|found| found.to_string()),
        }
    }
}

impl OutsideState {
    /// Returns whether the log is not what the head stands for.
    #[must_use]
    pub fn is_refuted(self) -> bool {
        matches!(self, Self::Differs | Self::Missing | Self::OtherLog)
    }

    /// Returns whether nothing can be said.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Archived | Self::NotReached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_a_copy_of_the_file_or_lines_and_what_is_neither_is_refused_by_its_line() {
        let link = "0f".repeat(32);
        let lines = format!("7 {link}\n\n  9\t{link}\n");
        let heads = OutsideHead::parse("kept", lines.as_bytes()).unwrap();
        assert_eq!(heads.iter().map(|head| head.sequence).collect::<Vec<_>>(), [7, 9]);
        assert_eq!(heads[0].link, Link([0x0f; 32]));
        let log = LogId([4; 16]);
        let head = Head::at_anchor(
            log,
            &ChainPosition::genesis(log),
            holdpoint_log_format::BootId([1; 16]),
        );
        let parsed = OutsideHead::parse("kept", &head.encode()).unwrap();
        assert_eq!((parsed[0].sequence, parsed[0].log), (0, Some(log)));
        let mut damaged = head.encode();
        damaged[20] ^= 1;
        let refused = OutsideHead::parse("kept", &damaged);
        assert!(matches!(refused, Err(OutsideHeadError::Head(_))));
        let refused = [
            ("", OutsideHeadError::Empty),
            ("\n \n", OutsideHeadError::Empty),
            ("7", OutsideHeadError::Line { line: 1 }),
            ("-1 00", OutsideHeadError::Line { line: 1 }),
            ("\n7 00", OutsideHeadError::Line { line: 2 }),
        ];
        for (text, error) in refused {
            assert_eq!(OutsideHead::parse("kept", text.as_bytes()), Err(error), "{text:?}");
        }
        let long = format!("7 {link} more");
        assert!(OutsideHead::parse("kept", long.as_bytes()).is_err());
        assert!(OutsideHead::parse("kept", &[0xff, 0xfe]).is_err());
    }
}
