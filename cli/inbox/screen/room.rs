//! What fits into so many rows and columns.

use crate::screen::{Page, cut};

/// So many messages are shown.
pub(super) const MESSAGES_MAX: usize = 3;

/// Sentences of this program, each folded.
pub(super) fn sentences<'a>(
    said: impl IntoIterator<Item = &'a String>,
    columns: usize,
) -> Vec<String> {
    let mut page = Page::new(columns);
    said.into_iter().for_each(|sentence| page.sentence(sentence));
    page.lines()
}

/// The newest messages that fit, in a third of the terminal.
pub(super) fn newest(messages: &[String], (height, columns): (usize, usize)) -> Vec<String> {
    let most = (height / 3).max(MESSAGES_MAX);
    let mut shown: Vec<String> = Vec::new();
    for message in messages.iter().rev() {
        let mut lines = sentences([message], columns);
        if !shown.is_empty() && lines.len().saturating_add(shown.len()) > most {
            break;
        }
        lines.truncate(most);
        lines.append(&mut shown);
        shown = lines;
    }
    shown
}

pub(super) fn help(keys: &str, columns: usize) -> String {
    cut(keys, columns)
}

/// The lines of a text that fit above its foot, and how many those are: its end, or so many lines
/// further up.
pub(super) fn above(
    text: Vec<String>,
    foot: &[String],
    height: usize,
    below: &mut usize,
) -> (Vec<String>, usize) {
    let room = height.saturating_sub(foot.len()).max(1);
    let hidden = text.len().saturating_sub(room);
    *below = (*below).min(hidden);
    let first = hidden.saturating_sub(*below);
    let mut lines: Vec<String> = text.into_iter().skip(first).take(room).collect();
    if let Some(line) = lines.first_mut().filter(|_| first > 0) {
        *line = format!("... {} lines above", first.saturating_add(1));
    }
    let shown = lines.len();
    if let Some(line) = lines.last_mut().filter(|_| *below > 0 && shown > 1) {
        *line = format!("... {} lines below", below.saturating_add(1));
    }
    lines.resize(room, String::new());
    lines.extend(foot.iter().cloned());
    (lines, room.saturating_sub(2).max(1))
}
