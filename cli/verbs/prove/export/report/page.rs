//! The page: a story that a person reads from the top, and below it what it rests on. Which page is
//! made follows from what is told and from that alone: no time of making, no name of a file.

use super::gather::ReportContents;
use super::html::Html;
use super::story::{self, mark, standing};
use super::{block, evidence};
use crate::log::coverage::none_yet;
use crate::log::run_facts::marked_command;
use crate::ui::screen::cut;
use crate::ui::{counted, moment};
use crate::verbs::prove::export::report::questions;
use base64ct::{Base64, Encoding};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::text::visible;
use holdpoint_log_files::Standing;
use holdpoint_replay::{TakenRecord, Unproven, records_named};

/// Columns of a command in the title of a page.
const TITLE_COMMAND: usize = 80;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page. What stands before its records is the same in every page, but for two hashes:
/// `verify.py` demands each byte of it, and so every program that reads a page finds these records.
pub(crate) fn html(told: &ReportContents) -> String {
    let mut html = Html::default();
    html.markup("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    policy(&mut html);
    block(&mut html, told);
    html.markup("<meta name=\"referrer\" content=\"no-referrer\">\n");
    html.markup("<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    html.text(&title(told)).markup("</title>\n<style>").markup(STYLE);
    html.markup("</style>\n</head>\n<body>\n");
    body(&mut html, told);
    html.markup("<script>").markup(SCRIPT).markup("</script>\n</body>\n</html>\n");
    html.finish()
}

/// What the page may do: its own script and its own style, and nothing else.
fn policy(html: &mut Html) {
    let hash = |text: &str| Base64::encode_string(sha256(text.as_bytes()).as_bytes());
    html.markup("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
    html.markup("script-src 'sha256-").digits(&hash(SCRIPT));
    html.markup("'; style-src 'sha256-").digits(&hash(STYLE));
    html.markup("'; base-uri 'none'; form-action 'none'\">\n");
}

/// What is checked.
fn block(html: &mut Html, told: &ReportContents) {
    let lines = block::lines(&told.extract, told.report.head.as_ref());
    html.markup("<script type=\"text/plain\" id=\"holdpoint-records\">");
    html.digits(&lines.unwrap_or_default()).markup("</script>\n");
}

fn title(told: &ReportContents) -> String {
    match told.runs.as_slice() {
        [run] => {
            let outcome = story::outcome_of(run, told);
            let is_claim = run.is_claim(run.entity.attempt_count());
            let command = marked_command(&run.entity.command_line, is_claim);
            format!("{}: {outcome}", cut(&command, TITLE_COMMAND))
        }
        [] => format!("Holdpoint report: {}", records_taken(told)),
        runs => format!("Holdpoint report: {}", counted(runs.len() as u64, "run")),
    }
}

/// The records that the page carries, by their numbers.
fn records_taken(told: &ReportContents) -> String {
    let records = &told.extract.records;
    match (records.first(), records.last()) {
        (Some(first), Some(last)) => records_named(first.header.sequence, last.header.sequence),
        _ => "no record".to_string(),
    }
}

/// All that is read.
pub(crate) fn body(html: &mut Html, told: &ReportContents) {
    html.markup("<header>\n<h1>").text(&title(told)).markup("</h1>\n");
    let log = told.report.log_id.as_deref().unwrap_or("that is not known");
    html.sentence(&format!("Made by holdpoint from {} of log {log}.", records_taken(told)));
    html.markup("<p id=\"check\">Not checked: no script ran on this page. All of it can be read ");
    html.markup("without one. verify.py checks its records, as is said below.</p>\n");
    html.markup("<ol id=\"check-findings\"></ol>\n</header>\n");
    damage(html, told);
    section(html, "What ran", |html| story::runs(html, told));
    if !told.decisions.is_empty() {
        section(html, "What was asked beside that", |html| questions::decisions(html, told));
    }
    folded(html, "Who took part", |html| story::people(html, told));
    folded(html, "What happened", |html| story::timeline(html, told));
    folded(html, "What the log proves, stated by holdpoint", |html| verdicts(html, told));
    folded(html, "Evidence", |html| evidence::evidence(html, told));
    folded(html, "How to check this page", trust);
    folded(html, "The records on this page", |html| records(html, told));
}

fn section(html: &mut Html, title: &'static str, fill: impl FnOnce(&mut Html)) {
    html.markup("<section>\n<h2>").markup(title).markup("</h2>\n");
    fill(html);
    html.markup("</section>\n");
}

/// The same, opened by whoever wants to read it.
fn folded(html: &mut Html, title: &'static str, fill: impl FnOnce(&mut Html)) {
    html.markup("<section>\n<details>\n<summary><h2>").markup(title).markup("</h2></summary>\n");
    fill(html);
    html.markup("</details>\n</section>\n");
}

/// What is wrong with the log, where something is: before all else.
fn damage(html: &mut Html, told: &ReportContents) {
    if !told.is_damaged() {
        return;
    }
    let report = &told.report;
    html.markup("<section class=\"damage\">\n<h2>Damage</h2>\n");
    html.sentence(&format!("The verdict on the log is: {}. {}", report.verdict, missing(told)));
    html.sentence("This is what is wrong with the log, each with its place:");
    html.markup("<ol>\n");
    for finding in report.findings.iter().chain(&told.extract.findings) {
        html.markup("<li>").text(&visible(&finding.to_string()).to_string());
        let (expected, found) = (finding.expected(), finding.found());
        html.text(&format!("; expected {}, found {}", visible(&expected), visible(&found)));
        html.markup("</li>\n");
    }
    html.markup("</ol>\n");
    if report.findings_left_out > 0 {
        let more = counted(report.findings_left_out, "more finding");
        html.sentence(&format!("And {more}, which `holdpoint verify` counts."));
    }
    html.markup("</section>\n");
}

/// Which of the records that were asked for are not here.
fn missing(told: &ReportContents) -> String {
    let Some((first, last)) = told.range else {
        return "What was asked for may lie behind the damage.".to_string();
    };
    match told.last() {
        carried if carried >= last => {
            "The records that were found are all here; others may lie behind the damage.".into()
        }
        0 => format!("Of {} none is here.", records_named(first, last)),
        carried => {
            format!("Of {} those behind record {carried} are not here.", records_named(first, last))
        }
    }
}

/// The verdict, four things apart, and the newest record.
fn verdicts(html: &mut Html, told: &ReportContents) {
    let report = &told.report;
    html.sentence(
        "Nothing on this page proves these answers: `holdpoint verify` gives them anew where the \
         log is.",
    );
    html.markup("<table>\n").columns(&["", "answer", "why"]);
    html.markup("<tr>").cell("verdict").cell(&report.verdict.to_string()).cell("");
    html.markup("</tr>\n");
    for (name, axis) in report.axes.all() {
        html.markup("<tr>").cell(name).cell(&axis.state.to_string());
        html.cell(&visible(&axis.reason).to_string()).markup("</tr>\n");
    }
    html.markup("</tbody></table>\n<table class=\"facts\">\n");
    if let Some(head) = &report.head {
        let time = moment(head.time);
        html.fact("head", &format!("record {}, {time}", head.sequence));
        html.fact("its link", &head.link);
    }
    html.fact("records", &format!("{} in the log", report.records));
    if let Some(first) = report.reach.no_witness_from {
        html.fact("witness", &none_yet(first));
    }
    for Unproven { first, last } in &report.unproven_records {
        let named = records_named(*first, *last);
        html.fact("unproven", &format!("{named}: a salvage took them over without proof"));
    }
    html.markup("</table>\n");
}

/// What a check is worth, and how to make one that counts.
fn trust(html: &mut Html) {
    html.sentence("Whoever can change a page can change its script. A check from outside counts:");
    html.markup(
        "<pre>holdpoint export --format verifier --output verify.py\n\
         python3 -I verify.py THIS-PAGE.html</pre>\n",
    );
    html.sentence(
        "Take verify.py from a holdpoint that you trust. Compare the link with which it ends with \
         the log (`holdpoint log --json`), or with one that was kept elsewhere. No check looks at \
         the words: the same report, made again from the log, has the same words.",
    );
}

/// Every record of the range: what its header says.
fn records(html: &mut Html, told: &ReportContents) {
    let records = &told.extract.records;
    let whole = records.iter().filter(|record| record.has_payload).count() as u64;
    let all = counted(records.len() as u64, "record");
    html.sentence(&format!("{all}, {whole} with the payload and the others with its SHA-256."));
    html.markup("<table class=\"records rows\">\n");
    html.columns(&["record", "time (UTC)", "kind", "payload", "SHA-256 of the payload", "link"]);
    for record in records {
        row(html, told, record);
    }
    html.markup("</tbody></table>\n");
}

fn row(html: &mut Html, told: &ReportContents, record: &TakenRecord) {
    let header = &record.header;
    let standing = standing(told, record);
    html.markup(if standing == Standing::Proven { "<tr>" } else { "<tr class=\"unproven\">" });
    html.cell(&format!("{}{}", header.sequence, mark(standing)));
    html.time(header.time).cell(&record.kind());
    html.cell(match (header.flags.withheld(), record.has_payload) {
        (true, _) => "withheld",
        (false, true) => "here",
        (false, false) => "left out",
    });
    html.code(&base16ct::lower::encode_string(&record.digest)).code(&header.link.to_string());
    html.markup("</tr>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{Sample, compare_file};
    use crate::verbs::prove::export::report::gather::{BYTES_MAX, RECORDS_MAX};
    use holdpoint_log_format::BootId;
    use holdpoint_replay::{Extracted, ReadOptions, Taken, extract, verify};

    /// What a page tells of the runs of the sample, from one record to another.
    fn told(first: u64, last: u64, evidence: bool) -> ReportContents {
        let (sample, unlocked) = (Sample::new(), || Ok(false));
        let (storage, options) = (sample.storage(), ReadOptions::new(BootId::UNKNOWN, &unlocked));
        let report = verify(&storage, options, &mut |_| {}).unwrap();
        let runs: Vec<_> = sample.listed().into_iter().rev().collect();
        let told = runs.iter().flat_map(|run| run.doers.keys()).copied().collect();
        let (most_records, most_bytes) = (RECORDS_MAX, BYTES_MAX);
        let taken = Taken { first, last, told, evidence, most_records, most_bytes };
        let Extracted::Records(extract) = extract(&storage, &taken).unwrap() else {
            panic!("the sample is small");
        };
        let range = Some((first, last));
        ReportContents {
            report,
            runs,
            uncounted: Vec::new(),
            decisions: Vec::new(),
            extract: *extract,
            range,
            has_evidence: evidence,
        }
    }

    #[test]
    fn what_is_read_on_a_page_keeps_its_words() {
        for (name, evidence) in [("report.html", false), ("report-with-evidence.html", true)] {
            let mut html = Html::default();
            let told = told(1, u64::MAX, evidence);
            block(&mut html, &told);
            body(&mut html, &told);
            compare_file(name, &html.finish());
        }
    }

    #[test]
    fn a_page_carries_whole_batches_of_its_range_alone() {
        let all = told(1, u64::MAX, false).extract.records;
        let ends = |from: u64| all.iter().filter(move |it| it.header.sequence >= from);
        let end = ends(5).find(|it| !it.header.flags.more_follows()).unwrap().header.sequence;
        let part = told(3, 5, false).extract;
        assert_eq!(part.records.last().unwrap().header.sequence, end);
        let first = part.records.first().unwrap();
        assert!(first.header.sequence <= 3);
        let before = part.before.unwrap();
        assert_eq!(before.sequence + 1, first.header.sequence);
    }
}
