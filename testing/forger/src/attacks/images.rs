use super::places::{AttackResult, a_record_where, active_segment, room};
use super::{Attack, Forged, row};
use crate::block::Block;
use crate::chain::Reach;
use crate::checksum;
use crate::derived::alter;
use crate::layout::{RECORD_HEADER_LENGTH, SEAL_LENGTH, SEAL_TAG, record, seal};
use crate::log::{Log, RecordAt};
use crate::record::Record;
use crate::segment::Item;

pub(super) const ATTACKS: &[Attack] = &[
    row(
        "image-captured",
        "A payload holds the image of a record for its own place; all is chained, HEAD with it.",
        |log, v| captured(log, v, in_its_place).map(drop),
    ),
    row(
        "image-behind-flipped-header",
        "A payload holds the image of a record for its own place; a bit of its header flipped.",
        |log, v| damaged(log, v, in_its_place, flipped),
    ),
    row(
        "image-behind-zeroed-header",
        "A payload holds the image of a record for its own place, and reads as zero up to it.",
        |log, v| damaged(log, v, in_its_place, zeroed),
    ),
    row(
        "image-behind-shortened-record",
        "A payload holds the image of the next record, and its record was made to end before it.",
        shortened,
    ),
    row(
        "image-of-two-records",
        "Images of two records chained to each other, and their record reads as zero up to them.",
        |log, v| damaged(log, v, two_records, zeroed),
    ),
    row(
        "image-of-later-record",
        "The image of a record of a later sequence, and its record reads as zero up to it.",
        |log, v| damaged(log, v, later_record, zeroed),
    ),
    row(
        "image-of-seal",
        "A payload holds the image of a seal for its own place, and reads as zero up to it.",
        |log, v| damaged(log, v, closing_seal, zeroed),
    ),
    row(
        "image-moved-into-place",
        "The image of a record was moved out of a payload over its own record; zeros follow.",
        moved,
    ),
    row(
        "image-in-unproven-tail",
        "A record behind HEAD's reads as zero up to an image for its own place; LOCK is gone.",
        in_tail,
    ),
];

/// Where the image lies in its record's payload: a multiple of 8, as records do in a segment.
const IMAGE_AT: usize = 64;

/// What the images of an attack are, for the place of the record that will hold them.
type Images = fn(&Log, RecordAt) -> AttackResult<Vec<Item>>;

/// A record that says something else than the one in its place, and is small.
fn forged_for(log: &Log, at: RecordAt, sequence: u64, link: &[u8; 32]) -> AttackResult<Record> {
    let records = log.records().into_iter().map(|at| log.record(at));
    let smallest = records.min_by_key(|record| record.length()).ok_or("there is no record")?;
    let mut forged = smallest.clone();
    alter(&mut forged)?;
    let time = log.record(at).time();
    forged.set_flags(0);
    forged.header.set_number(record::UNSYNCED, 0);
    forged.header.set_number(record::SEQUENCE, sequence);
    forged.header.set_number(record::TIME, time);
    let segment = log.segment(at.segment);
    forged.remake_link(&segment.log(), link, segment.seed());
    Ok(forged)
}

fn in_its_place(log: &Log, at: RecordAt) -> AttackResult<Vec<Item>> {
    let before = log.before(at);
    Ok(vec![Item::Record(forged_for(log, at, before.sequence + 1, &before.link)?)])
}

fn two_records(log: &Log, at: RecordAt) -> AttackResult<Vec<Item>> {
    let before = log.before(at);
    let first = forged_for(log, at, before.sequence + 1, &before.link)?;
    let second = forged_for(log, at, before.sequence + 2, &first.link())?;
    Ok(vec![Item::Record(first), Item::Record(second)])
}

fn later_record(log: &Log, at: RecordAt) -> AttackResult<Vec<Item>> {
    let before = log.before(at);
    Ok(vec![Item::Record(forged_for(log, at, before.sequence + 2, &before.link)?)])
}

fn closing_seal(log: &Log, at: RecordAt) -> AttackResult<Vec<Item>> {
    let (before, segment) = (log.before(at), log.segment(at.segment));
    let offset = segment.offset_of(at.item) + RECORD_HEADER_LENGTH + IMAGE_AT;
    let mut block = Block::zeros(SEAL_LENGTH);
    block.set(seal::TAG, SEAL_TAG);
    block.set_number(seal::LAST_SEQUENCE, before.sequence);
    block.set_number(seal::OFFSET, offset as u64);
    block.set_number(seal::LAST_TIME, before.time);
    block.set(seal::LAST_LINK, &before.link);
    let checksum = checksum::of_item(segment.seed(), &block, &[]);
    block.set_number(seal::CHECKSUM, u64::from(checksum));
    Ok(vec![Item::Seal(block)])
}

/// Puts images into a record's payload and chains everything anew: a command printed them.
fn captured(log: &mut Log, variant: u64, images: Images) -> AttackResult<(RecordAt, Vec<Item>)> {
    let least = least_payload(log);
    let at = a_record_where(log, variant, |at| log.record(at).payload.len() >= least)?;
    let images = images(log, at)?;
    hold(log.record_mut(at), &images);
    room(log.remake(at, Reach::Log))?;
    log.head_follows();
    Ok((at, images))
}

/// Room for the images of two of the smallest records, or of a seal, and some bytes behind them.
fn least_payload(log: &Log) -> usize {
    let lengths = log.records().into_iter().map(|at| log.record(at).length());
    IMAGE_AT + 2 * lengths.min().unwrap_or_default() + SEAL_LENGTH
}

fn hold(carrier: &mut Record, images: &[Item]) {
    let bytes = images.iter().flat_map(Item::encode);
    for (place, byte) in carrier.payload[IMAGE_AT..].iter_mut().zip(bytes) {
        *place = byte;
    }
}

/// The record that holds the images, in the pieces that its damage leaves of it.
struct Pieces {
    before: Vec<u8>,
    images: Vec<Item>,
    behind: Vec<u8>,
}

fn damaged(log: &mut Log, variant: u64, images: Images, damage: fn(&mut Pieces)) -> Forged {
    let (at, images) = captured(log, variant, images)?;
    break_up(log, at, images, damage)
}

fn break_up(log: &mut Log, at: RecordAt, images: Vec<Item>, damage: fn(&mut Pieces)) -> Forged {
    let whole = log.record(at).encode();
    let images_length: usize = images.iter().map(Item::length).sum();
    let (before, rest) = whole.split_at(RECORD_HEADER_LENGTH + IMAGE_AT);
    let behind = rest[images_length..].to_vec();
    let mut pieces = Pieces { before: before.to_vec(), images, behind };
    damage(&mut pieces);
    let Pieces { before, images, behind } = pieces;
    let new = [vec![Item::Bytes(before)], images, vec![Item::Bytes(behind)]].concat();
    let segment = log.segment_mut(at.segment);
    segment.items.splice(at.item..=at.item, new);
    room(segment.fit())
}

fn flipped(pieces: &mut Pieces) {
    pieces.before[record::TIME.at] ^= 1;
}

fn zeroed(pieces: &mut Pieces) {
    pieces.before.fill(0);
}

fn moved(log: &mut Log, variant: u64) -> Forged {
    damaged(log, variant, in_its_place, |pieces| {
        pieces.behind.splice(0..0, std::mem::take(&mut pieces.before));
        pieces.behind.fill(0);
    })
}

fn shortened(log: &mut Log, variant: u64) -> Forged {
    let (at, _) = captured(log, variant, in_its_place)?;
    // What its record ends before is the next one in the chain.
    let mut short = log.record(at).clone();
    let behind = short.payload.split_off(IMAGE_AT);
    let payload = short.payload.clone();
    let padding = std::mem::take(&mut short.padding);
    short.set_payload(payload);
    *log.record_mut(at) = short;
    log.remake_link(at);
    let (sequence, link) = (log.record(at).sequence() + 1, log.record(at).link());
    let next = forged_for(log, at, sequence, &link)?;
    let rest = [&behind[next.length()..], &*padding].concat();
    let new = [Item::Record(next), Item::Bytes(rest)];
    let segment = log.segment_mut(at.segment);
    segment.items.splice(at.item + 1..at.item + 1, new);
    room(segment.fit())
}

fn in_tail(log: &mut Log, variant: u64) -> Forged {
    let segment = active_segment(log)?;
    let fact = super::chains::forged_fact(log, variant)?;
    let payload = vec![b'.'; least_payload(log)];
    log.append(&[crate::Fact { payload, ..fact }]);
    let at = log.records().pop().filter(|at| at.segment == segment).ok_or("there is no room")?;
    let images = in_its_place(log, at)?;
    hold(log.record_mut(at), &images);
    log.remake_link(at);
    log.files.remove("LOCK");
    break_up(log, at, images, zeroed)
}
