//! What a reducer's states promise.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod history;
mod hostile;
mod reduced;
mod support;
