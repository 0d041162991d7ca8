//! Asking the person about a run: on the terminal where there is one, and at the same time from any
//! other process.

use crate::args::Global;
use crate::log::configuration::hides_output;
use crate::questions::hold_view::{
    Detail, HIDDEN, how_to_answer, lines, outcome_words, time_left, warning_line,
};
use crate::questions::reason::check_reason;
use crate::ui::program::program;
use crate::ui::screen::{Around, Conversation, recorded_in_line};
use crate::ui::{complain, moment, named};
use crate::verbs::record::run::output_pane::Printed;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::human_decision::{AnswerChannel, AnswerMeans, HumanDecision, RequestOutcome};
use holdpoint_domain::{Refusal, Time};
use holdpoint_engine::shell::{
    Clock, PersonAnswer, PersonInput, Prompter, Question, SubmitError, SystemClock, WaitPolicy,
    Wake, user_name, user_number,
};

/// What is typed to read what the command printed.
const OUTPUT: &str = "output";
/// What is typed to read all that an answer binds: ids, inodes and digests.
pub(super) const DETAILS: &str = "details";
/// What was typed for the same before.
const ALL: &str = "all";

/// Puts the questions of a run to a person.
pub(super) struct Person<'a> {
    global: &'a Global,
    wait_policy: WaitPolicy,
    /// `None`: there is no terminal, or nobody types any more.
    terminal: Option<Conversation>,
    draft: Draft,
    /// What the command printed is on a screen of its own, and the question behind it.
    reads_output: bool,
    /// Why it is not asked at the terminal, where that was said.
    excuse: Option<String>,
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
        let wait_policy = if no_wait { WaitPolicy::Leave } else { WaitPolicy::Wait };
        let terminal = if no_wait { None } else { Conversation::open() };
        Self {
            global,
            wait_policy,
            terminal,
            draft: Draft::Nothing,
            reads_output: false,
            excuse: None,
            hides_output: true,
        }
    }

    /// Shows what the command printed, on a screen of its own. Nothing typed there is an answer.
    fn put_output(&mut self, question: &Question) {
        let context = question.context();
        let printed = Printed::of(self.global, &context.loop_id, context.attempt);
        match (printed, &mut self.terminal) {
            (Ok(printed), Some(terminal)) => {
                terminal.put_screen(|rows, columns| printed.lines(rows, columns));
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
        if let Some(terminal) = self.terminal.as_mut().filter(|_| was_read) {
            terminal.leave_screen();
        }
        was_read
    }

    fn say(&mut self, line: &str) {
        self.leave_output();
        match self.terminal.as_mut().filter(|terminal| terminal.is_asking()) {
            Some(terminal) => terminal.say_sentence(&format!("holdpoint: {line}")),
            None => complain(line),
        }
    }

    fn prompt(&mut self, question: &Question) {
        let prompt = self.prompt_line(question);
        let asking = self.terminal.as_mut().filter(|terminal| terminal.is_asking());
        asking.into_iter().for_each(|terminal| terminal.prompt(&prompt));
    }

    fn prompt_line(&self, question: &Question) -> String {
        match &self.draft {
            Draft::Nothing => format!("{}? ", offered(question)),
            Draft::NeedsReason(decision) => format!("reason for {decision}? "),
            Draft::NeedsTarget(_) => format!("whom to ask ({})? ", shown_targets(question)),
        }
    }

    /// Shows the question where a person sits, or how to answer it from elsewhere.
    fn show(&mut self, question: &Question) {
        let question = &Question { hides_output: self.hides_output, ..question.clone() };
        let how = how_to_answer(self.global, question);
        let prompt = self.prompt_line(question);
        let mut excuse = None;
        if let Some(terminal) = &mut self.terminal {
            let now = Time::from_nanoseconds(SystemClock.now().wall_ns);
            let words = match self.hides_output {
                true => format!(
                    "`{DETAILS}` shows the ids and hashes that an answer binds too, and answers \
                     nothing; {HIDDEN}"
                ),
                false => format!(
                    "`{OUTPUT}` shows here what it printed, `{DETAILS}` the ids and hashes that an \
                     answer binds too; neither answers anything"
                ),
            };
            let sentences = [
                format!("or from another terminal: {how}"),
                words,
                "holdpoint: a person decides what becomes of this run".to_string(),
            ];
            let command = recorded_in_line(&question.context().command_line);
            let around =
                Around { sentences: &sentences, command, prompt: &prompt, all: Some(DETAILS) };
            let program = program(&self.global.log);
            let shown = |columns| lines(question, Some(now), columns, (&program, Detail::Brief));
            match terminal.put_question(shown, &around) {
                Ok(()) => {
                    self.excuse = None;
                    return;
                }
                Err(error) => excuse = Some(error.to_string()),
            }
            if excuse == self.excuse {
                return;
            }
            self.excuse.clone_from(&excuse);
        }
        let (id, until) =
            (visible(question.request_id()), moment(question.held.request.timeout_at));
        let waits = match self.wait_policy {
            WaitPolicy::Wait => format!("waits for an answer until {until}, then ABORT"),
            WaitPolicy::Leave => format!("is left open until {until}, then ABORT"),
        };
        let excuse = excuse.map(|excuse| format!("{excuse}; ")).unwrap_or_default();
        complain(&format!("{excuse}a person decides: {id} {waits}; {how}"));
    }

    /// Shows all of the question, the ids and hashes too.
    fn show_all(&mut self, question: &Question) {
        let program = program(&self.global.log);
        let prompt = self.prompt_line(question);
        let Some(terminal) = &mut self.terminal else { return };
        let now = Time::from_nanoseconds(SystemClock.now().wall_ns);
        let command = recorded_in_line(&question.context().command_line);
        let around = Around { sentences: &[], command, prompt: &prompt, all: None };
        let question = &Question { hides_output: self.hides_output, ..question.clone() };
        let shown = |columns| lines(question, Some(now), columns, (&program, Detail::Verbose));
        // Where it cannot be put it is put again.
        if terminal.put_question(shown, &around).is_err() {
            terminal.rest();
        }
        self.prompt(question);
    }

    /// One line of the terminal, taken further.
    fn heard(&mut self, question: &Question) -> Option<PersonInput> {
        let terminal = self.terminal.as_mut()?;
        let line = match terminal.line() {
            Ok(line) => line?,
            Err(_) => {
                self.terminal = None;
                self.show(question);
                return None;
            }
        };
        if self.leave_output() {
            self.show(question);
            self.prompt(question);
            return None;
        }
        if is_output(line.text()) && self.hides_output {
            self.say(HIDDEN);
            self.prompt(question);
            return None;
        }
        if is_output(line.text()) {
            return Some(PersonInput::Output { human_id: user_name(), typed: Some(line) });
        }
        if self.draft == Draft::Nothing && is_details(line.text()) {
            self.show_all(question);
            return None;
        }
        if let (Draft::NeedsReason(_), Err(failure)) = (&self.draft, check_reason(line.text())) {
            self.say(failure.message());
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
            Typed::Unclear => {}
        }
        self.prompt(question);
        None
    }
}

impl Prompter for Person<'_> {
    fn asked(&mut self, question: &Question) -> WaitPolicy {
        self.draft = Draft::Nothing;
        self.hides_output = hides_output(self.global);
        self.show(question);
        self.prompt(question);
        self.wait_policy
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
        let own = self.terminal.as_ref().and_then(Conversation::readable);
        let is_ready = wake.wait(own);
        if self.terminal.as_mut().is_some_and(Conversation::heed_stop) {
            self.reads_output = false;
        }
        match &self.terminal {
            Some(terminal) if !terminal.is_asking() => {
                self.show(question);
                self.prompt(question);
                None
            }
            Some(_) if is_ready => self.heard(question),
            _ => None,
        }
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
        self.say(&outcome_words(outcome));
        self.terminal.iter_mut().for_each(Conversation::rest);
    }
}

/// Whether a line asks for what the command printed. It is no decision, and no reason or name
/// either.
pub(super) fn is_output(line: &str) -> bool {
    line.trim().eq_ignore_ascii_case(OUTPUT)
}

/// Whether a line asks for all that is bound. It is no decision either; what is typed as a reason
/// stays one.
pub(super) fn is_details(line: &str) -> bool {
    [DETAILS, ALL].iter().any(|word| line.trim().eq_ignore_ascii_case(word))
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
            ALL,
            DETAILS,
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
