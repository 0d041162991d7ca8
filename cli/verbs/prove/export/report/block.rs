//! The records of a page as lines that its script and `verify.py` read. The form is described in
//! `docs/report.md`.

use base64ct::{Base64, Encoding};
use holdpoint_domain::core::hash::sha256;
use holdpoint_log_format::{ChainPosition, Link};
use holdpoint_replay::{Extract, Head};
use std::fmt::Write;

/// What the lines begin with.
const FORM: &str = "holdpoint-report 1";

/// The lines; `None` where nothing of the log could be read.
pub(super) fn lines(extract: &Extract, head: Option<&Head>) -> Option<String> {
    let (log, before) = (extract.log?, extract.before?);
    let mut lines = format!("{FORM}\nlog {log}\n{}", place("before", &before));
    let mut segment = None;
    for record in &extract.records {
        if segment != Some(record.segment) {
            push(&mut lines, format_args!("segment {}", record.segment));
            segment = Some(record.segment);
        }
        push(&mut lines, format_args!("record {}", Base64::encode_string(&record.frame)));
    }
    let last = extract.records.last().map(|record| ChainPosition::of(&record.header));
    lines.push_str(&place("end", &last.unwrap_or(before)));
    match head {
        Some(Head { sequence, link, .. }) => {
            push(&mut lines, format_args!("head {sequence} {link}"));
        }
        None => lines.push_str("head none\n"),
    }
    let sum = sha256(lines.as_bytes());
    push(&mut lines, format_args!("sum {sum}"));
    Some(lines)
}

fn place(word: &str, ChainPosition { sequence, link, .. }: &ChainPosition) -> String {
    let link: &Link = link;
    format!("{word} {sequence} {link}\n")
}

fn push(lines: &mut String, line: std::fmt::Arguments<'_>) {
    // A text takes whatever is written to it.
    let _ = writeln!(lines, "{line}");
}
