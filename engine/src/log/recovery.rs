//! Acting on the recovery table: what an opener, or a writer that takes over from one that did not
//! leave cleanly, does before it serves, appends or marks anything.

use super::active::{Active, DiskError, DiskResult, IoContext, Point};
use super::create;
use super::error::OpenError;
use super::head_file;
use super::lock::{self, LockHolder};
use super::options::{Options, Recovered};
use super::roll;
use super::segment_lock::{CHANGES_MAX, LockedFile, is_named_last, lock_last};
use super::shared_sync::{is_abandoned, page, synced};
use super::storage::{Board, LockFile, Storage, WriteFile};
use super::tail::{copy_aside, free_cut_path, open_window, overwrite, rewrite};
use holdpoint_log_files::later::is_end_told;
use holdpoint_log_files::run::walk;
use holdpoint_log_files::survey::LastSegment;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{Extent, Follower, Run, Stop, Survey, SurveyOptions, survey};
use holdpoint_log_format::board::Synced;
use holdpoint_log_format::limits::{SEAL_LENGTH, next_capacity};
use holdpoint_log_format::recovery::{OpenAction, Row, row_without_witness};
use holdpoint_log_format::{Head, OwnerState, names};
use std::ops::ControlFlow;

/// A log that may be served: its tail is on the disk, and nothing follows it.
pub(super) struct Settled<W: WriteFile> {
    pub(super) active: Active<W>,
    pub(super) head: Head,
    pub(super) recovered: Recovered,
    /// Number of shared syncs that were begun when the active segment was opened.
    pub(super) opened: u64,
    /// The newest record that is known to be durable, where others have yet to sync what they left
    /// behind it: nothing of that is served before a shared sync has covered it.
    pub(super) awaits_behind: Option<u64>,
}

impl<W: WriteFile> Settled<W> {
    /// The newest record that HEAD is not to name any more: where it is missing, it follows only
    /// what is appended.
    pub(super) fn witnessed(&self) -> u64 {
        self.head.newest_sequence.max(self.recovered.found_without_head())
    }
}

/// More actions than any state needs: a state that does not come to rest is refused.
const ACTIONS_MAX: usize = 6;

/// Brings a log to a state in which it may be written, or refuses and changes nothing. Its last
/// segment is locked before anything is looked at, and is when this returns. With a board, what
/// others left to be synced is left to that.
pub(super) fn settle<S: Storage>(
    storage: &S,
    lock: &S::Lock,
    board: Option<&dyn Board>,
    options: &Options,
) -> Result<Settled<S::Writer>, OpenError> {
    let mut recovered = Recovered::default();
    let mut segment = None;
    let opened = begun_syncs(storage, lock).map_err(disk(storage))?;
    for _ in 0..ACTIONS_MAX {
        let (locked, survey) = lock_and_survey(storage, segment.take(), options)?;
        let row = row_for(&survey, options);
        if is_refusal(row) {
            return Err(refused(storage, row, survey));
        }
        segment = locked?;
        match row.action() {
            OpenAction::Create if !options.create => {
                return Err(OpenError::NothingHere { path: storage.root().to_path_buf() });
            }
            OpenAction::Proceed | OpenAction::CutTail => {
                let board = board.filter(|_| row.action() == OpenAction::Proceed);
                let left = board.map_or(Ok(None), |board| left_to_others(storage, board, &survey));
                let left = left.map_err(disk(storage))?;
                if let Some(durable) = left
                    && let (Some(last), Some(head)) = (&survey.last, survey.head.valid().copied())
                    && let Some(segment) = segment.take()
                {
                    recovered.proven_sequence = survey.mark;
                    recovered.newest_sequence = last.run.chain.sequence;
                    recovered.is_end_known = true;
                    let awaits_behind = Some(durable);
                    let active = activated(last, segment);
                    return Ok(Settled { active, head, recovered, opened, awaits_behind });
                }
                let finished = finish(storage, lock, segment, survey, row, recovered);
                return finished.map(|it| Settled { opened, ..it }).map_err(disk(storage));
            }
            action => act(storage, lock, &survey, action, &mut recovered).map_err(disk(storage))?,
        }
    }
    Err(refused(storage, Row::Shape, survey_tail(storage)?))
}

/// The lock of the last segment, or why it is not had, and what is found behind it. What is refused
/// whoever has the lock is told first: so the first is looked at after the second.
fn lock_and_survey<S: Storage>(
    storage: &S,
    mut held: Option<LockedFile<S::Writer>>,
    options: &Options,
) -> Result<(LastLock<S::Writer>, Survey), OpenError> {
    for _ in 0..CHANGES_MAX {
        let locked = lock_last(storage, held.take(), options.lock_wait);
        let locked = locked.map_err(disk(storage)).and_then(|it| it.map_err(locked_by(storage)));
        let survey = survey_tail(storage)?;
        let Ok(Some(lock)) = locked else { return Ok((locked, survey)) };
        let is_refused = is_refusal(row_for(&survey, options));
        if is_refused || is_named_last(storage, &lock, &survey).map_err(disk(storage))? {
            return Ok((Ok(Some(lock)), survey));
        }
        held = Some(lock);
    }
    let moving = std::io::Error::other("the last one is replaced again and again");
    Err(moving).named("lock", names::SEGMENTS).map_err(disk(storage))
}

type LastLock<W> = Result<Option<LockedFile<W>>, OpenError>;

/// Returns what opening for writing looks at. An archive is refused whatever state it is in.
pub(super) fn survey_tail<S: Storage>(storage: &S) -> Result<Survey, OpenError> {
    let path = || storage.root().to_path_buf();
    let options = SurveyOptions::new(Extent::FromHead, storage.boot());
    let survey = survey(storage, options, &mut |_, _| {})
        .map_err(|source| OpenError::Survey { path: path(), source })?;
    match survey.is_archive {
        true => Err(OpenError::Archive { path: path(), log: survey.log }),
        false => Ok(survey),
    }
}

/// The row that opening acts on.
pub(super) fn row_for(survey: &Survey, options: &Options) -> Row {
    match survey.row {
        Row::NoWitness if options.without_head => row_without_witness(&survey.evidence),
        row => row,
    }
}

pub(super) fn is_refusal(row: Row) -> bool {
    matches!(row.action(), OpenAction::Refuse | OpenAction::RefuseUnlessWithoutHead)
}

pub(super) fn refused<S: Storage>(storage: &S, row: Row, survey: Survey) -> OpenError {
    let path = storage.root().to_path_buf();
    match row {
        Row::Foreign => OpenError::Foreign { path },
        _ => OpenError::Refused { path, row, findings: survey.findings },
    }
}

/// The actions after which the table is asked again.
fn act<S: Storage>(
    storage: &S,
    lock: &S::Lock,
    survey: &Survey,
    action: OpenAction,
    recovered: &mut Recovered,
) -> DiskResult<()> {
    match action {
        OpenAction::Create | OpenAction::FinishCreation => lock::mark_creating(lock)?,
        _ => lock::mark_recovering(lock)?,
    }
    let head = survey.head.valid();
    match (action, head, survey.last.as_ref()) {
        (OpenAction::Create, _, _) => {
            recovered.created = true;
            create::new_log(storage, storage.boot()).map(drop)
        }
        (OpenAction::FinishCreation, Some(head), _) => {
            create::first_segment(storage, head).map(drop)
        }
        (OpenAction::RedoRoll, _, _) => set_aside(storage, survey),
        (OpenAction::ResumeRoll, _, Some(last)) => resume_roll(storage, survey.mark, last),
        _ => Ok(()),
    }
}

/// A blank last segment: a roll that lost power between the rename and its data.
fn set_aside<S: Storage>(storage: &S, survey: &Survey) -> DiskResult<()> {
    let Some(blank) = survey.segments.last() else { return Ok(()) };
    let from = segment_path(blank.first_sequence);
    let to = free_cut_path(storage, blank.first_sequence, 0)?;
    // Without a segment behind the anchor, those before it would be taken for the log's.
    let anchored = survey.head.valid().filter(|_| !survey.leftovers.is_empty());
    if let (Some(head), [blank]) = (anchored, survey.segments.as_slice()) {
        let length = blank.length;
        let copy = storage.create(&to, length).named_needing("create", &to, length)?;
        storage.sync(&copy).named("sync", &to)?;
        storage.sync_directory(names::CUT).named("sync", names::CUT)?;
        return create::first_segment(storage, head).map(drop);
    }
    storage.rename(&from, &to).named("set aside", &from)?;
    storage.sync_directory(names::CUT).named("sync", names::CUT)?;
    storage.sync_directory(names::SEGMENTS).named("sync", names::SEGMENTS)
}

/// A sealed last segment: the tail is written again with its seal, then its successor is made.
fn resume_roll<S: Storage>(storage: &S, mark: u64, last: &LastSegment) -> DiskResult<()> {
    let Stop::Seal(seal) = last.run.stop else { return Ok(()) };
    let header = &last.header;
    let next = roll::successor(header, &seal, next_capacity(header.capacity, 0));
    let prepared = roll::prepare(storage, next.first_sequence(), next.capacity)?;
    let path = segment_path(header.first_sequence());
    let writer = storage.open_writer(&path).named("open", &path)?;
    let from = mark_end(storage, mark, last)?;
    let until = seal.offset + SEAL_LENGTH as u64;
    rewrite(storage, &writer, &path, from, until)?;
    storage.sync(&writer).named("sync", &path)?;
    roll::publish(storage, prepared, next)?;
    roll::punch_unused(storage, &writer, &seal, header.capacity);
    Ok(())
}

/// The last steps: the tail is copied aside and overwritten if it is torn, what lies above the last
/// mark is written again, and one sync covers both. Only then is anything served.
fn finish<S: Storage>(
    storage: &S,
    lock: &S::Lock,
    segment: Option<LockedFile<S::Writer>>,
    survey: Survey,
    row: Row,
    mut recovered: Recovered,
) -> DiskResult<Settled<S::Writer>> {
    let (Some(last), Some(segment)) = (survey.last.clone(), segment) else {
        return Err(std::io::Error::other("no segment is left")).named("open", names::SEGMENTS);
    };
    let path = segment_path(last.header.first_sequence());
    let writer = segment.file();
    let cuts = row.action() == OpenAction::CutTail;
    if cuts || !left_cleanly(&survey) {
        let was_cut = !recovered.created && was_overwriting(&survey);
        lock::mark_recovering(lock)?;
        let reached = last.run.end_offset;
        let from = mark_end(storage, survey.mark, &last)?.min(reached);
        if let (true, Some(end)) = (cuts, last.tail_end) {
            recovered.copied_to = Some(copy_aside(storage, &last.header, reached, end)?);
            recovered.cut_bytes = end - reached;
            recovered.cut_offset = reached;
            recovered.segment = path.clone();
            lock::mark_overwriting(lock)?;
        }
        if cuts || was_cut {
            overwrite(storage, writer, &path, reached, last.header.capacity)?;
        }
        recovered.rewritten_bytes = reached - from;
        rewrite(storage, writer, &path, from, reached)?;
        storage.sync(writer).named("sync", &path)?;
        sync_names(storage)?;
    }
    recovered.proven_sequence = survey.mark;
    recovered.newest_sequence = last.run.chain.sequence;
    let active = activated(&last, segment);
    let head = witness_settled(storage, lock, &survey, &active, &mut recovered)?;
    Ok(Settled { active, head, recovered, opened: 0, awaits_behind: None })
}

/// The last segment, at its newest record.
fn activated<W: WriteFile>(last: &LastSegment, segment: LockedFile<W>) -> Active<W> {
    let run = Run::from(last.run.chain, last.run.record_offset, last.run.end_offset);
    Active::new(Follower { header: last.header, run }, segment)
}

/// Returns what is durable, where the last owner of this boot left cleanly and others wait to sync
/// what was appended behind that. `None` where nobody does, or nobody knows how a sync of theirs
/// ended.
fn left_to_others<S: Storage>(
    storage: &S,
    board: &dyn Board,
    survey: &Survey,
) -> DiskResult<Option<u64>> {
    use holdpoint_log_format::recovery::LastOwner;
    let is_idle = survey.lock.is_some_and(|lock| lock.state == OwnerState::Idle);
    let is_of_boot = survey.evidence.last_owner == LastOwner::SameBoot;
    if left_cleanly(survey) || !is_idle || !is_of_boot {
        return Ok(None);
    }
    // A program that knows of no shared sync left this: it syncs nothing more.
    let is_shared = Synced::find(&page(board)?).is_some_and(|it| it.boot == storage.boot());
    let is_known = is_shared && !is_abandoned(storage, board)?;
    Ok(is_known.then(|| survey.mark.max(survey.durable_by_lock())))
}

/// Number of shared syncs that LOCK says were begun.
fn begun_syncs<S: Storage>(storage: &S, lock: &S::Lock) -> DiskResult<u64> {
    let page = lock.read().named("read", names::LOCK)?;
    Ok(synced(&page, storage.boot()).count)
}

/// Syncs the names of the log's files, which a process that did not leave cleanly may not have made
/// durable. What it prepared and did not name is of no use any more.
fn sync_names<S: Storage>(storage: &S) -> DiskResult<()> {
    roll::remove_prepared(storage);
    storage.sync_directory(names::SEGMENTS).named("sync", names::SEGMENTS)?;
    storage.sync_directory("").named("sync", ".")
}

/// Replaces a HEAD that is behind, and gives the one that is there then: everything up to the
/// run's end is durable now. On a full disk the HEAD that is there stays for now.
///
/// Who comes next takes HEAD for durable where LOCK says that all was left cleanly. So LOCK does
/// not say that while HEAD is replaced: this process may fail before HEAD's name is synced.
fn witness_settled<S: Storage>(
    storage: &S,
    lock: &S::Lock,
    survey: &Survey,
    active: &Active<S::Writer>,
    recovered: &mut Recovered,
) -> DiskResult<Head> {
    let boot = storage.boot();
    let Some(head) = survey.head.valid().copied() else {
        return without_head(storage, survey, active, recovered);
    };
    recovered.is_end_known = true;
    let point = newest_point(storage, survey, active)?;
    let newest = point.map_or(head, |point| head_file::naming(&head, &point, boot));
    if head.newest_sequence >= newest.newest_sequence {
        return Ok(head);
    }
    lock::mark_recovering(lock)?;
    match head_file::replace(storage, &newest) {
        Err(error) if error.is_full() => Ok(head),
        other => other.map(|()| newest),
    }
}

/// Returns the HEAD for a log whose HEAD is missing; none is made before what is appended says so:
/// a process that fails until then has accepted nothing.
fn without_head<S: Storage>(
    storage: &S,
    survey: &Survey,
    active: &Active<S::Writer>,
    recovered: &mut Recovered,
) -> DiskResult<Head> {
    let (log, newest) = (active.header().log, recovered.newest_sequence);
    let told = is_end_told(storage, survey, log, newest).map_err(std::io::Error::other);
    recovered.without_head = true;
    recovered.is_end_known = told.named("read", ".")?;
    let first = survey.segments.first().and_then(|segment| segment.header.valid());
    let anchor = first.map_or(active.header().previous, |header| header.previous);
    Ok(Head::at_anchor(log, &anchor, storage.boot()))
}

/// Place of the newest record: in the segment before when the active one holds none.
fn newest_point<S: Storage>(
    storage: &S,
    survey: &Survey,
    active: &Active<S::Writer>,
) -> DiskResult<Option<Point>> {
    if !active.is_empty() {
        return Ok(Some(active.point()));
    }
    let newest = active.chain();
    let witnessed = survey.head.valid().map_or(0, |head| head.newest_sequence);
    let before = survey.segments.iter().rev().filter_map(|segment| segment.header.valid());
    let Some(header) = before.into_iter().find(|header| header.previous.sequence < newest.sequence)
    else {
        return Ok(None);
    };
    if witnessed >= newest.sequence {
        return Ok(None);
    }
    let path = segment_path(header.first_sequence());
    let mut window = open_window(storage, &path)?;
    let run =
        walk(&mut window, header, Run::at_start(header), &mut |_, _| ControlFlow::Continue(()))
            .named("read", &path)?;
    let point = Point::of(header, &run);
    Ok(Some(point).filter(|point| point.chain == newest))
}

/// Returns whether the last owner was overwriting the tail with zeros. They may be in the cache
/// only, marked clean by a sync that failed: written once more, they are on the disk, and what they
/// cover cannot come back behind records that are appended in its place. The boot in LOCK is that
/// of the owner before, so it is not asked for.
fn was_overwriting(survey: &Survey) -> bool {
    survey.lock.is_some_and(|lock| lock.verdict_state() == OwnerState::Recovering)
}

/// Returns whether the last owner of this boot said that everything up to the run's end is durable.
fn left_cleanly(survey: &Survey) -> bool {
    use holdpoint_log_format::recovery::LastOwner;
    let reached = survey.last.as_ref().map_or(0, |last| last.run.chain.sequence);
    let says_so = survey
        .lock
        .is_some_and(|lock| lock.state == OwnerState::Idle && lock.durable_sequence >= reached);
    says_so && survey.evidence.last_owner == LastOwner::SameBoot
}

/// Offset behind the newest record of the segment that a mark covers. What lies before the survey
/// began is covered by HEAD.
fn mark_end<S: Storage>(storage: &S, mark: u64, last: &LastSegment) -> DiskResult<u64> {
    let header = &last.header;
    if mark <= last.began.chain.sequence {
        return Ok(last.began.end_offset);
    }
    let path = segment_path(header.first_sequence());
    let mut window = open_window(storage, &path)?;
    let mut until_mark = |_: &_, record: &holdpoint_log_format::Record<'_>| {
        if record.header.sequence >= mark {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let run = walk(&mut window, header, last.began.clone(), &mut until_mark);
    Ok(run.named("read", &path)?.end_offset)
}

/// A lock that somebody else has, as opening reports it.
pub(super) fn locked_by<S: Storage>(storage: &S) -> impl Fn(LockHolder) -> OpenError {
    let root = storage.root().to_path_buf();
    move |LockHolder { pid, waited }| OpenError::Locked { path: root.clone(), pid, waited }
}

/// A failed call on the disk, as opening reports it.
pub(super) fn disk<S: Storage>(storage: &S) -> impl Fn(DiskError) -> OpenError {
    let root = storage.root().to_path_buf();
    move |error| {
        if error.is_full() {
            let (path, needed, free) = (root.clone(), error.needed, storage.free());
            return OpenError::NoSpace { path, file: error.file, needed, free };
        }
        let path = if error.file == "." { root.clone() } else { root.join(&error.file) };
        OpenError::Io { operation: error.operation, path, source: error.source }
    }
}
