//! `cargo fuzz run records`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdpoint_fuzz_targets::records::read(bytes));
