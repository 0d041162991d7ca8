//! A decision point as the seed's storage has it: fourteen fields.

use holdpoint_domain::Time;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{DEFAULT_MAX_ITERATIONS, DecisionOption, DecisionPoint};
use thiserror::Error;

/// A decision point (seed, "DecisionPoint Type"), for the seed's four operations. What it leaves
/// out, such as why a round ended without an answer, [`Engine::decision_point`] tells.
///
/// [`Engine::decision_point`]: crate::Engine::decision_point
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionPointRecord {
    /// The issue that it is about, 1 to 256 bytes; where it was asked without one, its own id.
    pub issue_id: String,
    /// The question, 1 to 4,096 bytes.
    pub prompt: String,
    /// The ways to answer, at most 32. [`DecisionPointRecord::parse_options`] reads the seed's
    /// JSON.
    pub options: Vec<DecisionOption>,
    /// The option that the requester prefers. It is taken by itself only where a deadline is set,
    /// by [`CreateDecisionPoint`](holdpoint_domain::decision_point::CreateDecisionPoint), and its
    /// terms say so.
    pub default_option: Option<String>,
    /// The option that was chosen. To accept the current proposal, set it to `_accept`: what is
    /// read then is its default option. To accept the guidance as it is, set it to `_guidance`:
    /// what is read then has the guidance as its text.
    pub selected_option: Option<String>,
    /// The text that was answered instead of an option, at most 32 KiB.
    pub response_text: Option<String>,
    /// Time when the round ended. The log says so: nobody sets it.
    pub responded_at: Option<Time>,
    /// Name of who ended it, by a name that nothing proves; `system:timeout` where the deadline
    /// did.
    pub responded_by: Option<String>,
    /// The round, from 1 on.
    pub iteration: u8,
    /// Number of rounds there may be, 1 to 20.
    pub max_iterations: u8,
    /// The id of the round before.
    pub prior_id: Option<String>,
    /// The guidance that led to this round. Another one, set in an update, ends the round and opens
    /// the next.
    pub guidance: Option<String>,
    /// Agent or session that asks.
    pub requested_by: String,
    /// Time when the round began. The log says so: nobody sets it.
    pub created_at: Option<Time>,
}

/// A text that is no JSON array of options.
#[derive(Debug, Error)]
#[error(
    "the options are no JSON array of {{\"id\", \"short\", \"label\", \"description\", \
     \"reject\"}}: {0}; mend it"
)]
#[non_exhaustive]
pub struct NotOptions(#[from] serde_json::Error);

impl Default for DecisionPointRecord {
    /// The first of three rounds (seed, "DecisionPoint Type"), and nothing asked yet.
    fn default() -> Self {
        Self {
            issue_id: String::new(),
            prompt: String::new(),
            options: Vec::new(),
            default_option: None,
            selected_option: None,
            response_text: None,
            responded_at: None,
            responded_by: None,
            iteration: 1,
            max_iterations: DEFAULT_MAX_ITERATIONS,
            prior_id: None,
            guidance: None,
            requested_by: String::new(),
            created_at: None,
        }
    }
}

impl DecisionPointRecord {
    /// Options as the seed's JSON text has them. A field that no option has is refused.
    ///
    /// # Errors
    /// [`NotOptions`].
    pub fn parse_options(json: &str) -> Result<Vec<DecisionOption>, NotOptions> {
        Ok(serde_json::from_str(json)?)
    }

    /// A round as it is recorded.
    #[must_use]
    pub fn of(point: &DecisionPoint) -> Self {
        let terms = &point.terms;
        let owned = |text: Option<&str>| text.map(str::to_string);
        let ending = point.ending.as_ref();
        let by = ending.map(|ending| ending.by.as_ref().map_or("system:timeout", |by| &by.id));
        Self {
            issue_id: terms.issue_id.as_ref().unwrap_or(&point.decision_id).to_string(),
            prompt: terms.proposal.prompt.to_string(),
            options: terms.proposal.options.to_vec(),
            default_option: owned(terms.proposal.default_option.as_deref()),
            selected_option: owned(point.selected_option()),
            response_text: owned(point.response_text()),
            responded_at: ending.map(|ending| ending.ended_at),
            responded_by: owned(by),
            iteration: point.iteration,
            max_iterations: terms.max_iterations,
            prior_id: owned(point.prior_id.as_deref()),
            guidance: owned(point.guidance.as_deref()),
            requested_by: point.requested_by.id.to_string(),
            created_at: Some(point.created_at),
        }
    }

    /// The options as they are recorded: each has a short form.
    pub(super) fn full_options(&self) -> Vec<DecisionOption> {
        let full = |option: &DecisionOption| {
            let is_short = !option.short.is_empty();
            let short: &Text = if is_short { &option.short } else { &option.id };
            DecisionOption { short: short.clone(), ..option.clone() }
        };
        self.options.iter().map(full).collect()
    }
}
