//! Events of a stream of the application, and of what its reducers made of that. Kinds 224 to 255.

use crate::application::types::Data;
use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::core::{events, recorded};

events! {
    /// Event of a stream of the application, or the result of a reducer over such events.
    ApplicationEvent of "application" kinds 224..=255, {
        /// The application says what happened.
        224 v 1 "application.recorded" => ApplicationRecorded;
        /// A reducer's state was fingerprinted.
        225 v 1 "application.reducer_fingerprint_recorded" => ReducerFingerprintRecorded;
    }
}

impl ApplicationEvent {
    /// The stream that the event is about; `None` for what is about a reducer.
    #[must_use]
    pub fn stream(&self) -> Option<&str> {
        match self {
            Self::ApplicationRecorded(body) => Some(&body.stream),
            Self::ReducerFingerprintRecorded(_) => None,
        }
    }
}

recorded! {
    /// Event in the application's own words: a claim of whoever recorded it.
    ApplicationRecorded {
        /// The entity that it happened to: 1 to 256 bytes.
        stream: Text,
        /// The name of what happened: 1 to 256 bytes.
        #[serde(rename = "type")]
        event_type: Text,
        /// The version of what the bytes mean under that name, from 1.
        type_version: u32,
        /// Media type of the bytes, 1 to 128 bytes.
        content_type: Text,
        /// The bytes, at most 63 MiB.
        data: Data,
    }

    /// Result of a reducer of the application over the events up to a record: a claim of the
    /// program that has the reducer. Whoever has not cannot check it.
    ReducerFingerprintRecorded {
        /// The reducer's name: 1 to 256 bytes.
        reducer: Text,
        /// The version of what the reducer does, from 1.
        version: u32,
        /// Name of the encoding of its states, 1 to 128 bytes.
        encoding: Text,
        /// The last record whose event is in the states, before this one; 0: they are those before
        /// the first.
        covers: u64,
        /// BLAKE3 over the encoded states: see docs/reducers.md.
        fingerprint: Digest,
    }
}
