//! `cargo fuzz run directory`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdpoint_fuzz_targets::directory::read(bytes));
