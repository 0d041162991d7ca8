//! A question of which nothing is said but who asks what.

use holdpoint_domain::command::{CreateDecisionPoint, Entropy};
use holdpoint_domain::decision_point::{DecisionOption, Principal};

/// The answers may be these options; nothing more is wanted.
pub(crate) fn bare_question(
    entropy: Entropy,
    by: Principal,
    prompt: &str,
    options: Vec<DecisionOption>,
) -> CreateDecisionPoint {
    CreateDecisionPoint {
        entropy,
        by,
        issue_id: None,
        prompt: prompt.into(),
        context: None,
        options,
        default_option: None,
        allow_text: None,
        timeout_ms: None,
        expires_at: None,
        timeout_per_round: false,
        on_timeout: None,
        max_iterations: None,
        urgency: None,
        policy: None,
        blocks: Vec::new(),
        evidence: Vec::new(),
        binding: None,
        valid_for_ms: None,
        supersedes: None,
    }
}
