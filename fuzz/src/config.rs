//! The one thing that the reader of `apply` asks the program's configuration.

use holdpoint_domain::human_decision::{HoldPolicy, HoldTerms};

/// The configuration of who has no configuration file.
pub struct Configuration;

impl Configuration {
    /// The terms of a hold that a line leaves away.
    pub fn terms(&self) -> HoldTerms {
        HoldTerms::of(HoldPolicy::OnFailure)
    }
}
