use super::places::{
    a_followed_record, a_record, a_segment, behind, path_of, pick, room, take_item,
};
use super::{Attack, Forged, row};
use crate::log::{Log, RecordAt, segment_path};
use crate::segment::Item;

pub(super) const ATTACKS: &[Attack] = &[
    row("swap-neighbours", "Two neighbouring records changed places.", neighbours),
    row(
        "swap-distant-records",
        "The first and another record of a segment changed places.",
        distant,
    ),
    row(
        "swap-payloads",
        "Two records of one length changed payloads and have good checksums.",
        payloads,
    ),
    row("swap-segments", "Two segments' files changed names.", segments),
    row("rename-segment", "A segment's file was given the number behind its own.", rename),
    row("repeat-segment", "A segment was copied under a number that lies in it.", repeat_segment),
    row("drop-record", "A record was taken out, and what is behind it moved up.", drop_record),
    row("drop-seal", "A seal was taken out.", drop_seal),
    row("repeat-record", "A record stands once more behind itself.", repeat_record),
    row("repeat-record-at-end", "A record stands once more behind the newest one.", repeat_at_end),
    row(
        "repeat-record-behind-seal",
        "A record stands once more behind a seal.",
        repeat_behind_seal,
    ),
    row("move-record-to-end", "A record was moved behind the newest one.", move_to_end),
    row(
        "move-record-to-other-segment",
        "A record was moved to the end of another segment.",
        to_other_segment,
    ),
];

fn neighbours(log: &mut Log, variant: u64) -> Forged {
    let at = a_followed_record(log, variant)?;
    log.segment_mut(at.segment).items.swap(at.item, at.item + 1);
    Ok(())
}

fn distant(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    let places: Vec<usize> = log.segment(segment).records().map(|(item, _)| item).collect();
    let [first, .., last] = places[..] else { return Err("the segment has one record") };
    log.segment_mut(segment).items.swap(first, last);
    Ok(())
}

fn payloads(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let wanted = log.record(at).payload.clone();
    let is_alike = |other: &RecordAt| {
        let payload = &log.record(*other).payload;
        payload.len() == wanted.len() && *payload != wanted
    };
    let other = log.records().into_iter().find(is_alike).ok_or("no other payload is as long")?;
    let payload = log.record(other).payload.clone();
    log.record_mut(at).set_payload(payload);
    log.record_mut(other).set_payload(wanted);
    log.remake_checksum(at);
    log.remake_checksum(other);
    Ok(())
}

fn segments(log: &mut Log, variant: u64) -> Forged {
    let paths = log.segment_paths();
    let place = pick(variant, paths.len().saturating_sub(1)).ok_or("there is one segment")?;
    let (one, other) = (&paths[place], &paths[place + 1]);
    let (Some(first), Some(second)) = (log.files.remove(one), log.files.remove(other)) else {
        return Err("there is no such segment");
    };
    log.files.insert(one.clone(), second);
    log.files.insert(other.clone(), first);
    Ok(())
}

fn rename(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    let sequence = log.segment(segment).first_sequence() + 1;
    let file = log.files.remove(&path_of(log, segment)).ok_or("there is no such segment")?;
    log.files.insert(segment_path(sequence), file);
    Ok(())
}

fn repeat_segment(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    let sequence = log.segment(segment).first_sequence() + 1;
    let file = log.files[&path_of(log, segment)].clone();
    log.files.insert(segment_path(sequence), file);
    Ok(())
}

fn drop_record(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    take_item(log, at)
}

fn drop_seal(log: &mut Log, variant: u64) -> Forged {
    let segment = super::places::a_sealed_segment(log, variant)?;
    let item = log.segment(segment).seal_place().ok_or("the segment has no seal")?;
    take_item(log, RecordAt { segment, item })
}

fn repeat_record(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    insert(log, behind(at), at)
}

fn repeat_at_end(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let segment = super::places::active_segment(log)?;
    let item = log.segment(segment).items.len();
    insert(log, RecordAt { segment, item }, at)
}

fn repeat_behind_seal(log: &mut Log, variant: u64) -> Forged {
    let segment = super::places::a_sealed_segment(log, variant)?;
    let at = super::places::first_record_of(log, segment)?;
    let item = log.segment(segment).items.len();
    insert(log, RecordAt { segment, item }, at)
}

fn move_to_end(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    repeat_at_end(log, variant)?;
    take_item(log, at)
}

fn to_other_segment(log: &mut Log, variant: u64) -> Forged {
    let at = a_record(log, variant)?;
    let count = log.segments().len();
    let segment = (at.segment + 1) % count;
    let records = log.segment(segment).records().count();
    if count == 1 {
        return Err("there is one segment");
    }
    insert(log, RecordAt { segment, item: records }, at)?;
    take_item(log, at)
}

/// A copy of a record at a place.
fn insert(log: &mut Log, place: RecordAt, of: RecordAt) -> Forged {
    let copy = Item::Record(log.record(of).clone());
    let segment = log.segment_mut(place.segment);
    segment.items.insert(place.item, copy);
    room(segment.fit())
}
