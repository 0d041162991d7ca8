//! The sidecar index of a sealed segment: from a sequence to its offset, from a time to a sequence,
//! from a term or an idempotency key to the records that hold it.
//!
//! An index is derived. It is built from a sealed segment, lies beside it in one file, never
//! changes, and can be deleted at any time. `INDEX.md` beside this crate describes its bytes.
//!
//! # Architecture invariants
//!
//! - Bytes in, bytes out: only [`mod@file`] knows where files lie, and nothing here has a call that
//!   changes one.
//! - Nothing here knows what a payload means: terms are hashes of bytes that the caller gives.
//! - No length in an index is trusted. Whatever the bytes are, a lookup gives a result or an
//!   [`IndexFault`]: no panic, no read beyond the bytes, no allocation sized by what they claim.
//! - No section is read before its digest was compared with the header's. So the digest of the
//!   header block ([`Index::digest`]) vouches for every byte, and whoever knows from elsewhere
//!   which digest is right knows whether to believe the index.
//! - Lookups give candidates, never proof: two terms can have one hash. The caller looks at the
//!   record. What a believed index does *not* name is not in the segment.
#![forbid(unsafe_code)]

mod builder;
mod bytes;
mod fault;
pub mod file;
mod filter;
mod header;
mod index;
pub mod layout;
mod lookup;
mod postings;
mod rows;
mod table;
mod term;

pub use builder::{BuildFault, IndexBuilder, IndexedRecord};
pub use fault::IndexFault;
pub use header::{IndexDigest, Scope};
pub use index::{Copies, Index, Stretch};
pub use layout::Section;
pub use lookup::read_indexed;
pub use postings::Records;
pub use rows::Rows;
pub use term::{RecordTerms, RowOfRecord, TermHash, TermsOfRecord};
