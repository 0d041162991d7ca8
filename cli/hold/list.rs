//! `holdpoint hold list`: what waits for a person.

use super::shown::{Shown, left};
use crate::arguments::Global;
use crate::directory::Directory;
use crate::exit::{Exit, Failure, complain};
use crate::output::Output;
use crate::screen::{Page, columns, named};
use crate::verify::{exit_of, refuse_damaged_list, warn};
use holdpoint_domain::Time;
use holdpoint_engine::shell::{Clock, Question, SystemClock};
use holdpoint_replay::Until;
use holdpoint_replay::machine::{Recorder, recorder_of};

/// How many lines of a command are listed.
const COMMAND_LINES: usize = 3;

/// Options of `hold list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Lists the open questions; exit 3 where there is no log. Writes nothing: what is overdue is shown
/// as that until somebody records it.
pub(super) fn list(global: &Global) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let rebuilt = super::read(&directory, Until::End)?;
    directory.expect_log(&rebuilt.report)?;
    refuse_damaged_list(global, &rebuilt.report)?;
    let open = rebuilt.world.open_requests();
    let questions: Vec<Question> = open.map(|(entity, held)| Question::of(entity, held)).collect();
    let now = Time::from_nanoseconds(SystemClock.now().wall_ns);
    let mut out = Output::stdout();
    if global.json {
        let shown: Vec<_> = questions.iter().map(|q| Shown::of(q, Some(now))).collect();
        out.json(&shown);
    } else {
        let gone = gone(&directory, &questions);
        show(&mut out, &questions, &gone, now);
    }
    out.finish()?;
    if !global.json && questions.is_empty() && !rebuilt.report.failed() {
        complain("nothing waits for an answer");
    }
    warn(&rebuilt.report);
    Ok(exit_of(&rebuilt.report))
}

/// The loops whose recorder is gone: nobody waits for these answers, and whoever writes next
/// withdraws the questions.
fn gone(directory: &Directory, questions: &[Question]) -> Vec<String> {
    let loops = questions.iter().map(|question| question.context().loop_id.to_string());
    loops.filter(|name| recorder_of(&directory.storage, name) == Recorder::Gone).collect()
}

fn show(out: &mut Output, questions: &[Question], gone: &[String], now: Time) {
    if questions.is_empty() {
        return;
    }
    let mut page = Page::new(columns());
    page.sentence(&format!("{:<36}  {:>10}  asked", "request", "time left"));
    for question in questions {
        let context = question.context();
        let asked = context.asked_of.as_deref().map(named).unwrap_or_default();
        let id = named(question.request_id());
        let row = match gone.iter().any(|name| *name == *context.loop_id) {
            true => format!("{id:<36}  {:>10}  {asked}  its recorder is gone", "none"),
            false => format!("{id:<36}  {:>10}  {asked}", left(question, now)),
        };
        page.sentence(row.trim_end());
        page.recorded_beginning(&context.command_line, COMMAND_LINES);
    }
    page.lines().iter().for_each(|line| out.line(line));
}
