//! The list of what waits, over a whole terminal.

use super::room::{at_most, fitting, help, newest, sentences};
use super::{Frame, Screen, Tone};
use crate::questions::decision_view::who;
use crate::questions::waiting_item::Item;
use crate::ui::screen::width;
use crate::ui::{Page, counted};
use crate::verbs::decide::inbox::rows::{Rows, answers, lines_each, rows};
use holdpoint_domain::Time;
use holdpoint_domain::decision_point::Urgency;
use holdpoint_replay::question::Kind;

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

/// A terminal of so many rows and columns shows what the selected question asks, in at most this
/// part of it.
const PREVIEW_ROOM: (usize, usize) = (16, 40);
const PREVIEW_PART: usize = 3;

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
    let is_roomy = height >= PREVIEW_ROOM.0 && columns >= PREVIEW_ROOM.1;
    let previewed = screen.items.get(screen.selected).filter(|_| is_roomy);
    let preview =
        previewed.map_or_else(Vec::new, |item| preview(item, (height / PREVIEW_PART, columns)));
    let height = height.saturating_sub(preview.len());
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
    let mut tones: Vec<_> = (1..lines.len()).map(|at| (at, Tone::Warning)).collect();
    if has_titles && !seen.is_empty() {
        tones.push((lines.len(), Tone::Faint));
        lines.push(format!("{other}{titles}").trim_end().to_string());
    }
    let mut selected = 0..0;
    for ((at, row), item) in rows.iter().enumerate().zip(seen) {
        let is_it = first.saturating_add(at) == screen.selected;
        let begin = lines.len();
        tones.extend(tone(item, now).map(|tone| (begin, tone)));
        let mark = if is_it { chosen } else { other };
        let marks = std::iter::once(mark).chain(std::iter::repeat(other));
        lines.extend(row.iter().zip(marks).map(|(line, mark)| format!("{mark}{line}")));
        if is_it {
            selected = begin..lines.len();
        }
    }
    lines.resize(height.saturating_sub(foot.len()).max(lines.len()), String::new());
    lines.extend(preview);
    lines.extend(foot);
    Frame { lines, tones, selected, cursor: None }
}

/// The colour of a question in the list.
fn tone(item: &Item, now: Time) -> Option<Tone> {
    match item.urgency {
        _ if item.over().is_some() => Some(Tone::Faint),
        _ if item.is_overdue(now) => Some(Tone::Overdue),
        Urgency::High => Some(Tone::Warning),
        _ => item.is_warned(now).then_some(Tone::Warning),
    }
}

/// What a question asks, who asks and what answers it, below an empty line.
fn preview(item: &Item, (most, columns): (usize, usize)) -> Vec<String> {
    let (mut page, mut below) = (Page::new(columns), Page::new(columns));
    item.requested_by.iter().for_each(|by| below.row("by", &who(by)));
    below.row("answers", &answers(item));
    let below = at_most(below.lines(), most.saturating_sub(2));
    page.sentence("");
    let text = most.saturating_sub(below.len()).saturating_sub(1);
    match item.kind {
        Kind::Hold => page.recorded_beginning(&item.whole, text),
        Kind::Decision => page.beginning(&item.whole, text),
    }
    [page.lines(), below].concat()
}

/// How many questions are not seen.
fn unseen(above: usize, below: usize, columns: usize) -> String {
    let whole = format!("... {above} more above, {below} below");
    let short = format!("... {} more", above.saturating_add(below));
    fitting(&[whole, short], columns)
}

/// What stands around the questions: as much of it as leaves one of them its place. What must be
/// known comes before the titles of columns, and those before sentences that are counted as well.
fn around(screen: &Screen, (height, columns): (usize, usize), each: usize) -> Around {
    let keys = help(&["Enter open", "? keys", "q quit", "o output"], columns);
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
        0 if unread > 0 => "pending questions are unknown".to_string(),
        0 => "no pending questions".to_string(),
        1 => "1 waits".to_string(),
        _ => format!("{waiting} wait"),
    };
    let whole = format!("{waits} in {logs}");
    let lines = sentences([&whole], columns);
    if most.is_some_and(|most| lines.len() <= most) {
        return lines;
    }
    let said = match unread {
        0 => [whole, waits],
        _ => [format!("{whole}, {unread} unread"), format!("{waiting}, {unread} unread")],
    };
    vec![fitting(&said, columns)]
}
