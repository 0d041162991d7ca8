//! What is done to a log in memory: its records moved, spliced from elsewhere, forged, and chained
//! anew.

use crate::tamper::memory::{ACTIVE, FIRST_RECORD, Image, Item, SEALED};
use holdpoint_log_format::{ChainPosition, Flags, Link, LogId, RecordHeader, SegmentHeader};
use std::ops::Range;

/// Runs `check` for every item on as many threads as there are processors.
pub(crate) fn on_every<T: Sync>(items: &[T], check: impl Fn(&T) + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for items in items.chunks(share) {
            scope.spawn(|| items.iter().for_each(&check));
        }
    });
}

// ---- Records moved -----------------------------------------------------------------------------

/// The bytes of every record of a segment, padding included.
pub(crate) fn frames(image: &Image, segment: &str) -> Vec<Vec<u8>> {
    image.items(segment).into_iter().map(|item| image.bytes(segment)[item.at].to_vec()).collect()
}

/// The segment with these records in the place of its own, what was behind them moved up or down,
/// and zeros; its length stays.
pub(crate) fn with_records(image: &Image, segment: &str, order: &[Vec<u8>]) -> Image {
    let end = image.items(segment).last().unwrap().at.end;
    let bytes = image.bytes(segment);
    let mut changed = bytes[..FIRST_RECORD].to_vec();
    changed.extend(order.concat());
    changed.extend_from_slice(&bytes[end..]);
    changed.resize(bytes.len(), 0);
    let mut image = image.clone();
    *image.bytes_mut(segment) = changed;
    image
}

/// A record dropped.
pub(crate) fn dropped(image: &Image, segment: &str, index: usize) -> Image {
    let mut order = frames(image, segment);
    order.remove(index);
    with_records(image, segment, &order)
}

/// A record twice, and the last one gone for it.
pub(crate) fn repeated(image: &Image, segment: &str, index: usize) -> Image {
    let mut order = frames(image, segment);
    order.pop();
    let again = frames(image, segment).swap_remove(index);
    order.insert(index, again);
    with_records(image, segment, &order)
}

/// A record and the next one in each other's place.
pub(crate) fn swapped(image: &Image, segment: &str, index: usize) -> Image {
    let mut order = frames(image, segment);
    order.swap(index, index + 1);
    with_records(image, segment, &order)
}

/// The newest record once more behind itself, and where it lies there.
pub(crate) fn repeated_behind_the_last(image: &Image) -> (Image, Range<usize>) {
    let last = image.items(ACTIVE).pop().unwrap().at;
    let again = last.end..last.end + last.len();
    let mut longer = image.clone();
    longer.bytes_mut(ACTIVE).copy_within(last, again.start);
    (longer, again)
}

// ---- Records from elsewhere --------------------------------------------------------------------

/// A record of another log in the place of this one's, byte for byte: in both it is as long.
pub(crate) fn spliced(image: &Image, other: &Image, segment: &str, index: usize) -> Image {
    let at = image.items(segment)[index].at.clone();
    let mut spliced = image.clone();
    spliced.bytes_mut(segment)[at.clone()].copy_from_slice(&other.bytes(segment)[at]);
    spliced
}

/// The same, its checksum made anew.
pub(crate) fn spliced_anew(image: &Image, other: &Image, segment: &str, index: usize) -> Image {
    let theirs = &other.items(segment)[index];
    let mut spliced = image.clone();
    spliced.put(segment, theirs.at.start, &theirs.header, &theirs.payload);
    spliced
}

/// A whole segment of another log.
pub(crate) fn with_segment_of(image: &Image, other: &Image, segment: &str) -> Image {
    let mut spliced = image.clone();
    *spliced.bytes_mut(segment) = other.bytes(segment).to_vec();
    spliced
}

/// The second record of the sealed segment in the place of the first of the active one, and where
/// it begins there.
pub(crate) fn moved(image: &Image) -> (Image, usize) {
    let frame = frames(image, SEALED).swap_remove(1);
    let at = image.items(ACTIVE)[0].at.start;
    let mut moved = image.clone();
    moved.bytes_mut(ACTIVE)[at..at + frame.len()].copy_from_slice(&frame);
    (moved, at)
}

// ---- Forgeries ---------------------------------------------------------------------------------

/// A field of a record's header, and a way to forge it.
pub(crate) type Forgery = (&'static str, fn(&mut RecordHeader));

/// Ways to forge a record's header.
pub(crate) fn forgeries() -> [Forgery; 8] {
    [
        ("kind", |header| header.kind ^= 1),
        ("version", |header| header.version ^= 1),
        ("flags", |header| {
            let more = header.flags.more_follows();
            header.flags = if more { Flags::NONE } else { Flags::MORE_FOLLOWS };
        }),
        ("flags", |header| header.flags = Flags::WITHHELD),
        ("unsynced", |header| header.unsynced ^= 1),
        ("sequence", |header| header.sequence ^= 1),
        ("time", |header| header.time += 1),
        ("link", |header| header.link.0[31] ^= 1),
    ]
}

/// A record's header forged, the checksum made anew.
pub(crate) fn forged(
    image: &Image,
    segment: &str,
    item: &Item,
    forge: fn(&mut RecordHeader),
) -> Image {
    let mut header = item.header.clone();
    forge(&mut header);
    let mut forged = image.clone();
    forged.put(segment, item.at.start, &header, &item.payload);
    forged
}

/// A byte of a record's payload forged, the checksum made anew.
pub(crate) fn with_payload_forged(image: &Image, segment: &str, item: &Item, at: usize) -> Image {
    let mut payload = item.payload.clone();
    payload[at] ^= 0x20;
    let mut forged = image.clone();
    forged.put(segment, item.at.start, &item.header, &payload);
    forged
}

/// The log with another payload in one record and everything behind it in the segment chained anew.
pub(crate) fn rechained(image: &Image, segment: &str, index: usize) -> (Image, ChainPosition) {
    let items = image.items(segment);
    let mut forged = with_payload_forged(image, segment, &items[index], 0);
    let before = index.checked_sub(1).map(|index| &items[index].header);
    let previous = before.map_or(image.header(segment).previous, |header| ChainPosition {
        sequence: header.sequence,
        link: header.link,
        time: header.time,
    });
    let last = forged.rechain(segment, index, previous);
    (forged, last)
}

/// Ways to forge a segment's header, each with the field that it forges.
pub(crate) fn forged_headers(image: &Image, segment: &str) -> [(&'static str, SegmentHeader); 4] {
    let header = image.header(segment);
    let other_link = ChainPosition { link: Link([1; 32]), ..header.previous };
    let later = ChainPosition { sequence: header.previous.sequence + 1, ..header.previous };
    [
        ("previous link", SegmentHeader { previous: other_link, ..header }),
        ("first sequence", SegmentHeader { previous: later, ..header }),
        ("capacity", SegmentHeader { capacity: header.capacity * 2, ..header }),
        ("log id", SegmentHeader { log: LogId([1; 16]), ..header }),
    ]
}
