//! Under which conditions a command is carried out: once for its key, and only on the state that
//! its caller saw.

use super::recall::RecallNeeds;
use super::submit::Origin;
use holdpoint_domain::core::refusal::Malformed;
use holdpoint_domain::core::text::{bounded, check_identifier, check_legible, visible};
use holdpoint_domain::decision_point::{DecisionPointCommand, DecisionPointRefusal};
use holdpoint_domain::governed::LoopRefusal;
use holdpoint_domain::governed::RequestPlace;
use holdpoint_domain::human_decision::{HumanDecisionCommand, HumanDecisionRefusal};
use holdpoint_domain::interruption_thread::ENGINE_ID;
use holdpoint_domain::log::{MAX_LABELS, RecordsLabelled};
use holdpoint_domain::world::KeyReceipt;
use holdpoint_domain::{Command, Idempotency, Proof, Refusal, World, check_repeated};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Bytes that a refusal shows of a name that it found.
const FOUND_BYTES_MAX: usize = 96;

/// Conditions for a command to be carried out. Nothing by default, which callers write as `()`.
///
/// ```
/// use holdpoint_engine::shell::Conditions;
///
/// // Once under this key, and only where the stream still stands at record 7; and as what.
/// let conditions = Conditions::once("payment-1").expecting(7).labelled("build", "42");
/// assert_eq!(conditions.expected_version, Some(7));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conditions {
    /// The key under which the command is carried out once (property E5): asked again with the same
    /// content it is answered with the first receipt, with other content it conflicts. Keys are
    /// scoped by tenant, engine and the origin's correlation. Turns and rows of interruption
    /// threads bring their own ([`Command::own_key`]); another one beside it is refused.
    pub key: Option<IdempotencyKey>,
    /// The version that the caller saw of the loop, request, thread, decision point or stream that
    /// the command is about (property E6): the sequence of the last record that changed the loop,
    /// the request's loop, the thread, the decision point or the stream, and 0 where there is no
    /// such thread or stream.
    /// Another version by now is a conflict. Ignored by commands that are about none of them, or
    /// about a decision point that is not known.
    pub expected_version: Option<u64>,
    /// Labels that the caller gives to what is recorded: at most 32 labels, whose names and values
    /// are visible texts of 1 to 256 bytes. They are claims, of no meaning to any rule, and are
    /// recorded in the same batch (`log.labelled`). They are no part of what a key stands for:
    /// asked again with others, the command is answered with the first receipt, and nothing is
    /// recorded.
    pub labels: BTreeMap<String, String>,
}

/// A caller's own name for one command. A text alone is a key of the application's: tenant and
/// engine are then [`IdempotencyKey::APPLICATION`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Tenant whose keys these are.
    pub tenant: String,
    /// Engine that issued the command.
    pub engine: String,
    /// The key itself.
    pub key: String,
}

impl IdempotencyKey {
    /// Tenant and engine of a key that is a text alone.
    pub const APPLICATION: &str = "application";

    /// A key of an engine of a tenant.
    #[must_use]
    pub fn new(
        tenant: impl Into<String>,
        engine: impl Into<String>,
        key: impl Into<String>,
    ) -> Self {
        Self { tenant: tenant.into(), engine: engine.into(), key: key.into() }
    }
}

impl From<&str> for IdempotencyKey {
    fn from(key: &str) -> Self {
        Self::new(Self::APPLICATION, Self::APPLICATION, key)
    }
}

impl From<String> for IdempotencyKey {
    fn from(key: String) -> Self {
        Self::new(Self::APPLICATION, Self::APPLICATION, key)
    }
}

/// None.
impl From<()> for Conditions {
    fn from((): ()) -> Self {
        Self::default()
    }
}

/// The same as for another command.
impl From<&Self> for Conditions {
    fn from(conditions: &Self) -> Self {
        conditions.clone()
    }
}

/// Those that there are, or none.
impl From<Option<Self>> for Conditions {
    fn from(conditions: Option<Self>) -> Self {
        conditions.unwrap_or_default()
    }
}

/// Nothing is to be written: the command was carried out before, with these records. Where the last
/// one is not known, the batch of the first one is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DoneBefore {
    pub(super) first_sequence: u64,
    pub(super) last_sequence: Option<u64>,
}

impl DoneBefore {
    /// Returns the records that a key was used for.
    pub(super) const fn of(receipt: &KeyReceipt) -> Self {
        Self { first_sequence: receipt.first_sequence, last_sequence: Some(receipt.last_sequence) }
    }
}

/// A command's key, and what was found under it in the log because the state has forgotten it.
#[derive(Clone, Copy)]
pub(super) struct KeyLookup<'a> {
    pub(super) idempotency: Option<&'a Idempotency>,
    pub(super) recalled: Option<&'a KeyReceipt>,
}

impl Conditions {
    /// Makes them as they are given: a key, a version, both or none.
    #[must_use]
    pub fn of(key: Option<IdempotencyKey>, expected_version: Option<u64>) -> Self {
        Self { key, expected_version, labels: BTreeMap::new() }
    }

    /// Once under a key.
    #[must_use]
    pub fn once(key: impl Into<IdempotencyKey>) -> Self {
        Self::default().key(key)
    }

    /// And once under a key.
    #[must_use]
    pub fn key(self, key: impl Into<IdempotencyKey>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// And only on this version of what it is about: see [`Conditions::expected_version`].
    #[must_use]
    pub const fn expecting(mut self, version: u64) -> Self {
        self.expected_version = Some(version);
        self
    }

    /// And with a label on what is recorded: see [`Conditions::labels`].
    #[must_use]
    pub fn labelled(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// The labels as an event, where there are any.
    pub(super) fn labels_from(&self, first_sequence: u64) -> Option<RecordsLabelled> {
        let labels = self.labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        (!self.labels.is_empty()).then(|| RecordsLabelled::of(first_sequence, labels))
    }

    /// The rules see events only, so the names in their envelopes are checked here.
    pub(super) fn check(&self, command: &Command) -> Result<(), Refusal> {
        self.check_labels()?;
        let Some(key) = &self.key else { return Ok(()) };
        if matches!(command, Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(_))) {
            return Err(DecisionPointRefusal::KeyNotTaken.into());
        }
        check_identifier("tenant", &key.tenant)?;
        check_identifier("engine", &key.engine)?;
        check_identifier("idempotency key", &key.key)?;
        let stated = (key.tenant.as_str(), key.engine.as_str(), key.key.as_str());
        match command.own_key() {
            None if key.engine == ENGINE_ID => Err(malformed(
                "idempotency.engine",
                "another engine: the keys of PH1.X are those of turns and rows",
                &key.engine,
            )),
            Some(own) if own != stated => Err(malformed(
                "idempotency_key",
                "no other key beside the command's own",
                &format!("{} of {} of {}", key.key, key.engine, key.tenant),
            )),
            _ => Ok(()),
        }
    }

    /// A list of an event takes no more than it holds: their number is looked at before.
    fn check_labels(&self) -> Result<(), Refusal> {
        match self.labels.len() {
            0 => {}
            1..=MAX_LABELS => self.labels_from(0).map_or(Ok(()), |labels| labels.check())?,
            count => return Err(malformed("labels", "at most 32 labels", &count.to_string())),
        }
        let mut words = self.labels.iter().flat_map(|(name, value)| [name, value]);
        words.try_for_each(|word| Ok(check_legible("label", word)?))
    }

    /// The key as it goes on record with the command's events.
    pub(super) fn idempotency(&self, origin: &Origin, command: &Command) -> Option<Idempotency> {
        let given = self.key.as_ref();
        let given = given.map(|key| (key.tenant.as_str(), key.engine.as_str(), key.key.as_str()));
        let (tenant, engine, key) = command.own_key().or(given)?;
        Some(Idempotency {
            tenant: tenant.to_string(),
            engine: engine.to_string(),
            key: key.to_string(),
            content: command.content_by(&origin.actor),
        })
    }

    /// Returns what has to be known besides the state.
    pub(super) fn seen<'a>(&self, idempotency: Option<&'a Idempotency>) -> RecallNeeds<'a> {
        RecallNeeds { idempotency, has_version: self.expected_version.is_some() }
    }

    /// Checks whether the command may be carried out now, was carried out before, or conflicts.
    pub(super) fn admit(
        &self,
        world: &World,
        origin: &Origin,
        proof: Option<Proof>,
        command: &Command,
        known: KeyLookup<'_>,
    ) -> Result<Option<DoneBefore>, Refusal> {
        world.check_caller(&origin.actor, command)?;
        if let Some(idempotency) = known.idempotency
            && let Some(receipt) = receipt_of(world, origin, command, idempotency, known.recalled)?
        {
            return Ok(Some(DoneBefore::of(receipt)));
        }
        check_own_name(origin, command)?;
        world.check_person(&origin.actor, proof, command)?;
        if let Some(first_sequence) = world.given_before(command) {
            return Ok(Some(DoneBefore { first_sequence, last_sequence: None }));
        }
        self.check_version(world, command).map(|()| None)
    }

    pub(super) fn check_version(&self, world: &World, command: &Command) -> Result<(), Refusal> {
        let (Some(expected), Some(subject)) = (self.expected_version, command.subject()) else {
            return Ok(());
        };
        match version_of(world, command, subject)? {
            Some(found) if found != expected => {
                Err(Refusal::StaleVersion { entity: subject.to_string(), expected, found })
            }
            _ => Ok(()),
        }
    }
}

/// Returns what was recorded under the command's key, if anything. It names what a tenant's thread
/// said, so it is told only where tenant, user, device and session may still be used.
pub(super) fn receipt_of<'a>(
    world: &'a World,
    origin: &Origin,
    command: &Command,
    idempotency: &Idempotency,
    recalled: Option<&'a KeyReceipt>,
) -> Result<Option<&'a KeyReceipt>, Refusal> {
    let found = match world.receipt_of(&origin.correlation, idempotency) {
        Ok(None) => recalled.map_or(Ok(None), |receipt| receipt.given_again(idempotency)),
        found => found,
    };
    let receipt = match found {
        Ok(None) => return Ok(None),
        found => {
            let found = found.map_err(|refusal| refusal.named_as_row(command));
            world.check_scope(command).and(found)?
        }
    };
    receipt.map_or(Ok(()), |receipt| check_repeated(world, command, receipt))?;
    Ok(receipt)
}

/// A command on a thread belongs to the story of that name: whoever reads the story reads the
/// thread, and its keys are the story's.
pub(super) fn check_story(origin: &Origin, command: &Command) -> Result<(), Refusal> {
    match command.thread() {
        Some((_, correlation_id)) if correlation_id != origin.correlation => {
            let expected = "the correlation of the story that the command is given in";
            Err(malformed("correlation_id", expected, correlation_id))
        }
        _ => Ok(()),
    }
}

/// Checks that the cause of a command is on record before the command is carried out.
pub(super) fn check_cause(origin: &Origin, newest: u64) -> Result<(), Refusal> {
    match origin.causation {
        Some(cause) if !(1..=newest).contains(&cause) => {
            let expected = "a record that is there";
            Err(malformed("causation", expected, &cause.to_string()))
        }
        _ => Ok(()),
    }
}

fn malformed(field: &'static str, expected: &'static str, found: &str) -> Refusal {
    let found = bounded(&visible(found).to_string(), FOUND_BYTES_MAX).to_string();
    Malformed { field, expected, found }.into()
}

/// Refuses an answer or override in the name of somebody else: what a person decides is recorded as
/// that person's doing, and nobody hands it in for them.
fn check_own_name(origin: &Origin, command: &Command) -> Result<(), Refusal> {
    if let Some(by) = command.principal().filter(|by| !by.is(&origin.actor)) {
        let shown = |kind: &dyn Display, id: &str| {
            bounded(&visible(&format!("{kind} {id}")).to_string(), FOUND_BYTES_MAX).to_string()
        };
        let expected = shown(&origin.actor.kind, &origin.actor.id);
        let found = shown(&by.kind, &by.id);
        return Err(DecisionPointRefusal::NotOneself { expected, found }.into());
    }
    let (request_id, actor, human_id) = match command {
        Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer)) => {
            (&answer.request_id, answer.actor, &answer.human_id)
        }
        Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(allowed)) => {
            (&allowed.request_id, allowed.actor, &allowed.human_id)
        }
        _ => return Ok(()),
    };
    let (request_id, speaker) = (request_id.clone(), &origin.actor);
    if speaker.kind != actor {
        return Err(HumanDecisionRefusal::NotHuman { request_id, found: speaker.kind }.into());
    }
    if speaker.id != *human_id {
        let human_id = speaker.id.clone();
        return Err(HumanDecisionRefusal::NotAnApprover { request_id, human_id }.into());
    }
    Ok(())
}

/// Sequence of the last record that changed the loop, the loop of the request, the thread, or the
/// stream.
fn version_of(world: &World, command: &Command, subject: &str) -> Result<Option<u64>, Refusal> {
    if command.is_registration() {
        return Ok(None);
    }
    if let Some(decision_id) = command.decision_point() {
        // One that nobody knows is left to the rules, which say so.
        return Ok(world.decision_point(decision_id).map(|point| point.version));
    }
    if let Some(stream) = command.stream() {
        return Ok(Some(world.stream_version(stream)));
    }
    if let Some((tenant_id, correlation_id)) = command.thread() {
        return Ok(Some(world.thread_version(tenant_id, correlation_id).unwrap_or(0)));
    }
    if !is_about_request(command) {
        let unknown = || LoopRefusal::LoopNotLive { loop_id: subject.to_string() }.into();
        let version = world.live_loop(subject).map(|entity| entity.version);
        return version.map(Some).ok_or_else(unknown);
    }
    match world.find_request(subject) {
        Some(RequestPlace::Live(entity, _)) => Ok(Some(entity.version)),
        // Nothing changes it any more: whatever was seen while it lived is stale, and the rules
        // say what became of it.
        Some(RequestPlace::Closed(_)) => Ok(Some(0)),
        None => {
            Err(HumanDecisionRefusal::UnknownRequest { request_id: subject.to_string() }.into())
        }
    }
}

fn is_about_request(command: &Command) -> bool {
    matches!(
        command,
        Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(_))
            | Command::HumanDecision(HumanDecisionCommand::ExpireDue(_))
            | Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(_))
            | Command::HumanDecision(HumanDecisionCommand::ShowOutput(_))
    )
}
