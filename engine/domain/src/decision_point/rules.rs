//! Decision points: what follows from asking, answering, and time.

use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;

use crate::core::actor::Principal;
use crate::core::limits::MAX_LIST_ITEMS;
use crate::core::payload::{List, Text};
use crate::core::text::{check_identifier, shown};
use crate::core::time::Timestamp;
use crate::decision_point::check::{
    check_binding, check_length, check_plain_name, check_response_form, check_terms,
};
use crate::decision_point::command::DecisionPointCommand as Command;
use crate::decision_point::command::{
    CancelDecisionPoint, ConsumeApproval, CreateDecisionPoint, EscalateDecisionPoint,
    RefineDecisionPoint, RemindDecisionPoint, RespondToDecisionPoint, decision_id,
};
use crate::decision_point::event::DecisionPointEvent as Event;
use crate::decision_point::event::{
    ApprovalConsumed, ApprovalLapsed, DecisionPointAborted, DecisionPointCancelled,
    DecisionPointCreated, DecisionPointEscalated, DecisionPointRefined, DecisionPointReminded,
    DecisionPointResolved, DecisionPointSuperseded, DefaultTaken, DependentsReleased,
    GuidanceGiven, LateResponseRecorded, RoundOpened, VoteCast,
};
use crate::decision_point::refusal::DecisionPointRefusal as No;
use crate::decision_point::state::DecisionPoint;
use crate::decision_point::types::{
    ActionBinding, ApprovalPolicy, DEFAULT_MAX_ITERATIONS, DEFAULT_VALID_FOR_MS, DecisionOption,
    DecisionPointState, MAX_OPTIONS, MAX_REASON_BYTES, OnTimeout, OptionList, Proposal, Response,
    Terms, Urgency,
};
use crate::log::policy::{GatePolicy, Loosened, RELAX_TOOL, RUN_TOOL};
use crate::world::World;
use crate::world::refusal::Refusal;

/// Every command on a decision point.
pub(crate) fn on_decision_point(
    world: &World,
    command: &Command,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    match command {
        Command::CreateDecisionPoint(c) => create(world, c, at),
        Command::RespondToDecisionPoint(c) => respond(world, c, at),
        Command::RefineDecisionPoint(c) => refine(find(world, &c.decision_id)?, c, at),
        Command::CancelDecisionPoint(c) => cancel(find(world, &c.decision_id)?, c, at),
        Command::EscalateDecisionPoint(c) => escalate(find(world, &c.decision_id)?, c, at),
        Command::RemindDecisionPoint(c) => remind(find(world, &c.decision_id)?, c, at),
        Command::ConsumeApproval(c) => consume(world, c, at),
        Command::ExpireDecisionPoint(c) => {
            let point = find(world, &c.decision_id)?;
            match due_events(world, point, at) {
                events if events.is_empty() => {
                    Err(No::NothingDue { decision_id: c.decision_id.clone() }.into())
                }
                events => Ok(events),
            }
        }
    }
}

fn find<'w>(world: &'w World, decision_id: &str) -> Result<&'w DecisionPoint, Refusal> {
    let found = world.known_point(decision_id);
    found.ok_or_else(|| No::UnknownDecision { decision_id: shown(decision_id) }.into())
}

/// An id names one decision for ever: also one that ended long ago.
fn check_new(world: &World, decision_id: &Text) -> Result<(), Refusal> {
    if world.known_point(decision_id).is_none() && !world.was_used(decision_id) {
        return Ok(());
    }
    Err(No::DecisionExists { decision_id: decision_id.to_string() }.into())
}

fn create(
    world: &World,
    command: &CreateDecisionPoint,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    check_principal(&command.by)?;
    let decision_id = Text::from(command.decision_id());
    check_new(world, &decision_id)?;
    let terms = terms(command, at)?;
    check_terms(&terms, &command.by.id, at)?;
    check_new_terms(world, command, &terms, at)?;
    let mut events = Vec::new();
    if let Some(other) = &terms.supersedes {
        let point = find(world, other)?;
        point.check_open(at)?;
        point.check_requester(&command.by)?;
        let (superseded_by, by) = (decision_id.clone(), command.by.clone());
        let decision_id = point.decision_id.clone();
        events.push(DecisionPointSuperseded { decision_id, by, superseded_by }.into());
    }
    let (by, terms) = (command.by.clone(), terms.into());
    let separation = command.separation;
    events.insert(0, DecisionPointCreated { decision_id, by, terms, separation }.into());
    Ok(events)
}

/// Whether what is asked keeps a policy.
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

/// What nobody may agree on any more, and what the policy of the log demands.
fn check_new_terms(
    world: &World,
    command: &CreateDecisionPoint,
    terms: &Terms,
    at: Timestamp,
) -> Result<(), Refusal> {
    if terms.policy.as_ref().is_some_and(|policy| policy.default_approves) {
        let reason = "silence approves nothing; leave the approval by default away";
        return Err(No::BadPolicy { reason }.into());
    }
    if terms.on_timeout == OnTimeout::Default && terms.expires_at.is_none() {
        let found = "no end, at which the default could be taken".into();
        return Err(No::BadTimeout { field: "the time to answer", found }.into());
    }
    if !terms.needs_person() {
        return Ok(());
    }
    if world.is_policy_lost() {
        return Err(Refusal::PolicyLost);
    }
    check_question(&world.policy(), command, at).map_err(Refusal::loosened)
}

/// The terms that a command states, with what it leaves away filled in.
fn terms(command: &CreateDecisionPoint, at: Timestamp) -> Result<Terms, Refusal> {
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
        on_timeout: command.on_timeout.unwrap_or(OnTimeout::Abort),
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

fn expires_at(command: &CreateDecisionPoint, at: Timestamp) -> Result<Option<Timestamp>, Refusal> {
    let bad = |found: &str| No::BadTimeout { field: "the time to answer", found: found.into() };
    match (command.timeout_ms, command.expires_at) {
        (Some(_), Some(_)) => Err(bad("both a length and an end are given").into()),
        (None, _) if command.timeout_per_round => {
            Err(bad("each round is to have a time of its own, and no length is given").into())
        }
        (Some(0), None) => Err(bad("0 ms").into()),
        (Some(ms), None) => Ok(Some(at.plus_ms(ms))),
        (None, end) => Ok(end),
    }
}

/// The options, each with a short form.
fn options(offered: &[DecisionOption]) -> Result<OptionList, Refusal> {
    if offered.len() > MAX_OPTIONS {
        return Err(No::OptionCount { found: offered.len() }.into());
    }
    let with_short = |option: &DecisionOption| {
        let short = if option.short.is_empty() { &option.id } else { &option.short };
        DecisionOption { short: short.clone(), ..option.clone() }
    };
    Ok(offered.iter().map(with_short).collect())
}

fn list<T, U>(
    field: &'static str,
    items: &[T],
    make: impl Fn(&T) -> U,
) -> Result<List<U>, Refusal> {
    let (expected, found) = (MAX_LIST_ITEMS, items.len());
    match found > expected {
        true => Err(No::TooMany { field, expected, found }.into()),
        false => Ok(items.iter().map(make).collect()),
    }
}

/// An answer: it counts, was given before, comes too late, or is refused.
fn respond(
    world: &World,
    command: &RespondToDecisionPoint,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    check_principal(&command.by)?;
    let point = find(world, &command.decision_id)?;
    let comment = command.comment.as_deref();
    if let Some(sequence) = point.given_before(&command.by, &command.response, comment) {
        return Err(Refusal::AlreadyDone { sequence });
    }
    if !world.remembers(point) {
        // A late answer is kept where what it came too late for is.
        return Err(point.ended().into());
    }
    let over = due_events(world, point, at);
    if !point.is_open() || !over.is_empty() {
        check_form_of(command)?;
        return late(point, command, over);
    }
    point.check_response(&command.by, &command.response, at)?;
    check_form_of(command)?;
    match &command.response {
        Response::Guidance(words) => guidance(world, point, command, words, at),
        response => Ok(answer(world, point, command, response, at)),
    }
}

fn check_form_of(command: &RespondToDecisionPoint) -> Result<(), Refusal> {
    check_response_form(&command.response, command.comment.as_deref())
}

/// The answer is kept, once, and does not count.
fn late(
    point: &DecisionPoint,
    command: &RespondToDecisionPoint,
    mut events: Vec<Event>,
) -> Result<Vec<Event>, Refusal> {
    let (by, response) = (&command.by, &command.response);
    if point.late_responses.iter().any(|late| late.is_by(by, response)) {
        return Err(point.ended().into());
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
    world: &World,
    point: &DecisionPoint,
    command: &RespondToDecisionPoint,
    words: &Text,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let next_id = Text::from(decision_id(command.entropy));
    check_new(world, &next_id)?;
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
    world: &World,
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
        events.extend(release(world, &after));
    }
    events
}

/// What waited for the answer may go on, where the answer lets it.
fn release(world: &World, point: &DecisionPoint) -> Option<Event> {
    let blocks = &point.terms.blocks;
    let (decision_id, is_released) = (point.decision_id.clone(), world.is_released(point));
    let released = DependentsReleased { decision_id, blocks: blocks.clone() };
    (is_released && !blocks.is_empty()).then(|| released.into())
}

/// What happens by itself at a time: the default, the abort, the end of an approval.
fn due_events(world: &World, point: &DecisionPoint, at: Timestamp) -> Vec<Event> {
    let decision_id = point.decision_id.clone();
    if let Some(expires_at) = point.deadline().filter(|end| *end <= at) {
        return match point.default_at_deadline() {
            Some(option_id) => {
                let taken = DefaultTaken { decision_id, option_id: option_id.clone(), expires_at };
                let mut after = point.clone();
                after.take_default(&taken, at, 0);
                let mut events = vec![taken.into()];
                events.extend(release(world, &after));
                events
            }
            None => vec![DecisionPointAborted { decision_id, expires_at }.into()],
        };
    }
    match point.spendable_until() {
        Some(valid_until) if valid_until <= at => {
            vec![ApprovalLapsed { decision_id, valid_until }.into()]
        }
        _ => Vec::new(),
    }
}

fn refine(
    point: &DecisionPoint,
    command: &RefineDecisionPoint,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    check_principal(&command.by)?;
    let before = &point.terms.proposal;
    let text = |new: &Option<alloc::string::String>| new.as_ref().map(Text::from);
    let (prompt, context) = (text(&command.prompt), text(&command.context));
    let (default, offered) = (text(&command.default_option), &command.options);
    let is_nothing = prompt.is_none() && context.is_none() && default.is_none();
    if is_nothing && offered.is_none() {
        return Err(No::NothingRefined.into());
    }
    let proposal = Proposal {
        prompt: prompt.unwrap_or_else(|| before.prompt.clone()),
        context: context.or_else(|| before.context.clone()),
        options: match offered {
            Some(offered) => options(&still_rejecting(before, offered))?,
            None => before.options.clone(),
        },
        default_option: default.or_else(|| before.default_option.clone()),
    };
    point.check_refinement(&command.by, &proposal, at)?;
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

fn cancel(
    point: &DecisionPoint,
    command: &CancelDecisionPoint,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    check_principal(&command.by)?;
    check_reason(command.reason.as_deref())?;
    if let (DecisionPointState::Cancelled, Some(ending)) = (point.state, &point.ending) {
        return Err(Refusal::AlreadyDone { sequence: ending.sequence });
    }
    point.check_open(at)?;
    point.check_requester(&command.by)?;
    let (decision_id, by) = (point.decision_id.clone(), command.by.clone());
    let reason = command.reason.as_ref().map(Text::from);
    Ok(vec![DecisionPointCancelled { decision_id, by, reason }.into()])
}

fn escalate(
    point: &DecisionPoint,
    command: &EscalateDecisionPoint,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    check_principal(&command.by)?;
    check_identifier("target of the escalation", &command.to)?;
    check_reason(command.reason.as_deref())?;
    point.check_open(at)?;
    let (decision_id, by) = (point.decision_id.clone(), command.by.clone());
    let (to, reason) = (Text::from(&command.to), command.reason.as_ref().map(Text::from));
    Ok(vec![DecisionPointEscalated { decision_id, by, to, reason }.into()])
}

fn remind(
    point: &DecisionPoint,
    command: &RemindDecisionPoint,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    check_principal(&command.by)?;
    point.check_open(at)?;
    let (decision_id, by) = (point.decision_id.clone(), command.by.clone());
    Ok(vec![DecisionPointReminded { decision_id, by }.into()])
}

fn consume(world: &World, command: &ConsumeApproval, at: Timestamp) -> Result<Vec<Event>, Refusal> {
    let point = find(world, &command.decision_id)?;
    check_principal(&command.by)?;
    check_binding(&command.binding)?;
    let bound = point.binding().map_or("", |binding| &*binding.tool);
    if [RUN_TOOL, RELAX_TOOL].contains(&bound) {
        let (decision_id, tool) = (point.decision_id.to_string(), bound.into());
        return Err(No::SpentElsewhere { decision_id, tool }.into());
    }
    check_consumption(world, point, &command.binding, at)?;
    if world.is_policy_lost() {
        return Err(Refusal::PolicyLost);
    }
    // It may have become stricter since the question was asked.
    let terms = world.person_for_point(&point.decision_id);
    let separation = terms.is_some_and(|terms| terms.separation);
    point.check_spent(&world.policy(), separation).map_err(Refusal::loosened)?;
    Ok(vec![consumed(point, &command.by, &command.binding)])
}

/// Spends an approval for an action, together with what it approves.
pub(crate) fn spend<'w>(
    world: &'w World,
    decision_id: &str,
    by: &Principal,
    binding: &ActionBinding,
    at: Timestamp,
) -> Result<(&'w DecisionPoint, Event), Refusal> {
    check_principal(by)?;
    let point = find(world, decision_id)?;
    check_consumption(world, point, binding, at)?;
    Ok((point, consumed(point, by, binding)))
}

/// Whether an approval can be spent for an action now. One that nothing proves permits nothing.
fn check_consumption(
    world: &World,
    point: &DecisionPoint,
    binding: &ActionBinding,
    at: Timestamp,
) -> Result<(), Refusal> {
    point.check_consumption(binding, at)?;
    match world.unproven_part(point) {
        None => Ok(()),
        Some((first, last)) => {
            let decision_id = point.decision_id.to_string();
            Err(No::ApprovalUnproven { decision_id, first, last }.into())
        }
    }
}

fn consumed(point: &DecisionPoint, by: &Principal, binding: &ActionBinding) -> Event {
    let (decision_id, by) = (point.decision_id.clone(), by.clone());
    ApprovalConsumed { decision_id, by, binding: binding.clone() }.into()
}

pub(crate) fn check_principal(by: &Principal) -> Result<(), Refusal> {
    check_identifier("name of who does it", &by.id)?;
    check_plain_name("name of who does it", &by.id)?;
    check_length("means of authentication", &by.means, crate::core::limits::MAX_ID_BYTES)
}

fn check_reason(reason: Option<&str>) -> Result<(), Refusal> {
    check_length("reason", reason.unwrap_or_default(), MAX_REASON_BYTES)
}
