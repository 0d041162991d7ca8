//! A session of an agent whose tools a hook guards, on one screen: each question about a tool in
//! order, what was answered, and what the host says became of the call.

use super::Args;
use super::by_other_verb::{CORRELATION, LineRunner, line};
use super::run::View;
use crate::args::Global;
use crate::log::Directory;
use crate::log::records::conclude;
use crate::log::run_facts::who;
use crate::log::run_records::tell_doers;
use crate::log::sessions::{self, SessionRow};
use crate::questions::decision_view::CLAIM_WAITS;
use crate::ui::program::program;
use crate::ui::screen::columns;
use crate::ui::time_format::Clock;
use crate::ui::{Exit, Failure, Output, Page, complain, counted};
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::decision_point::{ClaimedStatus, DecisionPoint};
use holdpoint_engine::executor::command_line;
use holdpoint_replay::Session;
use holdpoint_replay::session_answers::{ToolAnswer, Tools, answered, is_unknown};
use holdpoint_replay::waiting::outcomes_waiting;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsStr;

/// A question takes so many lines at most: `decision show` has all of it.
const QUESTION_LINES: usize = 3;

/// What a program is shown of a session.
#[derive(Serialize)]
struct SessionDocument<'s> {
    #[serde(flatten)]
    row: SessionRow<'s>,
    calls: Vec<Call<'s>>,
    /// Records about it that cannot be read.
    unread_records: &'s [u64],
}

#[derive(Serialize)]
struct Call<'s> {
    decision: &'s str,
    asked_at: Timestamp,
    tool: Option<&'s str>,
    prompt: &'s str,
    answer: &'static str,
    answered_by: Option<&'s Principal>,
    answered_at: Option<Timestamp>,
    used_at: Option<Timestamp>,
    /// What the host says; null: nothing, or the approval was not used.
    claimed_outcome: Option<ClaimedStatus>,
    outcome_unknown: bool,
    record: u64,
}

impl<'s> Call<'s> {
    fn of(point: &'s DecisionPoint) -> Self {
        let ending = point.ending.as_ref();
        Self {
            decision: &point.decision_id,
            asked_at: point.created_at,
            tool: point.binding().map(|binding| binding.tool.as_ref()),
            prompt: &point.terms.proposal.prompt,
            answer: answered(point).name(),
            answered_by: ending.and_then(|ending| ending.by.as_ref()),
            answered_at: ending.map(|ending| ending.ended_at),
            used_at: point.consumed.as_ref().map(|consumed| consumed.at),
            claimed_outcome: point.outcome.as_ref().map(|outcome| outcome.status),
            outcome_unknown: is_unknown(point),
            record: point.created_sequence,
        }
    }
}

/// Tells the session that an id names.
pub(super) fn show(global: &Global, args: &Args, carry_out: LineRunner) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, &args.archives)?;
    let found = sessions::find(&directory, &args.id)?;
    let session = match found.sessions.first() {
        Some(session) if found.searched.is_sound() => session,
        _ => return conclude(global, &directory, &found.searched),
    };
    if args.records {
        args.times.expect_utc()?;
        return carry_out(global, line(CORRELATION, &session.name));
    }
    let mut out = Output::stdout();
    if global.json {
        let calls = session.calls.iter().map(Call::of).collect();
        out.json(&SessionDocument {
            row: SessionRow::of(session),
            calls,
            unread_records: &session.unread,
        });
    } else {
        let clock = args.times.clock();
        let view = View::of(columns(), &clock, &out);
        let waiting = outcomes_waiting(&directory.storage);
        let lines = lines(session, &view, &program(&global.log), &waiting);
        lines.into_iter().for_each(|line| out.line(line));
    }
    out.finish()?;
    if !global.json {
        if let Some(record) = session.unread.first() {
            complain(&format!(
                "{} of it cannot be read, the first of them record {record}: what they say is not \
                 shown",
                counted(session.unread.len() as u64, "record")
            ));
        }
        tell_doers([&session.doers], found.searched.reach());
    }
    Ok(Exit::DONE)
}

/// The screen. `program` is how this one is called for the log.
pub(super) fn lines(
    session: &Session,
    view: &View<'_>,
    program: &str,
    waiting: &BTreeSet<String>,
) -> Vec<String> {
    let mut page = Page::new(view.columns);
    page.row("session", &sessions::id(session));
    page.row("by", &who(Actor::Agent, &session.name, Authentication::None, ""));
    page.row("began", &view.clock.told_with_moment(session.began_at));
    page.row("tools", &Tools::of(session).words());
    for point in &session.calls {
        put_call(&mut page, point, view.clock, waiting.contains(&*point.decision_id));
    }
    page.sentence(&format!("`{program} decision show DP-..` has all of one question"));
    page.sentence(&format!(
        "`{program} show {}` has its records",
        command_line(OsStr::new(&format!("correlation:{}", session.name)), &[])
    ));
    page.lines()
}

fn put_call(page: &mut Page, point: &DecisionPoint, clock: &Clock, is_waiting: bool) {
    page.row("asked", &format!("{}, {}", point.decision_id, clock.told(point.created_at)));
    page.recorded_beginning(&point.terms.proposal.prompt, QUESTION_LINES);
    page.row("answer", &answer(point, clock));
    let outcome = match &point.outcome {
        Some(outcome) => format!("{}, claimed by the host and not proven", outcome.status),
        None if point.consumed.is_some() && is_waiting => format!("unknown: {CLAIM_WAITS}"),
        None if point.consumed.is_some() => "unknown: no report".to_string(),
        None if point.spendable_until().is_some_and(|until| until > clock.now()) => {
            "none: it was not used yet".to_string()
        }
        None if answered(point) == ToolAnswer::Approved => "none: it was not used".to_string(),
        None => return,
    };
    page.row("outcome", &outcome);
}

fn answer(point: &DecisionPoint, clock: &Clock) -> String {
    let word = answered(point).name();
    let Some(ending) = &point.ending else { return word.to_string() };
    let by = ending.by.as_ref();
    let by = by.map(|by| format!(" by {}", who(by.kind, &by.id, by.authenticated_by, "")));
    format!("{word}{}, {}", by.unwrap_or_default(), clock.told(ending.ended_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Sample};

    #[test]
    fn every_call_of_a_session_is_told_in_order_at_every_width() {
        let sample = Sample::guarded();
        let clock = Clock::at(sample.now);
        let session = &sample.sessions()[0];
        for columns in golden::COLUMNS {
            let view = View::plain(columns, &clock);
            golden::compare(
                "show-session",
                columns,
                &lines(session, &view, "holdpoint", &BTreeSet::new()),
            );
        }
    }
}
