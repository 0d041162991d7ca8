//! `cargo fuzz run payload`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdpoint_fuzz_targets::payload::read(bytes));
