//! What is in force where nothing says anything: what the reading of commands takes of the
//! program's configuration.

use holdpoint_domain::human_decision::HoldTerms;
use holdpoint_domain::policy::GateTerms;

/// The terms of a run.
pub struct InForce {
    /// Of its hold.
    pub hold: HoldTerms,
    /// Of its gate.
    pub gate: GateTerms,
}

impl InForce {
    /// No hold.
    pub fn nothing() -> Self {
        Self { hold: HoldTerms::never(), gate: GateTerms::default() }
    }
}
