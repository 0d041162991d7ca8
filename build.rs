//! Links the program of a development build at a fixed address.

use std::env::var;

/// Tests start the program some ten thousand times, and two thirds of a start of an unoptimized
/// program were its relocations. What is released stays position-independent.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
