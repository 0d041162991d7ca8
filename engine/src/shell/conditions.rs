//! Under which conditions a command is carried out: once for its key, and only on the state that
//! its caller saw.

use super::submit::Origin;
use holdpoint_domain::refusal::DecisionRefusal;
use holdpoint_domain::text::{IdentifierFault, check_identifier};
use holdpoint_domain::world::RequestPlace;
use holdpoint_domain::{Command, Idempotency, Refusal, World};

/// What has to hold for a command to be carried out. By default nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The key under which the command is carried out once (property E5): asked again with the same
    /// content it is answered with the first receipt, with other content it conflicts. Keys are
    /// scoped by tenant, engine and the origin's correlation.
    pub key: Option<IdempotencyKey>,
    /// The version that the caller saw of the loop or request that the command is about (property
    /// E6): the sequence of the last record that changed the loop, or the request's loop. Another
    /// version by now is a conflict. Ignored by commands that are about neither.
    pub expected_version: Option<u64>,
}

/// A caller's own name for one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Whose keys these are.
    pub tenant: String,
    /// Which engine issued the command.
    pub engine: String,
    /// The key itself.
    pub key: String,
}

/// Nothing is to be written: the command was carried out before, with these records. Where the last
/// one is not known, the batch of the first one is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DoneBefore {
    pub(super) first_sequence: u64,
    pub(super) last_sequence: Option<u64>,
}

impl Conditions {
    /// The rules see events only, so the names in their envelopes are checked here.
    pub(super) fn check(&self) -> Result<(), IdentifierFault> {
        let Some(key) = &self.key else { return Ok(()) };
        check_identifier("tenant", &key.tenant)?;
        check_identifier("engine", &key.engine)?;
        check_identifier("idempotency key", &key.key)
    }

    /// The key as it goes on record with the command's events.
    pub(super) fn idempotency(&self, command: &Command) -> Option<Idempotency> {
        self.key.as_ref().map(|key| Idempotency {
            tenant: key.tenant.clone(),
            engine: key.engine.clone(),
            key: key.key.clone(),
            content: command.content(),
        })
    }

    /// Whether the command may be carried out now, was carried out before, or conflicts.
    pub(super) fn admit(
        &self,
        world: &World,
        origin: &Origin,
        command: &Command,
        idempotency: Option<&Idempotency>,
    ) -> Result<Option<DoneBefore>, Refusal> {
        if let Some(idempotency) = idempotency
            && let Some(receipt) = world.receipt_of(&origin.correlation, idempotency)?
        {
            return Ok(Some(DoneBefore {
                first_sequence: receipt.first_sequence,
                last_sequence: Some(receipt.last_sequence),
            }));
        }
        self.check_version(world, command).map(|()| None)
    }

    fn check_version(&self, world: &World, command: &Command) -> Result<(), Refusal> {
        let (Some(expected), Some(subject)) = (self.expected_version, command.subject()) else {
            return Ok(());
        };
        let found = version_of(world, command, subject)?;
        let entity = subject.to_string();
        if expected == found {
            Ok(())
        } else {
            Err(Refusal::StaleVersion { entity, expected, found })
        }
    }
}

/// Whoever answers or overrides does so in their own name: what a person decides is recorded as
/// that person's doing, and nobody hands it in for them.
pub(super) fn check_own_name(origin: &Origin, command: &Command) -> Result<(), Refusal> {
    let (request_id, actor, human_id) = match command {
        Command::AnswerDecision(answer) => (&answer.request_id, answer.actor, &answer.human_id),
        Command::OverrideVisibility(allowed) => {
            (&allowed.request_id, allowed.actor, &allowed.human_id)
        }
        _ => return Ok(()),
    };
    let (request_id, speaker) = (request_id.clone(), &origin.actor);
    if speaker.kind != actor {
        return Err(DecisionRefusal::NotHuman { request_id, found: speaker.kind }.into());
    }
    if speaker.id != *human_id {
        let human_id = speaker.id.clone();
        return Err(DecisionRefusal::NotAnApprover { request_id, human_id }.into());
    }
    Ok(())
}

/// Sequence of the last record that changed the loop, or the loop of the request.
fn version_of(world: &World, command: &Command, subject: &str) -> Result<u64, Refusal> {
    if !is_about_request(command) {
        let unknown = || Refusal::LoopNotLive { loop_id: subject.to_string() };
        return world.live_loop(subject).map(|entity| entity.version).ok_or_else(unknown);
    }
    match world.find_request(subject) {
        Some(RequestPlace::Live(entity, _)) => Ok(entity.version),
        // Nothing changes it any more: whatever was seen while it lived is stale, and the rules
        // say what became of it.
        Some(RequestPlace::Closed(_)) => Ok(0),
        None => Err(DecisionRefusal::UnknownRequest { request_id: subject.to_string() }.into()),
    }
}

fn is_about_request(command: &Command) -> bool {
    matches!(
        command,
        Command::AnswerDecision(_) | Command::ExpireDue(_) | Command::OverrideVisibility(_)
    )
}
