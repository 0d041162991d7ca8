//! `cargo fuzz run sha256_lanes`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdpoint_fuzz_targets::sha256_lanes::read(bytes));
