//! `holdpoint decision create --revises`: after guidance, the question is asked anew.

use crate::args::Global;
use crate::questions::decision_change::Change;
use crate::questions::decision_output::standing;
use crate::questions::permits::Act;
use crate::ui::{Exit, Failure};
use holdpoint_domain::Command;
use holdpoint_domain::decision_point::{DecisionOption, DecisionPointCommand, RefineDecisionPoint};

/// What another round says; the rest stays as before, and has to fit.
pub(super) struct Revision {
    pub(super) prompt: Option<String>,
    pub(super) context: Option<String>,
    /// They replace the options of the round before.
    pub(super) options: Option<Vec<DecisionOption>>,
    pub(super) default_option: Option<String>,
    pub(super) drop_default: bool,
}

/// Asks anew. Only the requester or a person may, and only after guidance.
pub(super) fn revise(
    global: &Global,
    change: &Change,
    revision: Revision,
) -> Result<Exit, Failure> {
    let command = |decision_id, by| {
        let Revision { prompt, context, options, default_option, drop_default } = revision;
        Command::DecisionPoint(DecisionPointCommand::RefineDecisionPoint(RefineDecisionPoint {
            decision_id,
            by,
            prompt,
            context,
            options,
            default_option,
            drop_default,
        }))
    };
    change.carry_out(global, Act::Revise, command, standing)
}
