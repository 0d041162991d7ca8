//! Damages of a log in memory, one at a time, each with the words that tell it.

use crate::tamper::changes::{
    forged, forgeries, frames, rechained, spliced, spliced_anew, with_payload_forged, with_records,
    with_segment_of,
};
use crate::tamper::memory::{ACTIVE, Image, SEALED};
use holdpoint_log_format::{ChainPosition, Head, Link, Lock, LogId, OwnerState, SegmentHeader};

/// A damaged log, and what was done to it.
pub(crate) type Damage = (String, Image);

/// Every kind of damage to a log that was closed cleanly.
pub(crate) fn all(image: &Image) -> Vec<Damage> {
    let mut damages = vec![("untouched".to_string(), image.clone())];
    damages.extend(flips(image));
    damages.extend(unused_space(image));
    damages.extend(moved_records(image));
    damages.extend(splices(image));
    damages.extend(all_forgeries(image));
    damages.extend(suffixes_chained_anew(image));
    damages.extend(forged_witnesses(image));
    damages.extend(cuts(image));
    damages
}

/// The same log, left by owners who ended in different ways.
pub(crate) fn owners(image: &Image) -> Vec<Damage> {
    let lock = Lock::decode(image.bytes("LOCK")).unwrap();
    let left = |state, boot| Lock { state, previous_state: state, boot, ..lock };
    let other = holdpoint_log_format::BootId([0xb0; 16]);
    let owners = [
        ("idle", left(OwnerState::Idle, lock.boot)),
        ("in a transaction", left(OwnerState::InTransaction, lock.boot)),
        ("recovering", left(OwnerState::Recovering, lock.boot)),
        ("poisoned", left(OwnerState::Poisoned, lock.boot)),
        ("in another boot", left(OwnerState::InTransaction, other)),
    ];
    let mut images: Vec<Damage> = owners
        .into_iter()
        .map(|(what, lock)| (what.to_string(), with(image, "LOCK", lock.encode().to_vec())))
        .collect();
    images.push(("garbage".to_string(), with(image, "LOCK", vec![7; 64])));
    images
}

/// The log without HEAD's word on its newest records, so that nothing but the bytes is known of
/// them.
pub(crate) fn unwitnessed(image: &Image) -> Image {
    let first = &image.items(ACTIVE)[0];
    let head = Head {
        newest_sequence: first.header.sequence,
        newest_link: first.header.link,
        record_offset: first.at.start as u64,
        end_offset: first.at.end as u64,
        ..image.head()
    };
    with(image, "HEAD", head.encode().to_vec())
}

/// Ends of the newest segment as writes, sectors and bits leave them.
pub(crate) fn tails(image: &Image) -> Vec<Damage> {
    let (start, end) = (image.items(ACTIVE)[0].at.end, image.items(ACTIVE).last().unwrap().at.end);
    let mut damages = Vec::new();
    for at in (start..end + 64).step_by(8) {
        let mut zeroed = image.clone();
        zeroed.bytes_mut(ACTIVE)[at..].fill(0);
        damages.push((format!("zero from {at}"), zeroed));
        let mut flipped = image.clone();
        flipped.bytes_mut(ACTIVE)[at] ^= 0x20;
        damages.push((format!("flip at {at}"), flipped));
    }
    for page in [4_096, 8_192] {
        let mut junk = image.clone();
        junk.bytes_mut(ACTIVE)[end..end + 4].copy_from_slice(&9_000_u32.to_le_bytes());
        junk.bytes_mut(ACTIVE)[end + 4..end.next_multiple_of(page)].fill(0x55);
        damages.push((format!("a record torn at a multiple of {page}"), junk));
    }
    damages
}

fn with(image: &Image, file: &str, bytes: Vec<u8>) -> Image {
    let mut image = image.clone();
    *image.bytes_mut(file) = bytes;
    image
}

/// Every byte of HEAD, of the fields of headers, records and the seal, and every 61st of the rest.
fn flips(image: &Image) -> Vec<Damage> {
    let mut places: Vec<(&str, usize)> =
        (0..image.bytes("HEAD").len()).map(|at| ("HEAD", at)).collect();
    places.extend((0..image.bytes("LOCK").len()).step_by(5).map(|at| ("LOCK", at)));
    for segment in [SEALED, ACTIVE] {
        places.extend((0..100).map(|at| (segment, at)));
        let end = image.items(segment).last().unwrap().at.end + 64;
        for item in image.items(segment) {
            places.extend((item.at.start..item.at.start + 64).map(|at| (segment, at)));
        }
        places.extend((end - 64..end).map(|at| (segment, at)));
        places.extend((100..end).step_by(61).map(|at| (segment, at)));
    }
    let flip = |(file, at): (&str, usize)| {
        let mut flipped = image.clone();
        flipped.bytes_mut(file)[at] ^= 1 << (at % 8);
        (format!("{file} byte {at} flipped"), flipped)
    };
    places.into_iter().map(flip).collect()
}

fn unused_space(image: &Image) -> Vec<Damage> {
    let mut damages = Vec::new();
    for segment in [SEALED, ACTIVE] {
        let length = image.bytes(segment).len();
        let end = image.items(segment).last().unwrap().at.end + 64;
        for at in (end..length).step_by(length / 40) {
            let mut dirty = image.clone();
            dirty.bytes_mut(segment)[at] = 0x80;
            damages.push((format!("{segment} byte {at} written"), dirty));
        }
    }
    damages
}

fn moved_records(image: &Image) -> Vec<Damage> {
    let mut damages = Vec::new();
    for segment in [SEALED, ACTIVE] {
        let frames = frames(image, segment);
        for index in 0..frames.len() {
            let mut dropped = frames.clone();
            dropped.remove(index);
            let mut repeated = frames.clone();
            repeated.insert(index, frames[index].clone());
            let mut swapped = frames.clone();
            swapped.swap(index, (index + 1) % frames.len());
            for (what, order) in [("dropped", dropped), ("twice", repeated), ("swapped", swapped)] {
                let words = format!("{segment} record {index} {what}");
                damages.push((words, with_records(image, segment, &order)));
            }
        }
    }
    damages
}

fn splices(image: &Image) -> Vec<Damage> {
    let other = Image::sample();
    let mut damages = Vec::new();
    for segment in [SEALED, ACTIVE] {
        for index in 0..image.items(segment).len() {
            let raw = spliced(image, &other, segment, index);
            damages.push((format!("{segment}: a record of another log"), raw));
            let anew = spliced_anew(image, &other, segment, index);
            damages.push((format!("{segment}: the same, its checksum made anew"), anew));
        }
        let whole = with_segment_of(image, &other, segment);
        damages.push((format!("{segment} of another log"), whole));
    }
    let moved = image.bytes(SEALED).to_vec();
    damages.push(("the first segment as the second".into(), with(image, ACTIVE, moved)));
    damages
}

fn all_forgeries(image: &Image) -> Vec<Damage> {
    let mut damages = Vec::new();
    for segment in [SEALED, ACTIVE] {
        for item in image.items(segment) {
            for (field, forge) in forgeries() {
                let forged = forged(image, segment, &item, forge);
                damages.push((format!("{segment} {} forged {field}", item.at.start), forged));
            }
            if !item.payload.is_empty() {
                let forged = with_payload_forged(image, segment, &item, 0);
                damages.push((format!("{segment} {} forged payload", item.at.start), forged));
            }
        }
    }
    damages
}

/// A payload forged and what follows chained anew, up to nothing, the seal, the next header, all.
fn suffixes_chained_anew(image: &Image) -> Vec<Damage> {
    let mut damages = Vec::new();
    for index in 1..4 {
        damages
            .push((format!("active chained anew from {index}"), rechained(image, ACTIVE, index).0));
        let (mut forged, last) = rechained(image, SEALED, index);
        damages.push((format!("sealed chained anew from {index}"), forged.clone()));
        forged.reseal(last);
        damages.push((format!("and sealed anew, {index}"), forged.clone()));
        let header = SegmentHeader { previous: last, ..image.header(ACTIVE) };
        forged.put_header(ACTIVE, &header);
        damages.push((format!("with a new header, {index}"), forged.clone()));
        let newest_link = forged.rechain(ACTIVE, 0, last).link;
        damages.push((format!("and all records, {index}"), forged.clone()));
        let head = Head { newest_link, ..image.head() };
        damages.push((format!("and HEAD, {index}"), with(&forged, "HEAD", head.encode().to_vec())));
    }
    damages
}

fn forged_witnesses(image: &Image) -> Vec<Damage> {
    let head = image.head();
    let heads = [
        Head { newest_sequence: 11, ..head },
        Head { newest_sequence: 4, ..head },
        Head { newest_link: Link([1; 32]), ..head },
        Head { log: LogId([1; 16]), ..head },
        Head { anchor_sequence: 6, ..head },
        Head { anchor_sequence: 3, ..head },
        Head { anchor_link: Link([1; 32]), ..head },
        Head { anchor_sequence: 99, newest_sequence: 99, ..head },
    ];
    let mut damages: Vec<Damage> = heads
        .into_iter()
        .map(|head| (format!("{head:?}"), with(image, "HEAD", head.encode().to_vec())))
        .collect();
    for segment in [SEALED, ACTIVE] {
        let header = image.header(segment);
        let previous = header.previous;
        let headers = [
            SegmentHeader { previous: ChainPosition { link: Link([1; 32]), ..previous }, ..header },
            SegmentHeader { previous: ChainPosition { time: 1, ..previous }, ..header },
            SegmentHeader { previous: ChainPosition { sequence: 3, ..previous }, ..header },
            SegmentHeader { capacity: header.capacity * 2, ..header },
            SegmentHeader { previous_seal_offset: 8, ..header },
            SegmentHeader { log: LogId([1; 16]), ..header },
        ];
        for forged in headers {
            let mut image = image.clone();
            image.put_header(segment, &forged);
            damages.push((format!("{segment} {forged:?}"), image));
        }
    }
    damages
}

/// Files cut, grown and zeroed.
fn cuts(image: &Image) -> Vec<Damage> {
    let mut damages = Vec::new();
    for file in ["HEAD", SEALED, ACTIVE] {
        let length = image.bytes(file).len();
        for at in (0..length).step_by(1_536).chain([1, 100, 4_095, 4_097, 4_200, 4_300]) {
            let at = at.min(length - 1);
            damages.push((
                format!("{file} cut at {at}"),
                with(image, file, image.bytes(file)[..at].to_vec()),
            ));
            let mut zeroed = image.clone();
            zeroed.bytes_mut(file)[at..].fill(0);
            damages.push((format!("{file} zero from {at}"), zeroed));
        }
        let grown = [image.bytes(file), &[0; 4_096]].concat();
        damages.push((format!("{file} grown"), with(image, file, grown)));
    }
    damages
}
