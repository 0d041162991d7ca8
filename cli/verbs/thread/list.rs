//! `holdpoint thread list`: every thread in a line.

use crate::args::Global;
use crate::args::condition::{Condition, FilterFields};
use crate::log::archived_hint::{first_record, missing};
use crate::log::current_state::WholeArg;
use crate::log::open::{read, read_end_seeing};
use crate::log::thread_reading::threads;
use crate::log::{ArchiveArgs, Directory, LiveState, coverage};
use crate::ui::{Exit, Failure, Output, complain, counted, moment, now};
use crate::verbs::thread::view::{newest, waits_for};
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::interruption_thread::{HealthReport, HealthRow, Thread};
use holdpoint_domain::{Event, Time};
use holdpoint_replay::{Committed, Reach, Tells, Until, is_salvaged};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Options of `thread list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Filter: `tenant`, or `state=open`.
    #[arg(value_name = "FIELD=VALUE", value_parser = Condition::of::<ThreadFilter>)]
    wanted: Vec<Condition>,
    /// Show the newest outcome of interruption continuity for every tenant and issue.
    #[arg(long, conflicts_with = "whole")]
    health: bool,
    #[command(flatten)]
    whole: WholeArg,
    #[command(flatten)]
    archives: ArchiveArgs,
}

/// A filter of threads.
#[derive(Default)]
struct ThreadFilter {
    tenant: Option<String>,
    /// Threads that did not end.
    is_open: bool,
}

impl FilterFields for ThreadFilter {
    const NAMES: &'static str = "tenant state";

    fn put(&mut self, field: &str, value: &str) -> Result<(), String> {
        match (field, value) {
            ("tenant", tenant) => self.tenant = Some(tenant.to_string()),
            (_, "open") => self.is_open = true,
            _ => return Err("write state=open".to_string()),
        }
        Ok(())
    }
}

/// Lists the live threads, then those that ended, in the order in which they did; exit 3 where
/// there is no log. What the log does not hold any more is said below them.
pub(super) fn list(global: &Global, args: Args) -> Result<Exit, Failure> {
    let filter = Condition::put(&args.wanted, ThreadFilter::default())?;
    if args.health && filter.is_open {
        let message = "--health is of threads that ended too: leave state=open out";
        return Err(Failure::new(Exit::USAGE, "usage", message));
    }
    if args.health {
        return health(global, filter.tenant, &args.archives);
    }
    args.archives.expect_none("--health")?;
    let directory = Directory::open(global)?;
    let state = args.read(&directory, &filter)?;
    state.expect_log(&directory)?;
    let found: Vec<&Thread> =
        threads(state.world()).filter(|thread| filter.wants(thread)).collect();
    state.expect_known(global, &found)?;
    let missing = filter.missing(&directory, &state);
    let (mut out, seen_from) = (Output::stdout().folding(), now());
    if global.json {
        let shown = found.iter().map(|thread| {
            let records = (thread.started_sequence, thread.version);
            state.with_standing(thread.view(seen_from), records)
        });
        out.json(&shown.collect::<Vec<_>>());
        missing.iter().for_each(|missing| complain(missing));
    } else {
        show(&mut out, &found, seen_from);
        missing.iter().for_each(|missing| out.line(format_args!("not here: {missing}")));
    }
    out.finish()?;
    if !global.json && found.is_empty() && !state.failed() {
        complain(match (filter.is_open, &filter.tenant) {
            (true, _) => "no thread is open",
            (false, Some(_)) => "no thread is this tenant's",
            (false, None) => "there is no thread",
        });
    }
    let records = found.iter().map(|thread| (thread.started_sequence, thread.version));
    Ok(state.conclude(global, &records.collect::<Vec<_>>()))
}

impl Args {
    /// Tells whether its JSON is an array.
    pub(crate) const fn is_array(&self) -> bool {
        !self.health
    }

    /// The state, which is read as far back as threads that are asked for may have ended.
    fn read(&self, directory: &Directory, filter: &ThreadFilter) -> Result<LiveState, Failure> {
        if self.whole.whole && filter.is_open {
            return LiveState::whole(directory);
        }
        let stated =
            if self.whole.whole { None } else { LiveState::stated(directory, Tells::Threads)? };
        if let Some(state) = stated
            && filter.is_told_by(directory, &state)?
        {
            return Ok(state);
        }
        Ok(LiveState::Whole(Box::new(read(directory, Until::End)?)))
    }
}

impl ThreadFilter {
    /// Whether a state tells of all threads that are asked for, and whether there is nothing else
    /// to tell: a log with an anchor, or made by a salvage, says what is missing.
    fn is_told_by(&self, directory: &Directory, state: &LiveState) -> Result<bool, Failure> {
        let LiveState::Stated(stated) = state else { return Ok(true) };
        let holds_all = !stated.world.forgets_threads() && stated.anchor == 0;
        Ok((self.is_open || holds_all) && !directory.read(|storage, _| is_salvaged(storage))?)
    }

    fn wants(&self, thread: &Thread) -> bool {
        let tenant = self.tenant.as_deref();
        tenant.is_none_or(|tenant| thread.tenant_id.as_str() == tenant)
            && !(self.is_open && thread.is_closed)
    }

    /// What is not in the log that was read whole.
    fn missing(&self, directory: &Directory, state: &LiveState) -> Option<String> {
        let LiveState::Whole(rebuilt) = state else { return None };
        let is_told = !self.is_open || rebuilt.lost_at.is_some();
        is_told
            .then(|| missing(directory, rebuilt, "threads that ended there may not be listed"))
            .flatten()
    }
}

fn show(out: &mut Output, threads: &[&Thread], seen_from: Time) {
    if threads.is_empty() {
        return;
    }
    let header =
        ["tenant", "correlation", "turns", "state", "waits for", "unsaid", "began", "newest"];
    out.table(header, threads.iter().map(|thread| row_of(thread, seen_from)));
}

fn row_of(thread: &Thread, seen_from: Time) -> [String; 8] {
    let plan = thread.open_plan().map(|plan| {
        let stands = if plan.is_lapsed(seen_from) { "lapsed" } else { "open" };
        format!(", plan of turn {} {stands}", plan.turn_id)
    });
    [
        visible(&thread.tenant_id).to_string(),
        visible(&thread.correlation_id).to_string(),
        thread.turns.to_string(),
        if thread.is_closed { "ended" } else { "open" }.to_string(),
        waits_for(thread.state.pending_state()).to_string(),
        thread.state_at(seen_from).resume_buffers.len().to_string(),
        moment(thread.started_at),
        newest(thread) + plan.unwrap_or_default().as_str(),
    ]
}

/// Shows the rows, the newest outcome first. Exit 6 when the log does not verify, 3 when there is
/// no log.
fn health(
    global: &Global,
    tenant: Option<String>,
    archives: &ArchiveArgs,
) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, archives)?;
    let mut fold = Fold { tenant, ..Fold::default() };
    let rebuilt = read_end_seeing(&directory, &mut |record| fold.add(record))?;
    directory.expect_log(&rebuilt.report)?;
    let counted_from_record = first_record(&rebuilt);
    let not_counted = missing(&directory, &rebuilt, "they are not counted");
    let mut out = Output::stdout().folding();
    if global.json {
        let reach = &rebuilt.report.reach;
        let rows = fold.report.rows().into_iter().map(|row| Row::within(row, reach)).collect();
        let refusals = fold.report.refusals();
        out.json(&Health { rows, refusals, counted_from_record, not_counted, reach });
    } else {
        fold.show(&mut out);
        let line = |missing| format!("counted from record {counted_from_record} on; {missing}");
        not_counted.map(line).iter().for_each(|line| out.line(line));
    }
    out.finish()?;
    let newest = rebuilt.head.as_ref().map_or(0, |head| head.sequence);
    Ok(coverage::conclude(global, &rebuilt.report, newest))
}

/// What `--json` shows.
#[derive(Serialize)]
struct Health<'a> {
    rows: Vec<Row<'a>>,
    refusals: &'a BTreeMap<Text, u64>,
    /// The first record that was read.
    counted_from_record: u64,
    /// What was not, and where to look.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_counted: Option<String>,
    reach: &'a Reach,
}

/// A row, and what is proven of the record with its newest outcome.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    row: &'a HealthRow,
    standing: &'static str,
}

impl<'a> Row<'a> {
    fn within(row: &'a HealthRow, reach: &Reach) -> Self {
        Self { row, standing: reach.standing(row.latest_sequence, false).name() }
    }
}

/// The report, and whose rows are in it.
#[derive(Default)]
struct Fold {
    tenant: Option<String>,
    report: HealthReport,
    tenants: BTreeSet<String>,
}

impl Fold {
    fn add(&mut self, record: &Committed) {
        let (Some((tenant, _)), Some(envelope)) = (record.thread(), record.envelope()) else {
            return;
        };
        if let Event::InterruptionThread(event) = &envelope.event
            && self.tenant.as_deref().is_none_or(|wanted| wanted == tenant)
        {
            self.tenants.insert(tenant.to_string());
            self.report.apply(record.header.sequence, record.time(), event);
        }
    }

    fn show(&self, out: &mut Output) {
        let rows = self.report.rows();
        if !rows.is_empty() {
            let header = [
                "owner_engine_id",
                "tenant",
                "issue_fingerprint",
                "latest_reason_code",
                "correlation",
                "turn",
                "record",
                "time",
                "occurrences",
            ];
            out.table(header, rows.into_iter().map(cells));
        }
        for tenant in &self.tenants {
            let refusals = self.report.refusals_of(tenant);
            if refusals > 0 {
                let refused = counted(refusals, "refusal");
                out.line(format_args!("{refused} for tenant {}", visible(tenant)));
            }
        }
    }
}

fn cells(row: &HealthRow) -> [String; 9] {
    let shown = |text: &str| visible(text).to_string();
    [
        row.owner_engine_id.to_string(),
        shown(&row.tenant_id),
        row.issue_fingerprint.as_deref().map_or(String::new(), shown),
        row.latest_reason_code.to_string(),
        shown(&row.correlation_id),
        row.latest_turn.to_string(),
        row.latest_sequence.to_string(),
        moment(row.latest_at),
        row.occurrences.to_string(),
    ]
}
