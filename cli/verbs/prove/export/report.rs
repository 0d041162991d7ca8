//! One page of a run or a range, which a person can read and a program can check.

mod block;
mod evidence;
mod gather;
mod html;
mod page;
pub(crate) mod questions;
mod story;

use crate::args::Global;
use crate::log::export_target::Target;
use crate::log::verdict::{exit_of, verify_tells};
use crate::log::{Directory, coverage, other_logs, warn};
use crate::ui::{Exit, Failure, Output, complain, counted, path};
use crate::verbs::prove::export::Args;
use gather::{ReportContents, gather};
use holdpoint_replay::{Finding, Head, PYTHON_VERIFIER, Reach, Verdict, leading};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// What `--json` says of a page that was made.
#[derive(Serialize)]
struct Summary<'a> {
    out: String,
    first_record: Option<u64>,
    last_record: Option<u64>,
    records: usize,
    with_payload: usize,
    runs: Vec<&'a str>,
    includes_evidence: bool,
    verdict: Verdict,
    first_finding: Option<&'a Finding>,
    head: Option<&'a Head>,
    reach: &'a Reach,
}

/// Writes verify.py, which checks a page, or a log, from outside.
pub(super) fn write_verifier(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let Some(file) = args.file() else {
        let mut out = Output::stdout();
        out.bytes(PYTHON_VERIFIER.as_bytes());
        return out.finish().map(|()| Exit::DONE);
    };
    let written = put(Target::new(file, args.force, None)?, file, PYTHON_VERIFIER)?;
    let mut out = Output::stdout();
    match global.json {
        true => out.json(&serde_json::json!({ "out": written })),
        false => out.line(&written),
    }
    out.finish()?;
    Ok(Exit::DONE)
}

/// Makes a page. Exit 3 where there is no such run or no record there, 6 where the log does not
/// verify: the page is made, and says so.
pub(super) fn export(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let made = report(global, args);
    match &args.run {
        Some(run) => other_logs::told(global, run, made),
        None => made,
    }
}

fn report(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let usage = |code: &'static str, message: &str| Failure::new(Exit::USAGE, code, message);
    if args.run.is_none() && args.since.is_none() {
        return Err(usage("run_missing", "a report is of a run or a range: name RUN or --since"));
    }
    let file = args.file();
    let file =
        file.ok_or_else(|| usage("out_missing", "a report is a file: name it with --output FILE"))?;
    let directory = Directory::open_with_archives(global, &args.archives)?;
    let target = Target::new(file, args.force, Some(&directory))?;
    let told = gather(&directory, args, &target)?;
    if args.include_evidence {
        complain(
            "the page holds raw evidence: whatever commands printed, secrets included; keep it as \
             you keep the log",
        );
    }
    let written = put(target, file, &page::html(&told))?;
    show(global, &told, &written)?;
    warn(&told.report);
    tell_found(&told);
    if !global.json {
        coverage::say(&told.report.reach, told.last());
    }
    directory.tell_unread();
    Ok(match exit_of(&told.report) {
        Exit::DONE if told.is_damaged() => Exit::VERIFICATION_FAILED,
        exit => exit,
    })
}

/// Names what is wrong with the log now and was not while all of it was verified.
fn tell_found(told: &ReportContents) {
    if let Some(first) = leading(&told.extract.findings).filter(|_| !told.report.failed()) {
        let tells = verify_tells(&told.extract.findings);
        complain(&format!("the log is corrupt: {first}; {tells}"));
    }
}

/// Writes all of a file, and gives it its name.
fn put(target: Target, file: &Path, text: &str) -> Result<String, Failure> {
    target.file().write_all(text.as_bytes()).map_err(|error| {
        let advice = "see that there is room, or name a file elsewhere";
        Failure::new(Exit::FAILED, "output", format!("{}: {error}; {advice}", path(file)))
    })?;
    target.heed_signals();
    target.finish()
}

fn show(global: &Global, told: &ReportContents, written: &str) -> Result<(), Failure> {
    let mut out = Output::stdout();
    let records = &told.extract.records;
    let with_payload = records.iter().filter(|record| record.has_payload).count();
    if global.json {
        out.json(&Summary {
            out: written.to_string(),
            first_record: records.first().map(|record| record.header.sequence),
            last_record: records.last().map(|record| record.header.sequence),
            records: records.len(),
            with_payload,
            runs: told.runs.iter().map(|run| run.entity.loop_id()).collect(),
            includes_evidence: told.has_evidence,
            verdict: told.report.verdict,
            first_finding: leading(&told.report.findings).or(told.extract.findings.first()),
            head: told.report.head.as_ref(),
            reach: &told.report.reach,
        });
    } else {
        let (runs, all) = (told.runs.len() as u64, records.len() as u64);
        out.line(format_args!(
            "{written}: {}, {}, {with_payload} of them with their payloads",
            counted(runs, "run"),
            counted(all, "record")
        ));
    }
    out.finish()
}
