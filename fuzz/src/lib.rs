//! What the fuzz targets do with their bytes. Each target is one function here, so that an ordinary
//! test replays the corpora without a fuzzer.

pub mod segment;
