//! The program `holdpoint`.

fn main() {}
