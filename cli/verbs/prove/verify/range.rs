//! `verify A..B`: some records alone.

use super::{colour_of, head, show_axis, show_finding, show_heads};
use crate::args::Global;
use crate::log::Directory;
use crate::log::verdict::{show_unproven, show_witness};
use crate::ui::{Bar, Exit, Failure, Output, path};
use holdpoint_domain::core::text::visible;
use holdpoint_replay::{Range, RangeReport, Verdict, records_named, verify_range};
use std::path::PathBuf;

/// Verifies a range. Exit 3 where the log does not hold all of it.
pub(super) fn verify(global: &Global, range: Range, heads: &[PathBuf]) -> Result<Exit, Failure> {
    let directory = Directory::open(global)?;
    let heads = head::read(heads)?;
    let mut bar = Bar::new();
    let report = directory.read(|storage, options| {
        verify_range(storage, range, &heads, options, &mut |progress| bar.update(progress))
    })?;
    drop(bar);
    if report.verdict == Verdict::NothingHere {
        return Err(not_here(&directory, &report));
    }
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&report);
    } else {
        show(&mut out, &report);
    }
    out.finish()?;
    Ok(match report.verdict {
        verdict if verdict.is_of_damage() => Exit::VERIFICATION_FAILED,
        _ => Exit::DONE,
    })
}

fn not_here(directory: &Directory, report: &RangeReport) -> Failure {
    let shown = path(&directory.path);
    let RangeReport { first, last, begins, reached, .. } = *report;
    // An end that was not named is that of the log, and may lie before or behind the other one.
    let asked = match first > last {
        true if last < begins => records_named(last, last),
        true => format!("records from {first} on"),
        false => records_named(first, last),
    };
    let first = first.min(last);
    let message = match reached {
        0 => format!("there is no record at {shown}: name another directory with --log DIR"),
        // Nothing behind the range was read, which may not be where the log ends.
        _ if first < begins && last <= reached => {
            format!("{shown} does not hold {asked}: it begins with record {begins}")
        }
        _ => format!(
            "{shown} does not hold {asked}: it begins with record {begins} and reaches record \
             {reached}"
        ),
    };
    let archived = directory.said_of_archived((first, last)).filter(|_| first < begins);
    let message = [Some(message), archived].into_iter().flatten().collect::<Vec<_>>().join("; ");
    Failure::new(Exit::NOT_FOUND, "range_not_here", message)
}

fn show(out: &mut Output, report: &RangeReport) {
    let verdict = out.paint(colour_of(report.verdict), report.verdict);
    out.line(format_args!("verdict         {verdict}, of this range alone"));
    show_axis(out, "integrity", &report.integrity);
    show_axis(out, "completeness", &report.completeness);
    show_axis(out, "authenticity", &report.authenticity);
    match report.reached {
        0 => out.line("range           no record of it was read"),
        _ => out.line(format_args!("range           {}", records_named(report.first, report.last))),
    }
    if let Some(from) = &report.from {
        out.line(format_args!("follows from    record {}, {}", from.sequence, from.link));
    }
    if let Some(to) = &report.to {
        out.line(format_args!("ends with       record {}, {}", to.sequence, to.link));
    }
    show_witness(out, &report.reach);
    show_unproven(out, &report.unproven_records);
    show_heads(out, &report.heads);
    if !report.findings.is_empty() {
        out.line(format_args!("findings        {}", report.findings.len()));
    }
    for (finding, number) in report.findings.iter().zip(1..) {
        show_finding(out, number, finding);
    }
    for sentence in &report.not_checked {
        out.line(format_args!("not checked     {}", visible(sentence)));
    }
}
