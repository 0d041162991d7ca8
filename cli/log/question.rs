//! Questions that a person names, and questions as programs read them.

use crate::log::ids::{self, are_digits, begins};
use crate::log::{IdOf, decision_id};
use crate::ui::{Exit, Failure, closest, excerpt};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{DecisionPoint, DecisionPointView};
use holdpoint_domain::governed::{ExecutionLoop, RequestView};
use holdpoint_domain::human_decision::HeldRequest;
use holdpoint_domain::{Time, World};
use holdpoint_engine::shell;
use holdpoint_replay::id_text::DIGITS_MIN;
use holdpoint_replay::machine::Recorder;
use holdpoint_replay::question::{Kind, Question};
use serde::Serialize;

/// The question that is meant. An id is taken first, then an issue: its one open decision, or
/// where none is open the newest round that ended. Then the beginning of an id, where only one
/// begins so: the prefix and a digit, or six digits of any kind. Exit 4 where several are
/// meant, 3 where none is; the closest name is suggested.
pub(crate) fn resolve<'w>(world: &'w World, wanted: &str) -> Result<Question<'w>, Failure> {
    if let Some(question) = Question::find(world, wanted) {
        return Ok(question);
    }
    decision_id::expect_one_meaning(world, wanted)?;
    let of = IdOf::of(wanted);
    if of != Some(IdOf::Request)
        && let Some(point) = decision_id::of_issue(world, wanted)?
    {
        return Ok(Question::Decision(point));
    }
    let digits = ids::digits_of(wanted);
    let is_of_digits = wanted.len() >= DIGITS_MIN && are_digits(wanted);
    let is_id = !digits.is_empty() && (is_of_digits || of.is_some());
    let found: Vec<Question<'_>> =
        Question::all(world).filter(|it| is_id && begins(it.id(), wanted)).collect();
    match (found.as_slice(), of) {
        ([only], _) => Ok(*only),
        ([], Some(IdOf::Request)) => Err(unknown_request(world, wanted)),
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
pub(crate) fn like_request(world: &World, wanted: &str) -> Option<String> {
    let in_small = || ids::own_in_small_letters(wanted, IdOf::Request);
    let like = closest(Question::holds(world).map(Question::id), wanted);
    like.map(String::from).or_else(in_small)
}

/// The failure that no request has this id.
pub(crate) fn unknown_request(world: &World, wanted: &str) -> Failure {
    let advice = match like_request(world, wanted) {
        Some(name) => format!("did you mean {}?", visible(&name)),
        None => "`holdpoint decision list` shows what waits".to_string(),
    };
    let message = format!("there is no request {}: {advice}", excerpt(wanted));
    Failure::new(Exit::NOT_FOUND, "unknown_request", message)
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
