//! `cargo fuzz run travel`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdpoint_fuzz_targets::travel::read(bytes));
