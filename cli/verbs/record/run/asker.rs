//! The terminal at which a run asks, whatever its question is about.

use crate::args::Global;
use crate::ui::complain;
use crate::ui::screen::{Around, Conversation};
use holdpoint_engine::shell::{TypedLine, WaitPolicy, Wake};

/// A person who is asked at the terminal of a run, where there is one.
pub(super) struct Asker<'a> {
    pub(super) global: &'a Global,
    pub(super) wait_policy: WaitPolicy,
    /// `None`: there is no terminal, or nobody types any more.
    pub(super) terminal: Option<Conversation>,
    /// Why it is not asked at the terminal, where that was said.
    excuse: Option<String>,
}

/// What there is to do after a wait.
pub(super) enum Turn {
    /// The question is to be shown again.
    Show,
    /// Somebody typed a line.
    Line(TypedLine),
    Nothing,
}

impl<'a> Asker<'a> {
    /// Asks on the terminal if there is one and somebody is to be waited for.
    pub(super) fn new(global: &'a Global, no_wait: bool) -> Self {
        let wait_policy = if no_wait { WaitPolicy::Leave } else { WaitPolicy::Wait };
        let terminal = if no_wait { None } else { Conversation::open() };
        Self { global, wait_policy, terminal, excuse: None }
    }

    /// The terminal while a question stands there.
    fn asking(&mut self) -> Option<&mut Conversation> {
        self.terminal.as_mut().filter(|terminal| terminal.is_asking())
    }

    pub(super) fn say(&mut self, line: &str) {
        match self.asking() {
            Some(terminal) => terminal.say_sentence(&format!("holdpoint: {line}")),
            None => complain(line),
        }
    }

    pub(super) fn prompt(&mut self, prompt: &str) {
        self.asking().into_iter().for_each(|terminal| terminal.prompt(prompt));
    }

    /// Puts a question. Where there is no terminal, or it cannot be put there and that was not said
    /// yet, the beginning of the sentence that says how to answer it from elsewhere.
    pub(super) fn put(
        &mut self,
        lines: impl FnOnce(usize, usize) -> Vec<String>,
        around: &Around<'_>,
    ) -> Option<String> {
        let Some(terminal) = &mut self.terminal else { return Some(String::new()) };
        let error = terminal.put_question(lines, around).err();
        // Where it cannot be put it is put again.
        error.iter().for_each(|_| terminal.rest());
        let excuse = error.map(|error| error.to_string());
        let before = std::mem::replace(&mut self.excuse, excuse);
        let excuse = self.excuse.as_ref().filter(|_| self.excuse != before);
        excuse.map(|excuse| format!("{excuse}; "))
    }

    /// Waits, at most until something happened, and takes what was typed.
    pub(super) fn turn(&mut self, wake: &Wake<'_>) -> Turn {
        let is_ready = wake.wait(self.terminal.as_ref().and_then(Conversation::readable));
        let Some(terminal) = &mut self.terminal else { return Turn::Nothing };
        terminal.heed_stop();
        match terminal.is_asking() {
            false => Turn::Show,
            true if !is_ready => Turn::Nothing,
            true => match terminal.line() {
                Ok(line) => line.map_or(Turn::Nothing, Turn::Line),
                Err(_) => {
                    self.terminal = None;
                    Turn::Show
                }
            },
        }
    }

    /// Says what became of the question, where that is given, and gives the terminal back.
    pub(super) fn settled(&mut self, outcome: Option<&str>) {
        outcome.into_iter().for_each(|outcome| self.say(outcome));
        self.terminal.iter_mut().for_each(Conversation::rest);
    }
}
