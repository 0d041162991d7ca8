//! `holdpoint hook session-start`: a session starts, is resumed, or lost what was said before. It
//! is told which of its decisions wait and what was answered, so that it neither asks again nor
//! forgets.

use super::Terms;
use super::answer::Answer;
use super::input::{Input, read};
use super::stop::{look, of_session};
use crate::agents::hook::describe;
use crate::args::host::Event;
use crate::log::Question;
use holdpoint_domain::decision_point::DecisionPoint;
use std::path::Path;

/// The newest decisions that are told of.
const TOLD_MAX: usize = 20;
/// The longest text that is told, in bytes: hosts cut at 10,000 characters.
const TEXT_BYTES_MAX: usize = 8 * 1024;

/// The session starts without being told anything; why.
pub(super) fn failed(reason: &str) -> Answer {
    Answer::harmless_failure(&format!("the session's decisions are unknown: {reason}"))
}

/// The answer.
pub(super) fn decide(log: &Path, terms: &Terms) -> Result<Answer, String> {
    let text = read()?;
    let input = Input::parse_any(&text, Event::SessionStart, terms.host)?;
    let names = input.session_names()?;
    let look = look(log).map_err(|failure| failure.message().to_string())?;
    let mut mine = of_session(&look, &names);
    if mine.is_empty() {
        return Ok(Answer::no_objection());
    }
    mine.reverse();
    let line = |point: &&DecisionPoint| {
        let now = look.time_of(Question::Decision(point));
        describe::told(log, point, now, look.world())
    };
    let lines = mine.iter().take(TOLD_MAX).map(line);
    Ok(Answer::context(&cut(lines, mine.len())))
}

/// As many lines as fit, newest first, and how many there are besides.
fn cut(lines: impl Iterator<Item = String>, total: usize) -> String {
    let mut text = describe::TOLD_FIRST.to_string();
    let mut told = 0_usize;
    for line in lines {
        if text.len().saturating_add(line.len()) > TEXT_BYTES_MAX {
            break;
        }
        text.push('\n');
        text.push_str(&line);
        told = told.saturating_add(1);
    }
    match total.saturating_sub(told) {
        0 => text,
        more => {
            format!("{text}\nand {more} more: `holdpoint decision list state=all` shows them")
        }
    }
}
