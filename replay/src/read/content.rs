//! Results that the threads that check records make of them: events, decoded, and the hashes of
//! their evidence.

use super::Content;
use super::stock::decode_boxed;
use crate::finding::{Finding, Problem};
use crate::indexed_as_read::{TermsOfEvent, terms_of_event};
use holdpoint_domain::evidence_capture::{EvidenceCaptured, EvidenceHashes, EvidenceMessages};
use holdpoint_domain::log::{RECORDS_UNPROVEN, RULES_ADOPTED, SALVAGED};
use holdpoint_domain::world::envelope::{check, decode_causation};
use holdpoint_domain::world::is_registered;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{Place, Problem as LogProblem, RecordPlace};
use holdpoint_log_format::{Record, RecordHeader};
use holdpoint_sha256_lanes::digest_each;
use std::cell::RefCell;
use std::thread::{self, ThreadId};

/// Result of a worker for a record.
pub(super) struct WorkerResult {
    pub(super) content: Content,
    pub(super) beside: Beside,
}

/// Facts that a worker tells of a content, of which none is part of the record: records are equal
/// that are so without them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beside {
    /// Hashes of its evidence, where it was hashed with that of others.
    pub(crate) evidence: Option<EvidenceHashes>,
    /// Terms that its segment's index keeps of it, where that is built and they were made already.
    pub(crate) terms: Option<TermsOfEvent>,
    /// The thread that decoded it.
    pub(crate) made_by: Option<ThreadId>,
}

impl PartialEq for Beside {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Beside {}

impl WorkerResult {
    pub(super) fn of(content: Content) -> Self {
        Self { content, beside: Beside::default() }
    }

    fn captured(&self) -> Option<&EvidenceCaptured> {
        let Content::Event(envelope) = &self.content else { return None };
        envelope.event.captured()
    }
}

/// Says of a block of records who decoded it. Where they are judged, their evidence is hashed at
/// once; where indexes are built, so are their terms.
pub(super) fn complete(block: &mut [WorkerResult], are_judged: bool, are_indexed: bool) {
    let own = thread::current().id();
    block.iter_mut().for_each(|made| made.beside.made_by = Some(own));
    if are_judged {
        hash_evidence(block);
    }
    if are_indexed {
        for WorkerResult { content, beside } in block {
            if let Content::Event(envelope) = content {
                beside.terms = terms_of_event(envelope);
            }
        }
    }
}

thread_local! {
    /// Evidence messages of this thread: what it hashes of one block takes the room of the one
    /// before.
    static EVIDENCE: RefCell<EvidenceMessages> = RefCell::default();
}

fn hash_evidence(block: &mut [WorkerResult]) {
    EVIDENCE.with_borrow_mut(|messages| {
        messages.clear();
        block.iter().filter_map(WorkerResult::captured).for_each(|body| messages.add(body));
        let captured = block.iter_mut().filter(|made| made.captured().is_some());
        for (made, hashes) in captured.zip(messages.hashes(digest_each)) {
            made.beside.evidence = Some(hashes);
        }
    });
}

/// The kinds of events that say which records are unproven.
const SAY_UNPROVEN: [u16; 2] = [SALVAGED, RECORDS_UNPROVEN];

/// Returns what a record says. One that is not wanted is decoded only where it says what is
/// unproven.
pub(crate) fn content_of(record: &Record<'_>, wanted: &dyn Fn(&RecordHeader) -> bool) -> Content {
    let header = &record.header;
    if header.flags.withheld() {
        return Content::Withheld;
    }
    if !wanted(header) && !SAY_UNPROVEN.contains(&header.kind) {
        return Content::NotRead;
    }
    match decode_boxed(header.kind, header.version, record.payload) {
        Ok(envelope) => Content::Event(envelope),
        Err(error) if error.is_opaque() => Content::Opaque,
        Err(error) => Content::Undecodable(error),
    }
}

/// Why nobody can tell what a record says: its payload is withheld, or cannot be read. What is
/// opaque says nothing. The same as [`Committed::unread`](super::Committed::unread), for whoever
/// keeps nothing of what it says.
pub(crate) fn unread(place: &RecordPlace, record: &Record<'_>) -> Option<Finding> {
    let Record { header, payload } = record;
    let (kind, version) = (header.kind, header.version);
    let problem = match check(kind, version, payload) {
        Err(error) if error.is_opaque() => return None,
        _ if header.flags.withheld() => Problem::Log(LogProblem::Withheld),
        Ok(()) => return None,
        Err(error) => Problem::Payload { kind, version, error },
    };
    let (file, offset) = (segment_path(place.segment), place.offset);
    Some(Finding { place: Place { file, offset, sequence: header.sequence }, problem })
}

/// The finding that only a newer program knows what a record says. Of what this program knows, only
/// statements of rules are decoded.
pub(crate) fn not_known(place: &RecordPlace, record: &Record<'_>) -> Option<Finding> {
    let header = &record.header;
    let may_be = header.kind == RULES_ADOPTED || !is_registered(header.kind, header.version);
    may_be.then(|| unread(place, record)).flatten().filter(Finding::is_of_unknown_kind)
}

/// Returns what a record names as its cause, by its heading alone: the body is not looked at.
/// `None` where the heading cannot be read.
pub(crate) fn cause_named_by(record: &Record<'_>) -> Option<Option<u64>> {
    let header = &record.header;
    if header.flags.withheld() {
        return None;
    }
    decode_causation(header.kind, header.version, record.payload).ok()
}
