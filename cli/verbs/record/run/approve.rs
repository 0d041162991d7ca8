//! Asking the person whether a command may start: on the terminal where there is one, and at the
//! same time from any other process.

use super::ask::{DETAILS, is_details, is_output};
use crate::args::Global;
use crate::questions::decision_view::{
    self, Doubts, brief_lines, outcome_with_reason, what_starts,
};
use crate::ui::program::program;
use crate::ui::screen::{Around, Conversation, in_line};
use crate::ui::text::visible_once;
use crate::ui::{complain, moment};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_domain::{Refusal, Time};
use holdpoint_engine::shell::{
    APPROVE, Clock, DENY, StartAnswer, StartPrompter, SystemClock, WaitPolicy, Wake,
};

/// Puts the question before a start to a person.
pub(super) struct StartPerson<'a> {
    global: &'a Global,
    wait_policy: WaitPolicy,
    /// `None`: there is no terminal, or nobody types any more.
    terminal: Option<Conversation>,
    /// Why it is not asked at the terminal, where that was said.
    excuse: Option<String>,
}

impl<'a> StartPerson<'a> {
    /// Asks on the terminal if there is one and somebody is to be waited for.
    pub(super) fn new(global: &'a Global, no_wait: bool) -> Self {
        let wait_policy = if no_wait { WaitPolicy::Leave } else { WaitPolicy::Wait };
        let terminal = if no_wait { None } else { Conversation::open() };
        Self { global, wait_policy, terminal, excuse: None }
    }

    fn say(&mut self, line: &str) {
        match self.terminal.as_mut().filter(|terminal| terminal.is_asking()) {
            Some(terminal) => terminal.say_sentence(&format!("holdpoint: {line}")),
            None => complain(line),
        }
    }

    fn prompt(&mut self) {
        if let Some(terminal) = self.terminal.as_mut().filter(|terminal| terminal.is_asking()) {
            terminal.prompt(&prompt_line());
        }
    }

    /// Shows the question: what would start, and what each answer does.
    fn show(&mut self, question: &DecisionPoint) {
        let prompt = prompt_line();
        let id = visible(&question.decision_id).to_string();
        let until = question.terms.expires_at.map(moment).unwrap_or_default();
        let how = format!("{} {APPROVE} {id}", program(&self.global.log));
        let elsewhere = format!(
            "a person decides whether this starts: {id} waits for an answer until {until}; \
             `{how}`, or {DENY}"
        );
        let Some(terminal) = &mut self.terminal else { return complain(&elsewhere) };
        let now = Time::from_nanoseconds(SystemClock.now().wall_ns);
        let sentences = [
            format!("`{DETAILS}` shows here all that is bound, and answers nothing"),
            "holdpoint: a person decides whether this starts".to_string(),
        ];
        let show = |columns| brief_lines(self.global, question, (now, columns), Doubts::of_own());
        let around = around(question, &sentences, &prompt);
        let put = terminal.put_question(show, &Around { all: Some(DETAILS), ..around });
        let excuse = put.err().map(|error| error.to_string());
        if let Some(excuse) = excuse.as_ref().filter(|_| excuse != self.excuse) {
            complain(&format!("{excuse}; {elsewhere}"));
        }
        self.excuse = excuse;
    }

    /// Shows the question as `decision show` does, with everything that is bound.
    fn show_all(&mut self, question: &DecisionPoint) {
        let Some(terminal) = &mut self.terminal else { return };
        let now = Time::from_nanoseconds(SystemClock.now().wall_ns);
        let seen = |columns| (now, columns);
        let show =
            |columns| decision_view::lines(self.global, question, seen(columns), Doubts::of_own());
        // Where it cannot be put it is put again.
        if terminal.put_question(show, &around(question, &[], &prompt_line())).is_err() {
            terminal.rest();
        }
    }

    /// One line of the terminal.
    fn heard(&mut self, question: &DecisionPoint) -> Option<StartAnswer> {
        let line = match self.terminal.as_mut()?.line() {
            Ok(line) => line?,
            Err(_) => {
                self.terminal = None;
                self.show(question);
                return None;
            }
        };
        let answer = read(line.text());
        if is_details(line.text()) {
            self.show_all(question);
        } else if is_output(line.text()) {
            self.say("no attempt has run yet");
        }
        if answer.is_none() {
            self.prompt();
        }
        answer.map(|approves| StartAnswer { approves, typed: Some(line) })
    }
}

impl StartPrompter for StartPerson<'_> {
    fn asked(&mut self, question: &DecisionPoint) -> WaitPolicy {
        if self.wait_policy == WaitPolicy::Wait {
            self.show(question);
            self.prompt();
        }
        self.wait_policy
    }

    fn wait(&mut self, question: &DecisionPoint, wake: &Wake<'_>) -> Option<StartAnswer> {
        let own = self.terminal.as_ref().and_then(Conversation::readable);
        let is_ready = wake.wait(own);
        self.terminal.as_mut().map(Conversation::heed_stop);
        match &self.terminal {
            Some(terminal) if !terminal.is_asking() => {
                self.show(question);
                self.prompt();
                None
            }
            Some(_) if is_ready => self.heard(question),
            _ => None,
        }
    }

    fn changed(&mut self, question: &DecisionPoint) {
        let quorum = question.terms.policy.as_ref().map_or(1, |policy| policy.quorum);
        self.say(&format!("{} of {quorum} approved", question.votes.len()));
        self.prompt();
    }

    fn refused(&mut self, _question: &DecisionPoint, refusal: &Refusal) {
        self.say(&visible_once(&refusal.to_string()));
        self.prompt();
    }

    fn settled(&mut self, question: &DecisionPoint) {
        self.say(&outcome_with_reason(question));
        self.terminal.iter_mut().for_each(Conversation::rest);
    }
}

fn prompt_line() -> String {
    format!("{APPROVE}, {DENY}? ")
}

fn around<'a>(question: &DecisionPoint, sentences: &'a [String], prompt: &'a str) -> Around<'a> {
    Around { sentences, command: in_line(&what_starts(question)), prompt, all: None }
}

/// An answer is its whole name, in whatever case; nothing else is one, and no line is one.
fn read(line: &str) -> Option<bool> {
    let means = |name: &str| line.trim().eq_ignore_ascii_case(name);
    match (means(APPROVE), means(DENY)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_typed_in_full_and_enter_alone_is_none() {
        for typed in ["approve", " Approve ", "APPROVE"] {
            assert_eq!(read(typed), Some(true), "{typed:?}");
        }
        for typed in ["deny", "DENY"] {
            assert_eq!(read(typed), Some(false), "{typed:?}");
        }
        for typed in ["", " ", "a", "A", "d", "y", "yes", "approved", "ap", "\u{202e}"] {
            assert_eq!(read(typed), None, "{typed:?}");
        }
    }
}
