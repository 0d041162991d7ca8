//! `cargo fuzz run apply`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdpoint_fuzz_targets::apply::read(bytes));
