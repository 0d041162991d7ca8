//! What fits into so many rows and columns: what does not is counted, never left away unsaid.

use super::Key;
use crate::ui::Page;
use crate::ui::screen::width;

/// So many messages are shown.
pub(super) const MESSAGES_MAX: usize = 3;
/// With fewer rows for a text, how much of it is not seen is said beside the keys.
const ROOMY_ROWS: usize = 4;

/// Which part of a text is looked at: where there comes to be less room for it, the lines that are
/// counted here stay away, and of the others as many are seen as fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Behind so many lines of its beginning.
    Behind(usize),
    /// Before so many lines of its end.
    Before(usize),
}

impl Part {
    pub(super) const BEGINNING: Self = Self::Behind(0);
    pub(super) const END: Self = Self::Before(0);

    /// Moves by a key, of which a page has so many lines. False: the key moves nothing.
    pub(super) fn press(&mut self, key: &Key, page: usize) -> bool {
        let (is_back, lines) = match key {
            Key::Up => (true, 1),
            Key::PageUp => (true, page),
            Key::Home => (true, usize::MAX),
            Key::Down => (false, 1),
            Key::PageDown => (false, page),
            Key::End => (false, usize::MAX),
            _ => return false,
        };
        let is_more = is_back == matches!(self, Self::Before(_));
        let (Self::Behind(away) | Self::Before(away)) = self;
        *away = match is_more {
            true => away.saturating_add(lines),
            false => away.saturating_sub(lines),
        };
        true
    }

    /// How many lines are above what is seen, where so many are not seen.
    fn settle(&mut self, hidden: usize) -> usize {
        let (Self::Behind(away) | Self::Before(away)) = self;
        *away = (*away).min(hidden);
        match *self {
            Self::Behind(above) => above,
            Self::Before(below) => hidden.saturating_sub(below),
        }
    }
}

/// A text above its foot.
pub(super) struct Above {
    pub(super) lines: Vec<String>,
    /// How many lines a page has.
    pub(super) page: usize,
}

/// Sentences of this program, each folded.
pub(super) fn sentences<'a>(
    said: impl IntoIterator<Item = &'a String>,
    columns: usize,
) -> Vec<String> {
    let mut page = Page::new(columns);
    said.into_iter().for_each(|sentence| page.sentence(sentence));
    page.lines()
}

/// So many lines at most: where there are more, the last one says how many.
pub(super) fn at_most(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let hidden = lines.len().saturating_sub(most);
    if hidden > 0 {
        let hidden = hidden.saturating_add(1);
        lines.truncate(most.saturating_sub(1));
        lines.push(format!("... {hidden} more"));
        lines.truncate(most);
    }
    lines
}

/// The newest messages that fit into so many rows.
pub(super) fn newest<'a>(
    messages: impl DoubleEndedIterator<Item = &'a String>,
    columns: usize,
    most: usize,
) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    for message in messages.rev() {
        let mut lines = sentences([message], columns);
        if !shown.is_empty() && lines.len().saturating_add(shown.len()) > most {
            break;
        }
        lines.append(&mut shown);
        shown = at_most(lines, most);
    }
    shown
}

/// The keys, and what each does: as many as there is room for, the first ones.
pub(super) fn help(keys: &[&str], columns: usize) -> String {
    let mut shown = String::new();
    for key in keys {
        let gap = if shown.is_empty() { "" } else { "  " };
        let longer = format!("{shown}{gap}{key}");
        if width(&longer) > columns {
            break;
        }
        shown = longer;
    }
    shown
}

/// The first of these that fits into a line, else the last one.
pub(super) fn fitting(said: &[String], columns: usize) -> String {
    let fits = said.iter().find(|said| width(said) <= columns);
    fits.or(said.last()).cloned().unwrap_or_default()
}

/// The lines of a part of a text that fit above its foot. Where little fits, the foot's last line,
/// which has the keys, says which lines are seen.
pub(super) fn above(
    text: Vec<String>,
    (mut foot, columns): (Vec<String>, usize),
    height: usize,
    part: &mut Part,
) -> Above {
    let room = height.saturating_sub(foot.len()).max(1);
    let all = text.len();
    let hidden = all.saturating_sub(room);
    let first = part.settle(hidden);
    let below = hidden.saturating_sub(first);
    let mut lines: Vec<String> = text.into_iter().skip(first).take(room).collect();
    let is_roomy = room >= ROOMY_ROWS;
    if is_roomy && let Some(line) = lines.first_mut().filter(|_| first > 0) {
        *line = not_seen(first.saturating_add(1), "above", columns);
    }
    if is_roomy && let Some(line) = lines.last_mut().filter(|_| below > 0) {
        *line = not_seen(below.saturating_add(1), "below", columns);
    }
    if !is_roomy
        && hidden > 0
        && let Some(keys) = foot.last_mut()
    {
        let (from, to) = (first.saturating_add(1), first.saturating_add(room));
        let place = format!("{from}-{to} of {all}");
        *keys = help(&[&place, &*keys], columns);
    }
    lines.resize(room, String::new());
    lines.extend(foot);
    let page = if is_roomy { room.saturating_sub(2) } else { room };
    Above { lines, page: page.max(1) }
}

fn not_seen(count: usize, place: &str, columns: usize) -> String {
    fitting(&[format!("... {count} lines {place}"), format!("... {count} {place}")], columns)
}
