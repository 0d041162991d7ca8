//! What is told of a log that does not verify, or of what nothing proves.

use crate::log::coverage::none_yet;
use crate::ui::program::program_on;
use crate::ui::text::bytes;
use crate::ui::{Exit, Failure, Output, complain, counted, moment};
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_log_files::joined::ArchivePlace;
use holdpoint_replay::{Finding, Reach, Report, Unproven, Verdict, leading, records_named};
use std::path::Path;

/// Ranges of records without proof that are named.
const RANGES_SHOWN_MAX: usize = 4;

/// What to do with a log that is short of HEAD.
pub(crate) const SHORT_OF_HEAD_ADVICE: &str = "copy the log anew, HEAD before its segments; where \
    the original is gone, a person continues this one with `holdpoint continue DIR`";

/// Where everything that was found wrong stands.
pub(crate) const VERIFY_TELLS: &str = "`holdpoint verify` tells all";

/// Where everything stands that was found wrong with a log, or with the archive of it in which the
/// first of that is.
pub(crate) fn verify_tells(findings: &[Finding]) -> String {
    match leading(findings).and_then(Finding::archive) {
        Some(archive) => format!("`{} verify` tells all", program_on(Path::new(archive))),
        None => VERIFY_TELLS.to_string(),
    }
}

/// The exit code that a report asks for.
pub(crate) fn exit_of(report: &Report) -> Exit {
    match report.verdict {
        Verdict::NothingHere => Exit::NOT_FOUND,
        _ if report.failed() => Exit::VERIFICATION_FAILED,
        _ => Exit::DONE,
    }
}

/// What is said of a log that has this verdict, behind its name.
pub(crate) fn said_of(verdict: Verdict) -> String {
    match verdict {
        Verdict::ForbiddenEvents => format!("has {verdict}"),
        _ => format!("is {verdict}"),
    }
}

/// That a log does not verify, as the failure of a verb that cannot do without, and what that means
/// to who asked.
pub(crate) fn damaged(report: &Report, advice: &str) -> Failure {
    let said = said_of(report.verdict);
    let message = format!("the log {said}{}; {advice}", first_finding(report));
    Failure::new(Exit::VERIFICATION_FAILED, "damaged", message)
}

/// What was found in the part of a log that was read, and what it says of the log; `None`: nothing.
pub(crate) fn found_in_part(findings: &[Finding]) -> Option<String> {
    let first = leading(findings)?;
    Some(format!("the log {}: {first}", said_of(Verdict::by(findings))))
}

/// The same, and where all of it stands.
pub(crate) fn damage_in_part(findings: &[Finding]) -> Option<String> {
    Some(format!("{}; {}", found_in_part(findings)?, verify_tells(findings)))
}

/// What a verb tells that is true of a whole log alone is not told of one that does not verify.
pub(crate) fn refuse_damaged(report: &Report) -> Result<(), Failure> {
    match report.failed() {
        true => Err(damaged(report, &verify_tells(&report.findings))),
        false => Ok(()),
    }
}

/// Why something was not found: in a damaged log it may lie behind the damage.
pub(crate) fn not_found(
    report: &Report,
    what: &str,
    otherwise: impl FnOnce() -> Failure,
) -> Failure {
    match report.failed() {
        true => damaged(report, &format!("{what} may lie behind that")),
        false => otherwise(),
    }
}

/// Says on stderr that a log does not verify, or of what nothing proves, for verbs that show
/// something else.
pub(crate) fn warn(report: &Report) {
    warn_saying(report, "");
}

/// The same, with what is to be said of what was found first.
pub(crate) fn warn_saying(report: &Report, what: &str) {
    warn_unproven(&report.unproven_records);
    if !report.failed() {
        return;
    }
    let what = if what.is_empty() { String::new() } else { format!("; {what}") };
    let (said, first) = (said_of(report.verdict), first_finding(report));
    complain(&format!("the log {said}{first}{what}; {}", verify_tells(&report.findings)));
}

/// Says on stderr that what was made of a log, in a directory of its own, does not verify, because
/// the log does not, and stays all the same.
pub(crate) fn warn_of_made(what: &str, made: &Path, report: &Report) {
    if report.failed() {
        let why = damaged(report, &format!("`{} verify` tells all", program_on(made)));
        complain(&format!("{what}: {}", why.message()));
    }
}

/// Says on stderr why something permits nothing, where it is in doubt, and what follows.
pub(crate) fn warn_permits_nothing(doubt: Option<Doubt>, what: &str) {
    let Some(doubt) = doubt else { return };
    warn_doubt(doubt);
    let why = match doubt {
        Doubt::Unproven { .. } => "rest on them",
        Doubt::LostBefore(_) => "be to what ended in one of them",
    };
    complain(&format!("{what} may {why}, and is void; ask again"));
}

/// What an answer came to, and that it permits nothing where it is in doubt.
pub(crate) fn and_permits(told: &str, doubt: Option<Doubt>) -> String {
    match doubt {
        Some(doubt) => format!("{told}; it {doubt}, and permits nothing"),
        None => told.to_string(),
    }
}

/// Says on stderr of which records that is so.
pub(crate) fn warn_doubt(doubt: Doubt) {
    match doubt {
        Doubt::Unproven { first, last } => warn_unproven(&[Unproven { first, last }]),
        Doubt::LostBefore(record) => complain(&lost_before(record)),
    }
}

/// That there were other records before this one.
pub(crate) fn lost_before(record: u64) -> String {
    format!("record {record} says that records before it are lost or may be")
}

/// Names records without proof on stderr, if there are any.
pub(crate) fn warn_unproven(unproven: &[Unproven]) {
    if !unproven.is_empty() {
        complain(&taken_over(unproven));
    }
}

/// The first ranges of records without proof.
fn taken_over(unproven: &[Unproven]) -> String {
    if let [Unproven { first, last }] = unproven
        && first == last
    {
        return format!("record {first} is unproven: a salvage took it over without proof");
    }
    let told: Vec<String> = unproven.iter().take(RANGES_SHOWN_MAX).map(records_of).collect();
    let more = match unproven.len().saturating_sub(RANGES_SHOWN_MAX) {
        0 => String::new(),
        more => format!(" and {more} more ranges"),
    };
    let told = told.join(", ");
    format!("records {told}{more} are unproven: a salvage took them over without proof")
}

pub(crate) fn records_of(Unproven { first, last }: &Unproven) -> String {
    if first == last { first.to_string() } else { format!("{first} to {last}") }
}

/// A line on the records without proof, if there are any.
pub(crate) fn show_unproven(out: &mut Output, unproven: &[Unproven]) {
    if !unproven.is_empty() {
        out.line(format_args!("unproven        {}", taken_over(unproven)));
    }
}

pub(crate) fn first_finding(report: &Report) -> String {
    leading(&report.findings).map_or(String::new(), |finding| format!(": {finding}"))
}

/// Where the records begin that have no witness yet, if there are any.
pub(crate) fn show_witness(out: &mut Output, reach: &Reach) {
    if let Some(first) = reach.no_witness_from {
        out.line(format_args!("witness         {}", none_yet(first)));
    }
}

/// Counts, identity, newest record and mark.
pub(crate) fn show_reach(out: &mut Output, report: &Report) {
    let unknown = "not known".to_string();
    let log_id = report.log_id.as_ref().unwrap_or(&unknown);
    out.line(format_args!("log             {log_id}, format {}", report.format_version));
    out.line(format_args!(
        "records         {} ({}) in {} ({})",
        report.records,
        bytes(report.record_bytes),
        counted(report.segments, "segment"),
        bytes(report.file_bytes)
    ));
    for ArchivePlace { first, last, path } in report.archives.all() {
        out.line(format_args!("archived        {}, in {path}", records_named(*first, *last)));
    }
    if report.withheld > 0 {
        out.line(format_args!("withheld        {}", counted(report.withheld, "record")));
    }
    if let Some(head) = &report.head {
        out.line(format_args!("head            record {}, {}", head.sequence, moment(head.time)));
        out.line(format_args!("                {}", head.link));
    }
    out.line(format_args!(
        "mark            record {}, the newest with durable evidence",
        report.mark
    ));
    show_witness(out, &report.reach);
    if let Some(tail) = &report.tail {
        out.line(format_args!(
            "tail            {} of {} in {} from byte {}",
            counted(tail.bytes, "byte"),
            if report.verdict.is_of_damage() { "no valid run" } else { "an unfinished write" },
            tail.segment,
            tail.offset
        ));
    }
}
