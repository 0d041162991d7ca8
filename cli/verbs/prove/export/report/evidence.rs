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
use holdpoint_replay::merged_output::last_lines;
use holdpoint_replay::words::{evidence_in_words, stream_in_words};
use holdpoint_replay::{CapturedOutput, TakenRecord};

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
        let outputs = told.extract.outputs();
        for (sequence, body) in pieces {
            let of_run = outputs.get(&*body.loop_id).into_iter().flatten();
            let data = match &body.content {
                // Of pieces, the bytes stand in their own records.
                EvidenceContent::OutputPieces(stated) => of_run
                    .filter(|it| it.stream == stated.stream && it.sequence >= sequence)
                    .map(|it| &*it.bytes)
                    .next(),
                _ => Some(body.raw_data.as_bytes()),
            };
            shown(html, sequence, body, data.unwrap_or_default());
        }
    }
}

/// The last lines of what a run printed, by its streams.
pub(super) fn put_last_lines(html: &mut Html, outputs: &[CapturedOutput]) {
    for stream in [OutputStream::Stdout, OutputStream::Stderr, OutputStream::Payload] {
        let mut newest = outputs.iter().rev().filter(|output| output.stream == stream);
        if let Some(output) = newest.find(|output| !output.bytes.is_empty()) {
            html.sentence(&format!("The last lines of {}:", stream_in_words(stream)));
            html.bytes(last_lines(&output.bytes, LAST_LINES));
        }
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
