//! Decision points: what follows from asking, answering, and time.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use crate::core::actor::{Actor, Gate, PersonTerms, Principal, Proof};
use crate::core::clocks::{Clocks, Moment};
use crate::core::doubt::Doubt;
use crate::core::limits::MAX_LIST_ITEMS;
use crate::core::payload::{List, Text};
use crate::core::people::People;
use crate::core::refusal::{CommonRefusal, person_needed};
use crate::core::text::{check_identifier, is_reserved_name, readable, shown, visible};
use crate::core::time::Timestamp;
use crate::decision_point::apply::warning;
use crate::decision_point::check::{
    check_asks, check_binding, check_chosen_names, check_chosen_person, check_chosen_words,
    check_claim, check_length, check_new_response, check_number, check_plain_name, check_terms,
    options, refined_default,
};
use crate::decision_point::command::DecisionPointCommand as Command;
use crate::decision_point::command::{
    CancelDecisionPoint, ConsumeApproval, CreateDecisionPoint, EscalateDecisionPoint,
    RefineDecisionPoint, RemindDecisionPoint, ReportOutcome, RespondToDecisionPoint, decision_id,
};
use crate::decision_point::event::DecisionPointEvent as Event;
use crate::decision_point::event::{
    ApprovalConsumed, ApprovalLapsed, ApprovalRevoked, DecisionPointAborted,
    DecisionPointCancelled, DecisionPointCreated, DecisionPointEscalated, DecisionPointRefined,
    DecisionPointReminded, DecisionPointResolved, DecisionPointSuperseded, DefaultTaken,
    DependentsReleased, GuidanceGiven, LateResponseRecorded, OutcomeReported, RoundOpened,
    VoteCast,
};
use crate::decision_point::refusal::DecisionPointRefusal as No;
use crate::decision_point::state::{AtDeadline, DecisionPoint, DecisionPoints, Revocation};
use crate::decision_point::types::{
    ActionBinding, ApprovalPolicy, DEFAULT_MAX_ITERATIONS, DEFAULT_VALID_FOR_MS, DecisionOption,
    DecisionPointState, MAX_REASON_BYTES, OnTimeout, Proposal, Response, Terms, Urgency,
};
use crate::log::policy::{GatePolicy, Loosened, PolicyRefusal, RELAX_TOOL, RUN_TOOL};

/// Knowledge of the rules of decision points: their own state, and what they need of the others.
#[derive(Clone, Copy)]
pub(crate) struct PointsView<'a> {
    /// Every decision point that is remembered.
    pub(crate) points: &'a DecisionPoints,
    /// The one that the command is about, found again in the log.
    pub(crate) recalled: Option<&'a DecisionPoint>,
    /// An id that something had which is remembered no longer.
    pub(crate) used_id: Option<&'a str>,
    /// Gates that say who counts as the person who may answer, by decision point. What was asked
    /// before there were proofs has none.
    pub(crate) gates: &'a BTreeMap<String, Gate>,
    /// The numbers behind the names, and of those who voted.
    pub(crate) people: &'a People,
    /// The policy of the log; `None`: nobody has set one.
    pub(crate) policy: Option<&'a GatePolicy>,
    /// True if the records that were lost may have held it.
    pub(crate) is_policy_lost: bool,
    /// Why nothing is permitted by what was decided.
    pub(crate) doubt: Option<Doubt>,
    /// By which clocks rounds and approvals end.
    pub(crate) clocks: &'a Clocks,
}

impl<'a> PointsView<'a> {
    /// The decision point with this id: found again, which had the id first, or remembered.
    pub(crate) fn known(self, decision_id: &str) -> Option<&'a DecisionPoint> {
        self.found_again(decision_id).or_else(|| self.points.find(decision_id))
    }

    fn found_again(self, decision_id: &str) -> Option<&'a DecisionPoint> {
        self.recalled.filter(|point| *point.decision_id == *decision_id)
    }

    fn floor(self) -> GatePolicy {
        self.policy.cloned().unwrap_or_default()
    }

    fn person(self, point: &DecisionPoint) -> Option<PersonTerms> {
        self.gates.get(&*point.decision_id).map(|gate| gate.terms())
    }

    /// Does the same as [`World::is_released`](crate::World::is_released).
    pub(crate) fn is_released(self, point: &DecisionPoint) -> bool {
        let is_silence = point.ending.as_ref().is_some_and(|ending| ending.by.is_none());
        let is_gated = self.person(point).is_some();
        point.releases() && !(is_silence && is_gated && point.needs_person())
    }

    /// Checks whether an approval keeps the policy of the log, as it was asked for.
    pub(crate) fn check_spent(self, point: &DecisionPoint) -> Result<(), Loosened> {
        let separation = self.person(point).is_some_and(|terms| terms.separation);
        point.check_spent(&self.floor(), separation)
    }

    /// The same, as it is asked now.
    fn check_spending(self, point: &DecisionPoint) -> Result<(), Loosened> {
        let separation = self.person(point).is_some_and(|terms| terms.separation);
        point.check_spending(&self.floor(), separation)
    }

    /// An answer to a decision point: where approval is asked for, or something waits, it is a
    /// person's, unless its creator lets agents answer.
    pub(crate) fn check_respondent(
        self,
        point: &DecisionPoint,
        (kind, id): (Actor, &str),
        proof: Option<Proof>,
    ) -> Result<(), No> {
        let Some(terms) = self.person(point) else { return Ok(()) };
        if !point.needs_person() {
            return Ok(());
        }
        let terms = check_number(self.people, point, id, (terms, proof))?;
        let lets_agents = point.terms.policy.as_ref().is_some_and(|policy| policy.allow_agents);
        match kind {
            Actor::Human => Ok(person_needed("answering this decision", true, terms.admit(proof))?),
            Actor::Agent | Actor::Automation if lets_agents => Ok(()),
            Actor::Agent | Actor::Automation | Actor::System => Err(No::AgentExcluded {
                decision_id: point.decision_id.to_string(),
                by: visible(id).to_string(),
            }),
        }
    }
}

/// Events that a command comes to, or why it is refused.
pub(crate) type NewEvents = Result<Vec<Event>, No>;

/// Every command on a decision point.
pub(crate) fn on_decision_point(view: PointsView<'_>, command: &Command, now: Moment) -> NewEvents {
    match command {
        Command::CreateDecisionPoint(c) => create(view, c, now),
        Command::RespondToDecisionPoint(c) => respond(view, c, now),
        Command::RefineDecisionPoint(c) => refine(view, c, now),
        Command::CancelDecisionPoint(c) => cancel(view, c, now),
        Command::EscalateDecisionPoint(c) => escalate(view, c, now),
        Command::RemindDecisionPoint(c) => remind(view, c, now),
        Command::ConsumeApproval(c) => consume(view, c, now),
        Command::ReportOutcome(c) => report(view, c),
        Command::ExpireDecisionPoint(c) => {
            let point = find(view, &c.decision_id)?;
            let mut events = due_events(view, point, now);
            if events.is_empty() {
                let none = No::NothingDue { decision_id: c.decision_id.clone() };
                events.push(warning(view, point, now).ok_or(none)?);
            }
            Ok(events)
        }
    }
}

fn find<'w>(view: PointsView<'w>, decision_id: &str) -> Result<&'w DecisionPoint, No> {
    let found = view.known(decision_id);
    found.ok_or_else(|| No::UnknownDecision { decision_id: shown(decision_id) })
}

/// An id names one decision for ever: also one that ended long ago.
fn check_new(view: PointsView<'_>, decision_id: &Text) -> Result<(), No> {
    if view.known(decision_id).is_none() && view.used_id != Some(decision_id) {
        return Ok(());
    }
    Err(No::DecisionExists { decision_id: decision_id.to_string() })
}

fn create(view: PointsView<'_>, command: &CreateDecisionPoint, now: Moment) -> NewEvents {
    check_principal(&command.by)?;
    let decision_id = Text::from(command.decision_id());
    check_new(view, &decision_id)?;
    let terms = terms(command, now.at)?;
    check_terms(&terms, &command.by.id, now.at)?;
    check_chosen_words(&terms.proposal)?;
    check_chosen_names(&terms)?;
    check_new_terms(view, command, &terms, now.at)?;
    let mut events = Vec::new();
    if let Some(other) = &terms.supersedes {
        let point = find(view, other)?;
        point.check_open(view.time(point, now))?;
        point.check_requester(&command.by)?;
        let (superseded_by, by) = (decision_id.clone(), command.by.clone());
        let decision_id = point.decision_id.clone();
        events.push(DecisionPointSuperseded { decision_id, by, superseded_by }.into());
    }
    check_asks(&command.by)?;
    let (by, terms) = (command.by.clone(), terms.into());
    let (separation, people) = (command.separation, command.people.clone());
    events.insert(0, DecisionPointCreated { decision_id, by, terms, separation, people }.into());
    Ok(events)
}

/// Checks whether what is asked keeps a policy.
pub(crate) fn check_question(
    floor: &GatePolicy,
    command: &CreateDecisionPoint,
    at: Timestamp,
) -> Result<(), Loosened> {
    let people = ApprovalPolicy::people();
    let policy = command.policy.as_ref().unwrap_or(&people);
    let until = command.expires_at.map(|end| end.nanoseconds_since(at) / 1_000_000);
    let left_ms = command.timeout_ms.or(until);
    let has_end = command.on_timeout != Some(OnTimeout::Hold);
    floor.check_approval(policy, command.separation, left_ms.filter(|_| has_end))
}

/// Refuses what nobody may agree on any more, and checks what the policy of the log demands.
fn check_new_terms(
    view: PointsView<'_>,
    command: &CreateDecisionPoint,
    terms: &Terms,
    at: Timestamp,
) -> Result<(), No> {
    if terms.policy.as_ref().is_some_and(|policy| policy.default_approves) {
        let reason = "silence approves nothing; leave the approval by default away";
        return Err(No::BadPolicy { reason });
    }
    if terms.on_timeout == OnTimeout::Default && terms.expires_at.is_none() {
        let found = "no end, at which the default could be taken".into();
        return Err(No::BadTimeout { field: "the time to answer", found });
    }
    if !terms.needs_person() {
        return Ok(());
    }
    if view.is_policy_lost {
        return Err(PolicyRefusal::Lost.into());
    }
    check_question(&view.floor(), command, at).map_err(No::from)
}

/// The terms that a command states, with what it leaves away filled in.
fn terms(command: &CreateDecisionPoint, at: Timestamp) -> Result<Terms, No> {
    let is_approval = command.policy.is_some() || command.binding.is_some();
    let issue_id = command.issue_id.as_ref().map(Text::from);
    let proposal = Proposal {
        prompt: Text::from(&command.prompt),
        context: command.context.as_ref().map(Text::from),
        options: options(&command.options)?,
        default_option: command.default_option.as_ref().map(Text::from),
    };
    Ok(Terms {
        issue_id,
        proposal,
        allow_text: command.allow_text.unwrap_or(!is_approval),
        on_timeout: command.at_deadline(),
        expires_at: expires_at(command, at)?,
        round_timeout_ms: command.timeout_ms.filter(|_| command.timeout_per_round),
        max_iterations: command.max_iterations.unwrap_or(DEFAULT_MAX_ITERATIONS),
        urgency: command.urgency.unwrap_or(Urgency::Medium),
        policy: command.policy.clone(),
        blocks: list("blocks", &command.blocks, |name| Text::from(name))?,
        evidence: list("evidence attachments", &command.evidence, Clone::clone)?,
        binding: command.binding.clone(),
        valid_for_ms: command.valid_for_ms.unwrap_or(DEFAULT_VALID_FOR_MS),
        supersedes: command.supersedes.as_ref().map(Text::from),
    })
}

fn expires_at(command: &CreateDecisionPoint, at: Timestamp) -> Result<Option<Timestamp>, No> {
    let bad = |found: &str| No::BadTimeout { field: "the time to answer", found: found.into() };
    match (command.timeout_ms, command.expires_at) {
        (Some(_), Some(_)) => Err(bad("both a length and an end are given")),
        (None, _) if command.timeout_per_round => {
            Err(bad("each round is to have a time of its own, and no length is given"))
        }
        (Some(0), None) => Err(bad("0 ms")),
        (Some(ms), None) => Ok(Some(at.plus_ms(ms))),
        (None, end) => Ok(end),
    }
}

fn list<T, U>(field: &'static str, items: &[T], make: impl Fn(&T) -> U) -> Result<List<U>, No> {
    let (expected, found) = (MAX_LIST_ITEMS, items.len());
    match found > expected {
        true => Err(No::TooMany { field, expected, found }),
        false => Ok(items.iter().map(make).collect()),
    }
}

/// An answer: it counts, was given before, comes too late, or is refused.
fn respond(view: PointsView<'_>, command: &RespondToDecisionPoint, now: Moment) -> NewEvents {
    check_principal(&command.by)?;
    let point = find(view, &command.decision_id)?;
    let response = point.meant(&command.response);
    let comment = readable(command.comment.as_deref());
    let command =
        &RespondToDecisionPoint { response, comment: comment.map(Into::into), ..command.clone() };
    let check_form = || check_new_response(&command.response, comment);
    if let Some(sequence) = point.given_before(&command.by, &command.response, comment) {
        return Err(CommonRefusal::AlreadyDone { sequence }.into());
    }
    let over = due_events(view, point, now);
    if !point.is_open() || !over.is_empty() {
        point.check_option(&command.response)?;
    }
    if view.found_again(&point.decision_id).is_some() {
        // A late answer is kept where what it came too late for is.
        return Err(point.ended());
    }
    if !point.is_open() || !over.is_empty() {
        check_form()?;
        return late(point, command, over);
    }
    point.check_response(&command.by, &command.response, view.time(point, now))?;
    check_form()?;
    if let Response::Guidance(words) = &command.response {
        return guidance(view, point, command, words, now.at);
    }
    Ok(answer(view, point, command, &command.response, now.at))
}

/// The answer is kept, once, and does not count.
fn late(
    point: &DecisionPoint,
    command: &RespondToDecisionPoint,
    mut events: Vec<Event>,
) -> NewEvents {
    let (by, response) = (&command.by, &command.response);
    if point.late_responses.iter().any(|late| late.is_by(by, response)) {
        return Err(point.ended());
    }
    let late = LateResponseRecorded {
        decision_id: point.decision_id.clone(),
        by: by.clone(),
        response: response.clone(),
        comment: command.comment.as_ref().map(Text::from),
    };
    events.push(late.into());
    Ok(events)
}

/// One batch ends this round and opens the next.
fn guidance(
    view: PointsView<'_>,
    point: &DecisionPoint,
    command: &RespondToDecisionPoint,
    words: &Text,
    at: Timestamp,
) -> NewEvents {
    let next_id = Text::from(decision_id(command.entropy));
    check_new(view, &next_id)?;
    let given = GuidanceGiven {
        decision_id: point.decision_id.clone(),
        by: command.by.clone(),
        guidance: words.clone(),
        comment: command.comment.as_ref().map(Text::from),
        next_id: next_id.clone(),
    };
    let opened = RoundOpened {
        decision_id: next_id,
        prior_id: point.decision_id.clone(),
        iteration: point.iteration.saturating_add(1),
        expires_at: point.next_round_expires_at(at),
    };
    Ok(vec![given.into(), opened.into()])
}

/// A vote where a policy asks for votes; the end of the round where that suffices.
fn answer(
    view: PointsView<'_>,
    point: &DecisionPoint,
    command: &RespondToDecisionPoint,
    response: &Response,
    at: Timestamp,
) -> Vec<Event> {
    let decision_id = point.decision_id.clone();
    let (by, response) = (command.by.clone(), response.clone());
    let comment = command.comment.as_ref().map(Text::from);
    let mut after = point.clone();
    let mut events = Vec::new();
    if point.terms.policy.is_some() {
        let vote = VoteCast { decision_id, by, response, comment };
        after.count_vote(&vote, at, 0);
        events.push(Event::from(vote));
    }
    if after.ends_round(&command.response) {
        let resolved = DecisionPointResolved {
            decision_id: point.decision_id.clone(),
            by: command.by.clone(),
            response: command.response.clone(),
            comment: command.comment.as_ref().map(Text::from),
        };
        after.resolve(&resolved, at, 0);
        events.push(resolved.into());
        events.extend(release(view, &after));
    }
    events
}

/// Releases the work that waited for the answer, where the answer lets it go on.
fn release(view: PointsView<'_>, point: &DecisionPoint) -> Option<Event> {
    let blocks = &point.terms.blocks;
    let (decision_id, is_released) = (point.decision_id.clone(), view.is_released(point));
    let released = DependentsReleased { decision_id, blocks: blocks.clone() };
    (is_released && !blocks.is_empty()).then(|| released.into())
}

/// Returns what happens by itself at a time: the default, the abort, the end of an approval. A
/// default is taken only where both clocks say that the time is over.
fn due_events(view: PointsView<'_>, point: &DecisionPoint, now: Moment) -> Vec<Event> {
    let decision_id = point.decision_id.clone();
    let times = view.times(point, now);
    let over = |end: Option<Timestamp>| end.and_then(|end| Some((end, times.over(end)?)));
    if let Some((expires_at, ended_by)) = over(point.deadline()) {
        let AtDeadline::Default(option_id) = point.at_deadline(ended_by) else {
            let (steady, ended_by) = (times.stated_steady(expires_at), Some(ended_by));
            return vec![DecisionPointAborted { decision_id, expires_at, ended_by, steady }.into()];
        };
        let taken = DefaultTaken { decision_id, option_id: option_id.clone(), expires_at };
        let mut after = point.clone();
        after.take_default(&taken, now.at, 0);
        return [taken.into()].into_iter().chain(release(view, &after)).collect();
    }
    let Some((valid_until, ended_by)) = over(point.spendable_until()) else { return Vec::new() };
    let (steady, ended_by) = (times.stated_steady(valid_until), Some(ended_by));
    vec![ApprovalLapsed { decision_id, valid_until, ended_by, steady }.into()]
}

fn refine(view: PointsView<'_>, command: &RefineDecisionPoint, now: Moment) -> NewEvents {
    let point = find(view, &command.decision_id)?;
    check_principal(&command.by)?;
    let before = &point.terms.proposal;
    let text = |new: &Option<alloc::string::String>| new.as_ref().map(Text::from);
    let (prompt, context) = (text(&command.prompt), text(&command.context));
    let (default, offered) = (text(&command.default_option), &command.options);
    let is_nothing = prompt.is_none() && context.is_none() && default.is_none();
    if is_nothing && offered.is_none() && !command.drop_default {
        return Err(No::NothingRefined);
    }
    let proposal = Proposal {
        prompt: prompt.unwrap_or_else(|| before.prompt.clone()),
        context: context.or_else(|| before.context.clone()),
        options: match offered {
            Some(offered) => options(&still_rejecting(before, offered))?,
            None => before.options.clone(),
        },
        default_option: refined_default(before, default, command.drop_default)?,
    };
    check_chosen_words(&proposal)?;
    point.check_refinement(&command.by, &proposal, view.time(point, now))?;
    let (decision_id, by) = (point.decision_id.clone(), command.by.clone());
    Ok(vec![DecisionPointRefined { decision_id, by, proposal: proposal.into() }.into()])
}

/// The options, where an id that said no before says no again.
fn still_rejecting(before: &Proposal, offered: &[DecisionOption]) -> Vec<DecisionOption> {
    let rejected = |id: &str| before.option(id).is_some_and(|option| option.reject);
    let mark = |option: &DecisionOption| DecisionOption {
        reject: option.reject || rejected(&option.id),
        ..option.clone()
    };
    offered.iter().map(mark).collect()
}

/// A question is taken back while it is open, and the approval of one until it is spent.
fn cancel(view: PointsView<'_>, command: &CancelDecisionPoint, now: Moment) -> NewEvents {
    let point = find(view, &command.decision_id)?;
    check_principal(&command.by)?;
    let reason = readable(command.reason.as_deref());
    check_reason(reason)?;
    if let (DecisionPointState::Cancelled, Some(ending)) = (point.state, &point.ending) {
        return Err(CommonRefusal::AlreadyDone { sequence: ending.sequence }.into());
    }
    if let Some(Revocation { sequence, .. }) = point.revoked {
        return Err(CommonRefusal::AlreadyDone { sequence }.into());
    }
    if let Some(consumed) = &point.consumed {
        return Err(point.already_spent(consumed));
    }
    let (decision_id, by) = (point.decision_id.clone(), command.by.clone());
    let reason = reason.map(Text::from);
    // Nothing is added to what was found again in the log.
    if point.is_revocable() && view.found_again(&decision_id).is_none() {
        point.check_revocation(&command.by)?;
        return Ok(vec![ApprovalRevoked { decision_id, by, reason }.into()]);
    }
    point.check_open(view.time(point, now))?;
    point.check_requester(&command.by)?;
    Ok(vec![DecisionPointCancelled { decision_id, by, reason }.into()])
}

fn escalate(view: PointsView<'_>, command: &EscalateDecisionPoint, now: Moment) -> NewEvents {
    let point = find(view, &command.decision_id)?;
    check_principal(&command.by)?;
    check_chosen_person("target of the escalation", &command.to)?;
    let reason = readable(command.reason.as_deref());
    check_reason(reason)?;
    point.check_open(view.time(point, now))?;
    let (decision_id, by) = (point.decision_id.clone(), command.by.clone());
    let (to, reason) = (Text::from(&command.to), reason.map(Text::from));
    Ok(vec![DecisionPointEscalated { decision_id, by, to, reason }.into()])
}

fn remind(view: PointsView<'_>, command: &RemindDecisionPoint, now: Moment) -> NewEvents {
    let point = find(view, &command.decision_id)?;
    check_principal(&command.by)?;
    point.check_open(view.time(point, now))?;
    let (decision_id, by) = (point.decision_id.clone(), command.by.clone());
    Ok(vec![DecisionPointReminded { decision_id, by }.into()])
}

fn consume(view: PointsView<'_>, command: &ConsumeApproval, now: Moment) -> NewEvents {
    let point = find(view, &command.decision_id)?;
    check_principal(&command.by)?;
    check_binding(&command.binding)?;
    let bound = point.binding().map_or("", |binding| &*binding.tool);
    if [RUN_TOOL, RELAX_TOOL].contains(&bound) {
        let (decision_id, tool) = (point.decision_id.to_string(), bound.into());
        return Err(No::SpentElsewhere { decision_id, tool });
    }
    check_consumption(view, point, &command.binding, now)?;
    if view.is_policy_lost {
        return Err(PolicyRefusal::Lost.into());
    }
    // It may have become stricter since the question was asked.
    view.check_spending(point)?;
    Ok(vec![consumed(point, &command.by, &command.binding)])
}

/// Reports an outcome. Nothing is added to what was found again in the log.
fn report(view: PointsView<'_>, command: &ReportOutcome) -> NewEvents {
    let point = find(view, &command.decision_id)?;
    check_principal(&command.by)?;
    check_claim(&command.claim)?;
    if view.found_again(&command.decision_id).is_some() {
        let decision_id = command.decision_id.clone();
        return Err(No::NotSpent { decision_id, state: point.state });
    }
    point.check_report(&command.by)?;
    let (decision_id, by) = (point.decision_id.clone(), command.by.clone());
    Ok(vec![OutcomeReported { decision_id, by, claim: command.claim.clone() }.into()])
}

/// Spends an approval for an action, together with what it approves.
pub(crate) fn spend<'w>(
    view: PointsView<'w>,
    decision_id: &str,
    by: &Principal,
    binding: &ActionBinding,
    now: Moment,
) -> Result<(&'w DecisionPoint, Event), No> {
    check_principal(by)?;
    let point = find(view, decision_id)?;
    check_consumption(view, point, binding, now)?;
    Ok((point, consumed(point, by, binding)))
}

/// Checks whether an approval can be spent for an action now. One that nothing proves permits
/// nothing, and one that may be spent in a record that is lost.
fn check_consumption(
    view: PointsView<'_>,
    point: &DecisionPoint,
    binding: &ActionBinding,
    now: Moment,
) -> Result<(), No> {
    point.check_consumption(binding, view.time(point, now))?;
    let Some(doubt) = view.doubt else { return Ok(()) };
    Err(point.in_doubt(doubt))
}

fn consumed(point: &DecisionPoint, by: &Principal, binding: &ActionBinding) -> Event {
    let (decision_id, by) = (point.decision_id.clone(), by.clone());
    ApprovalConsumed { decision_id, by, binding: binding.clone() }.into()
}

pub(crate) fn check_principal(by: &Principal) -> Result<(), No> {
    check_identifier("name of who does it", &by.id)?;
    check_plain_name("name of who does it", &by.id, is_reserved_name)?;
    check_length("means of authentication", &by.means, crate::core::limits::MAX_ID_BYTES)
}

fn check_reason(reason: Option<&str>) -> Result<(), No> {
    check_length("reason", reason.unwrap_or_default(), MAX_REASON_BYTES)
}
