use crate::block::Field;

pub const SEGMENT_HEADER_LENGTH: usize = 4096;
pub const RECORD_HEADER_LENGTH: usize = 64;
pub const SEAL_LENGTH: usize = 64;
pub const HEAD_LENGTH: usize = 152;
pub const LOCK_LENGTH: usize = 64;
pub const SNAPSHOT_HEADER_LENGTH: usize = 128;
pub const INDEX_HEADER_LENGTH: usize = 4096;
pub const ALIGNMENT: usize = 8;
pub const CAPACITY_FIRST: usize = 65_536;
pub const CAPACITY_USUAL_MAX: usize = 33_554_432;

pub const SEGMENT_MAGIC: &[u8; 8] = b"HOLDSEG\0";
pub const HEAD_MAGIC: &[u8; 8] = b"HOLDHEAD";
pub const LOCK_MAGIC: &[u8; 8] = b"HOLDLOCK";
pub const SNAPSHOT_MAGIC: &[u8; 8] = b"HOLDSNAP";
pub const INDEX_MAGIC: &[u8; 8] = b"HOLDIDX\0";
pub const SEAL_TAG: &[u8; 4] = b"SEAL";

pub const MORE_FOLLOWS: u8 = 1;
pub const SALTED: u8 = 2;
pub const WITHHELD: u8 = 4;

/// `unsynced` that claims nothing.
pub const NO_CLAIM: u64 = 0xffff_ffff;

const fn field(at: usize, length: usize) -> Field {
    Field { at, length }
}

/// What header block, HEAD, LOCK and index begin with (27).
pub mod common {
    use super::{Field, field};
    pub const MAGIC: Field = field(0, 8);
    pub const VERSION: Field = field(8, 4);
    pub const CHECKSUM: Field = field(12, 4);
}

/// Record header (6).
pub mod record {
    use super::{Field, field};
    pub const SIZE: Field = field(0, 4);
    pub const CHECKSUM: Field = field(4, 4);
    pub const KIND: Field = field(8, 2);
    pub const VERSION: Field = field(10, 1);
    pub const FLAGS: Field = field(11, 1);
    pub const UNSYNCED: Field = field(12, 4);
    pub const SEQUENCE: Field = field(16, 8);
    pub const TIME: Field = field(24, 8);
    pub const LINK: Field = field(32, 32);
}

/// Segment header block (9).
pub mod header {
    use super::{Field, field};
    pub const LOG: Field = field(16, 16);
    pub const FIRST_SEQUENCE: Field = field(32, 8);
    pub const CAPACITY: Field = field(40, 8);
    pub const PREVIOUS_LINK: Field = field(48, 32);
    pub const PREVIOUS_TIME: Field = field(80, 8);
    pub const PREVIOUS_SEAL_OFFSET: Field = field(88, 8);
    pub const RESERVED: Field = field(96, 4000);
}

/// Seal (10).
pub mod seal {
    use super::{Field, field};
    pub const TAG: Field = field(0, 4);
    pub const CHECKSUM: Field = field(4, 4);
    pub const LAST_SEQUENCE: Field = field(8, 8);
    pub const OFFSET: Field = field(16, 8);
    pub const LAST_TIME: Field = field(24, 8);
    pub const LAST_LINK: Field = field(32, 32);
}

/// HEAD (11).
pub mod head {
    use super::{Field, field};
    pub const LOG: Field = field(16, 16);
    pub const ANCHOR_SEQUENCE: Field = field(32, 8);
    pub const ANCHOR_LINK: Field = field(40, 32);
    pub const NEWEST_SEQUENCE: Field = field(72, 8);
    pub const NEWEST_LINK: Field = field(80, 32);
    pub const SEGMENT: Field = field(112, 8);
    pub const RECORD_OFFSET: Field = field(120, 8);
    pub const END_OFFSET: Field = field(128, 8);
    pub const BOOT: Field = field(136, 16);
}

/// LOCK (12).
pub mod lock {
    use super::{Field, field};
    pub const PID: Field = field(16, 4);
    pub const STATE: Field = field(20, 1);
    pub const PREVIOUS_STATE: Field = field(21, 1);
    pub const RESERVED: Field = field(22, 2);
    pub const BOOT: Field = field(24, 16);
    pub const DURABLE_SEQUENCE: Field = field(40, 8);
    pub const WALL_MINUS_BOOT: Field = field(48, 8);

    pub const IDLE: u64 = 1;
    pub const RECOVERING: u64 = 3;
    pub const POISONED: u64 = 4;
}

/// Snapshot header (31).
pub mod snapshot {
    use super::{Field, field};
    pub const MAGIC: Field = field(0, 8);
    pub const VERSION: Field = field(8, 4);
    pub const STATE_SCHEMA: Field = field(12, 4);
    pub const LOG: Field = field(16, 16);
    pub const SEQUENCE: Field = field(32, 8);
    pub const LINK: Field = field(40, 32);
    pub const TIME: Field = field(72, 8);
    pub const SEGMENT: Field = field(80, 8);
    pub const RECORD_OFFSET: Field = field(88, 8);
    pub const END_OFFSET: Field = field(96, 8);
    pub const STATE_LENGTH: Field = field(104, 8);
}

/// Header block of an index (INDEX.md, 4).
pub mod index {
    use super::{Field, field};
    pub const LOG: Field = field(16, 16);
    pub const FIRST_SEQUENCE: Field = field(32, 8);
    pub const LAST_SEQUENCE: Field = field(40, 8);
    pub const LAST_TIME: Field = field(48, 8);
    pub const LAST_LINK: Field = field(56, 32);
    pub const RECORDS: Field = field(88, 4);
    pub const TERMS_VERSION: Field = field(92, 4);
    pub const SECTION_TABLE: Field = field(96, 448);
    pub const WITHOUT_TERMS: Field = field(544, 4);

    pub const ENTRY_LENGTH: usize = 56;
    pub const ENTRY_KIND: Field = field(0, 8);
    pub const ENTRY_OFFSET: Field = field(8, 8);
    pub const ENTRY_LENGTH_FIELD: Field = field(16, 8);
    pub const ENTRY_DIGEST: Field = field(24, 32);
}
