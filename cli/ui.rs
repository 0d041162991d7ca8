//! The terminal: screens, tables, texts, streams, exit codes. It knows no log and no question.

pub(crate) mod exit;
pub(crate) mod hints;
pub(crate) mod inherited;
pub(crate) mod output;
pub(crate) mod pager;
pub(crate) mod program;
pub(crate) mod progress;
pub(crate) mod screen;
pub(crate) mod short_id;
pub(crate) mod streams;
pub(crate) mod suggest;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod time_format;
pub(crate) mod zone;

pub(crate) use exit::{Exit, Failure, complain};
pub(crate) use output::Output;
pub(crate) use progress::Bar;
pub(crate) use screen::{Page, named};
pub(crate) use suggest::closest;
pub(crate) use text::{counted, excerpt, moment, path};
pub(crate) use time_format::{TimesArgs, now};
