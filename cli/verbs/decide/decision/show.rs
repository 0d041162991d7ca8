//! `holdpoint decision show`: what is asked, and what became of it.

use crate::args::Global;
use crate::log::at_point::{parse_at, tell_reach};
use crate::log::configuration::hides_output;
use crate::log::decision_id::known;
use crate::log::question_look::{Look, of_run};
use crate::log::{Directory, Question};
use crate::questions::decision_view::{self, Doubts};
use crate::questions::hold_view::{self, outcome_words};
use crate::ui::program::program;
use crate::ui::screen::columns;
use crate::ui::{Exit, Failure, Output};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::human_decision::HeldRequest;
use holdpoint_domain::{Time, World};
use holdpoint_engine::shell;
use holdpoint_replay::Until;
use holdpoint_replay::question::known_decisions;
use holdpoint_replay::waiting::outcomes_waiting;
use serde_json::json;

/// Options of `decision show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// ID of the question, at least six of its digits, or the issue of its one open decision; of a
    /// run, or `@`: its newest question.
    #[arg(value_name = "ID")]
    id: String,
    /// State after this record, at this moment, or so long ago: 12, 2026-01-25T03:00, 5m.
    #[arg(long, value_name = "POINT", value_parser = parse_at)]
    at: Option<Until>,
    /// Show every round of the question, oldest first.
    #[arg(long)]
    chain: bool,
    /// Show codes and hashes of a hold too.
    #[arg(long, short)]
    verbose: bool,
}

/// Shows a question. Writes nothing: an overdue question is shown as overdue until a writer records
/// its end.
pub(super) fn show(global: &Global, mut args: Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    args.id = of_run(&directory, &args.id)?;
    let look = match args.at {
        None => Look::newest(&directory, &|world, _| args.select(world))?,
        Some(until) => Look::at(&directory, until)?,
    };
    look.expect_log(&directory)?;
    let question = look.state.find(&args.id)?;
    if let Question::Hold(None, held) = question {
        return Err(without_run(held));
    }
    let rounds = args.rounds(look.world(), question);
    let mut out = Output::stdout();
    if !global.json {
        let waiting = outcomes_waiting(&directory.storage);
        for (index, round) in rounds.iter().enumerate() {
            (index > 0).then(|| out.line(""));
            let is_waiting = waiting.contains(round.id());
            let shown = args.lines(global, &look, *round, is_waiting);
            shown.iter().for_each(|line| out.line(line));
        }
    } else if args.chain {
        let shown: Vec<_> = rounds.iter().map(|round| look.shown(*round)).collect();
        out.json(&shown);
    } else {
        out.json(&look.shown(question));
    }
    out.finish()?;
    tell_place(args.at, &look);
    Ok(look.conclude(global, &rounds))
}

impl Args {
    /// What is shown of a state that has all of it.
    fn select<'w>(&self, world: &'w World) -> Option<Vec<Question<'w>>> {
        let question = known(world, &self.id)?;
        let holds_all = !self.chain || !world.forgets_decision_points();
        holds_all.then(|| self.rounds(world, question))
    }

    /// The question alone, or every round of it, root first.
    fn rounds<'w>(&self, world: &'w World, question: Question<'w>) -> Vec<Question<'w>> {
        let Question::Decision(point) = question else { return vec![question] };
        if !self.chain {
            return vec![question];
        }
        let mut rounds: Vec<_> =
            known_decisions(world).filter(|round| round.chain_id == point.chain_id).collect();
        rounds.sort_unstable_by_key(|round| round.iteration);
        rounds.into_iter().map(Question::Decision).collect()
    }

    fn lines(
        &self,
        global: &Global,
        look: &Look,
        question: Question<'_>,
        is_outcome_waiting: bool,
    ) -> Vec<String> {
        let (world, now) = (look.world(), look.now());
        match question {
            Question::Decision(point) => {
                let doubts = Doubts {
                    is_log_damaged: look.state.failed(),
                    is_outcome_waiting,
                    ..Doubts::of(world, point, now)
                };
                decision_view::lines(global, point, (now, columns()), doubts)
            }
            Question::Hold(Some(entity), held) => {
                // How much time is left is known of now only.
                let now = self.at.is_none().then(|| look.time_of(question));
                self.lines_of_hold(global, world, (entity, held), now)
            }
            Question::Hold(None, _) => Vec::new(),
        }
    }

    fn lines_of_hold(
        &self,
        global: &Global,
        world: &World,
        (entity, held): (&ExecutionLoop, &HeldRequest),
        now: Option<Time>,
    ) -> Vec<String> {
        let hides_output = held.is_open() && hides_output(global);
        let question =
            shell::Question { hides_output, ..shell::Question::of(entity, held).asked_in(world) };
        hold_view::lines(&question, now, columns(), (&program(&global.log), self.verbose))
    }
}

/// Of a request whose run is in an archive, what became of it is remembered, and what its run was
/// is not.
fn without_run(held: &HeldRequest) -> Failure {
    let became = held.outcome.as_ref().map(outcome_words);
    let (id, became) = (visible(held.request_id()), became.unwrap_or_default());
    let message = format!("request {id}: {became}; its run is not in this log");
    Failure::new(Exit::NOT_FOUND, "unknown_request", message).with("request", json!(held.view()))
}

/// Says where the state is not that of the place that was asked for.
pub(super) fn tell_place(at: Option<Until>, look: &Look) {
    let (Some(until), Some(report)) = (at, look.state.report()) else { return };
    tell_reach(until, look.inside_batch_until, look.state.head(), report);
}
