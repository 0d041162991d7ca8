//! Events of decision points. Everything that an answer rests on is asked again.
//!
//! What the rules forbid counts for nothing: an answer that is wrong in any way leaves its round as
//! it was, and nothing is released or spent by it.

use alloc::string::{String, ToString as _};

use crate::core::actor::Principal;
use crate::core::forbidden::{Judgement, Record, Rule};
use crate::core::ids::{digits, id};
use crate::decision_point::check::{check_response_form, check_terms, shown};
use crate::decision_point::event::{
    ApprovalConsumed, ApprovalLapsed, DecisionPointAborted, DecisionPointCreated,
    DecisionPointRefined, DecisionPointResolved, DecisionPointSuperseded, DefaultTaken,
    DependentsReleased, GuidanceGiven, LateResponseRecorded, RoundOpened, VoteCast,
};
use crate::decision_point::state::DecisionPoint;
use crate::decision_point::types::Response;
use crate::world::World;
use crate::world::event::Event;
use crate::world::refusal::Refusal;

/// What the rules expect and what they found.
type Fault = (&'static str, String);

type Checked = Result<(), Fault>;

/// Every event of this system.
pub(crate) fn applied(
    world: &mut World,
    record: Record<'_>,
    event: &Event,
    judgement: &mut Judgement<'_>,
) {
    match event {
        Event::DecisionPointCreated(body) => {
            let point = created(world, record, body);
            if let Ok(point) = &point {
                let proof = record.proof;
                world.hot.gates.point_began(point, body.separation, proof);
            }
            begin(world, Rule::DecisionPointTerms, point, judgement);
        }
        Event::RoundOpened(body) => {
            let point = opened(world, record, body);
            if point.is_ok() {
                world.hot.gates.round_began(&body.prior_id, &body.decision_id);
            }
            begin(world, Rule::DecisionPointRound, point, judgement);
        }
        other => change(world, record, other, judgement),
    }
}

fn begin(
    world: &mut World,
    rule: Rule,
    point: Result<DecisionPoint, Fault>,
    judgement: &mut Judgement<'_>,
) {
    match point {
        Ok(point) => world.hot.decision_points.begin(point),
        Err((expected, found)) => judgement.forbid(rule, expected, found),
    }
}

fn created(
    world: &World,
    record: Record<'_>,
    body: &DecisionPointCreated,
) -> Result<DecisionPoint, Fault> {
    check_new(world, &body.decision_id)?;
    check_speaker(record, &body.by)?;
    accepted(check_terms(&body.terms, &body.by.id, record.at))?;
    let correlation = String::from(record.correlation);
    Ok(DecisionPoint::created(body, correlation, record.at, record.sequence))
}

fn opened(world: &World, record: Record<'_>, body: &RoundOpened) -> Result<DecisionPoint, Fault> {
    check_new(world, &body.decision_id)?;
    let prior = world.hot.decision_points.find(&body.prior_id);
    let prior = prior.filter(|prior| prior.next_id.as_ref() == Some(&body.decision_id));
    let Some(prior) = prior else {
        return Err(("the round that guidance led to", shown(&body.prior_id)));
    };
    if body.iteration != prior.iteration.saturating_add(1) {
        return Err(("the next round", body.iteration.to_string()));
    }
    if body.expires_at != prior.next_round_expires_at(record.at) {
        let found = body.expires_at.map_or_else(|| "none".to_string(), |end| end.to_string());
        return Err(("the end of the time by the terms", found));
    }
    Ok(prior.next_round(body, record.at, record.sequence))
}

fn check_new(world: &World, decision_id: &str) -> Checked {
    let is_well_formed = crate::core::ids::is_strong_entropy(&digits(decision_id))
        && id("DP-", &digits(decision_id)) == decision_id;
    if !is_well_formed {
        return Err(("an id of DP- and 32 digits", shown(decision_id)));
    }
    match world.hot.decision_points.find(decision_id) {
        Some(_) => Err(("an id that is new", decision_id.to_string())),
        None => Ok(()),
    }
}

/// Every other event is about a round that is remembered.
fn change(world: &mut World, record: Record<'_>, event: &Event, judgement: &mut Judgement<'_>) {
    let decision_id = event.decision_point().unwrap_or_default();
    let Some(point) = world.hot.decision_points.find(decision_id) else {
        let found = shown(decision_id);
        return judgement.forbid(rule_of(event), "a decision point that is remembered", found);
    };
    if let Err((expected, found)) = check(world, point, record, event) {
        return judgement.forbid(rule_of(event), expected, found);
    }
    let older = world.hot.decision_points.change(decision_id, |point| {
        apply(point, record, event);
        point.version = record.sequence;
    });
    if !world.hot.decision_points.is_live(decision_id) {
        world.hot.keys.close(decision_id);
    }
    older.iter().for_each(|(_, point)| world.hot.gates.point_forgotten(&point.decision_id));
    world.keep_settled_points(older);
}

/// The rule that an event can break.
const fn rule_of(event: &Event) -> Rule {
    match event {
        Event::DecisionPointRefined(_) | Event::GuidanceGiven(_) | Event::RoundOpened(_) => {
            Rule::DecisionPointRound
        }
        Event::DefaultTaken(_) | Event::DecisionPointAborted(_) | Event::ApprovalLapsed(_) => {
            Rule::DecisionPointExpiry
        }
        Event::ApprovalConsumed(_) | Event::DependentsReleased(_) => Rule::DecisionPointApproval,
        _ => Rule::DecisionPointAnswer,
    }
}

fn check(world: &World, point: &DecisionPoint, record: Record<'_>, event: &Event) -> Checked {
    match event {
        Event::DecisionPointRefined(body) => check_refined(point, record, body),
        Event::GuidanceGiven(body) => check_guidance(world, point, record, body),
        Event::VoteCast(body) => check_vote(world, point, record, body),
        Event::DecisionPointResolved(body) => check_resolved(world, point, record, body),
        Event::DefaultTaken(body) => check_default(point, record, body),
        Event::DecisionPointAborted(body) => check_aborted(point, record, body),
        Event::DecisionPointCancelled(body) => check_requester_of_open(point, record, &body.by),
        Event::DecisionPointSuperseded(body) => check_superseded(world, point, record, body),
        Event::DecisionPointReminded(body) => check_open(point, record, &body.by),
        Event::DecisionPointEscalated(body) => check_open(point, record, &body.by),
        Event::LateResponseRecorded(body) => check_late(point, record, body),
        Event::ApprovalConsumed(body) => check_consumed(world, point, record, body),
        Event::ApprovalLapsed(body) => check_lapsed(point, record, body),
        Event::DependentsReleased(body) => check_released(world, point, body),
        _ => Ok(()),
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
        Event::ApprovalLapsed(body) => point.lapsed_at = Some(body.valid_until),
        Event::DependentsReleased(_) => point.released_at = Some(at),
        _ => {}
    }
}

fn check_refined(
    point: &DecisionPoint,
    record: Record<'_>,
    body: &DecisionPointRefined,
) -> Checked {
    check_speaker(record, &body.by)?;
    accepted(point.check_refinement(&body.by, &body.proposal, record.at))
}

/// A round that ended for one that cannot begin would leave nothing to answer.
fn check_guidance(
    world: &World,
    point: &DecisionPoint,
    record: Record<'_>,
    body: &GuidanceGiven,
) -> Checked {
    check_new(world, &body.next_id)?;
    let response = Response::Guidance(body.guidance.clone());
    check_response(world, point, record, &body.by, &response, body.comment.as_deref())
}

fn check_vote(
    world: &World,
    point: &DecisionPoint,
    record: Record<'_>,
    body: &VoteCast,
) -> Checked {
    if point.terms.policy.is_none() || matches!(body.response, Response::Guidance(_)) {
        return Err(("votes where a policy asks for them", "a vote".to_string()));
    }
    check_response(world, point, record, &body.by, &body.response, body.comment.as_deref())
}

/// Without a policy the answer itself ends the round; with one, the vote that was cast before.
fn check_resolved(
    world: &World,
    point: &DecisionPoint,
    record: Record<'_>,
    body: &DecisionPointResolved,
) -> Checked {
    if matches!(body.response, Response::Guidance(_)) {
        return Err(("another round", "guidance as an answer".to_string()));
    }
    if point.terms.policy.is_none() {
        let comment = body.comment.as_deref();
        return check_response(world, point, record, &body.by, &body.response, comment);
    }
    check_speaker(record, &body.by)?;
    refused(point.check_open(record.at))?;
    let voted = point.votes.iter().any(|vote| vote.is_by(&body.by, &body.response));
    match voted && point.ends_round(&body.response) {
        true => Ok(()),
        false => Err(("a quorum, or a vote that rejects", point.votes.len().to_string())),
    }
}

fn check_response(
    world: &World,
    point: &DecisionPoint,
    record: Record<'_>,
    by: &Principal,
    response: &Response,
    comment: Option<&str>,
) -> Checked {
    check_speaker(record, by)?;
    accepted(world.check_respondent(point, (by.kind, &by.id), record.proof))?;
    check_proof(record, by)?;
    refused(point.check_response(by, response, record.at))?;
    accepted(check_response_form(response, comment))
}

fn check_default(point: &DecisionPoint, record: Record<'_>, body: &DefaultTaken) -> Checked {
    check_time_over(point, record, body.expires_at)?;
    match point.default_at_deadline() == Some(&body.option_id) {
        true => Ok(()),
        false => Err(("a default that the creator asked for", shown(&body.option_id))),
    }
}

fn check_aborted(
    point: &DecisionPoint,
    record: Record<'_>,
    body: &DecisionPointAborted,
) -> Checked {
    check_time_over(point, record, body.expires_at)?;
    match point.default_at_deadline() {
        None => Ok(()),
        Some(default) => Err(("the default that the creator asked for", default.to_string())),
    }
}

fn check_time_over(
    point: &DecisionPoint,
    record: Record<'_>,
    stated: crate::core::time::Timestamp,
) -> Checked {
    match point.deadline() {
        Some(end) if end == stated && end <= record.at => Ok(()),
        Some(end) => Err(("the deadline, when it has passed", end.to_string())),
        None => Err(("an open round with a deadline", point.state.to_string())),
    }
}

fn check_open(point: &DecisionPoint, record: Record<'_>, by: &Principal) -> Checked {
    check_speaker(record, by)?;
    refused(point.check_open(record.at))
}

fn check_requester_of_open(point: &DecisionPoint, record: Record<'_>, by: &Principal) -> Checked {
    check_open(point, record, by)?;
    refused(point.check_requester(by))
}

fn check_superseded(
    world: &World,
    point: &DecisionPoint,
    record: Record<'_>,
    body: &DecisionPointSuperseded,
) -> Checked {
    check_requester_of_open(point, record, &body.by)?;
    let other = world.hot.decision_points.find(&body.superseded_by);
    let names_it = other.and_then(|other| other.terms.supersedes.as_ref());
    match names_it == Some(&point.decision_id) {
        true => Ok(()),
        false => Err(("a decision that takes its place", shown(&body.superseded_by))),
    }
}

/// An answer is late when it could not count any more.
fn check_late(point: &DecisionPoint, record: Record<'_>, body: &LateResponseRecorded) -> Checked {
    check_speaker(record, &body.by)?;
    accepted(check_response_form(&body.response, body.comment.as_deref()))?;
    match point.is_open() {
        true => Err(("an answer that counts, while the round is open", "a late one".to_string())),
        false => Ok(()),
    }
}

/// An approval that is good for the action and keeps the policy of the log. Where nobody has set
/// one, which is so in logs that are older than policies, nothing is demanded.
fn check_consumed(
    world: &World,
    point: &DecisionPoint,
    record: Record<'_>,
    body: &ApprovalConsumed,
) -> Checked {
    check_speaker(record, &body.by)?;
    refused(point.check_consumption(&body.binding, record.at))?;
    let terms = world.person_for_point(&point.decision_id);
    let separation = terms.is_some_and(|terms| terms.separation);
    let kept = point.check_spent(&world.policy(), separation);
    kept.map_err(|loosened| ("an approval that keeps the policy", loosened.to_string()))
}

fn check_lapsed(point: &DecisionPoint, record: Record<'_>, body: &ApprovalLapsed) -> Checked {
    match point.spendable_until() {
        Some(until) if until == body.valid_until && until <= record.at => Ok(()),
        _ => Err(("an approval whose time is over", body.valid_until.to_string())),
    }
}

fn check_released(world: &World, point: &DecisionPoint, body: &DependentsReleased) -> Checked {
    let is_due = world.is_released(point) && point.released_at.is_none();
    match is_due && body.blocks == point.terms.blocks && !body.blocks.is_empty() {
        true => Ok(()),
        false => Err(("an answer that releases, once", point.state.to_string())),
    }
}

/// What is said of the proof is what was proven.
fn check_proof(record: Record<'_>, by: &Principal) -> Checked {
    match record.proof {
        Some(proof) if proof.by != by.authenticated_by => {
            Err(("the record's own proof", by.authenticated_by.to_string()))
        }
        _ => Ok(()),
    }
}

/// Who is named is who the record is of.
fn check_speaker(record: Record<'_>, by: &Principal) -> Checked {
    match by.is(record.actor) {
        true => Ok(()),
        false => Err(("the record's own actor", shown(&by.id))),
    }
}

fn accepted(checked: Result<(), Refusal>) -> Checked {
    checked.map_err(|refusal| ("what the rules accept", refusal.to_string()))
}

fn refused(checked: Result<(), crate::decision_point::refusal::DecisionPointRefusal>) -> Checked {
    checked.map_err(|refusal| ("what the rules accept", refusal.to_string()))
}
