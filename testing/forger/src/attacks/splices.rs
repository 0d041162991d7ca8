use super::places::{AttackResult, a_record, a_segment, path_of, put, some_of};
use super::{Attack, Forged, row};
use crate::log::{File, Log, RecordAt};
use crate::segment::Item;

const NOT_MADE: &str = "no such other log can be made";

pub(super) const ATTACKS: &[Attack] = &[
    row(
        "splice-record-of-other-log",
        "A record was replaced by that of another log that says the same.",
        record_of_other_log,
    ),
    row(
        "splice-record-of-other-log-with-checksum",
        "A record was replaced by that of another log, with a checksum for this one.",
        record_with_checksum,
    ),
    row(
        "splice-segment-of-other-log",
        "A segment was replaced by that of another log.",
        segment_of_other_log,
    ),
    row(
        "splice-segments-of-other-log",
        "All segments were replaced by those of another log.",
        segments_of_other_log,
    ),
    row("splice-head-of-other-log", "HEAD was replaced by that of another log.", head_of_other_log),
    row(
        "splice-record-of-other-segment",
        "A record was replaced by one of another segment.",
        record_of_other_segment,
    ),
    row(
        "splice-record-of-other-history",
        "A record was replaced by that of a history that differs from there on.",
        record_of_other_history,
    ),
    row(
        "splice-records-of-other-history",
        "From a record to its segment's end the records are of another history.",
        records_of_other_history,
    ),
    row(
        "splice-segment-of-other-history",
        "A segment was replaced by that of a history that differs from there on.",
        segment_of_other_history,
    ),
    row(
        "splice-tail-of-other-history",
        "All segments from one on are of a history that differs from there on.",
        tail_of_other_history,
    ),
    row(
        "splice-history-with-head",
        "All segments from one on are of another history, and HEAD is that history's.",
        tail_with_head,
    ),
    row(
        "splice-older-segment",
        "A segment was replaced by what it was before it was full.",
        older_segment,
    ),
];

fn record_of_other_log(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let other = log.of_other_identity().ok_or(NOT_MADE)?;
    *log.record_mut(at) = other.record(at).clone();
    Ok(())
}

fn record_with_checksum(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    record_of_other_log(log, variant)?;
    log.remake_checksum(at);
    Ok(())
}

fn segment_of_other_log(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    let other = log.of_other_identity().ok_or(NOT_MADE)?;
    *log.segment_mut(segment) = other.segment(segment).clone();
    Ok(())
}

fn segments_of_other_log(log: &mut Log, _: u64) -> Forged {
    let other = log.of_other_identity().ok_or(NOT_MADE)?;
    for (segment, new) in other.segments().into_iter().enumerate() {
        *log.segment_mut(segment) = new.clone();
    }
    Ok(())
}

fn head_of_other_log(log: &mut Log, _: u64) -> Forged {
    let other = log.of_other_identity().ok_or(NOT_MADE)?;
    let new = other.head().ok_or("there is no HEAD")?;
    put(log, "HEAD", File::Head(new.clone()));
    Ok(())
}

fn record_of_other_segment(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let others = log.records().into_iter().filter(|other| other.segment != at.segment);
    let length = log.record(at).length();
    let alike: Vec<RecordAt> = others.filter(|at| log.record(*at).length() == length).collect();
    let other = some_of(&alike, variant).ok_or("no other segment has a record of this length")?;
    *log.record_mut(at) = log.record(other).clone();
    Ok(())
}

fn other_history(log: &Log, from: RecordAt) -> AttackResult<Log> {
    log.of_other_history(from).ok_or(NOT_MADE)
}

fn record_of_other_history(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    *log.record_mut(at) = other_history(log, at)?.record(at).clone();
    Ok(())
}

fn records_of_other_history(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let other = other_history(log, at)?;
    let items = log.segment_mut(at.segment).items.iter_mut().zip(&other.segment(at.segment).items);
    for (old, new) in items.filter(|(_, new)| matches!(new, Item::Record(_))) {
        *old = new.clone();
    }
    Ok(())
}

fn segment_of_other_history(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    let from = super::places::first_record_of(log, segment)?;
    *log.segment_mut(segment) = other_history(log, from)?.segment(segment).clone();
    Ok(())
}

fn tail_of_other_history(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    let from = super::places::first_record_of(log, segment)?;
    let other = other_history(log, from)?;
    for place in segment..log.segments().len() {
        *log.segment_mut(place) = other.segment(place).clone();
    }
    Ok(())
}

fn tail_with_head(log: &mut Log, variant: u64) -> Forged {
    tail_of_other_history(log, variant)?;
    log.head_follows();
    Ok(())
}

fn older_segment(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    let records: Vec<RecordAt> =
        log.records().into_iter().filter(|at| at.segment == segment).collect();
    let middle = records.get(records.len() / 2).ok_or("the segment has no record")?;
    let old = log.as_it_was(log.record(*middle).sequence()).ok_or(NOT_MADE)?;
    let path = path_of(log, segment);
    let file = old.files.get(&path).ok_or("the segment was empty then")?;
    put(log, &path, file.clone());
    Ok(())
}
