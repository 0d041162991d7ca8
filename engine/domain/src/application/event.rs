//! What happened to a stream of the application. Kinds 224 to 255.

use crate::application::types::Data;
use crate::core::payload::Text;
use crate::core::{events, recorded};

events! {
    /// What happened to a stream of the application.
    ApplicationEvent of "application" kinds 224..=255, {
        /// The application says what happened.
        224 v 1 "application.recorded" => ApplicationRecorded;
    }

    /// The stream that the event is about.
    pub fn stream(body) -> &str { &body.stream }
}

recorded! {
    /// What happened, in the application's own words: a claim of whoever recorded it.
    ApplicationRecorded {
        /// The entity that it happened to: 1 to 256 bytes.
        stream: Text,
        /// The name of what happened: 1 to 256 bytes.
        #[serde(rename = "type")]
        event_type: Text,
        /// The version of what the bytes mean under that name, from 1.
        type_version: u32,
        /// What the bytes are: a media type, 1 to 128 bytes.
        content_type: Text,
        /// The bytes, at most 63 MiB.
        data: Data,
    }
}
