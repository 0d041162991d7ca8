//! `cargo fuzz run damage_map`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdpoint_fuzz_targets::damage_map::read(bytes));
