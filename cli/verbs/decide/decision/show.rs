//! `holdpoint decision show`: what is asked, and what became of it.

use crate::args::Global;
use crate::log::Directory;
use crate::log::at_point::{parse_at, tell_reach};
use crate::log::decision_id::{all, known};
use crate::log::decision_points::Look;
use crate::questions::decision_view::{Doubts, lines};
use crate::ui::screen::columns;
use crate::ui::{Exit, Failure, Output};
use holdpoint_domain::World;
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_replay::Until;
use holdpoint_replay::waiting::outcomes_waiting;

/// Options of `decision show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The decision: its id, the beginning of its id, or its issue where one of it is open.
    #[arg(value_name = "ID")]
    decision: String,
    /// As it was after this record, at this moment, or so long ago: 12, 2026-01-25T03:00, 5m.
    #[arg(long, value_name = "POINT", value_parser = parse_at)]
    at: Option<Until>,
    /// Every round of the question, the first one first.
    #[arg(long)]
    chain: bool,
}

/// Shows it. Writes nothing: what is overdue is shown as that until somebody records it.
pub(super) fn show(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let look = match args.at {
        None => Look::newest(&directory, &|world, _| args.select(world))?,
        Some(until) => Look::at(&directory, until)?,
    };
    look.expect_log(&directory)?;
    let point = look.find(&args.decision)?;
    let rounds = args.rounds(look.world(), point);
    let mut out = Output::stdout();
    if !global.json {
        let (columns, waiting) = (columns(), outcomes_waiting(&directory.storage));
        for (index, round) in rounds.iter().enumerate() {
            (index > 0).then(|| out.line(""));
            let doubts = Doubts {
                is_log_damaged: look.state.failed(),
                is_outcome_waiting: waiting.contains(&*round.decision_id),
                ..Doubts::of(look.world(), round, look.now())
            };
            let shown = lines(global, round, (look.now(), columns), doubts);
            shown.iter().for_each(|line| out.line(line));
        }
    } else if args.chain {
        let shown: Vec<_> = rounds.iter().map(|point| look.shown(point)).collect();
        out.json(&shown);
    } else {
        out.json(&look.shown(point));
    }
    out.finish()?;
    tell_place(args.at, &look);
    Ok(look.conclude(global, &rounds))
}

impl Args {
    /// What is shown of a state that tells which decision is meant, and every round of it.
    fn select<'w>(&self, world: &'w World) -> Option<Vec<&'w DecisionPoint>> {
        let point = known(world, &self.decision)?;
        let holds_all = !self.chain || !world.forgets_decision_points();
        holds_all.then(|| self.rounds(world, point))
    }

    /// The decision alone, or every round of its question, root first.
    fn rounds<'w>(&self, world: &'w World, point: &'w DecisionPoint) -> Vec<&'w DecisionPoint> {
        if !self.chain {
            return vec![point];
        }
        let mut rounds: Vec<_> =
            all(world).filter(|round| round.chain_id == point.chain_id).collect();
        rounds.sort_unstable_by_key(|round| round.iteration);
        rounds
    }
}

/// Says where the state is not that of the place that was asked for.
pub(super) fn tell_place(at: Option<Until>, look: &Look) {
    let (Some(until), Some(report)) = (at, look.state.report()) else { return };
    tell_reach(until, look.inside_batch_until, look.state.head(), report);
}
