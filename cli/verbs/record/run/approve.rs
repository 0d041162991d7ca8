//! Asking the person whether a command may start: on the terminal where there is one, and at the
//! same time from any other process.

use super::ask::is_output;
use super::asker::{Asker, Turn};
use crate::args::Global;
use crate::questions::choice::{DETAILS, DETAILS_HAS_ALL, asks_for_details, words_wanted};
use crate::questions::decision_view::{
    Doubts, brief_lines, lines, outcome_with_reason, what_starts,
};
use crate::ui::program::program;
use crate::ui::screen::{Around, in_line};
use crate::ui::text::visible_once;
use crate::ui::{complain, moment};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_domain::{Refusal, Time};
use holdpoint_engine::shell::{
    APPROVE, Clock, DENY, StartAnswer, StartPrompter, SystemClock, TypedLine, WaitPolicy, Wake,
};

/// Stands before the answer.
const PROMPT: &str = "approve, deny? ";

/// Puts the question before a start to a person.
pub(super) struct StartPerson<'a>(Asker<'a>);

impl<'a> StartPerson<'a> {
    /// Asks on the terminal if there is one and somebody is to be waited for.
    pub(super) fn new(global: &'a Global, no_wait: bool) -> Self {
        Self(Asker::new(global, no_wait))
    }

    /// Shows the question: what would start, or with everything that is bound, as `decision show`
    /// does.
    fn show(&mut self, question: &DecisionPoint, is_all: bool) {
        let global = self.0.global;
        let now = Time::from_nanoseconds(SystemClock.now().wall_ns);
        let show = |columns, most| match is_all {
            true => lines(global, question, (now, columns), Doubts::of_own()),
            false => brief_lines(global, question, (now, columns, most), Doubts::of_own()),
        };
        let sentence = format!("holdpoint: {APPROVE} starts exactly this, once; {DETAILS_HAS_ALL}");
        let sentences = if is_all { &[][..] } else { &[sentence][..] };
        let command = in_line(&what_starts(question));
        let all = (!is_all).then_some(DETAILS);
        let around = Around { sentences, command, prompt: PROMPT, all };
        if let Some(excuse) = self.0.put(show, &around) {
            let id = visible(&question.decision_id);
            let until = question.terms.expires_at.map(moment).unwrap_or_default();
            let program = program(&global.log);
            complain(&format!(
                "{excuse}a person decides whether this starts: {id} waits for an answer until \
                 {until}\n  {program} {APPROVE} {id}\n  {program} {DENY} {id}"
            ));
        }
        self.0.prompt(PROMPT);
    }

    /// One line of the terminal.
    fn heard(&mut self, question: &DecisionPoint, line: TypedLine) -> Option<StartAnswer> {
        if let Some(approves) = read(line.text()) {
            return Some(StartAnswer { approves, typed: Some(line) });
        }
        if asks_for_details(line.text()) {
            self.show(question, true);
            return None;
        }
        match is_output(line.text()) {
            true => self.0.say("no attempt has run yet"),
            false => self.0.say(&words_wanted(&format!("{APPROVE} or {DENY}"))),
        }
        self.0.prompt(PROMPT);
        None
    }
}

impl StartPrompter for StartPerson<'_> {
    fn asked(&mut self, question: &DecisionPoint) -> WaitPolicy {
        if self.0.wait_policy == WaitPolicy::Wait {
            self.show(question, false);
        }
        self.0.wait_policy
    }

    fn wait(&mut self, question: &DecisionPoint, wake: &Wake<'_>) -> Option<StartAnswer> {
        match self.0.turn(wake) {
            Turn::Show => self.show(question, false),
            Turn::Line(line) => return self.heard(question, line),
            Turn::Nothing => {}
        }
        None
    }

    fn changed(&mut self, question: &DecisionPoint) {
        let quorum = question.terms.policy.as_ref().map_or(1, |policy| policy.quorum);
        self.0.say(&format!("{} of {quorum} approved", question.votes.len()));
        self.0.prompt(PROMPT);
    }

    fn refused(&mut self, _question: &DecisionPoint, refusal: &Refusal) {
        self.0.say(&visible_once(&refusal.to_string()));
        self.0.prompt(PROMPT);
    }

    fn settled(&mut self, question: &DecisionPoint) {
        // What does not start is told by whoever asked.
        self.0.settled(question.approves().then(|| outcome_with_reason(question)).as_deref());
    }
}

/// An answer is its whole name, in whatever case; nothing else is one, and no line is one.
fn read(line: &str) -> Option<bool> {
    let means = |name: &str| line.trim().eq_ignore_ascii_case(name);
    if means(APPROVE) { Some(true) } else { means(DENY).then_some(false) }
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
