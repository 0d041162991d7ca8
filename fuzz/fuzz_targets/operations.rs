//! `cargo fuzz run operations`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdpoint_fuzz_targets::operations::read(bytes));
