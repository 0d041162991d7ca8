//! `holdpoint replay`: the state, rebuilt from the log at its end or at any record or moment.

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
use holdpoint_domain::interruption_thread::ThreadView;
use holdpoint_domain::log::UnprovenRecords;
use holdpoint_domain::world::{DecisionPointTotals, STATE_SCHEMA_VERSION, Totals};
use holdpoint_log_files::{ArchivePlaces, ReadStorage};
use holdpoint_replay::entity::Doubted;
use holdpoint_replay::read::Committed;
use holdpoint_replay::records::Line;
use holdpoint_replay::report::{Head, Report, Verdict};
use holdpoint_replay::state::{doubt_of, entities_of};
use holdpoint_replay::systems::{LoopFault, Systems};
use holdpoint_replay::{Axis, AxisState, Reach, Rebuilt, Until};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// With more loops than this only the table is shown, unless one is asked for.
const STORIES_MAX: usize = 20;

/// Options of `replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Last record or moment to apply: 12, 2026-01-25T16:00, a day, yesterday, or how long ago,
    /// such as 5m.
    #[arg(long = "at", alias = "until", value_name = "POINT", value_parser = parse_end)]
    until: Option<Until>,
    /// ID of a loop, request or decision, or a thread as [TENANT/]CORRELATION, to show alone.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Show the state that a writer keeps, without settled entities: the one that `diff` compares.
    /// It starts at the nearest snapshot; events before it are not judged.
    #[arg(long, conflicts_with = "id")]
    live: bool,
    /// Show the story of a loop too.
    #[arg(long, requires = "id")]
    story: bool,
    /// Limit the state to this system.
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

/// A system, by the name that its events have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum System {
    /// Loops, with everything that belongs to them.
    ExecutionLoop,
    /// The evidence chain of each loop.
    EvidenceCapture,
    /// The faults of each loop's attempts.
    SandboxFault,
    /// What people were asked about loops, and what they decided.
    HumanDecision,
    /// Conversations that were interrupted.
    InterruptionThread,
    /// Decisions that were asked for.
    DecisionPoint,
    /// Streams of the application, and how far each has come.
    Application,
    /// Capabilities, tenants, users, devices, sessions, work orders and leases.
    Registration,
}

/// What the newest turn of a thread came to, and until when the next one is planned.
fn newest(thread: &ThreadView<'_>) -> String {
    let newest = match thread.last_directive.zip(thread.last_reason_code) {
        Some((directive, reason)) => format!("{directive} {reason}"),
        None => "no turn yet".into(),
    };
    let plan = thread
        .open_plan
        .map(|open| format!(", plan of turn {} until {}", open.turn_id, moment(open.expires_at)));
    newest + plan.unwrap_or_default().as_str()
}

/// The tables of everything but loops: none where a system holds nothing.
fn tables(systems: &Systems<'_>, out: &mut Output) {
    table(
        out,
        ["loop", "evidence chain", "records", "head hash"],
        &systems.evidence_chains,
        |of| {
            let chain = &of.part;
            [
                shown(of.loop_id),
                shown(chain.chain_id),
                chain.length.to_string(),
                shown(chain.head_hash),
            ]
        },
    );
    table(out, ["loop", "attempt", "fault", "said"], &systems.sandbox_faults, |of| {
        let LoopFault { attempt, fault, .. } = &of.part;
        let kind = fault.fault_type.to_string();
        [shown(of.loop_id), attempt.to_string(), kind, shown(&fault.fault_message)]
    });
    table(
        out,
        ["request", "state", "decision", "by", "asked"],
        &systems.human_decisions,
        |Doubted { shown: held, doubt }| {
            let decided = held.decision.as_ref();
            [
                shown(held.request_id),
                and_permits(held.state, *doubt),
                decided.map(|decided| decided.decision.to_string()).unwrap_or_default(),
                decided.map(|decided| shown(decided.human_id)).unwrap_or_default(),
                moment(held.created_at),
            ]
        },
    );
    let header = ["tenant", "correlation", "state", "turns", "newest", "began"];
    table(out, header, &systems.interruption_threads, |Doubted { shown: thread, doubt }| {
        [
            shown(thread.tenant_id),
            shown(thread.correlation_id),
            and_permits(if thread.is_closed { "ended" } else { "open" }, *doubt),
            thread.turns.to_string(),
            newest(thread),
            moment(thread.started_at),
        ]
    });
    table(
        out,
        ["decision", "state", "answer", "by", "created"],
        &systems.decision_points,
        |Doubted { shown: point, doubt }| {
            [
                shown(point.id),
                and_permits(&point.state.to_string(), *doubt),
                point.selected_option.map(shown).unwrap_or_default(),
                point.responded_by.map(shown).unwrap_or_default(),
                moment(point.created_at),
            ]
        },
    );
    tables_by_name(systems, out);
}

/// Those of what has a name and little else.
fn tables_by_name(systems: &Systems<'_>, out: &mut Output) {
    table(out, ["stream", "last record"], &systems.streams, |stream| {
        [shown(stream.stream), stream.version.to_string()]
    });
    if let Some(forgotten) = systems.streams_forgotten.filter(|it| *it > 0) {
        out.line(format_args!(
            "streams whose last record is one up to {forgotten} may be missing here: \
             `holdpoint log entity=STREAM` finds each"
        ));
    }
    let registered = systems.registrations.as_ref().map(|all| {
        let state = json!({ "registrations": all });
        let found = entities_of("registrations", &state).into_iter();
        let status = |value: &Value| {
            and_permits(value["status"].as_str().unwrap_or_default(), doubt_of(value))
        };
        found.map(|(name, value)| (name, status(value))).collect()
    });
    table(out, ["registration", "status"], &registered, |(name, status): &(String, String)| {
        [shown(name), shown(status)]
    });
}

fn shown(text: &str) -> String {
    visible(text).to_string()
}

fn table<T, const N: usize>(
    out: &mut Output,
    header: [&str; N],
    found: &Option<Vec<T>>,
    row: impl Fn(&T) -> [String; N],
) {
    let Some(found) = found.as_deref().filter(|found| !found.is_empty()) else { return };
    out.line("");
    out.table(header, found.iter().map(row));
}
