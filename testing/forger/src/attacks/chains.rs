use super::places::{
    a_followed_record, a_record, a_record_where, a_segment, active_segment, behind,
    first_record_of, room, take_item,
};
use super::{Attack, Forged, row};
use crate::append::Fact;
use crate::chain::Reach;
use crate::derived::{alter, altered};
use crate::layout::{MORE_FOLLOWS, NO_CLAIM, SALTED, record};
use crate::log::{Log, RecordAt};
use crate::payload::LOOP_INITIALIZED;
use crate::record::Record;
use crate::segment::Item;

pub(super) const ATTACKS: &[Attack] = &[
    row(
        "rechain-two-records",
        "A record's payload was forged and the chain made anew up to the next record.",
        |log, v| rechain(log, v, Reach::Records(2)),
    ),
    row(
        "rechain-to-segment-end",
        "A record's payload was forged and the chain made anew up to the segment's end.",
        |log, v| rechain(log, v, Reach::Segment),
    ),
    row(
        "rechain-to-segment-end-with-seal",
        "A payload was forged and the chain made anew up to the segment's end, its seal with it.",
        |log, v| rechain(log, v, Reach::Seal),
    ),
    row(
        "rechain-to-log-end",
        "A payload was forged and the chain made anew up to the log's end; HEAD stayed.",
        |log, v| rechain(log, v, Reach::Log),
    ),
    row(
        "rechain-to-log-end-with-head",
        "A payload was forged and the chain made anew up to the log's end, HEAD with it.",
        rechain_with_head,
    ),
    row(
        "rechain-segment-prefix",
        "A segment's first record was forged and the chain made anew up to before its middle.",
        prefix,
    ),
    row(
        "rechain-whole-segment",
        "Every record of a segment was forged, its chain and seal made anew.",
        whole_segment,
    ),
    row(
        "rechain-under-other-identity",
        "The whole log was made anew under another identity, HEAD with it.",
        other_identity,
    ),
    row(
        "rechain-dropped-record",
        "A record was taken out, and the rest numbered and chained anew; HEAD stayed.",
        dropped,
    ),
    row(
        "rechain-dropped-record-with-head",
        "A record was taken out, and the rest numbered and chained anew, HEAD with it.",
        dropped_with_head,
    ),
    row(
        "rechain-inserted-record",
        "A record was put in, and the rest numbered and chained anew; HEAD stayed.",
        inserted,
    ),
    row(
        "rechain-inserted-record-with-head",
        "A record was put in, and the rest numbered and chained anew, HEAD with it.",
        inserted_with_head,
    ),
    row(
        "rechain-swapped-records",
        "Two neighbours changed places, and the rest was chained anew; HEAD stayed.",
        swapped,
    ),
    row(
        "rechain-swapped-records-with-head",
        "Two neighbours changed places, and the rest was chained anew, HEAD with it.",
        swapped_with_head,
    ),
    row(
        "rechain-time-back",
        "A record is earlier than the one before it, and all is chained anew with HEAD.",
        |log, v| anew(log, v, time_back),
    ),
    row(
        "rechain-false-claim",
        "A record claims more than there is before it, and all is chained anew with HEAD.",
        |log, v| anew(log, v, false_claim),
    ),
    row(
        "rechain-claim-in-batch",
        "A record claims what ends no batch, and all is chained anew with HEAD.",
        claim_in_batch,
    ),
    row(
        "rechain-salted-flag",
        "A record has the reserved flag, and all is chained anew with HEAD.",
        |log, v| anew(log, v, salted),
    ),
    row(
        "rechain-batch-end",
        "A record's MORE_FOLLOWS is turned over, and all is chained anew with HEAD.",
        |log, v| anew(log, v, batch_end),
    ),
    row(
        "rechain-without-claims",
        "A record claims nothing any more, and all is chained anew with HEAD.",
        |log, v| anew(log, v, no_claim),
    ),
    row(
        "rechain-opaque-kind",
        "A record became one of the log's user's own, and all is chained anew with HEAD.",
        |log, v| anew(log, v, |record| of_kind(record, 60_000)),
    ),
    row(
        "rechain-unknown-kind",
        "A record has a kind that nobody knows, and all is chained anew with HEAD.",
        |log, v| anew(log, v, |record| of_kind(record, 300)),
    ),
    row(
        "rechain-newer-rules",
        "A record states newer rules, and all is chained anew with HEAD.",
        |log, v| anew(log, v, newer_rules),
    ),
    row(
        "rechain-open-batch",
        "A segment's last record says that more follows, and all is chained anew with HEAD.",
        open_batch,
    ),
    row(
        "insert-chained-record",
        "A record that follows from the one before was put in; what is behind it stayed.",
        insert_only,
    ),
    row(
        "append-record",
        "A correctly chained record was put behind the newest one; HEAD stayed.",
        append,
    ),
    row(
        "append-record-with-head",
        "A correctly chained record was put behind the newest one; HEAD follows.",
        append_with_head,
    ),
    row(
        "append-old-record-with-head",
        "An old record, of a run its first, was put once more behind the newest; HEAD follows.",
        append_old,
    ),
    row(
        "append-open-batch",
        "A record that says that its batch goes on was put behind the newest one.",
        append_open,
    ),
    row(
        "append-claim-in-batch",
        "A chained record behind the newest one claims that one inside a batch was durable.",
        append_claim,
    ),
    row(
        "append-behind-gap",
        "A chained record was put behind the newest one with a gap of zeros between them.",
        append_behind_gap,
    ),
    row(
        "append-garbage",
        "Bytes that are no record were put behind the newest one.",
        append_garbage,
    ),
];

fn rechain(log: &mut Log, variant: u64, reach: Reach) -> Forged {
    let at = a_record(log, variant)?;
    alter(log.record_mut(at))?;
    room(log.remake(at, reach))
}

pub(super) fn rechain_with_head(log: &mut Log, variant: u64) -> Forged {
    rechain(log, variant, Reach::Log)?;
    log.head_follows();
    Ok(())
}

fn prefix(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    let at = first_record_of(log, segment)?;
    let count = log.segment(segment).records().count();
    alter(log.record_mut(at))?;
    room(log.remake(at, Reach::Records(count / 2)))
}

fn whole_segment(log: &mut Log, variant: u64) -> Forged {
    let segment = a_segment(log, variant)?;
    let first = first_record_of(log, segment)?;
    for at in log.records().into_iter().filter(|at| at.segment == segment) {
        alter(log.record_mut(at))?;
    }
    room(log.remake(first, Reach::Seal))
}

fn other_identity(log: &mut Log, _: u64) -> Forged {
    *log = log.of_other_identity().ok_or("the log does not begin at genesis")?;
    Ok(())
}

fn dropped(log: &mut Log, variant: u64) -> Forged {
    let at = a_followed_record(log, variant)?;
    close_batch_before(log, at);
    take_item(log, at)?;
    let from = RecordAt { item: at.item.saturating_sub(1), ..at };
    room(log.remake(from, Reach::Log))
}

/// Where the last record of a batch goes, the one before it ends the batch.
fn close_batch_before(log: &mut Log, at: RecordAt) {
    let ends = !log.record(at).has(MORE_FOLLOWS);
    if ends && at.item > 0 {
        let before = log.record_mut(RecordAt { item: at.item - 1, ..at });
        before.set_flags(before.flags() & !MORE_FOLLOWS);
    }
}

fn dropped_with_head(log: &mut Log, variant: u64) -> Forged {
    dropped(log, variant)?;
    log.head_follows();
    Ok(())
}

fn inserted(log: &mut Log, variant: u64) -> Forged {
    let at = insert(log, variant)?;
    room(log.remake(at, Reach::Log))
}

fn inserted_with_head(log: &mut Log, variant: u64) -> Forged {
    inserted(log, variant)?;
    log.head_follows();
    Ok(())
}

fn insert_only(log: &mut Log, variant: u64) -> Forged {
    let at = insert(log, variant)?;
    let sequence = log.before(at).sequence + 1;
    log.record_mut(at).header.set_number(record::SEQUENCE, sequence);
    log.remake_link(at);
    Ok(())
}

/// A forged copy of a record, a batch of its own, behind a record that ends one.
fn insert(log: &mut Log, variant: u64) -> Result<RecordAt, &'static str> {
    let ends = |at| !log.record(at).has(MORE_FOLLOWS);
    let at = a_record_where(log, variant, ends)?;
    let mut forged = log.record(at).clone();
    alter(&mut forged)?;
    forged.header.set_number(record::UNSYNCED, 0);
    let place = behind(at);
    let segment = log.segment_mut(at.segment);
    segment.items.insert(place.item, Item::Record(forged));
    room(segment.fit())?;
    Ok(place)
}

fn swapped(log: &mut Log, variant: u64) -> Forged {
    let at = a_followed_record(log, variant)?;
    let segment = log.segment_mut(at.segment);
    segment.items.swap(at.item, at.item + 1);
    // Batches, claims and times stay with the place: only what is said changes.
    let (mut now_first, mut now_second) =
        (segment.record_mut(at.item).clone(), segment.record_mut(at.item + 1).clone());
    for field in [record::FLAGS, record::UNSYNCED, record::SEQUENCE, record::TIME] {
        let first = now_first.header.bytes(field).to_vec();
        let second = now_second.header.bytes(field).to_vec();
        now_first.header.set(field, &second);
        now_second.header.set(field, &first);
    }
    *segment.record_mut(at.item) = now_first;
    *segment.record_mut(at.item + 1) = now_second;
    room(log.remake(at, Reach::Log))
}

fn swapped_with_head(log: &mut Log, variant: u64) -> Forged {
    swapped(log, variant)?;
    log.head_follows();
    Ok(())
}

/// A record changed, and everything behind it made anew.
fn anew(log: &mut Log, variant: u64, change: fn(&mut Record) -> Forged) -> Forged {
    let at = a_followed_record(log, variant)?;
    change(log.record_mut(at))?;
    room(log.remake(at, Reach::Log))?;
    log.head_follows();
    Ok(())
}

fn time_back(record: &mut Record) -> Forged {
    record.header.set_number(record::TIME, 1);
    Ok(())
}

fn false_claim(record: &mut Record) -> Forged {
    let sequence = record.sequence();
    record.header.set_number(record::UNSYNCED, sequence);
    Ok(())
}

fn salted(record: &mut Record) -> Forged {
    record.set_flags(record.flags() | SALTED);
    Ok(())
}

fn batch_end(record: &mut Record) -> Forged {
    record.set_flags(record.flags() ^ MORE_FOLLOWS);
    Ok(())
}

fn no_claim(record: &mut Record) -> Forged {
    record.header.set_number(record::UNSYNCED, NO_CLAIM);
    Ok(())
}

fn of_kind(record: &mut Record, kind: u64) -> Forged {
    record.header.set_number(record::KIND, kind);
    Ok(())
}

/// `log.rules_adopted` by SYSTEM: the number 200 of the system `log` (35).
fn newer_rules(record: &mut Record) -> Forged {
    let texts = [&b"\x0e\x03\x09holdpoint"[..], b"\x0fholdpoint.rules", b"\0\0\x01\x03log\xc8"];
    record.set_payload(texts.concat());
    of_kind(record, 14)
}

fn claim_in_batch(log: &mut Log, variant: u64) -> Forged {
    let is_behind_open = |at: RecordAt| {
        let before = at.item.checked_sub(1);
        let before = before.and_then(|item| log.segment(at.segment).items[item].record());
        before.is_some_and(|record| record.has(MORE_FOLLOWS))
    };
    let at = a_record_where(log, variant, is_behind_open)?;
    log.record_mut(at).header.set_number(record::UNSYNCED, 0);
    room(log.remake(at, Reach::Log))?;
    log.head_follows();
    Ok(())
}

fn open_batch(log: &mut Log, variant: u64) -> Forged {
    let segment = super::places::a_sealed_segment(log, variant)?;
    let mut records = log.records().into_iter();
    let at = records.rfind(|at| at.segment == segment).ok_or("the segment has no record")?;
    let last = log.record_mut(at);
    last.set_flags(last.flags() | MORE_FOLLOWS);
    room(log.remake(at, Reach::Log))?;
    log.head_follows();
    Ok(())
}

fn append(log: &mut Log, variant: u64) -> Forged {
    active_segment(log)?;
    let fact = forged_fact(log, variant)?;
    log.append(&[fact]);
    Ok(())
}

/// What a record says, a little otherwise.
pub(super) fn forged_fact(log: &Log, variant: u64) -> Result<Fact, &'static str> {
    let of = log.record(a_record(log, variant)?);
    let payload = altered(&of.payload).ok_or("the record has no letter to change")?;
    Ok(Fact { kind: of.kind(), version: of.header.bytes(record::VERSION)[0], payload })
}

fn append_with_head(log: &mut Log, variant: u64) -> Forged {
    append(log, variant)?;
    log.head_follows();
    Ok(())
}

fn append_old(log: &mut Log, variant: u64) -> Forged {
    active_segment(log)?;
    let begins = |at| log.record(at).kind() == LOOP_INITIALIZED;
    let of = log.record(a_record_where(log, variant, begins).or_else(|_| a_record(log, variant))?);
    let version = of.header.bytes(record::VERSION)[0];
    let fact = Fact { kind: of.kind(), version, payload: of.payload.clone() };
    log.append(&[fact]);
    log.head_follows();
    Ok(())
}

fn append_open(log: &mut Log, variant: u64) -> Forged {
    append(log, variant)?;
    let at = log.records().pop().ok_or("there is no record")?;
    log.record_mut(at).set_flags(MORE_FOLLOWS);
    log.remake_link(at);
    Ok(())
}

fn append_claim(log: &mut Log, variant: u64) -> Forged {
    let active = active_segment(log)?;
    let is_inside = |at: RecordAt| at.segment == active && log.record(at).has(MORE_FOLLOWS);
    let inside = log.record(a_record_where(log, variant, is_inside)?).sequence();
    append(log, variant)?;
    let at = log.records().pop().ok_or("there is no record")?;
    let unsynced = log.record(at).sequence() - 1 - inside;
    log.record_mut(at).header.set_number(record::UNSYNCED, unsynced);
    log.remake_link(at);
    Ok(())
}

fn append_behind_gap(log: &mut Log, variant: u64) -> Forged {
    append(log, variant)?;
    let at = log.records().pop().ok_or("there is no record")?;
    let segment = log.segment_mut(at.segment);
    segment.items.insert(at.item, Item::Bytes(vec![0; 512]));
    room(segment.fit())
}

fn append_garbage(log: &mut Log, variant: u64) -> Forged {
    let place = active_segment(log)?;
    let segment = log.segment_mut(place);
    let lengths = [8, 512, 5000];
    let length = super::places::some_of(&lengths, variant).ok_or("there is no length")?;
    segment.items.push(Item::Bytes(vec![0xa5; length]));
    room(segment.fit())
}
