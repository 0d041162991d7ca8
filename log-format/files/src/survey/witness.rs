//! HEAD and LOCK.

use super::{HeadFile, SurveyError, Surveyor, io_error, newer};
use crate::finding::Problem;
use crate::storage::{ReadFile, ReadStorage};
use holdpoint_log_format::recovery::{HeadEvidence, LastOwner};
use holdpoint_log_format::{BootId, Head, Lock, OwnerState, names};
use std::io;

/// More than any version of HEAD or LOCK has: a longer file is garbage without being read.
const WITNESS_LENGTH_MAX: u64 = 4_096;

impl<S: ReadStorage> Surveyor<'_, S> {
    pub(super) fn read_witnesses(&mut self) -> Result<(), SurveyError> {
        self.read_lock()?;
        let head = self.read_small(names::HEAD)?;
        self.survey.head = match head.map(|bytes| Head::decode(&bytes)) {
            None => HeadFile::Missing,
            Some(Ok(head)) => HeadFile::Valid(head),
            Some(Err(fault)) => match newer(names::HEAD, &fault) {
                Some(error) => return Err(error),
                None => HeadFile::Garbage(fault),
            },
        };
        self.survey.log = self.survey.head.valid().map(|head| head.log);
        self.survey.evidence.head = head_evidence(&self.survey.head);
        Ok(())
    }

    /// Whether the first segment is the one that HEAD's anchor names, as far as HEAD says.
    pub(super) fn begins_at_anchor(&self) -> bool {
        let first = self.survey.segments.first().map(|segment| segment.first_sequence);
        let anchor = self.survey.head.valid().map(|head| head.anchor_sequence);
        first.is_none_or(|first| anchor.is_none_or(|anchor| anchor.checked_add(1) == Some(first)))
    }

    /// Whether HEAD names another anchor now: further on each time, as anchors never go back.
    pub(super) fn anchor_has_moved(&mut self) -> Result<bool, SurveyError> {
        let Some(before) = self.survey.head.valid().copied() else { return Ok(false) };
        let now = self.read_small(names::HEAD)?.and_then(|bytes| Head::decode(&bytes).ok());
        Ok(now.is_some_and(|now| now.anchor_sequence > before.anchor_sequence))
    }

    /// Who owned the log, and how that owner left.
    pub(super) fn read_lock(&mut self) -> Result<(), SurveyError> {
        let bytes = self.read_small(names::LOCK)?;
        self.survey.lock = bytes.and_then(|bytes| Lock::decode(&bytes).ok());
        self.survey.evidence.last_owner = last_owner(self.survey.lock.as_ref(), self.options.boot);
        Ok(())
    }

    /// A small file whole. A name that is no regular file is a finding of the layout.
    fn read_small(&mut self, file: &str) -> Result<Option<Vec<u8>>, SurveyError> {
        let opened = match self.storage.open(file) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.layout_fault(file, 0, Problem::NotRegular);
                return Ok(None);
            }
            other => other.map_err(io_error(file))?,
        };
        opened.map(|file_handle| read_whole(&file_handle)).transpose().map_err(io_error(file))
    }
}

fn read_whole(file: &impl ReadFile) -> io::Result<Vec<u8>> {
    let length = file.length()?.min(WITNESS_LENGTH_MAX);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    let read = file.read_at(0, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes)
}

fn head_evidence(head: &HeadFile) -> HeadEvidence {
    match head {
        HeadFile::Missing => HeadEvidence::Missing,
        HeadFile::Garbage(_) => HeadEvidence::Garbage,
        HeadFile::Valid(head) if head.is_of_an_empty_log() => HeadEvidence::Empty,
        HeadFile::Valid(_) => HeadEvidence::Witness,
    }
}

fn last_owner(lock: Option<&Lock>, boot: BootId) -> LastOwner {
    let Some(lock) = lock else { return LastOwner::Unknown };
    if boot == BootId::UNKNOWN || lock.boot != boot {
        return LastOwner::OtherBoot;
    }
    match lock.verdict_state() {
        OwnerState::Idle | OwnerState::InTransaction => LastOwner::SameBoot,
        OwnerState::Poisoned => LastOwner::SameBootPoisoned,
        OwnerState::Recovering => LastOwner::SameBootRecovering,
    }
}
