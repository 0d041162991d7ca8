//! A stop condition on record is what the log itself knows (Phase-31): no caller states the facts
//! that are the log's own, and a condition that the log contradicts is found.

use std::collections::BTreeMap;

use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::evidence_capture::{
    EvidenceCaptureEvent, StopCondition, StopConditionDetected, StopFacts,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopCommand, ExecutionLoopEvent, ExecutionLoopState,
};
use holdpoint_domain::log::{ClockStepped, LogEvent};
use holdpoint_domain::world::envelope::decode;
use holdpoint_domain::{ActorId, Command, Envelope, Event, Time, WriterCommand, decide};
use holdpoint_testing::story::commands::Generator;
use holdpoint_testing::story::{SECRET, Story, envelope, seed};

use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};
use StopCondition as C;

const LIVE: [ExecutionLoopState; 4] = [Init, Dispatched, AwaitingResponse, Evaluated];
/// Of the log's own facts.
const OWN: [StopCondition; 4] = [
    C::EvidenceChainBroken,
    C::TimestampInvalid,
    C::EnvelopeHashMismatch,
    C::PriorExecutionPending,
];

/// A loop in this state, in a log of the newest rules.
fn in_state(state: ExecutionLoopState) -> Story {
    let mut story = Story::adopted();
    let command = story.initialize();
    story.loop_id = command.loop_id();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)));
    story.advance_to(state);
    story
}

fn detected(events: &[Event]) -> Option<&StopConditionDetected> {
    events.iter().find_map(|event| match event {
        Event::EvidenceCapture(EvidenceCaptureEvent::StopConditionDetected(body)) => Some(body),
        _ => None,
    })
}

#[test]
fn a_caller_who_states_nothing_records_none_of_what_the_log_knows() {
    for state in LIVE {
        for condition in OWN {
            let mut story = in_state(state);
            let refusal = story.when(story.stop(condition, StopFacts::default())).unwrap_err();
            assert_eq!(refusal.code(), "STOP_NOT_TRIGGERED", "{condition} in {state}");
        }
    }
}

#[test]
fn a_caller_states_no_fact_of_the_logs_own() {
    type Set = fn(&mut StopFacts, Option<bool>);
    let own: [(Set, &str); 4] = [
        (|f, v| f.envelope_hash_matches = v, "envelope_hash_matches"),
        (|f, v| f.chain_valid = v, "chain_valid"),
        (|f, v| f.timestamp_valid = v, "timestamp_valid"),
        (|f, v| f.prior_execution_complete = v, "prior_execution_complete"),
    ];
    for (set, name) in own {
        for (condition, value) in C::ALL.iter().zip([false, true].into_iter().cycle()) {
            let mut story = in_state(AwaitingResponse);
            let mut facts = StopFacts::default();
            set(&mut facts, Some(value));
            let refusal = story.when(story.stop(*condition, facts)).unwrap_err();
            assert_eq!(refusal.code(), "FACT_NOT_TAKEN", "{condition} {name}");
            assert!(refusal.to_string().starts_with(name), "{refusal}");
        }
    }
}

/// A clock that was set back over the life of a loop is known to the log, and to nobody else.
#[test]
fn a_time_that_the_log_knows_to_be_none_stops_by_command() {
    let mut story = in_state(AwaitingResponse);
    story.told(&WriterCommand::ClockStepped(ClockStepped { step_ns: -2_000_000_000 }));
    let events = story.given(story.stop(C::TimestampInvalid, StopFacts::default()));
    let body = detected(&events).unwrap();
    assert_eq!(body.details.as_str(), "because; timestamp_valid is false");
}

#[test]
fn the_details_name_the_fact_that_was_false_or_not_stated_whatever_the_caller_says() {
    let long = "x".repeat(10_000);
    for (details, value, ends) in [
        ("", None, "intent_clear is not stated"),
        ("", Some(false), "intent_clear is false"),
        ("nobody knows", None, "nobody knows; intent_clear is not stated"),
        (&long, Some(false), "x; intent_clear is false"),
    ] {
        let mut story = in_state(Evaluated);
        let facts = StopFacts { intent_clear: value, ..StopFacts::default() };
        let Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(mut stop)) =
            story.stop(C::AmbiguousIntent, facts)
        else {
            panic!("a stop")
        };
        stop.details = details.into();
        let stop = Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(stop));
        let events = story.given(stop);
        let found = detected(&events).unwrap().details.as_str();
        assert!(found.ends_with(ends) && found.len() <= 4096, "{found}");
    }
}

/// What `verify` says of one condition on record, with these details, in this story.
fn found(story: &Story, condition: StopCondition, details: &str, by: Option<&ActorId>) -> bool {
    let mut story = story.clone();
    let loop_id = story.loop_id.as_str().into();
    let event = StopConditionDetected { loop_id, condition, details: details.into() };
    let made = envelope(event.into());
    let findings = story.record_envelope(Envelope {
        actor: by.cloned().unwrap_or_else(|| made.actor.clone()),
        ..made
    });
    findings.iter().for_each(|found| assert_eq!(found.rule, Rule::StopCondition));
    !findings.is_empty()
}

#[test]
fn a_condition_that_the_log_contradicts_is_found() {
    let own = sha256(&in_state(Init).initialize().envelope).to_string();
    let offered = |hash: &str| {
        format!("ENVELOPE_HASH_MISMATCH: envelope_hash_matches is false, offered is {hash}; more")
    };
    for state in LIVE {
        let story = in_state(state);
        let is_running = matches!(state, Dispatched | AwaitingResponse);
        for (condition, details, contradicted) in [
            (C::EvidenceChainBroken, "chain_valid is false".to_string(), true),
            (C::TimestampInvalid, "timestamp_valid is false".to_string(), true),
            (C::PriorExecutionPending, String::new(), !is_running),
            (C::EnvelopeHashMismatch, "envelope_hash_matches is false".to_string(), true),
            (C::EnvelopeHashMismatch, offered(&own), true),
            (C::EnvelopeHashMismatch, offered("another"), false),
            (C::ContextUninitialized, "nothing is known".to_string(), true),
            (C::MissingAuthorization, "because".to_string(), true),
            (C::MissingAuthorization, "authorization_present is true".to_string(), true),
            (C::MissingAuthorization, "authorization_present is false".to_string(), false),
            (C::ResourceLimitExceeded, "full; resources_available is false".to_string(), false),
            (C::AmbiguousIntent, "intent_clear is not stated".to_string(), false),
            (C::HumanAbort, "because".to_string(), false),
        ] {
            let found = found(&story, condition, &details, None);
            assert_eq!(found, contradicted, "{condition} in {state}: {details}");
        }
        let agent = envelope(
            StopConditionDetected {
                loop_id: "".into(),
                condition: C::AmbiguousIntent,
                details: "".into(),
            }
            .into(),
        );
        assert!(found(&story, C::HumanAbort, "because", Some(&agent.actor)));
    }
}

/// Records of before this was a rule are judged by the rules of their time.
#[test]
fn older_records_are_judged_as_they_were() {
    let story = Story::in_state(AwaitingResponse);
    assert!(C::ALL.iter().all(|condition| !found(&story, *condition, "because", None)));
}

/// What the records alone say of the loops, by another way than that of the rules.
#[derive(Default)]
struct Accountant {
    loops: BTreeMap<String, Life>,
    set_back: u64,
}

struct Life {
    began: u64,
    state: ExecutionLoopState,
    newest_at: Option<Time>,
    hash: String,
    observed: String,
    recorded: Option<String>,
}

impl Accountant {
    /// The stop conditions among the records, each checked against what the log says.
    fn follow(&mut self, story: &Story) -> Vec<StopCondition> {
        let mut conditions = Vec::new();
        for record in &story.records {
            let encoded = &record.encoded;
            let read = decode(encoded.kind, encoded.version, &encoded.payload).unwrap();
            let (at, sequence) = (record.at, record.sequence);
            match read.event {
                Event::Log(LogEvent::ClockStepped(body)) if body.step_ns < 0 => {
                    self.set_back = sequence;
                }
                Event::ExecutionLoop(event) => self.of_loop(event, sequence),
                Event::EvidenceCapture(event) => {
                    conditions.extend(self.of_evidence(event, at, &read.actor));
                }
                _ => {}
            }
        }
        conditions
    }

    fn of_loop(&mut self, event: ExecutionLoopEvent, sequence: u64) {
        let loop_id = event.loop_id().to_string();
        if let ExecutionLoopEvent::LoopInitialized(body) = &event {
            let hash = body.instruction_envelope_hash.to_string();
            let life = Life {
                began: sequence,
                state: Init,
                newest_at: None,
                observed: hash.clone(),
                hash,
                recorded: None,
            };
            self.loops.insert(loop_id, life);
            return;
        }
        let life = self.loops.get_mut(&loop_id).unwrap();
        life.state = match event {
            ExecutionLoopEvent::LoopInitialized(_) => Init,
            ExecutionLoopEvent::LoopDispatched(_) => Dispatched,
            ExecutionLoopEvent::ResponseAwaited(_) => AwaitingResponse,
            ExecutionLoopEvent::ResponseEvaluated(_) => Evaluated,
            ExecutionLoopEvent::LoopHalted(_) => Halted,
        };
    }

    fn of_evidence(
        &mut self,
        event: EvidenceCaptureEvent,
        at: Time,
        actor: &ActorId,
    ) -> Option<StopCondition> {
        let life = self.loops.get_mut(event.loop_id()).unwrap();
        match event {
            EvidenceCaptureEvent::ObserverAttached(body) => {
                life.observed = body.envelope_hash.to_string();
                None
            }
            EvidenceCaptureEvent::EvidenceCaptured(body) => {
                life.recorded.get_or_insert_with(|| sha256(body.raw_data.as_bytes()).to_string());
                life.newest_at = life.newest_at.max(Some(at));
                None
            }
            EvidenceCaptureEvent::StopConditionDetected(body) => {
                let (details, state) = (body.details.to_string(), life.state);
                match body.condition {
                    // Nothing here breaks a chain.
                    C::EvidenceChainBroken => panic!("no chain is broken: {details}"),
                    C::TimestampInvalid => {
                        let is_set_back = self.set_back > life.began;
                        assert!(is_set_back || Some(at) < life.newest_at, "{details}");
                    }
                    C::PriorExecutionPending => {
                        assert!(matches!(state, Dispatched | AwaitingResponse), "{details}");
                    }
                    C::EnvelopeHashMismatch => {
                        let is_offered = details.contains("offered is ")
                            && !details.contains(&format!("offered is {}", life.hash));
                        let differs = life.observed != life.hash
                            || life.recorded.as_ref() != Some(&life.hash);
                        assert!(is_offered || differs, "{details}");
                    }
                    C::ContextUninitialized => {
                        assert!(details.contains("human_abort_signaled is not stated"));
                    }
                    C::HumanAbort => assert_eq!(actor.kind.name(), "HUMAN", "{details}"),
                    C::MissingAuthorization => {
                        assert!(details.contains("authorization_present is "), "{details}");
                    }
                    C::ExecutorNotRegistered => {
                        assert!(details.contains("executor_registered is "), "{details}");
                    }
                    C::ResourceLimitExceeded => {
                        assert!(details.contains("resources_available is "), "{details}");
                    }
                    C::AmbiguousIntent => {
                        assert!(details.contains("intent_clear is "), "{details}");
                    }
                }
                Some(body.condition)
            }
            EvidenceCaptureEvent::ChainSealed(_) | EvidenceCaptureEvent::OutputRecorded(_) => None,
        }
    }
}

const SEQUENCES: u64 = 500;
const COMMANDS: u64 = 60;

#[test]
fn no_random_sequence_records_a_condition_that_the_log_contradicts() {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let rare = || C::ALL.iter().filter(|it| **it != C::EvidenceChainBroken);
    // The rarest comes once in twice as many: it goes on until that came.
    for number in 0..16 * SEQUENCES {
        if number >= SEQUENCES && rare().all(|it| seen.contains_key(it.name())) {
            break;
        }
        let mut generator = Generator::seeded(seed().wrapping_add(number));
        let mut story = Story::adopted();
        for command in 0..COMMANDS {
            if number.is_multiple_of(5) && command == COMMANDS / 2 {
                let step_ns = -1_500_000_000;
                story.told(&WriterCommand::ClockStepped(ClockStepped { step_ns }));
            }
            generator.step(&mut story);
        }
        for condition in Accountant::default().follow(&story) {
            *seen.entry(condition.name()).or_default() += 1;
        }
    }
    println!("stop conditions on record: {seen:?}");
    let missing: Vec<_> = rare().filter(|it| !seen.contains_key(it.name())).collect();
    assert!(missing.is_empty(), "never recorded: {missing:?} of {seen:?}");
}

/// Time that goes backwards stops the loop at its next command, whatever that is, and is no
/// contradiction.
#[test]
fn what_the_log_finds_itself_contradicts_nothing() {
    let mut story = in_state(AwaitingResponse);
    let earlier = Time::from_nanoseconds(story.now.nanoseconds() - 3_600_000_000_000);
    let events = decide(&story.world, &story.output(SECRET), earlier).unwrap();
    let body = detected(&events).unwrap();
    assert_eq!(body.condition, C::TimestampInvalid);
    assert!(body.details.ends_with("; timestamp_valid is false"), "{}", body.details);
    story.now = earlier;
    let findings = events.into_iter().flat_map(|event| story.record(event));
    let of_conditions = findings.filter(|finding| finding.rule == Rule::StopCondition);
    assert_eq!(of_conditions.count(), 0);
}
