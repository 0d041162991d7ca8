//! Why something permits nothing after a salvage.

use alloc::format;
use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

/// Why nothing is permitted by something that lives. A program is told one of two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Doubt {
    /// It may rest on these records, which nothing proves.
    #[serde(rename = "unproven_part")]
    Unproven {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// It began before this record, which says that records before it are lost or may be: what
    /// ended it, took it back or spent it may be among them.
    #[serde(rename = "lost_before")]
    LostBefore(u64),
}

/// Doubts that a salvage left.
pub(crate) trait Doubts {
    /// Why something is in doubt that one record made what it is: 0 where that is not known, and
    /// it may be any.
    fn of_made(&self, by: u64) -> Option<Doubt>;
}

/// Records in a row, by their sequences.
pub(crate) fn records_named(first: u64, last: u64) -> String {
    if first == last { format!("record {first}") } else { format!("records {first} to {last}") }
}

/// Returns what they are, of one or of several.
pub(crate) const fn are(first: u64, last: u64) -> &'static str {
    if first == last { "is" } else { "are" }
}

/// Consequence that is to be feared of it, as the rest of a sentence.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unproven { first, last } => {
                let (named, are) = (records_named(*first, *last), are(*first, *last));
                write!(f, "may rest on {named}, which {are} unproven")
            }
            Self::LostBefore(record) => {
                write!(f, "may have ended in a record that is lost, before record {record}")
            }
        }
    }
}
