//! One line of input as a command with its origin and conditions.

use crate::args::json_lines::{InputLine, LINE_BYTES_MAX};
use crate::log::configuration::InForce;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::human_decision::{AnswerChannel, HoldTerms, HumanDecisionCommand};
use holdpoint_domain::log::GateTerms;
use holdpoint_domain::{ActorId, Command};
use holdpoint_engine::shell::{Conditions, IdempotencyKey, Origin, user_name};
use holdpoint_replay::json_fault::Fault;
use holdpoint_replay::json_reader::read_without;
use holdpoint_replay::strict_json::{Member, Node, Value, parse};
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// Names under which other programs would give a time.
const TIMES: [&str; 4] = ["at", "time", "timestamp", "recorded_at"];

/// What a line leaves away.
pub struct Defaults {
    actor: ActorId,
    /// The terms of a hold that are in force.
    hold: Option<Value>,
    /// The other terms of a run's gate.
    gate: Option<Value>,
}

impl Defaults {
    pub(super) fn of(in_force: &InForce) -> Self {
        Self::with(&in_force.hold, &in_force.gate)
    }

    /// Under such terms.
    pub fn with(hold: &HoldTerms, gate: &GateTerms) -> Self {
        let actor = ActorId { kind: Actor::Automation, id: user_name() };
        Self { actor, hold: value_of(hold), gate: value_of(gate) }
    }
}

/// A command, who asks for it, and under which conditions.
pub struct Submission {
    /// An empty correlation stands for a story of its own.
    pub origin: Origin,
    /// Its key, and the version that it expects.
    pub conditions: Conditions,
    /// The command itself.
    pub command: Command,
    /// Whether the line gave random bits for the command.
    has_entropy: bool,
}

/// A line of input: a command, and what is known of its origin. Everything but `submit` may be left
/// away.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Line<C> {
    /// The command.
    submit: C,
    /// Who asks. Left away: the user who runs `apply`, as AUTOMATION.
    #[serde(default)]
    actor: Option<LineActor>,
    /// The story that the command belongs to. Left away: a story of its own; of a turn, a row or
    /// another command on a thread, the thread's.
    #[serde(default)]
    correlation: Option<String>,
    /// Sequence of the record that caused the command.
    #[serde(default)]
    causation: Option<u64>,
    /// The caller's own name for the command: asked again, it is answered with the first receipt.
    /// Needs a correlation. Turns and rows have a key of their own instead.
    #[serde(default)]
    idempotency: Option<LineKey>,
    /// Sequence of the last record that changed what the command is about, as the caller saw it.
    #[serde(default)]
    expected_version: Option<u64>,
}

/// Who asks.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LineActor {
    /// What kind of actor.
    kind: LineActorKind,
    /// The name under which the actor is known.
    id: String,
}

/// SYSTEM is Holdpoint itself, and no line speaks for it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum LineActorKind {
    Human,
    Agent,
    Automation,
}

/// The caller's own name for a command, unique within tenant, engine and correlation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LineKey {
    /// Whose keys these are.
    tenant: String,
    /// Which engine issues the command.
    engine: String,
    /// The key.
    key: String,
}

impl Submission {
    /// Reads a line.
    pub fn read(input: &InputLine, defaults: &Defaults) -> Result<Self, Fault> {
        let mut root = match input {
            InputLine::Whole(bytes) => parse(bytes)?,
            InputLine::TooLong(length) => {
                let message =
                    format!("{length} bytes; a line has at most {LINE_BYTES_MAX} (16MiB)");
                return Err(Fault::at(LINE_BYTES_MAX, message));
            }
        };
        let at = root.at;
        let Value::Object(members) = &mut root.value else {
            return Err(Fault::at(at, "expected an object with the member `submit`"));
        };
        no_time(members)?;
        let submit = members.iter_mut().find(|member| member.name == "submit");
        let has_entropy = submit.as_ref().is_some_and(|member| member.node.has("entropy"));
        let command = submit.map(|member| command(&mut member.node, defaults));
        let line: Line<IgnoredAny> = Line::deserialize(&root)?;
        let missing = || Fault::at(at, "the member `submit` with the command is missing");
        let command = command.ok_or_else(missing)?.map_err(|fault| fault.inside("submit"))?;
        Ok(Self { has_entropy, ..line.with(command, at, defaults)? })
    }

    /// The same with fresh random bits, where the line gave none.
    pub(super) fn with_entropy<E>(
        mut self,
        draw: impl FnOnce() -> Result<Entropy, E>,
    ) -> Result<Self, E> {
        if !self.has_entropy && self.command.entropy().is_some() {
            self.command = self.command.with_entropy(draw()?);
        }
        Ok(self)
    }
}

impl Line<IgnoredAny> {
    fn with(self, command: Command, at: usize, defaults: &Defaults) -> Result<Submission, Fault> {
        let Self { submit: IgnoredAny, actor, correlation, causation, idempotency, .. } = self;
        let correlation = story_of(&command, correlation, at)?;
        if idempotency.is_some() {
            may_have_key(&command, correlation.as_deref(), at)?;
        }
        let key = idempotency.map(LineKey::into_key);
        Ok(Submission {
            origin: Origin {
                actor: actor.map_or_else(|| defaults.actor.clone(), LineActor::into_id),
                correlation: correlation.unwrap_or_default(),
                causation,
            },
            conditions: Conditions::of(key, self.expected_version),
            command,
            has_entropy: false,
        })
    }
}

/// What is about a thread belongs to the thread's own story.
fn story_of(command: &Command, stated: Option<String>, at: usize) -> Result<Option<String>, Fault> {
    let Some((_, own)) = command.thread() else { return Ok(stated) };
    match stated {
        Some(stated) if stated != own => {
            let message = format!(
                "the command is about thread {own:?} and the line belongs to {stated:?}; give \
                 the same in both, or leave `correlation` away"
            );
            Err(Fault::at(at, message).inside("correlation"))
        }
        _ => Ok(Some(own.to_string())),
    }
}

/// A key needs a story, and turns and rows have one of their own.
fn may_have_key(command: &Command, correlation: Option<&str>, at: usize) -> Result<(), Fault> {
    let message = if command.turn_scope().is_some() {
        "the command has its own `idempotency_key`; leave this one away"
    } else if correlation.is_none() {
        "a key is unique within a correlation only; give `correlation` as well"
    } else {
        return Ok(());
    };
    Err(Fault::at(at, message).inside("idempotency"))
}

impl LineKey {
    fn into_key(self) -> IdempotencyKey {
        let Self { tenant, engine, key } = self;
        IdempotencyKey { tenant, engine, key }
    }
}

impl LineActor {
    fn into_id(self) -> ActorId {
        let kind = match self.kind {
            LineActorKind::Human => Actor::Human,
            LineActorKind::Agent => Actor::Agent,
            LineActorKind::Automation => Actor::Automation,
        };
        ActorId { kind, id: self.id }
    }
}

/// Time is the log's own (property E4): whoever gives one is told so, and not that a member is
/// unknown.
fn no_time(members: &[Member]) -> Result<(), Fault> {
    let message = "the log alone says when; leave the time away";
    match members.iter().find(|member| TIMES.contains(&member.name.as_str())) {
        Some(member) => Err(Fault::at(member.at, message).inside(&member.name)),
        None => Ok(()),
    }
}

fn command(node: &mut Node, defaults: &Defaults) -> Result<Command, Fault> {
    let Value::Object(members) = &mut node.value else {
        return Err(Fault::at(node.at, "expected an object with the member `command`"));
    };
    no_time(members)?;
    let named = members.iter().find(|member| member.name == "command");
    let Some(Member { node: Node { at, value: Value::Text(name) }, .. }) = named else {
        return Err(Fault::at(node.at, "the member `command` with the command's name is missing"));
    };
    let (at, name) = (*at, name.clone());
    if name == "execution_loop.initialize" {
        add(members, node.at, "hold", defaults.hold.as_ref());
        add(members, node.at, "gate", defaults.gate.as_ref());
    }
    let command = read_without(node, "command", |fields| Command::read(&name, fields).transpose())?;
    let mut command = command.ok_or_else(|| unknown(at, &name))?;
    through_the_api(node.at, &command)?;
    // By what means somebody acts is for the process to say, and not for the line.
    if let Some(by) = command.principal_mut() {
        by.means = Text::default();
    }
    Ok(command)
}

fn unknown(at: usize, name: &str) -> Fault {
    let known = Command::NAMES.join(", ");
    let name = holdpoint_domain::core::text::bounded(name, 64);
    Fault::at(at, format!("no command is named {name:?}; there are {known}")).inside("command")
}

/// The terms that are left away are those in force.
fn add(members: &mut Vec<Member>, at: usize, name: &str, value: Option<&Value>) {
    if let Some(value) = value
        && !members.iter().any(|member| member.name == name)
    {
        members.push(Member { at, name: name.into(), node: Node { at, value: value.clone() } });
    }
}

fn value_of(terms: &impl Serialize) -> Option<Value> {
    let terms = serde_json::to_vec(terms).ok()?;
    parse(&terms).ok().map(|node| node.value)
}

/// Whoever answers through a line did not type at a terminal of Holdpoint's.
fn through_the_api(at: usize, command: &Command) -> Result<(), Fault> {
    let means = match command {
        Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer)) => &answer.means,
        Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(answer)) => &answer.means,
        Command::HumanDecision(HumanDecisionCommand::ShowOutput(_)) => {
            let message = "the prompt that shows an output records it, and no line of `apply`";
            return Err(Fault::at(at, message).inside("command"));
        }
        _ => return Ok(()),
    };
    if means.channel == AnswerChannel::Api {
        return Ok(());
    }
    let message = format!("what comes through `apply` is API, not {}", means.channel);
    Err(Fault::at(at, message).inside("means.channel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_can_be_submitted() {
        let node = parse(b"{}").unwrap();
        for name in Command::NAMES {
            let read =
                read_without(&node, "command", |fields| Command::read(name, fields).transpose());
            assert!(!matches!(read, Ok(None)), "{name}");
        }
    }
}
