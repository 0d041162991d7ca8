//! Acting on the recovery table: what an opener, or a writer that takes over from one that did not
//! leave cleanly, does before it serves, appends or marks anything.

use super::active::{Active, DiskError, DiskResult, Named, Point, write_pieces};
use super::create;
use super::error::OpenError;
use super::handle::{Options, Recovered};
use super::lock;
use super::roll;
use super::storage::Storage;
use super::witness;
use holdpoint_log_files::run::{Onward, walk};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    Extent, Follower, ReadFile, ReadStorage, Run, Stop, Survey, SurveyOptions, survey,
};
use holdpoint_log_format::limits::{PIECE_LENGTH, SEAL_LENGTH, SEGMENT_HEADER_LENGTH};
use holdpoint_log_format::recovery::{OpenAction, Row, row_without_witness};
use holdpoint_log_format::{Head, OwnerState, Seal, SegmentHeader, names};

/// A log that may be served: its tail is on the disk, and nothing follows it.
pub(super) struct Settled<W> {
    pub(super) active: Active<W>,
    pub(super) head: Head,
    pub(super) recovered: Recovered,
}

/// More actions than any state needs: a state that does not come to rest is refused.
const ACTIONS_MAX: usize = 6;

/// Brings a log to a state in which it may be written, or refuses and changes nothing.
pub(super) fn settle<S: Storage>(
    storage: &S,
    lock: &S::Lock,
    options: &Options,
) -> Result<Settled<S::Writer>, OpenError> {
    let mut recovered = Recovered::default();
    for _ in 0..ACTIONS_MAX {
        let survey = survey_tail(storage)?;
        let row = row_for(&survey, options);
        match row.action() {
            OpenAction::Refuse | OpenAction::RefuseUnlessWithoutHead => {
                return Err(refused(storage, row, survey));
            }
            OpenAction::Create if !options.create => {
                return Err(OpenError::NothingHere { path: storage.root().to_path_buf() });
            }
            OpenAction::Proceed | OpenAction::CutTail => {
                return finish(storage, lock, survey, row, recovered).map_err(disk(storage));
            }
            action => act(storage, lock, &survey, action, &mut recovered).map_err(disk(storage))?,
        }
    }
    Err(refused(storage, Row::Shape, survey_tail(storage)?))
}

pub(super) fn survey_tail<S: Storage>(storage: &S) -> Result<Survey, OpenError> {
    let options =
        SurveyOptions { extent: Extent::FromHead, boot: storage.boot(), is_being_written: false };
    survey(storage, options, &mut |_, _| {})
        .map_err(|source| OpenError::Survey { path: storage.root().to_path_buf(), source })
}

fn row_for(survey: &Survey, options: &Options) -> Row {
    match survey.row {
        Row::NoWitness if options.without_head => row_without_witness(&survey.evidence),
        row => row,
    }
}

fn refused<S: Storage>(storage: &S, row: Row, survey: Survey) -> OpenError {
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
    lock::mark_recovering(lock)?;
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
        (OpenAction::ResumeRoll, _, Some(last)) => {
            resume_roll(storage, survey, &last.header, &last.run)
        }
        _ => Ok(()),
    }
}

/// A blank last segment: a roll that lost power between the rename and its data.
fn set_aside<S: Storage>(storage: &S, survey: &Survey) -> DiskResult<()> {
    let Some(blank) = survey.segments.last() else { return Ok(()) };
    let from = segment_path(blank.first_sequence);
    let to = free_cut_path(storage, blank.first_sequence, 0)?;
    storage.rename(&from, &to).named("set aside", &from)?;
    storage.sync_directory(names::CUT).named("sync", names::CUT)?;
    storage.sync_directory(names::SEGMENTS).named("sync", names::SEGMENTS)
}

/// A sealed last segment: the tail is written again with its seal, then its successor is made.
fn resume_roll<S: Storage>(
    storage: &S,
    survey: &Survey,
    header: &SegmentHeader,
    run: &Run,
) -> DiskResult<()> {
    let Stop::Seal(seal) = run.stop else { return Ok(()) };
    let next = roll::successor(header, &seal, 0);
    let prepared = roll::prepare(storage, next.first_sequence(), next.capacity)?;
    let path = segment_path(header.first_sequence());
    let writer = storage.open_writer(&path).named("open", &path)?;
    let from = mark_end(storage, survey, header)?;
    let until = seal.offset + SEAL_LENGTH as u64;
    rewrite(storage, &writer, &path, from, until)?;
    storage.sync(&writer).named("sync", &path)?;
    roll::publish(storage, prepared, next)?;
    roll::punch_unused(storage, &writer, &seal, header.capacity);
    witness_seal(storage, survey, header, run, &seal)
}

fn witness_seal<S: Storage>(
    storage: &S,
    survey: &Survey,
    header: &SegmentHeader,
    run: &Run,
    seal: &Seal,
) -> DiskResult<()> {
    let point = Point {
        chain: seal.last,
        segment: header.first_sequence(),
        record_offset: run.record_offset,
        end_offset: run.end_offset,
    };
    match survey.head.valid() {
        Some(head) if run.record_offset > 0 => {
            witness::replace(storage, &witness::naming(head, &point, storage.boot()))
        }
        _ => Ok(()),
    }
}

/// The last steps: the tail is copied aside and overwritten if it is torn, what lies above the last
/// mark is written again, and one sync covers both. Only then is anything served.
fn finish<S: Storage>(
    storage: &S,
    lock: &S::Lock,
    survey: Survey,
    row: Row,
    mut recovered: Recovered,
) -> DiskResult<Settled<S::Writer>> {
    let Some(last) = survey.last.clone() else {
        return Err(std::io::Error::other("no segment is left")).named("open", names::SEGMENTS);
    };
    let path = segment_path(last.header.first_sequence());
    let writer = storage.open_writer(&path).named("open", &path)?;
    let cuts = row.action() == OpenAction::CutTail;
    if cuts || !left_cleanly(&survey) {
        lock::mark_recovering(lock)?;
        let reached = last.run.end_offset;
        let from = mark_end(storage, &survey, &last.header)?.min(reached);
        if let (true, Some(end)) = (cuts, last.tail_end) {
            recovered.copied_to = Some(copy_aside(storage, &last.header, reached, end)?);
            recovered.cut_bytes = end - reached;
            recovered.cut_offset = reached;
            recovered.segment = path.clone();
            lock::mark_overwriting(lock)?;
            overwrite(storage, &writer, &path, reached, last.header.capacity)?;
        }
        recovered.rewritten_bytes = reached - from;
        rewrite(storage, &writer, &path, from, reached)?;
        storage.sync(&writer).named("sync", &path)?;
    }
    recovered.proven_sequence = survey.mark;
    recovered.newest_sequence = last.run.chain.sequence;
    let run = Run::from(last.run.chain, last.run.record_offset, last.run.end_offset);
    let active = Active::new(Follower { header: last.header, run }, writer);
    let head = witness_settled(storage, &survey, &active, &mut recovered)?;
    Ok(Settled { active, head, recovered })
}

/// Replaces a HEAD that is missing or behind: everything up to the run's end is durable now.
fn witness_settled<S: Storage>(
    storage: &S,
    survey: &Survey,
    active: &Active<S::Writer>,
    recovered: &mut Recovered,
) -> DiskResult<Head> {
    let boot = storage.boot();
    let known = survey.head.valid().copied();
    recovered.without_head = known.is_none();
    let first = survey.segments.first().and_then(|segment| segment.header.as_ref().ok());
    let anchor = first.map_or(active.header().previous, |header| header.previous);
    let head = known.unwrap_or(Head::at_anchor(active.header().log, &anchor, boot));
    let newest =
        if active.is_empty() { head } else { witness::naming(&head, &active.point(), boot) };
    if known.is_none() {
        storage.remove(names::HEAD).named("remove", names::HEAD)?;
    }
    if known.is_none_or(|head| head.newest_sequence < newest.newest_sequence) {
        witness::replace(storage, &newest)?;
    }
    Ok(head)
}

/// Whether the last owner of this boot said that everything up to the run's end is durable.
fn left_cleanly(survey: &Survey) -> bool {
    use holdpoint_log_format::recovery::LastOwner;
    let reached = survey.last.as_ref().map_or(0, |last| last.run.chain.sequence);
    let says_so = survey
        .lock
        .is_some_and(|lock| lock.state == OwnerState::Idle && lock.durable_sequence >= reached);
    says_so && survey.evidence.last_owner == LastOwner::SameBoot
}

/// Offset behind the newest record of `header`'s segment that a mark covers.
fn mark_end<S: Storage>(storage: &S, survey: &Survey, header: &SegmentHeader) -> DiskResult<u64> {
    if survey.mark <= header.previous.sequence {
        return Ok(SEGMENT_HEADER_LENGTH as u64);
    }
    let path = segment_path(header.first_sequence());
    let mut window = open_window(storage, &path)?;
    let mut until_mark = |_: &_, record: &holdpoint_log_format::Record<'_>| {
        if record.header.sequence >= survey.mark { Onward::Stop } else { Onward::Go }
    };
    let run = walk(&mut window, header, Run::at_start(header), &mut until_mark);
    Ok(run.named("read", &path)?.end_offset)
}

/// Writes the same bytes again: after a failed sync the cache holds them, marked clean, and the
/// disk may not.
fn rewrite<S: Storage>(
    storage: &S,
    writer: &S::Writer,
    path: &str,
    from: u64,
    until: u64,
) -> DiskResult<()> {
    copy_range(storage, path, from, until, &mut |offset, bytes| {
        write_pieces(storage, writer, path, offset, bytes)
    })
}

fn copy_aside<S: Storage>(
    storage: &S,
    header: &SegmentHeader,
    from: u64,
    until: u64,
) -> DiskResult<String> {
    let to = free_cut_path(storage, header.first_sequence(), from)?;
    let copy = storage.create(&to, 0).named("create", &to)?;
    let path = segment_path(header.first_sequence());
    copy_range(storage, &path, from, until, &mut |offset, bytes| {
        storage.write_at(&copy, offset - from, bytes).named("write", &to)
    })?;
    storage.sync(&copy).named("sync", &to)?;
    storage.sync_directory(names::CUT).named("sync", names::CUT)?;
    Ok(to)
}

/// Zeros from `from` to the segment's end.
fn overwrite<S: Storage>(
    storage: &S,
    writer: &S::Writer,
    path: &str,
    from: u64,
    capacity: u64,
) -> DiskResult<()> {
    let zeros = vec![0; PIECE_LENGTH];
    let mut at = from;
    while at < capacity {
        let length = usize::try_from(capacity - at).unwrap_or(PIECE_LENGTH).min(PIECE_LENGTH);
        let piece = zeros.get(..length).unwrap_or_default();
        write_pieces(storage, writer, path, at, piece)?;
        at += length as u64;
    }
    Ok(())
}

fn copy_range<S: Storage>(
    storage: &S,
    path: &str,
    from: u64,
    until: u64,
    each: &mut dyn FnMut(u64, &[u8]) -> DiskResult<()>,
) -> DiskResult<()> {
    let mut window = open_window(storage, path)?;
    let mut at = from;
    while at < until {
        let length = (until - at).min(PIECE_LENGTH as u64);
        let bytes = window.bytes(at, length).named("read", path)?;
        if bytes.is_empty() {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
                .named("read", path);
        }
        each(at, bytes)?;
        at += bytes.len() as u64;
    }
    Ok(())
}

fn free_cut_path<S: Storage>(storage: &S, first: u64, offset: u64) -> DiskResult<String> {
    storage.create_directory(names::CUT).named("create", names::CUT)?;
    let taken = storage.list(names::CUT).named("list", names::CUT)?;
    let free = (1..=u32::MAX)
        .map(|number| names::cut(first, offset, number))
        .find(|name| taken.iter().all(|entry| entry.name != *name));
    let name = free.ok_or_else(|| std::io::Error::other("every name is taken"));
    Ok(format!("{}/{}", names::CUT, name.named("name a copy in", names::CUT)?))
}

fn open_window<S: Storage>(
    storage: &S,
    path: &str,
) -> DiskResult<Window<<S as ReadStorage>::File>> {
    let opened = storage.open(path).named("open", path)?;
    let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let file = opened.ok_or_else(gone).named("open", path)?;
    file.length().named("read", path)?;
    Window::new(file).named("read", path)
}

/// A failed call on the disk, as opening reports it.
pub(super) fn disk<S: Storage>(storage: &S) -> impl Fn(DiskError) -> OpenError {
    let root = storage.root().to_path_buf();
    move |error| {
        if error.is_full() {
            return OpenError::NoSpace { path: root.clone(), file: error.file, needed: 65_536 };
        }
        let path = if error.file == "." { root.clone() } else { root.join(&error.file) };
        OpenError::Io { operation: error.operation, path, source: error.source }
    }
}
