//! `cargo fuzz run record`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdpoint_fuzz_targets::record::read(bytes));
