//! Values and options that several verbs take, parsed.

pub(crate) mod bounded_read;
pub(crate) mod command_line;
pub(crate) mod condition;
pub(crate) mod durations;
pub(crate) mod global;
pub(crate) mod hook_line;
pub(crate) mod host;
pub(crate) mod json_lines;
pub(crate) mod labels;
pub(crate) mod lock_wait;
pub(crate) mod principal;
pub(crate) mod values;

pub(crate) use global::{Global, expect_writable, forbid_writing, settle};
pub(crate) use lock_wait::LockWaitArgs;
