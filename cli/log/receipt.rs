//! What is on record although a verb fails: what went wrong came behind the commit point.

use crate::ui::Failure;
use holdpoint_domain::core::text::visible;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

/// The record that stands, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Recorded {
    /// Sequence of the last record.
    sequence: u64,
    /// The decision, request, run or stream; `None` where it is about the log itself.
    id: Option<String>,
}

impl Recorded {
    pub(crate) fn new(sequence: u64, id: Option<&str>) -> Self {
        Self { sequence, id: id.map(String::from) }
    }
}

impl Failure {
    /// The same failure, behind the commit point.
    pub(crate) fn behind(self, recorded: &Recorded) -> Self {
        let id = recorded.id.as_ref().map(|id| format!(", {}", visible(id))).unwrap_or_default();
        let said = format!("; it is on record nevertheless: record {}{id}", recorded.sequence);
        self.adding(&said).with("recorded", json!(recorded))
    }

    /// The same failure, behind the commit point, where this is to be said of it.
    pub(crate) fn behind_where(self, recorded: &Recorded, so: &str) -> Self {
        self.adding(so).with("recorded", json!(recorded))
    }

    /// The same failure, behind the commit point where something was recorded.
    pub(crate) fn behind_any(self, recorded: Option<&Recorded>) -> Self {
        match recorded {
            Some(recorded) => self.behind(recorded),
            None => self,
        }
    }
}
