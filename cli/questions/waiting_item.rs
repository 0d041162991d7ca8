//! What waits for a person, as the inbox lists it: a question of a hold or a decision.

use crate::log::LiveState;
use crate::log::current_state::Standing;
use crate::log::named_logs::Place;
use crate::questions::decision_view::{outcome, who};
use crate::questions::hold_view::outcome_words;
use crate::questions::log_snapshot::SnapshotScope;
use crate::ui::screen::{in_row, recorded_in_row};
use crate::ui::time_format::span;
use crate::ui::{named, now};
use holdpoint_domain::Time;
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::decision_point::{
    AtDeadline, DecisionPoint, DecisionPointState, OnTimeout, Terms, Urgency,
};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::human_decision::{HeldRequest, warning_time};
use holdpoint_engine::shell::Question;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_replay::Until;
use holdpoint_replay::machine::{Recorder, recorder_of};
use holdpoint_replay::question::Kind;
use holdpoint_replay::question::known_decisions;
use holdpoint_replay::question::{self, at_deadline};
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::path::Path;

/// Where it stands, of whatever time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    /// A person is to answer.
    Waits,
    /// It is open, and nobody waits for the answer: its recorder is gone.
    Unheard,
    /// It is open, and whether somebody waits for the answer cannot be told.
    Unsure,
    /// It is the requester's turn.
    Refining,
    /// It is over, and so.
    Over(String),
}

/// What becomes of a question that nobody answered in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AtEnd {
    /// The run is stopped.
    Abort,
    /// This option is taken.
    Default(String),
    /// Nothing is decided.
    Nothing,
    /// It can be answered all the same.
    WaitsOn,
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    pub(crate) id: String,
    /// The log, by its place in the list of logs.
    pub(crate) log: usize,
    pub(crate) label: String,
    pub(crate) stands: Stands,
    pub(crate) urgency: Urgency,
    pub(crate) asked_at: Time,
    pub(crate) ends_at: Option<Time>,
    pub(crate) at_end: AtEnd,
    /// What is asked, in one line that may stand beside others.
    pub(crate) asked: String,
    /// The same as it was recorded.
    pub(crate) whole: String,
    /// The words that answer it.
    pub(crate) words: Vec<String>,
    /// Those to whom it can be passed on.
    pub(crate) targets: Vec<String>,
    /// Whether it takes an answer in one's own words.
    pub(crate) allows_text: bool,
    /// Whether it takes guidance for another proposal.
    pub(crate) allows_guidance: bool,
    /// The run that it is about; none where nothing has run.
    pub(crate) loop_id: Option<String>,
    pub(crate) requested_by: Option<Principal>,
    pub(crate) standing: Standing,
}

/// What a program is told.
#[derive(Serialize)]
pub(crate) struct Row<'a> {
    kind: Kind,
    id: &'a str,
    log: &'a Path,
    /// `waiting`, `overdue`, `recorder_gone`, `refining` or `over`.
    state: &'static str,
    outcome: Option<&'a str>,
    urgency: Urgency,
    asked_at: Time,
    ends_at: Option<Time>,
    time_left_ms: Option<u64>,
    /// Whether it waits and 80 % of its time are over.
    warned: bool,
    /// What becomes of it when its time is over: `abort`, `default`, `hold`.
    on_timeout: &'static str,
    default_option: Option<&'a str>,
    requested_by: Option<&'a Principal>,
    run: Option<&'a str>,
    text: &'a str,
    answers: &'a [String],
    escalation_targets: &'a [String],
    #[serde(flatten)]
    standing: &'a Standing,
}

impl Item {
    fn of_request(
        (log, place): (usize, &Place),
        state: &LiveState,
        entity: Option<&ExecutionLoop>,
        held: &HeldRequest,
        at: Option<Until>,
    ) -> Self {
        let context = &held.context;
        let targets = entity.map(|entity| Question::of(entity, held).targets);
        let asked = (held.requested_sequence, held.requested_sequence);
        let records = entity.map_or(asked, |entity| (entity.started_sequence, entity.version));
        let storage = DirectoryStorage::new(&place.path);
        let stands = match &held.outcome {
            Some(over) => Stands::Over(outcome_words(over)),
            // Which recorders lived at an earlier point is not known.
            None if at.is_some() => Stands::Waits,
            None => match recorder_of(&storage, &context.loop_id) {
                Recorder::Gone => Stands::Unheard,
                Recorder::NotToBeTold => Stands::Unsure,
                Recorder::None | Recorder::Lives => Stands::Waits,
            },
        };
        let allowed = held.request.allowed_decisions.iter();
        Self {
            kind: Kind::Hold,
            id: held.request_id().to_string(),
            log,
            label: place.label.clone(),
            stands,
            urgency: HeldRequest::URGENCY,
            asked_at: held.request.created_at,
            ends_at: Some(end_of(state, held.request_id(), held.request.timeout_at, at)),
            at_end: AtEnd::Abort,
            asked: recorded_in_row(&context.command_line),
            whole: context.command_line.to_string(),
            words: allowed.map(|decision| decision.name().to_string()).collect(),
            targets: targets.unwrap_or_default(),
            allows_text: false,
            allows_guidance: false,
            loop_id: Some(context.loop_id.to_string()),
            requested_by: None,
            standing: state.standing(records),
        }
    }

    fn of_point(
        (log, place): (usize, &Place),
        state: &LiveState,
        point: &DecisionPoint,
        at: Option<Until>,
    ) -> Self {
        let end = point.terms.expires_at;
        let prompt = &point.terms.proposal.prompt;
        let mut lines = prompt.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default();
        let more = if lines.next().is_some() { " .." } else { "" };
        let stands = match point.state {
            DecisionPointState::Pending => Stands::Waits,
            DecisionPointState::Refining => Stands::Refining,
            _ => Stands::Over(outcome(point)),
        };
        let is_refining = point.state == DecisionPointState::Refining;
        // While the requester is to propose anew, what is there can only be accepted as it is.
        let ways: Vec<_> = match is_refining {
            true => point.own_ways().map(Cow::Owned).collect(),
            false => point.ways_to_answer(),
        };
        Self {
            kind: Kind::Decision,
            id: point.decision_id.to_string(),
            log,
            label: place.label.clone(),
            stands,
            urgency: point.terms.urgency,
            asked_at: point.created_at,
            ends_at: end.map(|end| end_of(state, &point.decision_id, end, at)),
            at_end: AtEnd::of(state, point, at),
            asked: format!("{}{more}", in_row(first)),
            whole: prompt.to_string(),
            words: ways.iter().map(|option| option.id.to_string()).collect(),
            targets: Vec::new(),
            allows_text: !is_refining && point.terms.allow_text,
            allows_guidance: !is_refining && point.iteration < point.terms.max_iterations,
            loop_id: None,
            requested_by: Some(point.requested_by.clone()),
            standing: state.standing((state.world().asked_from(point), point.version)),
        }
    }

    /// Whether a person is to answer it.
    pub(crate) fn waits(&self) -> bool {
        matches!(self.stands, Stands::Waits | Stands::Unheard | Stands::Unsure)
    }

    /// Whether it waits although its time is over.
    pub(crate) fn is_overdue(&self, now: Time) -> bool {
        let waits = matches!(self.stands, Stands::Waits | Stands::Unsure);
        waits && self.ends_at.is_some_and(|end| end <= now)
    }

    /// Whether no answer counts any more, though nobody has recorded that yet.
    pub(crate) fn is_shut(&self, now: Time) -> bool {
        self.is_overdue(now) && self.at_end != AtEnd::WaitsOn
    }

    /// Whether an answer to it still counts.
    pub(crate) fn takes_answer(&self, now: Time) -> bool {
        !self.is_shut(now) && !matches!(self.stands, Stands::Over(_))
    }

    /// How it ended, where it did.
    pub(crate) fn over(&self) -> Option<&str> {
        match &self.stands {
            Stands::Over(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// What is to be known before it is answered: that its time is over, and what follows.
    pub(crate) fn time_over(&self, now: Time) -> Option<String> {
        self.is_shut(now).then(|| {
            format!(
                "expired; answers are no longer accepted: {}, recorded by the next writer",
                self.at_end.in_words()
            )
        })
    }

    /// The time that is left; nothing where there is no end, or where it is over.
    pub(crate) fn left(&self, now: Time) -> Option<String> {
        match &self.stands {
            Stands::Over(_) => None,
            Stands::Unheard => Some("none".to_string()),
            Stands::Waits | Stands::Unsure | Stands::Refining => {
                self.ends_at.map(|end| match end <= now {
                    true => "overdue".to_string(),
                    false => span(end.nanoseconds_since(now)),
                })
            }
        }
    }

    /// Tells whether it waits and 80 % of its time are over.
    pub(crate) fn is_warned(&self, now: Time) -> bool {
        let Some(end) = self.ends_at.filter(|end| self.waits() && *end > now) else { return false };
        now >= warning_time(self.asked_at, end)
    }

    /// What else is to be said of it in a line.
    pub(crate) fn note(&self, now: Time) -> Option<String> {
        let note = match &self.stands {
            Stands::Waits if self.is_warned(now) => Some("80 % of its time are over".to_string()),
            Stands::Waits => self.is_overdue(now).then(|| self.at_end.in_words()),
            Stands::Unheard => Some("its recorder is gone".to_string()),
            Stands::Unsure => Some("its recorder cannot be told of".to_string()),
            Stands::Refining => self.requested_by.as_ref().map(|by| format!("turn of {}", who(by))),
            Stands::Over(outcome) => Some(outcome.clone()),
        };
        let doubt = self.standing.is_doubtful().then(|| "unproven".to_string());
        let is_before_loss = self.waits() && self.standing.is_before_loss();
        let lost = is_before_loss.then(|| "began before a loss".to_string());
        let notes: Vec<String> = note.into_iter().chain(doubt).chain(lost).collect();
        (!notes.is_empty()).then(|| notes.join(", "))
    }

    /// Its place: what waits first, and of that what presses most, then what is due first, then the
    /// oldest. What is over stands last, the newest first.
    pub(crate) fn place(&self) -> impl Ord + use<> {
        let group = match self.stands {
            Stands::Waits | Stands::Unheard | Stands::Unsure => 0,
            Stands::Refining => 1,
            Stands::Over(_) => 2,
        };
        let end = self.ends_at.map_or(u64::MAX, Time::nanoseconds);
        let age = self.asked_at.nanoseconds();
        let order = if group == 2 { (0, u64::MAX - age) } else { (end, age) };
        let urgency = if group == 2 { Urgency::Medium } else { self.urgency };
        (group, Reverse(urgency), order, self.log, self.id.clone())
    }

    /// For programs.
    pub(crate) fn row<'a>(&'a self, place: &'a Place, now: Time) -> Row<'a> {
        let (state, outcome) = match &self.stands {
            _ if self.is_overdue(now) => ("overdue", None),
            Stands::Waits | Stands::Unsure => ("waiting", None),
            Stands::Unheard => ("recorder_gone", None),
            Stands::Refining => ("refining", None),
            Stands::Over(outcome) => ("over", Some(outcome.as_str())),
        };
        let left =
            self.ends_at.filter(|_| self.over().is_none()).map(|end| end.nanoseconds_since(now));
        let offers = self.takes_answer(now);
        Row {
            kind: self.kind,
            id: &self.id,
            log: &place.path,
            state,
            outcome,
            urgency: self.urgency,
            asked_at: self.asked_at,
            ends_at: self.ends_at,
            time_left_ms: left.map(|left| left / 1_000_000),
            warned: self.is_warned(now),
            on_timeout: self.at_end.name(),
            default_option: self.at_end.default_option(),
            requested_by: self.requested_by.as_ref(),
            run: self.loop_id.as_deref(),
            text: &self.whole,
            answers: if offers { &self.words } else { &[] },
            escalation_targets: if offers { &self.targets } else { &[] },
            standing: &self.standing,
        }
    }
}

impl AtEnd {
    fn of(state: &LiveState, point: &DecisionPoint, at: Option<Until>) -> Self {
        if !point.is_open() {
            return Self::asked_for(&point.terms);
        }
        let world = state.world();
        let seen = if at.is_some() { world.totals().last_at } else { now() };
        match at_deadline(world, point, seen) {
            AtDeadline::StaysOpen => Self::WaitsOn,
            AtDeadline::Default(option) => Self::Default(option.to_string()),
            AtDeadline::Undecided => Self::Nothing,
        }
    }

    /// By the terms alone: of a decision that has ended.
    fn asked_for(terms: &Terms) -> Self {
        match (terms.on_timeout, &terms.proposal.default_option) {
            (OnTimeout::Hold, _) => Self::WaitsOn,
            (OnTimeout::Default, Some(option)) => Self::Default(option.to_string()),
            (OnTimeout::Default | OnTimeout::Abort, _) => Self::Nothing,
        }
    }

    /// For people, in a few words.
    fn in_words(&self) -> String {
        match self {
            Self::Abort => "ABORT by timeout".to_string(),
            Self::Default(option) => format!("default {} by timeout", named(option)),
            Self::Nothing => "ended undecided by timeout".to_string(),
            Self::WaitsOn => "still waits".to_string(),
        }
    }

    /// For programs, as a decision has it.
    const fn name(&self) -> &'static str {
        match self {
            Self::Abort | Self::Nothing => OnTimeout::Abort.name(),
            Self::Default(_) => OnTimeout::Default.name(),
            Self::WaitsOn => OnTimeout::Hold.name(),
        }
    }

    fn default_option(&self) -> Option<&str> {
        match self {
            Self::Default(option) => Some(option),
            Self::Abort | Self::Nothing | Self::WaitsOn => None,
        }
    }
}

/// When a question ends by this clock, where it is looked at as it is now.
fn end_of(state: &LiveState, id: &str, end: Time, at: Option<Until>) -> Time {
    if at.is_some() { end } else { question::end_of(state.world(), id, end, now()) }
}

/// What waits in a log; where all is asked for, what the requesters are at too, and what ended
/// lately.
pub(crate) fn items(log: (usize, &Place), state: &LiveState, asked: SnapshotScope) -> Vec<Item> {
    let SnapshotScope { has_all, at } = asked;
    let of_request = |entity, held| Item::of_request(log, state, entity, held, at);
    let world = state.world();
    let mut found: Vec<Item> = Vec::new();
    let requests = world.open_requests();
    found.extend(requests.map(|(entity, held)| of_request(Some(entity), held)));
    let points: Vec<&DecisionPoint> = match has_all {
        true => known_decisions(world).collect(),
        false => world.live_decision_points().filter(|point| point.is_open()).collect(),
    };
    let points = points.into_iter().map(|point| Item::of_point(log, state, point, at));
    found.extend(points.filter(|item| has_all || item.waits()));
    if has_all {
        for entity in world.live_loops() {
            let ended = entity.decisions.requests.iter().filter(|held| !held.is_open());
            found.extend(ended.map(|held| of_request(Some(entity), held)));
        }
        let closed = world.closed_requests();
        found.extend(closed.map(|held| of_request(None, held)));
    }
    found
}

/// What became of a question that waited, as far as the state still tells.
pub(crate) fn ending(state: &LiveState, item: &Item) -> Option<String> {
    let question =
        crate::log::Question::find(state.world(), &item.id).filter(|it| !it.is_open())?;
    match question {
        crate::log::Question::Hold(_, held) => held.outcome.as_ref().map(outcome_words),
        crate::log::Question::Decision(point) => Some(outcome(point)),
    }
}

/// Questions for tests.
#[cfg(test)]
pub(crate) mod sample {
    use super::*;
    use holdpoint_domain::core::actor::{Actor, Authentication};

    /// When they were asked.
    pub(crate) const ASKED: Time = Time::from_nanoseconds(1_800_000_000_000_000_000);

    fn item(kind: Kind, id: &str, asked: &str, words: &[&str]) -> Item {
        Item {
            kind,
            id: id.to_string(),
            log: 0,
            label: "app".to_string(),
            stands: Stands::Waits,
            urgency: Urgency::Medium,
            asked_at: ASKED,
            ends_at: None,
            at_end: AtEnd::Nothing,
            asked: in_row(asked.lines().next().unwrap_or_default()),
            whole: asked.to_string(),
            words: words.iter().map(ToString::to_string).collect(),
            targets: Vec::new(),
            allows_text: false,
            allows_guidance: false,
            loop_id: None,
            requested_by: None,
            standing: Standing::proven(),
        }
    }

    /// The question of a hold, with five minutes.
    pub(crate) fn hold() -> Item {
        let words = ["CONTINUE", "RETRY", "ESCALATE", "ABORT"];
        let id = "REQ-f89a996314ede3d4411568f692bdf6e4";
        let targets = ["on-call", "lead"].map(String::from).to_vec();
        let end = ASKED.nanoseconds() + 300_000_000_000;
        Item {
            ends_at: Some(Time::from_nanoseconds(end)),
            at_end: AtEnd::Abort,
            targets,
            loop_id: Some("LOOP-84fe1eeeb511e20d3dea187249e18dec".to_string()),
            ..item(Kind::Hold, id, "make deploy ENVIRONMENT=production", &words)
        }
    }

    /// A decision that presses, of an agent.
    pub(crate) fn decision() -> Item {
        let id = "DP-946915558e3df6400157145cb436f9ca";
        let by = Principal {
            kind: Actor::Agent,
            id: "agent-7".into(),
            authenticated_by: Authentication::None,
            means: "claimed".into(),
        };
        Item {
            urgency: Urgency::High,
            allows_guidance: true,
            requested_by: Some(by),
            label: "\u{6587}\u{5b57}".to_string(),
            ..item(
                Kind::Decision,
                id,
                "Which \u{1f512} cache, \u{5d0}\u{5d1}\u{1b}[2J?",
                &["yes", "no"],
            )
        }
    }

    /// One whose time was over when the others were asked.
    pub(crate) fn overdue() -> Item {
        let id = "DP-22cc22cc22cc22cc22cc22cc22cc22cc".to_string();
        let at_end = AtEnd::Default("no".to_string());
        Item { id, ends_at: Some(ASKED), at_end, ..decision() }
    }

    /// One that is over, and one whose recorder is gone.
    pub(crate) fn others() -> Vec<Item> {
        let over = Stands::Over("ABORT by ada, record 7".to_string());
        let of = |id: &str, stands| Item { id: id.to_string(), stands, ..hold() };
        let gone = of("REQ-00aa00aa00aa00aa", Stands::Unheard);
        vec![gone, of("REQ-11bb11bb11bb11bb", over)]
    }
}
