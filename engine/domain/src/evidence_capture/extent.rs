//! What is said of an output with a gap, and the bytes that are there.

use alloc::format;
use alloc::string::{String, ToString as _};

use crate::event::OutputCut;

/// What is said of an output contradicts the bytes that are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtentFault {
    /// What is said.
    pub field: &'static str,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub found: u64,
}

/// What must hold where so many bytes were captured: the beginning is part of them, and with what
/// is missing they are the whole. Something is missing.
///
/// # Errors
/// The first thing said that contradicts the bytes.
pub fn check_cut(cut: &OutputCut, captured: u64) -> Result<(), ExtentFault> {
    let fault = |field, expected, found| Err(ExtentFault { field, expected, found });
    let missing = cut.true_length.checked_sub(captured).filter(|missing| *missing > 0);
    match missing {
        None => {
            let expected = format!("more than the {captured} captured");
            fault("length", expected, cut.true_length)
        }
        Some(_) if cut.head_length > captured => {
            let expected = format!("at most the {captured} captured");
            fault("head length", expected, cut.head_length)
        }
        Some(missing) if cut.gap_length != missing => {
            fault("gap length", missing.to_string(), cut.gap_length)
        }
        Some(_) => Ok(()),
    }
}
