//! `holdpoint replay`: the state, rebuilt from the log at its end or at any record or moment.

mod systems;
mod travel;

use crate::args::{Global, settle};
use crate::log::at_point::{Shortcuts, parse_end, tell_reach};
use crate::log::open::read_seeing;
use crate::log::question_look::Links;
use crate::log::verdict::{and_permits, exit_of};
use crate::log::{ArchiveArgs, Directory, coverage, not_found, run_id, warn};
use crate::ui::text::{command_line, doer};
use crate::ui::{Exit, Failure, Output, closest, complain, excerpt, moment};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::governed::LoopView;
use holdpoint_domain::log::UnprovenRecords;
use holdpoint_domain::world::{DecisionPointTotals, STATE_SCHEMA_VERSION, Totals};
use holdpoint_log_files::{ArchivePlaces, ReadStorage};
use holdpoint_replay::entity::Doubted;
use holdpoint_replay::read::Committed;
use holdpoint_replay::records::Line;
use holdpoint_replay::report::{Head, Report, Verdict};
use holdpoint_replay::systems::Systems;
use holdpoint_replay::{Axis, AxisState, Reach, Rebuilt, Until};
use serde::Serialize;
use std::collections::BTreeMap;
use systems::{System, tables};

/// With more loops than this only the table is shown, unless one is asked for.
const STORIES_MAX: usize = 20;

/// Options of `replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The last record or moment to apply: 12, 2026-01-25T16:00, a day, yesterday, or how long ago,
    /// such as 5m.
    #[arg(long = "at", alias = "until", value_name = "POINT", value_parser = parse_end)]
    until: Option<Until>,
    /// Only what has this id: a loop, a request, a decision, or a thread by its correlation or as
    /// TENANT/CORRELATION.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The state that a writer had there, which what settled has left: what `diff` compares and
    /// its search asks about. From the nearest snapshot; events before are not judged.
    #[arg(long, conflicts_with = "id")]
    live: bool,
    /// Of a loop, also its story.
    #[arg(long, requires = "id")]
    story: bool,
    /// Only what the state holds of this system.
    #[arg(long = "kind", value_name = "NAME", value_enum, conflicts_with_all = ["id", "live"])]
    system: Option<System>,
    #[command(flatten)]
    shortcuts: Shortcuts,
    #[command(flatten)]
    archives: ArchiveArgs,
}

/// Rebuilds and shows the state. Exit 6 when the log does not verify, 3 when there is no log or no
/// such loop.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    settle(global, show_state(global, args))
}

fn show_state(global: &Global, mut args: Args) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, &args.archives)?;
    args.id = args.id.map(|id| run_id::whole(&directory, id)).transpose()?;
    match &args.id {
        Some(wanted) if !args.story => travel::entity(&directory, global, &args, wanted),
        None if args.live => travel::live(&directory, global, &args),
        Some(_) | None => replay(&directory, global, &args),
    }
}

fn replay(directory: &Directory, global: &Global, args: &Args) -> Result<Exit, Failure> {
    let until = args.until.unwrap_or(Until::End);
    let mut stories = Stories::new(args.id.clone());
    let mut links = Links::default();
    let rebuilt = read_seeing(directory, until, &mut |record| {
        stories.add(record, &directory.log.archives());
        links.see(record);
    })?;
    stories.stand(&rebuilt.report.reach);
    directory.expect_log(&rebuilt.report)?;
    let systems = systems(directory, &rebuilt, &links, args)?;
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&State::of(&rebuilt, &systems, stories.wanted()));
    } else {
        show(&mut out, &rebuilt, &systems, &stories);
    }
    out.finish()?;
    tell(until, &rebuilt);
    let newest = rebuilt.head.as_ref().map_or(0, |head| head.sequence);
    coverage::tell_of_states(global, &rebuilt.report, newest);
    tell_meaning(global, &rebuilt.report);
    directory.tell_unread();
    warn(&rebuilt.report);
    Ok(exit_of(&rebuilt.report))
}

/// Says where the state is not that of the place that was asked for.
fn tell(until: Until, rebuilt: &Rebuilt) {
    tell_reach(until, rebuilt.inside_batch_until, rebuilt.head.as_ref(), &rebuilt.report);
}

/// Says why not every event was judged, where nothing failed. A program finds it in `meaning`.
fn tell_meaning(global: &Global, report: &Report) {
    let Axis { state, reason } = &report.axes.meaning;
    if *state == AxisState::NotChecked && !report.failed() && !global.json {
        complain(&format!("meaning not checked: {reason}"));
    }
}

/// What is shown of the state: every system, one of them, or one loop.
fn systems<'w>(
    directory: &Directory,
    rebuilt: &'w Rebuilt,
    links: &'w Links,
    args: &Args,
) -> Result<Systems<'w>, Failure> {
    let mut view = rebuilt.world.view();
    let Some(wanted) = &args.id else {
        links.complete(&mut view.decision_points);
        let only = args.system.and_then(|system| system.to_possible_value());
        return Ok(Systems::of(&rebuilt.world, view, only.as_ref().map(PossibleValue::get_name)));
    };
    let is_it = |entity: &LoopView<'_>| entity.loop_id == wanted;
    match view.execution_loops.iter().position(is_it) {
        Some(found) => {
            Ok(Systems::of_loop(&rebuilt.world, view.execution_loops.swap_remove(found)))
        }
        None => {
            let ids = view.execution_loops.iter().map(|entity| entity.loop_id);
            let otherwise = || directory.or_missing(no_such_loop(wanted, closest(ids, wanted)));
            Err(not_found(&rebuilt.report, "the loop", otherwise))
        }
    }
}

fn no_such_loop(wanted: &str, near: Option<&str>) -> Failure {
    let advice = match near {
        Some(near) => format!("did you mean {}?", visible(near)),
        None => "`holdpoint replay` lists all".to_string(),
    };
    let message = format!("there is no loop {}: {advice}", excerpt(wanted));
    Failure::new(Exit::NOT_FOUND, "no_such_loop", message)
}

/// What `--json` shows.
#[derive(Serialize)]
struct State<'w> {
    /// Of the whole log.
    verdict: Verdict,
    /// What is known of the events up to there.
    meaning: &'w Axis,
    /// The record up to which the state was rebuilt.
    head: Option<&'w Head>,
    /// The state's fingerprint, 64 hexadecimal digits.
    fingerprint: String,
    state_schema: u32,
    totals: &'w Totals,
    decision_point_totals: DecisionPointTotals,
    /// The first and the last record of each range that was taken over without proof.
    #[serde(skip_serializing_if = "UnprovenRecords::is_empty")]
    unproven_records: &'w UnprovenRecords,
    #[serde(flatten)]
    systems: &'w Systems<'w>,
    /// The story of the loop that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    story: Option<&'w [Line]>,
    reach: &'w Reach,
}

impl<'w> State<'w> {
    fn of(rebuilt: &'w Rebuilt, systems: &'w Systems<'w>, story: Option<&'w [Line]>) -> Self {
        let Rebuilt { world, head, report, .. } = rebuilt;
        Self {
            verdict: report.verdict,
            meaning: &report.axes.meaning,
            head: head.as_ref(),
            fingerprint: world.fingerprint_digest().to_string(),
            state_schema: STATE_SCHEMA_VERSION,
            totals: world.totals(),
            decision_point_totals: world.decision_point_totals(),
            unproven_records: world.unproven_records(),
            systems,
            story,
            reach: &report.reach,
        }
    }
}

/// The stories of the loops that are told: of one, or of all while they are few.
struct Stories {
    wanted: Option<String>,
    lines: BTreeMap<String, Vec<Line>>,
    are_too_many: bool,
}

impl Stories {
    fn new(wanted: Option<String>) -> Self {
        Self { wanted, lines: BTreeMap::new(), are_too_many: false }
    }

    fn add(&mut self, record: &Committed, archives: &ArchivePlaces) {
        let event = record.envelope().map(|envelope| &envelope.event);
        let Some(loop_id) = event.and_then(|event| event.loop_id()) else { return };
        if self.are_too_many || self.wanted.as_deref().is_some_and(|wanted| wanted != loop_id) {
            return;
        }
        let lines = self.lines.entry(loop_id.to_string()).or_default();
        // A reading that begins anew sees its records again.
        while lines.pop_if(|line| line.sequence >= record.header.sequence).is_some() {}
        lines.push(Line::of(record).lying_in(archives));
        if self.lines.len() > STORIES_MAX {
            self.are_too_many = true;
            self.lines.clear();
        }
    }

    /// Says what is proven of each record, once that is known. A record about a loop has its
    /// payload.
    fn stand(&mut self, reach: &Reach) {
        for line in self.lines.values_mut().flatten() {
            line.standing = Some(reach.standing(line.sequence, false).name());
        }
    }

    fn of(&self, loop_id: &str) -> &[Line] {
        self.lines.get(loop_id).map_or(&[], Vec::as_slice)
    }

    fn wanted(&self) -> Option<&[Line]> {
        self.wanted.as_deref().map(|loop_id| self.of(loop_id))
    }
}

fn show(out: &mut Output, rebuilt: &Rebuilt, systems: &Systems<'_>, stories: &Stories) {
    let place = rebuilt.head.as_ref().map_or("before the first record".to_string(), |head| {
        format!("after record {}, {}", head.sequence, moment(head.time))
    });
    out.line(format_args!("state {place}, log {}{}", rebuilt.report.verdict, carried(rebuilt)));
    show_table(out, systems.loops());
    tables(systems, out);
    for entity in systems.loops() {
        show_story(out, &entity.shown, stories.of(entity.shown.loop_id));
    }
    if stories.are_too_many {
        out.line("");
        out.line("`holdpoint replay ID --story` tells the story of one");
    }
}

/// That the state rests on unproven records, where none of them is here.
fn carried(rebuilt: &Rebuilt) -> &'static str {
    let Report { verdict, unproven_records, .. } = &rebuilt.report;
    let is_intact = matches!(verdict, Verdict::Intact | Verdict::TailUnproven);
    match is_intact && !unproven_records.is_empty() {
        true => ", its state carried from a log with unproven records",
        false => "",
    }
}

fn show_table(out: &mut Output, loops: &[Doubted<LoopView<'_>>]) {
    if loops.is_empty() {
        return;
    }
    out.line("");
    out.line(format_args!(
        "{:<37}  {:<17}  {:<18}  {:>8}  {:>8}  {:<24}  command",
        "loop", "state", "because", "attempts", "evidence", "started"
    ));
    for Doubted { shown, doubt } in loops {
        out.line(and_permits(&row_of(shown), *doubt));
    }
}

fn row_of(entity: &LoopView<'_>) -> String {
    let because = entity.halt_reason.map_or("", |reason| reason.name());
    let evidence = entity.evidence_chain.as_ref().map_or(0, |chain| chain.length);
    format!(
        "{:<37}  {:<17}  {:<18}  {:>8}  {:>8}  {:<24}  {}",
        visible(entity.loop_id).to_string(),
        entity.current_state.name(),
        because,
        entity.attempts.len(),
        evidence,
        moment(entity.started_at),
        command_line(entity.command_line)
    )
}

fn show_story(out: &mut Output, entity: &LoopView<'_>, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    out.line("");
    out.line(visible(entity.loop_id));
    for line in lines {
        out.line(format_args!(
            "{:>8}  {}  {}  {}",
            line.sequence,
            moment(line.time),
            line.actor.as_ref().map(|it| doer(it, line.proof)).unwrap_or_default(),
            line.summary
        ));
    }
}
