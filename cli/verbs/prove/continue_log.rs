//! `holdpoint continue`: going on from a log that ends before its HEAD.

use crate::args::principal::user;
use crate::args::{Global, settle};
use crate::log::damage::NEWER_VERSION;
use crate::log::open::{read_end, read_end_seeing};
use crate::log::verdict::{exit_of, warn_of_made};
use crate::log::{Directory, registered_logs};
use crate::questions::adoption::{Candidate, show_adoption};
use crate::questions::confirm::Offer;
use crate::ui::text::visible_once;
use crate::ui::{Bar, Exit, Failure, Output, complain, counted, path};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::DecisionPointEvent;
use holdpoint_domain::execution_loop::ExecutionLoopEvent;
use holdpoint_domain::human_decision::HumanDecisionEvent;
use holdpoint_domain::log::LogEvent;
use holdpoint_domain::{Event, World};
use holdpoint_engine::adoption::Adoption;
use holdpoint_engine::shell::{
    ContinueError, ContinueReport, EntropySource, LeftDirectory, Origin, ShortLog, SystemEntropy,
    left_by_interrupted,
};
use holdpoint_log_files::SurveyError;
use holdpoint_log_format::{LogId, names};
use holdpoint_replay::{Progress, Rebuilt, Verdict, leading, records_named};
use serde_json::json;
use std::path::{Path, PathBuf};

/// What a person types.
const WORD: &str = "continue";

/// So many of each kind are listed before a person continues a log.
const LISTED_MAX: usize = 20;

/// Options of `continue`.
///
/// The records that are in DIR become a log of another identity, in the place of the old one, which
/// is kept beside it. One batch ends every run and question that is open, revokes every approval
/// that was not spent, and records the HEAD that was stated.
///
/// A person at a terminal types the word, and nobody else continues a log.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Directory of a log that ends before its HEAD.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Continues a log that is short of HEAD. Exit 3 where there is none, 4 where a writer has it open,
/// 5 where there is nothing to continue or nobody sits at a terminal, 6 where more is wrong with
/// it, 10 where the word is not typed.
pub(crate) fn main(global: &Global, args: &Args) -> Exit {
    settle(global, run(global, args))
}

/// A log as it is before it is continued.
struct Continuation {
    short: ShortLog,
    world: World,
    /// What waits in the files of runs, and files that are no log's: neither goes along.
    left: Vec<String>,
    is_adopted: bool,
}

fn run(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let directory = Directory::open_argument(&args.directory, "DIR")?;
    let (rebuilt, sources) = read(&directory)?;
    tell_of_left(&directory.path, &sources)?;
    let short = ShortLog::look(&directory.path).map_err(|error| failure(&error))?;
    let verdict = rebuilt.report.verdict;
    if verdict != Verdict::ShortOfHead {
        let finding = leading(&rebuilt.report.findings).map(ToString::to_string);
        let finding = finding.unwrap_or_else(|| verdict.to_string());
        let error = ContinueError::Damaged { path: short.path, finding };
        return Err(failure(&error));
    }
    let left = left_behind(&short.path);
    let is_adopted = candidate(&short.path, short.log)?.ground()?.is_ok();
    let found = Continuation { short, world: rebuilt.world, left, is_adopted };
    let offer = Offer::of_change(found.lines(), "holdpoint continue", WORD);
    let Some(line) = offer.typed()? else {
        let message =
            format!("only a person at a terminal continues a log ({})", user(Actor::Human).means);
        return Err(Failure::new(Exit::REFUSED, "no_terminal", message));
    };
    let mut bar = Bar::new();
    let expected = found.short.kept.sequence;
    let mut update = |sequence| bar.update(Progress { sequence, expected });
    let done = found.short.carry_on(&origin()?, line, &mut update);
    drop(bar);
    let report = done.map_err(|error| failure(&error))?;
    if found.is_adopted {
        candidate(&found.short.path, report.log)?.list(Adoption::Adopted)?;
    }
    registered_logs::register(&found.short.path);
    let made = read_end(&Directory::open_argument(&args.directory, "DIR")?)?;
    // What came since it was shown stays there as well.
    let found = Continuation { left: left_behind(&report.kept_at), ..found };
    show(global, &found, &report, &made)?;
    warn_of_made("the log was continued, and has what was there", &directory.path, &made.report);
    Ok(exit_of(&made.report))
}

/// The person, in a story of its own.
fn origin() -> Result<Origin, Failure> {
    let drawn = SystemEntropy.draw();
    let entropy = drawn.map_err(|error| Failure::new(Exit::FAILED, "io", error))?;
    let correlation = entropy.to_string();
    Ok(Origin { actor: user(Actor::Human).actor(), correlation, causation: None })
}

fn candidate(log: &Path, id: LogId) -> Result<Candidate, Failure> {
    Candidate::of(log, id).map_err(|error| {
        Failure::new(Exit::FAILED, "io", format!("cannot look at {}: {error}", path(log)))
    })
}

/// The log at its end, and the logs from which it was continued.
fn read(directory: &Directory) -> Result<(Rebuilt, Vec<String>), Failure> {
    let mut sources = Vec::new();
    let rebuilt = read_end_seeing(directory, &mut |record| {
        if let Some(Event::Log(LogEvent::LogContinued(body))) =
            record.envelope().map(|it| &it.event)
        {
            sources.push(body.source_log.to_string());
        }
    })?;
    Ok((rebuilt, sources))
}

/// Tells what interrupted attempts left, and gives an old log among it its name.
fn tell_of_left(log: &Path, sources: &[String]) -> Result<(), Failure> {
    if !log.exists() {
        return Ok(());
    }
    for left in left_by_interrupted(log, sources).map_err(|error| failure(&error))? {
        match left {
            LeftDirectory::Old(old) => complain(&format!(
                "the log before `continue`, which was interrupted, is now at {}",
                path(&old)
            )),
            LeftDirectory::Removed(unfinished) => complain(&format!(
                "{} was left by a `continue` that was interrupted before its log took the \
                 place: it was removed",
                path(&unfinished)
            )),
            LeftDirectory::Unknown(unknown) => complain(&format!(
                "{} was left by a `continue` that was interrupted, and may be a log that was \
                 at this place before: look at it with `holdpoint verify --log`, and move it away",
                path(&unknown)
            )),
            _ => {}
        }
    }
    Ok(())
}

/// What lies in the log's directory and does not go along.
fn left_behind(log: &Path) -> Vec<String> {
    let listed = |directory: &Path| {
        let entries = directory.read_dir().into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let is_foreign = |name: &String| !names::is_own(name);
    let mut left: Vec<String> = listed(log).into_iter().filter(is_foreign).collect();
    let waits =
        |name: &String| names::parse_run(name).is_some() || names::parse_outcome(name).is_some();
    let runs = listed(&log.join(names::RUNS)).into_iter().filter(waits);
    left.extend(runs.map(|name| names::run(&name)));
    left.sort_unstable();
    left
}

/// How many of the files are outcomes of spent approvals that no writer took up.
fn outcomes_in(left: &[String]) -> u64 {
    let name = |path: &String| path.rsplit('/').next().and_then(names::parse_outcome);
    left.iter().filter_map(name).count() as u64
}

impl Continuation {
    /// How many records are missing.
    const fn missing(&self) -> u64 {
        self.short.stated_sequence.saturating_sub(self.short.kept.sequence)
    }

    fn lines(&self) -> Vec<String> {
        let Self { short, world, .. } = self;
        let ShortLog { kept, stated_sequence, .. } = short;
        let link = short.stated_link.map_or("only LOCK states it".to_string(), |it| it.to_string());
        let mut lines = vec![
            "to continue a log that is short of HEAD: it is a copy made while it was written, or \
             it was cut"
                .to_string(),
            format!("log                    {}", path(&short.path)),
            format!("identity               {}", short.log),
            format!("newest record here     {}, {}", kept.sequence, kept.link),
            format!("HEAD states            {stated_sequence}, {link}"),
            format!("missing                {}", self.missing_named()),
        ];
        lines.extend((short.unfinished > 0).then(|| {
            let unfinished = counted(short.unfinished, "record");
            format!("not kept               {unfinished} of a batch that does not end here")
        }));
        let policy = if world.policy().is_none() { "none" } else { "the one on record here" };
        lines.push(format!("policy                 {policy}; a later one may be missing"));
        let runs: Vec<String> = world.live_loops().map(|it| named(it.loop_id(), "")).collect();
        let questions = world.open_requests().map(|(_, held)| named(held.request_id(), ""));
        let points = || world.live_decision_points().chain(world.closed_decision_points());
        let prompted = |point: &holdpoint_domain::decision_point::DecisionPoint| {
            named(&point.decision_id, &point.terms.proposal.prompt)
        };
        let open = points().filter(|point| point.is_open()).map(prompted);
        let approvals = points().filter(|point| point.is_revocable()).map(prompted);
        listed(&mut lines, "runs that are recorded as lost", &runs);
        listed(&mut lines, "questions that end", &questions.chain(open).collect::<Vec<_>>());
        listed(&mut lines, "approvals that lapse unspent", &approvals.collect::<Vec<_>>());
        let outcomes = outcomes_in(&self.left);
        lines.push(format!("{:<33}{outcomes}", "outcomes that nobody took up"));
        listed(&mut lines, "files that stay with the old log", &self.left);
        lines.push(
            "The log gets a new identity. What began before it goes on permits nothing. The old \
             log is kept beside it. Where the original still exists, continue that one instead."
                .to_string(),
        );
        lines
    }

    fn missing_named(&self) -> String {
        let (first, last) =
            (self.short.kept.sequence.saturating_add(1), self.short.stated_sequence);
        format!("{}: {}", counted(self.missing(), "record"), records_named(first, last))
    }
}

fn named(id: &str, prompt: &str) -> String {
    match prompt {
        "" => visible(id).to_string(),
        prompt => visible_once(&format!("{id}: {prompt}")),
    }
}

/// How many there are, and the first of them.
fn listed(lines: &mut Vec<String>, what: &str, all: &[String]) {
    lines.push(format!("{what:<33}{}", all.len()));
    lines.extend(all.iter().take(LISTED_MAX).map(|one| format!("  {}", visible(one))));
    let more = all.len().saturating_sub(LISTED_MAX);
    lines.extend((more > 0).then(|| format!("  and {more} more")));
}

/// How much ended in the batch.
#[derive(Default)]
struct EndCounts {
    runs: u64,
    questions: u64,
    approvals: u64,
}

impl EndCounts {
    fn of(report: &ContinueReport) -> Self {
        let mut ended = Self::default();
        for event in &report.receipt.events {
            match event {
                Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(_)) => ended.runs += 1,
                Event::HumanDecision(HumanDecisionEvent::RequestWithdrawn(_))
                | Event::DecisionPoint(DecisionPointEvent::DecisionPointCancelled(_)) => {
                    ended.questions += 1;
                }
                Event::DecisionPoint(DecisionPointEvent::ApprovalRevoked(_)) => {
                    ended.approvals += 1;
                }
                _ => {}
            }
        }
        ended
    }
}

fn show(
    global: &Global,
    found: &Continuation,
    report: &ContinueReport,
    made: &Rebuilt,
) -> Result<(), Failure> {
    let (short, ended, outcomes) = (&found.short, EndCounts::of(report), outcomes_in(&found.left));
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&json!({
            "path": short.path.to_string_lossy(),
            "log_id": report.log.to_string(),
            "source_log": short.log.to_string(),
            "kept_at": report.kept_at.to_string_lossy(),
            "kept_sequence": short.kept.sequence,
            "stated_sequence": short.stated_sequence,
            "missing": found.missing(),
            "record": report.receipt.last_sequence,
            "lost_runs": ended.runs,
            "ended_questions": ended.questions,
            "lapsed_approvals": ended.approvals,
            "left_behind": found.left,
            "left_outcomes": outcomes,
            "is_adopted": found.is_adopted,
            "verdict": made.report.verdict,
        }));
        return out.finish();
    }
    out.line(format_args!("continued       {}", path(&short.path)));
    out.line(format_args!("                log {}, which was log {}", report.log, short.log));
    out.line(format_args!("kept            records up to {}", short.kept.sequence));
    out.line(format_args!("missing         {}", found.missing_named()));
    out.line(format_args!("ended           {}", counted(ended.runs, "lost run")));
    out.line(format_args!("                {}", counted(ended.questions, "open question")));
    out.line(format_args!("                {}", counted(ended.approvals, "unspent approval")));
    out.line(format_args!("said by         record {}", report.receipt.last_sequence));
    out.line(format_args!("old log         {}", path(&report.kept_at)));
    if outcomes > 0 {
        let (outcomes, runs) = (counted(outcomes, "outcome"), report.kept_at.join(names::RUNS));
        out.line(format_args!(
            "                has {outcomes} of spent approvals that nobody took up, in {}",
            path(&runs)
        ));
    }
    for file in &found.left {
        out.line(format_args!(
            "                has {}, which is not in the new one",
            visible(file)
        ));
    }
    out.line(format_args!("verdict         {}", made.report.verdict));
    if !found.is_adopted {
        show_adoption(&mut out, &short.path);
    }
    out.finish()
}

fn failure(error: &ContinueError) -> Failure {
    let (exit, code) = match error {
        ContinueError::NothingHere { .. } => (Exit::NOT_FOUND, "nothing_here"),
        ContinueError::NothingKept { .. } => (Exit::NOT_FOUND, "nothing_kept"),
        ContinueError::Whole { .. } | ContinueError::Unproven { .. } => {
            (Exit::REFUSED, "nothing_to_continue")
        }
        ContinueError::Damaged { .. } => (Exit::VERIFICATION_FAILED, "damaged"),
        ContinueError::Archive { .. } => (Exit::REFUSED, "archive"),
        ContinueError::Withheld { .. } => (Exit::REFUSED, "withheld"),
        ContinueError::InUse { .. } | ContinueError::Continuing { .. } => {
            (Exit::CONFLICT, "locked")
        }
        ContinueError::NotOwner { .. } => (Exit::REFUSED, "not_owner"),
        ContinueError::Changed { .. } | ContinueError::Replaced { .. } => (Exit::FAILED, "changed"),
        ContinueError::Unnamed { .. } | ContinueError::Unsynced { .. } => {
            (Exit::FAILED, "continued_but")
        }
        ContinueError::Refused(_) => (Exit::REFUSED, "no_terminal"),
        ContinueError::Read(SurveyError::NewerVersion { .. }) => (Exit::FAILED, NEWER_VERSION),
        _ => (Exit::FAILED, "io"),
    };
    Failure::new(exit, code, visible_once(&error.to_string()))
}
