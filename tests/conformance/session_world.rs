//! A governed session as commands to a World: what a vector's steps are there, and what came of
//! each of them, out of the events and out of the state.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::text::check_identifier;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::evidence_capture::{
    CaptureEvidence, EvidenceCaptureCommand, EvidenceCaptured,
};
use holdpoint_domain::execution_loop::{
    AwaitResponse, CompleteLoop, DispatchLoop, ExecutionLoopCommand, ExecutorIdentityStatus,
    ExecutorResponseType, Exit, Handshake, InitializeLoop, ObserverExpectation, ReportResponse,
};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::human_decision::{
    AnswerHumanDecision, EscalationTarget, ExpireDue, HoldPolicy, HoldTerms, HumanDecision,
    HumanDecisionCommand, HumanDecisionTimeout, RequestHumanDecision,
};
use holdpoint_domain::log::{ClockStepped, GateTerms};
use holdpoint_domain::sandbox_fault::RetryPolicy;
use holdpoint_domain::{Command, Event, Refusal, World, WriterCommand, decide};
use holdpoint_testing::story::held::terminal;
use holdpoint_testing::story::{CLEAR, Story, adoption, output_item, rebuilt};
use serde_json::Value;

use crate::decisions::of_seconds;
use crate::decode::{Decoded, field, text, typed};
use crate::session_oracle::{is_blank, unhex};

/// What a session is told, in our types.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) executor_id: String,
    /// The instruction: its bytes are named by the vector's hash, of which nobody knows of what.
    pub(crate) envelope: Vec<u8>,
    /// The hash of these bytes; blank where the vector's is.
    pub(crate) envelope_hash: String,
    pub(crate) recorded_hash: String,
    pub(crate) t0: String,
    pub(crate) timeout: HumanDecisionTimeout,
    pub(crate) max_retries: i64,
    pub(crate) targets: Vec<String>,
    pub(crate) cycles: Vec<Cycle>,
}

/// One cycle of it.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    pub(crate) times: [String; 6],
    pub(crate) payload: Vec<u8>,
    pub(crate) executor_id: String,
    pub(crate) instruction_hash: String,
    pub(crate) reported_status: ExecutorResponseType,
    pub(crate) human: Option<Human>,
}

/// What a human says.
#[derive(Clone, Debug)]
pub(crate) struct Human {
    pub(crate) human_id: String,
    pub(crate) decision: HumanDecision,
    pub(crate) reason: Option<String>,
    pub(crate) escalation_target: Option<String>,
}

/// Reads a vector's input.
pub(crate) fn input(of: &Value) -> Decoded<Input> {
    let recorded_hash = text(of, "instruction_envelope_hash")?.to_owned();
    let envelope = format!("envelope of {recorded_hash}").into_bytes();
    let seconds: i64 = typed(of, "timeout_seconds")?;
    let cycles = field(of, "cycles")?.as_array().ok_or("cycles is no list")?;
    let mut read = Input {
        executor_id: text(of, "executor_id")?.into(),
        envelope_hash: match is_blank(&recorded_hash) {
            true => recorded_hash.clone(),
            false => sha256(&envelope).to_string(),
        },
        envelope,
        recorded_hash,
        t0: text(of, "t0")?.into(),
        timeout: of_seconds(seconds)?,
        max_retries: typed(of, "max_retries")?,
        targets: Vec::new(),
        cycles: Vec::new(),
    };
    for cycle in cycles {
        let cycle = read.cycle(cycle)?;
        let target = cycle.human.as_ref().and_then(|human| human.escalation_target.clone());
        let is_new = |target: &String| can_be_asked(target) && !read.targets.contains(target);
        read.targets.extend(target.filter(is_new));
        read.cycles.push(cycle);
    }
    Ok(read)
}

impl Input {
    /// The vector's own hash means our envelope; any other one is of something else.
    fn cycle(&self, of: &Value) -> Decoded<Cycle> {
        let human = field(of, "human")?;
        let hash = text(of, "instruction_hash")?;
        let is_own = hash == self.recorded_hash;
        Ok(Cycle {
            times: typed(of, "ts")?,
            payload: unhex(text(of, "raw_payload_hex")?),
            executor_id: text(of, "executor_id")?.into(),
            instruction_hash: if is_own { &self.envelope_hash } else { hash }.into(),
            reported_status: typed(of, "reported_status")?,
            human: (!human.is_null()).then(|| decided(human)).transpose()?,
        })
    }
}

/// Whether somebody of this name can be asked.
pub(crate) fn can_be_asked(target: &str) -> bool {
    check_identifier("target", target).is_ok() && target != "SYSTEM_TIMEOUT"
}

fn decided(human: &Value) -> Decoded<Human> {
    Ok(Human {
        human_id: text(human, "human_id")?.into(),
        decision: typed(human, "decision")?,
        reason: typed(human, "reason")?,
        escalation_target: typed(human, "escalation_target")?,
    })
}

/// A session that is told to a World.
pub(crate) struct Told<'a> {
    input: &'a Input,
    story: Story,
    /// Digits that the vector gives ids, in the order in which it does.
    digits: std::vec::IntoIter<String>,
    loops: u64,
    commands: u64,
    /// Where nothing is recorded: at which time a command is decided.
    is_dry: Option<Timestamp>,
    /// What happened to the loop that lives.
    pub(crate) events: Vec<Event>,
}

/// What came of a command.
pub(crate) type Came = Result<Vec<Event>, Refusal>;

impl<'a> Told<'a> {
    /// Nothing has happened by this time but that the newest rules were adopted.
    pub(crate) fn new(input: &'a Input, entropy: &Value, at: Timestamp) -> Self {
        let digits = entropy.as_array().into_iter().flatten().filter_map(Value::as_str);
        let digits: Vec<String> = digits.map(String::from).collect();
        let mut story = Story::new();
        story.now = at;
        assert_eq!(story.record_envelope(adoption(&story.world)), []);
        let (loops, commands, is_dry, events) = (0, 0, None, Vec::new());
        Self { input, story, digits: digits.into_iter(), loops, commands, is_dry, events }
    }

    pub(crate) fn world(&self) -> &World {
        &self.story.world
    }

    /// The loop that lives, or that lived last.
    pub(crate) fn entity(&self) -> &ExecutionLoop {
        self.story.entity()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.story.now
    }

    /// The next command is given at this time.
    pub(crate) fn set_time(&mut self, at: Timestamp) {
        self.story.now = at;
    }

    /// The vector's next digits, and behind them what no other command has.
    fn entropy(&mut self) -> Entropy {
        self.commands += 1;
        let mut bytes = [0; 16];
        let digits = self.digits.as_slice().first().map_or("", String::as_str);
        for (place, byte) in bytes.iter_mut().zip(unhex(digits)) {
            *place = byte;
        }
        bytes[8..].copy_from_slice(&self.commands.to_be_bytes());
        Entropy::from_bytes(bytes)
    }

    /// What a command would come to at this time, whatever stands in the log.
    pub(crate) fn would(&mut self, at: Timestamp, give: impl FnOnce(&mut Self) -> Came) -> Came {
        self.is_dry = Some(at);
        let came = give(self);
        self.is_dry = None;
        came
    }

    /// The wall clock was set back: whoever writes says so before anything else.
    pub(crate) fn set_back(&mut self, step_ns: i64) {
        let at = self.story.now;
        self.story.told(&WriterCommand::ClockStepped(ClockStepped { step_ns }));
        self.story.now = at;
    }

    /// A command that is refused uses no digits up.
    fn give(&mut self, command: impl Into<Command>) -> Came {
        if let Some(at) = self.is_dry {
            return decide(self.world(), &command.into(), at);
        }
        let at = self.story.now;
        let came = self.story.when(command.into());
        // A story lets a moment pass after every command. Here the vector says what time it is.
        self.story.now = at;
        if let Ok(events) = &came {
            self.digits.next();
            self.events.extend(events.iter().cloned());
        }
        came
    }

    /// A loop of the session's instruction, whose attempts are all held for a person.
    pub(crate) fn begin(&mut self, max_attempts: u8) -> Came {
        let Input { executor_id, envelope, envelope_hash, timeout, targets, .. } = self.input;
        let target = |name: &String| EscalationTarget {
            target: name.as_str().into(),
            approvers: [].into_iter().collect(),
            timeout_ms: *timeout,
        };
        let command = InitializeLoop {
            people: None,
            entropy: self.entropy(),
            executor_id: executor_id.clone(),
            envelope: envelope.clone(),
            instruction_envelope_hash: envelope_hash.clone(),
            command_line: "a session of the vectors".into(),
            max_attempts,
            retry_ceiling: RetryPolicy::RetryLimited,
            timeout_ms: None,
            hold: HoldTerms {
                decision_timeout_ms: *timeout,
                escalation_targets: targets.iter().map(target).collect(),
                ..HoldTerms::of(HoldPolicy::After)
            },
            gate: GateTerms::default(),
            approval: None,
            handshake: Handshake {
                executor_id: executor_id.clone(),
                trust_status: ExecutorIdentityStatus::Registered,
                instruction_envelope_hash: envelope_hash.clone(),
            },
            observer: ObserverExpectation {
                executor_id: executor_id.clone(),
                envelope_hash: envelope_hash.clone(),
            },
        };
        self.begin_by(command)
    }

    /// The digits of the first loop are the vector's, and those behind them of its session; where
    /// the vector goes on in the same loop, another one has none.
    fn begin_by(&mut self, command: InitializeLoop) -> Came {
        let loop_id = command.loop_id();
        let unused = self.digits.clone();
        let came = self.give(ExecutionLoopCommand::InitializeLoop(command));
        if let Ok(events) = &came {
            (self.story.loop_id, self.events) = (loop_id, events.clone());
            match self.loops {
                0 => drop(self.digits.next()),
                _ => self.digits = unused,
            }
            self.loops += 1;
        }
        came
    }

    /// INIT or EVALUATED to DISPATCHED.
    pub(crate) fn dispatch(&mut self) -> Came {
        let is_first = self.entity().attempt_count() == 0;
        let (loop_id, entropy) = (self.story.loop_id.clone(), self.entropy());
        let envelope_hash = self.input.envelope_hash.clone();
        let command = DispatchLoop { loop_id, entropy, envelope_hash, facts: CLEAR };
        self.give(match is_first {
            true => ExecutionLoopCommand::DispatchLoop(command),
            false => ExecutionLoopCommand::RetryLoop(command),
        })
    }

    /// DISPATCHED to AWAITING_RESPONSE.
    pub(crate) fn await_response(&mut self) -> Came {
        let (loop_id, entropy) = (self.story.loop_id.clone(), self.entropy());
        self.give(ExecutionLoopCommand::AwaitResponse(AwaitResponse {
            loop_id,
            entropy,
            recorder_key: None,
            on_full: None,
        }))
    }

    /// The executor's output, before anybody looks at it.
    pub(crate) fn capture(&mut self, cycle: &Cycle) -> Came {
        let (loop_id, entropy) = (self.story.loop_id.clone(), self.entropy());
        let items = vec![output_item(&cycle.payload)];
        let command = CaptureEvidence { loop_id, entropy, items };
        self.give(EvidenceCaptureCommand::CaptureEvidence(command))
    }

    /// AWAITING_RESPONSE to EVALUATED.
    pub(crate) fn report(&mut self, cycle: &Cycle) -> Came {
        let (loop_id, entropy) = (self.story.loop_id.clone(), self.entropy());
        self.give(ExecutionLoopCommand::ReportResponse(ReportResponse {
            loop_id,
            entropy,
            executor_id: cycle.executor_id.clone(),
            instruction_hash: cycle.instruction_hash.clone(),
            reported_status: cycle.reported_status,
            error: None,
            exit: Exit::Status(0),
        }))
    }

    /// EVALUATED to HALTED.
    pub(crate) fn complete(&mut self) -> Came {
        // It is no step of the document's, and uses none of its digits up.
        let (at, loop_id, entropy) =
            (self.story.now, self.story.loop_id.clone(), self.story.entropy());
        let complete = ExecutionLoopCommand::CompleteLoop(CompleteLoop { loop_id, entropy });
        let came = self.story.when(complete.into());
        self.story.now = at;
        self.events.extend(came.iter().flatten().cloned());
        came
    }

    pub(crate) fn ask(&mut self) -> Came {
        let (loop_id, entropy) = (self.story.loop_id.clone(), self.entropy());
        let command = RequestHumanDecision { loop_id, entropy };
        self.give(HumanDecisionCommand::RequestHumanDecision(command))
    }

    /// A human answers the open question.
    pub(crate) fn answer(&mut self, human: &Human) -> Came {
        let (request_id, entropy) = (self.request_id(), self.entropy());
        let Human { human_id, decision, reason, escalation_target } = human.clone();
        self.give(HumanDecisionCommand::AnswerHumanDecision(AnswerHumanDecision {
            request_id,
            loop_id: Some(self.story.loop_id.clone()),
            entropy,
            actor: Actor::Human,
            human_id,
            decision,
            reason,
            escalation_target,
            means: terminal(),
        }))
    }

    /// Somebody looks whether the time of the open question is up.
    pub(crate) fn expire(&mut self) -> Came {
        let (request_id, entropy) = (self.request_id(), self.entropy());
        self.give(HumanDecisionCommand::ExpireDue(ExpireDue { request_id, entropy }))
    }

    fn request_id(&self) -> String {
        self.entity().open_request().map_or("", |held| held.request_id()).into()
    }

    /// What was captured of the loop, first to last.
    pub(crate) fn captured(&self) -> Vec<&EvidenceCaptured> {
        use holdpoint_domain::evidence_capture::EvidenceCaptureEvent;
        let captured = |event| match event {
            &Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(ref body)) => Some(body),
            _ => None,
        };
        self.events.iter().filter_map(captured).collect()
    }

    /// The World out of nothing but the encoded records is the one that lives.
    pub(crate) fn check_rebuilt(&self) -> Result<(), String> {
        let rebuilt = rebuilt(&self.story.records, World::default().keeping_settled());
        let is_same =
            rebuilt == self.story.world && rebuilt.fingerprint() == self.story.world.fingerprint();
        is_same.then_some(()).ok_or_else(|| "the rebuilt World is another one".into())
    }
}
