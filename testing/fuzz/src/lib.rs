//! What the fuzz targets do with their bytes. Each target is one function `read` here, so that an
//! ordinary test replays the corpora without a fuzzer. They assert what must hold for every input,
//! not only that nothing panics.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what fails here is a finding"
)]

pub mod apply;
mod damage;
pub mod damage_map;
pub mod directory;
mod edit;
pub mod export;
mod image;
pub mod index;
mod model;
pub mod operations;
pub mod payload;
pub mod predicate;
pub mod record;
pub mod records;
pub mod segment;
pub mod sha256_lanes;
pub mod travel;
mod written;
