//! The command that records an event of the application.

use alloc::string::String;

use crate::application::types::{BYTES, Data};
use crate::core::{bodies, commands};

commands! {
    /// Command of the application.
    ApplicationCommand {
        /// Record that something happened to a stream.
        "application.record" RecordEvent(RecordEvent);
    }
}

bodies! {
    /// See [`ApplicationCommand::RecordEvent`].
    RecordEvent {
        /// The entity that it happened to: 1 to 256 bytes, visible, without blanks around it, and
        /// no id as Holdpoint mints them.
        stream: String,
        /// The name of what happened: 1 to 256 bytes, visible, without blanks around it.
        #[serde(rename = "type")]
        event_type: String,
        /// The version of what the bytes mean under that name, from 1.
        #[serde(default = "first_version")]
        type_version: u32,
        /// Media type of the bytes, 1 to 128 bytes, visible.
        #[serde(default = "bytes")]
        content_type: String,
        /// The bytes, at most 63 MiB: a text, or `{"hex": DIGITS}`.
        #[serde(default)]
        data: Data,
    }
}

impl RecordEvent {
    /// The first version of an event, as bytes of no stated kind.
    #[must_use]
    pub fn new(
        stream: impl Into<String>,
        event_type: impl Into<String>,
        data: impl Into<Data>,
    ) -> Self {
        Self {
            stream: stream.into(),
            event_type: event_type.into(),
            type_version: first_version(),
            content_type: bytes(),
            data: data.into(),
        }
    }

    /// The same, of this version.
    #[must_use]
    pub fn version(self, type_version: u32) -> Self {
        Self { type_version, ..self }
    }

    /// The same, of this media type.
    #[must_use]
    pub fn content_type(self, content_type: impl Into<String>) -> Self {
        Self { content_type: content_type.into(), ..self }
    }
}

const fn first_version() -> u32 {
    1
}

fn bytes() -> String {
    String::from(BYTES)
}
