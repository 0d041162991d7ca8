//! The word by which a person answers: the whole question is shown at the terminal of this
//! process's session, and the word is typed there. An argument of a command is what is offered, and
//! nothing more: whoever starts a script or a hook at a terminal has not answered.

use crate::args::Global;
use crate::args::principal::user;
use crate::questions::choice::{DETAILS, DETAILS_HAS_ALL, asks_for_details};
use crate::questions::decision_view::{self, Doubts, what_starts};
use crate::questions::hold_view;
use crate::ui::program::program;
use crate::ui::screen::{Around, Conversation, in_line, recorded_in_line};
use crate::ui::{Exit, Failure, Page, named, now};
use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::decision_point::{DecisionPoint, Response};
use holdpoint_engine::shell::{Question, TypedLine};
use std::time::Duration;

/// How often is looked whether this process may read what is typed.
const TICK: Duration = Duration::from_secs(1);

/// A question as lines of so many columns, where it is to be short at most so many.
type Lines<'a> = Box<dyn Fn(usize, usize) -> Vec<String> + 'a>;

/// What a person is asked to confirm.
pub(crate) struct Offer<'a> {
    /// The question.
    lines: Lines<'a>,
    /// All of it, where that is more.
    all: Option<Lines<'a>>,
    /// What it is about, made visible.
    command: String,
    /// What is offered, and what others wrote that goes with it.
    offered: (String, Vec<(&'a str, &'a str)>),
    /// What is typed.
    word: String,
    /// What stays as it is where something else is typed.
    otherwise: String,
    /// Why this program asks; else it names what is offered.
    reason: Option<String>,
}

/// The outcome of an offer.
#[derive(Debug)]
pub(crate) enum Typed {
    /// The word was typed.
    Word(TypedLine),
    /// Something else was.
    Other,
    /// Nobody could be the person at a terminal here, so that nothing was shown.
    Nobody,
}

/// Whether whoever runs this could be a person at a terminal: its user is known, no command that
/// is recorded runs it, and its session has a terminal in whose foreground it is.
pub(crate) fn is_possible() -> bool {
    may_be_person() && Conversation::of_session().is_some()
}

fn may_be_person() -> bool {
    user(Actor::Human).authenticated_by > Authentication::None
}

impl<'a> Offer<'a> {
    /// An answer to a question of a hold.
    pub(crate) fn of_hold(
        global: &'a Global,
        question: &'a Question,
        word: &str,
        (reason, to): (Option<&'a str>, Option<&'a str>),
    ) -> Self {
        let beside = [("reason", reason), ("to", to)];
        let program = program(&global.log);
        let all = program.clone();
        Self {
            lines: Box::new(move |columns, most| {
                hold_view::brief_lines(question, now(), (columns, most), &program)
            }),
            all: Some(Box::new(move |columns, _| {
                hold_view::lines(question, Some(now()), columns, (&all, true))
            })),
            command: recorded_in_line(&question.context().command_line),
            offered: (word.to_string(), given(beside)),
            word: word.to_string(),
            otherwise: format!("{} is open as before", named(question.request_id())),
            reason: None,
        }
    }

    /// An answer to a decision.
    pub(crate) fn of_decision(
        global: &'a Global,
        point: &'a DecisionPoint,
        doubts: Doubts,
        (response, comment): (&'a Response, Option<&'a str>),
    ) -> Self {
        let meant = point.meant(response);
        let (word, what) = match &meant {
            Response::Option(id) => (id.to_string(), id.to_string()),
            Response::Accept | Response::Proposal(None) => {
                ("accept".into(), "accept the proposal as it is".into())
            }
            Response::Proposal(Some(id)) => {
                ("accept".into(), format!("accept the proposal, which chooses {}", named(id)))
            }
            Response::Text(_) => ("answer".into(), "an answer in own words".into()),
            Response::Guidance(_) => ("guide".into(), "guidance".into()),
        };
        let text = match (response, meant) {
            (Response::Text(text) | Response::Guidance(text), _) => Some(text.as_str()),
            (_, Response::Text(_)) => point.guidance.as_deref(),
            _ => None,
        };
        Self {
            lines: Box::new(move |columns, most| {
                decision_view::brief_lines(global, point, (now(), columns, most), doubts)
            }),
            all: Some(Box::new(move |columns, _| {
                decision_view::lines(global, point, (now(), columns), doubts)
            })),
            command: in_line(&what_starts(point)),
            offered: (what, given([("text", text), ("comment", comment)])),
            word,
            otherwise: format!("{} is open as before", named(&point.decision_id)),
            reason: None,
        }
    }

    /// Something else that only a person does, in lines of this program.
    pub(crate) fn of_change(lines: Vec<String>, command: &str, word: &str) -> Self {
        let shown = move |columns| {
            let mut page = Page::new(columns);
            lines.iter().for_each(|line| page.sentence(line));
            page.lines()
        };
        Self { reason: None, ..Self::of_page(shown, command, word) }
    }

    /// The same, laid out by whoever offers it, with the sentence that says why.
    pub(crate) fn of_page(
        lines: impl Fn(usize) -> Vec<String> + 'a,
        reason: &str,
        word: &str,
    ) -> Self {
        Self {
            lines: Box::new(move |columns, _| lines(columns)),
            all: None,
            command: reason.to_string(),
            offered: (word.to_string(), Vec::new()),
            word: word.to_string(),
            otherwise: "no change".to_string(),
            reason: Some(reason.to_string()),
        }
    }

    /// Shows all of it and reads the word. `None`: nobody could be the person at a terminal here,
    /// so that nothing was shown.
    pub(crate) fn typed(&self) -> Result<Option<TypedLine>, Failure> {
        match self.ask()? {
            Typed::Word(line) => Ok(Some(line)),
            Typed::Other => Err(self.left()),
            Typed::Nobody => Ok(None),
        }
    }

    /// Shows all of it and reads what is typed. An error: it cannot be shown, or the terminal was
    /// gone before a line was typed.
    pub(crate) fn ask(&self) -> Result<Typed, Failure> {
        if !may_be_person() {
            return Ok(Typed::Nobody);
        }
        // A script whose streams are no terminal is not held up by what nobody asked it for.
        let conversation = match self.reason {
            Some(_) => Conversation::open(),
            None => Conversation::of_session(),
        };
        let Some(mut conversation) = conversation else { return Ok(Typed::Nobody) };
        self.show(&mut conversation, false)?;
        loop {
            if conversation.heed_stop() {
                self.show(&mut conversation, false)?;
            }
            if !conversation.wait(TICK) {
                continue;
            }
            let line = conversation.line().map_err(|_| self.left())?;
            let Some(line) = line else { continue };
            match line.text() {
                typed if typed.trim().eq_ignore_ascii_case(&self.word) => {
                    return Ok(Typed::Word(line));
                }
                typed if self.all.is_some() && asks_for_details(typed) => {
                    self.show(&mut conversation, true)?;
                }
                _ => return Ok(Typed::Other),
            }
        }
    }

    fn show(&self, conversation: &mut Conversation, is_all: bool) -> Result<(), Failure> {
        let prompt = format!("type {} to answer; anything else leaves it: ", named(&self.word));
        let all = self.all.as_ref().filter(|_| !is_all);
        let (what, beside) = &self.offered;
        let more = all.map(|_| format!("; {DETAILS_HAS_ALL}")).unwrap_or_default();
        let offered = || format!("holdpoint: what is offered is {}{more}", named(what));
        let sentences = [self.reason.clone().unwrap_or_else(offered)];
        let lines = self.all.as_ref().filter(|_| is_all).unwrap_or(&self.lines);
        let around = Around {
            sentences: &sentences,
            command: self.command.clone(),
            prompt: &prompt,
            all: all.map(|_| DETAILS),
        };
        let shown = |columns, most: usize| {
            let mut page = Page::new(columns);
            beside.iter().for_each(|(name, text)| page.foreign(name, text));
            let beside = page.lines();
            let mut lines = lines(columns, most.saturating_sub(beside.len()));
            lines.extend(beside);
            lines
        };
        conversation.put_question(shown, &around).map_err(|error| {
            let message = format!("{error}: {}", self.otherwise);
            Failure::new(Exit::REFUSED, "no_terminal", message)
        })?;
        conversation.prompt(&prompt);
        Ok(())
    }

    fn left(&self) -> Failure {
        let message = format!("{} was not typed: {}", named(&self.word), self.otherwise);
        Failure::new(Exit::STILL_PENDING, "left_open", message)
    }
}

/// What goes with an answer.
fn given<'a>(beside: [(&'a str, Option<&'a str>); 2]) -> Vec<(&'a str, &'a str)> {
    beside.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
}

/// `--yes` says that nobody is asked at a terminal, and is no answer at one.
pub(crate) fn refuse_yes(is_given: bool) -> Result<(), Failure> {
    if !is_given || !is_possible() {
        return Ok(());
    }
    let message = "--yes answers where there is no terminal, and there is one here: leave it away, \
                   and type the word";
    Err(Failure::new(Exit::USAGE, "yes_at_a_terminal", message))
}
