//! `holdpoint log`: the records themselves.

pub(crate) mod show;
pub(crate) mod stat;
pub(crate) mod tail;
