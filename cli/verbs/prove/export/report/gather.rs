//! What a page tells: the runs, the records that they lie in, and what the whole log proves.

use crate::log::captured_output::{began_twice, no_run};
use crate::log::export_target::Target;
use crate::log::record_filter::range as range_of;
use crate::log::records::expect_archives;
use crate::log::verdict::damaged;
use crate::log::{Directory, run_id};
use crate::ui::{Bar, Exit, Failure, moment};
use crate::verbs::prove::export::Args;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_replay::{
    Begun, Extract, Extracted, Filter, Finding, Listed, OneOf, Order, Report, Run, Searched, Taken,
    VerifyRequest, begun, decision_points, extract, leading, runs_of, search, span, verify_asked,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// So many records fit on a page.
pub(super) const RECORDS_MAX: usize = 20_000;

/// What is said of a run that is not found in a damaged log.
const BEHIND_DAMAGE: &str = "what begins that run may lie behind that";

/// So many bytes of records do.
pub(super) const BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// What a page tells.
pub(crate) struct ReportContents {
    /// What the whole log proves.
    pub(crate) report: Report,
    /// The runs, the oldest first.
    pub(crate) runs: Vec<Run>,
    /// Beginnings of runs that do not count.
    pub(crate) uncounted: Vec<Begun>,
    /// Decisions that a record of the range is about, and with which none of the runs was begun,
    /// the oldest first.
    pub(crate) decisions: Vec<DecisionPoint>,
    /// The records, and what was found wrong on the way that the report does not tell.
    pub(crate) extract: Extract,
    /// The first and the last record that were asked for; `None`: nothing was found there.
    pub(crate) range: Option<(u64, u64)>,
    /// True if the page holds raw evidence.
    pub(crate) has_evidence: bool,
}

impl ReportContents {
    /// The run of a loop, where it is one of those that are told.
    pub(crate) fn run(&self, loop_id: &str) -> Option<&ExecutionLoop> {
        let mut runs = self.runs.iter().map(|run| &run.entity);
        runs.find(|run| run.loop_id() == loop_id)
    }

    /// Tells whether something is wrong with the log, as far as it was read.
    pub(crate) fn is_damaged(&self) -> bool {
        self.report.failed() || !self.extract.findings.is_empty()
    }

    /// The last record that the page carries.
    pub(crate) fn last(&self) -> u64 {
        self.extract.records.last().map_or(0, |record| record.header.sequence)
    }
}

/// The runs that are chosen, and the records between which they lie.
#[derive(Default)]
struct ReportExtract {
    runs: Vec<Run>,
    uncounted: Vec<Begun>,
    decisions: Vec<DecisionPoint>,
    /// The records of the range that are about one.
    about_decisions: BTreeMap<u64, String>,
    range: Option<(u64, u64)>,
    /// What was found wrong where they were looked for.
    findings: Vec<Finding>,
}

impl ReportExtract {
    /// Keeps what a reading found wrong.
    fn take(&mut self, searched: Searched) {
        let findings = match searched {
            Searched::Whole(report) => report.findings,
            Searched::Part(part) => part.findings,
        };
        self.findings.extend(findings);
    }
}

/// Gathers all of it. Exit 3 where there is no log, no such run, or no record there.
pub(super) fn gather(
    directory: &Directory,
    args: &Args,
    target: &Target,
) -> Result<ReportContents, Failure> {
    let mut bar = Bar::new();
    let report = directory.read(|log, options| {
        verify_asked(log, options, &VerifyRequest::default(), &mut |progress| {
            target.heed_signals();
            bar.update(progress);
        })
    })?;
    drop(bar);
    directory.expect_log(&report)?;
    let chosen = match &args.run {
        Some(run) => one_run(directory, run, &report)?,
        None => since(directory, args, &report)?,
    };
    target.heed_signals();
    let mut extract = match chosen.range {
        Some(range) => taken(directory, args, range, &chosen)?,
        None => Extract::default(),
    };
    let ReportExtract { runs, uncounted, decisions, range, findings, .. } = chosen;
    extract.findings.extend(findings);
    extract.findings.retain(|finding| !report.findings.contains(finding));
    if extract.records.is_empty() {
        return Err(nothing_to_check(&report, &extract));
    }
    let has_evidence = args.include_evidence;
    Ok(ReportContents { report, runs, uncounted, decisions, extract, range, has_evidence })
}

/// That none of the records that were asked for can be read. A page of none would say nothing that
/// anybody could check.
fn nothing_to_check(report: &Report, extract: &Extract) -> Failure {
    let mut advice =
        "no record that was asked for can be read, so that no page is made; `holdpoint verify` \
         tells where the damage lies"
            .to_string();
    if report.records > 0 {
        advice.push_str(", and a page can be made of what lies before it");
    }
    match leading(&extract.findings).filter(|_| !report.failed()) {
        Some(first) => {
            let message = format!("the log is corrupt: {first}; {advice}");
            Failure::new(Exit::VERIFICATION_FAILED, "damaged", message)
        }
        None => damaged(report, &advice),
    }
}

fn one_run(directory: &Directory, id: &str, report: &Report) -> Result<ReportExtract, Failure> {
    let loop_id = run_id::find(directory, id).map_err(|failure| match failure.exit {
        Exit::NOT_FOUND if report.failed() => damaged(report, BEHIND_DAMAGE),
        _ => failure,
    })?;
    let wanted = Filter { loop_id: Some(loop_id.clone()), ..Filter::default() };
    let mut chosen = ReportExtract::default();
    let (found, searched) = directory.read(|log, options| begun(log, &wanted, 1, options))?;
    let looked = run_id::expect_sound(&searched);
    chosen.take(searched);
    let Listed { runs, uncounted, searched } =
        directory.read(|log, options| runs_of(log, &found, options))?;
    let Some(run) = runs.first() else {
        // All of it may have been well when it was read before.
        if !report.failed() {
            looked.and_then(|()| run_id::expect_sound(&searched))?;
        }
        return Err(match uncounted.first() {
            _ if report.failed() => damaged(report, BEHIND_DAMAGE),
            Some(Begun { twice: Some(twice), .. }) => began_twice(twice),
            about => no_run(directory, &loop_id, about.map(|begun| begun.sequence)),
        });
    };
    chosen.take(searched);
    let records = || run.doers.keys().chain(&run.unread).copied().chain([run.first, run.last]);
    let range = records().min().zip(records().max());
    Ok(ReportExtract { runs, uncounted, range, ..chosen })
}

/// The records from a point on, and every run that one of them is about.
fn since(directory: &Directory, args: &Args, report: &Report) -> Result<ReportExtract, Failure> {
    let wanted = range_of(args.since, args.until)?;
    let Filter { first, last, until, .. } = wanted;
    if expect_archives(directory, first, last) != Exit::DONE {
        let message = "what was asked for lies in an archive that is not read";
        if report.failed() {
            return Err(damaged(report, message));
        }
        return Err(Failure::new(Exit::NOT_FOUND, "archived", message));
    }
    let (mut range, mut count, mut loops) = (None, 0_usize, BTreeSet::new());
    let mut about_decisions = BTreeMap::new();
    let searched = directory.read(|log, options| {
        search(log, &wanted, Order::OldestFirst, options, &mut |_| {}, &mut |line, _| {
            let (first, _) = range.unwrap_or((line.sequence, 0));
            (range, count) = (Some((first, line.sequence)), count.saturating_add(1));
            if line.loop_id.is_none() {
                about_decisions.extend(line.decision_id.map(|id| (line.sequence, id)));
            }
            loops.extend(line.loop_id);
            // One more than fits is enough to know.
            let is_enough = count > RECORDS_MAX;
            if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    })?;
    if range.is_none() && !report.failed() {
        // The log may have become another one since all of it was read.
        if let Searched::Whole(now) = &searched {
            directory.expect_log(now)?;
        }
        run_id::expect_sound(&searched)?;
        return Err(nothing_there(directory)?);
    }
    if let Some((_, newest)) = range.as_mut().filter(|_| report.verdict.is_of_damage()) {
        *newest = (*newest).max(due(report, last, until));
    }
    let mut chosen = ReportExtract { range, ..ReportExtract::default() };
    chosen.take(searched);
    if count > RECORDS_MAX {
        return Ok(chosen);
    }
    chosen.read_runs(directory, loops)?;
    chosen.read_decisions(directory, about_decisions)?;
    Ok(chosen)
}

impl ReportExtract {
    /// Reads the runs of some loops.
    fn read_runs(&mut self, directory: &Directory, loops: BTreeSet<String>) -> Result<(), Failure> {
        if loops.is_empty() {
            return Ok(());
        }
        let (most, one_of) = (loops.len(), Some(OneOf::Loops(loops)));
        let wanted = Filter { one_of, ..Filter::default() };
        let (mut found, searched) =
            directory.read(|log, options| begun(log, &wanted, most, options))?;
        self.take(searched);
        found.reverse();
        let Listed { runs, uncounted, searched } =
            directory.read(|log, options| runs_of(log, &found, options))?;
        self.take(searched);
        (self.runs, self.uncounted) = (runs, uncounted);
        Ok(())
    }

    /// Reads the decisions that some records are about and with which no run here was begun.
    fn read_decisions(
        &mut self,
        directory: &Directory,
        mut about: BTreeMap<u64, String>,
    ) -> Result<(), Failure> {
        // Those of a run are told with it.
        about.retain(|sequence, _| !self.runs.iter().any(|run| run.doers.contains_key(sequence)));
        let approvals = self.runs.iter().filter_map(|run| run.approval.as_deref());
        let spent: BTreeSet<&str> = approvals.map(|point| &*point.decision_id).collect();
        let ids = about.values().filter(|id| !spent.contains(id.as_str()));
        let ids: BTreeSet<String> = ids.cloned().collect();
        let (decisions, searched) =
            directory.read(|log, options| decision_points(log, &ids, options))?;
        searched.into_iter().for_each(|searched| self.take(searched));
        (self.decisions, self.about_decisions) = (decisions, about);
        Ok(())
    }
}

/// The last record that was asked for and was there once, as far as that is known of a damaged log.
fn due(report: &Report, last: Option<u64>, until: Option<Timestamp>) -> u64 {
    let newest = report.head.as_ref().map_or(0, |head| head.sequence).max(report.mark);
    match (last, until) {
        (Some(last), _) => last.min(newest),
        (None, None) => newest,
        // Which records were written until then nobody can say.
        (None, Some(_)) => 0,
    }
}

fn nothing_there(directory: &Directory) -> Result<Failure, Failure> {
    let there = directory.read(|log, _| span(log))?;
    let there = there.map_or(String::new(), |span| {
        format!(
            ": the log's records are {} to {}, from {} to {}",
            span.first,
            span.last,
            moment(span.since),
            moment(span.until)
        )
    });
    let failure =
        Failure::new(Exit::NOT_FOUND, "not_found", format!("no record lies in that range{there}"));
    Ok(directory.or_missing(failure))
}

fn taken(
    directory: &Directory,
    args: &Args,
    (first, last): (u64, u64),
    chosen: &ReportExtract,
) -> Result<Extract, Failure> {
    let of_runs = chosen.runs.iter().flat_map(|run| run.doers.keys().chain(&run.unread));
    let told = of_runs.chain(chosen.about_decisions.keys()).copied();
    let taken = Taken {
        first,
        last,
        told: told.collect(),
        evidence: args.include_evidence,
        most_records: RECORDS_MAX,
        most_bytes: BYTES_MAX,
    };
    match directory.read(|log, _| extract(log, &taken))? {
        Extracted::Records(extract) => Ok(*extract),
        Extracted::TooMuch { fits_to } => Err(too_much(args, first, fits_to)),
    }
}

/// That a page cannot hold all that was asked for, and what it can.
fn too_much(args: &Args, first: u64, fits_to: Option<u64>) -> Failure {
    let narrower =
        fits_to.map(|last| format!("ask for less, such as --since {first} --until {last}"));
    let without = args.include_evidence.then(|| "leave --include-evidence away".to_string());
    let advice: Vec<String> = without.into_iter().chain(narrower).collect();
    let advice = match advice.is_empty() {
        true => format!("the batch behind record {first} alone is more"),
        false => advice.join(", or "),
    };
    let message = format!(
        "a report holds at most {RECORDS_MAX} records and {} MiB of them, and these are more: \
         {advice}",
        BYTES_MAX >> 20
    );
    Failure::new(Exit::USAGE, "too_much", message)
}
