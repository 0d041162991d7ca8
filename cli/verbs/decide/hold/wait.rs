//! `holdpoint hold wait`: block until a person decided; the exit code tells what.

use crate::args::Global;
use crate::log::clock;
use crate::log::verdict::{warn_doubt, warn_permits_nothing};
use crate::questions::adoption::expect_adopted;
use crate::questions::following::Following;
use crate::questions::hold_view::{outcome_line, warning_line};
use crate::questions::overdue::{Attempt, Overdue};
use crate::questions::request_id::{requests, resolve, unknown};
use crate::ui::{Exit, Failure, Output, complain};
use holdpoint_domain::World;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::governed::HumanDecisionView;
use holdpoint_domain::human_decision::{
    HeldRequest, HumanDecision, HumanDecisionOutcome, RequestOutcome,
};
use holdpoint_engine::shell::{Clock, Reading, SystemClock};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Options of `hold wait`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The request, or the beginning of its id.
    #[arg(value_name = "REQ")]
    request: String,
    /// How long to wait; left away: for as long as it takes. Giving up changes nothing.
    #[arg(long, value_name = "DURATION", value_parser = crate::args::durations::wait)]
    timeout: Option<Duration>,
}

/// What a wait came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Came {
    Continue,
    Retry,
    Abort,
    TimedOut,
    Withdrawn,
    StillPending,
}

impl Came {
    const fn exit(self) -> Exit {
        match self {
            Self::Continue => Exit::DONE,
            Self::Retry => Exit::RETRY,
            Self::Abort => Exit::SAID_NO,
            Self::TimedOut => Exit::ABORTED,
            Self::Withdrawn => Exit::CANCELLED,
            Self::StillPending => Exit::STILL_PENDING,
        }
    }
}

/// What a program is told.
#[derive(Serialize)]
struct Told<'a> {
    /// The question that was decided, or is waited for: another one where it was passed on.
    request_id: &'a str,
    /// The question that was named.
    asked: &'a str,
    outcome: Came,
    /// The decision that counts.
    decision: Option<HumanDecisionView<'a>>,
    /// Why that permits nothing, where it is in doubt.
    #[serde(flatten)]
    doubt: Option<Doubt>,
}

/// Waits. Exit 0 for CONTINUE, 17 for RETRY, 5 for either where it is in doubt, 16 for ABORT, 12
/// where nobody answered in time, 10 where nobody had answered at the wait's own timeout, 13 where
/// the loop ended before. Whoever is asked instead after ESCALATE is waited for too.
pub(super) fn wait(global: &Global, args: &Args) -> Result<Exit, Failure> {
    expect_adopted(global)?;
    let end = args.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut following = Following::of_everything(global)?;
    let asked = find(following.world(), &args.request)?;
    let (overdue, since) = (Overdue::new(global), SystemClock.now());
    let mut waiting = Waiting { id: asked.clone(), warned_of: None, overdue, since };
    loop {
        following.catch_up(&mut |_, _| {})?;
        if let Some(came) = waiting.look(&following) {
            return waiting.tell(global, following.world(), &asked, came);
        }
        let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        match waiting.record_what_is_due(&following, left) {
            Attempt::Recorded => continue,
            Attempt::Impossible => {
                return waiting.tell(global, following.world(), &asked, Came::TimedOut);
            }
            Attempt::NotYet => {}
        }
        waiting.warn_once(following.world());
        if left.is_zero() {
            return waiting.tell(global, following.world(), &asked, Came::StillPending);
        }
        let next = waiting.next_look(following.world());
        following.block(left.min(next));
    }
}

/// The question that is waited for now.
struct Waiting<'g> {
    id: String,
    /// The question of which it was said that 80 % of its time are over.
    warned_of: Option<String>,
    overdue: Overdue<'g>,
    /// What the clocks said when the wait began.
    since: Reading,
}

impl Waiting<'_> {
    /// What became of it, where that is durable. From one that was passed on to the next.
    fn look(&mut self, following: &Following) -> Option<Came> {
        let world = following.world();
        loop {
            match request(world, &self.id)?.outcome.as_ref()? {
                RequestOutcome::Withdrawn { sequence, .. } => {
                    return following.is_durable(*sequence).then_some(Came::Withdrawn);
                }
                RequestOutcome::Decided(decided) if !following.is_durable(decided.sequence) => {
                    return None;
                }
                RequestOutcome::Decided(decided)
                    if decided.outcome == HumanDecisionOutcome::Timeout =>
                {
                    return Some(Came::TimedOut);
                }
                RequestOutcome::Decided(decided) => match decided.record.decision {
                    HumanDecision::Continue => return Some(Came::Continue),
                    HumanDecision::Retry => return Some(Came::Retry),
                    HumanDecision::Abort => return Some(Came::Abort),
                    HumanDecision::Escalate => self.id = passed_on(world, &self.id)?,
                },
            }
        }
    }

    fn record_what_is_due(&mut self, following: &Following, at_most: Duration) -> Attempt {
        match self.time_left(following.world()) {
            Some(Duration::ZERO) => {
                let waited = ("request", self.id.as_str(), self.since);
                self.overdue.record(waited, at_most, || following.is_locked())
            }
            _ => Attempt::NotYet,
        }
    }

    /// How much time is left to answer; `None` where it is answered.
    fn time_left(&self, world: &World) -> Option<Duration> {
        self.left_until(world, |held| held.request.timeout_at)
    }

    /// The time until the warning is due; `None` where it was given or none is due.
    fn time_to_warning(&self, world: &World) -> Option<Duration> {
        let is_warned = self.warned_of.as_deref() == Some(&*self.id);
        self.left_until(world, HeldRequest::warning_at).filter(|_| !is_warned)
    }

    /// `None` where the question is answered.
    fn left_until(
        &self,
        world: &World,
        moment: impl FnOnce(&HeldRequest) -> Timestamp,
    ) -> Option<Duration> {
        let held = request(world, &self.id).filter(|held| held.is_open())?;
        let times = clock::times_since(world, &self.id, self.since);
        Some(Duration::from_nanos(times.left_ns(moment(held))))
    }

    /// Warns once of each question when 80 % of the time to answer it are over.
    fn warn_once(&mut self, world: &World) {
        let Some(left) = self.time_left(world).filter(|left| !left.is_zero()) else { return };
        if self.time_to_warning(world) == Some(Duration::ZERO) {
            complain(&warning_line(&self.id, left, "ABORT"));
            self.warned_of = Some(self.id.clone());
        }
    }

    fn next_look(&self, world: &World) -> Duration {
        match self.time_left(world) {
            Some(Duration::ZERO) => self.overdue.next_try_in(),
            Some(left) => self.time_to_warning(world).map_or(left, |warning| warning.min(left)),
            None => Duration::MAX,
        }
    }

    fn tell(
        &self,
        global: &Global,
        world: &World,
        asked: &str,
        came: Came,
    ) -> Result<Exit, Failure> {
        let outcome = request(world, &self.id).and_then(|held| held.outcome.as_ref());
        let place = world.find_request(&self.id);
        let doubt = place.and_then(|place| world.doubt_of_request(place));
        let mut out = Output::stdout();
        if global.json {
            let decision = match outcome {
                Some(RequestOutcome::Decided(decided)) => Some(decided.view()),
                _ => None,
            };
            out.json(&Told { request_id: &self.id, asked, outcome: came, decision, doubt });
        } else {
            let line = match (outcome, came) {
                (Some(outcome), _) => outcome_line(outcome),
                (None, Came::TimedOut) => "its time is over: ABORT, not recorded yet".to_string(),
                (None, _) => "still pending".to_string(),
            };
            let words: Vec<&str> = line.split_whitespace().collect();
            out.line(format_args!("{}  {}", visible(&self.id), words.join(" ")));
        }
        out.finish()?;
        match (doubt, came) {
            (Some(_), Came::Continue | Came::Retry) => {
                warn_permits_nothing(doubt, "the decision");
                return Ok(Exit::REFUSED);
            }
            _ => doubt.into_iter().for_each(warn_doubt),
        }
        Ok(came.exit())
    }
}

fn find(world: &World, wanted: &str) -> Result<String, Failure> {
    let ids = || {
        let closed = world.closed_requests();
        requests(world)
            .map(|(_, held)| held.request_id())
            .chain(closed.map(HeldRequest::request_id))
    };
    resolve(wanted, ids())?.ok_or_else(|| unknown(wanted, ids()))
}

fn request<'w>(world: &'w World, id: &str) -> Option<&'w HeldRequest> {
    world.find_request(id).map(|place| place.held())
}

/// The question in which somebody else was asked instead.
fn passed_on(world: &World, id: &str) -> Option<String> {
    let live = requests(world).map(|(_, held)| held);
    let mut all = live.chain(world.closed_requests());
    let next = all.find(|held| held.context.escalated_from.as_deref() == Some(id));
    next.map(|held| held.request_id().to_string())
}
