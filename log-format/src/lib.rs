//! What the bytes of a Holdpoint log mean.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
