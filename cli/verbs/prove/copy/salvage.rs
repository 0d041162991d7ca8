//! Copies the part of a damaged log that verifies into a new one.

use crate::args::Global;
use crate::log::Directory;
use crate::log::damage::NEWER_VERSION;
use crate::log::open::read_end;
use crate::log::verdict::{exit_of, warn_of_made};
use crate::questions::adoption::show_adoption;
use crate::ui::program::program;
use crate::ui::text::bytes;
use crate::ui::{Bar, Exit, Failure, Output, complain, counted, path};
use crate::verbs::prove::copy::Args;
use holdpoint_domain::World;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::log::{RecordsLost, RecordsUnproven, UnprovenReason};
use holdpoint_engine::shell::{
    SalvageError, SalvageProgress, SalvageReport, SystemClock, salvage, writer_of,
};
use holdpoint_log_files::SurveyError;
use holdpoint_log_format::names;
use holdpoint_replay::{Progress, Rebuilt, leading, records_named};
use serde_json::json;

/// Losses and findings shown to a person; `--json` shows all.
const SHOWN_MAX: usize = 20;

/// Salvages SRC into DST. Exit 0 when a new log was made, also if something was lost; 6 when that
/// one does not verify, because the rules forbid what was kept; 3 when there was nothing to keep, 5
/// when DST is taken.
pub(super) fn run(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let old = Directory::open_argument(&args.source, "SRC")?.path;
    warn_of_writer(args);
    let mut bar = Bar::new();
    let mut update = |progress: SalvageProgress| {
        let SalvageProgress { sequence, expected } = progress;
        bar.update(Progress { sequence, expected });
    };
    let salvaged = salvage(&old, &args.destination, &SystemClock, &mut update);
    drop(bar);
    let report = salvaged.map_err(|error| failure(&error))?;
    let made = read_end(&Directory::open_other(&args.destination)?)?;
    show(global, &report, &made)?;
    warn_of_made("the new log is kept, and has what SRC has", &args.destination, &made.report);
    Ok(exit_of(&made.report))
}

fn warn_of_writer(args: &Args) {
    if let Some(pid) = writer_of(&args.source) {
        complain(&format!(
            "process {pid} is writing to {}: what it adds from now on is not salvaged",
            path(&args.source)
        ));
    }
}

fn failure(error: &SalvageError) -> Failure {
    let (exit, code) = match error {
        SalvageError::NothingHere { .. } => (Exit::NOT_FOUND, "nothing_here"),
        SalvageError::NotADirectory { .. } => (Exit::FAILED, "not_a_directory"),
        SalvageError::NoSegment { .. } | SalvageError::NothingKept { .. } => {
            (Exit::NOT_FOUND, "nothing_kept")
        }
        SalvageError::Inside { .. } => (Exit::USAGE, "target_inside"),
        SalvageError::NotEmpty { .. } => (Exit::REFUSED, "target_not_empty"),
        SalvageError::Unfinished { .. } => (Exit::REFUSED, "target_unfinished"),
        SalvageError::Changed { .. } => (Exit::FAILED, "source_changed"),
        SalvageError::UnknownKind { .. } | SalvageError::Read(SurveyError::NewerVersion { .. }) => {
            (Exit::FAILED, NEWER_VERSION)
        }
        _ => (Exit::FAILED, "io"),
    };
    Failure::new(exit, code, error)
}

fn show(global: &Global, report: &SalvageReport, made: &Rebuilt) -> Result<(), Failure> {
    let Rebuilt { world, report: verified, .. } = made;
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&json!({
            "path": report.path.to_string_lossy(),
            "log_id": report.log.to_string(),
            "newest_sequence": report.newest_sequence,
            "begins_behind": report.begins_behind,
            "withheld": report.withheld,
            "salvaged": report.salvaged,
            "losses": report.losses,
            "unproven": report.unproven,
            "policy_lost": world.is_policy_lost(),
            "lost_before": world.lost_before(),
            "verdict": verified.verdict,
            "first_finding": leading(&verified.findings),
        }));
    } else {
        show_to_person(&mut out, report, world);
    }
    out.finish()
}

fn show_to_person(out: &mut Output, report: &SalvageReport, made: &World) {
    let salvaged = &report.salvaged;
    out.line(format_args!("new log         {}", path(&report.path)));
    out.line(format_args!("                {}, of log {}", report.log, salvaged.source_log));
    out.line(format_args!(
        "kept            {} of {} to {}; record {} is the report",
        counted(salvaged.records_kept, "record"),
        salvaged.source_first_sequence,
        salvaged.source_last_sequence,
        report.begins_behind + 1
    ));
    if report.begins_behind > 0 {
        let archived = records_named(1, report.begins_behind);
        out.line(format_args!("archived        {archived}: in an archive, not here"));
    }
    out.line(format_args!("lost            {}", lost(report)));
    show_losses(out, &report.losses);
    show_unproven(out, &report.unproven);
    show_findings(out, report);
    if let Some(record) = made.lost_before() {
        out.line(format_args!(
            "in doubt        what began before record {record}: it may have ended in what is"
        ));
        out.line("                lost, and permits nothing; end it, and ask, begin or grant anew");
    }
    if made.is_policy_lost() {
        let program = program(&report.path);
        out.line("policy          it may have been lost: nothing begins in the new log before a");
        out.line(
            "                person sets one, at a terminal, with all that the lost one demanded:",
        );
        out.line(format_args!("                {program} policy set"));
    }
    out.line(format_args!("next            {} verify", program(&report.path)));
    show_adoption(out, &report.path);
}

fn lost(report: &SalvageReport) -> String {
    let withheld = match report.withheld {
        0 => String::new(),
        withheld => format!(", {} of them withheld", withheld),
    };
    let salvaged = &report.salvaged;
    format!(
        "{} known to be missing{withheld}; {} not kept",
        counted(salvaged.records_lost, "record"),
        bytes(salvaged.bytes_not_kept)
    )
}

fn show_losses(out: &mut Output, losses: &[RecordsLost]) {
    for (loss, number) in losses.iter().zip(1..).take(SHOWN_MAX) {
        out.line(format_args!("  {number}. {}{}", place_of(loss), records_of(loss)));
        out.line(format_args!("     {}", visible(&loss.problem)));
        if let Some(file) = &loss.copied_to {
            out.line(format_args!("     copied to {} ({})", visible(file), bytes(loss.length)));
        }
    }
    out.more(losses.len() as u64, SHOWN_MAX);
}

/// What the new log holds without proof.
fn show_unproven(out: &mut Output, unproven: &[RecordsUnproven]) {
    for range in unproven.iter().take(SHOWN_MAX) {
        let why = match range.reason {
            UnprovenReason::Damage => "something behind was changed or is missing",
            UnprovenReason::NoWitness => "no witness reached as far",
        };
        let named = records_named(range.first_sequence, range.last_sequence);
        out.line(format_args!("unproven        {named} of the new log: {why}"));
    }
    out.more(unproven.len() as u64, SHOWN_MAX);
}

/// Records that no file holds have no place.
fn place_of(loss: &RecordsLost) -> String {
    match loss.file.as_str() {
        names::SEGMENTS => String::new(),
        file => format!("{}, byte {}: ", visible(file), loss.offset),
    }
}

fn records_of(loss: &RecordsLost) -> String {
    match (loss.source_first_sequence, loss.source_last_sequence) {
        (0, _) => "no record is missing".to_string(),
        (first, 0) => format!("from record {first} on"),
        (first, last) => records_named(first, last),
    }
}

/// What the losses above do not say already.
fn show_findings(out: &mut Output, report: &SalvageReport) {
    let salvaged = &report.salvaged;
    let told = (report.losses.len() as u64).saturating_sub(report.unreadable);
    let others = salvaged.findings_total.saturating_sub(told);
    if others == 0 {
        return;
    }
    out.line(format_args!("findings        {others} more about the old log"));
    let count = usize::try_from(others).unwrap_or(usize::MAX).min(SHOWN_MAX);
    for (finding, number) in salvaged.findings.iter().zip(1..).take(count) {
        out.line(format_args!("  {number}. {}", visible(finding)));
    }
    out.more(others, SHOWN_MAX);
}
