//! Why something permits nothing after a salvage.

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

/// What a salvage left in doubt.
pub(crate) trait Doubts {
    /// Why something is in doubt that one record made what it is: 0 where that is not known, and
    /// it may be any.
    fn of_made(&self, by: u64) -> Option<Doubt>;
}

/// What is to be feared of it, as the rest of a sentence.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unproven { first, last } if first == last => {
                write!(f, "may rest on record {first}, which is unproven")
            }
            Self::Unproven { first, last } => {
                write!(f, "may rest on records {first} to {last}, which are unproven")
            }
            Self::LostBefore(record) => {
                write!(f, "may have ended in a record that is lost, before record {record}")
            }
        }
    }
}
