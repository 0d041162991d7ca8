//! Snapshots beside a log, and the records that state them.

use super::HandMadeLog;
use holdpoint_domain::World;
use holdpoint_domain::log::FingerprintRecorded;
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_log_files::snapshot::snapshot_path;
use holdpoint_log_format::{SnapshotHeader, names};
use std::path::Path;

impl HandMadeLog {
    /// Writes a snapshot of the state, and states its fingerprint. Gives the record that does.
    pub fn snapshot(&mut self, directory: &Path) -> u64 {
        self.snapshot_of(&mut self.world.clone(), directory)
    }

    /// The same of another state.
    pub fn snapshot_of(&mut self, world: &mut World, directory: &Path) -> u64 {
        let (state, fingerprint) = world.carry_with_fingerprint();
        let head = self.head();
        let header = SnapshotHeader {
            log: self.log,
            chain: self.chain,
            segment: head.segment,
            record_offset: head.record_offset,
            end_offset: head.end_offset,
            state_schema: STATE_SCHEMA_VERSION,
        };
        std::fs::create_dir_all(directory.join(names::SNAPSHOTS)).unwrap();
        let file = directory.join(snapshot_path(self.chain.sequence));
        std::fs::write(file, header.encode_with(&state)).unwrap();
        let stated = FingerprintRecorded { schema: STATE_SCHEMA_VERSION, fingerprint };
        self.events(vec![stated.into()]);
        self.chain.sequence
    }
}
