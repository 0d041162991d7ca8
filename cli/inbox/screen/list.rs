//! The list of what waits, over a whole terminal.

use super::room::{help, newest, sentences};
use super::{Frame, Screen};
use crate::inbox::item::Item;
use crate::inbox::rows::{Rows, lines_each, rows};
use crate::screen::width;
use holdpoint_domain::Time;

/// So many sentences are shown of what cannot be known.
const PROBLEMS_MAX: usize = 2;
/// What stands before the selected question, and before everything else in the list.
const CHOSEN: &str = "> ";
const OTHER: &str = "  ";

pub(super) fn list(screen: &mut Screen, now: Time, (height, columns): (usize, usize)) -> Frame {
    let waiting = screen.items.iter().filter(|item| item.waits()).count();
    let logs = format!("{} log{}", screen.known, if screen.known == 1 { "" } else { "s" });
    let title = match waiting {
        0 if !screen.problems.is_empty() => format!("nothing that waits is known in {logs}"),
        0 => format!("nothing waits in {logs}"),
        1 => format!("1 waits in {logs}"),
        _ => format!("{waiting} wait in {logs}"),
    };
    let mut head = sentences([&title], columns);
    let more = screen.problems.len().saturating_sub(PROBLEMS_MAX);
    head.extend(sentences(screen.problems.iter().take(PROBLEMS_MAX), columns));
    if more > 0 {
        head.extend(sentences([&format!("and {more} more that cannot be known")], columns));
    }
    let mut foot = newest(&screen.messages, (height, columns));
    foot.push(help("Enter open  o output  q quit", columns));
    let room = height.saturating_sub(head.len()).saturating_sub(foot.len()).max(3);
    let items: Vec<&Item> = screen.items.iter().collect();
    let narrower = columns.saturating_sub(width(CHOSEN));
    let each = lines_each(narrower);
    // One line is the titles'.
    screen.page = (room.saturating_sub(1) / each).max(1);
    let first = screen.selected.saturating_sub(screen.page / 2);
    let first = first.min(items.len().saturating_sub(screen.page));
    let seen = items.get(first..).unwrap_or_default();
    let seen = seen.get(..screen.page).unwrap_or(seen);
    let Rows { titles, rows } = rows(seen, now, narrower);
    let mut lines = head;
    if !seen.is_empty() {
        lines.push(format!("{OTHER}{titles}").trim_end().to_string());
    }
    let mut selected = 0..0;
    for (at, row) in rows.iter().enumerate() {
        let is_it = first.saturating_add(at) == screen.selected;
        let begin = lines.len();
        let mark = if is_it { CHOSEN } else { OTHER };
        let marks = std::iter::once(mark).chain(std::iter::repeat(OTHER));
        lines.extend(row.iter().zip(marks).map(|(line, mark)| format!("{mark}{line}")));
        if is_it {
            selected = begin..lines.len();
        }
    }
    lines.resize(height.saturating_sub(foot.len()).max(lines.len()), String::new());
    lines.extend(foot);
    Frame { lines, selected, cursor: None }
}
