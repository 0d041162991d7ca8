//! `holdpoint hold show`: a question, as the person sees it.

use super::shown::{Shown, lines};
use super::{requests, resolve, unknown};
use crate::arguments::Global;
use crate::directory::Directory;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::screen::columns;
use crate::travel::parse_until;
use crate::verify::{exit_of, not_found, warn};
use holdpoint_domain::Time;
use holdpoint_domain::world::{RequestPlace, World};
use holdpoint_engine::shell::{Clock, Question, SystemClock};
use holdpoint_replay::Until;

/// Options of `hold show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The request, or the beginning of its id.
    #[arg(value_name = "REQ")]
    request: String,
    /// As it stood after this record, or at this moment.
    #[arg(long, value_name = "SEQ|TIME", value_parser = parse_until)]
    at: Option<Until>,
}

/// Shows the curated view: what is hidden is absent, even by name.
pub(super) fn show(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let until = args.at.unwrap_or(Until::End);
    let rebuilt = super::read(&directory, until)?;
    directory.expect_log(&rebuilt.report)?;
    let report = &rebuilt.report;
    let question = find(&rebuilt.world, &args.request)
        .map_err(|failure| not_found(report, "the request", || failure))?;
    // How much time is left is known of now only.
    let now = args.at.is_none().then(|| Time::from_nanoseconds(SystemClock.now().wall_ns));
    let mut out = Output::stdout();
    if global.json {
        out.json(&Shown::of(&question, now));
    } else {
        lines(&question, now, columns()).iter().for_each(|line| out.line(line));
    }
    out.finish()?;
    warn(&rebuilt.report);
    Ok(exit_of(&rebuilt.report))
}

fn find(world: &World, wanted: &str) -> Result<Question, Failure> {
    let ids = || requests(world).map(|(_, held)| held.request_id());
    let id = resolve(wanted, ids())?.ok_or_else(|| unknown(wanted, ids()))?;
    let mut all = requests(world);
    let found = all.find(|(_, held)| held.request_id() == id);
    let (entity, held) = found.ok_or_else(|| unknown(wanted, ids()))?;
    // Answers that come after the loop settled are counted where requests are remembered.
    let held = world.find_request(&id).map_or(held, RequestPlace::held);
    Ok(Question::of(entity, held))
}
