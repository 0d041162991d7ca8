//! Why something could not be measured.

use std::fmt::Display;
use thiserror::Error;

/// Why a contender gave no value.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// Something that has to work did not.
    #[error("cannot {operation}: {reason}")]
    Failed {
        /// Operation that was tried.
        operation: &'static str,
        /// Answer to it.
        reason: String,
    },
    /// The contender does not offer what the figure measures: no failure, and told in the table.
    #[error("{0}")]
    NotOffered(&'static str),
}

/// Names what was tried where something fails.
pub trait Doing<T> {
    /// The value, or the failure of `operation`.
    fn doing(self, operation: &'static str) -> Result<T, MeasureError>;
}

impl<T, E: Display> Doing<T> for Result<T, E> {
    fn doing(self, operation: &'static str) -> Result<T, MeasureError> {
        self.map_err(|error| MeasureError::Failed { operation, reason: error.to_string() })
    }
}
