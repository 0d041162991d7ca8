//! `holdpoint verify`: what the log proves, four things apart.

mod head;
mod map;
mod range;

use crate::args::{Global, settle};
use crate::log::Directory;
use crate::log::verdict::{SHORT_OF_HEAD_ADVICE, exit_of, show_reach, show_unproven};
use crate::ui::{Bar, Exit, Failure, Output, complain, counted, path};
use anstyle::{AnsiColor, Style};
use holdpoint_domain::core::text::visible;
use holdpoint_log_format::names;
use holdpoint_replay::report::FINDINGS_SHOWN_MAX;
use holdpoint_replay::waiting::{WaitingRun, all_waiting};
use holdpoint_replay::{
    Axes, Axis, AxisState, CacheState, Caches, Finding, OutsideState, Range, Report, Together,
    Verdict, VerifyRequest, Witnessed, check_caches, verify_asked, verify_together,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Notes shown to a person: nothing is to be done about them.
const NOTES_SHOWN_MAX: usize = 3;

/// Files that are not their recorder's of which each is named.
const RUN_FILES_SHOWN_MAX: usize = 8;

/// Options of `verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Verify the log together with the archive that its first records were moved to.
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    /// Rebuild indexes and snapshots in memory and compare them with those on disk. Differences are
    /// reported without changing the exit code.
    #[arg(long, conflicts_with = "archive")]
    caches: bool,
    /// Compare the log with a head kept elsewhere: a copy of HEAD, or lines of `SEQUENCE LINK`;
    /// repeatable.
    #[arg(long, value_name = "FILE", conflicts_with = "archive")]
    head: Vec<PathBuf>,
    /// Verify the records A to B only: `A..B`, `A..` or `..B`; the rules are not checked.
    #[arg(value_name = "A..B", conflicts_with_all = ["archive", "caches", "map", "fail_fast"])]
    range: Option<Range>,
    /// Stop at the first finding.
    #[arg(long, conflicts_with_all = ["archive", "caches", "map"])]
    fail_fast: bool,
    /// Require these to be proven, else exit with 6. Not checked is not proven.
    #[arg(long, value_name = "AXIS,..", value_delimiter = ',', conflicts_with = "range")]
    require: Vec<AxisName>,
    /// Map the damage: each damaged place, its proven cause, the valid records on both sides, and
    /// what `copy --salvage` would keep.
    #[arg(long, conflicts_with = "archive")]
    map: bool,
}

/// One of the four things that are told apart, by the name that the report gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum AxisName {
    Integrity,
    Completeness,
    Meaning,
    Authenticity,
}

impl AxisName {
    const fn of(self, axes: &Axes) -> &Axis {
        match self {
            Self::Integrity => &axes.integrity,
            Self::Completeness => &axes.completeness,
            Self::Meaning => &axes.meaning,
            Self::Authenticity => &axes.authenticity,
        }
    }
}

/// A report, and what is derived from the log where that was asked for.
#[derive(Serialize)]
struct VerifyDocument<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    caches: Option<&'a Caches>,
    /// What waits in the files of runs for the next writer: no record yet, and unproven.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    waiting: &'a [WaitingRun],
}

/// Verifies the whole log. Exit 6 when something failed, 3 when there is no log.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    settle(
        global,
        match (&args.archive, args.range) {
            (Some(archive), _) => verify_both(global, archive, &args.require),
            (None, Some(range)) => range::verify(global, range, &args.head),
            (None, None) => verify(global, &args),
        },
    )
}

/// Checks that each required axis is proven.
///
/// # Errors
/// Exit 6, with those that are not.
fn require(required: &[AxisName], report: &Report) -> Result<(), Failure> {
    let unmet = required.iter().map(|name| (name, name.of(&report.axes)));
    let unmet = unmet.filter(|(_, axis)| axis.state != AxisState::Proven);
    let unmet: Vec<String> =
        unmet.map(|(name, axis)| format!("{name:?} is {}", axis.state).to_lowercase()).collect();
    match unmet.is_empty() {
        true => Ok(()),
        false => {
            let message = format!("required to be proven: {}", unmet.join(", "));
            Err(Failure::new(Exit::VERIFICATION_FAILED, "not_proven", message))
        }
    }
}

fn verify_both(global: &Global, archive: &Path, required: &[AxisName]) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let archive = directory.open_archive(archive)?;
    let mut bar = Bar::new();
    let mut found = directory.read_with(&archive, |of_log, of_archive| {
        verify_together(of_archive, of_log, &mut |progress| bar.update(progress))
    })?;
    drop(bar);
    for (place, report) in [(&archive, &found.archive), (&directory, &found.log)] {
        if report.verdict == Verdict::NothingHere {
            complain(&place.nothing_here(report));
        }
    }
    for finding in &mut found.findings {
        finding.place.file = path(&directory.path.join(&finding.place.file));
    }
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&found)
    } else {
        show_both(&mut out, &found)
    }
    out.finish()?;
    match found.verdict {
        Verdict::NothingHere => Ok(Exit::NOT_FOUND),
        _ if found.failed() => Ok(Exit::VERIFICATION_FAILED),
        _ => {
            require(required, &found.archive)?;
            require(required, &found.log).map(|()| Exit::DONE)
        }
    }
}

fn show_both(out: &mut Output, found: &Together) {
    for (name, report) in [("archive", &found.archive), ("log", &found.log)] {
        if report.verdict != Verdict::NothingHere {
            out.line(format_args!("{name}:"));
            show_to_person(out, report);
        }
    }
    let verdict = out.paint(colour_of(found.verdict), &found.reason);
    out.line(format_args!("together        {verdict}"));
    for (finding, number) in found.findings.iter().zip(1..) {
        show_finding(out, number, finding);
    }
}

fn verify(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let heads = head::read(&args.head)?;
    let asked = VerifyRequest { heads, fail_fast: args.fail_fast, map: args.map };
    let mut bar = Bar::new();
    let (report, caches) = directory.read(|storage, options| {
        let mut update = |progress| bar.update(progress);
        let report = verify_asked(storage, options, &asked, &mut update)?;
        let caches = args.caches.then(|| check_caches(storage, &mut update)).transpose()?;
        Ok((report, caches))
    })?;
    drop(bar);
    if report.verdict == Verdict::NothingHere {
        complain(&directory.nothing_here(&report));
    }
    let waiting = all_waiting(&directory.storage);
    show(global, &VerifyDocument { report: &report, caches: caches.as_ref(), waiting: &waiting })?;
    let unreadable = caches.as_ref().and_then(Caches::unreadable);
    match unreadable.filter(|_| exit_of(&report) == Exit::DONE) {
        Some((file, why)) => {
            let place = path(&directory.path);
            let message = format!("{place}: cannot read {file}, so not all was checked: {why}");
            Ok(Failure::new(Exit::FAILED, "io", message).tell())
        }
        None if exit_of(&report) != Exit::DONE => Ok(exit_of(&report)),
        None => require(&args.require, &report).map(|()| Exit::DONE),
    }
}

fn show(global: &Global, shown: &VerifyDocument<'_>) -> Result<(), Failure> {
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(shown);
    } else if shown.report.verdict != Verdict::NothingHere {
        show_to_person(&mut out, shown.report);
        show_waiting(&mut out, shown.waiting);
        if let Some(map) = &shown.report.damage {
            map::show(&mut out, map);
        }
        if let Some(caches) = shown.caches {
            show_caches(&mut out, caches);
        }
    }
    out.finish()
}

fn show_to_person(out: &mut Output, report: &Report) {
    let verdict = out.paint(colour_of(report.verdict), report.verdict_line());
    out.line(format_args!("verdict         {verdict}"));
    report.axes.all().iter().for_each(|(name, axis)| show_axis(out, name, axis));
    show_reach(out, report);
    show_unproven(out, &report.unproven_records);
    show_heads(out, &report.heads);
    show_findings(out, report);
    show_notes(out, report);
    if !report.heads.is_empty() || report.stopped_early {
        show_limits(out, report);
    } else if let Some(uncompared) = &report.uncompared {
        out.line(format_args!("not checked     {uncompared}"));
    }
}

/// What waits in the files of runs, and which of them fail.
fn show_waiting(out: &mut Output, waiting: &[WaitingRun]) {
    let is_outcome = |run: &&WaitingRun| names::parse_outcome(&run.run).is_some();
    let count = |run: &WaitingRun| run.entries.len();
    let of_runs = || waiting.iter().filter(|run| !is_outcome(run));
    let entries: usize = of_runs().map(count).sum();
    let runs = of_runs().filter(|run| !run.entries.is_empty()).count();
    let outcomes: usize = waiting.iter().filter(is_outcome).map(count).sum();
    if entries > 0 {
        out.line(format_args!(
            "waiting         {} for {}, unproven until the next writer takes them up",
            match entries {
                1 => "1 entry".to_string(),
                count => format!("{count} entries"),
            },
            counted(runs as u64, "run")
        ));
    }
    if outcomes > 0 {
        out.line(format_args!(
            "waiting         what became of {}, unproven until the next writer takes it up",
            counted(outcomes as u64, "approved call")
        ));
    }
    let failing = waiting.iter().filter_map(WaitingRun::foreign);
    for foreign in failing.clone().take(RUN_FILES_SHOWN_MAX) {
        out.line(format_args!("not counted     {foreign}"));
    }
    if let Some(more @ 1..) = failing.count().checked_sub(RUN_FILES_SHOWN_MAX) {
        out.line(format_args!("not counted     {more} more such files"));
    }
}

/// Heads that were kept outside, and what came of comparing each.
fn show_heads(out: &mut Output, heads: &[Witnessed]) {
    let is_told = |head: &&Witnessed| head.state != OutsideState::Matches;
    let told = heads.iter().filter(is_told).take(FINDINGS_SHOWN_MAX);
    let matching = heads.iter().filter(|head| head.state == OutsideState::Matches);
    if let Some(newest) = matching.clone().max_by_key(|head| head.sequence) {
        let (from, sequence) = (visible(&newest.from), newest.sequence);
        let others = counted(matching.count() as u64 - 1, "other");
        out.line(format_args!("outside head    record {sequence} matches, {from}; and {others}"));
    }
    for head in told {
        let (from, sequence) = (visible(&head.from), head.sequence);
        out.line(format_args!("outside head    record {sequence}: {}, {from}", head.state));
    }
}

/// What the verdict says nothing of.
fn show_limits(out: &mut Output, report: &Report) {
    let limits = [("not checked", &report.not_checked), ("beyond proof", &report.beyond_proof)];
    for (name, sentences) in limits {
        for sentence in sentences {
            out.line(format_args!("{name:<16}{}", visible(sentence)));
        }
    }
}

pub(super) fn show_axis(out: &mut Output, name: &str, axis: &Axis) {
    let colour = match axis.state {
        AxisState::Proven => AnsiColor::Green,
        AxisState::Failed => AnsiColor::Red,
        AxisState::NotChecked => AnsiColor::Yellow,
    };
    let state = out.paint(colour.on_default(), format_args!("{:<11}", axis.state.to_string()));
    out.line(format_args!("  {name:<14}{state}  {}", visible(&axis.reason)));
}

fn show_findings(out: &mut Output, report: &Report) {
    let total = report.findings.len() as u64 + report.findings_left_out;
    if total == 0 {
        return;
    }
    out.line(format_args!("findings        {total}"));
    for (finding, number) in report.findings.iter().zip(1..).take(FINDINGS_SHOWN_MAX) {
        show_finding(out, number, finding);
    }
    out.more(total, FINDINGS_SHOWN_MAX);
    let is_head = |finding: &Finding| finding.name() == "outside_head";
    if report.findings.iter().all(is_head) {
        out.line("what to do      find out which is the older history, this log or what it was");
        out.line("                copied from; nothing inside of this log tells");
    } else if report.verdict == Verdict::ShortOfHead {
        out.line(format_args!("what to do      {SHORT_OF_HEAD_ADVICE}"));
    } else if report.verdict == Verdict::Corrupt {
        out.line("what to do      keep a copy of the directory as it is; do not write to it;");
        out.line(
            "                `holdpoint copy --salvage SRC DST` copies what verifies to a new log",
        );
    } else {
        out.line("what to do      find out what wrote these events; the bytes are as recorded");
    }
}

/// What a salvaged log cannot be blamed for.
fn show_notes(out: &mut Output, report: &Report) {
    let total = report.notes.len() as u64 + report.notes_left_out;
    if total == 0 {
        return;
    }
    out.line(format_args!("notes           {total}, no findings: records before them were lost"));
    for (note, number) in report.notes.iter().zip(1..).take(NOTES_SHOWN_MAX) {
        show_finding(out, number, note);
    }
    out.more(total, NOTES_SHOWN_MAX);
}

/// What is derived from the log: how much of it is right, and what is not.
fn show_caches(out: &mut Output, caches: &Caches) {
    let indexes = in_states(|state| caches.count(state));
    let snapshots = in_states(|state| caches.count_snapshots(state));
    let noun = if caches.indexes.len() == 1 { "index" } else { "indexes" };
    out.line(format_args!("caches          {} {noun}{indexes}", caches.indexes.len()));
    let total = counted(caches.snapshots.len() as u64, "snapshot");
    out.line(format_args!("                {total}{snapshots}"));
    let indexes = caches.indexes.iter().map(|one| (&one.file, one.state, &one.reason));
    let snapshots = caches.snapshots.iter().map(|one| (&one.file, one.state, &one.reason));
    let is_told = |state| ![CacheState::Right, CacheState::Missing].contains(&state);
    let told: Vec<_> = indexes.chain(snapshots).filter(|(_, state, _)| is_told(*state)).collect();
    for ((file, state, reason), number) in told.iter().zip(1..).take(FINDINGS_SHOWN_MAX) {
        out.line(format_args!("  {number}. {file}: {state}"));
        out.line(format_args!("     {}", visible(reason.as_deref().unwrap_or_default())));
    }
    out.more(told.len() as u64, FINDINGS_SHOWN_MAX);
    if told.iter().any(|(_, state, _)| state.is_wrong()) {
        out.line(
            "what to do      nothing: verbs that write, such as `run`, build indexes again, and",
        );
        out.line(
            "                the next fingerprint in the log makes a snapshot; keep a file that",
        );
        out.line("                tells of records which the log does not have");
    }
}

/// How many caches are in each state, behind a colon; nothing where there are none.
fn in_states(count: impl Fn(CacheState) -> usize) -> String {
    let counts = CacheState::ALL.map(|state| (state, count(state)));
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts.map(|(state, count)| format!("{count} {state}")).collect();
    if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) }
}

pub(super) fn show_finding(out: &mut Output, number: u64, finding: &Finding) {
    let place = &finding.place;
    out.line(format_args!(
        "  {number}. {}, byte {}, sequence {}: {}",
        place.file,
        place.offset,
        place.sequence,
        finding.name()
    ));
    out.line(format_args!("     {}", finding.problem));
    out.line(format_args!("     expected  {}", visible(&finding.expected())));
    out.line(format_args!("     found     {}", visible(&finding.found())));
}

pub(super) fn colour_of(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Intact => AnsiColor::Green,
        Verdict::TailUnproven | Verdict::UnprovenRecords | Verdict::NothingHere => {
            AnsiColor::Yellow
        }
        Verdict::ShortOfHead | Verdict::Corrupt | Verdict::ForbiddenEvents | Verdict::Unknown => {
            AnsiColor::Red
        }
    };
    colour.on_default().bold()
}
