//! Speaking with a person at a terminal, whatever a command has done to it: every question that is
//! put there goes through here.

use super::{Page, columns_of, follows_controls, plain_terminal, rows_of};
use holdpoint_engine::shell::PersonTerminal;

/// Puts a question: the terminal is made plain, what was typed before is no answer, the lines of
/// the question come as its width demands, and what this program says of it last.
pub(crate) fn put_question(
    terminal: &mut PersonTerminal,
    lines: impl FnOnce(usize) -> Vec<String>,
    sentences: &[String],
) {
    terminal.forget_typed();
    terminal.say(plain_terminal());
    let lines = lines(columns_of(&*terminal));
    say_lines(terminal, &lines);
    sentences.iter().for_each(|sentence| say_sentence(terminal, sentence));
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
