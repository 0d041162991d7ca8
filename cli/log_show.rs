//! `holdpoint log show`: one line for each record.

use crate::arguments::Global;
use crate::decision::Look;
use crate::directory::Directory;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::progress::Bar;
use crate::text::{actor, moment};
use crate::verify::{exit_of, warn};
use holdpoint_replay::records::Line;
use holdpoint_replay::{Filter, Report, Until, records};

/// Options of `log show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The first record to show.
    #[arg(long, value_name = "SEQ")]
    from: Option<u64>,
    /// The last record to show.
    #[arg(long, value_name = "SEQ")]
    to: Option<u64>,
    /// Only this kind, or this system: `execution_loop.halted`, `execution_loop`.
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only records about this loop.
    #[arg(long = "loop", value_name = "ID")]
    loop_id: Option<String>,
    /// Only records about this decision: its id, the beginning of its id, or its issue.
    #[arg(long, value_name = "ID")]
    decision: Option<String>,
    /// Only records of this story.
    #[arg(long, value_name = "ID")]
    correlation: Option<String>,
}

/// Shows the records of complete batches; with `--json` as JSON Lines. Exit 6 when the log does
/// not verify, 3 when there is no log or no such decision.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    show(global, args).unwrap_or_else(|failure| failure.tell())
}

fn show(global: &Global, args: Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let mut filter = filter_of(args);
    if let Some(wanted) = &filter.decision {
        filter.decision = Some(decision(&directory, wanted)?);
    }
    let report = stream(global, &directory, &filter)?;
    directory.expect_log(&report)?;
    warn(&report);
    Ok(exit_of(&report))
}

/// The id of the decision that is meant.
fn decision(directory: &Directory, wanted: &str) -> Result<String, Failure> {
    let look = Look::at(directory, Until::End)?;
    directory.expect_log(&look.rebuilt.report)?;
    Ok(look.find(wanted)?.decision_id.to_string())
}

fn stream(global: &Global, directory: &Directory, filter: &Filter) -> Result<Report, Failure> {
    let mut out = Output::stdout();
    let mut bar = Bar::new();
    let report = directory.read(|storage, options| {
        let mut show = |line: Line| {
            if global.json { out.json_line(&line) } else { out.line(of_person(&line)) }
        };
        records(storage, filter, options, &mut |progress| bar.update(progress), &mut show)
    })?;
    drop(bar);
    out.finish()?;
    Ok(report)
}

fn filter_of(args: Args) -> Filter {
    Filter {
        first: args.from,
        last: args.to,
        kind: args.kind,
        loop_id: args.loop_id,
        decision: args.decision,
        correlation: args.correlation,
    }
}

fn of_person(line: &Line) -> String {
    format!(
        "{:>8}  {}  {:<41}  {:<24}  {}",
        line.sequence,
        moment(line.time),
        line.kind,
        line.actor.as_ref().map(actor).unwrap_or_default(),
        line.summary
    )
}
