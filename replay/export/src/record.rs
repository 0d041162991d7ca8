//! One record, with the same fields in every form.

use crate::canonical::make_exact;
use crate::stream::ExportError;
use holdpoint_domain::Event;
use holdpoint_domain::core::ids::Idempotency;
use holdpoint_domain::core::payload::Raw;
use holdpoint_domain::evidence_capture::EvidenceCaptureEvent;
use holdpoint_replay::records::Line;
use holdpoint_replay::{Committed, Content, Reach};
use serde::Serialize;
use serde_json::{Value, json};

/// One record.
#[derive(Serialize)]
pub(crate) struct Record {
    #[serde(flatten)]
    pub(crate) line: Line,
    /// The version of the payload's schema.
    pub(crate) version: u8,
    /// True if more records of the batch follow.
    pub(crate) more_follows: bool,
    /// `event`, `opaque`, `withheld` or `unreadable`.
    pub(crate) payload: &'static str,
    /// The key under which the caller may repeat the command.
    pub(crate) idempotency: Option<Idempotency>,
}

impl Record {
    pub(crate) fn of(record: &Committed, reach: &Reach) -> Self {
        let envelope = record.envelope();
        Self {
            line: Line::within(record, reach),
            version: record.header.version,
            more_follows: record.header.flags.more_follows(),
            payload: match record.content {
                Content::Event(_) => "event",
                Content::Opaque => "opaque",
                Content::Withheld => "withheld",
                Content::Undecodable(_) | Content::NotRead => "unreadable",
            },
            idempotency: envelope.and_then(|envelope| envelope.idempotency.clone()),
        }
    }

    /// The event as JSON; null where there is none. With its evidence in hexadecimal digits where
    /// that is asked for.
    pub(crate) fn event(&self, include_evidence: bool) -> Result<Value, ExportError> {
        let mut value = self.form(serde_json::to_value(&self.line.event))?;
        if include_evidence
            && let Some(Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body))) =
                &self.line.event
        {
            disclose(&mut value, "/raw_data", &body.raw_data);
            if let Some(offered) = &body.offered {
                disclose(&mut value, "/offered/raw_data", &offered.raw_data);
            }
        }
        if include_evidence
            && let Some(Event::EvidenceCapture(EvidenceCaptureEvent::OutputRecorded(body))) =
                &self.line.event
        {
            disclose(&mut value, "/raw_data", &body.raw_data);
        }
        make_exact(&mut value);
        Ok(value)
    }

    /// The whole record as JSON.
    pub(crate) fn value(&self, include_evidence: bool) -> Result<Value, ExportError> {
        let event = self.event(include_evidence)?;
        let mut value = self.form(serde_json::to_value(self))?;
        if let Some(place) = value.get_mut("event") {
            *place = event;
        }
        make_exact(&mut value);
        Ok(value)
    }

    /// The canonical text of a value of this record.
    pub(crate) fn text(&self, value: &Value) -> Result<String, ExportError> {
        self.form(serde_json_canonicalizer::to_string(value))
    }

    fn form<T>(&self, made: Result<T, serde_json::Error>) -> Result<T, ExportError> {
        made.map_err(|source| ExportError::Form { sequence: self.line.sequence, source })
    }
}

/// Adds the bytes to what stands for them.
fn disclose(value: &mut Value, place: &str, raw: &Raw) {
    if let Some(Value::Object(fields)) = value.pointer_mut(place) {
        let digits = base16ct::lower::encode_string(raw.as_bytes());
        fields.insert("hex".to_string(), json!(digits));
    }
}
