//! An event of the application as a reducer sees it, and events that have a type of their own.

use holdpoint_domain::application::{ApplicationRecorded, Data, RecordEvent};
use holdpoint_domain::core::actor::ActorId;
use holdpoint_domain::core::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

/// Content type of the data of a typed event.
const JSON: &str = "application/json";

/// An event of the application, in its place in the log.
#[derive(Clone, Copy, Debug)]
pub struct ApplicationEvent<'a> {
    /// The record's sequence.
    pub sequence: u64,
    /// Time when it was recorded.
    pub time: Timestamp,
    /// Actor who recorded it: a claim, unless the record's proof says more.
    pub actor: &'a ActorId,
    /// The story that it belongs to.
    pub correlation: &'a str,
    /// The record that caused it.
    pub causation: Option<u64>,
    /// Content of it: stream, type, version, content type, bytes.
    pub body: &'a ApplicationRecorded,
}

impl ApplicationEvent<'_> {
    /// The entity that it happened to.
    #[must_use]
    pub fn stream(&self) -> &str {
        &self.body.stream
    }

    /// The name of what happened.
    #[must_use]
    pub fn event_type(&self) -> &str {
        &self.body.event_type
    }

    /// The event as a value of a type; `None` where it is of another type. One of an older version
    /// goes through the type's [upcasters](EventType::upcast), a step at a time.
    ///
    /// # Errors
    /// See [`EventError`].
    pub fn read<T: EventType>(&self) -> Result<Option<T>, EventError> {
        if self.event_type() != T::TYPE {
            return Ok(None);
        }
        let (at, found) = (self.sequence, self.body.type_version);
        if found > T::VERSION {
            let (event_type, known) = (T::TYPE, T::VERSION);
            return Err(EventError::Newer { sequence: at, event_type, known, found });
        }
        let shape = |source| EventError::Shape { sequence: at, event_type: T::TYPE, source };
        let bytes = self.body.data.as_bytes();
        if found == T::VERSION {
            return serde_json::from_slice(bytes).map(Some).map_err(shape);
        }
        let mut value: Value = serde_json::from_slice(bytes).map_err(shape)?;
        for from in found..T::VERSION {
            value = T::upcast(from, value).map_err(|reason| EventError::Upcast {
                sequence: at,
                event_type: T::TYPE,
                from,
                reason,
            })?;
        }
        serde_json::from_value(value).map(Some).map_err(shape)
    }
}

/// A type whose values are events of the application, recorded as JSON.
pub trait EventType: Serialize + DeserializeOwned {
    /// The name of what happened: 1 to 256 bytes, visible, without blanks around it.
    const TYPE: &'static str;

    /// The version of the type's shape, from 1: the one that is recorded today.
    const VERSION: u32 = 1;

    /// Returns what a value of version `from` is in the next one. A type that was never changed
    /// needs none.
    ///
    /// # Errors
    /// Why there is no such value, in the application's words.
    fn upcast(from: u32, data: Value) -> Result<Value, String> {
        let _ = data;
        Err(format!("there is no upcaster from version {from}"))
    }

    /// The command that records this of a stream.
    ///
    /// # Errors
    /// The value has no JSON: a map whose keys are no texts, for one.
    fn of(&self, stream: impl Into<String>) -> Result<RecordEvent, serde_json::Error> {
        Ok(RecordEvent {
            stream: stream.into(),
            event_type: Self::TYPE.to_string(),
            type_version: Self::VERSION,
            content_type: JSON.to_string(),
            data: Data::from(serde_json::to_vec(self)?),
        })
    }
}

/// Why an event cannot be read as its type.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EventError {
    /// It was recorded by a program with a newer version of the type.
    #[error(
        "record {sequence}: {event_type} is of version {found}, and this program knows versions up \
         to {known}: use a newer one"
    )]
    Newer {
        /// The record.
        sequence: u64,
        /// The type.
        event_type: &'static str,
        /// The newest version that is known here.
        known: u32,
        /// The event's version.
        found: u32,
    },
    /// An upcaster says no.
    #[error("record {sequence}: {event_type} of version {from} cannot be taken up: {reason}")]
    Upcast {
        /// The record.
        sequence: u64,
        /// The type.
        event_type: &'static str,
        /// The version that the upcaster was given.
        from: u32,
        /// Why not, in the application's words.
        reason: String,
    },
    /// Its data is no value of the type.
    #[error("record {sequence} does not hold a {event_type}: {source}")]
    Shape {
        /// The record.
        sequence: u64,
        /// The type.
        event_type: &'static str,
        /// Place and reason of the failure.
        source: serde_json::Error,
    },
    /// The reducer itself refuses it.
    #[error("record {sequence}: {reason}")]
    Refused {
        /// The record.
        sequence: u64,
        /// Why, in the application's words.
        reason: String,
    },
}
