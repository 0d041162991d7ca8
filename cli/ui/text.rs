//! Small pieces of human output.

use crate::ui::named;
use clap::builder::{PathBufValueParser, TypedValueParser};
use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::{ActorId, Proof};
use std::path::{Component, Path, PathBuf};

/// Longest command line in a table, in bytes.
const COMMAND_LINE_BYTES_MAX: usize = 120;
/// Longest beginning of a value that means nothing, in bytes.
const EXCERPT_BYTES_MAX: usize = 96;
/// Most bytes of a path, and of a name in it, that Linux takes.
const PATH_BYTES_MAX: usize = 4095;
const FILE_NAME_BYTES_MAX: usize = 255;

/// A moment with milliseconds: `2026-01-25T16:00:00.000Z`.
pub(crate) fn moment(time: Timestamp) -> String {
    format!("{}Z", bounded(&time.to_string(), 23))
}

/// Who did something: `HUMAN ada`.
pub(crate) fn actor(actor: &ActorId) -> String {
    format!("{} {}", actor.kind, named(&actor.id))
}

/// Who did something, and whether nothing proves that: `HUMAN ada (not proven)`. That it was a
/// person is proven at a terminal alone. What Holdpoint does of its own needs no proof.
pub(crate) fn doer(by: &ActorId, proof: Option<Proof>) -> String {
    let is_proven = match (by.kind, proof) {
        (kind, None) => kind == Actor::System,
        (Actor::Human, Some(proof)) => proof.by == Authentication::Terminal,
        (_, Some(proof)) => !proof.is_claim(),
    };
    match is_proven {
        true => actor(by),
        false => format!("{} (not proven)", actor(by)),
    }
}

/// A path as it may be shown. Of what can be none the beginning is.
pub(crate) fn path(path: &Path) -> String {
    match check_path(path) {
        Ok(()) => visible(&path.to_string_lossy()).to_string(),
        Err(_) => format!("{}..", excerpt(&path.to_string_lossy())),
    }
}

/// What is given as a path, unless there can be no such one.
pub(crate) fn path_given() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| check_path(&path).map(|()| path))
}

fn check_path(path: &Path) -> Result<(), String> {
    let is_short = |name: Component<'_>| name.as_os_str().len() <= FILE_NAME_BYTES_MAX;
    match path.as_os_str().len() <= PATH_BYTES_MAX && path.components().all(is_short) {
        true => Ok(()),
        false => Err(format!(
            "a path has at most {PATH_BYTES_MAX} bytes, and each name in it {FILE_NAME_BYTES_MAX}"
        )),
    }
}

/// A text whose quotes were made visible when it was worded: backslashes stay as they are, and what
/// else is hidden is made visible.
pub(crate) fn visible_once(text: &str) -> String {
    visible(text).to_string().replace("\\\\", "\\")
}

/// The beginning of a value that means nothing, as it may be shown; of an empty one, that it is.
pub(crate) fn excerpt(text: &str) -> String {
    if text.is_empty() {
        return "\"\"".to_string();
    }
    visible(beginning(text)).to_string()
}

/// The same as it was given, for whoever makes it visible: as much as is repeated of any value.
pub(crate) fn beginning(text: &str) -> &str {
    bounded(text, EXCERPT_BYTES_MAX)
}

/// The beginning of a text as it may be shown, of at most so many bytes, and whether there is more.
pub(crate) fn cut(text: &str, most_bytes: usize) -> String {
    let cut = bounded(text, most_bytes);
    let more = if cut.len() < text.len() { ".." } else { "" };
    format!("{}{more}", visible(cut))
}

/// A command line, which its recorder has made visible already: backslashes stay as they are.
pub(crate) fn command_line(text: &str) -> String {
    let cut = bounded(text, COMMAND_LINE_BYTES_MAX);
    let more = if cut.len() < text.len() { ".." } else { "" };
    format!("{}{more}", visible_once(cut))
}

/// A size for people: `12.3 KiB`.
pub(crate) fn bytes(count: u64) -> String {
    bytesize::ByteSize::b(count).display().iec().to_string()
}

/// A count with its noun: `1 record`, `2 records`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Rows of cells in columns that are as wide as their widest cell, the first row as the header.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  "));
        cells.collect::<String>().trim_end().to_string()
    };
    rows.iter().map(line).collect()
}

/// A name in quotes, on one line and with no end but its own.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", visible(text).to_string().replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_visible_before_is_not_made_so_twice() {
        let quoted = visible("a\\\u{202e}").to_string();
        assert_eq!(visible_once(&quoted), quoted);
        assert_eq!(visible_once("\\\\\\ \n"), "\\\\\\ \\u{a}");
    }

    #[test]
    fn a_value_that_is_empty_is_seen_to_be_so() {
        assert_eq!(excerpt(""), "\"\"");
    }

    #[test]
    fn a_path_is_shown_whole_and_of_what_can_be_none_the_beginning() {
        let long = format!("/{}", "name/".repeat(800));
        for path_that_may_be in ["/a b", &long, &"x".repeat(255)] {
            assert_eq!(path(Path::new(path_that_may_be)), path_that_may_be);
        }
        for none in ["x".repeat(256), "y/".repeat(3000)] {
            let shown = path(Path::new(&none));
            assert!(shown.len() <= 100 && shown.ends_with(".."), "{shown}");
        }
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "\u{e9}\u{e9}\u{e9}", "c"], ["long", "b", ""]];
        let rows = rows.map(|row| row.map(String::from));
        assert_eq!(aligned(&rows), ["a     \u{e9}\u{e9}\u{e9}  c", "long  b"]);
    }
}
