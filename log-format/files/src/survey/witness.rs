//! HEAD and LOCK, and what they say of the log's end.

use super::{HeadFile, Survey, SurveyError, Surveyor, io_error};
use crate::finding::Problem;
use crate::head::{read_head, read_witness};
use crate::storage::ReadStorage;
use holdpoint_log_format::recovery::{HeadEvidence, LastOwner, Row};
use holdpoint_log_format::{BootId, ChainPosition, Lock, OwnerState, names};

/// Extent to which a log vouches for its own records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The newest record that HEAD names; 0 where it names none.
    pub witnessed: u64,
    /// The newest record that a mark, or LOCK in the boot of its owner, says to be durable.
    pub durable: u64,
}

impl Survey {
    /// Returns how far the log vouches for its own records.
    #[must_use]
    pub fn reached(&self) -> Reached {
        let witnessed = self.head.valid().map_or(0, |head| head.newest_sequence);
        Reached { witnessed, durable: self.mark.max(self.durable_by_lock()) }
    }

    /// The newest record that LOCK, in the boot of its owner, says to be durable; else 0.
    #[must_use]
    pub fn durable_by_lock(&self) -> u64 {
        let is_of_boot =
            !matches!(self.evidence.last_owner, LastOwner::Unknown | LastOwner::OtherBoot);
        let lock = self.lock.filter(|_| is_of_boot);
        lock.map_or(0, |lock| lock.durable_sequence)
    }

    /// The newest record, where nothing is wrong with the end of the log: HEAD's record is there,
    /// the records behind it follow from it, and none is missing that is said to be durable. What
    /// an interrupted write left behind it is no record.
    #[must_use]
    pub fn sound_end(&self) -> Option<ChainPosition> {
        let is_sound = match self.row {
            Row::BlankSegment
            | Row::SealedLast
            | Row::Clean
            | Row::CleanUnproven
            | Row::TornTail => self.findings.is_empty(),
            _ => false,
        };
        let newest = self.last.as_ref().map(|last| last.run.chain);
        newest.filter(|newest| is_sound && newest.sequence >= self.reached().durable)
    }
}

impl<S: ReadStorage> Surveyor<'_, S> {
    pub(super) fn read_witnesses(&mut self) -> Result<(), SurveyError> {
        self.read_lock()?;
        self.survey.head = match read_head(self.storage)? {
            Ok(head) => HeadFile::Valid(head),
            Err(Problem::Fault(fault)) => HeadFile::Garbage(fault),
            Err(Problem::NotRegular) => {
                self.layout_fault(names::HEAD, 0, Problem::NotRegular);
                HeadFile::Missing
            }
            Err(_) => HeadFile::Missing,
        };
        self.survey.log = self.survey.head.valid().map(|head| head.log);
        self.survey.evidence.head = head_evidence(&self.survey.head);
        Ok(())
    }

    /// Returns whether the first segment is the one that HEAD's anchor names, as far as HEAD says.
    pub(super) fn begins_at_anchor(&self) -> bool {
        let first = self.survey.segments.first().map(|segment| segment.first_sequence);
        let anchor = self.survey.head.valid().map(|head| head.anchor_sequence);
        first.is_none_or(|first| anchor.is_none_or(|anchor| anchor.checked_add(1) == Some(first)))
    }

    /// Returns whether HEAD names another anchor now: further on each time, as anchors never go
    /// back.
    pub(super) fn anchor_has_moved(&mut self) -> Result<bool, SurveyError> {
        let Some(before) = self.survey.head.valid().copied() else { return Ok(false) };
        let now = read_head(self.storage)?;
        Ok(now.is_ok_and(|now| now.anchor_sequence > before.anchor_sequence))
    }

    /// Reads who owned the log, and how that owner left.
    pub(super) fn read_lock(&mut self) -> Result<(), SurveyError> {
        let bytes = match read_witness(self.storage, names::LOCK).map_err(io_error(names::LOCK))? {
            Some(Err(problem)) => {
                self.layout_fault(names::LOCK, 0, problem);
                None
            }
            read => read.and_then(Result::ok),
        };
        self.survey.lock = bytes.and_then(|bytes| Lock::decode(&bytes).ok());
        self.survey.evidence.last_owner = last_owner(self.survey.lock.as_ref(), self.options.boot);
        Ok(())
    }
}

/// The newest record that LOCK, where it is of this boot, says to have been durable; else 0.
pub(crate) fn durable_by(lock: Option<&Lock>, boot: BootId) -> u64 {
    let lock = lock.filter(|lock| boot != BootId::UNKNOWN && lock.boot == boot);
    lock.map_or(0, |lock| lock.durable_sequence)
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
