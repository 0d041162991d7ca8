//! Whether the newest record is ahead of this clock, and a person's word that the clock is right.

use super::check::Check;
use crate::args::principal::user;
use crate::args::{Global, LockWaitArgs};
use crate::log::clock::ahead_of;
use crate::log::{Directory, LiveState};
use crate::questions::confirm::Offer;
use crate::questions::decision_session::DecisionSession;
use crate::ui::time_format::span;
use crate::ui::{Exit, Failure, Output};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::clocks::Moment;
use holdpoint_domain::core::limits::CLOCK_AHEAD_NS;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::{Command, Time, World};
use holdpoint_engine::shell::{Clock, SystemClock};
use holdpoint_replay::Tells;
use serde_json::json;

/// What was looked at.
const CLOCK: &str = "clock";

/// What a person types.
const WORD: &str = "clock-step";

/// So many of what ends are listed before a person accepts a step.
const LISTED_MAX: usize = 20;

const ADVICE: &str = "where this clock is right, `holdpoint doctor clock-step` puts that on \
                      record, typed at a terminal: limits made from then on end by it alone";

/// By how much the newest record is ahead of this clock.
pub(super) fn check(directory: &Directory) -> Check {
    match ahead_of(directory) {
        None => Check::ok(CLOCK, "the newest record is not ahead of this clock"),
        Some(ahead_ns) if is_accepted(directory) => {
            let message = format!(
                "the newest record is {} ahead of this clock, and a person accepted that this \
                 clock is right: limits that were made since end by it",
                span(ahead_ns)
            );
            Check::ok(CLOCK, message)
        }
        Some(ahead_ns) => {
            let message = format!(
                "the newest record is {} ahead of this clock: a writer's clock was ahead, or this \
                 one is behind. Limits end by this clock or by the log's time, whichever is \
                 first, and no default is taken until both say so",
                span(ahead_ns)
            );
            Check::warn(CLOCK, message, ADVICE)
        }
    }
}

/// Tells whether a person accepted that the newest record is ahead.
fn is_accepted(directory: &Directory) -> bool {
    let state = LiveState::read_quietly(directory, Tells::Questions);
    state.is_ok_and(|state| Step::of(state.world()).ahead_ns <= CLOCK_AHEAD_NS)
}

/// What a person is shown.
struct Step {
    newest: Time,
    now: Time,
    ahead_ns: u64,
    /// What is due by the old time.
    due: Vec<String>,
}

impl Step {
    fn of(world: &World) -> Self {
        let now = Time::from_nanoseconds(SystemClock.now().wall_ns);
        let newest = world.totals().last_at;
        let seen = Moment::seen(newest, now);
        let due = world.due(seen).into_iter();
        let due = due.filter(|due| due.timed_out).map(|due| name_of(&due.command));
        let ahead_ns = world.log_time(seen).nanoseconds_since(now);
        Self { newest, now, ahead_ns, due: due.collect() }
    }

    fn lines(&self) -> Vec<String> {
        let Self { newest, now, ahead_ns, due } = self;
        let ends = match due.len() {
            0 => "Nothing is due by the old time.".to_string(),
            count => format!("What is due by the old time ends with it, {count} in all:"),
        };
        let mut lines = vec![
            "to accept a step of the clock: the newest record is ahead of this clock".to_string(),
            format!("newest record          {newest}"),
            format!("this clock             {now}"),
            format!("ahead by               {}", span(*ahead_ns)),
            "Accept it only where this clock is right. Records keep the old time until the clock \
             is there; limits that are made from then on end by own clocks alone. Nothing that \
             ended is open again."
                .to_string(),
            ends,
        ];
        lines.extend(due.iter().take(LISTED_MAX).map(|id| format!("  {id}")));
        let more = due.len().saturating_sub(LISTED_MAX);
        lines.extend((more > 0).then(|| format!("  and {more} more")));
        lines
    }
}

/// The question, the approval or the thread that ends.
fn name_of(command: &Command) -> String {
    let thread = command.thread().map(|(_, correlation)| correlation);
    visible(command.decision_point().or(thread).or(command.subject()).unwrap_or_default())
        .to_string()
}

/// Records that a person accepts the step. Exit 3 where there is none, 5 where nobody sits at a
/// terminal, 10 where the word is not typed.
pub(super) fn accept(global: &Global, turn: &LockWaitArgs) -> Result<Exit, Failure> {
    let session = DecisionSession::open(global, turn, false)?;
    let step = session.look(Step::of)?;
    if step.ahead_ns <= CLOCK_AHEAD_NS {
        session.close()?;
        let message = "the log's time is not ahead of this clock by more than a minute: there is \
                       no step to accept";
        return Err(Failure::new(Exit::NOT_FOUND, "no_clock_step", message));
    }
    let offer = Offer::of_change(step.lines(), "holdpoint doctor clock-step", WORD);
    let Some(line) = offer.typed()? else {
        let message = format!(
            "only a person at a terminal accepts a clock step ({})",
            user(Actor::Human).means
        );
        return Err(Failure::new(Exit::REFUSED, "no_terminal", message));
    };
    let submitted = session.accept_clock_step(&user(Actor::Human), line)?;
    let (receipt, _) = session.carried_out(None, submitted)?;
    session.close()?;
    let ended = receipt.last_sequence.saturating_sub(receipt.first_sequence);
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&json!({
            "record": receipt.last_sequence,
            "ahead_ns": step.ahead_ns,
            "ended_records": ended,
        }));
    } else {
        let (record, ahead) = (receipt.last_sequence, span(step.ahead_ns));
        out.line(format_args!("record {record}: the log's time was {ahead} ahead of this clock"));
        out.line(format_args!("{ended} records before it end what was due by the old time"));
    }
    out.finish()?;
    Ok(Exit::DONE)
}
