//! Asking the person about a run: on the terminal where there is one, and at the same time from any
//! other process.

use super::asker::{Asker, Turn};
use crate::args::Global;
use crate::log::captured_output;
use crate::log::configuration::hides_output;
use crate::questions::choice::{DETAILS, DETAILS_HAS_ALL, asks_for_details, words_wanted};
use crate::questions::hold_view::{
    HIDDEN, brief_lines, how_to_answer, lines, outcome_words, time_left, warning_line,
};
use crate::questions::printed::printed_screen;
use crate::questions::reason::check_reason;
use crate::ui::program::program;
use crate::ui::screen::{Around, recorded_in_line};
use crate::ui::{complain, moment, named};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::human_decision::{AnswerChannel, AnswerMeans, HumanDecision, RequestOutcome};
use holdpoint_domain::{Refusal, Time};
use holdpoint_engine::shell::{
    Clock, PersonAnswer, PersonInput, Prompter, Question, SubmitError, SystemClock, TypedLine,
    WaitPolicy, Wake, user_name, user_number,
};

/// What is typed to read what the command printed.
const OUTPUT: &str = "output";
/// So many lines of each stream are shown: no screen holds more.
const OUTPUT_LINES: usize = 1000;

/// Puts the questions of a run to a person.
pub(super) struct Person<'a> {
    asker: Asker<'a>,
    draft: Draft,
    /// What the command printed is on a screen of its own, and the question behind it.
    reads_output: bool,
    /// Hides the output of the command beside the question.
    hides_output: bool,
}

/// What was typed so far of an answer.
#[derive(Debug, PartialEq, Eq)]
enum Draft {
    /// Nothing.
    Nothing,
    /// A decision that needs a reason.
    NeedsReason(HumanDecision),
    /// ESCALATE with its reason.
    NeedsTarget(String),
}

/// What a typed line comes to.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    /// More is needed.
    Draft(Draft),
    /// The answer: decision, reason, target.
    Answer(HumanDecision, Option<String>, Option<String>),
    /// Nothing that means anything.
    Unclear,
}

impl<'a> Person<'a> {
    /// Asks on the terminal if there is one and somebody is to be waited for.
    pub(super) fn new(global: &'a Global, no_wait: bool) -> Self {
        let asker = Asker::new(global, no_wait);
        Self { asker, draft: Draft::Nothing, reads_output: false, hides_output: true }
    }

    /// Shows what the command printed, on a screen of its own. Nothing typed there is an answer.
    fn put_output(&mut self, question: &Question) {
        let (global, loop_id) = (self.asker.global, &question.context().loop_id);
        let printed = captured_output::last_shown(global, loop_id, OUTPUT_LINES);
        match (printed, &mut self.asker.terminal) {
            (Ok(parts), Some(terminal)) => {
                let has_all = format!("{} output {loop_id}", program(&global.log));
                let below = format!("Enter: back to the question. `{has_all}` has all of it.");
                terminal
                    .put_screen(|rows, columns| printed_screen(&parts, &below, (rows, columns)));
                self.reads_output = true;
            }
            (Err(failure), _) => {
                self.say(failure.message());
                self.prompt(question);
            }
            (Ok(_), None) => {}
        }
    }

    /// Goes back to where the question is. Says whether the output was read.
    fn leave_output(&mut self) -> bool {
        let was_read = std::mem::take(&mut self.reads_output);
        if let Some(terminal) = self.asker.terminal.as_mut().filter(|_| was_read) {
            terminal.leave_screen();
        }
        was_read
    }

    fn say(&mut self, line: &str) {
        self.leave_output();
        self.asker.say(line);
    }

    fn prompt(&mut self, question: &Question) {
        self.asker.prompt(&self.prompt_line(question));
    }

    fn prompt_line(&self, question: &Question) -> String {
        match &self.draft {
            Draft::Nothing => format!("{}? ", offered(question)),
            Draft::NeedsReason(decision) => format!("reason for {decision}? "),
            Draft::NeedsTarget(_) => format!("whom to ask ({})? ", shown_targets(question)),
        }
    }

    /// Shows the question where a person sits, or how to answer it from elsewhere; all of it with
    /// the ids and hashes too.
    fn show(&mut self, question: &Question, is_all: bool) {
        let question = &Question { hides_output: self.hides_output, ..question.clone() };
        let global = self.asker.global;
        let program = program(&global.log);
        let now = Time::from_nanoseconds(SystemClock.now().wall_ns);
        let output = match self.hides_output {
            true => "its output is hidden (hold.show_output = false)".to_string(),
            false => format!("`{OUTPUT}` what it printed"),
        };
        let sentence = format!("holdpoint: a person decides; {DETAILS_HAS_ALL}, {output}");
        let sentences = if is_all { &[][..] } else { &[sentence][..] };
        let command = recorded_in_line(&question.context().command_line);
        let (prompt, all) = (&*self.prompt_line(question), (!is_all).then_some(DETAILS));
        let around = Around { sentences, command, prompt, all };
        let shown = |columns, most| match is_all {
            true => lines(question, Some(now), columns, (&program, true)),
            false => brief_lines(question, now, (columns, most), &program),
        };
        if let Some(excuse) = self.asker.put(shown, &around) {
            let id = visible(question.request_id());
            let until = moment(question.held.request.timeout_at);
            let how = how_to_answer(global, question);
            complain(&format!(
                "{excuse}a person decides: {id} is open until {until}, then ABORT; {how}"
            ));
        }
        self.prompt(question);
    }

    /// One line of the terminal, taken further.
    fn heard(&mut self, question: &Question, line: TypedLine) -> Option<PersonInput> {
        if self.leave_output() {
            self.show(question, false);
            return None;
        }
        if is_output(line.text()) && !self.hides_output {
            return Some(PersonInput::Output { human_id: user_name(), typed: Some(line) });
        }
        if self.draft == Draft::Nothing && asks_for_details(line.text()) {
            self.show(question, true);
            return None;
        }
        let refused = match &self.draft {
            _ if is_output(line.text()) => Some(HIDDEN.to_string()),
            Draft::NeedsReason(_) => check_reason(line.text()).err().map(|it| it.message().into()),
            Draft::Nothing | Draft::NeedsTarget(_) => None,
        };
        if let Some(refused) = refused {
            self.say(&refused);
            self.prompt(question);
            return None;
        }
        let draft = std::mem::replace(&mut self.draft, Draft::Nothing);
        match read(draft, line.text(), question) {
            Typed::Answer(decision, reason, escalation_target) => {
                let detail = format!("{}, uid {}", line.terminal(), user_number());
                let means = AnswerMeans { channel: AnswerChannel::Terminal, detail: detail.into() };
                let human_id = user_name();
                return Some(PersonInput::Answer(PersonAnswer {
                    human_id,
                    decision,
                    reason,
                    escalation_target,
                    means,
                    typed: Some(line),
                }));
            }
            Typed::Draft(draft) => self.draft = draft,
            Typed::Unclear => self.say(&words_wanted(&offered(question))),
        }
        self.prompt(question);
        None
    }
}

impl Prompter for Person<'_> {
    fn asked(&mut self, question: &Question) -> WaitPolicy {
        self.draft = Draft::Nothing;
        self.hides_output = hides_output(self.asker.global);
        self.show(question, false);
        self.asker.wait_policy
    }

    fn show_output(&mut self, question: &Question, recorded: Result<(), &SubmitError>) {
        match recorded {
            Ok(()) => self.put_output(question),
            Err(error) => {
                self.say(&format!("what it printed is shown once that is on record: {error}"));
                self.prompt(question);
            }
        }
    }

    fn wait(&mut self, question: &Question, wake: &Wake<'_>) -> Option<PersonInput> {
        match self.asker.turn(wake) {
            Turn::Show => {
                self.reads_output = false;
                self.show(question, false);
            }
            Turn::Line(line) => return self.heard(question, line),
            Turn::Nothing => {}
        }
        None
    }

    fn warned(&mut self, question: &Question) {
        let now = Time::from_nanoseconds(SystemClock.now().wall_ns);
        self.say(&warning_line(question.request_id(), time_left(question, now), "ABORT"));
        self.prompt(question);
    }

    fn refused(&mut self, question: &Question, refusal: &Refusal) {
        self.say(&visible(&refusal.to_string()).to_string());
        self.prompt(question);
    }

    fn settled(&mut self, _question: &Question, outcome: &RequestOutcome) {
        self.leave_output();
        self.asker.settled(Some(&outcome_words(outcome)));
    }
}

/// Returns whether a line asks for what the command printed. It is no decision, and no reason or
/// name either.
pub(super) fn is_output(line: &str) -> bool {
    line.trim().eq_ignore_ascii_case(OUTPUT)
}

/// Takes a typed line further. A decision is its whole name, in whatever case: a letter that means
/// one thing here means another at the prompt before a start.
fn read(draft: Draft, line: &str, question: &Question) -> Typed {
    match draft {
        Draft::Nothing => match decision_of(line).filter(|d| question.held.request.allows(*d)) {
            Some(decision @ (HumanDecision::Retry | HumanDecision::Escalate)) => {
                Typed::Draft(Draft::NeedsReason(decision))
            }
            Some(decision) => Typed::Answer(decision, None, None),
            None => Typed::Unclear,
        },
        Draft::NeedsReason(HumanDecision::Escalate) => match question.targets.as_slice() {
            [only] => answer_to(line.to_string(), only),
            _ => Typed::Draft(Draft::NeedsTarget(line.to_string())),
        },
        Draft::NeedsReason(decision) => Typed::Answer(decision, Some(line.to_string()), None),
        Draft::NeedsTarget(reason) => answer_to(reason, line),
    }
}

fn answer_to(reason: String, target: &str) -> Typed {
    Typed::Answer(HumanDecision::Escalate, Some(reason), Some(target.to_string()))
}

fn decision_of(line: &str) -> Option<HumanDecision> {
    let means = |decision: &&HumanDecision| line.trim().eq_ignore_ascii_case(decision.name());
    HumanDecision::ALL.iter().find(means).copied()
}

fn offered(question: &Question) -> String {
    let names: Vec<&str> =
        question.held.request.allowed_decisions.iter().map(|decision| decision.name()).collect();
    names.join(", ")
}

fn shown_targets(question: &Question) -> String {
    let names: Vec<String> = question.targets.iter().map(|target| named(target)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_its_whole_name_and_nothing_else() {
        for decision in HumanDecision::ALL {
            let name = decision.name();
            for typed in [name.to_string(), name.to_lowercase(), format!(" {name} ")] {
                assert_eq!(decision_of(&typed), Some(*decision));
            }
        }
        for decision in HumanDecision::ALL {
            assert!(!is_output(decision.name()));
        }
        for typed in [
            "all",
            DETAILS,
            "?",
            "y",
            "n",
            "no",
            OUTPUT,
            "OUTPUT",
            " output ",
            "",
            " ",
            "a",
            "A",
            "c",
            "r",
            "e",
            "yes",
            "CONTINUEX",
            "re",
            "\u{202e}",
        ] {
            assert_eq!(decision_of(typed), None, "{typed:?}");
        }
    }
}
