//! A session at exactly the times that its vector states, which are free: they may go back, and an
//! answer may come before its question or past its deadline. The first of these ends the run.

use std::ops::ControlFlow;

use holdpoint_domain::Event;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::evidence_capture::StopCondition;
use holdpoint_domain::execution_loop::{ExecutionLoopState, HaltReason};
use holdpoint_domain::human_decision::{HumanDecision, HumanDecisionEvent};
use holdpoint_testing::story::{halt, halt_reason};
use serde_json::Value;

use crate::decode::Decoded;
use crate::session_categories::{BACKWARDS, Departure, TOO_EARLY, TOO_LATE};
use crate::session_world::{Came, Cycle, Human, Input, Told};
use crate::sessions::{done, refused, same};

/// Whether the run goes on, or what ended it, if any of the three did.
type Step = Decoded<ControlFlow<Option<&'static Departure>>>;

/// What a time out of place ends the run with.
const fn ended(by: &'static Departure) -> Step {
    Ok(ControlFlow::Break(Some(by)))
}

/// Runs a session up to the first time that is out of place, as far as times that are none, other
/// loops and what nobody decides do not end it before.
pub(crate) fn as_stated(input: &Input, entropy: &Value) -> Decoded<Option<&'static Departure>> {
    let Ok(begin) = input.t0.parse() else { return Ok(None) };
    let mut told = Told::new(input, entropy, begin);
    done(told.begin(3))?;
    let mut newest = begin;
    for cycle in &input.cycles {
        let times: Result<Vec<Timestamp>, _> = cycle.times.iter().map(|at| at.parse()).collect();
        let Ok(times) = times else { return Ok(None) };
        if let ControlFlow::Break(ended) = attempt(&mut told, cycle, &times, &mut newest)? {
            return Ok(ended);
        }
        let Some(human) = &cycle.human else { return Ok(None) };
        let asked_and_answered = [times[4], times[5]];
        if let ControlFlow::Break(ended) = answered(&mut told, human, asked_and_answered, newest)? {
            return Ok(ended);
        }
        let goes_on = human.decision == HumanDecision::Retry
            && told.entity().state() == ExecutionLoopState::Evaluated
            && told.entity().open_request().is_none();
        if !goes_on {
            return Ok(None);
        }
    }
    Ok(None)
}

/// The five commands up to the question; `newest` is the time of the newest evidence.
fn attempt(
    told: &mut Told<'_>,
    cycle: &Cycle,
    times: &[Timestamp],
    newest: &mut Timestamp,
) -> Step {
    type Give = fn(&mut Told<'_>, &Cycle) -> Came;
    let steps: [(Give, bool); 5] = [
        (|told, _| told.dispatch(), true),
        (|told, _| told.await_response(), false),
        (|told, cycle| told.capture(cycle), true),
        (|told, cycle| told.report(cycle), true),
        (|told, _| told.ask(), false),
    ];
    for ((step, captures), at) in steps.into_iter().zip(times) {
        if *at < told.now() {
            let came = told.would(*at, |told| step(told, cycle));
            if *at >= *newest {
                // No evidence lies behind it: only the order of records does not let it be.
                return done(came).map(|_| ControlFlow::Break(None));
            }
            stops(came)?;
            return set_back(told, *at);
        }
        told.set_time(*at);
        done(step(told, cycle))?;
        *newest = if captures { *at } else { *newest };
    }
    Ok(ControlFlow::Continue(()))
}

fn answered(
    told: &mut Told<'_>,
    human: &Human,
    [asked, at]: [Timestamp; 2],
    newest: Timestamp,
) -> Step {
    let open = told.entity().open_request().ok_or("nothing is asked")?;
    let deadline = open.request.timeout_at;
    let came = told.would(at, |told| told.answer(human));
    if matches!(&came, Err(refusal) if refusal.code() != "ANSWER_TOO_EARLY") {
        return Ok(ControlFlow::Break(None));
    }
    if at < newest {
        stops(came)?;
        return ended(&BACKWARDS);
    }
    if at < asked {
        refused(came, Some("ANSWER_TOO_EARLY"))?;
        return ended(&TOO_EARLY);
    }
    told.set_time(at);
    let events = done(told.answer(human))?;
    if at < deadline {
        return Ok(ControlFlow::Continue(()));
    }
    same("halt", halt_reason(&events), Some(HaltReason::HumanDecisionTimedOut))?;
    let late = events.iter().find_map(|event| match event {
        Event::HumanDecision(HumanDecisionEvent::LateAnswerRecorded(body)) => Some(body),
        _ => None,
    });
    let late = late.map(|late| (late.human_id.as_str(), late.decision, late.timeout_at));
    same("late answer", late, Some((human.human_id.as_str(), human.decision, deadline)))?;
    ended(&TOO_LATE)
}

/// Evidence that is dated before the newest stops the loop.
fn stops(came: Came) -> Decoded<()> {
    let events = done(came)?;
    let stop = halt(&events).and_then(|halt| halt.stop_condition);
    same("stop condition", stop, Some(StopCondition::TimestampInvalid))
}

/// No record is older than the newest: where the clock was set back, that is on record, and the
/// next attempt stops the loop, in the events and in the state.
fn set_back(told: &mut Told<'_>, to: Timestamp) -> Step {
    let step = i64::try_from(told.now().nanoseconds_since(to)).map_err(|e| e.to_string())?;
    if step < 1_000_000_000 || told.entity().state() == ExecutionLoopState::Evaluated {
        return ended(&BACKWARDS);
    }
    told.set_back(-step);
    stops(told.dispatch())?;
    let entity = told.entity();
    let stop = entity.stop.as_ref().map(|stop| stop.condition);
    same("stop condition", stop, Some(StopCondition::TimestampInvalid))?;
    same("state", entity.state(), ExecutionLoopState::Halted)?;
    let seal = entity.chain.as_ref().map(|chain| chain.head.is_sealed);
    same("sealed", seal, Some(true))?;
    ended(&BACKWARDS)
}
