//! The same log with its first segments moved to an archive beside it.

use super::{sealed_log, state_indexes};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::payload::{Raw, RawData};
use holdpoint_domain::log::HistoryArchived;
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_forger::pair::{ARCHIVE, LOG};
use holdpoint_log_format::{ChainPosition, Head, names};
use holdpoint_testing::hand_made::{HandMadeLog, change_head};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A directory with the log and the archive of all its segments but a sealed one and the active
/// one, the same bytes at every call.
pub(crate) fn archived_log() -> TempDir {
    let directory = TempDir::new().unwrap();
    let (at, archive) = (directory.path().join(LOG), directory.path().join(ARCHIVE));
    let mut log = sealed_log();
    let (anchor, head, moved) = (log.chain, log.head(), statement(&log));
    log.run();
    log.roll();
    log.write(&at);
    state_indexes(&mut log, &at);
    log.snapshot(&at);
    log.events(vec![moved.into()]);
    log.run();
    log.write(&at);
    move_segments(&at, &archive, &anchor);
    fs::write(archive.join(names::HEAD), head.encode()).unwrap();
    fs::write(archive.join(names::ARCHIVE), "an archive\n").unwrap();
    change_head(&at, |head| Head {
        anchor_sequence: anchor.sequence,
        anchor_link: anchor.link,
        ..head
    });
    directory
}

/// That all records up to now are in the archive. A relative path is one beside the log.
fn statement(log: &HandMadeLog) -> HistoryArchived {
    let (state, state_fingerprint) = log.world.clone().carry_with_fingerprint();
    HistoryArchived {
        first_sequence: 1,
        anchor_sequence: log.chain.sequence,
        anchor_link: Digest::from_bytes(log.chain.link.0),
        archived_to: ARCHIVE.into(),
        state_schema: STATE_SCHEMA_VERSION,
        state_fingerprint,
        state: Raw::from(RawData::from(state)),
    }
}

/// The segments up to the anchor, and their indexes.
fn move_segments(log: &Path, archive: &Path, anchor: &ChainPosition) {
    let [from, to] = [log, archive].map(|directory| directory.join(names::SEGMENTS));
    fs::create_dir_all(&to).unwrap();
    for entry in fs::read_dir(&from).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let first: u64 = name[..20].parse().unwrap();
        if first <= anchor.sequence {
            fs::rename(from.join(&name), to.join(&name)).unwrap();
        }
    }
}
