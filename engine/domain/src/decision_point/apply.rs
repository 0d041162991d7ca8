//! Events of decision points. Everything that an answer rests on is asked again.
//!
//! What the rules forbid counts for nothing: an answer that is wrong in any way leaves its round as
//! it was, and nothing is released or spent by it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

use crate::core::actor::Principal;
use crate::core::clocks::{EndedBy, Moment, Times};
use crate::core::forbidden::{Record, Rule, RuleChecks};
use crate::core::ids::{digits, id};
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::decision_point::check::{check_claim, check_response_form, check_terms, shown};
use crate::decision_point::event::DecisionPointEvent as Event;
use crate::decision_point::event::{
    ApprovalConsumed, ApprovalLapsed, ApprovalRevoked, DecisionPointAborted, DecisionPointCreated,
    DecisionPointRefined, DecisionPointResolved, DecisionPointSuperseded, DecisionPointWarned,
    DefaultTaken, DependentsReleased, GuidanceGiven, LateResponseRecorded, OutcomeReported,
    RoundOpened, VoteCast,
};
use crate::decision_point::refusal::DecisionPointRefusal as No;
use crate::decision_point::rules::PointsView;
use crate::decision_point::state::{DecisionPoint, DecisionPoints};
use crate::decision_point::types::{DecisionPointState, OnTimeout, Response};
use crate::log::policy::Loosened;

/// Fault of an event: what the rules expect and what they found. It becomes text where somebody
/// asks for it.
pub(crate) struct ApplyFault {
    expected: &'static str,
    found: Actual,
}

enum Actual {
    /// Words of our own.
    Words(&'static str),
    /// Text of the event, of which not everything is shown.
    Input(Text),
    Number(usize),
    Time(Timestamp),
    Loosened(Loosened),
    Refusal(No),
}

impl Display for Actual {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::Input(text) => f.write_str(&shown(text)),
            Self::Number(number) => number.fmt(f),
            Self::Time(at) => at.fmt(f),
            Self::Loosened(loosened) => loosened.fmt(f),
            Self::Refusal(refusal) => refusal.fmt(f),
        }
    }
}

const fn fault(expected: &'static str, found: Actual) -> ApplyFault {
    ApplyFault { expected, found }
}

type Checked = Result<(), ApplyFault>;

fn demand(is_so: bool, expected: &'static str, found: impl FnOnce() -> Actual) -> Checked {
    is_so.then_some(()).ok_or_else(|| fault(expected, found()))
}

/// Adds to `checks` what the rules forbid about an event of this system.
pub(crate) fn judge(
    view: PointsView<'_>,
    record: Record<'_>,
    event: &Event,
    checks: &mut RuleChecks,
) {
    let checked = if let Event::DecisionPointCreated(body) = event {
        created(view, record, body).map(drop)
    } else if let Event::RoundOpened(body) = event {
        opened(view, record, body).map(drop)
    } else {
        remembered(view, event).and_then(|point| check(Subject { view, point, record }, event))
    };
    if let Err(ApplyFault { expected, found }) = checked {
        checks.forbid(rule_of(event), expected, found);
    }
    let (is_old, found) = (accepts_guidance(event), "the guidance");
    checks.demand(
        !(is_old && checks.rules.has_sixth_words),
        rule_of(event),
        "an acceptance of the proposal",
        found,
    );
    let is_untold = checks.rules.tells_clock && matches!(event.clocks(), Some((None, _)));
    checks.demand(!is_untold, rule_of(event), "the clock that ended it", "none");
}

impl PointsView<'_> {
    /// The moment on the scale of the times of a round and its approval.
    pub(super) fn times(self, point: &DecisionPoint, now: Moment) -> Times {
        self.clocks.times(&point.decision_id, now)
    }

    /// The latest time that any clock gives: what ends no later is over.
    pub(super) fn time(self, point: &DecisionPoint, now: Moment) -> Timestamp {
        self.times(point, now).latest()
    }
}

pub(crate) fn created(
    view: PointsView<'_>,
    record: Record<'_>,
    body: &DecisionPointCreated,
) -> Result<DecisionPoint, ApplyFault> {
    check_new(view, &body.decision_id)?;
    // Whether Holdpoint itself asks follows from the fault, whoever recorded that.
    if !body.by.is_holdpoint() {
        check_speaker(record, &body.by)?;
    }
    accepted(check_terms(&body.terms, &body.by.id, record.at))?;
    let correlation = String::from(record.correlation);
    Ok(DecisionPoint::created(body, correlation, record.at, record.sequence))
}

pub(crate) fn opened(
    view: PointsView<'_>,
    record: Record<'_>,
    body: &RoundOpened,
) -> Result<DecisionPoint, ApplyFault> {
    check_new(view, &body.decision_id)?;
    let prior = view.points.find(&body.prior_id);
    let prior = prior.filter(|prior| prior.next_id.as_ref() == Some(&body.decision_id));
    let Some(prior) = prior else {
        return Err(fault("the round that guidance led to", Actual::Input(body.prior_id.clone())));
    };
    if body.iteration != prior.iteration.saturating_add(1) {
        return Err(fault("the next round", Actual::Number(body.iteration.into())));
    }
    if body.expires_at != prior.next_round_expires_at(record.at) {
        let found = body.expires_at.map_or(Actual::Words("none"), Actual::Time);
        return Err(fault("the end of the time by the terms", found));
    }
    Ok(prior.next_round(body, record.at, record.sequence))
}

fn check_new(view: PointsView<'_>, decision_id: &str) -> Checked {
    let is_well_formed = crate::core::ids::is_strong_entropy(&digits(decision_id))
        && id("DP-", &digits(decision_id)) == decision_id;
    if !is_well_formed {
        return Err(fault("an id of DP- and 32 digits", Actual::Input(decision_id.into())));
    }
    match view.points.find(decision_id) {
        Some(_) => Err(fault("an id that is new", Actual::Input(decision_id.into()))),
        None => Ok(()),
    }
}

/// Every other event is about a round that is remembered.
fn remembered<'a>(view: PointsView<'a>, event: &Event) -> Result<&'a DecisionPoint, ApplyFault> {
    let decision_id = event.decision_id();
    let found = view.points.find(decision_id);
    found.ok_or_else(|| {
        fault("a decision point that is remembered", Actual::Input(decision_id.into()))
    })
}

/// Returns whether an event about a round that is remembered counts.
pub(crate) fn counts(view: PointsView<'_>, record: Record<'_>, event: &Event) -> bool {
    remembered(view, event).and_then(|point| check(Subject { view, point, record }, event)).is_ok()
}

/// Applies an event that counts. Hands back what is then remembered no longer, as
/// [`DecisionPoints::change`].
pub(crate) fn change(
    points: &mut DecisionPoints,
    record: Record<'_>,
    event: &Event,
) -> Vec<(u64, DecisionPoint)> {
    points.change(event.decision_id(), |point| {
        apply(point, record, event);
        point.version = record.sequence;
    })
}

/// Tells whether an answer accepts the guidance, as under rules before number 6.
const fn accepts_guidance(event: &Event) -> bool {
    matches!(event.counted_response(), Some(Response::Accept))
}

/// The rule that an event can break.
const fn rule_of(event: &Event) -> Rule {
    match event {
        Event::DecisionPointCreated(_) => Rule::DecisionPointTerms,
        Event::DecisionPointRefined(_) | Event::GuidanceGiven(_) | Event::RoundOpened(_) => {
            Rule::DecisionPointRound
        }
        Event::DefaultTaken(_)
        | Event::DecisionPointAborted(_)
        | Event::ApprovalLapsed(_)
        | Event::DecisionPointWarned(_) => Rule::DecisionPointExpiry,
        Event::ApprovalConsumed(_)
        | Event::ApprovalRevoked(_)
        | Event::DependentsReleased(_)
        | Event::OutcomeReported(_) => Rule::DecisionPointApproval,
        Event::VoteCast(_)
        | Event::DecisionPointResolved(_)
        | Event::DecisionPointCancelled(_)
        | Event::DecisionPointSuperseded(_)
        | Event::DecisionPointReminded(_)
        | Event::DecisionPointEscalated(_)
        | Event::LateResponseRecorded(_) => Rule::DecisionPointAnswer,
    }
}

/// A round that an event is about, among all that are remembered, and the event's record.
#[derive(Clone, Copy)]
struct Subject<'a> {
    view: PointsView<'a>,
    point: &'a DecisionPoint,
    record: Record<'a>,
}

fn check(on: Subject<'_>, event: &Event) -> Checked {
    match event {
        Event::DecisionPointRefined(body) => check_refined(on, body),
        Event::GuidanceGiven(body) => check_guidance(on, body),
        Event::VoteCast(body) => check_vote(on, body),
        Event::DecisionPointResolved(body) => check_resolved(on, body),
        Event::DefaultTaken(body) => check_default(on, body),
        Event::DecisionPointAborted(body) => check_aborted(on, body),
        Event::DecisionPointCancelled(body) if event.is_end_by_system() => {
            check_ended_by_system(on, on.point.is_open(), &body.by)
        }
        Event::DecisionPointCancelled(body) => check_requester_of_open(on, &body.by),
        Event::DecisionPointSuperseded(body) => check_superseded(on, body),
        Event::DecisionPointReminded(body) => check_open(on, &body.by),
        Event::DecisionPointEscalated(body) => check_open(on, &body.by),
        Event::LateResponseRecorded(body) => check_late(on, body),
        Event::ApprovalConsumed(body) => check_consumed(on, body),
        Event::ApprovalLapsed(body) => check_lapsed(on, body),
        Event::DecisionPointWarned(body) => check_warned(on, body),
        Event::ApprovalRevoked(body) if event.is_end_by_system() => {
            check_ended_by_system(on, on.point.is_revocable(), &body.by)
        }
        Event::ApprovalRevoked(body) => check_revoked(on, body),
        Event::DependentsReleased(body) => check_released(on, body),
        Event::OutcomeReported(body) => check_reported(on, body),
        Event::DecisionPointCreated(_) | Event::RoundOpened(_) => Ok(()),
    }
}

fn apply(point: &mut DecisionPoint, record: Record<'_>, event: &Event) {
    let (at, sequence) = (record.at, record.sequence);
    match event {
        Event::DecisionPointRefined(body) => point.refine(body),
        Event::GuidanceGiven(body) => point.guide(body, at, sequence),
        Event::VoteCast(body) => point.count_vote(body, at, sequence),
        Event::DecisionPointResolved(body) => point.resolve(body, at, sequence),
        Event::DefaultTaken(body) => point.take_default(body, at, sequence),
        Event::DecisionPointAborted(body) => point.abort(body.expires_at, at, sequence),
        Event::DecisionPointCancelled(body) => point.cancel(body, at, sequence),
        Event::DecisionPointSuperseded(body) => point.supersede(body, at, sequence),
        Event::DecisionPointReminded(_) => point.reminders = point.reminders.saturating_add(1),
        Event::DecisionPointEscalated(body) => point.escalate(body, at),
        Event::LateResponseRecorded(body) => point.keep_late(body, at, sequence),
        Event::ApprovalConsumed(body) => point.consume(&body.by, at, sequence),
        Event::DecisionPointWarned(body) => point.warn(body.due_at, at, sequence),
        Event::ApprovalLapsed(body) => point.lapsed_at = Some(body.valid_until.min(at)),
        Event::ApprovalRevoked(body) => point.revoke(body, at, sequence),
        Event::DependentsReleased(_) => point.released_at = Some(at),
        Event::OutcomeReported(body) => point.report(body, at, sequence),
        Event::DecisionPointCreated(_) | Event::RoundOpened(_) => {}
    }
}

fn check_refined(on: Subject<'_>, body: &DecisionPointRefined) -> Checked {
    check_speaker(on.record, &body.by)?;
    let drops = body.proposal.default_option.is_none();
    if drops && on.point.terms.on_timeout == OnTimeout::Default && !on.record.rules.drops_defaults {
        return Err(fault(
            "the default that silence takes",
            Actual::Words("a proposal without one"),
        ));
    }
    accepted(on.point.check_refinement(&body.by, &body.proposal, on.record.times.latest()))
}

/// A round that ended for one that cannot begin would leave nothing to answer.
fn check_guidance(on: Subject<'_>, body: &GuidanceGiven) -> Checked {
    check_new(on.view, &body.next_id)?;
    let response = Response::Guidance(body.guidance.clone());
    check_response(on, &body.by, &response, body.comment.as_deref())
}

fn check_vote(on: Subject<'_>, body: &VoteCast) -> Checked {
    if on.point.terms.policy.is_none() || matches!(body.response, Response::Guidance(_)) {
        return Err(fault("votes where a policy asks for them", Actual::Words("a vote")));
    }
    check_response(on, &body.by, &body.response, body.comment.as_deref())
}

/// Without a policy the answer itself ends the round; with one, the vote that was cast before.
fn check_resolved(on: Subject<'_>, body: &DecisionPointResolved) -> Checked {
    if matches!(body.response, Response::Guidance(_)) {
        return Err(fault("another round", Actual::Words("guidance as an answer")));
    }
    if on.point.terms.policy.is_none() {
        let comment = body.comment.as_deref();
        return check_response(on, &body.by, &body.response, comment);
    }
    check_speaker(on.record, &body.by)?;
    accepted(on.point.check_open(on.record.times.latest()))?;
    let voted = on.point.votes.iter().any(|vote| vote.is_by(&body.by, &body.response));
    demand(voted && on.point.ends_round(&body.response), "a quorum, or a vote that rejects", || {
        Actual::Number(on.point.votes.len())
    })
}

fn check_response(
    on: Subject<'_>,
    by: &Principal,
    response: &Response,
    comment: Option<&str>,
) -> Checked {
    check_speaker(on.record, by)?;
    accepted(on.view.check_respondent(on.point, (by.kind, &by.id), on.record.proof))?;
    check_proof(on.record, by)?;
    accepted(on.point.check_response(by, response, on.record.times.latest()))?;
    let is_refining = on.point.state == DecisionPointState::Refining;
    let is_plain_text = on.point.terms.allow_text && !is_refining;
    if on.point.is_own_guidance(response) && !is_plain_text && !on.record.rules.has_sixth_words {
        return Err(fault(
            "an answer that the round takes",
            Actual::Words("its guidance as a text"),
        ));
    }
    accepted(check_response_form(response, comment))
}

fn check_default(on: Subject<'_>, body: &DefaultTaken) -> Checked {
    let ended_by = check_time_over(on, body.expires_at)?;
    if ended_by != EndedBy::Both {
        return Err(fault("a time that is over by both clocks", Actual::Words(ended_by.name())));
    }
    demand(
        on.point.default_at_deadline() == Some(&body.option_id),
        "a default that the terms have taken",
        || Actual::Input(body.option_id.clone()),
    )
}

fn check_aborted(on: Subject<'_>, body: &DecisionPointAborted) -> Checked {
    let ended_by = check_time_over(on, body.expires_at)?;
    check_clock(ended_by, body.ended_by, body.steady)?;
    match on.point.default_at_deadline() {
        Some(default) if ended_by == EndedBy::Both => {
            Err(fault("the default that the terms have taken", Actual::Input(default.clone())))
        }
        _ => Ok(()),
    }
}

/// The clock by which the time of an open round is over.
fn check_time_over(on: Subject<'_>, stated: Timestamp) -> Result<EndedBy, ApplyFault> {
    let Some(end) = on.point.deadline() else {
        return Err(fault("an open round with a deadline", Actual::Words(on.point.state.name())));
    };
    let over = on.record.times.over(end).filter(|_| end == stated);
    over.ok_or_else(|| fault("the deadline, when it has passed", Actual::Time(end)))
}

/// The clock that is stated is the one that ended it. What was recorded before clocks were told
/// apart was over by the log's time.
fn check_clock(ended_by: EndedBy, stated: Option<EndedBy>, steady: Option<Timestamp>) -> Checked {
    let expected = stated.unwrap_or(match ended_by {
        EndedBy::LogTime => EndedBy::LogTime,
        EndedBy::OwnClock | EndedBy::Both | EndedBy::Monotonic => EndedBy::Both,
    });
    if expected != ended_by {
        return Err(fault("the clock by which it is over", Actual::Words(expected.name())));
    }
    match steady {
        Some(steady) if ended_by != EndedBy::Monotonic => {
            Err(fault("the monotonic clock, where it alone ended it", Actual::Time(steady)))
        }
        _ => Ok(()),
    }
}

fn check_open(on: Subject<'_>, by: &Principal) -> Checked {
    check_speaker(on.record, by)?;
    accepted(on.point.check_open(on.record.times.latest()))
}

fn check_requester_of_open(on: Subject<'_>, by: &Principal) -> Checked {
    check_open(on, by)?;
    accepted(on.point.check_requester(by))
}

fn check_superseded(on: Subject<'_>, body: &DecisionPointSuperseded) -> Checked {
    check_requester_of_open(on, &body.by)?;
    let other = on.view.points.find(&body.superseded_by);
    let names_it = other.and_then(|other| other.terms.supersedes.as_ref());
    demand(names_it == Some(&on.point.decision_id), "a decision that takes its place", || {
        Actual::Input(body.superseded_by.clone())
    })
}

/// An answer is late when it could not count any more.
fn check_late(on: Subject<'_>, body: &LateResponseRecorded) -> Checked {
    check_speaker(on.record, &body.by)?;
    accepted(check_response_form(&body.response, body.comment.as_deref()))?;
    match on.point.is_open() {
        true => {
            let expected = "an answer that counts, while the round is open";
            Err(fault(expected, Actual::Words("a late one")))
        }
        false => Ok(()),
    }
}

/// An approval that is good for the action and keeps the policy of the log. Where nobody has set
/// one, which is so in logs that are older than policies, nothing is demanded.
fn check_consumed(on: Subject<'_>, body: &ApprovalConsumed) -> Checked {
    check_speaker(on.record, &body.by)?;
    accepted(on.point.check_consumption(&body.binding, on.record.times.latest()))?;
    let kept = on.view.check_spent(on.point);
    kept.map_err(|why| fault("an approval that keeps the policy", Actual::Loosened(why)))
}

fn check_lapsed(on: Subject<'_>, body: &ApprovalLapsed) -> Checked {
    let until = on.point.spendable_until().filter(|until| *until == body.valid_until);
    match until.and_then(|until| on.record.times.over(until)) {
        Some(ended_by) => check_clock(ended_by, body.ended_by, body.steady),
        None => Err(fault("an approval whose time is over", Actual::Time(body.valid_until))),
    }
}

/// The warning that 80 % of the time to answer are over, where it is due and nothing has ended the
/// round.
pub(crate) fn warning(view: PointsView<'_>, point: &DecisionPoint, now: Moment) -> Option<Event> {
    let times = view.times(point, now);
    let due_at = point.warning_due().filter(|due_at| times.over(*due_at).is_some())?;
    let (decision_id, steady) = (point.decision_id.clone(), times.stated_steady(due_at));
    Some(DecisionPointWarned { decision_id, due_at, steady }.into())
}

/// The one warning, when it is due and before the time ends the round.
fn check_warned(on: Subject<'_>, body: &DecisionPointWarned) -> Checked {
    let due_at = on.point.warning_due().filter(|due_at| *due_at == body.due_at);
    let is_due = due_at.is_some_and(|due_at| on.record.times.over(due_at).is_some());
    let ends = on.point.deadline().is_some_and(|end| on.record.times.over(end).is_some());
    if !is_due || ends {
        return Err(fault("one warning, when it is due", Actual::Time(body.due_at)));
    }
    demand(
        on.record.times.stated_steady(body.due_at) == body.steady,
        "the monotonic clock's reading",
        || Actual::Words("another one"),
    )
}

/// The end of what the log itself cannot vouch for any more, whatever the time is.
fn check_ended_by_system(on: Subject<'_>, can_end: bool, by: &Principal) -> Checked {
    check_speaker(on.record, by)?;
    check_proof(on.record, by)?;
    demand(can_end, "an open round, or an approval", || Actual::Words(on.point.state.name()))
}

/// An approval that is neither spent nor over, by somebody who may take it back.
fn check_revoked(on: Subject<'_>, body: &ApprovalRevoked) -> Checked {
    check_speaker(on.record, &body.by)?;
    check_proof(on.record, &body.by)?;
    match on.point.is_revocable() {
        true => accepted(on.point.check_revocation(&body.by)),
        false => {
            Err(fault("an approval that can be revoked", Actual::Words(on.point.state.name())))
        }
    }
}

fn check_released(on: Subject<'_>, body: &DependentsReleased) -> Checked {
    let is_due = on.view.is_released(on.point) && on.point.released_at.is_none();
    demand(
        is_due && body.blocks == on.point.terms.blocks && !body.blocks.is_empty(),
        "an answer that releases, once",
        || Actual::Words(on.point.state.name()),
    )
}

fn check_reported(on: Subject<'_>, body: &OutcomeReported) -> Checked {
    check_speaker(on.record, &body.by)?;
    accepted(check_claim(&body.claim))?;
    accepted(on.point.check_report(&body.by))
}

/// Checks that what is said of the proof is what was proven.
fn check_proof(record: Record<'_>, by: &Principal) -> Checked {
    match record.proof {
        Some(proof) if proof.by != by.authenticated_by => {
            Err(fault("the record's own proof", Actual::Words(by.authenticated_by.name())))
        }
        _ => Ok(()),
    }
}

/// Checks that who is named is who the record is of.
fn check_speaker(record: Record<'_>, by: &Principal) -> Checked {
    demand(by.is(record.actor), "the record's own actor", || Actual::Input(by.id.clone()))
}

fn accepted(checked: Result<(), impl Into<No>>) -> Checked {
    checked.map_err(|refusal| fault("what the rules accept", Actual::Refusal(refusal.into())))
}
