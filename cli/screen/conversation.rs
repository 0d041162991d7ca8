//! Speaking with a person at a terminal, whatever a command has done to it: every question that is
//! put there goes through here.

use super::{Page, columns_of, follows_controls, plain_terminal, rows_of, width};
use crate::text::counted;
use holdpoint_engine::shell::PersonTerminal;

/// What stands around a question.
#[derive(Debug)]
pub(crate) struct Around<'a> {
    /// What this program says below it.
    pub(crate) sentences: &'a [String],
    /// The command that it is about, made visible.
    pub(crate) command: String,
    /// What stands before the answer.
    pub(crate) prompt: &'a str,
    /// What is typed to see all of it; `None` where this is all.
    pub(crate) all: Option<&'a str>,
}

/// Puts a question: the terminal is made plain, what was typed before is no answer, the lines of
/// the question come as its width demands, and what this program says of it last. Where they are
/// more than the terminal shows, that is said right above the answer, with the command.
pub(crate) fn put_question(
    terminal: &mut PersonTerminal,
    lines: impl FnOnce(usize) -> Vec<String>,
    around: &Around<'_>,
) {
    terminal.forget_typed();
    terminal.say(plain_terminal());
    let (rows, columns) = (rows_of(&*terminal), columns_of(&*terminal));
    let mut page = Page::new(columns);
    around.sentences.iter().for_each(|sentence| page.sentence(sentence));
    let mut lines = lines(columns);
    lines.extend(page.lines());
    lines.extend(reminder(lines.len(), (rows, columns), around));
    say_lines(terminal, &lines);
}

/// What is said below so many lines of a question of which not all are seen.
fn reminder(lines: usize, (rows, columns): (usize, usize), around: &Around<'_>) -> Vec<String> {
    let answer = width(around.prompt).checked_div(columns).unwrap_or(0).saturating_add(1);
    let needed = lines.saturating_add(answer);
    if needed <= rows {
        return Vec::new();
    }
    let all = around.all.map(|all| format!(", or type `{all}`")).unwrap_or_default();
    let mut above = needed.saturating_sub(rows);
    let mut said = Vec::new();
    // The number has a part in how many lines it takes to say it.
    for _ in 0..3 {
        let mut page = Page::new(columns);
        page.in_one_line("command", &around.command);
        let count = counted(u64::try_from(above).unwrap_or(u64::MAX), "line");
        page.sentence(&format!(
            "holdpoint: not on this screen: the first {count} of the question; scroll up{all}"
        ));
        said = page.lines();
        above = needed.saturating_add(said.len()).saturating_sub(rows).min(lines);
    }
    said
}

/// Puts something else on a screen of its own, of so many rows and columns, until [`leave_screen`].
/// What was typed before does not leave it.
pub(crate) fn put_screen(
    terminal: &mut PersonTerminal,
    lines: impl FnOnce(usize, usize) -> Vec<String>,
) {
    terminal.forget_typed();
    if follows_controls() {
        terminal.say("\x1b[?1049h\x1b[0m\x1b[2J\x1b[H");
    }
    let lines = lines(rows_of(&*terminal), columns_of(&*terminal));
    say_lines(terminal, &lines);
}

/// Goes back from a screen of its own.
pub(crate) fn leave_screen(terminal: &mut PersonTerminal) {
    if follows_controls() {
        terminal.say("\x1b[?1049l");
    }
}

/// A sentence of this program, folded: names of others in it reach no first column.
pub(crate) fn say_sentence(terminal: &mut PersonTerminal, sentence: &str) {
    let mut page = Page::new(columns_of(&*terminal));
    page.sentence(sentence);
    say_lines(terminal, &page.lines());
}

/// Each line returns to the first column itself: the command may have told the terminal not to.
fn say_lines(terminal: &mut PersonTerminal, lines: &[String]) {
    for line in lines {
        terminal.say(&format!("\r{line}\r\n"));
    }
}
