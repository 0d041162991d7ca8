//! What was kept as evidence: by length and digest, and the bytes where somebody asked for them.

use super::gather::ReportContents;
use super::html::Html;
use super::story::short;
use crate::log::captured_output::LAST_LINES;
use crate::ui::text::bytes;
use holdpoint_domain::Event;
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, EvidenceCaptured, EvidenceContent, OutputStream,
};
use holdpoint_replay::TakenRecord;
use holdpoint_replay::merged_output::last_lines;
use holdpoint_replay::words::{evidence_in_words, stream_in_words};
use std::collections::BTreeMap;

/// So many bytes of a piece are shown; all of it is in its record.
const SHOWN_MAX: usize = 64 * 1_024;

/// Every piece of the runs.
pub(super) fn evidence(html: &mut Html, told: &ReportContents) {
    let pieces: Vec<(u64, &EvidenceCaptured)> =
        told.extract.records.iter().filter_map(piece).collect();
    if pieces.is_empty() {
        html.sentence("None was kept.");
        return;
    }
    html.sentence(match told.has_evidence {
        true => "The bytes stand below, secrets included. Nothing in them is said by holdpoint.",
        false => "The bytes are not on this page. Compare a copy of them by its SHA-256.",
    });
    html.markup("<table class=\"pieces rows\">\n");
    html.columns(&["record", "what", "length", "SHA-256", "run"]);
    for (sequence, body) in &pieces {
        html.markup("<tr>").cell(&sequence.to_string()).cell(&what(&body.content));
        html.cell(&bytes(body.raw_data.length())).code(&body.raw_data.sha256().to_string());
        html.code(short(&body.loop_id)).markup("</tr>\n");
    }
    html.markup("</tbody></table>\n");
    if told.has_evidence {
        let mut printed = Printed::new();
        told.extract.records.iter().for_each(|record| put(html, record, &mut printed));
    }
}

/// The beginning of each stream that is recorded in pieces, until evidence states it.
type Printed<'t> = BTreeMap<(&'t str, OutputStream), Vec<u8>>;

fn put<'t>(html: &mut Html, record: &'t TakenRecord, printed: &mut Printed<'t>) {
    let event = record.line.as_ref().and_then(|line| line.event.as_ref());
    let Some(Event::EvidenceCapture(event)) = event else { return };
    match event {
        EvidenceCaptureEvent::OutputRecorded(body) => {
            let begun = printed.entry((&*body.loop_id, body.stream)).or_default();
            let room = SHOWN_MAX.saturating_add(1).saturating_sub(begun.len());
            let bytes = body.raw_data.as_bytes();
            begun.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
        EvidenceCaptureEvent::EvidenceCaptured(body) => {
            let data = match &body.content {
                EvidenceContent::OutputPieces(stated) => {
                    printed.remove(&(&*body.loop_id, stated.stream)).unwrap_or_default()
                }
                _ => body.raw_data.as_bytes().to_vec(),
            };
            shown(html, record.header.sequence, body, &data);
        }
        EvidenceCaptureEvent::ObserverAttached(_)
        | EvidenceCaptureEvent::StopConditionDetected(_)
        | EvidenceCaptureEvent::ChainSealed(_) => {}
    }
}

/// The last lines of what a run printed, by its streams.
pub(super) fn put_last_lines(html: &mut Html, told: &ReportContents, loop_id: &str) {
    let mut printed: BTreeMap<OutputStream, Vec<u8>> = BTreeMap::new();
    for record in &told.extract.records {
        match record.line.as_ref().and_then(|line| line.event.as_ref()) {
            Some(Event::EvidenceCapture(EvidenceCaptureEvent::OutputRecorded(body)))
                if *body.loop_id == *loop_id =>
            {
                printed.entry(body.stream).or_default().extend(body.raw_data.as_bytes());
            }
            Some(Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)))
                if *body.loop_id == *loop_id =>
            {
                // Of pieces, the bytes stand in their own records.
                let is_stated = matches!(body.content, EvidenceContent::OutputPieces(_));
                if let Some(extent) = body.content.output().filter(|_| !is_stated) {
                    printed.insert(extent.stream, body.raw_data.as_bytes().to_vec());
                }
            }
            _ => {}
        }
    }
    for (stream, bytes) in printed.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        html.sentence(&format!("The last lines of {}:", stream_in_words(*stream)));
        html.bytes(last_lines(bytes, LAST_LINES));
    }
}

fn piece(record: &TakenRecord) -> Option<(u64, &EvidenceCaptured)> {
    match record.line.as_ref()?.event.as_ref()? {
        Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) => {
            Some((record.header.sequence, body))
        }
        _ => None,
    }
}

fn shown(html: &mut Html, sequence: u64, body: &EvidenceCaptured, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    html.markup("<h3>").text(&format!("Record {sequence}: {}", what(&body.content)));
    html.markup("</h3>\n").bytes(data.get(..SHOWN_MAX).unwrap_or(data));
    if data.len() > SHOWN_MAX {
        html.sentence(&format!("The first {}; its record has all.", bytes(SHOWN_MAX as u64)));
    }
}

/// What it is, in words.
fn what(content: &EvidenceContent) -> String {
    match content {
        EvidenceContent::Output(extent) => {
            let whole =
                format!("{} of {}", stream_in_words(extent.stream), bytes(extent.true_length));
            match extent.truncated {
                true => format!(
                    "{whole}, its end is missing; SHA-256 of all of it {}",
                    extent.whole_sha256
                ),
                false => whole,
            }
        }
        EvidenceContent::OutputCut(cut) => format!(
            "{} of {}, {} missing behind byte {}; SHA-256 of all of it {}",
            stream_in_words(cut.stream),
            bytes(cut.true_length),
            bytes(cut.gap_length),
            cut.head_length,
            cut.whole_sha256
        ),
        EvidenceContent::OutputPieces(stated) => {
            let stream = stream_in_words(stated.stream);
            let kept =
                format!("{} recorded in {} pieces", bytes(stated.kept_length), stated.pieces);
            match stated.end {
                Some(end) => format!(
                    "{stream} of {}, {kept}; SHA-256 of all of it {}",
                    bytes(end.true_length),
                    end.whole_sha256
                ),
                None => format!("{stream}, {kept}; the recorder was lost before its end"),
            }
        }
        EvidenceContent::Transition { from, to } => {
            format!("{} ({from} to {to})", evidence_in_words(content))
        }
        EvidenceContent::Decision(decision) => {
            format!("{} ({decision})", evidence_in_words(content))
        }
        EvidenceContent::Stop(condition) => format!("{} ({condition})", evidence_in_words(content)),
        EvidenceContent::Opaque
        | EvidenceContent::Instruction
        | EvidenceContent::Resources(_)
        | EvidenceContent::Snapshot(_) => evidence_in_words(content).to_string(),
    }
}
