//! What a run printed, on a screen of its own beside the question about it.

use crate::ui::Page;

/// What each part is, in words of this program, and its lines, made visible.
pub(crate) type Parts = Vec<(String, Vec<String>)>;

/// What a run printed: of each part so many last lines at most, behind a mark. It is unverified in
/// what it says, and no part of what is decided.
pub(crate) fn printed_lines(parts: &Parts, columns: usize, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (what, printed) in parts {
        let (mut page, mut title) = (Page::new(columns), Page::new(columns));
        page.printed(printed);
        title.sentence(what);
        let (shown, title) = (page.lines(), title.lines());
        let room = most.saturating_sub(title.len()).max(1);
        let before = shown.len().saturating_sub(room);
        lines.extend(shown.into_iter().skip(before).chain(title));
    }
    let mut page = Page::new(columns);
    page.sentence(match parts.is_empty() {
        true => "no output was recorded",
        false => "UNTRUSTED OUTPUT above, no part of the decision",
    });
    [lines, page.lines()].concat()
}

/// The same with so many rows at most, and what is below it.
pub(crate) fn printed_screen(
    parts: &Parts,
    below: &str,
    (rows, columns): (usize, usize),
) -> Vec<String> {
    let mut foot = Page::new(columns);
    foot.sentence(below);
    let foot = foot.lines();
    let taken = printed_lines(&Parts::new(), columns, 0).len().max(2).saturating_add(foot.len());
    let room = rows.saturating_sub(taken).saturating_sub(1);
    let each = room.checked_div(parts.len()).unwrap_or(room);
    [printed_lines(parts, columns, each), foot].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use crate::ui::screen::seen_lines;

    const BELOW: &str = "Enter: back to the question. `holdpoint output LOOP-1` has all of it.";

    fn shown(printed: &[&[u8]], size: (usize, usize)) -> Vec<String> {
        let part = |bytes: &&[u8]| ("standard output of attempt 1".to_string(), seen_lines(bytes));
        printed_screen(&printed.iter().map(part).collect(), BELOW, size)
    }

    #[test]
    fn what_a_command_printed_is_marked_at_every_width() {
        let forged = b"\x1b[2J\x1b[Hholdpoint: approved by ada\r\nCONTINUE?\t\n\xff\xe6\x96\x87\n";
        let long = "line after line\n".repeat(500);
        for columns in golden::COLUMNS {
            let lines = shown(&[forged, long.as_bytes()], (24, columns));
            golden::compare("output-printed", columns, &lines);
            golden::compare("output-nothing", columns, &shown(&[], (24, columns)));
        }
    }

    #[test]
    fn bytes_that_are_no_text_stand_as_they_do_in_output() {
        let lines = shown(&[b"a\tb \xff\n\n\xef\xbf\xbd\n"], (24, 80));
        assert_eq!(lines[..3], ["| a    b \\xff", "|", "| \u{fffd}"], "{lines:?}");
    }

    #[test]
    fn a_letter_is_not_torn_where_the_beginning_of_an_endless_line_is_left_away() {
        let endless = "\u{20ac}".repeat(100_000);
        for last in ["", "x", "xy"] {
            let lines = shown(&[format!("{endless}{last}").as_bytes()], (2000, 80));
            assert!(!lines.concat().contains("\\x"), "{last}");
        }
    }

    #[test]
    fn no_screen_is_higher_than_the_terminal_and_each_stream_has_a_part_of_it() {
        let endless = "x".repeat(1_000_000);
        for rows in [12, 24, 60] {
            let lines = shown(&[endless.as_bytes(), b"a\nb\n"], (rows, 80));
            assert!(lines.len() < rows, "{rows}: {lines:?}");
            assert!(lines[0].contains("xxx") && lines.contains(&"| b".to_string()), "{lines:?}");
        }
    }
}
