//! The floors of reading a log whole: what its verification cannot do without, in the barest loop.

use crate::error::{Doing, MeasureError};
use crate::figures::{Filled, rebuild};
use crate::ours::LOG;
use crate::pace::Stopwatch;
use crate::plan::Plan;
use crate::rounds::Work;
use crate::store::payload;
use holdpoint_domain::evidence_capture::{EvidenceCaptureEvent, EvidenceCaptured};
use holdpoint_domain::{Event, world::envelope::decode};
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::link::{PREIMAGE_LENGTH, payload_digest, preimage};
use holdpoint_log_format::{
    ChecksumSeed, Flags, Link, LinkPrefix, LogId, Record, RecordHeader, SegmentHeader, names,
};
use holdpoint_sha256_lanes::digest_each;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;

/// Bytes that are read at once: they stay in the processor's second cache.
const PIECE: usize = 256 << 10;
/// Records whose hashes are asked for at once.
const RECORDS_AT_ONCE: usize = 64;

/// [`super::READ_AND_CHECK`].
pub(super) fn of_records(plan: &Plan, length: usize) -> Work {
    reading(plan, length, 1, read_and_check)
}

/// [`super::READ_AND_CHECK_IN_TWO`].
pub(super) fn of_records_in_two(plan: &Plan, length: usize) -> Work {
    reading(plan, length, 2, |at| {
        thread::scope(|scope| {
            let other = scope.spawn(|| read_and_check(at));
            let own = read_and_check(at)?;
            Ok(own + other.join().map_err(|_| "it panicked").doing("read in two threads")??)
        })
    })
}

/// Reads a log whole, so many times at once.
fn reading(
    plan: &Plan,
    length: usize,
    times: u64,
    read: fn(&Path) -> Result<u64, MeasureError>,
) -> Work {
    let filled = plan.records_read(length);
    let (mut log, records) =
        (Filled::by(plan, move |at| LOG.fill(at, &payload(length), filled)), times * filled);
    Box::new(move || {
        let at = log.ready()?;
        let watch = Stopwatch::start();
        let seen = read(at)?;
        let sample = watch.per(records);
        if seen < records {
            return Err(format!("{seen} of {records} records")).doing("read all");
        }
        Ok(sample)
    })
}

/// All records of a log, how many there are.
fn read_and_check(at: &Path) -> Result<u64, MeasureError> {
    let mut seen = 0;
    for path in segments(at)? {
        seen += Pieces::open(&path)?.check_all()?;
    }
    Ok(seen)
}

fn segments(at: &Path) -> Result<Vec<PathBuf>, MeasureError> {
    let directory = at.join(names::SEGMENTS);
    let mut firsts = Vec::new();
    for entry in std::fs::read_dir(&directory).doing("list the segments")? {
        let name = entry.doing("list the segments")?.file_name();
        firsts.extend(names::parse_segment(&name.to_string_lossy()));
    }
    firsts.sort_unstable();
    Ok(firsts.into_iter().map(|first| directory.join(names::segment(first))).collect())
}

/// A segment, read piece by piece.
struct Pieces {
    file: File,
    log: LogId,
    seed: ChecksumSeed,
    link: Link,
    offset: u64,
    end: u64,
    bytes: Vec<u8>,
}

impl Pieces {
    fn open(path: &Path) -> Result<Self, MeasureError> {
        let file = File::open(path).doing("open a segment")?;
        let mut header = [0; SEGMENT_HEADER_LENGTH];
        file.read_exact_at(&mut header, 0).doing("read a segment")?;
        let header = SegmentHeader::decode(&header).doing("read a segment")?;
        Ok(Self {
            file,
            log: header.log,
            seed: header.seed(),
            link: header.previous.link,
            offset: SEGMENT_HEADER_LENGTH as u64,
            end: header.capacity,
            bytes: Vec::new(),
        })
    }

    fn check_all(&mut self) -> Result<u64, MeasureError> {
        let mut seen = 0;
        while self.read_on()? {
            let (records, taken) = whole_records(&self.bytes, self.seed);
            for group in records.chunks(RECORDS_AT_ONCE) {
                self.link = checked(self.log, self.link, group)?;
            }
            seen += records.len() as u64;
            drop(records);
            self.bytes.drain(..taken);
            if taken == 0 {
                break;
            }
        }
        Ok(seen)
    }

    /// One more piece behind what is left of the last one; `false` at the end.
    fn read_on(&mut self) -> Result<bool, MeasureError> {
        let left = self.bytes.len();
        let most = usize::try_from(self.end - self.offset).unwrap_or(PIECE).min(PIECE);
        self.bytes.resize(left + most, 0);
        let place = self.bytes.get_mut(left..).unwrap_or_default();
        let read = self.file.read_at(place, self.offset).doing("read a segment")?;
        self.bytes.truncate(left + read);
        self.offset += read as u64;
        Ok(read > 0)
    }
}

/// The records that lie in some bytes whole, and how many bytes they take.
fn whole_records(bytes: &[u8], seed: ChecksumSeed) -> (Vec<Record<'_>>, usize) {
    let (mut records, mut taken) = (Vec::new(), 0);
    while let Some(rest) = bytes.get(taken..)
        && let Ok(record) = Record::decode(rest, seed)
    {
        taken += usize::try_from(record.header.footprint()).unwrap_or(rest.len());
        records.push(record);
    }
    (records, taken)
}

/// The digests of some payloads, then the links, in lanes; the last link.
fn checked(log: LogId, before: Link, group: &[Record<'_>]) -> Result<Link, MeasureError> {
    let mut digests = [[0; 32]; RECORDS_AT_ONCE];
    let payloads: Vec<&[u8]> = group.iter().map(|record| record.payload).collect();
    digest_each(&payloads, &mut digests);
    let mut previous = before;
    let links: Vec<[u8; PREIMAGE_LENGTH]> = group
        .iter()
        .zip(&digests)
        .map(|(record, digest)| {
            let stated = std::mem::replace(&mut previous, record.header.link);
            preimage(log, &record.header, digest, &stated)
        })
        .collect();
    let links: Vec<&[u8]> = links.iter().map(<[u8; PREIMAGE_LENGTH]>::as_slice).collect();
    digest_each(&links, &mut digests);
    match group.iter().zip(&digests).all(|(record, link)| record.header.link.0 == *link) {
        true => Ok(previous),
        false => Err("a link is wrong").doing("check a log"),
    }
}

/// [`super::RULES_ONE_BY_ONE`], over events in memory.
pub(crate) fn rules_one_by_one(events: &[rebuild::Encoded]) -> Result<(), MeasureError> {
    let log = LogId([1; 16]);
    let (mut link, mut injective) = (Link::genesis(log), [0; 32]);
    for event in events {
        let RecordHeader { kind, version, sequence, time, .. } = event.header;
        let digest = payload_digest(&event.payload);
        link = LinkPrefix::new(log, kind, version, Flags::NONE, &digest)
            .link(&link, 0, sequence, time);
        let envelope = decode(kind, version, &event.payload).doing("decode an event")?;
        if let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) =
            &envelope.event
        {
            injective = evidence(body, &injective);
        }
        drop(black_box(envelope));
    }
    black_box((link, injective));
    Ok(())
}

/// The raw bytes, the seed's hash, and the one over all fields: what evidence is checked against.
fn evidence(body: &EvidenceCaptured, previous: &[u8; 32]) -> [u8; 32] {
    let raw = Sha256::digest(body.raw_data.as_bytes());
    let (point, kind) = (body.observation_point.name(), body.evidence_type.name());
    let texts = [body.record_id.as_str(), point, kind, body.timestamp.as_str()];
    let mut seed = Sha256::new();
    for text in texts {
        seed.update(text);
        seed.update([0]);
    }
    seed.update(body.raw_data.as_bytes());
    seed.update([0]);
    seed.update(body.prior_hash.as_bytes());
    black_box(seed.finalize());
    let mut all = Sha256::new();
    all.update(body.index.to_le_bytes());
    all.update(previous);
    for text in texts.into_iter().chain([body.prior_hash.as_str(), body.self_hash.as_str()]) {
        all.update((text.len() as u64).to_le_bytes());
        all.update(text);
    }
    all.update(body.raw_data.length().to_le_bytes());
    all.update(raw);
    all.finalize().into()
}
