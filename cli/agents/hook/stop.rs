//! `holdpoint hook stop`: an agent is about to end its turn. It never waits and never asks, and
//! whatever fails, the agent may stop: a hook that traps an agent is worse than one that is absent,
//! and stopping does nothing that a person would have to approve.

use super::Terms;
use super::answer::Answer;
use super::ask::is_ours;
use super::input::{Input, read};
use crate::agents::hook::describe;
use crate::args::Global;
use crate::args::host::Event;
use crate::log::Question;
use crate::log::question_look::Look;
use crate::log::{Directory, agent_sessions, clock};
use crate::ui::Failure;
use holdpoint_domain::Time;
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_replay::Until;
use std::path::Path;

/// The agent may stop; why nothing better can be said.
pub(super) fn failed(reason: &str) -> Answer {
    Answer::harmless_failure(&format!("the agent may stop; its decisions are unknown: {reason}"))
}

/// The answer; where `require_answer`, the agent goes on, once, while a decision of its waits.
pub(super) fn decide(log: &Path, terms: &Terms, require_answer: bool) -> Result<Answer, String> {
    let text = read()?;
    let input = Input::parse_any(&text, Event::Stop, terms.host)?;
    if input.stop_hook_active == Some(true) {
        return Ok(Answer::no_objection());
    }
    let names = input.session_names()?;
    let look = look(log).map_err(|failure| failure.message().to_string())?;
    let mine = of_session(&look, &names);
    let doubt_of = |point: &DecisionPoint| look.world().doubt_of_point(point);
    let (sound, doubted): (Vec<_>, Vec<_>) =
        mine.into_iter().partition(|point| doubt_of(point).is_none());
    if let Some(point) =
        sound.iter().find(|point| is_to_be_spent(point, look.time_of(Question::Decision(point))))
    {
        return Ok(Answer::go_on(&describe::approved_unspent(point)));
    }
    let is_expected = |point: &DecisionPoint| {
        is_to_be_spent(point, look.time_of(Question::Decision(point)))
            || require_answer && waits(point, look.time_of(Question::Decision(point)))
    };
    for point in doubted.into_iter().filter(|point| is_expected(point)) {
        let is_asked_anew = sound.iter().any(|other| asks_the_same(other, point));
        if let Some(doubt) = doubt_of(point).filter(|_| !is_asked_anew) {
            return Ok(Answer::go_on(&describe::to_be_asked_anew(point, doubt, look.world())));
        }
    }
    let waiting = sound.iter().find(|point| waits(point, look.time_of(Question::Decision(point))));
    Ok(match waiting {
        Some(point) if require_answer => Answer::go_on(&describe::still_waits(log, point)),
        _ => Answer::no_objection(),
    })
}

/// The log, read and not written to.
pub(super) fn look(log: &Path) -> Result<Look, Failure> {
    let global = Global { log: log.to_path_buf(), config: None, json: false, lists: false };
    let directory = Directory::open(&global)?;
    let look = Look::at(&directory, Until::End)?;
    look.expect_log(&directory)?;
    clock::tell(clock::ahead_ns(look.world().totals().last_at));
    Ok(look)
}

/// What a session asked for through its hooks under one of these names, oldest first. What somebody
/// else put on record in its name is nothing that it should act on.
pub(super) fn of_session<'a>(look: &'a Look, names: &[String]) -> Vec<&'a DecisionPoint> {
    let mut mine: Vec<_> = holdpoint_replay::question::known_decisions(look.world())
        .filter(|point| is_its(names, point))
        .collect();
    mine.sort_by_key(|point| point.created_sequence);
    mine
}

fn is_its(names: &[String], point: &DecisionPoint) -> bool {
    names.iter().any(|name| agent_sessions::asked_for(name, point)) && is_ours(point)
}

/// Tells whether a session asked later about the same call.
fn asks_the_same(later: &DecisionPoint, point: &DecisionPoint) -> bool {
    later.created_sequence > point.created_sequence
        && later.requested_by == point.requested_by
        && later.binding() == point.binding()
}

/// Tells whether an approval waits to be spent.
pub(super) fn is_to_be_spent(point: &DecisionPoint, now: Time) -> bool {
    point.spendable_until().is_some_and(|until| until > now)
}

/// Tells whether an answer would still count.
pub(super) fn waits(point: &DecisionPoint, now: Time) -> bool {
    point.is_open() && point.deadline().is_none_or(|end| end > now)
}
