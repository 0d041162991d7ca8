//! Waiting until a question ended. A wait that gives up decides nothing and writes nothing.

use crate::args::Global;
use crate::log::question::QuestionView;
use crate::log::question::resolve;
use crate::log::{Question, clock};
use crate::questions::adoption::expect_adopted;
use crate::questions::decision_view;
use crate::questions::following::Following;
use crate::questions::hold_view::{outcome_words, warning_line};
use crate::questions::overdue::{Attempt, Overdue};
use crate::ui::{Exit, Failure, complain, named};
use holdpoint_domain::Time;
use holdpoint_domain::core::clocks::Times;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{AtDeadline, DecisionPoint};
use holdpoint_domain::human_decision::{HeldRequest, HumanDecision};
use holdpoint_engine::shell::{Clock, Reading, SystemClock, WaitOutcome};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The result of a wait, as programs read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Waited {
    /// The question that ended; where none did, the first one that was waited for. Of a hold that
    /// was passed on, the request that took its place.
    pub(crate) decision: Value,
    /// How it ended.
    #[serde(serialize_with = "by_name")]
    pub(crate) outcome: WaitOutcome,
    /// Why an answer permits nothing, where it is in doubt.
    #[serde(flatten)]
    pub(crate) doubt: Option<Doubt>,
    /// Why an approval of an action permits it no more.
    pub(crate) approval_over: Option<ApprovalOver>,
    /// The same for a person.
    #[serde(skip)]
    pub(crate) line: String,
    /// The same for a shell.
    #[serde(skip)]
    exit: Exit,
}

/// Why an approval of an action permits it no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalOver {
    /// It was spent.
    Spent,
    /// Its time is over, whether that is recorded yet or not.
    Lapsed,
}

impl ApprovalOver {
    fn of(point: &DecisionPoint, now: Time) -> Option<Self> {
        let lapsed =
            || point.lapsed_at.is_some() || point.valid_until().is_some_and(|it| it <= now);
        if point.consumed.is_some() {
            return Some(Self::Spent);
        }
        lapsed().then_some(Self::Lapsed)
    }

    /// In words.
    pub(crate) const fn told(self) -> &'static str {
        match self {
            Self::Spent => "the approval was spent, and is void; ask again",
            Self::Lapsed => "the approval expired: ask anew",
        }
    }
}

impl Waited {
    /// The exit code that says how it ended.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

/// Waits until the first of these questions ended, at most this long, or until nobody wants to know
/// any more; `None`: for as long as it takes. Each is named as everywhere: by its id, the beginning
/// of it, or its issue. ESCALATE ends no wait: whoever is asked instead is waited for.
///
/// Nothing is written, with one exception: where the time of a question is over and nobody has
/// recorded that, this does. Where it cannot, it tells what will be recorded.
pub(crate) fn until_ended(
    global: &Global,
    wanted: &[String],
    timeout: Option<Duration>,
    is_given_up: &dyn Fn() -> bool,
) -> Result<Waited, Failure> {
    expect_adopted(global)?;
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut wait = Wait::begin(global, wanted)?;
    let mut has_told = false;
    loop {
        if let Some(waited) = wait.look()? {
            return Ok(waited);
        }
        let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        match wait.record_what_is_due(left)? {
            Attempt::Recorded => continue,
            // What was written while this looked may have been an answer in time.
            Attempt::Impossible => match wait.look()? {
                Some(waited) => return Ok(waited),
                None => return wait.over_and_not_recorded(),
            },
            Attempt::NotYet => {}
        }
        if left.is_zero() || is_given_up() {
            return wait.still_pending();
        }
        if !std::mem::replace(&mut has_told, true) {
            wait.tell();
        }
        wait.warn_once()?;
        wait.block(left);
    }
}

/// A wait in its steps.
struct Wait<'g> {
    following: Following,
    ids: Vec<String>,
    overdue: Overdue<'g>,
    /// What the clocks said when the wait began.
    since: Reading,
    /// The questions of which it was said that 80 % of their time are over.
    warned: BTreeSet<String>,
}

impl<'g> Wait<'g> {
    /// Watches the log, reads it, and finds the questions in it.
    fn begin(global: &'g Global, wanted: &[String]) -> Result<Self, Failure> {
        let following = Following::of_state(global)?;
        let named = wanted.iter().map(|wanted| {
            let question = resolve(following.world(), wanted)?;
            Ok(question.id().to_string())
        });
        let ids = named.collect::<Result<_, Failure>>()?;
        let (overdue, since) = (Overdue::new(global), SystemClock.now());
        Ok(Self { following, ids, overdue, since, warned: BTreeSet::new() })
    }

    /// Takes in what is new; the question that ended first, if one did.
    fn look(&mut self) -> Result<Option<Waited>, Failure> {
        self.following.catch_up(&mut |_, _| {})?;
        self.go_on_behind_passed_on();
        let questions = self.questions()?;
        let ended = questions
            .into_iter()
            .filter(|question| self.following.has_ended(*question) && !is_passed_on(*question));
        let first = ended.min_by_key(|question| question.ended_sequence());
        Ok(first.map(|question| self.waited(question, outcome_of(question))))
    }

    /// Waits for whoever is asked instead, where a question was passed on.
    fn go_on_behind_passed_on(&mut self) {
        let world = self.following.world();
        for id in &mut self.ids {
            while let Some(question) = Question::find(world, id)
                && self.following.has_ended(question)
                && let Some(next) = question.passed_on(world)
            {
                *id = next.id().to_string();
            }
        }
    }

    fn still_pending(&self) -> Result<Waited, Failure> {
        let questions = self.questions()?;
        let first = questions.first().copied().ok_or_else(nothing_named)?;
        Ok(self.waited(first, WaitOutcome::StillPending))
    }

    /// Records what is due, if something is.
    fn record_what_is_due(&mut self, at_most: Duration) -> Result<Attempt, Failure> {
        let Some(id) = self.due()?.map(|question| question.id().to_string()) else {
            return Ok(Attempt::NotYet);
        };
        let is_locked = || self.following.is_locked();
        Ok(self.overdue.record((&id, self.since), at_most, is_locked))
    }

    /// The first of the questions whose time is over.
    fn due(&self) -> Result<Option<Question<'_>>, Failure> {
        Ok(self.questions()?.into_iter().find(|it| self.left(*it) == Some(Duration::ZERO)))
    }

    /// What the deadline comes to, which whoever writes next records.
    fn over_and_not_recorded(&self) -> Result<Waited, Failure> {
        let Some(question) = self.due()? else { return self.still_pending() };
        let (outcome, what) = match self.at_deadline(question) {
            AtEnd::Default(_) => (WaitOutcome::Default, "its default is taken"),
            AtEnd::Abort => (WaitOutcome::Aborted, "ABORT"),
            AtEnd::Undecided | AtEnd::StaysOpen => (WaitOutcome::Aborted, "nothing is decided"),
        };
        let id = visible(question.id());
        let line = format!("{id}  its time is over: {what}, and that is not recorded yet");
        Ok(Waited { line, ..self.waited(question, outcome) })
    }

    /// What becomes of a question at its deadline.
    fn at_deadline<'q>(&self, question: Question<'q>) -> AtEnd<'q> {
        let Question::Decision(point) = question else { return AtEnd::Abort };
        let world = self.following.world();
        match world.at_deadline(point, clock::moment_since(world, self.since)) {
            AtDeadline::Default(option) => AtEnd::Default(option),
            AtDeadline::Undecided => AtEnd::Undecided,
            AtDeadline::StaysOpen => AtEnd::StaysOpen,
        }
    }

    /// Sleeps until something may have happened, at most this long.
    fn block(&mut self, at_most: Duration) -> bool {
        let questions = self.questions().unwrap_or_default();
        let next = questions.into_iter().filter_map(|question| {
            let warning = self.time_to_warning(question).filter(|left| !left.is_zero());
            self.left(question).into_iter().chain(warning).min()
        });
        let next = match next.min() {
            Some(Duration::ZERO) => self.overdue.next_try_in(),
            Some(next) => next,
            None => Duration::MAX,
        };
        self.following.block(at_most.min(next))
    }

    fn questions(&self) -> Result<Vec<Question<'_>>, Failure> {
        let world = self.following.world();
        self.ids.iter().map(|id| resolve(world, id)).collect()
    }

    fn waited(&self, question: Question<'_>, outcome: WaitOutcome) -> Waited {
        let (world, id) = (self.following.world(), visible(question.id()));
        let now = self.times(question).latest();
        let line = match (outcome, question) {
            (WaitOutcome::StillPending, _) => {
                let overdue = if question.is_overdue(now) { ", and its time is over" } else { "" };
                format!("{id}  still {}{overdue}", question.state())
            }
            (_, Question::Decision(point)) => {
                format!("{id}  {}: {}", point.state, decision_view::outcome(point))
            }
            (_, Question::Hold(_, held)) => {
                let words = held.outcome.as_ref().map(outcome_words);
                format!("{id}  {}", words.unwrap_or_default())
            }
        };
        let doubt = question.doubt(world);
        let approval_over = match question {
            Question::Decision(point) => ApprovalOver::of(point, now),
            Question::Hold(..) => None,
        };
        let permits_nothing = doubt.is_some() || approval_over.is_some();
        let link = self.following.link(question);
        let view = QuestionView::of(question, world, now, link);
        let exit = exit_of(question, outcome, permits_nothing);
        Waited { decision: json!(view), outcome, doubt, approval_over, line, exit }
    }

    /// The moment on the scale of a question's times; the monotonic clock counts from the beginning
    /// of the wait on.
    fn times(&self, question: Question<'_>) -> Times {
        clock::times_since(self.following.world(), question.id(), self.since)
    }

    /// How much time a question has left; `None` where it does not end by itself.
    fn left(&self, question: Question<'_>) -> Option<Duration> {
        let end = question.deadline()?;
        Some(Duration::from_nanos(self.times(question).left_ns(end)))
    }

    /// The time until the warning of a question is due; `None` where it was given here.
    fn time_to_warning(&self, question: Question<'_>) -> Option<Duration> {
        let due_at = question.warning_at().filter(|_| !self.warned.contains(question.id()))?;
        Some(Duration::from_nanos(self.times(question).left_ns(due_at)))
    }

    /// Warns once of each question when 80 % of the time to answer it are over.
    fn warn_once(&mut self) -> Result<(), Failure> {
        let questions = self.questions()?.into_iter();
        let due = questions.filter(|it| self.time_to_warning(*it) == Some(Duration::ZERO));
        let lines: Vec<_> = due.map(|it| (it.id().to_string(), self.warning(it))).collect();
        for (id, line) in lines {
            line.iter().for_each(|line| complain(line));
            self.warned.insert(id);
        }
        Ok(())
    }

    /// The warning, where some time is left.
    fn warning(&self, question: Question<'_>) -> Option<String> {
        let end = match question {
            Question::Hold(..) => question.deadline(),
            Question::Decision(point) => point.terms.expires_at,
        };
        let left = Duration::from_nanos(self.times(question).left_ns(end?));
        let then = match self.at_deadline(question) {
            AtEnd::Abort => "ABORT".to_string(),
            AtEnd::Default(option) => format!("the default {}", named(option)),
            AtEnd::Undecided => "nothing is decided".to_string(),
            AtEnd::StaysOpen => "it goes on waiting".to_string(),
        };
        (!left.is_zero()).then(|| warning_line(question.id(), left, &then))
    }

    /// Says on a terminal what is waited for.
    fn tell(&self) {
        if std::io::stderr().is_terminal() {
            let ids: Vec<String> = self.ids.iter().map(|id| visible(id).to_string()).collect();
            complain(&format!("waiting for {} (Ctrl-C stops the wait only)", ids.join(", ")));
        }
    }
}

/// What becomes of a question at its deadline.
enum AtEnd<'q> {
    Abort,
    Default(&'q str),
    Undecided,
    StaysOpen,
}

fn outcome_of(question: Question<'_>) -> WaitOutcome {
    match question {
        Question::Decision(point) => WaitOutcome::of(point),
        Question::Hold(_, held) => WaitOutcome::from(held.decision_state()),
    }
}

/// The exit code of a question that ended so, or did not. An answer that permits nothing, for it is
/// in doubt or over, is no yes.
fn exit_of(question: Question<'_>, outcome: WaitOutcome, permits_nothing: bool) -> Exit {
    let is_no = match (outcome, question) {
        (WaitOutcome::Answered, Question::Decision(point)) => is_no(point),
        (WaitOutcome::Default, Question::Decision(point)) => is_no_by_default(point),
        (_, Question::Decision(_)) => false,
        (_, Question::Hold(_, held)) => decision_of(held) == Some(HumanDecision::Abort),
    };
    match (outcome, question) {
        (WaitOutcome::Answered | WaitOutcome::Default, _) if is_no => Exit::REJECTED,
        (WaitOutcome::Answered, _) if permits_nothing => Exit::REFUSED,
        (WaitOutcome::Answered, Question::Hold(_, held))
            if decision_of(held) == Some(HumanDecision::Retry) =>
        {
            Exit::RETRY
        }
        (outcome, _) => exit_of_outcome(outcome),
    }
}

const fn exit_of_outcome(outcome: WaitOutcome) -> Exit {
    match outcome {
        WaitOutcome::Answered => Exit::DONE,
        WaitOutcome::StillPending => Exit::STILL_PENDING,
        WaitOutcome::Default => Exit::DEFAULT_TAKEN,
        WaitOutcome::Aborted => Exit::TIMED_OUT,
        WaitOutcome::Cancelled => Exit::CANCELLED,
        WaitOutcome::Superseded => Exit::SUPERSEDED,
        WaitOutcome::Iterated => Exit::ITERATED,
    }
}

/// Says if an answer is a no: an option that rejects, and where approval was asked for, or
/// something waits, whatever does not let it go on.
fn is_no(point: &DecisionPoint) -> bool {
    point.is_rejected() || point.needs_person() && !point.releases()
}

/// Says if the default that was taken, or is taken once that is recorded, is a no: it rejects, or
/// approval was asked for or something waits, and silence lets it not go on.
fn is_no_by_default(point: &DecisionPoint) -> bool {
    let due = point.default_at_deadline().and_then(|id| point.terms.proposal.option(id));
    let approves = point.terms.policy.as_ref().is_some_and(|policy| policy.default_approves);
    let goes_on = approves || point.released_at.is_some() || !point.needs_person();
    point.is_rejected() || due.is_some_and(|option| option.reject) || !goes_on
}

/// True if somebody else is asked instead.
fn is_passed_on(question: Question<'_>) -> bool {
    let Question::Hold(_, held) = question else { return false };
    decision_of(held) == Some(HumanDecision::Escalate)
}

fn decision_of(held: &HeldRequest) -> Option<HumanDecision> {
    held.decided().map(|decided| decided.record.decision)
}

fn by_name<S: Serializer>(outcome: &WaitOutcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.name())
}

fn nothing_named() -> Failure {
    Failure::new(Exit::USAGE, "no_question", "name a question to wait for")
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_domain::Command;
    use holdpoint_domain::decision_point::DecisionPointState;
    use holdpoint_engine::Engine;
    use holdpoint_engine::shell::{Origin, Submitted};
    use tempfile::TempDir;

    const ID: &str = "DP-00000000000000000000000000000007";
    const LONG: Duration = Duration::from_secs(3_600);

    /// A log in which one decision is asked for.
    fn asked() -> (TempDir, Global) {
        let directory = tempfile::tempdir().unwrap();
        let global =
            Global { log: directory.path().join("log"), config: None, json: false, lists: false };
        let entropy = ID.strip_prefix("DP-");
        submit(&global, "create", json!({ "entropy": entropy, "prompt": "Deploy?" }));
        (directory, global)
    }

    fn submit(global: &Global, verb: &str, fields: Value) {
        let mut command = json!({ "command": format!("decision_point.{verb}"), "by": {
            "kind": "HUMAN", "id": "ada", "authenticated_by": "none", "means": "a test" } });
        command.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let command: Command = serde_json::from_value(command).unwrap();
        let actor = command.principal().unwrap().actor();
        let origin = Origin { actor, correlation: "a story".to_string(), causation: None };
        let engine = Engine::open(&global.log).unwrap();
        let submitted = engine.submit(&origin, (), &command).unwrap();
        assert!(matches!(submitted, Submitted::Accepted(_)), "{submitted:?}");
        engine.close().unwrap();
    }

    fn answer(global: &Global) {
        submit(global, "respond", json!({ "decision_id": ID, "response": { "text": "go" } }));
    }

    fn wait(global: &Global) -> Wait<'_> {
        Wait::begin(global, &[ID.to_string()]).unwrap()
    }

    /// Bug 13: an answer between the look and the block was missed until the timeout.
    #[test]
    fn what_comes_between_the_look_and_the_block_ends_the_block() {
        let (_directory, global) = asked();
        let mut wait = wait(&global);
        assert_eq!(wait.look(), Ok(None));
        answer(&global);
        assert!(wait.block(LONG), "the answer was slept through");
        let waited = wait.look().unwrap().unwrap();
        assert_eq!(waited.outcome, WaitOutcome::Answered);
        assert_eq!(waited.decision["response_text"], "go");
    }

    #[test]
    fn what_comes_between_the_watch_and_the_look_is_seen_by_the_look() {
        let (_directory, global) = asked();
        let mut wait = wait(&global);
        answer(&global);
        let waited = wait.look().unwrap().unwrap();
        assert_eq!(waited.outcome, WaitOutcome::Answered);
    }

    /// Bug 14: a reminder woke a waiter with an empty answer.
    #[test]
    fn a_reminder_ends_the_block_and_not_the_wait() {
        let (_directory, global) = asked();
        let mut wait = wait(&global);
        submit(&global, "remind", json!({ "decision_id": ID }));
        assert!(wait.block(LONG));
        assert_eq!(wait.look(), Ok(None));
        assert_eq!(wait.still_pending().unwrap().decision["reminders"], 1);
    }

    #[test]
    fn every_outcome_has_an_exit_code_of_its_own() {
        let all =
            DecisionPointState::ALL.iter().map(|state| exit_of_outcome(WaitOutcome::from(*state)));
        let mut codes: Vec<String> = all.map(|exit| format!("{exit:?}")).collect();
        codes.sort();
        codes.dedup();
        // Pending and refining are both still pending.
        assert_eq!(codes.len(), DecisionPointState::ALL.len() - 1);
    }
}
