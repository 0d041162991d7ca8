//! Claim of a hook about a tool call that it could not put on the log: it waits in a file of its
//! own below `runs/`, and the next writer takes it up.
//!
//! It is a claim, which proves nothing and changes nothing of what was decided: nobody signs it.
//! The owner of the file tells whose hook it was.

use super::conditions::{Conditions, IdempotencyKey};
use super::engine::Core;
use super::error::SubmitError;
use super::rebuild::LiveState;
use super::submit::{By, CommandRequest, Origin, carry_out, moment_of_next};
use super::take_up::owns_log;
use crate::log::{Storage, WriteTransaction};
use holdpoint_domain::core::actor::Proof;
use holdpoint_domain::world::waiting::{KEY_ENGINE, KEY_TENANT, WaitingCommand};

/// Takes up the outcome that waits for a decision point in a file of this name, in a turn. The file
/// goes once that is durable. One that no hook of its owner wrote stays, and counts for nothing.
/// `false`: it was not to be looked at now.
pub(super) fn take_up_outcome<S: Storage>(
    engine: &Core<S>,
    hot: &mut LiveState,
    turn: &mut WriteTransaction<'_, S>,
    (name, decision_id): (&str, &str),
) -> Result<bool, SubmitError> {
    // Who holds its lock still writes it.
    let Ok(Some(file)) = engine.caches.take_run(name) else { return Ok(false) };
    // A torn one stays: its hook was killed before it had said that the outcome is kept, or
    // somebody cut it.
    let Ok((user, Some(payload))) = file.outcome() else { return Ok(true) };
    let waiting: Option<WaitingCommand> = serde_json::from_slice(&payload).ok();
    let claimed = waiting.and_then(|waiting| {
        let users = [Some(user), owns_log(engine, user).then_some(0)];
        let user = users.into_iter().flatten();
        let mut user = user.filter(|user| waiting.is_outcome_of(decision_id, *user));
        user.next().map(|user| (waiting, user))
    });
    let Some((waiting, user)) = claimed else { return Ok(true) };
    let point = hot.world.closed_decision_points().find(|it| *it.decision_id == *decision_id);
    let causation = point.and_then(|it| it.consumed.as_ref()).map(|spent| spent.sequence);
    let WaitingCommand { actor, proven_by, command } = waiting;
    let correlation = actor.id.clone();
    let origin = Origin { actor, correlation, causation };
    let key = IdempotencyKey::new(KEY_TENANT, KEY_ENGINE, format!("outcome {decision_id}"));
    let floors = engine.floors_for(&command)?;
    let by = By { origin: &origin, proof: Some(Proof { user, by: proven_by }) };
    let asked = CommandRequest { by, command: &command, floors: &floors, is_taken_up: true };
    let now = moment_of_next(engine.now(), turn);
    carry_out(engine, hot, turn, asked, &Conditions::once(key), now)?;
    engine.settled.lock().push((turn.position().sequence, file));
    Ok(true)
}
