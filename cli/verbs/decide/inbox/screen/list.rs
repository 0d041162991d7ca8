//! The list of what waits, over a whole terminal.

use super::room::{at_most, fitting, help, newest, sentences};
use super::{Frame, Screen};
use crate::questions::waiting_item::Item;
use crate::ui::counted;
use crate::ui::screen::width;
use crate::verbs::decide::inbox::rows::{Rows, lines_each, rows};
use holdpoint_domain::Time;

/// So many sentences are shown of what cannot be known before the questions have all their room.
const PROBLEMS_MIN: usize = 2;
/// What stands before the selected question, and before everything else in the list.
const CHOSEN: &str = "> ";
const OTHER: &str = "  ";
/// The same where every column counts.
const NARROW_COLUMNS: usize = 24;
const CHOSEN_NARROW: &str = ">";
const OTHER_NARROW: &str = " ";
/// So many rows are for the selected question, the title, what is not seen of the list, and keys.
const ROWS_MIN: usize = 4;

/// What stands around the questions.
struct Around {
    head: Vec<String>,
    foot: Vec<String>,
    has_titles: bool,
}

pub(super) fn list(screen: &mut Screen, now: Time, (height, columns): (usize, usize)) -> Frame {
    let (chosen, other) = match columns < NARROW_COLUMNS {
        true => (CHOSEN_NARROW, OTHER_NARROW),
        false => (CHOSEN, OTHER),
    };
    let narrower = columns.saturating_sub(width(chosen));
    let each = lines_each(narrower);
    let Around { head, mut foot, has_titles } = around(screen, (height, columns), each);
    let taken = head.len().saturating_add(foot.len()).saturating_add(usize::from(has_titles));
    let room = height.saturating_sub(taken);
    let all = screen.items.len();
    // What is not seen takes a line itself.
    let is_whole = all.saturating_mul(each) <= room;
    let room = room.saturating_sub(usize::from(!is_whole));
    screen.page = (room / each).max(1);
    let first = screen.selected.saturating_sub(screen.page / 2);
    let first = first.min(all.saturating_sub(screen.page));
    let seen: Vec<&Item> = screen.items.iter().skip(first).take(screen.page).collect();
    if !is_whole {
        let below = all.saturating_sub(first).saturating_sub(seen.len());
        foot.insert(0, unseen(first, below, columns));
    }
    let Rows { titles, rows } = rows(&seen, now, narrower);
    let mut lines = head;
    if has_titles && !seen.is_empty() {
        lines.push(format!("{other}{titles}").trim_end().to_string());
    }
    let mut selected = 0..0;
    for (at, row) in rows.iter().enumerate() {
        let is_it = first.saturating_add(at) == screen.selected;
        let begin = lines.len();
        let mark = if is_it { chosen } else { other };
        let marks = std::iter::once(mark).chain(std::iter::repeat(other));
        lines.extend(row.iter().zip(marks).map(|(line, mark)| format!("{mark}{line}")));
        if is_it {
            selected = begin..lines.len();
        }
    }
    lines.resize(height.saturating_sub(foot.len()).max(lines.len()), String::new());
    lines.extend(foot);
    Frame { lines, selected, cursor: None }
}

/// How many questions are not seen.
fn unseen(above: usize, below: usize, columns: usize) -> String {
    let whole = match (above, below) {
        (0, below) => format!("... {below} more below"),
        (above, 0) => format!("... {above} more above"),
        (above, below) => format!("... {above} more above, {below} below"),
    };
    let short = format!("... {} more", above.saturating_add(below));
    fitting(&[whole, short], columns)
}

/// What stands around the questions: as much of it as leaves one of them its place. What must be
/// known comes before the titles of columns, and those before sentences that are counted as well.
fn around(screen: &Screen, (height, columns): (usize, usize), each: usize) -> Around {
    let keys = help(&["Enter open", "q quit", "o output"], columns);
    let least = ROWS_MIN.saturating_sub(1).saturating_add(each);
    let mut left = height.saturating_sub(least);
    let most = (height / 3).max(1).min(left.max(1));
    let mut foot = newest(screen.messages.iter().chain(&screen.reply), columns, most);
    // What was said stands in the place of the keys where there is none beside them.
    match foot.len() > left {
        true => left = 0,
        false => {
            left = left.saturating_sub(foot.len());
            foot.push(keys);
        }
    }
    let has_titles = left > 0;
    left = left.saturating_sub(usize::from(has_titles));
    // What the questions leave, for which nothing else is kept then.
    let questions = screen.items.len().saturating_mul(each);
    let spare = left.saturating_add(each).saturating_add(1).saturating_sub(questions);
    let most = left.min(height / 2).max(spare);
    let problems = problems(screen, columns, spare);
    let all = most.checked_sub(problems.len());
    let mut head = title(screen, columns, all.map(|more| more.saturating_add(1)));
    let most = most.saturating_sub(head.len().saturating_sub(1));
    head.extend(at_most(problems, most));
    Around { head, foot, has_titles }
}

/// What cannot be known, in sentences: as many as fit into so many lines.
fn problems(screen: &Screen, columns: usize, most: usize) -> Vec<String> {
    let all = &screen.problems;
    let some = |count: usize| {
        let more = all.len().saturating_sub(count);
        let more = (more > 0).then(|| format!("and {more} more that cannot be known: q names all"));
        sentences(all.iter().take(count).chain(&more), columns)
    };
    let counts = (PROBLEMS_MIN..=all.len().min(most)).rev();
    let fitting = counts.map(some).find(|lines| lines.len() <= most);
    fitting.unwrap_or_else(|| some(PROBLEMS_MIN))
}

/// How much waits, and where, in so many lines at most; in one that says how many logs cannot be
/// known where there is no room to name them all.
fn title(screen: &Screen, columns: usize, most: Option<usize>) -> Vec<String> {
    let waiting = screen.items.iter().filter(|item| item.waits()).count();
    let logs = counted(u64::try_from(screen.known).unwrap_or(u64::MAX), "log");
    let unread = screen.problems.len();
    let waits = match waiting {
        0 if unread > 0 => "no pending questions known".to_string(),
        0 => "nothing waits".to_string(),
        1 => "1 waits".to_string(),
        _ => format!("{waiting} wait"),
    };
    let whole = sentences([&format!("{waits} in {logs}")], columns);
    if most.is_some_and(|most| whole.len() <= most) {
        return whole;
    }
    let brief = if waiting == 0 { "none known".to_string() } else { waits.clone() };
    let said = match unread {
        0 => vec![format!("{waits} in {logs}"), waits],
        _ => vec![
            format!("{waits} in {logs}, {unread} unread"),
            format!("{brief}, {unread} unread"),
            format!("{waiting}, {unread} unread"),
        ],
    };
    vec![fitting(&said, columns)]
}
