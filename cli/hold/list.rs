//! `holdpoint hold list`: what waits for a person.

use super::shown::{Shown, left};
use crate::arguments::Global;
use crate::directory::Directory;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::screen::{Page, columns, named};
use crate::verify::{exit_of, refuse_damaged_list, warn};
use holdpoint_domain::Time;
use holdpoint_engine::shell::{Clock, Question, SystemClock};
use holdpoint_replay::Until;

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
        show(&mut out, &questions, now);
    }
    out.finish()?;
    warn(&rebuilt.report);
    Ok(exit_of(&rebuilt.report))
}

fn show(out: &mut Output, questions: &[Question], now: Time) {
    if questions.is_empty() {
        return;
    }
    let mut page = Page::new(columns());
    page.sentence(&format!("{:<36}  {:>10}  asked", "request", "time left"));
    for question in questions {
        let context = question.context();
        let asked = context.asked_of.as_deref().map(named).unwrap_or_default();
        let (id, left) = (named(question.request_id()), left(question, now));
        page.sentence(format!("{id:<36}  {left:>10}  {asked}").trim_end());
        page.recorded_beginning(&context.command_line, COMMAND_LINES);
    }
    page.lines().iter().for_each(|line| out.line(line));
}
