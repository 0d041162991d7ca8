//! Commands of every kind for a world of all systems at once: mostly what its state asks for,
//! sometimes not.

mod policies;
mod questions;
mod registrations;
mod turns;

use holdpoint_domain::application::{ApplicationCommand, RecordEvent};
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::core::refusal::CommonRefusal;
use holdpoint_domain::decision_point::DecisionPointCommand;
use holdpoint_domain::evidence_capture::{StopCondition, StopFacts};
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::human_decision::HumanDecisionCommand;
use holdpoint_domain::log::RecordFingerprint;
use holdpoint_domain::log::{
    ClockStepped, ConfigurationChanged, HeadMissingAccepted, HistoryArchived, LogCommand,
    RecoveryPerformed, SegmentIndexed,
};
use holdpoint_domain::registration::RegistrationCommand;
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::{
    ActorId, Command, Envelope, Event, Idempotency, Proof, Refusal, WriterCommand, decide,
};
use quickcheck::{Arbitrary as _, Gen};

use super::{Story, random, seed};
use registrations::Registered;

/// The program that drives loops and threads.
const CALLER: &str = "ci";
/// Whose process that is.
const CALLERS_USER: u32 = 1_000;
/// The correlation of what belongs to no thread.
const CORRELATION: &str = "00112233445566778899aabbccddeeff";
/// So many loops and decision points live at most before some of them are ended.
const MAX_LIVE: usize = 12;

/// The state of so many events is small: its fingerprint is taken more often.
const SMALL: u64 = 1_500;

/// How many random stories a check is run on, each of so many commands.
const STORIES: u64 = 60;
const COMMANDS: u64 = 200;

/// Runs a check on random stories; a failure names the seed that repeats it.
pub fn on_random_stories(check: impl Fn(&Story) + std::panic::RefUnwindSafe) {
    let seed = seed();
    for seed in (0..STORIES).map(|story| seed.wrapping_add(story)) {
        let run = || {
            let (mut generator, mut story) = (Generator::seeded(seed), Story::adopted());
            (0..COMMANDS).for_each(|_| drop(generator.step(&mut story)));
            check(&story);
        };
        if let Err(cause) = std::panic::catch_unwind(run) {
            eprintln!("this repeats it as its first story: HOLDPOINT_SEED={seed}");
            std::panic::resume_unwind(cause);
        }
    }
}

/// Draws commands and carries them out as a writer does. Everything follows from its seed and the
/// story's state.
pub struct Generator {
    random: Gen,
    registered: Registered,
    /// The last command, which somebody may give again.
    last: Option<Submission>,
    keys: u64,
}

/// A command, who gives it, what proves that, and the key under which it is carried out once.
#[derive(Debug, Clone)]
struct Submission {
    command: Command,
    by: ActorId,
    proof: Option<Proof>,
    key: Option<String>,
}

/// What came of a command.
#[derive(Debug)]
pub struct Step {
    /// The command; `None`: the writer's own.
    pub command: Option<Command>,
    /// What was decided.
    pub outcome: Result<Vec<Event>, Refusal>,
}

impl Generator {
    /// The commands of this seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            random: Gen::from_size_and_seed(30, seed),
            registered: Registered::default(),
            last: None,
            keys: 0,
        }
    }

    /// Some time passes, and somebody gives a command.
    pub fn step(&mut self, story: &mut Story) -> Step {
        self.pass_time(story);
        let step = match below(&mut self.random, 60) {
            0 => {
                let command = self.of_writer(story);
                Step { command: None, outcome: story.tells(&command) }
            }
            _ => {
                let given = self.next(story);
                let outcome = given.carry_out(story);
                let command = Some(given.command.clone());
                self.last = Some(given);
                Step { command, outcome }
            }
        };
        if let Ok(events) = &step.outcome {
            events.iter().for_each(|event| self.registered.follow(event));
        }
        step
    }

    /// Most commands follow at once; now and then a deadline of seconds passes.
    fn pass_time(&mut self, story: &mut Story) {
        let most = match below(&mut self.random, 200) {
            0 => 70_000,
            1..10 => 200,
            10..60 => 5,
            _ => return,
        };
        story.wait(below(&mut self.random, most));
    }

    fn next(&mut self, story: &mut Story) -> Submission {
        let random = &mut self.random;
        if let Some(last) = self.last.as_ref().filter(|_| one_in(random, 40)) {
            return last.clone();
        }
        let command = self.command(story);
        let by = actor_of(&command);
        let random = &mut self.random;
        let proof = (!one_in(random, 5)).then(|| proof_of(&command, &by));
        let is_keyed = one_in(random, 4)
            && !matches!(command, Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(_)));
        self.keys += u64::from(is_keyed);
        let key = self.keys.saturating_sub(u64::from(one_in(random, 20)));
        Submission { command, by, proof, key: is_keyed.then(|| format!("key {key}")) }
    }

    fn command(&mut self, story: &mut Story) -> Command {
        let random = &mut self.random;
        if one_in(random, 4)
            && let Some(due) = story.world.due(story.now).into_iter().next()
        {
            return due.command.with_entropy(story.entropy());
        }
        if story.world.totals().events < SMALL && one_in(random, 20) {
            return Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {}));
        }
        match below(random, 100) {
            0..45 => self.of_loop(story),
            45..70 => self.of_decision_point(story),
            70..84 => self.of_thread(story),
            84..93 => self.registration(story),
            93..96 => self.of_policy(story),
            96..98 => self.of_application(),
            _ => self.of_log(),
        }
    }

    /// What a loop asks for, or anything; a new one where few live, and where many do, an end.
    fn of_loop(&mut self, story: &mut Story) -> Command {
        let live = story.world.live_loops().map(|entity| entity.loop_id().to_owned());
        let live: Vec<String> = live.collect();
        let random = &mut self.random;
        if live.is_empty() || (live.len() < MAX_LIVE && one_in(random, 12)) {
            let command = random::initialize(story, random);
            return self.start(story, command);
        }
        if !live.contains(&story.loop_id) || one_in(random, 4) {
            story.loop_id = any(random, &live);
        }
        match below(random, 160) {
            0 => story.interrupt(15, None),
            1 | 2 => story.stop(any(random, StopCondition::ALL), StopFacts::default()),
            _ => match random::on_loop(story, random) {
                Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)) => {
                    self.start(story, command)
                }
                Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})) => self.of_log(),
                command => command,
            },
        }
    }

    /// What the application says; seldom of a stream that no command may name.
    fn of_application(&mut self) -> Command {
        let random = &mut self.random;
        let streams = ["order-1", "order-2", "cart/7", "LOOP-000102030405060708090a0b0c0d0e0f"];
        let bytes = Vec::<u8>::arbitrary(random);
        Command::Application(ApplicationCommand::RecordEvent(RecordEvent {
            stream: any(random, &streams).to_owned(),
            event_type: any(random, &["created", "paid"]).to_owned(),
            type_version: 1,
            content_type: "text/plain".to_owned(),
            data: bytes.into(),
        }))
    }

    /// The configuration; seldom the fingerprint, into which all of the state goes.
    fn of_log(&mut self) -> Command {
        let random = &mut self.random;
        if one_in(random, 40) {
            return Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {}));
        }
        let digest = (!one_in(random, 4)).then(|| sha256(&[any(random, &BYTES)]));
        Command::Log(LogCommand::RecordConfiguration(ConfigurationChanged { digest }))
    }

    /// What only the log's own writer says, of records that there are.
    fn of_writer(&mut self, story: &Story) -> WriterCommand {
        let random = &mut self.random;
        let newest = story.world.totals().last_sequence;
        let (first, last) = (1, below(random, newest + 1).max(1));
        match below(random, 6) {
            0 => WriterCommand::RecoveryPerformed(RecoveryPerformed {
                last_proven_sequence: last - 1,
                last_kept_sequence: last,
                cut_bytes: 1 + below(random, 9),
                copied_to: one_in(random, 2).then(|| "cut/1".into()),
            }),
            1 => WriterCommand::HeadMissingAccepted(HeadMissingAccepted {
                first_sequence: first,
                last_sequence: last,
                is_end_known: true,
            }),
            2 => WriterCommand::ClockStepped(ClockStepped { step_ns: i64::arbitrary(random) }),
            3 => WriterCommand::HistoryArchived(HistoryArchived {
                first_sequence: first,
                anchor_sequence: last,
                anchor_link: sha256(b"link"),
                archived_to: "/archive".into(),
                state_schema: STATE_SCHEMA_VERSION,
                state_fingerprint: sha256(b"state"),
                state: RawData::from(b"state".to_vec()).into(),
            }),
            4 => WriterCommand::SegmentIndexed(SegmentIndexed {
                first_sequence: last,
                last_sequence: last,
                format: 1,
                digest: sha256(&[u8::arbitrary(random)]),
            }),
            _ => story.declare_lost(),
        }
    }
}

impl Submission {
    /// As a writer does it: form, caller, key, person, rules. A refusal that is a fact is recorded
    /// in the command's place.
    fn carry_out(&self, story: &mut Story) -> Result<Vec<Event>, Refusal> {
        story.commands += 1;
        self.command.check_form()?;
        let correlation = self.command.thread().map_or(CORRELATION, |(_, thread)| thread);
        let idempotency = self.idempotency();
        let decided = self.decide(story, correlation, idempotency.as_ref());
        let (events, idempotency) = match &decided {
            Ok(events) => (events.clone(), idempotency),
            Err(refusal) => {
                (refusal.audit(&story.world, &self.command).into_iter().collect(), None)
            }
        };
        for event in events {
            let found = story.record_envelope(Envelope {
                clock: None,
                actor: self.by.clone(),
                proof: self.proof,
                correlation: correlation.to_owned(),
                causation: None,
                idempotency: idempotency.clone(),
                event,
            });
            assert_eq!(found, [], "decide made what evolve forbids: {self:?}");
        }
        story.wait(1);
        decided
    }

    fn idempotency(&self) -> Option<Idempotency> {
        let given = self.key.as_ref().map(|key| ("tenant", "engine", key.as_str()));
        let (tenant, engine, key) = self.command.own_key().or(given)?;
        let content = self.command.content_by(&self.by);
        Some(Idempotency { tenant: tenant.into(), engine: engine.into(), key: key.into(), content })
    }

    fn decide(
        &self,
        story: &Story,
        correlation: &str,
        idempotency: Option<&Idempotency>,
    ) -> Result<Vec<Event>, Refusal> {
        let (world, command) = (&story.world, &self.command);
        world.check_caller(&self.by, command)?;
        let receipt = idempotency.map(|key| world.receipt_of(correlation, key)).transpose()?;
        if let Some(receipt) = receipt.flatten() {
            return Err(CommonRefusal::AlreadyDone { sequence: receipt.first_sequence }.into());
        }
        world.check_person(&self.by, self.proof, command)?;
        if let Some(sequence) = world.given_before(command) {
            return Err(CommonRefusal::AlreadyDone { sequence }.into());
        }
        decide(world, command, story.now)
    }
}

/// Who gives a command: whoever it names, a person where only one may, else [`CALLER`].
fn actor_of(command: &Command) -> ActorId {
    let human = |id: &str| ActorId { kind: Actor::Human, id: id.to_owned() };
    match command {
        Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(c)) => {
            ActorId { kind: c.actor, id: c.human_id.clone() }
        }
        Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(c)) => {
            ActorId { kind: c.actor, id: c.human_id.clone() }
        }
        Command::Registration(RegistrationCommand::ChangeCapability(_)) => human("operator"),
        Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(c))
            if c.condition == StopCondition::HumanAbort =>
        {
            human("alice")
        }
        Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(c))
        | Command::ExecutionLoop(ExecutionLoopCommand::RetryLoop(c))
            if c.facts.human_abort_signaled == Some(true) =>
        {
            human("alice")
        }
        other => other.principal().map_or_else(caller, Principal::actor),
    }
}

fn caller() -> ActorId {
    ActorId { kind: Actor::Automation, id: CALLER.into() }
}

/// What the process of somebody proves: a principal's own words, and of people a terminal.
fn proof_of(command: &Command, by: &ActorId) -> Proof {
    let stated = command.principal().map(|principal| principal.authenticated_by);
    let is_human = by.kind == Actor::Human;
    let otherwise = if is_human { Authentication::Terminal } else { Authentication::OsUser };
    let user = CALLERS_USER + if is_human { 1 + by.id.len() as u32 } else { 0 };
    Proof { user, by: stated.unwrap_or(otherwise) }
}

/// A person at a terminal.
fn at_terminal(name: &str) -> Principal {
    super::points::at_terminal(name)
}

/// Each as likely as every other, which numbers that are made to find mistakes are not.
fn below(random: &mut Gen, bound: u64) -> u64 {
    let bytes = [(); 3].map(|()| any(random, &BYTES));
    bytes.into_iter().fold(0, |number, byte| number << 8 | u64::from(byte)) % bound
}

const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut byte = 0_u8;
    while byte < u8::MAX {
        byte += 1;
        bytes[byte as usize] = byte;
    }
    bytes
};

fn one_in(random: &mut Gen, bound: u64) -> bool {
    below(random, bound) == 0
}

fn any<T: Clone>(random: &mut Gen, of: &[T]) -> T {
    random.choose(of).cloned().expect("something to choose from")
}
