use super::Forged;
use crate::block::Block;
use crate::checksum;
use crate::layout::header;
use crate::log::{File, Log, RecordAt};

pub(super) type AttackResult<T> = Result<T, &'static str>;

const NO_RECORD: &str = "there is no such record";
const NO_SEGMENT: &str = "there is no such segment";

/// The variant's place among so many.
pub(super) fn pick(variant: u64, count: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    Some(match variant {
        0 => 0,
        1 => last / 2,
        2 => last,
        other => mixed(other) % count,
    })
}

/// A number that says nothing of the variant's neighbours.
pub(super) fn mixed(variant: u64) -> usize {
    (variant.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize
}

pub(super) fn some_of<T: Clone>(all: &[T], variant: u64) -> Option<T> {
    pick(variant, all.len()).map(|place| all[place].clone())
}

pub(super) fn a_record(log: &Log, variant: u64) -> AttackResult<RecordAt> {
    some_of(&log.records(), variant).ok_or(NO_RECORD)
}

/// A record that holds for what the attack needs.
pub(super) fn a_record_where(
    log: &Log,
    variant: u64,
    holds: impl Fn(RecordAt) -> bool,
) -> AttackResult<RecordAt> {
    let those: Vec<RecordAt> = log.records().into_iter().filter(|at| holds(*at)).collect();
    some_of(&those, variant).ok_or(NO_RECORD)
}

/// A record that another one stands behind in its segment.
pub(super) fn a_followed_record(log: &Log, variant: u64) -> AttackResult<RecordAt> {
    a_record_where(log, variant, |at| {
        log.segment(at.segment).items.get(at.item + 1).is_some_and(|next| next.record().is_some())
    })
}

pub(super) fn behind(at: RecordAt) -> RecordAt {
    RecordAt { item: at.item + 1, ..at }
}

pub(super) fn a_segment(log: &Log, variant: u64) -> AttackResult<usize> {
    pick(variant, log.segments().len()).ok_or(NO_SEGMENT)
}

pub(super) fn a_sealed_segment(log: &Log, variant: u64) -> AttackResult<usize> {
    let sealed =
        log.segments().into_iter().enumerate().filter(|(_, one)| one.seal_place().is_some());
    some_of(&sealed.map(|(place, _)| place).collect::<Vec<_>>(), variant).ok_or(NO_SEGMENT)
}

/// The last segment, which has no seal.
pub(super) fn active_segment(log: &Log) -> AttackResult<usize> {
    let last = log.segments().len().checked_sub(1).ok_or(NO_SEGMENT)?;
    let is_active = log.segment(last).seal_place().is_none();
    is_active.then_some(last).ok_or("the last segment is sealed")
}

/// The first record of a segment.
pub(super) fn first_record_of(log: &Log, segment: usize) -> AttackResult<RecordAt> {
    log.records().into_iter().find(|at| at.segment == segment).ok_or(NO_RECORD)
}

/// The path of a segment's file.
pub(super) fn path_of(log: &Log, segment: usize) -> String {
    log.segment_paths().swap_remove(segment)
}

/// The variant's one among the files with an ending.
pub(super) fn a_file(log: &Log, variant: u64, ending: &str) -> AttackResult<String> {
    let paths: Vec<String> =
        log.files.keys().filter(|path| path.ends_with(ending)).cloned().collect();
    some_of(&paths, variant).ok_or("there is no such file")
}

/// Changes HEAD, its checksum good.
pub(super) fn forge_head(log: &mut Log, change: impl FnOnce(&mut Block)) -> Forged {
    let block = log.head_mut().ok_or("there is no HEAD that can be changed")?;
    change(block);
    checksum::remake_of_block(block);
    Ok(())
}

/// Changes LOCK, its checksum good.
pub(super) fn forge_lock(log: &mut Log, change: impl FnOnce(&mut Block)) -> Forged {
    let block = log.lock_mut().ok_or("there is no LOCK that can be changed")?;
    change(block);
    checksum::remake_of_block(block);
    Ok(())
}

/// Whether there was room.
pub(super) fn room(has_room: bool) -> Forged {
    has_room.then_some(()).ok_or("there is no room for it")
}

/// Takes the bytes of an item away; what is behind it moves up.
pub(super) fn take_item(log: &mut Log, at: RecordAt) -> Forged {
    let segment = log.segment_mut(at.segment);
    segment.items.remove(at.item);
    room(segment.fit())
}

/// Takes the files of the first segments away, their indexes with them.
pub(super) fn remove_segments_before(log: &mut Log, segment: usize) {
    let sequence = log.segment(segment).header.number(header::FIRST_SEQUENCE);
    let is_before = |path: &String| {
        let name = path.strip_prefix("segments/").and_then(|name| name.get(..20));
        name.and_then(|digits| digits.parse::<u64>().ok()).is_some_and(|first| first < sequence)
    };
    log.files.retain(|path, _| !is_before(path));
}

/// Puts a file under a path.
pub(super) fn put(log: &mut Log, path: &str, file: File) {
    if let Some((directory, _)) = path.rsplit_once('/') {
        log.directories.insert(directory.into());
    }
    log.files.insert(path.into(), file);
}
