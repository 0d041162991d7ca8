//! The names in the log's directory.

use super::{HeadFile, HeaderBlock, SegmentFile, SurveyError, Surveyor, io_error, segment_path};
use crate::finding::Problem;
use crate::storage::{EntryKind, ReadStorage};
use holdpoint_log_format::names;
use std::io;

impl<S: ReadStorage> Surveyor<'_, S> {
    pub(super) fn read_listing(&mut self) -> Result<(), SurveyError> {
        let mut entries = self.storage.list("").map_err(io_error("."))?;
        entries.sort();
        for entry in entries {
            let due = match entry.name.as_str() {
                names::SEGMENTS | names::CUT => EntryKind::Directory,
                names::ARCHIVE | names::SYNC => EntryKind::File,
                _ => entry.kind,
            };
            self.survey.is_archive |= entry.name == names::ARCHIVE && entry.kind == due;
            let is_gitignore = entry.name == names::GITIGNORE;
            if !names::is_own(&entry.name) || is_gitignore && entry.kind != EntryKind::File {
                self.survey.evidence.has_foreign_names = true;
            } else if entry.kind != due {
                self.layout_fault(&entry.name, 0, Problem::NotRegular);
                return self.find_hidden();
            }
        }
        self.list_segments()?;
        self.set_leftovers_apart();
        self.find_missing_witness();
        Ok(())
    }

    /// No segment is looked at, and that they are there counts: HEAD alone may be missing. Where
    /// something else stands in the place of their directory, a LOCK says that there was a log.
    fn find_hidden(&mut self) -> Result<(), SurveyError> {
        self.survey.evidence.has_segments = match self.storage.list(names::SEGMENTS) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.survey.lock.is_some(),
            listed => {
                let listed = listed.map_err(io_error(names::SEGMENTS))?;
                listed.iter().any(|entry| names::parse_segment(&entry.name).is_some())
            }
        };
        if self.survey.head == HeadFile::Missing && self.survey.evidence.has_segments {
            self.find(names::HEAD, 0, 0, Problem::HeadMissing);
        }
        self.find_garbage_head();
        Ok(())
    }

    fn list_segments(&mut self) -> Result<(), SurveyError> {
        let listed = self.storage.list(names::SEGMENTS).map_err(io_error(names::SEGMENTS))?;
        let named = listed
            .iter()
            .filter_map(|entry| Some((names::parse_segment(&entry.name)?, entry.kind)));
        let mut named: Vec<(u64, EntryKind)> = named.collect();
        named.sort_unstable_by_key(|(first_sequence, _)| *first_sequence);
        for (first_sequence, kind) in named {
            self.survey.evidence.has_segments = true;
            if kind == EntryKind::File {
                let header = HeaderBlock::NotRead;
                self.survey.segments.push(SegmentFile { first_sequence, length: 0, header });
            } else {
                let path = segment_path(first_sequence);
                self.layout_fault(&path, first_sequence, Problem::NotRegular);
            }
        }
        Ok(())
    }

    /// Sets apart the segments before the one behind HEAD's anchor: where that one is there, they
    /// are no part of the log.
    fn set_leftovers_apart(&mut self) {
        let Some(anchor) = self.survey.head.valid().map(|head| head.anchor_sequence) else {
            return;
        };
        let first = anchor.saturating_add(1);
        let segments = &mut self.survey.segments;
        if let Some(begin) = segments.iter().position(|segment| segment.first_sequence == first) {
            let leftovers = segments.drain(..begin).map(|segment| segment.first_sequence);
            self.survey.leftovers = leftovers.collect();
        }
    }

    /// HEAD missing or garbage, or no segment where HEAD or LOCK tells of records.
    fn find_missing_witness(&mut self) {
        self.find_garbage_head();
        let has_segments = self.survey.evidence.has_segments;
        if has_segments {
            if self.survey.head == HeadFile::Missing {
                self.find(names::HEAD, 0, 0, Problem::HeadMissing);
            }
            return;
        }
        let witnessed = self.survey.head.valid().map_or(0, |head| head.newest_sequence);
        let newest = witnessed.max(self.known_durable());
        if newest > 0 {
            self.find(names::SEGMENTS, 0, newest, Problem::SegmentsGone { newest });
        }
    }

    fn find_garbage_head(&mut self) {
        if let HeadFile::Garbage(fault) = self.survey.head.clone() {
            self.find(names::HEAD, 0, 0, fault);
        }
    }

    /// Records a fault of the layout: something else in the place of a log's own file makes the
    /// directory somebody else's where there is no log yet.
    pub(super) fn layout_fault(&mut self, file: &str, sequence: u64, problem: Problem) {
        self.survey.evidence.has_foreign_names |= problem == Problem::NotRegular;
        self.find(file, 0, sequence, problem);
        self.survey.evidence.has_layout_fault = true;
    }
}
