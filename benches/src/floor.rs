//! Floors that nobody can beat: the bare bytes, the bare hashes, the bare writes and syncs.

mod group_commit;
mod reading;
mod reserved;

pub use group_commit::{GATHERING, GROUPS};
pub(crate) use reading::rules_one_by_one;

use crate::error::{Doing, MeasureError};
use crate::figure::{Contender, Role};
use crate::pace::{Pace, Stopwatch, repeat};
use crate::plan::Plan;
use crate::rounds::{Sample, Work};
use holdpoint_log_format::limits::record_footprint;
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::{Flags, Link, LinkPrefix, LogId};
use holdpoint_sha256_lanes::digest_each;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A copy of each record's bytes.
pub const COPY: &str = "memcpy";
/// One SHA-256 for each record, over the hash before it and the record's own bytes.
pub const CHAIN: &str = "SHA-256 chain";
/// The hashes that the format asks for: the payload's digest, and the link's two blocks.
pub const LINKS: &str = "digest and link";
/// Each record written at its place of a file that was written before.
pub const WRITE: &str = "pwrite";
/// Work that each record costs whoever hashes, checks and writes it: the payload's digest, the
/// link, a CRC-32, and a write into a file in the state of ours: its space reserved, never written
/// before.
pub const WRITE_HASHED: &str = "digest, link, CRC-32 and pwrite";
/// The same, written in pieces as large as a log's instead of one by one.
pub const STAGE_HASHED: &str = "digest, link, CRC-32 and pieces";
/// The same in batches of 64, whose payloads are digested in lanes.
pub const STAGE_MANY_HASHED: &str = "lanes, link, CRC-32 and pieces";
/// [`WRITE`], and a sync for each record.
pub const WRITE_AND_SYNC: &str = "pwrite+fdatasync";
/// The same for eight records at once: what eight writers can share.
pub const WRITE_EIGHT_AND_SYNC: &str = "pwrite+fdatasync of 8";
/// The same for 64 records at once.
pub const WRITE_MANY_AND_SYNC: &str = "pwrite+fdatasync of 64";
/// The digests of payloads and of links, independent of one another, in lanes.
pub const LANES: &str = "hash lanes";
/// A CRC-32 of every record.
pub const CHECKSUM: &str = "CRC-32";
/// Eight writers, or 64, that share writes and syncs, and hash nothing: whoever finds nobody at it
/// writes and syncs what has gathered.
pub const GROUP_COMMIT: &str = "group commit without hashes";
/// The same, and who writes first waits for as many writers as the last commit let go.
pub const GATHERING_COMMIT: &str = "gathering group commit without hashes";
/// Everything that the chain's verification cannot do without, in one loop: the records read,
/// their frames decoded, a CRC-32, and the digests and links in lanes.
pub const READ_AND_CHECK: &str = "read, CRC-32, decode and lanes";
/// The same in two threads, each over the whole log, for a record of either: what a second core
/// gives on this machine to those who share nothing.
pub const READ_AND_CHECK_IN_TWO: &str = "the same parts in two threads";
/// Every event decoded, and all hashes that follow from it, one after the other: the payload's
/// digest, the link, and those of evidence.
pub const RULES_ONE_BY_ONE: &str = "decode and hashes one by one";

/// Bytes of the file that the floors write into.
const PREPARED_BYTES: u64 = 64 << 20;
/// Bytes of a link's preimage: two blocks with their padding.
const LINK_PREIMAGE_BYTES: usize = 128 - 9;
/// Records whose hashes are asked for at once.
const RECORDS_AT_ONCE: usize = 64;

/// A floor that does its work again and again at the plan's pace.
fn paced(name: &'static str, plan: &Plan, mut once: impl FnMut() + 'static) -> Contender {
    let pace = plan.pace();
    contender(
        name,
        Box::new(move || {
            repeat(pace, || {
                once();
                Ok(())
            })
        }),
    )
}

fn contender(name: &'static str, work: Work) -> Contender {
    Contender { name: name.to_string(), role: Role::Floor, remark: String::new(), work }
}

/// [`COPY`].
pub(crate) fn copy(plan: &Plan, payload: usize) -> Contender {
    let bytes = footprint(payload);
    let (from, mut to) = (vec![0xa5_u8; bytes], vec![0; bytes]);
    paced(COPY, plan, move || black_box(&mut to).copy_from_slice(black_box(&from)))
}

/// [`CHAIN`].
pub(crate) fn chain(plan: &Plan, payload: usize) -> Contender {
    let record = vec![0xa5; footprint(payload)];
    let mut link = [0_u8; 32];
    paced(CHAIN, plan, move || {
        link = Sha256::new().chain_update(link).chain_update(black_box(&record)).finalize().into();
    })
}

/// [`LINKS`].
pub(crate) fn links(plan: &Plan, payload: usize) -> Contender {
    let (payload, log) = (vec![0xa5; payload], LogId([1; 16]));
    let mut link = Link::genesis(log);
    paced(LINKS, plan, move || {
        let digest = payload_digest(black_box(&payload));
        link = LinkPrefix::new(log, 7, 1, Flags::NONE, &digest).link(&link, 0, 1, 1);
    })
}

/// [`CHECKSUM`], over bytes that are not in a cache.
pub(crate) fn checksum(payload: usize, records: u64) -> Contender {
    over_records(CHECKSUM, footprint(payload), records, move |bytes, each| {
        for record in bytes.chunks_exact(each) {
            black_box(crc32fast::hash(record));
        }
    })
}

/// [`COPY`], over bytes that are not in a cache.
pub(crate) fn copy_all(payload: usize, records: u64) -> Contender {
    let mut to = Vec::new();
    over_records(COPY, footprint(payload), records, move |bytes, each| {
        for record in bytes.chunks_exact(each) {
            to.clear();
            to.extend_from_slice(black_box(record));
            black_box(&to);
        }
    })
}

/// [`LANES`], over bytes that are not in a cache.
pub(crate) fn lanes(payload: usize, records: u64) -> Contender {
    over_records(LANES, footprint(payload), records, move |bytes, each| {
        let mut digests = [[0; 32]; RECORDS_AT_ONCE];
        for group in bytes.chunks(each * RECORDS_AT_ONCE) {
            let payloads = parts(group, each, payload);
            digest_each(&payloads, &mut digests);
            digest_each(&parts(group, each, LINK_PREIMAGE_BYTES.min(each)), &mut digests);
            black_box(&digests);
        }
    })
}

/// The first bytes of each record.
fn parts(group: &[u8], each: usize, length: usize) -> Vec<&[u8]> {
    group.chunks_exact(each).filter_map(|record| record.get(..length)).collect()
}

/// Work over the bytes of so many records; gives the seconds for each.
fn over_records(
    name: &'static str,
    each: usize,
    records: u64,
    mut whole: impl FnMut(&[u8], usize) + 'static,
) -> Contender {
    let mut bytes = Vec::new();
    contender(
        name,
        Box::new(move || {
            bytes.resize(each * usize::try_from(records).unwrap_or_default(), 0xa5);
            let watch = Stopwatch::start();
            whole(&bytes, each);
            Ok(watch.per(records))
        }),
    )
}

/// [`WRITE_HASHED`].
pub(crate) fn write_hashed(plan: &Plan, payload: usize) -> Contender {
    contender(WRITE_HASHED, reserved::writing(plan, payload))
}

/// [`STAGE_HASHED`].
pub(crate) fn stage_hashed(plan: &Plan, payload: usize) -> Contender {
    contender(STAGE_HASHED, reserved::staging(plan, payload, 1))
}

/// [`STAGE_MANY_HASHED`].
pub(crate) fn stage_many_hashed(plan: &Plan, payload: usize) -> Contender {
    contender(STAGE_MANY_HASHED, reserved::staging(plan, payload, RECORDS_AT_ONCE))
}

/// [`READ_AND_CHECK`], over a log of ours.
pub(crate) fn reading(plan: &Plan, payload: usize) -> Contender {
    contender(READ_AND_CHECK, reading::of_records(plan, payload))
}

/// [`READ_AND_CHECK_IN_TWO`].
pub(crate) fn reading_in_two(plan: &Plan, payload: usize) -> Contender {
    contender(READ_AND_CHECK_IN_TWO, reading::of_records_in_two(plan, payload))
}

/// [`WRITE`].
pub(crate) fn write(plan: &Plan, payload: usize) -> Contender {
    writing(WRITE, plan, payload, 1, false)
}

/// [`WRITE_AND_SYNC`].
pub(crate) fn write_and_sync(plan: &Plan, payload: usize) -> Contender {
    writing(WRITE_AND_SYNC, plan, payload, 1, true)
}

/// [`WRITE_EIGHT_AND_SYNC`].
pub(crate) fn write_eight_and_sync(plan: &Plan, payload: usize) -> Contender {
    writing(WRITE_EIGHT_AND_SYNC, plan, payload, 8, true)
}

/// [`WRITE_MANY_AND_SYNC`].
pub(crate) fn write_many_and_sync(plan: &Plan, payload: usize) -> Contender {
    writing(WRITE_MANY_AND_SYNC, plan, payload, 64, true)
}

fn writing(
    name: &'static str,
    plan: &Plan,
    payload: usize,
    records: u64,
    syncs: bool,
) -> Contender {
    let (directory, pace) = (plan.directory.clone(), plan.pace());
    let bytes = vec![0xa5; footprint(payload) * usize::try_from(records).unwrap_or(1)];
    let mut file = None;
    contender(
        name,
        Box::new(move || {
            let prepared = match file.take() {
                Some(prepared) => prepared,
                None => Prepared::new(&directory)?,
            };
            let sample = file.insert(prepared).round(pace, &bytes, syncs)?;
            let each = |value: f64| value / records as f64;
            Ok(Sample { value: each(sample.value), cpu: sample.cpu.map(each) })
        }),
    )
}

/// A file that was written whole and synced, so that writing into it again converts no extents.
struct Prepared {
    file: File,
    offset: u64,
}

impl Prepared {
    fn new(directory: &Path) -> Result<Self, MeasureError> {
        let file = tempfile::tempfile_in(directory).doing("make a file")?;
        let zeros = vec![0; 1 << 20];
        for offset in (0..PREPARED_BYTES).step_by(zeros.len()) {
            file.write_all_at(&zeros, offset).doing("write a file")?;
        }
        file.sync_all().doing("sync a file")?;
        Ok(Self { file, offset: 0 })
    }

    fn round(&mut self, pace: Pace, bytes: &[u8], syncs: bool) -> Result<Sample, MeasureError> {
        repeat(pace, || {
            self.file.write_all_at(bytes, self.offset).doing("write a file")?;
            self.offset = (self.offset + bytes.len() as u64) % (PREPARED_BYTES / 2);
            if syncs { self.file.sync_data().doing("sync a file") } else { Ok(()) }
        })
    }
}

/// Bytes that a record with such a payload takes in a log of ours.
fn footprint(payload: usize) -> usize {
    usize::try_from(record_footprint(payload)).unwrap_or(payload)
}
