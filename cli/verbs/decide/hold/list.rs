//! `holdpoint hold list`: what waits for a person.

use super::records_of;
use crate::args::Global;
use crate::log::at_point::{parse_at, seen_at, tell_reach};
use crate::log::clock::{self, Dated};
use crate::log::current_state::WholeArg;
use crate::log::{Directory, LiveState, recorders as recording};
use crate::questions::hold_view::{Shown, left};
use crate::ui::screen::columns;
use crate::ui::table::{self, Column, Fit, NOTHING, column, number};
use crate::ui::{Exit, Failure, Output, Page, complain, named};
use holdpoint_domain::Time;
use holdpoint_engine::shell::{Clock, Question, SystemClock};
use holdpoint_replay::machine::{Recorder, recorder_of};
use holdpoint_replay::{Tells, Until};
use serde::Serialize;

/// How many lines of a command are listed.
const COMMAND_LINES: usize = 3;

const COLUMNS: [Column; 4] = [
    column("request", 9, Fit::Id),
    number("left", 8, Fit::Time),
    column("passed to", 6, Fit::Rest(9)),
    column("note", 7, Fit::Rest(8)),
];

/// Options of `hold list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Those that waited after this record, at this moment, or so long ago: 12, 2026-01-25T03:00,
    /// 5m.
    #[arg(long, value_name = "POINT", value_parser = parse_at, conflicts_with = "whole")]
    at: Option<Until>,
    #[command(flatten)]
    whole: WholeArg,
}

/// A question as programs see it in the list.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    shown: Shown<'a>,
    /// What is known of the process that records the run: where it is `gone`, nobody waits. Null
    /// at an earlier point: nothing is known of it there.
    recorder: Option<&'static str>,
}

/// Lists the open questions; exit 3 where there is no log. Writes nothing: what is overdue is shown
/// as that until somebody records it.
pub(super) fn list(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let (state, inside_batch_until) = args.look(&directory)?;
    state.expect_log(&directory)?;
    let open = state.world().open_requests();
    let open = open.map(|(entity, held)| (Question::of(entity, held), records_of(entity)));
    let (questions, records): (Vec<Question>, Vec<(u64, u64)>) = open.unzip();
    state.expect_known(global, &questions)?;
    let now = match args.at {
        Some(at) => seen_at(at, state.world()),
        None => Time::from_nanoseconds(SystemClock.now().wall_ns),
    };
    let recorders = match args.at {
        Some(_) => vec![None; questions.len()],
        None => recorders(&directory, &questions),
    };
    let is_now = args.at.is_none();
    let ahead_ns = clock::ahead_ns(state.world().totals().last_at).filter(|_| is_now);
    clock::tell(ahead_ns);
    let times: Vec<Time> = questions
        .iter()
        .map(|question| clock::time_of(state.world(), question.request_id(), now))
        .collect();
    let mut out = Output::stdout();
    if global.json {
        let listed = questions.iter().zip(&times).zip(&recorders).zip(&records);
        let listed = listed.map(|(((question, now), recorder), records)| {
            let shown = Shown::of(question, Some(*now));
            let recorder = recorder.map(Recorder::name);
            Dated::of(state.with_standing(Listed { shown, recorder }, *records), ahead_ns)
        });
        out.json(&listed.collect::<Vec<_>>());
    } else {
        show(&mut out, &questions, &recorders, &times);
    }
    out.finish()?;
    if questions.is_empty() && !state.failed() {
        let may_ask = recording::may_ask(&directory.storage).filter(|_| is_now);
        match may_ask {
            Some(sentence) => complain(&sentence),
            None if global.json => {}
            None if is_now => complain("nothing waits for an answer"),
            None => complain("nothing waited for an answer then"),
        }
    }
    if let (Some(at), Some(report)) = (args.at, state.report()) {
        tell_reach(at, inside_batch_until, state.head(), report);
    }
    let exit = state.conclude(global, &records);
    if !state.failed() {
        expect_told(&questions, &recorders)?;
    }
    Ok(exit)
}

impl Args {
    /// The state in which questions are looked for; inside a batch, the last record of it.
    fn look(&self, directory: &Directory) -> Result<(LiveState, Option<u64>), Failure> {
        let Some(at) = self.at else {
            return Ok((LiveState::read(directory, self.whole.whole, Tells::OpenRequests)?, None));
        };
        let rebuilt = crate::log::open::read(directory, at)?;
        let inside_batch_until = rebuilt.inside_batch_until;
        Ok((LiveState::Whole(Box::new(rebuilt)), inside_batch_until))
    }
}

/// What is known of the recorder of each. Where one is gone nobody waits for the answer, and
/// whoever writes next withdraws the question.
fn recorders(directory: &Directory, questions: &[Question]) -> Vec<Option<Recorder>> {
    let loops = questions.iter().map(|question| &question.context().loop_id);
    loops.map(|name| Some(recorder_of(&directory.storage, name))).collect()
}

/// Whoever was not told that a recorder is gone would wait for what nobody hears.
fn expect_told(questions: &[Question], recorders: &[Option<Recorder>]) -> Result<(), Failure> {
    let mut both = questions.iter().zip(recorders);
    let not_told = both.find(|(_, recorder)| **recorder == Some(Recorder::NotToBeTold));
    not_told.map_or(Ok(()), |(question, _)| {
        let name = named(&question.context().loop_id);
        Err(Failure::new(Exit::FAILED, "io", recording::not_told(&name)))
    })
}

fn show(out: &mut Output, questions: &[Question], recorders: &[Option<Recorder>], times: &[Time]) {
    if questions.is_empty() {
        return;
    }
    lines(questions, recorders, times, columns()).iter().for_each(|line| out.line(line));
}

/// The list, in so many columns: of each question a row, and below it what is to run.
fn lines(
    questions: &[Question],
    recorders: &[Option<Recorder>],
    times: &[Time],
    columns: usize,
) -> Vec<String> {
    let rows = questions.iter().zip(recorders).zip(times);
    let rows = rows.map(|((it, recorder), now)| row(it, *recorder, *now));
    let rows: Vec<Vec<String>> = rows.collect();
    let mut rows = table::lines(&COLUMNS, &rows, columns).into_iter();
    let mut page = Page::new(columns);
    rows.next().iter().for_each(|titles| page.sentence(titles));
    for (row, question) in rows.zip(questions) {
        page.sentence(&row);
        page.recorded_beginning(&question.context().command_line, COMMAND_LINES);
    }
    page.lines()
}

fn row(question: &Question, recorder: Option<Recorder>, now: Time) -> Vec<String> {
    let (left, note) = match recorder {
        Some(Recorder::Gone) => ("none".to_string(), "its recorder is gone"),
        _ => (left(question, now), NOTHING),
    };
    let passed_on = question.context().asked_of.as_deref().map_or(NOTHING.to_string(), named);
    vec![named(question.request_id()), left, passed_on, note.to_string()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use holdpoint_testing::story::Story;

    #[test]
    fn what_waits_is_listed_with_whole_words_at_every_width() {
        let story = Story::asked();
        let question = || Question::of(story.entity(), story.held());
        let mut passed_on = question();
        passed_on.held.context.asked_of = Some("on-call".into());
        let questions = [question(), passed_on, question()];
        let now = questions[0].held.request.created_at;
        let gone = [None, None, Some(Recorder::Gone)];
        for columns in golden::COLUMNS {
            golden::compare("hold-list", columns, &lines(&questions, &gone, &[now; 3], columns));
            let of_nobody = lines(&[question()], &[None], &[now], columns);
            assert!(!of_nobody[0].contains("passed"), "{of_nobody:?}");
        }
    }
}
