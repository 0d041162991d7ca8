//! Given commands, when a command, then events: a world that records everything that it is told.

pub mod commands;
pub mod held;
pub mod points;
pub mod random;
pub mod samples;

use crate::hand_made;
use holdpoint_domain::core::actor::{Actor, Principal};
use holdpoint_domain::core::clocks::Moment;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::evidence_capture::{
    CaptureEvidence, EvidenceCaptureCommand, EvidenceCaptureEvent, EvidenceItem, GuardedEnd,
    OutputPiece, OutputStream, RecordOutput, ResourceSnapshot, ResourceUsage, StopCondition,
    StopFacts,
};
use holdpoint_domain::execution_loop::{
    AwaitResponse, CompleteLoop, DispatchFacts, DispatchLoop, ExecutionLoopCommand,
    ExecutionLoopEvent, ExecutionLoopState, ExecutorIdentityStatus, ExecutorResponseType, Exit,
    HaltReason, Handshake, InitializeLoop, InstructLoop, InterruptLoop, LoopHalted,
    ObserverExpectation, ReportResponse, StopLoop,
};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::human_decision::{HoldTerms, HumanDecisionEvent};
use holdpoint_domain::registration::RegistrationEvent;
use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, ReportFault, RetryPolicy, SandboxFaultCommand,
};
use holdpoint_domain::world::envelope;
use holdpoint_domain::world::envelope::Encoded;
use holdpoint_domain::{
    ActorId, Command, Envelope, Event, ForbiddenEvent, Refusal, Time, World, WriterCommand, decide,
    decide_for_writer,
};

/// Raw evidence that no readable view may show.
pub const SECRET: &[u8] = b"hunter2-secret-output";

/// The instruction of every story.
pub const ENVELOPE: &[u8] = b"envelope of sh -c true";

/// Every fact stated, none of them a reason to stop.
pub const CLEAR: DispatchFacts = DispatchFacts {
    authorization_present: Some(true),
    executor_registered: Some(true),
    resources_available: Some(true),
    intent_clear: Some(true),
    human_abort_signaled: Some(false),
};

/// One record as a log would hold it.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub sequence: u64,
    pub at: Time,
    pub encoded: Encoded,
}

/// A live world, what it recorded, and the loop that the story is about.
#[derive(Debug, Clone)]
pub struct Story {
    pub world: World,
    pub records: Vec<Recorded>,
    pub loop_id: String,
    pub now: Time,
    /// The own clock of whoever records, where it is not `now`.
    pub clock: Option<Time>,
    /// The own clock as the monotonic one of a wait continues it.
    pub steady: Option<Time>,
    commands: u64,
}

impl Story {
    /// Nothing has happened.
    pub fn new() -> Self {
        Self {
            world: World::default().keeping_settled(),
            records: Vec::new(),
            loop_id: String::new(),
            now: Time::from_nanoseconds(1_769_356_800_000_000_000),
            clock: None,
            steady: None,
            commands: 0,
        }
    }

    /// Nothing has happened but that the newest rules were adopted.
    pub fn adopted() -> Self {
        let mut story = Self::new();
        assert_eq!(story.record_envelope(adoption(&story.world)), []);
        story
    }

    /// A loop in INIT that may have three attempts.
    pub fn initialized() -> Self {
        Self::initialized_with(|_| {})
    }

    /// A loop in INIT after this change to its command.
    pub fn initialized_with(change: impl FnOnce(&mut InitializeLoop)) -> Self {
        let mut story = Self::new();
        let mut command = story.initialize();
        change(&mut command);
        story.loop_id = command.loop_id();
        story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)));
        story
    }

    /// A loop in this state, having got there the ordinary way.
    pub fn in_state(state: ExecutionLoopState) -> Self {
        let mut story = Self::initialized();
        story.advance_to(state);
        story
    }

    /// Goes on to a state in the ordinary way.
    pub fn advance_to(&mut self, state: ExecutionLoopState) {
        use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};
        let steps: &[ExecutionLoopState] = match state {
            Init => &[],
            Dispatched => &[Dispatched],
            AwaitingResponse => &[Dispatched, AwaitingResponse],
            Evaluated => &[Dispatched, AwaitingResponse, Evaluated],
            Halted => &[Dispatched, AwaitingResponse, Evaluated, Halted],
        };
        for step in steps {
            match step {
                Dispatched => drop(self.given(self.dispatch())),
                AwaitingResponse => {
                    self.given(self.await_response());
                    self.given(self.output(SECRET));
                }
                Evaluated => drop(self.given(self.report(ExecutorResponseType::Success))),
                _ => drop(self.given(self.complete())),
            }
        }
    }

    /// Records a command that must be accepted, and that must break no rule.
    pub fn given(&mut self, command: Command) -> Vec<Event> {
        self.when(command).unwrap_or_else(|refusal| panic!("{}: {refusal}", refusal.code()))
    }

    /// Decides, encodes, records, decodes and applies.
    pub fn when(&mut self, command: Command) -> Result<Vec<Event>, Refusal> {
        self.commands += 1;
        let events = decide(&self.world, &command, self.moment())?;
        Ok(self.settle(events))
    }

    /// As [`Story::given`], where every event is recorded as this makes it.
    pub fn given_as(&mut self, command: Command, change: fn(Event) -> Event) -> Vec<Event> {
        self.commands += 1;
        let events = decide(&self.world, &command, self.moment());
        let events = events.unwrap_or_else(|refusal| panic!("{}: {refusal}", refusal.code()));
        self.settle(events.into_iter().map(change).collect())
    }

    /// What the log's own writer says must be accepted, and must break no rule.
    pub fn told(&mut self, command: &WriterCommand) -> Vec<Event> {
        self.tells(command).unwrap_or_else(|refusal| panic!("{}: {refusal}", refusal.code()))
    }

    /// What the log's own writer says, as [`Story::when`].
    pub fn tells(&mut self, command: &WriterCommand) -> Result<Vec<Event>, Refusal> {
        self.commands += 1;
        let events = decide_for_writer(&self.world, command, self.moment())?;
        Ok(self.settle(events))
    }

    /// Records what was decided. A moment passes.
    fn settle(&mut self, events: Vec<Event>) -> Vec<Event> {
        for event in &events {
            let found = self.record(event.clone());
            assert_eq!(found, [], "decide made what evolve forbids: {event:?}");
        }
        self.now = Time::from_nanoseconds(self.now.nanoseconds() + 1_000_000);
        events
    }

    /// Puts an event on the record, whether or not the rules would have made it.
    pub fn record(&mut self, event: Event) -> Vec<ForbiddenEvent> {
        let clock = self.moment().stated_clock();
        self.record_envelope(Envelope { clock, ..envelope(event) })
    }

    /// The moment of the next record.
    pub fn moment(&self) -> Moment {
        let moment = Moment::new(self.now, self.clock.unwrap_or(self.now));
        Moment { steady: self.steady, ..moment }
    }

    /// Puts an envelope on the record.
    pub fn record_envelope(&mut self, envelope: Envelope) -> Vec<ForbiddenEvent> {
        let encoded = envelope::encode(&envelope).expect("the event fits");
        let sequence = self.records.last().map_or(0, |r| r.sequence) + 1;
        self.records.push(Recorded { sequence, at: self.now, encoded });
        self.world.judge_and_evolve(sequence, self.now, &envelope)
    }

    /// As a shell does it: what is due comes first, and a refusal that is a fact is recorded.
    pub fn submit(&mut self, command: Command) -> Result<Vec<Event>, Refusal> {
        while let Some(due) = self.world.due(self.moment()).into_iter().next() {
            self.given(due.command.with_entropy(self.entropy()));
        }
        self.when(command.clone()).inspect_err(|refusal| {
            if let Some(event) = refusal.audit(&self.world, &command) {
                assert_eq!(self.record(event), []);
            }
        })
    }

    /// Lets time pass.
    pub fn wait(&mut self, milliseconds: u64) {
        self.now = Time::from_nanoseconds(self.now.nanoseconds() + milliseconds * 1_000_000);
    }

    /// The loop of this story, live or settled.
    pub fn entity(&self) -> &ExecutionLoop {
        self.world.find_loop(&self.loop_id).expect("the loop exists")
    }

    /// The readable form of the loop of this story.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(self.entity().view()).expect("a view serializes")
    }

    /// Entropy that no command before it had, refused or recorded.
    pub fn entropy(&self) -> Entropy {
        let records = self.records.len() as u64;
        Entropy::from_bytes(((u128::from(self.commands) << 64) | u128::from(records)).to_be_bytes())
    }

    pub fn initialize(&self) -> InitializeLoop {
        let hash = sha256(ENVELOPE).to_string();
        InitializeLoop {
            gate: holdpoint_domain::log::GateTerms::default(),
            approval: None,
            people: None,
            entropy: self.entropy(),
            executor_id: "/bin/sh".into(),
            envelope: ENVELOPE.to_vec(),
            instruction_envelope_hash: hash.clone(),
            command_line: "sh -c true".into(),
            max_attempts: 3,
            retry_ceiling: RetryPolicy::RetryLimited,
            timeout_ms: Some(1000),
            hold: HoldTerms::never(),
            handshake: Handshake {
                executor_id: "/bin/sh".into(),
                trust_status: ExecutorIdentityStatus::Registered,
                instruction_envelope_hash: hash.clone(),
            },
            observer: ObserverExpectation { executor_id: "/bin/sh".into(), envelope_hash: hash },
        }
    }

    fn dispatch_with(&self, facts: DispatchFacts) -> DispatchLoop {
        DispatchLoop {
            loop_id: self.loop_id.clone(),
            entropy: self.entropy(),
            envelope_hash: sha256(ENVELOPE).to_string(),
            facts,
        }
    }

    pub fn dispatch(&self) -> Command {
        Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(self.dispatch_with(CLEAR)))
    }

    pub fn dispatch_knowing(&self, facts: DispatchFacts) -> Command {
        Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(self.dispatch_with(facts)))
    }

    pub fn retry(&self) -> Command {
        Command::ExecutionLoop(ExecutionLoopCommand::RetryLoop(self.dispatch_with(CLEAR)))
    }

    /// The next instruction of the loop.
    pub fn instruct(&self, envelope: &[u8]) -> Command {
        Command::ExecutionLoop(ExecutionLoopCommand::InstructLoop(InstructLoop {
            loop_id: self.loop_id.clone(),
            entropy: self.entropy(),
            envelope: envelope.to_vec(),
            instruction_envelope_hash: sha256(envelope).to_string(),
            command_line: "sh -c 'echo \u{202e}next'".into(),
            facts: CLEAR,
        }))
    }

    pub fn await_response(&self) -> Command {
        let (loop_id, entropy) = (self.loop_id.clone(), self.entropy());
        Command::ExecutionLoop(ExecutionLoopCommand::AwaitResponse(AwaitResponse {
            loop_id,
            entropy,
            recorder_key: None,
            on_full: None,
        }))
    }

    pub fn capture(&self, items: Vec<EvidenceItem>) -> Command {
        let (loop_id, entropy) = (self.loop_id.clone(), self.entropy());
        Command::EvidenceCapture(EvidenceCaptureCommand::CaptureEvidence(CaptureEvidence {
            loop_id,
            entropy,
            items,
        }))
    }

    /// Pieces of output of the attempt that runs.
    pub fn record_output(&self, pieces: Vec<OutputPiece>) -> Command {
        self.record_running(pieces, Vec::new())
    }

    /// The same, with snapshots of its processes.
    pub fn record_running(
        &self,
        pieces: Vec<OutputPiece>,
        snapshots: Vec<ResourceSnapshot>,
    ) -> Command {
        let attempt = self.world.live_loop(&self.loop_id).map_or(1, ExecutionLoop::attempt_count);
        let (loop_id, entropy) = (self.loop_id.clone(), self.entropy());
        Command::EvidenceCapture(EvidenceCaptureCommand::RecordOutput(RecordOutput {
            loop_id,
            entropy,
            attempt,
            pieces,
            snapshots,
        }))
    }

    pub fn output(&self, raw: &[u8]) -> Command {
        self.capture(vec![output_item(raw)])
    }

    pub fn report(&self, reported_status: ExecutorResponseType) -> Command {
        Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(self.response(reported_status)))
    }

    pub fn response(&self, reported_status: ExecutorResponseType) -> ReportResponse {
        ReportResponse {
            loop_id: self.loop_id.clone(),
            entropy: self.entropy(),
            executor_id: "/bin/sh".into(),
            instruction_hash: sha256(ENVELOPE).to_string(),
            reported_status,
            error: None,
            exit: Exit::Status(0),
        }
    }

    pub fn fault(&self, fault_type: ExecutionFaultType) -> Command {
        let attempt = self.world.live_loop(&self.loop_id).map_or(1, ExecutionLoop::attempt_count);
        Command::SandboxFault(SandboxFaultCommand::ReportFault(self.fault_of(fault_type, attempt)))
    }

    pub fn fault_of(&self, fault_type: ExecutionFaultType, attempt: u8) -> ReportFault {
        ReportFault {
            loop_id: self.loop_id.clone(),
            entropy: self.entropy(),
            attempt,
            fault_type,
            fault_message: "it went wrong".into(),
            exit: Exit::Signal(11),
        }
    }

    pub fn complete(&self) -> Command {
        let (loop_id, entropy) = (self.loop_id.clone(), self.entropy());
        Command::ExecutionLoop(ExecutionLoopCommand::CompleteLoop(CompleteLoop {
            loop_id,
            entropy,
        }))
    }

    pub fn stop(&self, condition: StopCondition, facts: StopFacts) -> Command {
        Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(StopLoop {
            loop_id: self.loop_id.clone(),
            entropy: self.entropy(),
            condition,
            facts,
            details: "because".into(),
        }))
    }

    /// A signal, and the process and user number that sent it.
    pub fn interrupt(&self, signal: i32, sender: Option<(u32, u32)>) -> Command {
        Command::ExecutionLoop(ExecutionLoopCommand::InterruptLoop(InterruptLoop {
            loop_id: self.loop_id.clone(),
            entropy: self.entropy(),
            signal,
            sender_pid: sender.map(|(pid, _)| pid),
            sender_uid: sender.map(|(_, uid)| uid),
        }))
    }

    /// The recorder is gone, and a guard saw how the command ended.
    pub fn declare_lost_but_seen(
        &self,
        exit: Exit,
        fault: Option<ExecutionFaultType>,
    ) -> WriterCommand {
        let usage =
            ResourceUsage { wall_ns: 9, user_cpu_ns: 1, system_cpu_ns: 2, peak_memory_bytes: 3 };
        let end = Some(GuardedEnd { exit, fault, message: "it ended".to_string(), usage });
        let (loop_id, entropy) = (self.loop_id.clone(), self.entropy());
        WriterCommand::DeclareLost { loop_id, entropy, end }
    }

    pub fn declare_lost(&self) -> WriterCommand {
        WriterCommand::DeclareLost {
            loop_id: self.loop_id.clone(),
            entropy: self.entropy(),
            end: None,
        }
    }
}

/// Standard output of which everything was captured.
pub fn output_item(raw: &[u8]) -> EvidenceItem {
    EvidenceItem::ExecutorOutput {
        stream: OutputStream::Stdout,
        raw_data: raw.to_vec(),
        true_length: raw.len() as u64,
        whole_sha256: sha256(raw),
    }
}

/// A piece of output that begins there.
pub fn piece(stream: OutputStream, offset: u64, raw: &[u8]) -> OutputPiece {
    OutputPiece {
        stream,
        offset,
        first_byte_at: Time::from_nanoseconds(1_769_356_800_000_000_001),
        raw_data: raw.to_vec(),
        gap: None,
    }
}

/// A stream whose bytes are recorded in pieces, which are all of these.
pub fn pieces_item(stream: OutputStream, whole: &[u8]) -> EvidenceItem {
    let (true_length, whole_sha256) = (whole.len() as u64, sha256(whole));
    EvidenceItem::ExecutorOutputPieces { stream, true_length, whole_sha256 }
}

/// Standard error, of which these bytes are the first ones, as many as said, and the last ones.
pub fn cut_item(raw: &[u8], head_length: u64, true_length: u64) -> EvidenceItem {
    EvidenceItem::ExecutorOutputCut {
        stream: OutputStream::Stderr,
        raw_data: raw.to_vec(),
        head_length,
        true_length,
        whole_sha256: sha256(b"the whole, which nobody here has"),
    }
}

/// An event in the envelope that every story uses; a person's own in theirs.
/// What a writer records before anything else.
pub fn adoption(world: &World) -> Envelope {
    let body = world.rules_to_adopt().expect("the newest rules are not in force");
    let actor = ActorId { kind: Actor::System, id: "holdpoint".into() };
    Envelope { actor, proof: None, ..envelope(body.into()) }
}

pub fn envelope(event: Event) -> Envelope {
    let operator = Text::from("operator");
    let human = match &event {
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionAnswered(body)) => {
            Some(&body.record.human_id)
        }
        Event::HumanDecision(HumanDecisionEvent::VisibilityOverridden(body)) => {
            Some(&body.human_id)
        }
        Event::HumanDecision(HumanDecisionEvent::LateAnswerRecorded(body)) => Some(&body.human_id),
        Event::Registration(RegistrationEvent::CapabilityChanged(_)) => Some(&operator),
        Event::EvidenceCapture(EvidenceCaptureEvent::StopConditionDetected(body))
            if body.condition == StopCondition::HumanAbort =>
        {
            Some(&operator)
        }
        _ => None,
    };
    let person = |id: &str| ActorId { kind: Actor::Human, id: id.to_owned() };
    let speaker = points::speaker(&event).as_ref().map(Principal::actor);
    Envelope {
        clock: None,
        proof: None,
        actor: human.map(|id| person(id)).or(speaker).unwrap_or_else(|| hand_made::speaker(&event)),
        correlation: "00112233445566778899aabbccddeeff".into(),
        causation: None,
        idempotency: None,
        event,
    }
}

/// The halt among some events.
pub fn halt(events: &[Event]) -> Option<&LoopHalted> {
    events.iter().find_map(|event| match event {
        Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(body)) => Some(body),
        _ => None,
    })
}

/// The reason of the halt among some events.
pub fn halt_reason(events: &[Event]) -> Option<HaltReason> {
    halt(events).map(|body| body.reason)
}

/// The names of some events, without their system.
pub fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().filter_map(|event| event.kind().name.split('.').nth(1)).collect()
}

/// The world rebuilt from records alone.
pub fn rebuilt(records: &[Recorded], mut world: World) -> World {
    for record in records {
        let Encoded { kind, version, payload } = &record.encoded;
        let envelope = envelope::decode(*kind, *version, payload).expect("a record decodes");
        world.evolve(record.sequence, record.at, &envelope);
    }
    world
}

/// The seed of this run: `HOLDPOINT_SEED`, else the time. It is printed, and so shown where a test
/// fails.
pub fn seed() -> u64 {
    let given = std::env::var("HOLDPOINT_SEED").ok();
    let given = given.map(|text| text.parse().expect("HOLDPOINT_SEED: a number"));
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = given.unwrap_or_else(|| now().map_or(0, |elapsed| elapsed.as_nanos() as u64));
    eprintln!("this repeats it: HOLDPOINT_SEED={seed}");
    seed
}
