//! One row for each event: its line of codes, and what it is in plain words. Text from outside is
//! shown with control and invisible characters visible; raw evidence only as its length and the
//! beginning of its SHA-256.

mod decision_points;
mod holds;
mod log;
mod loops;
mod registrations;
mod thread_rows;
mod threads;

use holdpoint_domain::application::{
    ApplicationEvent, ApplicationRecorded, ReducerFingerprintRecorded,
};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::{Envelope, Event};
pub use thread_rows::ThreadRow;

/// Longest piece of foreign text in a line, in bytes.
const TEXT_BYTES_MAX: usize = 240;

/// Form in which an event is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// In codes and values.
    Codes,
    /// In plain words, for a reader who knows no code. What somebody claims is told as a claim.
    Words,
}

impl Form {
    /// The row of an event: of both forms the one that is wanted.
    fn of(self, codes: impl FnOnce() -> String, words: impl FnOnce() -> String) -> String {
        match self {
            Self::Codes => codes(),
            Self::Words => words(),
        }
    }
}

/// Returns what happened, in one line of codes and values.
pub(crate) fn summary(event: &Event) -> String {
    tell(event, Form::Codes)
}

/// Describes what happened, in one line that needs no other, control characters visible.
#[must_use]
pub fn in_words(event: &Event) -> String {
    tell(event, Form::Words)
}

/// Describes a record of a thread's story: in words, and what it holds, each value with its name.
#[must_use]
pub fn story_row(envelope: &Envelope) -> (String, Vec<(&'static str, String)>) {
    match &envelope.event {
        Event::InterruptionThread(body) => (threads::words(body), threads::details(body, envelope)),
        other => (in_words(other), Vec::new()),
    }
}

fn tell(event: &Event, form: Form) -> String {
    match event {
        Event::ExecutionLoop(body) => loops::of_loop(body, form),
        Event::EvidenceCapture(body) => loops::of_evidence(body, form),
        Event::SandboxFault(body) => loops::of_fault(body, form),
        Event::HumanDecision(body) => holds::tell(body, form),
        Event::DecisionPoint(body) => decision_points::tell(body, form),
        Event::InterruptionThread(body) => threads::tell(body, form),
        Event::Registration(body) => registrations::tell(body, form),
        Event::Application(ApplicationEvent::ApplicationRecorded(body)) => recorded(body),
        Event::Application(ApplicationEvent::ReducerFingerprintRecorded(body)) => reduced(body),
        Event::Log(body) => log::tell(body, form),
    }
}

fn recorded(body: &ApplicationRecorded) -> String {
    let bytes = body.data.as_bytes().len();
    let bytes = if bytes == 1 { "1 byte".to_string() } else { format!("{bytes} bytes") };
    format!(
        "{}: {} version {}, {bytes} of {}",
        named_by_application(&body.stream),
        named_by_application(&body.event_type),
        body.type_version,
        named_by_application(&body.content_type)
    )
}

fn reduced(body: &ReducerFingerprintRecorded) -> String {
    format!(
        "reducer {} version {}: its states up to record {} as {} have the fingerprint {}",
        named_by_application(&body.reducer),
        body.version,
        body.covers,
        named_by_application(&body.encoding),
        body.fingerprint
    )
}

/// A name of the application's: within quotation marks where it could go on as the line does.
pub(crate) fn named_by_application(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._-/:+@".contains(c);
    if name.chars().all(is_plain) {
        return shown_escaped(name);
    }
    format!("\"{}\"", shown_escaped(&name.replace('"', "'")))
}

/// The first 16 hexadecimal digits.
fn short(digest: &Digest) -> String {
    let text = digest.to_string();
    format!("{}..", bounded(&text, 16))
}

pub(crate) fn shown(text: &str) -> String {
    let cut = bounded(text, TEXT_BYTES_MAX);
    let more = if cut.len() < text.len() { ".." } else { "" };
    format!("{}{more}", visible(cut))
}

/// Text whose recorder has made it visible already: its backslashes stay as they are, and what is
/// hidden nevertheless is shown.
pub(crate) fn shown_escaped(text: &str) -> String {
    shown(text).replace("\\\\", "\\")
}

/// Something of a tenant.
fn named(tenant_id: &str, name: &str) -> String {
    format!("{}/{}", shown(tenant_id), shown(name))
}
