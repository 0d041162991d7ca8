//! `cargo fuzz run predicate`
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdpoint_fuzz_targets::predicate::read(bytes));
