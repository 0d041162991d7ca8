//! Waiting until a decision ended. A wait that gives up decides nothing and writes nothing.

use crate::args::Global;
use crate::log::clock;
use crate::log::decision_id::resolve;
use crate::questions::adoption::expect_adopted;
use crate::questions::decision_view;
use crate::questions::following::Following;
use crate::questions::hold_view::warning_line;
use crate::questions::overdue::{Attempt, Overdue};
use crate::ui::{Exit, Failure, complain, named};
use holdpoint_domain::Time;
use holdpoint_domain::core::clocks::Times;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{AtDeadline, DecisionPoint};
use holdpoint_engine::shell::{Clock, Reading, SystemClock, WaitOutcome};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// What a wait came to, as programs read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Waited {
    /// The decision that ended; where none did, the first one that was waited for.
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
            Self::Spent => "the approval was spent, and permits nothing more: ask anew",
            Self::Lapsed => "the time of the approval is over, and it permits nothing: ask anew",
        }
    }
}

impl Waited {
    /// The exit code that says how it ended.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

/// Waits until the first of these decisions ended, at most this long, or until nobody wants to know
/// any more; `None`: for as long as it takes. Each is named as everywhere: by its id, the beginning
/// of it, or its issue.
///
/// Nothing is written, with one exception: where the time of a decision is over and nobody has
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
    /// The decisions of which it was said that 80 % of their time are over.
    warned: BTreeSet<String>,
}

impl<'g> Wait<'g> {
    /// Watches the log, reads it, and finds the decisions in it.
    fn begin(global: &'g Global, wanted: &[String]) -> Result<Self, Failure> {
        let following = Following::of_state(global)?;
        let named = wanted.iter().map(|wanted| {
            let point = resolve(following.world(), wanted)?;
            Ok(point.decision_id.to_string())
        });
        let ids = named.collect::<Result<_, Failure>>()?;
        let (overdue, since) = (Overdue::new(global), SystemClock.now());
        Ok(Self { following, ids, overdue, since, warned: BTreeSet::new() })
    }

    /// Takes in what is new; the decision that ended first, if one did.
    fn look(&mut self) -> Result<Option<Waited>, Failure> {
        self.following.catch_up(&mut |_, _| {})?;
        let points = self.points()?;
        let ended = points.into_iter().filter(|point| self.following.has_ended(point));
        let first = ended.min_by_key(|point| point.ending.as_ref().map(|ending| ending.sequence));
        Ok(first.map(|point| self.waited(point, WaitOutcome::of(point))))
    }

    fn still_pending(&self) -> Result<Waited, Failure> {
        let points = self.points()?;
        let first = points.first().copied().ok_or_else(nothing_named)?;
        Ok(self.waited(first, WaitOutcome::StillPending))
    }

    /// Records what is due, if something is.
    fn record_what_is_due(&mut self, at_most: Duration) -> Result<Attempt, Failure> {
        let Some(due) = self.due()?.cloned() else { return Ok(Attempt::NotYet) };
        let is_locked = || self.following.is_locked();
        let waited = ("decision", &*due.decision_id, self.since);
        Ok(self.overdue.record(waited, at_most, is_locked))
    }

    /// The first of the decisions whose time is over.
    fn due(&self) -> Result<Option<&DecisionPoint>, Failure> {
        Ok(self.points()?.into_iter().find(|point| self.left(point) == Some(Duration::ZERO)))
    }

    /// What the deadline comes to, which whoever writes next records.
    fn over_and_not_recorded(&self) -> Result<Waited, Failure> {
        let Some(point) = self.due()? else { return self.still_pending() };
        let world = self.following.world();
        let (outcome, what) = match world.at_deadline(point, clock::moment_since(world, self.since))
        {
            AtDeadline::Default(_) => (WaitOutcome::Default, "its default is taken"),
            AtDeadline::Undecided | AtDeadline::StaysOpen => {
                (WaitOutcome::Aborted, "nothing is decided")
            }
        };
        let id = visible(&point.decision_id);
        let line = format!("{id}  its time is over: {what}, and that is not recorded yet");
        Ok(Waited { line, ..self.waited(point, outcome) })
    }

    /// Sleeps until something may have happened, at most this long.
    fn block(&mut self, at_most: Duration) -> bool {
        let points = self.points().unwrap_or_default();
        let next = points.into_iter().filter_map(|point| {
            let warning = self.time_to_warning(point).filter(|left| !left.is_zero());
            self.left(point).into_iter().chain(warning).min()
        });
        let next = next.min();
        let next = match next {
            Some(Duration::ZERO) => self.overdue.next_try_in(),
            Some(next) => next,
            None => Duration::MAX,
        };
        self.following.block(at_most.min(next))
    }

    fn points(&self) -> Result<Vec<&DecisionPoint>, Failure> {
        let world = self.following.world();
        self.ids.iter().map(|id| resolve(world, id)).collect()
    }

    fn waited(&self, point: &DecisionPoint, outcome: WaitOutcome) -> Waited {
        let now = self.times(point).latest();
        let decision = json!(point.view(now, self.following.link(point)));
        let overdue = if point.is_overdue(now) { ", and its time is over" } else { "" };
        let id = visible(&point.decision_id);
        let line = match outcome {
            WaitOutcome::StillPending => format!("{id}  still {}{overdue}", point.state),
            _ => format!("{id}  {}: {}", point.state, decision_view::outcome(point)),
        };
        let doubt = self.following.world().doubt_of_point(point);
        let approval_over = ApprovalOver::of(point, now);
        let exit = match outcome {
            WaitOutcome::Answered => {
                exit_of_answer(point, doubt.is_some() || approval_over.is_some())
            }
            // Nobody chose it, and it is a no all the same.
            WaitOutcome::Default if takes_a_no(point) => Exit::SAID_NO,
            outcome => exit_of(outcome),
        };
        Waited { decision, outcome, doubt, approval_over, line, exit }
    }

    /// The moment on the scale of a decision's times; the monotonic clock counts from the beginning
    /// of the wait on.
    fn times(&self, point: &DecisionPoint) -> Times {
        clock::times_since(self.following.world(), &point.decision_id, self.since)
    }

    /// How much time a decision has left; `None` where it does not end by itself.
    fn left(&self, point: &DecisionPoint) -> Option<Duration> {
        let end = point.deadline()?;
        Some(Duration::from_nanos(self.times(point).left_ns(end)))
    }

    /// The time until the warning of a decision is due; `None` where it was given here.
    fn time_to_warning(&self, point: &DecisionPoint) -> Option<Duration> {
        let due_at = point.warning_at().filter(|_| !self.warned.contains(&*point.decision_id))?;
        Some(Duration::from_nanos(self.times(point).left_ns(due_at)))
    }

    /// Warns once of each decision when 80 % of the time to answer it are over.
    fn warn_once(&mut self) -> Result<(), Failure> {
        let points = self.points()?.into_iter();
        let due = points.filter(|point| self.time_to_warning(point) == Some(Duration::ZERO));
        let lines: Vec<_> =
            due.map(|point| (point.decision_id.to_string(), self.warning(point))).collect();
        for (id, line) in lines {
            line.iter().for_each(|line| complain(line));
            self.warned.insert(id);
        }
        Ok(())
    }

    /// The warning, where some time is left.
    fn warning(&self, point: &DecisionPoint) -> Option<String> {
        let left = Duration::from_nanos(self.times(point).left_ns(point.terms.expires_at?));
        let world = self.following.world();
        let then = match world.at_deadline(point, clock::moment_since(world, self.since)) {
            AtDeadline::Default(option) => format!("the default {}", named(option)),
            AtDeadline::Undecided => "nothing is decided".to_string(),
            AtDeadline::StaysOpen => "it goes on waiting".to_string(),
        };
        (!left.is_zero()).then(|| warning_line(&point.decision_id, left, &then))
    }

    /// Says on a terminal what is waited for.
    fn tell(&self) {
        if std::io::stderr().is_terminal() {
            let ids: Vec<String> = self.ids.iter().map(|id| visible(id).to_string()).collect();
            complain(&format!(
                "waiting for {}; to stop waiting changes nothing (Ctrl-C)",
                ids.join(", ")
            ));
        }
    }
}

/// An option that rejects is no success, whatever was asked for. Where approval was asked for, or
/// something waits, only an answer that lets it go on is one. One that permits nothing, for it is
/// in doubt or over, is none.
fn exit_of_answer(point: &DecisionPoint, permits_nothing: bool) -> Exit {
    match point.is_rejected() || point.needs_person() && !point.releases() {
        true => Exit::SAID_NO,
        false if permits_nothing => Exit::REFUSED,
        false => Exit::DONE,
    }
}

/// Says if the default that was taken, or is taken once that is recorded, rejects.
fn takes_a_no(point: &DecisionPoint) -> bool {
    let due = point.default_at_deadline().and_then(|id| point.terms.proposal.option(id));
    point.is_rejected() || due.is_some_and(|option| option.reject)
}

const fn exit_of(outcome: WaitOutcome) -> Exit {
    match outcome {
        WaitOutcome::Answered => Exit::DONE,
        WaitOutcome::StillPending => Exit::STILL_PENDING,
        WaitOutcome::Default => Exit::DEFAULT_TAKEN,
        WaitOutcome::Aborted => Exit::ABORTED,
        WaitOutcome::Cancelled => Exit::CANCELLED,
        WaitOutcome::Superseded => Exit::SUPERSEDED,
        WaitOutcome::Iterated => Exit::ITERATED,
    }
}

fn by_name<S: Serializer>(outcome: &WaitOutcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.name())
}

fn nothing_named() -> Failure {
    Failure::new(Exit::USAGE, "no_decision", "name a decision to wait for")
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
        let submitted = engine.submit(&origin, &command).unwrap();
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
        let all = DecisionPointState::ALL.iter().map(|state| exit_of(WaitOutcome::from(*state)));
        let mut codes: Vec<String> = all.map(|exit| format!("{exit:?}")).collect();
        codes.sort();
        codes.dedup();
        // Pending and refining are both still pending.
        assert_eq!(codes.len(), DecisionPointState::ALL.len() - 1);
    }
}
