//! `cargo fuzz run segment`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdpoint_fuzz_targets::segment::read(bytes));
