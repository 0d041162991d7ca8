//! A question that waits for a person: a request of a hold, or a round of a decision point.

use crate::log::ids::{self, are_digits, begins};
use crate::log::{IdOf, decision_id};
use crate::ui::short_id::DIGITS_MIN;
use crate::ui::{Exit, Failure, closest, excerpt};
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{
    DecisionPoint, DecisionPointState, DecisionPointView, Urgency,
};
use holdpoint_domain::governed::{ExecutionLoop, RequestPlace, RequestView};
use holdpoint_domain::human_decision::HeldRequest;
use holdpoint_domain::{Time, World};
use holdpoint_engine::shell;
use holdpoint_replay::machine::Recorder;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The rules that a question follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// A request about an attempt of a run.
    Hold,
    /// A decision point.
    Decision,
}

/// A question of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question<'w> {
    /// A request, with its run where that is in the state.
    Hold(Option<&'w ExecutionLoop>, &'w HeldRequest),
    /// A round of a decision point.
    Decision(&'w DecisionPoint),
}

impl<'w> Question<'w> {
    /// Every question of a state, in no order, each once.
    pub(crate) fn all(world: &'w World) -> impl Iterator<Item = Self> {
        Self::holds(world).chain(decision_id::all(world).map(Self::Decision))
    }

    /// Every request of a state, each once.
    fn holds(world: &'w World) -> impl Iterator<Item = Self> {
        let loops = world.live_loops().chain(world.settled_loops());
        let requests = loops.flat_map(move |entity| {
            let requests = entity.decisions.requests.iter();
            requests.map(move |held| (Some(entity), newest(world, held)))
        });
        let known: BTreeSet<&str> = world.settled_loops().flat_map(requests_of).collect();
        let closed = world.closed_requests().filter(move |it| !known.contains(it.request_id()));
        let all = requests.chain(closed.map(|held| (None, held)));
        all.map(|(entity, held)| Self::Hold(entity, held))
    }

    /// The question with this id.
    pub(crate) fn find(world: &'w World, id: &str) -> Option<Self> {
        if let Some(RequestPlace::Live(entity, held)) = world.find_request(id) {
            return Some(Self::Hold(Some(entity), held));
        }
        let decision = world.decision_point(id).map(Self::Decision);
        decision.or_else(|| Self::holds(world).find(|question| question.id() == id))
    }

    /// The question that is meant. An id is taken first, then an issue: its one open decision, or
    /// where none is open the newest round that ended. Then the beginning of an id, where only one
    /// begins so: the prefix and a digit, or six digits of any kind. Exit 4 where several are
    /// meant, 3 where none is; the closest name is suggested.
    pub(crate) fn resolve(world: &'w World, wanted: &str) -> Result<Self, Failure> {
        if let Some(question) = Self::find(world, wanted) {
            return Ok(question);
        }
        decision_id::expect_one_meaning(world, wanted)?;
        let of = IdOf::of(wanted);
        if of != Some(IdOf::Request)
            && let Some(point) = decision_id::of_issue(world, wanted)?
        {
            return Ok(Self::Decision(point));
        }
        let digits = ids::digits_of(wanted);
        let is_of_digits = wanted.len() >= DIGITS_MIN && are_digits(wanted);
        let is_id = !digits.is_empty() && (is_of_digits || of.is_some());
        let found: Vec<Self> =
            Self::all(world).filter(|it| is_id && begins(it.id(), wanted)).collect();
        match (found.as_slice(), of) {
            ([only], _) => Ok(*only),
            ([], Some(IdOf::Request)) => Err(Self::unknown_request(world, wanted)),
            ([], _) => Err(decision_id::unknown(world, wanted)),
            (several, _) => {
                let ids = several.iter().map(|it| it.id().to_string()).collect();
                let of: &[IdOf] = match &of {
                    Some(of) => std::slice::from_ref(of),
                    None => &[IdOf::Decision, IdOf::Request],
                };
                Err(ids::several(digits, of, several.len(), &ids))
            }
        }
    }

    /// The request that a name may have meant which no request has.
    pub(crate) fn like_request(world: &'w World, wanted: &str) -> Option<String> {
        let in_small = || ids::own_in_small_letters(wanted, IdOf::Request);
        let like = closest(Self::holds(world).map(Question::id), wanted);
        like.map(String::from).or_else(in_small)
    }

    /// The failure that no request has this id.
    pub(crate) fn unknown_request(world: &'w World, wanted: &str) -> Failure {
        let advice = match Self::like_request(world, wanted) {
            Some(name) => format!("did you mean {}?", visible(&name)),
            None => "`holdpoint decision list` shows what waits".to_string(),
        };
        let message = format!("there is no request {}: {advice}", excerpt(wanted));
        Failure::new(Exit::NOT_FOUND, "unknown_request", message)
    }

    /// Its rules.
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Hold(..) => Kind::Hold,
            Self::Decision(_) => Kind::Decision,
        }
    }

    /// Its id.
    pub(crate) fn id(self) -> &'w str {
        match self {
            Self::Hold(_, held) => held.request_id(),
            Self::Decision(point) => &point.decision_id,
        }
    }

    /// Its state.
    pub(crate) fn state(self) -> DecisionPointState {
        match self {
            Self::Hold(_, held) => held.decision_state(),
            Self::Decision(point) => point.state,
        }
    }

    /// True if it can still end.
    pub(crate) fn is_open(self) -> bool {
        self.state().is_open()
    }

    /// Its work item.
    pub(crate) fn issue(self) -> Option<&'w str> {
        match self {
            Self::Hold(..) => None,
            Self::Decision(point) => point.terms.issue_id.as_deref(),
        }
    }

    /// How much it presses; a hold says nothing of that.
    pub(crate) const fn urgency(self) -> Option<Urgency> {
        match self {
            Self::Hold(..) => None,
            Self::Decision(point) => Some(point.terms.urgency),
        }
    }

    /// When it was asked.
    pub(crate) fn created_at(self) -> Time {
        match self {
            Self::Hold(_, held) => held.request.created_at,
            Self::Decision(point) => point.created_at,
        }
    }

    /// When it ends by itself; `None` where it does not, or has ended.
    pub(crate) fn deadline(self) -> Option<Time> {
        match self {
            Self::Hold(_, held) => held.is_open().then_some(held.request.timeout_at),
            Self::Decision(point) => point.deadline(),
        }
    }

    /// When the warning is due that 80 % of its time are over; `None` where none is.
    pub(crate) fn warning_at(self) -> Option<Time> {
        match self {
            Self::Hold(_, held) => held.is_open().then(|| held.warning_at()),
            Self::Decision(point) => point.warning_at(),
        }
    }

    /// True if it is open although its time is over.
    pub(crate) fn is_overdue(self, now: Time) -> bool {
        match self {
            Self::Hold(_, held) => held.is_open() && held.request.is_expired(now),
            Self::Decision(point) => point.is_overdue(now),
        }
    }

    /// The sequence of the record that ended it; `None` while it is open.
    pub(crate) fn ended_sequence(self) -> Option<u64> {
        match self {
            Self::Hold(_, held) => held.ended_sequence(),
            Self::Decision(point) => {
                point.ending.as_ref().filter(|_| !point.is_open()).map(|ending| ending.sequence)
            }
        }
    }

    /// The sequence of the newest record that changed it.
    pub(crate) fn version(self) -> u64 {
        match self {
            Self::Hold(_, held) => held.version(),
            Self::Decision(point) => point.version,
        }
    }

    /// The first and the newest record that it rests on.
    pub(crate) fn records(self, world: &World) -> (u64, u64) {
        match self {
            Self::Hold(Some(entity), _) => (entity.started_sequence, entity.version),
            Self::Hold(None, held) => (held.requested_sequence, held.requested_sequence),
            Self::Decision(point) => (world.asked_from(point), point.version),
        }
    }

    /// Why an answer to it permits nothing.
    pub(crate) fn doubt(self, world: &World) -> Option<Doubt> {
        match self {
            Self::Hold(_, held) => world.doubt_of_request(world.find_request(held.request_id())?),
            Self::Decision(point) => world.doubt_of_point(point),
        }
    }

    /// The question that took its place because somebody passed it on.
    pub(crate) fn passed_on(self, world: &'w World) -> Option<Self> {
        let Self::Hold(entity, held) = self else { return None };
        if self.state() != DecisionPointState::Superseded {
            return None;
        }
        let is_next =
            |next: &&HeldRequest| next.context.escalated_from.as_deref() == Some(held.request_id());
        // Whoever is asked instead is asked about the same run.
        let of_run = entity.and_then(|entity| entity.decisions.requests.iter().find(is_next));
        let next = of_run.or_else(|| world.closed_requests().find(is_next))?;
        Some(Self::Hold(entity, newest(world, next)))
    }

    /// Its place in the order of a list: the most urgent first, then the oldest. Two questions
    /// never have the same place, and neither moves while others come and go.
    pub(crate) fn place(self) -> (Reverse<Urgency>, Time, u64) {
        let asked = match self {
            Self::Hold(_, held) => held.requested_sequence,
            Self::Decision(point) => point.created_sequence,
        };
        (Reverse(self.urgency().unwrap_or(Urgency::Medium)), self.created_at(), asked)
    }

    /// Its readable form as a decision, at a time on the scale of its own times. `link` is that of
    /// its newest record.
    pub(crate) fn decision_view(
        self,
        world: &'w World,
        now: Time,
        link: Option<&'w str>,
    ) -> DecisionPointView<'w> {
        match self {
            Self::Hold(_, held) => {
                held.as_decision(now, link, self.passed_on(world).map(Question::id))
            }
            Self::Decision(point) => point.view(now, link),
        }
    }
}

/// A question as programs read it: the keys of a decision, whichever rules it follows. A hold has
/// no field for what its command printed.
#[derive(Serialize)]
pub(crate) struct QuestionView<'w> {
    #[serde(flatten)]
    decision: DecisionPointView<'w>,
    kind: Kind,
    /// What a hold has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<HoldView<'w>>,
}

/// What a request of a hold has more than a decision.
#[derive(Serialize)]
pub(crate) struct HoldView<'w> {
    #[serde(flatten)]
    request: RequestView<'w>,
    /// Number of attempts that there may be; null where the run is in an archive.
    max_attempts: Option<u8>,
    escalation_targets: Vec<String>,
    time_left_ms: Option<u64>,
    /// What is known of the process that records the run: where it is `gone`, nobody waits. Null
    /// at an earlier point: nothing is known of it there.
    recorder: Option<&'static str>,
}

impl<'w> QuestionView<'w> {
    /// A question, at a time on the scale of its own times. `link` is that of its newest record.
    pub(crate) fn of(
        question: Question<'w>,
        world: &'w World,
        now: Time,
        link: Option<&'w str>,
    ) -> Self {
        let hold = match question {
            Question::Hold(entity, held) => Some(HoldView::of(entity, held, now)),
            Question::Decision(_) => None,
        };
        Self { decision: question.decision_view(world, now, link), kind: question.kind(), hold }
    }

    /// A decision point, at a time on the scale of its own times.
    pub(crate) fn of_decision(point: &'w DecisionPoint, now: Time, link: Option<&'w str>) -> Self {
        Self { decision: point.view(now, link), kind: Kind::Decision, hold: None }
    }

    /// The same, with what is known of the process that records the run.
    pub(crate) fn recorded_by(mut self, recorder: Option<Recorder>) -> Self {
        if let Some(hold) = &mut self.hold {
            hold.recorder = recorder.map(Recorder::name);
        }
        self
    }
}

impl<'w> HoldView<'w> {
    fn of(entity: Option<&'w ExecutionLoop>, held: &'w HeldRequest, now: Time) -> Self {
        let left_ns = held.is_open().then(|| held.request.timeout_at.nanoseconds_since(now));
        Self {
            request: entity.map_or_else(|| held.view(), |entity| entity.request_view(held)),
            max_attempts: entity.map(|entity| entity.max_attempts),
            escalation_targets: entity
                .map(|it| shell::Question::of(it, held).targets)
                .unwrap_or_default(),
            time_left_ms: left_ns.map(|left_ns| left_ns / 1_000_000),
            recorder: None,
        }
    }
}

/// The request as it is now: answers that come after the loop settled are counted where requests
/// are remembered.
fn newest<'w>(world: &'w World, held: &'w HeldRequest) -> &'w HeldRequest {
    world.find_request(held.request_id()).map_or(held, RequestPlace::held)
}

fn requests_of(entity: &ExecutionLoop) -> impl Iterator<Item = &str> {
    entity.decisions.requests.iter().map(HeldRequest::request_id)
}
