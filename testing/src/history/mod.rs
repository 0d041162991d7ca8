//! A history as a log would hold it: runs of commands with their evidence, some of which fail, are
//! repeated or wait for a person; questions to people; conversations. Most entities live for a few
//! events, a few for long.

mod talk;

use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::decision_point::DecisionPointCommand;
use holdpoint_domain::evidence_capture::ResourceUsage;
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, ExecutorResponseType};
use holdpoint_domain::human_decision::{HoldPolicy, HumanDecision};
use holdpoint_domain::interruption_thread::InterruptionThreadCommand;
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_domain::world::envelope;
use holdpoint_domain::world::envelope::Encoded;
use holdpoint_domain::{Command, Envelope, Idempotency, Time, World, decide};
use std::hint::black_box;
use std::ops::Range;

use crate::story::held::{terms, timeout};
use crate::story::points::{binding, option, person};
use crate::story::{Story, envelope, output_item};
use holdpoint_domain::evidence_capture::EvidenceItem;
use talk::Talk;

/// How many loops wait for a person at any time.
const WAITING: usize = 200;

/// One record: what its header says, and where its payload lies.
#[derive(Debug, Clone)]
pub struct Entry {
    pub kind: u16,
    pub version: u8,
    pub sequence: u64,
    pub at: Time,
    pub payload: Range<usize>,
}

/// Encoded records, one after the other.
#[derive(Debug, Default)]
pub struct History {
    pub entries: Vec<Entry>,
    pub bytes: Vec<u8>,
}

impl History {
    /// At least so many events, the same at every call.
    pub fn of(events: usize) -> Self {
        let mut author = Author::new();
        while author.history.entries.len() < events {
            author.step();
        }
        author.history
    }

    pub fn payload(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.payload.clone()]
    }

    pub fn decode(&self, entry: &Entry) -> Envelope {
        envelope::decode(entry.kind, entry.version, self.payload(entry)).unwrap()
    }

    /// Decodes all of it, and nothing else.
    pub fn decode_all(&self) {
        for entry in &self.entries {
            black_box(self.decode(entry));
        }
    }

    /// Applies all of it, decoded before.
    pub fn evolve(&self, envelopes: &[Envelope]) {
        let mut world = World::default();
        for (entry, envelope) in self.entries.iter().zip(envelopes) {
            world.evolve(entry.sequence, entry.at, envelope);
        }
        black_box(world);
    }

    /// The same, and judges it: the rules forbid none of it.
    pub fn judge(&self, envelopes: &[Envelope]) {
        let mut world = World::default();
        for (entry, envelope) in self.entries.iter().zip(envelopes) {
            let found = world.judge_and_evolve(entry.sequence, entry.at, envelope);
            assert!(found.is_empty(), "{found:?}");
        }
        black_box(world);
    }

    /// The state after all of it.
    pub fn rebuild(&self) -> World {
        let mut world = World::default();
        for entry in &self.entries {
            let envelope = self.decode(entry);
            world.evolve(entry.sequence, entry.at, &envelope);
        }
        world
    }
}

/// Who gives the commands.
struct Author {
    story: Story,
    talk: Talk,
    history: History,
    /// Loops that wait for a person, the one that waits longest first.
    waiting: Vec<String>,
    random: u64,
    stories: u64,
    correlation: String,
}

impl Author {
    fn new() -> Self {
        let mut story = Story::new();
        story.world = World::default();
        let mut author = Self {
            story,
            talk: Talk::default(),
            history: History::default(),
            waiting: Vec::new(),
            random: 0x9e37_79b9_7f4a_7c15,
            stories: 0,
            correlation: String::new(),
        };
        author.registers();
        author
    }

    fn registers(&mut self) {
        for (actor, command) in Talk::registrations() {
            let mut sealed = self.decided(&command);
            sealed.iter_mut().for_each(|envelope| envelope.actor = actor.clone());
            self.record(sealed);
        }
    }

    /// One more entity goes through its life, or its next turn.
    fn step(&mut self) {
        self.stories += 1;
        self.correlation = sha256(&self.stories.to_be_bytes()).to_string()[..32].to_owned();
        match self.below(100) {
            0..=77 => self.runs_well(),
            78..=85 => self.fails_and_is_repeated(),
            86..=91 => self.waits_for_a_person(),
            92..=95 => self.asks(),
            _ => self.talks(),
        }
    }

    fn runs_well(&mut self) {
        self.begins(HoldPolicy::Never);
        self.attempts();
        self.give(self.story.report(ExecutorResponseType::Success));
        self.give(self.story.complete());
    }

    fn fails_and_is_repeated(&mut self) {
        self.begins(HoldPolicy::Never);
        self.attempts();
        self.give(self.story.fault(ExecutionFaultType::Timeout));
        if self.story.world.live_loop(&self.story.loop_id).is_some() {
            self.give(self.story.retry());
            self.awaits();
            self.give(self.story.report(ExecutorResponseType::Success));
            self.give(self.story.complete());
        }
    }

    /// The one that waits longest is answered.
    fn waits_for_a_person(&mut self) {
        self.begins(HoldPolicy::After);
        self.attempts();
        self.give(self.story.report(ExecutorResponseType::Failure));
        self.give(self.story.ask());
        self.waiting.push(self.story.loop_id.clone());
        if self.waiting.len() > WAITING {
            self.story.loop_id = self.waiting.remove(0);
            self.give(self.story.decides(HumanDecision::Continue));
        }
    }

    fn asks(&mut self) {
        let bound = self.below(3) == 0;
        let mut question = self.story.question();
        question.timeout_ms = None;
        question.default_option = None;
        question.binding = bound.then(binding);
        let id = question.decision_id();
        self.give(Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(
            question.into(),
        )));
        self.give(self.story.responds(&id, person("bob"), option("go")));
        if bound {
            self.give(self.story.consumes(&id));
        }
    }

    fn talks(&mut self) {
        let next = self.talk.next(&self.story.world);
        self.correlation = next.correlation;
        for command in next.commands {
            let idempotency = matches!(
                &command,
                Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(_))
            )
            .then(|| Idempotency {
                tenant: "tenant-1".into(),
                engine: "PH1.X".into(),
                key: format!("key-{}", self.stories),
                content: sha256(&self.stories.to_le_bytes()),
            });
            let mut envelopes = self.decided(&command);
            for envelope in &mut envelopes {
                envelope.actor = talk::caller();
                envelope.idempotency.clone_from(&idempotency);
            }
            self.record(envelopes);
        }
    }

    fn begins(&mut self, policy: HoldPolicy) {
        let mut command = self.story.initialize();
        command.hold = terms(policy);
        command.hold.decision_timeout_ms = timeout(86_400_000);
        self.story.loop_id = command.loop_id();
        self.give(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)));
        self.give(self.story.dispatch());
    }

    fn attempts(&mut self) {
        self.awaits();
        if self.below(4) == 0 {
            self.prints();
        }
    }

    fn awaits(&mut self) {
        self.give(self.story.await_response());
        self.prints();
        let wall_ns = 1_000_000 + self.below(1_000_000_000);
        let usage = ResourceUsage {
            wall_ns,
            user_cpu_ns: wall_ns / 2,
            system_cpu_ns: wall_ns / 8,
            peak_memory_bytes: 4096 * self.below(100_000),
        };
        self.give(self.story.capture(vec![EvidenceItem::ResourceSnapshot(usage)]));
    }

    /// Mostly a line or two, now and then a page, seldom more.
    fn prints(&mut self) {
        let length = match self.below(100) {
            0..=79 => 20 + self.below(200),
            80..=97 => 500 + self.below(3_000),
            _ => 20_000 + self.below(40_000),
        };
        let line = b"2026-01-25T16:00:00Z INFO the build goes on as it should\n";
        let raw: Vec<u8> =
            line.iter().copied().cycle().take(usize::try_from(length).unwrap()).collect();
        self.give(self.story.capture(vec![output_item(&raw)]));
    }

    fn give(&mut self, command: Command) {
        let envelopes = self.decided(&command);
        self.record(envelopes);
    }

    fn decided(&self, command: &Command) -> Vec<Envelope> {
        let events = decide(&self.story.world, command, self.story.now)
            .unwrap_or_else(|refusal| panic!("{command:?}: {refusal}"));
        events.into_iter().map(envelope).collect()
    }

    fn record(&mut self, envelopes: Vec<Envelope>) {
        let causation = self.history.entries.last().map(|entry| entry.sequence);
        for mut envelope in envelopes {
            if !self.correlation.is_empty() {
                envelope.correlation.clone_from(&self.correlation);
            }
            envelope.causation = causation;
            let found = self.story.record_envelope(envelope);
            assert!(found.is_empty(), "{found:?}");
            self.keep();
        }
        self.story.now = Time::from_nanoseconds(self.story.now.nanoseconds() + 1_234_567);
    }

    /// Moves the newest record into the history.
    fn keep(&mut self) {
        let newest = self.story.records.last_mut().unwrap();
        let Encoded { kind, version, payload } = &mut newest.encoded;
        let begin = self.history.bytes.len();
        self.history.bytes.append(payload);
        self.history.entries.push(Entry {
            kind: *kind,
            version: *version,
            sequence: newest.sequence,
            at: newest.at,
            payload: begin..self.history.bytes.len(),
        });
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random() % bound
    }

    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
