//! `holdpoint decision show`: what is asked, and what became of it.

use super::shown::lines;
use super::{Look, all};
use crate::arguments::Global;
use crate::directory::Directory;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::screen::columns;
use crate::travel::{parse_until, tell_reach};
use crate::verify::{exit_of, warn};
use holdpoint_domain::world::{DecisionPoint, DecisionPointView};
use holdpoint_replay::Until;

/// Options of `decision show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The decision: its id, the beginning of its id, or its issue where one of it is open.
    #[arg(value_name = "ID")]
    decision: String,
    /// As it was after this record, or at this moment.
    #[arg(long, value_name = "SEQ|TIME", value_parser = parse_until)]
    at: Option<Until>,
    /// Every round of the question, the first one first.
    #[arg(long)]
    chain: bool,
}

/// Shows it. Writes nothing: what is overdue is shown as that until somebody records it.
pub(super) fn show(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let look = Look::at(&directory, args.at.unwrap_or(Until::End))?;
    directory.expect_log(&look.rebuilt.report)?;
    let point = look.find(&args.decision)?;
    let rounds = if args.chain { rounds(&look, point) } else { vec![point] };
    let mut out = Output::stdout();
    if !global.json {
        let columns = columns();
        for (index, round) in rounds.iter().enumerate() {
            (index > 0).then(|| out.line(""));
            let shown = lines(global, round, look.now(), columns);
            shown.iter().for_each(|line| out.line(line));
        }
    } else if args.chain {
        let views: Vec<DecisionPointView<'_>> = rounds.iter().map(|p| look.view(p)).collect();
        out.json(&views);
    } else {
        out.json(&look.view(point));
    }
    out.finish()?;
    tell_place(args.at, &look);
    warn(&look.rebuilt.report);
    Ok(exit_of(&look.rebuilt.report))
}

/// Every round of the question of one of them, root first.
fn rounds<'a>(look: &'a Look, point: &DecisionPoint) -> Vec<&'a DecisionPoint> {
    let known = all(&look.rebuilt.world);
    let mut rounds: Vec<_> = known.filter(|round| round.chain_id == point.chain_id).collect();
    rounds.sort_unstable_by_key(|round| round.iteration);
    rounds
}

/// Says where the state is not that of the place that was asked for.
fn tell_place(at: Option<Until>, look: &Look) {
    let rebuilt = &look.rebuilt;
    let (until, inside) = (at.unwrap_or(Until::End), rebuilt.inside_batch_until);
    tell_reach(until, inside, rebuilt.head.as_ref(), &rebuilt.report);
}
