//! Speaking with a person at a terminal, whatever a command has done to it: every question that is
//! put there goes through here.

use super::{Page, columns_of, follows_controls, plain_terminal, size_of, width};
use crate::ui::counted;
use holdpoint_engine::shell::{AskError, PersonTerminal, TypedLine};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Lines of a prompt, with the question, the sentences below it and the line of the answer.
const PROMPT_LINES: usize = 12;

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

/// A conversation with a person, who answers line by line.
#[derive(Debug)]
pub(crate) struct Conversation {
    terminal: PersonTerminal,
    /// The cursor stands behind a prompt that is not answered.
    is_prompting: bool,
    /// Something else stands on a screen of its own.
    has_screen: bool,
}

impl Conversation {
    /// One at the terminal, if standard input and standard error are one.
    pub(crate) fn open() -> Option<Self> {
        PersonTerminal::open().map(Self::at)
    }

    /// One at the terminal of this process's session, in whose foreground it is, whatever standard
    /// input is.
    pub(crate) fn of_session() -> Option<Self> {
        PersonTerminal::of_session().map(Self::at)
    }

    const fn at(terminal: PersonTerminal) -> Self {
        Self { terminal, is_prompting: false, has_screen: false }
    }

    /// Waits until something was typed, at most this long. Whether it was.
    pub(crate) fn wait(&self, at_most: Duration) -> bool {
        self.terminal.wait(at_most)
    }

    /// Whether a question stands at the terminal.
    pub(crate) fn is_asking(&self) -> bool {
        self.terminal.is_asking()
    }

    /// Gives the terminal back as it was: no question stands there any more.
    pub(crate) fn rest(&mut self) {
        self.end_prompt();
        self.leave_screen();
        self.terminal.rest();
    }

    /// Stops this process where that was asked for (Ctrl-Z), with the terminal as it was before.
    /// Whether it did: the question is to be put anew.
    pub(crate) fn heed_stop(&mut self) -> bool {
        let is_asked = self.terminal.is_stop_asked();
        if is_asked {
            self.leave_screen();
            self.end_prompt();
            self.terminal.stop();
        }
        is_asked
    }

    /// The descriptor to wait on, while a question stands and this process is in the foreground.
    pub(crate) fn readable(&self) -> Option<BorrowedFd<'_>> {
        self.terminal.readable()
    }

    /// Takes what was typed: a whole line, or nothing yet.
    pub(crate) fn line(&mut self) -> io::Result<Option<TypedLine>> {
        let line = self.terminal.line()?;
        // The terminal has shown the end of the line too.
        self.is_prompting &= line.is_none();
        Ok(line)
    }

    /// Puts what stands before an answer.
    pub(crate) fn prompt(&mut self, prompt: &str) {
        self.terminal.say(prompt);
        self.is_prompting = true;
    }

    /// Puts a question: the terminal is made plain, what was typed before is no answer, the lines
    /// of the question come as its width demands, with how many there is room for, and what this
    /// program says of it last. Where they are more than the terminal shows, that is said right
    /// above the answer, with the command. The terminal is taken for it, until
    /// [`Self::rest`]. Where that cannot be, nothing is put.
    pub(crate) fn put_question(
        &mut self,
        lines: impl FnOnce(usize, usize) -> Vec<String>,
        around: &Around<'_>,
    ) -> Result<(), AskError> {
        self.end_prompt();
        // Nothing else is to have the terminal from here on.
        crate::ui::pager::forbid();
        self.terminal.begin()?;
        self.terminal.say(plain_terminal());
        let (rows, columns) = self.size();
        let mut page = Page::new(columns);
        around.sentences.iter().for_each(|sentence| page.sentence(sentence));
        let sentences = page.lines();
        let below = sentences.len().saturating_add(answer_lines(around, columns));
        let mut lines = lines(columns, PROMPT_LINES.min(rows).saturating_sub(below));
        lines.extend(sentences);
        lines.extend(reminder(lines.len(), (rows, columns), around));
        self.say_lines(&lines);
        if self.terminal.is_stuck() {
            self.terminal.rest();
            return Err(AskError::Stuck);
        }
        Ok(())
    }

    /// Puts something else on a screen of its own, of so many rows and columns, until
    /// [`Self::leave_screen`]. What was typed before does not leave it.
    pub(crate) fn put_screen(&mut self, lines: impl FnOnce(usize, usize) -> Vec<String>) {
        self.end_prompt();
        self.terminal.forget_typed();
        self.has_screen = true;
        if follows_controls() {
            self.terminal.say("\x1b[?1049h\x1b[0m\x1b[2J\x1b[H");
        }
        let (rows, columns) = self.size();
        self.say_lines(&lines(rows, columns));
    }

    /// Goes back from a screen of its own.
    pub(crate) fn leave_screen(&mut self) {
        if std::mem::take(&mut self.has_screen) && follows_controls() {
            self.terminal.say("\x1b[?1049l");
        }
    }

    /// A sentence of this program, folded: names of others in it reach no first column.
    pub(crate) fn say_sentence(&mut self, sentence: &str) {
        self.end_prompt();
        let mut page = Page::new(self.size().1);
        page.sentence(sentence);
        self.say_lines(&page.lines());
    }

    fn size(&self) -> (usize, usize) {
        let stderr = std::io::stderr();
        let terminal = self.terminal.device().unwrap_or(stderr.as_fd());
        (size_of(terminal).0, columns_of(terminal))
    }

    /// Each line returns to the first column itself: the command may have told the terminal not to.
    fn say_lines(&mut self, lines: &[String]) {
        for line in lines {
            self.terminal.say(&format!("\r{line}\r\n"));
        }
    }

    /// What follows a prompt that is not answered begins a line of its own.
    fn end_prompt(&mut self) {
        if std::mem::take(&mut self.is_prompting) {
            self.terminal.say("\r\n");
        }
    }
}

impl Drop for Conversation {
    /// Whoever pressed Ctrl-C or Ctrl-D reads why it ended on a line of its own.
    fn drop(&mut self) {
        self.rest();
    }
}

/// The lines that the answer and what stands before it take.
fn answer_lines(around: &Around<'_>, columns: usize) -> usize {
    width(around.prompt).checked_div(columns).unwrap_or(0).saturating_add(1)
}

/// What is said below so many lines of a question of which not all are seen.
fn reminder(lines: usize, (rows, columns): (usize, usize), around: &Around<'_>) -> Vec<String> {
    let needed = lines.saturating_add(answer_lines(around, columns));
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
