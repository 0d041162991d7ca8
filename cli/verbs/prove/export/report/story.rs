//! What happened, in words: each run, who took part, and one thing after another.

use super::evidence::put_last_lines;
use super::gather::ReportContents;
use super::html::Html;
use crate::log::run_facts::{
    approved, asked, commands, ended, length, marked, outcome, proven, reason_of,
    reason_of_approval,
};
use crate::log::snapshots::until;
use crate::ui::text::bytes;
use crate::ui::{counted, moment};
use crate::verbs::prove::export::report::questions::votes;
use holdpoint_domain::Event;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::evidence_capture::EvidenceCaptureEvent;
use holdpoint_domain::execution_loop::ExecutionLoopEvent;
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_log_files::Standing;
use holdpoint_replay::stretches::{UsageStretch, stretches};
use holdpoint_replay::words::attempt_ended;
use holdpoint_replay::{Line, Run, RunOutcome, TakenRecord, in_words};
use std::collections::BTreeMap;

/// Digits of a run's id by which it is named in a table.
const ID_CHARACTERS: usize = 15;

/// Of a run that may have ended in records that could not be read.
const UNKNOWN_END: &str = "nobody knows how it ended: not all of the log could be read";

/// Each run, and how it ended.
pub(super) fn runs(html: &mut Html, told: &ReportContents) {
    if told.runs.is_empty() {
        html.sentence("No run is told here: no record of one lies in this range.");
    }
    let outputs = if told.has_evidence { told.extract.outputs() } else { BTreeMap::new() };
    for run in &told.runs {
        let is_bad = RunOutcome::of(&run.entity).is_failure();
        html.markup(if is_bad { "<h3 class=\"bad\">" } else { "<h3>" });
        html.text(&format!("Run {}: {}", run.entity.loop_id(), outcome_of(run, told)));
        html.markup("</h3>\n<table class=\"facts\">\n");
        for (name, text) in facts(run, is_lost(run, told)) {
            html.fact(&name, &text);
        }
        html.markup("</table>\n");
        if let Some(outputs) = outputs.get(run.entity.loop_id()).filter(|_| is_bad) {
            put_last_lines(html, outputs);
        }
        run.entity.attempts.iter().for_each(|it| while_it_ran(html, &run.entity, it.number));
    }
    for begun in &told.uncounted {
        html.sentence(&match &begun.twice {
            Some(twice) => format!("Not told: {twice}."),
            None => {
                format!("Not told: the run of record {}, which the rules forbid.", begun.sequence)
            }
        });
    }
}

/// How a run ended, as far as that can be known.
pub(super) fn outcome_of(run: &Run, told: &ReportContents) -> String {
    if is_lost(run, told) { UNKNOWN_END.to_string() } else { outcome(run) }
}

/// So many rows are told of the processes of an attempt.
const STRETCHES_MAX: usize = 48;
/// The chart of their memory is so wide and so high, in units of its own.
const CHART: (u64, u64) = (600, 60);

/// The processes of an attempt while it ran, where snapshots of them were taken.
fn while_it_ran(html: &mut Html, entity: &ExecutionLoop, attempt: u8) {
    let told = stretches(entity, attempt, STRETCHES_MAX);
    let Some(peak) = told.iter().map(|it| it.resident_bytes).max() else { return };
    html.sentence(&format!(
        "The processes of attempt {attempt} while it ran, from {}, with {} of memory at most.",
        counted(entity.snapshots(attempt).count() as u64, "snapshot"),
        bytes(peak)
    ));
    html.markup("<svg viewBox=\"0 0 600 60\" width=\"100%\" height=\"60\" role=\"img\" ");
    html.markup("preserveAspectRatio=\"none\"><title>Resident memory over time</title>");
    html.markup("<polyline fill=\"none\" stroke=\"currentColor\" points=\"");
    html.digits(&points(&told, peak)).markup("\"/></svg>\n");
    html.markup("<table>\n").columns(&["after", "processes", "memory", "processor"]);
    for stretch in &told {
        html.markup("<tr>").cell(&until(stretch.until_ns)).cell(&stretch.processes.to_string());
        html.cell(&bytes(stretch.resident_bytes)).cell(&format!("{} %", stretch.processor));
        html.markup("</tr>\n");
    }
    html.markup("</tbody></table>\n");
}

/// The line of the chart, from the beginning, when there was nothing.
fn points(told: &[UsageStretch], peak: u64) -> String {
    let part = |of: u64, whole: u64, size: u64| {
        let part = u128::from(of) * u128::from(size) / u128::from(whole.max(1));
        u64::try_from(part).unwrap_or(size).min(size)
    };
    let (wide, high) = CHART;
    let last = told.last().map_or(1, |it| it.until_ns);
    let point = |it: &UsageStretch| {
        let y = high.saturating_sub(part(it.resident_bytes, peak, high));
        format!(" {} {y}", part(it.until_ns, last, wide))
    };
    told.iter().fold(format!("0 {high}"), |points, it| points + point(it).as_str())
}

/// Tells whether what is missing of a run may say how it ended.
fn is_lost(run: &Run, told: &ReportContents) -> bool {
    run.entity.halt.is_none() && (!run.unread.is_empty() || told.is_damaged())
}

fn facts(run: &Run, is_lost: bool) -> Vec<(String, String)> {
    let entity = &run.entity;
    let fact = |name: &str, text: String| (name.to_string(), text);
    let begun_by = run.doers.get(&entity.started_sequence);
    let by = begun_by.map_or("nobody knows".to_string(), |it| proven(&it.actor, it.proof));
    let commands = commands(run).into_iter().map(|(name, it)| fact(name, it.to_string()));
    let mut facts: Vec<_> = commands.collect();
    facts.extend([fact("began", moment(entity.started_at)), fact("by", by)]);
    if let Some(point) = run.approval.as_deref() {
        facts.extend(votes(point));
        facts.push(fact("approved", approved(point, moment)));
        facts.extend(reason_of_approval(point).map(|why| fact("because", why.to_string())));
    }
    for held in &entity.decisions.requests {
        let reason = reason_of(held).map(|it| format!(", because: {}", visible(it)));
        let told = asked(run, held, moment);
        facts.push(fact("asked", format!("{told}{}", reason.unwrap_or_default())));
    }
    for attempt in &entity.attempts {
        facts.push((format!("attempt {}", attempt.number), ended(attempt)));
    }
    facts.push(fact("ended", if is_lost { UNKNOWN_END.to_string() } else { end(run) }));
    facts.push(fact("records", format!("{} to {}", run.first, run.last)));
    if run.standing() != Standing::Proven {
        facts.push(fact("standing", "not proven: no witness ties all of it to the log".into()));
    }
    if !run.is_linked() {
        facts.push(fact("evidence", "not what its chain says".to_string()));
    }
    let unread: Vec<String> = run.unread.iter().map(u64::to_string).collect();
    if !unread.is_empty() {
        facts.push(fact("not readable", format!("what record {} says", unread.join(", "))));
    }
    facts
}

fn end(run: &Run) -> String {
    match &run.entity.halt {
        Some(halt) => format!("{}, {}", moment(halt.at), length(run, halt.at)),
        None => "not yet, as far as the log was read".to_string(),
    }
}

/// The records whose payloads are read for the story, with what they say.
fn lines(told: &ReportContents) -> impl Iterator<Item = (&TakenRecord, &Line)> {
    told.extract.records.iter().filter_map(|record| Some((record, record.line.as_ref()?)))
}

/// Everybody in whose name something was recorded.
pub(super) fn people(html: &mut Html, told: &ReportContents) {
    let mut people: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (record, line) in lines(told) {
        if let Some(actor) = &line.actor {
            people.entry(proven(actor, line.proof)).or_default().push(record.header.sequence);
        }
    }
    html.sentence(
        "A person typed at a terminal, as the user whose number stands there. A name that is not \
         proven is what a process said of itself.",
    );
    html.markup("<table>\n").columns(&["who", "records", "first", "last"]);
    for (who, records) in &people {
        let end = |record: Option<&u64>| record.map(u64::to_string).unwrap_or_default();
        html.markup("<tr>").cell(who).cell(&records.len().to_string());
        html.cell(&end(records.first())).cell(&end(records.last())).markup("</tr>\n");
    }
    html.markup("</tbody></table>\n");
}

/// One thing after another; what evidence was taken has a table of its own. Where there is one run
/// alone, it is not named in each row.
pub(super) fn timeline(html: &mut Html, told: &ReportContents) {
    let names_run = told.runs.len() > 1;
    html.markup("<table class=\"story rows\">\n").columns(match names_run {
        true => &["record", "time (UTC)", "who", "what", "run"],
        false => &["record", "time (UTC)", "who", "what"],
    });
    for (record, line) in lines(told).filter(|(_, line)| !is_evidence(line)) {
        let standing = standing(told, record);
        html.markup(if standing == Standing::Proven { "<tr>" } else { "<tr class=\"unproven\">" });
        html.cell(&format!("{}{}", line.sequence, mark(standing))).time(record.header.time);
        let who = line.actor.as_ref().map(|actor| proven(actor, line.proof));
        html.cell(&who.unwrap_or_else(|| "not readable".to_string())).cell(&happened(told, line));
        if names_run {
            html.code(line.loop_id.as_deref().map_or("", short));
        }
        html.markup("</tr>\n");
    }
    html.markup("</tbody></table>\n");
}

/// What is proven of a record.
pub(super) fn standing(told: &ReportContents, record: &TakenRecord) -> Standing {
    let header = &record.header;
    told.report.reach.standing(header.sequence, header.flags.withheld())
}

/// What stands behind the number of a record that is not proven.
pub(super) fn mark(standing: Standing) -> &'static str {
    match standing {
        Standing::Proven | Standing::Withheld => "",
        Standing::Unwitnessed => " (no witness yet)",
        Standing::Unproven | Standing::Damaged | Standing::Archived => " (not proven)",
    }
}

pub(super) fn short(id: &str) -> &str {
    id.get(..ID_CHARACTERS).unwrap_or(id)
}

fn is_evidence(line: &Line) -> bool {
    matches!(
        line.event,
        Some(Event::EvidenceCapture(
            EvidenceCaptureEvent::EvidenceCaptured(_)
                | EvidenceCaptureEvent::ObserverAttached(_)
                | EvidenceCaptureEvent::OutputRecorded(_)
        ))
    )
}

/// What happened, in words that need no other. Of an attempt it is known here whether somebody
/// watched its process.
fn happened(told: &ReportContents, line: &Line) -> String {
    match &line.event {
        Some(Event::ExecutionLoop(ExecutionLoopEvent::ResponseEvaluated(body))) => {
            let mut attempts = told.run(&body.loop_id).into_iter().flat_map(|it| &it.attempts);
            let attempt = attempts.find(|it| it.number == body.attempt);
            attempt_ended(body, &marked(attempt, String::new()))
        }
        Some(Event::ExecutionLoop(event @ ExecutionLoopEvent::LoopHalted(body))) => {
            let last = told.run(&body.loop_id).and_then(|run| run.current_attempt());
            marked(last, in_words(&event.clone().into()))
        }
        Some(event) => in_words(event),
        None => line.summary.clone(),
    }
}
