//! Owner of a log: where its policy names nobody, its owner decides about a looser one.

use super::user::name_of_user;
use holdpoint_domain::log::{LogCommand, Loosened};
use holdpoint_domain::{Command, Refusal, World};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The name of the user to whom a log belongs; `None` where that cannot be told.
#[must_use]
pub fn owner_of(log: &Path) -> Option<String> {
    log.metadata().ok().map(|metadata| name_of_user(metadata.uid()))
}

/// Checks whether a looser policy was asked of the owner, where the one before names nobody.
pub(super) fn check_owner(world: &World, log: &Path, command: &Command) -> Result<(), Refusal> {
    let Command::Log(LogCommand::RelaxPolicy(change)) = command else { return Ok(()) };
    let point = change.approval.as_deref().and_then(|id| world.decision_point(id));
    let (Some(point), Some(owner)) = (point, owner_of(log)) else { return Ok(()) };
    if !world.policy().approvers.is_empty() {
        return Ok(());
    }
    let approvers = point.terms.policy.as_ref().map(|policy| &*policy.approvers);
    let approvers = approvers.unwrap_or_default();
    if matches!(approvers, [only] if **only == *owner) {
        return Ok(());
    }
    let found: Vec<&str> = approvers.iter().map(|name| &**name).collect();
    let found = if found.is_empty() { "anybody".to_string() } else { found.join(", ") };
    let loosened = Loosened { field: "approvers", expected: owner, found };
    Err(loosened.into())
}
