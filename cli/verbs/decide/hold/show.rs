//! `holdpoint hold show`: a question, as the person sees it.

use super::records_of;
use crate::args::Global;
use crate::log::at_point::parse_at;
use crate::log::configuration::hides_output;
use crate::log::{Directory, LiveState, clock, not_found};
use crate::questions::hold_view::{Shown, lines, outcome_line, verbose_lines};
use crate::questions::request_id::{requests, resolve, unknown};
use crate::ui::program::program;
use crate::ui::screen::columns;
use crate::ui::{Exit, Failure, Output};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::governed::RequestPlace;
use holdpoint_domain::human_decision::HeldRequest;
use holdpoint_domain::{Time, World};
use holdpoint_engine::shell::{Clock, Question, SystemClock};
use holdpoint_replay::{Tells, Until};
use serde_json::json;

/// Options of `hold show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The request, or the beginning of its id.
    #[arg(value_name = "REQ")]
    request: String,
    /// As it stood after this record, at this moment, or so long ago: 12, 2026-01-25T03:00, 5m.
    #[arg(long, value_name = "POINT", value_parser = parse_at)]
    at: Option<Until>,
    /// Codes and hashes as well.
    #[arg(long, short)]
    verbose: bool,
}

/// Shows the curated view: what is hidden is absent, even by name.
pub(super) fn show(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let (state, (question, records)) = match args.at {
        None => live(&directory, &args.request)?.map_or_else(|| whole(&directory, args), Ok)?,
        Some(_) => whole(&directory, args)?,
    };
    let hides_output = question.held.is_open() && hides_output(global);
    let question = Question { hides_output, ..question };
    // How much time is left is known of now only.
    let now = args.at.is_none().then(|| {
        let now = Time::from_nanoseconds(SystemClock.now().wall_ns);
        clock::time_of(state.world(), question.request_id(), now)
    });
    let mut out = Output::stdout();
    if global.json {
        out.json(&state.with_standing(Shown::of(&question, now), records));
    } else {
        let lines = if args.verbose { verbose_lines } else { lines };
        let shown = lines(&question, now, columns(), &program(&global.log));
        shown.iter().for_each(|line| out.line(line));
    }
    out.finish()?;
    Ok(state.conclude(global, &[records]))
}

/// A question, and the first and the newest record of its loop.
type Found = (Question, (u64, u64));

/// The question of a loop that lives, which is named by its whole id. Which others there are is not
/// in the state.
fn live(directory: &Directory, wanted: &str) -> Result<Option<(LiveState, Found)>, Failure> {
    let Some(state) = LiveState::stated(directory, Tells::Request(wanted))? else {
        return Ok(None);
    };
    let found = match state.world().find_request(wanted) {
        Some(RequestPlace::Live(entity, held)) => {
            (Question::of(entity, held).asked_in(state.world()), records_of(entity))
        }
        _ => return Ok(None),
    };
    Ok(Some((state, found)))
}

fn whole(directory: &Directory, args: &Args) -> Result<(LiveState, Found), Failure> {
    let rebuilt = crate::log::open::read(directory, args.at.unwrap_or(Until::End))?;
    directory.expect_log(&rebuilt.report)?;
    let found = find(&rebuilt.world, &args.request)
        .map_err(|failure| not_found(&rebuilt.report, "the request", || failure))?;
    Ok((LiveState::Whole(Box::new(rebuilt)), found))
}

fn find(world: &World, wanted: &str) -> Result<Found, Failure> {
    let ids = || requests(world).map(|(_, held)| held.request_id());
    let not_here = || without_run(world, wanted).unwrap_or_else(|| unknown(wanted, ids()));
    let id = resolve(wanted, ids())?.ok_or_else(not_here)?;
    let mut all = requests(world);
    let found = all.find(|(_, held)| held.request_id() == id);
    let (entity, held) = found.ok_or_else(|| unknown(wanted, ids()))?;
    // Answers that come after the loop settled are counted where requests are remembered.
    let held = world.find_request(&id).map_or(held, RequestPlace::held);
    Ok((Question::of(entity, held).asked_in(world), records_of(entity)))
}

/// Of a request whose run is in an archive, what became of it: that is remembered, and what its run
/// was is not.
fn without_run(world: &World, wanted: &str) -> Option<Failure> {
    let closed = || world.closed_requests().map(HeldRequest::request_id);
    let id = resolve(wanted, closed()).ok()??;
    let held = world.find_request(&id)?.held();
    let line = outcome_line(held.outcome.as_ref()?);
    let became = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = format!("request {}: {became}; its run is not in this log", visible(&id));
    Some(
        Failure::new(Exit::NOT_FOUND, "unknown_request", message)
            .with("request", json!(held.view())),
    )
}
